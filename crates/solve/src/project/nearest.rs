//! The nearest matrices of the sets that tets are projected on, one matrix at a time and for any input.
//!
//! ```text
//! nearest_rotation   argmin |F - R|   over rotations R            U V^T of the signed decomposition
//! nearest_turn       argmin |F - R T| over rotations R            nearest rotation to F T^T, times T
//! nearest_volume     argmin |F - P|   over P with det P = J > 0   U diag(s) V^T
//! ```
//!
//! The values s of the last one minimize `|s - sigma|^2` with `s1 s2 s3 = J`. Stationary points have
//! `s_i (s_i - sigma_i) = m` for one number m. With `t = s3`, the smallest, as unknown, `m = t (t - sigma3)`
//! and the others are `(sigma_i + sqrt(sigma_i^2 + 4 m)) / 2`. Their product is convex and rises for
//! `t >= max(sigma3, 0) / 2`, so Newton's method from the right converges. If the product is above J even at
//! the left end, or nearly, one more solution lies between 0 and sigma3 / 2, where the smallest value gives
//! way alone; the nearer one is taken.
//!
//! The kernels that process many tets at once ([`super::kernel`]) compute the same, and leave inverted and
//! extreme tets to these functions.

use glam::{DMat3, DVec3};
use risorius_linalg::svd;

/// The rotation nearest to `f`.
pub fn nearest_rotation(f: DMat3) -> DMat3 {
    let svd = svd(f);
    svd.u * svd.v.transpose()
}

/// The matrix `R t` nearest to `f`, with a rotation R.
pub fn nearest_turn(f: DMat3, t: DMat3) -> DMat3 {
    nearest_rotation(f * t.transpose()) * t
}

/// The matrix of determinant `j` nearest to `f`; `j` must be positive.
pub fn nearest_volume(f: DMat3, j: f64) -> DMat3 {
    let svd = svd(f);
    svd.u * DMat3::from_diagonal(nearest_values(svd.s, j)) * svd.v.transpose()
}

/// Values `s` with the product `j` nearest to `sigma`, where `sigma.x >= sigma.y >= |sigma.z|`.
pub fn nearest_values(sigma: DVec3, j: f64) -> DVec3 {
    let roots = [rising_root(sigma, j), falling_root(sigma, j)];
    let all = roots.into_iter().flatten().map(|t| values_at(sigma, t));
    let nearer = |a: &DVec3, b: &DVec3| a.distance_squared(sigma).total_cmp(&b.distance_squared(sigma));
    all.min_by(nearer).unwrap_or(DVec3::splat(j.cbrt()))
}

/// All three values for the smallest one, `t`.
fn values_at(sigma: DVec3, t: f64) -> DVec3 {
    let m = t * (t - sigma.z);
    let other = |s: f64| 0.5 * (s + (s * s + 4.0 * m).max(0.0).sqrt());
    DVec3::new(other(sigma.x), other(sigma.y), t)
}

/// The product of the values for the smallest one.
fn product(sigma: DVec3, t: f64) -> f64 {
    let s = values_at(sigma, t);
    s.x * s.y * s.z
}

/// The `t` of at least `sigma.z / 2` with the product `j`, if there is one.
fn rising_root(sigma: DVec3, j: f64) -> Option<f64> {
    let left = 0.5 * sigma.z.max(0.0);
    let right = j.cbrt().max(sigma.z);
    (product(sigma, left) < j).then(|| bisected(left, right, |t| product(sigma, t) < j))
}

/// A `t` below `sigma.z / 2` with the product `j`, if there is one.
fn falling_root(sigma: DVec3, j: f64) -> Option<f64> {
    if sigma.z <= 0.0 {
        return None;
    }
    // The product rises from 0 to one maximum, and may fall from there on.
    let end = 0.5 * sigma.z;
    let rises = |t: f64| product(sigma, t * (1.0 + 1e-9)) > product(sigma, t);
    let top = bisected(0.0, end, rises);
    (product(sigma, top) >= j).then(|| bisected(0.0, top, |t| product(sigma, t) < j))
}

/// The point of `low..high` up to which `below` holds.
fn bisected(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Random;

    fn distance(a: DMat3, b: DMat3) -> f64 {
        (a - b).to_cols_array().iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Inputs of all kinds: near rotations, stretched, flat, inverted, mirrored, zero.
    fn inputs() -> Vec<DMat3> {
        let mut random = Random(8);
        let mut all = vec![DMat3::ZERO, -DMat3::IDENTITY, DMat3::IDENTITY, DMat3::IDENTITY * 3.0];
        for k in 0..60 {
            let (turn, any) = (random.rotation(), random.matrix());
            all.push(turn + any * 0.1);
            all.push(any * 2.0);
            all.push(turn * DMat3::from_diagonal(DVec3::new(1.0, 1.0 - 1e-9 * f64::from(k), 1.0)));
            all.push(turn * DMat3::from_diagonal(DVec3::new(1.0, 0.4, -0.3)) * random.rotation());
            all.push(DMat3::from_cols(any.x_axis, any.y_axis, any.x_axis + any.y_axis));
        }
        all
    }

    #[test]
    fn no_rotation_is_nearer_than_the_nearest() {
        let mut random = Random(3);
        for f in inputs() {
            let r = nearest_rotation(f);
            assert!(distance(r.transpose() * r, DMat3::IDENTITY) < 1e-13 && r.determinant() > 0.0);
            for _ in 0..40 {
                let other = random.rotation();
                assert!(distance(f, r) <= distance(f, other) + 1e-12, "{f}");
                assert!(distance(f, nearest_turn(f, other)) <= distance(f, r * other) + 1e-12);
            }
        }
    }

    #[test]
    fn no_matrix_of_that_volume_is_nearer_than_the_nearest() {
        let mut random = Random(4);
        for f in inputs() {
            for j in [1.0, 0.9, 0.14, 0.13, 0.01, 3.0] {
                let p = nearest_volume(f, j);
                assert!((p.determinant() / j - 1.0).abs() < 1e-9, "{f} to {j}: {}", p.determinant());
                let nearest = distance(f, p);
                for k in 0..60 {
                    // Far away, and close by.
                    let near = p + random.matrix() * [1e-3, 0.1][k % 2];
                    let any = if k % 3 == 0 { random.matrix() } else { near };
                    if any.determinant() > 1e-6 {
                        let other = any * (j / any.determinant()).cbrt();
                        assert!(nearest <= distance(f, other) + 1e-9, "{f} to {j}: {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_the_nearest_of_a_fine_grid() {
        for sigma in [[1.0, 1.0, 1.0], [1.3, 0.9, 0.2], [2.0, 1.0, -0.8], [1.0, 0.99, 0.97], [0.3, 0.1, 0.0]]
        {
            let sigma = DVec3::from(sigma);
            for j in [0.02, 0.11, 0.13, 0.145, 0.16, 0.5, 1.0, 4.0] {
                let s = nearest_values(sigma, j);
                let mut best = f64::INFINITY;
                for a in 1..700 {
                    for b in 1..700 {
                        let (x, y) = (0.004 * f64::from(a), 0.004 * f64::from(b));
                        best = best.min(DVec3::new(x, y, j / (x * y)).distance_squared(sigma));
                    }
                }
                let mine = s.distance_squared(sigma);
                assert!(mine <= best + 1e-9 && mine > best - 0.02, "{sigma} to {j}: {s}, {mine} and {best}");
            }
        }
    }
}
