//! The solves of a step: the dynamic solve and the static one (rebalancing).
//!
//! Each solve works on contacts that were detected at its start. If points end up too deep, contacts are
//! detected again and the solve is repeated, with higher stiffness where points are deep, for a limited
//! number of rounds. Equations: [`crate::step::dynamics`].

use crate::contact::planes::{Contact, Contacts};
use crate::energy::inertia::Inertia;
use crate::energy::least_det;
use crate::energy::viscosity::Damped;
use crate::minimize::descent::timed;
use crate::minimize::ladder::{Ladder, descend};
use crate::minimize::newton::SolveReport;
use crate::minimize::quasi::Preconditioner;
use crate::minimize::system::Problem;
use crate::step::body::{Around, Configuration, StepReport};
use crate::step::dynamics::Dynamics;
use crate::{Energy, SolveError};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::Progress;

/// A configuration with its energies.
pub(super) struct RestState<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) energies: &'a [Box<dyn Energy + Send>],
}

impl<'a> RestState<'a> {
    /// All energies of a solve, in the order of the system: the body's own, `resisting`, contacts.
    pub(super) fn with<'b>(
        &'b self,
        resisting: &'b Resisting,
        contacts: &'b Contacts,
    ) -> Vec<&'b dyn Energy> {
        in_order(self.energies, resisting, contacts)
    }
}

/// What resists motion in a solve: inertia, and viscosity, which is evaluated together with its tissue.
pub(super) struct Resisting<'a> {
    /// For each of the body's own energies.
    pub(super) damped: Vec<Option<Damped<'a>>>,
    pub(super) inertia: Inertia,
}

impl<'a> Resisting<'a> {
    /// Over a step of `dt_secs` from the positions `from`, which reaches `flight` without forces.
    pub(super) fn prepare(
        own: &'a [Box<dyn Energy + Send>],
        masses: &[f64],
        from: &'a [DVec3],
        flight: &[DVec3],
        dt_secs: f64,
    ) -> Result<Self, SolveError> {
        let damped = own.iter().map(|energy| energy.damped(from, dt_secs)).collect();
        Ok(Self { damped, inertia: Inertia::prepare(masses, flight, dt_secs)? })
    }

    /// Nothing resists: for static solves.
    pub(super) fn nothing(own: &'a [Box<dyn Energy + Send>], x: &'a [DVec3]) -> Result<Self, SolveError> {
        let inertia = Inertia::prepare(&vec![0.0; x.len()], x, f64::INFINITY)?;
        Ok(Self { damped: own.iter().map(|_| None).collect(), inertia })
    }
}

/// A body's own energies with their viscosity, then inertia, then contacts: the order that the system is
/// prepared for.
pub(super) fn in_order<'a>(
    own: &'a [Box<dyn Energy + Send>],
    resisting: &'a Resisting,
    contacts: &'a Contacts,
) -> Vec<&'a dyn Energy> {
    let own = own.iter().zip(&resisting.damped).map(|(energy, damped)| match damped {
        Some(damped) => damped as &dyn Energy,
        None => &**energy as &dyn Energy,
    });
    own.chain([&resisting.inertia as &dyn Energy, contacts as &dyn Energy]).collect()
}

/// The loads of a step, its length, and the progress callback.
pub(super) struct StepLoads<'a> {
    pub(super) around: Around<'a>,
    /// Length of the step, seconds.
    pub(super) dt_secs: f64,
    pub(super) progress: &'a Progress<'a>,
}

/// One minimum to find.
pub(super) struct Solve<'a> {
    pub(super) state: &'a RestState<'a>,
    pub(super) resisting: &'a Resisting<'a>,
    pub(super) loads: &'a [DVec3],
    pub(super) factor: &'a Preconditioner,
    /// Index into [`StepReport::times`].
    pub(super) stage: usize,
    /// Contacts at the start of the solve, if known.
    pub(super) known: Option<&'a [Contact]>,
    /// The last solve of the step, whose final contacts are needed.
    pub(super) last: bool,
}

/// Contacts of a solve.
#[derive(Default)]
pub(super) struct ContactOutcome {
    /// The surface points at which the contacts of the last solve were found.
    pub(super) points: Vec<DVec3>,
    /// The contacts as the last solve used them.
    pub(super) seen: Vec<Contact>,
    /// Contacts at the end; empty if not needed.
    pub(super) touching: Vec<Contact>,
}

/// Solves start only from states in which every `det F` is above this.
const UPRIGHT: f64 = 0.02;

/// Iterations after which the preconditioner is rebuilt for the contacts that press by then.
const REFRESHED: usize = 10;

/// Iterations of quasi-Newton before Newton's method takes over.
const PATIENCE: usize = 80;

/// Stages in [`StepReport::times`].
const DYNAMIC: usize = 1;
const STATIC: usize = 2;

/// Most rounds of contact detection and solve.
const ROUNDS: usize = 8;

/// In each round, the stiffness of contacts that are too deep grows by this factor.
const HARDER: f64 = 3.0;

/// A state is accepted when no point is deeper than this many walls.
const DEEP: f64 = 1.0;

/// Points deeper than this many walls are pushed out over many steps instead, unless they came in during the
/// step.
const DEEPEST_RECOVERABLE: f64 = 10.0;

/// Whether a contact is as deep as it is because its point and its place approached each other while surface
/// points moved from `started` to `now`.
fn came_in(contact: &Contact, started: &[DVec3], now: &[DVec3], slack: f64) -> bool {
    let moved = |(&point, &c): (&u32, &f64)| match c == 0.0 {
        true => 0.0,
        false => c * (now[point as usize] - started[point as usize]).dot(contact.normal),
    };
    let approach = -contact.points.iter().zip(&contact.coefficients).map(moved).sum::<f64>();
    !contact.is_with_obstacle() && approach + slack >= -contact.room
}

impl Dynamics {
    /// The dynamic solve at `state`.
    pub(super) fn solve_dynamic(
        &self,
        state: &RestState,
        resisting: &Resisting,
        step: &StepLoads,
        last: bool,
        report: &mut StepReport,
    ) -> Result<(Vec<DVec3>, ContactOutcome), SolveError> {
        let here = std::ptr::eq(state.configuration, &self.configuration);
        let known = here.then_some(self.touching.as_slice());
        let moved = &self.last.moved_in_frame;
        let ahead = self.last.ahead(&self.positions, moved, self.system.held(), step.dt_secs);
        let ahead = self.start(state, &ahead);
        let mut x = if least_det(state.energies, &ahead) > UPRIGHT {
            ahead
        } else {
            self.start(state, &self.positions)
        };
        let (loads, factor) = (step.around.forces, &self.dynamic);
        let task = Solve { state, resisting, loads, factor, stage: DYNAMIC, known, last };
        let outcome = self.solve_in_contact(&task, &mut x, step, report)?;
        Ok((x, outcome))
    }

    /// The static solve at `state`, with the inertial forces of the dynamic one, which led to `moved`. Its
    /// contacts are those of the dynamic solve, moved with the pose. Newly detected ones would push
    /// differently, and without inertia the flesh is soft.
    pub(super) fn rebalance(
        &self,
        state: &RestState,
        moved: &[DVec3],
        inertial: &[DVec3],
        dynamic: Option<&ContactOutcome>,
        step: &StepLoads,
        report: &mut StepReport,
    ) -> Result<(Vec<DVec3>, Vec<Contact>), SolveError> {
        let loads: Vec<DVec3> = match step.around.forces {
            [] => inertial.iter().map(|q| -*q).collect(),
            forces => inertial.iter().zip(forces).map(|(q, f)| *f - *q).collect(),
        };
        let none = Resisting::nothing(state.energies, moved)?;
        let mut x = self.start(state, moved);
        if dynamic.is_some() {
            let ahead = self.last.ahead(&x, &self.last.corrected, self.system.held(), step.dt_secs);
            if least_det(state.energies, &ahead) > UPRIGHT {
                x = ahead;
            }
        }
        let factor = &self.rebalancing;
        let task =
            Solve { state, resisting: &none, loads: &loads, factor, stage: STATIC, known: None, last: true };
        let Some(dynamic) = dynamic else {
            let outcome = self.solve_in_contact(&task, &mut x, step, report)?;
            return Ok((x, outcome.touching));
        };
        let at = state.configuration;
        let carried: Vec<Contact> = timed(&mut report.times[4], || {
            let points = self.touch.positions(&self.tets, at, &x);
            let poses = [&self.configuration.surface, &at.surface];
            let carry = |contact: &Contact| self.touch.carried(contact, [&dynamic.points, &points], poses);
            dynamic.seen.par_iter().with_min_len(64).map(carry).collect()
        });
        self.solve_with(&task, &carried, &mut x, step, report)?;
        let touching = self.detect(&task, &x, None, step, report).1;
        Ok((x, touching))
    }

    /// Detects contacts and solves; repeats while points end up too deep.
    pub(super) fn solve_in_contact(
        &self,
        task: &Solve,
        x: &mut [DVec3],
        step: &StepLoads,
        report: &mut StepReport,
    ) -> Result<ContactOutcome, SolveError> {
        let options = self.touch.options();
        let pushes = options.stiffness > 0.0;
        let (mut points, mut found) =
            if pushes { self.detect(task, x, task.known, step, report) } else { Default::default() };
        let started = points.clone();
        let mut round = 1;
        loop {
            // A point that came in during the step leaves in the same step. Others may be deep because the
            // closest place changed, as at the edge of a tooth, and are pushed out slowly.
            let seen: Vec<Contact> = found
                .iter()
                .map(|c| match round > 1 && came_in(c, &started, &points, options.wall) {
                    true => *c,
                    false => self.touch.pushed_out(c, step.dt_secs),
                })
                .collect();
            let solved = self.solve_with(task, &seen, x, step, report)?;
            if !pushes && !task.last {
                return Ok(ContactOutcome::default());
            }
            let (new_points, new_found) = self.detect(task, x, None, step, report);
            let deep = |contact: &Contact| {
                let depth = -contact.room;
                let recoverable = || {
                    depth < DEEPEST_RECOVERABLE * options.wall
                        || contact.is_with_obstacle()
                        || came_in(contact, &started, &new_points, options.wall)
                };
                !contact.film && depth > DEEP * options.wall && recoverable()
            };
            // Flesh so compressed that solves barely converge is not pushed harder.
            let crushed = !solved.converged() || report.iterations[task.stage - DYNAMIC] > 2 * PATIENCE;
            if !pushes || !new_found.iter().any(deep) || round == ROUNDS || crushed {
                return Ok(ContactOutcome { points, seen, touching: new_found });
            }
            found = new_found;
            // Push harder where points are still too deep.
            let harder = HARDER.powi(round as i32);
            found.iter_mut().filter(|contact| deep(contact)).for_each(|contact| contact.stiffness *= harder);
            points = new_points;
            round += 1;
        }
    }

    /// The surface points when the body is at `x`, and the contacts. Contacts of the body with itself are
    /// `known`, if given.
    pub(super) fn detect(
        &self,
        task: &Solve,
        x: &[DVec3],
        known: Option<&[Contact]>,
        step: &StepLoads,
        report: &mut StepReport,
    ) -> (Vec<DVec3>, Vec<Contact>) {
        timed(&mut report.times[4], || {
            let at = task.state.configuration;
            let points = self.touch.positions(&self.tets, at, x);
            let mut found = known.map_or_else(|| self.touch.find(&points, &at.surface), <[Contact]>::to_vec);
            found.extend(self.touch.find_obstacles(&points, step.around.obstacles));
            (points, found)
        })
    }

    /// One minimum with contacts that were found at `x`.
    pub(super) fn solve_with(
        &self,
        task: &Solve,
        contacts: &[Contact],
        x: &mut [DVec3],
        step: &StepLoads,
        report: &mut StepReport,
    ) -> Result<SolveReport, SolveError> {
        let contacts = self.contacts(contacts, x);
        let energies = task.state.with(task.resisting, &contacts);
        let problem = Problem { system: &self.system, energies: &energies, loads: task.loads };
        let time = &mut report.times[task.stage];
        let solved = timed(time, || self.solve(&problem, &contacts, task.factor, x, step.progress))?;
        report.iterations[task.stage - DYNAMIC] += solved.iterations;
        report.note(&solved);
        Ok(solved)
    }

    /// The start of a solve at `state`: its rest shape plus the displacement of `x` from the present rest
    /// shape, scaled down if that inverts tets. Held nodes are at rest.
    pub(super) fn start(&self, state: &RestState, x: &[DVec3]) -> Vec<DVec3> {
        if std::ptr::eq(state.configuration, &self.configuration) {
            return x.to_vec();
        }
        let (held, rest) = (self.system.held(), &state.configuration.rest);
        let at = |share: f64, i: usize| {
            let free = !held[i] && share > 0.0;
            if free { rest[i] + (x[i] - self.configuration.rest[i]) * share } else { rest[i] }
        };
        let tried = |share: f64| (0..x.len()).map(|i| at(share, i)).collect::<Vec<_>>();
        let upright =
            [1.0, 0.5, 0.25].into_iter().map(tried).find(|x| least_det(state.energies, x) > UPRIGHT);
        upright.unwrap_or_else(|| rest.clone())
    }

    pub(super) fn solve(
        &self,
        problem: &Problem,
        contacts: &Contacts,
        factor: &Preconditioner,
        x: &mut [DVec3],
        progress: &Progress,
    ) -> Result<SolveReport, SolveError> {
        let refreshed =
            |x: &[DVec3]| Some((factor.with_contacts(contacts, self.system.held(), x)?, REFRESHED));
        let patience = if self.options.reference { 0 } else { PATIENCE };
        let ladder = Ladder { patience, factor, refreshed: &refreshed, retries: true };
        self.workspaces
            .with(|workspace| descend(problem, &ladder, x, &self.options.solve, progress, workspace))
    }

    pub(super) fn here(&self) -> RestState<'_> {
        RestState { configuration: &self.configuration, energies: &self.energies }
    }

    pub(super) fn contacts(&self, contacts: &[Contact], x: &[DVec3]) -> Contacts<'_> {
        Contacts::prepare(self.touch.carriers(), self.touch.attachments(), contacts, x)
    }

    /// Contacts without those with obstacles, which move between steps.
    pub(super) fn on_itself(&self, mut touching: Vec<Contact>) -> Vec<Contact> {
        touching.retain(|contact| !contact.is_with_obstacle());
        touching
    }
}
