//! Arguments that several verbs take: a rig with what the user knows of it, slider values, views.

use crate::files::{extension, in_file};
use crate::session::{Failure, Session};
use clap::Args;
use risorius_attenuate::pins::PinSet;
use risorius_base::Axis;
use risorius_base::space::parse_unit;
use risorius_io::open::{OpenOptions, RigFile, open_rig, read_file, read_pins};
use risorius_io::specs::weights;
use risorius_rig::classify::names::{NameMap, find, match_names};
use risorius_rig::lookup::unknown;
use risorius_rig::{Rig, Role};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A rig file and what the user knows better than it.
#[derive(Args, Debug, Clone)]
pub struct RigArgs {
    /// The rig: .face, .glb, .gltf, .fbx, .obj, .ply, .stl, or a folder of OBJs with a neutral.
    pub rig: PathBuf,
    #[command(flatten)]
    pub about: AboutRig,
}

/// What the user knows of a rig.
#[derive(Args, Debug, Clone, Default)]
pub struct AboutRig {
    /// Roles, regions and units of the rig as JSON; by default FILE.rig.json beside it.
    #[arg(long, value_name = "JSON")]
    sidecar: Option<PathBuf>,
    /// Named vertex ranges as JSON, e.g. {"lips": [10, 20]}, end not included.
    #[arg(long, value_name = "JSON")]
    regions: Option<PathBuf>,
    /// Unit of the file: m, dm, cm, mm, in, ft or a number of meters; guessed when left out.
    #[arg(long, value_parser = parse_unit)]
    unit: Option<f64>,
    /// Axis to the top of the head, e.g. +Y; guessed when left out.
    #[arg(long, allow_hyphen_values = true)]
    up: Option<Axis>,
    /// Axis that the face looks along, e.g. +Z; guessed when left out.
    #[arg(long, allow_hyphen_values = true)]
    front: Option<Axis>,
}

impl RigArgs {
    /// Reads the rig.
    pub fn open(&self, session: &Session) -> Result<RigFile, Failure> {
        self.about.open(&self.rig, session)
    }

    /// Reads the rig for a verb that makes no sense without sliders.
    pub fn open_with_sliders(&self, session: &Session) -> Result<RigFile, Failure> {
        let file = self.open(session)?;
        if file.rig.sliders.is_empty() {
            let problem = format!("{}: the rig has no shapes, so there are no sliders", self.rig.display());
            return Err(Failure::could_not(format!("{problem}; give a .glb, .fbx or folder that has some")));
        }
        Ok(file)
    }
}

impl AboutRig {
    /// Whether roles or regions come from elsewhere than the sidecar beside the rig.
    pub fn replaces_sidecar(&self) -> bool {
        self.sidecar.is_some() || self.regions.is_some()
    }

    /// Reads the rig at `path`.
    pub fn open(&self, path: &Path, session: &Session) -> Result<RigFile, Failure> {
        let options = OpenOptions {
            sidecar: self.sidecar.clone(),
            regions: self.regions.clone(),
            meters_per_unit: self.unit,
            up: self.up,
            front: self.front,
        };
        open_rig(path, &options, &session.progress()).map_err(in_file(path))
    }
}

/// Slider values from a JSON file, inline JSON, or `jawOpen=0.6,smile=1`.
pub fn weights(rig: &Rig, given: &str) -> Result<Vec<f32>, Failure> {
    let pairs = named_weights(given)?;
    let columns: Vec<String> = pairs.iter().map(|p| p.0.clone()).collect();
    let map = match_names(&columns, &slider_names(rig));
    if !map.unmatched_columns.is_empty() {
        let problems: Vec<String> = map
            .unmatched_columns
            .iter()
            .map(|&c| match find_slider(rig, &columns[c]) {
                Some(s) => {
                    format!("slider '{}' is given twice ('{}'); keep one", rig.sliders[s].name, columns[c])
                }
                None => no_slider(rig, &columns[c]),
            })
            .collect();
        return Err(Failure::could_not(problems.join("\n")));
    }
    let mut weights = vec![0.0; rig.sliders.len()];
    map.links.iter().for_each(|&(column, slider, factor)| weights[slider] += factor * pairs[column].1);
    Ok(weights)
}

fn named_weights(given: &str) -> Result<Vec<(String, f32)>, Failure> {
    if given.trim().is_empty() {
        return Ok(Vec::new());
    }
    if given.trim_start().starts_with('{') {
        return Ok(weights::read(given.as_bytes())?);
    }
    let path = Path::new(given);
    if path.exists() || !given.contains('=') {
        return weights_file(path);
    }
    given
        .split(',')
        .filter(|piece| !piece.trim().is_empty())
        .map(|piece| {
            let (name, value) = piece
                .split_once('=')
                .ok_or_else(|| Failure::wrong_call(format!("'{piece}' is not NAME=VALUE")))?;
            match value.trim().parse::<f32>() {
                Ok(v) if v.is_finite() => Ok((name.trim().to_string(), v)),
                _ => Err(Failure::could_not(format!(
                    "slider '{}' is '{value}'; give a finite number",
                    name.trim()
                ))),
            }
        })
        .collect()
}

fn weights_file(path: &Path) -> Result<Vec<(String, f32)>, Failure> {
    let shown = path.display();
    if !path.exists() {
        let advice = "give a JSON file of weights, or NAME=VALUE";
        return Err(Failure::could_not(format!("{shown}: there is no such file; {advice}")));
    }
    if matches!(extension(path).as_str(), "csv" | "tsv" | "txt" | "glb" | "gltf" | "fbx") {
        return Err(Failure::wrong_call(format!(
            "{shown}: weights are JSON; a recording is given by --clip"
        )));
    }
    weights::read(&read_file(path)?).map_err(in_file(path))
}

/// Pins from a JSON file or inline JSON, found in `rig`; all problems are told.
pub fn pins(rig: &Rig, given: &str) -> Result<PinSet, Failure> {
    let specs = if given.trim_start().starts_with(['[', '{']) {
        read_pins(given.as_bytes())?
    } else {
        let path = Path::new(given);
        read_pins(&read_file(path)?).map_err(in_file(path))?
    };
    PinSet::resolve(rig, &specs).map_err(|problems| {
        Failure::could_not(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })
}

/// Numbers of the sliders named in a comma-separated list.
pub fn sliders(rig: &Rig, names: &str) -> Result<Vec<usize>, Failure> {
    names.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| slider(rig, n)).collect()
}

/// Number of the slider called `name`, in any spelling.
fn slider(rig: &Rig, name: &str) -> Result<usize, Failure> {
    find_slider(rig, name).ok_or_else(|| Failure::could_not(no_slider(rig, name)))
}

fn find_slider(rig: &Rig, name: &str) -> Option<usize> {
    find(name, rig.sliders.iter().map(|s| s.name.as_str()))
}

/// Why `name` is not a slider, and which may be meant.
fn no_slider(rig: &Rig, name: &str) -> String {
    match rig.shapes.iter().find(|s| s.name == name).map(|s| &s.role) {
        Some(Role::Inbetween { slider, at }) => {
            let slider = &rig.sliders[*slider].name;
            format!("'{name}' is no slider but the in-between of '{slider}' at {at}; set '{slider}'")
        }
        Some(Role::Combination { drivers, .. }) => {
            let of: Vec<&str> = drivers.iter().map(|d| rig.sliders[d.slider].name.as_str()).collect();
            format!("'{name}' is no slider but the combination of {}; set those", of.join(" and "))
        }
        _ => unknown("slider", name, rig.sliders.iter().map(|s| s.name.as_str())),
    }
}

/// Names of all sliders, in the order of weights.
pub fn slider_names(rig: &Rig) -> Vec<String> {
    rig.sliders.iter().map(|s| s.name.clone()).collect()
}

/// Weights by name, those that are not zero, for JSON.
pub fn weights_to_json(rig: &Rig, weights: &[f32]) -> serde_json::Value {
    rig.sliders
        .iter()
        .zip(weights)
        .filter(|(_, w)| **w != 0.0)
        .map(|(s, &w)| (s.name.clone(), f64::from(w).into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// What drives what, for JSON.
pub fn mapping_to_json(map: &NameMap, columns: &[String], rig: &Rig) -> serde_json::Value {
    json!({
        "matched": map.links.iter().map(|&(c, s, factor)| json!({
            "column": columns[c], "slider": rig.sliders[s].name, "factor": factor,
        })).collect::<Vec<_>>(),
        "unmatched_columns": map.unmatched_columns.iter().map(|&c| &columns[c]).collect::<Vec<_>>(),
        "undriven_sliders": map.unmatched_sliders.iter().map(|&s| &rig.sliders[s].name).collect::<Vec<_>>(),
    })
}

/// The same in a sentence or two.
pub fn mapping_to_text(map: &NameMap, columns: &[String], rig: &Rig) -> String {
    let driven = rig.sliders.len() - map.unmatched_sliders.len();
    let warning = if driven == 0 { "warning: " } else { "" };
    let mut text = format!("{warning}{driven} of {} sliders are driven by the clip", rig.sliders.len());
    let list = |names: Vec<&str>| {
        let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
        if names.len() > 8 { format!("{shown} and {} more", names.len() - 8) } else { shown }
    };
    if !map.unmatched_columns.is_empty() {
        text += &format!(
            "; columns without a slider: {}",
            list(map.unmatched_columns.iter().map(|&c| columns[c].as_str()).collect())
        );
    }
    if !map.unmatched_sliders.is_empty() {
        text += &format!(
            "; sliders at rest: {}",
            list(map.unmatched_sliders.iter().map(|&s| rig.sliders[s].name.as_str()).collect())
        );
    }
    text + "\n"
}
