//! Anatomy of any face: classification of its surfaces, landmarks, and bones and muscles transferred from the
//! built-in head.
//!
//! [`mod@pieces`] -> [`find`] (landmarks) -> [`carry`] (bones and muscles) -> [`jaw_motion`]. Everything here
//! is in meters, +Y up, +Z the direction the face looks, +X the character's left.

pub mod carry;
pub mod error;
pub mod eyes;
pub mod find;
pub mod jaw_motion;
pub mod motions;
pub mod note;
pub mod outer;
pub mod pieces;
pub mod regions;
pub mod warp;

pub use error::AnatomyError;
pub use note::Note;
pub use pieces::{PieceKind, Pieces};
pub use regions::{RegionError, Regions};
