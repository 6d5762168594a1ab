//! Attenuation with limits, and of rigs with in-betweens and combinations: Gauss-Newton on the true
//! evaluation.
//!
//! With `c(w)` the shape strengths at slider values `w` (see [`risorius_rig::coefficients`]) and the letters
//! of [`crate::selection`], the objective is
//!
//! ```text
//! (c - c1)^T (G - S^T r S) (c - c1)  +  a sum_pins r (S c - t)^2  +  ridge |w - w1|^2
//! ```
//!
//! over sliders within their ranges and limited coordinates within theirs. It is evaluated in the space of
//! shapes, so its cost does not depend on the number of vertices. A linear rig gives one convex quadratic
//! program. For other rigs each step linearizes `c` and solves such a program, damped until the objective
//! (with a penalty on violated limits) falls. At a kink of `c` a slider is linearized on the side that it
//! moves to; it stays at the kink if it would move back from both sides. The linearized limits may be
//! infeasible at one start and feasible at another, so a few starts are tried.
//!
//! Problems of a linear rig with bounds alone are solved by the inverse of the system, which is the rig's own
//! with a correction for the pins, so that a new selection needs no factorization. Locked sliders are then
//! unknowns that their bounds hold. Successive problems, as when a slider is dragged, differ by few active
//! limits: each starts from the limits that were active in the one before ([`LastSolve`]).
//!
//! The ridge makes every program strictly convex. A program that still cannot be solved, because `a` is so
//! large that rounding eats the ridge, is solved again with a hundred times the ridge.

use crate::gram::factor_with_ridge;
use crate::selection::{Selection, weighted_square};
use risorius_linalg::dense::dot;
use risorius_linalg::qp::{Constraint, QpError, QuadraticProgram, kkt_residual_of};
use risorius_linalg::{BoundedSequence, Cholesky, KnownInverse, Matrix, solve_bounded};
use risorius_rig::coefficients::Slope;
use std::borrow::Cow;

/// Largest number of Gauss-Newton steps; in-betweens and combinations converge in five to ten.
const MAX_STEPS: usize = 100;

/// Converged when the step of every slider is below this.
const SMALL_STEP: f64 = 1e-9;

/// What to solve, besides the selection.
#[derive(Debug, Clone)]
pub(crate) struct PinnedProblem<'a> {
    /// Weight of pins against the rest.
    pub alpha: f64,
    /// How far each pin is faded in, 0 to 1.
    pub fades: &'a [f64],
    /// Where pins are held, as displacements from the neutral.
    pub targets: &'a [f64],
    /// Slider values asked for.
    pub w1: &'a [f64],
    /// Range that each slider must keep to, if it must.
    pub bounds: Option<&'a [[f64; 2]]>,
}

/// New slider values and how they were found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Solution {
    /// New slider values.
    pub w2: Vec<f64>,
    /// Gauss-Newton steps taken.
    pub steps: usize,
    /// Largest relative violation of the KKT conditions of the last quadratic program, if there was one.
    pub kkt_residual: Option<f64>,
    /// Estimate of the condition number of its matrix.
    pub condition: f64,
    /// Whether the solver converged.
    pub settled: bool,
}

/// The Hessian of a problem over some of the sliders, and what its programs are solved with.
#[derive(Debug)]
pub(crate) struct LinearSystem<'a> {
    /// The sliders; those among them that are locked are held by their bounds.
    sliders: Cow<'a, [usize]>,
    hessian: Matrix,
    /// The ridge that is part of the Hessian.
    ridge: f64,
    prepared: Prepared<'a>,
}

/// What programs of one Hessian are solved with.
#[derive(Debug)]
enum Prepared<'a> {
    /// The factor: for limits, and for programs that are solved once.
    Factor(Cholesky),
    /// The inverse and an estimate of its condition number: for bounds alone, one program after another.
    Inverse(KnownInverse<'a>, f64),
}

/// Times that a program is solved again with a larger ridge.
const MAX_RETRIES: usize = 4;

/// A KKT residual above this is reported as not converged.
const LARGE_RESIDUAL: f64 = 1e-5;

impl<'a> LinearSystem<'a> {
    /// Prepares the system of a linear rig for one `alpha` and the pins' fades.
    pub fn prepare(selection: &'a Selection<'a>, alpha: f64, fades: &[f64]) -> Self {
        let gram = selection.gram();
        let only_bounds = selection.set().limits.is_empty();
        if let Some((inverse, condition)) = selection.inverse(alpha, fades).filter(|_| only_bounds) {
            let mut hessian = selection.system(alpha, fades);
            let (n, ridge) = (hessian.n_rows(), gram.ridge());
            (0..n).for_each(|i| hessian[(i, i)] += ridge);
            let prepared = Prepared::Inverse(inverse, condition);
            return Self { sliders: (0..n).collect::<Vec<_>>().into(), hessian, ridge, prepared };
        }
        let hessian = selection.system(alpha, fades).principal(selection.free());
        let mut system = Self::factor(selection.free(), hessian, gram.ridge());
        if let (Prepared::Factor(factor), true) = (&system.prepared, only_bounds) {
            system.prepared = Prepared::Inverse(KnownInverse::of(factor), factor.condition_estimate());
        }
        system
    }

    fn factor(sliders: impl Into<Cow<'a, [usize]>>, mut hessian: Matrix, ridge: f64) -> Self {
        let (factor, ridge) = factor_with_ridge(hessian.clone(), ridge);
        (0..hessian.n_rows()).for_each(|i| hessian[(i, i)] += ridge);
        Self { sliders: sliders.into(), hessian, ridge, prepared: Prepared::Factor(factor) }
    }

    /// The same system with a hundred times its ridge.
    fn stiffened(&self) -> Self {
        let mut bare = self.hessian.clone();
        (0..bare.n_rows()).for_each(|i| bare[(i, i)] -= self.ridge);
        Self::factor(self.sliders.clone(), bare, 100.0 * self.ridge)
    }

    fn condition_estimate(&self) -> f64 {
        match &self.prepared {
            Prepared::Factor(factor) => factor.condition_estimate(),
            Prepared::Inverse(_, condition) => *condition,
        }
    }
}

/// What the last problem of one linear system leaves for the next one: the sliders that lay at their ranges,
/// and a factor for them or for the others. It saves time and changes results by rounding only.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastSolve(Option<BoundedSequence>);

/// Solves the problem of a linear rig, whose system was prepared for the same `alpha` and fades; `last` is
/// that of the same system, or new.
pub(crate) fn solve_linear(
    selection: &Selection,
    problem: &PinnedProblem,
    system: &LinearSystem,
    last: &mut LastSolve,
) -> Result<Solution, QpError> {
    let model = Model::new(selection, problem);
    let slopes = selection.gram().activation().slopes(problem.w1, &vec![false; problem.w1.len()]);
    let step = model.program(system, problem.w1, &slopes, &[], last)?;
    let mut w2 = problem.w1.to_vec();
    system.sliders.iter().zip(&step.change).for_each(|(&f, d)| w2[f] += d);
    model.clamp(&mut w2);
    let condition = system.condition_estimate();
    let settled = step.residual < LARGE_RESIDUAL;
    Ok(Solution { w2, steps: 1, kkt_residual: Some(step.residual), condition, settled })
}

/// Solves the problem of any rig.
pub(crate) fn solve_bent(selection: &Selection, problem: &PinnedProblem) -> Result<Solution, QpError> {
    let model = Model::new(selection, problem);
    let system = selection.system(problem.alpha, problem.fades);
    let mut failure = None;
    for fraction in [0.0, 0.25, 0.5] {
        // Towards the middle of the ranges, where combinations have nonzero derivatives.
        let middle = |i: usize| problem.bounds.map_or(0.5, |b| 0.5 * (b[i][0] + b[i][1]));
        let start: Vec<f64> =
            problem.w1.iter().enumerate().map(|(i, &w)| w + fraction * (middle(i) - w)).collect();
        match model.descend_both_ways(&system, &start) {
            Ok(solution) => match model.worst_limit(&solution.w2) {
                None => return Ok(solution),
                Some(row) => {
                    failure.get_or_insert(QpError::Infeasible {
                        constraint: Constraint::Row(row),
                        with: Vec::new(),
                    });
                }
            },
            Err(error @ QpError::Infeasible { .. }) => {
                failure.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(failure.unwrap_or(QpError::NoConvergence(0)))
}

/// Damping of the steps, as a multiple of the mean curvature: zero while steps succeed, raised after each
/// step that increased the objective. In the limit a step is the shortest one that meets the linearized
/// limits.
#[derive(Default)]
struct Damping {
    amount: f64,
}

impl Damping {
    fn relax(&mut self) {
        self.amount = if self.amount > 1e-4 { self.amount / 8.0 } else { 0.0 };
    }

    fn tighten(&mut self) {
        self.amount = (8.0 * self.amount).max(1e-3);
    }
}

struct Model<'a> {
    selection: &'a Selection<'a>,
    problem: &'a PinnedProblem<'a>,
    penalty: f64,
    c1: Vec<f64>,
}

/// The solution of one program: the change of the sliders of its system, and how well it meets the KKT
/// conditions.
struct Step {
    change: Vec<f64>,
    residual: f64,
}

impl<'a> Model<'a> {
    fn new(selection: &'a Selection<'a>, problem: &'a PinnedProblem<'a>) -> Self {
        let gram = selection.gram();
        // Large compared with the energy of a typical shape, so that violating a limit never pays off.
        let penalty = 1e4 * gram.mean_energy().sqrt().max(f64::MIN_POSITIVE) * (1.0 + problem.alpha);
        Self { selection, problem, penalty, c1: gram.activation().coefficients(problem.w1) }
    }

    fn clamp(&self, w: &mut [f64]) {
        if let Some(bounds) = self.problem.bounds {
            self.selection.free().iter().for_each(|&f| w[f] = w[f].max(bounds[f][0]).min(bounds[f][1]));
        }
    }

    /// Gauss-Newton from `start`; where that is a kink of some slider, the better of leaving it upwards and
    /// downwards.
    fn descend_both_ways(&self, system: &Matrix, start: &[f64]) -> Result<Solution, QpError> {
        let activation = self.selection.gram().activation();
        let up = self.descend(system, start, false);
        if !self.selection.free().iter().any(|&f| activation.is_kink(f, start[f])) {
            return up;
        }
        match (up, self.descend(system, start, true)) {
            (Ok(up), Ok(down)) => Ok(if self.merit(&down.w2) < self.merit(&up.w2) { down } else { up }),
            (up, down) => up.or(down),
        }
    }

    /// Gauss-Newton from `start`; at kinks, the lower side is tried first if `falling`.
    fn descend(&self, system: &Matrix, start: &[f64], falling: bool) -> Result<Solution, QpError> {
        let free = self.selection.free();
        let mut w = self.problem.w1.to_vec();
        free.iter().for_each(|&f| w[f] = start[f]);
        self.clamp(&mut w);
        let mut merit = self.merit(&w);
        let mut solution =
            Solution { w2: Vec::new(), steps: 0, kkt_residual: None, condition: 1.0, settled: false };
        let mut damping = Damping::default();
        while solution.steps < MAX_STEPS && !solution.settled {
            let (step, condition) = self.step(system, &w, falling, damping.amount)?;
            solution.steps += 1;
            (solution.kkt_residual, solution.condition) = (Some(step.residual), condition);
            let mut trial = w.clone();
            free.iter().zip(&step.change).for_each(|(&f, d)| trial[f] += d);
            let value = self.merit(&trial);
            let largest = step.change.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            if value <= merit {
                // Improvements this small are rounding.
                solution.settled = largest < SMALL_STEP || merit - value <= 1e-14 * merit.abs();
                (w, merit) = (trial, value);
                damping.relax();
            } else {
                solution.settled = largest < SMALL_STEP;
                damping.tighten();
            }
        }
        self.clamp(&mut w);
        solution.w2 = w;
        Ok(solution)
    }

    /// The objective plus a penalty for coordinates outside their limits.
    fn merit(&self, w: &[f64]) -> f64 {
        let PinnedProblem { alpha, fades, targets, w1, .. } = self.problem;
        let (gram, rows) = (self.selection.gram(), self.selection.rows());
        let c = gram.activation().coefficients(w);
        let change: Vec<f64> = c.iter().zip(&self.c1).map(|(a, b)| a - b).collect();
        let zeros = vec![0.0; rows.len()];
        let others = dot(&change, &gram.matrix().times(&change))
            - weighted_square(&rows.times(&change), &zeros, fades);
        let pins = alpha * weighted_square(&rows.times(&c), targets, fades);
        let ridge = gram.ridge() * w.iter().zip(w1.iter()).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        others + pins + ridge + self.penalty * self.violations(&c).iter().sum::<f64>()
    }

    /// How far each limited coordinate is outside its limits at shape strengths `c`.
    fn violations(&self, c: &[f64]) -> Vec<f64> {
        let moved = self.selection.limit_rows().times(c);
        let limits = &self.selection.set().limits;
        moved.iter().zip(limits).map(|(x, l)| (l.range[0] - x).max(x - l.range[1]).max(0.0)).collect()
    }

    /// The limit that `w` violates most, if it does so by more than rounding.
    fn worst_limit(&self, w: &[f64]) -> Option<usize> {
        let gram = self.selection.gram();
        let violations = self.violations(&gram.activation().coefficients(w));
        let worst = (0..violations.len()).max_by(|&a, &b| violations[a].total_cmp(&violations[b]))?;
        (violations[worst] > 1e-6 * gram.mean_energy().sqrt()).then_some(worst)
    }

    /// The best change of the free sliders for `c` linearized at `w`, each slider at a kink on the side that
    /// it moves to; `falling` selects the side that is tried first.
    fn step(&self, system: &Matrix, w: &[f64], falling: bool, damping: f64) -> Result<(Step, f64), QpError> {
        let activation = self.selection.gram().activation();
        let free = self.selection.free();
        let at_kink: Vec<usize> =
            (0..free.len()).filter(|&i| activation.is_kink(free[i], w[free[i]])).collect();
        let mut falling = vec![falling; w.len()];
        let (mut turned, mut kept): (Vec<usize>, Vec<usize>) = Default::default();
        loop {
            let slopes = activation.slopes(w, &falling);
            let mut hessian = project(system, &slopes, w.len()).principal(free);
            let mean = (0..free.len()).map(|i| hessian[(i, i)]).sum::<f64>() / free.len().max(1) as f64;
            (0..free.len()).for_each(|i| hessian[(i, i)] += damping * mean);
            let system = LinearSystem::factor(free, hessian, self.selection.gram().ridge());
            let step = self.program(&system, w, &slopes, &kept, &mut LastSolve::default())?;
            let wrong = |i: &&usize| {
                let side = if falling[free[**i]] { step.change[**i] } else { -step.change[**i] };
                side > SMALL_STEP && !kept.contains(*i)
            };
            let turning: Vec<usize> = at_kink.iter().filter(wrong).copied().collect();
            if turning.is_empty() {
                return Ok((step, system.condition_estimate()));
            }
            for i in turning {
                // It moves down although it was linearized above: use the lower side. If it moves up from
                // there, it stays at the kink.
                if turned.contains(&i) {
                    kept.push(i);
                } else {
                    turned.push(i);
                    falling[free[i]] = !falling[free[i]];
                }
            }
        }
    }

    /// Solves the program of the linearization given by `slopes`; sliders of the system in `kept` do not
    /// move.
    fn program(
        &self,
        system: &LinearSystem,
        w: &[f64],
        slopes: &[Slope],
        kept: &[usize],
        last: &mut LastSolve,
    ) -> Result<Step, QpError> {
        let sliders = &system.sliders;
        let c = self.selection.gram().activation().coefficients(w);
        let gradient = self.gradient(sliders, w, &c, slopes);
        let rows = self.limit_program_rows(sliders, &c, slopes, w.len());
        let mut is_free = vec![false; w.len()];
        self.selection.free().iter().for_each(|&f| is_free[f] = true);
        let range = |i: usize, side: usize| match self.problem.bounds {
            _ if kept.contains(&i) || !is_free[sliders[i]] => 0.0,
            Some(bounds) => bounds[sliders[i]][side] - w[sliders[i]],
            None => [f64::NEG_INFINITY, f64::INFINITY][side],
        };
        let lower: Vec<f64> = (0..sliders.len()).map(|i| range(i, 0)).collect();
        let upper: Vec<f64> = (0..sliders.len()).map(|i| range(i, 1)).collect();
        let mut solve = |system: &LinearSystem| {
            let h = &system.hessian;
            let solution = match &system.prepared {
                Prepared::Inverse(inverse, _) => {
                    let LastSolve(last) = &mut *last;
                    let sequence = last.get_or_insert_with(|| BoundedSequence::new(sliders.len()));
                    sequence.solve(h, inverse, &gradient, &lower, &upper)?
                }
                Prepared::Factor(_) if rows.is_empty() && self.problem.bounds.is_some() => {
                    solve_bounded(h, &gradient, &lower, &upper)?
                }
                Prepared::Factor(hessian) => {
                    let [gradient, lower, upper] = [&gradient[..], &lower, &upper];
                    QuadraticProgram { hessian, gradient, lower, upper, rows: &rows }.solve()?
                }
            };
            let residual = kkt_residual_of(h, &gradient, [&lower, &upper], &rows, &solution);
            Ok(Step { change: solution.x, residual })
        };
        // The caller knows sliders, not the unknowns of this program.
        let of_slider = |constraint: Constraint| match constraint {
            Constraint::Bound(i) => Constraint::Bound(sliders[i]),
            row => row,
        };
        let mut solved = solve(system);
        let mut stiff: Option<LinearSystem> = None;
        for _ in 0..MAX_RETRIES {
            if !matches!(solved, Err(QpError::NoConvergence(_) | QpError::NotDefinite { .. })) {
                break;
            }
            let stiffer = stiff.as_ref().unwrap_or(system).stiffened();
            solved = solve(&stiffer);
            stiff = Some(stiffer);
        }
        solved.map_err(|error| match error {
            QpError::EmptyRange { constraint, lower, upper } => {
                QpError::EmptyRange { constraint: of_slider(constraint), lower, upper }
            }
            QpError::Infeasible { constraint, with } => QpError::Infeasible {
                constraint: of_slider(constraint),
                with: with.into_iter().map(of_slider).collect(),
            },
            other => other,
        })
    }

    /// Half the derivative of the objective by some sliders.
    fn gradient(&self, sliders: &[usize], w: &[f64], c: &[f64], slopes: &[Slope]) -> Vec<f64> {
        let PinnedProblem { alpha, fades, targets, w1, .. } = self.problem;
        let (gram, rows) = (self.selection.gram(), self.selection.rows());
        let change: Vec<f64> = c.iter().zip(&self.c1).map(|(a, b)| a - b).collect();
        let (moved, changed) = (rows.times(c), rows.times(&change));
        let pull: Vec<f64> =
            (0..rows.len()).map(|i| fades[i] * (alpha * (moved[i] - targets[i]) - changed[i])).collect();
        let mut by_shape = gram.matrix().times(&change);
        by_shape.iter_mut().zip(rows.transposed_times(&pull, c.len())).for_each(|(g, p)| *g += p);
        let by_slider = through_transposed(slopes, &by_shape, w.len());
        sliders.iter().map(|&f| by_slider[f] + gram.ridge() * (w[f] - w1[f])).collect()
    }

    /// The limits as rows over the changes of some sliders.
    fn limit_program_rows(
        &self,
        sliders: &[usize],
        c: &[f64],
        slopes: &[Slope],
        n_sliders: usize,
    ) -> Vec<(Vec<f64>, f64, f64)> {
        let (rows, limits) = (self.selection.limit_rows(), &self.selection.set().limits);
        let now = rows.times(c);
        (0..limits.len())
            .map(|i| {
                let mut by_shape = vec![0.0; c.len()];
                rows.row(i).iter().for_each(|&(s, x)| by_shape[s as usize] = x.into());
                let by_slider = through_transposed(slopes, &by_shape, n_sliders);
                let row = sliders.iter().map(|&f| by_slider[f]).collect();
                (row, limits[i].range[0] - now[i], limits[i].range[1] - now[i])
            })
            .collect()
    }
}

/// `C^T y` for the derivative `C` of shape strengths.
fn through_transposed(slopes: &[Slope], y: &[f64], n_sliders: usize) -> Vec<f64> {
    let mut out = vec![0.0; n_sliders];
    slopes.iter().for_each(|s| out[s.slider] += s.value * y[s.shape]);
    out
}

/// `C^T A C` for symmetric `A`.
fn project(a: &Matrix, slopes: &[Slope], n_sliders: usize) -> Matrix {
    let mut half = Matrix::zeros(a.n_rows(), n_sliders);
    for s in slopes {
        let column = half.column_mut(s.slider);
        column.iter_mut().zip(a.column(s.shape)).for_each(|(h, x)| *h += s.value * x);
    }
    let mut out = Matrix::zeros(n_sliders, n_sliders);
    for j in 0..n_sliders {
        let from = half.column(j);
        let to = out.column_mut(j);
        slopes.iter().for_each(|s| to[s.slider] += s.value * from[s.shape]);
    }
    out
}
