//! The inputs of jobs: rigs, clips, head motion, slider values and pins, as files or as values.

mod head;

pub(crate) use head::check_head;

use crate::error::{Error, Result, in_file};
use crate::files::extension;
use risorius_attenuate::{PinSet, PinSpec};
use risorius_base::Progress;
use risorius_io::formats::clip_csv::head_columns::HeadUnit;
use risorius_io::formats::clip_csv::{ClipContent, ClipOptions, NO_HEAD_ROTATION};
use risorius_io::formats::head_csv::HeadContent;
use risorius_io::open::{OpenOptions, RigFile, open_clip, open_head, open_rig, read_file, read_pins};
use risorius_io::specs::weights;
use risorius_rig::classify::binding::{Binding, NameMap, bind_names};
use risorius_rig::classify::names::find;
use risorius_rig::frames::CutFrames;
use risorius_rig::lookup::{sliders_matching, unknown};
use risorius_rig::{BoundClip, Clip, FrameSource, PartMotion, Rig, RigidTrack, Role, Span, part_motion};
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
    /// Frames per second to resample to; the clip's own frames by default. Of a clip whose times are frame
    /// numbers: its frame rate. Of a PC2 take, which stores no times: its frame rate, 30 by default.
    pub fps: Option<f64>,
    /// Head motion from a file of its own: CSV, BVH, or a clip that has it.
    pub head: Option<PathBuf>,
    /// Name of the head joint in a BVH; by default `Head`, or the first joint with "head" in its name.
    pub joint: Option<String>,
    /// Unit of head positions in a BVH, or in columns that do not state it, in meters. By default a BVH and
    /// columns `head_tx ..` are in meters, and other columns without a unit are refused.
    pub head_unit: Option<f64>,
    /// Of a rig with several sets of shapes: the set to drive, by the mark of its names (`AK` for
    /// `AK_25_JawOpen`). By default the set that covers most of the columns.
    pub set: Option<String>,
    /// The part of the clip or take that is used, after resampling; all of it by default. Times stay.
    pub span: Span,
}

impl ClipReading {
    /// Options of the readers.
    pub(crate) fn options(&self) -> ClipOptions {
        ClipOptions { frame_fps: self.fps, head_meters_per_unit: self.head_unit, ..ClipOptions::default() }
    }

    /// Reads a clip as it is.
    fn open_clip(&self, path: &Path, progress: &Progress) -> Result<ClipContent> {
        let Some(head) = &self.head else {
            return open_clip(path, &self.options(), progress).map_err(in_file(path));
        };
        // Its own head motion is replaced, so nothing about that matters.
        let options = ClipOptions { head_meters_per_unit: Some(1.0), ..self.options() };
        let mut content = open_clip(path, &options, progress).map_err(in_file(path))?;
        content.notes.retain(|note| note != NO_HEAD_ROTATION && !note.contains("`head_unit`"));
        let HeadContent { motion, unit, notes } = self.open_head(head, progress)?;
        let file = head.file_name().unwrap_or_default().to_string_lossy();
        content.notes.extend(notes.into_iter().map(|note| format!("{file}: {note}")));
        (content.clip.head, content.head_unit) = (Some(motion), unit);
        Ok(content)
    }

    /// Reads a clip, with head motion from its own file if given, at the requested frame rate.
    pub fn open(&self, path: &Path, progress: &Progress) -> Result<ClipContent> {
        let mut content = self.open_clip(path, progress)?;
        content.clip.check()?;
        if let Some(motion) = &content.clip.head {
            content.notes.extend(head::time_notes(&content.clip.times_secs, motion));
        }
        if let Some(fps) = self.fps {
            content.clip = content.clip.resample(fps)?;
        }
        if !self.span.is_whole() {
            content.clip = content.clip.frames(self.span.frames(&content.clip.times_secs)?);
        }
        Ok(content)
    }

    /// Reads a clip and binds it to a rig. Refuses a clip that drives no slider, unless it has none and is
    /// given for its head motion.
    pub fn open_for(&self, path: &Path, rig: &Rig, progress: &Progress) -> Result<BoundContent> {
        let content = self.open_with_mapping(path, rig, progress)?;
        let is_head_alone = content.recorded.names.is_empty() && content.clip.head.is_some();
        if content.mapping.matched.is_empty() && !is_head_alone {
            return Err(no_match(&content.recorded, rig).in_file(path));
        }
        Ok(content)
    }

    /// As [`Self::open_for`], also if no column has a slider.
    pub(crate) fn open_with_mapping(
        &self,
        path: &Path,
        rig: &Rig,
        progress: &Progress,
    ) -> Result<BoundContent> {
        let ClipContent { clip, mut notes, head_unit, part_motions, .. } = self.open(path, progress)?;
        let (bound, map) = clip.bind_set(rig, self.set.as_deref())?;
        let mapping = Mapping::new(&map, &clip.names, rig);
        notes.extend(percent_note(&clip, &map, rig));
        let moving = moving_parts(rig, &part_motions, &mut notes);
        Ok(BoundContent { clip: bound, recorded: clip, mapping, head_unit, moving, notes })
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
    pub fn open_head(&self, path: &Path, progress: &Progress) -> Result<HeadContent> {
        open_head(path, self.joint.as_deref(), &self.options(), progress).map_err(in_file(path))
    }
}

/// Why a clip without a slider of the rig is refused.
fn no_match(clip: &Clip, rig: &Rig) -> Error {
    let some = |names: Vec<&str>| {
        let shown = names.iter().take(6).copied().collect::<Vec<_>>().join(", ");
        if names.len() > 6 { format!("{shown} and {} more", names.len() - 6) } else { shown }
    };
    let columns = some(clip.names.iter().map(String::as_str).collect());
    let sliders = some(rig.sliders.iter().map(|s| s.name.as_str()).collect());
    Error::failed(match (clip.names.is_empty(), rig.sliders.is_empty()) {
        (true, _) => "the clip has no columns of sliders".to_string(),
        (false, true) => "the rig has no sliders for a clip to drive; give a rig with shapes".to_string(),
        (false, false) => format!(
            "no column of the clip is a slider of the rig; rename them. Columns: {columns}. Sliders: {sliders}"
        ),
    })
}

/// A note if values are far beyond the ranges of their sliders.
fn percent_note(clip: &Clip, map: &NameMap, rig: &Rig) -> Option<String> {
    const FAR: f32 = 4.0;
    let highest = |column: usize| {
        let values = clip.values.iter().skip(column).step_by(clip.names.len());
        values.fold(0.0f32, |most, v| most.max(v.abs()))
    };
    let over = |&(column, slider, _): &(usize, usize, f32)| {
        let end = rig.sliders[slider].range[1].abs().max(1.0);
        let most = highest(column);
        (most > FAR * end).then_some((column, slider, most))
    };
    let far: Vec<(usize, usize, f32)> = map.links.iter().filter_map(over).collect();
    let (column, slider, most) = *far.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let (name, end) = (&clip.names[column], rig.sliders[slider].range[1]);
    let which = format!("'{name}' reaches {most} where its slider ends at {end}");
    Some(format!("{which} ({} columns like that): if values are percent, divide them by 100", far.len()))
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
    /// Where the unit of head positions comes from.
    pub head_unit: HeadUnit,
    /// Parts of the rig that nodes of the clip's file move relative to the head, by their indices.
    pub moving: Vec<(usize, RigidTrack)>,
    /// What was assumed or left out.
    pub notes: Vec<String>,
}

impl BoundContent {
    /// Fails if the head moves as no head does, which usually is a wrong unit.
    pub(crate) fn check_head(&self) -> Result<()> {
        self.clip.head.as_ref().map_or(Ok(()), |head| check_head(head, self.head_unit))
    }
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
    /// Of a rig with several sets of shapes: the one that is driven, by its mark; empty for names without
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The sets that are left at rest because they move the same vertices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_sets: Vec<OtherSet>,
    /// Sliders that are left at rest because they repeat another one of the set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<TwinSlider>,
    /// Number of sliders of the rig.
    #[serde(skip)]
    pub n_sliders: usize,
}

/// A set of shapes that a clip could also drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherSet {
    /// Its mark; empty for names without one.
    pub set: String,
    /// Number of its sliders that columns mean too.
    pub sliders: usize,
}

/// A slider that repeats another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TwinSlider {
    /// The slider at rest.
    pub slider: String,
    /// The driven one.
    pub of: String,
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
            set: map.set.clone(),
            other_sets: (map.other_sets.iter())
                .map(|(set, sliders)| OtherSet { set: set.clone(), sliders: *sliders })
                .collect(),
            twins: (map.twins.iter())
                .map(|&(twin, of)| TwinSlider { slider: slider(twin), of: slider(of) })
                .collect(),
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
    named(rig, pairs, None).map(|named| named.weights)
}

/// Slider values that were given by name.
pub(crate) struct NamedValues {
    /// Weights of the rig.
    pub weights: Vec<f32>,
    /// Which of several meanings was taken.
    pub notes: Vec<String>,
}

/// As [`weights_by_name`]; of several sets of shapes, names that do not say one mean `set`.
pub(crate) fn named(rig: &Rig, pairs: &[(String, f32)], set: Option<&str>) -> Result<NamedValues> {
    let columns: Vec<String> = pairs.iter().map(|p| p.0.clone()).collect();
    let map = bind_names(&columns, rig, &Binding { set, by_hand: true })?;
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
    Ok(NamedValues { weights, notes: meanings(rig, &columns, &map, set).into_iter().collect() })
}

/// Says which set names mean that several sets have.
fn meanings(rig: &Rig, names: &[String], map: &NameMap, set: Option<&str>) -> Option<String> {
    let chosen = map.set.as_ref().filter(|_| set.is_none() && !map.other_sets.is_empty())?;
    let (column, slider) = (map.links.iter())
        .map(|l| (&names[l.0], &rig.sliders[l.1].name))
        .find(|(column, slider)| !is_full_name(column, slider))?;
    let others: Vec<&str> = map.other_sets.iter().map(|o| set_name(&o.0)).collect();
    let means = format!("'{column}' means '{slider}' of set {}", set_name(chosen));
    Some(format!("{means}; others have it too: {}; full names or `set` choose", others.join(", ")))
}

/// Whether `name` is all of the slider's name, in any case and with any separators.
fn is_full_name(name: &str, slider: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    letters(name) == letters(slider)
}

/// The mark of a set, or what names without one are called.
pub fn set_name(mark: &str) -> &str {
    if mark.is_empty() { "(names without a mark)" } else { mark }
}

/// Slider values from text: the name of a JSON file, JSON itself, or `jawOpen=0.6,smile=1`.
pub fn weights_from_text(rig: &Rig, text: &str) -> Result<Vec<f32>> {
    weights_by_name(rig, &named_values(text, "slider")?)
}

/// As [`weights_from_text`], with the set that names mean and notes.
pub(crate) fn named_from_text(rig: &Rig, text: &str, set: Option<&str>) -> Result<NamedValues> {
    named(rig, &named_values(text, "slider")?, set)
}

/// Names with values from text: the name of a JSON file, JSON itself, or `NAME=VALUE,...`; `what` they name.
pub(crate) fn named_values(text: &str, what: &str) -> Result<Vec<(String, f32)>> {
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
            _ => Err(Error::failed(format!("{what} '{}' is '{value}'; give a finite number", name.trim()))),
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

/// Indices of sliders by names in any spelling, or by patterns with `*` and `?`; ascending, each once.
pub fn sliders_by_pattern(rig: &Rig, patterns: &[String]) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for pattern in patterns {
        match pattern.contains(['*', '?']) {
            true => found.extend(sliders_matching(rig, pattern)?),
            false => found.extend(sliders_by_name(rig, std::slice::from_ref(pattern))?),
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
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
