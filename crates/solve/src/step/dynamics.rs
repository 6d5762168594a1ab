//! Motion of a body whose rest shape and material change: dynamic rebalancing [Kozlov17, alg. 1].
//!
//! A step of h seconds from the rest state `Xp`, material `Pp`, positions `xp` and velocities `vp` to the
//! rest state `Xn`, material `Pn`:
//!
//! ```text
//! x' = argmin  h^2/2 a^T M a + W(Xp, x, Pp) - x^T f,    a = (x - xp)/h^2 - vp/h        [eq. 10]
//! v  = (x' - xp)/h,   q = M a(x')
//! x  = argmin  x^T q + W(Xn, x, Pn) - x^T f                                            [eq. 12]
//! ```
//!
//! The second solve keeps the inertial force q while rest shape and material change, so that the change
//! itself sets nothing in motion: without forces, x stays X to the bit. With the dial alpha below 1, q and v
//! are blended with those of a dynamic step on (Xn, Pn) [Kozlov17, sec. 7]; at 0 that is a conventional
//! simulation, of which nothing is rebalanced.
//!
//! Positions are told in a frame that moves with the skull, in which bones and rest shapes stand still;
//! inertia is that of the world. Backward Euler needs of the world only the place to which a node would fly
//! without forces, `xp + h vp`, and that is turned into the frame: no fictitious forces, no error by them.
//!
//! Contact belongs to W: [`crate::contact::detect`] finds planes before each dynamic solve, and again after
//! it while points are deep; the static solve keeps those of the dynamic one.
//!
//! Each minimum is found by quasi-Newton on a factored Laplacian that contacts brace
//! ([`crate::minimize::contact_aware`]), by Newton's method where that fails ([`crate::minimize::quasi`]).
//! Solves start from an upright state and never step over a flat tet, so accepted states are upright.

use crate::contact::detect::{Posed, Touch};
use crate::contact::planes::{Contact, Contacts};
use crate::energy::springs::Springs;
use crate::energy::tissue::Tissue;
use crate::minimize::descent::timed;
use crate::minimize::newton::{SolveOptions, SolveReport, minimize};
use crate::minimize::quasi::{Preconditioner, minimize_quasi};
use crate::minimize::system::{Problem, System};
use crate::step::body::{Around, Body, Configuration, State, StepOptions, StepReport};
use crate::{Energy, SolveError, Spring, Stencil, check_length, check_values};
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::Progress;

/// A body in motion.
pub struct Dynamics {
    tets: Vec<Stencil>,
    masses: Vec<f64>,
    touch: Touch,
    options: StepOptions,
    system: System,
    dynamic: Preconditioner,
    rebalancing: Preconditioner,
    /// What the factors were made for.
    factored: Configuration,
    configuration: Configuration,
    tissue: Tissue,
    /// The state that was put in is not upright: the next step begins from rest instead.
    tangled: bool,
    /// What touches at the present positions: where the next step begins.
    touching: Vec<Contact>,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    frame: Rigid,
    /// How the displacement from rest changed in the last step; the next one begins as if it went on.
    drift: Vec<DVec3>,
}

/// A configuration with its energy.
struct Place<'a> {
    configuration: &'a Configuration,
    tissue: &'a Tissue,
}

/// What acts on the body during a step, and who watches.
struct Push<'a> {
    around: Around<'a>,
    /// Length of the step, seconds.
    dt_secs: f64,
    progress: &'a Progress<'a>,
}

/// One minimum to find.
struct Task<'a> {
    place: &'a Place<'a>,
    inertia: &'a Springs,
    loads: &'a [DVec3],
    factor: &'a Preconditioner,
    /// In [`StepReport::times`].
    stage: usize,
    /// What touches where the solve begins, if that is known.
    known: Option<&'a [Contact]>,
    /// The step ends with it: what touches afterwards will be asked for.
    last: bool,
}

/// Contacts of a solve.
#[derive(Default)]
struct Ended {
    /// Where the surface was when the contacts of the last solve were found.
    points: Vec<DVec3>,
    /// As the last solve saw them.
    seen: Vec<Contact>,
    /// What touches in the end; nothing if nobody asks.
    touching: Vec<Contact>,
}

/// Solves begin only where every `det F` is above this.
const UPRIGHT: f64 = 0.02;

/// Iterations after which factors are made anew for the configuration of the moment.
const SLOW: usize = 24;

/// Iterations after which the factor is braced anew by the contacts that press then.
const BRACED: usize = 10;

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
const HOPELESS: f64 = 10.0;

impl Dynamics {
    /// A body at rest in `first`, its frame at `frame` and moving with it: `velocities` are those of the
    /// world.
    pub fn prepare(
        body: Body,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
        options: StepOptions,
    ) -> Result<Self, SolveError> {
        let Body { tets, masses, held, touch } = body;
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
        let stencils: Vec<Stencil> =
            (0..n as u32).map(|i| Spring::at_node(i, DVec3::ZERO, 0.0).nodes).collect();
        let system = System::prepare(held, &[tets, &stencils, touch.carriers().stencils()])?;
        let tissue = tissue(tets, &first, &options)?;
        let [dynamic, rebalancing] = factors(&system, &tissue, &touch, masses, options.dt_secs)?;
        Ok(Self {
            tangled: false,
            touching: Vec::new(),
            tets: tets.to_vec(),
            masses: masses.to_vec(),
            touch,
            options,
            system,
            dynamic,
            rebalancing,
            positions: first.rest.clone(),
            factored: Configuration { surface: Posed::default(), ..first.clone() },
            configuration: first,
            tissue,
            drift: vec![DVec3::ZERO; velocities.len()],
            velocities,
            frame,
        })
    }

    /// Where the nodes are, in the moving frame.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// Their velocities in the world.
    pub fn velocities(&self) -> &[DVec3] {
        &self.velocities
    }

    /// Where the body rests now.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Everything that decides how the body goes on.
    pub fn state(&self) -> State {
        State {
            configuration: self.configuration.clone(),
            positions: self.positions.clone(),
            velocities: self.velocities.clone(),
            frame: self.frame,
            drift: self.drift.clone(),
            factored: self.factored.clone(),
        }
    }

    /// Puts the body into a state: from one of the same body it goes on to the same bits. On an error it is
    /// where it was. In a state whose elements are not upright (scattered, flattened) it begins its next step
    /// where it rests, moving with the frame.
    pub fn restore(&mut self, state: State) -> Result<(), SolveError> {
        let n = self.masses.len();
        check_length("positions", state.positions.len(), n)?;
        check_length("velocities", state.velocities.len(), n)?;
        check_length("drift", state.drift.len(), n)?;
        check_length("rest positions", state.configuration.rest.len(), n)?;
        check_length("surface points", state.configuration.surface.points.len(), self.touch.n_points())?;
        check_length("rest positions of the factors", state.factored.rest.len(), n)?;
        let here = tissue(&self.tets, &state.configuration, &self.options)?;
        if state.factored != self.factored {
            let there = tissue(&self.tets, &state.factored, &self.options)?;
            let (masses, usual) = (&self.masses, self.options.dt_secs);
            [self.dynamic, self.rebalancing] = factors(&self.system, &there, &self.touch, masses, usual)?;
            self.factored = state.factored;
        }
        self.tissue = here;
        (self.configuration, self.positions, self.velocities) =
            (state.configuration, state.positions, state.velocities);
        (self.frame, self.drift) = (state.frame, state.drift);
        self.tangled = self.tissue.least_det(&self.positions) <= 0.0;
        let points = self.touch.positions(&self.tets, &self.configuration, &self.positions);
        self.touching = self.touch.find(&points, &self.configuration.surface);
        Ok(())
    }

    /// Lets the body come to rest where it is: for a start without a jolt.
    pub fn settle(&mut self, around: &Around, progress: &Progress) -> Result<StepReport, SolveError> {
        let mut report = StepReport { converged: true, ..StepReport::default() };
        let here = self.here();
        let still = vec![DVec3::ZERO; self.masses.len()];
        let push = Push { around: *around, dt_secs: self.options.dt_secs, progress };
        let (x, touching) = self.rebalance(&here, &self.positions, &still, None, &push, &mut report)?;
        report.note_contacts(&touching);
        (self.positions, self.touching) = (x, self.on_itself(touching));
        report.elastic = self.elastic();
        Ok(report)
    }

    /// A step of `dt_secs` to `next`, while the frame moves to `frame`. On an error the body is where it was.
    pub fn step(
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
        let new_tissue = if same {
            None
        } else {
            Some(timed(&mut report.times[0], || tissue(&self.tets, next, &self.options))?)
        };
        let old = self.here();
        let new = Place { configuration: next, tissue: new_tissue.as_ref().unwrap_or(&self.tissue) };
        let push = Push { around: *around, dt_secs, progress };
        let flight = self.free_flight(&frame, h);
        let inertia = Springs::inertia(&self.masses, &flight, h)?;
        let alpha = self.options.rebalance.min(1.0);
        // The rebalancing is the last, if there is any.
        let last = new_tissue.is_none() || alpha == 0.0;
        let (mut kept, mut ended) = (Vec::new(), Ended::default());
        for (share, place) in [(alpha, &old), (1.0 - alpha, &new)] {
            if share > 0.0 {
                let (x, contacts) = self.fly(place, &inertia, &push, last, &mut report)?;
                // Those of the rest state before, if there are both.
                if kept.is_empty() || last {
                    ended = contacts;
                }
                kept.push((share, x));
            }
        }
        // Inertial force and velocity in the moving frame, and in the world.
        let blend = |f: &dyn Fn(&[DVec3], usize) -> DVec3, i: usize| match kept.as_slice() {
            [(_, only)] => f(only, i),
            all => all.iter().map(|(share, x)| f(x, i) * *share).sum(),
        };
        let nodes = 0..self.masses.len();
        let inertial: Vec<DVec3> = nodes
            .clone()
            .map(|i| blend(&|x, i| (x[i] - flight[i]) * (self.masses[i] / (h * h)), i))
            .collect();
        let world = |frame: &Rigid, p: DVec3| if *frame == Rigid::IDENTITY { p } else { frame.apply(p) };
        let mut velocities: Vec<DVec3> = nodes
            .clone()
            .map(|i| blend(&|x, i| (world(&frame, x[i]) - world(&self.frame, self.positions[i])) / h, i))
            .collect();
        let mut x = kept.swap_remove(0).1;
        let mut touching = std::mem::take(&mut ended.touching);
        if new_tissue.is_some() && alpha > 0.0 {
            (x, touching) = self.rebalance(&new, &x, &inertial, Some(&ended), &push, &mut report)?;
        }
        // What moves with the frame.
        let carried =
            |i: usize| (world(&frame, self.positions[i]) - world(&self.frame, self.positions[i])) / h;
        let keep = (-self.options.damping * h).exp();
        if keep != 1.0 {
            nodes.clone().for_each(|i| velocities[i] = carried(i) + (velocities[i] - carried(i)) * keep);
        }
        report.kinetic =
            nodes.map(|i| 0.5 * self.masses[i] * (velocities[i] - carried(i)).length_squared()).sum();
        for (i, drift) in self.drift.iter_mut().enumerate() {
            *drift = (x[i] - next.rest[i]) - (self.positions[i] - self.configuration.rest[i]);
        }
        (self.positions, self.velocities, self.frame) = (x, velocities, frame);
        if let Some(tissue) = new_tissue {
            self.tissue = tissue;
            self.configuration = next.clone();
        }
        report.note_contacts(&touching);
        self.touching = self.on_itself(touching);
        report.elastic = self.elastic();
        if report.iterations.iter().any(|&n| n > SLOW) && self.configuration.is_unlike(&self.factored) {
            let (masses, usual) = (&self.masses, self.options.dt_secs);
            let made = timed(&mut report.times[3], || {
                factors(&self.system, &self.tissue, &self.touch, masses, usual)
            });
            // Those of before lead to the same minimum, only slower.
            if let Ok(made) = made {
                [self.dynamic, self.rebalancing] = made;
                self.factored = Configuration { surface: Posed::default(), ..self.configuration.clone() };
            }
        }
        Ok(report)
    }

    /// Puts the body where it rests, moving along with the frame.
    fn untangle(&mut self, frame: &Rigid, h: f64) {
        self.positions = self.configuration.rest.clone();
        let along = |p: &DVec3| (frame.apply(*p) - self.frame.apply(*p)) / h;
        self.velocities = self.positions.iter().map(along).collect();
        self.drift.fill(DVec3::ZERO);
        (self.touching, self.tangled) = (Vec::new(), false);
    }

    /// Where each node would be after the step without forces, in the frame of then.
    fn free_flight(&self, frame: &Rigid, h: f64) -> Vec<DVec3> {
        let still = *frame == Rigid::IDENTITY && self.frame == Rigid::IDENTITY;
        let back = frame.inverse();
        let fly = |(&x, &v): (&DVec3, &DVec3)| {
            if still { x + v * h } else { back.apply(self.frame.apply(x) + v * h) }
        };
        self.positions.iter().zip(&self.velocities).map(fly).collect()
    }

    /// The dynamic solve at `place`.
    fn fly(
        &self,
        place: &Place,
        inertia: &Springs,
        push: &Push,
        last: bool,
        report: &mut StepReport,
    ) -> Result<(Vec<DVec3>, Ended), SolveError> {
        let here = std::ptr::eq(place.configuration, &self.configuration);
        let touching = if here { self.touching.as_slice() } else { &[] };
        let seen: Vec<Contact> = touching.iter().map(|c| self.touch.pushed_out(c, push.dt_secs)).collect();
        let known = self.contacts(&seen, &self.positions);
        let energies: [&dyn Energy; 3] = [place.tissue, inertia, &known];
        let problem = Problem { system: &self.system, energies: &energies, loads: push.around.forces };
        let mut known = here.then_some(self.touching.as_slice());
        let held = self.system.held();
        let onward = |i: usize| if held[i] { self.positions[i] } else { self.positions[i] + self.drift[i] };
        let ahead: Vec<DVec3> = (0..held.len()).map(onward).collect();
        let mut x = self.start(place, &self.positions);
        if place.tissue.least_det(&ahead) > UPRIGHT {
            let ahead = self.start(place, &ahead);
            let mut evaluation = problem.new_evaluation();
            let mut energy = |x: &[DVec3]| {
                problem.evaluate(x, &mut evaluation);
                problem.energy(x, &evaluation).0
            };
            if energy(&ahead) < energy(&x) {
                (x, known) = (ahead, None);
            }
        }
        let (loads, factor) = (push.around.forces, &self.dynamic);
        let task = Task { place, inertia, loads, factor, stage: DYNAMIC, known, last };
        let ended = self.solve_in_contact(&task, &mut x, push, report)?;
        Ok((x, ended))
    }

    /// The static solve at `place`, with the inertial forces of the dynamic one, which led to `moved`. Its
    /// contacts are those of the dynamic one, moved with the pose: found anew, they would push otherwise, and
    /// flesh without inertia is soft.
    fn rebalance(
        &self,
        place: &Place,
        moved: &[DVec3],
        inertial: &[DVec3],
        dynamic: Option<&Ended>,
        push: &Push,
        report: &mut StepReport,
    ) -> Result<(Vec<DVec3>, Vec<Contact>), SolveError> {
        let loads: Vec<DVec3> = match push.around.forces {
            [] => inertial.iter().map(|q| -*q).collect(),
            forces => inertial.iter().zip(forces).map(|(q, f)| *f - *q).collect(),
        };
        let none = Springs::inertia(&vec![0.0; self.masses.len()], moved, self.options.dt_secs)?;
        let mut x = self.start(place, moved);
        let factor = &self.rebalancing;
        let task =
            Task { place, inertia: &none, loads: &loads, factor, stage: STATIC, known: None, last: true };
        let Some(dynamic) = dynamic else {
            let ended = self.solve_in_contact(&task, &mut x, push, report)?;
            return Ok((x, ended.touching));
        };
        let at = place.configuration;
        let carried: Vec<Contact> = timed(&mut report.times[4], || {
            let points = self.touch.positions(&self.tets, at, &x);
            let poses = [&self.configuration.surface, &at.surface];
            let carry = |contact: &Contact| self.touch.carried(contact, [&dynamic.points, &points], poses);
            dynamic.seen.iter().map(carry).collect()
        });
        self.solve_with(&task, &carried, &mut x, push, report)?;
        let touching = self.look(&task, &x, None, push, report).1;
        Ok((x, touching))
    }

    /// Finds contacts and solves, again while points end deeper than they may.
    fn solve_in_contact(
        &self,
        task: &Task,
        x: &mut [DVec3],
        push: &Push,
        report: &mut StepReport,
    ) -> Result<Ended, SolveError> {
        let options = self.touch.options();
        let pushes = options.stiffness > 0.0;
        let deep = |contact: &Contact| {
            let depth = -contact.room;
            depth > DEEP * options.wall && (depth < HOPELESS * options.wall || contact.is_with_obstacle())
        };
        let too_deep = |found: &[Contact]| found.iter().any(deep);
        let (mut points, mut found) =
            if pushes { self.look(task, x, task.known, push, report) } else { Default::default() };
        let mut round = 1;
        loop {
            let seen: Vec<Contact> = found.iter().map(|c| self.touch.pushed_out(c, push.dt_secs)).collect();
            let solved = self.solve_with(task, &seen, x, push, report)?;
            if !pushes && !task.last {
                return Ok(Ended::default());
            }
            let (new_points, new_found) = self.look(task, x, None, push, report);
            // Flesh that is crushed until solves hardly end is not pushed harder.
            let crushed = !solved.converged() || report.iterations[task.stage - DYNAMIC] > 2 * PATIENCE;
            if !pushes || !too_deep(&new_found) || round == ROUNDS || crushed {
                return Ok(Ended { points, seen, touching: new_found });
            }
            (points, found) = (new_points, new_found);
            // Harder where it was not enough.
            let harder = HARDER.powi(round as i32);
            found.iter_mut().filter(|contact| deep(contact)).for_each(|contact| contact.stiffness *= harder);
            round += 1;
        }
    }

    /// Where the surface is when the body is at `x`, and what touches: on itself what is known, if it is.
    fn look(
        &self,
        task: &Task,
        x: &[DVec3],
        known: Option<&[Contact]>,
        push: &Push,
        report: &mut StepReport,
    ) -> (Vec<DVec3>, Vec<Contact>) {
        timed(&mut report.times[4], || {
            let at = task.place.configuration;
            let points = self.touch.positions(&self.tets, at, x);
            let mut found = known.map_or_else(|| self.touch.find(&points, &at.surface), <[Contact]>::to_vec);
            found.extend(self.touch.find_obstacles(&points, push.around.obstacles));
            (points, found)
        })
    }

    /// One minimum with contacts that were found at `x`.
    fn solve_with(
        &self,
        task: &Task,
        contacts: &[Contact],
        x: &mut [DVec3],
        push: &Push,
        report: &mut StepReport,
    ) -> Result<SolveReport, SolveError> {
        let contacts = self.contacts(contacts, x);
        let energies: [&dyn Energy; 3] = [task.place.tissue, task.inertia, &contacts];
        let problem = Problem { system: &self.system, energies: &energies, loads: task.loads };
        let time = &mut report.times[task.stage];
        let solved = timed(time, || self.solve(&problem, &contacts, task.factor, x, push.progress))?;
        report.iterations[task.stage - DYNAMIC] += solved.iterations;
        report.note(&solved);
        Ok(solved)
    }

    /// Where a solve at `place` begins: displaced from rest there as `x` is from rest now, or less where that
    /// is not upright. Held nodes are where they rest.
    fn start(&self, place: &Place, x: &[DVec3]) -> Vec<DVec3> {
        if std::ptr::eq(place.configuration, &self.configuration) {
            return x.to_vec();
        }
        let (held, rest) = (self.system.held(), &place.configuration.rest);
        let at = |share: f64, i: usize| {
            let free = !held[i] && share > 0.0;
            if free { rest[i] + (x[i] - self.configuration.rest[i]) * share } else { rest[i] }
        };
        let tried = [1.0, 0.5, 0.25].map(|share| (0..x.len()).map(|i| at(share, i)).collect::<Vec<_>>());
        let upright = tried.into_iter().find(|x| place.tissue.least_det(x) > UPRIGHT);
        upright.unwrap_or_else(|| rest.clone())
    }

    fn solve(
        &self,
        problem: &Problem,
        contacts: &Contacts,
        factor: &Preconditioner,
        x: &mut [DVec3],
        progress: &Progress,
    ) -> Result<SolveReport, SolveError> {
        let mut before = 0;
        while !self.options.reference && before < PATIENCE {
            let braced = factor.braced(contacts, self.system.held(), x);
            let most = if braced.is_some() { BRACED } else { PATIENCE };
            let quick = SolveOptions { max_iterations: most, ..self.options.solve };
            let mut report = minimize_quasi(problem, braced.as_ref().unwrap_or(factor), x, &quick, progress)?;
            let stuck = report.iterations == 0;
            report.iterations += before;
            if report.converged() {
                return Ok(report);
            }
            before = report.iterations;
            if stuck {
                break;
            }
        }
        let mut report = minimize(problem, x, &self.options.solve, progress)?;
        report.iterations += before;
        Ok(report)
    }

    fn here(&self) -> Place<'_> {
        Place { configuration: &self.configuration, tissue: &self.tissue }
    }

    fn contacts(&self, contacts: &[Contact], x: &[DVec3]) -> Contacts<'_> {
        Contacts::prepare(self.touch.carriers(), self.touch.attachments(), contacts, x)
    }

    /// Contacts without those of obstacles, which move on.
    fn on_itself(&self, mut touching: Vec<Contact>) -> Vec<Contact> {
        touching.retain(|contact| !contact.is_with_obstacle());
        touching
    }

    fn elastic(&self) -> f64 {
        let mut values = vec![0.0; self.tets.len()];
        self.tissue.values(&self.positions, 0..self.tets.len(), &mut values);
        values.iter().sum()
    }
}

fn tissue(tets: &[Stencil], at: &Configuration, options: &StepOptions) -> Result<Tissue, SolveError> {
    Tissue::prepare(tets, &at.rest, None, &at.mu, &at.lambda, options.barrier)
}

/// Laplacians for the dynamic and for the static solve.
fn factors(
    system: &System,
    tissue: &Tissue,
    touch: &Touch,
    masses: &[f64],
    dt_secs: f64,
) -> Result<[Preconditioner; 2], SolveError> {
    let origin = vec![DVec3::ZERO; masses.len()];
    let free = Contacts::prepare(touch.carriers(), touch.attachments(), &[], &origin);
    let factor = |masses: &[f64]| {
        let inertia = Springs::inertia(masses, &origin, dt_secs)?;
        let energies: [&dyn Energy; 3] = [tissue, &inertia, &free];
        Preconditioner::laplacian(&Problem { system, energies: &energies, loads: &[] })
    };
    Ok([factor(masses)?, factor(&vec![0.0; masses.len()])?])
}
