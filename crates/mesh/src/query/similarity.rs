//! Similarity transforms (rotation, translation, uniform scale) and their least-squares fit to point pairs.
//!
//! The rotation is that of [`super::fit`]; the scale is then the least-squares one along the rotated points.

use super::fit::fit_rigid;
use glam::DVec3;
use risorius_base::Rigid;

/// `x -> scale * rotation * x + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    /// Rotation and translation.
    pub rigid: Rigid,
    /// Applied before them.
    pub scale: f64,
}

impl Default for Similarity {
    fn default() -> Self {
        Self { rigid: Rigid::IDENTITY, scale: 1.0 }
    }
}

impl Similarity {
    /// The least-squares similarity from `from` to `to`, each pair weighted by `weights[i]`.
    pub fn fit(from: &[DVec3], to: &[DVec3], weights: &[f64]) -> Self {
        let turn = fit_rigid(from, to, weights).rotation;
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            return Self::default();
        }
        let mean = |points: &[DVec3]| points.iter().zip(weights).map(|(p, w)| *p * *w).sum::<DVec3>() / total;
        let (a, b) = (mean(from), mean(to));
        let (mut along, mut size) = (0.0, 0.0);
        for ((p, q), w) in from.iter().zip(to).zip(weights) {
            let (p, q) = (turn * (*p - a), *q - b);
            along += w * p.dot(q);
            size += w * p.length_squared();
        }
        let scale = if size > 0.0 && along > 0.0 { along / size } else { 1.0 };
        Self { rigid: Rigid { rotation: turn, translation: b - turn * a * scale }, scale }
    }

    /// The image of a point.
    pub fn apply(&self, p: DVec3) -> DVec3 {
        self.rigid.apply(p * self.scale)
    }

    /// The transform back.
    pub fn inverse(&self) -> Self {
        let rotation = self.rigid.rotation.inverse();
        let scale = 1.0 / self.scale;
        Self { rigid: Rigid { rotation, translation: -(rotation * self.rigid.translation) * scale }, scale }
    }

    /// First `other`, then `self`.
    pub fn after(&self, other: &Self) -> Self {
        let rotation = (self.rigid.rotation * other.rigid.rotation).normalize();
        let translation = self.apply(other.rigid.translation);
        Self { rigid: Rigid { rotation, translation }, scale: self.scale * other.scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn a_similarity_is_found_again() {
        let from: Vec<DVec3> =
            (0..6).map(|k| DVec3::new(f64::from(k % 3), f64::from(k / 2), f64::from(k % 4))).collect();
        let rigid = Rigid { rotation: DQuat::from_rotation_y(0.7), translation: DVec3::new(1.0, 2.0, 3.0) };
        let truth = Similarity { rigid, scale: 2.5 };
        let to: Vec<DVec3> = from.iter().map(|&p| truth.apply(p)).collect();
        let found = Similarity::fit(&from, &to, &[1.0; 6]);
        assert!((found.scale - 2.5).abs() < 1e-9);
        assert!(from.iter().zip(&to).all(|(p, q)| found.apply(*p).distance(*q) < 1e-9));
        assert_eq!(Similarity::fit(&[], &[], &[]), Similarity::default());
        let twice = truth.after(&truth);
        for p in from {
            assert!(truth.inverse().apply(truth.apply(p)).distance(p) < 1e-12);
            assert!(twice.apply(p).distance(truth.apply(truth.apply(p))) < 1e-12);
        }
    }
}
