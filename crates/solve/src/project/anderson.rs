//! Anderson's acceleration of a fixed-point iteration `x <- x + d(x)` [Peng18, sec. 3].
//!
//! Of the last steps d and the points g that they lead to, it takes the affine combination whose step is the
//! shortest. Sums run over fixed ranges, so the result does not depend on the number of threads.

use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{Cholesky, Matrix};
use std::collections::VecDeque;

/// Nodes per partial sum.
const NODES: usize = 2048;

/// Share of the squared lengths that is added to the diagonal of the small system.
const RIDGE: f64 = 1e-10;

/// The last steps of an iteration.
#[derive(Debug, Default)]
pub(super) struct Anderson {
    /// Differences of steps, and of the points that they lead to; the newest last.
    steps: VecDeque<Vec<DVec3>>,
    points: VecDeque<Vec<DVec3>>,
    last: Option<(Vec<DVec3>, Vec<DVec3>)>,
    /// Products of the steps' differences.
    gram: VecDeque<VecDeque<f64>>,
    most: usize,
}

impl Anderson {
    /// Keeps at most `most` differences.
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Forgets all steps.
    pub fn clear(&mut self) {
        *self = Self::new(self.most);
    }

    /// From the step `d` to the point `g`: the next point. The first is `g` itself.
    pub fn next(&mut self, d: &[DVec3], g: &[DVec3]) -> Vec<DVec3> {
        if let Some((last_d, last_g)) = self.last.take() {
            self.steps.push_back(difference(d, &last_d));
            self.points.push_back(difference(g, &last_g));
            if self.steps.len() > self.most {
                self.steps.pop_front();
                self.points.pop_front();
                self.gram.pop_front();
                self.gram.iter_mut().for_each(|row| {
                    row.pop_front();
                });
            }
            if let Some(newest) = self.steps.back() {
                let row: VecDeque<f64> = self.steps.iter().map(|step| dot(step, newest)).collect();
                self.gram.iter_mut().zip(&row).for_each(|(other, value)| other.push_back(*value));
                self.gram.push_back(row);
            }
        }
        self.last = Some((d.to_vec(), g.to_vec()));
        let shares = self.shares(d);
        let mut next = g.to_vec();
        for (share, point) in shares.iter().zip(&self.points) {
            let all = next.par_iter_mut().zip(point).with_min_len(NODES);
            all.for_each(|(x, p)| *x -= *p * *share);
        }
        next
    }

    /// The combination of differences that shortens the step most.
    fn shares(&self, d: &[DVec3]) -> Vec<f64> {
        let m = self.steps.len();
        let mut gram = Matrix::symmetric(m, |i, j| self.gram[i][j]);
        let most = (0..m).map(|i| gram[(i, i)]).fold(0.0, f64::max);
        (0..m).for_each(|i| gram.column_mut(i)[i] += RIDGE * most);
        let mut shares: Vec<f64> = self.steps.iter().map(|step| dot(step, d)).collect();
        match Cholesky::factor(gram) {
            Ok(factor) => factor.solve_in_place(&mut shares),
            Err(_) => shares.fill(0.0),
        }
        shares
    }
}

fn difference(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.par_iter().zip(b).with_min_len(NODES).map(|(a, b)| *a - *b).collect()
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    let part = |(a, b): (&[DVec3], &[DVec3])| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
    a.par_chunks(NODES).zip(b.par_chunks(NODES)).map(part).collect::<Vec<f64>>().iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Random;

    #[test]
    fn a_linear_iteration_ends_after_as_many_steps_as_it_has_speeds() {
        let mut random = Random(3);
        let goal: Vec<DVec3> = (0..40).map(|_| random.vector()).collect();
        // Four different speeds of convergence.
        let step = |x: &[DVec3]| -> Vec<DVec3> {
            (0..40).map(|i| (goal[i] - x[i]) * [0.9, 0.4, 0.1, 0.02][i % 4]).collect()
        };
        let off = |x: &[DVec3]| crate::fixtures::farthest(x, &goal);
        let (mut x, mut plain) = (vec![DVec3::ZERO; 40], vec![DVec3::ZERO; 40]);
        let mut anderson = Anderson::new(5);
        for _ in 0..7 {
            let d = step(&x);
            let g: Vec<DVec3> = x.iter().zip(&d).map(|(x, d)| *x + *d).collect();
            x = anderson.next(&d, &g);
            plain = plain.iter().zip(step(&plain)).map(|(x, d)| *x + d).collect();
        }
        assert!(off(&x) < 1e-5 && off(&plain) > 0.1, "{} {}", off(&x), off(&plain));
        anderson.clear();
        let d = step(&plain);
        assert_eq!(anderson.next(&d, &plain), plain, "without memory the step itself");
    }
}
