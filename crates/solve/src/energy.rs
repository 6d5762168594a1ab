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

use crate::SolveError;
use glam::DVec3;
use rayon::prelude::*;
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

/// An energy of a body: what it is at any rest shape and with any parameters, which both change from step to
/// step.
///
/// Tissue is one ([`tissue::ElasticTets`]); fibers, targets and springs to tracks are others.
pub trait BodyEnergy: Send + Sync {
    /// Nodes of its elements; they stay the same.
    fn stencils(&self) -> &[Stencil];

    /// How many lists of [`crate::Configuration::parameters`] it takes.
    fn n_parameters(&self) -> usize;

    /// The energy at a rest shape, with its own lists of parameters.
    fn at(&self, rest: &[DVec3], parameters: &[Vec<f64>]) -> Result<Box<dyn Energy + Send>, SolveError>;

    /// Whether a preconditioner for the parameters `a` can be to blame for slow solves with `b`.
    fn is_unlike(&self, a: &[Vec<f64>], b: &[Vec<f64>]) -> bool;
}

/// Elements that a thread looks at.
const DETS: usize = 1024;

/// The smallest determinant of a deformation gradient over all elements of some energies.
pub(crate) fn least_det(energies: &[Box<dyn Energy + Send>], x: &[DVec3]) -> f64 {
    let of = |energy: &Box<dyn Energy + Send>| {
        let n = energy.stencils().len();
        let parts = (0..n).into_par_iter().step_by(DETS);
        parts
            .map(|first| energy.smallest_det(x, first..(first + DETS).min(n)))
            .reduce(|| f64::INFINITY, f64::min)
    };
    energies.iter().map(of).fold(f64::INFINITY, f64::min)
}
