//! The words of a body in motion: what it is made of, where it rests, what acts on it, what a step gave.

use crate::contact::detect::{Posed, Touch};
use crate::contact::obstacle::Obstacle;
use crate::contact::planes::Contact;
use crate::energy::BodyEnergy;
use crate::minimize::newton::{SolveOptions, SolveReport};
use crate::{Energy, SolveError, Stencil, check_length};
use glam::DVec3;
use risorius_base::Rigid;
use std::sync::Arc;
use std::time::Duration;

/// Where a body rests and the parameters of its energies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Configuration {
    /// Rest position of every node, meters; no tet is inverted. Held nodes are there.
    pub rest: Vec<DVec3>,
    /// Lists of the body's energies, in their order; for tissue the shear stiffness mu and the resistance to
    /// volume change lambda of each tet, Pa.
    pub parameters: Vec<Vec<f64>>,
    /// Where the pose puts the surface of the body's [`Touch`].
    pub surface: Posed,
}

impl Configuration {
    /// The lists of each of `energies`.
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

    /// What `energies` are here.
    pub(crate) fn energies(
        &self,
        energies: &[Arc<dyn BodyEnergy>],
    ) -> Result<Vec<Box<dyn Energy + Send>>, SolveError> {
        let wanted: usize = energies.iter().map(|energy| energy.n_parameters()).sum();
        check_length("lists of parameters", self.parameters.len(), wanted)?;
        self.split(energies).map(|(energy, own)| energy.at(&self.rest, own)).collect()
    }

    /// Whether a preconditioner for `other` can be to blame for slow solves here: the parameters of an energy
    /// differ much, or the shape by two millimeters.
    pub(crate) fn is_unlike(&self, other: &Self, energies: &[Arc<dyn BodyEnergy>]) -> bool {
        let pairs = self.split(energies).zip(other.split(energies));
        pairs.into_iter().any(|((energy, here), (_, there))| energy.is_unlike(here, there))
            || self.rest.iter().zip(&other.rest).any(|(a, b)| a.distance_squared(*b) > 4e-6)
    }
}

/// What a body is made of.
#[derive(Clone, Default)]
pub struct Body<'a> {
    /// Its tets, which carry the surface.
    pub tets: &'a [Stencil],
    /// Its energies, besides inertia and contact.
    pub energies: Vec<Arc<dyn BodyEnergy>>,
    /// Of each node, kilograms.
    pub masses: &'a [f64],
    /// Nodes that stay where they rest.
    pub held: &'a [bool],
    /// What its surface can touch; nothing by default.
    pub touch: Touch,
}

/// What acts on a body during a step; nothing by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// At each node, newtons, in the moving frame; none if empty.
    pub forces: &'a [DVec3],
    /// Where they are at the end of the step, in the moving frame.
    pub obstacles: &'a [Obstacle],
}

impl<'a> Around<'a> {
    /// Forces and no obstacles.
    pub fn forces(forces: &'a [DVec3]) -> Self {
        Self { forces, obstacles: &[] }
    }
}

/// How to step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOptions {
    /// Length of a usual step, seconds; factors are made for it.
    pub dt_secs: f64,
    /// 1: changes of rest shape and material set nothing in motion; 0: they do as they would.
    pub rebalance: f64,
    /// Velocities relative to the moving frame decay at this rate, 1/s, besides what backward Euler damps.
    pub damping: f64,
    /// When a solve is done.
    pub solve: SolveOptions,
    /// Newton's method alone: slow, for comparison.
    pub reference: bool,
}

impl Default for StepOptions {
    fn default() -> Self {
        Self {
            dt_secs: 1.0 / 300.0,
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
    /// Elastic energy, joules.
    pub elastic: f64,
    /// Kinetic energy relative to the moving frame, joules.
    pub kinetic: f64,
    /// The body was tangled, and began from rest.
    pub recovered: bool,
    /// Contacts that press at the end.
    pub contacts: usize,
    /// How much deeper than in the pose a surface point is in another surface or in an obstacle, meters.
    pub depth: f64,
    /// The deepest surface point.
    pub deepest: u32,
    /// Time in tissues, dynamic solves, static solves, factorization, search for contacts.
    pub times: [Duration; 5],
}

/// A body at one moment: all that its next step depends on besides what [`Dynamics::prepare`] was given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// Where it rests.
    pub configuration: Configuration,
    /// Where its nodes are, in the moving frame, meters.
    pub positions: Vec<DVec3>,
    /// Their velocities in the world, m/s.
    pub velocities: Vec<DVec3>,
    /// The moving frame.
    pub frame: Rigid,
    /// How the displacement from rest changed in the last step, meters; zero is always good, but begins
    /// solves elsewhere.
    pub drift: Vec<DVec3>,
    /// What the factors were made for, without its surface: solves end within their tolerance by any, but at
    /// other bits.
    pub factored: Configuration,
}

impl StepReport {
    pub(crate) fn note_contacts(&mut self, touching: &[Contact]) {
        for contact in touching.iter().filter(|contact| contact.room < 0.0) {
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
