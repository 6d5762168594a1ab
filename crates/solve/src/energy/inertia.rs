//! Inertia of a time step: every node is pulled to its position after flight without forces.
//!
//! `k/2 |x - t|^2` with `k = m/h^2` for backward Euler [Kozlov17, eq. 10].

use crate::energy::{Energy, Forces, Pulls};
use crate::{SolveError, check_length, check_values};
use glam::{DMat3, DVec3};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{ElementBlocks, NO_NODE, Stencil};
use std::ops::Range;

/// The inertia of all nodes.
#[derive(Debug, Clone)]
pub struct Inertia {
    stencils: Vec<Stencil>,
    stiffness: Vec<f64>,
    targets: Vec<DVec3>,
    is_zero: bool,
}

impl Inertia {
    /// For a step of `dt_secs` that reaches `free_flight` without forces; infinite for no inertia.
    pub fn prepare(masses: &[f64], free_flight: &[DVec3], dt_secs: f64) -> Result<Self, SolveError> {
        check_length("positions after free flight", free_flight.len(), masses.len())?;
        let stiffness: Vec<f64> = masses.iter().map(|mass| mass / (dt_secs * dt_secs)).collect();
        check_values("mass over squared time step", stiffness.iter().copied())?;
        check_values("squared length of a position", free_flight.iter().map(|p| p.length_squared()))?;
        Ok(Self {
            stencils: Self::stencils_of(masses.len()),
            is_zero: stiffness.iter().all(|k| *k == 0.0),
            stiffness,
            targets: free_flight.to_vec(),
        })
    }

    /// Its elements: one for each node.
    pub(crate) fn stencils_of(n_nodes: usize) -> Vec<Stencil> {
        (0..n_nodes as u32).map(|node| [node, NO_NODE, NO_NODE, NO_NODE]).collect()
    }
}

impl Energy for Inertia {
    fn stencils(&self) -> &[Stencil] {
        &self.stencils
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        for (value, node) in values.iter_mut().zip(elements) {
            *value = 0.5 * self.stiffness[node] * x[node].distance_squared(self.targets[node]);
        }
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        self.values(x, elements.clone(), values);
        for (gradient, node) in gradients.iter_mut().zip(elements) {
            let force = (x[node] - self.targets[node]) * self.stiffness[node];
            *gradient = [force, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
        }
    }

    fn reach(&self) -> f64 {
        f64::INFINITY
    }

    fn pulls(&self) -> Option<Pulls<'_>> {
        Some(Pulls { stiffness: &self.stiffness, targets: &self.targets })
    }

    fn is_zero(&self) -> bool {
        self.is_zero
    }

    fn hessians(&self, _x: &[DVec3], elements: Range<usize>, _exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, node) in blocks.iter_mut().zip(elements) {
            *block = [[[0.0; 3]; 3]; 10];
            block[block_index(0, 0)] =
                DMat3::from_diagonal(DVec3::splat(self.stiffness[node])).to_cols_array_2d();
        }
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        for (block, node) in blocks.iter_mut().zip(elements) {
            *block = [[[0.0]]; 10];
            block[block_index(0, 0)] = [[self.stiffness[node]]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, check_energy};

    #[test]
    fn inertia_is_the_sum_of_its_springs() {
        let mut random = Random(8);
        let [targets, x] = [(); 2].map(|()| (0..3).map(|_| random.vector()).collect::<Vec<DVec3>>());
        let inertia = Inertia::prepare(&[1.0, 2.0, 0.0], &targets, 0.5).unwrap();
        check_energy(&inertia, &x, 1e-6);
        let mut values = [0.0; 3];
        inertia.values(&x, 0..3, &mut values);
        let expected =
            [2.0 * x[0].distance_squared(targets[0]), 4.0 * x[1].distance_squared(targets[1]), 0.0];
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!(Inertia::prepare(&[f64::NAN], &[DVec3::ZERO], 1.0).is_err());
        assert!(Inertia::prepare(&[1.0], &[DVec3::ZERO], f64::INFINITY).unwrap().is_zero());
    }
}
