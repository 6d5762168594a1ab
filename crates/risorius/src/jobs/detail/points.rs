//! Points of a face by name, as users write them: `{"Chin": {"vertex": 12}, "Nose": {"near": [0, 1, 2]}}`.

use crate::error::{Error, Result};
use crate::source::{json_text, vertex_of};
use risorius_attenuate::PinSpec;
use risorius_rig::Rig;
use std::collections::BTreeMap;

/// The vertices of named points; `given` is JSON or the name of a JSON file.
pub(super) fn named_points(given: &str, rig: &Rig) -> Result<Vec<(String, u32)>> {
    let (bytes, path) = json_text(given)?;
    let source = path.map_or("points".to_string(), |path| path.display().to_string());
    let specs: BTreeMap<String, PinSpec> =
        serde_json::from_slice(&bytes).map_err(|e| Error::failed(e.to_string()).at(&source))?;
    let one = |(name, spec): (String, PinSpec)| {
        let vertex = vertex_of(spec, rig, &format!("{source}: '{name}'"))?;
        Ok((name, vertex))
    };
    specs.into_iter().map(one).collect()
}
