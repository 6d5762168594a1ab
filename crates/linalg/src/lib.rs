//! Numerical kernels that know nothing of faces: dense symmetric systems and small convex quadratic programs.
//!
//! Everything runs on the calling thread with a fixed order of operations, so results do not depend on how many threads
//! the caller uses; callers that want more speed run several problems at once.

pub mod bounds;
pub mod dense;
pub mod qp;

pub use bounds::solve_bounded;
pub use dense::{Cholesky, Matrix, NotPositiveDefinite};
pub use qp::{QpError, QpSolution, QuadraticProgram};
