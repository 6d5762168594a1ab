//! The types of a body in motion: its parts, its configuration, its loads, its state, and the report of a
//! step.

use crate::contact::detect::{Posed, Touch};
use crate::contact::obstacle::Obstacle;
use crate::contact::planes::Contact;
use crate::energy::BodyEnergy;
use crate::minimize::newton::{SolveOptions, SolveReport};
use crate::step::scheme::{LastStep, Stepping};
use crate::{Energy, SolveError, Stencil, check_length};
use glam::DVec3;
use risorius_base::Rigid;
use std::sync::Arc;
use std::time::Duration;

/// A body's rest shape and the parameters of its energies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Configuration {
    /// Rest position of every node, meters; no tet is inverted. Held nodes are at these positions.
    pub rest: Vec<DVec3>,
    /// Parameter lists of the body's energies, in their order; for tissue the shear stiffness mu and the
    /// resistance to volume change lambda of each tet, Pa.
    pub parameters: Vec<Vec<f64>>,
    /// The points of the body's [`Touch`] in the pose.
    pub surface: Posed,
}

impl Configuration {
    /// The parameter lists of each energy.
    fn split<'a>(
        &'a self,
        energies: &'a [Arc<dyn BodyEnergy>],
    ) -> impl Iterator<Item = (&'a dyn BodyEnergy, &'a [Vec<f64>])> {
        let mut first = 0;
        energies.iter().map(move |energy| {
            let own = first..first + energy.n_parameters();
            first = own.end;
            (energy.as_ref(), self.parameters.get(own).unwrap_or_default())
        })
    }

    /// The energies at this configuration.
    pub(crate) fn energies(
        &self,
        energies: &[Arc<dyn BodyEnergy>],
    ) -> Result<Vec<Box<dyn Energy + Send>>, SolveError> {
        let wanted: usize = energies.iter().map(|energy| energy.n_parameters()).sum();
        check_length("lists of parameters", self.parameters.len(), wanted)?;
        self.split(energies).map(|(energy, own)| energy.at(&self.rest, own)).collect()
    }

    /// Whether `other` is so different that a preconditioner for it can slow down solves here: the parameters
    /// of an energy differ much, or the rest shape by more than two millimeters.
    pub(crate) fn is_unlike(&self, other: &Self, energies: &[Arc<dyn BodyEnergy>]) -> bool {
        let pairs = self.split(energies).zip(other.split(energies));
        pairs.into_iter().any(|((energy, here), (_, there))| energy.is_unlike(here, there))
            || self.rest.iter().zip(&other.rest).any(|(a, b)| a.distance_squared(*b) > 4e-6)
    }
}

/// The parts of a body.
#[derive(Clone, Default)]
pub struct Body<'a> {
    /// Its tets, which carry the surface.
    pub tets: &'a [Stencil],
    /// Its energies, besides inertia and contact.
    pub energies: Vec<Arc<dyn BodyEnergy>>,
    /// Mass of each node, kilograms.
    pub masses: &'a [f64],
    /// Nodes that stay at their rest positions.
    pub held: &'a [bool],
    /// Its surface and collision pairs; none by default.
    pub touch: Touch,
}

/// What acts on a body during a step; nothing by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// Force at each node, newtons, in the moving frame; none if empty.
    pub forces: &'a [DVec3],
    /// Obstacles as they are at the end of the step, in the moving frame.
    pub obstacles: &'a [Obstacle],
}

impl<'a> Around<'a> {
    /// Forces and no obstacles.
    pub fn forces(forces: &'a [DVec3]) -> Self {
        Self { forces, obstacles: &[] }
    }
}

/// Options of the time steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOptions {
    /// Usual step length, seconds; preconditioners are made for it.
    pub dt_secs: f64,
    /// The formula of the steps.
    pub stepping: Stepping,
    /// Share of dynamic rebalancing, 0 to 1. At 1, changes of rest shape and material excite no motion; at 0,
    /// the simulation is conventional.
    pub rebalance: f64,
    /// Decay rate of velocities relative to the moving frame, 1/s, in addition to the damping of backward
    /// Euler.
    pub damping: f64,
    /// When a solve stops.
    pub solve: SolveOptions,
    /// Use Newton's method only: slow, for comparison.
    pub reference: bool,
}

impl Default for StepOptions {
    fn default() -> Self {
        Self {
            dt_secs: 1.0 / 300.0,
            stepping: Stepping::BackwardEuler,
            rebalance: 1.0,
            damping: 0.0,
            solve: SolveOptions { force_tolerance: 5e-6, step_tolerance: 3e-7, ..SolveOptions::default() },
            reference: false,
        }
    }
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepReport {
    /// Iterations of the dynamic solve or solves, and of the static one.
    pub iterations: [usize; 2],
    /// Largest force left at a free node by the last solve, newtons.
    pub residual: f64,
    /// Whether all solves met their tolerance.
    pub converged: bool,
    /// Smallest `det F`.
    pub smallest_det: f64,
    /// Kinetic energy relative to the moving frame, joules.
    pub kinetic: f64,
    /// The body had inverted tets, and the step started from the rest shape.
    pub recovered: bool,
    /// Number of pressing contacts at the end.
    pub contacts: usize,
    /// Largest penetration depth of a surface point into another surface or an obstacle, beyond the pose's
    /// own overlap, meters.
    pub depth: f64,
    /// The deepest surface point.
    pub deepest: u32,
    /// Time for energies, dynamic solves, static solves, factorization, contact detection.
    pub times: [Duration; 5],
}

/// The resume state of a body: all that its next step depends on besides the input of
/// [`crate::Dynamics::prepare`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// The present configuration.
    pub configuration: Configuration,
    /// Positions of the nodes in the moving frame, meters.
    pub positions: Vec<DVec3>,
    /// Their velocities in the world, m/s.
    pub velocities: Vec<DVec3>,
    /// The moving frame.
    pub frame: Rigid,
    /// The last step. Without it, solves start from other positions, and the next step is first order.
    pub last: LastStep,
    /// The configuration that the preconditioners were made for, without its surface. With another, solves
    /// still end within their tolerance, but the bits differ.
    pub factored: Configuration,
}

impl StepReport {
    pub(crate) fn note_contacts(&mut self, touching: &[Contact]) {
        for contact in touching.iter().filter(|contact| !contact.film && contact.room < 0.0) {
            self.contacts += 1;
            if -contact.room > self.depth {
                (self.depth, self.deepest) = (-contact.room, contact.points[0]);
            }
        }
    }

    pub(crate) fn note(&mut self, solved: &SolveReport) {
        self.residual = solved.residual;
        self.smallest_det = solved.smallest_det;
        self.converged &= solved.converged();
    }
}
