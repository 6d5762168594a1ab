//! Projected Newton with a sparse Cholesky factor: few, expensive steps.
//!
//! Each iteration assembles the Hessian, factors it, and searches along `-H^-1 g`. Element matrices are
//! projected to be positive semidefinite. After a full step the exact matrix is tried first, because
//! projection loses quadratic convergence where tissue is compressed; if it cannot be factored, the projected
//! one is used. If that cannot be factored either, a growing multiple of the identity is added.
//!
//! The line search requires a sufficient decrease (Armijo) and never steps past a flat tet: its limit is 0.9
//! times the exact step at which a determinant becomes zero. Tets that are inverted at the start may remain
//! inverted. States with infinite energy or forces are never accepted, so the result is finite, and it is the
//! best state found.

use crate::SolveError;
use crate::minimize::descent::{Descent, Step, dot, longest, timed};
use crate::minimize::system::{Layout, Problem};
use crate::minimize::workspace::Workspace;
use glam::DVec3;
use risorius_base::progress::{Progress, tick};
use risorius_linalg::{BlockMatrix, SparseCholesky, SparseError};
use std::time::Duration;

/// When to stop, and what is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveOptions {
    /// Stop when the force at every free node is at most this, newtons. Elements of a face, 3 mm and 5 kPa,
    /// exert 0.05 N at a strain of one, so the default of 1e-6 corresponds to a strain of 2e-5. On a slab of
    /// 9000 nodes it puts every node within about a micrometer of the minimum.
    pub force_tolerance: f64,
    /// Stop after a full step that moves no node farther than this, meters. Default 1e-7.
    pub step_tolerance: f64,
    /// Stop after this many iterations. Default 50: Newton's method converges or stalls long before.
    pub max_iterations: usize,
    /// Let the line search pass through flat tets. Default false.
    pub allow_inversion: bool,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { force_tolerance: 1e-6, step_tolerance: 1e-7, max_iterations: 50, allow_inversion: false }
    }
}

/// Why a solve ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// Forces are below the tolerance.
    Balanced,
    /// The last full step was below the tolerance.
    SmallStep,
    /// The iterations ran out.
    #[default]
    IterationLimit,
    /// No decrease above rounding was found.
    Stalled,
    /// A tet is about to become flat, and the energy would let it: use a barrier or more volume stiffness.
    Collapsing,
}

/// Time spent in each part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Times {
    /// Second derivatives and their sums.
    pub assembly: Duration,
    /// Factorization.
    pub factor: Duration,
    /// Back-substitution.
    pub solve: Duration,
    /// Energies, gradients and largest steps without inversion.
    pub line_search: Duration,
}

/// What a solve did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SolveReport {
    /// Why it ended.
    pub outcome: Outcome,
    /// Steps taken.
    pub iterations: usize,
    /// Evaluations of energy and gradient in line searches.
    pub evaluations: usize,
    /// Factorizations that failed and were repeated with a more definite matrix.
    pub refactorizations: usize,
    /// Energy at the end, joules.
    pub energy: f64,
    /// The largest force at a free node at the end, newtons.
    pub residual: f64,
    /// The smallest determinant of a deformation gradient at the end.
    pub smallest_det: f64,
    /// Where the time went.
    pub times: Times,
}

impl SolveReport {
    /// This solve as the continuation of another: counts and times are added.
    pub(crate) fn after(mut self, earlier: &Self) -> Self {
        self.iterations += earlier.iterations;
        self.evaluations += earlier.evaluations;
        self.refactorizations += earlier.refactorizations;
        self.times.assembly += earlier.times.assembly;
        self.times.factor += earlier.times.factor;
        self.times.solve += earlier.times.solve;
        self.times.line_search += earlier.times.line_search;
        self
    }

    /// Whether the state meets a tolerance.
    pub fn converged(&self) -> bool {
        matches!(self.outcome, Outcome::Balanced | Outcome::SmallStep)
    }
}

/// Moves the free nodes of `x` to a minimum of the problem's energy. On an error `x` is the best state so
/// far.
pub fn minimize(
    problem: &Problem,
    x: &mut [DVec3],
    options: &SolveOptions,
    progress: &Progress,
) -> Result<SolveReport, SolveError> {
    let mut descent = Descent::start(problem, x, &mut Workspace::default())?;
    let layout = problem.system.vector()?;
    let mut newton = Newton { layout, matrix: BlockMatrix::zeros(&layout.pattern), factor: None, wait: 1 };
    let mut outcome = Outcome::IterationLimit;
    while descent.report.iterations < options.max_iterations {
        if descent.residual() <= options.force_tolerance {
            outcome = Outcome::Balanced;
            break;
        }
        let direction =
            match tick(progress, "solve", descent.report.iterations as f32 / options.max_iterations as f32)
                .map_err(SolveError::from)
                .and_then(|()| newton.direction(problem, &mut descent))
            {
                Ok(direction) => direction,
                Err(error) => {
                    x.copy_from_slice(&descent.x);
                    return Err(error);
                }
            };
        match descent.search(&direction, descent.measure(&direction), options) {
            Step::Taken(alpha, length) => {
                descent.report.iterations += 1;
                newton.wait = if alpha < 1.0 { 1 } else { newton.wait.saturating_sub(1) };
                if alpha == 1.0 && length <= options.step_tolerance {
                    outcome = Outcome::SmallStep;
                    break;
                }
            }
            Step::Stuck(reason) => {
                outcome = reason;
                break;
            }
        }
    }
    if outcome == Outcome::IterationLimit && descent.residual() <= options.force_tolerance {
        outcome = Outcome::Balanced;
    }
    Ok(descent.finish(outcome, x, &mut Workspace::default()))
}

/// The workspace of a solve.
struct Newton<'a> {
    layout: &'a Layout<3>,
    matrix: BlockMatrix<3>,
    factor: Option<SparseCholesky<3>>,
    /// Full steps to wait before the exact matrix is tried.
    wait: usize,
}

impl Newton<'_> {
    /// `-H^-1 g` with the exact, projected or regularized H: the first that gives a direction of descent.
    fn direction(&mut self, problem: &Problem, descent: &mut Descent) -> Result<Vec<DVec3>, SolveError> {
        if self.wait == 0 {
            timed(&mut descent.report.times.assembly, || {
                problem.assemble(self.layout, &descent.x, true, &mut self.matrix)
            });
            if let Some(direction) = self.try_direction(descent)? {
                return Ok(direction);
            }
            self.wait = 3;
        }
        timed(&mut descent.report.times.assembly, || {
            problem.assemble(self.layout, &descent.x, false, &mut self.matrix)
        });
        let pattern = &self.layout.pattern;
        let largest = self.matrix.largest_diagonal(pattern).max(f64::MIN_POSITIVE);
        let mut added = 0.0;
        loop {
            if let Some(direction) = self.try_direction(descent)? {
                return Ok(direction);
            }
            let wanted = if added == 0.0 { 1e-10 * largest } else { 100.0 * added };
            if wanted > largest {
                return Err(SparseError::NotPositiveDefinite { node: 0 }.into());
            }
            self.matrix.add_to_diagonal(pattern, wanted - added);
            added = wanted;
        }
    }

    /// `None` if the matrix cannot be factored or the direction does not descend.
    fn try_direction(&mut self, descent: &mut Descent) -> Result<Option<Vec<DVec3>>, SolveError> {
        let times = &mut descent.report.times;
        let matrix = &self.matrix;
        let slot = &mut self.factor;
        let result = timed(&mut times.factor, || match slot {
            Some(factor) => factor.refactor(matrix),
            None => SparseCholesky::new(&self.layout.pattern, matrix).map(|factor| *slot = Some(factor)),
        });
        match (result, &self.factor) {
            (Ok(()), Some(factor)) => {
                let direction = timed(&mut times.solve, || solve(factor, &descent.now.gradient));
                if longest(&direction).is_finite() && dot(&direction, &descent.now.gradient) < 0.0 {
                    return Ok(Some(direction));
                }
            }
            (Err(SparseError::NotPositiveDefinite { .. }), _) | (Ok(()), None) => {}
            (Err(error), _) => return Err(error.into()),
        }
        descent.report.refactorizations += 1;
        Ok(None)
    }
}

/// `-A^-1 g`; one right-hand side of three unknowns per node, or three of one.
pub(crate) fn solve<const B: usize>(factor: &SparseCholesky<B>, gradient: &[DVec3]) -> Vec<DVec3> {
    let mut values: Vec<[f64; 3]> = gradient.iter().map(|g| [-g.x, -g.y, -g.z]).collect();
    factor.solve(&mut values);
    values.into_iter().map(DVec3::from_array).collect()
}
