//! Soft pulls at landmarks: each moves the skin around it by a bell of the distance along the skin.
//!
//! Pulls of one list blend: where bells overlap, the move is their weighted mean times one minus the product of what
//! each leaves out, so that a row of pulls along a brow moves it as one piece.

use super::ground::{Field, Ground, bell, ramp};
use glam::DVec3;

/// A pull at a landmark of the left or the middle; on the left it stands for both sides.
#[derive(Debug, Clone, Copy)]
pub struct Pull {
    /// Landmark.
    pub mark: &'static str,
    /// x away from the middle, y up, z forward; mm.
    pub by: [f64; 3],
    /// Distance along the skin at which nothing moves any more, mm.
    pub reach: f64,
}

/// Shorthand for tables.
pub const fn pull(mark: &'static str, by: [f64; 3], reach: f64) -> Pull {
    Pull { mark, by, reach }
}

/// What some pulls do together.
pub fn pulled(ground: &Ground, pulls: &[Pull]) -> Field {
    let mut sum = ground.still();
    let (mut total, mut left_out) = (vec![0.0; ground.n_skin], vec![1.0; ground.n_skin]);
    for pull in pulls {
        let by = DVec3::from(pull.by);
        let mut add = |vertex: u32, by: DVec3| {
            let distance = ground.distances(&[vertex], pull.reach);
            for v in (0..ground.n_skin).filter(|&v| distance[v] < pull.reach) {
                let weight = bell(distance[v], pull.reach);
                sum[v] += weight * by;
                total[v] += weight;
                left_out[v] *= 1.0 - weight;
            }
        };
        let vertex = ground.mark(pull.mark);
        add(vertex, by);
        if pull.mark.contains("left") {
            add(ground.mirror[vertex as usize], DVec3::new(-by.x, by.y, by.z));
        }
    }
    for v in (0..ground.n_skin).filter(|&v| total[v] > 0.0) {
        sum[v] *= (1.0 - left_out[v]) / total[v];
    }
    sum
}

/// Multiplies a field on the skin.
pub fn masked(field: &mut Field, mask: impl Fn(usize) -> f64, n_skin: usize) {
    (0..n_skin).for_each(|v| field[v] *= mask(v));
}

/// The left half of a symmetric field; with its mirror image it adds up to the whole. The middle `width` mm blend.
pub fn left_half(ground: &Ground, field: &Field, width: f64) -> Field {
    let half = |(d, p): (&DVec3, &DVec3)| *d * ramp(p.x, -0.5 * width, 0.5 * width);
    field.iter().zip(&ground.points).map(half).collect()
}

/// Adds `amount` times `other` to `field`.
pub fn add(field: &mut Field, amount: f64, other: &Field) {
    field.iter_mut().zip(other).for_each(|(a, b)| *a += amount * *b);
}
