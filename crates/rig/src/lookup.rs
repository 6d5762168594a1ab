//! Shapes and regions of a rig by the names that people type, in any spelling, with suggestions for those
//! that are unknown.

use crate::Rig;
use crate::classify::names::{find, nearest};

/// The shape called `name`, in any spelling.
pub fn find_shape(rig: &Rig, name: &str) -> Result<usize, String> {
    let names = rig.shapes.iter().map(|s| s.name.as_str());
    find(name, names.clone()).ok_or_else(|| unknown("shape", name, names))
}

/// "There is no X 'name'", with the nearest names that there are, or else with some that there are.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(name, known.iter().copied());
    let some = known.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match (known.len(), near.is_empty()) {
        (0, _) => format!("there is no {what} '{name}'; the rig has none"),
        (_, false) => format!("there is no {what} '{name}'; did you mean {}?", near.join(", ")),
        (n, true) if n <= SHOWN => format!("there is no {what} '{name}'; there are {some}"),
        (n, true) => format!("there is no {what} '{name}'; there are {some} and {} more", n - SHOWN),
    }
}

/// The vertices of a region, a part, or of what a shape moves (`shape:NAME`).
pub fn region_vertices(rig: &Rig, name: &str) -> Result<Vec<u32>, String> {
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
