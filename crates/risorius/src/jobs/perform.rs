//! Simulates a clip on the flesh of a face and writes the frames.
//!
//! Input: a face, slider values over time, head motion, and a scene. Output: a take in the head frame or in
//! the world, optionally with learned wrinkles, and a report. Frames and resume states are kept beside the
//! output while the job runs, so that it can be resumed. The method is in [`risorius_perform`].

mod keep;
mod scene;

pub use keep::Resumed;
pub use scene::{RegionFactor, SceneSource};

use super::shown;
use crate::error::{Error, Result, in_file};
use crate::files::{FRAMES, expect_ending, expect_native, is_cache};
use crate::source::{BoundContent, ClipReading, Mapping};
use crate::takes::{expect_room, write_vertices};
use glam::{DMat3, Vec3};
use keep::Keeper;
use risorius_base::Progress;
use risorius_detail::{AppliedDetail, Drive};
use risorius_io::native::{detail, face};
use risorius_io::output::write_whole;
use risorius_perform::{
    ContactMode, EnrichOptions, Frame, FrameReport, HeadPath, Performance, enrich, frame_keys,
};
use risorius_rig::{HeadMotion, Rig};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Largest plausible head acceleration, in multiples of gravity, exceeded during a tenth of the time. Running
/// gives 1.5; centimeters read as meters give 13.
const MAX_USUAL_G: f64 = 6.0;

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
    /// How far flesh swings, as a preset of stiffness, gain and viscosity.
    pub look: Look,
    /// Factor on what the motion of the head does to the flesh, on top of the look, 0 or more. Default 1.
    pub gain: f64,
    /// Factor on the viscosity of the flesh, on top of the look, 0 or more. Default 1.
    pub viscosity: f64,
    /// Share of dynamic rebalancing, 0 to 1. At 1, shape changes alone excite no motion; at 0, they do, as in
    /// a conventional simulation. Default 1.
    pub rebalance: f64,
    /// Longest time step, seconds. Default 1/300.
    pub dt: f64,
    /// Fewest time steps per frame, instead of `dt`.
    pub substeps: Option<u32>,
    /// Decay rate of motion relative to the head, 1/s. Default 0.
    pub damping: f64,
    /// Factor on the stiffness that shapes add to the flesh; 0 keeps the stiffness constant. Default 1.
    pub tightening: f64,
    /// Everything that acts on the face besides the motion of the head.
    pub scene: SceneSource,
    /// How contacts of lips, lids, teeth and colliders are enforced.
    pub contact: ContactMode,
    /// How strongly lips that touch in the neutral resist being parted, Pa, as a film of saliva does. Default
    /// 0.
    pub adhesion: f64,
    /// Gravity, m/s^2. Only its change relative to the head acts. Default 9.81.
    pub gravity: f64,
    /// Standard deviation of the smoothing of the head motion, seconds; 0 for none. Default 0.01.
    pub smooth_head: f64,
    /// Resume from the frames that an earlier run kept beside the output, up to the first frame with a
    /// changed input; and keep them again. The take is the same as without.
    pub resume: bool,
    /// The frame in which written vertices are expressed.
    pub space: OutputSpace,
    /// Apply this learned detail (`.detail`) to the result; it must belong to this rig.
    pub detail: Option<PathBuf>,
    /// `.glb`, `.gltf`, `.mdd`, `.pc2` or `.npz`.
    pub output: PathBuf,
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
            look: Look::default(),
            gain: usual.gain,
            viscosity: usual.viscosity,
            rebalance: usual.rebalance,
            dt: usual.dt_secs,
            substeps: None,
            damping: usual.damping,
            tightening: usual.tightening,
            scene: SceneSource::default(),
            contact: usual.contact,
            adhesion: usual.adhesion,
            gravity: usual.gravity,
            smooth_head: 0.01,
            resume: false,
            space: OutputSpace::Head,
            detail: None,
            output: PathBuf::new(),
            report: None,
        }
    }
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

/// The report of a performance.
#[derive(Debug, Clone, Serialize)]
pub struct PerformReport {
    /// The written file.
    pub output: String,
    /// Time of each frame.
    pub times_secs: Vec<f64>,
    /// Report of each frame.
    pub frames: Vec<FrameReport>,
    /// Number of written vertices.
    pub vertices: usize,
    /// Which columns drive which sliders.
    pub mapping: Mapping,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
    /// Where a resumed run started.
    pub resumed: Option<Resumed>,
    /// Contacts over all frames.
    pub contact: ContactReport,
}

/// Contacts over all frames.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ContactReport {
    /// Largest number of pressing contacts at the end of a step.
    pub most: usize,
    /// Largest penetration depth of a vertex beyond the artist's overlap, mm.
    pub deepest_mm: f64,
    /// The frame of the largest depth.
    pub frame: Option<usize>,
    /// The rig vertex of the largest depth.
    pub vertex: Option<u32>,
}

impl ContactReport {
    fn of(frames: &[FrameReport]) -> Self {
        let mut all = Self::default();
        for (i, frame) in frames.iter().enumerate() {
            all.most = all.most.max(frame.contacts);
            if frame.depth_mm > all.deepest_mm {
                (all.deepest_mm, all.frame, all.vertex) = (frame.depth_mm, Some(i), frame.deepest);
            }
        }
        all
    }
}

impl PerformJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<PerformReport> {
        let start = Instant::now();
        let output = &self.output;
        expect_ending(output, &FRAMES, "a take")?;
        self.report.as_deref().map(|r| expect_ending(r, &["json"], "a report")).transpose()?;
        self.options(&[], [1.0; 2]).check()?;
        expect_native(&self.face, "face")?;
        let (face, fingerprint) = face::open_with_fingerprint(&self.face).map_err(in_file(&self.face))?;
        let BoundContent { clip, mapping, mut notes, .. } =
            self.reading.open_for(&self.clip, &face.rig, progress)?;
        let mut applied = self.open_detail(&face.rig, progress)?;
        let written = applied.as_ref().map_or(&face.rig, |applied| &applied.content.rest.fine);
        expect_room(written, &clip.times_secs, output)?;
        let n_vertices = written.n_vertices();
        if let (Some(head), None) = (&clip.head, self.reading.head_unit) {
            check_head_acceleration(head)?;
        }
        let (scene, factors) = self.scene.resolve(&face, &mut notes, progress)?;
        let head = clip.head.as_ref().map(|h| HeadPath::prepare(h, self.smooth_head)).unwrap_or_default();
        let performance = Performance { clip: &clip, head, scene };
        let options = self.options(&clip.times_secs, factors);
        let keys = frame_keys(fingerprint, &performance, &options);
        let mut keeper = Keeper::open(output, keys, face.rig.n_vertices())?;
        let (checkpoint, resumed) = if self.resume { keeper.resume() } else { (None, None) };
        let mut ended = Ok(());
        if keeper.reports().len() < clip.n_frames() {
            let mut sink = |frame: &Frame| keeper.frame(frame);
            ended = enrich(&face, &performance, &options, checkpoint, &mut sink, progress);
        }
        let frames = keeper.finish(ended, self.resume, &mut notes, |done| {
            let times_secs = &clip.times_secs[..done.reports().len()];
            self.write((&face.rig, applied.as_mut()), times_secs, done, clip.head.as_ref())
        })?;
        notes.extend(self.space_note(clip.head.is_some()).map(String::from));
        let report = PerformReport {
            output: shown(output),
            times_secs: clip.times_secs,
            contact: ContactReport::of(&frames),
            frames,
            vertices: n_vertices,
            mapping,
            notes,
            seconds: start.elapsed().as_secs_f64(),
            resumed,
        };
        if let Some(path) = &self.report {
            let json = serde_json::to_value(&report).unwrap_or_default();
            write_whole(path, format!("{json}\n").as_bytes())?;
        }
        Ok(report)
    }

    fn open_detail(&self, rig: &Rig, progress: &Progress) -> Result<Option<AppliedDetail>> {
        let Some(path) = &self.detail else { return Ok(None) };
        expect_native(path, "detail")?;
        let content = detail::open(path).map_err(in_file(path))?;
        let applied = AppliedDetail::prepare(content, None, Drive::Mesh, progress)?;
        applied.content.rest.check_fits(rig).map_err(|e| Error::from(e).in_file(&self.face))?;
        Ok(Some(applied))
    }

    /// The options of the simulation, with factors on the stiffness and mass of all flesh.
    fn options(&self, times_secs: &[f64], [stiffness, mass]: [f64; 2]) -> EnrichOptions {
        let shortest = times_secs.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
        let dt_secs = match self.substeps {
            Some(n) if shortest.is_finite() => shortest / f64::from(n),
            _ => self.dt,
        };
        let usual = EnrichOptions::default();
        let [softness, gain, viscosity] = self.look.factors();
        EnrichOptions {
            dt_secs,
            rebalance: self.rebalance,
            damping: self.damping,
            tightening: self.tightening,
            stiffness: stiffness * softness,
            viscosity: self.viscosity * viscosity,
            gain: self.gain * gain,
            mass,
            gravity: self.gravity,
            contact: self.contact,
            adhesion: self.adhesion,
            ..usual
        }
    }

    /// Writes the finished frames, which are those at `times_secs`, with detail.
    fn write(
        &self,
        (rig, mut applied): (&Rig, Option<&mut AppliedDetail>),
        times_secs: &[f64],
        keeper: &Keeper,
        head: Option<&HeadMotion>,
    ) -> Result<()> {
        let (shown, carries) = match self.space {
            OutputSpace::Head => (head, None),
            OutputSpace::World => (None, head),
        };
        let written =
            applied.as_ref().map_or_else(|| rig.clone(), |applied| applied.content.rest.fine.clone());
        let vertices = |frame: usize| -> Result<Vec<[f32; 3]>> {
            let coarse = keeper.vertices(frame)?;
            let vertices = match &mut applied {
                Some(applied) => applied.on_coarse(&coarse)?,
                None => coarse.to_vec(),
            };
            Ok(carries.map(|head| moved(rig, &vertices, head, times_secs[frame])).unwrap_or(vertices))
        };
        write_vertices(&written, times_secs, shown, &self.output, vertices)
    }

    fn space_note(&self, has_head: bool) -> Option<&'static str> {
        match (has_head, self.space) {
            (true, OutputSpace::Head) if is_cache(&self.output) => {
                Some("frames are in the head frame; write .glb to keep head motion, or set `space` to world")
            }
            (false, OutputSpace::World) => {
                Some("there is no head motion, so the world frame is the same as the head frame")
            }
            _ => None,
        }
    }
}

/// Fails on implausible head acceleration. Positions in centimeters that are read as meters would make every
/// step take minutes.
fn check_head_acceleration(head: &HeadMotion) -> Result<()> {
    let g = head.usual_acceleration() / 9.81;
    if g <= MAX_USUAL_G {
        return Ok(());
    }
    let problem = format!("implausible head acceleration: {g:.0} g or more during a tenth of the time");
    let advice = "if its positions are in centimeters, set their unit to cm; if it is correct, set it to m";
    Err(Error::failed(format!("{problem}; {advice}")).with_options(&["head_unit"]))
}

/// Vertices of the rig moved by the head, in file units, as a GLB with head motion shows them.
fn moved(rig: &Rig, vertices: &[[f32; 3]], head: &HeadMotion, time_secs: f64) -> Vec<[f32; 3]> {
    let (si_from_file, file_from_si) = (rig.space.si_from_file(), rig.space.file_from_si());
    let head = head.at(time_secs);
    let turn = file_from_si * DMat3::from_quat(head.rotation) * si_from_file;
    let position = file_from_si * head.translation;
    let one = |&p: &[f32; 3]| (turn * Vec3::from(p).as_dvec3() + position).as_vec3().to_array();
    vertices.iter().map(one).collect()
}

/// The folder in which a run keeps its frames.
pub fn partial_folder(output: &Path) -> PathBuf {
    risorius_io::native::take_folder::TakeFolder::beside(output)
}
