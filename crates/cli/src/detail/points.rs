//! Points of a face by name, as users write them: `{"Chin": {"vertex": 12}, "Nose": {"near": [0, 1, 2]}}`.

use crate::session::Failure;
use risorius_attenuate::pins::{PinSet, PinSpec};
use risorius_io::open::read_file;
use risorius_rig::Rig;
use std::collections::BTreeMap;
use std::path::Path;

/// The vertices that named points mean; `given` is JSON or the name of a file.
pub fn named_points(given: &str, rig: &Rig) -> Result<Vec<(String, u32)>, Failure> {
    let (source, bytes) = match given.trim_start().starts_with('{') {
        true => ("points".to_string(), given.as_bytes().to_vec()),
        false => (given.to_string(), read_file(Path::new(given))?),
    };
    let specs: BTreeMap<String, PinSpec> =
        serde_json::from_slice(&bytes).map_err(|e| Failure::could_not(format!("{source}: {e}")))?;
    let one = |(name, spec): (String, PinSpec)| {
        let vertex = vertex_of(spec, rig, &format!("{source}: '{name}'"))?;
        Ok((name, vertex))
    };
    specs.into_iter().map(one).collect()
}

/// The one vertex that a pin means; `place` is where it was read.
pub fn vertex_of(spec: PinSpec, rig: &Rig, place: &str) -> Result<u32, Failure> {
    let problem = |what: &str| Failure::could_not(format!("{place}: {what}"));
    let pins = PinSet::resolve(rig, &[spec])
        .map_err(|all| problem(all.first().map_or("it is no pin", |p| p.problem.as_str())))?;
    pins.pins.first().map(|pin| pin.vertex).ok_or_else(|| problem("it names no vertex"))
}
