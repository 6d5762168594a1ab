//! Whether it is a face, how sure its landmarks are, and what to tell about the mesh.

use super::model::Model;
use super::settle::Placed;
use super::surface::LeftOut;
use super::{BentModel, FindOptions, Found, tree_of};
use crate::FitError;
use glam::DVec3;
use rayon::prelude::*;
use risorius_head::landmarks::{N_LANDMARKS, NAMES};
use risorius_mesh::{Similarity, TriMesh};

/// Mismatch below which a placement is certainly a face, meters.
pub const CLEAR: f64 = 0.0045;
/// Mismatch above which it is none.
pub const FACE: f64 = 0.0065;
/// Landmarks are read off within this distance of the bent model, meters.
const REACH: f64 = 0.012;

/// A landmark in the space of the model.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    pub position: DVec3,
    pub confidence: f64,
}

/// Refuses placements that do not look like a face.
pub fn check(placed: &Placed) -> Result<(), FitError> {
    if placed.miss < FACE { Ok(()) } else { Err(FitError::NoFace { miss_mm: Some(1000.0 * placed.miss) }) }
}

/// The landmarks of the bent model, projected to the surface, with confidence.
pub fn landmarks(model: &Model, bent: &BentModel, local: &TriMesh, normals: &[DVec3]) -> Vec<Judged> {
    let tree = tree_of(local);
    let own = TriMesh { positions: bent.positions.clone(), triangles: model.rest.triangles.clone() };
    let own = own.vertex_normals();
    let one = |i: usize| {
        let v = model.landmarks[i] as usize;
        let (p, normal) = (bent.positions[v], own[v]);
        let faces = |_: u32, t: [u32; 3]| {
            t.iter().map(|&k| normals[k as usize]).sum::<DVec3>().normalize_or_zero().dot(normal) > 0.2
        };
        let on = tree.closest_within(p, REACH, faces);
        let position = on.map_or(p, |c| c.point);
        let off = on.map_or(REACH, |c| c.distance_sq.sqrt());
        Judged { position, confidence: sharpness(NAMES[i]) * nearby(model, bent, p) / (1.0 + off / 0.003) }
    };
    (0..N_LANDMARKS).into_par_iter().map(one).collect()
}

/// How well the model matches within 15 mm of a point, 0 to 1.
fn nearby(model: &Model, bent: &BentModel, p: DVec3) -> f64 {
    let (mut good, mut n) = (0.0, 0.0);
    for (&v, miss) in model.wide.iter().zip(&bent.misses) {
        if bent.positions[v as usize].distance(p) < 0.015 {
            good += miss.map_or(0.0, |m| 1.0 / (1.0 + (m / 0.005).powi(2)));
            n += 1.0;
        }
    }
    if n > 0.0 { good / n } else { 0.2 }
}

/// How well a landmark is defined by the surface around it.
fn sharpness(name: &str) -> f64 {
    let any = |list: &[&str]| list.iter().any(|w| name.starts_with(w));
    if any(&["nose", "subnasale", "nostril", "alare", "eye_", "lip_", "mouth", "lid_"]) {
        0.95
    } else if any(&["jaw_", "vertex", "trichion", "neck", "gonion", "zygion", "fronto", "mid_cheek"]) {
        0.5
    } else {
        0.75
    }
}

/// A similarity in which pairs count half that are 8 mm off.
pub fn robust_similarity(from: &[DVec3], to: &[DVec3], sure: &[f64]) -> Similarity {
    let mut weights = sure.to_vec();
    let mut fit = Similarity::fit(from, to, &weights);
    for _ in 0..8 {
        let off: Vec<f64> =
            from.iter().zip(to).map(|(p, q)| fit.apply(*p).distance(*q) / fit.scale.max(1e-12)).collect();
        weights = off.iter().zip(sure).map(|(d, w)| w / (1.0 + (d / 0.008).powi(2))).collect();
        fit = Similarity::fit(from, to, &weights);
    }
    fit
}

/// Adds what the user should know.
pub fn notes(found: &mut Found, left: &LeftOut, options: &FindOptions, model: &Model) {
    let mut add = |note: String| found.notes.push(note);
    if left.n_not_finite > 0 {
        add(format!("{} triangles with corners that are not finite are left out", left.n_not_finite));
    }
    if found.inside_out {
        add("the triangles are wound inward: the mesh is inside out, or mirrored along one axis; flip it in \
             the program that wrote it if left and right matter"
            .into());
    }
    if found.score > CLEAR {
        add(format!(
            "the mesh resembles a face only roughly ({:.1} mm off); check the landmarks, or give some",
            1000.0 * found.score
        ));
    }
    if let Some(unit) = options.meters_per_unit {
        let ratio = found.similarity.scale / unit;
        if !(0.75..1.33).contains(&ratio) {
            add(format!("with the given unit, this head is {:.2} times as large as the average", 1.0 / ratio));
        }
    }
    let far: Vec<String> = options
        .landmarks
        .iter()
        .filter_map(|g| {
            let rest = model.rest.positions[model.landmarks[g.index] as usize];
            let off = 1000.0 * found.similarity.apply(g.position).distance(rest);
            (off > 25.0).then(|| format!("'{}' by {off:.0} mm", NAMES[g.index]))
        })
        .collect();
    if !far.is_empty() {
        add(format!("given landmarks are far from where the shape of the face has them: {}", far.join(", ")));
    }
}
