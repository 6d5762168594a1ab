//! A clip played through flesh: dynamic rebalancing of a face [Kozlov17, alg. 1].
//!
//! Each frame of the clip has a rest volume `X(w)` and a stiffness `P(w)`; between frames both go on straight
//! lines. Steps of at most `dt_secs` lead from frame to frame ([`risorius_solve::Dynamics`]). Nodes on skull,
//! jaw and border, and those around the jaw joint, are held where they rest; the head's motion turns the
//! frame in which all of this is told. Gravity is counted as the artist meant it: a head that is upright has
//! the shape that was sculpted, so only its *change* relative to the head pulls, `m (R^-1 g - g)`. What else
//! acts, a [`Scene`] says.
//!
//! In: a face, weights over time, the head's path. Out: the rig's vertices at every frame, handed over one by
//! one in the head's frame, and what was measured. With no head motion and no scene the vertices are the
//! artist's, to the bit.

use crate::checkpoint::Checkpoint;
use crate::collision_pairs::{ContactMode, Touching};
use crate::head_path::HeadPath;
use crate::scene::factors::Factors;
use crate::scene::forces::{Acting, Moment};
use crate::scene::model::Scene;
use crate::skin_out::SkinOut;
use glam::{DQuat, DVec3};
use rayon::prelude::*;
use risorius_base::Rigid;
use risorius_base::progress::{Cancelled, Progress, tick};
use risorius_flesh::Face;
use risorius_flesh::rest::{LEAST_J, RestVolumes};
use risorius_rig::Evaluator;
use risorius_solve::energy::springs::lumped_masses;
use risorius_solve::{
    Around, Body, Configuration, Dynamics, Posed, SolveError, SolveOptions, StepOptions, StepReport,
};
use std::ops::ControlFlow;
use std::time::Instant;

/// How to perform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnrichOptions {
    /// Longest step, seconds. [Kozlov17, sec. 7] steps by 1/300 s.
    pub dt_secs: f64,
    /// 1: shapes and stiffening set nothing in motion by themselves; 0: a conventional simulation.
    pub rebalance: f64,
    /// Decay of motion relative to the head, 1/s, besides what the time stepping damps.
    pub damping: f64,
    /// Factor on all stiffness.
    pub stiffness: f64,
    /// Factor on what shapes add to the stiffness; 0 for a material that stays the same.
    pub tightening: f64,
    /// Density of flesh, kg/m^3.
    pub density: f64,
    /// Gravity, m/s^2, downwards in the world.
    pub gravity: f64,
    /// What keeps lips, lids and teeth apart.
    pub contact: ContactMode,
    /// When a solve is done.
    pub solve: SolveOptions,
    /// Newton's method alone: slow, for comparison.
    pub reference: bool,
}

impl Default for EnrichOptions {
    fn default() -> Self {
        Self {
            dt_secs: 1.0 / 300.0,
            rebalance: 1.0,
            damping: 0.0,
            stiffness: 1.0,
            tightening: 1.0,
            density: 1100.0,
            gravity: 9.81,
            contact: ContactMode::default(),
            solve: StepOptions::default().solve,
            reference: false,
        }
    }
}

/// What is played.
#[derive(Debug, Clone)]
pub struct Performance<'a> {
    /// Time of each frame, strictly ascending.
    pub times_secs: &'a [f64],
    /// Frames x sliders.
    pub weights: &'a [f32],
    /// The head's way; it stands still if it has no samples.
    pub head: HeadPath,
    /// What acts besides.
    pub scene: Scene,
}

/// What one frame took and gave.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct FrameReport {
    /// Steps that led to it.
    pub steps: usize,
    /// Steps that had to be halved.
    pub halved: usize,
    /// Iterations of all dynamic, and of all static solves.
    pub iterations: [usize; 2],
    /// Steps whose solves did not meet the tolerance.
    pub unconverged: usize,
    /// Largest force left at a free node, newtons.
    pub residual: f64,
    /// Smallest `det F` over all steps.
    pub smallest_det: f64,
    /// Elastic energy, joules.
    pub elastic: f64,
    /// Kinetic energy relative to the head, joules.
    pub kinetic: f64,
    /// Mean displacement of the skin by physics, mm.
    pub mean_mm: f64,
    /// Largest, mm.
    pub max_mm: f64,
    /// Its rig vertex.
    pub vertex: u32,
    /// Contacts that press.
    pub contacts: usize,
    /// How much deeper than the artist made it a vertex is in another surface or an obstacle, mm.
    pub depth_mm: f64,
    /// The deepest rig vertex, if any.
    pub deepest: Option<u32>,
    /// Time taken, with this frame's share of the rest volumes, which are made for several at once; seconds.
    pub seconds: f64,
    /// Of that: rest shapes, dynamic solves, static solves, factorizations, search for contacts.
    pub stage_secs: [f64; 5],
    /// The slowest step, seconds.
    pub slowest_step_secs: f64,
}

/// Why a performance ends early; frames handed over before are good.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PerformError {
    /// Weights do not fit the face.
    #[error("{got} weights for {frames} frames of {sliders} sliders")]
    Weights {
        /// Given.
        got: usize,
        /// Frames.
        frames: usize,
        /// Sliders of the face.
        sliders: usize,
    },
    /// An option is out of range.
    #[error("{what} is {value}; it must be {wanted}")]
    Option {
        /// Which.
        what: &'static str,
        /// As given.
        value: f64,
        /// What is possible.
        wanted: &'static str,
    },
    /// Something in the scene is not possible.
    #[error("the scene: {what}")]
    Scene {
        /// What, and what to do.
        what: String,
    },
    /// A rest volume could not be made.
    #[error("frame {frame}: no rest volume: {source}; are sliders beyond all measure?")]
    Rest {
        /// Frame of the clip.
        frame: usize,
        /// Why.
        source: SolveError,
    },
    /// A step failed, and halving it did not help.
    #[error(
        "frame {frame} (at {time_secs:.4} s) could not be solved: {source}; try a smaller --dt or a smoother motion"
    )]
    Step {
        /// Frame of the clip.
        frame: usize,
        /// Its time.
        time_secs: f64,
        /// Why.
        source: SolveError,
    },
    /// A checkpoint is of another face.
    #[error("the checkpoint after frame {frame} does not fit: {source}; begin anew")]
    Checkpoint {
        /// The frame that it was made after.
        frame: usize,
        /// Why.
        source: SolveError,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Frames whose rest volumes are made at once.
const AHEAD: usize = 16;

/// In the first frame, forces of a scene come in so many stages.
const STAGES: usize = 8;

/// A step is halved at most so many times.
const HALVINGS: usize = 5;

/// Stiffness never falls below this share of the neutral one, however sliders are driven.
const LEAST_STIFFNESS: f64 = 0.1;

/// Between frames, rest volumes are repaired below this share of [`LEAST_J`].
const SQUASHED: f64 = 0.2;

/// Takes a frame: its index, the rig's vertices in file units in the head's frame, and its report. `Break`
/// ends the run.
pub type Sink<'a> = dyn FnMut(usize, &[[f32; 3]], &FrameReport) -> ControlFlow<()> + 'a;

/// A frame that is done.
pub struct Frame<'a> {
    /// Its place in the clip.
    pub index: usize,
    /// The rig's vertices in file units in the head's frame.
    pub vertices: &'a [[f32; 3]],
    /// What it took and gave.
    pub report: &'a FrameReport,
    /// The flesh now: its state is what a later run goes on from.
    pub body: &'a Dynamics,
}

/// Plays `performance` through the flesh of `face`, and hands every frame to `sink`.
pub fn enrich(
    face: &Face,
    performance: &Performance,
    options: &EnrichOptions,
    sink: &mut Sink,
    progress: &Progress,
) -> Result<(), PerformError> {
    let mut sink = |frame: &Frame| sink(frame.index, frame.vertices, frame.report);
    enrich_from(None, face, performance, options, &mut sink, progress)
}

/// [`enrich`] after a checkpoint of the same performance, or from the first frame on: the frames are the same
/// either way.
pub fn enrich_from(
    checkpoint: Option<Checkpoint>,
    face: &Face,
    performance: &Performance,
    options: &EnrichOptions,
    sink: &mut dyn FnMut(&Frame) -> ControlFlow<()>,
    progress: &Progress,
) -> Result<(), PerformError> {
    options.check()?;
    let player = Player::prepare(face, performance, options)?;
    let n_frames = performance.times_secs.len();
    let mut body: Option<Dynamics> = None;
    let mut last = Pose::default();
    let mut next = 0;
    if let Some(Checkpoint { frame, state }) = checkpoint {
        next = frame + 1;
        last = player.poses(frame..next.min(n_frames))?.pop().unwrap_or_default();
        // Factors are of another time, and know no surface.
        let first = Configuration { surface: state.configuration.surface.clone(), ..state.factored.clone() };
        let velocities = state.velocities.clone();
        let restored =
            player.prepared(first, state.frame, velocities).and_then(|mut b| b.restore(state).map(|()| b));
        body = Some(restored.map_err(|source| PerformError::Checkpoint { frame, source })?);
    }
    for first in (next..n_frames).step_by(AHEAD) {
        let start = Instant::now();
        let poses = player.poses(first..(first + AHEAD).min(n_frames))?;
        let posing_secs = start.elapsed().as_secs_f64() / poses.len().max(1) as f64;
        for (frame, posed) in (first..).zip(poses) {
            tick(progress, "frames", frame as f32 / n_frames as f32)?;
            let start = Instant::now();
            let mut report = FrameReport { smallest_det: f64::INFINITY, ..FrameReport::default() };
            match &mut body {
                None => body = Some(player.begin(&posed, &mut report, progress)?),
                Some(body) => player.lead(body, frame, [&last, &posed], &mut report, progress)?,
            }
            let Some(body) = &body else { continue };
            let vertices = player.vertices(frame, body, &posed.configuration, &mut report);
            report.seconds = posing_secs + start.elapsed().as_secs_f64();
            if sink(&Frame { index: frame, vertices: &vertices, report: &report, body }).is_break() {
                return Ok(());
            }
            last = posed;
        }
    }
    Ok(())
}

impl EnrichOptions {
    fn check(&self) -> Result<(), PerformError> {
        let positive = "positive";
        for (what, value, fine, wanted) in [
            ("the time step", self.dt_secs, self.dt_secs > 0.0, positive),
            ("rebalancing", self.rebalance, (0.0..=1.0).contains(&self.rebalance), "from 0 to 1"),
            ("damping", self.damping, self.damping >= 0.0, "0 or more per second"),
            ("the factor on stiffness", self.stiffness, self.stiffness > 0.0, positive),
            ("the factor on tightening", self.tightening, self.tightening >= 0.0, "0 or more"),
            ("the density", self.density, self.density > 0.0, positive),
            ("gravity", self.gravity, true, "a number"),
        ] {
            if !(fine && value.is_finite()) {
                return Err(PerformError::Option { what, value, wanted });
            }
        }
        Ok(())
    }
}

/// Everything that stays the same over a performance.
struct Player<'a> {
    face: &'a Face,
    performance: &'a Performance<'a>,
    options: &'a EnrichOptions,
    evaluator: Evaluator,
    rest: RestVolumes<'a>,
    masses: Vec<f64>,
    skin: SkinOut<'a>,
    touching: Touching,
    acting: Acting<'a>,
    factors: Factors,
}

impl<'a> Player<'a> {
    fn prepare(
        face: &'a Face,
        performance: &'a Performance<'a>,
        options: &'a EnrichOptions,
    ) -> Result<Self, PerformError> {
        let (frames, sliders) = (performance.times_secs.len(), face.rig.sliders.len());
        if performance.weights.len() != frames * sliders {
            return Err(PerformError::Weights { got: performance.weights.len(), frames, sliders });
        }
        let evaluator = Evaluator::prepare(&face.rig);
        let skin = SkinOut::prepare(face);
        let scene = &performance.scene;
        let acting = Acting::prepare(face, scene, &skin)?;
        let failed = |source| PerformError::Rest { frame: 0, source };
        let factors = Factors::prepare(face, scene).map_err(failed)?;
        let pushed = !scene.colliders.is_empty();
        let touching = Touching::prepare(face, &evaluator, &skin, options.contact, &scene.touch, pushed);
        let mut masses = lumped_masses(&face.flesh.mesh(), options.density);
        masses.iter_mut().zip(&factors.mass).for_each(|(m, factor)| *m *= factor);
        Ok(Self {
            face,
            performance,
            options,
            evaluator,
            rest: RestVolumes::prepare(&face.flesh).map_err(failed)?,
            masses,
            skin,
            touching: touching.map_err(failed)?,
            acting,
            factors,
        })
    }

    fn weights(&self, frame: usize) -> &[f32] {
        let n = self.face.rig.sliders.len();
        &self.performance.weights[frame * n..(frame + 1) * n]
    }

    /// Rest volume, stiffness and skin at each of these frames.
    fn poses(&self, frames: std::ops::Range<usize>) -> Result<Vec<Pose>, PerformError> {
        let one = |frame: usize| {
            let strengths: Vec<f64> =
                self.evaluator.strengths(self.weights(frame)).iter().map(|&c| c.into()).collect();
            let rest = self.rest.at(&strengths).map_err(|source| PerformError::Rest { frame, source })?;
            let [mu, lambda] = self.stiffness(&strengths);
            let pose = self.evaluator.positions(self.weights(frame));
            let surface = self.touching.touch.posed(self.touching.surface(&pose));
            let configuration = Configuration { rest: rest.positions, mu, lambda, surface };
            Ok(Pose { configuration, facing: self.acting.facing(&pose) })
        };
        frames.into_par_iter().with_max_len(1).map(one).collect()
    }

    /// `P(w) = P0 + B_P c(w)` [Kozlov17, eq. 3], as mu and lambda of each tet.
    fn stiffness(&self, strengths: &[f64]) -> [Vec<f64>; 2] {
        let materials = &self.face.flesh.materials;
        let neutral = [&materials.mu, &materials.lambda]
            .map(|all| all.iter().map(|&k| f64::from(k)).collect::<Vec<_>>());
        let mut now = neutral.clone();
        for (shape, &c) in materials.shapes.iter().zip(strengths).filter(|(_, c)| **c != 0.0) {
            let c = c * self.options.tightening;
            for ((&tet, &mu), &lambda) in shape.tets.iter().zip(shape.mu.iter()).zip(shape.lambda.iter()) {
                now[0][tet as usize] += f64::from(mu) * c;
                now[1][tet as usize] += f64::from(lambda) * c;
            }
        }
        for (all, neutral) in now.iter_mut().zip(&neutral) {
            all.iter_mut()
                .zip(neutral)
                .for_each(|(k, k0)| *k = k.max(LEAST_STIFFNESS * k0) * self.options.stiffness);
            all.iter_mut().zip(&self.factors.stiffness).for_each(|(k, factor)| *k *= factor);
        }
        now
    }

    /// The body at rest under gravity and what else acts in the first frame, moving along with the head.
    fn begin(
        &self,
        first: &Pose,
        report: &mut FrameReport,
        progress: &Progress,
    ) -> Result<Dynamics, PerformError> {
        let Pose { configuration: first, facing } = first;
        let options = self.options;
        let time_secs = self.performance.times_secs[0];
        let (here, soon) =
            (self.performance.head.at(time_secs), self.performance.head.at(time_secs + options.dt_secs));
        let carried = |&p: &DVec3| {
            if here == soon { DVec3::ZERO } else { (soon.apply(p) - here.apply(p)) / options.dt_secs }
        };
        let velocities = first.rest.iter().map(carried).collect();
        let failed = |source| step_error(0, time_secs, source);
        let mut body = self.prepared(first.clone(), here, velocities).map_err(failed)?;
        let moment = Moment { time_secs, heads: [here, soon], span_secs: options.dt_secs, head: here };
        let (gravity, whole) = (self.gravity(&here), self.forces(&moment, facing));
        let obstacles = self.performance.scene.obstacles(&here, time_secs);
        // What the scene adds comes little by little, or flesh would leap over what it touches.
        let stages = if whole == gravity { 1 } else { STAGES };
        let at_rest = |i: usize| gravity.get(i).copied().unwrap_or(DVec3::ZERO);
        for stage in 1..=stages {
            let share = stage as f64 / stages as f64;
            let part = |(i, force): (usize, &DVec3)| at_rest(i).lerp(*force, share);
            let forces =
                if stage == stages { whole.clone() } else { whole.iter().enumerate().map(part).collect() };
            let around = Around { forces: &forces, obstacles: &obstacles };
            let settled = body.settle(&around, progress).map_err(failed)?;
            if stage == stages {
                self.note(&settled, report);
            }
        }
        Ok(body)
    }

    /// A body at rest in `first`.
    fn prepared(
        &self,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
    ) -> Result<Dynamics, SolveError> {
        let options = self.options;
        let held = self.face.flesh.kinematic_nodes();
        let step = StepOptions {
            dt_secs: options.dt_secs,
            rebalance: options.rebalance,
            damping: options.damping,
            solve: options.solve,
            reference: options.reference,
            ..StepOptions::default()
        };
        let tets = &self.face.flesh.tets;
        let made_of = Body { tets, masses: &self.masses, held: &held, touch: self.touching.touch.clone() };
        Dynamics::prepare(made_of, first, frame, velocities, step)
    }

    /// Leads the body from the frame before to `frame`, and from the one configuration to the other.
    fn lead(
        &self,
        body: &mut Dynamics,
        frame: usize,
        ends: [&Pose; 2],
        report: &mut FrameReport,
        progress: &Progress,
    ) -> Result<(), PerformError> {
        let times = self.performance.times_secs;
        let span = times[frame] - times[frame - 1];
        let n = (span / self.options.dt_secs - 1e-9).ceil().max(1.0) as usize;
        let way = Way { from_secs: times[frame - 1], span, ends };
        for step in 0..n {
            let shares = [step, step + 1].map(|s| s as f64 / n as f64);
            self.walk(body, &way, shares, 0, report, progress)
                .map_err(|source| step_error(frame, times[frame], source))?;
        }
        Ok(())
    }

    /// One step along a way, or two halves of it where it fails.
    fn walk(
        &self,
        body: &mut Dynamics,
        way: &Way,
        shares: [f64; 2],
        depth: usize,
        report: &mut FrameReport,
        progress: &Progress,
    ) -> Result<(), SolveError> {
        let [from, to] = shares;
        let next = self.between(way.ends.map(|end| &end.configuration), to)?;
        let [before, frame] = shares.map(|share| self.performance.head.at(way.from_secs + way.span * share));
        let (time_secs, span_secs) = (way.from_secs + way.span * to, way.span * (to - from));
        let moment = Moment { time_secs, heads: [before, frame], span_secs, head: frame };
        let forces = self.forces(&moment, &way.facing(to));
        let obstacles = self.performance.scene.obstacles(&frame, time_secs);
        let around = Around { forces: &forces, obstacles: &obstacles };
        let begin = Instant::now();
        match body.step(&next, frame, span_secs, &around, progress) {
            Ok(step) => {
                self.note(&step, report);
                report.slowest_step_secs = report.slowest_step_secs.max(begin.elapsed().as_secs_f64());
            }
            Err(cancelled @ SolveError::Cancelled(_)) => return Err(cancelled),
            Err(cause) if depth == HALVINGS => return Err(cause),
            Err(_) => {
                report.halved += 1;
                let middle = 0.5 * (from + to);
                self.walk(body, way, [from, middle], depth + 1, report, progress)?;
                self.walk(body, way, [middle, to], depth + 1, report, progress)?;
            }
        }
        Ok(())
    }

    /// The configuration at `share` of the way between two frames.
    fn between(&self, [a, b]: [&Configuration; 2], share: f64) -> Result<Configuration, SolveError> {
        if share == 1.0 || a == b {
            return Ok(b.clone());
        }
        let mix = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + (b - a) * share).collect();
        let mut rest: Vec<DVec3> = a.rest.iter().zip(&b.rest).map(|(a, b)| a.lerp(*b, share)).collect();
        if self.rest.worst(&rest).0 < SQUASHED * LEAST_J {
            rest = self.rest.repair(rest)?.positions;
        }
        let surface = Posed::between(&a.surface, &b.surface, share);
        Ok(Configuration { rest, mu: mix(&a.mu, &b.mu), lambda: mix(&a.lambda, &b.lambda), surface })
    }

    /// Adds what a step took and gave.
    fn note(&self, step: &StepReport, report: &mut FrameReport) {
        report.add(step);
        if 1000.0 * step.depth > report.depth_mm {
            report.depth_mm = 1000.0 * step.depth;
            report.deepest = self.touching.vertices.get(step.deepest as usize).copied();
        }
    }

    /// Gravity's change relative to the head, and what the scene adds.
    fn forces(&self, moment: &Moment, facing: &[DVec3]) -> Vec<DVec3> {
        let mut forces = self.gravity(&moment.head);
        self.acting.add_forces(moment, facing, &mut forces);
        forces
    }

    /// Gravity's change relative to the head; none for a head that is upright.
    fn gravity(&self, frame: &Rigid) -> Vec<DVec3> {
        let down = DVec3::NEG_Y * self.options.gravity;
        if frame.rotation == DQuat::IDENTITY || self.options.gravity == 0.0 {
            return Vec::new();
        }
        let pull = frame.rotation.inverse() * down - down;
        self.masses.iter().map(|&m| pull * m).collect()
    }

    /// The rig's vertices with what physics adds.
    fn vertices(
        &self,
        frame: usize,
        body: &Dynamics,
        configuration: &Configuration,
        report: &mut FrameReport,
    ) -> Vec<[f32; 3]> {
        let offsets: Vec<DVec3> =
            body.positions().iter().zip(&configuration.rest).map(|(x, rest)| *x - *rest).collect();
        let mut vertices = self.evaluator.positions(self.weights(frame));
        let moved = self.skin.add(&offsets, &mut vertices);
        (report.mean_mm, report.max_mm, report.vertex) = (moved.mean_mm, moved.max_mm, moved.vertex);
        vertices
    }
}

/// The face at a frame, before anything acts.
#[derive(Default)]
struct Pose {
    configuration: Configuration,
    /// Skin that wind meets.
    facing: Vec<DVec3>,
}

/// The time between two frames and the face at both.
struct Way<'a> {
    from_secs: f64,
    span: f64,
    ends: [&'a Pose; 2],
}

impl Way<'_> {
    fn facing(&self, share: f64) -> Vec<DVec3> {
        let [a, b] = self.ends;
        a.facing.iter().zip(&b.facing).map(|(a, b)| a.lerp(*b, share)).collect()
    }
}

fn step_error(frame: usize, time_secs: f64, source: SolveError) -> PerformError {
    match source {
        SolveError::Cancelled(cancelled) => PerformError::Cancelled(cancelled),
        source => PerformError::Step { frame, time_secs, source },
    }
}

impl FrameReport {
    fn add(&mut self, step: &StepReport) {
        self.steps += 1;
        self.iterations[0] += step.iterations[0];
        self.iterations[1] += step.iterations[1];
        self.unconverged += usize::from(!step.converged);
        self.residual = self.residual.max(step.residual);
        self.smallest_det = self.smallest_det.min(step.smallest_det);
        (self.elastic, self.kinetic, self.contacts) = (step.elastic, step.kinetic, step.contacts);
        for (sum, time) in self.stage_secs.iter_mut().zip(step.times) {
            *sum += time.as_secs_f64();
        }
    }
}
