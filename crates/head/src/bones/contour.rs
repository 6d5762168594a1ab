//! Triangulation of a sculpt: one half by marching tetrahedra, the other half as its mirror image.
//!
//! The half space x >= 0 is divided into cubes, each cube into six tetrahedra around its diagonal. The
//! surface crosses a tet in zero, one or two triangles for any values, so that it is always a manifold
//! (unlike with marching cubes). Its border lies exactly in the grid plane x = 0 and is welded to its mirror
//! image. The parity of the tet determines the outward winding. In: a sculpt, its bounds, the grid step (mm).
//! Out: the half surface, border vertices at x = 0. Cost: distances at the grid points near the surface;
//! blocks of 4 x 4 x 4 cells whose center is far from it are skipped.

use super::implicit::Sculpt;
use glam::{DVec3, IVec3};
use rayon::prelude::*;
use risorius_mesh::TriMesh;
use std::collections::HashMap;

/// Cells along a block.
const BLOCK: i32 = 4;

/// The part of the surface of `sculpt` at x >= 0 inside `low..high` (millimeters; `low.x` is taken as 0).
pub(crate) fn half_surface(sculpt: &Sculpt, low: DVec3, high: DVec3, step: f64) -> TriMesh {
    let low = DVec3::new(0.0, low.y, low.z);
    let blocks = ((high - low) / (step * f64::from(BLOCK))).ceil().as_ivec3();
    let at = |p: IVec3| low + p.as_dvec3() * step;
    let all: Vec<IVec3> = (0..blocks.x * blocks.y * blocks.z)
        .map(|i| IVec3::new(i % blocks.x, i / blocks.x % blocks.y, i / (blocks.x * blocks.y)) * BLOCK)
        .collect();
    // Twice the block's half diagonal, since the values are only approximate distances.
    let reach = f64::from(BLOCK) * step * 3f64.sqrt();
    let pieces: Vec<Vec<[Crossing; 3]>> = all
        .par_iter()
        .map(|&block| {
            let middle = at(block) + DVec3::splat(0.5 * f64::from(BLOCK) * step);
            if sculpt.distance(middle).abs() > reach {
                return Vec::new();
            }
            march_block(&sculpt.near(middle, 0.5 * reach), block, &at)
        })
        .collect();
    weld(pieces.into_iter().flatten())
}

/// A point where the surface crosses a grid edge.
#[derive(Clone, Copy)]
struct Crossing {
    /// The ends of the edge, lower first.
    edge: [IVec3; 2],
    position: DVec3,
}

fn weld(triangles: impl Iterator<Item = [Crossing; 3]>) -> TriMesh {
    let mut surface = TriMesh::default();
    let mut vertex_of: HashMap<[IVec3; 2], u32> = HashMap::new();
    for triangle in triangles {
        let corners = triangle.map(|c| {
            *vertex_of.entry(c.edge).or_insert_with(|| {
                surface.positions.push(c.position);
                surface.positions.len() as u32 - 1
            })
        });
        surface.triangles.push(corners);
    }
    surface
}

fn march_block(sculpt: &Sculpt, block: IVec3, at: &impl Fn(IVec3) -> DVec3) -> Vec<[Crossing; 3]> {
    let n = BLOCK + 1;
    let values: Vec<f64> = (0..n * n * n)
        .map(|i| sculpt.distance(at(block + IVec3::new(i % n, i / n % n, i / (n * n)))))
        .collect();
    let value = |p: IVec3| {
        let q = p - block;
        values[(q.x + n * (q.y + n * q.z)) as usize]
    };
    let mut out = Vec::new();
    for i in 0..BLOCK * BLOCK * BLOCK {
        let cell = block + IVec3::new(i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK));
        for (order, even) in AXIS_ORDERS {
            let axes = order.map(|k| IVec3::AXES[k]);
            let mut corners = [cell, cell + axes[0], cell + axes[0] + axes[1], cell + IVec3::ONE];
            if !even {
                corners.swap(2, 3);
            }
            march_tet(corners, &value, at, &mut out);
        }
    }
    out
}

/// The six axis-aligned paths from a cube's lowest corner to its highest, and whether the resulting tet is
/// positively oriented.
const AXIS_ORDERS: [([usize; 3], bool); 6] = [
    ([0, 1, 2], true),
    ([1, 2, 0], true),
    ([2, 0, 1], true),
    ([0, 2, 1], false),
    ([2, 1, 0], false),
    ([1, 0, 2], false),
];

/// Triangles of the surface inside a positively oriented tet.
fn march_tet(
    tet: [IVec3; 4],
    value: &impl Fn(IVec3) -> f64,
    at: &impl Fn(IVec3) -> DVec3,
    out: &mut Vec<[Crossing; 3]>,
) {
    let inside = tet.map(|p| value(p) < 0.0);
    let n_inside = inside.iter().filter(|&&i| i).count();
    if n_inside == 0 || n_inside == 4 {
        return;
    }
    let cross = |i: usize, j: usize| {
        let edge = if tet[i].to_array() < tet[j].to_array() { [tet[i], tet[j]] } else { [tet[j], tet[i]] };
        let (a, b) = (value(edge[0]), value(edge[1]));
        // Kept away from the ends, so that no triangle is degenerate.
        let t = (a / (a - b)).clamp(0.1, 0.9);
        Crossing { edge, position: at(edge[0]).lerp(at(edge[1]), t) }
    };
    if n_inside == 2 {
        let pair: Vec<usize> = (0..4).filter(|&i| inside[i]).collect();
        let [a, b] = [pair[0], pair[1]];
        let [c, d] = rest_even(a, b);
        let quad = [cross(a, c), cross(a, d), cross(b, d), cross(b, c)];
        out.push([quad[0], quad[1], quad[2]]);
        out.push([quad[0], quad[2], quad[3]]);
        return;
    }
    let lone = (0..4).find(|&i| inside[i] == (n_inside == 1)).unwrap_or(0);
    let [b, c, d] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]][lone];
    let [b, c, d] = if n_inside == 1 { [b, c, d] } else { [b, d, c] };
    out.push([cross(lone, b), cross(lone, c), cross(lone, d)]);
}

/// The other two corners in the order that makes (a, b, them) an even permutation; a < b.
fn rest_even(a: usize, b: usize) -> [usize; 2] {
    match (a, b) {
        (0, 1) => [2, 3],
        (0, 2) => [3, 1],
        (0, 3) => [1, 2],
        (1, 2) => [0, 3],
        (1, 3) => [2, 0],
        _ => [0, 1],
    }
}

/// The half surface and its mirror image, welded at x = 0.
pub(crate) fn mirrored(half: &TriMesh) -> TriMesh {
    let mut whole = half.clone();
    let image: Vec<u32> = half
        .positions
        .iter()
        .enumerate()
        .map(|(v, p)| {
            if p.x == 0.0 {
                return v as u32;
            }
            whole.positions.push(DVec3::new(-p.x, p.y, p.z));
            whole.positions.len() as u32 - 1
        })
        .collect();
    whole.triangles.extend(half.triangles.iter().map(|&[a, b, c]| [a, c, b].map(|v| image[v as usize])));
    whole
}

#[cfg(test)]
mod tests {
    use super::super::implicit::ellipsoid;
    use super::*;
    use risorius_mesh::{Edges, Polygons};

    #[test]
    fn a_ball_is_closed_and_has_its_volume() {
        let mut sculpt = Sculpt::default();
        sculpt.add(0.0, ellipsoid([0.0; 3], [20.0; 3]));
        let ball = mirrored(&half_surface(&sculpt, DVec3::splat(-25.0), DVec3::splat(25.0), 2.0));
        let edges = Edges::of(&Polygons::from_triangles(&ball.triangles));
        assert!(
            edges.boundary().is_empty() && edges.non_manifold().is_empty() && edges.inconsistent().is_empty()
        );
        let truth = 4.0 / 3.0 * std::f64::consts::PI * 8000.0;
        assert!((ball.volume() / truth - 1.0).abs() < 0.02, "{}", ball.volume() / truth);
    }
}
