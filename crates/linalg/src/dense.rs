//! Dense column-major matrices and the Cholesky factor of symmetric positive definite ones.
//!
//! A thin wrapper over faer's kernels: `A = L L^T`, solves with one or many right-hand sides, products. f64
//! throughout, because attenuation squares the condition number of its shape matrix.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{matmul, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};

/// A dense matrix, column after column.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    n_rows: usize,
    n_columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// All zero.
    pub fn zeros(n_rows: usize, n_columns: usize) -> Self {
        Self { n_rows, n_columns, data: vec![0.0; n_rows * n_columns] }
    }

    /// A symmetric matrix; `value` is called for the lower triangle.
    pub fn symmetric(n: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(n, n);
        for column in 0..n {
            (column..n).for_each(|row| matrix[(row, column)] = value(row, column));
        }
        matrix.mirror_lower();
        matrix
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// One column.
    pub fn column(&self, column: usize) -> &[f64] {
        &self.data[column * self.n_rows..(column + 1) * self.n_rows]
    }

    /// All columns, mutable.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        self.data.chunks_mut(self.n_rows.max(1))
    }

    /// One column, mutable.
    pub fn column_mut(&mut self, column: usize) -> &mut [f64] {
        &mut self.data[column * self.n_rows..(column + 1) * self.n_rows]
    }

    /// All columns one after another.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// `self x`.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.n_columns);
        let mut y = vec![0.0; self.n_rows];
        for (j, &xj) in x.iter().enumerate() {
            if xj != 0.0 {
                for (yi, &a) in y.iter_mut().zip(self.column(j)) {
                    *yi += a * xj;
                }
            }
        }
        y
    }

    /// `self^T self`, both triangles filled.
    pub fn gram(&self) -> Matrix {
        let mut g = Matrix::zeros(self.n_columns, self.n_columns);
        let a = self.view();
        triangular::matmul(
            g.view_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            a.transpose(),
            BlockStructure::Rectangular,
            a,
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        g.mirror_lower();
        g
    }

    /// `self^T other`.
    pub fn transposed_product(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.n_rows, other.n_rows);
        let mut out = Matrix::zeros(self.n_columns, other.n_columns);
        matmul::matmul(out.view_mut(), Accum::Replace, self.view().transpose(), other.view(), 1.0, Par::Seq);
        out
    }

    /// `self other`.
    pub fn times_matrix(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.n_columns, other.n_rows);
        let mut out = Matrix::zeros(self.n_rows, other.n_columns);
        matmul::matmul(out.view_mut(), Accum::Replace, self.view(), other.view(), 1.0, Par::Seq);
        out
    }

    /// Adds `other`, entry by entry.
    pub fn add(&mut self, other: &Matrix) {
        assert_eq!((self.n_rows, self.n_columns), (other.n_rows, other.n_columns));
        self.data.iter_mut().zip(&other.data).for_each(|(a, b)| *a += b);
    }

    /// Multiplies every entry.
    pub fn scale(&mut self, factor: f64) {
        self.data.iter_mut().for_each(|a| *a *= factor);
    }

    /// Copies the lower triangle to the upper.
    pub fn mirror_lower(&mut self) {
        for j in 0..self.n_columns {
            for i in j + 1..self.n_rows {
                self.data[i * self.n_rows + j] = self.data[j * self.n_rows + i];
            }
        }
    }

    /// The rows and columns of a symmetric matrix that `keep` lists.
    pub fn principal(&self, keep: &[usize]) -> Matrix {
        let mut out = Matrix::zeros(keep.len(), keep.len());
        for (j, &from) in keep.iter().enumerate() {
            let source = &self.data[from * self.n_rows..(from + 1) * self.n_rows];
            for (to, &i) in out.column_mut(j).iter_mut().zip(keep) {
                *to = source[i];
            }
        }
        out
    }

    fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.n_rows, self.n_columns)
    }

    fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.n_rows, self.n_columns)
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.data[column * self.n_rows + row]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.data[column * self.n_rows + row]
    }
}

/// Inner product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four running sums let the compiler use vector registers; their order is fixed.
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (x, y) in a4.iter().zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// A pivot was not positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the matrix is not positive definite: pivot {pivot} is not positive")]
pub struct NotPositiveDefinite {
    /// Row at which the factorization stopped.
    pub pivot: usize,
}

/// The factor `L` of `A = L L^T`.
#[derive(Debug, Clone)]
pub struct Cholesky {
    factor: Matrix,
}

impl Cholesky {
    /// Factors a symmetric matrix; only its lower triangle is read.
    pub fn factor(mut a: Matrix) -> Result<Self, NotPositiveDefinite> {
        let n = a.n_rows;
        assert_eq!(n, a.n_columns);
        if n > 0 {
            let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
            let mut memory = MemBuffer::new(scratch);
            llt::factor::cholesky_in_place(
                a.view_mut(),
                Default::default(),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            )
            .map_err(|llt::factor::LltError::NonPositivePivot { index }| {
                NotPositiveDefinite { pivot: index }
            })?;
        }
        match (0..n).find(|&i| !a[(i, i)].is_finite()) {
            Some(pivot) => Err(NotPositiveDefinite { pivot }),
            None => Ok(Self { factor: a }),
        }
    }

    /// Size of the system.
    pub fn n(&self) -> usize {
        self.factor.n_rows
    }

    /// `L`; what is above its diagonal does not count.
    pub(crate) fn lower(&self) -> &Matrix {
        &self.factor
    }

    /// Diagonal of `L`.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.n()).map(|i| self.factor[(i, i)]).collect()
    }

    /// Estimate of the condition number from the diagonal of the factor (a lower bound).
    pub fn condition_estimate(&self) -> f64 {
        let diagonal = self.diagonal();
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        let least = diagonal.iter().copied().fold(f64::INFINITY, f64::min);
        if diagonal.is_empty() { 1.0 } else { (largest / least).powi(2) }
    }

    /// Replaces `b` by `A^-1 b`.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        self.lower_solve_in_place(b);
        self.upper_solve_in_place(b);
    }

    /// Replaces every column of `b` by `A^-1` times it.
    pub fn solve_columns_in_place(&self, b: &mut Matrix) {
        triangular_solve::solve_lower_triangular_in_place(self.factor.view(), b.view_mut(), Par::Seq);
        triangular_solve::solve_upper_triangular_in_place(
            self.factor.view().transpose(),
            b.view_mut(),
            Par::Seq,
        );
    }

    /// `A^-1`, both triangles filled.
    pub fn inverse(&self) -> Matrix {
        let n = self.n();
        let mut out = Matrix::zeros(n, n);
        if n > 0 {
            let mut memory = MemBuffer::new(llt::inverse::inverse_scratch::<f64>(n, Par::Seq));
            llt::inverse::inverse(out.view_mut(), self.factor.view(), Par::Seq, MemStack::new(&mut memory));
            out.mirror_lower();
        }
        out
    }

    /// Replaces every column of `b` by `L^-1` times it.
    pub fn lower_solve_columns_in_place(&self, b: &mut Matrix) {
        triangular_solve::solve_lower_triangular_in_place(self.factor.view(), b.view_mut(), Par::Seq);
    }

    /// Replaces `b` by `L^-1 b`.
    pub(crate) fn lower_solve_in_place(&self, b: &mut [f64]) {
        let n = b.len();
        let b = MatMut::from_column_major_slice_mut(b, n, 1);
        triangular_solve::solve_lower_triangular_in_place(self.factor.view(), b, Par::Seq);
    }

    /// Replaces `b` by `L^-T b`.
    pub(crate) fn upper_solve_in_place(&self, b: &mut [f64]) {
        let n = b.len();
        let b = MatMut::from_column_major_slice_mut(b, n, 1);
        triangular_solve::solve_upper_triangular_in_place(self.factor.view().transpose(), b, Par::Seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed pseudo-random symmetric positive definite matrix.
    fn spd(n: usize) -> Matrix {
        let mut a = Matrix::zeros(n + 3, n);
        let mut state = 1u64;
        for x in &mut a.data {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *x = (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5;
        }
        a.gram()
    }

    #[test]
    fn solves_invert_products() {
        for n in [1, 2, 7, 40, 130] {
            let a = spd(n);
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin()).collect();
            let mut b = a.times(&x);
            Cholesky::factor(a).unwrap().solve_in_place(&mut b);
            let error = b.iter().zip(&x).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
            assert!(error < 1e-7, "n {n}: {error}");
        }
    }

    #[test]
    fn inverses_invert() {
        for n in [0, 1, 2, 7, 40, 130] {
            let a = spd(n);
            let inverse = Cholesky::factor(a.clone()).unwrap().inverse();
            for j in 0..n {
                let column = a.times(inverse.column(j));
                let off = |i: usize| (column[i] - f64::from(u8::from(i == j))).abs();
                assert!((0..n).all(|i| off(i) < 1e-7), "n {n}, column {j}");
            }
        }
    }

    #[test]
    fn many_right_hand_sides_equal_one_by_one() {
        let factor = Cholesky::factor(spd(20)).unwrap();
        let mut many = spd(20);
        let mut single = many.clone();
        factor.solve_columns_in_place(&mut many);
        for j in 0..20 {
            factor.solve_in_place(single.column_mut(j));
        }
        assert!(many.data.iter().zip(&single.data).all(|(a, b)| (a - b).abs() < 1e-10));
    }

    #[test]
    fn indefinite_is_refused_with_its_pivot() {
        let mut a = spd(5);
        a[(3, 3)] = -1.0;
        assert_eq!(Cholesky::factor(a).unwrap_err(), NotPositiveDefinite { pivot: 3 });
        let mut nan = spd(3);
        nan[(1, 1)] = f64::NAN;
        assert!(Cholesky::factor(nan).is_err());
        assert_eq!(Cholesky::factor(Matrix::zeros(0, 0)).unwrap().n(), 0);
    }

    #[test]
    fn gram_is_symmetric_and_right() {
        let mut a = Matrix::zeros(3, 2);
        a.column_mut(0).copy_from_slice(&[1.0, 2.0, 3.0]);
        a.column_mut(1).copy_from_slice(&[0.0, -1.0, 4.0]);
        let g = a.gram();
        assert_eq!((g[(0, 0)], g[(0, 1)], g[(1, 0)], g[(1, 1)]), (14.0, 10.0, 10.0, 17.0));
        assert_eq!(a.transposed_product(&a), g);
        assert_eq!(g.principal(&[1]).as_slice(), [17.0]);
    }
}
