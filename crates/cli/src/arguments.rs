//! Arguments that several verbs share.

use crate::outcome::{Failure, some_of};
use clap::{ArgGroup, Args, ValueEnum};
use risorius::base::Axis;
use risorius::base::space::parse_unit;
use risorius::files::TakeFiles;
use risorius::io::open::OpenOptions;
use risorius::jobs::pose::Posed;
use risorius::rig::{Moment, Span};
use risorius::source::{ClipReading, Mapping, OtherSet, RigSource, TwinSlider, set_name};
use std::path::{Path, PathBuf};

/// A rig file, with overrides.
#[derive(Args, Debug, Clone)]
pub struct RigArgs {
    /// The rig: .face, .glb, .gltf, .fbx, .obj, .ply, .stl, or a folder of OBJs with a neutral.
    pub rig: PathBuf,
    #[command(flatten)]
    pub about: AboutRig,
}

impl RigArgs {
    /// For a job.
    pub fn source(&self) -> RigSource {
        self.about.source(&self.rig)
    }
}

/// What the user specifies about a rig.
#[derive(Args, Debug, Clone, Default)]
pub struct AboutRig {
    /// JSON file with roles, regions and units of the rig; default FILE.rig.json beside the rig.
    #[arg(long, value_name = "JSON")]
    sidecar: Option<PathBuf>,
    /// JSON file with named vertex ranges, e.g. {"lips": [10, 20]}; the end is not included.
    #[arg(long, value_name = "JSON")]
    regions: Option<PathBuf>,
    /// Unit of the rig: m, dm, cm, mm, in, ft or a number of meters; guessed by default.
    #[arg(long, value_parser = parse_unit)]
    unit: Option<f64>,
    /// Axis to the top of the head, e.g. +Y; guessed by default.
    #[arg(long, allow_hyphen_values = true)]
    up: Option<Axis>,
    /// Axis along which the face looks, e.g. +Z; guessed by default.
    #[arg(long, allow_hyphen_values = true)]
    front: Option<Axis>,
    /// Of a folder of OBJs: the file with the neutral; default neutral.obj, base.obj, rest.obj, default.obj
    /// or basis.obj.
    #[arg(long, value_name = "NAME")]
    neutral: Option<String>,
}

impl AboutRig {
    /// The rig with these overrides, for a job.
    pub fn source(&self, path: &Path) -> RigSource {
        let options = OpenOptions {
            sidecar: self.sidecar.clone(),
            regions: self.regions.clone(),
            meters_per_unit: self.unit,
            up: self.up,
            front: self.front,
            neutral: self.neutral.clone(),
        };
        RigSource { path: path.to_path_buf(), options }
    }
}

/// One pose or a whole clip.
#[derive(Args, Debug, Clone)]
#[command(group(ArgGroup::new("what").required(true).args(["weights", "clip"])))]
pub struct WeightsOrClip {
    /// Slider values of a pose: a JSON file, inline JSON, or jawOpen=0.6,smile=1.
    #[arg(long, short, value_name = "W")]
    weights: Option<String>,
    /// Slider values over time: Live Link Face CSV, CSV, JSON, or the animation of a glTF or FBX.
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    pub clip_args: ClipArgs,
}

impl WeightsOrClip {
    /// For a job.
    pub fn posed(&self) -> Posed {
        match &self.clip {
            Some(path) => Posed::Clip(path.clone()),
            None => Posed::Text(self.weights.clone().unwrap_or_default()),
        }
    }
}

/// How to read a clip.
#[derive(Args, Debug, Clone)]
pub struct ClipArgs {
    /// Resample to this many frames per second. Default: the clip's own frames. For a clip whose times are
    /// frame numbers, and for a .pc2 take (default 30): its frame rate.
    #[arg(long, allow_negative_numbers = true)]
    fps: Option<f64>,
    /// Head motion: CSV, BVH, or a clip that contains it. Replaces head motion in the clip.
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// Name of the head joint in a BVH; default Head, or the first joint with "head" in its name.
    #[arg(long)]
    joint: Option<String>,
    /// Unit of head positions: m, dm, cm, mm, in, ft or a number of meters. Default m for a BVH and for
    /// columns head_tx..; columns px_m, px_cm .. state theirs; others need it.
    #[arg(long, value_parser = parse_unit, allow_negative_numbers = true)]
    head_unit: Option<f64>,
    /// Of a rig with several sets of shapes: the set to drive, by the mark of its names (AK for
    /// AK_25_JawOpen). Default: the set with the most of the clip's columns.
    #[arg(long, value_name = "MARK")]
    set: Option<String>,
    /// First frame to use (12), or its time in seconds (1.5s); default the first. Times do not change.
    #[arg(long, value_name = "WHEN")]
    start: Option<Moment>,
    /// Last frame to use, included (90), or its time in seconds (3s); default the last.
    #[arg(long, value_name = "WHEN")]
    end: Option<Moment>,
}

impl ClipArgs {
    /// For a job.
    pub fn reading(&self) -> ClipReading {
        let (head, joint) = (self.head.clone(), self.joint.clone());
        let (set, span) = (self.set.clone(), Span { start: self.start, end: self.end });
        ClipReading { fps: self.fps, head, joint, head_unit: self.head_unit, set, span }
    }
}

/// How files with frames are written.
#[derive(Args, Debug, Clone)]
pub struct TakeFileArgs {
    /// Normals of frames and shapes in a glTF. Off: half the size, but players shade every frame like the
    /// neutral, so folds do not show.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    normals: Switch,
    /// Write a point cache (.mdd, .pc2) for each mesh object, as OUTPUT.PART.mdd, in the object's own
    /// coordinates. Default: on if the rig has several; --per-part=off writes one for all.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    per_part: Option<Switch>,
}

impl TakeFileArgs {
    /// For a job.
    pub fn files(&self) -> TakeFiles {
        TakeFiles { normals: self.normals == Switch::On, per_part: self.per_part.map(|s| s == Switch::On) }
    }
}

/// On or off.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

/// The written files on lines of their own, if there are several.
pub fn files_text(files: &[String]) -> String {
    if files.len() < 2 {
        return String::new();
    }
    files.iter().map(|file| format!("  {file}\n")).collect()
}

/// The items of a list separated by commas.
pub fn list(text: &str) -> Vec<String> {
    text.split(',').map(|piece| piece.trim().to_string()).collect()
}

/// Names of a list separated by commas, without empty ones.
pub fn names(text: Option<&str>) -> Vec<String> {
    list(text.unwrap_or_default()).into_iter().filter(|name| !name.is_empty()).collect()
}

/// Which columns drive which sliders, as text.
pub fn mapping_text(mapping: &Mapping) -> String {
    let driven = mapping.n_sliders - mapping.undriven_sliders.len();
    let warning = if driven == 0 { "warning: " } else { "" };
    let mut text = format!("{warning}{driven} of {} sliders are driven by the clip", mapping.n_sliders);
    if !mapping.unmatched_columns.is_empty() {
        text += &format!("; columns without a slider: {}", some_of(&mapping.unmatched_columns));
    }
    if !mapping.undriven_sliders.is_empty() {
        text += &format!("; sliders at rest: {}", some_of(&mapping.undriven_sliders));
    }
    text += "\n";
    if let Some(set) = &mapping.set {
        text += &format!("set {} is driven", set_name(set));
        let other = |o: &OtherSet| format!("{} ({})", set_name(&o.set), o.sliders);
        let others: Vec<String> = mapping.other_sets.iter().map(other).collect();
        if !others.is_empty() {
            text += &format!("; with --set the clip could drive sliders of {} instead", others.join(", "));
        }
        text += "\n";
    }
    let twin = |t: &TwinSlider| format!("{} ({})", t.slider, t.of);
    let twins: Vec<String> = mapping.twins.iter().map(twin).collect();
    if !twins.is_empty() {
        text += &format!("not driven, because another slider moves the same: {}\n", some_of(&twins));
    }
    text
}

/// Parses one number of pixels, or two as WIDTHxHEIGHT.
pub fn size(text: &str) -> Result<[usize; 2], Failure> {
    let side = |s: &str| s.trim().parse::<usize>().ok().filter(|&n| n > 0);
    let size = match text.split_once(['x', 'X']) {
        Some((w, h)) => side(w).zip(side(h)).map(|(w, h)| [w, h]),
        None => side(text).map(|n| [n, n]),
    };
    size.ok_or_else(|| Failure::wrong_call(format!("'{text}' is not a size; give 900 or 1280x720")))
}
