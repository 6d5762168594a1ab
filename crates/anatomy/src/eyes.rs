//! Eyeballs: spheres fitted to their vertices.

use crate::pieces::{PieceKind, Pieces};
use glam::{DMat4, DVec3, DVec4};

/// An eyeball at rest, in meters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eye {
    /// Center of the sphere.
    pub center: DVec3,
    /// Its radius.
    pub radius: f64,
    /// Root mean square distance of the vertices from the sphere; 0 when the eye was not measured.
    pub residual: f64,
}

/// The left and right eyeball of a rig, where it has them.
pub fn fit_eyes(pieces: &Pieces) -> [Option<Eye>; 2] {
    [PieceKind::EyeLeft, PieceKind::EyeRight].map(|kind| {
        let points: Vec<DVec3> = pieces.vertices(kind).iter().map(|&v| pieces.positions[v as usize]).collect();
        fit_eye(&points)
    })
}

/// The sphere through `points` in least squares, fitted a second time without the cornea's bulge and inner parts.
pub fn fit_eye(points: &[DVec3]) -> Option<Eye> {
    let first = fit_sphere(points)?;
    let near: Vec<DVec3> =
        points.iter().copied().filter(|p| (p.distance(first.center) / first.radius - 1.0).abs() < 0.08).collect();
    if 2 * near.len() < points.len() { Some(first) } else { fit_sphere(&near).or(Some(first)) }
}

/// The center and radius for which |p|^2 - 2 c.p + (|c|^2 - r^2) is smallest in squares.
fn fit_sphere(points: &[DVec3]) -> Option<Eye> {
    if points.len() < 8 {
        return None;
    }
    let mean = points.iter().sum::<DVec3>() / points.len() as f64;
    let size = points.iter().map(|p| p.distance(mean)).fold(0.0, f64::max);
    let (mut normal, mut right) = (DMat4::ZERO, DVec4::ZERO);
    for p in points {
        let row = ((*p - mean) / size).extend(1.0);
        normal += DMat4::from_cols(row * row.x, row * row.y, row * row.z, row);
        right -= row * row.truncate().length_squared();
    }
    let solved = normal.inverse() * right;
    let center = -0.5 * solved.truncate();
    let radius = (center.length_squared() - solved.w).sqrt() * size;
    let center = mean + center * size;
    if !center.is_finite() || !radius.is_finite() || radius <= 0.0 {
        return None;
    }
    let squares = points.iter().map(|p| (p.distance(center) - radius).powi(2)).sum::<f64>();
    Some(Eye { center, radius, residual: (squares / points.len() as f64).sqrt() })
}
