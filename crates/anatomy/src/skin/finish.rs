//! What subdivision cannot promise: lids that rest on the eyeball, lips that do not touch, exact symmetry.

use super::cage::{Cage, Label};
use super::eyes;
use glam::DVec3;

/// Finishes the fine skin (millimeters).
pub fn finish(fine: &mut Cage) {
    rest_lids_on_eyeballs(fine);
}

/// Pushes lids and socket out of the eyeball and lets the inner edge of the lids follow it.
fn rest_lids_on_eyeballs(fine: &mut Cage) {
    let mut near = vec![false; fine.points.len()];
    for (face, (label, _)) in fine.faces.iter().zip(&fine.labels) {
        if matches!(label, Label::EyeSocket | Label::LidUpper | Label::LidLower) {
            face.iter().for_each(|&v| near[v as usize] = true);
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
        let surface = eyes::eyeball_radius(direction.z) + eyes::LID_GAP;
        if edge[v] || (p - center).length() < surface {
            fine.points[v] = center + direction * surface;
        }
    }
}

/// Makes the two halves equal to the last bit, and the middle line lie in the middle.
pub fn symmetrize(fine: &mut Cage) {
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
