//! The built-in head: a complete person made in code, and its relatives.

use crate::bones::{Bones, built_in_bones};
use crate::muscles::{Muscle, built_in_muscles};
use crate::{shapes, skin};
use glam::DVec3;
use risorius_rig::Rig;

/// How a person differs from the average; 0 is average, -1 and 1 are the ends that are met in the street.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Identity {
    /// Breadth of head and face.
    pub width: f64,
    /// Height of the face from brow to chin.
    pub length: f64,
    /// Size of the nose.
    pub nose: f64,
    /// Breadth and strength of jaw and chin.
    pub jaw: f64,
    /// How far the brow stands out.
    pub brow: f64,
    /// Thickness of the soft tissue, mostly in cheeks, chin and neck.
    pub fat: f64,
}

/// A person: skin with shapes, and what lies beneath, all in meters, +Y up, +Z front, +X the character's left,
/// origin midway between the condyles.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Parts `skin`, `eye_left`, `eye_right`, `teeth_upper`, `teeth_lower`, `gums_upper`, `gums_lower`, `tongue`; 52 ARKit
    /// shapes and visemes; regions `lips_upper`, `lips_lower`, `lids_left` ...
    pub rig: Rig,
    /// Skull and jaw.
    pub bones: Bones,
    /// The facial muscles.
    pub muscles: Vec<Muscle>,
    /// Positions in the order of [`crate::landmarks::NAMES`]; all lie on the skin.
    pub landmarks: Vec<DVec3>,
}

/// The built-in head with its shapes, skull, jaw and muscles.
pub fn build() -> Head {
    let neutral = skin::neutral();
    let bones = built_in_bones();
    let mut rig = skin::to_rig(&neutral);
    shapes::add_to(&mut rig, &neutral, &bones.joint);
    let landmarks = neutral.landmarks.iter().map(|&v| neutral.parts[0].positions[v as usize]).collect();
    Head { rig, bones, muscles: built_in_muscles(), landmarks }
}
