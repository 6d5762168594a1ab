//! Opens files of any supported format: rigs, clips, head motion, takes, weights, pins.
//!
//! The file extension determines the format (a folder is a folder of OBJs; a face is also recognized by its
//! content). A rig's sidecar is found beside it: `face.rig.json` for `face.glb`, `rig.json` inside a folder.
//! Unit and axes that the file does not state are guessed ([`risorius_rig::classify::space`]); the sidecar
//! and the caller take precedence.

use crate::IoError;
use crate::formats::clip_csv::head_columns::HeadUnit;
use crate::formats::clip_csv::{ClipContent, ClipOptions};
#[cfg(feature = "fbx")]
use crate::formats::fbx;
use crate::formats::gltf::{GltfContent, NamedClip, NodeTrack};
use crate::formats::head_csv::HeadContent;
use crate::formats::{bvh, clip_csv, clip_json, gltf, head_csv, mdd, npz, obj, obj_folder, pc2, ply, stl};
use crate::native::{detail, face};
use crate::node_motion::NodeMotion;
use crate::specs::sidecar::{self, RegionSpec, Sidecar, StiffeningSpec};
use crate::specs::weights::json_error;
use risorius_attenuate::pins::PinSpec;
use risorius_base::Progress;
use risorius_base::{Axis, Rigid, Space};
use risorius_flesh::Response;
use risorius_rig::assemble::AssembleNotes;
use risorius_rig::classify::space::{SpaceGuess, guess_space};
use risorius_rig::lookup::{UnknownName, find_shape, unknown};
use risorius_rig::{Clip, PartMotion, RawPart, RawRig, Rig, RigidTrack, Role, Take, assemble};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest file that is read into memory.
const MAX_FILE_BYTES: u64 = 8 << 30;

/// Extensions of files with a rig or a surface.
const RIG_ENDINGS: [&str; 6] = ["glb", "gltf", "fbx", "obj", "ply", "stl"];

/// What the caller specifies in place of the file.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Sidecar to use instead of the one found beside the file.
    pub sidecar: Option<PathBuf>,
    /// A file of named vertex ranges (`{"lips": [10, 20]}`, end not included), added to the sidecar's
    /// regions.
    pub regions: Option<PathBuf>,
    /// Length of one unit in meters.
    pub meters_per_unit: Option<f64>,
    /// Axis to the top of the head.
    pub up: Option<Axis>,
    /// Axis that the face looks along.
    pub front: Option<Axis>,
    /// Of a folder of OBJs: the file with the neutral, with or without its extension.
    pub neutral: Option<String>,
}

/// A rig and the other content of its file.
#[derive(Debug, Clone)]
pub struct RigFile {
    /// The rig.
    pub rig: Rig,
    /// Name of the format, for display.
    pub format: &'static str,
    /// Clips in the file; the first carries the head motion if the file has one.
    pub clips: Vec<NamedClip>,
    /// Animated nodes of the file.
    pub tracks: Vec<NodeTrack>,
    /// Parts that nodes move relative to the head.
    pub part_motions: Vec<PartMotion>,
    /// What was left out or assumed.
    pub notes: Vec<String>,
    /// Welding, in-betweens, combinations.
    pub assembled: AssembleNotes,
    /// Guessed unit and axes, whether they were used or not.
    pub guess: SpaceGuess,
    /// The sidecar's motions of the jaw: shapes and the motion at weight 1, in SI.
    pub jaw_motion: Vec<(usize, Rigid)>,
    /// The sidecar's curves of materials.
    pub responses: Vec<Response>,
}

/// Reads a rig, or a surface as a rig without shapes.
pub fn open_rig(path: &Path, options: &OpenOptions, progress: &Progress) -> Result<RigFile, IoError> {
    if extension(path) == "face" || face::is_face(path) {
        return open_built_rig(path, options, "face");
    }
    if extension(path) == "detail" {
        return open_built_rig(path, options, "detail");
    }
    if options.neutral.is_some() && path.exists() && !path.is_dir() {
        let problem = "only a folder of OBJs has a file with the neutral; leave it out";
        return Err(IoError::asks("file", "options", problem, &["neutral"]));
    }
    let raw = read_raw(path, options.neutral.as_deref(), progress)?;
    let sidecar = read_sidecar(path, options)?;
    let (mut rig, assembled) = assemble(raw.rig, &sidecar.roles);
    let mut regions = sidecar.regions;
    if let Some(file) = &options.regions {
        regions.extend(sidecar::read_ranges(&read_file(file)?)?);
    }
    regions.iter().try_for_each(|r| add_region(&mut rig, r))?;
    let guess = guess_space(&rig);
    if !raw.says_space {
        // glTF specifies +Y up and +Z front, and other formats mostly use them: only strong evidence
        // overrides them.
        let declared = rig.space;
        rig.space = guess.space;
        if guess.axes_confidence < 0.5 {
            (rig.space.up, rig.space.front) = (declared.up, declared.front);
        }
    }
    let space = &mut rig.space;
    space.meters_per_unit =
        options.meters_per_unit.or(sidecar.meters_per_unit).unwrap_or(space.meters_per_unit);
    space.up = options.up.or(sidecar.up).unwrap_or(space.up);
    space.front = options.front.or(sidecar.front).unwrap_or(space.front);
    if space.up.index == space.front.index {
        let problem =
            format!("up ({}) and front ({}) are one axis; give two different ones", space.up, space.front);
        return Err(IoError::malformed(raw.format, "axes", problem));
    }
    let mut clips = raw.clips;
    if raw.format == "glTF" {
        clips.iter_mut().for_each(|c| strengths_to_sliders(&mut c.clip, &rig));
    }
    let (jaw_motion, responses) = (jaw_motions(&sidecar.jaw, &rig)?, responses(&sidecar.stiffening, &rig)?);
    let mut file = RigFile {
        rig,
        format: raw.format,
        clips,
        tracks: raw.tracks,
        part_motions: Vec::new(),
        notes: raw.notes,
        assembled,
        guess,
        jaw_motion,
        responses,
    };
    attach_node_motion(&mut file);
    Ok(file)
}

/// The rig in a `.face` or `.detail` file. Its other content was built with its roles, unit and axes, so only
/// regions can be added.
fn open_built_rig(path: &Path, options: &OpenOptions, format: &'static str) -> Result<RigFile, IoError> {
    let given = [options.meters_per_unit.is_some(), options.up.is_some(), options.front.is_some()];
    if options.sidecar.is_some() || given.contains(&true) {
        let verb = if format == "face" { "risorius build" } else { "risorius detail learn" };
        let problem =
            format!("roles, unit and axes of a {format} are fixed; give them to `{verb}` and make it again");
        return Err(IoError::malformed(format, "options", problem));
    }
    let mut rig = match format {
        "detail" => detail::open_rig(path)?,
        _ => face::open_rig(path)?,
    };
    if let Some(file) = &options.regions {
        sidecar::read_ranges(&read_file(file)?)?.iter().try_for_each(|r| add_region(&mut rig, r))?;
    }
    let n_file: usize = rig.parts.iter().map(|p| p.n_file_vertices()).sum();
    let assembled =
        AssembleNotes { n_welded: n_file.saturating_sub(rig.n_vertices()), ..AssembleNotes::default() };
    let guess = guess_space(&rig);
    Ok(RigFile {
        rig,
        format,
        clips: Vec::new(),
        tracks: Vec::new(),
        part_motions: Vec::new(),
        notes: Vec::new(),
        assembled,
        guess,
        jaw_motion: Vec::new(),
        responses: Vec::new(),
    })
}

/// The jaw's motions in SI, by shape of the rig.
fn jaw_motions(given: &[(String, Rigid)], rig: &Rig) -> Result<Vec<(usize, Rigid)>, IoError> {
    let one = |(name, motion): &(String, Rigid)| {
        let shape = find_shape(rig, name);
        let shape = shape.map_err(|e| IoError::malformed("sidecar", "jaw", e.to_string()))?;
        Ok((shape, rig.space.motion_to_si(motion)))
    };
    given.iter().map(one).collect()
}

/// Curves of materials, by shape and slider of the rig.
fn responses(given: &[StiffeningSpec], rig: &Rig) -> Result<Vec<Response>, IoError> {
    let wrong = |e: UnknownName| IoError::malformed("sidecar", "stiffening", e.to_string());
    let one = |spec: &StiffeningSpec| {
        let shape = find_shape(rig, &spec.shape).map_err(wrong)?;
        let by = match &spec.by {
            Some(name) => find_shape(rig, name).map_err(wrong)?,
            None => shape,
        };
        let Role::Slider(slider) = rig.shapes[by].role else {
            let problem = format!("'{}' is no slider; name one in 'by'", rig.shapes[by].name);
            return Err(IoError::malformed("sidecar", format!("stiffening.{}", spec.shape), problem));
        };
        Ok(Response { shape, slider, curve: spec.curve.clone() })
    };
    given.iter().map(one).collect()
}

/// glTF animates the strength of every shape, in-betweens and combinations too; a clip holds values of
/// sliders. A slider is the sum of its shapes' strengths times the value at which each acts alone (see
/// `risorius_rig::coefficients`).
fn strengths_to_sliders(clip: &mut Clip, rig: &Rig) {
    if rig.is_linear() || clip.names.is_empty() {
        return;
    }
    let roles: HashMap<&str, &Role> = rig.shapes.iter().map(|s| (s.name.as_str(), &s.role)).collect();
    let role = |c: &usize| roles.get(clip.names[*c].as_str()).copied();
    let is_slider = |c: &usize| !matches!(role(c), Some(Role::Inbetween { .. } | Role::Combination { .. }));
    let kept: Vec<usize> = (0..clip.names.len()).filter(is_slider).collect();
    let names: Vec<String> = kept.iter().map(|&c| clip.names[c].clone()).collect();
    let added: Vec<(usize, usize, f32)> = (0..clip.names.len())
        .filter_map(|c| match role(&c)? {
            Role::Inbetween { slider, at } => {
                Some((c, names.iter().position(|n| *n == rig.sliders[*slider].name)?, *at))
            }
            _ => None,
        })
        .collect();
    let mut values = Vec::with_capacity(names.len() * clip.n_frames());
    for row in clip.values.chunks(clip.names.len()) {
        let first = values.len();
        values.extend(kept.iter().map(|&c| row[c]));
        added.iter().for_each(|&(from, to, at)| values[first + to] += at * row[from]);
    }
    (clip.names, clip.values) = (names, values);
}

/// The result of a format's reader, before it is assembled.
struct Raw {
    rig: RawRig,
    format: &'static str,
    clips: Vec<NamedClip>,
    tracks: Vec<NodeTrack>,
    notes: Vec<String>,
    /// Whether the file itself states unit and axes.
    says_space: bool,
}

impl Raw {
    fn surface(format: &'static str, name: &str, parts: Vec<RawPart>, notes: Vec<String>) -> Self {
        let rig = RawRig { name: name.into(), parts, ..RawRig::default() };
        Self { rig, format, clips: Vec::new(), tracks: Vec::new(), notes, says_space: false }
    }
}

/// The parts of a surface or rig, as the file has them.
pub(crate) fn read_parts(path: &Path, progress: &Progress) -> Result<Vec<risorius_rig::RawPart>, IoError> {
    read_raw(path, None, progress).map(|raw| raw.rig.parts)
}

fn read_raw(path: &Path, neutral: Option<&str>, progress: &Progress) -> Result<Raw, IoError> {
    if path.is_dir() {
        let content = obj_folder::read(path, neutral, progress)?;
        let notes = content.left_out.into_iter().chain(content.notes).collect();
        let raw = Raw::surface("folder of OBJs", "", Vec::new(), notes);
        return Ok(Raw { rig: content.raw, ..raw });
    }
    let ending = extension(path);
    // The extension is checked before the content is read, which may be gigabytes of something else.
    if path.exists() && !RIG_ENDINGS.contains(&ending.as_str()) {
        return Err(unknown_format(
            &ending,
            "a rig",
            "a .face, .glb, .gltf, .fbx, .obj, .ply, .stl or a folder of OBJs",
        ));
    }
    let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let bytes = read_file(path)?;
    match ending.as_str() {
        "glb" | "gltf" => {
            let GltfContent { mut raw, clips, tracks, notes } = gltf::read(&bytes, &beside(path), progress)?;
            if raw.name.is_empty() {
                raw.name = name;
            }
            // Our own files state unit and axes; for others the default is that of the glTF standard.
            let says_space = raw.space != Space::default();
            Ok(Raw { rig: raw, format: "glTF", clips, tracks, notes, says_space })
        }
        #[cfg(not(feature = "fbx"))]
        "fbx" => Err(IoError::Unsupported {
            format: "FBX",
            feature: "reading it in this build".into(),
            advice: "convert the file to glTF, or build with the feature `fbx`".into(),
        }),
        #[cfg(feature = "fbx")]
        "fbx" => {
            let content = fbx::read(&bytes, progress)?;
            let mut rig = content.raw;
            rig.name = name;
            let (clips, notes) = (content.clips, content.notes);
            Ok(Raw { rig, format: "FBX", clips, tracks: Vec::new(), notes, says_space: true })
        }
        "obj" => {
            let mut content = obj::read(&bytes, &name, progress)?;
            for library in content.material_libs.clone() {
                // Colors are optional: a missing library is a note, not an error.
                match beside(path)(&library) {
                    Ok(bytes) => obj::apply_mtl(&bytes, &mut content)?,
                    Err(error) => content.notes.push(format!("materials have no colors: {error}")),
                }
            }
            let mut raw = Raw::surface("OBJ", &name, content.parts, content.notes);
            raw.rig.materials = content.materials;
            Ok(raw)
        }
        "ply" => {
            let surface = ply::read(&bytes, &name)?;
            Ok(Raw::surface("PLY", &name, vec![surface.part], surface.notes))
        }
        _ => {
            let surface = stl::read(&bytes, &name)?;
            Ok(Raw::surface("STL", &name, vec![surface.part], surface.notes))
        }
    }
}

fn read_sidecar(path: &Path, options: &OpenOptions) -> Result<Sidecar, IoError> {
    let found = if path.is_dir() { path.join("rig.json") } else { path.with_extension("rig.json") };
    match &options.sidecar {
        Some(file) => sidecar::read(&read_file(file)?),
        None if found.is_file() => sidecar::read(&read_file(&found)?),
        None => Ok(Sidecar::default()),
    }
}

fn add_region(rig: &mut Rig, spec: &RegionSpec) -> Result<(), IoError> {
    let all: Vec<u32> = match &spec.part {
        Some(name) => {
            let part = rig.parts.iter().find(|p| &p.name == name).ok_or_else(|| {
                let problem = unknown("part", name, rig.parts.iter().map(|p| p.name.as_str()));
                IoError::malformed("sidecar", format!("region '{}'", spec.name), problem.to_string())
            })?;
            part.rig_vertex.clone()
        }
        None => rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect(),
    };
    let mut vertices: Vec<u32> = spec.resolve(all.len())?.into_iter().map(|v| all[v as usize]).collect();
    vertices.sort_unstable();
    vertices.dedup();
    rig.regions.insert(spec.name.clone(), vertices);
    Ok(())
}

/// Gives the clips the motion of the head, and the file that of single parts.
fn attach_node_motion(file: &mut RigFile) {
    let first = file.clips.first().map(|c| c.name.as_str());
    let motion = NodeMotion::of(&file.tracks, file.rig.parts.len(), first);
    if let Some(head) = motion.head(&file.rig.space) {
        file.clips.iter_mut().for_each(|c| c.clip.head = Some(head.clone()));
    }
    if !motion.unused.is_empty() {
        const SHOWN: usize = 4;
        let names = motion.unused.iter().take(SHOWN).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
        let more = if motion.unused.len() > SHOWN { ", ..." } else { "" };
        let n = motion.unused.len();
        file.notes.push(format!("the motion of {n} nodes above no mesh is left out: {names}{more}"));
    }
    let named = |(part, track): (usize, RigidTrack)| {
        let part = file.rig.parts[part].name.clone();
        PartMotion { part, track }
    };
    file.part_motions = motion.parts.into_iter().map(named).collect();
}

/// Reads a clip: Live Link Face or generic CSV, JSON, or the first animation of a glTF or FBX.
pub fn open_clip(path: &Path, options: &ClipOptions, progress: &Progress) -> Result<ClipContent, IoError> {
    match extension(path).as_str() {
        "csv" | "tsv" | "txt" => clip_csv::read(&read_file(path)?, options),
        "json" => clip_json::read(&read_file(path)?, options.fps.or(options.frame_fps)),
        "glb" | "gltf" | "fbx" => {
            let mut file = open_rig(path, &OpenOptions::default(), progress)?;
            if file.clips.is_empty() {
                let problem =
                    "the file has no animation of shape weights; give a CSV or JSON clip".to_string();
                return Err(IoError::malformed(file.format, "animations", problem));
            }
            let mut notes = file.notes;
            if file.clips.len() > 1 {
                notes.push(format!(
                    "the file has {} animations; the first, '{}', is used",
                    file.clips.len(),
                    file.clips[0].name
                ));
            }
            let clip = file.clips.swap_remove(0).clip;
            clip.check()?;
            let (fps, part_motions) = (clip_csv::detect_fps(&clip.times_secs), file.part_motions);
            Ok(ClipContent { clip, fps, part_motions, notes, ..ClipContent::default() })
        }
        other => Err(unknown_format(other, "a clip", "a .csv, .json, .glb, .gltf or .fbx")),
    }
}

/// Reads head motion: CSV, BVH (`joint` by name; in meters unless the options give a unit), or that of a
/// clip.
pub fn open_head(
    path: &Path,
    joint: Option<&str>,
    options: &ClipOptions,
    progress: &Progress,
) -> Result<HeadContent, IoError> {
    match extension(path).as_str() {
        "bvh" => {
            let given = options.head_meters_per_unit;
            let motion = bvh::read(&read_file(path)?, joint, given.unwrap_or(1.0))?;
            let unit = if given.is_some() { HeadUnit::Given } else { HeadUnit::Assumed };
            Ok(HeadContent { motion, unit, notes: Vec::new() })
        }
        "csv" | "tsv" | "txt" => head_csv::read(&read_file(path)?, options),
        _ => head_csv::head_of(open_clip(path, options, progress)?).ok_or_else(|| {
            IoError::malformed("head motion", path.display().to_string(), "the file has no head motion in it")
        }),
    }
}

/// Reads a point cache; `fps` is for PC2 files, which count frames. For a take of a known rig, also from a
/// glTF, see [`crate::take_in`].
pub fn open_take(path: &Path, fps: f64) -> Result<Take, IoError> {
    match extension(path).as_str() {
        "mdd" => mdd::read(&read_file(path)?),
        "pc2" => pc2::read(&read_file(path)?, fps),
        "npz" => npz::read(&read_file(path)?),
        other => Err(unknown_format(other, "a take", "a .mdd, .pc2 or .npz")),
    }
}

/// Reads a pins file: a list of [`PinSpec`], or an object with that list under `pins`.
pub fn read_pins(bytes: &[u8]) -> Result<Vec<PinSpec>, IoError> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapped {
        pins: Vec<PinSpec>,
    }
    let bytes = crate::formats::text::without_bom(bytes);
    let starts_with_object = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
    if starts_with_object {
        serde_json::from_slice::<Wrapped>(bytes).map(|w| w.pins)
    } else {
        serde_json::from_slice(bytes)
    }
    .map_err(|e| json_error("pins JSON", &e))
}

/// The whole file, if it is not larger than any face is.
pub fn read_file(path: &Path) -> Result<Vec<u8>, IoError> {
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(os)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(os)?;
    crate::error::check_count("file", "its size in bytes", bytes.len() as u64, MAX_FILE_BYTES)?;
    Ok(bytes)
}

/// Reads files that a glTF refers to, from its own folder and below only.
pub(crate) fn beside(path: &Path) -> impl Fn(&str) -> Result<Vec<u8>, IoError> {
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    move |uri: &str| {
        let relative = Path::new(uri);
        let stays_inside = relative.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        if !stays_inside {
            let problem = "it is outside the glTF's folder; put the file beside the glTF";
            return Err(IoError::malformed("glTF", format!("uri '{uri}'"), problem));
        }
        read_file(&folder.join(relative))
    }
}

pub(crate) fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

pub(crate) fn unknown_format(extension: &str, what: &str, known: &str) -> IoError {
    IoError::Malformed {
        format: "file",
        place: format!("extension '.{extension}'"),
        problem: format!("it is not a known format of {what}; give {known}"),
    }
}
