//! The methods that move a face.

pub mod enrich;
