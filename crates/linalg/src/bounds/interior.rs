//! A guess of the active bounds by the interior-point method of [Mehrotra92], for programs whose unknowns
//! nearly depend on each other.
//!
//! With the gaps `s = x - lower`, `t = upper - x` and the multipliers `y`, `z` of the bounds, each step
//! solves Newton's equations of `H x + g - y + z = 0`, `s y = t z = m` for an `m` that goes to zero: first
//! for `m = 0`, which shows how far `m` may be lowered, then for that `m` with the products of the first step
//! as correction. Every step factors `H` plus a diagonal. Their number hardly depends on the program: 10 to
//! 30.

use super::{BoundState, BoundedProgram};
use crate::dense::{Cholesky, Matrix};

/// Largest number of steps.
const MAX_STEPS: usize = 60;

/// Ends when the mean product of gap and multiplier has fallen by this factor.
const SMALL_PRODUCT: f64 = 1e-11;

/// Part of the way to the nearest bound that a step may go.
const WITHIN: f64 = 0.995;

/// A point within the bounds. Gaps of sides without a bound are infinite and their multipliers zero.
struct Inside {
    x: Vec<f64>,
    /// Distance to the lower and to the upper bound, and the multipliers.
    gaps: [Vec<f64>; 2],
    multipliers: [Vec<f64>; 2],
}

/// A change of all of them; that of the upper gaps is `-x`.
struct Change {
    x: Vec<f64>,
    multipliers: [Vec<f64>; 2],
}

/// How the gaps of lower and upper bounds change with `x`.
const SIGNS: [f64; 2] = [1.0, -1.0];

impl BoundedProgram<'_> {
    /// Guesses `places`, and returns the point within the bounds that the guess is from.
    pub(super) fn guess_from_inside(&self, places: &mut [BoundState]) -> Vec<f64> {
        let fixed = |i: usize| self.lower[i] == self.upper[i];
        let open: Vec<usize> = (0..self.n()).filter(|&i| !fixed(i)).collect();
        let mut x: Vec<f64> = (0..self.n()).map(|i| if fixed(i) { self.lower[i] } else { 0.0 }).collect();
        // What the fixed unknowns pull at the others is part of the gradient.
        let pull = self.slope(&x);
        let h = self.h.principal(&open);
        let gradient: Vec<f64> = open.iter().map(|&i| pull[i]).collect();
        let bounds = [self.lower, self.upper].map(|b| open.iter().map(|&i| b[i]).collect::<Vec<f64>>());
        let inside = Inside::converged(&h, &gradient, &bounds);
        (0..self.n()).for_each(|i| places[i] = BoundState::Lower);
        for (k, &i) in open.iter().enumerate() {
            x[i] = inside.x[k].clamp(self.lower[i], self.upper[i]);
            // At the bound if its multiplier would move the unknown by more than the gap.
            let at = |side: usize| inside.multipliers[side][k] > h[(k, k)] * inside.gaps[side][k];
            places[i] = match [at(0), at(1)] {
                [true, _] => BoundState::Lower,
                [_, true] => BoundState::Upper,
                _ => BoundState::Free,
            };
        }
        x
    }
}

impl Inside {
    fn converged(h: &Matrix, gradient: &[f64], bounds: &[Vec<f64>; 2]) -> Self {
        let mut at = Self::start(h, gradient, bounds);
        let first = at.mean_product();
        for _ in 0..MAX_STEPS {
            let product = at.mean_product();
            // NaN ends the loop as well.
            if product.partial_cmp(&(SMALL_PRODUCT * first)) != Some(std::cmp::Ordering::Greater) {
                break;
            }
            let mut matrix = h.clone();
            (0..gradient.len()).for_each(|i| matrix[(i, i)] += at.stiffness(i));
            let Ok(factor) = Cholesky::factor(matrix) else { break };
            let residual = at.residual(h, gradient);
            let zeros = [vec![0.0; gradient.len()], vec![0.0; gradient.len()]];
            let first_try = at.step(&factor, &residual, 0.0, &zeros);
            let reached = at.after(&first_try, at.longest(&first_try)).mean_product();
            let target = product * (reached / product).powi(3);
            let corrections = [0, 1].map(|k| {
                let pairs = first_try.x.iter().zip(&first_try.multipliers[k]);
                pairs.map(|(x, y)| SIGNS[k] * x * y).collect::<Vec<f64>>()
            });
            let step = at.step(&factor, &residual, target, &corrections);
            at = at.after(&step, (WITHIN * at.longest(&step)).min(1.0));
        }
        at
    }

    /// The middle of the ranges, or near the only bound.
    fn start(h: &Matrix, gradient: &[f64], [lower, upper]: &[Vec<f64>; 2]) -> Self {
        let middle = |(&l, &u): (&f64, &f64)| match [l.is_finite(), u.is_finite()] {
            [true, true] => 0.5 * (l + u),
            [true, false] => l + 1.0,
            [false, true] => u - 1.0,
            [false, false] => 0.0,
        };
        let x: Vec<f64> = lower.iter().zip(upper).map(middle).collect();
        let gaps = [
            x.iter().zip(lower).map(|(x, l)| x - l).collect::<Vec<f64>>(),
            x.iter().zip(upper).map(|(x, u)| u - x).collect(),
        ];
        let none = [vec![0.0; x.len()], vec![0.0; x.len()]];
        let mut at = Self { x, gaps, multipliers: none };
        let slope = at.residual(h, gradient);
        let mean = slope.iter().map(|s| s.abs()).sum::<f64>() / slope.len().max(1) as f64;
        let size = mean.max(f64::MIN_POSITIVE.sqrt());
        at.multipliers =
            at.gaps.each_ref().map(|g| g.iter().map(|s| if s.is_finite() { size } else { 0.0 }).collect());
        at
    }

    /// Gaps and multipliers of the bounds that there are.
    fn products(&self) -> impl Iterator<Item = f64> {
        let pairs = (0..2).flat_map(|k| self.gaps[k].iter().zip(&self.multipliers[k]));
        pairs.filter(|(s, _)| s.is_finite()).map(|(s, y)| s * y)
    }

    fn mean_product(&self) -> f64 {
        self.products().sum::<f64>() / self.products().count().max(1) as f64
    }

    /// What bounds add to the diagonal.
    fn stiffness(&self, i: usize) -> f64 {
        (0..2).map(|k| self.multipliers[k][i] / self.gaps[k][i]).sum()
    }

    fn residual(&self, h: &Matrix, gradient: &[f64]) -> Vec<f64> {
        let [y, z] = &self.multipliers;
        let slope = h.times(&self.x);
        (0..slope.len()).map(|i| slope[i] + gradient[i] - y[i] + z[i]).collect()
    }

    /// The step to products of `target`, less `corrections`.
    fn step(&self, factor: &Cholesky, residual: &[f64], target: f64, corrections: &[Vec<f64>; 2]) -> Change {
        // The multipliers at the target if the gaps stayed as they are, less those of now.
        let to_target = [0, 1].map(|k| {
            let of = self.gaps[k].iter().zip(&self.multipliers[k]).zip(&corrections[k]);
            of.map(|((s, y), c)| (target - c) / s - y).collect::<Vec<f64>>()
        });
        let mut x: Vec<f64> =
            (0..residual.len()).map(|i| to_target[0][i] - to_target[1][i] - residual[i]).collect();
        factor.solve_in_place(&mut x);
        let multipliers = [0, 1].map(|k| {
            let of = |i: usize| to_target[k][i] - SIGNS[k] * x[i] * self.multipliers[k][i] / self.gaps[k][i];
            (0..x.len()).map(of).collect::<Vec<f64>>()
        });
        Change { x, multipliers }
    }

    /// The part of a step at which the first gap or multiplier vanishes, at most 1.
    fn longest(&self, step: &Change) -> f64 {
        let mut longest = 1.0f64;
        for (k, sign) in SIGNS.into_iter().enumerate() {
            for (s, d) in self.gaps[k].iter().zip(&step.x) {
                longest = if sign * d < 0.0 { longest.min(s / (-sign * d)) } else { longest };
            }
            for (y, d) in self.multipliers[k].iter().zip(&step.multipliers[k]) {
                longest = if *d < 0.0 { longest.min(y / -d) } else { longest };
            }
        }
        longest
    }

    fn after(&self, step: &Change, share: f64) -> Self {
        let moved = |a: &[f64], d: &[f64], sign: f64| {
            a.iter().zip(d).map(|(a, d)| a + share * sign * d).collect::<Vec<f64>>()
        };
        Self {
            x: moved(&self.x, &step.x, 1.0),
            gaps: [0, 1].map(|k| moved(&self.gaps[k], &step.x, SIGNS[k])),
            multipliers: [0, 1].map(|k| moved(&self.multipliers[k], &step.multipliers[k], 1.0)),
        }
    }
}
