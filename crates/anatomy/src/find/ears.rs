//! Ear landmarks: seen from the side, the front edge where the ear rises from the cheek.

use super::Found;
use super::frame::FaceFrame;
use super::front::{Front, SkinPoint};
use glam::DVec3;

/// Distance between samples in eye distances.
const STEP: f64 = 0.02;
/// Least rise of the ear over two samples, in eye distances.
const STANDS_OUT: f64 = 0.045;

/// Largest length of the ear's hollow, in eye distances.
const HOLLOW: f64 = 0.4;

/// Height of the tragus, as a fraction from the top of the ear down to the end of its front edge.
const TRAGUS: f64 = 0.62;

/// Sets the tragions, just in front of the ears.
pub fn find(front: &Front, frame: &FaceFrame, found: &mut Found) {
    let (Some(mouth), Some(eye)) = (frame.mouth, frame.eyes[0].or(frame.eyes[1])) else { return };
    let unit = frame.unit;
    for (sign, side) in [(1.0, "left"), (-1.0, "right")] {
        if frame.only_side.is_some_and(|s| s != sign) {
            continue;
        }
        let rows = (1.9 / STEP) as usize;
        let top = eye.y + 0.6 * unit;
        let edge = |i: usize| front_edge(front, frame, sign, top - STEP * unit * i as f64, eye.z, mouth.z);
        let edges: Vec<Option<SkinPoint>> = (0..rows).map(edge).collect();
        let Some(run) = longest_run(&edges) else { continue };
        // An ear is about as tall as the distance between the eyes.
        if !(0.35..1.6).contains(&(run.len() as f64 * STEP)) {
            continue;
        }
        let mut depths: Vec<f64> = edges[run.clone()].iter().flatten().map(|p| p.point.z).collect();
        depths.sort_by(f64::total_cmp);
        // Some rows miss the front edge and find a fold behind it, so the front third is used.
        let z = depths[depths.len() * 2 / 3];
        let y = top - STEP * unit * (run.start as f64 + TRAGUS * run.len() as f64);
        if let Some(p) = from_side(front, frame, sign, y, z) {
            found.set(front, &format!("tragion_{side}"), p, 0.6, "front edge of the ear");
        }
    }
}

/// The skin seen from the side.
fn from_side(front: &Front, frame: &FaceFrame, sign: f64, y: f64, z: f64) -> Option<SkinPoint> {
    front.ray(DVec3::new(frame.middle + sign * 6.0 * frame.unit, y, z), DVec3::new(-sign, 0.0, 0.0))
}

/// In the row at `y`, going back from the cheek: the last peak before the ear rises.
fn front_edge(
    front: &Front,
    frame: &FaceFrame,
    sign: f64,
    y: f64,
    eye_z: f64,
    mouth_z: f64,
) -> Option<SkinPoint> {
    let unit = frame.unit;
    let start = eye_z.min(mouth_z) - 0.35 * unit;
    let row: Vec<Option<SkinPoint>> = (0..(2.2 / STEP) as usize)
        .map(|i| from_side(front, frame, sign, y, start - STEP * unit * i as f64))
        .collect();
    let out = |p: &SkinPoint| (p.point.x - frame.middle) * sign / unit;
    (2..row.len()).find_map(|i| {
        let (before, after) = (row[i - 2]?, row[i]?);
        if out(&after) - out(&before) < STANDS_OUT || out(&after) < 0.8 {
            return None;
        }
        // The hollow of the ear may lie between; the tragus is the peak in front of it.
        let hollow = row[i.saturating_sub((HOLLOW / STEP) as usize)..i - 1].iter().flatten();
        hollow.max_by(|a, b| out(a).total_cmp(&out(b))).copied()
    })
}

/// The longest run of rows with an edge, ignoring single rows without one.
fn longest_run(edges: &[Option<SkinPoint>]) -> Option<std::ops::Range<usize>> {
    let (mut best, mut current) = (0..0, 0..0);
    for i in (0..edges.len()).filter(|&i| edges[i].is_some()) {
        current = if i <= current.end + 1 && !current.is_empty() { current.start..i + 1 } else { i..i + 1 };
        if current.len() > best.len() {
            best = current.clone();
        }
    }
    (best.len() >= 4).then_some(best)
}
