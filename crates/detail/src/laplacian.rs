//! The cotangent Laplacian and the lumped masses of a triangle mesh.
//!
//! For a triangle with sides a, b, c and area T, the weight of side a is half the cotangent of the angle
//! across it: `(b^2 + c^2 - a^2) / (8 T)`. Rounding may make the sides of needles and caps violate the
//! triangle inequality. All sides are therefore lengthened by the same tiny amount, the least that makes
//! every triangle nondegenerate [Sharp20, sec. 4.5]; a good mesh is not changed. The matrix of every triangle
//! is then finite and positive semidefinite, and so is their sum.

use rayon::prelude::*;
use risorius_linalg::sparse::block_index;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NO_NODE, NodeGraph, Pattern, SparseCholesky, SparseError, Stencil,
};
use risorius_mesh::FileMesh;
use risorius_mesh::surface::tri_mesh::sum_at_corners;
use std::sync::Arc;

/// Required slack in the triangle inequality, as a fraction of the mean side.
const MARGIN: f64 = 1e-5;

/// Weights of the sides across from the three corners, and a third of the area, for each triangle.
#[derive(Debug, Clone, PartialEq)]
pub struct Triangles {
    /// Half cotangents, across from each corner.
    pub weights: Vec<[f64; 3]>,
    /// A third of the area, which each corner gets.
    pub thirds: Vec<f64>,
    /// The mean side.
    pub mean_side: f64,
}

impl Triangles {
    /// Computes the weights of a checked mesh.
    pub fn prepare(mesh: &FileMesh) -> Self {
        let sides = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| mesh.at(v));
            [b.distance(c), c.distance(a), a.distance(b)]
        };
        let mut all: Vec<[f64; 3]> = mesh.triangles.par_iter().map(sides).collect();
        let mean_side = all.iter().flatten().sum::<f64>() / (3 * all.len()).max(1) as f64;
        let margin = MARGIN * mean_side.max(f64::MIN_POSITIVE.sqrt());
        let lacks = |[a, b, c]: &[f64; 3]| (a - b - c).max(b - c - a).max(c - a - b) + margin;
        let longer = all.iter().map(lacks).fold(0.0, f64::max);
        all.iter_mut().flatten().for_each(|side| *side += longer);
        let one = |&[a, b, c]: &[f64; 3]| {
            // Heron's formula in its stable form for needles: sorted sides and these parentheses [Kahan14].
            let mut sorted = [a, b, c];
            sorted.sort_by(f64::total_cmp);
            let [z, y, x] = sorted;
            let area = 0.25 * ((x + (y + z)) * (z - (x - y)) * (z + (x - y)) * (x + (y - z))).max(0.0).sqrt();
            let of = |a: f64, b: f64, c: f64| (b * b + c * c - a * a) / (8.0 * area);
            ([of(a, b, c), of(b, c, a), of(c, a, b)], area / 3.0)
        };
        let (weights, thirds) = all.par_iter().map(one).unzip();
        Self { weights, thirds, mean_side }
    }

    /// The factor of `scale L + mass M` without the rows and columns of held vertices.
    pub fn factor(
        &self,
        mesh: &FileMesh,
        held: &[bool],
        scale: f64,
        mass: f64,
    ) -> Result<SparseCholesky<1>, SparseError> {
        let of_triangle = |(weights, third): (&[f64; 3], &f64)| {
            let mut blocks: ElementBlocks<1> = [[[0.0]]; 10];
            for corner in 0..3 {
                let [next, last] = [(corner + 1) % 3, (corner + 2) % 3];
                let w = weights[corner] * scale;
                blocks[block_index(next.max(last), next.min(last))][0][0] -= w;
                blocks[block_index(next, next)][0][0] += w;
                blocks[block_index(last, last)][0][0] += w;
                blocks[block_index(corner, corner)][0][0] += mass * third;
            }
            blocks
        };
        let stencils: Vec<Stencil> = mesh.triangles.iter().map(|&[a, b, c]| [a, b, c, NO_NODE]).collect();
        let graph = NodeGraph::prepare(held, &[&stencils])?;
        let pattern = Arc::new(Pattern::<1>::prepare(&graph)?);
        let blocks: Vec<ElementBlocks<1>> = self.weights.iter().zip(&self.thirds).map(of_triangle).collect();
        let mut matrix = BlockMatrix::zeros(&pattern);
        matrix.add(&pattern, &Gather::prepare(&pattern, &stencils), &blocks);
        SparseCholesky::new(&pattern, &matrix)
    }

    /// The lumped mass of each vertex: a third of the area of its triangles.
    pub fn masses(&self, mesh: &FileMesh) -> Vec<f64> {
        sum_at_corners(mesh.n_vertices(), &mesh.triangles, self.thirds.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_cotangents_and_needles_stay_finite() {
        let positions =
            vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]];
        let good = FileMesh { positions: positions.clone(), triangles: vec![[0, 1, 2]] };
        let triangles = Triangles::prepare(&good);
        assert!((triangles.weights[0][0] - 0.0).abs() < 1e-4 && (triangles.weights[0][1] - 0.5).abs() < 1e-4);
        assert!((triangles.masses(&good)[2] - 1.0 / 6.0).abs() < 1e-4);
        // A cap without area, and a triangle with two coincident corners.
        let bad = FileMesh { positions, triangles: vec![[0, 1, 2], [1, 3, 2], [0, 1, 4]] };
        let triangles = Triangles::prepare(&bad);
        for [a, b, c] in &triangles.weights {
            assert!(a.is_finite() && b.is_finite() && c.is_finite());
            // Positive semidefinite: sums and the determinant of the 2 x 2 minor.
            assert!(a + b > 0.0 && a * b + b * c + c * a > 0.0, "{a} {b} {c}");
        }
        assert!(triangles.thirds.iter().all(|t| *t > 0.0));
    }
}
