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

    /// The unit normal of a triangle; zero if it has no area.
    pub fn normal(&self, triangle: u32) -> DVec3 {
        let [a, b, c] = self.triangles[triangle as usize].map(|v| self.positions[v as usize]);
        (b - a).cross(c - a).normalize_or_zero()
    }

    /// The unit normal at each vertex, triangles weighted by area; zero where there are none.
    pub fn vertex_normals(&self) -> Vec<DVec3> {
        let mut sums = vec![DVec3::ZERO; self.positions.len()];
        for (t, [a, b, c]) in self.triangles.iter().zip(self.corners()) {
            t.iter().for_each(|&v| sums[v as usize] += (b - a).cross(c - a));
        }
        sums.into_iter().map(DVec3::normalize_or_zero).collect()
    }

    /// Appends a copy of `other`.
    pub fn append(&mut self, other: &Surface) {
        let first = self.positions.len() as u32;
        self.positions.extend_from_slice(&other.positions);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    }
}
