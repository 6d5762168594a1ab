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
use crate::energy::tissue::TissueRest;
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

    /// The derivative of the energy at every node.
    pub(crate) fn node_gradients(&self, x: &[DVec3]) -> Vec<DVec3> {
        let mut sums = vec![DVec3::ZERO; x.len()];
        if !self.is_zero {
            for (t, tet) in self.tets.iter().enumerate() {
                let forces = self.of_tet(x, t).1;
                tet.iter().zip(forces).for_each(|(&node, force)| sums[node as usize] += force);
            }
        }
        sums
    }

    #[inline]
    fn of_tet(&self, x: &[DVec3], tet: usize) -> (f64, Forces) {
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

    fn gradients_and_reach(
        &self,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        gradients: &mut [Forces],
    ) -> f64 {
        self.gradients(x, elements, values, gradients);
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
