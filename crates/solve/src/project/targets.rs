//! Target gradients as rotation and stretch, so that several can be blended [Ichim16, sec. 3.4].
//!
//! ```text
//! F = R S,   R = exp(sum c_s log R_s),   S = I + sum c_s (S_s - I),   J = exp(sum c_s log det F_s)
//! ```
//!
//! Rotations are added as rotation vectors of at most half a turn, which is sign-consistent and gives a
//! single one back at strength 1. Stretches are added linearly. Volumes are multiplied: shapes that keep the
//! volume of a tet keep it together, which their stretches alone would not. Blends of strong shapes may have
//! a stretch that is not positive; its values are then moved above [`LEAST_STRETCH`], smoothly.

use super::elements::Aims;
use super::kernel::Number;
use glam::{DMat3, DQuat, DVec3};
use risorius_linalg::{eigen_symmetric, svd};

/// Stretches below this are raised, meters per meter.
pub const LEAST_STRETCH: f64 = 0.02;

/// Targets are at most `exp` of this times as large as at rest, and at least that part of it.
const MOST_VOLUME: f64 = 3.0;

/// Numbers of a [`Target`].
pub const N_NUMBERS: usize = 10;

/// A gradient without its identity: zero for no deformation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Target {
    /// Rotation vector.
    pub turn: DVec3,
    /// `S - I`: the diagonal, and the entries yz, xz, xy.
    pub stretch: [DVec3; 2],
    /// Logarithm of the volume ratio.
    pub log_volume: f64,
}

impl Target {
    /// The parts of a gradient. Inverted and flat ones count as nearly flat.
    pub fn of(f: DMat3) -> Self {
        let svd = svd(f);
        let rotation = DQuat::from_mat3(&(svd.u * svd.v.transpose()));
        let rotation = if rotation.w < 0.0 { -rotation } else { rotation };
        let s = svd.s.max(DVec3::splat(LEAST_STRETCH));
        let stretch = svd.v * DMat3::from_diagonal(s - DVec3::ONE) * svd.v.transpose();
        Self {
            turn: rotation.to_scaled_axis(),
            stretch: [
                DVec3::new(stretch.x_axis.x, stretch.y_axis.y, stretch.z_axis.z),
                DVec3::new(stretch.y_axis.z, stretch.x_axis.z, stretch.x_axis.y),
            ],
            log_volume: (s.x * s.y * s.z).ln(),
        }
    }

    /// As numbers that are blended linearly.
    pub fn numbers(&self) -> [f64; N_NUMBERS] {
        let ([d, o], t) = (self.stretch, self.turn);
        [t.x, t.y, t.z, d.x, d.y, d.z, o.x, o.y, o.z, self.log_volume]
    }

    /// From [`Target::numbers`].
    pub fn from_numbers(n: [f64; N_NUMBERS]) -> Self {
        Self {
            turn: DVec3::new(n[0], n[1], n[2]),
            stretch: [DVec3::new(n[3], n[4], n[5]), DVec3::new(n[6], n[7], n[8])],
            log_volume: n[9],
        }
    }

    /// The gradient, and its volume ratio.
    pub fn gradient(&self) -> (DMat3, f64) {
        let [d, o] = self.stretch;
        let d = d + DVec3::ONE;
        let stretch =
            DMat3::from_cols(DVec3::new(d.x, o.z, o.y), DVec3::new(o.z, d.y, o.x), DVec3::new(o.y, o.x, d.z));
        let rotation = DMat3::from_quat(DQuat::from_scaled_axis(self.turn));
        (rotation * positive(stretch), self.log_volume.clamp(-MOST_VOLUME, MOST_VOLUME).exp())
    }
}

/// A symmetric matrix with its small and negative eigenvalues raised.
fn positive(s: DMat3) -> DMat3 {
    // Circles around the diagonal entries contain the eigenvalues.
    let off = |a: f64, b: f64| a.abs() + b.abs();
    let least = (s.x_axis.x - off(s.x_axis.y, s.x_axis.z))
        .min(s.y_axis.y - off(s.y_axis.x, s.y_axis.z))
        .min(s.z_axis.z - off(s.z_axis.x, s.z_axis.y));
    if least >= LEAST_STRETCH {
        return s;
    }
    let (values, vectors) = eigen_symmetric(s);
    if values.min_element() >= LEAST_STRETCH {
        return s;
    }
    // A hyperbola that continues the straight line and stays above zero.
    let raised = |v: f64| if v < LEAST_STRETCH { LEAST_STRETCH / (2.0 - v / LEAST_STRETCH) } else { v };
    let raised = DVec3::new(raised(values.x), raised(values.y), raised(values.z));
    vectors * DMat3::from_diagonal(raised) * vectors.transpose()
}

impl<T: Number> Aims<T> {
    /// From lists of the numbers of targets, one list for each number.
    pub fn of_targets(lists: &[Vec<f64>]) -> Self {
        let n_tets = lists.first().map_or(0, Vec::len);
        let of = |tet: usize| {
            let numbers = std::array::from_fn(|k| lists.get(k).map_or(0.0, |list| list[tet]));
            Target::from_numbers(numbers).gradient()
        };
        Self::prepare(of, n_tets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Random;

    fn apart(a: DMat3, b: DMat3) -> f64 {
        (a - b).to_cols_array().iter().fold(0.0, |most, v| v.abs().max(most))
    }

    fn blend(parts: &[(DMat3, f64)]) -> (DMat3, f64) {
        let mut sum = [0.0; N_NUMBERS];
        for (f, c) in parts {
            sum.iter_mut().zip(Target::of(*f).numbers()).for_each(|(sum, n)| *sum += c * n);
        }
        Target::from_numbers(sum).gradient()
    }

    #[test]
    fn one_target_at_full_strength_is_itself() {
        let mut random = Random(6);
        for _ in 0..500 {
            let f = random.rotation() * (DMat3::IDENTITY + random.matrix() * 0.3);
            let (g, j) = blend(&[(f, 1.0), (random.matrix(), 0.0)]);
            assert!(apart(f, g) < 1e-12 && (j - f.determinant()).abs() < 1e-12, "{f} {g}");
        }
        assert_eq!(blend(&[]), (DMat3::IDENTITY, 1.0));
    }

    #[test]
    fn rotations_blend_to_rotations_and_volumes_multiply() {
        let mut random = Random(7);
        for _ in 0..500 {
            let [a, b] = [random.rotation(), random.rotation()];
            let (c, d) = (1.5 * random.number(), 1.5 * random.number());
            let (r, j) = blend(&[(a, c), (b, d)]);
            assert!(apart(r.transpose() * r, DMat3::IDENTITY) < 1e-13 && (j - 1.0).abs() < 1e-12);
            let stretched = |random: &mut Random| {
                let m = random.rotation() * (DMat3::IDENTITY + random.matrix() * 0.3);
                m * m.determinant().powf(-1.0 / 3.0)
            };
            let (_, j) = blend(&[(stretched(&mut random), c), (stretched(&mut random), d)]);
            assert!((j - 1.0).abs() < 1e-9, "{j}");
        }
        // Half of a quarter turn about an axis is an eighth.
        let quarter = DMat3::from_rotation_y(1.4);
        assert!(apart(blend(&[(quarter, 0.5)]).0, DMat3::from_rotation_y(0.7)) < 1e-12);
    }

    #[test]
    fn strong_blends_stay_upright() {
        let flat = DMat3::from_diagonal(DVec3::new(1.2, 0.3, 0.8));
        for c in [1.0, 1.4, 1.5, 3.0, 20.0, -8.0] {
            let (f, j) = blend(&[(flat, c)]);
            assert!(f.determinant() > 0.0 && j > 0.0 && f.is_finite(), "{c}: {f}");
        }
        let inverted = blend(&[(DMat3::from_diagonal(DVec3::new(1.0, 1.0, -0.5)), 1.0)]);
        assert!(inverted.0.determinant() > 0.0 && inverted.1 > 0.0);
    }
}
