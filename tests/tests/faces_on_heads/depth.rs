//! How deep lips are in each other, measured by other means than those that keep them apart: rays, and planes of triangles.

use glam::{DVec3, Vec3};
use risorius_flesh::Face;
use risorius_tests::flesh::lip_pairs;

/// Farther lies another side of the same lip, meters.
const FAR: f64 = 3e-3;

/// Lips of a face.
pub(crate) struct Lips<'a> {
    face: &'a Face,
    vertices: Vec<u32>,
    /// Of the skin around them.
    triangles: Vec<[u32; 3]>,
}

impl<'a> Lips<'a> {
    pub(crate) fn of(face: &'a Face) -> Self {
        let pieces = &face.anatomy.pieces;
        let mut vertices = lip_pairs(&face.rig, pieces).concat();
        vertices.sort_unstable();
        vertices.dedup();
        let near = |v: u32| {
            let p = pieces.positions[v as usize];
            vertices.iter().any(|&lip| p.distance_squared(pieces.positions[lip as usize]) < 64e-6)
        };
        let triangles = pieces.skin.iter().filter(|t| near(t[0])).copied().collect();
        Self { face, vertices, triangles }
    }

    /// Straight back from each vertex of the lips, a surface that leads out is that of a lip which the vertex has entered. How
    /// much deeper than in the artist's pose the deepest is behind it, millimeters.
    pub(crate) fn deeper_mm(&self, artist: &[[f32; 3]], frame: &[[f32; 3]]) -> f64 {
        let meters = self.face.rig.space.meters_per_unit;
        let at = |pose: &[[f32; 3]], v: u32| meters * Vec3::from(pose[v as usize]).as_dvec3();
        let across = |pose: &[[f32; 3]], t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| at(pose, v));
            (b - a).cross(c - a)
        };
        let mut normals = vec![DVec3::ZERO; artist.len()];
        for t in &self.triangles {
            t.iter().for_each(|&v| normals[v as usize] += across(frame, t));
        }
        let mut most: f64 = 0.0;
        for &v in &self.vertices {
            let (p, back) = (at(frame, v), -normals[v as usize].normalize_or_zero());
            for t in self.triangles.iter().filter(|t| !t.contains(&v)) {
                let [a, b, c] = t.map(|v| at(frame, v));
                let normal = across(frame, t).normalize_or_zero();
                let (slope, behind) = (normal.dot(back), normal.dot(a - p));
                if behind <= 0.0 || slope < 0.2 || behind > slope * FAR {
                    continue;
                }
                let hit = p + back * (behind / slope);
                let inside = [(a, b), (b, c), (c, a)].iter().all(|(a, b)| (*b - *a).cross(hit - *a).dot(normal) >= 0.0);
                let before = across(artist, t).normalize_or_zero().dot(at(artist, t[0]) - at(artist, v));
                if inside {
                    most = most.max(behind - before.max(0.0));
                }
            }
        }
        1000.0 * most
    }
}
