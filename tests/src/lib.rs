//! What tests that cross crates share: faces that are built once, strange rigs, known wrinkles.

pub mod anatomy;
pub mod flesh;
pub mod strange;
pub mod wrinkled;

pub use risorius_test_data::folder as data;
