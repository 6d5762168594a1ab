//! What the parts and shapes of a rig are: from names first, from geometry where names say nothing.

pub mod kinds;
pub mod names;
pub mod pieces;
pub mod roles;
pub mod space;
pub mod surfaces;
