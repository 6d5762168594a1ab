//! A tour on the built-in head: writes pictures, a rig, a face and a clip.

use super::build::{build_resumable, draw_face, write_face};
use super::shown;
use crate::error::Result;
use crate::files::expect_folder;
use crate::pictures::{distances_mm, interference_matrix, pin_markers};
use glam::DQuat;
use risorius_attenuate::interference::Interference;
use risorius_attenuate::pose::{AttenuateOptions, Attenuated, PoseAttenuation};
use risorius_attenuate::{PinSet, PinSpec, RigGram, Selection};
use risorius_base::progress::{Progress, tick};
use risorius_flesh::{BuildOptions, BuildReport};
use risorius_head::{Head, Identity, landmarks};
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::formats::{clip_csv, head_csv};
use risorius_io::output::write_whole;
use risorius_io::specs::sidecar;
use risorius_rig::{Clip, Evaluator, HeadMotion, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, ScalarField, draw, sheet};
use serde::Serialize;
use std::path::PathBuf;

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

/// Runs the demo.
#[derive(Debug, Clone)]
pub struct DemoJob {
    /// Folder for the pictures and files.
    pub out: PathBuf,
    /// Number of flesh nodes, 500 to 200000. Default 4000.
    pub nodes: usize,
}

impl Default for DemoJob {
    fn default() -> Self {
        Self { out: "demo-out".into(), nodes: 4000 }
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
        let out = &self.out;
        expect_folder(out)?;
        tick(progress, "built-in head", 0.0)?;
        let head = risorius_head::build(&Identity::default());
        let rig = &head.rig;
        let story = brow_story(&head, &RigGram::prepare(rig, progress)?)?;
        tick(progress, "drawing", 0.4)?;
        let interference = Interference::measure(rig, progress)?;
        let mut outputs = vec![
            (out.join("poses.png"), pose_sheet(rig)?.encode_png()),
            (out.join("attenuation.png"), story.picture(rig)?.encode_png()),
            (
                out.join("interference.png"),
                interference_matrix(rig, &interference, MATRIX_SLIDERS)?.encode_png(),
            ),
            (out.join("head.glb"), write_glb(rig, &GlbOptions::default())?),
            (out.join("talk.csv"), clip_csv::write_csv(&talk())),
            (out.join("shake.csv"), head_csv::write(&shake())),
        ];
        // A GLB cannot hold regions.
        outputs.extend(sidecar::write(rig, false).map(|bytes| (out.join("head.rig.json"), bytes)));
        let mut options = BuildOptions::default();
        options.volume.nodes = self.nodes;
        let path = out.join("head.face");
        let built = build_resumable(rig, &head, &options, &path, progress)?;
        outputs.extend(draw_face(&built, out, progress)?);
        let bytes = write_face(&built, &path)?;
        for (path, bytes) in &outputs {
            write_whole(path, bytes)?;
        }
        let mut files: Vec<String> = outputs.iter().map(|(path, _)| shown(path)).collect();
        files.push(shown(&path));
        Ok(DemoReport {
            files,
            alpha: story.result.alpha,
            pinned_before_mm: rig.space.millimeters(story.result.pinned_before.max),
            pinned_after_mm: rig.space.millimeters(story.result.pinned_after.max),
            bytes,
            report: built.report.clone(),
            build: super::build::BuildJobReport::new(&built, &path, bytes, Vec::new()),
            n_vertices: rig.n_vertices(),
            n_sliders: rig.sliders.len(),
            n_muscles: head.muscles.len(),
        })
    }
}

/// Number of frames of [`talk`] and [`shake`], at 30 frames per second.
const N_FRAMES: usize = 61;

/// Two seconds of talking, then smiling.
fn talk() -> Clip {
    let times_secs: Vec<f64> = (0..N_FRAMES).map(|i| i as f64 / 30.0).collect();
    let names = ["jawOpen", "mouthFunnel", "mouthSmileLeft", "mouthSmileRight", "browInnerUp"];
    let row = |&t: &f64| {
        let smile = (t - 1.0).clamp(0.0, 1.0) as f32;
        let (syllables, rounding) = ((9.0 * t).sin().powi(2) as f32, (5.0 * t).sin().powi(2) as f32);
        [0.5 * syllables, 0.4 * rounding * (1.0 - smile), smile, smile, 0.5 * smile]
    };
    Clip {
        names: names.map(String::from).to_vec(),
        values: times_secs.iter().flat_map(row).collect(),
        times_secs,
        ..Clip::default()
    }
}

/// Two seconds of shaking and nodding the head.
fn shake() -> HeadMotion {
    let times_secs: Vec<f64> = (0..N_FRAMES).map(|i| i as f64 / 30.0).collect();
    let turn = |&t: &f64| {
        let ramp = (2.0 * t).min(1.0);
        (DQuat::from_rotation_y(0.4 * ramp * (12.0 * t).sin())
            * DQuat::from_rotation_x(0.2 * (7.0 * t).sin()))
        .to_array()
    };
    HeadMotion {
        positions_m: times_secs.iter().map(|t| [0.0, 0.02 * (14.0 * t).sin(), 0.0]).collect(),
        rotations_xyzw: times_secs.iter().map(turn).collect(),
        times_secs,
    }
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

/// The sequence of figures 2 and 3 in [Lewis05, section 5].
struct BrowStory {
    set: PinSet,
    w0: Vec<f32>,
    w1: Vec<f32>,
    result: Attenuated,
}

fn brow_story(head: &Head, gram: &RigGram) -> Result<BrowStory> {
    const PLACED: [(&str, f32); 2] = [("browDownLeft", 0.5), ("browDownRight", 0.5)];
    const MORE: [(&str, f32); 7] = [
        ("noseSneerLeft", 0.9),
        ("noseSneerRight", 0.9),
        ("eyeSquintLeft", 0.8),
        ("eyeSquintRight", 0.8),
        ("browInnerUp", 0.3),
        ("mouthSmileLeft", 0.8),
        ("jawOpen", 0.3),
    ];
    let rig = &head.rig;
    let (w0, w1) = (values(rig, &PLACED), values(rig, &[&PLACED[..], &MORE].concat()));
    let at = |name: &str| landmarks::index(name).map(|i| head.landmarks[i].as_vec3().to_array());
    let names = ["brow_left_inner", "brow_left_middle", "brow_right_inner", "brow_right_middle"];
    let pins: Vec<PinSpec> =
        names.into_iter().filter_map(at).map(|p| PinSpec { near: Some(p), ..PinSpec::default() }).collect();
    let set = PinSet::resolve(rig, &pins)?;
    let selection = Selection::prepare(gram, set.clone(), &[]);
    let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    let result = PoseAttenuation::prepare(rig, &selection, &options)?.solve(&w1, &w0)?;
    Ok(BrowStory { w0, w1, result, set })
}

impl BrowStory {
    fn picture(&self, rig: &Rig) -> Result<Canvas> {
        let look = FaceLook::prepare(rig);
        let evaluator = Evaluator::prepare(rig);
        let base = evaluator.positions(&self.w0);
        let options = DrawOptions {
            width: 620,
            height: 680,
            markers: pin_markers(&self.set),
            ..DrawOptions::default()
        };
        let mut cells = vec![(draw(&look, &base, &options)?, "the brow is placed and pinned".to_string())];
        let mut maps = Vec::new();
        for (weights, name) in
            [(&self.w1, "more sliders, no pins"), (&self.result.weights, "more sliders, with pins")]
        {
            let positions = evaluator.positions(weights);
            cells.push((draw(&look, &positions, &options)?, name.into()));
            let mut field = ScalarField::spanning(distances_mm(rig, &positions, &base), "mm moved");
            field.range = [0.0, 12.0];
            let colored = DrawOptions { field: Some(field), ..options.clone() };
            maps.push((draw(&look, &positions, &colored)?, format!("{name}: motion")));
        }
        let plain = DrawOptions { markers: Vec::new(), ..options };
        cells.push((draw(&look, &rig.neutral, &plain)?, "neutral".into()));
        cells.extend(maps);
        Ok(sheet(&cells, 3, "Selected motion attenuation")?)
    }
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
