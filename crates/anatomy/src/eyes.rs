//! Eyeballs as spheres, fitted robustly to their vertices.
//!
//! Iteratively reweighted algebraic least squares: points far from the last sphere (cornea, inner parts) get
//! little weight.

use crate::pieces::{PieceKind, Pieces};
use glam::{DMat4, DVec3, DVec4};

/// An eyeball at rest, in meters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eye {
    /// Center of the sphere.
    pub center: DVec3,
    /// Its radius.
    pub radius: f64,
    /// Weighted root mean square distance of the vertices from the sphere; 0 when the eye was not fitted.
    pub residual: f64,
}

/// The left and right eyeball of a rig, where it has them.
pub(crate) fn fit_eyes(pieces: &Pieces) -> [Option<Eye>; 2] {
    [PieceKind::EyeLeft, PieceKind::EyeRight].map(|kind| {
        let points: Vec<DVec3> =
            pieces.vertices(kind).iter().map(|&v| pieces.positions[v as usize]).collect();
        fit_eye(&points)
    })
}

/// Rounds of fitting; each weights points by their distance from the last sphere.
const ROUNDS: usize = 12;
/// Distance from the sphere, in radii, at which the weight of a point is one half.
const TRUST: f64 = 0.02;

/// The sphere that most of `points` lie on; the cornea's bulge and inner parts have little weight.
pub fn fit_eye(points: &[DVec3]) -> Option<Eye> {
    let mut eye = fit_sphere(points, &vec![1.0; points.len()])?;
    for _ in 0..ROUNDS {
        let weight = |p: &DVec3| 1.0 / (1.0 + ((p.distance(eye.center) / eye.radius - 1.0) / TRUST).powi(2));
        let weights: Vec<f64> = points.iter().map(weight).collect();
        eye = fit_sphere(points, &weights)?;
    }
    Some(eye)
}

/// The center and radius that minimize the weighted squares of |p|^2 - 2 c.p + (|c|^2 - r^2).
fn fit_sphere(points: &[DVec3], weights: &[f64]) -> Option<Eye> {
    let total: f64 = weights.iter().sum();
    if points.len() < 8 || total <= 0.0 {
        return None;
    }
    let mean = points.iter().zip(weights).map(|(p, w)| *p * *w).sum::<DVec3>() / total;
    let size = points.iter().map(|p| p.distance(mean)).fold(0.0, f64::max);
    let (mut normal, mut right) = (DMat4::ZERO, DVec4::ZERO);
    for (p, w) in points.iter().zip(weights) {
        let row = ((*p - mean) / size).extend(1.0);
        normal += DMat4::from_cols(row * row.x, row * row.y, row * row.z, row) * *w;
        right -= row * (row.truncate().length_squared() * w);
    }
    let solved = normal.inverse() * right;
    let center = -0.5 * solved.truncate();
    let radius = (center.length_squared() - solved.w).sqrt() * size;
    let center = mean + center * size;
    if !center.is_finite() || !radius.is_finite() || radius <= 0.0 {
        return None;
    }
    let squares: f64 =
        points.iter().zip(weights).map(|(p, w)| w * (p.distance(center) - radius).powi(2)).sum();
    Some(Eye { center, radius, residual: (squares / total).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_of_an_eyeball_gives_its_center_in_spite_of_the_cornea() {
        let (center, radius) = (DVec3::new(0.03, 1.6, 0.1), 0.012);
        let mut points = Vec::new();
        for i in 0..40 {
            for j in 0..12 {
                let (a, b) = (i as f64 * std::f64::consts::TAU / 40.0, j as f64 * 0.13);
                let bulge = if b < 0.3 { 1.09 } else { 1.0 };
                let d = DVec3::new(a.cos() * b.sin(), a.sin() * b.sin(), b.cos());
                points.push(center + d * radius * bulge);
            }
        }
        let eye = fit_eye(&points).unwrap();
        assert!(eye.center.distance(center) < 5e-4, "{:?}", eye.center - center);
        assert!((eye.radius - radius).abs() < 5e-4);
        assert_eq!(fit_eye(&points[..5]), None);
        assert_eq!(fit_eye(&[DVec3::ONE; 20]), None);
    }
}
