//! Contact: which points of a surface are about to pass through what, and the energy that keeps them out.

pub mod detect;
pub mod obstacle;
pub mod planes;

#[cfg(test)]
mod touch_tests;
