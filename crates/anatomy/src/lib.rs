//! Anatomy of a head: the built-in one, made in code, and carrying it into any rig.
//!
//! Everything here is in meters, +Y up, +Z the way the face looks, +X the character's left.

pub mod bones;
pub mod depths;
pub mod head;
pub mod identity;
pub mod landmarks;
pub mod muscles;
pub mod skin;

pub use bones::{Bones, JawJoint, built_in_bones};
pub use depths::{Depth, depth_at};
pub use head::{Head, Identity};
pub use muscles::{Attachment, Muscle, SplineSolid, built_in_muscles};
