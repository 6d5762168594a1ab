//! Penetration depth of the lips, measured independently of the contact code: by rays and triangle planes.

use glam::{DVec3, Vec3};
use risorius_flesh::Face;
use risorius_tests::flesh::lip_pairs;

/// Hits farther away than this are another side of the same lip, meters.
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

    /// Largest penetration depth of a lip vertex beyond that of the artist's pose, millimeters. The allowed
    /// depth is that of the vertex behind the same triangle, or of the vertex or a corner of the triangle in
    /// any other.
    pub(crate) fn deeper_mm(&self, artist: &[[f32; 3]], frame: &[[f32; 3]]) -> f64 {
        let [own, now] = [artist, frame].map(|pose| self.entered(pose));
        let deepest =
            |entered: &Vec<([u32; 3], f64)>| entered.iter().map(|(_, depth)| *depth).fold(0.0, f64::max);
        let own_of = |v: u32| self.vertices.binary_search(&v).map_or(0.0, |i| deepest(&own[i]));
        let mut most: f64 = 0.0;
        for (&v, now) in self.vertices.iter().zip(&now) {
            for (t, depth) in now {
                let around = t.iter().map(|&corner| own_of(corner)).fold(own_of(v), f64::max);
                most = most.max(depth - around.max(self.behind(artist, v, t)));
            }
        }
        1000.0 * most
    }

    fn at(&self, pose: &[[f32; 3]], v: u32) -> DVec3 {
        self.face.rig.space.meters_per_unit * Vec3::from(pose[v as usize]).as_dvec3()
    }

    fn across(&self, pose: &[[f32; 3]], t: &[u32; 3]) -> DVec3 {
        let [a, b, c] = t.map(|v| self.at(pose, v));
        (b - a).cross(c - a)
    }

    /// How far a vertex is behind the plane of a triangle.
    fn behind(&self, pose: &[[f32; 3]], v: u32, t: &[u32; 3]) -> f64 {
        self.across(pose, t).normalize_or_zero().dot(self.at(pose, t[0]) - self.at(pose, v))
    }

    /// For each vertex of the lips, the triangles that it has penetrated, and its depth behind them. A ray
    /// straight back from the vertex that leaves through a surface shows that the vertex is inside that lip.
    fn entered(&self, pose: &[[f32; 3]]) -> Vec<Vec<([u32; 3], f64)>> {
        let mut normals = vec![DVec3::ZERO; pose.len()];
        for t in &self.triangles {
            t.iter().for_each(|&v| normals[v as usize] += self.across(pose, t));
        }
        let of_vertex = |&v: &u32| {
            let (p, back) = (self.at(pose, v), -normals[v as usize].normalize_or_zero());
            let depth = |t: &&[u32; 3]| {
                let normal = self.across(pose, t).normalize_or_zero();
                let (slope, behind) = (normal.dot(back), self.behind(pose, v, t));
                if t.contains(&v) || behind <= 0.0 || slope < 0.2 || behind > slope * FAR {
                    return None;
                }
                let [a, b, c] = t.map(|v| self.at(pose, v));
                let hit = p + back * (behind / slope);
                let inside = [(a, b), (b, c), (c, a)]
                    .iter()
                    .all(|(a, b)| (*b - *a).cross(hit - *a).dot(normal) >= 0.0);
                inside.then_some((**t, behind))
            };
            self.triangles.iter().filter_map(|t| depth(&t)).collect()
        };
        self.vertices.iter().map(of_vertex).collect()
    }
}
