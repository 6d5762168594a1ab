//! Guesses the unit and the axes of a rig from its geometry and its shapes.
//!
//! Files are unreliable: OBJ has neither unit nor axes, and many glTF faces are in centimeters although the
//! format specifies meters. The axes are those of the best scored of the 24 right-handed orientations.
//! Each piece of evidence is a vote, a vector that should point up, to the front or to the character's left:
//! - left and right shapes lie on their sides, and a head is mirror symmetric;
//! - eyes and brows are above mouth and jaw, jawOpen goes down, brows up, the open neck is at the bottom;
//! - pucker, funnel, jawForward and tongueOut go to the front, and shapes act on the front of the head.
//!
//! The unit is the one of m, dm, cm, mm, inch and foot that best makes the eyes 63 mm apart, the mouth of
//! usual width and the head 0.30 m tall, weighted by the spread of each measure and by how common the unit
//! is. Limits: a head rotated by other than quarter turns fits none of the orientations; a whole body without
//! shapes has the wrong height. Without evidence the result is meters, +Y up, +Z front, with a confidence
//! near 0.

use crate::model::Rig;
use glam::DVec3;
use risorius_base::space::{Axis, Space};
use serde::Serialize;

mod evidence;

/// The probable unit and axes of a rig, and the reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpaceGuess {
    /// Unit and axes.
    #[serde(serialize_with = "serialize_space")]
    pub space: Space,
    /// `m`, `dm`, `cm`, `mm`, `inch` or `foot`.
    pub unit_name: &'static str,
    /// The measures that decided the unit.
    pub unit_reason: String,
    /// 0 if only by convention, 1 if certain.
    pub unit_confidence: f64,
    /// The evidence that decided the axes.
    pub axes_reason: String,
    /// 0 if only by convention, 1 if certain.
    pub axes_confidence: f64,
}

/// Name, meters, and log prior probability (up to a constant).
const UNITS: [(&str, f64, f64); 6] = [
    ("m", 1.0, 0.0),
    ("cm", 0.01, 0.0),
    ("mm", 0.001, 0.0),
    ("dm", 0.1, -1.0),
    ("inch", 0.0254, -1.5),
    ("foot", 0.3048, -2.0),
];

/// Log likelihood per measure of "none of these units": that of a length about 2.5 deviations off.
const NO_UNIT: f64 = -3.0;

/// A length that varies little between adult heads.
#[derive(Debug, Clone)]
struct Measure {
    what: &'static str,
    /// In the file's unit.
    length: f64,
    /// In meters.
    usual: f64,
    /// Standard deviation of the logarithm.
    spread: f64,
}

/// A vector that should point along one of the head's own axes.
#[derive(Debug, Clone)]
struct Vote {
    what: String,
    toward: Toward,
    /// At most of length 1.
    vector: DVec3,
    weight: f64,
}

/// Where a vote should point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Toward {
    Up,
    Front,
    Left,
    /// To either side.
    Aside,
}

impl Vote {
    /// How much the vote supports an orientation; negative if it opposes it.
    fn score(&self, up: DVec3, front: DVec3) -> f64 {
        let left = up.cross(front);
        self.weight
            * match self.toward {
                Toward::Up => self.vector.dot(up),
                Toward::Front => self.vector.dot(front),
                Toward::Left => self.vector.dot(left),
                Toward::Aside => self.vector.dot(left).abs(),
            }
    }
}

/// Guesses unit and axes of `rig` from its vertices and shapes; its own [`Rig::space`] is ignored.
pub fn guess_space(rig: &Rig) -> SpaceGuess {
    let evidence = evidence::gather(rig);
    let (up, front, axes_confidence) = best_axes(&evidence.votes);
    let measures = evidence.measures(up, front);
    let (unit, unit_confidence) = best_unit(&measures);
    let (unit_name, meters_per_unit, _) = UNITS[unit];
    SpaceGuess {
        space: Space { meters_per_unit, up, front },
        unit_name,
        unit_reason: unit_reason(&measures, meters_per_unit),
        unit_confidence,
        axes_reason: axes_reason(&evidence.votes, up, front),
        axes_confidence,
    }
}

/// The orientation with the most votes, and how clear the decision is.
fn best_axes(votes: &[Vote]) -> (Axis, Axis, f64) {
    let axes = || (0..3).flat_map(|index| [false, true].map(|negative| Axis { index, negative }));
    let mut scored: Vec<(f64, Axis, Axis)> = axes()
        .flat_map(|up| axes().filter(move |front| front.index != up.index).map(move |front| (up, front)))
        .map(|(up, front)| {
            let votes: f64 = votes.iter().map(|v| v.score(up.direction(), front.direction())).sum();
            (votes + convention(up, front), up, front)
        })
        .collect();
    // A stable sort keeps the order of the list among equals.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let margin = (scored[0].0 - scored[1].0).max(0.0);
    (scored[0].1, scored[0].2, margin / (margin + 0.5))
}

/// A small bonus for the axes that most files use, glTF's and then Blender's; it decides when nothing else
/// does.
fn convention(up: Axis, front: Axis) -> f64 {
    match (up.index, up.negative, front.index, front.negative) {
        (1, false, 2, false) => 0.05,
        (2, false, 1, true) => 0.03,
        (1 | 2, false, ..) => 0.01,
        _ => 0.0,
    }
}

/// The likeliest of [`UNITS`] and its probability.
fn best_unit(measures: &[Measure]) -> (usize, f64) {
    let likelihood = |meters: f64, prior: f64| {
        prior
            - measures
                .iter()
                .map(|m| 0.5 * ((m.length * meters / m.usual).ln() / m.spread).powi(2))
                .sum::<f64>()
    };
    let scores = UNITS.map(|(_, meters, prior)| likelihood(meters, prior));
    let best = (0..UNITS.len()).fold(0, |best, i| if scores[i] > scores[best] { i } else { best });
    if measures.is_empty() {
        return (best, 0.0);
    }
    // "None of these" competes too, so that a head of unusual size does not get full confidence in the
    // nearest unit.
    let none = NO_UNIT * measures.len() as f64;
    let top = scores[best].max(none);
    let sum: f64 = scores.iter().chain([&none]).map(|s| (s - top).exp()).sum();
    (best, (scores[best] - top).exp() / sum)
}

fn unit_reason(measures: &[Measure], meters_per_unit: f64) -> String {
    if measures.is_empty() {
        return "nothing to measure; meters are the convention".into();
    }
    let said: Vec<String> = measures
        .iter()
        .map(|m| {
            let [is, usual] = [m.length * meters_per_unit, m.usual].map(|x| x * 1000.0);
            format!("{} of {:.4} units is {is:.0} mm (usual: about {usual:.0} mm)", m.what, m.length)
        })
        .collect();
    said.join("; ")
}

fn axes_reason(votes: &[Vote], up: Axis, front: Axis) -> String {
    let left = up.direction().cross(front.direction());
    let lateral = ['X', 'Y', 'Z'][left.abs().max_position()];
    let (mut supporting, mut opposing) = (Vec::new(), Vec::new());
    for vote in votes {
        let along = match vote.toward {
            Toward::Up => format!("{} ({up} up)", vote.what),
            Toward::Front => format!("{} ({front} front)", vote.what),
            Toward::Left | Toward::Aside => format!("{} ({lateral} sideways)", vote.what),
        };
        match vote.score(up.direction(), front.direction()) / vote.weight {
            s if s > 0.1 => supporting.push(along),
            s if s < -0.1 => opposing.push(along),
            _ => {}
        }
    }
    match (supporting.is_empty(), opposing.is_empty()) {
        (true, _) => format!("nothing in the mesh decides; {up} up and {front} front are the convention"),
        (false, true) => supporting.join("; "),
        (false, false) => {
            format!("{}; evidence against it: {}", supporting.join("; "), opposing.join("; "))
        }
    }
}

fn serialize_space<S: serde::Serializer>(space: &Space, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeStruct;
    let mut fields = serializer.serialize_struct("Space", 3)?;
    fields.serialize_field("meters_per_unit", &space.meters_per_unit)?;
    fields.serialize_field("up", &space.up.to_string())?;
    fields.serialize_field("front", &space.front.to_string())?;
    fields.end()
}
