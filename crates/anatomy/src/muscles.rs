//! Facial muscles as B-spline solids: shape, fibers, and what they are attached to.
//!
//! The built-in head has 49 as in [Cong16, sec. 3]: orbicularis oris and 24 pairs (the mimic muscles and those that
//! chew, masseter and lateral pterygoid in two parts each, orbicularis oculi likewise; without platysma and neck).
//! They are made from tables of their middle surfaces ([`table`]) and then moved off or onto the bones ([`build`]).
//! Sphincters are rings: their solid is closed by its first and last rows of control points being the same, with equal
//! tangents, so that a fiber runs once around and meets itself. The seam of orbicularis oris is in the middle of the
//! upper lip, that of orbicularis oculi at the inner corner of the eye, where it really holds on to bone.

mod build;
mod spline;
mod table;

use glam::DVec3;

/// What an end of a muscle holds on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// Fixed to the skull.
    Cranium,
    /// Moves with the jaw.
    Mandible,
    /// Ends in skin or in another muscle.
    Soft,
}

/// One muscle.
#[derive(Debug, Clone, PartialEq)]
pub struct Muscle {
    /// Anatomical name with side: `zygomaticus_major_left`.
    pub name: String,
    /// Where the fibers begin (u = 0).
    pub origin: Attachment,
    /// Where the fibers end (u = 1).
    pub insertion: Attachment,
    /// Body of the muscle. Fibers run along u, v across the breadth, w through the thickness from bone to skin. Right
    /// muscles are left ones mirrored with v reversed, so that all have positive volume.
    pub solid: SplineSolid,
}

/// A tensor-product B-spline volume, clamped and uniform.
#[derive(Debug, Clone, PartialEq)]
pub struct SplineSolid {
    /// Control points along u, v, w, each at least 2.
    pub counts: [usize; 3],
    /// Control points, w fastest, then v, then u.
    pub control: Vec<DVec3>,
}

/// The muscles of the built-in head, in meters.
pub fn built_in_muscles() -> Vec<Muscle> {
    build::all(&table::drafts())
}
