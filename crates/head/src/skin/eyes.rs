//! Lids around an eyeball, the socket behind them, and the eyeball itself.
//!
//! The eyeball is a sphere with a cornea, given by its radius as a function of the angle from the gaze. The
//! margin of the lids is a band: the outer edge is where lashes grow, the inner edge rests on the eyeball.

use super::cage::{Cage, Label};
use super::table::{row, rows};
use glam::DVec3;

/// Center of the left eyeball, in mm.
pub(crate) const CENTER: DVec3 = DVec3::new(31.5, 24.0, 64.0);
/// Radius of the sclera, in mm.
pub(crate) const RADIUS: f64 = 12.0;
/// Protrusion of the cornea, in mm.
pub(crate) const CORNEA: f64 = 1.0;
/// Distance of the inner lid edge from the eyeball, in mm.
pub(crate) const LID_GAP: f64 = 0.2;

/// Front view of the outer edge of the lids, k0..k11; z follows from [`EDGE_RADIUS`] except at the corners.
const EDGE: &str = "
    16.3 22.8 73.2, 20 26.2 72.3, 25 28.8 0, 30.5 29.6 0, 36.5 28.7 0, 41.8 26.9 0, 45.2 24.7 67.2,
        42 21.8 0, 37 19.3 0, 31.5 18.4 0, 25.8 18.9 0, 20 20.8 72.2";
/// Distance of the outer edge from the center of the eye.
const EDGE_RADIUS: f64 = 13.7;

/// Rings from the edge outward: lid, crease, fold, rim of the orbit.
const LIDS: &str = "
    14.7 22.8 74.8, 19.3 28.2 73.2, 25 30.9 0, 30.5 31.7 0, 37 30.6 0, 43 27.9 70.9, 47.3 24.4 66.2,
        43.6 19.4 0, 37.8 16.4 0, 31.5 15.4 75.6, 25 16 75.2, 18.6 18.7 73.8
    13.3 23 77.5, 17.6 30.5 76.6, 24.2 32.9 75.1, 30.5 33.6 74.4, 37.6 32.4 73, 44.4 29.4 69, 49 24.5 65,
        45.4 16.8 69.6, 38.6 12.8 74.4, 31.5 11.6 76.1, 24.2 12.4 76.8, 17.2 16.3 77.3
    11.8 23.2 81, 15.6 33.2 81, 22.8 35.5 79.6, 30.5 36 78.2, 38.4 34.6 75.6, 46.2 31.2 70.2, 51 26 63.9,
        47.9 15 68, 40 9.8 74.2, 31.7 8 77, 23.2 9 78.8, 15.2 14.6 80.6
    9.8 23.5 84.8, 10.3 35 86.4, 18 41 86.4, 27 43 85.6, 35.5 43 83, 45 40 76.3, 53.3 28.5 62.8, 50.8 14 66,
        42 6 73.5, 32 4 78, 22 5.5 80.5, 12.3 12.5 86";
/// Distance of the lid ring from the center of the eye.
const LID_RADIUS: f64 = 14.2;

/// The back of the socket, within its ring.
const BACK: &str = "25.5 30 49.5, 37.5 30 49.5, 25.5 18 49.5, 37.5 18 49.5";

/// The ring of twelve at the rim of the orbit, shared with nose, brow and cheek.
pub(crate) struct Orbit {
    /// From the inner corner over the top.
    pub rim: Vec<u32>,
}

/// Radius of the eyeball's surface in a direction whose angle from the gaze has the cosine `cosine`.
pub(crate) fn eyeball_radius(cosine: f64) -> f64 {
    // The cornea is a smaller sphere further in front; it begins at 28 degrees from the gaze.
    let (small, ahead) = (7.8, RADIUS + CORNEA - 7.8);
    let inside: f64 = small * small - ahead * ahead * (1.0 - cosine * cosine);
    RADIUS.max(ahead * cosine + inside.max(0.0).sqrt())
}

/// Builds lids and socket into `cage`.
pub fn build(cage: &mut Cage) -> Orbit {
    let edge: Vec<DVec3> = row(EDGE).into_iter().map(|p| on_sphere(p, EDGE_RADIUS)).collect();
    let inner: Vec<DVec3> = edge.iter().enumerate().map(|(k, p)| inner_edge(k, *p)).collect();
    let equator: Vec<DVec3> = edge.iter().map(|p| behind(*p)).collect();
    let mut rings = vec![cage.add(&equator), cage.add(&inner), cage.add(&edge)];
    for (i, line) in rows(LIDS).into_iter().enumerate() {
        let line: Vec<DVec3> =
            line.into_iter().map(|p| if i == 0 { on_sphere(p, LID_RADIUS) } else { p }).collect();
        rings.push(cage.add(&line));
    }
    // The cap's grid starts at a ring vertex above and to the inside.
    let turned: Vec<u32> = (0..12).map(|i| rings[0][(i + 1) % 12]).collect();
    cage.cap(&turned, 3, &row(BACK), Label::EyeSocket);
    let lid = |i: usize| if i < 6 { Label::LidUpper } else { Label::LidLower };
    cage.ring(&rings[0], &rings[1], |_| Label::EyeSocket);
    for r in 2..rings.len() - 1 {
        cage.ring(&rings[r - 1], &rings[r], lid);
    }
    cage.ring(&rings[5], &rings[6], |i| match i {
        0 | 11 => Label::Nose,
        1..6 => Label::OrbitUpper,
        _ => Label::OrbitLower,
    });
    for (name, ring) in
        [("edge", &rings[2]), ("edge_inner", &rings[1]), ("crease", &rings[4]), ("orbit", &rings[6])]
    {
        cage.name(&format!("lid_upper_left_{name}"), &ring[..7], false);
        let lower: Vec<u32> = [&ring[..1], &ring[6..].iter().rev().copied().collect::<Vec<_>>()].concat();
        cage.name(&format!("lid_lower_left_{name}"), &lower, false);
    }
    Orbit { rim: rings[6].clone() }
}

/// Projects a point of the front view onto a sphere around the eye; points with a nonzero z keep it.
fn on_sphere(p: DVec3, radius: f64) -> DVec3 {
    let (dx, dy) = (p.x - CENTER.x, p.y - CENTER.y);
    if p.z != 0.0 {
        p
    } else {
        DVec3::new(p.x, p.y, CENTER.z + (radius * radius - dx * dx - dy * dy).max(0.0).sqrt())
    }
}

/// The inner edge of the lids behind the outer one; at the inner corner it lies further back, which leaves
/// room for the caruncle.
fn inner_edge(k: usize, edge: DVec3) -> DVec3 {
    let direction = (edge - CENTER).normalize();
    let direction = if k == 0 { DVec3::new(-0.935, -0.05, 0.35).normalize() } else { direction };
    CENTER + direction * (eyeball_radius(direction.z) + LID_GAP)
}

/// The widest ring of the socket, behind the lids.
fn behind(edge: DVec3) -> DVec3 {
    let out = DVec3::new(edge.x - CENTER.x, 1.6 * (edge.y - CENTER.y), 0.0).normalize();
    CENTER + 14.2 * out - 4.0 * DVec3::Z
}
