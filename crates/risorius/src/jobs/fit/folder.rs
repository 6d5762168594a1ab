//! Reads a folder of scans: which file is which expression, landmarks, weights.
//!
//! `scans.json` lists the scans, if there is one; else every surface of the folder is a scan named like its
//! file. `NAME.landmarks.json` beside a scan holds its landmarks, `approximate_weights.json` the weights of
//! all. Without given weights, a scan whose name is a slider's has that slider at 1.

use crate::error::{Error, Result, in_file};
use crate::files::{extension, is_rig, stem};
use crate::source::named;
use glam::Vec3;
use risorius_anatomy::Note;
use risorius_base::Progress;
use risorius_base::progress::tick;
use risorius_fit::actor::Scan;
use risorius_fit::{FitError, point_cloud};
use risorius_io::formats::ply;
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_io::specs::scans::{self, ScanSpec};
use risorius_mesh::TriMesh;
use risorius_rig::Rig;
use risorius_rig::classify::names::{find, key};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names of the neutral.
const NEUTRAL: [&str; 6] = ["neutral", "rest", "base", "basis", "default", "relaxed"];

/// Scans as they were read, and which of them is the neutral.
pub(super) struct Scans {
    pub scans: Vec<Scan>,
    pub neutral: usize,
    pub notes: Vec<Note>,
}

/// Slider values by name.
type Named = Vec<(String, f32)>;

/// Reads the scans of a folder, or a single scan, for a template.
pub(super) fn read(
    path: &Path,
    weights: Option<&Path>,
    landmarks: &[PathBuf],
    rig: &Rig,
    progress: &Progress,
) -> Result<Scans> {
    let specs = specs(path)?;
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let by_name = weights_of(folder, weights)?;
    let given = landmark_files(landmarks);
    let (mut all, mut neutrals, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (k, spec) in specs.iter().enumerate() {
        tick(progress, "reading", k as f32 / specs.len() as f32)?;
        let file = folder.join(&spec.file);
        let name = spec.name.clone().unwrap_or_else(|| stem(&file));
        let mesh = surface(&file, progress)?;
        let beside = file.with_file_name(format!("{}.landmarks.json", stem(&file)));
        let marks = given
            .get(&name)
            .cloned()
            .or_else(|| spec.landmarks.as_ref().map(|l| folder.join(l)))
            .or_else(|| beside.is_file().then_some(beside));
        let landmarks = match marks {
            Some(path) => scans::read_landmarks(&read_file(&path)?).map_err(in_file(&path))?,
            None => Vec::new(),
        };
        let known = spec.weights.as_ref().or_else(|| by_name.get(&name));
        let is_still = known.is_some_and(|pairs| pairs.iter().all(|(_, w)| *w == 0.0));
        neutrals.push(is_still || NEUTRAL.contains(&name.to_lowercase().as_str()));
        let weights = known.map(|pairs| slider_values(rig, pairs, &name, &mut notes)).transpose()?;
        let weights = weights.or_else(|| by_file_name(rig, &name));
        all.push(Scan { name, mesh, landmarks, weights });
    }
    let neutral = neutral(&all, &neutrals, path)?;
    if all.len() == 1 && !neutrals[0] {
        let what = format!("'{}' is the only scan and is taken as the neutral", all[0].name);
        notes.push(Note::new(what, "add expressions to the folder to get personal shapes"));
    }
    Ok(Scans { scans: all, neutral, notes })
}

/// The list of scans, from `scans.json` or the files of the folder, sorted by name.
fn specs(path: &Path) -> Result<Vec<ScanSpec>> {
    let single = |path: &Path| ScanSpec {
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        ..ScanSpec::default()
    };
    if !path.is_dir() {
        return Ok(vec![single(path)]);
    }
    let list = path.join("scans.json");
    if list.is_file() {
        let specs = scans::read_list(&read_file(&list)?).map_err(in_file(&list))?;
        if specs.is_empty() {
            return Err(Error::failed("the list of scans is empty").in_file(&list));
        }
        return Ok(specs);
    }
    let entries = std::fs::read_dir(path).map_err(|e| Error::failed(e.to_string()).in_file(path))?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.is_file() && is_rig(p)).collect();
    files.sort();
    if files.is_empty() {
        let problem = "there are no scans; give a folder with .ply, .obj, .stl or .glb files";
        return Err(Error::failed(problem).in_file(path));
    }
    Ok(files.iter().map(|p| single(p)).collect())
}

/// Weights of all scans, by name.
fn weights_of(folder: &Path, given: Option<&Path>) -> Result<BTreeMap<String, Named>> {
    let usual = folder.join("approximate_weights.json");
    let Some(path) = given.map(Path::to_path_buf).or_else(|| usual.is_file().then_some(usual)) else {
        return Ok(BTreeMap::new());
    };
    let all = scans::read_weights(&read_file(&path)?).map_err(in_file(&path))?;
    Ok(all.into_iter().collect())
}

/// Landmark files by the name of their scan: `smile.landmarks.json` or `smile.json`.
fn landmark_files(given: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let name = |path: &PathBuf| {
        let stem = stem(path);
        stem.strip_suffix(".landmarks").unwrap_or(&stem).to_string()
    };
    given.iter().map(|path| (name(path), path.clone())).collect()
}

/// The surface of a file, all parts joined.
fn surface(path: &Path, progress: &Progress) -> Result<TriMesh> {
    if !is_rig(path) && path.exists() {
        let problem = format!("'{}' is no format of scans; give .ply, .obj, .stl or .glb", extension(path));
        return Err(Error::failed(problem).in_file(path));
    }
    if extension(path) == "ply" {
        let bytes = read_file(path)?;
        if let Some(points) = ply::read_points(&bytes).map_err(in_file(path))? {
            return points_surface(&points, &stem(path)).map_err(|e| Error::from(e).in_file(path));
        }
    }
    let rig = open_rig(path, &OpenOptions::default(), progress).map_err(in_file(path))?.rig;
    let positions = rig.neutral.iter().map(|&p| Vec3::from(p).as_dvec3()).collect();
    Ok(TriMesh { positions, triangles: rig.triangles() })
}

/// The surface of a point cloud.
fn points_surface(points: &ply::Points, name: &str) -> std::result::Result<TriMesh, FitError> {
    let vectors = |list: &[[f32; 3]]| list.iter().map(|&p| Vec3::from(p).as_dvec3()).collect::<Vec<_>>();
    let normals = points.normals.as_deref().map(vectors);
    point_cloud::surface(&vectors(&points.positions), normals.as_deref(), name)
}

/// Values of all sliders; names that the template lacks are noted. A shape of both sides stands for a
/// template's shapes of each side, and shapes of each side for one of both.
fn slider_values(rig: &Rig, pairs: &Named, scan: &str, notes: &mut Vec<Note>) -> Result<Vec<f64>> {
    let slider = |name: &str| find(name, rig.sliders.iter().map(|s| s.name.as_str()));
    let (mut known, mut unknown): (Named, Vec<&str>) = (Vec::new(), Vec::new());
    for (name, value) in pairs {
        let whole = key(name).base;
        let sides = [format!("{name}Left"), format!("{name}Right")];
        if slider(name).is_some() {
            known.push((name.clone(), *value));
        } else if sides.iter().all(|s| slider(s).is_some()) {
            known.extend(sides.map(|s| (s, *value)));
        } else if slider(&whole).is_some() {
            match known.iter_mut().find(|(n, _)| *n == whole) {
                Some(both) => both.1 = 0.5 * (both.1 + value),
                None => known.push((whole, *value)),
            }
        } else {
            unknown.push(name);
        }
    }
    if !unknown.is_empty() {
        let what =
            format!("weights of '{scan}' name shapes that the template has not: {}", unknown.join(", "));
        notes.push(Note::new(what, "correct their names in the weights, or give a template that has them"));
    }
    Ok(named(rig, &known, None)?.weights.into_iter().map(f64::from).collect())
}

/// The slider that a scan is named after, at 1.
fn by_file_name(rig: &Rig, name: &str) -> Option<Vec<f64>> {
    let slider = find(name, rig.sliders.iter().map(|s| s.name.as_str()))?;
    let mut weights = vec![0.0; rig.sliders.len()];
    weights[slider] = 1.0;
    Some(weights)
}

/// The one neutral.
fn neutral(scans: &[Scan], neutrals: &[bool], path: &Path) -> Result<usize> {
    let found: Vec<usize> = (0..scans.len()).filter(|&k| neutrals[k]).collect();
    match (found.len(), scans.len()) {
        (1, _) => Ok(found[0]),
        (0, 1) => Ok(0),
        (0, n) => {
            let problem = format!("none of the {n} scans is the neutral; name one neutral.ply");
            Err(Error::failed(format!("{problem}, or give it empty weights in scans.json")).in_file(path))
        }
        _ => {
            let names: Vec<&str> = found.iter().map(|&k| scans[k].name.as_str()).collect();
            let problem = format!("several scans are neutrals: {}", names.join(", "));
            Err(Error::failed(format!("{problem}; keep one, one person to a folder")).in_file(path))
        }
    }
}
