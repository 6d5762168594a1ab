//! The auricle: rings of twelve from the head over the back of the ear, the helix and the antihelix into the
//! concha.
//!
//! Tables are in the frame of the ear, in mm: u backward in the plane of the ear, v upward along it, w
//! outward from it, origin at the tragus. Ring vertices run down the front (e0 root of the helix, e2 tragus,
//! e5 front of the lobe), and up behind (e6 back of the lobe, e9 above and behind, e11 top).

use super::cage::{Cage, Label};
use super::table::{row, rows};
use glam::DVec3;

/// Origin of the ear's frame.
const TRAGUS: DVec3 = DVec3::new(72.0, 2.0, -8.0);
/// Angle between the plane of the ear and the head, open to the back, in degrees.
const STAND_OFF: f64 = 26.0;
/// Its long axis leans back by this angle.
const LEAN: f64 = 10.0;

/// Back of the ear, rim, inner border of the helix, furrow behind the antihelix, antihelix and border of the
/// concha.
const RINGS: &str = "
    -0.5 20.5 1.8, -0.5 8.5 0.5, 1 0 1.2, 1 -9 0.8, -0.5 -20 0, 4.5 -28.5 -3.2, 14.5 -23 -4.5,
        22.5 -9.5 -5.5, 26 8 -5.5, 24 19.5 -3.5, 16.5 26 -1.5, 7 25.5 0.5
    2 20 2, 2 9 1.5, 8 -0.5 4, 4.5 -9.5 2.2, 1.8 -21 1.2, 6.5 -32 0.8, 17.5 -27.5 0.5, 26.5 -11 1.5,
        31.5 8.5 2, 29 23 2.5, 19 31 2.5, 8.5 29 2.5
    6 15 1, 5 8 0, 10.3 -1 2.2, 8 -9.5 0.2, 6 -20.5 1.8, 9 -27 2.2, 16.5 -23.5 2, 23.3 -9.5 3, 27.5 8.5 3.5,
        25.5 20 3.5, 18 26.5 3.5, 9.5 24.5 3
    8.5 12 -1, 7 7 -4, 9.6 -1 -3.5, 8.3 -8 -4, 8.5 -16.5 0.4, 11.5 -21.5 1.3, 16.5 -18 0.4, 21.3 -7.5 -0.2,
        24.3 8 -0.5, 22.5 17 -0.5, 17 22 -0.5, 11.5 20 -1
    9.5 8.5 -4.5, 8 5 -7, 8.4 -1 -8, 8.5 -7 -7, 9.5 -12.5 -2.5, 13.2 -15 1.4, 17 -11.5 1.6, 19.2 -4 1.6,
        20.3 6 1.2, 18.8 12 0.5, 15.5 14.5 -0.5, 12 12.5 -2.5";

/// Floor of the concha.
const CONCHA: &str = "11 -5 -12, 14.8 -4.5 -9.5, 11 4 -12.5, 15 5 -9.5";

/// Builds the ear on the ring `hole` of the head.
pub fn build(cage: &mut Cage, hole: &[u32]) {
    let mut outer = hole.to_vec();
    for line in rows(RINGS) {
        let inner = cage.add(&line.into_iter().map(in_head).collect::<Vec<_>>());
        cage.ring(&outer, &inner, |_| Label::Ear);
        outer = inner;
    }
    // The cap's first row runs over ring vertices 3..6, below.
    let turned: Vec<u32> = (0..12).map(|i| outer[(i + 3) % 12]).collect();
    let floor: Vec<DVec3> = row(CONCHA).into_iter().map(in_head).collect();
    cage.cap(&turned, 3, &floor, Label::Ear);
}

/// From the frame of the ear to the head.
fn in_head(p: DVec3) -> DVec3 {
    let (out, lean) = (STAND_OFF.to_radians(), LEAN.to_radians());
    let back = DVec3::new(out.sin(), 0.0, -out.cos());
    let (u, v) = (back * lean.cos() - DVec3::Y * lean.sin(), back * lean.sin() + DVec3::Y * lean.cos());
    TRAGUS + u * p.x + v * p.y + u.cross(v) * p.z
}
