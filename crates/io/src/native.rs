//! Our own file formats: faces, details, and unfinished takes.

pub mod bake_part;
pub mod container;
pub mod detail;
pub mod face;
pub mod take_folder;
