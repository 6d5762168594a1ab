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

/// A mesh on a surface.
pub struct Bent {
    /// Positions of the vertices.
    pub positions: Vec<DVec3>,
    /// Mismatch at each sample in the last round, meters; `None` where no surface is near.
    pub misses: Vec<Option<f64>>,
}

/// A round of matching.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Of the field; see [`Warp::fit`].
    pub softness: f64,
    /// Search radius, meters.
    pub radius: f64,
    /// Distance at which a match counts half, meters.
    pub soft: f64,
}

impl Round {
    /// Softness, radius and distance of half weight.
    pub const fn new(softness: f64, radius: f64, soft: f64) -> Self {
        Self { softness, radius, soft }
    }
}

/// For reading landmarks.
const ROUNDS: [Round; 9] = [
    Round::new(0.40, 0.014, 0.008),
    Round::new(0.30, 0.012, 0.007),
    Round::new(0.20, 0.012, 0.007),
    Round::new(0.15, 0.010, 0.006),
    Round::new(0.10, 0.010, 0.006),
    Round::new(0.08, 0.009, 0.005),
    Round::new(0.06, 0.008, 0.005),
    Round::new(0.05, 0.008, 0.005),
    Round::new(0.05, 0.008, 0.005),
];

/// Bends the model with the values of its modes onto `cloud`, from `start`. `held` are vertices with known
/// places.
pub fn bend(model: &Model, values: &[f64], start: Vec<DVec3>, cloud: &Cloud, held: &[(u32, DVec3)]) -> Bent {
    let base = TriMesh { positions: model.pose(values), triangles: model.rest.triangles.clone() };
    pull(&base, start, &model.wide, cloud, &|_, _| true, held, &ROUNDS)
}

/// Pulls `base`, which `start` has brought near, onto `cloud`: `samples` are the vertices that are matched,
/// with those points of the cloud that `allowed` (number of the sample, number of the point) takes.
pub fn pull(
    base: &TriMesh,
    start: Vec<DVec3>,
    samples: &[u32],
    cloud: &Cloud,
    allowed: &(dyn Fn(usize, usize) -> bool + Sync),
    held: &[(u32, DVec3)],
    rounds: &[Round],
) -> Bent {
    let mut positions = start;
    let mut misses = vec![None; samples.len()];
    for Round { softness, radius, soft } in rounds {
        let shape = TriMesh { positions: positions.clone(), triangles: base.triangles.clone() };
        let normals = shape.vertex_normals();
        let matched: Vec<Option<(DVec3, f64)>> = samples
            .par_iter()
            .enumerate()
            .map(|(k, &v)| {
                let (p, n) = (positions[v as usize], normals[v as usize]);
                alike(cloud, p, n, *radius, &|i| allowed(k, i)).map(|(i, miss)| (cloud.points[i], miss))
            })
            .collect();
        let (mut from, mut to, mut soften) = (Vec::new(), Vec::new(), Vec::new());
        for (&v, found) in samples.iter().zip(&matched) {
            if let Some((target, miss)) = found {
                let weight = 1.0 / (1.0 + (miss / soft).powi(2));
                from.push(base.positions[v as usize]);
                to.push(*target);
                soften.push(softness / weight);
            }
        }
        for (v, target) in held {
            from.push(base.positions[*v as usize]);
            to.push(*target);
            soften.push(0.02 * softness);
        }
        misses = matched.into_iter().map(|m| m.map(|(_, miss)| miss)).collect();
        if from.len() < 30 {
            break;
        }
        let warp = Warp::fit(Similarity::default(), &from, &to, &soften);
        positions = base.positions.par_iter().map(|&p| warp.apply(p)).collect();
    }
    Bent { positions, misses }
}

/// The point of the cloud most like a point and its normal, and the mismatch.
fn alike(
    cloud: &Cloud,
    p: DVec3,
    normal: DVec3,
    radius: f64,
    allowed: &dyn Fn(usize) -> bool,
) -> Option<(usize, f64)> {
    most_alike(cloud, p, normal, radius, TURN, allowed)
}

/// The point of the cloud most like a point and its normal, where a difference of directions by one counts as
/// the distance `turn`, among those whose directions have a cosine of at least `least_cos`.
pub fn alike_within(
    cloud: &Cloud,
    p: DVec3,
    normal: DVec3,
    radius: f64,
    turn: f64,
    least_cos: f64,
) -> Option<usize> {
    let agrees = |i: usize| cloud.normals[i].dot(normal) >= least_cos;
    most_alike(cloud, p, normal, radius, turn, &agrees).map(|(i, _)| i)
}

fn most_alike(
    cloud: &Cloud,
    p: DVec3,
    normal: DVec3,
    radius: f64,
    turn: f64,
    allowed: &dyn Fn(usize) -> bool,
) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    cloud.near(p, radius, |i, distance| {
        let turned = cloud.normals[i].distance_squared(normal) * turn * turn;
        let miss = distance * distance + turned;
        if best.is_none_or(|(j, b)| miss < b || (miss == b && i < j)) && allowed(i) {
            best = Some((i, miss));
        }
    });
    best.map(|(i, miss)| (i, miss.sqrt()))
}
