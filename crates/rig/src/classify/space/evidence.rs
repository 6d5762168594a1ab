//! Evidence from a rig's vertices and shapes for the up, front and left directions and the size of the head.

use super::{Measure, Toward, Vote};
use crate::classify::names::{self, ARKIT, Side};
use crate::model::Rig;
use glam::{DVec3, Vec3};
use risorius_base::space::Axis;
use risorius_mesh::query::bvh::{Aabb, Bvh, bounds};
use risorius_mesh::surface::topology::{Edges, boundary_loops};
use std::collections::BTreeMap;

/// Number of vertices whose mirror images are searched for.
const MIRROR_SAMPLES: usize = 1500;
/// Distances from a mirror image to the nearest vertex are clamped to this fraction of the head's diagonal.
const MIRROR_REACH: f64 = 0.05;
/// Spread of a head's height when it is the only measure, and when it supports measures from shapes.
const HEIGHT_SPREAD: [f64; 2] = [0.35, 0.8];

/// Thickness of the outermost slice of a head that is examined for a cut, as a fraction of its extent.
const SLICE: f64 = 0.04;

/// Everything that was found.
pub(crate) struct Evidence {
    pub votes: Vec<Vote>,
    bounds: Option<Aabb>,
    motions: Motions,
}

/// Where and how much a shape moves the face.
#[derive(Debug, Clone, Copy)]
struct Motion {
    /// Mean of the positions, weighted by the square of their displacement.
    center: DVec3,
    /// Mean of the displacements, weighted by their length.
    mean: DVec3,
}

/// Motions by ARKit index, and by base and side for all shapes that have sides.
#[derive(Default)]
struct Motions {
    arkit: BTreeMap<usize, Motion>,
    sides: BTreeMap<(String, Side), Motion>,
    /// Where all shapes together move the face.
    all: Option<DVec3>,
}

/// Gathers all evidence.
pub fn gather(rig: &Rig) -> Evidence {
    let motions = Motions::of(rig);
    let bounds = bounds(&rig.neutral);
    let mut votes = Vec::new();
    if let Some(bounds) = &bounds {
        votes.extend(side_votes(&motions));
        votes.extend(symmetry_vote(rig, bounds));
        votes.extend(up_votes(&motions));
        votes.extend(neck_vote(rig, bounds));
        votes.extend(cut_vote(rig, bounds));
        votes.extend(front_votes(&motions, bounds));
        if motions.all.is_none() {
            votes.extend(density_vote(rig, bounds));
        }
    }
    // Coordinates near the limit of f32 give infinite sizes.
    votes.retain(|v| v.vector.is_finite());
    Evidence { votes, bounds, motions }
}

impl Evidence {
    /// Lengths of the head, given its axes.
    pub fn measures(&self, up: Axis, front: Axis) -> Vec<Measure> {
        let mut found = Vec::new();
        let lateral = up.direction().cross(front.direction()).abs();
        let mut measure = |what, names: [&str; 2], usual, spread| {
            if let [Some(left), Some(right)] = names.map(|n| self.motions.named(n)) {
                let length = (left.center - right.center).dot(lateral).abs();
                found.push(Measure { what, length, usual, spread });
            }
        };
        measure("the distance between the eyes", ["eyeBlinkLeft", "eyeBlinkRight"], 0.063, 0.2);
        measure(
            "the distance between the mouth's corners",
            ["mouthSmileLeft", "mouthSmileRight"],
            0.050,
            0.3,
        );
        if let Some(b) = &self.bounds {
            let size = (b.max - b.min).as_dvec3();
            let (height, width) = (size.dot(up.direction().abs()), size.dot(lateral));
            let spread = HEIGHT_SPREAD[usize::from(!found.is_empty())];
            // A head is taller than wide; a bust with shoulders is larger and about as wide as tall.
            let has_shoulders = width > 0.95 * height;
            let usual = if has_shoulders { 0.42 } else { 0.30 };
            found.push(Measure { what: "the height", length: height, usual, spread });
            if has_shoulders {
                found.push(Measure { what: "the width", length: width, usual, spread });
            }
        }
        // Flat or pointlike meshes give no usable lengths.
        found.retain(|m| m.length > 0.0 && m.length.is_finite());
        found
    }
}

impl Motion {
    fn of(rig: &Rig, shape: usize) -> Option<(Self, f64)> {
        let deltas = &rig.shapes[shape].deltas;
        let (mut center, mut mean, mut weight, mut length) = (DVec3::ZERO, DVec3::ZERO, 0.0, 0.0);
        for (&v, &offset) in deltas.vertices.iter().zip(&deltas.offsets) {
            let (p, d) = (Vec3::from(rig.neutral[v as usize]).as_dvec3(), Vec3::from(offset).as_dvec3());
            if p.is_finite() && d.is_finite() {
                let d_sq = d.length_squared();
                center += p * d_sq;
                weight += d_sq;
                mean += d * d_sq.sqrt();
                length += d_sq.sqrt();
            }
        }
        (weight > 0.0).then(|| (Self { center: center / weight, mean: mean / length }, weight))
    }
}

impl Motions {
    fn of(rig: &Rig) -> Self {
        let mut found = Self::default();
        let (mut all, mut n) = (DVec3::ZERO, 0.0);
        for (s, shape) in rig.shapes.iter().enumerate() {
            let Some((motion, _)) = Motion::of(rig, s) else { continue };
            if let Some(i) = names::arkit_index(&shape.name) {
                found.arkit.entry(i).or_insert(motion);
            }
            let key = names::key(&shape.name);
            if let Some(side) = key.side {
                found.sides.entry((key.base, side)).or_insert(motion);
            }
            all += motion.center;
            n += 1.0;
        }
        found.all = (n > 0.0).then(|| all / n);
        found
    }

    fn named(&self, name: &str) -> Option<&Motion> {
        ARKIT.iter().position(|a| *a == name).and_then(|i| self.arkit.get(&i))
    }

    /// Mean center of those of `names` that the rig has.
    fn center_of(&self, names: &[&str]) -> Option<DVec3> {
        let centers: Vec<DVec3> = names.iter().filter_map(|n| self.named(n)).map(|m| m.center).collect();
        (!centers.is_empty()).then(|| centers.iter().sum::<DVec3>() / centers.len() as f64)
    }
}

/// Left shapes lie left of right ones; jaw and mouth move to the side in their shape's name.
fn side_votes(motions: &Motions) -> Vec<Vote> {
    let (mut places, mut moves) = (DVec3::ZERO, DVec3::ZERO);
    let mut n_places = 0.0;
    for ((base, side), left) in &motions.sides {
        let Some(right) = motions.sides.get(&(base.clone(), Side::Right)) else { continue };
        if *side != Side::Left {
            continue;
        }
        // The side is a direction in jawLeft and mouthRight.
        if base == "jaw" || base == "mouth" {
            moves += (left.mean - right.mean).normalize_or_zero();
        } else {
            places += (left.center - right.center).normalize_or_zero();
            n_places += 1.0;
        }
    }
    let mut votes = Vec::new();
    if n_places > 0.0 {
        let vector = places / n_places;
        let what = "left and right shapes lie on two sides".to_string();
        votes.push(Vote { what, toward: Toward::Aside, vector, weight: 2.0 });
        let what = "left shapes lie on the character's left".to_string();
        votes.push(Vote { what, toward: Toward::Left, vector, weight: 1.0 });
    }
    if moves != DVec3::ZERO {
        let what = "jaw and mouth move to the side of their name".to_string();
        votes.push(Vote { what, toward: Toward::Left, vector: moves.normalize(), weight: 0.5 });
    }
    votes
}

/// The axis along which the head is its own mirror image.
fn symmetry_vote(rig: &Rig, bounds: &Aabb) -> Option<Vote> {
    let points: Vec<DVec3> =
        rig.neutral.iter().map(|&p| Vec3::from(p).as_dvec3()).filter(|p| p.is_finite()).collect();
    let tree = Bvh::of_points(&rig.neutral);
    let reach = MIRROR_REACH * (bounds.max - bounds.min).as_dvec3().length();
    let middle = (bounds.min.as_dvec3() + bounds.max.as_dvec3()) * 0.5;
    let step = points.len().div_ceil(MIRROR_SAMPLES).max(1);
    let error = [0, 1, 2].map(|k| {
        let distances = points.iter().step_by(step).map(|&p| {
            let mut mirrored = p;
            mirrored[k] = 2.0 * middle[k] - p[k];
            tree.closest_vertex(mirrored, reach).map_or(reach, |(_, d_sq)| d_sq.sqrt())
        });
        distances.sum::<f64>() / (points.len().div_ceil(step) as f64 * reach)
    });
    let best = (0..3).fold(0, |best, k| if error[k] < error[best] { k } else { best });
    let next = (0..3).filter(|&k| k != best).map(|k| error[k]).fold(f64::INFINITY, f64::min);
    let clearness = (next - error[best]) / next;
    let vector = Axis { index: best, negative: false }.direction();
    (clearness > 0.1).then(|| Vote {
        what: "the mesh is most nearly its own mirror image".into(),
        toward: Toward::Aside,
        vector: vector * clearness,
        weight: 1.0,
    })
}

fn up_votes(motions: &Motions) -> Vec<Vote> {
    const HIGH: [&str; 7] = [
        "eyeBlinkLeft",
        "eyeBlinkRight",
        "browInnerUp",
        "browDownLeft",
        "browDownRight",
        "browOuterUpLeft",
        "browOuterUpRight",
    ];
    const LOW: [&str; 7] = [
        "jawOpen",
        "mouthPucker",
        "mouthFunnel",
        "mouthSmileLeft",
        "mouthSmileRight",
        "mouthFrownLeft",
        "mouthFrownRight",
    ];
    let mut votes = Vec::new();
    let mut vote = |what: &str, vector: DVec3, weight| {
        votes.push(Vote {
            what: what.into(),
            toward: Toward::Up,
            vector: vector.normalize_or_zero(),
            weight,
        });
    };
    if let (Some(high), Some(low)) = (motions.center_of(&HIGH), motions.center_of(&LOW)) {
        vote("eyes and brows lie above mouth and jaw", high - low, 2.0);
    }
    for (name, sign, weight) in [("jawOpen", -1.0, 1.0), ("browInnerUp", 1.0, 0.5)] {
        if let Some(m) = motions.named(name) {
            vote(&format!("{name} moves {}", if sign > 0.0 { "up" } else { "down" }), m.mean * sign, weight);
        }
    }
    votes
}

/// The longest open border is the neck, at the bottom.
fn neck_vote(rig: &Rig, bounds: &Aabb) -> Option<Vote> {
    let size = (bounds.max - bounds.min).as_dvec3();
    let middle = (bounds.min.as_dvec3() + bounds.max.as_dvec3()) * 0.5;
    let mut longest: Option<(f64, DVec3)> = None;
    for part in &rig.parts {
        let faces = part.faces.map_vertices(|v| part.rig_vertex[v as usize]);
        for border in boundary_loops(&Edges::of(&faces)) {
            let length = border.length(&rig.neutral);
            if length.is_finite() && longest.is_none_or(|(l, _)| length > l) {
                longest = Some((length, border.center(&rig.neutral)));
            }
        }
    }
    // Shorter borders are eyes and mouths.
    let (_, center) = longest.filter(|&(length, _)| length > size.length() * 0.5)?;
    let away = ((middle - center) / (size * 0.5)).clamp(DVec3::NEG_ONE, DVec3::ONE);
    let vector = if away.is_finite() { away } else { DVec3::ZERO };
    // A border near the middle goes around the face and is not the neck.
    (vector.length() > 0.6).then(|| Vote {
        what: "the open neck is at the bottom".into(),
        toward: Toward::Up,
        vector: vector.clamp_length_max(1.0),
        weight: 0.7,
    })
}

/// A head is round on top and cut off at the bottom, where the outermost slice of the mesh is broad.
fn cut_vote(rig: &Rig, bounds: &Aabb) -> Option<Vote> {
    let size = (bounds.max - bounds.min).as_dvec3();
    let breadth = |k: usize, at_top: bool| {
        let slice = rig.neutral.iter().map(|&p| Vec3::from(p)).filter(|p| {
            let depth = if at_top { bounds.max[k] - p[k] } else { p[k] - bounds.min[k] };
            p.is_finite() && f64::from(depth) <= SLICE * size[k]
        });
        let slice = Aabb::of(slice);
        let part = (slice.max - slice.min).as_dvec3() / size;
        part[(k + 1) % 3] * part[(k + 2) % 3]
    };
    let vector = DVec3::from([0, 1, 2].map(|k| breadth(k, false) - breadth(k, true)));
    (vector.is_finite() && vector.length() > 0.1).then(|| Vote {
        what: "the mesh ends broad, cut at neck or shoulders, at the bottom".into(),
        toward: Toward::Up,
        vector: vector.clamp_length_max(1.0),
        weight: 0.7,
    })
}

fn front_votes(motions: &Motions, bounds: &Aabb) -> Vec<Vote> {
    let mut votes = Vec::new();
    let outward: Vec<(&str, DVec3)> = ["mouthPucker", "mouthFunnel", "jawForward", "tongueOut"]
        .iter()
        .filter_map(|&n| motions.named(n).map(|m| (n, m.mean.normalize_or_zero())))
        .collect();
    if !outward.is_empty() {
        let names: Vec<&str> = outward.iter().map(|(n, _)| *n).collect();
        let vector = outward.iter().map(|(_, v)| *v).sum::<DVec3>() / outward.len() as f64;
        let what = format!("{} move to the front", names.join(", "));
        votes.push(Vote { what, toward: Toward::Front, vector, weight: 1.0 });
    }
    if let Some(center) = motions.all {
        let half = (bounds.max - bounds.min).as_dvec3() * 0.5;
        let off = (center - bounds.min.as_dvec3() - half) / half.max_element();
        let what = "shapes act on the front of the head".to_string();
        votes.push(Vote { what, toward: Toward::Front, vector: off.clamp_length_max(1.0), weight: 1.0 });
    }
    votes
}

/// Modelers spend more vertices on a face than on the back of a head.
fn density_vote(rig: &Rig, bounds: &Aabb) -> Option<Vote> {
    let (mut area_center, mut vertex_center, mut area, mut n) = (DVec3::ZERO, DVec3::ZERO, 0.0, 0.0);
    for t in rig.triangles() {
        let [a, b, c] = t.map(|v| Vec3::from(rig.neutral[v as usize]).as_dvec3());
        let (middle, double_area) = ((a + b + c) / 3.0, (b - a).cross(c - a).length());
        if middle.is_finite() && double_area.is_finite() {
            area_center += middle * double_area;
            area += double_area;
            vertex_center += middle;
            n += 1.0;
        }
    }
    let off = (vertex_center / n - area_center / area) / (bounds.max - bounds.min).as_dvec3().length();
    let vector = (off * 10.0).clamp_length_max(1.0);
    (area > 0.0 && vector.is_finite()).then(|| Vote {
        what: "the mesh is finer in the face".into(),
        toward: Toward::Front,
        vector,
        weight: 0.3,
    })
}
