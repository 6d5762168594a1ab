//! Strictly convex quadratic programs with bounds and a few general inequalities.
//!
//! ```text
//! minimize  1/2 x^T H x + g^T x    subject to    lower <= x <= upper,    row_lower <= R x <= row_upper
//! ```
//!
//! The dual active-set method of Goldfarb and Idnani [Goldfarb83, dual algorithm]: start at the unconstrained
//! minimum and add the most violated constraint, one at a time, dropping those whose multiplier would
//! become negative. It needs one Cholesky factor of `H`, ends after finitely many steps at a point that meets
//! the KKT conditions, and detects infeasible programs. With `v_j = L^-1 a_j` for the active
//! constraints, each step solves with the small matrix `V^T V`. Meant for up to a few thousand unknowns.

use crate::dense::{Cholesky, Matrix, dot};

/// The problem; see the module's header.
#[derive(Debug, Clone)]
pub struct QuadraticProgram<'a> {
    /// Factor of `H`.
    pub hessian: &'a Cholesky,
    /// `g`.
    pub gradient: &'a [f64],
    /// Lower bound of each unknown; may be `-inf`.
    pub lower: &'a [f64],
    /// Upper bound of each unknown; may be `inf`.
    pub upper: &'a [f64],
    /// Rows of `R` with their lower and upper limits.
    pub rows: &'a [(Vec<f64>, f64, f64)],
}

/// The minimizer and the multipliers that certify it.
#[derive(Debug, Clone, PartialEq)]
pub struct QpSolution {
    /// The minimizer.
    pub x: Vec<f64>,
    /// Multiplier of each bound: positive where the lower bound is active, negative for the upper, else 0.
    pub bound_multipliers: Vec<f64>,
    /// Multiplier of each row, with the same sign convention.
    pub row_multipliers: Vec<f64>,
    /// Constraints added or dropped.
    pub iterations: usize,
}

/// Why there is no solution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QpError {
    /// A lower limit above its upper limit, or a limit that is NaN.
    #[error("the limits of {constraint} are {lower} to {upper}; the lower must not exceed the upper")]
    EmptyRange {
        /// The constraint.
        constraint: Constraint,
        /// Its lower limit.
        lower: f64,
        /// Its upper limit.
        upper: f64,
    },
    /// No point meets all constraints.
    #[error("no solution meets every limit: {constraint} contradicts other limits; relax one of them")]
    Infeasible {
        /// The constraint that could not be met ...
        constraint: Constraint,
        /// ... together with these.
        with: Vec<Constraint>,
    },
    /// A part of the matrix that must be positive definite is not.
    #[error(
        "the matrix of the quadratic program is not positive definite over {n_free} free unknowns; \
         add to its diagonal"
    )]
    NotDefinite {
        /// Unknowns that were free when the factorization failed.
        n_free: usize,
    },
    /// The method did not converge; the data is too badly conditioned.
    #[error("the quadratic program did not converge in {0} steps")]
    NoConvergence(usize),
}

/// A constraint, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// The bound of an unknown.
    Bound(usize),
    /// A row of `R`.
    Row(usize),
}

impl std::fmt::Display for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bound(i) => write!(f, "unknown {i}"),
            Self::Row(i) => write!(f, "row {i}"),
        }
    }
}

/// One side of a constraint, as `sign * a . x >= sign * limit`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Face {
    constraint: Constraint,
    sign: f64,
}

/// An active face with its direction `v = L^-1 (sign a)` and multiplier.
struct Active {
    face: Face,
    direction: Vec<f64>,
    multiplier: f64,
}

impl QuadraticProgram<'_> {
    /// Solves the program.
    pub fn solve(&self) -> Result<QpSolution, QpError> {
        self.check_ranges()?;
        let n = self.gradient.len();
        let mut x: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        self.hessian.solve_in_place(&mut x);
        let mut active: Vec<Active> = Vec::new();
        let mut small = SmallFactor::default();
        let limit = 20 * (n + self.rows.len()) + 100;
        let mut iterations = 0;
        while let Some(face) = self.most_violated(&x, &active) {
            let direction = self.direction(face);
            let mut multiplier = 0.0;
            loop {
                iterations += 1;
                if iterations > limit {
                    return Err(QpError::NoConvergence(limit));
                }
                let step = self.step(&active, &small, &direction);
                // How far until an active multiplier reaches zero, and how far until the new constraint is
                // met.
                let (drop, to_drop) = first_to_vanish(&active, &step.dual);
                let curvature = dot(&step.primal, &step.primal);
                let to_meet = if curvature > 1e-13 * dot(&direction, &direction) {
                    -self.slack(face, &x) / curvature
                } else {
                    f64::INFINITY
                };
                let length = to_drop.min(to_meet);
                if length.is_infinite() {
                    let with = active.iter().map(|a| a.face.constraint).collect();
                    return Err(QpError::Infeasible { constraint: face.constraint, with });
                }
                if to_meet.is_finite() {
                    let mut move_x = step.primal;
                    self.hessian.upper_solve_in_place(&mut move_x);
                    x.iter_mut().zip(&move_x).for_each(|(x, d)| *x += length * d);
                }
                active
                    .iter_mut()
                    .zip(&step.dual)
                    .for_each(|(a, r)| a.multiplier = (a.multiplier - length * r).max(0.0));
                multiplier += length;
                if to_meet <= to_drop {
                    small.push(&active, &direction);
                    active.push(Active { face, direction, multiplier });
                    break;
                }
                active.remove(drop);
                small.remove(drop);
            }
        }
        Ok(self.solution(x, &active, iterations))
    }

    fn check_ranges(&self) -> Result<(), QpError> {
        let bounds =
            self.lower.iter().zip(self.upper).enumerate().map(|(i, (l, u))| (Constraint::Bound(i), *l, *u));
        let rows = self.rows.iter().enumerate().map(|(i, r)| (Constraint::Row(i), r.1, r.2));
        for (constraint, lower, upper) in bounds.chain(rows) {
            if lower > upper || lower.is_nan() || upper.is_nan() {
                return Err(QpError::EmptyRange { constraint, lower, upper });
            }
        }
        Ok(())
    }

    fn limits(&self, constraint: Constraint) -> (f64, f64) {
        match constraint {
            Constraint::Bound(i) => (self.lower[i], self.upper[i]),
            Constraint::Row(i) => (self.rows[i].1, self.rows[i].2),
        }
    }

    fn value(&self, constraint: Constraint, x: &[f64]) -> f64 {
        match constraint {
            Constraint::Bound(i) => x[i],
            Constraint::Row(i) => dot(&self.rows[i].0, x),
        }
    }

    /// How far inside its limit the face is; negative when violated.
    fn slack(&self, face: Face, x: &[f64]) -> f64 {
        let (lower, upper) = self.limits(face.constraint);
        let value = self.value(face.constraint, x);
        if face.sign > 0.0 { value - lower } else { upper - value }
    }

    fn most_violated(&self, x: &[f64], active: &[Active]) -> Option<Face> {
        let constraints =
            (0..x.len()).map(Constraint::Bound).chain((0..self.rows.len()).map(Constraint::Row));
        let mut worst: Option<(f64, Face)> = None;
        for constraint in constraints {
            let (lower, upper) = self.limits(constraint);
            let value = self.value(constraint, x);
            let tolerance = 1e-11 * (1.0 + value.abs());
            for (sign, violation) in [(1.0, lower - value), (-1.0, value - upper)] {
                let face = Face { constraint, sign };
                if violation > tolerance
                    && worst.is_none_or(|(w, _)| violation > w)
                    && !active.iter().any(|a| a.face == face)
                {
                    worst = Some((violation, face));
                }
            }
        }
        worst.map(|(_, face)| face)
    }

    fn direction(&self, face: Face) -> Vec<f64> {
        let mut a = match face.constraint {
            Constraint::Bound(i) => {
                let mut unit = vec![0.0; self.gradient.len()];
                unit[i] = 1.0;
                unit
            }
            Constraint::Row(i) => self.rows[i].0.clone(),
        };
        a.iter_mut().for_each(|v| *v *= face.sign);
        self.hessian.lower_solve_in_place(&mut a);
        a
    }

    /// Splits `direction` into its part in the span of the active constraints (coefficients `dual`) and the
    /// rest (`primal`).
    fn step(&self, active: &[Active], small: &SmallFactor, direction: &[f64]) -> Step {
        let mut primal = direction.to_vec();
        let mut dual = vec![0.0; active.len()];
        // Twice: the second pass removes the rounding error of the first.
        for _ in 0..2 {
            let inner: Vec<f64> = active.iter().map(|a| dot(&a.direction, &primal)).collect();
            let r = small.solve(&inner);
            for (a, (r, total)) in active.iter().zip(r.iter().zip(&mut dual)) {
                primal.iter_mut().zip(&a.direction).for_each(|(p, v)| *p -= r * v);
                *total += r;
            }
        }
        Step { primal, dual }
    }

    fn solution(&self, mut x: Vec<f64>, active: &[Active], iterations: usize) -> QpSolution {
        let mut bound_multipliers = vec![0.0; x.len()];
        let mut row_multipliers = vec![0.0; self.rows.len()];
        for a in active {
            let signed = a.face.sign * a.multiplier;
            match a.face.constraint {
                Constraint::Bound(i) => {
                    bound_multipliers[i] += signed;
                    x[i] = if a.face.sign > 0.0 { self.lower[i] } else { self.upper[i] };
                }
                Constraint::Row(i) => row_multipliers[i] += signed,
            }
        }
        // The search stops within a tolerance; the result must meet the bounds exactly.
        for (x, (&lower, &upper)) in x.iter_mut().zip(self.lower.iter().zip(self.upper)) {
            *x = x.clamp(lower, upper);
        }
        QpSolution { x, bound_multipliers, row_multipliers, iterations }
    }
}

struct Step {
    primal: Vec<f64>,
    dual: Vec<f64>,
}

fn first_to_vanish(active: &[Active], dual: &[f64]) -> (usize, f64) {
    active
        .iter()
        .zip(dual)
        .enumerate()
        .filter(|(_, (_, r))| **r > 0.0)
        .map(|(i, (a, r))| (i, a.multiplier / r))
        .fold((usize::MAX, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
}

/// Cholesky factor of the growing and shrinking matrix `V^T V`, row by row.
#[derive(Default)]
struct SmallFactor {
    gram: Vec<Vec<f64>>,
    rows: Vec<Vec<f64>>,
}

impl SmallFactor {
    fn push(&mut self, active: &[Active], direction: &[f64]) {
        let mut gram: Vec<f64> = active.iter().map(|a| dot(&a.direction, direction)).collect();
        gram.push(dot(direction, direction));
        self.gram.push(gram);
        self.extend_factor();
    }

    fn extend_factor(&mut self) {
        let k = self.rows.len();
        let mut row = Vec::with_capacity(k + 1);
        for j in 0..k {
            let sum = dot(&row[..j], &self.rows[j][..j]);
            row.push((self.gram[k][j] - sum) / self.rows[j][j]);
        }
        let pivot = self.gram[k][k] - dot(&row, &row);
        row.push(pivot.max(1e-14 * self.gram[k][k]).sqrt());
        self.rows.push(row);
    }

    fn remove(&mut self, index: usize) {
        self.gram.remove(index);
        self.gram[index..].iter_mut().for_each(|row| {
            row.remove(index);
        });
        self.rows.truncate(index);
        while self.rows.len() < self.gram.len() {
            self.extend_factor();
        }
    }

    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.rows.len();
        let mut y = b.to_vec();
        for i in 0..n {
            y[i] = (y[i] - dot(&self.rows[i][..i], &y[..i])) / self.rows[i][i];
        }
        for i in (0..n).rev() {
            y[i] /= self.rows[i][i];
            let yi = y[i];
            for (yj, l) in y[..i].iter_mut().zip(&self.rows[i]) {
                *yj -= yi * l;
            }
        }
        y
    }
}

/// The largest violation of the KKT conditions by `solution`, each relative to the size of its terms:
/// stationarity, limits, signs of multipliers, complementarity. `h` is the matrix whose factor the program
/// holds.
pub fn kkt_residual(program: &QuadraticProgram, h: &Matrix, solution: &QpSolution) -> f64 {
    let QuadraticProgram { gradient, lower, upper, rows, .. } = *program;
    kkt_residual_of(h, gradient, [lower, upper], rows, solution)
}

/// As [`kkt_residual`], of a program whose matrix is not factored; `bounds` are the lower and upper ones.
pub fn kkt_residual_of(
    h: &Matrix,
    gradient: &[f64],
    bounds: [&[f64]; 2],
    rows: &[(Vec<f64>, f64, f64)],
    solution: &QpSolution,
) -> f64 {
    let x = &solution.x;
    // Each equation is relative to the size of its own terms, so that a stiff one does not hide errors in the
    // others. Terms that are negligible beside the largest do not count.
    let mut stationarity = gradient.to_vec();
    let mut scales: Vec<f64> = stationarity.iter().map(|g| g.abs()).collect();
    let mut add = |column: &[f64], factor: f64| {
        for ((s, scale), a) in stationarity.iter_mut().zip(&mut scales).zip(column) {
            let term = a * factor;
            *s += term;
            *scale += term.abs();
        }
    };
    (0..x.len()).filter(|&j| x[j] != 0.0).for_each(|j| add(h.column(j), x[j]));
    rows.iter().zip(&solution.row_multipliers).for_each(|(row, m)| add(&row.0, -m));
    for ((s, scale), m) in stationarity.iter_mut().zip(&mut scales).zip(&solution.bound_multipliers) {
        *s -= m;
        *scale += m.abs();
    }
    let scale = scales.iter().copied().fold(1e-300, f64::max);
    let mut worst =
        stationarity.iter().zip(&scales).map(|(s, own)| s.abs() / own.max(1e-9 * scale)).fold(0.0, f64::max);
    let of_bounds = (0..x.len()).map(|i| (x[i], bounds[0][i], bounds[1][i], solution.bound_multipliers[i]));
    let of_rows = rows
        .iter()
        .zip(&solution.row_multipliers)
        .map(|((row, lower, upper), &m)| (dot(row, x), *lower, *upper, m));
    for (value, lower, upper, multiplier) in of_bounds.chain(of_rows) {
        let size = 1.0 + value.abs();
        worst = worst.max((lower - value) / size).max((value - upper) / size);
        // A multiplier may be nonzero only at an active limit, with the sign of that limit.
        let gap = if multiplier > 0.0 { value - lower } else { upper - value };
        if multiplier.abs() > 1e-9 * scale {
            worst = worst.max(gap.abs() / size);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0
    }

    fn random_hessian(n: usize, state: &mut u64) -> Matrix {
        let mut a = Matrix::zeros(n + 2, n);
        for j in 0..n {
            a.column_mut(j).iter_mut().for_each(|x| *x = random(state));
        }
        let mut h = a.gram();
        (0..n).for_each(|i| h[(i, i)] += 0.01);
        h
    }

    #[test]
    fn random_programs_meet_kkt() {
        let mut state = 7;
        for trial in 0..60 {
            let n = 1 + trial % 23;
            let h = random_hessian(n, &mut state);
            let factor = Cholesky::factor(h.clone()).unwrap();
            let gradient: Vec<f64> = (0..n).map(|_| 5.0 * random(&mut state)).collect();
            let lower: Vec<f64> = (0..n).map(|_| -random(&mut state).abs()).collect();
            let upper: Vec<f64> = (0..n).map(|_| random(&mut state).abs()).collect();
            // Rows that x = 0 satisfies, so that a solution always exists.
            let rows: Vec<(Vec<f64>, f64, f64)> = (0..trial % 5)
                .map(|_| {
                    ((0..n).map(|_| random(&mut state)).collect(), -0.1 * random(&mut state).abs(), 0.05)
                })
                .collect();
            let program = QuadraticProgram {
                hessian: &factor,
                gradient: &gradient,
                lower: &lower,
                upper: &upper,
                rows: &rows,
            };
            let solution = program.solve().unwrap();
            let residual = kkt_residual(&program, &h, &solution);
            assert!(residual < 1e-8, "trial {trial}: {residual:e}");
        }
    }

    #[test]
    fn a_wrong_point_fails_kkt() {
        let mut state = 3;
        let h = random_hessian(6, &mut state);
        let factor = Cholesky::factor(h.clone()).unwrap();
        let program = QuadraticProgram {
            hessian: &factor,
            gradient: &[3.0, -2.0, 1.0, 4.0, -1.0, 2.0],
            lower: &[-0.1; 6],
            upper: &[0.1; 6],
            rows: &[],
        };
        let mut solution = program.solve().unwrap();
        assert!(kkt_residual(&program, &h, &solution) < 1e-10);
        solution.x[2] += 1e-3;
        assert!(kkt_residual(&program, &h, &solution) > 1e-5);
    }

    #[test]
    fn contradictions_are_found() {
        let factor = Cholesky::factor(random_hessian(2, &mut 5)).unwrap();
        let rows = [(vec![1.0, 1.0], 3.0, 4.0)];
        let program = QuadraticProgram {
            hessian: &factor,
            gradient: &[0.0; 2],
            lower: &[0.0; 2],
            upper: &[1.0; 2],
            rows: &rows,
        };
        assert!(matches!(program.solve(), Err(QpError::Infeasible { .. })));
        let reversed = QuadraticProgram { lower: &[2.0, 0.0], rows: &[], ..program };
        assert!(matches!(reversed.solve(), Err(QpError::EmptyRange { .. })));
    }

    #[test]
    fn equal_limits_fix_an_unknown_and_repeated_rows_do_no_harm() {
        let h = random_hessian(3, &mut 9);
        let factor = Cholesky::factor(h.clone()).unwrap();
        let rows = vec![(vec![1.0, 1.0, 0.0], 0.2, 9.0); 3];
        let program = QuadraticProgram {
            hessian: &factor,
            gradient: &[1.0, 1.0, 1.0],
            lower: &[0.05, -1.0, -1.0],
            upper: &[0.05, 1.0, 1.0],
            rows: &rows,
        };
        let solution = program.solve().unwrap();
        assert_eq!(solution.x[0], 0.05);
        assert!(kkt_residual(&program, &h, &solution) < 1e-8);
    }
}
