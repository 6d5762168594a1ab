//! Triangle meshes: bones, teeth and closed skins in meters, or an artist's surface in the unit of its file.

use glam::{DVec3, Vec3};

/// Triangles over positions, wound counter-clockwise seen from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct TriMesh<P = DVec3> {
    /// Vertex positions.
    pub positions: Vec<P>,
    /// Three vertices each, all below the number of positions.
    pub triangles: Vec<[u32; 3]>,
}

/// An artist's surface, in the unit and the precision of its file.
pub type FileMesh = TriMesh<[f32; 3]>;

impl<P> Default for TriMesh<P> {
    fn default() -> Self {
        Self { positions: Vec::new(), triangles: Vec::new() }
    }
}

impl<P> TriMesh<P> {
    /// Number of vertices.
    pub fn n_vertices(&self) -> usize {
        self.positions.len()
    }
}

impl FileMesh {
    /// A position in double precision.
    pub fn at(&self, vertex: u32) -> DVec3 {
        Vec3::from(self.positions[vertex as usize]).as_dvec3()
    }
}

impl TriMesh {
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
    pub fn append(&mut self, other: &TriMesh) {
        let first = self.positions.len() as u32;
        self.positions.extend_from_slice(&other.positions);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    }
}

/// For each of `n` vertices, the sum of a per-triangle value (such as a third of the area) over its
/// triangles.
pub fn sum_at_corners(n: usize, triangles: &[[u32; 3]], values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![0.0; n];
    for (triangle, value) in triangles.iter().zip(values) {
        triangle.iter().for_each(|&v| sums[v as usize] += value);
    }
    sums
}
