//! The part of a skin that can be seen from outside: without mouth bag, eye sockets, nostrils and the inner
//! sides of lips.
//!
//! A vertex is outer if most of five rays, along its normal and tilted from it, leave the head without
//! hitting skin. Faces are matched and tissue depths measured on this part only, because the lining of the
//! mouth lies far inside the flesh.

use crate::find::flat;
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::surface::components::components;
use risorius_mesh::surface::topology::Edges;
use risorius_mesh::{Bvh, Polygons};

/// Rays that get this far have left the head (meters).
const FAR: f64 = 0.12;
/// No ray is longer than this inside a head (meters).
const INSIDE: f64 = 0.35;

/// The outer skin, prepared for closest points.
#[derive(Debug, Clone)]
pub struct OuterSkin {
    /// Triangles over the given positions.
    pub triangles: Vec<[u32; 3]>,
    /// Unit normals per vertex of the whole skin, zero elsewhere.
    pub normals: Vec<DVec3>,
    /// Vertices of the outer skin, ascending.
    pub vertices: Vec<u32>,
    positions: Vec<DVec3>,
    tree: Bvh,
    border: Vec<bool>,
}

/// The outer skin's point closest to another.
#[derive(Debug, Clone, Copy)]
pub struct OuterPoint {
    /// Position.
    pub point: DVec3,
    /// Smooth outward normal there.
    pub normal: DVec3,
    /// The corners of its triangle.
    pub corners: [u32; 3],
    /// Weights of the corners.
    pub barycentric: [f64; 3],
    /// It lies on an open border, beyond which skin may be missing.
    pub on_border: bool,
}

impl OuterSkin {
    /// The outer part of the skin `triangles`.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let normals = normals(positions, triangles);
        let whole = Bvh::build(&flat(positions), triangles);
        let mut used = vec![false; positions.len()];
        triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
        let open: Vec<bool> = (0..positions.len())
            .into_par_iter()
            .map(|v| used[v] && is_open(&whole, positions[v], normals[v]))
            .collect();
        let outer = |t: &&[u32; 3]| t.iter().filter(|&&v| open[v as usize]).count() >= 2;
        let triangles: Vec<[u32; 3]> =
            largest(positions.len(), triangles.iter().filter(outer).copied().collect());
        let mut border = vec![false; positions.len()];
        let edges = Edges::of(&Polygons::from_triangles(&triangles));
        for e in edges.boundary() {
            edges.vertices(e).iter().for_each(|&v| border[v as usize] = true);
        }
        let mut vertices: Vec<u32> = triangles.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let tree = Bvh::build(&flat(positions), &triangles);
        Self { triangles, normals, vertices, positions: positions.to_vec(), tree, border }
    }

    /// Whether there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Position of a vertex.
    pub fn position(&self, v: u32) -> DVec3 {
        self.positions[v as usize]
    }

    /// The point closest to `p`, if one is within `reach`.
    pub fn closest(&self, p: DVec3, reach: f64) -> Option<OuterPoint> {
        let found = self.tree.closest_point(p, reach)?;
        let corners = self.triangles[found.triangle as usize];
        let weighted = || corners.iter().zip(found.barycentric);
        let normal =
            weighted().map(|(&v, w)| self.normals[v as usize] * w).sum::<DVec3>().normalize_or_zero();
        let on_border = weighted().filter(|(_, w)| *w > 1e-6).all(|(&v, _)| self.border[v as usize]);
        Some(OuterPoint { point: found.point, normal, corners, barycentric: found.barycentric, on_border })
    }

    /// How deep `p` lies under the skin; negative outside. `None` where no skin is within `reach`, and at
    /// open borders, beyond which skin is missing.
    ///
    /// Beside openings (nostrils, lips, lids) the closest skin may face in any direction, so "outside" is
    /// confirmed by rays.
    pub fn depth(&self, p: DVec3, reach: f64) -> Option<(f64, OuterPoint)> {
        let c = self.closest(p, reach).filter(|c| !c.on_border)?;
        let distance = c.point.distance(p);
        let inside = (c.point - p).dot(c.normal) >= 0.0 || self.surrounds(p);
        Some((if inside { distance } else { -distance }, c))
    }

    /// Whether most of seven rays from `p`, none of them downward, first hit the skin from inside.
    pub(crate) fn surrounds(&self, p: DVec3) -> bool {
        const AWAY: [[f64; 3]; 7] = [
            [0.02, 1.0, -0.03],
            [1.0, 0.3, -0.2],
            [-1.0, 0.31, -0.21],
            [0.03, 0.4, -1.0],
            [0.7, 0.7, -0.5],
            [-0.71, 0.7, -0.5],
            [0.01, 0.6, 1.0],
        ];
        let leaves =
            |d: &[f64; 3]| self.tree.ray(p, DVec3::from(*d), f64::INFINITY).is_some_and(|h| h.from_behind);
        2 * AWAY.iter().filter(|d| leaves(d)).count() > AWAY.len()
    }
}

/// The connected component with the most triangles; the others are pockets from which some rays escape.
fn largest(n_vertices: usize, triangles: Vec<[u32; 3]>) -> Vec<[u32; 3]> {
    let pieces = components(n_vertices, &Polygons::from_triangles(&triangles));
    let piece = |t: &[u32; 3]| pieces.of_vertex[t[0] as usize] as usize;
    let mut sizes = vec![0usize; pieces.sizes.len()];
    triangles.iter().for_each(|t| sizes[piece(t)] += 1);
    let best = (0..sizes.len()).fold(0, |best, i| if sizes[i] > sizes[best] { i } else { best });
    triangles.into_iter().filter(|t| piece(t) == best).collect()
}

/// Unit vertex normals, weighted by area.
fn normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        let n = (b - a).cross(c - a);
        if n.is_finite() {
            t.iter().for_each(|&v| normals[v as usize] += n);
        }
    }
    normals.iter().map(|n| n.normalize_or_zero()).collect()
}

fn is_open(skin: &Bvh, p: DVec3, normal: DVec3) -> bool {
    if normal == DVec3::ZERO || !p.is_finite() {
        return false;
    }
    let (u, v) = normal.any_orthonormal_pair();
    let tilted = [DVec3::ZERO, u, -u, v, -v].map(|t| (normal + 0.7 * t).normalize());
    let start = p + normal * 0.0004;
    // Mouth bags may be open to the throat: a ray that hits skin from behind, at any distance, started
    // inside.
    let leaves = |d: &DVec3| skin.ray(start, *d, INSIDE).is_none_or(|h| h.distance > FAR && !h.from_behind);
    tilted.iter().filter(|d| leaves(d)).count() >= 3
}
