//! The built-in head: skin with shapes, skull, jaw, muscles and landmarks, an asset that is made in code.
//!
//! [`person`] puts it together from `skin` and `shapes`, [`bones`] and [`muscles`]; [`identity`] makes other
//! people of it. [`landmarks`] names the points of a face, [`depths`] says how deep bone lies. Everything is
//! in meters, +Y up, +Z the way the face looks, +X the character's left.

pub mod bones;
pub mod depths;
pub mod identity;
pub mod landmarks;
pub mod muscles;
pub mod person;
pub mod shapes;
pub mod skin;

pub use bones::{Bones, JawJoint, built_in_bones};
pub use depths::{Depth, depth_at};
pub use muscles::built_in_muscles;
pub use person::{Head, Identity, build};
