//! Finds skin on the inside (the lining of mouth, nostrils and lids) by its visibility in the neutral.
//!
//! The neutral is rendered from many directions; a vertex is visible from those on its front side if no
//! triangle is nearer. Skin that is hardly visible at rest is lining. It is drawn darker and redder, like
//! mucous membrane, and stays so when a jaw opens, because screen-space cavities alone leave a wide open
//! mouth too bright. In: the neutral in face space, its normals and triangles. Out: 0 (outside) to 1 (inside)
//! per vertex.

use crate::raster::{Corner, Screen, TILE};
use glam::{Vec2, Vec3};
use risorius_base::ease::smoothstep;

/// Number of view directions, pixels per side of each map, half of its extent, and the depth tolerance.
const DIRECTIONS: usize = 28;
const SIDE: usize = 256;
const REACH: f32 = 2.0;
const SLACK: f32 = 0.035;
/// Visible fraction above which skin is outside.
const OUTSIDE: f32 = 0.14;
/// Keeps depths positive.
const FAR: f32 = 64.0;

/// How far inside each vertex lies, 0 to 1.
pub(crate) fn inside(rest: &[Vec3], normals: &[[f32; 3]], triangles: &[[u32; 3]]) -> Vec<f32> {
    let (mut seen, mut possible) = (vec![0.0f32; rest.len()], vec![0.0f32; rest.len()]);
    for i in 0..DIRECTIONS {
        let towards = direction(i);
        let right = if towards.y.abs() < 0.9 { Vec3::Y } else { Vec3::X }.cross(towards).normalize();
        let up = towards.cross(right);
        let place = |p: Vec3| {
            let pixel = (Vec2::new(p.dot(right), -p.dot(up)) / REACH + 1.0) * (0.5 * SIDE as f32);
            (pixel, p.dot(towards) + FAR)
        };
        let corners: Vec<Corner> =
            rest.iter().map(|&p| place(p)).map(|(pixel, depth)| Corner::new(pixel, depth)).collect();
        let depths = depth_map(&corners, triangles, SIDE);
        for (v, (&p, &n)) in rest.iter().zip(normals).enumerate() {
            let facing = Vec3::from(n).dot(towards);
            if facing < 0.15 || !p.is_finite() {
                continue;
            }
            let (pixel, depth) = place(p);
            let on_map = pixel.x >= 0.0 && pixel.y >= 0.0 && pixel.x < SIDE as f32 && pixel.y < SIDE as f32;
            let nearest = if on_map { depths[pixel.y as usize * SIDE + pixel.x as usize] } else { 0.0 };
            possible[v] += facing;
            if nearest <= depth + SLACK {
                seen[v] += facing;
            }
        }
    }
    (seen.iter().zip(possible))
        .map(|(&seen, possible)| {
            let share = if possible > 0.0 { seen / possible } else { 1.0 };
            smoothstep(1.0 - (share / OUTSIDE).min(1.0))
        })
        .collect()
}

/// Evenly distributed directions (a Fibonacci sphere).
fn direction(i: usize) -> Vec3 {
    let y = 1.0 - 2.0 * (i as f32 + 0.5) / DIRECTIONS as f32;
    let around = i as f32 * 2.399_963;
    let radius = (1.0 - y * y).sqrt();
    Vec3::new(radius * around.cos(), y, radius * around.sin())
}

/// Depth of the nearest triangle at each pixel of a square map, 0 where there is none.
pub(crate) fn depth_map(corners: &[Corner], triangles: &[[u32; 3]], side: usize) -> Vec<f32> {
    let screen = Screen::new(side, side, corners, triangles);
    let mut depths = vec![0.0; side * side];
    for (x, y, tile) in screen.map_tiles::<1, _>(|tile| (tile.x, tile.y, tile.nearness.clone())) {
        for (row, values) in tile.chunks(TILE).enumerate() {
            let first = (y + row) * side + x;
            depths[first..first + TILE].copy_from_slice(values);
        }
    }
    depths
}
