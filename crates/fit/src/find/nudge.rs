//! Eyes and mouth of the aligned model, each shifted to where its surroundings match best.
//!
//! Alignment as a whole may leave an eye half its height off, with the upper lid on the lower one; matching
//! from there stays there. The patch around each feature (eyeball and lids, lips) is tried at shifts on a
//! grid, and the best shifts are the start of bending.

use super::model::Model;
use super::settle::Ground;
use glam::DVec3;
use rayon::prelude::*;
use risorius_anatomy::warp::Warp;
use risorius_head::landmarks::index;
use risorius_mesh::{Similarity, TriMesh};

/// A feature: landmarks around it, and how far beyond them its patch reaches, meters.
const FEATURES: [(&[&str], f64); 3] = [
    (&["eye_left_inner", "eye_left_outer", "lid_upper_left_inner", "lid_lower_left_outer"], 0.020),
    (&["eye_right_inner", "eye_right_outer", "lid_upper_right_inner", "lid_lower_right_outer"], 0.020),
    (&["mouth_left", "mouth_right", "lip_upper_middle", "lip_lower_middle"], 0.032),
];

/// Step of the grid, and steps to each side: across and up, and in depth.
const STEP: f64 = 0.0015;
const STEPS: [i32; 2] = [6, 2];
/// Mismatch that a shift of 10 mm must save.
const PRICE: f64 = 0.0006;

/// Positions of the model, `posed`, with its features shifted.
pub fn nudged(ground: &Ground, model: &Model, posed: &[DVec3]) -> Vec<DVec3> {
    let shape = TriMesh { positions: posed.to_vec(), triangles: model.rest.triangles.clone() };
    let normals = shape.vertex_normals();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    let mut far = vec![f64::INFINITY; posed.len()];
    for (names, reach) in FEATURES {
        let marks: Vec<DVec3> =
            names.iter().filter_map(|n| Some(posed[model.landmarks[index(n)?] as usize])).collect();
        let center = marks.iter().sum::<DVec3>() / marks.len().max(1) as f64;
        let patch: Vec<u32> =
            model.wide.iter().copied().filter(|&v| posed[v as usize].distance(center) < reach).collect();
        let shift = best_shift(ground, posed, &normals, &patch);
        for &v in &patch {
            if posed[v as usize].distance(center) < 0.75 * reach {
                from.push(posed[v as usize]);
                to.push(posed[v as usize] + shift);
            }
        }
        posed.iter().zip(&mut far).for_each(|(p, f)| *f = f.min(p.distance(center) / reach));
    }
    // Everything at some distance stays.
    for &v in model.wide.iter().filter(|&&v| far[v as usize] > 1.6) {
        from.push(posed[v as usize]);
        to.push(posed[v as usize]);
    }
    if from.len() < 30 {
        return posed.to_vec();
    }
    let warp = Warp::fit(Similarity::default(), &from, &to, &vec![0.02; from.len()]);
    posed.par_iter().map(|&p| warp.apply(p)).collect()
}

fn best_shift(ground: &Ground, posed: &[DVec3], normals: &[DVec3], patch: &[u32]) -> DVec3 {
    let [wide, deep] = STEPS;
    let mut shifts = Vec::new();
    for x in -wide..=wide {
        for y in -wide..=wide {
            for z in -deep..=deep {
                shifts.push(DVec3::new(f64::from(x), f64::from(y), f64::from(z)) * STEP);
            }
        }
    }
    let cost = |shift: &DVec3| {
        let miss = |&v: &u32| ground.miss(posed[v as usize] + *shift, normals[v as usize], 1.0);
        let mean = patch.iter().map(miss).sum::<f64>() / patch.len().max(1) as f64;
        mean + PRICE * (shift.length() / 0.010).powi(2)
    };
    let costs: Vec<f64> = shifts.par_iter().map(cost).collect();
    let best = (0..shifts.len()).fold(0, |b, i| if costs[i] < costs[b] { i } else { b });
    if patch.is_empty() { DVec3::ZERO } else { shifts[best] }
}
