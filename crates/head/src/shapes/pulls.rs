//! Soft pulls at landmarks: each moves the skin around it, weighted by a bell function of the distance.
//!
//! Bells use distances in space (distances along edges are not smooth and would show as ridges), but reach
//! only vertices that are also near along the skin. Pulls of one list blend: where bells overlap, the
//! displacement is their weighted mean times one minus the product of the complements of their weights. So a
//! row of pulls along a brow moves it as one piece.

use super::ground::{Field, Ground, bell};
use glam::DVec3;
use risorius_base::ease::ramp;
use risorius_mesh::Bvh;

/// Largest distance along the skin, relative to the reach of a pull.
const DETOUR: f64 = 1.6;

/// A pull at a landmark on the left or on the midline; a left pull is applied to both sides.
#[derive(Debug, Clone, Copy)]
pub struct Pull {
    /// Landmark.
    pub mark: &'static str,
    /// x away from the middle, y up, z forward; mm.
    pub by: [f64; 3],
    /// Distance at which the displacement reaches zero, mm.
    pub reach: f64,
}

/// Shorthand for tables.
pub const fn pull(mark: &'static str, by: [f64; 3], reach: f64) -> Pull {
    Pull { mark, by, reach }
}

/// The combined displacement of some pulls.
pub fn pulled(ground: &Ground, pulls: &[Pull]) -> Field {
    let mut sum = ground.still();
    let socket = ground.marked(&["eye_socket_left", "eye_socket_right"]);
    let (mut total, mut left_out) = (vec![0.0; ground.n_skin], vec![1.0; ground.n_skin]);
    for pull in pulls {
        let by = DVec3::from(pull.by);
        let mut add = |vertex: u32, by: DVec3| {
            let along_skin = ground.distances(&[vertex], DETOUR * pull.reach);
            let center = ground.points[vertex as usize];
            for v in (0..ground.n_skin).filter(|&v| along_skin[v].is_finite() && !socket[v]) {
                let near = 1.0 - ramp(along_skin[v], 0.5 * (1.0 + DETOUR) * pull.reach, DETOUR * pull.reach);
                let weight = near * bell(ground.points[v].distance(center), pull.reach);
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

/// Multiplies a field on the skin by a mask.
pub(crate) fn masked(field: &mut Field, mask: impl Fn(usize) -> f64, n_skin: usize) {
    (0..n_skin).for_each(|v| field[v] *= mask(v));
}

/// The left half of a symmetric field; with its mirror image it adds up to the whole. The halves blend over
/// `width` mm across the midline.
pub(crate) fn left_half(ground: &Ground, field: &Field, width: f64) -> Field {
    let half = |(d, p): (&DVec3, &DVec3)| *d * ramp(p.x, -0.5 * width, 0.5 * width);
    field.iter().zip(&ground.points).map(half).collect()
}

/// Adds `amount` times `other` to `field`.
pub fn add(field: &mut Field, amount: f64, other: &Field) {
    field.iter_mut().zip(other).for_each(|(a, b)| *a += amount * *b);
}

/// Lets moved skin of some regions slide over the tissue beneath: it is projected onto the neutral surface by
/// `amount` (0 not at all, 1 fully).
pub fn slide(ground: &Ground, field: &mut Field, regions: &[&str], amount: f64) {
    let within = ground.marked(regions);
    let triangles: Vec<[u32; 3]> =
        ground.triangles.iter().filter(|t| t.iter().all(|&v| within[v as usize])).copied().collect();
    let flat: Vec<[f32; 3]> = ground.points[..ground.n_skin].iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::build(&flat, &triangles);
    let mut onto = vec![DVec3::ZERO; ground.n_skin];
    for v in (0..ground.n_skin).filter(|&v| within[v] && field[v] != DVec3::ZERO) {
        let there = ground.points[v] + field[v];
        onto[v] = tree.closest_point(there, 12.0).map_or(DVec3::ZERO, |near| near.point - there);
    }
    // Smooth across the border of the regions.
    for _ in 0..6 {
        let mean = |v: usize| {
            let near = &ground.edges[v];
            near.iter().map(|&(w, _)| onto[w as usize]).sum::<DVec3>() / near.len().max(1) as f64
        };
        onto = (0..ground.n_skin).map(|v| 0.5 * (onto[v] + mean(v))).collect();
    }
    let moving: Vec<bool> = field.iter().map(|d| *d != DVec3::ZERO).collect();
    (0..ground.n_skin).filter(|&v| moving[v]).for_each(|v| field[v] += amount * onto[v]);
}
