//! The inverse of a matrix, known before a program is solved.
//!
//! It is a dense matrix, or one with a correction of low rank: where `H = G + c S^T S` with few rows in `S`,
//! the Woodbury identity gives `H^-1 = G^-1 - sign V^T V`, so that the inverse of `G` serves all `S` and `c`.

use crate::dense::{Cholesky, Matrix, dot};
use std::borrow::Cow;

/// `base - sign V^T V`, the inverse of the matrix of a program.
#[derive(Debug, Clone)]
pub struct KnownInverse<'a> {
    base: Cow<'a, Matrix>,
    /// `V`, a column for each unknown; without rows if the base is all.
    low: Matrix,
    sign: f64,
}

impl<'a> KnownInverse<'a> {
    /// The inverse of a factored matrix.
    pub fn of(factor: &Cholesky) -> Self {
        Self { low: Matrix::zeros(0, factor.n()), base: Cow::Owned(factor.inverse()), sign: 0.0 }
    }

    /// `base - sign V^T V`; `low` is `V`, with a column for each unknown.
    pub fn corrected(base: &'a Matrix, low: Matrix, sign: f64) -> Self {
        assert_eq!(base.n_rows(), low.n_columns());
        Self { base: Cow::Borrowed(base), low, sign }
    }

    /// The product with `v`.
    pub(super) fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut out = self.base.times(v);
        if self.low.n_rows() > 0 {
            let inner = self.low.times(v);
            out.iter_mut().enumerate().for_each(|(i, o)| *o -= self.sign * dot(self.low.column(i), &inner));
        }
        out
    }
}

/// Entries of a symmetric matrix.
pub(super) trait Entries {
    /// The entries of a column in some rows.
    fn entries(&self, rows: &[usize], column: usize) -> Vec<f64>;

    /// The rows and columns that `keep` lists; the upper triangle need not be right.
    fn principal(&self, keep: &[usize]) -> Matrix;
}

impl Entries for Matrix {
    fn entries(&self, rows: &[usize], column: usize) -> Vec<f64> {
        let of = self.column(column);
        rows.iter().map(|&i| of[i]).collect()
    }

    fn principal(&self, keep: &[usize]) -> Matrix {
        self.principal(keep)
    }
}

impl Entries for KnownInverse<'_> {
    fn entries(&self, rows: &[usize], column: usize) -> Vec<f64> {
        let mut out = self.base.entries(rows, column);
        if self.low.n_rows() > 0 {
            let of = self.low.column(column);
            rows.iter().zip(&mut out).for_each(|(&i, o)| *o -= self.sign * dot(of, self.low.column(i)));
        }
        out
    }

    fn principal(&self, keep: &[usize]) -> Matrix {
        let mut out = self.base.principal(keep);
        if self.low.n_rows() > 0 {
            let mut part = Matrix::zeros(self.low.n_rows(), keep.len());
            keep.iter()
                .enumerate()
                .for_each(|(j, &i)| part.column_mut(j).copy_from_slice(self.low.column(i)));
            let mut correction = part.gram();
            correction.scale(-self.sign);
            out.add(&correction);
        }
        out
    }
}
