//! Eigenvalues and eigenvectors of small symmetric matrices, by Jacobi rotations.
//!
//! Each cyclic sweep rotates every pair of axes so that the entry between them vanishes. Convergence is
//! quadratic at the end. Slow for large matrices, but accurate for small eigenvalues too, without
//! allocation in the sweeps, and with a fixed order of operations. NaN in, NaN out.

/// Largest number of sweeps; ten are enough for a hundred unknowns.
const SWEEPS: usize = 60;

/// Diagonalizes `a` (n x n, symmetric) in place, leaving the eigenvalues on its diagonal, and returns the
/// eigenvectors: entry `row * n + k` belongs to vector k. Stops when the absolute off-diagonal entries sum to
/// at most `tolerance` times the Frobenius norm of `a`; 0 iterates to full precision.
pub fn symmetric(n: usize, a: &mut [f64], tolerance: f64) -> Vec<f64> {
    assert_eq!(a.len(), n * n);
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    let size: f64 = a.iter().map(|x| x * x).sum::<f64>().sqrt();
    for _ in 0..SWEEPS {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j].abs()).sum();
        // Also stops for a zero matrix and for NaN.
        if off <= tolerance * size || off.is_nan() {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                turn(n, a, &mut vectors, p, q);
            }
        }
    }
    vectors
}

fn turn(n: usize, a: &mut [f64], vectors: &mut [f64], p: usize, q: usize) {
    let between = a[p * n + q];
    if between == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * between);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (vectors[k * n + p], vectors[k * n + q]);
        (vectors[k * n + p], vectors[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_and_values_give_the_matrix_back() {
        for n in [1, 2, 7, 20] {
            let entry = |i: usize, j: usize| ((i * 7 + j * 7 + i * j) % 11) as f64 - 4.0;
            let before: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
            let mut a = before.clone();
            let v = symmetric(n, &mut a, 1e-17);
            for i in 0..n {
                for j in 0..n {
                    let again: f64 = (0..n).map(|k| v[i * n + k] * a[k * n + k] * v[j * n + k]).sum();
                    assert!((again - before[i * n + j]).abs() < 1e-12 * (n * n) as f64, "{n}: {again}");
                    let unit: f64 = (0..n).map(|k| v[k * n + i] * v[k * n + j]).sum();
                    assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
        }
        assert!(symmetric(2, &mut [f64::NAN, 1.0, 1.0, 0.0], 0.0).len() == 4);
        assert_eq!(symmetric(2, &mut [0.0; 4], 0.0), [1.0, 0.0, 0.0, 1.0]);
    }
}
