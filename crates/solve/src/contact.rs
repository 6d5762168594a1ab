//! Contact: detection of surface points that are about to penetrate something, and the energy that keeps them
//! out.

pub mod detect;
mod fans;
mod film;
mod meeting;
mod near;
pub mod obstacle;
pub mod planes;
mod search;

#[cfg(test)]
mod slit_tests;
#[cfg(test)]
mod touch_tests;
