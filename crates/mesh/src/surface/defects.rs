//! Duplicate vertices, duplicate faces and degenerate faces.
//!
//! Each function returns its findings in ascending order and does not change the mesh. Positions are compared
//! exactly (0 equals -0). Vertices whose position is not finite, and faces with such vertices, are not
//! reported here. Time n log n or better.

use crate::Polygons;
use std::collections::HashMap;

/// A face whose area is below this fraction of its squared longest edge is degenerate. For f32 positions a
/// few edge lengths from the origin, rounding alone gives about a tenth of it.
pub(crate) const AREA_TOLERANCE: f64 = 1e-6;

/// Vertices at exactly the position of an earlier one, as (vertex, earliest vertex there).
pub fn duplicate_vertices(positions: &[[f32; 3]]) -> Vec<[u32; 2]> {
    let mut first_at: HashMap<[u32; 3], u32> = HashMap::with_capacity(positions.len());
    let mut found = Vec::new();
    for (v, p) in positions.iter().enumerate().filter(|(_, p)| p.iter().all(|x| x.is_finite())) {
        let first = *first_at.entry(p.map(|x| (x + 0.0).to_bits())).or_insert(v as u32);
        if first != v as u32 {
            found.push([v as u32, first]);
        }
    }
    found
}

/// Why a face is degenerate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Degenerate {
    /// Fewer than three corners.
    TooFewCorners,
    /// The same vertex at two corners.
    RepeatedCorner,
    /// Negligible area for the length of its edges, see [`AREA_TOLERANCE`].
    NoArea,
}

/// Degenerate faces.
pub fn degenerate_faces(positions: &[[f32; 3]], faces: &Polygons) -> Vec<(u32, Degenerate)> {
    let mut sorted = Vec::new();
    let mut judge = |face: &[u32]| {
        if face.len() < 3 {
            return Some(Degenerate::TooFewCorners);
        }
        sorted.clear();
        sorted.extend_from_slice(face);
        sorted.sort_unstable();
        if sorted.windows(2).any(|w| w[0] == w[1]) {
            return Some(Degenerate::RepeatedCorner);
        }
        let at = |i: usize| glam::Vec3::from(positions[face[i] as usize]).as_dvec3();
        let longest =
            (0..face.len()).map(|i| at(i).distance_squared(at((i + 1) % face.len()))).fold(0.0, f64::max);
        // Triangle by triangle: the halves of a folded quad must not cancel.
        let area: f64 =
            (2..face.len()).map(|i| 0.5 * (at(i - 1) - at(0)).cross(at(i) - at(0)).length()).sum();
        (area <= AREA_TOLERANCE * longest).then_some(Degenerate::NoArea)
    };
    faces.iter().enumerate().filter_map(|(f, face)| judge(face).map(|why| (f as u32, why))).collect()
}

/// Faces with the same vertices as an earlier one, in any order, as (face, earliest such face).
pub fn repeated_faces(faces: &Polygons) -> Vec<[u32; 2]> {
    let mut first_with: HashMap<Vec<u32>, u32> = HashMap::with_capacity(faces.len());
    let mut found = Vec::new();
    for (f, face) in faces.iter().enumerate() {
        let mut corners = face.to_vec();
        corners.sort_unstable();
        let first = *first_with.entry(corners).or_insert(f as u32);
        if first != f as u32 {
            found.push([f as u32, first]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_places_are_paired_with_the_first() {
        let p = [[0.0; 3], [1.0; 3], [-0.0; 3], [f32::NAN; 3], [f32::NAN; 3], [1.0; 3], [0.0; 3]];
        assert_eq!(duplicate_vertices(&p), [[2, 0], [5, 1], [6, 0]]);
    }

    #[test]
    fn every_kind_of_degenerate_face_is_reported() {
        let p = [
            [0., 0., 0.],
            [1., 0., 0.],
            [2., 0., 0.],
            [0., 1., 0.],
            [1., 1., 0.],
            [f32::NAN; 3],
            [1., 1e-9, 0.0f32],
        ];
        let mut faces = Polygons::default();
        for f in [&[0u32, 1, 3][..], &[0, 1], &[0, 1, 0], &[0, 1, 2], &[0, 1, 5], &[0, 1, 3, 4], &[0, 2, 6]] {
            faces.push(f);
        }
        let found = degenerate_faces(&p, &faces);
        use Degenerate::*;
        assert_eq!(found, [(1, TooFewCorners), (2, RepeatedCorner), (3, NoArea), (6, NoArea)]);
    }

    #[test]
    fn scale_does_not_make_a_face_degenerate() {
        for scale in [1e-15f32, 1.0, 1e15] {
            let p = [[0., 0., 0.], [scale, 0., 0.], [0., 1e-3 * scale, 0.]];
            assert!(degenerate_faces(&p, &Polygons::from_triangles(&[[0, 1, 2]])).is_empty());
        }
    }

    #[test]
    fn faces_repeat_in_any_order() {
        let faces = Polygons::from_triangles(&[[0, 1, 2], [3, 4, 5], [2, 1, 0], [1, 2, 0]]);
        assert_eq!(repeated_faces(&faces), [[2, 0], [3, 0]]);
    }
}
