//! The film of saliva between closed lips: places that touch in the neutral resist being pulled apart.
//!
//! Two wet surfaces at a distance h are held together by the capillary pressure `2 gamma / h`. With the
//! surface tension of saliva, gamma = 0.05 N/m, that is 500 Pa at 0.2 mm, more than twice the pull of a lip
//! of 10 mm at 2 g. Physics may then shake closed lips, and they stay closed unless the flesh really parts
//! them. The traction over the opening o is
//!
//! ```text
//! T(o) = T0 (o / l) exp(1 - o / l),    l = 0.2 mm
//! ```
//!
//! zero in the pose, T0 at o = l, and next to nothing beyond a millimeter, where the film has torn. This is
//! an assumption: thickness and strength of the film were chosen, not measured. Tone of the muscle that
//! closes the lips acts in the same way.
//!
//! The opening is the displacement along the normal relative to the pose, so a pose that nothing moves has no
//! force. Where the pose itself opens the lips, the film fades within a millimeter. In a solve, the film is a
//! linear spring with the secant stiffness T(o)/o at its start: a [`Contact`] with the normal turned around.
//!
//! Films are found once, in the neutral. A coarse body needs no film at every vertex of a fine surface:
//! points attached to the same element share one, with the sum of their areas.

use crate::contact::detect::Posed;
use crate::contact::fans::Fans;
use crate::contact::planes::{Contact, TetAttachment};
use glam::DVec3;

/// Opening at which the traction is largest, meters.
const PEAK: f64 = 2e-4;

/// Films longer than this have torn, meters.
const TORN: f64 = 1.5e-3;

/// Clearance in the neutral up to which two places count as touching, meters.
pub(super) const TOUCHING: f64 = 5e-4;

/// Opening of the pose over which films fade, meters.
const FADE: f64 = 1e-3;

/// A point and the place on a triangle that it touches in the neutral.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Film {
    pub point: u32,
    pub corners: [u32; 3],
    pub barycentric: [f64; 3],
    /// Wet area, m^2.
    pub area: f64,
}

/// One film per element: of the points that it carries, the closest to the middle of its wet points.
pub(super) fn gathered(all: Vec<Film>, attachments: &[TetAttachment], neutral: &[DVec3]) -> Vec<Film> {
    let tet = |film: &Film| attachments[film.point as usize].tet;
    let mut sorted = all;
    sorted.sort_by_key(|film| (tet(film), film.point));
    let middle = |group: &[Film]| {
        let at = |film: &Film| neutral[film.point as usize];
        let area: f64 = group.iter().map(|film| film.area).sum();
        let center = group.iter().map(at).sum::<DVec3>() / group.len() as f64;
        let nearest =
            group.iter().min_by(|a, b| at(a).distance(center).total_cmp(&at(b).distance(center)))?;
        Some(Film { area, ..*nearest })
    };
    sorted.chunk_by(|a, b| tet(a) == tet(b)).filter_map(middle).collect()
}

impl Film {
    /// The film as a contact when the points are at `positions`, displaced from `pose`; `None` if it has
    /// torn, or if the pose holds the lips apart. `traction`: T0, Pa.
    pub(super) fn contact(
        &self,
        positions: &[DVec3],
        pose: &Posed,
        fans: &Fans,
        traction: f64,
    ) -> Option<Contact> {
        let [a, b, c] = self.corners;
        let [u, v, w] = self.barycentric;
        let points = [self.point, a, b, c];
        let coefficients = [1.0, -u, -v, -w];
        let moved = |p: u32| positions[p as usize] - pose.points[p as usize];
        let normal = fans.normal_at(&pose.points, self.corners, self.barycentric);
        let along = |of: &dyn Fn(u32) -> DVec3| -> f64 {
            points.iter().zip(coefficients).map(|(&p, c)| normal.dot(of(p)) * c).sum()
        };
        let opening = along(&moved);
        let held_apart = along(&|p| pose.points[p as usize]).max(0.0);
        let fade = 1.0 - held_apart / FADE;
        if fade <= 0.0 || opening > TORN {
            return None;
        }
        let stiffness = self.area * fade * traction / PEAK * (1.0 - opening.max(0.0) / PEAK).exp();
        let (room, wall) = (-opening, f64::INFINITY);
        Some(Contact { points, coefficients, normal: -normal, room, stiffness, wall, film: true })
    }
}

/// The opening of a film at other positions and in another pose, as the room of its contact.
pub(super) fn room(contact: &Contact, positions: &[DVec3], pose: &Posed) -> f64 {
    let moved = |p: u32| contact.normal.dot(positions[p as usize] - pose.points[p as usize]);
    contact.points.iter().zip(contact.coefficients).map(|(&p, c)| moved(p) * c).sum()
}
