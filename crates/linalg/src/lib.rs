//! General numerical kernels: dense and sparse symmetric systems, 3x3 decompositions, and small convex
//! quadratic programs.
//!
//! Every operation has a fixed order, so results do not depend on the number of threads. Only the assembly of
//! sparse matrices and the triangular solves of [`sweep`] use more than the calling thread; callers that want
//! more speed run several problems at once.

pub mod bounds;
pub mod dense;
pub mod eigen;
pub mod order;
pub mod qp;
pub mod quick;
pub mod sparse;
pub mod sparse_cholesky;
pub mod svd3;
pub mod sweep;

pub use bounds::{BoundedSequence, KnownInverse, solve_bounded};
pub use dense::{Cholesky, Matrix, NotPositiveDefinite};
pub use order::Order;
pub use qp::{QpError, QpSolution, QuadraticProgram};
pub use quick::{QuickFactor, QuickSpace};
pub use sparse::{
    BlockMatrix, BlockPattern, ElementBlocks, Gather, NO_NODE, NodeGraph, Pattern, SparseError, Stencil,
};
pub use sparse_cholesky::SparseCholesky;
pub use svd3::{Svd3, eigen_symmetric, svd};
pub use sweep::{Reach, Real, Sweep, SweepSpace};
