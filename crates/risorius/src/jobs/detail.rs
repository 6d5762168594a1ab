//! Wrinkles: learned from examples or made without, applied to animations, transferred to other faces, edited
//! [Bickel08, all of it].

pub mod apply;
pub mod edit;
pub mod learn;
pub mod make;
mod maps;
mod points;
mod poses;
mod texture;
pub mod transfer;

pub use maps::{MapKind, MapOptions};
