//! What people write beside scans: landmarks of one scan, weights of all, and a list of scans.
//!
//! - `NAME.landmarks.json`: `{"points": [[x, y, z], ...]}` with the 68 points of common trackers in their
//!   usual order, `null` where one is unknown; or positions by name, `{"nose_tip": [x, y, z]}`. In the
//!   coordinates of the scan.
//! - `approximate_weights.json`: `{"smile": {"mouthSmileLeft": 0.9}, "neutral": {}}`.
//! - `scans.json`: `[{"file": "01.ply", "name": "smile", "weights": {...}, "landmarks": "01.json"}]`; all
//!   but the file may be left out. The neutral has the name `neutral` or empty weights.

use crate::IoError;
use crate::specs::weights::{NamedWeights, json_error};
use glam::DVec3;
use risorius_head::landmarks::{N_LANDMARKS, N_TRACKER, NAMES, index};
use risorius_rig::lookup::unknown;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

/// A scan of the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScanSpec {
    /// The file, relative to the list.
    pub file: String,
    /// The expression; the file's name without its ending if left out.
    pub name: Option<String>,
    /// Approximate slider values.
    pub weights: Option<Vec<(String, f32)>>,
    /// File with landmarks, relative to the list.
    pub landmarks: Option<String>,
}

/// Reads landmarks of a scan, in the order of [`NAMES`].
pub fn read_landmarks(bytes: &[u8]) -> Result<Vec<Option<DVec3>>, IoError> {
    const FORMAT: &str = "scan landmarks";
    #[derive(Deserialize)]
    struct Points {
        points: Vec<Option<[f64; 3]>>,
    }
    let bytes = crate::formats::text::without_bom(bytes);
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|e| json_error(FORMAT, &e))?;
    let mut found = vec![None; N_LANDMARKS];
    if value.get("points").is_some() {
        let Points { points } = serde_json::from_value(value).map_err(|e| json_error(FORMAT, &e))?;
        if points.len() != N_TRACKER {
            let problem = format!("{} points; give the {N_TRACKER} of the tracker's order", points.len());
            return Err(IoError::malformed(FORMAT, "points", problem));
        }
        for (slot, point) in found.iter_mut().zip(points) {
            *slot = point.map(DVec3::from);
        }
    } else {
        type Named = std::collections::BTreeMap<String, [f64; 3]>;
        let named: Named = serde_json::from_value(value).map_err(|e| json_error(FORMAT, &e))?;
        for (name, place) in named {
            let Some(i) = index(&name) else {
                let problem = unknown("landmark", &name, NAMES).to_string();
                return Err(IoError::malformed(FORMAT, name, problem));
            };
            found[i] = Some(DVec3::from(place));
        }
    }
    Ok(found)
}

/// A scan's name and the values of its sliders, by name.
pub type ScanWeights = (String, Vec<(String, f32)>);

/// Reads weights by scan, in the order of the file.
pub fn read_weights(bytes: &[u8]) -> Result<Vec<ScanWeights>, IoError> {
    let bytes = crate::formats::text::without_bom(bytes);
    let all: ByScan = serde_json::from_slice(bytes).map_err(|e| json_error("weights of scans", &e))?;
    Ok(all.0)
}

/// Reads a list of scans.
pub fn read_list(bytes: &[u8]) -> Result<Vec<ScanSpec>, IoError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        file: String,
        name: Option<String>,
        weights: Option<NamedWeights>,
        landmarks: Option<String>,
    }
    let bytes = crate::formats::text::without_bom(bytes);
    let list: Vec<Entry> = serde_json::from_slice(bytes).map_err(|e| json_error("list of scans", &e))?;
    let one = |e: Entry| ScanSpec {
        file: e.file,
        name: e.name,
        weights: e.weights.map(|w| w.0),
        landmarks: e.landmarks,
    };
    Ok(list.into_iter().map(one).collect())
}

struct ByScan(Vec<(String, Vec<(String, f32)>)>);

impl<'de> Deserialize<'de> for ByScan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByScanVisitor)
    }
}

struct ByScanVisitor;

impl<'de> Visitor<'de> for ByScanVisitor {
    type Value = ByScan;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("names of scans with weights, such as {\"smile\": {\"mouthSmileLeft\": 0.9}}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByScan, A::Error> {
        let mut all: Vec<(String, Vec<(String, f32)>)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if all.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom(format!("'{name}' appears twice; keep one")));
            }
            let weights: NamedWeights = map.next_value()?;
            all.push((name, weights.0));
        }
        Ok(ByScan(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_come_by_number_or_by_name() {
        let points: Vec<String> = (0..68).map(|k| format!("[{k}, 1, 2.5]")).collect();
        let text = format!("{{\"points\": [{}, null]}}", points[..67].join(", "));
        let found = read_landmarks(text.as_bytes()).unwrap();
        assert_eq!((found[3], found[67], found.len()), (Some(DVec3::new(3.0, 1.0, 2.5)), None, N_LANDMARKS));
        let found = read_landmarks(b"{\"nose_tip\": [1, 2, 3]}").unwrap();
        assert_eq!(found[index("nose_tip").unwrap()], Some(DVec3::new(1.0, 2.0, 3.0)));
        for (text, part) in [
            ("{\"points\": [[1, 2, 3]]}", "1 points"),
            ("{\"nose_tpi\": [1, 2, 3]}", "nose_tip"),
            ("{\"points\": [[1, 2]]}", "length 2"),
            ("[", "scan landmarks"),
        ] {
            let message = read_landmarks(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn lists_and_weights_are_read() {
        let list =
            read_list(br#"[{"file": "a.ply", "weights": {"jawOpen": 1}}, {"file": "b.obj"}]"#).unwrap();
        assert_eq!(list[0].weights, Some(vec![("jawOpen".to_string(), 1.0)]));
        assert_eq!(list[1], ScanSpec { file: "b.obj".into(), ..ScanSpec::default() });
        let weights = read_weights(br#"{"neutral": {}, "smile": {"mouthSmile_L": 0.9}}"#).unwrap();
        assert_eq!(weights[1], ("smile".to_string(), vec![("mouthSmile_L".to_string(), 0.9)]));
        assert!(read_weights(br#"{"a": {}, "a": {}}"#).unwrap_err().to_string().contains("twice"));
        assert!(read_list(br#"[{"fiel": "a"}]"#).unwrap_err().to_string().contains("fiel"));
    }
}
