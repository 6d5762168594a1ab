//! The minimum over the free unknowns of a program with the others at their bounds.
//!
//! Three ways, which agree but for rounding:
//!
//! - by factoring the free part `H_FF` anew: the plain way, for single programs;
//! - by the factor of the free part, updated from one guess to the next;
//! - by the inverse `M` of `H`: with `x0 = -M g` the minimum without bounds and `b` the bounds of the fixed
//!   unknowns `A`, the multipliers solve `M_AA y = b - x0_A`, and `x = x0 + M_:A y`. Its factor is of the
//!   size of the fixed part, so that guesses that fix few of many unknowns are cheap.
//!
//! Where all guesses turn out right, the result of the last two is corrected by its residual, so that it does
//! not show how the factor was reached. An inverse whose corrections do not shrink has lost its accuracy; the
//! free part is used from then on.

use super::inverse::KnownInverse;
use super::part_factor::PartFactor;
use super::{BoundState, BoundedProgram, Minimum};
use crate::dense::{Cholesky, dot};
use crate::qp::QpError;

/// A correction of the solution by more than this (of its size) shows that a factor has lost accuracy.
const LARGE_CORRECTION: f64 = 1e-7;

/// Corrections by the inverse must shrink at least by this factor from one to the next, until what the next
/// one would be is below the last number (of the solution's size).
const SHRINKS: f64 = 0.1;
const SMALL_CORRECTION: f64 = 1e-12;

/// An inverse is not used if its product with the gradient leaves more than this of it.
const POOR: f64 = 1e-3;

/// How many times larger than the other part the part with the last factor may become before the factor of
/// the other one is used instead.
const STAYS: f64 = 1.5;

/// Factors of the free part of a matrix and of the fixed part of its inverse, each updated when it is used.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    free: PartFactor,
    fixed: PartFactor,
    /// Whether the last minimum was found by the inverse.
    by_inverse: bool,
    /// Whether the inverse has been compared with the matrix.
    is_inverse_known: bool,
    /// Whether the inverse has turned out inaccurate.
    is_inverse_poor: bool,
}

impl Factors {
    /// For `n` unknowns.
    pub fn new(n: usize) -> Self {
        let empty = || PartFactor::empty(n);
        Self {
            free: empty(),
            fixed: empty(),
            by_inverse: true,
            is_inverse_known: false,
            is_inverse_poor: false,
        }
    }
}

impl BoundedProgram<'_> {
    /// The minimum without bounds.
    pub(super) fn unbounded(&self, inverse: &KnownInverse) -> Vec<f64> {
        inverse.times(self.gradient).iter().map(|x| -x).collect()
    }

    /// The minimum on a new factor of the free part.
    pub(super) fn minimum_by_factoring(&self, places: &[BoundState]) -> Result<Minimum, QpError> {
        let mut x = self.at_bounds(places);
        let free: Vec<usize> = (0..places.len()).filter(|&i| places[i] == BoundState::Free).collect();
        let fixed_part = self.h.times(&x);
        let mut right: Vec<f64> = free.iter().map(|&i| -self.gradient[i] - fixed_part[i]).collect();
        let factor = Cholesky::factor(self.h.principal(&free))
            .map_err(|_| QpError::NotDefinite { n_free: free.len() })?;
        factor.solve_in_place(&mut right);
        free.iter().zip(&right).for_each(|(&i, v)| x[i] = *v);
        let slope = self.slope(&x);
        Ok((x, slope))
    }

    /// The minimum on an updated factor of the free part, or of the fixed part of the inverse. `unbounded`
    /// gives the minimum without bounds.
    pub(super) fn minimum_by_updating<'u>(
        &self,
        places: &[BoundState],
        inverse: &KnownInverse,
        unbounded: &dyn Fn() -> &'u Vec<f64>,
        factors: &mut Factors,
    ) -> Result<Minimum, QpError> {
        let is_fixed: Vec<bool> = places.iter().map(|&p| p != BoundState::Free).collect();
        let fixed: Vec<usize> = (0..places.len()).filter(|&i| is_fixed[i]).collect();
        let n_free = places.len() - fixed.len();
        if !factors.is_inverse_known {
            let largest = |v: &[f64]| v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let left = largest(&self.slope(unbounded())) / largest(self.gradient).max(f64::MIN_POSITIVE);
            (factors.is_inverse_known, factors.is_inverse_poor) = (true, left.is_nan() || left > POOR);
        }
        let handicap = if factors.by_inverse { STAYS } else { 1.0 / STAYS };
        factors.by_inverse = !factors.is_inverse_poor && fixed.len() as f64 <= handicap * n_free as f64;
        if factors.by_inverse {
            // A part of a definite inverse is definite, but for rounding.
            if factors.fixed.set_part(inverse, &is_fixed).is_ok() {
                let found = self.minimum_by_inverse(places, inverse, unbounded(), &factors.fixed, &fixed);
                if let Some(found) = found {
                    return Ok(found);
                }
            }
            (factors.by_inverse, factors.is_inverse_poor) = (false, true);
        }
        self.minimum_by_free_factor(places, &fixed, &mut factors.free)
    }

    /// The minimum by the inverse; `None` if that is too inaccurate.
    fn minimum_by_inverse(
        &self,
        places: &[BoundState],
        inverse: &KnownInverse,
        unbounded: &[f64],
        factor: &PartFactor,
        fixed: &[usize],
    ) -> Option<Minimum> {
        let at_bounds = self.at_bounds(places);
        let mut x = unbounded.to_vec();
        let mut slope = vec![0.0; x.len()];
        fixed.iter().for_each(|&i| slope[i] = at_bounds[i] - x[i]);
        factor.solve_in_place(&mut slope);
        x.iter_mut().zip(inverse.times(&slope)).for_each(|(x, d)| *x += d);
        fixed.iter().for_each(|&i| x[i] = at_bounds[i]);
        let mut last = x.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        // The correction shrinks by a factor each time, so the loop ends.
        loop {
            if !self.wrong_guesses(&x, &slope, places).is_empty() {
                return Some((x, slope));
            }
            let residual = self.slope(&x);
            let mut correction = residual.clone();
            fixed.iter().for_each(|&i| correction[i] = 0.0);
            let mut step = inverse.times(&correction);
            let mut pull = vec![0.0; x.len()];
            fixed.iter().for_each(|&i| pull[i] = -step[i]);
            factor.solve_in_place(&mut pull);
            step.iter_mut().zip(inverse.times(&pull)).for_each(|(s, d)| *s += d);
            fixed.iter().for_each(|&i| (step[i], slope[i]) = (0.0, residual[i] - pull[i]));
            x.iter_mut().zip(&step).for_each(|(x, s)| *x -= s);
            let size = x.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            let changed = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
            if changed * changed <= SMALL_CORRECTION * size * last {
                return Some((x, slope));
            }
            if changed.is_nan() || changed > SHRINKS * last {
                return None;
            }
            last = changed;
        }
    }

    /// The minimum on an updated factor of the free part.
    fn minimum_by_free_factor(
        &self,
        places: &[BoundState],
        fixed: &[usize],
        factor: &mut PartFactor,
    ) -> Result<Minimum, QpError> {
        let is_free: Vec<bool> = places.iter().map(|&p| p == BoundState::Free).collect();
        let not_definite = |_| QpError::NotDefinite { n_free: places.len() - fixed.len() };
        factor.set_part(self.h, &is_free).map_err(not_definite)?;
        loop {
            let mut x = self.at_bounds(places);
            let mut slope = self.slope(&x);
            self.step_to_minimum(&mut x, &mut slope, fixed, factor);
            if !self.wrong_guesses(&x, &slope, places).is_empty() {
                return Ok((x, slope));
            }
            slope = self.slope(&x);
            let correction = self.step_to_minimum(&mut x, &mut slope, fixed, factor);
            let size = x.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            if correction <= LARGE_CORRECTION * size || !factor.is_updated() {
                return Ok((x, slope));
            }
            factor.factor_anew(self.h, &is_free).map_err(not_definite)?;
        }
    }

    /// Moves `x` to the minimum over the free unknowns, and `slope` with it. Returns the largest change.
    fn step_to_minimum(&self, x: &mut [f64], slope: &mut [f64], fixed: &[usize], factor: &PartFactor) -> f64 {
        let mut step = slope.to_vec();
        factor.solve_in_place(&mut step);
        x.iter_mut().zip(&step).for_each(|(x, s)| *x -= s);
        let moved: Vec<f64> = fixed.iter().map(|&i| slope[i] - dot(self.h.column(i), &step)).collect();
        // Zero over the free unknowns, by definition of the minimum.
        slope.fill(0.0);
        fixed.iter().zip(moved).for_each(|(&i, s)| slope[i] = s);
        step.iter().fold(0.0, |m, s| m.max(s.abs()))
    }
}
