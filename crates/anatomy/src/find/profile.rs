//! Midline landmarks: forehead, nose, lips and chin from the intersection of the skin with the symmetry
//! plane.
//!
//! The curve is sampled from the front, so it has one depth for each height. The landmarks are the extremes
//! that anthropometry defines as "most forward" and "deepest"; deepest means farthest behind the chord
//! between the neighboring landmarks.

use super::Found;
use super::frame::FaceFrame;
use super::front::{Front, SkinPoint};
use glam::DVec3;

/// Distance between samples in meters.
const STEP: f64 = 0.0003;

/// Points of the midline that other landmarks are measured from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    /// Tip of the nose.
    pub pronasale: DVec3,
    /// Where nose and upper lip meet.
    pub subnasale: DVec3,
}

/// Samples of the midline from `top` to `bottom`; on half a face slightly inside its border.
pub(crate) fn middle_line(front: &Front, frame: &FaceFrame, top: f64, bottom: f64) -> Vec<SkinPoint> {
    let x = frame.middle + frame.only_side.unwrap_or(0.0) * 0.0005;
    front.column(x, top, bottom, STEP)
}

/// Finds the landmarks of the midline. `slit` is the height of the lips' contact, if it is known.
pub fn find(front: &Front, frame: &FaceFrame, slit: Option<f64>, found: &mut Found) -> Option<Profile> {
    let unit = frame.unit;
    let mouth_y = slit.or(frame.mouth.map(|m| m.y))?;
    let eye_y = frame.eyes[0].or(frame.eyes[1]).map_or(mouth_y + 1.1 * unit, |e| e.y);
    let line = middle_line(front, frame, eye_y + 1.6 * unit, mouth_y - 1.4 * unit);
    let between = |hi: f64, lo: f64| line.iter().filter(move |p| p.point.y <= hi && p.point.y >= lo);
    let forward = |hi: f64, lo: f64| between(hi, lo).max_by(|a, b| a.point.z.total_cmp(&b.point.z)).copied();

    let pronasale = forward(eye_y - 0.1 * unit, mouth_y + 0.15 * unit)?;
    let lip = forward(mouth_y + 0.2 * unit, mouth_y + 0.005 * unit);
    let subnasale = lip.and_then(|l| deepest(&line, pronasale.point, l.point));
    let glabella = forward(eye_y + 0.55 * unit, eye_y + 0.2 * unit)?;
    let nasion = deepest(&line, glabella.point, pronasale.point);
    let mut set = |name: &str, p: Option<SkinPoint>, confidence: f64| {
        if let Some(p) = p {
            found.set(front, name, p, confidence, "profile");
        }
    };
    set("nose_tip", Some(pronasale), 0.95);
    set("subnasale", subnasale, 0.9);
    // The forehead is nearly flat there, so the height is uncertain.
    set("glabella", Some(glabella), 0.5);
    set("nasion", nasion, 0.85);
    if let Some(nasion) = nasion {
        let top = nasion.point.y;
        // The trackers' bridge is evenly spaced; their tip is a little higher than the most forward point.
        let at = |part: f64| nearest_height(&line, top + (pronasale.point.y - top) * part);
        set("nose_bridge_top", at(0.0), 0.7);
        set("nose_bridge_2", at(0.3), 0.8);
        set("nose_bridge_3", at(0.6), 0.8);
        set("rhinion", at(0.45), 0.7);
    }
    let subnasale = subnasale.map_or(pronasale.point, |s| s.point);
    chin(front, frame, &line, mouth_y, found);
    Some(Profile { pronasale: pronasale.point, subnasale })
}

/// Chin and the fold above it.
fn chin(front: &Front, frame: &FaceFrame, line: &[SkinPoint], mouth_y: f64, found: &mut Found) {
    let unit = frame.unit;
    let between = |hi: f64, lo: f64| line.iter().filter(move |p| p.point.y <= hi && p.point.y >= lo);
    let forward = |hi: f64, lo: f64| between(hi, lo).max_by(|a, b| a.point.z.total_cmp(&b.point.z)).copied();
    let Some(lower_lip) = forward(mouth_y - 0.005 * unit, mouth_y - 0.22 * unit) else { return };
    // The chin is the part of the curve below the lips that protrudes most to the front and below.
    let chin_most = |down: f64| {
        let score = move |p: &&SkinPoint| p.point.z - down * p.point.y;
        between(mouth_y - 0.3 * unit, mouth_y - 1.0 * unit)
            .max_by(|a, b| score(a).total_cmp(&score(b)))
            .copied()
    };
    let Some(front_of_chin) = chin_most(0.35) else { return };
    let supramentale = deepest(line, lower_lip.point, front_of_chin.point);
    let fold_y = supramentale.map_or(lower_lip.point.y - 0.15 * unit, |s| s.point.y);
    let pogonion = forward(fold_y, front_of_chin.point.y - 0.05 * unit).unwrap_or(front_of_chin);
    if let Some(s) = supramentale {
        found.set(front, "supramentale", s, 0.8, "profile");
    }
    found.set(front, "pogonion", pogonion, 0.75, "profile");
    if let Some(p) = chin_most(1.0) {
        found.set(front, "gnathion", p, 0.7, "profile");
    }
    if let Some(p) = chin_most(1.4) {
        found.set(front, "chin_middle", p, 0.7, "profile");
    }
}

/// The point of the line between `a` and `b` farthest behind their chord.
pub fn deepest(line: &[SkinPoint], a: DVec3, b: DVec3) -> Option<SkinPoint> {
    let (hi, lo) = if a.y > b.y { (a, b) } else { (b, a) };
    let along = (lo - hi).with_x(0.0).normalize_or_zero();
    // Forward normal of the chord, which runs downward.
    let ahead = DVec3::new(0.0, along.z, -along.y);
    let depth = |p: &&SkinPoint| -(p.point - hi).dot(ahead);
    line.iter()
        .filter(|p| p.point.y < hi.y && p.point.y > lo.y)
        .max_by(|p, q| depth(p).total_cmp(&depth(q)))
        .copied()
}

/// The point of the line between `a` and `b` farthest in front of their chord.
pub fn outermost(line: &[SkinPoint], a: DVec3, b: DVec3) -> Option<SkinPoint> {
    let (hi, lo) = if a.y > b.y { (a, b) } else { (b, a) };
    let along = (lo - hi).normalize_or_zero();
    let ahead = DVec3::new(0.0, along.z, -along.y);
    let height = |p: &&SkinPoint| (p.point - hi).dot(ahead);
    line.iter()
        .filter(|p| p.point.y < hi.y && p.point.y > lo.y)
        .max_by(|p, q| height(p).total_cmp(&height(q)))
        .copied()
}

/// The sample nearest to a height.
pub(crate) fn nearest_height(line: &[SkinPoint], y: f64) -> Option<SkinPoint> {
    line.iter().min_by(|a, b| (a.point.y - y).abs().total_cmp(&(b.point.y - y).abs())).copied()
}
