//! Contact: detection of surface points that are about to penetrate something, and the energy that keeps them
//! out.

pub mod detect;
mod fans;
mod film;
mod meeting;
pub mod obstacle;
pub mod planes;
mod search;
mod seen;

#[cfg(test)]
mod slit_tests;
#[cfg(test)]
mod touch_tests;
