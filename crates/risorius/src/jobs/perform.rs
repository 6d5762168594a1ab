//! Simulates a clip on the flesh of a face and writes the frames.
//!
//! Input: a face, slider values over time, head motion, and a scene. Output: a take in the head frame or in
//! the world, optionally with learned wrinkles, and a report. Frames and resume states are kept beside the
//! output while the job runs, so that it can be resumed. The method is in [`risorius_perform`].

mod fit;
mod keep;
mod method;
mod preview;
mod report;
mod scene;

pub use fit::{FitReport, FitRow, MAX_SHAPES};
pub use keep::Resumed;
pub use method::{Method, MethodReport};
pub use preview::PreviewReport;
pub use report::{ContactReport, FrameReports, MovedMost, PerformReport, RestSummary};
pub use scene::{RegionFactor, SceneSource};

use super::batch::{BatchItem, is_folder, with_name};
use super::{peak_mb, plans, shown, write_report};
use crate::error::{Error, Result, in_file};
use crate::files::{FRAMES, TakeFiles, expect_ending, expect_native, expect_not_input, is_cache};
use crate::source::{BoundContent, ClipReading};
use crate::takes::{Frames, expect_room, head_of_span};
use fit::Fitted;
use keep::Keeper;
use risorius_base::Progress;
use risorius_base::progress::{Plan, Stage};
use risorius_detail::{AppliedDetail, Drive};
use risorius_io::native::{detail, face};
use risorius_perform::{
    ContactMode, EnrichOptions, Frame, HeadPath, Performance, Stepping, frame_keys, perform,
};
use risorius_rig::{BoundClip, HeadMotion, Rig, RigidTrack};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Simulates a clip.
///
/// ```no_run
/// use risorius::prelude::*;
///
/// let job = PerformJob {
///     face: "head.face".into(),
///     clip: "take.csv".into(),
///     reading: ClipReading { head: Some("motion.csv".into()), ..ClipReading::default() },
///     output: "take.glb".into(),
///     ..PerformJob::default()
/// };
/// let progress = |stage: &str, fraction: f32| {
///     eprintln!("{stage} {:.0} %", 100.0 * fraction);
///     std::ops::ControlFlow::Continue(())
/// };
/// let report = job.run(&progress)?;
/// let most = report.frames.iter().map(|frame| frame.max_mm).fold(0.0, f64::max);
/// println!("physics moved the skin by {most:.1} mm at most");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PerformJob {
    /// The face (`.face`).
    pub face: PathBuf,
    /// Slider values over time: Live Link Face CSV, CSV, JSON, or a glTF animation.
    pub clip: PathBuf,
    /// How the clip and head motion are read.
    pub reading: ClipReading,
    /// The simulation method. Default `enrich`.
    pub method: Method,
    /// How far flesh swings, as a preset of stiffness, gain and viscosity.
    pub look: Look,
    /// Factor on what the motion of the head does to the flesh, on top of the look, 0 or more. Default 1.
    pub gain: f64,
    /// Factor on the viscosity of the flesh, on top of the look, 0 or more. Default 1.
    pub viscosity: f64,
    /// Share of dynamic rebalancing, 0 to 1. At 1, shape changes alone excite no motion; at 0, they do, as in
    /// a conventional simulation. Default 1.
    pub rebalance: f64,
    /// Longest time step, seconds; by default that of the method, 1/200 for `enrich`, 1/60 for `volumetric`.
    pub dt: Option<f64>,
    /// The formula of the time steps. Default BDF2.
    pub stepping: Stepping,
    /// Fewest time steps per frame, instead of `dt`.
    pub substeps: Option<u32>,
    /// Decay rate of motion relative to the head, 1/s. Default 0.
    pub damping: f64,
    /// Factor on the stiffness that shapes add to the flesh; 0 keeps the stiffness constant. Default 1.
    pub tightening: f64,
    /// Of `volumetric`: share of the stiffness that draws flesh to the blend of shapes with its orientation,
    /// 0 to 1. Default 0.5.
    pub active: Option<f64>,
    /// Of `volumetric`: most iterations of a time step, 1 or more. Default 40.
    pub iterations: Option<usize>,
    /// Of `volumetric`: make every pose without forces the artist's, not only those of single shapes.
    pub exact: bool,
    /// Of `muscles`: share of the final snaps, 0 to 1. At 1, a slider that is on alone shows the artist's
    /// shape. Default 1.
    pub snap: Option<f64>,
    /// Of `muscles`: whether flesh has inertia. Without, it is at rest in every frame. Default true.
    pub inertia: bool,
    /// Everything that acts on the face besides the motion of the head.
    pub scene: SceneSource,
    /// How contacts of lips, lids, teeth and colliders are enforced.
    pub contact: ContactMode,
    /// How strongly lips that touch in the neutral resist being parted, Pa, as a film of saliva does. Default
    /// 0.
    pub adhesion: f64,
    /// Gravity, m/s^2. Only its change relative to the head acts. Default 9.81.
    pub gravity: f64,
    /// Standard deviation of the smoothing of the head motion, seconds; 0 for none. By default 0.6 frames,
    /// and at least 0.01 s ([`shutter`]).
    pub smooth_head: Option<f64>,
    /// Resume from the frames that an earlier run kept beside the output, up to the first frame with a
    /// changed input; and keep them again. The take is the same as without.
    pub resume: bool,
    /// A first look in seconds: coarse flesh that is sampled from that of the face, and long time steps.
    pub preview: bool,
    /// The frame in which written vertices are expressed.
    pub space: OutputSpace,
    /// Apply this learned detail (`.detail`) to the result; it must belong to this rig.
    pub detail: Option<PathBuf>,
    /// `.glb`, `.gltf`, `.mdd`, `.pc2` or `.npz`. Frames are kept beside it while the job runs.
    pub output: PathBuf,
    /// More files with the same take.
    pub also: Vec<PathBuf>,
    /// How files with frames are written.
    pub files: TakeFiles,
    /// Fit this many shapes to what physics adds, 1 to [`MAX_SHAPES`]: glTF outputs then hold the artist's
    /// shapes, these, and the animation of all of them, instead of a target for every frame.
    pub fit_shapes: Option<usize>,
    /// Draw the error over the number of fitted shapes to this `.png` file.
    pub fit_plot: Option<PathBuf>,
    /// Also write the report to this `.json` file.
    pub report: Option<PathBuf>,
}

impl Default for PerformJob {
    fn default() -> Self {
        let usual = EnrichOptions::default();
        Self {
            face: PathBuf::new(),
            clip: PathBuf::new(),
            reading: ClipReading::default(),
            method: Method::default(),
            look: Look::default(),
            gain: usual.gain,
            viscosity: usual.viscosity,
            rebalance: usual.rebalance,
            dt: None,
            stepping: usual.stepping,
            substeps: None,
            damping: usual.damping,
            tightening: usual.tightening,
            active: None,
            iterations: None,
            exact: false,
            snap: None,
            inertia: true,
            scene: SceneSource::default(),
            contact: usual.contact,
            adhesion: usual.adhesion,
            gravity: usual.gravity,
            smooth_head: None,
            resume: false,
            preview: false,
            space: OutputSpace::Head,
            detail: None,
            output: PathBuf::new(),
            also: Vec::new(),
            files: TakeFiles::default(),
            fit_shapes: None,
            fit_plot: None,
            report: None,
        }
    }
}

/// Smoothing of recorded head motion that removes the noise of markers, seconds.
const LEAST_SMOOTHING: f64 = 0.01;

/// Smoothing over the exposure of a frame, in frames.
const EXPOSURE: f64 = 0.6;

/// The default smoothing of head motion for these frame times, seconds: as a camera's shutter averages over
/// its exposure. Flesh answers nearly linearly, so smoothing what it feels is the same as smoothing its
/// motion, and lips still touch in every frame. Motion at half the frame rate is reduced to a sixth; it would
/// only strobe.
pub fn shutter(times_secs: &[f64]) -> f64 {
    let mut spans: Vec<f64> = times_secs.windows(2).map(|w| w[1] - w[0]).collect();
    spans.sort_by(f64::total_cmp);
    spans.get(spans.len() / 2).map_or(LEAST_SMOOTHING, |span| (EXPOSURE * span).max(LEAST_SMOOTHING))
}

/// How far flesh swings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// Just enough to take the stiffness off a close-up: firm flesh.
    Subtle,
    /// Flesh as measured on people.
    #[default]
    Natural,
    /// Heavy, loose flesh: a running, full-faced person in slow motion.
    Strong,
    /// Squash and stretch beyond what flesh does.
    Cartoon,
}

impl Look {
    /// Factors on stiffness, gain and viscosity.
    pub const fn factors(self) -> [f64; 3] {
        match self {
            Self::Subtle => [2.0, 1.0, 1.0],
            Self::Natural => [1.0, 1.0, 1.0],
            Self::Strong => [0.8, 1.7, 0.8],
            Self::Cartoon => [0.5, 2.2, 0.6],
        }
    }
}

/// The frame in which written vertices are expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputSpace {
    /// The head frame; a GLB also holds the motion of the head.
    #[default]
    Head,
    /// The world, in which vertices move with the head.
    World,
}

/// In the name of a file: the name of the clip without folder and ending.
pub const CLIP_MARK: &str = "{clip}";

impl PerformJob {
    /// This job for each of several clips. In the names of outputs, reports, head motions and scenes,
    /// [`CLIP_MARK`] becomes the clip's name. An output that is a folder gets a `.glb` for each clip.
    pub fn for_clips(&self, clips: &[PathBuf]) -> Vec<Self> {
        let several = clips.len() > 1;
        let pattern = |output: &PathBuf| match is_folder(output, several) {
            true => output.join(format!("{CLIP_MARK}.glb")),
            false => output.clone(),
        };
        let one = |clip: &PathBuf| {
            let named = |path: &PathBuf| with_name(path, CLIP_MARK, clip);
            let head = self.reading.head.as_ref().map(named);
            Self {
                clip: clip.clone(),
                reading: ClipReading { head, ..self.reading.clone() },
                scene: SceneSource { scene: self.scene.scene.as_ref().map(named), ..self.scene.clone() },
                output: named(&pattern(&self.output)),
                also: self.also.iter().map(|output| named(&pattern(output))).collect(),
                fit_plot: self.fit_plot.as_ref().map(named),
                report: self.report.as_ref().map(named),
                ..self.clone()
            }
        };
        clips.iter().map(one).collect()
    }

    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<PerformReport> {
        let stages: &[Stage] = if self.preview { &plans::PREVIEW } else { &plans::PERFORM };
        let plan = Plan::new(progress, stages);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        let (output, outputs) = (&self.output, self.outputs());
        self.check(&outputs)?;
        let (mut face, mut fingerprint) =
            face::open_with_fingerprint(&self.face).map_err(in_file(&self.face))?;
        let mut preview = None;
        if self.preview {
            preview = Some(preview::coarsen(&mut face, &mut fingerprint, progress)?);
        }
        let content = self.reading.open_for(&self.clip, &face.rig, progress)?;
        content.check_head()?;
        let BoundContent { clip, mapping, moving, mut notes, .. } = content;
        let mut applied = self.open_detail(&face.rig, progress)?;
        let written = applied.as_ref().map_or(&face.rig, |applied| &applied.content.rest.fine);
        expect_room(written, &clip.times_secs, &outputs, &self.files)?;
        let n_vertices = written.n_file_vertices();
        let (scene, factors) = self.scene.resolve(&face, &mut notes, progress)?;
        self.check_scene(&scene)?;
        let smoothing = self.smooth_head.unwrap_or_else(|| shutter(&clip.times_secs));
        let head = clip.head.as_ref().map(|h| HeadPath::prepare(h, smoothing)).unwrap_or_default();
        let performance = Performance { clip: &clip, head, scene };
        let options = self.method_options(&clip.times_secs, factors);
        let keys = frame_keys(fingerprint, &performance, &options);
        let mut keeper = Keeper::open(output, &self.kept_beside(), keys, face.rig.n_vertices())?;
        let (checkpoint, resumed) = if self.resume { keeper.resume() } else { (None, None) };
        let mut ended = Ok(());
        if keeper.reports().len() < clip.n_frames() {
            let mut sink = |frame: &Frame| keeper.frame(frame);
            ended = perform(&face, &performance, &options, checkpoint, &mut sink, progress);
        }
        preview.iter_mut().for_each(|preview| preview.dt_secs = options.dt_secs());
        let (mut files, mut fit) = (Vec::new(), None);
        let frames = keeper.finish(ended, self.resume, &mut notes, |done| {
            let rigs = (&face.rig, applied.as_mut());
            (files, fit) = self.write(rigs, &clip, &moving, done, &outputs)?;
            Ok(())
        })?;
        notes.extend(self.space_note(clip.head.is_some()).map(String::from));
        let rig = applied.as_ref().map_or(&face.rig, |applied| &applied.content.rest.fine);
        notes.extend(self.frames(rig, &clip.times_secs, None, &moving).notes(&outputs, &self.files));
        let rest = RestSummary::of(&frames);
        notes.extend(rest.note(&face.rig, &clip));
        let report = PerformReport {
            output: shown(output),
            files,
            method: MethodReport::of(self.method, &frames),
            times_secs: clip.times_secs,
            moved_most: MovedMost::of(&face.rig, &frames),
            contact: ContactReport::of(&face.rig, &frames),
            rest,
            frames: FrameReports::new(&face.rig, frames),
            vertices: n_vertices,
            mapping,
            notes,
            seconds: start.elapsed().as_secs_f64(),
            peak_mb: peak_mb(),
            preview,
            resumed,
            fit,
        };
        if let Some(path) = &self.report {
            write_report(&report, path)?;
        }
        Ok(report)
    }

    /// The file beside which frames are kept. A preview keeps its own, so that it never replaces those of a
    /// final run.
    fn kept_beside(&self) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        if self.preview {
            name.push(".preview");
        }
        name.into()
    }

    fn outputs(&self) -> Vec<&Path> {
        std::iter::once(&self.output).chain(&self.also).map(|output| output.as_path()).collect()
    }

    /// Checks the request before anything is read.
    fn check(&self, outputs: &[&Path]) -> Result<()> {
        for output in outputs {
            expect_ending(output, &FRAMES, "a take")?;
            expect_not_input(output, [self.face.as_path(), &self.clip])?;
        }
        self.report.as_deref().map(|r| expect_ending(r, &["json"], "a report")).transpose()?;
        self.fit_plot.as_deref().map(|p| expect_ending(p, &["png"], "a figure")).transpose()?;
        if let Some(n) = self.fit_shapes {
            let has_gltf = outputs.iter().any(|output| !is_cache(output));
            fit::check(n, has_gltf, self.detail.is_some(), self.space == OutputSpace::World)?;
        } else if self.fit_plot.is_some() {
            let problem = "a figure of fitted shapes needs a number of shapes to fit";
            return Err(Error::request(problem).with_options(&["fit_shapes"]));
        }
        self.check_method()?;
        self.method_options(&[], [1.0; 2]).check()?;
        expect_native(&self.face, "face")
    }

    fn open_detail(&self, rig: &Rig, progress: &Progress) -> Result<Option<AppliedDetail>> {
        let Some(path) = &self.detail else { return Ok(None) };
        expect_native(path, "detail")?;
        let content = detail::open(path).map_err(in_file(path))?;
        let applied = AppliedDetail::prepare(content, None, Drive::Mesh, progress)?;
        applied.content.rest.check_fits(rig).map_err(|e| Error::from(e).in_file(&self.face))?;
        Ok(Some(applied))
    }

    fn frames<'a>(
        &self,
        rig: &'a Rig,
        times_secs: &'a [f64],
        head: Option<&'a HeadMotion>,
        moving: &'a [(usize, RigidTrack)],
    ) -> Frames<'a> {
        let in_world = self.space == OutputSpace::World;
        Frames { rig, times_secs, head, moving, in_world, is_preview: self.preview }
    }

    /// Writes the finished frames with detail, or with fitted shapes. Returns the files.
    fn write(
        &self,
        (rig, mut applied): (&Rig, Option<&mut AppliedDetail>),
        clip: &BoundClip,
        moving: &[(usize, RigidTrack)],
        keeper: &Keeper,
        outputs: &[&Path],
    ) -> Result<(Vec<String>, Option<FitReport>)> {
        let times_secs = &clip.times_secs[..keeper.reports().len()];
        let head = head_of_span(&self.reading.span, times_secs, clip.head.as_ref());
        let fine = applied.as_ref().map(|applied| applied.content.rest.fine.clone());
        let frames = self.frames(fine.as_ref().unwrap_or(rig), times_secs, head.as_ref(), moving);
        let (fitted, plain): (Vec<&Path>, Vec<&Path>) =
            outputs.iter().copied().partition(|output| self.fit_shapes.is_some() && !is_cache(output));
        let mut files = Vec::new();
        if !plain.is_empty() {
            files = frames.write(&plain, &self.files, |frame| {
                let coarse = keeper.vertices(frame)?;
                match &mut applied {
                    Some(applied) => Ok(applied.on_coarse(&coarse)?),
                    None => Ok(coarse.to_vec()),
                }
            })?;
        }
        let Some(n) = self.fit_shapes else { return Ok((files, None)) };
        let fit = Fitted::new(n, rig, clip, times_secs.len(), |frame| Ok(keeper.vertices(frame)?.to_vec()))?;
        for output in fitted {
            fit.write(&frames, clip, self.files.normals, output)?;
            files.push(shown(output));
        }
        let report = fit.report(rig);
        if let Some(plot) = &self.fit_plot {
            fit::write_plot(&report, plot)?;
            files.push(shown(plot));
        }
        Ok((files, Some(report)))
    }

    fn space_note(&self, has_head: bool) -> Option<&'static str> {
        match (has_head, self.space) {
            (true, OutputSpace::Head) if self.outputs().iter().any(|output| is_cache(output)) => {
                Some("frames are in the head frame; write .glb to keep head motion, or set `space` to world")
            }
            (false, OutputSpace::World) => {
                Some("there is no head motion, so the world frame is the same as the head frame")
            }
            _ => None,
        }
    }
}

impl BatchItem for PerformJob {
    const MARK: &'static str = CLIP_MARK;
    type Report = PerformReport;

    fn input(&self) -> &Path {
        &self.clip
    }

    fn inputs(&self) -> Vec<&Path> {
        let more = [&self.reading.head, &self.scene.scene, &self.detail];
        let more = more.into_iter().flatten();
        [&self.face, &self.clip].into_iter().chain(more).map(PathBuf::as_path).collect()
    }

    fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let outputs = PerformJob::outputs(self).into_iter().map(|path| ("output", path));
        let plot = self.fit_plot.iter().map(|path| ("fit_plot", path.as_path()));
        let report = self.report.iter().map(|path| ("report", path.as_path()));
        outputs.chain(plot).chain(report).collect()
    }

    fn check(&self) -> Result<()> {
        PerformJob::check(self, &PerformJob::outputs(self))
    }

    fn run(&self, progress: &Progress) -> Result<PerformReport> {
        PerformJob::run(self, progress)
    }
}

/// The folder in which a run keeps its frames.
pub fn partial_folder(output: &Path) -> PathBuf {
    risorius_io::native::take_folder::TakeFolder::beside(output)
}
