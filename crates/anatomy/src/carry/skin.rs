//! The warp from one skin to another: through the anchors, then fitted to the surface in rounds.
//!
//! Each round warps points of the built-in outer skin, finds for each the closest point of the rig's outer
//! skin with a similar normal within a decreasing distance, and refits the warp to anchors and pairs. Ears
//! are left out, because their folds cause wrong pairs. Pairs at open borders are left out, because half a
//! face or a mask ends there.

use super::anchors::Anchor;
use crate::error::AnatomyError;
use crate::find::Landmarks;
use crate::outer::OuterSkin;
use crate::warp::{Similarity, Warp};
use glam::{DVec3, IVec3};
use rayon::prelude::*;
use risorius_base::Progress;
use risorius_base::progress::tick;
use risorius_head::landmarks::index;
use risorius_head::person::Head;
use std::collections::BTreeMap;

/// Spacing of the samples of the built-in skin in the face and elsewhere (meters).
const SPACING: [f64; 2] = [0.011, 0.02];
/// Search distance for the rig's skin in each round (meters); the last value is used for all further rounds.
const REACH: [f64; 5] = [0.03, 0.022, 0.016, 0.012, 0.01];
/// Softness of pairs in each round (meters).
const SOFTNESS: [f64; 5] = [0.06, 0.03, 0.02, 0.012, 0.008];
/// Least cosine between the normals of a pair.
const FACING: f64 = 0.6;
/// Ears: offset from the tragion to the center, and radius (meters).
const EAR: (DVec3, f64) = (DVec3::new(0.0, 0.005, -0.016), 0.036);

/// A point of the built-in skin.
struct Sample {
    point: DVec3,
    normal: DVec3,
}

/// The warp from the skin `from` to the skin `to`.
pub fn fit(
    anchors: &[Anchor],
    from: &OuterSkin,
    to: &OuterSkin,
    head: &Head,
    marks: &Landmarks,
    rounds: usize,
    progress: &Progress,
) -> Result<Warp, AnatomyError> {
    let part = |f: fn(&Anchor) -> DVec3| -> Vec<DVec3> { anchors.iter().map(f).collect() };
    let (sources, targets) = (part(|a| a.from), part(|a| a.to));
    let weights: Vec<f64> = anchors.iter().map(|a| a.confidence * a.confidence).collect();
    let similarity = Similarity::fit(&sources, &targets, &weights);
    let softness: Vec<f64> = anchors.iter().map(Anchor::softness).collect();
    let mut warp = Warp::fit(similarity, &sources, &targets, &softness);
    let ear = |side: &str| index(&format!("tragion_{side}"));
    let rig_ears: Vec<DVec3> =
        ["left", "right"].iter().filter_map(|s| ear(s)).map(|i| marks.all[i].position).collect();
    let samples = samples(from, head);
    for round in 0..rounds {
        tick(progress, "carry: skin to skin", round as f32 / rounds as f32)?;
        let at = |list: &[f64; 5]| list[round.min(4)];
        let pairs: Vec<(DVec3, DVec3)> = samples
            .par_iter()
            .filter_map(|s| Some((s.point, partner(s, &warp, to, at(&REACH), &rig_ears)?)))
            .collect();
        let mut all = (sources.clone(), targets.clone(), softness.clone());
        for (p, q) in pairs {
            all.0.push(p);
            all.1.push(q);
            all.2.push(at(&SOFTNESS));
        }
        warp = Warp::fit(similarity, &all.0, &all.1, &all.2);
    }
    Ok(warp)
}

/// The point of the rig's skin that corresponds to a sample.
fn partner(s: &Sample, warp: &Warp, to: &OuterSkin, reach: f64, ears: &[DVec3]) -> Option<DVec3> {
    let here = warp.apply(s.point);
    // The warped normal, from two tangents.
    let (u, v) = s.normal.any_orthonormal_pair();
    let along = |t: DVec3| warp.apply(s.point + t * 0.002) - here;
    let normal = along(u).cross(along(v)).normalize_or_zero();
    let c = to.closest(here, reach)?;
    let in_ear = ears.iter().any(|e| c.point.distance(*e + EAR.0) < EAR.1);
    (!c.on_border && !in_ear && c.normal.dot(normal) > FACING).then_some(c.point)
}

/// Evenly spaced points of the outer skin: the first vertex in each cell of a grid; none on ears and low on
/// the neck.
fn samples(skin: &OuterSkin, head: &Head) -> Vec<Sample> {
    let mark = |name: &str| index(name).map(|i| head.landmarks[i]).filter(|p| p.is_finite());
    let ears: Vec<DVec3> = ["tragion_left", "tragion_right"].iter().filter_map(|n| mark(n)).collect();
    let lowest = mark("gnathion").map_or(f64::MIN, |g| g.y - 0.035);
    let (tip, brow) = (mark("nose_tip"), mark("glabella"));
    let in_face = |p: DVec3| {
        let depth = tip.is_none_or(|t| p.z > t.z - 0.09);
        depth && brow.is_none_or(|b| p.y < b.y + 0.05)
    };
    let mut cells: BTreeMap<(bool, [i32; 3]), u32> = BTreeMap::new();
    for &v in &skin.vertices {
        let p = skin.position(v);
        let in_ear = ears.iter().any(|e| p.distance(*e + EAR.0) < EAR.1);
        if !p.is_finite() || in_ear || p.y < lowest {
            continue;
        }
        let face = in_face(p);
        let cell: IVec3 = (p / SPACING[usize::from(!face)]).floor().as_ivec3();
        cells.entry((face, cell.to_array())).or_insert(v);
    }
    cells.values().map(|&v| Sample { point: skin.position(v), normal: skin.normals[v as usize] }).collect()
}
