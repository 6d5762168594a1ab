//! Facial muscles as B-spline solids: shape, fiber direction, and attachments.
//!
//! A muscle is a tensor-product B-spline volume whose fibers run along its first parameter. Its origin and
//! insertion are each on the cranium, on the mandible or in soft tissue. Lengths are in meters. [`spline`]
//! evaluates the solids, [`locate`] finds the parameters of points, [`mod@overlap`] the part of every tet
//! that muscles fill, [`mod@check`] tells muscles that cannot pull, and [`shape`] is how
//! muscles make a shape of a rig.

pub mod check;
pub mod locate;
pub mod overlap;
pub mod shape;
pub mod spline;

pub use check::MuscleProblem;
pub use locate::Locator;
pub use overlap::{Overlap, TetFiber, overlap};
pub use shape::{MuscleShape, Snap, Tracks};

use glam::DVec3;

/// What an end of a muscle is attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MuscleEnd {
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
    pub origin: MuscleEnd,
    /// Where the fibers end (u = 1).
    pub insertion: MuscleEnd,
    /// Body of the muscle. Fibers run along u, v across the breadth, w through the thickness from bone to
    /// skin. Right muscles are left ones mirrored with v reversed, so that all have positive volume.
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
