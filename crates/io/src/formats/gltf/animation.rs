//! Converts animations: weight tracks to clips, node tracks to rigid motions.
//!
//! A clip is linear between its frames. Channels of one animation may have different key times, so a clip has
//! a frame at each of them; steps and cubic splines, which are not linear, get additional frames at most
//! 1/60 s apart. At every key the value is exactly the file's.
//!
//! A node's motion is `P L(t) L(rest)^-1 P^-1` without its scale, where P is the parent's world transform at
//! rest and L the node's own: the product of the motions of a node and its animated ancestors is the whole
//! motion.

use super::accessor::Accessor;
use super::document::Document;
use super::json::Animation;
use super::parts::Placed;
use super::scene::{Tree, local_transform, unit_quat};
use super::{FORMAT, NamedClip, NodeTrack, malformed};
use crate::IoError;
use crate::error::check_count;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use risorius_base::{Progress, progress};
use risorius_rig::clip::MAX_FRAMES;
use risorius_rig::{Clip, RawPart};
use std::collections::{BTreeMap, HashMap};

/// Lowest sampling rate of steps and splines.
const CURVE_FPS: f64 = 60.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Interpolation {
    Linear,
    Step,
    Cubic,
}

/// One sampler: `width` values per key, three times that many for splines.
struct Curve {
    times: Vec<f64>,
    values: Vec<f64>,
    width: usize,
    interpolation: Interpolation,
}

/// Reads all animations of the file.
pub(super) fn animations(
    doc: &Document,
    tree: &Tree,
    placed: &[Placed],
    parts: &[RawPart],
    callback: &Progress,
) -> Result<(Vec<NamedClip>, Vec<NodeTrack>), IoError> {
    let part_nodes: Vec<Option<usize>> = placed.iter().map(|p| p.node).collect();
    let part_of_node: HashMap<usize, usize> =
        part_nodes.iter().enumerate().filter_map(|(p, node)| Some(((*node)?, p))).collect();
    let (mut clips, mut tracks) = (Vec::new(), Vec::new());
    for (i, animation) in doc.root.animations.iter().enumerate() {
        progress::tick(callback, "reading animations", i as f32 / doc.root.animations.len() as f32)?;
        let name = animation.name.clone().unwrap_or_else(|| format!("animation{i}"));
        let place = format!("animation {i} '{name}'");
        if let Some(clip) = weight_clip(doc, animation, &part_of_node, parts, &place)? {
            clips.push(NamedClip { name: name.clone(), clip });
        }
        tracks.extend(node_tracks(doc, tree, animation, &part_nodes, &name, &place)?);
    }
    Ok((clips, tracks))
}

fn weight_clip(
    doc: &Document,
    animation: &Animation,
    part_of_node: &HashMap<usize, usize>,
    parts: &[RawPart],
    place: &str,
) -> Result<Option<Clip>, IoError> {
    let mut curves: Vec<(Curve, &RawPart)> = Vec::new();
    for channel in animation.channels.iter().filter(|c| c.target.path == "weights") {
        let part = channel.target.node.and_then(|n| part_of_node.get(&n)).and_then(|&p| parts.get(p));
        if let Some(part) = part.filter(|p| !p.shapes.is_empty()) {
            curves.push((curve(doc, animation, channel.sampler, part.shapes.len(), true, place)?, part));
        }
    }
    if curves.is_empty() {
        return Ok(None);
    }
    let mut clip = Clip { times_secs: frame_times(curves.iter().map(|c| &c.0), place)?, ..Clip::default() };
    let mut column_of: HashMap<&str, usize> = HashMap::new();
    for name in curves.iter().flat_map(|(_, part)| part.shapes.iter().map(|s| s.name.as_str())) {
        column_of.entry(name).or_insert_with(|| {
            clip.names.push(name.to_string());
            clip.names.len() - 1
        });
    }
    let (n_frames, n_columns) = (clip.times_secs.len(), clip.names.len());
    doc.keep((4 * n_frames).saturating_mul(n_columns) as u64, place)?;
    clip.values = vec![0.0; n_frames * n_columns];
    let (mut filled, mut differs) = (vec![false; n_columns], vec![false; n_columns]);
    for (curve, part) in &curves {
        doc.look_at((n_frames * curve.width) as u64, place)?;
        let columns: Vec<usize> = part.shapes.iter().map(|s| column_of[s.name.as_str()]).collect();
        for (f, &t) in clip.times_secs.iter().enumerate() {
            for (value, &column) in curve.sample(t).into_iter().zip(&columns) {
                let (value, slot) = (value as f32, &mut clip.values[f * n_columns + column]);
                if !filled[column] {
                    *slot = value;
                } else if *slot != value {
                    differs[column] = true;
                }
            }
        }
        columns.into_iter().for_each(|c| filled[c] = true);
    }
    for name in clip.names.iter().zip(differs).filter_map(|(name, differs)| differs.then_some(name)) {
        doc.note(format!("{place} gives '{name}' different values on different meshes; the first is used"));
    }
    clip.check()?;
    Ok(Some(clip))
}

fn node_tracks(
    doc: &Document,
    tree: &Tree,
    animation: &Animation,
    part_nodes: &[Option<usize>],
    name: &str,
    place: &str,
) -> Result<Vec<NodeTrack>, IoError> {
    // Per node its translation and its rotation.
    let mut by_node: BTreeMap<usize, [Option<Curve>; 2]> = BTreeMap::new();
    for channel in &animation.channels {
        let (slot, width) = match channel.target.path.as_str() {
            "translation" => (0, 3),
            "rotation" => (1, 4),
            "scale" => {
                doc.note(format!("{place} scales a node over time, which is not imported"));
                continue;
            }
            _ => continue,
        };
        let Some(node) = channel.target.node else { continue };
        if node >= doc.root.nodes.len() {
            return Err(malformed(place, format!("it moves node {node}, which does not exist")));
        }
        by_node.entry(node).or_default()[slot] =
            Some(curve(doc, animation, channel.sampler, width, false, place)?);
    }
    let mut tracks = Vec::new();
    for (node, curves) in by_node {
        doc.look_at(tree.world.len() as u64, place)?;
        let times_secs = frame_times(curves.iter().flatten(), place)?;
        doc.keep(64 * times_secs.len() as u64, place)?;
        let (positions, rotations) = rigid_motion(doc, tree, node, &curves, &times_secs, place)?;
        let json = &doc.root.nodes[node];
        let node_name = json.name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| format!("node{node}"));
        let is_ancestor_of_parts = tree.parts_below(node, part_nodes);
        let animation = name.to_string();
        tracks.push(NodeTrack {
            animation,
            node,
            node_name,
            is_ancestor_of_parts,
            depth: tree.depth(node),
            times_secs,
            positions,
            rotations,
        });
    }
    Ok(tracks)
}

type Motion = (Vec<[f64; 3]>, Vec<[f64; 4]>);

fn rigid_motion(
    doc: &Document,
    tree: &Tree,
    node: usize,
    [translation, rotation]: &[Option<Curve>; 2],
    times: &[f64],
    place: &str,
) -> Result<Motion, IoError> {
    let parent = tree.parent[node].map_or(DAffine3::IDENTITY, |p| tree.world[p]);
    let linear = parent.matrix3;
    let invertible = linear.determinant() != 0.0 && linear.determinant().is_finite();
    let inverse = if invertible { linear.inverse() } else { DMat3::IDENTITY };
    let local = local_transform(&doc.root.nodes[node]);
    let rest_rotation = rotation_part(local.matrix3);
    let rest_origin = tree.world[node].translation;
    let (mut positions, mut rotations) =
        (Vec::with_capacity(times.len()), Vec::<[f64; 4]>::with_capacity(times.len()));
    for (f, &t) in times.iter().enumerate() {
        let turned = rotation.as_ref().map_or(rest_rotation, |c| c.sample_rotation(t));
        let own = DMat3::from_quat(turned * rest_rotation.inverse());
        let mut q = if invertible { rotation_part(linear * own * inverse) } else { DQuat::IDENTITY };
        // Keep neighboring frames in the same hemisphere of quaternions, so that they can be interpolated.
        if rotations.last().is_some_and(|&last| q.dot(DQuat::from_array(last)) < 0.0) {
            q = -q;
        }
        let moved = translation.as_ref().map_or(local.translation, |c| {
            let v = c.sample(t);
            DVec3::new(v[0], v[1], v[2])
        });
        let position = parent.transform_point3(moved) - q * rest_origin;
        if !position.is_finite() || !q.is_finite() {
            let problem = format!("the motion of node {node} is not finite at {t} s (frame {f})");
            return Err(malformed(place, problem));
        }
        positions.push(position.to_array());
        rotations.push(q.to_array());
    }
    Ok((positions, rotations))
}

/// The rotation of a matrix without its scale and mirroring.
fn rotation_part(m: DMat3) -> DQuat {
    let sign = if m.determinant() < 0.0 { -1.0 } else { 1.0 };
    let x = m.x_axis.normalize_or_zero() * sign;
    let y = (m.y_axis * sign).reject_from_normalized(x).normalize_or_zero();
    let q = DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y)));
    if x == DVec3::ZERO || y == DVec3::ZERO || !q.is_finite() { DQuat::IDENTITY } else { q.normalize() }
}

/// The key times of all curves, and times between them where a curve is not linear.
fn frame_times<'c>(curves: impl Iterator<Item = &'c Curve>, place: &str) -> Result<Vec<f64>, IoError> {
    let what = format!("frames of {place}");
    let mut times: Vec<f64> = Vec::new();
    for curve in curves {
        check_count(FORMAT, &what, (times.len() + curve.times.len()) as u64, 4 * MAX_FRAMES as u64)?;
        times.extend_from_slice(&curve.times);
        if curve.interpolation == Interpolation::Linear {
            continue;
        }
        for w in curve.times.windows(2) {
            let n = ((w[1] - w[0]) * CURVE_FPS - 1e-6).ceil();
            check_count(FORMAT, &what, (times.len() as u64).saturating_add(n as u64), MAX_FRAMES as u64)?;
            times.extend((1..n as u64).map(|i| w[0] + (w[1] - w[0]) * i as f64 / n));
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    times.dedup();
    check_count(FORMAT, &what, times.len() as u64, MAX_FRAMES as u64)?;
    Ok(times)
}

fn curve(
    doc: &Document,
    animation: &Animation,
    sampler: usize,
    width: usize,
    scalar: bool,
    place: &str,
) -> Result<Curve, IoError> {
    let Some(sampler) = animation.samplers.get(sampler) else {
        return Err(malformed(place, format!("its sampler {sampler} does not exist")));
    };
    let interpolation = match sampler.interpolation.as_deref().unwrap_or("LINEAR") {
        "LINEAR" => Interpolation::Linear,
        "STEP" => Interpolation::Step,
        "CUBICSPLINE" => Interpolation::Cubic,
        other => return Err(malformed(place, format!("the interpolation '{other}' does not exist"))),
    };
    let times: Vec<f64> = Accessor::open(doc, sampler.input, &format!("times of {place}"))?
        .dense::<1>()?
        .into_iter()
        .map(|[t]| t)
        .collect();
    if times.is_empty() {
        return Err(malformed(place, "it has no keys"));
    }
    let stuck = |i: &usize| !times[*i].is_finite() || (*i > 0 && times[*i] <= times[*i - 1]);
    if let Some(key) = (0..times.len()).find(stuck) {
        return Err(malformed(place, format!("time does not ascend at key {key} ({} s)", times[key])));
    }
    let output = Accessor::open(doc, sampler.output, &format!("values of {place}"))?;
    let per_key = if interpolation == Interpolation::Cubic { 3 } else { 1 };
    let elements = if scalar { width } else { 1 };
    output.expect_count(times.len() * per_key * elements, "its sampler, by keys and targets,")?;
    let values = match width {
        _ if scalar => output.dense::<1>()?.into_iter().flatten().collect(),
        3 => output.dense::<3>()?.into_iter().flatten().collect(),
        _ => output.dense::<4>()?.into_iter().flatten().collect(),
    };
    Ok(Curve { times, values, width, interpolation })
}

impl Curve {
    /// The values of a key in the file; splines have three `part`s per key.
    fn key(&self, key: usize, part: usize) -> &[f64] {
        let per_key = if self.interpolation == Interpolation::Cubic { 3 } else { 1 };
        let first = (key * per_key + part) * self.width;
        &self.values[first..first + self.width]
    }

    fn sample(&self, t: f64) -> Vec<f64> {
        let value = usize::from(self.interpolation == Interpolation::Cubic);
        let after = self.times.partition_point(|&x| x <= t);
        let before = after.saturating_sub(1);
        if after == 0 || after == self.times.len() || self.times[before] == t {
            return self.key(before, value).to_vec();
        }
        let (a, b) = (self.key(before, value), self.key(after, value));
        let span = self.times[after] - self.times[before];
        let f = (t - self.times[before]) / span;
        match self.interpolation {
            Interpolation::Step => a.to_vec(),
            Interpolation::Linear => a.iter().zip(b).map(|(a, b)| a + (b - a) * f).collect(),
            Interpolation::Cubic => {
                let (out, into) = (self.key(before, 2), self.key(after, 0));
                let (f2, f3) = (f * f, f * f * f);
                let hermite = |i: usize| {
                    (2.0 * f3 - 3.0 * f2 + 1.0) * a[i]
                        + span * (f3 - 2.0 * f2 + f) * out[i]
                        + (3.0 * f2 - 2.0 * f3) * b[i]
                        + span * (f3 - f2) * into[i]
                };
                (0..self.width).map(hermite).collect()
            }
        }
    }

    fn sample_rotation(&self, t: f64) -> DQuat {
        if self.interpolation == Interpolation::Linear {
            let after = self.times.partition_point(|&x| x <= t);
            if after > 0 && after < self.times.len() {
                let [a, b] = [after - 1, after].map(|k| quat(self.key(k, 0)));
                let f = (t - self.times[after - 1]) / (self.times[after] - self.times[after - 1]);
                return a.slerp(b, f);
            }
        }
        quat(&self.sample(t))
    }
}

fn quat(xyzw: &[f64]) -> DQuat {
    unit_quat(xyzw.first_chunk().copied())
}
