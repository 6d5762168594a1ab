//! A volume of tetrahedra: nodes, elements, the surface around them.

use glam::{DMat3, DVec3};

/// Tetrahedra over f64 nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TetMesh {
    /// Node positions.
    pub nodes: Vec<DVec3>,
    /// Four nodes each, with `det [x1-x0, x2-x0, x3-x0] > 0`.
    pub tets: Vec<[u32; 4]>,
}

/// The matrix `[x1-x0, x2-x0, x3-x0]` of a tet; its determinant is six times the signed volume.
pub fn edge_matrix(positions: &[DVec3], tet: [u32; 4]) -> DMat3 {
    let [a, b, c, d] = tet.map(|v| positions[v as usize]);
    DMat3::from_cols(b - a, c - a, d - a)
}

impl TetMesh {
    /// [`edge_matrix`] at the mesh's own nodes.
    pub fn edges_of(&self, tet_idx: usize) -> DMat3 {
        edge_matrix(&self.nodes, self.tets[tet_idx])
    }
}
