//! Strictly convex quadratic programs with bounds as the only constraints.
//!
//! ```text
//! minimize  1/2 x^T H x + g^T x    subject to    lower <= x <= upper
//! ```
//!
//! Block principal pivoting [Judice94, block algorithm]: guess which unknowns lie at a bound, solve for the
//! others, and correct all wrong guesses at once. When that stops making progress, correct one guess at a
//! time. A few Cholesky factorizations of the free part are enough even when hundreds of bounds are active;
//! the dual method of [`crate::qp`] adds bounds one by one.
//!
//! Correcting one guess at a time terminates in exact arithmetic, but the number of exchanges has no useful
//! bound, and rounding can make nearly dependent unknowns change places forever. After `2 n + 60` exchanges a
//! primal active-set method takes over: it stays within the bounds, the objective never rises, and every
//! point that it passes is a valid answer, so that there always is one.
//!
//! `H` is dense, n x n, symmetric positive definite; the result is the minimizer and its multipliers.

use crate::dense::{Cholesky, Matrix};
use crate::qp::{Constraint, QpError, QpSolution};

/// Block exchanges that may fail to reduce the number of wrong guesses before single exchanges take over.
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
    let n = gradient.len();
    for i in 0..n {
        if lower[i] > upper[i] || lower[i].is_nan() || upper[i].is_nan() {
            let constraint = Constraint::Bound(i);
            return Err(QpError::EmptyRange { constraint, lower: lower[i], upper: upper[i] });
        }
    }
    let mut places: Vec<BoundState> =
        (0..n).map(|i| if lower[i] == upper[i] { BoundState::Lower } else { BoundState::Free }).collect();
    let (mut fewest, mut patience) = (n + 1, PATIENCE);
    let most = 60 + 2 * n;
    let mut last = vec![0.0; n];
    for iteration in 1..=most {
        let (x, slope) = solve_at(h, gradient, lower, upper, &places)?;
        let wrong = wrong_guesses(&x, &slope, lower, upper, &places);
        if wrong.is_empty() {
            return Ok(solution(x, &slope, &places, lower, upper, iteration));
        }
        if wrong.len() < fewest {
            (fewest, patience) = (wrong.len(), PATIENCE);
        } else {
            patience = patience.saturating_sub(1);
        }
        // Murty's rule: exchanging one at a time, always the last, cannot cycle.
        let exchanged = if patience > 0 { &wrong[..] } else { &wrong[wrong.len() - 1..] };
        exchanged.iter().for_each(|&(i, place)| places[i] = place);
        last = x;
    }
    descend_within(h, gradient, lower, upper, last, most)
}

/// The primal active-set method: from `start`, moved into the bounds, along the steps to the minima over the
/// free unknowns, each up to the first bound in the way. At such a minimum, the fixed unknown that the
/// objective pulls inwards most is freed.
fn descend_within(
    h: &Matrix,
    gradient: &[f64],
    lower: &[f64],
    upper: &[f64],
    start: Vec<f64>,
    before: usize,
) -> Result<QpSolution, QpError> {
    let n = start.len();
    let mut x: Vec<f64> = (0..n).map(|i| start[i].clamp(lower[i], upper[i])).collect();
    let place = |x: f64, i: usize| match () {
        () if x <= lower[i] => BoundState::Lower,
        () if x >= upper[i] => BoundState::Upper,
        () => BoundState::Free,
    };
    let mut places: Vec<BoundState> = (0..n).map(|i| place(x[i], i)).collect();
    let most = 100 + 20 * n;
    for iteration in 1..=most {
        let (target, slope) = solve_at(h, gradient, lower, upper, &places)?;
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
            x[blocked] = if places[blocked] == BoundState::Lower { lower[blocked] } else { upper[blocked] };
            continue;
        }
        x = target;
        let wrong = wrong_guesses(&x, &slope, lower, upper, &places);
        let pulled = wrong.iter().max_by(|a, b| slope[a.0].abs().total_cmp(&slope[b.0].abs()));
        match pulled {
            Some(&(i, _)) if iteration < most => places[i] = BoundState::Free,
            _ => return Ok(solution(x, &slope, &places, lower, upper, before + iteration)),
        }
    }
    // Stopped on the way to a minimum over the free unknowns: within the bounds, and better than the start.
    let slope: Vec<f64> = h.times(&x).iter().zip(gradient).map(|(a, b)| a + b).collect();
    Ok(solution(x, &slope, &places, lower, upper, before + most))
}

/// The minimizer with the fixed unknowns at their bounds, and the gradient of the objective there.
fn solve_at(
    h: &Matrix,
    gradient: &[f64],
    lower: &[f64],
    upper: &[f64],
    places: &[BoundState],
) -> Result<(Vec<f64>, Vec<f64>), QpError> {
    let mut x: Vec<f64> = (0..places.len())
        .map(|i| match places[i] {
            BoundState::Free => 0.0,
            BoundState::Lower => lower[i],
            BoundState::Upper => upper[i],
        })
        .collect();
    let free: Vec<usize> = (0..places.len()).filter(|&i| places[i] == BoundState::Free).collect();
    let fixed_part = h.times(&x);
    let mut right: Vec<f64> = free.iter().map(|&i| -gradient[i] - fixed_part[i]).collect();
    let factor =
        Cholesky::factor(h.principal(&free)).map_err(|_| QpError::NotDefinite { n_free: free.len() })?;
    factor.solve_in_place(&mut right);
    free.iter().zip(&right).for_each(|(&i, v)| x[i] = *v);
    let slope = h.times(&x).iter().zip(gradient).map(|(a, b)| a + b).collect();
    Ok((x, slope))
}

/// Unknowns that are not where they were guessed to be, and where they should be instead.
fn wrong_guesses(
    x: &[f64],
    slope: &[f64],
    lower: &[f64],
    upper: &[f64],
    places: &[BoundState],
) -> Vec<(usize, BoundState)> {
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
    mut x: Vec<f64>,
    slope: &[f64],
    places: &[BoundState],
    lower: &[f64],
    upper: &[f64],
    iterations: usize,
) -> QpSolution {
    let bound_multipliers =
        (0..x.len()).map(|i| if places[i] == BoundState::Free { 0.0 } else { slope[i] }).collect();
    (0..x.len()).for_each(|i| x[i] = x[i].clamp(lower[i], upper[i]));
    QpSolution { x, bound_multipliers, row_multipliers: Vec::new(), iterations }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let descended = descend_within(&h, &gradient, &lower, &upper, start, 0).unwrap();
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
