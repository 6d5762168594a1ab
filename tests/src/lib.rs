//! Shared by tests across crates: faces that are built once, unusual rigs, known wrinkles.

pub mod anatomy;
pub mod flesh;
pub mod strange;
pub mod wrinkled;

pub use risorius_test_data::folder as data;
