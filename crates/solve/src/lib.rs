//! Elastic volumes of tetrahedra: energies, their minimization, diffusion of values, repair of inverted
//! elements.
//!
//! Nothing here is specific to faces. Units are SI: meters, newtons, pascals. All numbers are f64, because
//! minima are compared to micrometers.
//!
//! An [`Energy`] is a sum over elements of up to four nodes. A [`System`] holds what is prepared once for a
//! topology and a set of held nodes (elimination order, symbolic factor, gather lists); threads can share it.
//! [`settle`], [`minimize()`] (Newton) and [`minimize_quasi`] each find minima in their own workspace.

pub mod contact;
pub mod diffuse;
pub mod energy;
pub mod lift;
pub mod minimize;
mod patch;
mod pool;
pub mod project;
pub mod statics;
pub mod step;
pub mod untangle;

#[cfg(test)]
mod fixtures;

pub use contact::detect::{CollisionPair, Overlap, Posed, Touch, TouchOptions};
pub use contact::obstacle::{Obstacle, ObstacleShape};
pub use contact::planes::{Contact, Contacts, TetAttachment};
pub use diffuse::{Diffusion, Harmonic};
pub use energy::muscle::{Fiber, Fibers, MuscleTets, MuscleTissue};
pub use energy::springs::{Spring, Springs};
pub use energy::tissue::{Barrier, ElasticTets, Tissue, TissueRest};
pub use energy::{BodyEnergy, Energy};
pub use minimize::ladder::settle;
pub use minimize::newton::{Outcome, SolveOptions, SolveReport, minimize};
pub use minimize::quasi::{Preconditioner, minimize_quasi};
pub use minimize::system::{Problem, System};
pub use risorius_linalg::{NO_NODE, Stencil};
pub use statics::{Acting, Sensitivity, Statics, StaticsReport};
pub use step::body::{Around, Body, Configuration, State, StepOptions, StepReport};
pub use step::dynamics::Dynamics;
pub use step::scheme::{LastStep, Stepping};
pub use untangle::{UntangleOptions, Untangled, untangle};

use risorius_base::progress::Cancelled;
use risorius_linalg::SparseError;

/// Why a solve could not start or continue. Positions passed in stay at the last valid state.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// Two inputs that belong together differ in length.
    #[error("{what}: {got} given, {wanted} expected")]
    Length {
        /// Which input.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length it should have.
        wanted: usize,
    },
    /// A rest tet is flat or inverted.
    #[error("{count} rest tets are flat or inverted, the first is tet {first}; repair the rest shape first")]
    BadRest {
        /// The first of them.
        first: usize,
        /// How many.
        count: usize,
    },
    /// A parameter is negative, infinite or NaN.
    #[error("{what} of element {element} is {value}; it must be finite and not negative")]
    Parameter {
        /// Which parameter.
        what: &'static str,
        /// Of which element.
        element: usize,
        /// Its value.
        value: f64,
    },
    /// The start state has no finite energy.
    #[error(
        "the start has no finite energy: positions are NaN or infinite, or tets inverted; untangle it first"
    )]
    BadStart,
    /// The solution runs away.
    #[error(
        "node {node} moved {meters:.3} m away from its pose; forces are too strong for this flesh, or its shapes cannot be met"
    )]
    Escaped {
        /// The first such node.
        node: usize,
        /// How far.
        meters: f64,
    },
    /// Moving bones to their places turns elements between them inside out.
    #[error("bones cannot be moved that far: elements of the flesh between them would be turned inside out")]
    BonesFold,
    /// The matrix could not be factored.
    #[error(transparent)]
    Matrix(#[from] SparseError),
    /// The caller's progress callback asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl risorius_base::Advise for SolveError {
    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}

/// Fails if a list has the wrong length.
pub fn check_length(what: &'static str, got: usize, wanted: usize) -> Result<(), SolveError> {
    if got == wanted { Ok(()) } else { Err(SolveError::Length { what, got, wanted }) }
}

/// Fails at the first value that is negative or not finite.
fn check_values(what: &'static str, values: impl Iterator<Item = f64>) -> Result<(), SolveError> {
    for (element, value) in values.enumerate() {
        if !value.is_finite() || value < 0.0 {
            return Err(SolveError::Parameter { what, element, value });
        }
    }
    Ok(())
}
