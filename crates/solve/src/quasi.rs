//! Quasi-Newton with a factor that stays: many, cheap steps.
//!
//! L-BFGS whose first guess of the inverse Hessian is a solve with a fixed factor [Liu17, L-BFGS]: a few pairs of steps
//! and gradient changes correct what the factor does not know. Two factors are offered. The Laplacian (one unknown per
//! node, shared by x, y, z) is quick to factor and to solve, and knows stiffness and springs but neither rotation nor
//! volume, nor the direction of sliding planes. The stiffness at a state knows everything about that state, for ten
//! times the cost; shapes that start from the same neutral with the same springs can share one. The minimum is the same
//! as Newton's, to the tolerance: only the way there differs. The line search is the same, with the same promises.

use crate::SolveError;
use crate::descent::{Descent, Step, dot, longest, timed};
use crate::newton::{Options, Outcome, Report, solve};
use crate::system::Problem;
use glam::DVec3;
use risorius_linalg::SparseCholesky;
use risorius_mesh::progress::{Progress, tick};
use std::collections::VecDeque;
use std::time::Duration;

/// Steps remembered. Few are enough beside such a factor; eight cost little beside the solves.
const MEMORY: usize = 8;

/// A factor that stands for the second derivatives. Immutable: may be shared by problems that differ little.
pub enum Preconditioner {
    /// One unknown per node, from [`Problem::laplacian_factor`].
    Laplacian(SparseCholesky<1>),
    /// Three unknowns per node, from [`Problem::stiffness_factor`].
    Stiffness(SparseCholesky<3>),
}

impl Preconditioner {
    /// The cheap one.
    pub fn laplacian(problem: &Problem) -> Result<Self, SolveError> {
        problem.laplacian_factor().map(Self::Laplacian)
    }

    /// The good one, at a state `x`.
    pub fn stiffness(problem: &Problem, x: &[DVec3]) -> Result<Self, SolveError> {
        problem.stiffness_factor(x).map(Self::Stiffness)
    }

    fn descend(&self, gradient: &[DVec3]) -> Vec<DVec3> {
        match self {
            Self::Laplacian(factor) => solve(factor, gradient),
            Self::Stiffness(factor) => solve(factor, gradient),
        }
    }
}

/// A step and the change of the gradient over it.
struct Pair {
    step: Vec<DVec3>,
    change: Vec<DVec3>,
    curvature: f64,
}

/// The two-loop recursion: `-H g` with H corrected by the remembered pairs.
fn direction(preconditioner: &Preconditioner, pairs: &VecDeque<Pair>, gradient: &[DVec3]) -> Vec<DVec3> {
    let add = |to: &mut [DVec3], amount: f64, what: &[DVec3]| {
        to.iter_mut().zip(what).for_each(|(t, w)| *t += amount * *w);
    };
    let mut q = gradient.to_vec();
    let mut factors = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().rev() {
        let factor = dot(&pair.step, &q) / pair.curvature;
        add(&mut q, -factor, &pair.change);
        factors.push(factor);
    }
    let mut d = preconditioner.descend(&q);
    for (pair, factor) in pairs.iter().zip(factors.iter().rev()) {
        // d is the negative of the usual r, hence the signs.
        let correction = factor + dot(&pair.change, &d) / pair.curvature;
        add(&mut d, -correction, &pair.step);
    }
    d
}

/// As [`crate::minimize`], with a preconditioner of the same system. Needs some hundred iterations where Newton needs
/// ten: set [`Options::max_iterations`] accordingly.
pub fn minimize_quasi(
    problem: &Problem,
    preconditioner: &Preconditioner,
    x: &mut [DVec3],
    options: &Options,
    progress: &Progress,
) -> Result<Report, SolveError> {
    let mut descent = Descent::start(problem, x)?;
    let mut pairs: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    let mut outcome = Outcome::IterationLimit;
    loop {
        if descent.residual() <= options.force_tolerance {
            outcome = Outcome::Balanced;
            break;
        }
        if descent.report.iterations >= options.max_iterations {
            break;
        }
        if let Err(error) = tick(progress, "solve", descent.report.iterations as f32 / options.max_iterations as f32) {
            x.copy_from_slice(&descent.x);
            return Err(error.into());
        }
        let times = &mut descent.report.times;
        let d = timed(&mut times.solve, || direction(preconditioner, &pairs, &descent.now.gradient));
        match descent.search(&d, options) {
            Step::Taken(alpha, length) => {
                descent.report.iterations += 1;
                remember(&mut pairs, &descent, &d, alpha);
                if alpha == 1.0 && length <= options.step_tolerance {
                    outcome = Outcome::SmallStep;
                    break;
                }
            }
            // Once more without memory, before giving up.
            Step::Stuck(_) if !pairs.is_empty() => pairs.clear(),
            Step::Stuck(reason) => {
                outcome = reason;
                break;
            }
        }
    }
    Ok(descent.finish(outcome, x))
}

/// Keeps the last step if the energy curves upward along it. After the search, `trial` is the state before the step.
fn remember(pairs: &mut VecDeque<Pair>, descent: &Descent, d: &[DVec3], alpha: f64) {
    let step: Vec<DVec3> = d.iter().map(|d| alpha * *d).collect();
    let change: Vec<DVec3> =
        descent.now.gradient.iter().zip(&descent.trial.gradient).map(|(new, old)| *new - *old).collect();
    let curvature = dot(&step, &change);
    if curvature > 1e-12 * longest(&step) * longest(&change) {
        if pairs.len() == MEMORY {
            pairs.pop_front();
        }
        pairs.push_back(Pair { step, change, curvature });
    }
}

/// The default way to a minimum: quasi-Newton, and Newton from there if 150 steps were not enough.
///
/// On 9460 nodes and 40824 tets under a fifth of stretch the Laplacian needs 14 to 42 steps of 5 to 8 ms where Newton's
/// method needs 4 or 5 of 100 to 250 ms. Springs along normals only make it slow (140 steps); then the stiffness at the
/// start is factored instead (11 steps of 20 ms). Newton is left for what is unlike both: barriers, very uneven
/// compression. The iterations of both count in the report.
pub fn settle(
    problem: &Problem,
    x: &mut [DVec3],
    options: &Options,
    progress: &Progress,
) -> Result<Report, SolveError> {
    let mut factor_time = Duration::ZERO;
    let preconditioner = timed(&mut factor_time, || {
        if problem.energies.iter().any(|energy| energy.is_directional()) {
            Preconditioner::stiffness(problem, x)
        } else {
            Preconditioner::laplacian(problem)
        }
    })?;
    let cheap = Options { max_iterations: 150, ..*options };
    let first = minimize_quasi(problem, &preconditioner, x, &cheap, progress)?;
    let mut report = first;
    if matches!(first.outcome, Outcome::IterationLimit | Outcome::Stalled) {
        report = crate::newton::minimize(problem, x, options, progress)?;
        report.iterations += first.iterations;
        report.evaluations += first.evaluations;
        report.times.solve += first.times.solve;
        report.times.line_search += first.times.line_search;
    }
    report.times.factor += factor_time;
    Ok(report)
}
