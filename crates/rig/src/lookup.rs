//! Finds shapes and regions of a rig by the names that users type, in any spelling, with suggestions for
//! unknown names.

use crate::Rig;
use crate::classify::names::{find, nearest};

/// The shape called `name`, in any spelling.
pub fn find_shape(rig: &Rig, name: &str) -> Result<usize, UnknownName> {
    let names = rig.shapes.iter().map(|s| s.name.as_str());
    find(name, names.clone()).ok_or_else(|| unknown("shape", name, names))
}

/// A name that the rig does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} '{name}'; {}", self.suggestion())]
pub struct UnknownName {
    /// What was searched for: a shape, a region ...
    pub what: String,
    /// The given name.
    pub name: String,
    /// Known names with similar spelling.
    pub near: Vec<String>,
    /// Some of the known names.
    pub known: Vec<String>,
    /// Number of known names.
    pub n_known: usize,
}

impl risorius_base::Advise for UnknownName {}

impl UnknownName {
    fn suggestion(&self) -> String {
        let some = self.known.join(", ");
        match (self.n_known, self.near.is_empty()) {
            (0, _) => "the rig has none".into(),
            (_, false) => format!("did you mean {}?", self.near.join(", ")),
            (n, true) if n <= self.known.len() => format!("there are {some}"),
            (n, true) => format!("there are {some} and {} more", n - self.known.len()),
        }
    }
}

/// The error for `name`, with the most similar known names, or else with some of the known names.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> UnknownName {
    const SHOWN: usize = 8;
    let known: Vec<&str> = known.into_iter().collect();
    let owned = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
    UnknownName {
        what: what.into(),
        name: name.into(),
        near: nearest(name, known.iter().copied()),
        known: owned(&known[..known.len().min(SHOWN)]),
        n_known: known.len(),
    }
}

/// The vertices of a region, a part, or of what a shape moves (`shape:NAME`).
pub fn region_vertices(rig: &Rig, name: &str) -> Result<Vec<u32>, UnknownName> {
    if let Some(region) = rig.regions.get(name) {
        return Ok(region.clone());
    }
    if let Some(part) = rig.parts.iter().find(|p| p.name == name) {
        return Ok(part.vertices.clone().map(|v| v as u32).collect());
    }
    if let Some(shape_name) = name.strip_prefix("shape:") {
        let shape = &rig.shapes[find_shape(rig, shape_name)?];
        let least = 0.1 * shape.deltas.max_length();
        return Ok(shape
            .deltas
            .vertices
            .iter()
            .zip(&shape.deltas.offsets)
            .filter(|(_, o)| glam::Vec3::from(**o).length() >= least)
            .map(|(&v, _)| v)
            .collect());
    }
    let known = rig.regions.keys().map(String::as_str).chain(rig.parts.iter().map(|p| p.name.as_str()));
    Err(unknown("region or part", name, known))
}
