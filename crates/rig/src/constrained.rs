//! Attenuation with limits, and of rigs with in-betweens and combinations: Gauss-Newton on the true evaluation.
//!
//! With `c(w)` the shape strengths at slider values `w` (see [`crate::coefficients`]) and the letters of
//! [`crate::selection`], the objective is
//!
//! ```text
//! (c - c1)^T (G - S^T r S) (c - c1)  +  a sum_pins r (S c - t)^2  +  ridge |w - w1|^2
//! ```
//!
//! over sliders within their ranges and limited coordinates within theirs. It lives in the space of shapes, so no vertex
//! is touched. Each step linearizes `c` and solves a convex quadratic program; a backtracking line search keeps the
//! objective (with a penalty on limits that curvature violates) falling. A linear rig takes one step, and the result
//! meets the KKT conditions.

use crate::coefficients::Slope;
use crate::gram::factor_with_ridge;
use crate::pins::CoordinateLimit;
use crate::selection::{Rows, Selection, weighted_square};
use risorius_linalg::dense::dot;
use risorius_linalg::qp::{QpError, QuadraticProgram, kkt_residual};
use risorius_linalg::{Matrix, QpSolution};

/// Gauss-Newton steps at most; in-betweens and combinations settle in five to ten.
const MAX_STEPS: usize = 60;

/// What to solve, besides the selection.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// Weight of pins against the rest.
    pub alpha: f64,
    /// Strength of each pin, 0 to 1.
    pub strengths: &'a [f64],
    /// Where pins are held, as displacements from the neutral.
    pub targets: &'a [f64],
    /// Slider values asked for.
    pub w1: &'a [f64],
    /// Range of each slider, when they are to be kept.
    pub bounds: Option<&'a [[f64; 2]]>,
    /// Limited coordinates and their rows.
    pub limits: &'a [CoordinateLimit],
    /// Rows of `limits`.
    pub limit_rows: &'a Rows,
}

/// The result of [`solve`].
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// New slider values.
    pub w2: Vec<f64>,
    /// Gauss-Newton steps taken.
    pub steps: usize,
    /// Largest relative violation of the KKT conditions of the last quadratic program.
    pub kkt_residual: f64,
    /// Whether the last step was small enough to call it an end.
    pub converged: bool,
}

/// Finds the best slider values within all limits.
pub fn solve(selection: &Selection, problem: &Problem) -> Result<Solution, QpError> {
    let gram = selection.gram();
    // Steep against the energy of a typical shape, so that limits win over everything that can be gained by leaving them.
    let penalty = 1e4 * gram.mean_energy().sqrt().max(f64::MIN_POSITIVE) * (1.0 + problem.alpha);
    let model = Model { selection, problem, penalty, c1: gram.activation().coefficients(problem.w1) };
    let system = selection.system(problem.alpha, problem.strengths);
    let free = selection.free();
    let mut w = problem.w1.to_vec();
    if let Some(bounds) = problem.bounds {
        for (&f, [low, high]) in free.iter().zip(free.iter().map(|&f| bounds[f])) {
            w[f] = w[f].max(low).min(high);
        }
    }
    let mut merit = model.merit(&w);
    let mut solution = Solution { w2: w.clone(), steps: 0, kkt_residual: 0.0, converged: false };
    while solution.steps < MAX_STEPS && !solution.converged {
        let (step, residual) = model.step(&system, &w)?;
        solution.steps += 1;
        solution.kkt_residual = residual;
        let largest = step.iter().fold(0.0f64, |m, d| m.max(d.abs()));
        let mut length = 1.0;
        loop {
            let mut trial = w.clone();
            free.iter().zip(&step).for_each(|(&f, d)| trial[f] += length * d);
            let value = model.merit(&trial);
            if value <= merit || gram.is_linear() {
                solution.converged = gram.is_linear() || largest * length < 1e-9;
                w = trial;
                merit = value;
                break;
            }
            length *= 0.5;
            if length < 1e-8 {
                // At a kink no direction falls any more: this is the minimum to within rounding.
                solution.converged = true;
                break;
            }
        }
    }
    if let Some(bounds) = problem.bounds {
        free.iter().for_each(|&f| w[f] = w[f].max(bounds[f][0]).min(bounds[f][1]));
    }
    solution.w2 = w;
    Ok(solution)
}

struct Model<'a> {
    selection: &'a Selection<'a>,
    problem: &'a Problem<'a>,
    penalty: f64,
    c1: Vec<f64>,
}

impl Model<'_> {
    /// The objective plus a penalty for coordinates outside their limits.
    fn merit(&self, w: &[f64]) -> f64 {
        let Problem { alpha, strengths, targets, w1, limits, limit_rows, .. } = self.problem;
        let gram = self.selection.gram();
        let rows = self.selection.rows();
        let c = gram.activation().coefficients(w);
        let change: Vec<f64> = c.iter().zip(&self.c1).map(|(a, b)| a - b).collect();
        let zeros = vec![0.0; rows.len()];
        let others =
            dot(&change, &gram.matrix().times(&change)) - weighted_square(&rows.times(&change), &zeros, strengths);
        let pins = alpha * weighted_square(&rows.times(&c), targets, strengths);
        let ridge = gram.ridge() * w.iter().zip(w1.iter()).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let outside: f64 = limit_rows
            .times(&c)
            .iter()
            .zip(limits.iter())
            .map(|(x, l)| (l.range[0] - x).max(x - l.range[1]).max(0.0))
            .sum();
        others + pins + ridge + self.penalty * outside
    }

    /// The best change of the free sliders for `c` linearized at `w`, and the KKT residual of that program.
    fn step(&self, system: &Matrix, w: &[f64]) -> Result<(Vec<f64>, f64), QpError> {
        let problem = self.problem;
        let (gram, rows, free) = (self.selection.gram(), self.selection.rows(), self.selection.free());
        let c = gram.activation().coefficients(w);
        let slopes = gram.activation().slopes(w);
        let n_sliders = gram.activation().n_sliders();

        let change: Vec<f64> = c.iter().zip(&self.c1).map(|(a, b)| a - b).collect();
        let (moved, changed) = (rows.times(&c), rows.times(&change));
        let pull: Vec<f64> = (0..rows.len())
            .map(|i| problem.strengths[i] * (problem.alpha * (moved[i] - problem.targets[i]) - changed[i]))
            .collect();
        let mut by_shape = gram.matrix().times(&change);
        by_shape.iter_mut().zip(rows.transposed_times(&pull, c.len())).for_each(|(g, p)| *g += p);
        let mut by_slider = through_transposed(&slopes, &by_shape, n_sliders);
        by_slider.iter_mut().enumerate().for_each(|(i, g)| *g += gram.ridge() * (w[i] - problem.w1[i]));
        let gradient: Vec<f64> = free.iter().map(|&f| by_slider[f]).collect();

        let mut hessian = project(system, &slopes, n_sliders).principal(free);
        let factor = factor_with_ridge(hessian.clone(), gram.ridge());
        let limit_now = problem.limit_rows.times(&c);
        let limit_rows: Vec<(Vec<f64>, f64, f64)> = (0..problem.limits.len())
            .map(|i| {
                let mut row = vec![0.0; c.len()];
                problem.limit_rows.row(i).iter().for_each(|&(s, x)| row[s as usize] = x.into());
                let row = through_transposed(&slopes, &row, n_sliders);
                let [low, high] = problem.limits[i].range;
                (free.iter().map(|&f| row[f]).collect(), low - limit_now[i], high - limit_now[i])
            })
            .collect();
        let range = |f: usize, side: usize| match problem.bounds {
            Some(bounds) => bounds[f][side] - w[f],
            None => [f64::NEG_INFINITY, f64::INFINITY][side],
        };
        let lower: Vec<f64> = free.iter().map(|&f| range(f, 0)).collect();
        let upper: Vec<f64> = free.iter().map(|&f| range(f, 1)).collect();
        let program =
            QuadraticProgram { hessian: &factor, gradient: &gradient, lower: &lower, upper: &upper, rows: &limit_rows };
        let solution: QpSolution = program.solve()?;
        (0..free.len()).for_each(|i| hessian[(i, i)] += gram.ridge());
        let residual = kkt_residual(&program, &hessian, &solution);
        Ok((solution.x, residual))
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
