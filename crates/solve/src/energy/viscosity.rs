//! Viscosity of tissue over a step: resists the change of deformation, not the deformation.
//!
//! Per tet, times its rest volume V, for a step of h seconds from the positions `xp`:
//!
//! ```text
//! U = eta / (2 h) |d(x - xp)/dX|^2,     eta = beta mu, pascal seconds
//! ```
//!
//! Its derivative is the force of a dashpot with the coefficients of the tet's Laplacian, as in a
//! Kelvin-Voigt solid. A shear motion at f hertz has the damping ratio `pi f beta`, so fast ringing dies out
//! within a cycle while slow swinging goes on. The gradient is not freed of rotation: positions are expressed
//! in the frame of the head, where flesh turns by little. The second derivative is constant, and a
//! preconditioner that contains it is exact.

use crate::energy::isotropic::{tet_gradient, tet_laplacian};
use crate::energy::lanes::Dashpots;
use crate::energy::tissue::{Tissue, TissueRest};
use crate::energy::{Energy, Forces};
use glam::{DMat3, DVec3};
use risorius_linalg::{ElementBlocks, Stencil};
use risorius_mesh::tet::tet_mesh::edge_matrix;
use std::ops::Range;

/// The viscosity of a tissue over a step.
pub struct Viscosity<'a> {
    tets: &'a [Stencil],
    rest: &'a TissueRest,
    /// `eta V / h` of each tet.
    weights: Vec<f64>,
    from: &'a [DVec3],
    is_zero: bool,
}

impl<'a> Viscosity<'a> {
    /// For a step of `dt_secs` from the positions `from`; `eta` in pascal seconds per tet, or empty for none.
    pub(crate) fn prepare(
        tets: &'a [Stencil],
        rest: &'a TissueRest,
        eta: &[f64],
        from: &'a [DVec3],
        dt_secs: f64,
    ) -> Self {
        let of_tet = |(t, v): (usize, &f64)| eta.get(t).map_or(0.0, |eta| eta * v / dt_secs);
        let weights: Vec<f64> = rest.volume.iter().enumerate().map(of_tet).collect();
        let is_zero = weights.iter().all(|w| *w == 0.0);
        Self { tets, rest, weights, from, is_zero }
    }

    /// Energy and forces of a tet.
    #[inline]
    pub(crate) fn of_tet(&self, x: &[DVec3], tet: usize) -> (f64, Forces) {
        let nodes = self.tets[tet];
        let moved = edge_matrix(x, nodes) - edge_matrix(self.from, nodes);
        let gradient = moved * self.rest.inverse[tet];
        let squared = gradient.x_axis.length_squared()
            + gradient.y_axis.length_squared()
            + gradient.z_axis.length_squared();
        let weight = self.weights[tet];
        (0.5 * weight * squared, tet_gradient(gradient, self.rest.inverse[tet], weight))
    }
}

impl Energy for Viscosity<'_> {
    fn stencils(&self) -> &[Stencil] {
        self.tets
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        values.iter_mut().zip(elements).for_each(|(value, tet)| *value = self.of_tet(x, tet).0);
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        for ((value, gradient), tet) in values.iter_mut().zip(gradients).zip(elements) {
            (*value, *gradient) = self.of_tet(x, tet);
        }
    }

    fn reach(&self) -> f64 {
        f64::INFINITY
    }

    fn is_zero(&self) -> bool {
        self.is_zero
    }

    fn hessians(&self, _x: &[DVec3], elements: Range<usize>, _exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            let scalar = tet_laplacian(self.rest.inverse[tet], self.weights[tet]);
            *block = scalar.map(|[[k]]| DMat3::from_diagonal(DVec3::splat(k)).to_cols_array_2d());
        }
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            *block = tet_laplacian(self.rest.inverse[tet], self.weights[tet]);
        }
    }
}

/// A tissue together with its viscosity over a step, evaluated in one pass.
pub struct Damped<'a> {
    tissue: &'a Tissue,
    viscosity: Viscosity<'a>,
    dashpots: Vec<Dashpots>,
}

impl<'a> Damped<'a> {
    /// For a step of `dt_secs` from the positions `from`.
    pub(crate) fn prepare(tissue: &'a Tissue, from: &'a [DVec3], dt_secs: f64) -> Self {
        let viscosity = Viscosity::prepare(tissue.stencils(), tissue.rest(), tissue.eta(), from, dt_secs);
        let dashpots = match viscosity.is_zero {
            true => Vec::new(),
            false => tissue.dashpots(from, &viscosity.weights),
        };
        Self { tissue, viscosity, dashpots }
    }

    /// The viscosity alone.
    pub(crate) fn viscosity(&self) -> &Viscosity<'a> {
        &self.viscosity
    }

    pub(crate) fn dashpots(&self) -> &[Dashpots] {
        &self.dashpots
    }

    fn with_dashpots(&self) -> Option<&Self> {
        (!self.viscosity.is_zero).then_some(self)
    }
}

impl Energy for Damped<'_> {
    fn stencils(&self) -> &[Stencil] {
        self.tissue.stencils()
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        self.tissue.values(x, elements.clone(), values);
        values.iter_mut().zip(elements).for_each(|(value, tet)| *value += self.viscosity.of_tet(x, tet).0);
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        self.tissue.gradients(x, elements.clone(), values, gradients);
        for ((value, forces), tet) in values.iter_mut().zip(gradients).zip(elements) {
            let (more_value, more) = self.viscosity.of_tet(x, tet);
            *value += more_value;
            forces.iter_mut().zip(more).for_each(|(force, more)| *force += more);
        }
    }

    fn add_gradients(
        &self,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        corners: &[[u16; 4]],
        sums: &mut [DVec3],
    ) -> f64 {
        self.tissue.add_with(self.with_dashpots(), x, elements, values, corners, sums)
    }

    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]) {
        self.tissue.hessians(x, elements.clone(), exact, blocks);
        let mut more = vec![[[[0.0; 3]; 3]; 10]; blocks.len()];
        self.viscosity.hessians(x, elements, exact, &mut more);
        blocks.iter_mut().zip(&more).for_each(|(block, more)| add(block, more));
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        self.tissue.laplacians(elements.clone(), blocks);
        let mut more = vec![[[[0.0]]; 10]; blocks.len()];
        self.viscosity.laplacians(elements, &mut more);
        blocks.iter_mut().zip(&more).for_each(|(block, more)| add(block, more));
    }

    fn largest_step(&self, x: &[DVec3], d: &[DVec3], elements: Range<usize>) -> f64 {
        self.tissue.largest_step(x, d, elements)
    }

    fn smallest_det(&self, x: &[DVec3], elements: Range<usize>) -> f64 {
        self.tissue.smallest_det(x, elements)
    }
}

fn add<const B: usize>(block: &mut ElementBlocks<B>, more: &ElementBlocks<B>) {
    for (a, b) in block.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::tissue::Barrier;
    use crate::fixtures::{Random, check_energy};

    /// One pass gives the sum of both energies, also where the barrier acts.
    #[test]
    fn damped_tissue_is_tissue_plus_viscosity() {
        let mut random = Random(21);
        let rest: Vec<DVec3> = (0..40u32)
            .map(|i| {
                DVec3::new(f64::from(i % 4), f64::from(i / 4 % 3), f64::from(i / 12)) + 0.1 * random.vector()
            })
            .collect();
        let mut tets: Vec<Stencil> = (0..27u32).map(|i| [i, i + 1, i + 4, i + 12]).collect();
        tets.retain(|&tet| edge_matrix(&rest, tet).determinant() > 0.1);
        let n = tets.len();
        assert!(n > 16, "more than a group of lanes");
        let barrier = Barrier { strength: 3.0, threshold: 0.2 };
        let tissue = Tissue::prepare(&tets, &rest, None, &vec![3.0; n], &vec![2.0; n], barrier).unwrap();
        let eta: Vec<f64> = (0..n).map(|t| 0.1 + 0.01 * t as f64).collect();
        let tissue = tissue.with_viscosity(&eta).unwrap();
        let from: Vec<DVec3> = rest.iter().map(|p| *p + 0.05 * random.vector()).collect();
        let damped = tissue.damped(&from, 0.01).unwrap();
        for shrink in [1.0, 0.55] {
            let x: Vec<DVec3> = rest.iter().map(|p| *p * shrink + 0.02 * random.vector()).collect();
            check_energy(&damped, &x, 1e-5);
            let corners: Vec<[u16; 4]> = tets.iter().map(|tet| tet.map(|node| node as u16)).collect();
            let sums = |energy: &dyn Energy| {
                let (mut values, mut sums) = (vec![0.0; n], vec![DVec3::ZERO; rest.len()]);
                energy.add_gradients(&x, 0..n, &mut values, &corners, &mut sums);
                (values, sums)
            };
            let (both, parts) = (sums(&damped), [sums(&tissue), sums(damped.viscosity())]);
            for t in 0..n {
                let sum = parts[0].0[t] + parts[1].0[t];
                assert!((both.0[t] - sum).abs() <= 1e-12 * sum, "tet {t}: {} {sum}", both.0[t]);
            }
            for node in 0..rest.len() {
                let sum = parts[0].1[node] + parts[1].1[node];
                assert!(both.1[node].distance(sum) <= 1e-10, "node {node}");
            }
        }
    }
}
