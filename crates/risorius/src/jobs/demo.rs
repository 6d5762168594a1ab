//! A tour on the built-in head: a clip and head motion made in code are simulated and shown beside the input,
//! with wrinkles on top; pictures of poses, pins, bones and flesh; and scans of another person become a rig.

mod brow;
mod scans;
mod wrinkles;

use super::build::{build_resumable, draw_face, write_face};
use super::detail::apply::{Animation, ApplyJob};
use super::perform::{PerformJob, PerformReport};
use super::render::{RenderJob, View};
use super::{plans, sample, shown};
use crate::error::Result;
use crate::files::expect_folder;
use crate::pictures::interference_matrix;
use crate::source::ClipReading;
use brow::brow_story;
use risorius_attenuate::RigGram;
use risorius_attenuate::interference::Interference;
use risorius_base::progress::{Plan, Progress, tick};
use risorius_flesh::{BuildOptions, BuildReport};
use risorius_head::{Head, Identity};
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::formats::{clip_csv, head_csv};
use risorius_io::output::write_whole;
use risorius_io::specs::sidecar;
use risorius_rig::{Clip, Evaluator, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, draw, sheet};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Number of sliders in the interference matrix.
const MATRIX_SLIDERS: usize = 30;

/// Poses of the sheet: name, sliders and their values.
const POSES: [(&str, &[(&str, f32)]); 8] = [
    ("neutral", &[]),
    ("jaw open", &[("jawOpen", 0.8)]),
    (
        "smile",
        &[
            ("mouthSmileLeft", 1.0),
            ("mouthSmileRight", 1.0),
            ("cheekSquintLeft", 0.6),
            ("cheekSquintRight", 0.6),
        ],
    ),
    ("blink", &[("eyeBlinkLeft", 1.0), ("eyeBlinkRight", 1.0)]),
    ("pucker", &[("mouthPucker", 1.0)]),
    (
        "frown",
        &[("mouthFrownLeft", 1.0), ("mouthFrownRight", 1.0), ("browDownLeft", 1.0), ("browDownRight", 1.0)],
    ),
    ("surprise", &[("browInnerUp", 1.0), ("eyeWideLeft", 1.0), ("eyeWideRight", 1.0), ("jawOpen", 0.4)]),
    ("puffed cheeks", &[("cheekPuff", 1.0)]),
];

/// The input beside the result: a movie, or a sheet of frames in builds that encode no movies.
const SIDE_BY_SIDE: &str = if cfg!(feature = "movie") { "side_by_side.mp4" } else { "side_by_side.png" };

/// Runs the demo.
#[derive(Debug, Clone)]
pub struct DemoJob {
    /// Folder for the pictures and files.
    pub out: PathBuf,
    /// Number of flesh nodes, 500 to 200000. Default 1200, which is coarse: the demo should not take long.
    pub nodes: usize,
    /// How much of the clip is simulated, seconds, above 0. Default 4, which is all.
    pub seconds: f64,
}

impl Default for DemoJob {
    fn default() -> Self {
        Self { out: "demo-out".into(), nodes: 1200, seconds: 4.0 }
    }
}

/// The report of the demo.
#[derive(Debug, Clone, Serialize)]
pub struct DemoReport {
    /// All written files.
    pub files: Vec<String>,
    /// Alpha of the attenuation.
    pub alpha: f64,
    /// Motion of the pinned brow without attenuation, mm.
    pub pinned_before_mm: f64,
    /// Motion of the pinned brow with attenuation, mm.
    pub pinned_after_mm: f64,
    /// Size of the face file in bytes.
    pub bytes: u64,
    /// Measurements of the build.
    pub report: BuildReport,
    /// The movie of the input beside the result.
    pub movie: String,
    /// Number of simulated frames.
    pub frames: usize,
    /// Largest and mean displacement of the skin by physics, in mm, in the frame with the largest mean.
    pub moved_mm: [f64; 2],
    /// Mean distance of the scans from the surfaces laid onto them, mm, of the worse scan.
    pub fit_mm: f64,
    /// The build, as `build` reports it.
    #[serde(skip)]
    pub build: super::build::BuildJobReport,
    /// Number of vertices of the head.
    #[serde(skip)]
    pub n_vertices: usize,
    /// Number of sliders of the head.
    #[serde(skip)]
    pub n_sliders: usize,
    /// Number of muscles of the head.
    #[serde(skip)]
    pub n_muscles: usize,
}

impl DemoJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<DemoReport> {
        let plan = Plan::new(progress, &plans::DEMO);
        let whole: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let out = &self.out;
        expect_folder(out)?;
        tick(whole, "built-in head", 0.0)?;
        let head = risorius_head::build(&Identity::default());
        let rig = &head.rig;
        let story = brow_story(&head, &RigGram::prepare(rig, whole)?)?;
        let interference = Interference::measure(rig, whole)?;
        tick(whole, "drawing", 0.0)?;
        let mut outputs = vec![
            (out.join("poses.png"), pose_sheet(rig)?.encode_png()),
            (out.join("attenuation.png"), story.picture(rig)?.encode_png()),
            (
                out.join("interference.png"),
                interference_matrix(rig, &interference, MATRIX_SLIDERS)?.encode_png(),
            ),
            (out.join("head.glb"), write_glb(rig, &GlbOptions::default())?),
            (out.join("talk.csv"), clip_csv::write_csv(&self.clip())),
            (out.join("lively.csv"), head_csv::write(&sample::lively())),
        ];
        // A GLB cannot hold regions.
        outputs.extend(sidecar::write(rig, false).map(|bytes| (out.join("head.rig.json"), bytes)));
        let mut options = BuildOptions::default();
        options.volume.nodes = self.nodes;
        let face = out.join("head.face");
        let building: &Progress = &|_, fraction| plan.report("building", fraction);
        let stages = Plan::new(building, &plans::BUILD);
        let built =
            build_resumable(rig, &head, &options, &face, &|stage, fraction| stages.report(stage, fraction))?;
        outputs.extend(draw_face(&built, out, &|_, part| plan.report("picturing", part))?);
        let bytes = write_face(&built, &face)?;
        for (path, bytes) in &outputs {
            write_whole(path, bytes)?;
        }
        let performed = self.perform(&face, &|_, fraction| plan.report("performing", fraction))?;
        let sculpts = self.wrinkle(&head, &|_, fraction| plan.report("wrinkling", fraction))?;
        self.film(&|_, fraction| plan.report("filming", fraction))?;
        let (scans, fitted) = scans::fit(out, &|_, fraction| plan.report("fitting", fraction))?;
        let mut files: Vec<String> = outputs.iter().map(|(path, _)| shown(path)).collect();
        let more = ["head.face", "take.glb", "head.detail", "wrinkled.glb", SIDE_BY_SIDE, "wrinkles.png"];
        files.extend(more.map(|name| shown(&out.join(name))));
        files.extend(sculpts.iter().chain(&scans).map(|path| shown(path)));
        Ok(DemoReport {
            files,
            alpha: story.result.alpha,
            pinned_before_mm: rig.space.millimeters(story.result.pinned_before.max),
            pinned_after_mm: rig.space.millimeters(story.result.pinned_after.max),
            bytes,
            report: built.report.clone(),
            movie: shown(&out.join(SIDE_BY_SIDE)),
            frames: performed.frames.len(),
            moved_mm: largest_motion(&performed),
            fit_mm: fitted.scans.iter().map(|s| s.distance.mean_mm).fold(0.0, f64::max),
            build: super::build::BuildJobReport::new(&built, &face, bytes, Vec::new()),
            n_vertices: rig.n_vertices(),
            n_sliders: rig.sliders.len(),
            n_muscles: head.muscles.len(),
        })
    }

    /// The sample clip, as far as it is simulated.
    fn clip(&self) -> Clip {
        let mut clip = sample::talk();
        let n_frames = clip.times_secs.partition_point(|&t| t <= self.seconds + 1e-6).max(1);
        clip.times_secs.truncate(n_frames);
        clip.values.truncate(n_frames * clip.names.len());
        clip
    }

    /// Simulates the clip under the head motion.
    fn perform(&self, face: &Path, progress: &Progress) -> Result<PerformReport> {
        let job = PerformJob {
            face: face.to_path_buf(),
            clip: self.out.join("talk.csv"),
            reading: self.reading(),
            output: self.out.join("take.glb"),
            ..PerformJob::default()
        };
        job.run(progress)
    }

    /// Makes wrinkles for the head, and puts them on the take; returns the files that they were learned from.
    fn wrinkle(&self, head: &Head, progress: &Progress) -> Result<Vec<PathBuf>> {
        let detail = self.out.join("head.detail");
        let sculpts = wrinkles::make(head, &detail, &|_, fraction| progress("", 0.5 * fraction))?;
        let job = ApplyJob {
            detail,
            animation: Animation::Take(self.out.join("take.glb")),
            output: Some(self.out.join("wrinkled.glb")),
            ..ApplyJob::default()
        };
        job.run(&|_, fraction| progress("", 0.5 + 0.5 * fraction))?;
        Ok(sculpts)
    }

    /// A movie of the input beside the take, and a sheet of the take beside the wrinkled one.
    fn film(&self, progress: &Progress) -> Result<()> {
        let movie = RenderJob {
            rig: self.out.join("head.face").into(),
            clip: Some(self.out.join("talk.csv")),
            reading: self.reading(),
            takes: vec![self.out.join("take.glb")],
            labels: Some(["input", "ours"].map(String::from).to_vec()),
            with_head: true,
            views: Vec::from_iter(View::named("three-quarter")),
            size: Some([480, 480]),
            output: self.out.join(SIDE_BY_SIDE),
            ..RenderJob::default()
        };
        movie.run(&|_, fraction| progress("", 0.9 * fraction))?;
        let wrinkled = self.out.join("wrinkled.glb");
        let sheet = RenderJob {
            rig: self.out.join("head.face").into(),
            takes: vec![self.out.join("take.glb"), wrinkled],
            labels: Some(["ours", "with wrinkles"].map(String::from).to_vec()),
            frames: Some(self.shown_frames()),
            // Close enough for wrinkles to be seen.
            frame: Some("shape:browInnerUp".into()),
            views: Vec::from_iter(View::named("three-quarter")),
            output: self.out.join("wrinkles.png"),
            ..RenderJob::default()
        };
        sheet.run(&|_, fraction| progress("", 0.9 + 0.1 * fraction))?;
        Ok(())
    }

    /// Frames of the sheet: the rest, raised brows, a sound, and the smile, as far as they are simulated.
    fn shown_frames(&self) -> Vec<usize> {
        let last = self.clip().times_secs.len() - 1;
        let mut frames = [0, 28, 66, 98].map(|f| f.min(last)).to_vec();
        frames.dedup();
        frames
    }

    /// How the clip of the demo is read: with the head motion of the demo.
    fn reading(&self) -> ClipReading {
        ClipReading { head: Some(self.out.join("lively.csv")), ..ClipReading::default() }
    }
}

/// Largest and mean displacement of the skin, in mm, in the frame with the largest mean.
fn largest_motion(report: &PerformReport) -> [f64; 2] {
    let frames = report.frames.iter().map(|f| [f.max_mm, f.mean_mm]);
    frames.fold([0.0; 2], |a, b| if b[1] > a[1] { b } else { a })
}

/// Slider values by name; names that the rig does not have are ignored.
fn values(rig: &Rig, pairs: &[(&str, f32)]) -> Vec<f32> {
    let mut w = vec![0.0; rig.sliders.len()];
    for (name, value) in pairs {
        if let Some(s) = rig.slider_index(name) {
            w[s] = *value;
        }
    }
    w
}

fn pose_sheet(rig: &Rig) -> Result<Canvas> {
    let look = FaceLook::prepare(rig);
    let evaluator = Evaluator::prepare(rig);
    let options = DrawOptions { width: 420, height: 480, yaw_degrees: 20.0, ..DrawOptions::default() };
    let mut cells = Vec::new();
    for (name, pairs) in POSES {
        cells.push((draw(&look, &evaluator.positions(&values(rig, pairs)), &options)?, name.to_string()));
    }
    Ok(sheet(&cells, 4, "Poses of the built-in head")?)
}
