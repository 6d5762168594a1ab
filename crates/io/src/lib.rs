//! Everything that parses or writes files; no other crate touches a format.
//!
//! [`formats`] are those of other programs, [`native`] our own, [`specs`] the small JSON files that people
//! write. [`open`] decides what a file is. Readers take bytes, not paths, so that they can be tested against
//! hostile input without a disk; they never trust a count that the file states beyond what its bytes can
//! back, and they say where a file is wrong. Writers give bytes or stream into a [`output::WholeFile`], which
//! appears under its name only when it is complete.

pub mod error;
pub mod formats;
pub mod native;
pub mod open;
pub mod output;
pub mod specs;
pub mod take_in;
pub mod take_out;

pub use error::IoError;
