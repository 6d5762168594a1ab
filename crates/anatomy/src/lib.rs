//! Anatomy of a head: the built-in one, made in code, and carrying it into any rig.
//!
//! Everything here is in meters, +Y up, +Z the way the face looks, +X the character's left.

pub mod bones;
pub mod depths;
pub mod eyes;
pub mod find;
pub mod head;
pub mod landmarks;
pub mod meters;
pub mod motions;
pub mod muscles;
pub mod note;
pub mod pieces;
pub mod shapes;
pub mod skin;

pub use bones::{Bones, JawJoint};
pub use head::{Head, Identity};
pub use muscles::{Attachment, Muscle, SplineSolid};
pub use note::Note;
pub use pieces::{PieceKind, Pieces};
