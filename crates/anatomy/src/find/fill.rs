//! Landmarks that were not detected: mirrored from the other side of the face, or from the built-in head.

use super::front::Front;
use super::{Found, HalfFace, SkinPoint};
use crate::error::AnatomyError;
use crate::note::Note;
use crate::outer::OuterSkin;
use crate::pieces::{Pieces, pieces};
use crate::warp::{Similarity, Warp};
use glam::DVec3;
use risorius_head::landmarks::{self, N_LANDMARKS, NAMES};
use risorius_head::person::Head;
use risorius_rig::Rig;
use risorius_rig::meters;

/// Least confidence of landmarks that determine the warp of the built-in head.
pub(crate) const ANCHOR: f64 = 0.45;
/// Confidence of landmarks from the built-in head.
const WARPED: f64 = 0.25;

/// Sets missing landmarks whose mirror images in `x = middle` were found.
pub fn mirrored(front: &Front, middle: f64, found: &mut Found) {
    for (i, name) in NAMES.iter().enumerate() {
        let Some(other) = found.all[landmarks::mirrored(i)].clone().filter(|_| found.all[i].is_none()) else {
            continue;
        };
        let p = other.position;
        if let Some(p) = front.closest(DVec3::new(2.0 * middle - p.x, p.y, p.z)) {
            let source = format!("mirrored from {}", other.name);
            found.set(front, name, p, 0.8 * other.confidence, &source);
        }
    }
}

/// On half a face: landmarks of the missing side as mirror images, without skin; all of them, or those not
/// yet set. Their triangle and vertex are those of the side that is present.
pub(crate) fn mirrored_in_air(half: &HalfFace, all: bool, found: &mut Found) {
    let missing = if half.side > 0.0 { "right" } else { "left" };
    for i in (0..N_LANDMARKS).filter(|&i| NAMES[i].contains(missing)) {
        let Some(mut other) = found.all[landmarks::mirrored(i)].clone() else { continue };
        let given = found.all[i].as_ref().is_some_and(|l| l.confidence >= 1.0);
        if given || !all && found.all[i].is_some() {
            continue;
        }
        other.position.x = 2.0 * half.plane - other.position.x;
        other.source = format!("mirrored from {}, without skin", other.name);
        (other.name, other.confidence) = (NAMES[i], 0.8 * other.confidence);
        found.all[i] = Some(other);
    }
}

/// Sets missing landmarks from those of the built-in head, warped by the found ones and projected to the
/// skin. `seen` are the positions of the found ones on the head.
pub(crate) fn from_head(
    pieces: &Pieces,
    front: &Front,
    (seen, head): (&[DVec3], &[DVec3]),
    found: &mut Found,
    notes: &mut Vec<Note>,
) {
    let sure = |i: &usize| {
        head[*i].is_finite()
            && found.all[*i].as_ref().is_some_and(|l| l.confidence >= ANCHOR || l.source == MATCHED)
    };
    let anchors: Vec<usize> = (0..N_LANDMARKS).filter(sure).collect();
    let at = |i: &usize| found.all[*i].as_ref().map_or(DVec3::ZERO, |l| l.position);
    let from: Vec<DVec3> = anchors.iter().map(|&i| seen[i]).collect();
    let to: Vec<DVec3> = anchors.iter().map(at).collect();
    let weights: Vec<f64> =
        anchors.iter().map(|&i| found.all[i].as_ref().map_or(0.0, |l| l.confidence * l.confidence)).collect();
    if anchors.is_empty() {
        return;
    }
    let similarity = Similarity::fit(&from, &to, &weights);
    let softness: Vec<f64> = weights.iter().map(|w| 0.01 / w.max(0.01)).collect();
    let warp = Warp::fit(similarity, &from, &to, &softness);
    let outer = OuterSkin::new(&pieces.positions, &pieces.skin);
    let mut n_filled = 0;
    for i in (0..N_LANDMARKS).filter(|&i| head[i].is_finite()) {
        let place = warp.apply(head[i]);
        let Some(p) = outer_point(pieces, &outer, front, place) else { continue };
        let before = found.all[i].as_ref().map_or(0.0, |l| l.confidence);
        let off = p.point.distance(place);
        // Confidence decreases with the distance of the skin from the warped landmark.
        let confidence = WARPED / (1.0 + off / 0.01);
        if before < confidence {
            n_filled += 1;
            found.all[i] = None;
            found.set(front, NAMES[i], p, confidence, "warped from the built-in head");
        }
    }
    if n_filled > 60 {
        let what = format!("{n_filled} of {N_LANDMARKS} landmarks are guesses from the built-in head");
        notes.push(Note::new(what, "check them, and correct wrong ones in a landmark file"));
    }
}

/// The visible skin closest to `p`; any skin where none is visible.
fn outer_point(pieces: &Pieces, outer: &OuterSkin, front: &Front, p: DVec3) -> Option<SkinPoint> {
    let Some(c) = outer.closest(p, f64::INFINITY) else { return front.closest(p) };
    let triangle = pieces.skin.iter().position(|t| *t == c.corners)? as u32;
    Some(SkinPoint { triangle, barycentric: c.barycentric, point: c.point })
}

/// Source of landmarks obtained by aligning the whole built-in head to the skin.
pub(crate) const MATCHED: &str = "built-in head aligned to the skin";

/// Without any detected feature: aligns the built-in head to the skin, from several positions and sizes, and
/// takes all landmarks from there.
pub fn by_shape(
    rig: &Rig,
    pieces_of_rig: &Pieces,
    front: &Front,
    head: &Head,
    found: &mut Found,
    notes: &mut Vec<Note>,
) -> Result<(), AnatomyError> {
    let head_pieces = pieces(&head.rig);
    let source = OuterSkin::new(&meters::neutral(&head.rig), &head_pieces.skin);
    let target = OuterSkin::new(&pieces_of_rig.positions, &pieces_of_rig.skin);
    let fit = if source.is_empty() || target.is_empty() { None } else { best_placement(&source, &target) };
    let n_given = found.all.iter().flatten().count();
    let Some((placement, miss)) = fit.filter(|(_, miss)| *miss < 0.012) else {
        let reached =
            fit.map_or(String::new(), |f| format!(", which misses the skin by {:.0} mm", 1000.0 * f.1));
        return Err(AnatomyError::NoLandmarks {
            rig: rig.name.clone(),
            tried: format!("shapes, eyeballs, aligning the built-in head to the skin{reached}"),
            found: n_given,
            needed: super::NEEDED,
        });
    };
    for (i, name) in NAMES.iter().enumerate() {
        if let Some(p) = front.closest(placement.apply(head.landmarks[i])) {
            found.set(front, name, p, 0.15, MATCHED);
        }
    }
    let what = format!(
        "no shape and no eyeball shows where the face is; the built-in head was aligned to it ({:.1} mm off)",
        1000.0 * miss
    );
    notes.push(Note::new(
        what,
        "check the landmarks; name shapes as ARKit does or give landmarks in a landmark file",
    ));
    Ok(())
}

/// The similarity that brings `source` closest to `target`, from several starts, and the mean distance in
/// meters.
fn best_placement(source: &OuterSkin, target: &OuterSkin) -> Option<(Similarity, f64)> {
    let points = |skin: &OuterSkin| -> Vec<DVec3> {
        let all: Vec<DVec3> =
            skin.vertices.iter().map(|&v| skin.position(v)).filter(|p| p.is_finite()).collect();
        all.iter().step_by((all.len() / 500).max(1)).copied().collect()
    };
    let (from, to) = (points(source), points(target));
    let bounds =
        |list: &[DVec3]| list.iter().fold((DVec3::MAX, DVec3::MIN), |(lo, hi), p| (lo.min(*p), hi.max(*p)));
    let ((a_lo, a_hi), (b_lo, b_hi)) = (bounds(&from), bounds(&to));
    let mut best: Option<(Similarity, f64)> = None;
    // Tops and fronts of the heads aligned, with a few sizes and vertical offsets.
    for scale in [0.85, 1.0, 1.18] {
        for down in [0.0, 0.03, -0.03] {
            let scaled = |p: DVec3| p * scale;
            let x = (b_lo.x + b_hi.x) / 2.0 - scaled((a_lo + a_hi) / 2.0).x;
            let shift = DVec3::new(x, b_hi.y - scaled(a_hi).y - down, b_hi.z - scaled(a_hi).z);
            let rigid = risorius_base::Rigid { translation: shift, ..risorius_base::Rigid::IDENTITY };
            let placed = settle(source, target, Similarity { rigid, scale });
            if placed.1.is_finite() && best.is_none_or(|b| placed.1 < b.1) {
                best = Some(placed);
            }
        }
    }
    best
}

/// Iterative closest points from target samples to the source: the target may be a face alone, but never more
/// than a head.
fn settle(source: &OuterSkin, target: &OuterSkin, start: Similarity) -> (Similarity, f64) {
    let step = (target.vertices.len() / 500).max(1);
    let mut current = start;
    let mut miss = f64::INFINITY;
    for _ in 0..25 {
        let turn_back = current.rigid.inverse();
        let (mut from, mut to, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sum, mut n) = (0.0, 0.0);
        for &v in target.vertices.iter().step_by(step) {
            let q = target.position(v);
            let Some(c) = source.closest(turn_back.apply(q) / current.scale, f64::INFINITY) else { continue };
            let distance = current.apply(c.point).distance(q).min(0.05);
            let facing = (current.rigid.rotation * c.normal).dot(target.normals[v as usize]);
            sum += if facing > 0.3 { distance } else { 0.05 };
            n += 1.0;
            if facing > 0.3 && !c.on_border {
                from.push(c.point);
                to.push(q);
                weights.push(1.0 / (1.0 + (distance / 0.01).powi(2)));
            }
        }
        miss = sum / f64::max(n, 1.0);
        if from.len() < 20 {
            break;
        }
        current = Similarity::fit(&from, &to, &weights);
    }
    (current, miss)
}
