//! A minimization under way: the local and the global step in turns, with contacts and acceleration.
//!
//! Contacts stay the same for some iterations, in which the sum of all energies is one function that a plain
//! step never raises. Combined steps that raise it are undone. Contacts are found anew when the iteration has
//! come to rest, or after [`Iterations::detect_every`] iterations; then acceleration begins anew as well. It
//! ends when an iteration with contacts that were just found hardly moves anything. After
//! [`Iterations::detections`] searches the contacts stay as they are: a point at an edge may have another
//! closest place in every search, without end.

use super::anderson::Anderson;
use super::elements::Gradients;
use super::kernel::Number;
use super::planes::Planes;
use super::solver::{Factor, Iterations, NODES, Objective, ProjectReport, Projective, timed};
use crate::SolveError;
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::{Progress, tick};
use risorius_linalg::SweepSpace;
use std::sync::Arc;

/// With contacts that were just found, a step below this has converged, meters.
const FOUND_ANEW: f64 = 5e-6;

/// A rise of the energy by this share is rounding of single precision.
const ROUNDING: f64 = 1e-6;

/// A minimization under way.
pub(super) struct Descent<'a, T> {
    system: &'a Projective<T>,
    objective: &'a Objective<'a, T>,
    options: &'a Iterations,
    factor: Arc<Factor>,
    from: Option<(Gradients<T>, f64)>,
    space: ProjectSpace,
    anderson: Anderson,
    planes: Planes,
    /// The energy before the last step, and where that led without being combined with others.
    before: Option<(f64, Vec<DVec3>)>,
    /// Iterations since contacts were found.
    since: usize,
    report: ProjectReport,
}

impl<'a, T: Number> Descent<'a, T> {
    /// From anywhere.
    pub fn prepare(
        system: &'a Projective<T>,
        objective: &'a Objective<'a, T>,
        options: &'a Iterations,
    ) -> Result<Self, SolveError> {
        let mut report = ProjectReport::default();
        let span_secs = objective.inertial.map(|i| i.span_secs);
        let factor = timed(&mut report.seconds[3], || system.factor(span_secs))?;
        Ok(Self {
            from: system.viscous(objective),
            space: ProjectSpace::default(),
            anderson: Anderson::new(options.memory),
            planes: Planes::default(),
            before: None,
            since: 0,
            system,
            objective,
            options,
            factor,
            report,
        })
    }

    /// Moves `x` to a minimum.
    pub fn run(mut self, x: &mut Vec<DVec3>, progress: &Progress) -> Result<ProjectReport, SolveError> {
        let mut detects = true;
        while self.report.iterations < self.options.most {
            if std::mem::take(&mut detects) {
                self.detect(x)?;
            }
            let energy = self.energy_or_undone(x);
            self.report.energies.push(energy);
            let plain = self.stepped(x)?;
            let is_short = self.report.step < self.options.tolerance;
            let touches =
                self.objective.touching.is_some() && self.report.detections < self.options.detections.max(1);
            // With contacts that were just found, what they change by themselves counts as well.
            let settled = self.since == 1 && self.report.step < self.options.tolerance.max(FOUND_ANEW);
            if is_short && !touches || touches && settled {
                self.report.converged = true;
                *x = plain;
                break;
            }
            detects = touches && (is_short || self.since >= self.options.detect_every.max(1));
            self.advance(x, plain, energy, detects);
            tick(progress, "solving", 0.0)?;
        }
        if self.since > 0 {
            self.detect(x)?;
        }
        self.report.contacts = self.planes.contacts;
        Ok(self.report)
    }

    /// Finds contacts at `x`. Nodes that are far away end the minimization: searches would take long there.
    fn detect(&mut self, x: &[DVec3]) -> Result<(), SolveError> {
        let Some(touching) = &self.objective.touching else { return Ok(()) };
        self.system.check_near(x, &touching.at.rest)?;
        let body = (self.system.tets(), self.system.held());
        let (factor, before) = (&self.factor, &self.planes);
        self.planes = timed(&mut self.report.seconds[2], || touching.planes(body, factor, x, before));
        self.report.detections += 1;
        self.since = 0;
        Ok(())
    }

    /// The energy at `x`, with its derivative in the workspace. If the last step raised it by being combined
    /// with others, `x` is put back to where it led alone.
    fn energy_or_undone(&mut self, x: &mut Vec<DVec3>) -> f64 {
        let energy = self.energy(x);
        match self.before.take() {
            Some((last, plain)) if energy > last + ROUNDING * last.abs() => {
                *x = plain;
                self.anderson.clear();
                self.report.undone += 1;
                self.energy(x)
            }
            _ => energy,
        }
    }

    fn energy(&mut self, x: &[DVec3]) -> f64 {
        let elastic = timed(&mut self.report.seconds[0], || {
            self.system.evaluate(self.objective, self.from.as_ref(), x, &mut self.space)
        });
        elastic + timed(&mut self.report.seconds[2], || self.planes.energy(x))
    }

    /// Where a plain step from `x` leads.
    fn stepped(&mut self, x: &[DVec3]) -> Result<Vec<DVec3>, SolveError> {
        let (space, report) = (&mut self.space, &mut self.report);
        report.residual = space.gradient.iter().map(|g| g.length_squared()).fold(0.0, f64::max).sqrt();
        let sweep = self.factor.sweep();
        timed(&mut report.seconds[1], || {
            space.gradient.par_iter_mut().with_min_len(NODES).for_each(|g| *g = -*g);
            sweep.halfway(&space.gradient, &mut space.whole);
        });
        report.pushing = timed(&mut report.seconds[2], || {
            self.planes.push(&self.factor, self.system.carriers(), x, &mut space.whole)
        });
        space.step.resize(x.len(), DVec3::ZERO);
        timed(&mut report.seconds[1], || sweep.finish(&mut space.whole, &mut space.step));
        report.iterations += 1;
        self.since += 1;
        report.step = space.step.iter().map(|d| d.length_squared()).fold(0.0, f64::max).sqrt();
        if !space.step.iter().all(|d| d.is_finite()) {
            return Err(SolveError::BadStart);
        }
        Ok(x.iter().zip(&space.step).map(|(x, d)| *x + *d).collect())
    }

    /// Goes on from `x`, which has this energy, to `plain` or beyond. Before contacts are found anew, and in
    /// the last step, not beyond.
    fn advance(&mut self, x: &mut Vec<DVec3>, plain: Vec<DVec3>, energy: f64, detects: bool) {
        let is_last = self.report.iterations == self.options.most;
        if self.options.memory == 0 || is_last {
            *x = plain;
            return;
        }
        let next = self.anderson.next(&self.space.step, &plain);
        if detects {
            // Other contacts are another iteration.
            self.anderson.clear();
            *x = plain;
        } else {
            *x = next;
            self.before = Some((energy, plain));
        }
    }
}

/// Workspace of a minimization.
#[derive(Default)]
pub(super) struct ProjectSpace {
    pub sums: Vec<DVec3>,
    pub gradient: Vec<DVec3>,
    step: Vec<DVec3>,
    whole: SweepSpace,
}
