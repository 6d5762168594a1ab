//! The Cholesky factor of a part of a symmetric matrix, updated as unknowns join and leave the part.
//!
//! `A_PP = L L^T` over the unknowns `P`, in the order in which they joined. Joining adds a last row to `L`:
//! one triangular solve. Leaving removes a row and its column; the outer product of that column is added to
//! the part of the factor that follows, by rotations. Nothing is ever subtracted from a factor, so updates
//! are as stable as factoring. Each costs about as many operations as a solve; where many unknowns change at
//! once the part is factored anew.

use super::inverse::Entries;
use crate::dense::{Cholesky, NotPositiveDefinite, dot};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};

/// A new factorization costs as much as updates for this fraction of the part (measured: 1/13 to 1/8
/// for 1000 down to 100 unknowns).
const CHEAP_CHANGES: f64 = 1.0 / 12.0;

/// See the module header.
#[derive(Debug, Clone)]
pub(super) struct PartFactor {
    /// `L` column after column, each as long as there are unknowns. Only its lower triangle counts.
    columns: Vec<f64>,
    /// Number of all unknowns.
    n: usize,
    /// The unknown of each row.
    part: Vec<usize>,
    /// Updates since the part was factored.
    n_updates: usize,
}

impl PartFactor {
    /// No unknown of `n` is in the part.
    pub fn empty(n: usize) -> Self {
        Self { columns: vec![0.0; n * n], n, part: Vec::new(), n_updates: 0 }
    }

    /// Whether rounding of updates may have added up.
    pub fn is_updated(&self) -> bool {
        self.n_updates > 0
    }

    /// Makes the part consist of exactly the unknowns that `is_in` marks.
    pub fn set_part(&mut self, a: &dyn Entries, is_in: &[bool]) -> Result<(), NotPositiveDefinite> {
        let left: Vec<usize> = (0..self.part.len()).filter(|&row| !is_in[self.part[row]]).collect();
        let mut joined = is_in.to_vec();
        self.part.iter().for_each(|&i| joined[i] = false);
        let joined: Vec<usize> = (0..self.n).filter(|&i| joined[i]).collect();
        let n_changes = left.len() + joined.len();
        if n_changes as f64 > (CHEAP_CHANGES * self.part.len() as f64).max(4.0) {
            return self.factor_anew(a, is_in);
        }
        // From the last row on, so that the rows of the others stay what they are.
        left.iter().rev().for_each(|&row| self.remove(row));
        for i in joined {
            if !self.append(a, i) {
                return self.factor_anew(a, is_in);
            }
        }
        self.n_updates += n_changes;
        Ok(())
    }

    /// Factors the part of the unknowns that `is_in` marks.
    pub fn factor_anew(&mut self, a: &dyn Entries, is_in: &[bool]) -> Result<(), NotPositiveDefinite> {
        self.n_updates = 0;
        self.part.clear();
        let part: Vec<usize> = (0..self.n).filter(|&i| is_in[i]).collect();
        let factor = Cholesky::factor(a.principal(&part))?;
        for j in 0..part.len() {
            self.columns[j * self.n + j..j * self.n + part.len()]
                .copy_from_slice(&factor.lower().column(j)[j..]);
        }
        self.part = part;
        Ok(())
    }

    /// Replaces the entries of `b` in the part by the solution for them, and the others by 0.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        let mut part: Vec<f64> = self.part.iter().map(|&i| b[i]).collect();
        let n_part = part.len();
        let right = MatMut::from_column_major_slice_mut(&mut part, n_part, 1);
        solve_lower_triangular_in_place(self.view(), right, Par::Seq);
        let right = MatMut::from_column_major_slice_mut(&mut part, n_part, 1);
        solve_upper_triangular_in_place(self.view().transpose(), right, Par::Seq);
        b.fill(0.0);
        self.part.iter().zip(&part).for_each(|(&i, x)| b[i] = *x);
    }

    fn view(&self) -> MatRef<'_, f64> {
        let n_part = self.part.len();
        MatRef::from_column_major_slice_with_stride(&self.columns, n_part, n_part, self.n)
    }

    /// Adds unknown `i` as the last row; false if rounding left no positive pivot.
    fn append(&mut self, a: &dyn Entries, i: usize) -> bool {
        let n_part = self.part.len();
        let mut row = a.entries(&self.part, i);
        let right = MatMut::from_column_major_slice_mut(&mut row, n_part, 1);
        solve_lower_triangular_in_place(self.view(), right, Par::Seq);
        let diagonal = a.entries(&[i], i)[0];
        let pivot = diagonal - dot(&row, &row);
        // A pivot that lost all its digits is left to a new factorization, which may order it better.
        if pivot.is_nan() || pivot <= 1e-13 * diagonal {
            return false;
        }
        for (j, value) in row.iter().enumerate() {
            self.columns[j * self.n + n_part] = *value;
        }
        self.columns[n_part * self.n + n_part] = pivot.sqrt();
        self.part.push(i);
        true
    }

    /// Removes a row and its column.
    fn remove(&mut self, row: usize) {
        let (n, n_part) = (self.n, self.part.len());
        for column in self.columns.chunks_mut(n).take(row) {
            column.copy_within(row + 1..n_part, row);
        }
        // The removed column below its diagonal: what the columns after it take up.
        let mut rest = self.columns[row * n + row + 1..row * n + n_part].to_vec();
        for j in row + 1..n_part {
            let (before, here) = self.columns.split_at_mut(j * n);
            let (to, from) = (&mut before[(j - 1) * n + j - 1..(j - 1) * n + n_part - 1], &here[j..n_part]);
            let rest = &mut rest[j - row - 1..];
            let diagonal = from[0].hypot(rest[0]);
            let (cosine, sine) = (from[0] / diagonal, rest[0] / diagonal);
            for ((to, &from), rest) in to.iter_mut().zip(from).zip(rest) {
                *to = cosine * from + sine * *rest;
                *rest = cosine * *rest - sine * from;
            }
        }
        self.part.remove(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::Matrix;

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0
    }

    #[test]
    fn updates_equal_new_factorizations() {
        let n = 60;
        let mut state = 3;
        let mut a = Matrix::zeros(n + 5, n);
        (0..n).for_each(|j| a.column_mut(j).iter_mut().for_each(|x| *x = random(&mut state)));
        let h = a.gram();
        let mut updated = PartFactor::empty(n);
        let mut is_in = vec![true; n];
        for step in 0..300 {
            // Two changes at a time, so that they are updates.
            for _ in 0..2 {
                let i = ((random(&mut state) + 1.0) * 0.5 * n as f64) as usize % n;
                is_in[i] = !is_in[i];
            }
            updated.set_part(&h, &is_in).unwrap();
            let mut anew = updated.clone();
            anew.factor_anew(&h, &is_in).unwrap();
            let b: Vec<f64> = (0..n).map(|_| random(&mut state)).collect();
            let (mut x, mut y) = (b.clone(), b);
            updated.solve_in_place(&mut x);
            anew.solve_in_place(&mut y);
            let largest = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            let apart = x.iter().zip(&y).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-9 * (1.0 + largest), "step {step}: {apart:e} of {largest:e}");
        }
        assert!(updated.is_updated(), "only updates were meant to be tested");
    }

    #[test]
    fn every_unknown_can_leave_and_join_again() {
        let n = 5;
        let h = Matrix::symmetric(n, |i, j| if i == j { 4.0 } else { 1.0 });
        let mut factor = PartFactor::empty(n);
        for n_part in (0..n).rev().chain(1..=n) {
            let is_in: Vec<bool> = (0..n).map(|i| i < n_part).collect();
            factor.set_part(&h, &is_in).unwrap();
            let mut b: Vec<f64> = (0..n).map(|i| if is_in[i] { 3.0 + n_part as f64 } else { 1.0 }).collect();
            factor.solve_in_place(&mut b);
            for i in 0..n {
                let expected = if is_in[i] { 1.0 } else { 0.0 };
                assert!((b[i] - expected).abs() < 1e-12, "{n_part} unknowns: {b:?}");
            }
        }
    }
}
