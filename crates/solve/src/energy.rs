//! The face that every energy shows to the solvers: a sum over elements of up to four nodes.
//!
//! Methods take a range of elements and fill slices of the same length, so that an energy is free to work on
//! several elements at once and the system is free to spread ranges over threads. Sums over elements are the
//! system's business, which does them in a fixed order.

pub mod foldover;
pub mod inversion;
pub mod isotropic;
mod lanes;
pub mod springs;
pub mod tissue;

use glam::DVec3;
use risorius_linalg::{ElementBlocks, Stencil};
use std::ops::Range;

/// An energy in joules over nodes in meters.
pub trait Energy: Sync {
    /// The nodes of each element.
    fn stencils(&self) -> &[Stencil];

    /// Energy of each element; infinite where the energy does not exist (behind a barrier).
    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]);

    /// Energy and its derivative at the nodes of each element.
    fn gradients(
        &self,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        gradients: &mut [[DVec3; 4]],
    );

    /// As [`Energy::gradients`]. Returns a distance in meters: no element becomes flat while no node moves
    /// farther. Zero says that nothing is known, and [`Energy::largest_step`] has to be asked.
    fn gradients_and_reach(
        &self,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        gradients: &mut [[DVec3; 4]],
    ) -> f64 {
        self.gradients(x, elements, values, gradients);
        0.0
    }

    /// Whether energy and forces are zero everywhere, so that nothing needs to be evaluated.
    fn is_zero(&self) -> bool {
        false
    }

    /// Second derivatives: as they are if `exact`, otherwise the nearest positive semidefinite matrix of each
    /// element.
    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]);

    /// A matrix of one unknown per node that stands for the second derivatives: the same for x, y and z.
    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]);

    /// Whether the stiffness differs so much with direction that [`Energy::laplacians`] is no good stand-in.
    fn is_directional(&self) -> bool {
        false
    }

    /// The largest step along `d` before an element that is upright now becomes flat.
    fn largest_step(&self, _x: &[DVec3], _d: &[DVec3], _elements: Range<usize>) -> f64 {
        f64::INFINITY
    }

    /// The smallest determinant of a deformation gradient, infinite for energies without one.
    fn smallest_det(&self, _x: &[DVec3], _elements: Range<usize>) -> f64 {
        f64::INFINITY
    }
}
