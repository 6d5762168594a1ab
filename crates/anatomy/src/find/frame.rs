//! Approximate layout of the face: symmetry plane, eyes, mouth.
//!
//! Eyes come from eyeballs, or from the skin that blinks; the mouth from the skin that smiles or opens.
//! Everything else is searched in windows around them, in units of the distance between the eyes.

use super::front::Front;
use crate::eyes::{Eye, fit_eyes};
use crate::motions::{Motion, motion, motions};
use crate::pieces::Pieces;
use glam::DVec3;
use risorius_rig::Rig;

/// Typical distance between the pupils in meters.
const USUAL_EYES: f64 = 0.063;

/// The approximate layout of a face.
#[derive(Debug, Clone)]
pub(crate) struct FaceFrame {
    /// The symmetry plane is `x = middle`.
    pub middle: f64,
    /// How well the skin mirrors in that plane: fraction of the face whose mirror image is skin too.
    pub symmetry: f64,
    /// Set if only one side of the face is present: +1 the left, -1 the right.
    pub only_side: Option<f64>,
    /// Left and right eye.
    pub eyes: [Option<DVec3>; 2],
    /// Eyeballs, where there are any.
    pub eyeballs: [Option<Eye>; 2],
    /// Center of the mouth.
    pub mouth: Option<DVec3>,
    /// Shapes named left move the right side and vice versa.
    pub swapped: bool,
    /// Distance between the pupils, measured or typical; the unit of search windows.
    pub unit: f64,
}

impl FaceFrame {
    /// The motion of the shape called `base` on a side (0 left, 1 right), corrected for swapped names.
    pub fn sided(&self, rig: &Rig, base: &str, side: usize) -> Option<Motion> {
        sided(rig, base, side, self.swapped)
    }
}

fn sided(rig: &Rig, base: &str, side: usize, swapped: bool) -> Option<Motion> {
    let called = ["Left", "Right"][if swapped { 1 - side } else { side }];
    motion(rig, &format!("{base}{called}"))
}

/// Finds the layout of the face of `rig`; `None` when neither eyes nor a mouth are found.
pub fn frame(rig: &Rig, pieces: &Pieces, front: &Front) -> Option<FaceFrame> {
    let eyeballs = fit_eyes(pieces);
    let pair = |base: &str| {
        [0, 1].map(|side| sided(rig, base, side, false).and_then(|m| center_of(pieces, &m, None)))
    };
    let pairs = ["eyeBlink", "mouthSmile", "browOuterUp", "noseSneer"].map(pair);
    let apart = |p: &[Option<DVec3>; 2]| Some(p[0]?.x - p[1]?.x).filter(|d| d.abs() > 0.005);
    let n_swapped = pairs.iter().filter_map(apart).filter(|d| *d < 0.0).count();
    let swapped = 2 * n_swapped > pairs.iter().filter_map(apart).count();
    let middle_of = |p: &[Option<DVec3>; 2]| apart(p).and_then(|_| Some((p[0]?.x + p[1]?.x) / 2.0));
    let ball_centers = eyeballs.map(|e| e.map(|e| e.center));
    let mut guesses: Vec<f64> = std::iter::once(&ball_centers).chain(&pairs).filter_map(middle_of).collect();
    let (middle, symmetry, only_side) = middle_plane(pieces, front, &mut guesses);
    let blinking = |side: usize| {
        let sign = 1.0 - 2.0 * side as f64;
        sided(rig, "eyeBlink", side, swapped).and_then(|m| center_of(pieces, &m, Some((middle, sign))))
    };
    let mut eyes = [0, 1].map(|s| ball_centers[s].or_else(|| blinking(s)));
    let mirror = |p: DVec3| DVec3::new(2.0 * middle - p.x, p.y, p.z);
    if let Some(side) = only_side {
        // Vertices at the border blink slightly on both sides.
        eyes[usize::from(side > 0.0)] = None;
    } else {
        eyes = [eyes[0].or(eyes[1].map(mirror)), eyes[1].or(eyes[0].map(mirror))];
    }
    let unit = match eyes {
        [Some(l), Some(r)] => (l.x - r.x).abs(),
        [Some(e), None] | [None, Some(e)] => 2.0 * (e.x - middle).abs(),
        _ => USUAL_EYES,
    };
    let mouth = mouth_place(rig, pieces, middle, &eyes, unit);
    if mouth.is_none() && eyes.iter().all(Option::is_none) {
        return None;
    }
    Some(FaceFrame { middle, symmetry, only_side, eyes, eyeballs, mouth, swapped, unit })
}

/// Center of the face's skin that a motion moves, weighted by the squared displacement; restricted to one
/// side of a plane if given.
pub fn center_of(pieces: &Pieces, motion: &Motion, side: Option<(f64, f64)>) -> Option<DVec3> {
    let (mut sum, mut weight) = (DVec3::ZERO, 0.0);
    for &v in &pieces.face {
        let p = pieces.positions[v as usize];
        if side.is_some_and(|(middle, sign)| (p.x - middle) * sign < 0.0) || !p.is_finite() {
            continue;
        }
        let w = motion.moved[v as usize].length_squared();
        sum += p * w;
        weight += w;
    }
    (weight > 0.0).then(|| sum / weight)
}

/// The plane in which most of the face matches its mirror image, the fraction that matches, and the side of
/// half a face.
fn middle_plane(pieces: &Pieces, front: &Front, guesses: &mut Vec<f64>) -> (f64, f64, Option<f64>) {
    let points: Vec<DVec3> = pieces.face.iter().map(|&v| pieces.positions[v as usize]).collect();
    let (lo, hi) = points.iter().fold((f64::MAX, f64::MIN), |(lo, hi), p| (lo.min(p.x), hi.max(p.x)));
    let borders = [(lo, 1.0), (hi, -1.0)];
    guesses.extend([(lo + hi) / 2.0, 0.0]);
    let step = (points.len() / 400).max(1);
    let fit = |plane: f64| {
        let (mut near, mut n, mut shift) = (0.0, 0.0, 0.0);
        for p in points.iter().step_by(step) {
            n += 1.0;
            let mirrored = DVec3::new(2.0 * plane - p.x, p.y, p.z);
            let Some(c) = front.closest(mirrored) else { continue };
            if c.point.distance(mirrored) < 0.004 {
                near += 1.0;
                // Only where the surface faces sideways does the distance determine the plane.
                let normal = front.normal(&c);
                shift += (c.point - mirrored).dot(normal) * normal.x;
            }
        }
        (near / f64::max(n, 1.0), shift / f64::max(near, 1.0))
    };
    let mut best = (guesses[0], 0.0);
    for &guess in guesses.iter() {
        let mut plane = guess;
        for _ in 0..4 {
            plane += fit(plane).1;
        }
        let symmetry = fit(plane).0;
        // Earlier guesses are more reliable; a later one has to be clearly better.
        if symmetry > best.1 + 0.05 {
            best = (plane, symmetry);
        }
    }
    if best.1 >= 0.4 && (best.0 - lo).min(hi - best.0) > 0.25 * (hi - lo) {
        return (best.0, best.1, None);
    }
    // Half a face: its straight border lies in the plane.
    let on_border = |x: f64| points.iter().filter(|p| (p.x - x).abs() < 0.0015).count();
    let (x, side) = if on_border(lo) >= on_border(hi) { borders[0] } else { borders[1] };
    (x, best.1, Some(side))
}

/// Center of the mouth.
fn mouth_place(
    rig: &Rig,
    pieces: &Pieces,
    middle: f64,
    eyes: &[Option<DVec3>; 2],
    unit: f64,
) -> Option<DVec3> {
    const AROUND: [&str; 6] = [
        "mouthPucker",
        "mouthFunnel",
        "mouthSmileLeft",
        "mouthSmileRight",
        "mouthPressLeft",
        "mouthPressRight",
    ];
    let mut centers: Vec<DVec3> =
        motions(rig, &AROUND).iter().filter_map(|m| center_of(pieces, m, None)).collect();
    if centers.is_empty()
        && let Some(c) = motion(rig, "jawOpen").and_then(|m| center_of(pieces, &m, None))
    {
        centers.push(c + DVec3::Y * 0.2 * unit);
    }
    if let Some(count) = (!centers.is_empty()).then_some(centers.len() as f64) {
        let mean = centers.iter().sum::<DVec3>() / count;
        return Some(DVec3::new(middle, mean.y, mean.z));
    }
    // Mouths are a little more than an eye distance below the eyes.
    let eye = eyes[0].or(eyes[1])?;
    Some(DVec3::new(middle, eye.y - 1.1 * unit, eye.z))
}
