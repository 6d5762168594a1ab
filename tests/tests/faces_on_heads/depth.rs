//! Penetration depth of lips and lids, measured independently of the contact code: by rays and triangle
//! planes.

use glam::{DVec3, Vec3};
use risorius_anatomy::pieces::PieceKind;
use risorius_flesh::Face;
use risorius_head::landmarks;
use risorius_tests::flesh::lip_pairs;

/// Hits farther away than this are another side of the same lip, meters.
const FAR: f64 = 3e-3;

/// Radius around the corners of mouth and eyes in which all skin is measured, meters.
const CORNER: f64 = 8e-3;

/// The corners of the mouth.
const MOUTH: [&str; 2] = ["mouth_left", "mouth_right"];

/// The corners of the eyes, and landmarks on the margins of the lids.
const EYES: [&str; 12] = [
    "eye_left_inner",
    "eye_left_outer",
    "eye_right_inner",
    "eye_right_outer",
    "lid_upper_left_inner",
    "lid_upper_left_outer",
    "lid_lower_left_inner",
    "lid_lower_left_outer",
    "lid_upper_right_inner",
    "lid_upper_right_outer",
    "lid_lower_right_inner",
    "lid_lower_right_outer",
];

/// The lips or the lids of a face.
pub(crate) struct Rims<'a> {
    face: &'a Face,
    vertices: Vec<u32>,
    /// Of the skin around them.
    triangles: Vec<[u32; 3]>,
    corners: Vec<DVec3>,
}

impl<'a> Rims<'a> {
    /// Vertices that touch across the lips, and all skin within [`CORNER`] of the corners of the mouth, where
    /// the lips are close along the skin too.
    pub(crate) fn lips(face: &'a Face) -> Self {
        Self::prepare(face, lip_pairs(&face.rig, &face.anatomy.pieces).concat(), &MOUTH)
    }

    /// All skin within [`CORNER`] of the corners of the eyes and of landmarks on the lids.
    pub(crate) fn lids(face: &'a Face) -> Self {
        Self::prepare(face, Vec::new(), &EYES)
    }

    fn prepare(face: &'a Face, mut vertices: Vec<u32>, corners: &[&str]) -> Self {
        let pieces = &face.anatomy.pieces;
        let at = |name: &&str| face.anatomy.landmarks[landmarks::index(name).unwrap()].position;
        let corners: Vec<DVec3> = corners.iter().map(at).collect();
        let near = |v: &u32| corners.iter().any(|c| pieces.positions[*v as usize].distance(*c) < CORNER);
        vertices.extend(pieces.vertices(PieceKind::Skin).into_iter().filter(near));
        vertices.sort_unstable();
        vertices.dedup();
        let near = |v: u32| {
            let p = pieces.positions[v as usize];
            vertices.iter().any(|&rim| p.distance_squared(pieces.positions[rim as usize]) < 64e-6)
        };
        let triangles = pieces.skin.iter().filter(|t| near(t[0])).copied().collect();
        Self { face, vertices, triangles, corners }
    }

    /// Largest penetration depth of a vertex beyond that of the artist's pose, millimeters, and where. The
    /// allowed depth is that of the vertex behind the same triangle, or of the vertex or a corner of the
    /// triangle in any other.
    pub(crate) fn deeper_mm(&self, artist: &[[f32; 3]], frame: &[[f32; 3]]) -> (f64, String) {
        let [own, now] = [artist, frame].map(|pose| self.entered(pose));
        let deepest =
            |entered: &Vec<([u32; 3], f64)>| entered.iter().map(|(_, depth)| *depth).fold(0.0, f64::max);
        let own_of = |v: u32| self.vertices.binary_search(&v).map_or(0.0, |i| deepest(&own[i]));
        let mut most = (0.0, String::new());
        for (&v, now) in self.vertices.iter().zip(&now) {
            for (t, depth) in now {
                let around = t.iter().map(|&corner| own_of(corner)).fold(own_of(v), f64::max);
                let deeper = 1000.0 * (depth - around.max(self.behind(artist, v, t)));
                if deeper > most.0 {
                    let p = self.face.anatomy.pieces.positions[v as usize];
                    let from =
                        self.corners.iter().map(|c| 1000.0 * c.distance(p)).fold(f64::INFINITY, f64::min);
                    most = (deeper, format!("vertex {v} behind {t:?}, {from:.1} mm from a corner"));
                }
            }
        }
        most
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

    /// For each vertex of the rims, the triangles that it has penetrated, and its depth behind them. A ray
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
