//! Reads and writes all file formats; no other crate does.
//!
//! [`formats`] are those of other programs, [`native`] our own, [`specs`] the small JSON files that users
//! write. [`open`] detects what a file is. Readers take bytes, not paths, so that they can be tested with
//! malicious input without a disk. They check every count in a file against the size of the file, and report
//! where a file is wrong. Writers return bytes or stream into a [`output::WholeFile`], which appears under
//! its name only when it is complete.

pub mod error;
pub mod formats;
pub mod native;
pub mod node_motion;
pub mod open;
pub mod output;
pub mod specs;
pub mod take_in;
pub mod take_out;

pub use error::IoError;
