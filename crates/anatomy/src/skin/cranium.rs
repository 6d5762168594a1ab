//! Behind the face: cranium, ear and neck of the half cage.
//!
//! The contours of the face go on over the top of the head to the back (C1..C6), each from the middle line to the upper
//! and rear border of the ear, about which they turn like the ribs of a fan. What hangs below the last of them, the ear
//! and the jaw is the neck, in rows down to the border. Millimeters.

use super::cage::{Cage, Label};
use super::ears;
use super::face::Face;
use super::table::{row, rows};
use glam::DVec3;

/// Where ribs C1..C6 begin, on the middle line.
const TOP: &str = "0 112 68, 0 131 27, 0 132.5 -30, 0 107 -77, 0 58 -99, 0 -17 -83";
/// Where they end, at the ear.
const AT_EAR: &str = "74 31.5 -5, 75 30.5 -16, 74 23 -26, 72 10 -31, 69 -5 -31, 65.5 -18 -26";
/// An ellipsoid near the cranium, whose directions space the ribs.
const MIDDLE: DVec3 = DVec3::new(0.0, 46.0, -6.0);
const RADII: DVec3 = DVec3::new(77.0, 88.0, 96.0);
/// Number of segments of a rib.
const SEGMENTS: usize = 8;

/// The last rib, which is the hairline of the nape, from the middle to the ear; it is no arc of the ellipsoid.
const NAPE: &str =
    "0 -17 -83, 12 -17 -82.5, 24 -18 -80, 35 -20 -76, 45 -22 -70, 54 -24 -62, 61 -24 -52, 65 -22 -40, 65.5 -18 -26";

/// Rows of the neck from the front to the back.
const NECK: &str = "
    0 -155.5 31, 20 -154 27, 39 -147 17, 50.5 -138 6, 56 -128 -4, 59 -118 -14, 60 -109 -23, 60.5 -102 -31, 60 -98 -38, 57.5 -95 -46, 52.5 -93 -54, 46 -92 -60, 38 -91 -65.5, 29 -90 -69, 19.5 -90 -71, 10 -90 -72, 0 -90 -72
    0 -165 30, 17 -166 29, 32 -168 24, 45 -170 14, 55 -171 2, 60.5 -171 -10, 63 -171 -20, 64 -171 -29, 63.5 -171 -38, 61 -171 -47, 56.5 -171 -56, 50 -171 -64, 42 -171 -70, 32 -171 -75, 21.5 -171 -78.5, 10.5 -171 -80.5, 0 -171 -81";

/// Builds everything behind the face into `cage`.
pub fn build(cage: &mut Cage, face: &Face) {
    let front = &face.contours[6];
    let mut ribs = vec![front[..=SEGMENTS].to_vec()];
    let (tops, ends) = (row(TOP), row(AT_EAR));
    for i in 0..tops.len() - 1 {
        let points = rib(tops[i], ends[i]);
        ribs.push(cage.add(&points));
    }
    ribs.push(cage.add(&row(NAPE)));
    for pair in ribs.windows(2) {
        cage.strip(&pair[0], &pair[1], |_| Label::Scalp);
    }
    let last = ribs.len() - 1;
    // Around the ear: down its front, then up behind it.
    let mut hole = front[8..=13].to_vec();
    hole.extend((1..=last).rev().map(|r| ribs[r][SEGMENTS]));
    ears::build(cage, &hole);
    let mut above: Vec<u32> = front[13..].iter().rev().copied().collect();
    above.extend(ribs[last].iter().rev());
    for line in rows(NECK) {
        let below = cage.add(&line);
        cage.strip(&above, &below, |_| Label::Neck);
        above = below;
    }
    cage.name("neck_border", &above, false);
}

/// Points from the middle line to the ear, spaced by angle, on the ellipsoid moved so that both ends are met.
fn rib(top: DVec3, end: DVec3) -> Vec<DVec3> {
    let unit = |p: DVec3| ((p - MIDDLE) / RADII).normalize();
    let on_ellipsoid = |d: DVec3| MIDDLE + d * RADII;
    let (a, b) = (unit(top), unit(end));
    let angle = a.dot(b).clamp(-1.0, 1.0).acos();
    let at = |t: usize| {
        let s = t as f64 / SEGMENTS as f64;
        let d = (((1.0 - s) * angle).sin() * a + (s * angle).sin() * b) / angle.sin();
        let mut p = on_ellipsoid(d) + (1.0 - s).powi(2) * (top - on_ellipsoid(a)) + s.powi(3) * (end - on_ellipsoid(b));
        if t == 0 {
            p.x = 0.0;
        }
        p
    };
    (0..=SEGMENTS).map(at).collect()
}
