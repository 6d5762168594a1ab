//! Correction of slightly tilted or turned heads: the symmetry plane of the face.
//!
//! Iteratively, points of the face are reflected in the plane, their closest points on the skin are found,
//! and the plane is refitted to the pairs. With `A` the sum of `p c^T + c p^T` over centered pairs, the
//! normal that minimizes the squared distances is the eigenvector of `A` with the least eigenvalue.

use super::front::Front;
use crate::pieces::Pieces;
use glam::{DMat3, DQuat, DVec3};

/// Pairs farther apart than this are ignored (meters).
const REACH: f64 = 0.008;
/// Larger rotations (radians) are rejected: the face is then not symmetric.
const MOST: f64 = 0.35;

/// The rotation that maps the plane's normal to +X; identity when most of the face has no mirror image.
pub fn upright(pieces: &Pieces, front: &Front, middle: f64) -> DQuat {
    let points: Vec<DVec3> = pieces.face.iter().map(|&v| pieces.positions[v as usize]).collect();
    let points: Vec<DVec3> = points.iter().step_by((points.len() / 800).max(1)).copied().collect();
    let (mut normal, mut on_plane) = (DVec3::X, DVec3::new(middle, 0.0, 0.0));
    if let Some(first) = points.first() {
        on_plane = first.with_x(middle);
    }
    for _ in 0..25 {
        let pairs: Vec<(DVec3, DVec3)> = points
            .iter()
            .filter_map(|&p| {
                let mirrored = p - 2.0 * normal * (p - on_plane).dot(normal);
                let c = front.closest(mirrored)?.point;
                (c.distance(mirrored) < REACH).then_some((p, c))
            })
            .collect();
        if 2 * pairs.len() < points.len() {
            return DQuat::IDENTITY;
        }
        let n = pairs.len() as f64;
        let mean = |f: fn(&(DVec3, DVec3)) -> DVec3| pairs.iter().map(f).sum::<DVec3>() / n;
        let (a, b) = (mean(|p| p.0), mean(|p| p.1));
        let mut sum = DMat3::ZERO;
        for (p, c) in &pairs {
            let (p, c) = (*p - a, *c - b);
            sum += DMat3::from_cols(p * c.x + c * p.x, p * c.y + c * p.y, p * c.z + c * p.z);
        }
        let next = least_eigenvector(sum, normal);
        let next = if next.dot(normal) < 0.0 { -next } else { next };
        let change = next.distance(normal);
        (normal, on_plane) = (next, (a + b) / 2.0);
        if change < 1e-6 {
            break;
        }
    }
    let turn = DQuat::from_rotation_arc(normal, DVec3::X);
    if turn.to_axis_angle().1.abs() < MOST { turn } else { DQuat::IDENTITY }
}

/// By power iteration on `bound * I - a`.
fn least_eigenvector(a: DMat3, start: DVec3) -> DVec3 {
    let bound = (0..3).map(|k| a.col(k).abs().element_sum()).fold(0.0, f64::max);
    let shifted = DMat3::from_diagonal(DVec3::splat(bound)) - a;
    (0..60).fold(start, |v, _| (shifted * v).normalize_or(start))
}
