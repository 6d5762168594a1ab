//! Cranium, ear and neck of the half cage, behind the face.
//!
//! The contours of the face continue over the top of the head to the back (ribs C1..C6). Each runs from the
//! midline to the upper and rear border of the ear, around which they fan out. Below the last rib, the ear
//! and the jaw is the neck, in rows down to the border. Millimeters.

use super::cage::{Cage, Label};
use super::ears;
use super::face::Face;
use super::table::{row, rows};
use glam::DVec3;

/// Start points of ribs C1..C6, on the midline.
const TOP: &str = "0 113 69, 0 133 28, 0 135 -33, 0 110 -85, 0 48 -107.5, 0 -26 -74";
/// Their end points, at the ear.
const AT_EAR: &str = "73.2 22.5 -13, 73.6 20 -21, 73.2 13.5 -27, 71.8 4 -30, 69.3 -8 -29.5, 66.5 -17.5 -24.5";
/// An ellipsoid near the cranium, on which the ribs are spaced by angle.
const MIDDLE: DVec3 = DVec3::new(0.0, 46.0, -6.0);
const RADII: DVec3 = DVec3::new(82.0, 88.0, 97.0);
/// Exponent of the superellipsoid: 2 is an ellipsoid, larger values are fuller between the axes.
const FULLNESS: f64 = 2.45;
/// Positions of the vertices along the foremost contour, dense over the face; ribs further back blend to even
/// spacing.
const FRONT: [f64; SEGMENTS + 1] = [0.0, 0.058, 0.121, 0.188, 0.261, 0.36, 0.497, 0.712, 1.0];
/// Number of segments of a rib.
const SEGMENTS: usize = 8;

/// The last rib: the hairline of the nape, from the midline to the ear. It does not lie on the ellipsoid.
const NAPE: &str = "
    0 -26 -74, 12 -26 -74, 24 -26 -72.5, 35 -26 -69.5, 45 -26 -64.5, 52.5 -26 -57, 58.5 -25 -47, 62 -22 -35,
        66.5 -17.5 -24.5";

/// Rows of the neck from the front to the back.
const NECK: &str = "
    0 -154.5 30, 26 -149 21.5, 44.5 -136 6, 52 -121 -10, 54.5 -105 -22, 55 -88 -31, 55.5 -72 -37, 55 -60 -42,
        52.5 -56 -48, 48.5 -55 -54, 43.5 -55 -59, 37.5 -55 -63, 31 -55 -65.8, 24 -55 -67.6, 16 -55 -69,
        8 -55 -69.7, 0 -55 -70
    0 -165 30, 21 -166 27.5, 40 -168 18.5, 53 -170 4, 60 -171 -12, 62.5 -171 -25, 62.5 -171 -36,
        60.5 -171 -45, 57.5 -171 -52, 53.5 -171 -58, 48.5 -171 -63.5, 42.5 -171 -68, 35 -171 -71.5,
        27 -171 -74.5, 18 -171 -76.5, 9 -171 -77.7, 0 -171 -78";

/// Builds everything behind the face into `cage`.
pub fn build(cage: &mut Cage, face: &Face) {
    let front = &face.contours[6];
    let mut ribs = vec![front[..=SEGMENTS].to_vec()];
    let (tops, ends) = (row(TOP), row(AT_EAR));
    for i in 0..tops.len() - 1 {
        let points = rib(tops[i], ends[i], (i + 1) as f64 / tops.len() as f64);
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

/// Points from the midline to the ear, spaced by angle (evenly for `evenness` 1, like [`FRONT`] for 0), on
/// the ellipsoid displaced so that both ends are interpolated.
fn rib(top: DVec3, end: DVec3, evenness: f64) -> Vec<DVec3> {
    let unit = |p: DVec3| ((p - MIDDLE) / RADII).normalize();
    let on_ellipsoid = |d: DVec3| {
        let size = d.abs().to_array().iter().map(|x| x.powf(FULLNESS)).sum::<f64>().powf(1.0 / FULLNESS);
        MIDDLE + d * RADII / size
    };
    let (a, b) = (unit(top), unit(end));
    let angle = a.dot(b).clamp(-1.0, 1.0).acos();
    let at = |t: usize| {
        let s = FRONT[t] + (t as f64 / SEGMENTS as f64 - FRONT[t]) * evenness;
        let d = (((1.0 - s) * angle).sin() * a + (s * angle).sin() * b) / angle.sin();
        let mut p = on_ellipsoid(d)
            + (1.0 - s).powi(2) * (top - on_ellipsoid(a))
            + s.powi(3) * (end - on_ellipsoid(b));
        if t == 0 {
            p.x = 0.0;
        }
        p
    };
    (0..=SEGMENTS).map(at).collect()
}
