//! Brow landmarks: where the shapes that move the brows act most.

use super::Found;
use super::frame::FaceFrame;
use super::front::Front;
use crate::motions::{Motion, motion};
use risorius_rig::Rig;

/// Positions along a brow, from the nose outward: 0 at the inner, 1 at the outer corner of the eye.
const PLACES: [(&str, f64); 5] = [("inner", -0.33), ("2", 0.1), ("middle", 0.6), ("4", 1.05), ("outer", 1.4)];

/// Sets five landmarks on each brow.
pub fn find(rig: &Rig, front: &Front, frame: &FaceFrame, found: &mut Found) {
    let unit = frame.unit;
    for (side, name) in ["left", "right"].into_iter().enumerate() {
        let sign = 1.0 - 2.0 * side as f64;
        let Some(eye) = frame.eyes[side].filter(|_| frame.only_side.is_none_or(|s| s == sign)) else {
            continue;
        };
        let sided = ["browOuterUp", "browDown"].iter().filter_map(|base| frame.sided(rig, base, side));
        let brow: Vec<Motion> = sided.chain(motion(rig, "browInnerUp")).collect();
        if brow.is_empty() {
            continue;
        }
        let source: Vec<&str> = brow.iter().map(|m| m.name.as_str()).collect();
        let corner = |what: &str| found.position(&format!("eye_{name}_{what}")).map(|p| p.x);
        let inner = corner("inner").unwrap_or(eye.x - sign * 0.25 * unit);
        let outer = corner("outer").unwrap_or(eye.x + sign * 0.25 * unit);
        for (place, part) in PLACES {
            let x = inner + (outer - inner) * part;
            let column = front.column(x, eye.y + 0.75 * unit, eye.y + 0.12 * unit, 0.01 * unit);
            let strength = |p: &super::front::SkinPoint| {
                brow.iter().map(|m| front.moved(p, m).length() / m.most).sum::<f64>()
            };
            let strengths: Vec<f64> = column.iter().map(strength).collect();
            let most = strengths.iter().copied().fold(0.0, f64::max);
            // The middle of the range that moves nearly as far as the maximum.
            let near: Vec<usize> = (0..column.len()).filter(|&i| strengths[i] > 0.93 * most).collect();
            let Some(&chosen) = near.get(near.len() / 2).filter(|_| most > 0.1) else { continue };
            found.set(front, &format!("brow_{name}_{place}"), column[chosen], 0.5, &source.join(", "));
        }
    }
}
