//! Embedding of points in a tet mesh, such as a skin that follows its flesh.
//!
//! A point inside a tet moves with the tet's barycentric weights. A point outside is bound to the tet behind
//! the closest boundary triangle, with that tet's barycentric weights extrapolated. The map is affine, so a
//! skin at a distance from the flesh rotates and stretches with it, and linear fields are reproduced exactly.
//! Weights of the closest point would instead translate the offset and crease the skin where triangles meet.
//! Extrapolated weights amplify the deformation of the tet, so they are bounded: if a weight leaves
//! `[-limit, 1 + limit]`, the point uses the weights of a point nearer to the boundary, on the line to its
//! closest point. In: n points, a mesh of m tets; time n log m. A predicate may exclude tets for a point, so
//! that a lower lip never binds to the upper. Out: 4 nodes and weights per point. Applying is a gather, on
//! all threads, with the same result for any number of threads.

use crate::Bvh;
use crate::TetMesh;
use crate::query::bvh::Aabb;
use crate::query::closest::closest_on_triangle;
use crate::tet::tet_mesh::barycentric;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::ControlFlow;

/// Weights this far below zero still count as inside: the rounding of boxes and determinants.
const INSIDE: f64 = -1e-9;

/// A tree of tets, to find the tet that contains a point. Prepared for one pose of the nodes.
#[derive(Debug, Clone, Default)]
pub struct TetTree {
    boxes: Bvh,
}

impl TetTree {
    /// The tree over the tets of `mesh`.
    pub fn prepare(mesh: &TetMesh) -> Self {
        // A degenerate triangle between two opposite corners of the tet's box has the same box.
        let mut corners: Vec<[f32; 3]> = Vec::with_capacity(2 * mesh.tets.len());
        for tet in &mesh.tets {
            let nodes = tet.map(|v| mesh.nodes[v as usize]);
            let (low, high) = (nodes.into_iter().reduce(DVec3::min), nodes.into_iter().reduce(DVec3::max));
            corners.extend(rounded_outward(low.unwrap_or_default(), high.unwrap_or_default()));
        }
        let triangles: Vec<[u32; 3]> =
            (0..mesh.tets.len() as u32).map(|t| [2 * t, 2 * t + 1, 2 * t + 1]).collect();
        Self { boxes: Bvh::build(&corners, &triangles) }
    }

    /// The tet that contains `p` and its weights, among those that `accept` takes; `mesh` is the one
    /// prepared. Of several, by rounding or overlap, the one with the largest minimum weight, then the lowest
    /// index.
    pub fn locate(&self, mesh: &TetMesh, p: DVec3, accept: impl Fn(u32) -> bool) -> Option<(u32, [f64; 4])> {
        if !p.is_finite() {
            return None;
        }
        let [min, max] = rounded_outward(p, p);
        let at = Aabb { min: min.into(), max: max.into() };
        let mut best: Option<(f64, u32, [f64; 4])> = None;
        let _ = self.boxes.overlapping(&at, |t| {
            let weights = barycentric(&mesh.nodes, mesh.tets[t as usize], p);
            let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
            let deeper = best.is_none_or(|(l, u, _)| least > l || (least == l && t < u));
            // Not `least < INSIDE`: the weights of a flat tet are NaN.
            if least >= INSIDE && deeper && accept(t) {
                best = Some((least, t, weights));
            }
            ControlFlow::Continue(())
        });
        best.map(|(_, t, weights)| (t, weights))
    }
}

/// An f32 box that contains an f64 box.
fn rounded_outward(low: DVec3, high: DVec3) -> [[f32; 3]; 2] {
    [low.as_vec3().to_array().map(f32::next_down), high.as_vec3().to_array().map(f32::next_up)]
}

impl TetMesh {
    /// The tet that contains `p`, and its weights. For many points prepare a [`TetTree`] once.
    pub fn locate(&self, p: DVec3) -> Option<(u32, [f64; 4])> {
        TetTree::prepare(self).locate(self, p, |_| true)
    }
}

/// How points are bound.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedOptions {
    /// How far weights may be outside 0 to 1, no unit. 0 binds to closest points; 1 extrapolates up to about
    /// a tet's height.
    pub limit: f64,
}

impl Default for EmbedOptions {
    fn default() -> Self {
        Self { limit: 1.0 }
    }
}

/// Points bound to a tet mesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embedding {
    /// The tet of each point; `u32::MAX` where none was allowed, and the point does not move.
    pub tets: Vec<u32>,
    /// Its nodes.
    pub nodes: Vec<[u32; 4]>,
    /// Their weights, with sum 1 (0 where there is no tet).
    pub weights: Vec<[f64; 4]>,
    /// Distance of each point from its tet, 0 inside.
    pub distances: Vec<f64>,
}

impl Embedding {
    /// Binds `points` to `mesh`; `accept(point, tet)` says which tets a point may use.
    pub fn prepare(
        mesh: &TetMesh,
        points: &[DVec3],
        options: &EmbedOptions,
        accept: impl Fn(usize, u32) -> bool + Sync,
    ) -> Self {
        let tree = TetTree::prepare(mesh);
        let boundary = mesh.boundary();
        let triangles: Vec<[u32; 3]> = boundary.iter().map(|b| b.nodes).collect();
        let positions: Vec<[f32; 3]> = mesh.nodes.iter().map(|p| p.as_vec3().to_array()).collect();
        let surface = Bvh::build(&positions, &triangles);
        let bind = |(i, &p): (usize, &DVec3)| {
            if let Some((t, weights)) = tree.locate(mesh, p, |t| accept(i, t)) {
                return Some((t, weights, 0.0));
            }
            let found = surface.closest_where(p, |triangle| accept(i, boundary[triangle as usize].tet))?;
            let b = boundary[found.triangle as usize];
            // Again in f64: the tree rounds corners.
            let (foot, _) = closest_on_triangle(p, b.nodes.map(|v| mesh.nodes[v as usize]));
            let weights = bounded_weights(mesh, b.tet, p, foot, options.limit);
            Some((b.tet, weights, p.distance(foot)))
        };
        let bound: Vec<Option<(u32, [f64; 4], f64)>> =
            points.par_iter().enumerate().with_min_len(64).map(bind).collect();
        let mut embedding = Self::default();
        for found in bound {
            let (t, weights, distance) = found.unwrap_or((u32::MAX, [0.0; 4], f64::INFINITY));
            embedding.tets.push(t);
            embedding.nodes.push(mesh.tets.get(t as usize).copied().unwrap_or_default());
            embedding.weights.push(weights);
            embedding.distances.push(distance);
        }
        embedding
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.tets.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.tets.is_empty()
    }

    /// Displacements of the points for `displacements` of the nodes.
    pub fn apply(&self, displacements: &[DVec3]) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; self.len()];
        self.apply_into(displacements, &mut out);
        out
    }

    /// As [`Self::apply`], into a slice with one entry per point.
    pub(crate) fn apply_into(&self, displacements: &[DVec3], out: &mut [DVec3]) {
        let bound = self.nodes.par_iter().zip(&self.weights);
        out.par_iter_mut().zip(bound).with_min_len(1024).for_each(|(out, (nodes, weights))| {
            // A point without a tet has weights 0 and node 0, which need not exist.
            let at = |i: usize| displacements.get(nodes[i] as usize).copied().unwrap_or_default();
            *out = weights[0] * at(0) + weights[1] * at(1) + weights[2] * at(2) + weights[3] * at(3);
        });
    }
}

/// The weights of tet `t` at `p`, or at the last point from `foot` to `p` where they are within the limit.
fn bounded_weights(mesh: &TetMesh, t: u32, p: DVec3, foot: DVec3, limit: f64) -> [f64; 4] {
    let tet = mesh.tets[t as usize];
    let (at_foot, at_p) = (barycentric(&mesh.nodes, tet, foot), barycentric(&mesh.nodes, tet, p));
    if !at_p.iter().chain(&at_foot).all(|w| w.is_finite()) {
        return [0.25; 4];
    }
    // Weights are linear along the segment.
    let mut share: f64 = 1.0;
    for (&from, &to) in at_foot.iter().zip(&at_p) {
        let room = if to > from { 1.0 + limit - from } else { from + limit };
        let step = (to - from).abs();
        if step > room.max(0.0) {
            share = share.min(room.max(0.0) / step);
        }
    }
    std::array::from_fn(|i| at_foot[i] + share * (at_p[i] - at_foot[i]))
}
