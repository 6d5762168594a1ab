//! Where the face of a rig is, and what its surfaces are made of: from names first, from geometry where names
//! say nothing.
//!
//! Coordinates are transformed to *face space*: +Y up, +Z the way the face looks, origin in the middle of the
//! face, scaled so that half the face's height (or width, if larger) is 1. Constants therefore hold for every
//! unit and every rig. The face is where shapes move the skin; without shapes it is the region around the tip
//! of the nose, the front-most point of the head.

use crate::classify::kinds::{Kind, kind_of};
use crate::classify::pieces::{self, Corners, Eye, Piece, PieceLook};
use crate::model::Rig;
use glam::{DMat3, DVec3, Vec3};

/// What is known or guessed about a rig's surfaces.
#[derive(Debug, Clone)]
pub struct Surfaces {
    /// From file coordinates to face space.
    pub frame: FaceSpace,
    /// The neutral in face space; not finite where the rig's is not.
    pub rest: Vec<Vec3>,
    /// The vertices of the face, ascending.
    pub face: Vec<u32>,
    /// All triangles.
    pub corners: Vec<Corners>,
    /// Where each triangle comes from.
    pub sources: Vec<Source>,
    /// The kind of each triangle according to names.
    pub named: Vec<Option<Kind>>,
    /// Connected pieces and what they are.
    pub pieces: Vec<(Piece, PieceLook)>,
    /// Eyeballs, in face space.
    pub eyes: Vec<Eye>,
}

/// Guesses what the surfaces of `rig` are.
pub fn surfaces(rig: &Rig) -> Surfaces {
    let rotation = rig.space.si_axes_from_file();
    let turned: Vec<DVec3> = rig.neutral.iter().map(|p| rotation * DVec3::from(p.map(f64::from))).collect();
    let (face, lo, hi) = find_face(rig, &turned);
    let frame = FaceSpace::around(rotation, lo, hi);
    let rest: Vec<Vec3> = rig.neutral.iter().map(|&p| frame.point(p)).collect();
    let (corners, sources, n_file_vertices) = gather(rig);
    let by_region = kinds_by_region(rig, n_file_vertices, &corners);
    let named: Vec<Option<Kind>> =
        corners.iter().zip(&sources).map(|(c, s)| named_kind(rig, c, s, &by_region)).collect();
    let mut eyes = Vec::new();
    let pieces = pieces::classify(n_file_vertices, &corners, &named, &rest, &mut eyes);
    Surfaces { frame, rest, face, corners, sources, named, pieces, eyes }
}

/// From file coordinates to face space.
#[derive(Debug, Clone, Copy)]
pub struct FaceSpace {
    rotation: DMat3,
    center: DVec3,
    per_unit: f64,
}

impl FaceSpace {
    /// The frame of the box from `lo` to `hi` (already rotated by `rotation`): its center is the origin, and
    /// half of its height or width, whichever is larger, is 1.
    pub fn around(rotation: DMat3, lo: DVec3, hi: DVec3) -> Self {
        let half = (0.5 * (hi - lo).truncate()).max_element();
        let per_unit = if half > 0.0 && (1.0 / half).is_finite() { 1.0 / half } else { 1.0 };
        Self { rotation, center: 0.5 * (lo + hi), per_unit }
    }

    /// A point of the file in face space.
    pub fn point(&self, p: [f32; 3]) -> Vec3 {
        self.place(DVec3::from(p.map(f64::from)))
    }

    /// The same for a point in double precision.
    pub fn place(&self, p: DVec3) -> Vec3 {
        ((self.rotation * p - self.center) * self.per_unit).as_vec3()
    }

    /// The origin of face space in file coordinates, and its unit as a length of the file.
    pub fn center(&self) -> (DVec3, f64) {
        (self.rotation.inverse() * self.center, 1.0 / self.per_unit)
    }
}

/// Where a triangle comes from.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Index into [`Rig::parts`].
    pub part: usize,
    /// Index into the part's groups.
    pub group: Option<usize>,
    /// Bit `k`: the side across from corner `k` is a side of the artist's polygon.
    pub outline: u8,
}

/// All triangles over welded and over file vertices; faces with corners that do not exist are left out.
fn gather(rig: &Rig) -> (Vec<Corners>, Vec<Source>, usize) {
    let (mut corners, mut sources, mut first_file) = (Vec::new(), Vec::new(), 0u32);
    for (part_idx, part) in rig.parts.iter().enumerate() {
        let mut group = None;
        for (face_idx, face) in part.faces.iter().enumerate() {
            let next = group.map_or(0, |g: usize| g + 1);
            let started = part.groups.iter().skip(next).take_while(|g| g.first_face <= face_idx).count();
            if started > 0 {
                group = Some(next + started - 1);
            }
            for i in 2..face.len() {
                let file = [face[0], face[i - 1], face[i]];
                let rig_of =
                    |v: u32| part.rig_vertex.get(v as usize).filter(|&&r| (r as usize) < rig.neutral.len());
                let [Some(&a), Some(&b), Some(&c)] = file.map(rig_of) else { continue };
                let outline = 1 | if i + 1 == face.len() { 2 } else { 0 } | if i == 2 { 4 } else { 0 };
                corners.push(Corners { rig: [a, b, c], file: file.map(|v| v + first_file) });
                sources.push(Source { part: part_idx, group, outline });
            }
        }
        first_file += part.rig_vertex.len() as u32;
    }
    (corners, sources, first_file as usize)
}

/// For each vertex, the kind that the name of the smallest region containing it indicates.
fn kinds_by_region(rig: &Rig, n_file_vertices: usize, corners: &[Corners]) -> Vec<Option<Kind>> {
    let mut kinds = vec![None; rig.n_vertices()];
    if rig.regions.is_empty() {
        return kinds;
    }
    let whole = pieces::pieces(n_file_vertices, corners);
    let mut regions: Vec<(&String, &Vec<u32>)> = rig.regions.iter().collect();
    regions.sort_by_key(|(_, vertices)| std::cmp::Reverse(vertices.len()));
    for (name, vertices) in regions {
        let Some(kind) = kind_of(name) else { continue };
        // Artists also use "eyes" and "brows" for the skin there, so only whole pieces count.
        let inside = |v: &u32| vertices.binary_search(v).is_ok();
        if matches!(kind, Kind::Eye | Kind::Hair) {
            for piece in whole.iter().filter(|p| p.vertices.iter().all(inside)) {
                piece.vertices.iter().for_each(|&v| kinds[v as usize] = Some(kind));
            }
        } else {
            for &v in vertices {
                kinds.get_mut(v as usize).into_iter().for_each(|k| *k = Some(kind));
            }
        }
    }
    kinds
}

fn named_kind(rig: &Rig, corners: &Corners, source: &Source, by_region: &[Option<Kind>]) -> Option<Kind> {
    let part = &rig.parts[source.part];
    let group = source.group.and_then(|g| part.groups.get(g));
    let material = group.and_then(|g| g.material).and_then(|m| rig.materials.get(m));
    let [a, b, c] = corners.rig.map(|v| by_region[v as usize]);
    let region = if a == b && b == c { a } else { None };
    region
        .or_else(|| group.and_then(|g| kind_of(&g.name)))
        .or_else(|| material.and_then(|m| kind_of(&m.name)))
        .or_else(|| kind_of(&part.name))
}

/// The vertices of the face and their bounds (file units, rotated to +Y up and +Z front).
fn find_face(rig: &Rig, turned: &[DVec3]) -> (Vec<u32>, DVec3, DVec3) {
    let mut counts = vec![0usize; turned.len()];
    for shape in &rig.shapes {
        let least = 0.1 * shape.deltas.max_length();
        for (&v, &o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            if Vec3::from(o).length() > least && (v as usize) < counts.len() && turned[v as usize].is_finite()
            {
                counts[v as usize] += 1;
            }
        }
    }
    // A few shapes reach far down the neck; the face is what several shapes move.
    let least = (rig.shapes.len() / 25).max(1);
    let mut face: Vec<u32> = (0..turned.len() as u32).filter(|&v| counts[v as usize] >= least).collect();
    if face.len() < 12 {
        face = front_of_head(turned);
    }
    let (lo, hi) = middle_bounds(&face, turned, 0.01);
    (face, lo, hi)
}

/// Vertices around the front-most point of the head, as far below it as the top of the head is above it.
fn front_of_head(turned: &[DVec3]) -> Vec<u32> {
    let all: Vec<u32> = (0..turned.len() as u32).filter(|&v| turned[v as usize].is_finite()).collect();
    let (lo, hi) = middle_bounds(&all, turned, 0.0);
    let size = hi - lo;
    // A standing figure is much taller than wide: its head is the top seventh.
    let neck = if size.y > 2.5 * size.x { hi.y - size.y / 7.0 } else { hi.y - 1.3 * size.x.max(size.z) };
    let head = all.iter().copied().filter(|&v| turned[v as usize].y >= neck);
    let Some(nose) = head.max_by(|&a, &b| turned[a as usize].z.total_cmp(&turned[b as usize].z)) else {
        return all;
    };
    let nose = turned[nose as usize];
    let reach = hi.y - nose.y;
    let near = |p: DVec3| {
        (p.y - nose.y).abs() <= reach && (p.x - nose.x).abs() <= reach && p.z >= nose.z - 1.2 * reach
    };
    let face: Vec<u32> = all.iter().copied().filter(|&v| near(turned[v as usize])).collect();
    if face.len() < 12 { all } else { face }
}

/// Bounds of `vertices` without the outermost `outer` fraction on each side of each axis.
fn middle_bounds(vertices: &[u32], turned: &[DVec3], outer: f64) -> (DVec3, DVec3) {
    let (mut lo, mut hi) = (DVec3::ZERO, DVec3::ZERO);
    if vertices.is_empty() {
        return (lo, hi);
    }
    let skipped = (outer * vertices.len() as f64) as usize;
    for axis in 0..3 {
        let mut values: Vec<f64> = vertices.iter().map(|&v| turned[v as usize][axis]).collect();
        values.sort_unstable_by(f64::total_cmp);
        lo[axis] = values[skipped];
        hi[axis] = values[values.len() - 1 - skipped];
    }
    (lo, hi)
}
