//! Lip landmarks: the slit from shapes that part the lips, the borders of the red from the bulge of the lips.
//!
//! Seen from the front, points on both sides of the slit are adjacent at rest and move apart in jawOpen,
//! mouthFunnel and similar shapes. In each vertical line of samples, the slit is where adjacent samples have
//! the largest difference of motion over all these shapes. Its ends are the corners.

use super::Found;
use super::frame::FaceFrame;
use super::front::{Front, SkinPoint};
use super::profile::{self, nearest_height, outermost};
use crate::motions::{Motion, motions};
use glam::DVec3;
use risorius_rig::Rig;

/// Shapes that part the lips.
const PARTING: [&str; 8] = [
    "jawOpen",
    "mouthFunnel",
    "mouthLowerDownLeft",
    "mouthLowerDownRight",
    "mouthUpperUpLeft",
    "mouthUpperUpRight",
    "mouthShrugUpper",
    "mouthRollLower",
];
/// Distances between samples along and across the slit, in eye distances.
const ALONG: f64 = 0.008;
const ACROSS: f64 = 0.005;

/// The slit at one x.
#[derive(Debug, Clone, Copy)]
pub struct Gap {
    /// Lowest skin of the upper lip.
    pub upper: SkinPoint,
    /// Highest skin of the lower lip.
    pub lower: SkinPoint,
    /// How far they part, in excess of the stretch beside them, in meters.
    pub parting: f64,
}

impl Gap {
    /// Between the lips.
    pub fn middle(&self) -> DVec3 {
        (self.upper.point + self.lower.point) / 2.0
    }
}

/// The slit from the right corner to the left; empty when no shape parts the lips.
pub fn slit(rig: &Rig, front: &Front, frame: &FaceFrame) -> (Vec<Gap>, String) {
    let parting = motions(rig, &PARTING);
    let source = parting.first().map_or(String::new(), |m| m.name.clone());
    let Some(mouth) = frame.mouth.filter(|_| !parting.is_empty()) else { return (Vec::new(), source) };
    let unit = frame.unit;
    let start_x = frame.middle + frame.only_side.unwrap_or(0.0) * 0.001;
    let Some(first) = gap_in_column(front, &parting, start_x, mouth.y, 0.45 * unit, unit) else {
        return (Vec::new(), source);
    };
    // The slit is followed from the middle outward, so that the nostrils and the chin are never mistaken for
    // it.
    let follow = |sign: f64| {
        let mut gaps: Vec<Gap> = Vec::new();
        let mut last = first;
        for i in 1..120 {
            let x = start_x + sign * ALONG * unit * i as f64;
            let y = last.middle().y;
            let gap = gap_in_column(front, &parting, x, y, 0.07 * unit, unit);
            let Some(gap) = gap.filter(|g| g.parting > 0.04 * first.parting.max(last.parting)) else { break };
            gaps.push(gap);
            last = gap;
        }
        gaps
    };
    let mut gaps = if frame.only_side == Some(1.0) { Vec::new() } else { follow(-1.0) };
    gaps.reverse();
    gaps.push(first);
    if frame.only_side != Some(-1.0) {
        gaps.extend(follow(1.0));
    }
    (gaps, source)
}

/// The position of the largest difference of motion between adjacent samples in a column around `y`.
fn gap_in_column(front: &Front, parting: &[Motion], x: f64, y: f64, reach: f64, unit: f64) -> Option<Gap> {
    let column = front.column(x, y + reach, y - reach, ACROSS * unit);
    let moved: Vec<Vec<DVec3>> =
        column.iter().map(|p| parting.iter().map(|m| front.moved(p, m)).collect()).collect();
    let apart = |a: usize, b: usize| {
        let sum: f64 = moved[a].iter().zip(&moved[b]).map(|(p, q)| (*p - *q).length_squared()).sum();
        sum.sqrt()
    };
    let best = (1..column.len()).max_by(|&a, &b| apart(a - 1, a).total_cmp(&apart(b - 1, b)))?;
    let (mut above, mut below) = (best - 1, best);
    // Lips that are apart at rest show the inside between them: continue while the depth drops.
    let is_step =
        |a: &SkinPoint, b: &SkinPoint| (a.point.z - b.point.z).abs() > 2.5 * (a.point.y - b.point.y).abs();
    let limit = (0.06 / ACROSS) as usize;
    for i in (1..=above).rev().take(limit) {
        if is_step(&column[i - 1], &column[i]) && column[i - 1].point.z > column[i].point.z {
            above = i - 1;
        }
    }
    for i in (best..column.len() - 1).take(limit) {
        if is_step(&column[i], &column[i + 1]) && column[i + 1].point.z > column[i].point.z {
            below = i + 1;
        }
    }
    // The smooth stretch of the skin over the same distance does not count as parting.
    let around =
        [best.checked_sub(3), Some(best + 2)].into_iter().flatten().filter(|&i| i + 1 < column.len());
    let smooth = around.map(|i| apart(i, i + 1)).fold(0.0, f64::max);
    let parting = apart(best - 1, best) - smooth;
    Some(Gap { upper: column[above], lower: column[below], parting })
}

/// Sets the landmarks of the mouth from its slit.
pub fn find(
    front: &Front,
    frame: &FaceFrame,
    gaps: &[Gap],
    source: &str,
    subnasale_y: f64,
    found: &mut Found,
) {
    let (Some(right), Some(left)) = (gaps.first(), gaps.last()) else { return };
    let middle = middle_gap(gaps, frame.middle);
    let unit = frame.unit;
    let confidence = 0.9;
    let ends = [(1.0, "left", left), (-1.0, "right", right)];
    for (sign, side, end) in ends.into_iter().filter(|(sign, ..)| frame.only_side.is_none_or(|s| s == *sign))
    {
        let corner = end.middle();
        // The outer corner of the trackers lies just outside the end of the slit.
        let outer = front.at(corner.x + sign * 0.012 * unit, corner.y);
        if let Some(p) = outer {
            found.set(front, &format!("mouth_{side}"), p, confidence, source);
        }
        if let Some(p) = front.at(corner.x - sign * 0.035 * unit, corner.y) {
            found.set(front, &format!("mouth_{side}_inner"), p, 0.8, source);
        }
        let reach = corner.x - frame.middle;
        let gap = |part: f64| middle_gap(gaps, frame.middle + part * reach);
        let inner = gap(0.38);
        found.set(front, &format!("lip_upper_{side}_inner"), inner.upper, 0.8, source);
        found.set(front, &format!("lip_lower_{side}_inner"), inner.lower, 0.8, source);
        let height = subnasale_y - middle.middle().y;
        for (name, part, up) in [
            ("lip_upper_SIDE_2", 0.7, 0.62),
            ("lip_upper_SIDE_peak", 0.28, 0.85),
            ("lip_lower_SIDE_2", 0.74, -0.6),
            ("lip_lower_SIDE_1", 0.4, -0.75),
        ] {
            if let Some(p) = red_border(front, &gap(part), up * height) {
                found.set(front, &name.replace("SIDE", side), p, 0.6, "bulge of the lip");
            }
        }
    }
    found.set(front, "lip_upper_middle_inner", middle.upper, confidence, source);
    found.set(front, "lip_lower_middle_inner", middle.lower, confidence, source);
    let height = subnasale_y - middle.middle().y;
    for (name, up) in [("lip_upper_middle", 0.8), ("lip_lower_middle", -0.75)] {
        if let Some(p) = red_border(front, &middle, up * height) {
            found.set(front, name, p, 0.7, "bulge of the lip");
        }
    }
    let philtrum = found.position("lip_upper_middle").map_or(middle.middle().y + 0.5 * height, |p| p.y);
    let line = profile::middle_line(front, frame, subnasale_y, philtrum);
    if let Some(p) = nearest_height(&line, (subnasale_y + philtrum) / 2.0) {
        found.set(front, "mid_philtrum", p, 0.8, "profile");
    }
}

/// The gap nearest to `x`.
fn middle_gap(gaps: &[Gap], x: f64) -> Gap {
    let off = |g: &&Gap| (g.middle().x - x).abs();
    *gaps.iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(&gaps[0])
}

/// Where the lip bulges most between the slit and a point `up` higher (lower when negative).
fn red_border(front: &Front, gap: &Gap, up: f64) -> Option<SkinPoint> {
    let start = if up > 0.0 { gap.upper.point } else { gap.lower.point };
    let (top, bottom) = (start.y.max(start.y + up), start.y.min(start.y + up));
    let line = front.column(start.x, top, bottom, 0.0002);
    let end = if up > 0.0 { line.first()? } else { line.last()? };
    outermost(&line, start, end.point)
}
