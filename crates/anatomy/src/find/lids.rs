//! Lid landmarks: the opening of the eye is where the eyeball is visible from the front, or between lids that
//! close in a blink.

use super::Found;
use super::frame::FaceFrame;
use super::front::{Front, SkinPoint, flat};
use crate::motions::Motion;
use crate::pieces::PieceKind;
use glam::DVec3;
use risorius_mesh::Bvh;
use risorius_rig::Rig;

/// Distance between samples in eye distances.
const STEP: f64 = 0.005;
/// Skin deeper than a lid by this much, in eye distances, is not the other lid.
const DEEP: f64 = 0.15;

/// The opening in one vertical line: the skin above and below it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    upper: SkinPoint,
    lower: SkinPoint,
}

/// An eye's opening from right to left.
struct Opening {
    slots: Vec<Slot>,
    source: String,
    confidence: f64,
}

/// Sets the six landmarks of each eye.
pub fn find(rig: &Rig, front: &Front, frame: &FaceFrame, found: &mut Found) {
    for (side, name) in ["left", "right"].into_iter().enumerate() {
        let sign = 1.0 - 2.0 * side as f64;
        if frame.only_side.is_some_and(|s| s != sign) {
            continue;
        }
        let by_eyeball = frame.eyeballs[side].and_then(|_| opening_by_eyeball(front, frame, side));
        let blink = frame.sided(rig, "eyeBlink", side);
        let opening = match (by_eyeball, blink) {
            (Some(slots), _) => Opening { slots, source: "opening over the eyeball".into(), confidence: 0.9 },
            (None, Some(blink)) => Opening {
                slots: opening_by_blink(front, frame, side, &blink),
                source: blink.name,
                confidence: 0.7,
            },
            _ => continue,
        };
        if opening.slots.len() >= 4 {
            set(front, frame, (name, sign), &opening, found);
        }
    }
}

/// Samples around the eye at which the eyeball lies in front of the skin, by columns from the right.
fn opening_by_eyeball(front: &Front, frame: &FaceFrame, side: usize) -> Option<Vec<Slot>> {
    let kind = [PieceKind::EyeLeft, PieceKind::EyeRight][side];
    let pieces = front.pieces;
    let eye = frame.eyeballs[side]?;
    let tree = Bvh::build(&flat(&pieces.positions), &pieces.triangles_of(&[kind]));
    let step = STEP * frame.unit;
    let n = (1.3 * eye.radius / step) as i64;
    let shows = |x: f64, y: f64| {
        let ball = tree.ray(DVec3::new(x, y, front.start_z()), DVec3::NEG_Z, f64::INFINITY);
        let z = ball.map(|b| front.start_z() - b.distance);
        z.is_some_and(|z| front.at(x, y).is_none_or(|s| s.point.z < z))
    };
    let column = |x: f64, y: f64| {
        // From the middle of the last column, up and down to where skin begins.
        let start = (0..n).flat_map(|i| [i, -i]).map(|i| y + step * i as f64).find(|&y| shows(x, y))?;
        let run = |sign: f64| {
            let skin = (1..2 * n).map(|i| start + sign * step * i as f64).find(|&y| !shows(x, y));
            skin.and_then(|y| front.at(x, y))
        };
        Some(Slot { upper: run(1.0)?, lower: run(-1.0)? })
    };
    let center = column(eye.center.x, eye.center.y)?;
    let follow = |sign: f64| {
        let mut slots = Vec::new();
        let mut last = center;
        for i in 1..n {
            let y = (last.upper.point.y + last.lower.point.y) / 2.0;
            let Some(slot) = column(eye.center.x + sign * step * i as f64, y) else { break };
            slots.push(slot);
            last = slot;
        }
        slots
    };
    let mut slots = follow(-1.0);
    slots.reverse();
    slots.push(center);
    slots.extend(follow(1.0));
    Some(slots)
}

/// For each column, the edge of the upper lid, which blinking moves most, and the skin on which it closes.
fn opening_by_blink(front: &Front, frame: &FaceFrame, side: usize, blink: &Motion) -> Vec<Slot> {
    let Some(center) = frame.eyes[side] else { return Vec::new() };
    let unit = frame.unit;
    let step = STEP * unit;
    let n = (0.3 / STEP) as i64;
    let slot_at = |x: f64| {
        let column = front.column(x, center.y + 0.3 * unit, center.y - 0.3 * unit, step);
        let moved: Vec<DVec3> = column.iter().map(|p| front.moved(p, blink)).collect();
        // The lid's edge moves most; below it is a hole, the eye's socket or the lower lid.
        let edge = (0..column.len()).max_by(|&a, &b| moved[a].length().total_cmp(&moved[b].length()))?;
        if moved[edge].length() < 0.25 * blink.most {
            return None;
        }
        // Where the lid closes; through the opening, rays hit the socket or the back of the head.
        let (closed, depth) = (column[edge].point.y + moved[edge].y, column[edge].point.z - DEEP * unit);
        let lower = column.iter().skip(edge + 1).find(|p| p.point.y <= closed + step && p.point.z > depth)?;
        Some(Slot { upper: column[edge], lower: *lower })
    };
    (-n..=n).filter_map(|i| slot_at(center.x + step * i as f64)).collect()
}

/// Sets the landmarks of the eye called `name`, which lies on the side `sign`.
fn set(front: &Front, frame: &FaceFrame, (name, sign): (&str, f64), opening: &Opening, found: &mut Found) {
    let Opening { slots, source, confidence } = opening;
    let (source, confidence) = (source.as_str(), *confidence);
    let (first, last) = (&slots[0], &slots[slots.len() - 1]);
    let (inner, outer) = if sign > 0.0 { (first, last) } else { (last, first) };
    let middle = |s: &Slot| (s.upper.point + s.lower.point) / 2.0;
    let (inner, outer) = (middle(inner), middle(outer));
    let step = STEP * frame.unit;
    for (what, corner, out) in [("inner", inner, -sign), ("outer", outer, sign)] {
        let outside = (1..10).filter_map(|i| front.at(corner.x + out * step * i as f64, corner.y));
        if let Some(p) = outside.into_iter().find(|p| p.point.z > corner.z - DEEP * frame.unit) {
            found.set(front, &format!("eye_{name}_{what}"), p, confidence, source);
        }
    }
    for (what, part) in [("inner", 0.33), ("outer", 0.67)] {
        let x = inner.x + (outer.x - inner.x) * part;
        let off = |s: &&Slot| (s.upper.point.x - x).abs();
        let Some(slot) = slots.iter().min_by(|a, b| off(a).total_cmp(&off(b))) else { continue };
        found.set(front, &format!("lid_upper_{name}_{what}"), slot.upper, confidence, source);
        found.set(front, &format!("lid_lower_{name}_{what}"), slot.lower, confidence, source);
    }
}
