//! Motion of a body whose rest shape and material change: dynamic rebalancing [Kozlov17, alg. 1].
//!
//! A step of h seconds from the rest state `Xp`, material `Pp`, positions `xp` and velocities `vp` to the
//! rest state `Xn`, material `Pn`:
//!
//! ```text
//! x' = argmin  h^2/2 a^T M a + |x - xp|_D^2 / (2 h) + W(Xp, x, Pp) - x^T f             [eq. 10]
//!      a  = (x - xp)/h^2 - vp/h,   D the viscosity of the material (ours)
//! v  = (x' - xp)/h,   q = M a(x') + D (x' - xp)/h
//! x  = argmin  x^T q + W(Xn, x, Pn) - x^T f                                            [eq. 12]
//! ```
//!
//! This is backward Euler; [`crate::Stepping::Bdf2`] has other factors and a longer memory
//! ([`crate::step::scheme`]). The second solve keeps the inertial and viscous force q while rest shape and
//! material change, so the change itself excites no motion: without forces, x equals X to the bit. With the
//! rebalancing share alpha below 1, q and v are blended with those of a dynamic step on (Xn, Pn) [Kozlov17,
//! sec. 7]; at 0 the simulation is conventional.
//!
//! Positions, bones and rest shapes are expressed in a frame that moves with the skull; inertia is that of
//! the world. The only world quantity that a step needs is the position that a node would reach without
//! forces, `xp + h vp`. It is transformed to the frame, so there are no fictitious forces and no errors from
//! them.
//!
//! Contact belongs to W: [`crate::contact::detect`] finds planes before each dynamic solve, and again after
//! it while points are too deep. The static solve keeps the contacts of the dynamic one.
//!
//! Each minimum is found by quasi-Newton with a contact-aware Laplacian (`minimize::contact_aware`),
//! or by Newton's method where that fails ([`crate::minimize::ladder`]). Solves start from a state without
//! inverted tets and never step past a flat tet, so accepted states have no inverted tets.

use crate::contact::detect::{Posed, Touch};
use crate::contact::planes::{Contact, Contacts};
use crate::energy::inertia::Inertia;
use crate::energy::least_det;
use crate::energy::{BLOCK, BodyEnergy};
use crate::minimize::descent::timed;
use crate::minimize::quasi::Preconditioner;
use crate::minimize::system::{Problem, System};
use crate::minimize::workspace::Workspaces;
use crate::pool::on_pool;
use crate::step::body::{Around, Body, Configuration, State, StepOptions, StepReport};
use crate::step::scheme::{LastStep, NODES, Scheme};
use crate::step::solves::{ContactOutcome, Resisting, RestState, StepLoads, in_order};
use crate::{Energy, SolveError, Stencil, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::Rigid;
use risorius_base::progress::Progress;
use std::sync::Arc;

/// A body in motion.
pub struct Dynamics {
    pub(super) tets: Vec<Stencil>,
    pub(super) kinds: Vec<Arc<dyn BodyEnergy>>,
    pub(super) masses: Vec<f64>,
    pub(super) touch: Touch,
    pub(super) options: StepOptions,
    pub(super) system: System,
    pub(super) dynamic: Preconditioner,
    pub(super) rebalancing: Preconditioner,
    /// The configuration that the preconditioners were made for.
    pub(super) factored: Configuration,
    pub(super) configuration: Configuration,
    /// The energies of `kinds` at `configuration`.
    pub(super) energies: Vec<Box<dyn Energy + Send>>,
    /// The restored state has inverted tets: the next step starts from the rest shape instead.
    pub(super) tangled: bool,
    /// Contacts at the present positions, with which the next step starts.
    pub(super) touching: Vec<Contact>,
    pub(super) positions: Vec<DVec3>,
    pub(super) velocities: Vec<DVec3>,
    pub(super) frame: Rigid,
    pub(super) last: LastStep,
    pub(super) workspaces: Workspaces,
}

/// After a solve with more iterations, the preconditioners are rebuilt for the present configuration.
const SLOW: usize = 24;

impl Dynamics {
    /// A body at its rest shape in `first`, in a moving frame at `frame`. `velocities` are relative to the
    /// world.
    pub fn prepare(
        body: Body,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
        options: StepOptions,
    ) -> Result<Self, SolveError> {
        let Body { tets, energies: kinds, masses, held, touch } = body;
        let n = first.rest.len();
        check_length("masses", masses.len(), n)?;
        check_length("held nodes", held.len(), n)?;
        check_length("velocities", velocities.len(), n)?;
        check_length("surface points", first.surface.points.len(), touch.n_points())?;
        check_values("mass", masses.iter().copied())?;
        check_values(
            "step (seconds), rebalance, damping",
            [options.dt_secs, options.rebalance, options.damping].into_iter(),
        )?;
        let of_inertia = Inertia::stencils_of(n);
        let own = kinds.iter().map(|kind| kind.stencils());
        let all: Vec<&[Stencil]> = own.chain([of_inertia.as_slice(), touch.carriers().stencils()]).collect();
        let system = System::prepare(held, &all)?;
        let energies = first.energies(&kinds)?;
        let [dynamic, rebalancing] = factors(&system, &energies, &touch, masses, usual_span(&options))?;
        Ok(Self {
            tangled: false,
            touching: Vec::new(),
            tets: tets.to_vec(),
            kinds,
            masses: masses.to_vec(),
            touch,
            options,
            system,
            dynamic,
            rebalancing,
            positions: first.rest.clone(),
            factored: Configuration { surface: Posed::default(), ..first.clone() },
            configuration: first,
            energies,
            last: LastStep::default(),
            velocities,
            frame,
            workspaces: Workspaces::default(),
        })
    }

    /// Positions of the nodes in the moving frame.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// Their velocities in the world.
    pub fn velocities(&self) -> &[DVec3] {
        &self.velocities
    }

    /// The present configuration.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The resume state.
    pub fn state(&self) -> State {
        State {
            configuration: self.configuration.clone(),
            positions: self.positions.clone(),
            velocities: self.velocities.clone(),
            frame: self.frame,
            last: self.last.clone(),
            factored: self.factored.clone(),
        }
    }

    /// Puts the body into a state. From a state of the same body, it continues to the same bits. On an error
    /// the body is unchanged. If tets of the state are inverted or flat, the next step starts from the rest
    /// shape, moving with the frame.
    pub fn restore(&mut self, state: State) -> Result<(), SolveError> {
        let n = self.masses.len();
        check_length("positions", state.positions.len(), n)?;
        check_length("velocities", state.velocities.len(), n)?;
        let LastStep { dt_secs, moved, moved_in_frame, corrected, velocities } = &state.last;
        check_values("last step (seconds)", [*dt_secs].into_iter())?;
        for list in [moved, moved_in_frame, corrected, velocities].into_iter().filter(|_| *dt_secs > 0.0) {
            check_length("positions of the last step", list.len(), n)?;
        }
        check_length("rest positions", state.configuration.rest.len(), n)?;
        check_length("surface points", state.configuration.surface.points.len(), self.touch.n_points())?;
        check_length("rest positions of the factors", state.factored.rest.len(), n)?;
        let here = state.configuration.energies(&self.kinds)?;
        if state.factored != self.factored {
            let there = state.factored.energies(&self.kinds)?;
            let (masses, usual) = (&self.masses, usual_span(&self.options));
            [self.dynamic, self.rebalancing] = factors(&self.system, &there, &self.touch, masses, usual)?;
            self.factored = state.factored;
        }
        self.energies = here;
        (self.configuration, self.positions, self.velocities) =
            (state.configuration, state.positions, state.velocities);
        (self.frame, self.last) = (state.frame, state.last);
        self.tangled = least_det(&self.energies, &self.positions) <= 0.0;
        let points = self.touch.positions(&self.tets, &self.configuration, &self.positions);
        self.touching = self.touch.find(&points, &self.configuration.surface);
        Ok(())
    }

    /// Moves the body to its static equilibrium, for a start without a jolt.
    pub fn settle(&mut self, around: &Around, progress: &Progress) -> Result<StepReport, SolveError> {
        on_pool(|| self.settle_here(around, progress))
    }

    fn settle_here(&mut self, around: &Around, progress: &Progress) -> Result<StepReport, SolveError> {
        let mut report = StepReport { converged: true, ..StepReport::default() };
        let here = self.here();
        let still = vec![DVec3::ZERO; self.masses.len()];
        let step = StepLoads { around: *around, dt_secs: self.options.dt_secs, progress };
        let (x, touching) = self.rebalance(&here, &self.positions, &still, None, &step, &mut report)?;
        report.note_contacts(&touching);
        (self.positions, self.touching) = (x, self.on_itself(touching));
        Ok(report)
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
        on_pool(|| self.step_here(next, frame, dt_secs, around, progress))
    }

    fn step_here(
        &mut self,
        next: &Configuration,
        frame: Rigid,
        dt_secs: f64,
        around: &Around,
        progress: &Progress,
    ) -> Result<StepReport, SolveError> {
        check_values("step (seconds)", [dt_secs].into_iter())?;
        check_length("rest positions", next.rest.len(), self.masses.len())?;
        check_length("surface points", next.surface.points.len(), self.touch.n_points())?;
        let mut report = StepReport { converged: true, ..StepReport::default() };
        let h = dt_secs;
        if self.tangled && self.positions.iter().all(|p| p.is_finite()) {
            self.untangle(&frame, h);
            report.recovered = true;
        }
        let same = *next == self.configuration;
        let changed =
            if same { None } else { Some(timed(&mut report.times[0], || next.energies(&self.kinds))?) };
        let old = self.here();
        let new = RestState { configuration: next, energies: changed.as_ref().unwrap_or(&self.energies) };
        let step = StepLoads { around: *around, dt_secs, progress };
        let scheme = Scheme::of(self.options.stepping, h, &self.last);
        let span = scheme.span_secs();
        let from = scheme.viscous_from(&self.positions, &self.last);
        let flight = scheme.free_flight(&self.positions, &self.velocities, &self.last, [&self.frame, &frame]);
        let alpha = self.options.rebalance.min(1.0);
        // If there is a rebalancing solve, it is the last.
        let last = changed.is_none() || alpha == 0.0;
        let (mut kept, mut outcome) = (Vec::new(), ContactOutcome::default());
        let n = self.masses.len();
        let nodes = || (0..n).into_par_iter().with_min_len(NODES);
        for (share, state) in [(alpha, &old), (1.0 - alpha, &new)] {
            if share > 0.0 {
                let resisting = Resisting::prepare(state.energies, &self.masses, &from, &flight, span)?;
                let (x, contacts) = self.solve_dynamic(state, &resisting, &step, last, &mut report)?;
                // With two dynamic solves, keep the contacts of the old rest state.
                if kept.is_empty() || last {
                    outcome = contacts;
                }
                let inertia = |i: usize| (x[i] - flight[i]) * (self.masses[i] / (span * span));
                let mut force: Vec<DVec3> = nodes().map(inertia).collect();
                for (k, damped) in resisting.damped.iter().enumerate() {
                    let Some(damped) = damped else { continue };
                    self.system.add_forces(k, damped.viscosity(), &x, &mut force);
                }
                kept.push(Solved { share, x, force });
            }
        }
        // Resisting force and velocity in the moving frame, and in the world.
        let blend = |f: &dyn Fn(&Solved) -> DVec3| match kept.as_slice() {
            [only] => f(only),
            all => all.iter().map(|one| f(one) * one.share).sum(),
        };
        let inertial: Vec<DVec3> = nodes().map(|i| blend(&|solved| solved.force[i])).collect();
        let world = |frame: &Rigid, p: DVec3| if *frame == Rigid::IDENTITY { p } else { frame.apply(p) };
        let moved_in_frame: Vec<DVec3> =
            nodes().map(|i| blend(&|solved| solved.x[i] - self.positions[i])).collect();
        let moved: Vec<DVec3> = nodes()
            .map(|i| blend(&|solved| world(&frame, solved.x[i]) - world(&self.frame, self.positions[i])))
            .collect();
        let velocity = |i: usize| scheme.velocity(moved[i], self.last.moved.get(i));
        let velocities: Vec<DVec3> = nodes().map(velocity).collect();
        let (corrected, before) = (vec![DVec3::ZERO; n], self.velocities.clone());
        let last = LastStep { dt_secs: h, moved, moved_in_frame, corrected, velocities: before };
        let mut motion = Motion { velocities, last };
        let mut x = kept.swap_remove(0).x;
        let mut touching = std::mem::take(&mut outcome.touching);
        if changed.is_some() && alpha > 0.0 {
            let displaced: Vec<DVec3> = (0..n).map(|i| x[i] - self.configuration.rest[i]).collect();
            (x, touching) = self.rebalance(&new, &x, &inertial, Some(&outcome), &step, &mut report)?;
            motion.last.corrected = (0..n).map(|i| x[i] - next.rest[i] - displaced[i]).collect();
        }
        // Velocity of a node that moves rigidly with the frame.
        let carried =
            |i: usize| (world(&frame, self.positions[i]) - world(&self.frame, self.positions[i])) / h;
        motion.damp((-self.options.damping * h).exp(), carried);
        let relative = |i: usize| (motion.velocities[i] - carried(i)).length_squared();
        let kinetic = |i: usize| 0.5 * self.masses[i] * relative(i);
        report.kinetic = nodes().map(kinetic).collect::<Vec<f64>>().iter().sum();
        (self.positions, self.velocities, self.frame) = (x, motion.velocities, frame);
        self.last = motion.last;
        if let Some(energies) = changed {
            self.energies = energies;
            self.configuration = next.clone();
        }
        report.note_contacts(&touching);
        self.touching = self.on_itself(touching);
        if report.iterations.iter().any(|&n| n > SLOW)
            && self.configuration.is_unlike(&self.factored, &self.kinds)
        {
            let (masses, usual) = (&self.masses, usual_span(&self.options));
            let made = timed(&mut report.times[3], || {
                factors(&self.system, &self.energies, &self.touch, masses, usual)
            });
            // On failure, the old ones lead to the same minimum, only slower.
            if let Ok(made) = made {
                [self.dynamic, self.rebalancing] = made;
                self.factored = Configuration { surface: Posed::default(), ..self.configuration.clone() };
            }
        }
        Ok(report)
    }

    /// Resets the body to its rest shape, moving with the frame.
    fn untangle(&mut self, frame: &Rigid, h: f64) {
        self.positions = self.configuration.rest.clone();
        let along = |p: &DVec3| (frame.apply(*p) - self.frame.apply(*p)) / h;
        self.velocities = self.positions.iter().map(along).collect();
        self.last = LastStep::default();
        (self.touching, self.tangled) = (Vec::new(), false);
    }

    /// Its elastic energy, joules.
    pub fn elastic(&self) -> f64 {
        let of = |energy: &(dyn Energy + Send)| {
            let n = energy.stencils().len();
            let blocks = (0..n.div_ceil(BLOCK)).into_par_iter().map(|k| {
                let elements = k * BLOCK..((k + 1) * BLOCK).min(n);
                let mut values = [0.0; BLOCK];
                let values = &mut values[..elements.len()];
                energy.values(&self.positions, elements, values);
                values.iter().sum::<f64>()
            });
            blocks.collect::<Vec<f64>>().iter().sum::<f64>()
        };
        self.energies.iter().map(|energy| of(&**energy)).sum()
    }
}

/// A dynamic solve of a step.
struct Solved {
    /// Its share in the step.
    share: f64,
    x: Vec<DVec3>,
    /// Inertial and viscous force at each node.
    force: Vec<DVec3>,
}

/// The motion of the nodes at the end of a step.
pub(crate) struct Motion {
    pub(crate) velocities: Vec<DVec3>,
    pub(crate) last: LastStep,
}

impl Motion {
    /// Keeps this share of the motion relative to nodes with the velocities `carried`.
    pub(crate) fn damp(&mut self, keep: f64, carried: impl Fn(usize) -> DVec3) {
        if keep == 1.0 {
            return;
        }
        for i in 0..self.velocities.len() {
            let along = carried(i);
            let damped = |v: DVec3, along: DVec3| along + (v - along) * keep;
            self.velocities[i] = damped(self.velocities[i], along);
            self.last.velocities[i] = damped(self.last.velocities[i], along);
            self.last.moved[i] = damped(self.last.moved[i], along * self.last.dt_secs);
            self.last.moved_in_frame[i] *= keep;
        }
    }
}

/// The time over which inertia acts in steps of the usual length, seconds.
fn usual_span(options: &StepOptions) -> f64 {
    Scheme::usual(options.stepping, options.dt_secs).span_secs()
}

/// Laplacians for the dynamic and for the static solve, whose inertia acts over `span_secs`.
fn factors(
    system: &System,
    own: &[Box<dyn Energy + Send>],
    touch: &Touch,
    masses: &[f64],
    span_secs: f64,
) -> Result<[Preconditioner; 2], SolveError> {
    let origin = vec![DVec3::ZERO; masses.len()];
    let free = Contacts::prepare(touch.carriers(), touch.attachments(), &[], &origin);
    let factor = |resisting: Resisting| {
        let energies = in_order(own, &resisting, &free);
        Preconditioner::laplacian(&Problem { system, energies: &energies, loads: &[] })
    };
    let moving = Resisting::prepare(own, masses, &origin, &origin, span_secs)?;
    Ok([factor(moving)?, factor(Resisting::nothing(own, &origin)?)?])
}
