//! Everything that parses or writes files; no other crate touches a format.
//!
//! Readers take bytes, not paths, so that they can be tested against hostile input without a disk; they never trust a
//! count that the file states beyond what its bytes can back, and they say where a file is wrong. Writers give bytes or
//! stream into a [`output::WholeFile`], which appears under its name only when it is complete.

pub mod error;
pub mod fbx;
pub mod gltf;
pub mod output;

pub use error::IoError;
