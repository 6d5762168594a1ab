//! Minimum tissue depth: bones that the warp brought too close to the skin, or through it, are pushed in.
//!
//! The required depth over a vertex is the forensic mean minus one and a half deviations
//! ([`risorius_head::depths`]); without data, half of the depth in the built-in head. It is at most the depth
//! in the built-in head, and at least the minimum of the options. Bone is pushed away from the closest skin.
//! The displacements are spread over the bone so that dents are shallow and wide, and repeated until no
//! vertex is too close. Only bone within 25 mm of the skin is considered.

use crate::note::Note;
use crate::outer::{OuterPoint, OuterSkin};
use glam::DVec3;
use rayon::prelude::*;
use risorius_head::bones::Bones;
use risorius_head::depths::depth_at;
use risorius_mesh::{Bvh, TriMesh};

/// Bone deeper than this is not considered (meters).
const DEEP: f64 = 0.025;
/// Largest required tissue depth (meters).
const THICKEST: f64 = 0.010;
/// Standard deviations below the mean that are allowed.
const DEVIATIONS: f64 = 1.5;
/// Required fraction of the built-in head's depth, where there is no data.
const LEAST_PART: f64 = 0.5;
const ROUNDS: usize = 25;
/// Sweeps that spread a displacement to neighbors.
const SPREAD: usize = 12;
/// Distance over which points beside the bone follow its displacement (meters).
const NEAR: f64 = 0.012;

/// Required tissue depth over each vertex of cranium and mandible, scaled to the rig.
#[derive(Debug, Clone)]
pub struct Depths {
    cranium: Vec<f64>,
    mandible: Vec<f64>,
}

impl Depths {
    /// For the `bones` under the `skin` of the source head.
    pub fn of(skin: &OuterSkin, bones: &Bones, scale: f64) -> Self {
        let least = |p: DVec3| {
            let own = skin.depth(p, DEEP).map_or(DEEP, |d| d.0.max(0.0));
            let known = depth_at(p);
            let part = LEAST_PART * own;
            let least =
                if known.deviation.is_finite() { known.mean - DEVIATIONS * known.deviation } else { part };
            least.min(own).min(THICKEST) * scale
        };
        let measure = |s: &TriMesh| s.positions.par_iter().map(|&p| least(p)).collect();
        Self { cranium: measure(&bones.cranium), mandible: measure(&bones.mandible) }
    }
}

/// Displacements of the bones, for the points attached to them.
pub(crate) struct PushedIn {
    tree: Bvh,
    offsets: Vec<DVec3>,
}

/// Pushes the bones under the skin; a note reports vertices that are still too close.
pub(crate) fn push_in(
    bones: &mut Bones,
    depths: &Depths,
    skin: &OuterSkin,
    thinnest: f64,
    notes: &mut Vec<Note>,
) -> PushedIn {
    let (mut points, mut offsets) = (Vec::new(), Vec::new());
    for (bone, least, name) in
        [(&mut bones.cranium, &depths.cranium, "skull"), (&mut bones.mandible, &depths.mandible, "jaw")]
    {
        let least: Vec<f64> = least.iter().map(|d| d.max(thinnest)).collect();
        let start = bone.positions.clone();
        let left = push_surface(bone, &least, skin);
        let most = bone.positions.iter().zip(&start).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
        if most > 0.012 {
            let what = format!(
                "the {name} had to be pushed in by up to {:.0} mm to stay under the skin",
                1000.0 * most
            );
            notes.push(Note::new(what, "check the landmarks around it, or supply the bone"));
        }
        if left > 0 {
            let what =
                format!("{left} of {} vertices of the {name} are still too close to the skin", start.len());
            notes.push(Note::new(what, "check the landmarks around it, or supply the bone"));
        }
        offsets.extend(bone.positions.iter().zip(&start).map(|(p, q)| *p - *q));
        points.extend(start.iter().map(|p| p.as_vec3().to_array()));
    }
    PushedIn { tree: Bvh::of_points(&points), offsets }
}

impl PushedIn {
    /// Moves a warped point with the bone beside it and keeps it under the skin.
    pub fn follow(&self, p: DVec3, skin: &OuterSkin) -> DVec3 {
        let mut q = p;
        if let Some((v, distance_sq)) = self.tree.closest_vertex(p, 3.0 * NEAR) {
            q += self.offsets[v as usize] * (-distance_sq / (NEAR * NEAR)).exp();
        }
        match skin.depth(q, DEEP) {
            Some((depth, c)) if depth < 0.0005 => c.point - c.normal * 0.0005,
            _ => q,
        }
    }
}

/// Direction away from the skin; for points outside, toward it.
fn inward(p: DVec3, depth: f64, c: &OuterPoint) -> DVec3 {
    let away = if depth > 0.0 { p - c.point } else { c.point - p };
    if away.length() > 1e-4 { away.normalize() } else { -c.normal }
}

/// Pushes vertices until all are at least `least` deep; returns how many are not.
fn push_surface(bone: &mut TriMesh, least: &[f64], skin: &OuterSkin) -> usize {
    let neighbors = neighbors(bone);
    let mut left = 0;
    for _ in 0..ROUNDS {
        let pushes: Vec<DVec3> = bone
            .positions
            .par_iter()
            .zip(least)
            .map(|(&p, &least)| match skin.depth(p, DEEP) {
                Some((depth, c)) if depth < least => inward(p, depth, &c) * (least - depth),
                _ => DVec3::ZERO,
            })
            .collect();
        left = pushes.iter().filter(|p| p.length() > 2e-4).count();
        if left == 0 {
            break;
        }
        let spread = spread(&pushes, &neighbors);
        bone.positions.iter_mut().zip(spread).for_each(|(p, d)| *p += d);
    }
    left
}

/// Displacements smoothed over the surface: nowhere less than required, decreasing to the sides.
fn spread(pushes: &[DVec3], neighbors: &[Vec<u32>]) -> Vec<DVec3> {
    let mut field = pushes.to_vec();
    for _ in 0..SPREAD {
        field = (0..field.len())
            .into_par_iter()
            .map(|v| {
                let around = &neighbors[v];
                let mean =
                    around.iter().map(|&u| field[u as usize]).sum::<DVec3>() / around.len().max(1) as f64;
                if mean.length() > pushes[v].length() { mean } else { pushes[v] }
            })
            .collect();
    }
    field
}

fn neighbors(surface: &TriMesh) -> Vec<Vec<u32>> {
    let mut around = vec![Vec::new(); surface.positions.len()];
    for t in &surface.triangles {
        for k in 0..3 {
            around[t[k] as usize].push(t[(k + 1) % 3]);
            around[t[k] as usize].push(t[(k + 2) % 3]);
        }
    }
    for list in &mut around {
        list.sort_unstable();
        list.dedup();
    }
    around
}
