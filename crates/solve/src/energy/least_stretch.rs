//! An energy that keeps the singular values of deformation gradients above an onset.
//!
//! ```text
//! psi(F) = sum over i of phi(onset - s_i),    s_1 >= s_2 >= |s_3|, s_3 < 0 for inverted elements
//! phi(u) = 0 for u <= 0,   u^3 / (6 a) for u <= a,   u^2/2 - a u/2 + a^2/6 beyond,    a = onset / 2
//! ```
//!
//! phi is twice differentiable, its second derivative is at most 1, and psi is finite for inverted elements.
//! So the scalar Laplacian bounds the second derivatives of psi wherever they are positive, and quasi-Newton
//! steps with its factor converge from inverted states. The squared distance to the set of gradients with
//! singular values above the onset behaves in the same way, but has a kink in its derivative at the onset,
//! which would show as a kink over time. All tets count equally, whatever their size: one bad tet spoils a
//! simulation.

use crate::energy::isotropic::{Spectrum, smallest_det, tet_blocks, tet_gradient, tet_laplacians};
use crate::energy::{Energy, Forces};
use glam::{DMat3, DVec3};
use risorius_linalg::{ElementBlocks, Stencil, svd};
use risorius_mesh::tet::tet_mesh::edge_matrix;
use std::ops::Range;

/// Tets over their rest shapes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeastStretch<'a> {
    /// The tets.
    pub tets: &'a [Stencil],
    /// Inverse of each rest edge matrix.
    pub inverse: &'a [DMat3],
    /// Singular values below this are raised.
    pub onset: f64,
}

impl LeastStretch<'_> {
    fn gradient_of(&self, x: &[DVec3], tet: usize) -> DMat3 {
        edge_matrix(x, self.tets[tet]) * self.inverse[tet]
    }

    /// Whether a tet has energy.
    pub(crate) fn is_closed(&self, x: &[DVec3], tet: usize) -> bool {
        let f = self.gradient_of(x, tet);
        !self.is_open(f) && svd(f).s.z < self.onset
    }

    /// Whether all singular values are above the onset: F is not inverted, and `F^T F - onset^2` is positive
    /// definite, by its leading minors.
    fn is_open(&self, f: DMat3) -> bool {
        let (a, b, c) = (f.x_axis, f.y_axis, f.z_axis);
        let least = self.onset * self.onset;
        let (xx, xy, xz) = (a.length_squared() - least, a.dot(b), a.dot(c));
        let (yy, yz, zz) = (b.length_squared() - least, b.dot(c), c.length_squared() - least);
        let second = xx * yy - xy * xy;
        let third = second * zz + xy * (xz * yz) * 2.0 - xx * (yz * yz) - yy * (xz * xz);
        xx > 0.0 && second > 0.0 && third > 0.0 && f.determinant() > 0.0
    }

    /// phi with its first and second derivative by a singular value.
    fn phi(&self, s: f64) -> [f64; 3] {
        let (u, a) = (self.onset - s, 0.5 * self.onset);
        if u <= 0.0 {
            [0.0; 3]
        } else if u <= a {
            [u * u * u / (6.0 * a), -u * u / (2.0 * a), u / a]
        } else {
            [0.5 * u * (u - a) + a * a / 6.0, 0.5 * a - u, 1.0]
        }
    }

    fn spectrum(&self, s: DVec3) -> Spectrum {
        let of: [[f64; 3]; 3] = [s.x, s.y, s.z].map(|s| self.phi(s));
        let plane = |k: usize| [(k + 1) % 3, (k + 2) % 3];
        let flip = |k: usize| {
            let [i, j] = plane(k);
            let apart = s[i] - s[j];
            if apart.abs() > 1e-9 { (of[i][1] - of[j][1]) / apart } else { of[i][2] }
        };
        // Both derivatives are at most zero, and so is this.
        let twist = |k: usize| {
            let [i, j] = plane(k);
            (of[i][1] + of[j][1]) / (s[i] + s[j]).max(1e-9)
        };
        Spectrum {
            flip: DVec3::from_array([0, 1, 2].map(flip)),
            twist: DVec3::from_array([0, 1, 2].map(twist)),
            stretch: DMat3::from_diagonal(DVec3::from_array(of.map(|phi| phi[2]))),
        }
    }
}

impl Energy for LeastStretch<'_> {
    fn stencils(&self) -> &[Stencil] {
        self.tets
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        for (value, tet) in values.iter_mut().zip(elements) {
            let f = self.gradient_of(x, tet);
            *value =
                if self.is_open(f) { 0.0 } else { svd(f).s.to_array().iter().map(|&s| self.phi(s)[0]).sum() };
        }
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        for ((value, gradient), tet) in values.iter_mut().zip(gradients).zip(elements) {
            let f = self.gradient_of(x, tet);
            if self.is_open(f) {
                (*value, *gradient) = (0.0, [DVec3::ZERO; 4]);
                continue;
            }
            let svd = svd(f);
            let of = svd.s.to_array().map(|s| self.phi(s));
            *value = of.iter().map(|phi| phi[0]).sum();
            let stress = DMat3::from_diagonal(DVec3::from_array(of.map(|phi| phi[1])));
            *gradient = tet_gradient(svd.u * stress * svd.v.transpose(), self.inverse[tet], 1.0);
        }
    }

    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            let f = self.gradient_of(x, tet);
            if self.is_open(f) {
                *block = [[[0.0; 3]; 3]; 10];
                continue;
            }
            let svd = svd(f);
            let spectrum = self.spectrum(svd.s);
            let spectrum = if exact { spectrum } else { spectrum.projected() };
            *block = tet_blocks(&svd, &spectrum, self.inverse[tet], 1.0);
        }
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        tet_laplacians(self.inverse, elements, blocks);
    }

    fn smallest_det(&self, x: &[DVec3], elements: Range<usize>) -> f64 {
        smallest_det(self.tets, self.inverse, x, elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, check_energy, check_rigid_invariance};

    #[test]
    fn derivatives_match_differences() {
        let mut random = Random(8);
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        for k in 0..60 {
            let flat = [1.0, 0.3, 0.1, 0.01, -0.1, -0.6][k % 6];
            let x: Vec<DVec3> =
                corners.iter().map(|&p| p * DVec3::new(1.0, 1.2, flat) + 0.05 * random.vector()).collect();
            let inverse = [(DMat3::IDENTITY + 0.2 * random.matrix()).inverse()];
            let energy = LeastStretch { tets: &[[0, 1, 2, 3]], inverse: &inverse, onset: 0.5 };
            check_energy(&energy, &x, 1e-5);
            check_rigid_invariance(&energy, &x, &mut random);
        }
    }

    #[test]
    fn open_elements_have_no_energy_and_closed_ones_have() {
        let energy = LeastStretch { tets: &[[0, 1, 2, 3]], inverse: &[DMat3::IDENTITY], onset: 0.2 };
        let value = |flat: f64| {
            let x = [DVec3::ZERO, DVec3::X, 3.0 * DVec3::Y, flat * DVec3::Z];
            let mut values = [f64::NAN];
            energy.values(&x, 0..1, &mut values);
            values[0]
        };
        assert_eq!([value(1.0), value(0.21)], [0.0; 2]);
        assert!(value(0.19) > 0.0 && value(0.1) > value(0.19) && value(-0.1) > value(0.1));
    }
}
