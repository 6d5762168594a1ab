//! Smooth maps of space from point pairs: a similarity followed by a biharmonic displacement field.
//!
//! The field is `u(x) = c - sum_i w_i |x - x_i|` with `sum_i w_i = 0`, the smoothest interpolant in three
//! dimensions: `|x|` is the fundamental solution of the bi-Laplacian. It is bounded far from all points, so
//! that space beyond them (the back of a skull) is neither sheared nor displaced far. Points may be
//! interpolated softly: with `s_i` on the diagonal, `(K + diag s) w + c = d`, `K_ij = -|x_i - x_j|`. A
//! softness of a few millimeters lets the field miss a point by about a tenth of its disagreement with
//! neighbors at a centimeter.
//!
//! `K` is positive on vectors of sum 0. One Householder reflection that maps the ones to the first axis
//! leaves a positive definite system for the rest, solved by Cholesky. In: n pairs. Cost n^3 / 3 to fit, n
//! per point to apply.

use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::dense::{Cholesky, Matrix};
pub use risorius_mesh::Similarity;

/// A similarity followed by a displacement field; see the module.
#[derive(Debug, Clone, Default)]
pub struct Warp {
    /// Applied first.
    pub similarity: Similarity,
    centers: Vec<DVec3>,
    weights: Vec<DVec3>,
    constant: DVec3,
}

/// The displacement field of a warp: `c - sum_i w_i |x - x_i|`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Field {
    /// The points x_i, after the similarity.
    pub centers: Vec<DVec3>,
    /// One w_i for each.
    pub weights: Vec<DVec3>,
    /// The constant c.
    pub constant: DVec3,
}

impl Warp {
    /// The warp that maps `from[i]` near `to[i]`; larger `softness[i]` (meters) allows a larger error.
    /// Coincident points of `from` need a softness above 0.
    pub fn fit(similarity: Similarity, from: &[DVec3], to: &[DVec3], softness: &[f64]) -> Self {
        let centers: Vec<DVec3> = from.iter().map(|&p| similarity.apply(p)).collect();
        let wanted: Vec<DVec3> = centers.iter().zip(to).map(|(p, q)| *q - *p).collect();
        let n = centers.len();
        if n < 2 {
            let constant = wanted.first().copied().unwrap_or(DVec3::ZERO);
            return Self { similarity, constant, ..Self::default() };
        }
        match solve(&centers, &wanted, softness) {
            Some((weights, constant)) => Self { similarity, centers, weights, constant },
            None => Self { similarity, constant: wanted.iter().sum::<DVec3>() / n as f64, ..Self::default() },
        }
    }

    /// The warp with this field; `None` unless the numbers of weights and centers are equal.
    pub fn from_field(similarity: Similarity, field: Field) -> Option<Self> {
        let Field { centers, weights, constant } = field;
        (centers.len() == weights.len()).then_some(Self { similarity, centers, weights, constant })
    }

    /// A copy of the displacement field, to be stored.
    pub fn field(&self) -> Field {
        Field { centers: self.centers.clone(), weights: self.weights.clone(), constant: self.constant }
    }

    /// The image of a point.
    pub fn apply(&self, p: DVec3) -> DVec3 {
        let p = self.similarity.apply(p);
        let field = self.centers.iter().zip(&self.weights).map(|(c, w)| *w * p.distance(*c)).sum::<DVec3>();
        p + self.constant - field
    }

    /// The images of points.
    pub(crate) fn apply_all(&self, points: &[DVec3]) -> Vec<DVec3> {
        points.par_iter().map(|&p| self.apply(p)).collect()
    }
}

/// Weights and constant of the field; `None` when the system is singular.
fn solve(centers: &[DVec3], wanted: &[DVec3], softness: &[f64]) -> Option<(Vec<DVec3>, DVec3)> {
    let n = centers.len();
    let kernel = |i: usize, j: usize| if i == j { softness[i] } else { -centers[i].distance(centers[j]) };
    // Householder vector that maps the ones to the first axis.
    let norm = (n as f64).sqrt();
    let v: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 + norm } else { 1.0 }).collect();
    let tau = 2.0 / v.iter().map(|x| x * x).sum::<f64>();
    // H K H = K - v q^T - q v^T with q = tau K v - (tau^2 / 2) (v^T K v) v.
    let kv: Vec<f64> = (0..n).into_par_iter().map(|i| (0..n).map(|j| kernel(i, j) * v[j]).sum()).collect();
    let vkv: f64 = kv.iter().zip(&v).map(|(a, b)| a * b).sum();
    let q: Vec<f64> = kv.iter().zip(&v).map(|(k, x)| tau * k - 0.5 * tau * tau * vkv * x).collect();
    let mut reduced = Matrix::zeros(n - 1, n - 1);
    for j in 1..n {
        for (i, entry) in (1..n).zip(reduced.column_mut(j - 1)) {
            *entry = kernel(i, j) - v[i] * q[j] - q[i] * v[j];
        }
    }
    let factor = Cholesky::factor(reduced).ok()?;
    let reflect = |x: &mut [f64]| {
        let along = tau * x.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>();
        x.iter_mut().zip(&v).for_each(|(a, b)| *a -= along * b);
    };
    let mut weights = vec![DVec3::ZERO; n];
    let mut constant = DVec3::ZERO;
    for axis in 0..3 {
        let mut d: Vec<f64> = wanted.iter().map(|w| w[axis]).collect();
        reflect(&mut d);
        factor.solve_in_place(&mut d[1..]);
        d[0] = 0.0;
        reflect(&mut d);
        let left: f64 =
            (0..n).map(|i| wanted[i][axis] - (0..n).map(|j| kernel(i, j) * d[j]).sum::<f64>()).sum();
        constant[axis] = left / n as f64;
        weights.iter_mut().zip(&d).for_each(|(w, x)| w[axis] = *x);
    }
    weights.iter().all(|w| w.is_finite()).then_some((weights, constant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use risorius_base::Rigid;

    fn cloud(n: usize) -> Vec<DVec3> {
        let at = |i: usize, k: f64| (i as f64 * k).sin() * 0.1;
        (0..n).map(|i| DVec3::new(at(i, 1.7), at(i, 2.3), at(i, 3.1))).collect()
    }

    #[test]
    fn similarity_is_found() {
        let rigid = Rigid { rotation: DQuat::from_rotation_y(0.8), translation: DVec3::new(0.3, -1.0, 2.0) };
        let truth = Similarity { rigid, scale: 1.3 };
        let from = cloud(12);
        let to: Vec<DVec3> = from.iter().map(|&p| truth.apply(p)).collect();
        let found = Similarity::fit(&from, &to, &[1.0; 12]);
        for (&p, &q) in from.iter().zip(&to) {
            assert!(found.apply(p).distance(q) < 1e-12);
        }
    }

    #[test]
    fn hard_points_are_met_and_soft_ones_are_smoothed() {
        let from = cloud(60);
        let to: Vec<DVec3> = from
            .iter()
            .enumerate()
            .map(|(i, p)| *p + DVec3::new(0.01 * (i as f64).cos(), 0.002, 0.3 * p.x * p.y))
            .collect();
        let hard = Warp::fit(Similarity::default(), &from, &to, &[0.0; 60]);
        let soft = Warp::fit(Similarity::default(), &from, &to, &[0.5; 60]);
        let miss = |w: &Warp| from.iter().zip(&to).map(|(&p, &q)| w.apply(p).distance(q)).fold(0.0, f64::max);
        assert!(miss(&hard) < 1e-9, "{}", miss(&hard));
        assert!(miss(&soft) > 1e-3 && miss(&soft) < 0.011, "{}", miss(&soft));
    }

    #[test]
    fn a_translation_stays_one_everywhere_and_the_far_field_is_bounded() {
        let from = cloud(20);
        let to: Vec<DVec3> = from.iter().map(|p| *p + DVec3::new(0.1, 0.2, 0.3)).collect();
        let warp = Warp::fit(Similarity::default(), &from, &to, &[0.0; 20]);
        let far = DVec3::new(5.0, -3.0, 7.0);
        assert!(warp.apply(far).distance(far + DVec3::new(0.1, 0.2, 0.3)) < 1e-9);
        let bent: Vec<DVec3> = from.iter().map(|p| *p + DVec3::new(0.0, p.x, 0.0)).collect();
        let warp = Warp::fit(Similarity::default(), &from, &bent, &[0.0; 20]);
        assert!(warp.apply(far).distance(far) < 1.0);
        assert!(warp.apply(far * 1000.0).distance(far * 1000.0) < 1.0);
    }
}
