//! Minimization of sums of energies: quasi-Newton with a fixed factor, Newton's method where that fails.

pub(crate) mod contact_aware;
pub(crate) mod descent;
pub mod ladder;
mod memory;
pub mod newton;
pub mod quasi;
pub(crate) mod scatter;
pub mod system;
pub(crate) mod workspace;

#[cfg(test)]
mod statics_tests;
