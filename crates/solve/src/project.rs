//! Projective dynamics: minima of sums of `|G x - P(G x)|^2` by alternating projections with one constant
//! linear system [Bouaziz14; Ichim16].
//!
//! ```text
//! E(x) = sum over tets V (a/2 |F - T|^2 + r/2 min_R |F - R T|^2 + v/2 min_{det P = J} |F - P|^2
//!                         + eta/(2 s) |F - F'|^2)
//!      + sum over nodes m/(2 s^2) |x - y|^2 - f . x + sum over pins k/2 |p(x) - q|^2
//! ```
//!
//! F is the gradient from the rest shape, T and J the target gradient and volume of a tet. With `T = I` and
//! `J = 1` the second term is as-rigid-as-possible and the third keeps volume (projection on SL(3)); in
//! general both measure deformation from the target shape. The fourth is viscosity, which resists leaving the
//! gradients F' over s seconds. Inertia pulls nodes to where they fly without forces, y. A pin pulls a point
//! of a tet to a place, or to a plane. Contacts are planes that points must not pass (`planes`).
//!
//! The local step projects every tet (`kernel`), in registers of several tets. The global step solves
//! `A dx = -gradient` with
//!
//! ```text
//! A = sum V (a + r + v + eta/s) G^T G + m/s^2 + pins
//! ```
//!
//! which has one unknown per node for x, y and z, does not depend on targets, places or projections, and is
//! factored once. This is the step of projective dynamics, `x = A^-1 b`, written as a change: so single
//! precision in projections and substitutions costs no accuracy of the minimum. Every step lowers the energy,
//! because A bounds its second derivative. Steps are combined by Anderson's method, which is undone where the
//! energy rises \[Peng18\].
//!
//! Limits: the weights are constants of the system. Minima are local where tets invert.

mod anderson;
pub mod body;
mod descent;
mod elements;
pub mod kernel;
pub mod nearest;
mod planes;
mod solver;
pub mod targets;

pub use body::{ProjectBody, ProjectOptions, ProjectParts};
pub use elements::{Aims, TetWeights};
pub use planes::Touching;
pub use solver::{Inertial, Iterations, Objective, Pin, PinPlace, ProjectReport, Projective};
pub use targets::Target;

#[cfg(test)]
mod contact_tests;
#[cfg(test)]
mod solver_tests;
