//! The face seen from the front: rays against the skin, and the motion of shapes at the hit points.

use crate::motions::Motion;
use crate::pieces::Pieces;
use glam::DVec3;
use risorius_mesh::Bvh;

/// A point of the skin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkinPoint {
    /// Index into [`Pieces::skin`].
    pub triangle: u32,
    /// Weights of its corners.
    pub barycentric: [f64; 3],
    /// Position.
    pub point: DVec3,
}

/// The skin, prepared for rays and closest points.
pub struct Front<'a> {
    /// The rig.
    pub pieces: &'a Pieces,
    tree: Bvh,
    /// Rays start here, in front of the face.
    start_z: f64,
}

impl<'a> Front<'a> {
    /// Prepares the skin of `pieces`.
    pub fn new(pieces: &'a Pieces) -> Self {
        let tree = Bvh::build(&flat(&pieces.positions), &pieces.skin);
        let finite = pieces.face.iter().map(|&v| pieces.positions[v as usize].z).filter(|z| z.is_finite());
        let start_z = finite.fold(f64::MIN, f64::max) + 0.02;
        Self { pieces, tree, start_z }
    }

    /// The skin seen at `x`, `y` from the front.
    pub fn at(&self, x: f64, y: f64) -> Option<SkinPoint> {
        self.ray(DVec3::new(x, y, self.start_z), DVec3::NEG_Z)
    }

    /// The first point of the skin that a ray hits.
    pub fn ray(&self, origin: DVec3, direction: DVec3) -> Option<SkinPoint> {
        let hit = self.tree.ray(origin, direction, f64::INFINITY)?;
        let point = origin + direction * hit.distance;
        Some(SkinPoint { triangle: hit.triangle, barycentric: hit.barycentric, point })
    }

    /// The skin closest to `p`.
    pub fn closest(&self, p: DVec3) -> Option<SkinPoint> {
        let c = self.tree.closest_point(p, f64::INFINITY)?;
        Some(SkinPoint { triangle: c.triangle, barycentric: c.barycentric, point: c.point })
    }

    /// Where rays from the front start.
    pub(crate) fn start_z(&self) -> f64 {
        self.start_z
    }

    /// Outward normal of the triangle at `p`.
    pub fn normal(&self, p: &SkinPoint) -> DVec3 {
        let [a, b, c] = self.pieces.skin[p.triangle as usize].map(|v| self.pieces.positions[v as usize]);
        (b - a).cross(c - a).normalize_or_zero()
    }

    /// Displacement of a point of the skin by a motion.
    pub fn moved(&self, p: &SkinPoint, motion: &Motion) -> DVec3 {
        let corners = self.pieces.skin[p.triangle as usize];
        corners.iter().zip(p.barycentric).map(|(&v, w)| motion.moved[v as usize] * w).sum()
    }

    /// A vertical line of samples at `x` from `top` down to `bottom`, `step` apart, where there is skin.
    pub fn column(&self, x: f64, top: f64, bottom: f64, step: f64) -> Vec<SkinPoint> {
        let n = ((top - bottom) / step).floor().clamp(0.0, 4000.0) as usize;
        (0..=n).filter_map(|i| self.at(x, top - step * i as f64)).collect()
    }
}

/// Positions rounded to f32, as trees take them.
pub fn flat(positions: &[DVec3]) -> Vec<[f32; 3]> {
    positions.iter().map(|p| p.as_vec3().to_array()).collect()
}
