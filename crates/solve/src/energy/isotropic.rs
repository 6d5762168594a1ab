//! Second derivatives of isotropic energies of a tet, positive semidefinite by their analytic eigensystem.
//!
//! For an energy `psi(F)` that depends on the singular values `s` of F only, the 9x9 Hessian splits in the
//! frame of the singular vectors into three "twists" and three "flips" with eigenvalues in closed form and
//! one 3x3 matrix of stretches [Smith19, eigensystems in 3D]. With `psi_i = d psi / d s_i`, and k the third
//! index:
//!
//! ```text
//! flip_k  = (psi_i - psi_j) / (s_i - s_j)        in the plane (i, j), symmetric
//! twist_k = (psi_i + psi_j) / (s_i + s_j)        in the plane (i, j), antisymmetric
//! stretch = d^2 psi / d s_i d s_j
//! ```
//!
//! Energies supply these with the divisions carried out analytically, so equal singular values are no special
//! case. Negative eigenvalues are set to zero. The 12x12 matrix of the tet follows from the gradients of its
//! shape functions.

use glam::{DMat3, DVec3};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{ElementBlocks, Stencil, Svd3, eigen_symmetric};
use risorius_mesh::tet::tet_mesh::edge_matrix;
use std::ops::Range;

/// Second derivatives with respect to F in the frame of its singular vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spectrum {
    /// Eigenvalue of the symmetric mode in the plane normal to each axis.
    pub flip: DVec3,
    /// Eigenvalue of the antisymmetric mode in the plane normal to each axis.
    pub twist: DVec3,
    /// Second derivatives with respect to the singular values.
    pub stretch: DMat3,
}

impl Spectrum {
    /// For an energy `psi(I, J)` of `I = |F|^2` and `J = det F` that is linear in I, from its derivatives:
    /// `i` (by I), `ij` (by both), `j` and `jj` (by J).
    pub(crate) fn of_invariants(s: DVec3, i: f64, ij: f64, j: f64, jj: f64) -> Self {
        let areas = DVec3::new(s.y * s.z, s.z * s.x, s.x * s.y);
        let pair =
            |a: usize, b: usize| jj * areas[a] * areas[b] + 2.0 * ij * (s[a] * areas[b] + s[b] * areas[a]);
        let off = |a: usize, b: usize| pair(a, b) + j * s[3 - a - b];
        let diagonal = DVec3::splat(2.0 * i) + DVec3::new(pair(0, 0), pair(1, 1), pair(2, 2));
        Self {
            flip: DVec3::splat(2.0 * i) - j * s,
            twist: DVec3::splat(2.0 * i) + j * s,
            stretch: symmetric(diagonal, DVec3::new(off(1, 2), off(0, 2), off(0, 1))),
        }
    }

    /// With negative eigenvalues set to zero.
    pub fn projected(self) -> Self {
        let (values, vectors) = eigen_symmetric(self.stretch);
        let stretch = if values.min_element() >= 0.0 {
            self.stretch
        } else {
            vectors * DMat3::from_diagonal(values.max(DVec3::ZERO)) * vectors.transpose()
        };
        Self { flip: self.flip.max(DVec3::ZERO), twist: self.twist.max(DVec3::ZERO), stretch }
    }
}

/// A symmetric matrix from its diagonal and the entries opposite to each axis.
pub fn symmetric(diagonal: DVec3, off: DVec3) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(diagonal.x, off.z, off.y),
        DVec3::new(off.z, diagonal.y, off.x),
        DVec3::new(off.y, off.x, diagonal.z),
    )
}

/// The tet's blocks `weight * d^2 psi / dx_a dx_b`, for `F = edges * inverse_rest`.
pub(crate) fn tet_blocks(
    svd: &Svd3,
    spectrum: &Spectrum,
    inverse_rest: DMat3,
    weight: f64,
) -> ElementBlocks<3> {
    // F = sum over a of x_a g_a^T: g_a are the rows of the inverse for nodes 1 to 3, here rotated by V.
    let turned = svd.v.transpose() * inverse_rest.transpose();
    let g = [turned.x_axis, turned.y_axis, turned.z_axis];
    let same = 0.5 * weight * (spectrum.flip + spectrum.twist);
    let swapped = 0.5 * weight * (spectrum.flip - spectrum.twist);
    let stretch = spectrum.stretch * weight;
    let mut blocks = [[[0.0; 3]; 3]; 10];
    let mut inner = [[DMat3::ZERO; 3]; 3];
    for a in 0..3 {
        for b in 0..=a {
            let block = svd.u * turned_block(g[a], g[b], same, swapped, stretch) * svd.u.transpose();
            inner[a][b] = block;
            inner[b][a] = block.transpose();
            blocks[block_index(a + 1, b + 1)] = block.to_cols_array_2d();
        }
    }
    // Translation invariance: the blocks of node 0 make the sum over nodes zero.
    let sums: [DMat3; 3] = std::array::from_fn(|a| inner[a][0] + inner[a][1] + inner[a][2]);
    for a in 0..3 {
        blocks[block_index(a + 1, 0)] = (-sums[a]).to_cols_array_2d();
    }
    let total = sums[0] + sums[1] + sums[2];
    blocks[0] = ((total + total.transpose()) * 0.5).to_cols_array_2d();
    blocks
}

/// One block in the frame of the singular vectors.
fn turned_block(ga: DVec3, gb: DVec3, same: DVec3, swapped: DVec3, stretch: DMat3) -> DMat3 {
    let products = ga * gb;
    let diagonal = DVec3::new(
        stretch.x_axis.x * products.x + same.z * products.y + same.y * products.z,
        stretch.y_axis.y * products.y + same.z * products.x + same.x * products.z,
        stretch.z_axis.z * products.z + same.y * products.x + same.x * products.y,
    );
    let off = |i: usize, k: usize| stretch.col(k)[i] * ga[i] * gb[k] + swapped[3 - i - k] * ga[k] * gb[i];
    DMat3::from_cols(
        DVec3::new(diagonal.x, off(1, 0), off(2, 0)),
        DVec3::new(off(0, 1), diagonal.y, off(2, 1)),
        DVec3::new(off(0, 2), off(1, 2), diagonal.z),
    )
}

/// Derivatives at the four nodes from the first Piola-Kirchhoff stress: `weight * P g_a`.
#[inline]
pub(crate) fn tet_gradient(stress: DMat3, inverse_rest: DMat3, weight: f64) -> [DVec3; 4] {
    let m = stress * inverse_rest.transpose() * weight;
    [-(m.x_axis + m.y_axis + m.z_axis), m.x_axis, m.y_axis, m.z_axis]
}

/// The cofactor matrix `det(F) F^-T`, also where F has no inverse.
#[inline]
pub(crate) fn cofactor(f: DMat3) -> DMat3 {
    DMat3::from_cols(f.y_axis.cross(f.z_axis), f.z_axis.cross(f.x_axis), f.x_axis.cross(f.y_axis))
}

/// Linear Laplacians of tets of equal weight.
pub(crate) fn tet_laplacians(
    inverse_rests: &[DMat3],
    elements: Range<usize>,
    blocks: &mut [ElementBlocks<1>],
) {
    for (block, &inverse_rest) in blocks.iter_mut().zip(&inverse_rests[elements]) {
        *block = tet_laplacian(inverse_rest, 1.0);
    }
}

/// The smallest determinant of the deformation gradients of tets.
pub(crate) fn smallest_det(
    tets: &[Stencil],
    inverse_rests: &[DMat3],
    x: &[DVec3],
    elements: Range<usize>,
) -> f64 {
    let det = |tet: usize| (edge_matrix(x, tets[tet]) * inverse_rests[tet]).determinant();
    elements.map(det).fold(f64::INFINITY, f64::min)
}

/// The linear Laplacian of a tet with the given weight (stiffness times volume).
pub(crate) fn tet_laplacian(inverse_rest: DMat3, weight: f64) -> ElementBlocks<1> {
    let t = inverse_rest.transpose();
    let g = [-(t.x_axis + t.y_axis + t.z_axis), t.x_axis, t.y_axis, t.z_axis];
    let mut blocks = [[[0.0]]; 10];
    for a in 0..4 {
        for b in 0..=a {
            blocks[block_index(a, b)] = [[weight * g[a].dot(g[b])]];
        }
    }
    blocks
}
