//! Quasi-Newton with a fixed factor: many cheap steps.
//!
//! L-BFGS whose initial inverse Hessian is a solve with a fixed factor [Liu17, L-BFGS]: a few pairs of steps
//! and gradient changes correct what the factor misses. There are two factors. The Laplacian (one unknown per
//! node, shared by x, y, z) is fast to factor and to solve. It represents stiffness and springs, but neither
//! rotation nor volume nor the direction of sliding planes. The stiffness at a state is exact for that state,
//! at ten times the cost; shapes that start from the same neutral with the same springs can share one. The
//! minimum is that of Newton's method, within the tolerance. The line search is the same, with the same
//! guarantees.

use crate::SolveError;
use crate::contact::planes::Contacts;
use crate::minimize::contact_aware::{ContactAware, Laplacian, Space};
use crate::minimize::descent::{Descent, Step, timed};
use crate::minimize::memory::{Last, Memory};
use crate::minimize::newton::{Outcome, SolveOptions, SolveReport};
use crate::minimize::system::Problem;
use crate::minimize::workspace::Workspace;
use glam::DVec3;
use risorius_base::progress::{Progress, tick};
use risorius_linalg::{QuickFactor, Sweep};
use std::sync::Arc;

/// A factor that approximates the Hessian. Immutable: problems that differ little may share it.
pub struct Preconditioner(Kind);

enum Kind {
    /// One unknown per node, from [`Problem::laplacian_factor`].
    Laplacian(Arc<Laplacian>),
    /// The same, with pressing contacts.
    ContactAware(ContactAware),
    /// Three unknowns per node, from [`Problem::stiffness_factor`].
    Stiffness(QuickFactor),
}

impl Preconditioner {
    /// The scalar Laplacian: cheap.
    pub fn laplacian(problem: &Problem) -> Result<Self, SolveError> {
        let factor = problem.laplacian_factor()?;
        Ok(Self(Kind::Laplacian(Arc::new(Laplacian::new(Sweep::prepare(&factor))))))
    }

    /// The full stiffness at a state `x`: more accurate, about ten times the cost.
    pub fn stiffness(problem: &Problem, x: &[DVec3]) -> Result<Self, SolveError> {
        let factor = problem.stiffness_factor(x)?;
        Ok(Self(Kind::Stiffness(QuickFactor::prepare(&factor))))
    }

    /// The contact-aware preconditioner: a Laplacian with the contacts that press at `x`; `None` if none do.
    pub(crate) fn with_contacts(&self, contacts: &Contacts, held: &[bool], x: &[DVec3]) -> Option<Self> {
        let Kind::Laplacian(base) = &self.0 else { return None };
        ContactAware::prepare(base, contacts, held, x).map(|aware| Self(Kind::ContactAware(aware)))
    }

    #[cfg(test)]
    pub(crate) fn solve(&self, g: &[DVec3]) -> Vec<DVec3> {
        let mut solved = vec![DVec3::ZERO; g.len()];
        self.apply(g, &mut solved, &mut Space::default());
        solved
    }

    /// `A^-1 g`.
    fn apply(&self, gradient: &[DVec3], solved: &mut [DVec3], space: &mut Space) {
        match &self.0 {
            Kind::Laplacian(factor) => factor.sweep.solve(gradient, solved, &mut space.whole),
            Kind::ContactAware(factor) => factor.apply(gradient, solved, space),
            Kind::Stiffness(factor) => factor.solve(gradient, solved, &mut space.quick),
        }
    }
}

/// As [`crate::minimize()`], with a preconditioner of the same system. Can need a hundred iterations where
/// Newton's method needs ten: set [`SolveOptions::max_iterations`] accordingly.
pub fn minimize_quasi(
    problem: &Problem,
    preconditioner: &Preconditioner,
    x: &mut [DVec3],
    options: &SolveOptions,
    progress: &Progress,
) -> Result<SolveReport, SolveError> {
    minimize_quasi_in(problem, preconditioner, x, options, progress, &mut Workspace::default())
}

/// As [`minimize_quasi`], in a workspace that the next solve can use too.
pub(crate) fn minimize_quasi_in(
    problem: &Problem,
    preconditioner: &Preconditioner,
    x: &mut [DVec3],
    options: &SolveOptions,
    progress: &Progress,
    workspace: &mut Workspace,
) -> Result<SolveReport, SolveError> {
    let mut descent = Descent::start(problem, x, workspace)?;
    let Workspace { memory, space, vectors, .. } = workspace;
    let memory = Memory::emptied(memory, x.len());
    vectors.iter_mut().for_each(|v| v.resize(x.len(), DVec3::ZERO));
    let [d, solved, solved_before] = vectors;
    // Step length along the last direction; none yet.
    let mut taken = None;
    let mut is_solved = false;
    let mut outcome = Outcome::IterationLimit;
    loop {
        if descent.residual() <= options.force_tolerance {
            outcome = Outcome::Balanced;
            break;
        }
        if descent.report.iterations >= options.max_iterations {
            break;
        }
        if let Err(error) =
            tick(progress, "solve", descent.report.iterations as f32 / options.max_iterations as f32)
        {
            x.copy_from_slice(&descent.x);
            return Err(error.into());
        }
        let measure = timed(&mut descent.report.times.solve, || {
            let gradient = &descent.now.gradient;
            if !is_solved {
                std::mem::swap(solved, solved_before);
                preconditioner.apply(gradient, solved, space);
                is_solved = true;
            }
            // After a search, `trial` is the state before the step.
            if let Some(alpha) = taken.take() {
                let gradients = [descent.trial.gradient.as_slice(), gradient];
                memory.remember(&Last { direction: d, alpha, gradients, solved: [solved_before, solved] });
            }
            memory.direction(gradient, solved, d)
        });
        match descent.search(d, measure, options) {
            Step::Taken(alpha, length) => {
                descent.report.iterations += 1;
                (taken, is_solved) = (Some(alpha), false);
                if alpha == 1.0 && length <= options.step_tolerance {
                    outcome = Outcome::SmallStep;
                    break;
                }
            }
            // Retry once without the history before giving up.
            Step::Stuck(_) if !memory.is_empty() => memory.clear(),
            Step::Stuck(reason) => {
                outcome = reason;
                break;
            }
        }
    }
    Ok(descent.finish(outcome, x, workspace))
}
