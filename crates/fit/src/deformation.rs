//! Deformation transfer: what happened to one surface happens to another [Sumner04, sec. 3].
//!
//! A deformed source triangle has a deformation gradient S (3 x 3), made unique by a fourth vertex along the
//! normal (eqs. 1-4 there). The target takes the displacement u whose gradient is closest to that of its
//! corresponding triangles:
//!
//! | symbol | meaning |
//! | --- | --- |
//! | S | gradient of the source's deformation, in the source's space |
//! | Q, s | rotation and scale of the best similarity from source to target |
//! | G = Q (S - I) Q^T | wanted gradient of the displacement on the target |
//! | c = s Q d | the source's displacement d at the corresponding point, turned and scaled |
//!
//! `min_u  sum_t w_t A_t |(grad u - G) P_t|^2  +  sum_v A_v |u - c|^2 / L^2`, P_t the projection to the plane
//! of triangle t. The paper has the fourth vertices of the target as unknowns. Each is in one triangle only
//! and matches the normal column of S exactly, so eliminating them leaves P_t and one scalar Laplacian for x,
//! y and z, factored once for all shapes. The second term replaces the paper's fixed vertices: it holds what
//! gradients leave open, and L is so long that it bends nothing else.
//!
//! Where the source does not move (c = 0) the target does not move either, to the bit; u blends into c over
//! three rings of vertices there. Triangles without correspondence get G = 0 and a low weight: u is harmonic
//! on them. The transfer is linear in shapes that move the same vertices, exactly
//! where triangles correspond that lie in the same plane, else to first order (the fourth vertex is not
//! linear).
//!
//! In: meshes of m and n vertices; k displacement fields over m. Out: k fields over n. Same bytes for any
//! number of threads. Limits: one global rotation Q; features that point elsewhere (ears) keep the source's
//! direction of motion.

use crate::FitError;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_base::progress::{Progress, tick};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NO_NODE, NodeGraph, Order, Pattern, SparseCholesky, Stencil, Sweep,
};
use risorius_mesh::{EdgeGraph, Similarity, TriMesh};
use std::sync::Arc;

/// Shapes that are transferred together.
const TOGETHER: usize = 16;
/// Heights below this fraction of the longest edge count as this much: slivers keep finite gradients.
const FLAT: f64 = 1e-4;
/// Weight of triangles that correspond to nothing.
const LOOSE: f64 = 0.05;
/// Rings of vertices over which the result blends into rest.
const RINGS: usize = 3;

/// A point of a source surface: three vertices and their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SourcePoint {
    /// Vertices of the source.
    pub corners: [u32; 3],
    /// Their weights, which sum to 1.
    pub weights: [f64; 3],
}

/// What a vertex of a target corresponds to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Link {
    /// Nothing: it follows its neighbors.
    #[default]
    Free,
    /// A place that never moves.
    Still,
    /// A point of the source.
    Point(SourcePoint),
}

/// What of a source corresponds to each triangle and vertex of a target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Correspondence {
    /// For each triangle of the target: source triangles whose mean gradient it takes, and how much the match
    /// counts, 0 to 1. An empty list: none.
    pub triangles: Vec<(Vec<u32>, f64)>,
    /// For each vertex of the target.
    pub vertices: Vec<Link>,
    /// Rotation and scale from the source to the target; by default the best over corresponding points.
    pub similarity: Option<Similarity>,
}

impl Correspondence {
    /// Of two meshes with the same vertices and triangles.
    pub fn same(mesh: &TriMesh) -> Self {
        let itself = |v: u32| Link::Point(SourcePoint { corners: [v; 3], weights: [1.0, 0.0, 0.0] });
        Self {
            triangles: (0..mesh.triangles.len() as u32).map(|t| (vec![t], 1.0)).collect(),
            vertices: (0..mesh.n_vertices() as u32).map(itself).collect(),
            similarity: None,
        }
    }
}

/// Options of [`Deformation`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeformationOptions {
    /// Length L over which displacements are held, as a fraction of the diagonal of the target's box; above
    /// 0. Longer follows gradients more exactly; at a third, an opened jaw may swing as far as its own length
    /// demands and cheeks do not drift.
    pub hold: f64,
}

impl Default for DeformationOptions {
    fn default() -> Self {
        Self { hold: 0.35 }
    }
}

/// Deformation transfer between two meshes, prepared.
pub struct Deformation {
    /// From the source to the target.
    pub similarity: Similarity,
    source: TriMesh,
    /// Inverse frames of the source's triangles; `None` without area.
    frames: Vec<Option<DMat3>>,
    link: Correspondence,
    triangles: Vec<[u32; 3]>,
    /// For each target triangle: gradients of its three hat functions times area and weight.
    hats: Vec<[DVec3; 3]>,
    /// Weight of c at each target vertex: area over L^2; 0 where nothing corresponds.
    holds: Vec<f64>,
    sweep: Sweep<f64>,
    around: EdgeGraph,
}

impl Deformation {
    /// Prepares the transfer from `source` to `target`, both at rest.
    pub fn prepare(
        source: &TriMesh,
        target: &TriMesh,
        link: Correspondence,
        options: &DeformationOptions,
    ) -> Result<Self, FitError> {
        check(source, target, &link)?;
        let similarity = link.similarity.unwrap_or_else(|| similarity(source, target, &link));
        let frames = source.corners().map(|c| frame(c).and_then(inverse)).collect();
        let low = target.positions.iter().fold(DVec3::INFINITY, |a, &p| a.min(p));
        let high = target.positions.iter().fold(DVec3::NEG_INFINITY, |a, &p| a.max(p));
        let size = low.distance(high).max(f64::MIN_POSITIVE);
        let shapes: Vec<Hats> = target.corners().map(|c| hats(c, size)).collect();
        let weight =
            |t: usize| if link.triangles[t].0.is_empty() { LOOSE } else { link.triangles[t].1.max(LOOSE) };
        let mean_area = shapes.iter().map(|h| h.area).sum::<f64>() / target.n_vertices().max(1) as f64;
        let hold = 1.0 / (options.hold * size).powi(2);
        let mut areas = vec![0.0; target.n_vertices()];
        for (t, shape) in target.triangles.iter().zip(&shapes) {
            t.iter().for_each(|&v| areas[v as usize] += shape.area / 3.0);
        }
        let held = |v: usize| link.vertices[v] != Link::Free;
        let holds: Vec<f64> = (0..areas.len())
            .map(|v| if held(v) { hold * areas[v].max(1e-6 * mean_area) } else { 0.0 })
            .collect();
        let floor = 1e-6 * hold * mean_area;
        let diagonal: Vec<[[f64; 1]; 1]> = holds.iter().map(|h| [[h + floor]]).collect();
        let factor = factor(target, &shapes, weight, &diagonal)?;
        let hats =
            shapes.iter().enumerate().map(|(t, s)| s.gradients.map(|g| g * (s.area * weight(t)))).collect();
        let around = EdgeGraph::prepare(target.n_vertices(), &target.triangles, |_, _| 1.0);
        Ok(Self {
            similarity,
            source: source.clone(),
            frames,
            link,
            triangles: target.triangles.clone(),
            hats,
            holds,
            sweep: Sweep::prepare(&factor),
            around,
        })
    }

    /// Displacements of the target's vertices for each field of displacements of the source's.
    pub fn transfer(&self, shapes: &[Vec<DVec3>], progress: &Progress) -> Result<Vec<Vec<DVec3>>, FitError> {
        if let Some(shape) = shapes.iter().position(|s| s.len() != self.source.n_vertices()) {
            return Err(FitError::ShapeLength {
                shape,
                found: shapes[shape].len(),
                wanted: self.source.n_vertices(),
            });
        }
        let mut out = Vec::with_capacity(shapes.len());
        for (k, group) in shapes.chunks(TOGETHER).enumerate() {
            tick(progress, "deformation transfer", (k * TOGETHER) as f32 / shapes.len() as f32)?;
            let copies: Vec<Vec<DVec3>> = group.par_iter().map(|s| self.copied(s)).collect();
            let mut solved: Vec<Vec<DVec3>> =
                group.par_iter().zip(&copies).map(|(s, c)| self.right_hand_side(s, c)).collect();
            self.sweep.solve_many(&mut solved);
            solved.par_iter_mut().zip(&copies).for_each(|(u, c)| self.rest(u, c));
            out.append(&mut solved);
        }
        Ok(out)
    }

    /// The displacements that target vertices would have if they were copied; NaN where nothing corresponds.
    pub fn copied(&self, shape: &[DVec3]) -> Vec<DVec3> {
        let turn = self.similarity.rigid.rotation;
        let one = |link: &Link| match link {
            Link::Free => DVec3::NAN,
            Link::Still => DVec3::ZERO,
            Link::Point(p) => {
                let moved = |(&v, w): (&u32, f64)| {
                    let d = shape[v as usize];
                    if w == 0.0 || !d.is_finite() { DVec3::ZERO } else { d * w }
                };
                let d = p.corners.iter().zip(p.weights).map(moved).sum::<DVec3>();
                if d == DVec3::ZERO { d } else { turn * d * self.similarity.scale }
            }
        };
        self.link.vertices.iter().map(one).collect()
    }

    fn right_hand_side(&self, shape: &[DVec3], copied: &[DVec3]) -> Vec<DVec3> {
        let turn = DMat3::from_quat(self.similarity.rigid.rotation);
        let changes: Vec<Option<DMat3>> = (0..self.frames.len()).map(|t| self.change(t, shape)).collect();
        let mut b: Vec<DVec3> = copied
            .iter()
            .zip(&self.holds)
            .map(|(c, h)| if *h > 0.0 { *c * *h } else { DVec3::ZERO })
            .collect();
        for ((triangle, hats), (list, _)) in self.triangles.iter().zip(&self.hats).zip(&self.link.triangles) {
            let found = list.iter().filter_map(|&t| changes[t as usize]);
            let (sum, n) = found.fold((DMat3::ZERO, 0usize), |(sum, n), g| (sum + g, n + 1));
            if n == 0 || sum == DMat3::ZERO {
                continue;
            }
            let wanted = turn * sum * turn.transpose() * (1.0 / n as f64);
            triangle.iter().zip(hats).for_each(|(&v, hat)| b[v as usize] += wanted * *hat);
        }
        b
    }

    /// S - I of a source triangle.
    fn change(&self, t: usize, shape: &[DVec3]) -> Option<DMat3> {
        let inverse = self.frames[t]?;
        let corners = self.source.triangles[t];
        if corners.iter().all(|&v| shape[v as usize] == DVec3::ZERO) {
            return Some(DMat3::ZERO);
        }
        let moved = frame(corners.map(|v| self.source.positions[v as usize] + shape[v as usize]))?;
        Some(moved * inverse - DMat3::IDENTITY).filter(|g| g.is_finite())
    }

    /// Sets vertices to zero whose points of the source do not move, and blends over the rings around them.
    fn rest(&self, u: &mut [DVec3], copied: &[DVec3]) {
        let mut ring: Vec<usize> =
            copied.iter().map(|c| if *c == DVec3::ZERO { 0 } else { usize::MAX }).collect();
        for k in 0..RINGS {
            for v in 0..ring.len() {
                if ring[v] == k {
                    for &(w, _) in self.around.around(v as u32) {
                        ring[w as usize] = ring[w as usize].min(k + 1);
                    }
                }
            }
        }
        for ((u, &c), &ring) in u.iter_mut().zip(copied).zip(&ring) {
            if ring == 0 {
                *u = DVec3::ZERO;
            } else if ring <= RINGS && c.is_finite() {
                *u = c + (*u - c) * (ring as f64 / (RINGS + 1) as f64);
            }
        }
    }
}

/// Edges of a triangle and its normal, of the square root of its length as in the paper.
fn frame([a, b, c]: [DVec3; 3]) -> Option<DMat3> {
    let normal = (b - a).cross(c - a);
    let length = normal.length();
    let longest = (b - a).length_squared().max((c - a).length_squared()).max((c - b).length_squared());
    (length > 1e-9 * longest).then(|| DMat3::from_cols(b - a, c - a, normal / length.sqrt()))
}

fn inverse(frame: DMat3) -> Option<DMat3> {
    let inverse = frame.inverse();
    inverse.is_finite().then_some(inverse)
}

/// Area of a triangle and gradients of its hat functions.
struct Hats {
    area: f64,
    gradients: [DVec3; 3],
}

fn hats([a, b, c]: [DVec3; 3], size: f64) -> Hats {
    let cross = (b - a).cross(c - a);
    let longest = [b - a, c - b, a - c].iter().map(|e| e.length_squared()).fold(0.0, f64::max);
    let twice = cross.length().max(FLAT * longest).max(1e-14 * size * size);
    let normal =
        cross.try_normalize().unwrap_or_else(|| (b - a).any_orthogonal_vector().normalize_or(DVec3::Z));
    Hats { area: twice / 2.0, gradients: [c - b, a - c, b - a].map(|e| normal.cross(e) / twice) }
}

fn factor(
    target: &TriMesh,
    shapes: &[Hats],
    weight: impl Fn(usize) -> f64,
    diagonal: &[[[f64; 1]; 1]],
) -> Result<SparseCholesky<1>, FitError> {
    let stencils: Vec<Stencil> = target.triangles.iter().map(|&[a, b, c]| [a, b, c, NO_NODE]).collect();
    let blocks: Vec<ElementBlocks<1>> = shapes
        .iter()
        .enumerate()
        .map(|(t, s)| {
            let mut blocks: ElementBlocks<1> = [[[0.0]]; 10];
            for i in 0..3 {
                for j in 0..=i {
                    blocks[block_index(i, j)][0][0] = s.area * weight(t) * s.gradients[i].dot(s.gradients[j]);
                }
            }
            blocks
        })
        .collect();
    let held = vec![false; target.n_vertices()];
    let graph = NodeGraph::ordered(&held, &[&stencils], Order::NestedDissection)?;
    let pattern = Arc::new(Pattern::<1>::prepare(&graph)?);
    let mut matrix = BlockMatrix::zeros(&pattern);
    matrix.add(&pattern, &Gather::prepare(&pattern, &stencils), &blocks);
    matrix.add_node_blocks(&pattern, diagonal);
    Ok(SparseCholesky::new(&pattern, &matrix)?)
}

/// The best similarity from the source to the target over corresponding points.
fn similarity(source: &TriMesh, target: &TriMesh, link: &Correspondence) -> Similarity {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (point, q) in link.vertices.iter().zip(&target.positions) {
        if let Link::Point(p) = point {
            let at = |(&v, w): (&u32, f64)| source.positions[v as usize] * w;
            from.push(p.corners.iter().zip(p.weights).map(at).sum());
            to.push(*q);
        }
    }
    Similarity::fit(&from, &to, &vec![1.0; from.len()])
}

fn check(source: &TriMesh, target: &TriMesh, link: &Correspondence) -> Result<(), FitError> {
    for (which, mesh) in [("source", source), ("target", target)] {
        if let Some(vertex) = mesh.positions.iter().position(|p| !p.is_finite()) {
            return Err(FitError::NotFinite { mesh: which, vertex });
        }
    }
    let (n, m) = (source.triangles.len(), source.n_vertices());
    let fits = link.triangles.len() == target.triangles.len()
        && link.vertices.len() == target.n_vertices()
        && link.triangles.iter().all(|(list, _)| list.iter().all(|&t| (t as usize) < n))
        && link.vertices.iter().all(|l| match l {
            Link::Point(p) => p.corners.iter().all(|&v| (v as usize) < m),
            Link::Free | Link::Still => true,
        })
        && source.triangles.iter().flatten().all(|&v| (v as usize) < m)
        && target.triangles.iter().flatten().all(|&v| (v as usize) < target.n_vertices());
    if fits { Ok(()) } else { Err(FitError::Correspondence) }
}

#[cfg(test)]
mod tests;
