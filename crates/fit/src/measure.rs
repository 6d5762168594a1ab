//! How far a scan is from the surface laid onto it.

use crate::find::cloud::Cloud;
use crate::solids::Solids;
use crate::target::Target;
use crate::template::Template;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_mesh::{Bvh, Similarity, TriMesh};
use serde::Serialize;

/// Scan vertices farther than this from the surface show something else, meters.
const ELSEWHERE: f64 = 0.02;

/// Vertices nearer to the skin than this are measured without asking whether they can be seen, meters.
const NEAR: f64 = 1e-3;

/// Distances of a scan from a surface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Mean, mm.
    pub mean_mm: f64,
    /// 95 of 100 are at most this, mm.
    pub p95_mm: f64,
    /// Number of measured vertices.
    pub n: usize,
}

impl Spread {
    /// Of distances in meters.
    pub fn of(distances: impl Iterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = distances.filter(|d| d.is_finite()).map(|d| d * 1e3).collect();
        all.sort_unstable_by(f64::total_cmp);
        let mean_mm = all.iter().sum::<f64>() / all.len().max(1) as f64;
        Self { mean_mm, p95_mm: all.get(all.len() * 95 / 100).copied().unwrap_or(0.0), n: all.len() }
    }
}

/// What is not skin (eyeballs, teeth), where a fit places it: scans show eyes, and the skin is not to be
/// blamed for them.
pub struct Others {
    tree: Bvh,
}

impl Others {
    /// Of a template, with all rig vertices in place.
    pub fn new(template: &Template, places: &[DVec3]) -> Self {
        let turns = vec![DMat3::IDENTITY; places.len()];
        Self::of(&Solids::new(template, places, &turns))
    }

    /// As they are placed.
    pub fn of(solids: &Solids) -> Self {
        Self { tree: solids.tree(&solids.positions) }
    }
}

/// The distance of every vertex of a scan from the skin, in meters of the template's space. NaN where the
/// closest skin is not of the narrow face, where eyes or teeth are nearer, beyond 2 cm, and where the scan
/// is not `seen` from outside ([`Target::shows`]): some scans have a mouth bag.
pub fn distances(
    template: &Template,
    skin: &[DVec3],
    others: &Others,
    scan: &TriMesh,
    scan_from_template: &Similarity,
    seen: &(dyn Fn(usize) -> bool + Sync),
) -> Vec<f64> {
    let surface: Vec<[f32; 3]> = skin.iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::build(&surface, &template.mesh.triangles);
    let back = scan_from_template.inverse();
    let one = |v: usize| {
        let p = back.apply(scan.positions[v]);
        let Some(found) = tree.closest_point(p, ELSEWHERE) else { return f64::NAN };
        let corners = template.mesh.triangles[found.triangle as usize];
        let is_narrow = corners.iter().any(|&v| template.narrow[v as usize]);
        let distance = found.distance_sq.sqrt();
        let is_skin = is_narrow && !others.tree.comes_within(p, distance);
        // Near the skin it does not matter much, and rays take time.
        if is_skin && (distance < NEAR || seen(v)) { distance } else { f64::NAN }
    };
    (0..scan.n_vertices()).into_par_iter().map(one).collect()
}

/// Cells of the points that a misfit is measured at, meters.
const FINE: f64 = 8e-4;

/// Distance that a difference of directions by one counts as in a misfit, meters.
const TURN: f64 = 4e-3;

/// No misfit of a point counts more than this, meters.
const WORST: f64 = 4e-3;

/// How unlike a scan and a surface are around some places (in the scan's coordinates): the mean of distance
/// and difference of directions, meters. `surface` is everything that can be seen, eyeballs included. Infinite
/// where the scan has no points.
pub fn misfit(
    target: &Target,
    scan_from_template: &Similarity,
    surface: &TriMesh,
    places: &[DVec3],
    radius: f64,
) -> f64 {
    let back = scan_from_template.inverse();
    let places: Vec<DVec3> = places.iter().map(|p| back.apply(*p)).collect();
    let near = |p: DVec3| places.iter().any(|q| q.distance(p) < radius);
    let positions: Vec<DVec3> = target.mesh.positions.par_iter().map(|p| back.apply(*p)).collect();
    let normals: Vec<DVec3> = target.normals.par_iter().map(|n| back.rigid.rotation * *n).collect();
    let scan = TriMesh { positions, triangles: target.mesh.triangles.clone() };
    let all = Cloud::of(&scan, &normals, FINE, near);
    let cloud = all.filtered(|i| target.is_seen(all.points[i], all.normals[i], scan_from_template));
    let (tree, own) = (Bvh::build(&surface.positions_f32(), &surface.triangles), surface.vertex_normals());
    let one = |i: usize| {
        let (p, n) = (cloud.points[i], cloud.normals[i]);
        let faces = |_, t: [u32; 3]| t.iter().map(|&v| own[v as usize]).sum::<DVec3>().dot(n) > 0.0;
        let Some(hit) = tree.closest_within(p, WORST, faces) else { return WORST };
        let corners = surface.triangles[hit.triangle as usize];
        let there: DVec3 = corners.iter().zip(hit.barycentric).map(|(&v, w)| own[v as usize] * w).sum();
        (hit.distance_sq + there.normalize_or_zero().distance_squared(n) * TURN * TURN).sqrt().min(WORST)
    };
    let all: Vec<f64> = (0..cloud.len()).into_par_iter().map(one).collect();
    if all.is_empty() { f64::INFINITY } else { all.iter().sum::<f64>() / all.len() as f64 }
}
