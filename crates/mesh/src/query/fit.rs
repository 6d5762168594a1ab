//! The least-squares rigid motion between two sets of points.
//!
//! The rotation is Horn's: the quaternion is the eigenvector with the largest eigenvalue of a symmetric 4x4
//! matrix built from the covariance of the points. It is never a reflection. For a scale factor as well, see
//! [`super::similarity`].

use glam::{DMat3, DQuat, DVec3};
use risorius_base::Rigid;
use risorius_linalg::eigen;

/// The rigid motion that minimizes the sum of squared distances between the moved `from` and `to`, each pair
/// weighted by `weights[i]` (1 when empty). Identity without points; a pure translation when the points do
/// not determine a rotation.
pub fn fit_rigid(from: &[DVec3], to: &[DVec3], weights: &[f64]) -> Rigid {
    let weight = |i: usize| weights.get(i).copied().unwrap_or(1.0);
    let total: f64 = (0..from.len()).map(weight).sum();
    if total <= 0.0 {
        return Rigid::IDENTITY;
    }
    let center =
        |points: &[DVec3]| points.iter().enumerate().map(|(i, &p)| p * weight(i)).sum::<DVec3>() / total;
    let (a, b) = (center(from), center(to));
    let mut s = DMat3::ZERO;
    for (i, (&p, &q)) in from.iter().zip(to).enumerate() {
        let (p, q) = ((p - a) * weight(i), q - b);
        s += DMat3::from_cols(p * q.x, p * q.y, p * q.z);
    }
    let rotation = rotation_of(&s);
    Rigid { rotation, translation: b - rotation * a }
}

/// Horn's quaternion for the covariance `s` (`s.col(j)[i]` = sum of from_i * to_j).
fn rotation_of(s: &DMat3) -> DQuat {
    let m = |i: usize, j: usize| s.col(j)[i];
    let (xx, xy, xz) = (m(0, 0), m(0, 1), m(0, 2));
    let (yx, yy, yz) = (m(1, 0), m(1, 1), m(1, 2));
    let (zx, zy, zz) = (m(2, 0), m(2, 1), m(2, 2));
    let n = [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ];
    let q = largest_eigenvector(n.concat());
    let q = DQuat::from_xyzw(q[1], q[2], q[3], q[0]);
    if q.length_squared() > 0.0 && q.is_finite() { q.normalize() } else { DQuat::IDENTITY }
}

/// Of a symmetric matrix. The first of equal ones, so that a zero covariance gives the identity.
fn largest_eigenvector(mut a: Vec<f64>) -> [f64; 4] {
    let vectors = eigen::symmetric(4, &mut a, 0.0);
    let best = (0..4).fold(0, |best, i| if a[5 * i] > a[5 * best] { i } else { best });
    std::array::from_fn(|row| vectors[4 * row + best])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud() -> Vec<DVec3> {
        (0..7).map(|i| DVec3::new((i as f64 * 1.7).sin(), (i as f64 * 0.9).cos(), i as f64 * 0.1)).collect()
    }

    #[test]
    fn fit_finds_the_motion() {
        for angle in [0.0, 0.3, 2.0, std::f64::consts::PI] {
            let rotation = DQuat::from_scaled_axis(DVec3::new(0.3, -0.5, 0.8).normalize() * angle);
            let truth = Rigid { rotation, translation: DVec3::new(1.0, 2.0, -3.0) };
            let from = cloud();
            let to: Vec<_> = from.iter().map(|&p| truth.apply(p)).collect();
            let found = fit_rigid(&from, &to, &[]);
            for (&p, &q) in from.iter().zip(&to) {
                assert!((found.apply(p) - q).length() < 1e-12, "angle {angle}");
            }
        }
    }

    #[test]
    fn fit_never_reflects() {
        let from = cloud();
        let to: Vec<_> = from.iter().map(|p| DVec3::new(-p.x, p.y, p.z)).collect();
        let rotation = DMat3::from_quat(fit_rigid(&from, &to, &[]).rotation);
        assert!((rotation.determinant() - 1.0).abs() < 1e-12);
        assert_eq!(fit_rigid(&[], &[], &[]), Rigid::IDENTITY);
        assert_eq!(fit_rigid(&from[..1], &from[..1], &[]).rotation, DQuat::IDENTITY);
    }
}
