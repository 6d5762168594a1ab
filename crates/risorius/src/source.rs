//! The inputs of jobs: rigs, clips, head motion, slider values and pins, as files or as values.

use crate::error::{Error, Result, in_file};
use crate::files::extension;
use risorius_attenuate::{PinSet, PinSpec};
use risorius_base::Progress;
use risorius_io::formats::clip_csv::{ClipContent, ClipOptions};
use risorius_io::open::{OpenOptions, RigFile, open_clip, open_head, open_rig, read_file, read_pins};
use risorius_io::specs::weights;
use risorius_rig::classify::names::{NameMap, find, match_names};
use risorius_rig::frames::CutFrames;
use risorius_rig::lookup::unknown;
use risorius_rig::{
    BoundClip, Clip, FrameSource, HeadMotion, PartMotion, Rig, RigidTrack, Role, Span, part_motion,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A rig file, and what the user specifies about it.
#[derive(Debug, Clone, Default)]
pub struct RigSource {
    /// `.face`, `.glb`, `.gltf`, `.fbx`, `.obj`, `.ply`, `.stl`, or a folder of OBJs with a neutral.
    pub path: PathBuf,
    /// Unit, axes, roles and regions that override those of the file.
    pub options: OpenOptions,
}

impl<P: Into<PathBuf>> From<P> for RigSource {
    fn from(path: P) -> Self {
        Self { path: path.into(), options: OpenOptions::default() }
    }
}

impl RigSource {
    /// Reads the rig.
    pub fn open(&self, progress: &Progress) -> Result<RigFile> {
        open_rig(&self.path, &self.options, progress).map_err(in_file(&self.path))
    }

    /// Reads the rig for a job that needs sliders.
    pub fn open_with_sliders(&self, progress: &Progress) -> Result<RigFile> {
        let file = self.open(progress)?;
        if file.rig.sliders.is_empty() {
            let problem = "the rig has no shapes, so there are no sliders";
            let advice = "give a .glb, .fbx or folder that has some";
            return Err(Error::failed(format!("{problem}; {advice}")).in_file(&self.path));
        }
        Ok(file)
    }
}

/// How clips and head motion are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClipReading {
    /// Frames per second to resample to; the clip's own frames by default. Of a PC2 take, which stores no
    /// times: its frame rate, 30 by default.
    pub fps: Option<f64>,
    /// Head motion from a file of its own: CSV, BVH, or a clip that has it.
    pub head: Option<PathBuf>,
    /// Name of the head joint in a BVH; by default `Head`, or the first joint with "head" in its name.
    pub joint: Option<String>,
    /// Unit of head positions in a BVH or in head columns, in meters; 1 by default.
    pub head_unit: Option<f64>,
    /// The part of the clip or take that is used, after resampling; all of it by default. Times stay.
    pub span: Span,
}

impl ClipReading {
    /// Options of the readers.
    pub(crate) fn options(&self) -> ClipOptions {
        ClipOptions { head_meters_per_unit: self.head_unit.unwrap_or(1.0), ..ClipOptions::default() }
    }

    /// Reads a clip, with head motion from its own file if given, at the requested frame rate.
    pub fn open(&self, path: &Path, progress: &Progress) -> Result<ClipContent> {
        let mut content = open_clip(path, &self.options(), progress).map_err(in_file(path))?;
        if let Some(head) = &self.head {
            content.clip.head = Some(self.open_head(head, progress)?);
        }
        content.clip.check()?;
        if let Some(fps) = self.fps {
            content.clip = content.clip.resample(fps)?;
        }
        if !self.span.is_whole() {
            content.clip = content.clip.frames(self.span.frames(&content.clip.times_secs)?);
        }
        Ok(content)
    }

    /// Reads a clip and binds it to a rig.
    pub fn open_for(&self, path: &Path, rig: &Rig, progress: &Progress) -> Result<BoundContent> {
        let ClipContent { clip, mut notes, part_motions, .. } = self.open(path, progress)?;
        let (bound, map) = clip.bind(rig)?;
        let mapping = Mapping::new(&map, &clip.names, rig);
        let moving = moving_parts(rig, &part_motions, &mut notes);
        Ok(BoundContent { clip: bound, recorded: clip, mapping, moving, notes })
    }

    /// The part of a take that is used.
    pub(crate) fn cut(&self, take: Box<dyn FrameSource>) -> Result<Box<dyn FrameSource>> {
        if self.span.is_whole() {
            return Ok(take);
        }
        let frames = self.span.frames(take.times_secs())?;
        Ok(Box::new(CutFrames::new(take, frames)))
    }

    /// Reads head motion without resampling.
    pub fn open_head(&self, path: &Path, progress: &Progress) -> Result<HeadMotion> {
        let unit = self.head_unit.unwrap_or(1.0);
        open_head(path, self.joint.as_deref(), unit, &self.options(), progress).map_err(in_file(path))
    }
}

/// Motions of parts that `rig` has, by their indices; a note names those that it has not.
pub(crate) fn moving_parts(
    rig: &Rig,
    motions: &[PartMotion],
    notes: &mut Vec<String>,
) -> Vec<(usize, RigidTrack)> {
    let (found, unknown) = part_motion::of_rig(rig, motions);
    if !unknown.is_empty() {
        let names = unknown.join("', '");
        notes.push(format!("the motion of '{names}' is left out: the rig has no part of that name"));
    }
    found.into_iter().map(|(part, track)| (part, track.clone())).collect()
}

/// A clip that was read and bound to a rig.
pub struct BoundContent {
    /// Slider values per frame.
    pub clip: BoundClip,
    /// The clip with its own columns.
    pub recorded: Clip,
    /// Which columns drive which sliders.
    pub mapping: Mapping,
    /// Parts of the rig that nodes of the clip's file move relative to the head, by their indices.
    pub moving: Vec<(usize, RigidTrack)>,
    /// What was assumed or left out.
    pub notes: Vec<String>,
}

/// Which columns of a clip drive which sliders.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Mapping {
    /// Columns with the slider that each drives.
    pub matched: Vec<MappedColumn>,
    /// Columns without a slider.
    pub unmatched_columns: Vec<String>,
    /// Sliders that stay at rest.
    pub undriven_sliders: Vec<String>,
    /// Number of sliders of the rig.
    #[serde(skip)]
    pub n_sliders: usize,
}

/// A column of a clip and its slider.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MappedColumn {
    /// Name in the clip.
    pub column: String,
    /// Name in the rig.
    pub slider: String,
    /// Factor on the column's values.
    pub factor: f32,
}

impl Mapping {
    fn new(map: &NameMap, columns: &[String], rig: &Rig) -> Self {
        let slider = |s: usize| rig.sliders[s].name.clone();
        let matched = map.links.iter().map(|&(column, s, factor)| MappedColumn {
            column: columns[column].clone(),
            slider: slider(s),
            factor,
        });
        Self {
            matched: matched.collect(),
            unmatched_columns: map.unmatched_columns.iter().map(|&c| columns[c].clone()).collect(),
            undriven_sliders: map.unmatched_sliders.iter().map(|&s| slider(s)).collect(),
            n_sliders: rig.sliders.len(),
        }
    }
}

/// Slider values by name, in any spelling, as weights of `rig`; all others are 0.
///
/// ```
/// use risorius::prelude::*;
/// use risorius::source::weights_by_name;
///
/// let rig = risorius::head::build(&Identity::default()).rig.with_sliders(&["jawOpen", "mouthSmileLeft"]);
/// // Any usual spelling is understood.
/// assert_eq!(weights_by_name(&rig, &[("JawOpen".into(), 0.6)])?, [0.6, 0.0]);
/// let error = weights_by_name(&rig, &[("jawOpne".into(), 0.6)]).unwrap_err();
/// assert!(error.to_string().contains("did you mean jawOpen?"));
/// # Ok::<(), Error>(())
/// ```
pub fn weights_by_name(rig: &Rig, pairs: &[(String, f32)]) -> Result<Vec<f32>> {
    let columns: Vec<String> = pairs.iter().map(|p| p.0.clone()).collect();
    let map = match_names(&columns, &slider_names(rig));
    if !map.unmatched_columns.is_empty() {
        let problem = |&c: &usize| match find_slider(rig, &columns[c]) {
            Some(s) => {
                format!("slider '{}' is given twice ('{}'); keep one", rig.sliders[s].name, columns[c])
            }
            None => no_slider(rig, &columns[c]),
        };
        let problems: Vec<String> = map.unmatched_columns.iter().map(problem).collect();
        return Err(Error::failed(problems.join("\n")));
    }
    let mut weights = vec![0.0; rig.sliders.len()];
    map.links.iter().for_each(|&(column, slider, factor)| weights[slider] += factor * pairs[column].1);
    Ok(weights)
}

/// Slider values from text: the name of a JSON file, JSON itself, or `jawOpen=0.6,smile=1`.
pub fn weights_from_text(rig: &Rig, text: &str) -> Result<Vec<f32>> {
    weights_by_name(rig, &named_weights(text)?)
}

fn named_weights(text: &str) -> Result<Vec<(String, f32)>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    if text.trim_start().starts_with('{') {
        return Ok(weights::read(text.as_bytes())?);
    }
    let path = Path::new(text);
    if path.exists() || !text.contains('=') {
        return weights_file(path);
    }
    let value = |piece: &str| {
        let Some((name, value)) = piece.split_once('=') else {
            return Err(Error::request(format!("'{piece}' is not NAME=VALUE")));
        };
        match value.trim().parse::<f32>() {
            Ok(v) if v.is_finite() => Ok((name.trim().to_string(), v)),
            _ => Err(Error::failed(format!("slider '{}' is '{value}'; give a finite number", name.trim()))),
        }
    };
    text.split(',').filter(|piece| !piece.trim().is_empty()).map(value).collect()
}

fn weights_file(path: &Path) -> Result<Vec<(String, f32)>> {
    if !path.exists() {
        let advice = "give a JSON file of weights, or NAME=VALUE";
        return Err(Error::failed(format!("there is no such file; {advice}")).in_file(path));
    }
    if matches!(extension(path).as_str(), "csv" | "tsv" | "txt" | "glb" | "gltf" | "fbx") {
        let problem = Error::request("weights are JSON; a recording is given as a clip");
        return Err(problem.with_options(&["clip"]).in_file(path));
    }
    weights::read(&read_file(path)?).map_err(in_file(path))
}

/// JSON text: the given text itself, or the content of the file of that name, with the name for messages.
pub(crate) fn json_text(given: &str) -> Result<(Vec<u8>, Option<&Path>)> {
    match given.trim_start().starts_with(['[', '{']) {
        true => Ok((given.as_bytes().to_vec(), None)),
        false => Ok((read_file(Path::new(given))?, Some(Path::new(given)))),
    }
}

/// Pins from a JSON file or from JSON text, resolved on `rig`; all problems are reported.
pub fn pins_from_text(rig: &Rig, text: &str) -> Result<PinSet> {
    let (bytes, path) = json_text(text)?;
    let specs = match path {
        Some(path) => read_pins(&bytes).map_err(in_file(path))?,
        None => read_pins(&bytes)?,
    };
    Ok(PinSet::resolve(rig, &specs)?)
}

/// The vertex of a pin that must name exactly one; `place` says where it was read.
pub(crate) fn vertex_of(spec: PinSpec, rig: &Rig, place: &str) -> Result<u32> {
    let problem = |what: &str| Error::failed(what).at(place);
    let pins = PinSet::resolve(rig, &[spec])
        .map_err(|all| problem(all.problems.first().map_or("it is not a pin", |p| p.problem.as_str())))?;
    pins.pins.first().map(|pin| pin.vertex).ok_or_else(|| problem("it names no vertex"))
}

/// Indices of sliders, by their names in any spelling.
pub fn sliders_by_name(rig: &Rig, names: &[String]) -> Result<Vec<usize>> {
    let one = |name: &String| find_slider(rig, name).ok_or_else(|| Error::failed(no_slider(rig, name)));
    names.iter().map(one).collect()
}

fn find_slider(rig: &Rig, name: &str) -> Option<usize> {
    find(name, rig.sliders.iter().map(|s| s.name.as_str()))
}

/// Why `name` is not a slider, and which slider may be meant.
fn no_slider(rig: &Rig, name: &str) -> String {
    match rig.shapes.iter().find(|s| s.name == name).map(|s| &s.role) {
        Some(Role::Inbetween { slider, at }) => {
            let slider = &rig.sliders[*slider].name;
            format!("'{name}' is not a slider but the in-between of '{slider}' at {at}; set '{slider}'")
        }
        Some(Role::Combination { drivers, .. }) => {
            let of: Vec<&str> = drivers.iter().map(|d| rig.sliders[d.slider].name.as_str()).collect();
            format!("'{name}' is not a slider but the combination of {}; set those", of.join(" and "))
        }
        _ => unknown("slider", name, rig.sliders.iter().map(|s| s.name.as_str())).to_string(),
    }
}

/// Names of all sliders, in the order of weights.
pub fn slider_names(rig: &Rig) -> Vec<String> {
    rig.sliders.iter().map(|s| s.name.clone()).collect()
}

/// The nonzero weights by name.
pub(crate) fn nonzero_weights(rig: &Rig, weights: &[f32]) -> serde_json::Map<String, serde_json::Value> {
    let on = rig.sliders.iter().zip(weights).filter(|(_, w)| **w != 0.0);
    on.map(|(s, &w)| (s.name.clone(), f64::from(w).into())).collect()
}
