//! The minima of a step: the dynamic solve, the static one, contacts found anew while points are too deep.

use crate::contact::planes::{Contact, Contacts};
use crate::energy::least_det;
use crate::energy::springs::Springs;
use crate::minimize::descent::timed;
use crate::minimize::ladder::{Ladder, descend};
use crate::minimize::newton::SolveReport;
use crate::minimize::quasi::Preconditioner;
use crate::minimize::system::Problem;
use crate::step::body::{Around, Configuration, StepReport};
use crate::step::dynamics::Dynamics;
use crate::{Energy, SolveError};
use glam::DVec3;
use risorius_base::progress::Progress;

/// A configuration with its energies.
pub(super) struct RestState<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) energies: &'a [Box<dyn Energy + Send>],
}

impl<'a> RestState<'a> {
    /// All energies of a solve, in the order of the system: the body's own, inertia, contacts.
    pub(super) fn with(&self, inertia: &'a Springs, contacts: &'a Contacts) -> Vec<&'a dyn Energy> {
        in_order(self.energies, inertia, contacts)
    }
}

/// A body's own energies, then inertia, then contacts: the order that the system is prepared for.
pub(super) fn in_order<'a>(
    own: &'a [Box<dyn Energy + Send>],
    inertia: &'a Springs,
    contacts: &'a Contacts,
) -> Vec<&'a dyn Energy> {
    let own = own.iter().map(|energy| &**energy as &dyn Energy);
    own.chain([inertia as &dyn Energy, contacts as &dyn Energy]).collect()
}

/// What acts on the body during a step, and who watches.
pub(super) struct StepLoads<'a> {
    pub(super) around: Around<'a>,
    /// Length of the step, seconds.
    pub(super) dt_secs: f64,
    pub(super) progress: &'a Progress<'a>,
}

/// One minimum to find.
pub(super) struct Solve<'a> {
    pub(super) state: &'a RestState<'a>,
    pub(super) inertia: &'a Springs,
    pub(super) loads: &'a [DVec3],
    pub(super) factor: &'a Preconditioner,
    /// In [`StepReport::times`].
    pub(super) stage: usize,
    /// What touches where the solve begins, if that is known.
    pub(super) known: Option<&'a [Contact]>,
    /// The step ends with it: what touches afterwards will be asked for.
    pub(super) last: bool,
}

/// Contacts of a solve.
#[derive(Default)]
pub(super) struct ContactOutcome {
    /// Where the surface was when the contacts of the last solve were found.
    pub(super) points: Vec<DVec3>,
    /// As the last solve saw them.
    pub(super) seen: Vec<Contact>,
    /// What touches in the end; nothing if nobody asks.
    pub(super) touching: Vec<Contact>,
}

/// Solves begin only where every `det F` is above this.
const UPRIGHT: f64 = 0.02;

/// Iterations after which the preconditioner is made anew for the contacts that press then.
const REFRESHED: usize = 10;

/// Iterations of quasi-Newton before Newton's method takes over.
const PATIENCE: usize = 80;

/// Stages in [`StepReport::times`].
const DYNAMIC: usize = 1;
const STATIC: usize = 2;

/// Solves with contacts found anew, at most.
const ROUNDS: usize = 8;

/// In each round, contacts that are too deep push harder by this factor.
const HARDER: f64 = 3.0;

/// A state is accepted when no point is deeper than this many walls.
const DEEP: f64 = 1.5;

/// Deeper than this many walls, a point comes out over many steps.
const DEEPEST_RECOVERABLE: f64 = 10.0;

impl Dynamics {
    /// The dynamic solve at `state`.
    pub(super) fn solve_dynamic(
        &self,
        state: &RestState,
        inertia: &Springs,
        step: &StepLoads,
        last: bool,
        report: &mut StepReport,
    ) -> Result<(Vec<DVec3>, ContactOutcome), SolveError> {
        let here = std::ptr::eq(state.configuration, &self.configuration);
        let touching = if here { self.touching.as_slice() } else { &[] };
        let seen: Vec<Contact> = touching.iter().map(|c| self.touch.pushed_out(c, step.dt_secs)).collect();
        let known = self.contacts(&seen, &self.positions);
        let energies = state.with(inertia, &known);
        let problem = Problem { system: &self.system, energies: &energies, loads: step.around.forces };
        let mut known = here.then_some(self.touching.as_slice());
        let held = self.system.held();
        let onward = |i: usize| if held[i] { self.positions[i] } else { self.positions[i] + self.drift[i] };
        let ahead: Vec<DVec3> = (0..held.len()).map(onward).collect();
        let mut x = self.start(state, &self.positions);
        if least_det(state.energies, &ahead) > UPRIGHT {
            let ahead = self.start(state, &ahead);
            let mut evaluation = problem.new_evaluation();
            let mut energy = |x: &[DVec3]| {
                problem.evaluate(x, &mut evaluation);
                problem.energy(x, &evaluation).0
            };
            if energy(&ahead) < energy(&x) {
                (x, known) = (ahead, None);
            }
        }
        let (loads, factor) = (step.around.forces, &self.dynamic);
        let task = Solve { state, inertia, loads, factor, stage: DYNAMIC, known, last };
        let outcome = self.solve_in_contact(&task, &mut x, step, report)?;
        Ok((x, outcome))
    }

    /// The static solve at `state`, with the inertial forces of the dynamic one, which led to `moved`. Its
    /// contacts are those of the dynamic one, moved with the pose: found anew, they would push otherwise, and
    /// flesh without inertia is soft.
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
        let none = Springs::inertia(&vec![0.0; self.masses.len()], moved, self.options.dt_secs)?;
        let mut x = self.start(state, moved);
        let factor = &self.rebalancing;
        let task =
            Solve { state, inertia: &none, loads: &loads, factor, stage: STATIC, known: None, last: true };
        let Some(dynamic) = dynamic else {
            let outcome = self.solve_in_contact(&task, &mut x, step, report)?;
            return Ok((x, outcome.touching));
        };
        let at = state.configuration;
        let carried: Vec<Contact> = timed(&mut report.times[4], || {
            let points = self.touch.positions(&self.tets, at, &x);
            let poses = [&self.configuration.surface, &at.surface];
            let carry = |contact: &Contact| self.touch.carried(contact, [&dynamic.points, &points], poses);
            dynamic.seen.iter().map(carry).collect()
        });
        self.solve_with(&task, &carried, &mut x, step, report)?;
        let touching = self.detect(&task, &x, None, step, report).1;
        Ok((x, touching))
    }

    /// Finds contacts and solves, again while points end deeper than they may.
    pub(super) fn solve_in_contact(
        &self,
        task: &Solve,
        x: &mut [DVec3],
        step: &StepLoads,
        report: &mut StepReport,
    ) -> Result<ContactOutcome, SolveError> {
        let options = self.touch.options();
        let pushes = options.stiffness > 0.0;
        let deep = |contact: &Contact| {
            let depth = -contact.room;
            depth > DEEP * options.wall
                && (depth < DEEPEST_RECOVERABLE * options.wall || contact.is_with_obstacle())
        };
        let too_deep = |found: &[Contact]| found.iter().any(deep);
        let (mut points, mut found) =
            if pushes { self.detect(task, x, task.known, step, report) } else { Default::default() };
        let mut round = 1;
        loop {
            let seen: Vec<Contact> = found.iter().map(|c| self.touch.pushed_out(c, step.dt_secs)).collect();
            let solved = self.solve_with(task, &seen, x, step, report)?;
            if !pushes && !task.last {
                return Ok(ContactOutcome::default());
            }
            let (new_points, new_found) = self.detect(task, x, None, step, report);
            // Flesh that is crushed until solves hardly end is not pushed harder.
            let crushed = !solved.converged() || report.iterations[task.stage - DYNAMIC] > 2 * PATIENCE;
            if !pushes || !too_deep(&new_found) || round == ROUNDS || crushed {
                return Ok(ContactOutcome { points, seen, touching: new_found });
            }
            (points, found) = (new_points, new_found);
            // Harder where it was not enough.
            let harder = HARDER.powi(round as i32);
            found.iter_mut().filter(|contact| deep(contact)).for_each(|contact| contact.stiffness *= harder);
            round += 1;
        }
    }

    /// Where the surface is when the body is at `x`, and what touches: on itself what is known, if it is.
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
        let energies = task.state.with(task.inertia, &contacts);
        let problem = Problem { system: &self.system, energies: &energies, loads: task.loads };
        let time = &mut report.times[task.stage];
        let solved = timed(time, || self.solve(&problem, &contacts, task.factor, x, step.progress))?;
        report.iterations[task.stage - DYNAMIC] += solved.iterations;
        report.note(&solved);
        Ok(solved)
    }

    /// Where a solve at `state` begins: displaced from rest there as `x` is from rest now, or less where that
    /// is not upright. Held nodes are where they rest.
    pub(super) fn start(&self, state: &RestState, x: &[DVec3]) -> Vec<DVec3> {
        if std::ptr::eq(state.configuration, &self.configuration) {
            return x.to_vec();
        }
        let (held, rest) = (self.system.held(), &state.configuration.rest);
        let at = |share: f64, i: usize| {
            let free = !held[i] && share > 0.0;
            if free { rest[i] + (x[i] - self.configuration.rest[i]) * share } else { rest[i] }
        };
        let tried = [1.0, 0.5, 0.25].map(|share| (0..x.len()).map(|i| at(share, i)).collect::<Vec<_>>());
        let upright = tried.into_iter().find(|x| least_det(state.energies, x) > UPRIGHT);
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
        descend(problem, &ladder, x, &self.options.solve, progress)
    }

    pub(super) fn here(&self) -> RestState<'_> {
        RestState { configuration: &self.configuration, energies: &self.energies }
    }

    pub(super) fn contacts(&self, contacts: &[Contact], x: &[DVec3]) -> Contacts<'_> {
        Contacts::prepare(self.touch.carriers(), self.touch.attachments(), contacts, x)
    }

    /// Contacts without those of obstacles, which move on.
    pub(super) fn on_itself(&self, mut touching: Vec<Contact>) -> Vec<Contact> {
        touching.retain(|contact| !contact.is_with_obstacle());
        touching
    }
}
