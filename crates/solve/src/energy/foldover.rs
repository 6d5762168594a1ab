//! Energies that repair inverted tets: one that unfolds them, one that keeps them unfolded.
//!
//! `Unfold` is the regularized distortion of [Garanzha21, regularized energy]. With `D = det F - floor`,
//! where `det F` must exceed the floor, and `chi(D) = (D + sqrt(eps^2 + D^2)) / 2`, a positive function that
//! tends to `max(D, 0)`,
//!
//! ```text
//! psi = |F|^2 / chi^(2/3) + (D^2 + 1) / chi
//! ```
//!
//! is finite everywhere and excludes `D < 0` as eps goes to 0. `Keep` is zero for tets with `det F` above
//! twice the floor and infinite at the floor: together with springs to the input, it moves only nodes that
//! must move. Both weight all tets equally, whatever their size, because one bad tet of any size spoils a
//! solve.

use crate::energy::Energy;
use crate::energy::Forces;
use crate::energy::isotropic::{Spectrum, cofactor, smallest_det, tet_blocks, tet_gradient, tet_laplacians};
use crate::energy::tissue::Barrier;
use glam::{DMat3, DVec3};
use risorius_linalg::{ElementBlocks, Stencil, svd};
use risorius_mesh::tet::tet_mesh::edge_matrix;
use std::ops::Range;

/// Which of the two energies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// Unfolds inverted tets, with the regularization eps.
    Unfold(f64),
    /// Keeps tets unfolded, with the strength of the barrier.
    Keep(f64),
}

/// A dimensionless energy of tets over their rest shapes.
#[derive(Debug, Clone)]
pub(crate) struct Foldover {
    /// The tets.
    pub tets: Vec<Stencil>,
    /// Inverse of each rest edge matrix.
    pub inverse: Vec<DMat3>,
    /// Lower bound of `det F`.
    pub floor: f64,
    /// Which energy.
    pub mode: Mode,
}

/// Value and derivatives of an energy of `I = |F|^2` and `J = det F`.
struct Density {
    value: f64,
    i: f64,
    ij: f64,
    j: f64,
    jj: f64,
}

impl Foldover {
    fn gradient_of(&self, x: &[DVec3], tet: usize) -> DMat3 {
        edge_matrix(x, self.tets[tet]) * self.inverse[tet]
    }

    fn density(&self, i: f64, det: f64) -> Density {
        match self.mode {
            Mode::Unfold(eps) => unfold(i, det - self.floor, eps),
            Mode::Keep(strength) => {
                let barrier = Barrier { strength, threshold: self.floor };
                let [value, j, jj] = barrier.at(det - self.floor);
                Density { value, i: 0.0, ij: 0.0, j, jj }
            }
        }
    }
}

fn unfold(i: f64, d: f64, eps: f64) -> Density {
    let root = (eps * eps + d * d).sqrt();
    let chi = if d > 0.0 { 0.5 * (d + root) } else { 0.5 * eps * eps / (root - d) };
    let (c1, c2) = (chi / root, chi * (root - d) / (root * root * root));
    let p = chi.powf(-2.0 / 3.0);
    let ij = -2.0 / 3.0 * p / chi * c1;
    let second = 10.0 / 9.0 * p / (chi * chi) * c1 * c1 - 2.0 / 3.0 * p / chi * c2;
    let size = d * d + 1.0;
    Density {
        value: i * p + size / chi,
        i: p,
        ij,
        j: i * ij + (2.0 * d - size * c1 / chi) / chi,
        jj: i * second + (2.0 - 4.0 * d * c1 / chi - size * (c2 / chi - 2.0 * c1 * c1 / (chi * chi))) / chi,
    }
}

/// `|F|^2`.
fn square(f: DMat3) -> f64 {
    f.x_axis.length_squared() + f.y_axis.length_squared() + f.z_axis.length_squared()
}

impl Energy for Foldover {
    fn stencils(&self) -> &[Stencil] {
        &self.tets
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        for (value, tet) in values.iter_mut().zip(elements) {
            let f = self.gradient_of(x, tet);
            *value = self.density(square(f), f.determinant()).value;
        }
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        for ((value, gradient), tet) in values.iter_mut().zip(gradients).zip(elements) {
            let f = self.gradient_of(x, tet);
            let density = self.density(square(f), f.determinant());
            *value = density.value;
            let stress = f * (2.0 * density.i) + cofactor(f) * density.j;
            *gradient = tet_gradient(stress, self.inverse[tet], 1.0);
        }
    }

    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            let f = self.gradient_of(x, tet);
            // Zero for nearly all tets of a patch: skip the SVD.
            if matches!(self.mode, Mode::Keep(_)) && f.determinant() > 2.0 * self.floor {
                *block = [[[0.0; 3]; 3]; 10];
                continue;
            }
            let svd = svd(f);
            let d = self.density(svd.s.length_squared(), svd.s.element_product());
            let spectrum = Spectrum::of_invariants(svd.s, d.i, d.ij, d.j, d.jj);
            let spectrum = if exact { spectrum } else { spectrum.projected() };
            *block = tet_blocks(&svd, &spectrum, self.inverse[tet], 1.0);
        }
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        tet_laplacians(&self.inverse, elements, blocks);
    }

    fn smallest_det(&self, x: &[DVec3], elements: Range<usize>) -> f64 {
        smallest_det(&self.tets, &self.inverse, x, elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, check_energy, check_rigid_invariance};

    #[test]
    fn derivatives_match_differences() {
        let mut random = Random(5);
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        for k in 0..60 {
            let flat = [1.0, 0.3, 0.01, -0.01, -0.5][k % 5];
            let x: Vec<DVec3> =
                corners.iter().map(|&p| p * DVec3::new(1.0, 1.0, flat) + 0.1 * random.vector()).collect();
            let inverse = vec![(DMat3::IDENTITY + 0.2 * random.matrix()).inverse()];
            let unfold = Foldover { tets: vec![[0, 1, 2, 3]], inverse, floor: 0.05, mode: Mode::Unfold(0.3) };
            check_energy(&unfold, &x, 1e-6);
            check_rigid_invariance(&unfold, &x, &mut random);
            let keep = Foldover { floor: 0.4, mode: Mode::Keep(2.0), ..unfold };
            if keep.smallest_det(&x, 0..1) > 0.45 {
                check_energy(&keep, &x, 1e-7);
            }
        }
    }
}
