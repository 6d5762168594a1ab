//! A body in motion by projective dynamics: its targets change from step to step [Ichim16, sec. 3.4].
//!
//! A [`Configuration`] holds the pose that surface points are displaced from, and lists of parameters:
//! [`N_NUMBERS`] lists with the numbers of each tet's target ([`Target`](super::targets::Target)), the depth
//! that is allowed at each surface point, and the displacement of held nodes from the pose in x, y and z (or
//! nothing). A step minimizes the energy of [`super`] with inertia; velocities follow from the positions as
//! in [`crate::step::dynamics`], in a moving frame, by the same formulas.
//!
//! Contacts are found where points come within reach during the step, and kept out. Overlap that was there
//! already at the end of the last step is pushed out at
//! [`TouchOptions::out_speed`](crate::TouchOptions::out_speed).
//!
//! With the rebalancing share alpha, inertia does not see this share of the pose's own motion. At 0 changes
//! of the targets move flesh only through its elasticity, as in the paper; at 1 they excite no motion.

use super::elements::Aims;
use super::planes::Touching;
use super::solver::{Inertial, Iterations, Objective, ProjectReport, Projective};
use super::targets::N_NUMBERS;
use crate::contact::detect::{Posed, Touch};
use crate::step::body::{Around, Configuration, State, StepReport};
use crate::step::dynamics::Motion;
use crate::step::scheme::{LastStep, Scheme, Stepping};
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::Progress;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lists of parameters before the displacement of held nodes.
const BEFORE_HELD: usize = N_NUMBERS + 1;

/// Options of the steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProjectOptions {
    /// The formula of the steps.
    pub stepping: Stepping,
    /// Share of the pose's motion that inertia does not see, 0 to 1.
    pub rebalance: f64,
    /// Decay rate of velocities relative to the moving frame, 1/s.
    pub damping: f64,
    /// Iterations of a step.
    pub step: Iterations,
    /// Iterations of equilibria.
    pub rest: Iterations,
    /// Time in which surfaces that are too deep in each other are parted when there is no step, seconds.
    pub part_secs: f64,
}

/// The parts that threads share: the system and the surface.
pub struct ProjectParts {
    /// The prepared system.
    pub system: Projective,
    /// Its surface.
    pub touch: Touch,
    /// Whether contacts push.
    pub pushes: bool,
}

/// A body in motion.
pub struct ProjectBody {
    parts: Arc<ProjectParts>,
    options: ProjectOptions,
    /// Without its parameters.
    configuration: Configuration,
    aims: Option<Aims>,
    allowed: Vec<f64>,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    frame: Rigid,
    last: LastStep,
}

/// Positions of held nodes in a configuration.
pub fn held_positions(held: &[bool], at: &Configuration) -> impl Fn(usize) -> Option<DVec3> {
    move |i: usize| {
        if !held[i] {
            return None;
        }
        let shift = match at.parameters.get(BEFORE_HELD..BEFORE_HELD + 3) {
            Some([x, y, z]) => DVec3::new(x[i], y[i], z[i]),
            _ => DVec3::ZERO,
        };
        Some(at.rest[i] + shift)
    }
}

impl ProjectParts {
    /// Fails if lists of a configuration have wrong lengths.
    pub fn check(&self, at: &Configuration) -> Result<(), SolveError> {
        let n = self.system.held().len();
        check_length("rest positions", at.rest.len(), n)?;
        check_length("surface points", at.surface.points.len(), self.touch.n_points())?;
        let n_lists = at.parameters.len();
        let wanted = if n_lists > BEFORE_HELD { BEFORE_HELD + 3 } else { BEFORE_HELD };
        check_length("lists of parameters", n_lists, wanted)?;
        for list in &at.parameters[..N_NUMBERS] {
            check_length("targets", list.len(), self.system.tets().len())?;
        }
        check_length("allowed depths", at.parameters[N_NUMBERS].len(), self.touch.n_points())?;
        for list in &at.parameters[BEFORE_HELD..] {
            check_length("displacements of held nodes", list.len(), n)?;
        }
        Ok(())
    }

    /// The equilibrium of a configuration, from its pose; a function of the configuration alone.
    pub fn equilibrium(
        &self,
        at: &Configuration,
        around: &Around,
        in_contact: bool,
        options: &ProjectOptions,
        progress: &Progress,
    ) -> Result<(Vec<DVec3>, ProjectReport), SolveError> {
        self.check(at)?;
        let held = held_positions(self.system.held(), at);
        let mut x: Vec<DVec3> = (0..at.rest.len()).map(|i| held(i).unwrap_or(at.rest[i])).collect();
        let aims = Aims::of_targets(&at.parameters[..N_NUMBERS]);
        let objective = Objective {
            aims: &aims,
            inertial: None,
            forces: around.forces,
            places: &[],
            touching: (in_contact && self.pushes).then_some(Touching {
                touch: &self.touch,
                at,
                allowed: &at.parameters[N_NUMBERS],
                last: None,
                obstacles: around.obstacles,
                dt_secs: options.part_secs,
            }),
        };
        let report = self.system.minimize(&objective, &mut x, &options.rest, progress)?;
        self.system.check_near(&x, &at.rest)?;
        Ok((x, report))
    }
}

impl ProjectBody {
    /// A body at its pose in `first`, in a moving frame at `frame`; `velocities` are relative to the world.
    pub fn prepare(
        parts: Arc<ProjectParts>,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
        options: ProjectOptions,
    ) -> Result<Self, SolveError> {
        check_length("velocities", velocities.len(), parts.system.held().len())?;
        let mut body = Self {
            positions: first.rest.clone(),
            parts,
            options,
            configuration: Configuration::default(),
            aims: None,
            allowed: Vec::new(),
            velocities,
            frame,
            last: LastStep::default(),
        };
        if !first.parameters.is_empty() {
            body.parts.check(&first)?;
            body.take(&first);
            let held = held_positions(body.parts.system.held(), &first);
            body.positions = (0..first.rest.len()).map(|i| held(i).unwrap_or(first.rest[i])).collect();
        }
        Ok(body)
    }

    /// Makes a configuration the present one.
    fn take(&mut self, at: &Configuration) {
        self.aims = Some(Aims::of_targets(&at.parameters[..N_NUMBERS]));
        self.allowed = at.parameters[N_NUMBERS].clone();
        self.configuration =
            Configuration { rest: at.rest.clone(), parameters: Vec::new(), surface: at.surface.clone() };
    }

    /// Positions of the nodes in the moving frame.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The resume state.
    pub fn state(&self) -> State {
        let rest = self.configuration.rest.clone();
        State {
            configuration: self.configuration.clone(),
            positions: self.positions.clone(),
            velocities: self.velocities.clone(),
            frame: self.frame,
            last: self.last.clone(),
            factored: Configuration { rest, parameters: Vec::new(), surface: Posed::default() },
        }
    }

    /// Puts the body into a state of the same body, from which it continues to the same bits.
    pub fn restore(&mut self, state: State) -> Result<(), SolveError> {
        let n = self.parts.system.held().len();
        check_length("positions", state.positions.len(), n)?;
        check_length("velocities", state.velocities.len(), n)?;
        check_length("rest positions", state.configuration.rest.len(), n)?;
        let LastStep { dt_secs, moved, moved_in_frame, corrected, velocities } = &state.last;
        check_values("last step (seconds)", [*dt_secs].into_iter())?;
        for list in [moved, moved_in_frame, corrected, velocities].into_iter().filter(|_| *dt_secs > 0.0) {
            check_length("positions of the last step", list.len(), n)?;
        }
        if !state.positions.iter().chain(&state.velocities).all(|p| p.is_finite()) {
            return Err(SolveError::BadStart);
        }
        check_length(
            "surface points",
            state.configuration.surface.points.len(),
            self.parts.touch.n_points(),
        )?;
        self.configuration = Configuration { parameters: Vec::new(), ..state.configuration };
        self.positions = state.positions;
        self.velocities = state.velocities;
        self.frame = state.frame;
        self.last = state.last;
        Ok(())
    }

    /// Moves to the equilibrium of the present configuration.
    pub fn settle(&mut self, around: &Around, progress: &Progress) -> Result<StepReport, SolveError> {
        let mut report = StepReport { converged: true, ..StepReport::default() };
        let Some(aims) = &self.aims else { return Ok(report) };
        let mut x = self.positions.clone();
        let touching =
            self.touching(&self.configuration, (&self.allowed, None), around, self.options.part_secs);
        let objective = Objective {
            aims,
            inertial: None,
            forces: around.forces,
            places: &[],
            touching: self.acting(touching),
        };
        let solved = self.parts.system.minimize(&objective, &mut x, &self.options.rest, progress)?;
        self.parts.system.check_near(&x, &self.configuration.rest)?;
        self.note(solved, &touching, &x, &mut report);
        self.positions = x;
        Ok(report)
    }

    fn touching<'a>(
        &'a self,
        at: &'a Configuration,
        (allowed, last): (&'a [f64], Option<&'a [DVec3]>),
        around: &Around<'a>,
        dt_secs: f64,
    ) -> Touching<'a> {
        Touching { touch: &self.parts.touch, at, allowed, last, obstacles: around.obstacles, dt_secs }
    }

    fn acting<'a>(&self, touching: Touching<'a>) -> Option<Touching<'a>> {
        self.parts.pushes.then_some(touching)
    }

    /// Adds a minimization and the contacts at its end to a report.
    fn note(&self, solved: ProjectReport, touching: &Touching, x: &[DVec3], report: &mut StepReport) {
        let begin = Instant::now();
        let contacts = match self.parts.pushes {
            true => solved.contacts,
            false => touching.contacts(self.parts.system.tets(), x).0,
        };
        report.note_contacts(&contacts);
        report.contacts = solved.pushing;
        report.iterations[0] += solved.iterations;
        report.residual = solved.residual;
        report.converged &= solved.converged;
        report.smallest_det = self.parts.system.smallest_det(x);
        let [projecting, sweeping, of_contacts, factoring] = solved.seconds.map(Duration::from_secs_f64);
        let all = [projecting, sweeping, Duration::ZERO, factoring, of_contacts + begin.elapsed()];
        report.times.iter_mut().zip(all).for_each(|(sum, time)| *sum += time);
    }

    /// A step of `dt_secs` to `next`, while the frame moves to `frame`. On an error the body is unchanged.
    pub fn step(
        &mut self,
        next: &Configuration,
        frame: Rigid,
        dt_secs: f64,
        around: &Around,
        progress: &Progress,
    ) -> Result<StepReport, SolveError> {
        check_values("step (seconds)", [dt_secs].into_iter())?;
        self.parts.check(next)?;
        let (n, alpha) = (self.positions.len(), self.options.rebalance);
        let mut report = StepReport { converged: true, ..StepReport::default() };
        let begin = Instant::now();
        let aims = Aims::of_targets(&next.parameters[..N_NUMBERS]);
        report.times[2] += begin.elapsed();
        let held = held_positions(self.parts.system.held(), next);
        let change = |i: usize| next.rest[i] - self.configuration.rest[i];
        let scheme = Scheme::of(self.options.stepping, dt_secs, &self.last);
        let (shifted, before): (Vec<DVec3>, Vec<DVec3>) = match alpha == 0.0 {
            true => (self.positions.clone(), Vec::new()),
            false => {
                ((0..n).map(|i| self.positions[i] + change(i) * alpha).collect(), self.positions.clone())
            }
        };
        let from = scheme.viscous_from(&shifted, &self.last);
        let flight = scheme.free_flight(&shifted, &self.velocities, &self.last, [&self.frame, &frame]);
        let carried_on: Vec<DVec3> = (0..n).map(|i| self.positions[i] + change(i)).collect();
        // Where rebalancing hides the pose's motion, what is left goes on as it did.
        let mut x = match alpha == 1.0 {
            true => {
                self.last.ahead(&carried_on, &self.last.moved_in_frame, self.parts.system.held(), dt_secs)
            }
            false => carried_on,
        };
        x.iter_mut().enumerate().for_each(|(i, x)| *x = held(i).unwrap_or(*x));
        let tets = self.parts.system.tets();
        let ended =
            self.parts.pushes.then(|| self.parts.touch.positions(tets, &self.configuration, &self.positions));
        let touching = self.touching(next, (&next.parameters[N_NUMBERS], ended.as_deref()), around, dt_secs);
        let objective = Objective {
            aims: &aims,
            inertial: Some(Inertial { span_secs: scheme.span_secs(), flight: &flight, from: &from }),
            forces: around.forces,
            places: &[],
            touching: self.acting(touching),
        };
        let solved = self.parts.system.minimize(&objective, &mut x, &self.options.step, progress)?;
        self.parts.system.check_near(&x, &next.rest)?;
        self.note(solved, &touching, &x, &mut report);
        let world = |frame: &Rigid, p: DVec3| if *frame == Rigid::IDENTITY { p } else { frame.apply(p) };
        let old = |i: usize| if before.is_empty() { self.positions[i] } else { shifted[i] };
        let moved_in_frame: Vec<DVec3> = (0..n).map(|i| x[i] - old(i)).collect();
        let moved: Vec<DVec3> = (0..n).map(|i| world(&frame, x[i]) - world(&self.frame, old(i))).collect();
        let velocities = (0..n).map(|i| scheme.velocity(moved[i], self.last.moved.get(i))).collect();
        let (corrected, before) = (vec![DVec3::ZERO; n], self.velocities.clone());
        let last = LastStep { dt_secs, moved, moved_in_frame, corrected, velocities: before };
        let mut motion = Motion { velocities, last };
        let carried =
            |i: usize| (world(&frame, self.positions[i]) - world(&self.frame, self.positions[i])) / dt_secs;
        motion.damp((-self.options.damping * dt_secs).exp(), carried);
        let relative = |i: usize| (motion.velocities[i] - carried(i)).length_squared();
        report.kinetic = (0..n).map(|i| 0.5 * self.parts.system.masses()[i] * relative(i)).sum();
        if self.options.stepping == Stepping::Bdf2 {
            self.last = motion.last;
        }
        (self.positions, self.velocities, self.frame) = (x, motion.velocities, frame);
        self.aims = Some(aims);
        self.allowed = next.parameters[N_NUMBERS].clone();
        self.configuration =
            Configuration { rest: next.rest.clone(), parameters: Vec::new(), surface: next.surface.clone() };
        Ok(report)
    }

    /// Its elastic energy, joules.
    pub fn elastic(&self) -> f64 {
        let Some(aims) = &self.aims else { return 0.0 };
        let objective = Objective { aims, inertial: None, forces: &[], places: &[], touching: None };
        self.parts.system.energy(&objective, &self.positions)
    }
}
