//! Flesh for any face: the volume between skin and bones, how it follows every shape, and what it is made of.

pub mod skin;
pub mod slits;

pub use skin::Skin;
pub use slits::Slits;
