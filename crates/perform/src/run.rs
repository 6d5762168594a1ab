//! Runs of a clip: from frame to frame in time steps, halved where they fail, resumed from checkpoints.
//!
//! A method implements [`Driver`]: the state of the face at each frame before forces act, how it changes
//! between two frames, the forces, and how the solution is applied to the skin. The rest is here and the same
//! for every method. The first frame settles to equilibrium under its loads. Each later frame is reached in
//! steps of at most `dt_secs`. A step that fails is split in two, up to [`HALVINGS`] times. Every frame is
//! passed to the caller with its report and its resume state. The poses of the next frames are computed
//! meanwhile.

use crate::checkpoint::Checkpoint;
use crate::error::{PerformError, step_error};
use crate::head_path::{Acceleration, HeadPath};
use crate::scene::forces::Moment;
use crate::scene::loads::add;
use crate::scene::model::Scene;
use crate::skin_out::Moved;
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::{Progress, tick};
use risorius_rig::BoundClip;
use risorius_solve::project::ProjectBody;
use risorius_solve::{Around, Configuration, Dynamics, SolveError, State, StepReport};
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The inputs of a run.
#[derive(Debug, Clone)]
pub struct Performance<'a> {
    /// Slider values over time, bound to the rig of the face.
    pub clip: &'a BoundClip,
    /// The path of the head; at rest if it has no samples.
    pub head: HeadPath,
    /// Everything else that acts on the face.
    pub scene: Scene,
}

/// The report of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct FrameReport {
    /// Time steps since the previous frame.
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
    /// Largest displacement, mm.
    pub max_mm: f64,
    /// Its rig vertex.
    pub vertex: u32,
    /// Number of pressing contacts.
    pub contacts: usize,
    /// Largest penetration depth of a vertex into another surface or an obstacle, beyond the artist's
    /// overlap, mm.
    pub depth_mm: f64,
    /// The deepest rig vertex, if any.
    pub deepest: Option<u32>,
    /// Computation time, seconds.
    pub seconds: f64,
    /// Of that: this frame's share of the time that the run waited for poses (rest volumes, overlaps and
    /// clearances of the surface), which are made for several frames at once while earlier ones are stepped.
    pub posing_secs: f64,
    /// And: energies at new rest shapes, dynamic solves, static solves, factorizations, contact
    /// detection.
    pub stage_secs: [f64; 5],
    /// The slowest step, seconds.
    pub slowest_step_secs: f64,
    /// The rest shape of this frame.
    #[serde(flatten)]
    pub rest: RestReport,
}

/// What had to be done so that the rest shape of a frame has no inverted elements.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct RestReport {
    /// Nodes that were moved.
    pub rest_nodes: usize,
    /// The longest motion of a node, mm.
    pub rest_moved_mm: f64,
    /// Smallest volume of an element before, relative to the neutral.
    pub rest_least_j: f64,
    /// Whether some element could only be repaired in a way that may jump from frame to frame.
    pub rest_jumps: bool,
    /// Blend factor from the neutral (0) to the rest shape of this frame (1). Below 1 only if moving nodes
    /// was not enough.
    pub rest_share: f64,
    /// Largest acceleration of a node of the rest shape: its second difference over this frame and the two
    /// before, mm.
    pub rest_acceleration_mm: f64,
}

/// A finished frame.
pub struct Frame<'a> {
    /// Its index in the clip.
    pub index: usize,
    /// The rig's vertices in file units, expressed in the head frame.
    pub vertices: &'a [[f32; 3]],
    /// Its report.
    pub report: &'a FrameReport,
    /// The flesh after this frame; a later run resumes from its state.
    pub body: &'a dyn SteppedBody,
}

/// Flesh that a method moves in time steps.
pub trait SteppedBody {
    /// Positions of the nodes in the head frame.
    fn positions(&self) -> &[DVec3];

    /// The resume state.
    fn state(&self) -> State;

    /// Continues from a state of the same body, to the same bits.
    fn restore(&mut self, state: State) -> Result<(), SolveError>;

    /// Moves to equilibrium.
    fn settle(&mut self, around: &Around, progress: &Progress) -> Result<StepReport, SolveError>;

    /// A step to another configuration. On an error the body is unchanged.
    fn step(
        &mut self,
        next: &Configuration,
        frame: Rigid,
        dt_secs: f64,
        around: &Around,
        progress: &Progress,
    ) -> Result<StepReport, SolveError>;

    /// Elastic energy, joules.
    fn elastic(&self) -> f64;
}

macro_rules! stepped_body {
    ($body:ty) => {
        impl SteppedBody for $body {
            fn positions(&self) -> &[DVec3] {
                self.positions()
            }

            fn state(&self) -> State {
                self.state()
            }

            fn restore(&mut self, state: State) -> Result<(), SolveError> {
                self.restore(state)
            }

            fn settle(&mut self, around: &Around, progress: &Progress) -> Result<StepReport, SolveError> {
                self.settle(around, progress)
            }

            fn step(
                &mut self,
                next: &Configuration,
                frame: Rigid,
                dt_secs: f64,
                around: &Around,
                progress: &Progress,
            ) -> Result<StepReport, SolveError> {
                self.step(next, frame, dt_secs, around, progress)
            }

            fn elastic(&self) -> f64 {
                self.elastic()
            }
        }
    };
}

stepped_body!(Dynamics);
stepped_body!(ProjectBody);

/// Receives each finished frame. `Break` ends the run.
pub type FrameSink<'a> = dyn FnMut(&Frame) -> ControlFlow<()> + 'a;

/// A simulation method.
pub trait Driver: Sync {
    /// The face at a frame, before forces act.
    type Pose: Default + Send;

    /// The flesh in motion.
    type Body: SteppedBody;

    /// The same method with a slower solver, for equilibria that the usual one does not find; none by
    /// default.
    fn patient(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The poses of some frames.
    fn poses(&self, frames: Range<usize>) -> Result<Vec<Self::Pose>, PerformError>;

    /// The pose of a frame that is none of a run.
    fn lone_pose(&self, frame: usize) -> Result<Self::Pose, PerformError> {
        Ok(self.poses(frame..frame + 1)?.pop().unwrap_or_default())
    }

    /// What had to be done to the rest shape of a pose.
    fn rest_report(&self, pose: &Self::Pose) -> RestReport;

    /// Rest shape and parameters of a pose.
    fn configuration<'p>(&self, pose: &'p Self::Pose) -> &'p Configuration;

    /// Rest shape and parameters at `share` of the segment between two poses.
    fn between(&self, ends: [&Self::Pose; 2], share: f64) -> Result<Configuration, SolveError>;

    /// A body at rest in `first`.
    fn body(
        &self,
        first: Configuration,
        frame: Rigid,
        velocities: Vec<DVec3>,
    ) -> Result<Self::Body, SolveError>;

    /// Forces at the nodes for a head at rest in this place, newtons; empty for none.
    fn resting_forces(&self, head: &Rigid) -> Vec<DVec3>;

    /// The inertia of flesh that moves rigidly with the head, `times` over, newtons; empty for none.
    fn apparent_forces(&self, moment: &Moment, pose: &Self::Pose, times: f64) -> Vec<DVec3>;

    /// The resting forces plus what the driver and the scene add to them, at `share` of the segment between
    /// two poses.
    fn forces(&self, moment: &Moment, ends: [&Self::Pose; 2], share: f64) -> Vec<DVec3>;

    /// The rig's vertices, and how far physics moved them.
    fn skin(&self, body: &Self::Body, pose: &Self::Pose) -> (Vec<[f32; 3]>, Moved);

    /// The rig vertex of a point of the body's contact surface.
    fn vertex_of_point(&self, point: u32) -> Option<u32>;
}

/// Frames whose poses are computed together, while those before them are stepped. Steps have hundreds of
/// small parallel loops and leave threads idle between them; posing fills the gaps, if the run is itself on a
/// thread of the pool.
const AHEAD: usize = 8;

/// In the first frame, the forces of a scene are ramped up in this many stages.
const STAGES: usize = 8;

/// The acceleration at the start is that over twice this time, seconds.
pub(crate) const ONSET: f64 = 1.0 / 60.0;

/// A step is halved at most this many times.
const HALVINGS: usize = 5;

/// Simulates `performance` with `driver` in steps of at most `dt_secs`, from `checkpoint` or from the first
/// frame, and passes every frame to `sink`. A resumed run gives the same frames.
pub fn run<D: Driver>(
    driver: &D,
    performance: &Performance,
    dt_secs: f64,
    checkpoint: Option<Checkpoint>,
    sink: &mut FrameSink,
    progress: &Progress,
) -> Result<(), PerformError> {
    let run = Run { driver, performance, dt_secs, progress };
    let n_frames = performance.clip.n_frames();
    let mut body: Option<D::Body> = None;
    let mut last = D::Pose::default();
    let mut next = 0;
    if let Some(checkpoint) = checkpoint {
        next = checkpoint.frame + 1;
        last = driver.poses(checkpoint.frame..next.min(n_frames))?.pop().unwrap_or_default();
        body = Some(run.restored(checkpoint)?);
    }
    let of = |first: usize| first..(first + AHEAD).min(n_frames);
    let mut start = Instant::now();
    let mut coming = (next < n_frames).then(|| driver.poses(of(next)));
    while let Some(poses) = coming.take() {
        let frames = of(next);
        let waited_secs = start.elapsed().as_secs_f64() / frames.len().max(1) as f64;
        let after = of(frames.end);
        let posed = Mutex::new(None);
        let flow = rayon::in_place_scope(|scope| {
            if !after.is_empty() {
                let pose =
                    || *posed.lock().unwrap_or_else(PoisonError::into_inner) = Some(driver.poses(after));
                scope.spawn(move |_| pose());
            }
            let played = run.play(&mut body, &mut last, frames.clone().zip(poses?), waited_secs, sink);
            start = Instant::now();
            played
        })?;
        if flow.is_break() {
            return Ok(());
        }
        next = frames.end;
        coming = posed.into_inner().unwrap_or_else(PoisonError::into_inner);
    }
    Ok(())
}

/// The skin in equilibrium in one frame, as if a run began there.
pub(crate) fn settled<D: Driver>(
    driver: &D,
    performance: &Performance,
    dt_secs: f64,
    frame: usize,
    progress: &Progress,
) -> Result<(Vec<[f32; 3]>, FrameReport), PerformError> {
    let pose = driver.lone_pose(frame)?;
    let rest = driver.rest_report(&pose);
    let mut report = FrameReport { smallest_det: f64::INFINITY, rest, ..FrameReport::default() };
    let run = Run { driver, performance, dt_secs, progress };
    let body = run.begin(frame, &pose, &mut report)?;
    let (vertices, moved) = driver.skin(&body, &pose);
    (report.mean_mm, report.max_mm, report.vertex) = (moved.mean_mm, moved.max_mm, moved.vertex);
    Ok((vertices, report))
}

/// The constants of a run.
struct Run<'a, D> {
    driver: &'a D,
    performance: &'a Performance<'a>,
    dt_secs: f64,
    progress: &'a Progress<'a>,
}

/// The time between two frames and the face at both.
struct Segment<'a, P> {
    from_secs: f64,
    span_secs: f64,
    ends: [&'a P; 2],
}

impl<D: Driver> Run<'_, D> {
    /// Advances the body through frames whose poses are given, and passes each to `sink`. `waited_secs` is
    /// what a frame's share of posing has cost so far.
    fn play(
        &self,
        body: &mut Option<D::Body>,
        last: &mut D::Pose,
        poses: impl Iterator<Item = (usize, D::Pose)>,
        waited_secs: f64,
        sink: &mut FrameSink,
    ) -> Result<ControlFlow<()>, PerformError> {
        let n_frames = self.performance.clip.n_frames();
        for (frame, pose) in poses {
            tick(self.progress, "frames", frame as f32 / n_frames as f32)?;
            let start = Instant::now();
            let rest = self.driver.rest_report(&pose);
            let mut report = FrameReport { smallest_det: f64::INFINITY, rest, ..FrameReport::default() };
            match body {
                None => *body = Some(self.begin(frame, &pose, &mut report)?),
                Some(body) => self.advance(body, frame, [last, &pose], &mut report)?,
            }
            let Some(body) = body else { continue };
            let (vertices, moved) = self.driver.skin(body, &pose);
            (report.mean_mm, report.max_mm, report.vertex) = (moved.mean_mm, moved.max_mm, moved.vertex);
            (report.elastic, report.posing_secs) = (body.elastic(), waited_secs);
            report.seconds = waited_secs + start.elapsed().as_secs_f64();
            if sink(&Frame { index: frame, vertices: &vertices, report: &report, body }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            *last = pose;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The body as it was after the frame of a checkpoint.
    fn restored(&self, Checkpoint { frame, state }: Checkpoint) -> Result<D::Body, PerformError> {
        // The preconditioners were made for an earlier configuration, which has no surface.
        let first = Configuration { surface: state.configuration.surface.clone(), ..state.factored.clone() };
        let velocities = state.velocities.clone();
        let body = self.driver.body(first, state.frame, velocities);
        let restored = body.and_then(|mut body| body.restore(state).map(|()| body));
        restored.map_err(|source| PerformError::Checkpoint { frame, source })
    }

    /// The body in equilibrium under gravity, the acceleration of the head and the other forces of a frame,
    /// moving with the head. So a take that begins in the middle of a motion begins without a jolt.
    fn begin(
        &self,
        frame: usize,
        first: &D::Pose,
        report: &mut FrameReport,
    ) -> Result<D::Body, PerformError> {
        let (driver, dt_secs) = (self.driver, self.dt_secs);
        let time_secs = self.performance.clip.times_secs[frame];
        let head = |after: f64| self.performance.head.at(time_secs + after);
        let [here, soon] = [head(0.0), head(dt_secs)];
        let acceleration = Acceleration::between([here, head(ONSET), head(2.0 * ONSET)], ONSET);
        // The velocity from which the first step sees this acceleration.
        let carried = |&p: &DVec3| match here == soon {
            true => DVec3::ZERO,
            false => (soon.apply(p) - here.apply(p)) / dt_secs - acceleration.at(p) * dt_secs,
        };
        let configuration = driver.configuration(first);
        let velocities = configuration.rest.iter().map(carried).collect();
        let failed = |source| step_error(frame, time_secs, source);
        let mut body = driver.body(configuration.clone(), here, velocities).map_err(failed)?;
        let moment = Moment { time_secs, heads: [here, soon], span_secs: dt_secs, head: here, acceleration };
        let (resting, mut whole) = (driver.resting_forces(&here), driver.forces(&moment, [first; 2], 1.0));
        add(&mut whole, driver.apparent_forces(&moment, first, 1.0));
        let obstacles = self.performance.scene.obstacles(&here, time_secs);
        // Ramp up what acts besides gravity; applied at once, flesh could jump through obstacles.
        let stages = if whole == resting { 1 } else { STAGES };
        let at_rest = |i: usize| resting.get(i).copied().unwrap_or(DVec3::ZERO);
        for stage in 1..=stages {
            let share = stage as f64 / stages as f64;
            let part = |(i, force): (usize, &DVec3)| at_rest(i).lerp(*force, share);
            let forces =
                if stage == stages { whole.clone() } else { whole.iter().enumerate().map(part).collect() };
            let around = Around { forces: &forces, obstacles: &obstacles };
            let settled = body.settle(&around, self.progress).map_err(failed)?;
            if stage == stages {
                self.note(&settled, report);
            }
        }
        Ok(body)
    }

    /// Advances the body from the frame before to `frame`.
    fn advance(
        &self,
        body: &mut D::Body,
        frame: usize,
        ends: [&D::Pose; 2],
        report: &mut FrameReport,
    ) -> Result<(), PerformError> {
        let times = &self.performance.clip.times_secs;
        let span_secs = times[frame] - times[frame - 1];
        let n = (span_secs / self.dt_secs - 1e-9).ceil().max(1.0) as usize;
        let segment = Segment { from_secs: times[frame - 1], span_secs, ends };
        for step in 0..n {
            let shares = [step, step + 1].map(|s| s as f64 / n as f64);
            self.step(body, &segment, shares, 0, report)
                .map_err(|source| step_error(frame, times[frame], source))?;
        }
        Ok(())
    }

    /// One step along a segment, or two half steps if it fails.
    fn step(
        &self,
        body: &mut D::Body,
        segment: &Segment<D::Pose>,
        shares: [f64; 2],
        depth: usize,
        report: &mut FrameReport,
    ) -> Result<(), SolveError> {
        let [from, to] = shares;
        let next = self.driver.between(segment.ends, to)?;
        let heads =
            shares.map(|share| self.performance.head.at(segment.from_secs + segment.span_secs * share));
        let (time_secs, span_secs) =
            (segment.from_secs + segment.span_secs * to, segment.span_secs * (to - from));
        let before = self.performance.head.at(time_secs - 2.0 * span_secs);
        let acceleration = Acceleration::between([before, heads[0], heads[1]], span_secs);
        let moment = Moment { time_secs, heads, span_secs, head: heads[1], acceleration };
        let forces = self.driver.forces(&moment, segment.ends, to);
        let obstacles = self.performance.scene.obstacles(&heads[1], time_secs);
        let around = Around { forces: &forces, obstacles: &obstacles };
        let begin = Instant::now();
        match body.step(&next, heads[1], span_secs, &around, self.progress) {
            Ok(step) => {
                self.note(&step, report);
                report.slowest_step_secs = report.slowest_step_secs.max(begin.elapsed().as_secs_f64());
            }
            Err(cancelled @ SolveError::Cancelled(_)) => return Err(cancelled),
            Err(cause) if depth == HALVINGS => return Err(cause),
            Err(_) => {
                report.halved += 1;
                let middle = 0.5 * (from + to);
                self.step(body, segment, [from, middle], depth + 1, report)?;
                self.step(body, segment, [middle, to], depth + 1, report)?;
            }
        }
        Ok(())
    }

    /// Adds the report of a step.
    fn note(&self, step: &StepReport, report: &mut FrameReport) {
        report.add(step);
        if 1000.0 * step.depth > report.depth_mm {
            report.depth_mm = 1000.0 * step.depth;
            report.deepest = self.driver.vertex_of_point(step.deepest);
        }
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
        (self.kinetic, self.contacts) = (step.kinetic, step.contacts);
        for (sum, time) in self.stage_secs.iter_mut().zip(step.times) {
            *sum += time.as_secs_f64();
        }
    }
}
