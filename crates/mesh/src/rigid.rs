//! Rigid motions: the closest one between two sets of points, and blending that stays rigid.
//!
//! The fit is Horn's: the rotation is the largest eigenvector of a symmetric 4x4 matrix made from the points'
//! covariance, found by Jacobi rotations; it is never a reflection. Blending adds rotation vectors (logarithms) and
//! moves of a given pivot, so that one motion at weight 1 is itself and any blend is rigid.

use glam::{DMat3, DQuat, DVec3};

/// `x -> rotation * x + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    /// A unit quaternion.
    pub rotation: DQuat,
    /// Applied after the rotation.
    pub translation: DVec3,
}

impl Default for Rigid {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Rigid {
    /// Moves nothing.
    pub const IDENTITY: Self = Self { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

    /// A rotation about a point.
    pub fn about(pivot: DVec3, rotation: DQuat) -> Self {
        Self { rotation, translation: pivot - rotation * pivot }
    }

    /// Where the motion takes a point.
    pub fn apply(&self, p: DVec3) -> DVec3 {
        self.rotation * p + self.translation
    }

    /// The motion back.
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.inverse();
        Self { rotation, translation: -(rotation * self.translation) }
    }

    /// First `other`, then `self`.
    pub fn after(&self, other: &Self) -> Self {
        Self {
            rotation: (self.rotation * other.rotation).normalize(),
            translation: self.rotation * other.translation + self.translation,
        }
    }

    /// The rigid motion with the least squared distance between moved `from` and `to`, each pair weighing `weights[i]`
    /// (1 when empty). Identity without points; a pure translation when the points say nothing of rotation.
    pub fn fit(from: &[DVec3], to: &[DVec3], weights: &[f64]) -> Self {
        let weight = |i: usize| weights.get(i).copied().unwrap_or(1.0);
        let total: f64 = (0..from.len()).map(weight).sum();
        if total <= 0.0 {
            return Self::IDENTITY;
        }
        let center = |points: &[DVec3]| points.iter().enumerate().map(|(i, &p)| p * weight(i)).sum::<DVec3>() / total;
        let (a, b) = (center(from), center(to));
        let mut s = DMat3::ZERO;
        for (i, (&p, &q)) in from.iter().zip(to).enumerate() {
            let (p, q) = ((p - a) * weight(i), q - b);
            s += DMat3::from_cols(p * q.x, p * q.y, p * q.z);
        }
        let rotation = rotation_of(&s);
        Self { rotation, translation: b - rotation * a }
    }

    /// The sum of motions, each with its weight, as rotation vectors and moves of `pivot`.
    pub fn blend(motions: impl IntoIterator<Item = (Self, f64)>, pivot: DVec3) -> Self {
        let (mut turn, mut shift) = (DVec3::ZERO, DVec3::ZERO);
        for (motion, weight) in motions {
            turn += motion.rotation_vector() * weight;
            shift += (motion.apply(pivot) - pivot) * weight;
        }
        let rotation = DQuat::from_scaled_axis(turn);
        Self { rotation, translation: pivot + shift - rotation * pivot }
    }

    /// Axis times angle, the angle at most pi.
    pub fn rotation_vector(&self) -> DVec3 {
        let q = if self.rotation.w < 0.0 { -self.rotation } else { self.rotation };
        q.to_scaled_axis()
    }
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
    let q = largest_eigenvector(n);
    let q = DQuat::from_xyzw(q[1], q[2], q[3], q[0]);
    if q.length_squared() > 0.0 && q.is_finite() { q.normalize() } else { DQuat::IDENTITY }
}

/// Of a symmetric matrix, by cyclic Jacobi rotations. Of equal ones the first, so that no information means identity.
fn largest_eigenvector(mut a: [[f64; 4]; 4]) -> [f64; 4] {
    let mut v = [[0.0; 4]; 4];
    for (i, row) in v.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for _ in 0..32 {
        for p in 0..4 {
            for q in p + 1..4 {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for row in a.iter_mut().chain(&mut v) {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (row_p, row_q) = (a[p], a[q]);
                a[p] = std::array::from_fn(|k| c * row_p[k] - s * row_q[k]);
                a[q] = std::array::from_fn(|k| s * row_p[k] + c * row_q[k]);
            }
        }
    }
    let best = (0..4).fold(0, |best, i| if a[i][i] > a[best][best] { i } else { best });
    v.map(|row| row[best])
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
            let found = Rigid::fit(&from, &to, &[]);
            for (&p, &q) in from.iter().zip(&to) {
                assert!((found.apply(p) - q).length() < 1e-12, "angle {angle}");
            }
        }
    }

    #[test]
    fn fit_never_reflects() {
        let from = cloud();
        let to: Vec<_> = from.iter().map(|p| DVec3::new(-p.x, p.y, p.z)).collect();
        let rotation = DMat3::from_quat(Rigid::fit(&from, &to, &[]).rotation);
        assert!((rotation.determinant() - 1.0).abs() < 1e-12);
        assert_eq!(Rigid::fit(&[], &[], &[]), Rigid::IDENTITY);
        assert_eq!(Rigid::fit(&from[..1], &from[..1], &[]).rotation, DQuat::IDENTITY);
    }

    #[test]
    fn blend_of_one_is_itself_and_inverse_undoes() {
        let motion = Rigid::about(DVec3::new(0.1, 0.2, 0.3), DQuat::from_rotation_x(0.7));
        let same = Rigid::blend([(motion, 1.0)], DVec3::new(0.0, 0.5, 0.0));
        for p in cloud() {
            assert!((same.apply(p) - motion.apply(p)).length() < 1e-12);
            assert!((motion.inverse().after(&motion).apply(p) - p).length() < 1e-12);
        }
    }
}
