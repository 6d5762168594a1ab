//! Reports the contents of a file and every problem found, each with its place and advice.

mod face;

pub use face::{
    ArrayReport, BoneReport, BonesReport, ContentsReport, EyeReport, FaceInspection, FitReport, JawReport,
    JointReport, MaterialsReport, MuscleReport, PairsReport, VolumeReport,
};

use super::{plans, shown};
use crate::error::{Result, in_file};
use crate::files::extension;
use crate::source::{ClipReading, Mapping, RigSource};
use risorius_base::Progress;
use risorius_base::progress::Plan;
use risorius_io::IoError;
use risorius_io::formats::clip_csv::{ClipContent, ClipOptions};
use risorius_io::open::{self, RigFile};
use risorius_io::specs::{sidecar, weights};
use risorius_rig::check::{CheckOptions, RigProblem, Severity, check_rig};
use risorius_rig::classify::names::{ARKIT, arkit_index};
use risorius_rig::classify::space::SpaceGuess;
use risorius_rig::model::CombinationRule;
use risorius_rig::{Clip, HeadMotion, Rig, Role, Take};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Inspects a file.
#[derive(Debug, Clone, Default)]
pub struct InspectJob {
    /// A rig, face, clip, head motion, take, or a small JSON file.
    pub file: RigSource,
    /// Also report how this clip's columns map to the rig's sliders.
    pub clip: Option<PathBuf>,
    /// The set of shapes that the clip drives; by default the one that covers most of its columns.
    pub set: Option<String>,
    /// Also count self-intersections of every shape (slow).
    pub all_shapes: bool,
    /// Name of the head joint in a BVH; by default `Head`, or the first joint with "head" in its name.
    pub joint: Option<String>,
}

/// The contents of a file.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Inspection {
    /// A rig, or a face with its rig.
    Rig(Box<RigInspection>),
    /// Slider values over time.
    Clip(ClipInspection),
    /// Motion of a head.
    Head(HeadInspection),
    /// Frames of vertices.
    Take(TakeInspection),
    /// Weights, pins, or a rig's sidecar.
    Settings(SettingsInspection),
}

/// A rig.
#[derive(Debug, Clone, Serialize)]
pub struct RigInspection {
    /// The file.
    pub file: String,
    /// `rig` or `face`.
    pub kind: &'static str,
    /// Name of the file format.
    pub format: &'static str,
    /// Name of the asset.
    pub name: String,
    /// Number of vertices over all parts, after welding.
    pub vertices: usize,
    /// Number of file vertices that were merged into another.
    pub welded: usize,
    /// Objects of the file: skin, eyes, teeth ...
    pub parts: Vec<PartInspection>,
    /// Number of sliders.
    pub sliders: usize,
    /// All shapes.
    pub shapes: Vec<ShapeInspection>,
    /// Number of sliders with one of the 52 ARKit names.
    pub arkit_matched: usize,
    /// Number of vertices of each region.
    pub regions: BTreeMap<String, usize>,
    /// Unit and axes that are used.
    pub space: SpaceReport,
    /// Guess of unit and axes from the geometry.
    pub guess: SpaceGuess,
    /// Animations in the file.
    pub clips: Vec<ClipSummary>,
    /// Every problem, with advice.
    pub problems: Vec<RigProblem>,
    /// Problems of in-betweens and combinations.
    pub role_problems: Vec<String>,
    /// What was left out or assumed.
    pub notes: Vec<String>,
    /// Computation time.
    pub seconds: InspectSeconds,
    /// Which columns of a clip drive which sliders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<Mapping>,
    /// The contents of a face beyond its rig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub face: Option<FaceInspection>,
    /// Names of the animations.
    #[serde(skip)]
    pub clip_names: Vec<String>,
}

/// Computation time of an inspection, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InspectSeconds {
    /// Reading the file.
    pub read: f64,
    /// Checking the rig.
    pub check: f64,
}

/// One object of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartInspection {
    /// Its name.
    pub name: String,
    /// Number of vertices in the file.
    pub file_vertices: usize,
    /// Number of vertices after welding.
    pub vertices: usize,
    /// Number of polygons.
    pub faces: usize,
    /// Number of polygons with four corners.
    pub quads: usize,
    /// Whether it has texture coordinates.
    pub uvs: bool,
}

/// A shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeInspection {
    /// Its name.
    pub name: String,
    /// How the shape is driven.
    pub role: RoleInspection,
    /// Number of vertices that it moves.
    pub moved_vertices: usize,
    /// Longest motion of a vertex.
    pub max_motion_mm: f64,
    /// The ARKit name that its name is a spelling of.
    pub arkit: Option<&'static str>,
}

/// How a shape is driven.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RoleInspection {
    /// Its own slider.
    Slider,
    /// A slider at an intermediate value.
    Inbetween {
        /// The slider.
        slider: String,
        /// Its value.
        at: f32,
    },
    /// Several sliders together.
    Combination {
        /// How the strength follows from their values.
        rule: CombinationRule,
        /// The sliders.
        sliders: Vec<String>,
    },
}

/// Unit and axes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpaceReport {
    /// Meters per unit of the file.
    pub meters_per_unit: f64,
    /// Axis to the top of the head.
    pub up: String,
    /// Axis along which the face looks.
    pub front: String,
}

/// A summary of a clip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClipSummary {
    /// Number of frames.
    pub frames: usize,
    /// Mean frame rate.
    pub fps: f64,
    /// Time of the first frame.
    pub first_secs: Option<f64>,
    /// Time of the last frame.
    pub last_secs: Option<f64>,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Number of samples of its head motion.
    pub head: Option<usize>,
    /// Whether it has eye rotations.
    pub eyes: bool,
}

/// A clip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClipInspection {
    /// The file.
    pub file: String,
    /// `clip`.
    pub kind: &'static str,
    /// Its summary.
    #[serde(flatten)]
    pub summary: ClipSummary,
    /// The frame rate, if it is constant.
    pub steady_fps: Option<f64>,
    /// First time code of a recording with time codes.
    pub timecode_start: Option<String>,
    /// What was assumed or left out.
    pub notes: Vec<String>,
    /// Number of columns with one of the 52 ARKit names.
    pub arkit_matched: usize,
}

/// Head motion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeadInspection {
    /// The file.
    pub file: String,
    /// `head motion`.
    pub kind: &'static str,
    /// Number of samples.
    pub frames: usize,
    /// Time from the first to the last sample.
    pub seconds: f64,
    /// Mean sample rate.
    pub fps: f64,
    /// Whether positions are in the unit of a BVH.
    #[serde(skip)]
    pub is_bvh: bool,
}

/// A take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TakeInspection {
    /// The file.
    pub file: String,
    /// `take`.
    pub kind: &'static str,
    /// Number of frames.
    pub frames: usize,
    /// Number of vertices of each frame.
    pub vertices: usize,
    /// Mean frame rate.
    pub fps: f64,
}

/// A small JSON file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingsInspection {
    /// The file.
    pub file: String,
    /// `weights`, `pins` or `sidecar`.
    pub kind: &'static str,
    /// Of weights: number of sliders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sliders: Option<usize>,
    /// Of pins: number of entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<usize>,
    /// Of a sidecar: number of regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regions: Option<usize>,
}

impl InspectJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<Inspection> {
        let plan = Plan::new(progress, &plans::INSPECT);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let path = &self.file.path;
        match extension(path).as_str() {
            "csv" | "tsv" | "txt" | "json" => recording(path, progress),
            "bvh" => {
                let reading = ClipReading { joint: self.joint.clone(), ..ClipReading::default() };
                Ok(Inspection::Head(head(path, &reading.open_head(path, progress)?.motion, true)))
            }
            "mdd" | "pc2" | "npz" => {
                Ok(Inspection::Take(take(path, &open::open_take(path, 30.0).map_err(in_file(path))?)))
            }
            _ => self.rig(progress).map(|rig| Inspection::Rig(Box::new(rig))),
        }
    }

    fn rig(&self, progress: &Progress) -> Result<RigInspection> {
        let start = Instant::now();
        let path = &self.file.path;
        let file = self.file.open(progress)?;
        let read = start.elapsed().as_secs_f64();
        let options =
            CheckOptions { self_intersections_of_shapes: self.all_shapes, ..CheckOptions::default() };
        let checked = check_rig(&file.rig, &options, progress)?;
        let mut found = rig(path, &file, checked.space, checked.problems);
        found.seconds = InspectSeconds { read, check: start.elapsed().as_secs_f64() - read };
        if let Some(clip) = &self.clip {
            let options = without_questions(clip, progress);
            let reading = ClipReading {
                fps: options.frame_fps,
                head_unit: options.head_meters_per_unit,
                set: self.set.clone(),
                ..ClipReading::default()
            };
            found.mapping = Some(reading.open_with_mapping(clip, &file.rig, progress)?.mapping);
        }
        if file.format == "face" {
            found.kind = "face";
            found.face = Some(face::inspect(path)?);
        }
        Ok(found)
    }
}

impl RigInspection {
    /// Number of problems of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|p| p.severity == severity).count()
    }
}

fn rig(path: &Path, file: &RigFile, guess: SpaceGuess, problems: Vec<RigProblem>) -> RigInspection {
    let rig = &file.rig;
    let slider = |s: usize| rig.sliders[s].name.clone();
    let role = |role: &Role| match role {
        Role::Slider(_) => RoleInspection::Slider,
        Role::Inbetween { slider: s, at } => RoleInspection::Inbetween { slider: slider(*s), at: *at },
        Role::Combination { drivers, rule } => RoleInspection::Combination {
            rule: *rule,
            sliders: drivers.iter().map(|d| slider(d.slider)).collect(),
        },
    };
    let part = |p: &risorius_rig::Part| PartInspection {
        name: p.name.clone(),
        file_vertices: p.n_file_vertices(),
        vertices: p.vertices.len(),
        faces: p.faces.len(),
        quads: p.faces.iter().filter(|f| f.len() == 4).count(),
        uvs: p.corner_uvs.is_some(),
    };
    let shape = |s: &risorius_rig::Shape| ShapeInspection {
        name: s.name.clone(),
        role: role(&s.role),
        moved_vertices: s.deltas.vertices.len(),
        max_motion_mm: rig.space.millimeters(s.deltas.max_length().into()),
        arkit: arkit_index(&s.name).map(|i| ARKIT[i]),
    };
    RigInspection {
        file: shown(path),
        kind: "rig",
        format: file.format,
        name: rig.name.clone(),
        vertices: rig.n_vertices(),
        welded: file.assembled.n_welded,
        parts: rig.parts.iter().map(part).collect(),
        sliders: rig.sliders.len(),
        shapes: rig.shapes.iter().map(shape).collect(),
        arkit_matched: n_arkit(rig),
        regions: rig.regions.iter().map(|(name, vertices)| (name.clone(), vertices.len())).collect(),
        space: SpaceReport {
            meters_per_unit: rig.space.meters_per_unit,
            up: rig.space.up.to_string(),
            front: rig.space.front.to_string(),
        },
        guess,
        clips: file.clips.iter().map(|c| summary(&c.clip)).collect(),
        problems,
        role_problems: file.assembled.roles.problems.clone(),
        notes: file.notes.clone(),
        seconds: InspectSeconds { read: 0.0, check: 0.0 },
        mapping: None,
        face: None,
        clip_names: file.clips.iter().map(|c| c.name.clone()).collect(),
    }
}

fn n_arkit(rig: &Rig) -> usize {
    let mut found: Vec<usize> = rig.sliders.iter().filter_map(|s| arkit_index(&s.name)).collect();
    found.sort_unstable();
    found.dedup();
    found.len()
}

fn recording(path: &Path, progress: &Progress) -> Result<Inspection> {
    let options = without_questions(path, progress);
    match open::open_clip(path, &options, progress) {
        Ok(content) if content.clip.names.is_empty() && content.clip.head.is_some() => {
            Ok(Inspection::Head(head(path, &content.clip.head.unwrap_or_default(), false)))
        }
        Ok(mut content) => {
            if options.frame_fps.is_some() {
                let assumed = "30 frames per second and meters are assumed to inspect it";
                content
                    .notes
                    .push(format!("its frame rate or the unit of its head is not stated: {assumed}"));
            }
            Ok(Inspection::Clip(clip(path, content)))
        }
        Err(clip_error) => match open::open_head(path, None, &options, progress) {
            Ok(found) => Ok(Inspection::Head(head(path, &found.motion, false))),
            Err(_) => settings(path).ok_or_else(|| in_file(path)(clip_error)),
        },
    }
}

/// Options with which a recording can be looked at that leaves its frame rate or the unit of its head open:
/// 30 frames per second and meters there.
fn without_questions(path: &Path, progress: &Progress) -> ClipOptions {
    let options = ClipOptions::default();
    match open::open_clip(path, &options, progress) {
        Err(IoError::Asks { .. }) => {
            ClipOptions { frame_fps: Some(30.0), head_meters_per_unit: Some(1.0), ..options }
        }
        _ => options,
    }
}

/// Small JSON files that are not recordings: weights, pins, a rig's sidecar.
fn settings(path: &Path) -> Option<Inspection> {
    let bytes = open::read_file(path).ok().filter(|_| extension(path) == "json")?;
    let mut found = SettingsInspection {
        file: shown(path),
        kind: "weights",
        sliders: None,
        entries: None,
        regions: None,
    };
    if let Ok(weights) = weights::read(&bytes) {
        found.sliders = Some(weights.len());
    } else if let Ok(pins) = open::read_pins(&bytes) {
        (found.kind, found.entries) = ("pins", Some(pins.len()));
    } else {
        (found.kind, found.regions) = ("sidecar", Some(sidecar::read(&bytes).ok()?.regions.len()));
    }
    Some(Inspection::Settings(found))
}

fn summary(clip: &Clip) -> ClipSummary {
    ClipSummary {
        frames: clip.n_frames(),
        fps: clip.fps(),
        first_secs: clip.times_secs.first().copied(),
        last_secs: clip.times_secs.last().copied(),
        columns: clip.names.clone(),
        head: clip.head.as_ref().map(HeadMotion::n_frames),
        eyes: clip.eye_angles.is_some(),
    }
}

fn clip(path: &Path, content: ClipContent) -> ClipInspection {
    ClipInspection {
        file: shown(path),
        kind: "clip",
        arkit_matched: content.clip.names.iter().filter_map(|n| arkit_index(n)).count(),
        summary: summary(&content.clip),
        steady_fps: content.fps,
        timecode_start: content.timecode_start,
        notes: content.notes,
    }
}

fn head(path: &Path, head: &HeadMotion, is_bvh: bool) -> HeadInspection {
    HeadInspection {
        file: shown(path),
        kind: "head motion",
        frames: head.n_frames(),
        seconds: head.times_secs.last().unwrap_or(&0.0) - head.times_secs.first().unwrap_or(&0.0),
        fps: risorius_rig::clip::mean_fps(&head.times_secs),
        is_bvh,
    }
}

fn take(path: &Path, take: &Take) -> TakeInspection {
    TakeInspection {
        file: shown(path),
        kind: "take",
        frames: take.n_frames(),
        vertices: take.n_vertices,
        fps: take.fps(),
    }
}
