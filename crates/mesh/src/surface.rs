//! A triangle surface in meters: bones, teeth, closed skins; what volumes are made from.

use glam::DVec3;

/// Triangles over f64 positions, wound counter-clockwise seen from outside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    /// Vertex positions.
    pub positions: Vec<DVec3>,
    /// Three vertices each.
    pub triangles: Vec<[u32; 3]>,
}

impl Surface {
    /// The positions rounded to f32, as [`crate::Bvh`] takes them.
    pub fn positions_f32(&self) -> Vec<[f32; 3]> {
        self.positions.iter().map(|p| p.as_vec3().to_array()).collect()
    }

    /// Signed volume enclosed: positive when closed and wound outwards.
    pub fn volume(&self) -> f64 {
        self.corners().map(|[a, b, c]| a.dot(b.cross(c))).sum::<f64>() / 6.0
    }

    /// The corner positions of each triangle.
    pub fn corners(&self) -> impl Iterator<Item = [DVec3; 3]> {
        self.triangles.iter().map(|t| t.map(|v| self.positions[v as usize]))
    }

    /// Appends a copy of `other`.
    pub fn append(&mut self, other: &Surface) {
        let first = self.positions.len() as u32;
        self.positions.extend_from_slice(&other.positions);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    }
}
