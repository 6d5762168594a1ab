//! Where a face may be: places that protrude like the tip of a nose, at every scale, with every roll.
//!
//! The protrusion of a point is the mean depth of its surroundings, 16 to 30 mm away, below its tangent
//! plane. The tip of a nose is a maximum of it at any scale near the true one; so are chins, ears and ends of
//! hair. The model is put onto each of the best maxima, turned about the direction of protrusion in steps,
//! compared with the cloud, and the best are aligned.

use super::cloud::Cloud;
use super::model::Model;
use super::settle::{Ground, Placed, SettleOptions, settle};
use glam::{DQuat, DVec3};
use rayon::prelude::*;
use risorius_base::Rigid;
use risorius_mesh::Similarity;

/// A protruding point.
#[derive(Debug, Clone, Copy)]
struct Tip {
    at: DVec3,
    direction: DVec3,
    height: f64,
}

/// Inner and outer radius of the surroundings, and the radius over which the direction is averaged, meters.
const RING: [f64; 2] = [0.016, 0.030];
const AROUND: f64 = 0.016;
/// Tips tried at each scale.
const TIPS: usize = 24;
/// Steps of roll.
const ROLLS: usize = 16;
/// Placements aligned roughly, and of those, with identities and expressions.
const ROUGH: usize = 40;
const FINE: usize = 6;

/// The best placements of the model in a cloud, best first. `scales` are sizes of the model to try, in units
/// of the cloud per meter.
pub fn starts(cloud: &Cloud, model: &Model, scales: &[f64]) -> Vec<Placed> {
    let own = Cloud::of(&model.rest, &model.rest.vertex_normals(), 0.004, |_| true);
    let Some(nose) = tip_at(&own, model.nose_tip, 1.0) else { return Vec::new() };
    let ground = Ground::new(cloud);
    let mut tries: Vec<Placed> = Vec::new();
    for &scale in scales {
        for tip in tips(cloud, scale, nose.height) {
            let onto = DQuat::from_rotation_arc(nose.direction, tip.direction);
            for roll in 0..ROLLS {
                let angle = std::f64::consts::TAU * roll as f64 / ROLLS as f64;
                let rotation = DQuat::from_axis_angle(tip.direction, angle) * onto;
                let translation = tip.at - rotation * model.nose_tip * scale;
                let pose = Similarity { rigid: Rigid { rotation, translation }, scale };
                tries.push(Placed { pose, values: Vec::new(), miss: 0.0 });
            }
        }
    }
    let quick = Quick::prepare(model);
    tries.par_iter_mut().for_each(|t| t.miss = quick.miss(&ground, &t.pose));
    let rough = SettleOptions { rounds: 14, n_modes: 0, reach: 0.04, soft: 0.010, alike: false };
    let mut tries = distinct(tries, model, ROUGH);
    tries.par_iter_mut().for_each(|t| *t = settle(&ground, model, t.clone(), &rough));
    let fine =
        SettleOptions { rounds: 20, n_modes: model.modes.len(), reach: 0.025, soft: 0.006, alike: false };
    let mut tries = distinct(tries, model, FINE);
    tries.par_iter_mut().for_each(|t| *t = settle(&ground, model, t.clone(), &fine));
    distinct(tries, model, FINE)
}

/// The core of the model at rest, thinned, for quick comparisons.
struct Quick {
    points: Vec<(DVec3, DVec3)>,
}

impl Quick {
    fn prepare(model: &Model) -> Self {
        let normals = model.rest.vertex_normals();
        let step = (model.core.len() / 110).max(1);
        let one = |&v: &u32| (model.rest.positions[v as usize], normals[v as usize]);
        Self { points: model.core.iter().step_by(step).map(one).collect() }
    }

    fn miss(&self, ground: &Ground, pose: &Similarity) -> f64 {
        let one =
            |(p, n): &(DVec3, DVec3)| ground.miss(pose.apply(*p), pose.rigid.rotation * *n, pose.scale);
        self.points.iter().map(one).sum::<f64>() / self.points.len().max(1) as f64
    }
}

/// The best `n` of placements that differ from each other, best first.
fn distinct(mut tries: Vec<Placed>, model: &Model, n: usize) -> Vec<Placed> {
    tries.sort_by(|a, b| a.miss.total_cmp(&b.miss));
    let mut kept: Vec<Placed> = Vec::new();
    for t in tries {
        let same = |k: &Placed| {
            let size = k.pose.scale;
            (t.pose.scale / size).ln().abs() < 0.12
                && t.pose.apply(model.nose_tip).distance(k.pose.apply(model.nose_tip)) < 0.008 * size
                && t.pose.rigid.rotation.angle_between(k.pose.rigid.rotation) < 0.2
        };
        if kept.len() < n && !kept.iter().any(same) {
            kept.push(t);
        }
    }
    kept
}

/// The most protruding points at a scale, most first.
fn tips(cloud: &Cloud, scale: f64, height: f64) -> Vec<Tip> {
    let all: Vec<Option<Tip>> =
        (0..cloud.len()).into_par_iter().map(|i| tip_at(cloud, cloud.points[i], scale)).collect();
    let mut high: Vec<Tip> = all.into_iter().flatten().filter(|t| t.height > 0.45 * height * scale).collect();
    high.sort_by(|a, b| b.height.total_cmp(&a.height));
    let mut kept: Vec<Tip> = Vec::new();
    for tip in high {
        if kept.len() < TIPS && kept.iter().all(|k| k.at.distance(tip.at) > 0.012 * scale) {
            kept.push(tip);
        }
    }
    kept
}

/// The protrusion of the surface at `p`.
fn tip_at(cloud: &Cloud, p: DVec3, scale: f64) -> Option<Tip> {
    let mut direction = DVec3::ZERO;
    cloud.near(p, AROUND * scale, |j, _| direction += cloud.normals[j]);
    let direction = direction.normalize_or_zero();
    let (mut depth, mut n) = (0.0, 0usize);
    cloud.near(p, RING[1] * scale, |j, distance| {
        if distance > RING[0] * scale {
            depth += (p - cloud.points[j]).dot(direction);
            n += 1;
        }
    });
    (n >= 8 && direction != DVec3::ZERO).then(|| Tip { at: p, direction, height: depth / n as f64 })
}
