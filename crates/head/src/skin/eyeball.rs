//! The eyeball mesh: rings around the gaze axis, from the center of the pupil to the back.

use super::METERS;
use super::PartMesh;
use super::eyes::{CENTER, eyeball_radius};
use glam::DVec3;

/// Vertices of a ring.
const AROUND: usize = 32;
/// Angles of the rings from the gaze, in degrees: pupil to 9, iris to 27, then the sclera.
const RINGS: [f64; 19] = [
    4.5, 9.0, 13.5, 18.0, 22.5, 27.0, 28.5, 32.0, 38.0, 45.0, 54.0, 64.0, 76.0, 90.0, 105.0, 120.0, 135.0,
    150.0, 165.0,
];
/// First ring of the iris and of the white.
const IRIS: usize = 1;
const WHITE: usize = 5;

/// The left eyeball, or the right one as its mirror image, looking straight ahead.
pub fn build(name: &str, mirrored: bool) -> PartMesh {
    let mut part = PartMesh { name: name.into(), ..PartMesh::default() };
    let side = if mirrored { -1.0 } else { 1.0 };
    let mut add = |angle: f64, turn: f64| {
        let (s, c) = angle.to_radians().sin_cos();
        let direction = DVec3::new(s * turn.cos(), s * turn.sin(), c);
        let p = CENTER + direction * eyeball_radius(c);
        part.positions.push(DVec3::new(side * p.x, p.y, p.z) * METERS);
    };
    add(0.0, 0.0);
    for ring in RINGS {
        (0..AROUND).for_each(|i| add(ring, i as f64 * std::f64::consts::TAU / AROUND as f64));
    }
    add(180.0, 0.0);
    let last = part.positions.len() as u32 - 1;
    let at = |ring: usize, i: usize| 1 + (ring * AROUND + i % AROUND) as u32;
    let mut push = |face: &mut [u32]| {
        if mirrored {
            face.reverse();
        }
        part.faces.push(face);
    };
    (0..AROUND).for_each(|i| push(&mut [0, at(0, i), at(0, i + 1)]));
    for r in 1..RINGS.len() {
        (0..AROUND).for_each(|i| push(&mut [at(r - 1, i), at(r, i), at(r, i + 1), at(r - 1, i + 1)]));
    }
    (0..AROUND).for_each(|i| push(&mut [last, at(RINGS.len() - 1, i + 1), at(RINGS.len() - 1, i)]));
    part.groups = vec![("pupil", 0), ("iris", (IRIS + 1) * AROUND), ("sclera", (WHITE + 1) * AROUND)];
    part
}
