//! Time steps of a body whose rest shape and material change.

pub mod body;
pub mod dynamics;
pub mod scheme;
mod solves;

#[cfg(test)]
mod dynamics_tests;
#[cfg(test)]
mod motion_tests;
#[cfg(test)]
mod state_tests;
