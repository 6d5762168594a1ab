//! The sequence of solvers for every minimization: quasi-Newton first, Newton's method where it does not
//! converge.
//!
//! On 9460 nodes and 40824 tets at 20 % stretch, the Laplacian needs 14 to 42 steps of 5 to 8 ms, and
//! Newton's method 4 or 5 steps of 100 to 250 ms. Springs that act only along normals make the Laplacian slow
//! (140 steps); there, the stiffness at the start is factored instead (11 steps of 20 ms). Newton's method
//! remains for problems that neither factor fits: barriers, very uneven compression. The report counts the
//! iterations of all solvers.

use crate::SolveError;
use crate::minimize::descent::timed;
use crate::minimize::newton::{Outcome, SolveOptions, SolveReport, minimize};
use crate::minimize::quasi::{Preconditioner, minimize_quasi_in};
use crate::minimize::system::Problem;
use crate::minimize::workspace::Workspace;
use glam::DVec3;
use risorius_base::Progress;
use std::time::Duration;

/// Most iterations of quasi-Newton in [`settle`].
const SETTLING: usize = 150;

/// A preconditioner for a state, and the iterations after which it is made again.
pub(crate) type Refresh<'a> = dyn Fn(&[DVec3]) -> Option<(Preconditioner, usize)> + 'a;

/// The solvers of a descent: rounds of quasi-Newton, then Newton's method.
pub(crate) struct Ladder<'a> {
    /// Iterations of quasi-Newton, over all rounds, before Newton's method takes over; 0 for Newton's method
    /// alone.
    pub patience: usize,
    /// The factor that quasi-Newton uses.
    pub factor: &'a Preconditioner,
    /// A better factor for the state at which a round starts, and the iterations until the next round.
    pub refreshed: &'a Refresh<'a>,
    /// Whether another round follows one that stalls or in which a tet is about to collapse. If not, Newton's
    /// method takes over after a stall, and a collapsing tet ends the descent.
    pub retries: bool,
}

/// Runs the solvers of the ladder from `x`.
pub(crate) fn descend(
    problem: &Problem,
    ladder: &Ladder,
    x: &mut [DVec3],
    options: &SolveOptions,
    progress: &Progress,
    workspace: &mut Workspace,
) -> Result<SolveReport, SolveError> {
    let mut so_far = SolveReport::default();
    while so_far.iterations < ladder.patience {
        let refreshed = (ladder.refreshed)(x);
        let (factor, most) = refreshed.as_ref().map_or((ladder.factor, ladder.patience), |(f, n)| (f, *n));
        let quick = SolveOptions { max_iterations: most, ..*options };
        let round = minimize_quasi_in(problem, factor, x, &quick, progress, workspace)?;
        let is_stuck = round.iterations == 0;
        so_far = round.after(&so_far);
        let collapses = so_far.outcome == Outcome::Collapsing;
        if so_far.converged() || (collapses && !ladder.retries) {
            return Ok(so_far);
        }
        if is_stuck || !ladder.retries {
            break;
        }
    }
    Ok(minimize(problem, x, options, progress)?.after(&so_far))
}

/// Minimizes from `x` with a factor made for this problem: for static solves.
pub fn settle(
    problem: &Problem,
    x: &mut [DVec3],
    options: &SolveOptions,
    progress: &Progress,
) -> Result<SolveReport, SolveError> {
    let mut factor_time = Duration::ZERO;
    let factor = timed(&mut factor_time, || {
        if problem.energies.iter().any(|energy| energy.is_directional()) {
            Preconditioner::stiffness(problem, x)
        } else {
            Preconditioner::laplacian(problem)
        }
    })?;
    let ladder = Ladder { patience: SETTLING, factor: &factor, refreshed: &|_| None, retries: false };
    let mut report = descend(problem, &ladder, x, options, progress, &mut Workspace::default())?;
    report.times.factor += factor_time;
    Ok(report)
}
