//! The Cholesky factor of the free part of a matrix, updated as unknowns are freed and fixed.
//!
//! `H_FF = L L^T` over the free unknowns `F`, in the order in which they were freed. Freeing one adds a last
//! row to `L`: one triangular solve. Fixing one removes its row and its column; the outer product of that
//! column is added to the part of the factor that follows, by rotations. Nothing is ever subtracted from a
//! factor, so updates are as stable as factoring. Each costs about as many operations as a solve; where many
//! unknowns change at once the part is factored anew.

use crate::dense::{Cholesky, Matrix, NotPositiveDefinite, dot};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};

/// A new factorization costs as much as updates for this fraction of the free unknowns (measured: 1/13 to 1/8
/// for 1000 down to 100 unknowns).
const CHEAP_CHANGES: f64 = 1.0 / 12.0;

/// See the module header.
#[derive(Debug, Clone)]
pub(super) struct FreeFactor {
    /// `L` column after column, each as long as there are unknowns. Only its lower triangle counts.
    columns: Vec<f64>,
    /// Number of all unknowns.
    n: usize,
    /// The unknown of each row.
    free: Vec<usize>,
    /// Updates since the part was factored.
    n_updates: usize,
}

impl FreeFactor {
    /// All unknowns free.
    pub fn of_all(factor: &Cholesky) -> Self {
        let n = factor.n();
        Self { columns: factor.lower().as_slice().to_vec(), n, free: (0..n).collect(), n_updates: 0 }
    }

    /// Whether rounding of updates may have added up.
    pub fn is_updated(&self) -> bool {
        self.n_updates > 0
    }

    /// Frees exactly the unknowns that `is_free` marks.
    pub fn set_free(&mut self, h: &Matrix, is_free: &[bool]) -> Result<(), NotPositiveDefinite> {
        let fixed: Vec<usize> = (0..self.free.len()).filter(|&row| !is_free[self.free[row]]).collect();
        let mut freed = is_free.to_vec();
        self.free.iter().for_each(|&i| freed[i] = false);
        let freed: Vec<usize> = (0..self.n).filter(|&i| freed[i]).collect();
        let n_changes = fixed.len() + freed.len();
        if n_changes as f64 > (CHEAP_CHANGES * self.free.len() as f64).max(4.0) {
            return self.factor_anew(h, is_free);
        }
        // From the last row on, so that the rows of the others stay what they are.
        fixed.iter().rev().for_each(|&row| self.remove(row));
        for i in freed {
            if !self.append(h, i) {
                return self.factor_anew(h, is_free);
            }
        }
        self.n_updates += n_changes;
        Ok(())
    }

    /// Factors the part of the unknowns that `is_free` marks.
    pub fn factor_anew(&mut self, h: &Matrix, is_free: &[bool]) -> Result<(), NotPositiveDefinite> {
        self.n_updates = 0;
        self.free.clear();
        let free: Vec<usize> = (0..self.n).filter(|&i| is_free[i]).collect();
        let factor = Cholesky::factor(h.principal(&free))?;
        for j in 0..free.len() {
            self.columns[j * self.n + j..j * self.n + free.len()]
                .copy_from_slice(&factor.lower().column(j)[j..]);
        }
        self.free = free;
        Ok(())
    }

    /// Replaces the free entries of `b` by the solution for them, and the others by 0.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        let mut part: Vec<f64> = self.free.iter().map(|&i| b[i]).collect();
        let n_free = part.len();
        let right = MatMut::from_column_major_slice_mut(&mut part, n_free, 1);
        solve_lower_triangular_in_place(self.view(), right, Par::Seq);
        let right = MatMut::from_column_major_slice_mut(&mut part, n_free, 1);
        solve_upper_triangular_in_place(self.view().transpose(), right, Par::Seq);
        b.fill(0.0);
        self.free.iter().zip(&part).for_each(|(&i, x)| b[i] = *x);
    }

    fn view(&self) -> MatRef<'_, f64> {
        let n_free = self.free.len();
        MatRef::from_column_major_slice_with_stride(&self.columns, n_free, n_free, self.n)
    }

    /// Adds unknown `i` as the last row; false if rounding left no positive pivot.
    fn append(&mut self, h: &Matrix, i: usize) -> bool {
        let n_free = self.free.len();
        let mut row: Vec<f64> = self.free.iter().map(|&j| h[(j, i)]).collect();
        let right = MatMut::from_column_major_slice_mut(&mut row, n_free, 1);
        solve_lower_triangular_in_place(self.view(), right, Par::Seq);
        let pivot = h[(i, i)] - dot(&row, &row);
        // A pivot that lost all its digits is left to a new factorization, which may order it better.
        if pivot.is_nan() || pivot <= 1e-13 * h[(i, i)] {
            return false;
        }
        for (j, value) in row.iter().enumerate() {
            self.columns[j * self.n + n_free] = *value;
        }
        self.columns[n_free * self.n + n_free] = pivot.sqrt();
        self.free.push(i);
        true
    }

    /// Removes a row and its column.
    fn remove(&mut self, row: usize) {
        let (n, n_free) = (self.n, self.free.len());
        for column in self.columns.chunks_mut(n).take(row) {
            column.copy_within(row + 1..n_free, row);
        }
        // The removed column below its diagonal: what the columns after it take up.
        let mut rest = self.columns[row * n + row + 1..row * n + n_free].to_vec();
        for j in row + 1..n_free {
            let (before, here) = self.columns.split_at_mut(j * n);
            let (to, from) = (&mut before[(j - 1) * n + j - 1..(j - 1) * n + n_free - 1], &here[j..n_free]);
            let rest = &mut rest[j - row - 1..];
            let diagonal = from[0].hypot(rest[0]);
            let (cosine, sine) = (from[0] / diagonal, rest[0] / diagonal);
            for ((to, &from), rest) in to.iter_mut().zip(from).zip(rest) {
                *to = cosine * from + sine * *rest;
                *rest = cosine * *rest - sine * from;
            }
        }
        self.free.remove(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut updated = FreeFactor::of_all(&Cholesky::factor(h.clone()).unwrap());
        let mut is_free = vec![true; n];
        for step in 0..300 {
            // Two changes at a time, so that they are updates.
            for _ in 0..2 {
                let i = ((random(&mut state) + 1.0) * 0.5 * n as f64) as usize % n;
                is_free[i] = !is_free[i];
            }
            updated.set_free(&h, &is_free).unwrap();
            let mut anew = updated.clone();
            anew.factor_anew(&h, &is_free).unwrap();
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
    fn every_unknown_can_be_fixed_and_freed_again() {
        let n = 5;
        let h = Matrix::symmetric(n, |i, j| if i == j { 4.0 } else { 1.0 });
        let mut factor = FreeFactor::of_all(&Cholesky::factor(h.clone()).unwrap());
        for n_free in (0..n).rev().chain(1..=n) {
            let is_free: Vec<bool> = (0..n).map(|i| i < n_free).collect();
            factor.set_free(&h, &is_free).unwrap();
            let mut b: Vec<f64> =
                (0..n).map(|i| if is_free[i] { 3.0 + n_free as f64 } else { 1.0 }).collect();
            factor.solve_in_place(&mut b);
            for i in 0..n {
                let expected = if is_free[i] { 1.0 } else { 0.0 };
                assert!((b[i] - expected).abs() < 1e-12, "{n_free} free: {b:?}");
            }
        }
    }
}
