//! A surface that is bent onto targets: planes, landmarks and a prior pull, the surface resists stretch and
//! bending.
//!
//! ```text
//! E(x) = sum_v w_v (n_v . (x_v - q_v))^2                  planes            [Ichim16, E_planeDist]
//!      + sum_l w_l |sum_k b_lk x_lk - p_l|^2              landmarks         [Ichim16, E_attach]
//!      + s^2 sum_e c_e |x_i - x_j - R_e (r_i - r_j)|^2    stretch           [Sorkine07, as rigid as possible]
//!      + b^4 sum_h 3/A_h |k_h . x - R_h k_h . r|^2        bending           [Bergou06, quadratic hinges]
//!      + sum_v a_v g_v |x_v - m_v|^2                      prior             [Ichim16, E_faceDist]
//!      + sum_p |x_i - x_j - R_p (r_i - r_j)|^2            slits             (pairs that touch at rest)
//! ```
//!
//! Weights `w_v` that are areas make the other weights lengths: a surface follows targets down to features of
//! about s or b, and ripples of a wavelength below 6 b are smoothed away. Rotations R are those of the
//! one-ring of each vertex from rest to the current state; they and the targets are found anew for every
//! solve. The matrix changes with the normals, so each solve factors it again on a kept symbolic factor. The
//! paper solves the like on tets; here the unknowns are the skin's vertices, and the volume follows later.

use crate::FitError;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_linalg::sparse::block_index;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NO_NODE, NodeGraph, Pattern, SparseCholesky, Stencil, svd,
};
use risorius_mesh::surface::tri_mesh::sum_at_corners;
use risorius_mesh::{Edges, Polygons, TriMesh};
use std::sync::Arc;

/// Cotangents are limited to this, so that slivers do not dominate.
const LARGEST_COTANGENT: f64 = 4.0;

/// How strongly sides of a slit are held together, square meters.
const STITCH: f64 = 2e-5;

/// Excess of a slit's width at which its sides count a quarter, meters.
const TORN: f64 = 2e-3;

/// A pull of a vertex to a plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane {
    /// The vertex.
    pub vertex: u32,
    /// A point of the plane.
    pub point: DVec3,
    /// Its unit normal.
    pub normal: DVec3,
    /// Weight in square meters.
    pub weight: f64,
    /// Part of the weight that also holds the point along the plane.
    pub along: f64,
}

/// A pull of a point of the surface to a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anchor {
    /// The corners of its triangle.
    pub corners: [u32; 3],
    /// Their weights.
    pub barycentric: [f64; 3],
    /// The place.
    pub place: DVec3,
    /// Weight in square meters.
    pub weight: f64,
}

/// How much the surface resists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stiffness {
    /// Length s over which stretch is spread, meters.
    pub stretch: f64,
    /// Length b over which bending is spread, meters.
    pub bend: f64,
}

/// A pair of triangles with a common edge.
struct Hinge {
    /// The edge, then the two opposite corners.
    vertices: [u32; 4],
    /// Coefficients of the bending.
    k: [f64; 4],
    /// `3 / (sum of the areas)`.
    factor: f64,
}

/// A surface prepared for [`Sheet::solve`].
pub struct Sheet {
    /// The rest state.
    pub rest: Vec<DVec3>,
    /// Area of each vertex at rest.
    pub areas: Vec<f64>,
    edges: Vec<([u32; 2], f64)>,
    /// Pairs of vertices across slits.
    stitches: Vec<[u32; 2]>,
    hinges: Vec<Hinge>,
    /// The edges at each vertex.
    ring: Vec<Vec<u32>>,
    pattern: Arc<Pattern<3>>,
    edge_gather: Gather<3>,
    stitch_gather: Gather<3>,
    hinge_gather: Gather<3>,
    anchor_gather: Gather<3>,
    anchor_stencils: Vec<Stencil>,
    factor: Option<SparseCholesky<3>>,
}

impl Sheet {
    /// Prepares a surface; `anchored` are the triangles on which landmarks lie, `stitches` pairs of vertices
    /// that are held together.
    pub fn prepare(rest: &TriMesh, anchored: &[[u32; 3]], stitches: &[[u32; 2]]) -> Result<Self, FitError> {
        let (n, polygons) = (rest.n_vertices(), Polygons::from_triangles(&rest.triangles));
        let topology = Edges::of(&polygons);
        let (mut edges, mut hinges) = (Vec::new(), Vec::new());
        let mut ring = vec![Vec::new(); n];
        for e in 0..topology.len() {
            let [a, b] = topology.vertices(e);
            let opposite = |f: u32| rest.triangles[f as usize].into_iter().find(|v| *v != a && *v != b);
            let tips: Vec<u32> = topology.uses(e).iter().filter_map(|u| opposite(u.face)).collect();
            let weight = tips.iter().map(|&t| 0.5 * cotangent(rest, t, a, b)).sum::<f64>().max(0.05);
            ring[a as usize].push(edges.len() as u32);
            ring[b as usize].push(edges.len() as u32);
            edges.push(([a, b], weight));
            if let [c, d] = tips[..] {
                hinges.extend((c != d).then(|| hinge(rest, [a, b, c, d])));
            }
        }
        let edge_stencils: Vec<Stencil> = edges.iter().map(|(e, _)| [e[0], e[1], NO_NODE, NO_NODE]).collect();
        let stitch_stencils: Vec<Stencil> = stitches.iter().map(|&[a, b]| [a, b, NO_NODE, NO_NODE]).collect();
        let hinge_stencils: Vec<Stencil> = hinges.iter().map(|h: &Hinge| h.vertices).collect();
        let anchor_stencils: Vec<Stencil> = anchored.iter().map(|&[a, b, c]| [a, b, c, NO_NODE]).collect();
        let all = [&edge_stencils[..], &stitch_stencils, &hinge_stencils, &anchor_stencils];
        let graph = NodeGraph::prepare(&vec![false; n], &all)?;
        let pattern = Arc::new(Pattern::<3>::prepare(&graph)?);
        let thirds = rest.corners().map(|[a, b, c]| (b - a).cross(c - a).length() / 6.0);
        Ok(Self {
            rest: rest.positions.clone(),
            areas: sum_at_corners(n, &rest.triangles, thirds),
            edge_gather: Gather::prepare(&pattern, &edge_stencils),
            stitch_gather: Gather::prepare(&pattern, &stitch_stencils),
            hinge_gather: Gather::prepare(&pattern, &hinge_stencils),
            anchor_gather: Gather::prepare(&pattern, &anchor_stencils),
            anchor_stencils,
            edges,
            stitches: stitches.to_vec(),
            hinges,
            ring,
            pattern,
            factor: None,
        })
    }

    /// Moves `x` to the minimum for these targets, with rotations of the current `x`. `prior` holds a weight
    /// and a place for every vertex; anchors lie on the prepared triangles, in that order.
    pub fn solve(
        &mut self,
        x: &mut [DVec3],
        planes: &[Plane],
        anchors: &[Anchor],
        prior: &[(f64, DVec3)],
        stiffness: Stiffness,
    ) -> Result<(), FitError> {
        let turns = self.rotations(x);
        let mut right: Vec<[f64; 3]> = vec![[0.0; 3]; x.len()];
        let mut matrix = BlockMatrix::zeros(&self.pattern);
        let stretch = pairs(&self.rest, &self.edges, &turns, stiffness.stretch.powi(2), &mut right);
        matrix.add(&self.pattern, &self.edge_gather, &stretch);
        let stitches = pairs(&self.rest, &self.held(x), &turns, STITCH, &mut right);
        matrix.add(&self.pattern, &self.stitch_gather, &stitches);
        matrix.add(&self.pattern, &self.hinge_gather, &self.bending(&turns, stiffness.bend, &mut right));
        matrix.add(&self.pattern, &self.anchor_gather, &self.attach(anchors, &mut right));
        matrix.add_node_blocks(&self.pattern, &self.at_vertices(planes, prior, &mut right));
        let factor = match self.factor.take() {
            Some(mut factor) => {
                factor.refactor(&matrix)?;
                factor
            }
            None => SparseCholesky::new(&self.pattern, &matrix)?,
        };
        factor.solve(&mut right);
        self.factor = Some(factor);
        for (x, found) in x.iter_mut().zip(&right) {
            let found = DVec3::from(*found);
            if found.is_finite() {
                *x = found;
            }
        }
        Ok(())
    }

    /// Rotations of the one-rings from rest to `x`.
    pub fn rotations(&self, x: &[DVec3]) -> Vec<DMat3> {
        let one = |v: usize| {
            let mut s = DMat3::ZERO;
            for &e in &self.ring[v] {
                let ([a, b], w) = self.edges[e as usize];
                let (r, d) = (self.rest[b as usize] - self.rest[a as usize], x[b as usize] - x[a as usize]);
                s += DMat3::from_cols(d * r.x, d * r.y, d * r.z) * w;
            }
            let found = svd(s);
            let turn = found.u * found.v.transpose();
            if turn.is_finite() && turn.determinant() > 0.5 { turn } else { DMat3::IDENTITY }
        };
        (0..x.len()).into_par_iter().map(one).collect()
    }

    /// The stitches with weights: less where the sides have come apart.
    fn held(&self, x: &[DVec3]) -> Vec<([u32; 2], f64)> {
        let weight = |&[a, b]: &[u32; 2]| {
            let length = |p: &[DVec3]| p[a as usize].distance(p[b as usize]);
            let t = (length(x) - length(&self.rest)).max(0.0) / TORN;
            ([a, b], 1.0 / (1.0 + t * t).powi(2))
        };
        self.stitches.iter().map(weight).collect()
    }

    fn bending(&self, turns: &[DMat3], length: f64, right: &mut [[f64; 3]]) -> Vec<ElementBlocks<3>> {
        let scale = length.powi(4);
        let block = |h: &Hinge| {
            let mut blocks: ElementBlocks<3> = [[[0.0; 3]; 3]; 10];
            for a in 0..4 {
                for b in 0..=a {
                    let value = h.k[a] * h.k[b] * h.factor * scale;
                    (0..3).for_each(|c| blocks[block_index(a, b)][c][c] = value);
                }
            }
            let at_rest: DVec3 = h.vertices.iter().zip(h.k).map(|(&v, k)| self.rest[v as usize] * k).sum();
            let mean = (turns[h.vertices[0] as usize] + turns[h.vertices[1] as usize]) * 0.5;
            (blocks, mean * at_rest * (h.factor * scale))
        };
        let (blocks, pulls): (Vec<_>, Vec<_>) = self.hinges.par_iter().map(block).unzip();
        for (h, pull) in self.hinges.iter().zip(pulls) {
            h.vertices.iter().zip(h.k).for_each(|(&v, k)| add(&mut right[v as usize], pull * k));
        }
        blocks
    }

    fn attach(&self, anchors: &[Anchor], right: &mut [[f64; 3]]) -> Vec<ElementBlocks<3>> {
        let mut all: Vec<ElementBlocks<3>> = vec![[[[0.0; 3]; 3]; 10]; self.anchor_stencils.len()];
        for (blocks, anchor) in all.iter_mut().zip(anchors) {
            for a in 0..3 {
                for b in 0..=a {
                    let value = anchor.weight * anchor.barycentric[a] * anchor.barycentric[b];
                    (0..3).for_each(|c| blocks[block_index(a, b)][c][c] = value);
                }
                add(
                    &mut right[anchor.corners[a] as usize],
                    anchor.place * (anchor.weight * anchor.barycentric[a]),
                );
            }
        }
        all
    }

    fn at_vertices(
        &self,
        planes: &[Plane],
        prior: &[(f64, DVec3)],
        right: &mut [[f64; 3]],
    ) -> Vec<[[f64; 3]; 3]> {
        let mut blocks = vec![[[0.0; 3]; 3]; self.rest.len()];
        for (v, (weight, place)) in prior.iter().enumerate() {
            // A trace of it everywhere, so that free pieces are determined.
            let w = self.areas[v].max(1e-10) * weight.max(1e-9);
            (0..3).for_each(|c| blocks[v][c][c] += w);
            add(&mut right[v], *place * w);
        }
        for plane in planes {
            let v = plane.vertex as usize;
            let (w, n) = (plane.weight, plane.normal);
            for c in 0..3 {
                (0..3).for_each(|r| blocks[v][c][r] += w * n[c] * n[r]);
                blocks[v][c][c] += w * plane.along;
            }
            add(&mut right[v], n * (w * n.dot(plane.point)) + plane.point * (w * plane.along));
        }
        blocks
    }
}

/// Pairs of vertices that keep their difference at rest, turned with them; adds their pulls to `right`.
fn pairs(
    rest: &[DVec3],
    list: &[([u32; 2], f64)],
    turns: &[DMat3],
    scale: f64,
    right: &mut [[f64; 3]],
) -> Vec<ElementBlocks<3>> {
    let block = |([a, b], w): &([u32; 2], f64)| {
        let mut blocks: ElementBlocks<3> = [[[0.0; 3]; 3]; 10];
        for (row, column, sign) in [(0, 0, 1.0), (1, 1, 1.0), (1, 0, -1.0)] {
            let diagonal = DMat3::from_diagonal(DVec3::splat(sign * w * scale));
            blocks[block_index(row, column)] = diagonal.to_cols_array_2d();
        }
        let (i, j) = (*a as usize, *b as usize);
        let mean = (turns[i] + turns[j]) * 0.5;
        (blocks, mean * (rest[i] - rest[j]) * (w * scale))
    };
    let (blocks, pulls): (Vec<_>, Vec<_>) = list.par_iter().map(block).unzip();
    for (([a, b], _), pull) in list.iter().zip(pulls) {
        add(&mut right[*a as usize], pull);
        add(&mut right[*b as usize], -pull);
    }
    blocks
}

fn add(to: &mut [f64; 3], by: DVec3) {
    (0..3).for_each(|c| to[c] += by[c]);
}

/// Cotangent of the angle at `tip` across from the edge `a b`, limited.
fn cotangent(mesh: &TriMesh, tip: u32, a: u32, b: u32) -> f64 {
    let [tip, a, b] = [tip, a, b].map(|v| mesh.positions[v as usize]);
    let (u, v) = (a - tip, b - tip);
    let value = u.dot(v) / u.cross(v).length();
    if value.is_finite() { value.clamp(-LARGEST_COTANGENT, LARGEST_COTANGENT) } else { 0.0 }
}

/// The bending coefficients of two triangles `a b c` and `a b d` [Bergou06, sec. 3].
fn hinge(mesh: &TriMesh, vertices: [u32; 4]) -> Hinge {
    let [a, b, c, d] = vertices;
    let (at_a, at_b) = (
        cotangent(mesh, a, b, c) + cotangent(mesh, a, b, d),
        cotangent(mesh, b, a, c) + cotangent(mesh, b, a, d),
    );
    let k = [
        at_b,
        at_a,
        -cotangent(mesh, a, b, c) - cotangent(mesh, b, a, c),
        -cotangent(mesh, a, b, d) - cotangent(mesh, b, a, d),
    ];
    let p = vertices.map(|v| mesh.positions[v as usize]);
    let area = 0.5 * ((p[1] - p[0]).cross(p[2] - p[0]).length() + (p[1] - p[0]).cross(p[3] - p[0]).length());
    let length = p[0].distance_squared(p[1]);
    Hinge { vertices, k, factor: 3.0 / area.max(0.05 * length).max(1e-12) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// A wavy sheet of n by n squares of 1 cm.
    fn sheet(n: u32) -> TriMesh {
        let at = |k: u32| {
            let (x, y) = (f64::from(k % n) * 0.01, f64::from(k / n) * 0.01);
            DVec3::new(x, y, 0.01 * (30.0 * x).sin() * (20.0 * y).cos())
        };
        let square = |k: u32| {
            let v = k / (n - 1) * n + k % (n - 1);
            [[v, v + 1, v + n + 1], [v, v + n + 1, v + n]]
        };
        TriMesh {
            positions: (0..n * n).map(at).collect(),
            triangles: (0..(n - 1) * (n - 1)).flat_map(square).collect(),
        }
    }

    #[test]
    fn a_turned_sheet_is_at_rest() {
        let mesh = sheet(12);
        let turn = DQuat::from_scaled_axis(DVec3::new(0.4, 1.0, -0.3));
        let turned: Vec<DVec3> = mesh.positions.iter().map(|p| turn * *p + DVec3::X).collect();
        let mut prepared = Sheet::prepare(&mesh, &[], &[]).unwrap();
        let mut x = turned.clone();
        let prior: Vec<_> = turned.iter().map(|p| (1e-9, *p)).collect();
        prepared.solve(&mut x, &[], &[], &prior, Stiffness { stretch: 0.02, bend: 0.02 }).unwrap();
        let most = x.iter().zip(&turned).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        // Held by a weight of 1e-9 only, a sheet a meter away ends within 10 micrometers.
        assert!(most < 3e-5, "moved by {most}");
    }

    #[test]
    fn planes_and_anchors_pull() {
        let mesh = sheet(12);
        let mut prepared = Sheet::prepare(&mesh, &[mesh.triangles[40]], &[]).unwrap();
        let mut x = mesh.positions.clone();
        let up = DVec3::new(0.0, 0.0, 0.004);
        let planes: Vec<Plane> = (0..144)
            .map(|v| Plane {
                vertex: v,
                point: mesh.positions[v as usize] + up,
                normal: DVec3::Z,
                weight: prepared.areas[v as usize],
                along: 0.002,
            })
            .collect();
        let corners = mesh.triangles[40];
        let middle = corners.iter().map(|&v| mesh.positions[v as usize]).sum::<DVec3>() / 3.0;
        let anchor = Anchor {
            corners,
            barycentric: [1.0 / 3.0; 3],
            place: middle + up + DVec3::new(0.003, 0.0, 0.0),
            weight: 1.0,
        };
        let prior: Vec<_> = mesh.positions.iter().map(|p| (0.0, *p)).collect();
        for _ in 0..40 {
            prepared
                .solve(&mut x, &planes, &[anchor], &prior, Stiffness { stretch: 0.01, bend: 0.01 })
                .unwrap();
        }
        for (p, q) in x.iter().zip(&mesh.positions) {
            assert!((p.z - q.z - 0.004).abs() < 3e-4, "{}", p.z - q.z);
        }
        let found = corners.iter().map(|&v| x[v as usize]).sum::<DVec3>() / 3.0;
        assert!(found.distance(anchor.place) < 5e-4);
    }
}
