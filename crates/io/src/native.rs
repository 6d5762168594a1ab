//! Our own file formats: faces, details, and unfinished takes.

pub mod container;
pub mod detail;
pub mod face;
pub mod take_folder;
