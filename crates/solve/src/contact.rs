//! Contact: detection of surface points that are about to penetrate something, and the energy that keeps them
//! out.

pub mod detect;
pub mod obstacle;
pub mod planes;

#[cfg(test)]
mod touch_tests;
