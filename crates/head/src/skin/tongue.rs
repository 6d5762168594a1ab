//! The tongue at rest, built from cross-sections from the root to the tip.

use super::cage::{Cage, Label};
use super::teeth::refined;
use super::{METERS, PartMesh};
use glam::DVec3;

/// z, half breadth, y of the upper side beside its furrow, y of the underside; mm.
const SECTIONS: [[f64; 4]; 7] = [
    [40.0, 14.0, -43.0, -62.5],
    [48.0, 14.6, -38.5, -63.5],
    [56.0, 13.6, -38.5, -62.5],
    [63.0, 12.2, -41.0, -60.5],
    [69.0, 10.2, -44.5, -58.0],
    [74.0, 7.6, -47.8, -56.0],
    [77.0, 4.4, -50.2, -53.8],
];
/// Depth of the furrow in the middle.
const FURROW: f64 = 1.1;

/// The tongue as one closed surface.
pub fn build() -> PartMesh {
    let mut cage = Cage::default();
    let mut rings: Vec<Vec<u32>> = Vec::new();
    for [z, w, top, bottom] in SECTIONS {
        let (side, h) = (top + 0.42 * (bottom - top), top - bottom);
        let furrow = FURROW * (h / 20.0);
        let half = [(0.0, top - furrow), (0.55 * w, top), (w, side), (0.62 * w, bottom), (0.0, bottom)];
        let right = half[1..4].iter().rev().map(|&(x, y)| (-x, y));
        let points: Vec<DVec3> = half.into_iter().chain(right).map(|(x, y)| DVec3::new(x, y, z)).collect();
        rings.push(cage.add(&points));
    }
    for pair in rings.windows(2) {
        cage.ring(&pair[0], &pair[1], |_| Label::MouthBag);
    }
    for (ring, dz) in [(&rings[0], -3.0), (&rings[rings.len() - 1], 1.0)] {
        let middle = ring.iter().map(|&v| cage.points[v as usize]).sum::<DVec3>() / ring.len() as f64;
        cage.cap(ring, 2, &[middle + dz * DVec3::Z], Label::MouthBag);
    }
    let fine = refined(cage, 2);
    let mut part = PartMesh { name: "tongue".into(), groups: vec![("tongue", 0)], ..PartMesh::default() };
    part.positions = fine.points.iter().map(|p| *p * METERS).collect();
    fine.faces.iter().for_each(|f| part.faces.push(f));
    part
}
