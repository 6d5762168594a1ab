//! Shared by Newton and quasi-Newton: the current state, the line search, the report.

use crate::SolveError;
use crate::minimize::memory::Measure;
use crate::minimize::newton::{Outcome, SolveOptions, SolveReport};
use crate::minimize::system::{Evaluation, Problem};
use crate::minimize::workspace::Workspace;
use glam::DVec3;
use std::time::{Duration, Instant};

/// The state of a descent: every accepted step lowers the energy, up to rounding.
pub(crate) struct Descent<'a> {
    problem: &'a Problem<'a>,
    pub(crate) x: Vec<DVec3>,
    pub(crate) now: Evaluation,
    trial_x: Vec<DVec3>,
    pub(crate) trial: Evaluation,
    pub(crate) report: SolveReport,
}

/// How a line search ended.
pub(crate) enum Step {
    /// Taken: the fraction of the direction, and the longest motion of a node in meters.
    Taken(f64, f64),
    /// No step is possible, for this reason.
    Stuck(Outcome),
}

impl<'a> Descent<'a> {
    /// The evaluations of the workspace are used, and given back by `finish`.
    pub(crate) fn start(
        problem: &'a Problem<'a>,
        x: &[DVec3],
        workspace: &mut Workspace,
    ) -> Result<Self, SolveError> {
        problem.check(x)?;
        let [mut now, trial] = workspace.evaluations(problem);
        problem.evaluate(x, &mut now);
        let finite = problem.energy(x, &now).0.is_finite() && now.longest.is_finite();
        if !finite || !x.iter().all(|p| p.is_finite()) {
            return Err(SolveError::BadStart);
        }
        Ok(Self { problem, x: x.to_vec(), now, trial_x: x.to_vec(), trial, report: SolveReport::default() })
    }

    /// The largest force at a free node, newtons.
    pub(crate) fn residual(&self) -> f64 {
        self.now.longest
    }

    /// Slope and length of a direction at this state.
    pub(crate) fn measure(&self, d: &[DVec3]) -> Measure {
        Measure { slope: dot(&self.now.gradient, d), length: longest(d) }
    }

    /// Backtracks along `d` from the full step, or from nine tenths of the way to the first flat tet.
    pub(crate) fn search(&mut self, d: &[DVec3], measure: Measure, options: &SolveOptions) -> Step {
        let begin = Instant::now();
        let step = self.search_untimed(d, measure, options);
        self.report.times.line_search += begin.elapsed();
        step
    }

    fn search_untimed(&mut self, d: &[DVec3], measure: Measure, options: &SolveOptions) -> Step {
        let Measure { slope, length } = measure;
        if !slope.is_finite() || slope >= 0.0 || !length.is_finite() {
            return Step::Stuck(Outcome::Stalled);
        }
        let largest = || self.problem.largest_step(&self.x, &self.now, d, length);
        let limit = if options.allow_inversion { f64::INFINITY } else { largest() };
        let mut alpha = if limit > 1.0 / 0.9 { 1.0 } else { 0.9 * limit };
        // Rounding could make a tet flat in smaller steps.
        if alpha < 1.0 && alpha * length < options.step_tolerance.max(1e-9 * length) {
            return Step::Stuck(Outcome::Collapsing);
        }
        // Differences below the rounding of the sums cannot be distinguished from zero.
        let mut noise = None;
        for _ in 0..50 {
            for (t, (p, d)) in self.trial_x.iter_mut().zip(self.x.iter().zip(d)) {
                *t = *p + alpha * *d;
            }
            self.problem.evaluate(&self.trial_x, &mut self.trial);
            self.report.evaluations += 1;
            let change = self.problem.change(&self.now, &self.trial, d.iter().map(|d| alpha * *d));
            let wanted = 1e-4 * alpha * slope;
            let mut rounding =
                || *noise.get_or_insert_with(|| 1e-15 * self.problem.energy(&self.x, &self.now).1);
            let lowers = change <= wanted || change <= wanted + rounding();
            let fine = lowers && self.trial.longest.is_finite();
            if fine {
                std::mem::swap(&mut self.x, &mut self.trial_x);
                std::mem::swap(&mut self.now, &mut self.trial);
                return Step::Taken(alpha, alpha * length);
            }
            // The minimum of the parabola through slope and energy change, clamped to 0.1 to 0.5 of the step.
            let parabola = -0.5 * slope * alpha * alpha / (change - slope * alpha);
            alpha = if parabola.is_finite() { parabola.clamp(0.1 * alpha, 0.5 * alpha) } else { 0.5 * alpha };
            if alpha * length < 1e-3 * options.step_tolerance {
                break;
            }
        }
        Step::Stuck(Outcome::Stalled)
    }

    /// Copies the state to `x` and completes the report.
    pub(crate) fn finish(
        mut self,
        outcome: Outcome,
        x: &mut [DVec3],
        workspace: &mut Workspace,
    ) -> SolveReport {
        self.report.outcome = outcome;
        self.report.energy = self.problem.energy(&self.x, &self.now).0;
        self.report.residual = self.residual();
        self.report.smallest_det = self.problem.smallest_det(&self.x);
        x.copy_from_slice(&self.x);
        workspace.give_back([self.now, self.trial]);
        self.report
    }
}

/// The longest vector's length.
pub(crate) fn longest(v: &[DVec3]) -> f64 {
    v.iter().fold(0.0f64, |m, g| if g.is_finite() { m.max(g.length_squared()) } else { f64::INFINITY }).sqrt()
}

/// The inner product over all nodes.
pub(crate) fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

/// Runs `f` and adds its time.
pub(crate) fn timed<T>(total: &mut Duration, f: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = f();
    *total += begin.elapsed();
    result
}
