//! The built-in head: a procedural asset with skin, shapes, skull, jaw, muscles and landmarks.
//!
//! [`person`] assembles it from `skin`, `shapes`, [`bones`] and [`muscles`]; [`identity`] varies it to other
//! people. [`landmarks`] names the points of a face, [`depths`] gives the tissue depth over bone. Everything
//! is in meters, +Y up, +Z the direction the face looks, +X the character's left.

pub mod bones;
pub mod creases;
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
