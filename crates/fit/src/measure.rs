//! How far a scan is from the surface laid onto it.

use crate::solids::Solids;
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
/// is not `seen` from outside ([`crate::target::Target::shows`]): some scans have a mouth bag.
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
