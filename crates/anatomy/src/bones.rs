//! Rigid parts: cranium, mandible, and the joint between them.
//!
//! The built-in ones are sculpted with signed distances ([`implicit`]) from tables of a few dozen forms, turned into
//! triangles on one side ([`contour`]), reduced ([`simplify`]) and mirrored: closed manifolds, symmetric to the bit.

mod contour;
mod cranium;
mod implicit;
mod mandible;
mod simplify;

use glam::{DQuat, DVec3};
use implicit::Sculpt;
use risorius_mesh::{Rigid, Surface};
use simplify::Goal;

/// Cranium and mandible as closed surfaces, in meters, +Y up, +Z front, +X the character's left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bones {
    /// Skull without the jaw, solid: the brain case counts as bone. Includes the upper jaw, not the teeth.
    pub cranium: Surface,
    /// Lower jaw in the pose of the neutral (teeth closed or nearly).
    pub mandible: Surface,
    /// How the mandible moves.
    pub joint: JawJoint,
}

/// The jaw joint: two condyles that turn about the line between them and slide on their tracks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JawJoint {
    /// Centers of the left and right condyle, jaw closed.
    pub condyles: [DVec3; 2],
    /// Unit direction in which a condyle slides when the jaw opens or comes forward: forward and down.
    pub track: DVec3,
    /// Farthest slide along the track, in meters (about 0.012).
    pub track_length: f64,
}

impl JawJoint {
    /// Point between the condyles.
    pub fn center(&self) -> DVec3 {
        (self.condyles[0] + self.condyles[1]) / 2.0
    }

    /// The jaw opened by `angle` (radians) about the condyle axis after the left and right condyle slid by `slides`
    /// (fractions of the track; may be negative a little).
    pub fn motion(&self, angle: f64, slides: [f64; 2]) -> Rigid {
        let moved = [0, 1].map(|side| self.condyles[side] + self.track * (self.track_length * slides[side]));
        let axis_before = (self.condyles[0] - self.condyles[1]).normalize_or(DVec3::X);
        let axis = (moved[0] - moved[1]).normalize_or(DVec3::X);
        let turn = DQuat::from_rotation_arc(axis_before, axis);
        let center = (moved[0] + moved[1]) / 2.0;
        let rotation = DQuat::from_axis_angle(axis, angle) * turn;
        Rigid { rotation, translation: center - rotation * self.center() }
    }
}

/// Skull, jaw and joint of the built-in head. Takes a fraction of a second; keep the result.
pub fn built_in_bones() -> Bones {
    let (cranium, mandible) = rayon::join(
        || meshed(&cranium::sculpt(), 2.0, &Goal { n_vertices: 2700, longest: 12.0 }),
        || meshed(&mandible::sculpt(), 1.5, &Goal { n_vertices: 1100, longest: 8.0 }),
    );
    Bones { cranium, mandible, joint: built_in_joint() }
}

/// The joint of the built-in head: condyles 100 mm apart, tracks of 12 mm that fall by 30 degrees.
pub fn built_in_joint() -> JawJoint {
    JawJoint {
        condyles: [DVec3::new(0.05, 0.0, 0.0), DVec3::new(-0.05, 0.0, 0.0)],
        track: DVec3::new(0.0, -0.5, 0.75f64.sqrt()),
        track_length: 0.012,
    }
}

/// The surface of a sculpt, in meters.
fn meshed(sculpt: &Sculpt, step: f64, goal: &Goal) -> Surface {
    let fine = contour::half_surface(sculpt, DVec3::new(0.0, -100.0, -110.0), DVec3::new(84.0, 150.0, 120.0), step);
    let mut half = simplify::simplify(&fine, goal);
    simplify::relax(&mut half, sculpt, 6);
    let mut whole = contour::mirrored(&half);
    whole.positions.iter_mut().for_each(|p| *p *= 1e-3);
    whole
}
