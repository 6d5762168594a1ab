//! Strictly convex quadratic programs with bounds as the only constraints.
//!
//! ```text
//! minimize  1/2 x^T H x + g^T x    subject to    lower <= x <= upper
//! ```
//!
//! Block principal pivoting [Judice94, block algorithm]: guess which unknowns lie at a bound, solve for the
//! others, and correct all wrong guesses at once. A few Cholesky factorizations of the free part are enough
//! even when hundreds of bounds are active; the dual method of [`crate::qp`] adds bounds one by one.
//!
//! Nearly dependent unknowns can change places forever. When the number of wrong guesses stops falling, an
//! interior-point method makes a better guess (`bounds/interior.rs`). (Correcting one guess at a time, which
//! is usual here, ends in exact arithmetic, but takes thousands of exchanges for a thousand such unknowns; so
//! does the projected Newton method, which was tried as well.) If exchanges do not end from there either, a
//! primal active-set method takes over: it stays within the bounds, the objective never rises, and every
//! point that it passes is a valid answer, so that there always is one.
//!
//! Several programs of one matrix, whose inverse is known, are solved by [`BoundedSequence`]: from the last
//! guess, on factors of the size of the fixed or of the free part, whichever is smaller, which are updated
//! for each unknown that is freed or fixed. The minimizer is unique, so the result does not depend on the
//! program before, except by rounding.
//!
//! `H` is dense, n x n, symmetric positive definite; the result is the minimizer and its multipliers.

use crate::dense::Matrix;
use crate::qp::{Constraint, QpError, QpSolution};
pub use inverse::KnownInverse;
use minimum::Factors;

mod interior;
mod inverse;
mod minimum;
mod part_factor;

/// Block exchanges that may fail to reduce the number of wrong guesses before a better guess is made.
const PATIENCE: usize = 3;

/// Where an unknown is guessed to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoundState {
    Free,
    Lower,
    Upper,
}

/// Solves the program; `h` is symmetric positive definite.
pub fn solve_bounded(
    h: &Matrix,
    gradient: &[f64],
    lower: &[f64],
    upper: &[f64],
) -> Result<QpSolution, QpError> {
    let program = BoundedProgram { h, gradient, lower, upper };
    let mut places = vec![BoundState::Free; gradient.len()];
    program.solve(&mut places, &mut |places| program.minimum_by_factoring(places))
}

/// Solves programs of one matrix, one after another, each from where the last one ended.
#[derive(Debug, Clone)]
pub struct BoundedSequence {
    places: Vec<BoundState>,
    factors: Factors,
}

impl BoundedSequence {
    /// For programs of `n` unknowns; starts with all of them free.
    pub fn new(n: usize) -> Self {
        Self { places: vec![BoundState::Free; n], factors: Factors::new(n) }
    }

    /// Solves the next program; `h` is the matrix of all of them, and `inverse` its inverse.
    pub fn solve(
        &mut self,
        h: &Matrix,
        inverse: &KnownInverse,
        gradient: &[f64],
        lower: &[f64],
        upper: &[f64],
    ) -> Result<QpSolution, QpError> {
        let program = BoundedProgram { h, gradient, lower, upper };
        let Self { places, factors } = self;
        let unbounded = std::cell::OnceCell::new();
        let unbounded = || unbounded.get_or_init(|| program.unbounded(inverse));
        program.solve(places, &mut |places| program.minimum_by_updating(places, inverse, &unbounded, factors))
    }
}

/// A minimizer over the free unknowns, and the gradient of the objective there.
type Minimum = (Vec<f64>, Vec<f64>);

/// How to find the minimum over the free unknowns with the others at their bounds.
type Minimize<'a> = dyn FnMut(&[BoundState]) -> Result<Minimum, QpError> + 'a;

struct BoundedProgram<'a> {
    h: &'a Matrix,
    gradient: &'a [f64],
    lower: &'a [f64],
    upper: &'a [f64],
}

impl BoundedProgram<'_> {
    fn n(&self) -> usize {
        self.gradient.len()
    }

    /// Solves the program from the guess in `places`; the last guess is left there.
    fn solve(&self, places: &mut [BoundState], minimize: &mut Minimize) -> Result<QpSolution, QpError> {
        let (n, lower, upper) = (self.n(), self.lower, self.upper);
        for i in 0..n {
            if lower[i] > upper[i] || lower[i].is_nan() || upper[i].is_nan() {
                let constraint = Constraint::Bound(i);
                return Err(QpError::EmptyRange { constraint, lower: lower[i], upper: upper[i] });
            }
            places[i] = match places[i] {
                _ if lower[i] == upper[i] => BoundState::Lower,
                BoundState::Lower if lower[i].is_infinite() => BoundState::Free,
                BoundState::Upper if upper[i].is_infinite() => BoundState::Free,
                place => place,
            };
        }
        let mut iterations = 0;
        if let Some(solution) = self.exchange(places, minimize, &mut iterations)? {
            return Ok(solution);
        }
        let inside = self.guess_from_inside(places);
        match self.exchange(places, minimize, &mut iterations)? {
            Some(solution) => Ok(solution),
            None => self.descend_within(inside, places, minimize, iterations),
        }
    }

    /// Exchanges all wrong guesses at once until none is left; `None` if their number stops falling.
    fn exchange(
        &self,
        places: &mut [BoundState],
        minimize: &mut Minimize,
        iterations: &mut usize,
    ) -> Result<Option<QpSolution>, QpError> {
        let (mut fewest, mut patience) = (self.n() + 1, PATIENCE);
        while patience > 0 {
            let (x, slope) = minimize(places)?;
            *iterations += 1;
            let wrong = self.wrong_guesses(&x, &slope, places);
            if wrong.is_empty() {
                return Ok(Some(self.solution(x, &slope, places, *iterations)));
            }
            if wrong.len() < fewest {
                (fewest, patience) = (wrong.len(), PATIENCE);
            } else {
                patience -= 1;
            }
            wrong.iter().for_each(|&(i, place)| places[i] = place);
        }
        Ok(None)
    }

    /// The primal active-set method: from `start`, moved into the bounds, along the steps to the minima over
    /// the free unknowns, each up to the first bound in the way. At such a minimum, the fixed unknown that
    /// the objective pulls inwards most is freed.
    fn descend_within(
        &self,
        start: Vec<f64>,
        places: &mut [BoundState],
        minimize: &mut Minimize,
        before: usize,
    ) -> Result<QpSolution, QpError> {
        let (n, lower, upper) = (self.n(), self.lower, self.upper);
        let mut x: Vec<f64> = (0..n).map(|i| start[i].clamp(lower[i], upper[i])).collect();
        let place = |x: f64, i: usize| match () {
            () if x <= lower[i] => BoundState::Lower,
            () if x >= upper[i] => BoundState::Upper,
            () => BoundState::Free,
        };
        (0..n).for_each(|i| places[i] = place(x[i], i));
        let most = 100 + 20 * n;
        for iteration in 1..=most {
            let (target, slope) = minimize(places)?;
            let free: Vec<usize> = (0..n).filter(|&i| places[i] == BoundState::Free).collect();
            let reach = |&i: &usize| {
                let (step, end) = (target[i] - x[i], if target[i] < x[i] { lower[i] } else { upper[i] });
                let passes = target[i] < lower[i] || target[i] > upper[i];
                passes.then(|| (i, ((end - x[i]) / step).clamp(0.0, 1.0)))
            };
            let nearest = free.iter().filter_map(reach).min_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((blocked, fraction)) = nearest {
                free.iter().for_each(|&i| x[i] += fraction * (target[i] - x[i]));
                places[blocked] =
                    if target[blocked] < x[blocked] { BoundState::Lower } else { BoundState::Upper };
                x[blocked] =
                    if places[blocked] == BoundState::Lower { lower[blocked] } else { upper[blocked] };
                continue;
            }
            x = target;
            let wrong = self.wrong_guesses(&x, &slope, places);
            let pulled = wrong.iter().max_by(|a, b| slope[a.0].abs().total_cmp(&slope[b.0].abs()));
            match pulled {
                Some(&(i, _)) if iteration < most => places[i] = BoundState::Free,
                _ => return Ok(self.solution(x, &slope, places, before + iteration)),
            }
        }
        // Stopped on the way to a minimum over the free unknowns: within the bounds, and better than the
        // start.
        let slope = self.slope(&x);
        Ok(self.solution(x, &slope, places, before + most))
    }

    /// The gradient of the objective at `x`.
    fn slope(&self, x: &[f64]) -> Vec<f64> {
        self.h.times(x).iter().zip(self.gradient).map(|(a, b)| a + b).collect()
    }

    /// The bound of each fixed unknown, and 0 for the free ones.
    fn at_bounds(&self, places: &[BoundState]) -> Vec<f64> {
        let at = |i: usize| match places[i] {
            BoundState::Free => 0.0,
            BoundState::Lower => self.lower[i],
            BoundState::Upper => self.upper[i],
        };
        (0..places.len()).map(at).collect()
    }

    /// Unknowns that are not where they were guessed to be, and where they should be instead.
    fn wrong_guesses(&self, x: &[f64], slope: &[f64], places: &[BoundState]) -> Vec<(usize, BoundState)> {
        let (lower, upper) = (self.lower, self.upper);
        let steepest = slope.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        let flat = 1e-12 * steepest;
        (0..x.len())
            .filter(|&i| lower[i] < upper[i])
            .filter_map(|i| {
                let reach = 1e-12 * (1.0 + x[i].abs());
                match places[i] {
                    BoundState::Free if x[i] < lower[i] - reach => Some((i, BoundState::Lower)),
                    BoundState::Free if x[i] > upper[i] + reach => Some((i, BoundState::Upper)),
                    BoundState::Lower if slope[i] < -flat => Some((i, BoundState::Free)),
                    BoundState::Upper if slope[i] > flat => Some((i, BoundState::Free)),
                    _ => None,
                }
            })
            .collect()
    }

    fn solution(
        &self,
        mut x: Vec<f64>,
        slope: &[f64],
        places: &[BoundState],
        iterations: usize,
    ) -> QpSolution {
        let bound_multipliers =
            (0..x.len()).map(|i| if places[i] == BoundState::Free { 0.0 } else { slope[i] }).collect();
        (0..x.len()).for_each(|i| x[i] = x[i].clamp(self.lower[i], self.upper[i]));
        QpSolution { x, bound_multipliers, row_multipliers: Vec::new(), iterations }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::Cholesky;
    use crate::qp::{QuadraticProgram, kkt_residual};

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0
    }

    #[test]
    fn agrees_with_the_dual_method() {
        let mut state = 11;
        for trial in 0..60 {
            let n = 1 + trial % 40;
            let mut a = Matrix::zeros(n + 1, n);
            (0..n).for_each(|j| a.column_mut(j).iter_mut().for_each(|x| *x = random(&mut state)));
            let mut h = a.gram();
            (0..n).for_each(|i| h[(i, i)] += 1e-6);
            let gradient: Vec<f64> = (0..n).map(|_| 5.0 * random(&mut state)).collect();
            let lower: Vec<f64> = (0..n).map(|_| -random(&mut state).abs()).collect();
            let mut upper: Vec<f64> = (0..n).map(|_| random(&mut state).abs()).collect();
            upper[0] = lower[0];
            let factor = Cholesky::factor(h.clone()).unwrap();
            let program = QuadraticProgram {
                hessian: &factor,
                gradient: &gradient,
                lower: &lower,
                upper: &upper,
                rows: &[],
            };
            let (ours, dual) =
                (solve_bounded(&h, &gradient, &lower, &upper).unwrap(), program.solve().unwrap());
            assert!(kkt_residual(&program, &h, &ours) < 1e-8, "trial {trial}");
            let apart = ours.x.iter().zip(&dual.x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-6, "trial {trial}: {apart:e}");
        }
    }

    #[test]
    fn the_primal_method_ends_where_the_exchanges_do() {
        let mut state = 5;
        for trial in 0..60 {
            let n = 2 + trial % 30;
            let mut a = Matrix::zeros(n / 2 + 1, n);
            (0..n).for_each(|j| a.column_mut(j).iter_mut().for_each(|x| *x = random(&mut state)));
            let mut h = a.gram();
            (0..n).for_each(|i| h[(i, i)] += 1e-5);
            let gradient: Vec<f64> = (0..n).map(|_| 5.0 * random(&mut state)).collect();
            let (lower, upper) = (vec![-0.5; n], vec![0.25; n]);
            let start: Vec<f64> = (0..n).map(|_| 9.0 * random(&mut state)).collect();
            let exchanged = solve_bounded(&h, &gradient, &lower, &upper).unwrap();
            let inner = BoundedProgram { h: &h, gradient: &gradient, lower: &lower, upper: &upper };
            let mut places = vec![BoundState::Free; n];
            let by_factoring = &mut |places: &[BoundState]| inner.minimum_by_factoring(places);
            let descended = inner.descend_within(start, &mut places, by_factoring, 0).unwrap();
            let factor = Cholesky::factor(h.clone()).unwrap();
            let program = QuadraticProgram {
                hessian: &factor,
                gradient: &gradient,
                lower: &lower,
                upper: &upper,
                rows: &[],
            };
            assert!(kkt_residual(&program, &h, &descended) < 1e-8, "trial {trial}");
            let apart = exchanged.x.iter().zip(&descended.x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-6, "trial {trial}: {apart:e}");
        }
    }

    /// Programs of nearly dependent unknowns, some fixed and some without bounds: from the guess of the
    /// interior-point method, few exchanges are left.
    #[test]
    fn a_guess_from_inside_is_nearly_right() {
        let mut state = 29;
        for trial in 0..20 {
            let n = 20 + 9 * trial;
            let mut a = Matrix::zeros(n / 5 + 1, n);
            (0..n).for_each(|j| a.column_mut(j).iter_mut().for_each(|x| *x = random(&mut state)));
            let mut h = a.gram();
            (0..n).for_each(|i| h[(i, i)] += 1e-4);
            let gradient: Vec<f64> = (0..n).map(|_| 5.0 * random(&mut state)).collect();
            let mut lower: Vec<f64> = (0..n).map(|_| -random(&mut state).abs()).collect();
            let mut upper: Vec<f64> = (0..n).map(|_| random(&mut state).abs()).collect();
            (upper[1], lower[3]) = (lower[1], f64::NEG_INFINITY);
            (lower[4], upper[4], upper[5]) = (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY);
            let inner = BoundedProgram { h: &h, gradient: &gradient, lower: &lower, upper: &upper };
            let mut places = vec![BoundState::Free; n];
            let within = inner.guess_from_inside(&mut places);
            assert!((0..n).all(|i| lower[i] <= within[i] && within[i] <= upper[i]), "trial {trial}");
            let mut iterations = 0;
            let by_factoring = &mut |places: &[BoundState]| inner.minimum_by_factoring(places);
            let found = inner.exchange(&mut places, by_factoring, &mut iterations).unwrap().unwrap();
            assert!(iterations <= 5, "trial {trial}: {iterations} exchanges");
            let residual = crate::qp::kkt_residual_of(&h, &gradient, [&lower, &upper], &[], &found);
            assert!(residual < 1e-8, "trial {trial}: {residual:e}");
        }
    }

    /// A random walk of programs of one matrix: the sequence ends where solving from scratch does, by the
    /// inverse and without it, with few and with many bounds in the way.
    #[test]
    fn a_sequence_ends_where_single_solves_do() {
        let mut state = 17;
        for trial in 0..12 {
            let n = 5 + 12 * trial;
            let mut a = Matrix::zeros(n / 2 + 1, n);
            (0..n).for_each(|j| a.column_mut(j).iter_mut().for_each(|x| *x = random(&mut state)));
            let mut h = a.gram();
            (0..n).for_each(|i| h[(i, i)] += 1e-3);
            let factor = Cholesky::factor(h.clone()).unwrap();
            let exact = KnownInverse::of(&factor);
            // Off by so little that corrections make up for it, and by far too much.
            let scaled = |by: f64| {
                let mut other = h.clone();
                other.scale(by);
                KnownInverse::of(&Cholesky::factor(other).unwrap())
            };
            let inverses = [exact, scaled(1.0 / 1.0005), scaled(0.2)];
            let width = [0.3, 1.0, 3.0][trial % 3];
            let mut gradient: Vec<f64> = (0..n).map(|_| 5.0 * random(&mut state)).collect();
            let mut lower: Vec<f64> = (0..n).map(|_| -width * random(&mut state).abs()).collect();
            let mut upper: Vec<f64> = (0..n).map(|_| width * random(&mut state).abs()).collect();
            let mut sequences = vec![BoundedSequence::new(n); inverses.len()];
            for event in 0..40 {
                let i = event % n;
                gradient[i] += random(&mut state);
                (lower[i], upper[i]) = match event % 5 {
                    0 => (f64::NEG_INFINITY, f64::INFINITY),
                    1 => (upper[i].min(0.5), upper[i].min(0.5)),
                    _ => (-width * random(&mut state).abs(), width * random(&mut state).abs()),
                };
                let cold = solve_bounded(&h, &gradient, &lower, &upper).unwrap();
                let program = QuadraticProgram {
                    hessian: &factor,
                    gradient: &gradient,
                    lower: &lower,
                    upper: &upper,
                    rows: &[],
                };
                for (sequence, inverse) in sequences.iter_mut().zip(&inverses) {
                    let warm = sequence.solve(&h, inverse, &gradient, &lower, &upper).unwrap();
                    let residual = kkt_residual(&program, &h, &warm);
                    assert!(residual < 1e-9, "trial {trial}, event {event}: {residual:e}");
                    let apart = warm.x.iter().zip(&cold.x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(apart < 1e-9, "trial {trial}, event {event}: {apart:e}");
                }
            }
        }
    }

    #[test]
    fn an_inverse_with_a_correction_is_that_of_the_sum() {
        let (n, mut state) = (30, 23);
        let mut s = Matrix::zeros(3, n);
        (0..n).for_each(|j| s.column_mut(j).iter_mut().for_each(|x| *x = random(&mut state)));
        let g = Matrix::symmetric(n, |i, j| if i == j { 3.0 + i as f64 } else { 0.5 });
        let factor = Cholesky::factor(g.clone()).unwrap();
        let base = factor.inverse();
        let mut h = s.gram();
        h.add(&g);
        // H^-1 = G^-1 - Z (I + S Z)^-1 Z^T with Z = G^-1 S^T.
        let z = s.times_matrix(&base);
        let mut small = Matrix::symmetric(3, |i, j| (0..n).map(|k| z[(i, k)] * s[(j, k)]).sum());
        (0..3).for_each(|i| small[(i, i)] += 1.0);
        let mut low = z;
        Cholesky::factor(small).unwrap().lower_solve_columns_in_place(&mut low);
        let inverse = KnownInverse::corrected(&base, low, 1.0);
        let (gradient, lower, upper) = (vec![-20.0; n], vec![-0.5; n], vec![0.4; n]);
        let found = BoundedSequence::new(n).solve(&h, &inverse, &gradient, &lower, &upper).unwrap();
        let direct = solve_bounded(&h, &gradient, &lower, &upper).unwrap();
        assert!(found.x.iter().zip(&direct.x).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!(direct.x.contains(&0.4), "bounds were meant to be reached");
    }

    #[test]
    fn a_sequence_goes_on_after_an_error() {
        let h = Matrix::symmetric(3, |i, j| if i == j { 2.0 } else { 0.5 });
        let inverse = KnownInverse::of(&Cholesky::factor(h.clone()).unwrap());
        let mut sequence = BoundedSequence::new(3);
        let (gradient, lower, upper) = ([1.0, -3.0, 2.0], [-0.1; 3], [0.4; 3]);
        assert!(sequence.solve(&h, &inverse, &gradient, &[1.0; 3], &upper).is_err());
        let after = sequence.solve(&h, &inverse, &gradient, &lower, &upper).unwrap();
        let alone = solve_bounded(&h, &gradient, &lower, &upper).unwrap();
        assert!(after.x.iter().zip(&alone.x).all(|(a, b)| (a - b).abs() < 1e-14));
    }

    #[test]
    fn a_matrix_that_is_not_definite_is_called_so() {
        let mut h = Matrix::zeros(2, 2);
        (h[(0, 0)], h[(1, 1)]) = (1.0, -1.0);
        let error = solve_bounded(&h, &[1.0; 2], &[-1.0; 2], &[1.0; 2]).unwrap_err();
        assert_eq!(error, QpError::NotDefinite { n_free: 2 });
        assert!(error.to_string().contains("not positive definite"), "{error}");
    }

    #[test]
    fn empty_ranges_are_refused() {
        let mut h = Matrix::zeros(1, 1);
        h[(0, 0)] = 1.0;
        assert!(matches!(solve_bounded(&h, &[0.0], &[1.0], &[0.0]), Err(QpError::EmptyRange { .. })));
    }
}
