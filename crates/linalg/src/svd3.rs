//! Decompositions of 3x3 matrices: signed singular values and symmetric eigenvalues.
//!
//! `svd` gives `A = U diag(s) V^T` with *rotations* U and V, so that a reflection appears as a negative last
//! singular value. Energies of deformation gradients need this when an element is inverted. One-sided Jacobi
//! rotations make the columns of `A V` orthogonal. Small singular values keep their relative accuracy, which
//! the eigenvalues of `A^T A` would lose. Singular matrices need a special case only where U is completed to
//! a rotation.

use glam::{DMat3, DVec3};

/// `A = u diag(s) v^T`; `u` and `v` are rotations, `s.x >= s.y >= |s.z|`, and `s.z` has the sign of `det A`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Svd3 {
    /// Left singular vectors in columns.
    pub u: DMat3,
    /// Singular values, the last one signed.
    pub s: DVec3,
    /// Right singular vectors in columns.
    pub v: DMat3,
}

const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// Cosine and sine of the Jacobi rotation for `[[alpha, gamma], [gamma, beta]]`, with the smaller angle.
fn jacobi_rotation(alpha: f64, beta: f64, gamma: f64) -> (f64, f64) {
    let zeta = (beta - alpha) / (2.0 * gamma);
    let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    (c, c * t)
}

fn rotate(columns: &mut [DVec3; 3], p: usize, q: usize, c: f64, s: f64) {
    let (a, b) = (columns[p], columns[q]);
    columns[p] = c * a - s * b;
    columns[q] = s * a + c * b;
}

/// The signed singular value decomposition. Entries must be finite.
pub fn svd(a: DMat3) -> Svd3 {
    let largest = a.to_cols_array().iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return Svd3 { u: DMat3::IDENTITY, s: DVec3::ZERO * largest, v: DMat3::IDENTITY };
    }
    let scaled = a * (1.0 / largest);
    let mut w = [scaled.x_axis, scaled.y_axis, scaled.z_axis];
    let mut v = [DVec3::X, DVec3::Y, DVec3::Z];
    // Quadratic convergence: four or five sweeps in practice, the limit is a guard only.
    for _ in 0..16 {
        let mut done = true;
        for (p, q) in PAIRS {
            let (alpha, beta, gamma) = (w[p].length_squared(), w[q].length_squared(), w[p].dot(w[q]));
            if gamma.abs() > 1e-16 * (alpha * beta).sqrt() && gamma.abs() > 1e-300 {
                done &= gamma * gamma <= 1e-30 * alpha * beta;
                let (c, s) = jacobi_rotation(alpha, beta, gamma);
                rotate(&mut w, p, q, c, s);
                rotate(&mut v, p, q, c, s);
            }
        }
        if done {
            break;
        }
    }
    order_by_length(&mut w, &mut v);
    complete(w, v, largest)
}

/// Longest column first; a swap negates one column so that `v` stays a rotation.
fn order_by_length(w: &mut [DVec3; 3], v: &mut [DVec3; 3]) {
    for (p, q) in [(0, 1), (0, 2), (1, 2)] {
        if w[p].length_squared() < w[q].length_squared() {
            for m in [&mut *w, &mut *v] {
                m.swap(p, q);
                m[q] = -m[q];
            }
        }
    }
}

/// U from the orthogonal columns `w`, also where they vanish.
fn complete(w: [DVec3; 3], v: [DVec3; 3], scale: f64) -> Svd3 {
    let u0 = w[0].normalize();
    let across = w[1] - u0 * u0.dot(w[1]);
    let u1 = if across.length() > 1e-8 * w[1].length() && across.length() > 1e-200 {
        let once = across.normalize();
        (once - u0 * u0.dot(once)).normalize()
    } else {
        u0.any_orthonormal_vector()
    };
    let u2 = u0.cross(u1);
    let s = DVec3::new(u0.dot(w[0]), u1.dot(w[1]), u2.dot(w[2])) * scale;
    Svd3 { u: DMat3::from_cols(u0, u1, u2), s, v: DMat3::from_cols(v[0], v[1], v[2]) }
}

/// Eigenvalues (unsorted) and orthonormal eigenvectors in columns of a symmetric matrix.
pub fn eigen_symmetric(a: DMat3) -> (DVec3, DMat3) {
    let mut m = a.to_cols_array_2d();
    let mut v = [DVec3::X, DVec3::Y, DVec3::Z];
    let scale = a.to_cols_array().iter().fold(0.0f64, |s, e| s.max(e.abs()));
    for _ in 0..16 {
        let off = m[0][1].abs().max(m[0][2].abs()).max(m[1][2].abs());
        if off <= 1e-17 * scale {
            break;
        }
        for (p, q) in PAIRS {
            let gamma = m[p][q];
            if gamma.abs() <= 1e-300 {
                continue;
            }
            let (c, s) = jacobi_rotation(m[p][p], m[q][q], gamma);
            let r = 3 - p - q;
            let t = s / c;
            m[p][p] -= t * gamma;
            m[q][q] += t * gamma;
            (m[p][q], m[q][p]) = (0.0, 0.0);
            let (rp, rq) = (m[r][p], m[r][q]);
            (m[r][p], m[r][q]) = (c * rp - s * rq, s * rp + c * rq);
            (m[p][r], m[q][r]) = (m[r][p], m[r][q]);
            rotate(&mut v, p, q, c, s);
        }
    }
    (DVec3::new(m[0][0], m[1][1], m[2][2]), DMat3::from_cols(v[0], v[1], v[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from -1 to 1 by a multiplicative generator.
    fn random_matrix(seed: &mut u64) -> DMat3 {
        DMat3::from_cols_array(&std::array::from_fn(|_| {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }))
    }

    fn check(a: DMat3) {
        let Svd3 { u, s, v } = svd(a);
        let scale = a.to_cols_array().iter().fold(1e-300f64, |m, e| m.max(e.abs()));
        let back = u * DMat3::from_diagonal(s) * v.transpose();
        assert!((back - a).to_cols_array().iter().all(|e| e.abs() < 1e-14 * scale), "{a} {back}");
        for r in [u, v] {
            let off = r.transpose() * r - DMat3::IDENTITY;
            assert!(off.to_cols_array().iter().all(|e| e.abs() < 1e-14), "{a} {r}");
            assert!(r.determinant() > 0.9);
        }
        assert!(s.x >= s.y && s.y >= s.z.abs() - 1e-15 * scale, "{s}");
    }

    #[test]
    fn svd_rebuilds_any_matrix() {
        let mut seed = 1;
        for k in 0..2000 {
            let a = random_matrix(&mut seed);
            check(a);
            check(a * 10f64.powi(k % 200 - 100));
            check(DMat3::from_cols(a.x_axis, a.x_axis * 1e-9 + a.y_axis * 1e-12, a.z_axis));
            check(DMat3::from_cols(a.x_axis, a.y_axis, a.x_axis + a.y_axis));
            check(DMat3::from_cols(a.x_axis, 2.0 * a.x_axis, -a.x_axis));
            check(-a * a.transpose());
        }
        for a in
            [DMat3::ZERO, DMat3::IDENTITY, -DMat3::IDENTITY, DMat3::from_diagonal(DVec3::new(1.0, 0.0, -2.0))]
        {
            check(a);
        }
    }

    #[test]
    fn small_singular_values_keep_their_digits() {
        let mut seed = 5;
        for _ in 0..200 {
            let (r, q) = (svd(random_matrix(&mut seed)), svd(random_matrix(&mut seed)));
            // Columns of very different length: the case where one-sided rotations keep relative accuracy.
            let a = r.u * DMat3::from_diagonal(DVec3::new(1.0, 1e-5, 1e-9));
            let s = svd(a).s;
            assert!((s.z / 1e-9 - 1.0).abs() < 1e-12 && (s.y / 1e-5 - 1.0).abs() < 1e-12, "{s}");
            let s = svd(a * q.v).s;
            assert!((s.z / 1e-9 - 1.0).abs() < 1e-6, "{s}");
        }
    }

    #[test]
    fn eigenvectors_rebuild_symmetric_matrices() {
        let mut seed = 3;
        for _ in 0..1000 {
            let r = random_matrix(&mut seed);
            let a = r + r.transpose();
            let (values, vectors) = eigen_symmetric(a);
            let back = vectors * DMat3::from_diagonal(values) * vectors.transpose();
            assert!((back - a).to_cols_array().iter().all(|e| e.abs() < 1e-14), "{a} {back}");
        }
    }
}
