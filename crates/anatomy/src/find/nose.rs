//! Nose landmarks: seen from the front, the wings are where the skin drops to the cheek.

use super::Found;
use super::frame::FaceFrame;
use super::front::{Front, SkinPoint};
use super::profile::Profile;

/// Sets the wings (alare), the outer ends of the base and the nostrils.
pub fn find(front: &Front, frame: &FaceFrame, profile: &Profile, found: &mut Found) {
    let unit = frame.unit;
    let base = profile.subnasale.y;
    let top = base + 0.7 * (profile.pronasale.y - base).max(0.08 * unit);
    for (sign, side) in [(1.0, "left"), (-1.0, "right")] {
        if frame.only_side.is_some_and(|s| s != sign) {
            continue;
        }
        let rows = 8;
        let wings: Vec<SkinPoint> = (0..=rows)
            .filter_map(|i| wing(front, frame, sign, base + (top - base) * i as f64 / rows as f64))
            .collect();
        let out = |p: &&SkinPoint| (p.point.x - frame.middle) * sign;
        let Some(widest) = wings.iter().max_by(|a, b| out(a).total_cmp(&out(b))).copied() else { continue };
        // Where the wing is vertical, the widest row is arbitrary; the middle row is as good and more stable.
        let middle = wings.get(wings.len() / 2).filter(|p| out(p) > 0.85 * out(&&widest)).unwrap_or(&widest);
        found.set(front, &format!("alare_{side}"), *middle, 0.7, "drop of the nose's wing");
        let width = widest.point.x - frame.middle;
        for (name, part, up, confidence) in [("nose_base", 0.66, 0.02, 0.7), ("nostril", 0.32, 0.0, 0.65)] {
            let x = frame.middle + part * width;
            if let Some(p) = front.at(x, base + up * unit) {
                found.set(front, &format!("{name}_{side}"), p, confidence, "profile and nose's wing");
            }
        }
    }
}

/// In the row at `y`, the last point of the nose before the steepest drop toward the cheek.
fn wing(front: &Front, frame: &FaceFrame, sign: f64, y: f64) -> Option<SkinPoint> {
    let step = 0.005 * frame.unit;
    let row: Vec<SkinPoint> = (0..)
        .map(|i| 0.12 * frame.unit + step * i as f64)
        .take_while(|&off| off < 0.5 * frame.unit)
        .filter_map(|off| front.at(frame.middle + sign * off, y))
        .collect();
    let drop = |i: usize| row[i - 1].point.z - row[i].point.z;
    let steepest = (1..row.len()).max_by(|&a, &b| drop(a).total_cmp(&drop(b)))?;
    (drop(steepest) > 0.7 * step).then(|| row[steepest - 1])
}
