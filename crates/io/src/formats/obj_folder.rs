//! A rig as a folder of OBJ files: the neutral and one file per shape, all with the same vertices.
//!
//! The neutral is the file that the caller names; or else `neutral`, `base`, `rest`, `default` or `basis` (in
//! that order, any case), or the one file with such a word in its name; every other `.obj` is a shape named
//! by its file's stem, and its displacement is its vertices minus the neutral's.
//! Faces, texture coordinates and materials come from the neutral; of shape files only the `v` lines are
//! read. Shape files that do not fit are left out and reported together; only an unusable neutral is an
//! error. Shapes are sorted by name.

use crate::IoError;
use crate::formats::obj::{self, ObjContent};
use crate::output::write_whole;
use risorius_base::Progress;
use risorius_base::progress::{no_progress, tick};
use risorius_rig::{Deltas, RawRig, RawShape, Rig};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const FORMAT: &str = "folder of OBJs";

/// A rig from a folder.
#[derive(Debug, Clone, Default)]
pub struct FolderContent {
    /// The neutral with all shapes that fit.
    pub raw: RawRig,
    /// One sentence for each shape file that was left out.
    pub left_out: Vec<String>,
    /// Other notes.
    pub notes: Vec<String>,
}

/// Names of the neutral.
const NEUTRAL: [&str; 5] = ["neutral", "base", "rest", "default", "basis"];

/// Reads the folder at `path`; `neutral` names the file with the neutral.
pub fn read(path: &Path, neutral: Option<&str>, progress: &Progress) -> Result<FolderContent, IoError> {
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(os)? {
        let file = entry.map_err(os)?.path();
        let is_obj = file.extension().is_some_and(|e| e.eq_ignore_ascii_case("obj"));
        if let Some(stem) = file.file_stem().filter(|_| is_obj && file.is_file()) {
            files.push((stem.to_string_lossy().into_owned(), file));
        }
    }
    let load =
        |file: &PathBuf| std::fs::read(file).map_err(|source| IoError::Os { path: file.clone(), source });
    let name = path.file_name().map_or_else(|| "face".into(), |n| n.to_string_lossy().into_owned());
    let (mut content, left_out) = build(&name, files, neutral, load, progress)?;
    for library in std::mem::take(&mut content.material_libs) {
        // Only files in this folder, since a library named with a path could point anywhere.
        let file = Path::new(&library).file_name().map(|n| path.join(n)).filter(|f| f.is_file());
        match file.map(|f| load(&f)).transpose()? {
            Some(bytes) => obj::apply_mtl(&bytes, &mut content)?,
            None => content.notes.push(format!("the material library '{library}' is not in the folder")),
        }
    }
    Ok(finished(name, content, left_out))
}

/// The same from files in memory: stem and bytes of each.
pub fn read_files(
    name: &str,
    files: &[(String, Vec<u8>)],
    neutral: Option<&str>,
    progress: &Progress,
) -> Result<FolderContent, IoError> {
    let stems = files.iter().map(|(stem, bytes)| (stem.clone(), bytes)).collect();
    let (content, left_out) = build(name, stems, neutral, |bytes| Ok(bytes.as_slice()), progress)?;
    Ok(finished(name.into(), content, left_out))
}

fn finished(name: String, content: ObjContent, left_out: Vec<String>) -> FolderContent {
    let raw = RawRig { name, materials: content.materials, parts: content.parts, ..RawRig::default() };
    FolderContent { raw, left_out, notes: content.notes }
}

/// Reads the neutral and the shapes, and reports what was left out; `load` gives the bytes of one file, so
/// that a large folder is never in memory at once.
fn build<F, B: AsRef<[u8]>>(
    name: &str,
    mut files: Vec<(String, F)>,
    neutral: Option<&str>,
    load: impl Fn(&F) -> Result<B, IoError>,
    progress: &Progress,
) -> Result<(ObjContent, Vec<String>), IoError> {
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let stems: Vec<&str> = files.iter().map(|f| f.0.as_str()).collect();
    let neutral_idx = find_neutral(&stems, neutral)?;
    let (_, neutral_file) = files.remove(neutral_idx);
    let mut content = obj::read(load(&neutral_file)?.as_ref(), name, &no_progress)?;
    let n_vertices: usize = content.parts.iter().map(|p| p.positions.len()).sum();
    let mut left_out = Vec::new();
    for (i, (stem, file)) in files.iter().enumerate() {
        tick(progress, "reading shapes", i as f32 / files.len() as f32)?;
        match load(file).and_then(|bytes| obj::read_positions(bytes.as_ref())) {
            Err(error) => left_out.push(format!("{stem}.obj: {error}")),
            Ok(shape) if shape.len() != n_vertices => left_out.push(format!(
                "{stem}.obj has {} vertices, the neutral has {n_vertices}; export it from the same mesh",
                shape.len()
            )),
            Ok(shape) => add_shape(&mut content, stem, &shape),
        }
    }
    Ok((content, left_out))
}

/// The index of the file with the neutral.
fn find_neutral(stems: &[&str], given: Option<&str>) -> Result<usize, IoError> {
    let asks = |problem: String| IoError::asks(FORMAT, "file names", problem, &["neutral"]);
    if stems.is_empty() {
        return Err(IoError::malformed(FORMAT, "file names", "there are no .obj files"));
    }
    if let Some(given) = given {
        let cut = given.len().saturating_sub(4);
        let is_obj = given.is_char_boundary(cut) && given[cut..].eq_ignore_ascii_case(".obj");
        let stem = if is_obj { &given[..cut] } else { given };
        let same = stems.iter().position(|s| *s == stem);
        let found = same.or_else(|| stems.iter().position(|s| s.eq_ignore_ascii_case(stem)));
        return found
            .ok_or_else(|| asks(format!("there is no '{stem}.obj'; there are {}", some_files(stems))));
    }
    let lower: Vec<String> = stems.iter().map(|s| s.to_lowercase()).collect();
    if let Some(found) = NEUTRAL.iter().find_map(|name| lower.iter().position(|s| s == name)) {
        return Ok(found);
    }
    let has_word =
        |name: &str, stem: &str| stem.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    for name in NEUTRAL {
        let found: Vec<usize> = (0..stems.len()).filter(|&i| has_word(name, &lower[i])).collect();
        match found[..] {
            [] => {}
            [only] => return Ok(only),
            [a, b, ..] => {
                let both = format!("'{}' and '{}' could both be the neutral", stems[a], stems[b]);
                return Err(asks(format!("{both}; name the one that is")));
            }
        }
    }
    let problem =
        format!("none of the {} files is called neutral, base, rest, default or basis", stems.len());
    Err(asks(format!("{problem}; name the one that is the neutral: {}", some_files(stems))))
}

/// The first files of the folder, and how many more there are.
fn some_files(stems: &[&str]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = stems.iter().take(SHOWN).map(|stem| format!("{stem}.obj")).collect();
    let more = stems.len().saturating_sub(SHOWN);
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

fn add_shape(content: &mut ObjContent, name: &str, shape: &[[f32; 3]]) {
    let mut first = 0;
    for part in &mut content.parts {
        let mut deltas = Deltas::default();
        for (v, (from, to)) in part.positions.iter().zip(&shape[first..]).enumerate() {
            let offset: [f32; 3] = std::array::from_fn(|k| to[k] - from[k]);
            if offset != [0.0; 3] {
                deltas.vertices.push(v as u32);
                deltas.offsets.push(offset);
            }
        }
        first += part.positions.len();
        part.shapes.push(RawShape { name: name.into(), deltas });
    }
}

/// The rig as files: stem and bytes of the neutral, then of each shape at full strength.
///
/// Stems are shape names. Characters that file systems do not allow become `_`, and names that would collide
/// get a number.
pub fn files(rig: &Rig) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut taken: HashSet<String> = HashSet::from(["neutral".to_string()]);
    let neutral = std::iter::once_with(|| ("neutral".to_string(), obj::write(rig, &rig.neutral)));
    neutral.chain(rig.shapes.iter().map(move |shape| {
        let mut positions = rig.neutral.clone();
        for (&v, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            if let Some(position) = positions.get_mut(v as usize) {
                *position = std::array::from_fn(|k| position[k] + offset[k]);
            }
        }
        (free_stem(&shape.name, &mut taken), obj::write(rig, &positions))
    }))
}

/// Writes [`files`] into `folder`, all of them or none; returns their number. Rejects a folder with OBJs of
/// another rig, which would be read as shapes of this one.
pub fn write(rig: &Rig, folder: &Path, progress: &Progress) -> Result<usize, IoError> {
    let os = |source| IoError::Os { path: folder.to_path_buf(), source };
    let above = folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(above).map_err(os)?;
    let beside = tempfile::Builder::new().prefix(".risorius-").tempdir_in(above).map_err(os)?;
    let n_files = rig.shapes.len() + 1;
    let mut names = HashSet::new();
    for (i, (stem, bytes)) in files(rig).enumerate() {
        tick(progress, "writing OBJs", i as f32 / n_files as f32)?;
        let name = format!("{stem}.obj");
        write_whole(&beside.path().join(&name), &bytes)?;
        names.insert(name);
    }
    refuse_strangers(folder, &names)?;
    std::fs::create_dir_all(folder).map_err(os)?;
    for name in names {
        std::fs::rename(beside.path().join(&name), folder.join(&name)).map_err(os)?;
    }
    Ok(n_files)
}

/// Rejects OBJs in `folder` that are not among `names`.
fn refuse_strangers(folder: &Path, names: &HashSet<String>) -> Result<(), IoError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let mut strangers: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n.to_lowercase().ends_with(".obj") && !names.contains(n))
        .collect();
    strangers.sort();
    match strangers.first() {
        None => Ok(()),
        Some(first) => {
            let place = folder.display().to_string();
            let n = strangers.len();
            let problem =
                format!("it holds {n} OBJs of another rig ({first} ...); write into an empty folder");
            Err(IoError::malformed("folder of OBJs", place, problem))
        }
    }
}

/// A stem that every file system allows and that is not in use, ignoring case.
fn free_stem(name: &str, taken: &mut HashSet<String>) -> String {
    let allowed = |c: char| !c.is_control() && !r#"/\:*?"<>|"#.contains(c);
    let clean: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    let clean = match clean.trim_matches([' ', '.']) {
        "" => "shape",
        stem => stem,
    };
    let free = (1..).map(|n| if n == 1 { clean.to_string() } else { format!("{clean}_{n}") });
    // The sequence is infinite, so there is always a free one.
    free.into_iter().find(|stem| taken.insert(stem.to_lowercase())).unwrap_or_default()
}
