//! The aligned model, bent smoothly onto the cloud, and its landmarks read off the surface.
//!
//! In the model's space, in meters. Each round matches points of the model with the points of the cloud that
//! are alike in place and direction: the least `|dp|^2 + (T |dn|)^2` within a radius. Directions say how far
//! the surface has to slide, where distances alone do not (corners of eyes and mouth, wings of the nose). The
//! matches are smoothed by the biharmonic field of [`Warp`], from stiff to soft.

use super::cloud::Cloud;
use super::model::Model;
use super::settle::TURN;
use glam::DVec3;
use rayon::prelude::*;
use risorius_anatomy::warp::Warp;
use risorius_mesh::{Similarity, TriMesh};

/// The model on a surface.
pub struct Bent {
    /// Positions of the model's vertices.
    pub positions: Vec<DVec3>,
    /// Mismatch at each of `model.wide` in the last round, meters; `None` where no surface is near.
    pub misses: Vec<Option<f64>>,
}

/// Softness of the field, search radius and distance at which a match counts half, for each round.
const ROUNDS: [(f64, f64, f64); 9] = [
    (0.40, 0.014, 0.008),
    (0.30, 0.012, 0.007),
    (0.20, 0.012, 0.007),
    (0.15, 0.010, 0.006),
    (0.10, 0.010, 0.006),
    (0.08, 0.009, 0.005),
    (0.06, 0.008, 0.005),
    (0.05, 0.008, 0.005),
    (0.05, 0.008, 0.005),
];

/// Bends the model with the values of its modes onto `cloud`. `held` are vertices with known places.
pub fn bend(model: &Model, values: &[f64], cloud: &Cloud, held: &[(u32, DVec3)]) -> Bent {
    let base = model.pose(values);
    let mut positions = base.clone();
    let mut misses = vec![None; model.wide.len()];
    for (softness, radius, soft) in ROUNDS {
        let shape = TriMesh { positions: positions.clone(), triangles: model.rest.triangles.clone() };
        let normals = shape.vertex_normals();
        let matched: Vec<Option<(DVec3, f64)>> = model
            .wide
            .par_iter()
            .map(|&v| alike(cloud, positions[v as usize], normals[v as usize], radius))
            .collect();
        let (mut from, mut to, mut soften) = (Vec::new(), Vec::new(), Vec::new());
        for (&v, found) in model.wide.iter().zip(&matched) {
            if let Some((target, miss)) = found {
                let weight = 1.0 / (1.0 + (miss / soft).powi(2));
                from.push(base[v as usize]);
                to.push(*target);
                soften.push(softness / weight);
            }
        }
        for (v, target) in held {
            from.push(base[*v as usize]);
            to.push(*target);
            soften.push(0.02 * softness);
        }
        misses = matched.into_iter().map(|m| m.map(|(_, miss)| miss)).collect();
        if from.len() < 30 {
            break;
        }
        let warp = Warp::fit(Similarity::default(), &from, &to, &soften);
        positions = base.par_iter().map(|&p| warp.apply(p)).collect();
    }
    Bent { positions, misses }
}

/// The point of the cloud most like a point and its normal, and the mismatch.
fn alike(cloud: &Cloud, p: DVec3, normal: DVec3, radius: f64) -> Option<(DVec3, f64)> {
    let mut best: Option<(usize, f64)> = None;
    let mut nearest = f64::INFINITY;
    cloud.near(p, radius, |i, distance| {
        nearest = nearest.min(distance);
        let turned = cloud.normals[i].distance_squared(normal) * TURN * TURN;
        let miss = distance * distance + turned;
        if best.is_none_or(|(j, b)| miss < b || (miss == b && i < j)) {
            best = Some((i, miss));
        }
    });
    best.map(|(i, miss)| (cloud.points[i], miss.sqrt()))
}
