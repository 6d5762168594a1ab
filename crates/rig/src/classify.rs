//! What the parts and shapes of a rig are: from names first, from geometry where names say nothing.

pub mod binding;
pub mod correctives;
pub mod kinds;
pub mod names;
pub mod pieces;
pub mod roles;
pub(crate) mod sets;
pub mod space;
pub mod surfaces;
