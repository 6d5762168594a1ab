//! Wrinkles: learned from examples, applied to animations, transferred to other faces, edited [Bickel08, all
//! of it].

pub mod apply;
pub mod edit;
pub mod learn;
mod maps;
mod points;
mod poses;
mod texture;
pub mod transfer;

pub use maps::{MapKind, MapOptions};
