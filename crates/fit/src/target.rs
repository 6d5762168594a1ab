//! A scan as the target of a registration: closest points that a vertex of the template may be matched with.
//!
//! A match is the closest point of the scan, within a reach, on triangles whose normal agrees with that of
//! the vertex [Rusinkiewicz01, sec. 3]. Points on open borders are refused: beyond them the scan has a hole,
//! and every vertex over the hole would be pulled to its rim. Normals of the scan are averaged over
//! neighbors, because those of single triangles are mostly noise where triangles are small. Coordinates are
//! those of the scan; a [`Similarity`] from the template to the scan is passed along with every query.

use crate::visible::is_seen;
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::query::bvh::Aabb;
use risorius_mesh::{Bvh, Edges, Polygons, Similarity, TriMesh};

/// Rounds in which normals are averaged over neighbors.
const NORMAL_ROUNDS: usize = 2;

/// Depths are sampled this far before and behind a place, meters.
const AHEAD: f64 = 0.03;

/// A scan prepared for closest points; see the module.
#[derive(Debug, Clone)]
pub struct Target {
    /// The cleaned scan.
    pub mesh: TriMesh,
    /// Smooth unit normals of the vertices.
    pub normals: Vec<DVec3>,
    /// Vertices near open edges.
    pub near_border: Vec<bool>,
    /// Mean of the corners' normals for each triangle.
    faces: Vec<DVec3>,
    tree: Bvh,
}

/// A point of the scan that a vertex is matched with, in the template's space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// The point.
    pub point: DVec3,
    /// Smooth unit normal of the scan there.
    pub normal: DVec3,
    /// Distance from the vertex.
    pub distance: f64,
}

/// Which points are accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Acceptance {
    /// Longest distance, in the template's unit.
    pub reach: f64,
    /// Least cosine of the angle between the normals.
    pub least_cos: f64,
}

impl Target {
    /// Prepares a cleaned scan.
    pub fn new(mesh: TriMesh) -> Self {
        let edges = Edges::of(&Polygons::from_triangles(&mesh.triangles));
        let mut normals = mesh.vertex_normals();
        for _ in 0..NORMAL_ROUNDS {
            let mut sums = normals.clone();
            for e in 0..edges.len() {
                let [a, b] = edges.vertices(e).map(|v| v as usize);
                sums[a] += normals[b];
                sums[b] += normals[a];
            }
            normals = sums.into_iter().map(DVec3::normalize_or_zero).collect();
        }
        let mut near_border = vec![false; mesh.n_vertices()];
        for e in edges.boundary() {
            edges.vertices(e).iter().for_each(|&v| near_border[v as usize] = true);
        }
        let face = |t: &[u32; 3]| t.iter().map(|&v| normals[v as usize]).sum::<DVec3>().normalize_or_zero();
        let faces = mesh.triangles.iter().map(face).collect();
        let tree = Bvh::build(&mesh.positions_f32(), &mesh.triangles);
        Self { mesh, normals, near_border, faces, tree }
    }

    /// The point to match with a vertex at `p` with the outward `normal`; `scan_from_template` leads to the
    /// scan's coordinates.
    pub fn closest(
        &self,
        p: DVec3,
        normal: DVec3,
        scan_from_template: &Similarity,
        accepted: Acceptance,
    ) -> Option<Match> {
        let turn = scan_from_template.rigid.rotation;
        let (there, direction) = (scan_from_template.apply(p), turn * normal);
        let reach = accepted.reach * scan_from_template.scale;
        let agrees = |t: u32, _| self.faces[t as usize].dot(direction) >= accepted.least_cos;
        let found = self.tree.closest_within(there, reach, agrees)?;
        let corners = self.mesh.triangles[found.triangle as usize];
        let weighted = || corners.iter().zip(found.barycentric);
        if weighted().filter(|(_, w)| *w > 1e-6).all(|(&v, _)| self.near_border[v as usize]) {
            return None;
        }
        let smooth =
            weighted().map(|(&v, w)| self.normals[v as usize] * w).sum::<DVec3>().normalize_or_zero();
        let back = scan_from_template.inverse();
        let point = back.apply(found.point);
        Some(Match { point, normal: back.rigid.rotation * smooth, distance: point.distance(p) })
    }

    /// Matches of many vertices; `None` where `weights` is 0.
    pub fn matches(
        &self,
        positions: &[DVec3],
        normals: &[DVec3],
        weights: &[f64],
        scan_from_template: &Similarity,
        accepted: Acceptance,
    ) -> Vec<Option<Match>> {
        let one = |v: usize| {
            let is_asked = weights[v] > 0.0;
            is_asked.then(|| self.closest(positions[v], normals[v], scan_from_template, accepted)).flatten()
        };
        (0..positions.len()).into_par_iter().map(one).collect()
    }

    /// Whether a place of the scan with a normal, in the template's space, can be seen from outside.
    pub fn is_seen(&self, p: DVec3, normal: DVec3, scan_from_template: &Similarity) -> bool {
        let normal = scan_from_template.rigid.rotation * normal;
        normal != DVec3::ZERO
            && is_seen(&self.tree, scan_from_template.apply(p), normal, scan_from_template.scale)
    }

    /// Whether a vertex of the scan can be seen from outside; `unit` is the length of a meter in the scan.
    pub fn shows(&self, vertex: usize, unit: f64) -> bool {
        let normal = self.normals[vertex];
        normal != DVec3::ZERO && is_seen(&self.tree, self.mesh.positions[vertex], normal, unit)
    }

    /// The foremost point of the scan over or under a place, along the template's +Z: its z there.
    pub fn depth(&self, p: DVec3, scan_from_template: &Similarity) -> Option<f64> {
        let start = p + DVec3::Z * AHEAD;
        let (there, unit) = (scan_from_template.apply(start), scan_from_template.scale);
        let hit = self.tree.ray(there, scan_from_template.rigid.rotation * -DVec3::Z, 2.0 * AHEAD * unit)?;
        (!hit.from_behind).then_some(start.z - hit.distance / unit)
    }

    /// The middle of the scan's bounding box and half of its diagonal.
    pub fn extent(&self) -> (DVec3, f64) {
        let bounds = Aabb::of(self.mesh.positions.iter().map(|p| p.as_vec3()));
        let (low, high) = (bounds.min.as_dvec3(), bounds.max.as_dvec3());
        (low.midpoint(high), 0.5 * low.distance(high))
    }
}
