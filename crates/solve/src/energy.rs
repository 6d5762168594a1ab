//! The interface between energies and solvers: a sum over elements of up to four nodes.
//!
//! Methods take a range of elements and fill slices of the same length. An energy can therefore process
//! several elements at once, and the system can distribute ranges over threads. The system sums over
//! elements, in a fixed order.

pub mod fiber;
pub mod foldover;
pub mod inertia;
pub mod inversion;
pub mod isotropic;
mod lanes;
pub mod least_stretch;
pub mod muscle;
pub mod springs;
pub mod tissue;
pub mod viscosity;

use crate::SolveError;
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{ElementBlocks, Stencil};
use std::ops::Range;
use viscosity::Damped;

/// The derivative of an element's energy at its four nodes.
pub type Forces = [DVec3; 4];

/// Elements per parallel task.
pub const BLOCK: usize = 256;

/// Springs of single nodes: `k/2 |x - t|^2` at each.
#[derive(Debug, Clone, Copy)]
pub struct Pulls<'a> {
    /// k, newtons per meter.
    pub stiffness: &'a [f64],
    /// t.
    pub targets: &'a [DVec3],
}

/// An energy in joules over nodes in meters.
pub trait Energy: Sync {
    /// The nodes of each element.
    fn stencils(&self) -> &[Stencil];

    /// Energy of each element; infinite where it is undefined (behind a barrier).
    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]);

    /// Energy and its derivative at the nodes of each element.
    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]);

    /// As [`Energy::gradients`], summed: the derivative at each corner of each element is added to
    /// `sums[corner]`. At most [`BLOCK`] elements. Returns a distance in meters: no element becomes flat
    /// while no node moves farther. Zero means that no bound is known; callers then use
    /// [`Energy::largest_step`].
    fn add_gradients(
        &self,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        corners: &[[u16; 4]],
        sums: &mut [DVec3],
    ) -> f64 {
        let mut forces = [[DVec3::ZERO; 4]; BLOCK];
        let forces = &mut forces[..values.len()];
        self.gradients(x, elements, values, forces);
        for (corners, forces) in corners.iter().zip(forces) {
            for (&corner, &force) in corners.iter().zip(&*forces) {
                sums[usize::from(corner)] += force;
            }
        }
        self.reach()
    }

    /// A distance as [`Energy::add_gradients`] returns it, at any state.
    fn reach(&self) -> f64 {
        0.0
    }

    /// The energy as springs of single nodes, if element i pulls node i and nothing else.
    fn pulls(&self) -> Option<Pulls<'_>> {
        None
    }

    /// Whether energy and forces are zero everywhere, so that nothing needs to be evaluated.
    fn is_zero(&self) -> bool {
        false
    }

    /// Second derivatives: unmodified if `exact`, otherwise projected to the nearest positive semidefinite
    /// matrix of each element.
    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]);

    /// A scalar approximation of the second derivatives: one unknown per node, the same for x, y and z.
    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]);

    /// Whether the stiffness depends so much on direction that [`Energy::laplacians`] approximates it badly.
    fn is_directional(&self) -> bool {
        false
    }

    /// The largest step along `d` before an element that is not inverted becomes flat.
    fn largest_step(&self, _x: &[DVec3], _d: &[DVec3], _elements: Range<usize>) -> f64 {
        f64::INFINITY
    }

    /// This energy together with the viscosity of its material over a step of `dt_secs` from the positions
    /// `from`; `None` without viscosity.
    fn damped<'a>(&'a self, _from: &'a [DVec3], _dt_secs: f64) -> Option<Damped<'a>> {
        None
    }

    /// The smallest determinant of a deformation gradient, infinite for energies without one.
    fn smallest_det(&self, _x: &[DVec3], _elements: Range<usize>) -> f64 {
        f64::INFINITY
    }
}

/// An energy of a body whose rest shape and parameters change from step to step.
///
/// Examples: tissue ([`tissue::ElasticTets`]), fibers, targets, springs to tracks.
pub trait BodyEnergy: Send + Sync {
    /// Nodes of its elements; they never change.
    fn stencils(&self) -> &[Stencil];

    /// How many lists of [`crate::Configuration::parameters`] it takes.
    fn n_parameters(&self) -> usize;

    /// The energy at a rest shape, with its own lists of parameters.
    fn at(&self, rest: &[DVec3], parameters: &[Vec<f64>]) -> Result<Box<dyn Energy + Send>, SolveError>;

    /// Whether the parameters `a` and `b` differ so much that a preconditioner for `a` can slow down solves
    /// with `b`.
    fn is_unlike(&self, a: &[Vec<f64>], b: &[Vec<f64>]) -> bool;
}

/// Elements per parallel task.
const DETS: usize = 1024;

/// The smallest determinant of a deformation gradient over all elements of some energies.
pub(crate) fn least_det(energies: &[Box<dyn Energy + Send>], x: &[DVec3]) -> f64 {
    let of = |energy: &(dyn Energy + Send)| {
        let n = energy.stencils().len();
        let parts = (0..n).into_par_iter().step_by(DETS);
        parts
            .map(|first| energy.smallest_det(x, first..(first + DETS).min(n)))
            .reduce(|| f64::INFINITY, f64::min)
    };
    energies.iter().map(|energy| of(&**energy)).fold(f64::INFINITY, f64::min)
}
