//! Anatomy of a head: the built-in one, made in code, and carrying it into any rig.
//!
//! Everything here is in meters, +Y up, +Z the way the face looks, +X the character's left.

pub mod bones;
pub mod carry;
pub mod depths;
pub mod error;
pub mod eyes;
pub mod find;
pub mod head;
pub mod identity;
pub mod jaw_motion;
pub mod landmarks;
pub mod meters;
pub mod motions;
pub mod muscles;
pub mod note;
pub mod outer;
pub mod pieces;
pub mod regions;
pub mod shapes;
pub mod skin;
pub mod warp;

pub use bones::{Bones, JawJoint, built_in_bones};
pub use depths::{Depth, depth_at};
pub use error::AnatomyError;
pub use head::{Head, Identity};
pub use muscles::{Attachment, Muscle, SplineSolid, built_in_muscles};
pub use note::Note;
pub use pieces::{PieceKind, Pieces};
pub use regions::Regions;
