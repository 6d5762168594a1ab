//! What shows in scans and is not skin: eyeballs and teeth.
//!
//! A scan is one surface: between the lids it is the eyeball, between open lips the teeth. Points of the scan
//! that lie nearer to these than to the skin do not pull the skin, and are not held against it. In the
//! neutral each piece moves as a whole with the skin around it, and eyeballs shift to where the scan shows
//! them; in expressions pieces are where the slider values place them.

use crate::template::Template;
use glam::{DMat3, DVec3};
use risorius_anatomy::PieceKind;
use risorius_mesh::{Bvh, Similarity, TriMesh};
use risorius_rig::meters;

/// Pieces, eyes first.
const KINDS: [PieceKind; 4] =
    [PieceKind::EyeLeft, PieceKind::EyeRight, PieceKind::TeethUpper, PieceKind::TeethLower];

/// Number of eyes among the pieces.
pub const N_EYES: usize = 2;

/// Distance from the middle of a piece at which skin counts half for its motion, relative to its size.
const AROUND: f64 = 1.5;

/// Longest shift of an eyeball, meters.
const LONGEST: f64 = 4e-3;

/// Points as far as this from an eyeball show it, meters.
const SHOWN: f64 = 3e-3;

/// Part of the points that a shift has to be worth, so that it stays where few are seen.
const TRUST: f64 = 0.1;

/// Eyeballs and teeth; see the module.
#[derive(Debug, Clone, Default)]
pub struct Solids {
    /// Positions at rest.
    pub positions: Vec<DVec3>,
    /// Triangles over them.
    pub triangles: Vec<[u32; 3]>,
    /// The piece of each vertex: 0 and 1 are the left and the right eye.
    pub piece: Vec<u8>,
    /// Displacements by sliders that move them.
    shapes: Vec<(usize, Vec<DVec3>)>,
}

impl Solids {
    /// Those of a template with all rig vertices at `places`, turned and scaled by `turns`.
    pub fn new(template: &Template, places: &[DVec3], turns: &[DMat3]) -> Self {
        let mut number = vec![u32::MAX; places.len()];
        let (mut vertices, mut found) = (Vec::new(), Self::default());
        for (k, kind) in KINDS.into_iter().enumerate() {
            for v in template.pieces.vertices(kind) {
                number[v as usize] = vertices.len() as u32;
                vertices.push(v);
                found.piece.push(k as u8);
            }
        }
        let all = template.pieces.triangles_of(&KINDS);
        found.triangles = all.iter().map(|t| t.map(|v| number[v as usize])).collect();
        found.positions = vertices.iter().map(|&v| places[v as usize]).collect();
        for (s, slider) in template.rig.sliders.iter().enumerate() {
            let moved = meters::displacements(&template.rig, slider.shape);
            let moved: Vec<DVec3> = vertices.iter().map(|&v| turns[v as usize] * moved[v as usize]).collect();
            if moved.iter().any(|d| *d != DVec3::ZERO) {
                found.shapes.push((s, moved));
            }
        }
        found
    }

    /// At slider values.
    pub fn posed(&self, weights: &[f64]) -> Self {
        let mut positions = self.positions.clone();
        for (s, moved) in self.shapes.iter().filter(|(s, _)| weights[*s] != 0.0) {
            positions.iter_mut().zip(moved).for_each(|(p, d)| *p += *d * weights[*s]);
        }
        let (triangles, piece) = (self.triangles.clone(), self.piece.clone());
        Self { positions, triangles, piece, shapes: Vec::new() }
    }

    /// Without the surfaces of the eyeballs, which closed lids hide; their positions stay.
    pub fn without_eyes(&self) -> Self {
        let is_other = |t: &&[u32; 3]| usize::from(self.piece[t[0] as usize]) >= N_EYES;
        Self { triangles: self.triangles.iter().filter(is_other).copied().collect(), ..self.clone() }
    }

    /// Shifts that bring the eyeballs at `positions` behind the lids, `seen`: no lid is pierced then. A place
    /// of an eyeball is before a lid if the outer side of seen skin is right behind it.
    pub fn behind(&self, positions: &[DVec3], seen: &TriMesh) -> [DVec3; N_EYES] {
        let tree = Bvh::build(&seen.positions_f32(), &seen.triangles);
        let pierced = |p: DVec3| {
            let hit = tree.ray(p, -DVec3::Z, LONGEST).filter(|hit| !hit.from_behind);
            hit.map_or(0.0, |hit| hit.distance)
        };
        let mut shifts = [DVec3::ZERO; N_EYES];
        for (p, &k) in positions.iter().zip(&self.piece).filter(|(_, k)| usize::from(**k) < N_EYES) {
            let shift = &mut shifts[usize::from(k)];
            shift.z = shift.z.min(-pierced(*p));
        }
        shifts
    }

    /// Where the skin around each piece has moved them `from` a state `to` another; `weights` are those of
    /// the skin's vertices. Eyes are shifted besides.
    pub fn carried(
        &self,
        from: &[DVec3],
        to: &[DVec3],
        weights: &[f64],
        shifts: &[DVec3; N_EYES],
    ) -> Vec<DVec3> {
        let mut positions = self.positions.clone();
        for k in 0..KINDS.len() {
            let own: Vec<usize> =
                (0..self.piece.len()).filter(|&v| usize::from(self.piece[v]) == k).collect();
            let points: Vec<DVec3> = own.iter().map(|&v| self.positions[v]).collect();
            let by = around(&points, from, to, weights);
            let shift = shifts.get(k).copied().unwrap_or_default();
            own.iter().for_each(|&v| positions[v] = by.apply(self.positions[v]) + shift);
        }
        positions
    }

    /// A tree over positions of the pieces.
    pub fn tree(&self, positions: &[DVec3]) -> Bvh {
        let flat: Vec<[f32; 3]> = positions.iter().map(|p| p.as_vec3().to_array()).collect();
        Bvh::build(&flat, &self.triangles)
    }

    /// Shifts of the eyes that bring them to the points of a scan that show them, added to `shifts`. `tree`
    /// is that of the eyes at `positions`.
    pub fn shifted(
        &self,
        positions: &[DVec3],
        tree: &Bvh,
        shown: impl Iterator<Item = DVec3>,
        shifts: &[DVec3; N_EYES],
    ) -> [DVec3; N_EYES] {
        let mut middle = [(DVec3::ZERO, 0.0); N_EYES];
        for (p, &k) in positions.iter().zip(&self.piece).filter(|(_, k)| usize::from(**k) < N_EYES) {
            let (sum, n) = &mut middle[usize::from(k)];
            (*sum, *n) = (*sum + *p, *n + 1.0);
        }
        let mut sums = [(DMat3::ZERO, DVec3::ZERO, 0.0); N_EYES];
        for p in shown {
            let Some(hit) = tree.closest_point(p, SHOWN) else { continue };
            let k = usize::from(self.piece[self.triangles[hit.triangle as usize][0] as usize]);
            if k >= N_EYES {
                continue;
            }
            let normal = (hit.point - middle[k].0 / middle[k].1).normalize_or_zero();
            let off = normal.dot(p - hit.point);
            let (matrix, right, n) = &mut sums[k];
            *matrix += DMat3::from_cols(normal * normal.x, normal * normal.y, normal * normal.z);
            *right += normal * off;
            *n += 1.0;
        }
        let mut found = *shifts;
        for (shift, (matrix, right, n)) in found.iter_mut().zip(sums) {
            if n > 0.0 {
                let by = (matrix + DMat3::IDENTITY * (TRUST * n)).inverse() * right;
                *shift = (*shift + by).clamp_length_max(LONGEST);
            }
        }
        found
    }
}

/// The similarity of the skin around some points, `from` a state `to` another.
pub(crate) fn around(points: &[DVec3], from: &[DVec3], to: &[DVec3], weights: &[f64]) -> Similarity {
    if points.is_empty() {
        return Similarity::default();
    }
    let middle = points.iter().sum::<DVec3>() / points.len() as f64;
    let size = points.iter().map(|p| p.distance(middle)).fold(0.0, f64::max) * AROUND;
    let weight = |(p, w): (&DVec3, &f64)| w * (-(p.distance(middle) / size).powi(4)).exp();
    let weights: Vec<f64> = from.iter().zip(weights).map(weight).collect();
    Similarity::fit(from, to, &weights)
}
