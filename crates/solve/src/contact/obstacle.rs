//! Rigid obstacles that push a body: spheres, capsules, closed meshes.
//!
//! Each gives the signed distance of a point from its surface, negative inside, and the direction that leads
//! out. Coordinates are those of the body's moving frame, in meters.

use glam::DVec3;
use risorius_base::Rigid;
use risorius_mesh::query::bvh::{Aabb, bounds};
use risorius_mesh::{Bvh, TriMesh};
use std::sync::Arc;

/// A closed mesh, prepared for distances.
#[derive(Debug, Clone)]
pub struct ObstacleShape {
    surface: TriMesh,
    normals: Vec<DVec3>,
    tree: Bvh,
    bounds: Aabb,
}

impl ObstacleShape {
    /// Turns the surface outwards if its volume is negative.
    pub fn prepare(mut surface: TriMesh) -> Self {
        if surface.volume() < 0.0 {
            surface.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        let flat = surface.positions_f32();
        Self {
            normals: surface.vertex_normals(),
            tree: Bvh::build(&flat, &surface.triangles),
            bounds: bounds(&flat).unwrap_or_default(),
            surface,
        }
    }

    /// The surface.
    pub fn surface(&self) -> &TriMesh {
        &self.surface
    }

    fn gap(&self, p: DVec3, reach: f64) -> Option<(f64, DVec3)> {
        let around = self.bounds.distance_sq(p);
        if around > reach * reach {
            return None;
        }
        // Inside, the surface may be farther away than `reach`.
        let nearest = self.tree.closest_point(p, f64::INFINITY)?;
        let corners = self.surface.triangles[nearest.triangle as usize];
        let outwards: DVec3 =
            corners.iter().zip(nearest.barycentric).map(|(&v, b)| self.normals[v as usize] * b).sum();
        let offset = p - nearest.point;
        let outside = offset.dot(outwards) >= 0.0;
        let normal = if offset.length() > 1e-6 {
            if outside { offset.normalize() } else { -offset.normalize() }
        } else {
            outwards.normalize_or(DVec3::Y)
        };
        let gap = if outside { offset.length() } else { -offset.length() };
        (gap < reach).then_some((gap, normal))
    }
}

/// A rigid obstacle that the flesh must not penetrate.
#[derive(Debug, Clone)]
pub enum Obstacle {
    /// A ball.
    Sphere {
        /// Meters.
        center: DVec3,
        /// Meters.
        radius: f64,
    },
    /// All points within a radius of a segment.
    Capsule {
        /// Of the segment, meters.
        ends: [DVec3; 2],
        /// Meters.
        radius: f64,
    },
    /// A closed mesh.
    Mesh {
        /// In its own space.
        solid: Arc<ObstacleShape>,
        /// From its own space to the body's frame.
        place: Rigid,
    },
}

impl Obstacle {
    /// The signed distance of `p` from the surface, negative inside, and the unit direction out of it; `None`
    /// beyond `reach`.
    pub fn gap(&self, p: DVec3, reach: f64) -> Option<(f64, DVec3)> {
        let round = |middle: DVec3, radius: f64| {
            let offset = p - middle;
            let gap = offset.length() - radius;
            (gap < reach).then(|| (gap, offset.normalize_or(DVec3::Z)))
        };
        match self {
            Self::Sphere { center, radius } => round(*center, *radius),
            Self::Capsule { ends: [a, b], radius } => {
                let along = *b - *a;
                let t = (p - *a).dot(along) / along.length_squared();
                round(*a + along * if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) }, *radius)
            }
            Self::Mesh { solid, place } => {
                let (gap, normal) = solid.gap(place.inverse().apply(p), reach)?;
                Some((gap, place.rotation * normal))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// A cube from -1 to 1, wound inwards or outwards.
    fn cube(inside_out: bool) -> TriMesh {
        let positions: Vec<DVec3> = (0..8)
            .map(|i| DVec3::from([0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 })))
            .collect();
        let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let mut triangles: Vec<[u32; 3]> =
            quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        if inside_out {
            triangles.iter_mut().for_each(|t| t.swap(0, 1));
        }
        TriMesh { positions, triangles }
    }

    #[test]
    fn gaps_and_directions_of_all_kinds() {
        let place = Rigid { rotation: DQuat::from_rotation_y(0.3), translation: DVec3::new(5.0, 0.0, 0.0) };
        for inside_out in [false, true] {
            let mesh = Obstacle::Mesh { solid: Arc::new(ObstacleShape::prepare(cube(inside_out))), place };
            for (p, wanted, direction) in [
                (DVec3::new(0.2, 1.5, 0.1), 0.5, DVec3::Y),
                (DVec3::new(0.1, -0.9, 0.3), -0.1, DVec3::NEG_Y),
                (DVec3::new(-0.7, 0.1, 0.2), -0.3, DVec3::NEG_X),
            ] {
                let (gap, normal) = mesh.gap(place.apply(p), 1.0).unwrap();
                assert!(
                    (gap - wanted).abs() < 1e-6 && normal.distance(place.rotation * direction) < 1e-6,
                    "{gap}"
                );
            }
            assert!(mesh.gap(DVec3::new(5.0, 9.0, 0.0), 1.0).is_none());
        }
        let capsule = Obstacle::Capsule { ends: [DVec3::ZERO, DVec3::X], radius: 0.5 };
        assert_eq!(capsule.gap(DVec3::new(0.5, 0.2, 0.0), 0.1), Some((0.2 - 0.5, DVec3::Y)));
        assert_eq!(capsule.gap(DVec3::new(2.0, 0.0, 0.0), 1.0), Some((0.5, DVec3::X)));
        let ball = Obstacle::Sphere { center: DVec3::ZERO, radius: 1.0 };
        assert_eq!(ball.gap(DVec3::ZERO, 0.1), Some((-1.0, DVec3::Z)));
        assert_eq!(ball.gap(DVec3::X * 2.0, 0.1), None);
    }
}
