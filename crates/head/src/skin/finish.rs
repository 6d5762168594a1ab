//! Corrections after subdivision: lids rest on the eyeball, lips do not touch, exact symmetry.

use super::cage::{Cage, Label, normals};
use super::{eyes, mouth};
use glam::DVec3;

/// Soft ridges (or furrows) along a line: its ends, half breadth, and height, in mm; left side.
const STROKES: [([f64; 3], [f64; 3], f64, f64); 2] = [
    // Sternomastoid: from behind the ear to the pit of the neck, and the hollow in front of it.
    ([58.0, -55.0, -18.0], [17.0, -158.0, 27.5], 11.0, 1.8),
    ([52.0, -84.0, 6.0], [24.0, -150.0, 26.0], 11.0, -1.2),
];

/// Finishes the fine skin (millimeters).
pub fn finish(fine: &mut Cage) {
    for (from, to, reach, height) in STROKES {
        stroke(fine, from.into(), to.into(), reach, height);
    }
    rest_lids_on_eyeballs(fine);
    mouth::part_lips(fine);
}

/// Raises the skin along a line by a bell function of `height`, on both sides of the head.
fn stroke(fine: &mut Cage, from: DVec3, to: DVec3, reach: f64, height: f64) {
    let normals = normals(fine);
    let along = to - from;
    for (p, normal) in fine.points.iter_mut().zip(normals) {
        let q = DVec3::new(p.x.abs(), p.y, p.z);
        let s = ((q - from).dot(along) / along.length_squared()).clamp(0.0, 1.0);
        let distance = q.distance(from + s * along) / reach;
        if distance < 1.0 {
            *p += normal * (height * (1.0 - distance * distance).powi(2));
        }
    }
}

/// Pushes lids and socket out of the eyeball and lets the inner edge of the lids follow it.
fn rest_lids_on_eyeballs(fine: &mut Cage) {
    let (mut near, mut lid) = (vec![false; fine.points.len()], vec![false; fine.points.len()]);
    for (face, (label, _)) in fine.faces.iter().zip(&fine.labels) {
        if matches!(label, Label::EyeSocket | Label::LidUpper | Label::LidLower) {
            face.iter().for_each(|&v| near[v as usize] = true);
            face.iter().for_each(|&v| lid[v as usize] |= *label != Label::EyeSocket);
        }
    }
    let mut edge = vec![false; fine.points.len()];
    for (_, chain) in fine.loops.iter().filter(|(name, _)| name.ends_with("edge_inner")) {
        chain.vertices.iter().for_each(|&v| edge[v as usize] = true);
    }
    for v in (0..fine.points.len()).filter(|&v| near[v]) {
        let p = fine.points[v];
        let center = DVec3::new(eyes::CENTER.x.copysign(p.x), eyes::CENTER.y, eyes::CENTER.z);
        let direction = (p - center).normalize();
        // Away from the edge quads are large, and their centers are nearer to the eyeball than their corners.
        let gap = if edge[v] || lid[v] { eyes::LID_GAP } else { 3.0 * eyes::LID_GAP };
        let surface = eyes::eyeball_radius(direction.z) + gap;
        if edge[v] || (p - center).length() < surface {
            fine.points[v] = center + direction * surface;
        }
    }
}

/// Makes the two halves equal to the bit, and puts the midline at x = 0.
pub(crate) fn symmetrize(fine: &mut Cage) {
    for v in 0..fine.points.len() {
        let m = fine.mirror[v] as usize;
        if m == v {
            fine.points[v].x = 0.0;
        } else if m > v {
            let (p, q) = (fine.points[v], fine.points[m]);
            let mean = 0.5 * (p + DVec3::new(-q.x, q.y, q.z));
            fine.points[v] = mean;
            fine.points[m] = DVec3::new(-mean.x, mean.y, mean.z);
        }
    }
}
