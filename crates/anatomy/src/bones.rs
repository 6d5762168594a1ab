//! Rigid parts: cranium, mandible, and the joint between them.

use glam::{DQuat, DVec3};
use risorius_mesh::{Rigid, Surface};

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
