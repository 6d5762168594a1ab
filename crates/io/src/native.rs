//! Our own files: faces, details, and takes in the making.

pub mod container;
pub mod detail;
pub mod face;
pub mod take_folder;
