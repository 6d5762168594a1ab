//! Slider values as JSON: `{"jawOpen": 0.6}`.

use crate::IoError;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

const FORMAT: &str = "weights JSON";

/// Reads names and finite values in the order of the file; each name may appear only once.
pub fn read(bytes: &[u8]) -> Result<Vec<(String, f32)>, IoError> {
    let bytes = crate::formats::text::without_bom(bytes);
    let weights: NamedWeights = serde_json::from_slice(bytes).map_err(|e| json_error(FORMAT, &e))?;
    Ok(weights.0)
}

/// The weights as JSON, one per line.
pub fn write(weights: &[(String, f32)]) -> Vec<u8> {
    let map: serde_json::Map<String, serde_json::Value> =
        weights.iter().map(|(name, value)| (name.clone(), shortest(*value))).collect();
    // Serializing numbers and names cannot fail.
    serde_json::to_vec_pretty(&map).unwrap_or_default()
}

/// A number that prints with the digits of an `f32`, not with those of the same value as `f64`.
pub(crate) fn shortest(value: f32) -> serde_json::Value {
    value.to_string().parse::<f64>().map_or(serde_json::Value::Null, Into::into)
}

/// A JSON error with its line.
pub(crate) fn json_error(format: &'static str, error: &serde_json::Error) -> IoError {
    let place = format!("line {}, column {}", error.line(), error.column());
    let message = error.to_string();
    // The message repeats the place at its end.
    let problem = message.split(" at line ").next().unwrap_or_default();
    IoError::malformed(format, place, problem)
}

/// Names with values, each name once.
pub(crate) struct NamedWeights(pub Vec<(String, f32)>);

impl<'de> serde::Deserialize<'de> for NamedWeights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(WeightsVisitor)
    }
}

struct WeightsVisitor;

impl<'de> Visitor<'de> for WeightsVisitor {
    type Value = NamedWeights;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("slider names with numbers, such as {\"jawOpen\": 0.6}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedWeights, A::Error> {
        let mut weights: Vec<(String, f32)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let value: f32 = map.next_value()?;
            if !value.is_finite() {
                return Err(A::Error::custom(format!("'{name}' is {value}; give a finite number")));
            }
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("'{name}' appears twice; keep one")));
            }
            weights.push((name, value));
        }
        Ok(NamedWeights(weights))
    }
}
