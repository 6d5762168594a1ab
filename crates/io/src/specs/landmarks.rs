//! Landmarks given by the user: `{"mouth_left": 1234, "nose_tip": [0.1, 12.3, 9.8]}`.
//!
//! A number is a vertex of the file, counted over all parts in their order; three numbers are a position in
//! the file's unit and axes, projected to the nearest skin. All problems of a file are reported at once.

use crate::IoError;
use glam::DVec3;
use risorius_anatomy::find::{FoundLandmark, Given};
use risorius_head::landmarks::{self, NAMES};
use risorius_rig::Rig;
use risorius_rig::classify::names;
use serde_json::Value;

/// Reads a landmark file for `rig`.
pub fn read(bytes: &[u8], rig: &Rig) -> Result<Given, IoError> {
    let fail = |problem: String| problems_of(vec![problem]);
    let value: Value = serde_json::from_slice(bytes).map_err(|e| fail(format!("it is not JSON: {e}")))?;
    let Value::Object(entries) = value else {
        return Err(fail("it is not an object; write {\"nose_tip\": 1234, ...}".into()));
    };
    let mut given = Given::default();
    let mut problems = Vec::new();
    for (name, value) in &entries {
        let Some(index) = landmarks::index(name) else {
            let near = names::nearest(name, NAMES);
            let advice =
                if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
            problems.push(format!("'{name}' is not the name of a landmark{advice}"));
            continue;
        };
        match position(value, rig) {
            Ok(p) => given.points.push((index, p)),
            Err(problem) => problems.push(format!("'{name}': {problem}")),
        }
    }
    given.points.sort_by_key(|(i, _)| *i);
    if problems.is_empty() { Ok(given) } else { Err(problems_of(problems)) }
}

/// The landmarks as a file for [`read`] that users can inspect and edit; positions are in the rig's own unit
/// and axes.
pub fn write(landmarks: &[FoundLandmark], rig: &Rig) -> String {
    let lines: Vec<String> = landmarks
        .iter()
        .map(|l| {
            let [x, y, z] = (rig.space.file_from_si() * l.position).as_vec3().to_array();
            format!("  \"{}\": [{x}, {y}, {z}]", l.name)
        })
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

fn position(value: &Value, rig: &Rig) -> Result<DVec3, String> {
    let of_vertex = |v: u32| rig.space.to_si(rig.neutral[v as usize]);
    match value {
        Value::Number(_) => {
            let n: usize = rig.parts.iter().map(|p| p.n_file_vertices()).sum();
            let advice = format!("give a vertex from 0 to {} or a position [x, y, z]", n.saturating_sub(1));
            let number = value.as_u64().ok_or_else(|| format!("{value} is not a vertex number; {advice}"))?;
            let vertex = file_vertex(rig, number)
                .ok_or_else(|| format!("the file has no vertex {number}; {advice}"))?;
            let p = of_vertex(vertex);
            if p.is_finite() {
                Ok(p)
            } else {
                Err(format!("vertex {number} has no finite position; give another"))
            }
        }
        Value::Array(list) => {
            let numbers: Option<Vec<f32>> = list.iter().map(|v| v.as_f64().map(|x| x as f32)).collect();
            match numbers.as_deref() {
                Some(&[x, y, z]) if [x, y, z].iter().all(|c| c.is_finite()) => Ok(rig.space.to_si([x, y, z])),
                _ => Err("a position needs three finite numbers, [x, y, z] in the file's unit".into()),
            }
        }
        _ => Err("give a vertex number or a position [x, y, z]".into()),
    }
}

/// The rig vertex of vertex `number` of the file, counted over all parts.
fn file_vertex(rig: &Rig, number: u64) -> Option<u32> {
    let mut first = 0u64;
    for part in &rig.parts {
        let n = part.n_file_vertices() as u64;
        if number < first + n {
            return part.rig_vertex.get((number - first) as usize).copied();
        }
        first += n;
    }
    None
}

fn problems_of(problems: Vec<String>) -> IoError {
    IoError::Problems { what: "the landmark file", problems }
}
