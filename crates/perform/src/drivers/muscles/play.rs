//! Performances by muscles: muscle shapes blended as blendshapes, simulated, with interpolated snaps
//! [Cong16, sec. 7].
//!
//! Each frame blends the muscle shapes of all sliders that are on: activations, jaw and tracks add up.
//! Between frames they are interpolated linearly. The flesh follows in equilibrium, or with inertia: a step
//! of h seconds minimizes the energy of the pose plus
//!
//! ```text
//! sum over nodes  m / (2 h^2) |x - (xp + h vp + h^2 f / m)|^2
//! ```
//!
//! which is backward Euler. Forces f are those of [`crate::scene::loads`]; x is expressed in the frame that
//! moves with the head, free flight in the world. Without inertia nothing but muscles and contact acts.
//!
//! Final snaps are added in proportion to their sliders. At 1 a slider that is on alone shows the artist's
//! shape. Sliders without a muscle shape move nothing that muscles move: solve for them first. In-betweens
//! and combinations of the rig show in eyes and ears only; in the flesh, muscles act on each other instead.

use super::{Controls, JawPose, Lead, MuscleModel, MuscleOptions, MusclePose, Start};
use crate::checkpoint::Checkpoint;
use crate::collision_pairs::ContactMode;
use crate::drivers::{expect_weights, mixed};
use crate::error::PerformError;
use crate::run::{Driver, FrameSink, Performance, RestReport, SteppedBody, run};
use crate::scene::forces::{Acting, Moment};
use crate::scene::loads::Loads;
use crate::skin_out::{Moved, SkinOut};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::{Progress, Rigid};
use risorius_flesh::Face;
use risorius_rig::Evaluator;
use risorius_solve::energy::springs::lumped_masses;
use risorius_solve::{Around, Configuration, Posed, SolveError, State, StaticsReport, StepReport};
use std::ops::Range;
use std::sync::Arc;

/// Options of [`muscles`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MusclesOptions {
    /// The model.
    pub model: MuscleOptions,
    /// Share of the final snaps, 0 to 1. Default 1.
    pub snap: f64,
    /// Whether flesh has inertia. Default true.
    pub inertia: bool,
    /// Longest time step, seconds, positive. Default 1/60.
    pub dt_secs: f64,
    /// Factor on what the motion of the head does to the flesh, 0 or more. Default 1.
    pub gain: f64,
    /// Factor on all masses, positive. Default 1.
    pub mass: f64,
    /// Gravity, m/s^2, downwards in the world. Default 9.81.
    pub gravity: f64,
}

impl Default for MusclesOptions {
    fn default() -> Self {
        Self {
            model: MuscleOptions::default(),
            snap: 1.0,
            inertia: true,
            dt_secs: 1.0 / 60.0,
            gain: 1.0,
            mass: 1.0,
            gravity: 9.81,
        }
    }
}

/// At the start, flesh comes to rest in this many damped steps of this length, seconds.
const SETTLING: (usize, f64) = (5, 0.1);

/// Most rounds of contact detection in a time step; the next step goes on where one ends.
const STEP_ROUNDS: usize = 3;

impl MusclesOptions {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), PerformError> {
        self.model.check()?;
        let checks: [(&'static [&'static str], _, f64, bool, _); 5] = [
            (&["snap"], "the share of snaps", self.snap, (0.0..=1.0).contains(&self.snap), "from 0 to 1"),
            (&["dt"], "the time step", self.dt_secs, self.dt_secs > 0.0, "positive"),
            (&["gain"], "the gain", self.gain, self.gain >= 0.0, "0 or more"),
            (&["mass"], "the factor on mass", self.mass, self.mass > 0.0, "positive"),
            (&["gravity"], "gravity", self.gravity, true, "a number"),
        ];
        for (option, what, value, fine, wanted) in checks {
            if !(fine && value.is_finite()) {
                return Err(PerformError::Option { what, option, value, wanted });
            }
        }
        match self.model.contact {
            ContactMode::Penalty => Err(PerformError::Option {
                what: "the stiffness of penalties",
                option: &["contact"],
                value: 0.0,
                wanted: "left out: contacts of muscles are walls, or off",
            }),
            _ => Ok(()),
        }
    }
}

/// Simulates `performance` by the muscles of `face` and passes every frame to `sink`. Starts after a
/// checkpoint of the same performance, or from the first frame.
pub fn muscles(
    face: &Face,
    performance: &Performance,
    options: &MusclesOptions,
    checkpoint: Option<Checkpoint>,
    sink: &mut FrameSink,
    progress: &Progress,
) -> Result<(), PerformError> {
    expect_weights(face, performance)?;
    options.check()?;
    let model = MuscleModel::prepare(face, &options.model)?;
    let skin = SkinOut::prepare(face);
    let driver = Muscles::prepare(&model, &skin, performance, options)?;
    run(&driver, performance, options.dt_secs, checkpoint, sink, progress)
}

/// A performance on a prepared face.
pub struct Muscles<'a> {
    model: &'a MuscleModel<'a>,
    performance: &'a Performance<'a>,
    options: MusclesOptions,
    evaluator: Evaluator,
    loads: Loads<'a>,
    masses: Arc<Vec<f64>>,
}

impl<'a> Muscles<'a> {
    /// Checks that the face has muscle shapes, and the scene.
    pub fn prepare(
        model: &'a MuscleModel<'a>,
        skin: &SkinOut,
        performance: &'a Performance<'a>,
        options: &MusclesOptions,
    ) -> Result<Self, PerformError> {
        let face = model.face();
        if face.muscle_shapes.is_empty() {
            return Err(PerformError::NoMuscleShapes);
        }
        if !performance.scene.colliders.is_empty() || !performance.scene.held.is_empty() {
            let what =
                "colliders and held regions need the method volumetric; remove them, or change the method";
            return Err(PerformError::Scene { what: what.into() });
        }
        let density = &face.flesh.materials.density;
        let masses = lumped_masses(&face.flesh.mesh(), |t| f64::from(density[t]) * options.mass);
        let acting = Acting::prepare(face, &performance.scene, skin)?;
        Ok(Self {
            evaluator: Evaluator::prepare(&face.rig),
            masses: Arc::new(masses.clone()),
            loads: Loads { masses, gravity: options.gravity, gain: options.gain, acting },
            options: *options,
            model,
            performance,
        })
    }

    fn pose(&self, frame: usize) -> Pose {
        let weights = self.performance.clip.frame(frame);
        let strengths: Vec<f64> = self.evaluator.strengths(weights).iter().map(|&c| c.into()).collect();
        let artist = self.evaluator.positions(weights);
        let blend = self.model.shapes_at(weights);
        let controls = self.model.blended(&blend);
        Pose {
            facing: self.loads.acting.facing(&artist),
            jaw: self.model.face().anatomy.jaw(&strengths),
            snaps: blend.iter().map(|(shape, place)| (shape.shape, self.options.snap * place)).collect(),
            configuration: self.model.configuration(&controls),
            artist,
        }
    }
}

impl MuscleModel<'_> {
    /// Controls as numbers that can be interpolated and stored.
    fn configuration(&self, controls: &Controls) -> Configuration {
        let lead = &controls.lead;
        let numbers = |points: &[DVec3]| points.iter().flat_map(|p| p.to_array()).collect();
        // The same lengths in all frames.
        let to = if lead.to.is_empty() { vec![DVec3::ZERO; self.control.len()] } else { lead.to.clone() };
        let shares = if lead.to.is_empty() { vec![0.0; self.names.len()] } else { lead.shares.clone() };
        Configuration {
            rest: self.statics.rest().to_vec(),
            parameters: vec![
                controls.activations.clone(),
                controls.jaw.to_array().to_vec(),
                numbers(&to),
                shares,
            ],
            surface: Posed::default(),
        }
    }

    /// The inverse of [`Self::configuration`].
    fn controls(&self, configuration: &Configuration) -> Result<Controls, SolveError> {
        let [activations, jaw, to, shares] = configuration.parameters.as_slice() else {
            let got = configuration.parameters.len();
            return Err(SolveError::Length { what: "lists of parameters", got, wanted: 4 });
        };
        let &[open_deg, forward, side] = jaw.as_slice() else {
            return Err(SolveError::Length { what: "parameters of the jaw", got: jaw.len(), wanted: 3 });
        };
        let to = to.chunks_exact(3).map(DVec3::from_slice).collect();
        Ok(Controls {
            activations: activations.clone(),
            jaw: JawPose { open_deg, forward, side },
            lead: Lead { to, shares: shares.clone() },
        })
    }
}

/// The flesh of a performance by muscles.
pub struct MuscleBody<'a> {
    model: &'a MuscleModel<'a>,
    masses: Arc<Vec<f64>>,
    inertia: bool,
    configuration: Configuration,
    positions: Vec<DVec3>,
    /// In the world, m/s.
    velocities: Vec<DVec3>,
    frame: Rigid,
}

impl MuscleBody<'_> {
    /// Moves to the equilibrium at `next`, with springs of inertia if there are any.
    fn moved(
        &self,
        next: &Configuration,
        from: &[DVec3],
        flights: Option<&[(DVec3, f64)]>,
        progress: &Progress,
    ) -> Result<MusclePose, SolveError> {
        let [before, controls] = [&self.configuration, next].map(|c| self.model.controls(c));
        let start = Start { nodes: from, jaw: before?.jaw };
        self.model.pose_in(&controls?, Some(start), flights, STEP_ROUNDS, progress).map_err(|error| {
            match error {
                PerformError::Cancelled(cancelled) => SolveError::Cancelled(cancelled),
                PerformError::Muscles { source } => source,
                PerformError::JawFolds { .. } => SolveError::BonesFold,
                // Blended controls are within their limits.
                _ => SolveError::Length { what: "controls", got: 0, wanted: 1 },
            }
        })
    }

    /// Where nodes would fly in a step, in the frame `frame`, and mass over its square.
    fn flights(&self, frame: &Rigid, dt_secs: f64, forces: &[DVec3]) -> Vec<(DVec3, f64)> {
        let back = frame.inverse();
        let one = |n: usize| {
            let world = self.frame.apply(self.positions[n]) + self.velocities[n] * dt_secs;
            let mass = self.masses[n];
            let push = match forces.get(n) {
                Some(force) if mass > 0.0 => *force * (dt_secs * dt_secs / mass),
                _ => DVec3::ZERO,
            };
            (back.apply(world) + push, mass / (dt_secs * dt_secs))
        };
        (0..self.positions.len()).map(one).collect()
    }
}

fn step_report(solved: &StaticsReport) -> StepReport {
    StepReport {
        iterations: [solved.iterations, 0],
        residual: solved.residual,
        converged: solved.converged,
        smallest_det: solved.smallest_det,
        contacts: solved.contacts,
        depth: solved.depth,
        deepest: solved.deepest,
        ..StepReport::default()
    }
}

impl SteppedBody for MuscleBody<'_> {
    fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    fn state(&self) -> State {
        State {
            configuration: self.configuration.clone(),
            positions: self.positions.clone(),
            velocities: self.velocities.clone(),
            frame: self.frame,
            // There are no preconditioners; a run that resumes makes its body from this.
            factored: self.configuration.clone(),
            ..State::default()
        }
    }

    fn restore(&mut self, state: State) -> Result<(), SolveError> {
        let wanted = self.positions.len();
        for (what, got) in [("positions", state.positions.len()), ("velocities", state.velocities.len())] {
            if got != wanted {
                return Err(SolveError::Length { what, got, wanted });
            }
        }
        self.model.controls(&state.configuration)?;
        self.configuration = state.configuration;
        (self.positions, self.velocities, self.frame) = (state.positions, state.velocities, state.frame);
        Ok(())
    }

    fn settle(&mut self, around: &Around, progress: &Progress) -> Result<StepReport, SolveError> {
        let next = self.configuration.clone();
        if around.forces.is_empty() || !self.inertia {
            let pose = self.moved(&next, &self.positions, None, progress)?;
            self.positions = pose.nodes;
            return Ok(step_report(&pose.report));
        }
        let (steps, dt_secs) = SETTLING;
        let mut report = StepReport::default();
        let velocities = std::mem::replace(&mut self.velocities, vec![DVec3::ZERO; self.positions.len()]);
        for _ in 0..steps {
            let flights = self.flights(&self.frame, dt_secs, around.forces);
            let pose = self.moved(&next, &self.positions, Some(&flights), progress)?;
            self.positions = pose.nodes;
            let before = report.iterations[0];
            report = step_report(&pose.report);
            report.iterations[0] += before;
        }
        self.velocities = velocities;
        Ok(report)
    }

    fn step(
        &mut self,
        next: &Configuration,
        frame: Rigid,
        dt_secs: f64,
        around: &Around,
        progress: &Progress,
    ) -> Result<StepReport, SolveError> {
        let flights = self.inertia.then(|| self.flights(&frame, dt_secs, around.forces));
        let pose = self.moved(next, &self.positions, flights.as_deref(), progress)?;
        let moved = self.positions.iter().zip(&pose.nodes);
        self.velocities = moved.map(|(a, b)| (frame.apply(*b) - self.frame.apply(*a)) / dt_secs).collect();
        (self.positions, self.frame, self.configuration) = (pose.nodes, frame, next.clone());
        Ok(step_report(&pose.report))
    }

    fn elastic(&self) -> f64 {
        let controls = self.model.controls(&self.configuration);
        controls.map_or(0.0, |controls| self.model.elastic(&controls, &self.positions))
    }
}

impl<'a> Driver for Muscles<'a> {
    type Pose = Pose;
    type Body = MuscleBody<'a>;

    fn poses(&self, frames: Range<usize>) -> Result<Vec<Pose>, PerformError> {
        Ok(frames.into_par_iter().with_max_len(1).map(|frame| self.pose(frame)).collect())
    }

    fn rest_report(&self, _pose: &Pose) -> RestReport {
        RestReport { rest_least_j: 1.0, rest_share: 1.0, ..RestReport::default() }
    }

    fn configuration<'p>(&self, pose: &'p Pose) -> &'p Configuration {
        &pose.configuration
    }

    fn between(&self, ends: [&Pose; 2], share: f64) -> Result<Configuration, SolveError> {
        let [a, b] = ends.map(|end| &end.configuration);
        Ok(if share == 1.0 || a == b { b.clone() } else { mixed([a, b], share) })
    }

    fn body(
        &self,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
    ) -> Result<MuscleBody<'a>, SolveError> {
        // From the neutral, in the stages of a search from afar.
        let controls = self.model.controls(&first)?;
        let quiet = &risorius_base::progress::no_progress;
        let pose = self.model.pose(&controls, None, quiet).map_err(|error| match error {
            PerformError::Muscles { source } => source,
            _ => SolveError::BonesFold,
        })?;
        Ok(MuscleBody {
            model: self.model,
            masses: self.masses.clone(),
            inertia: self.options.inertia,
            positions: pose.nodes,
            configuration: first,
            velocities,
            frame,
        })
    }

    fn resting_forces(&self, head: &Rigid) -> Vec<DVec3> {
        if self.options.inertia { self.loads.resting(head) } else { Vec::new() }
    }

    fn apparent_forces(&self, moment: &Moment, pose: &Pose, times: f64) -> Vec<DVec3> {
        match self.options.inertia {
            true => self.loads.apparent(moment, &pose.configuration.rest, times),
            false => Vec::new(),
        }
    }

    fn forces(&self, moment: &Moment, [a, b]: [&Pose; 2], share: f64) -> Vec<DVec3> {
        match self.options.inertia {
            true => self.loads.all(moment, &b.configuration.rest, [&a.facing, &b.facing], share),
            false => Vec::new(),
        }
    }

    fn skin(&self, body: &MuscleBody, pose: &Pose) -> (Vec<[f32; 3]>, Moved) {
        let controls = self.model.controls(&body.configuration).unwrap_or_else(|_| self.model.relaxed());
        let posed = MusclePose { controls, nodes: body.positions.clone(), report: StaticsReport::default() };
        let mut vertices = self.model.skin_among(&posed, &pose.artist, &pose.jaw);
        for &(shape, share) in &pose.snaps {
            let found = self.model.face().muscle_shapes.iter().find(|s| s.shape == shape);
            found.iter().for_each(|s| s.snap.add_to(&mut vertices, share));
        }
        let moved = self.moved(&vertices, &pose.artist);
        (vertices, moved)
    }

    fn vertex_of_point(&self, point: u32) -> Option<u32> {
        self.model.contacts.vertices.get(point as usize).copied()
    }
}

impl Muscles<'_> {
    /// How far the skin is from the artist's.
    fn moved(&self, vertices: &[[f32; 3]], artist: &[[f32; 3]]) -> Moved {
        let si = self.model.face().rig.space.si_from_file();
        let embedded = &self.model.face().flesh.embedding.vertices;
        let mut moved = Moved::default();
        for &v in embedded.iter() {
            let [a, b] = [vertices, artist].map(|all| Vec3::from(all[v as usize]).as_dvec3());
            let mm = 1000.0 * (si * (a - b)).length();
            moved.mean_mm += mm / embedded.len() as f64;
            if mm > moved.max_mm {
                (moved.max_mm, moved.vertex) = (mm, v);
            }
        }
        moved
    }
}

/// The face at a frame, before it is simulated.
#[derive(Default)]
pub struct Pose {
    configuration: Configuration,
    /// Area vectors of the skin exposed to wind.
    facing: Vec<DVec3>,
    /// The artist's vertices.
    artist: Vec<[f32; 3]>,
    /// The artist's jaw.
    jaw: Rigid,
    /// Shapes with snaps, and the share of each.
    snaps: Vec<(u32, f64)>,
}
