//! Closed lips and lids: pairs of skin vertices that touch in the neutral and part in some pose, and the pose
//! that parts most of them.
//!
//! The vertices of a pair are less than 3 mm apart in space and more than 15 mm apart along the surface, and
//! some slider moves them more than 5 mm apart. The volume is meshed in the pose that parts them, so that no
//! element can span a slit [Cong16, sec. 3]; afterward the same pairs verify that none does.

use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::query::bvh::Aabb;
use risorius_mesh::{Bvh, Edges, Polygons, TriMesh, within};
use risorius_rig::{Evaluator, Rig};
use std::cmp::Reverse;
use std::ops::ControlFlow;

use crate::skin::Skin;

/// Pairs are closer than this in the neutral, in meters.
pub(crate) const TOUCHING: f64 = 0.003;

/// Pairs are farther apart than this along the surface, in meters.
pub(crate) const APART_ALONG_SKIN: f64 = 0.015;

/// Some slider moves pairs farther apart than this, in meters.
pub(crate) const PARTED: f64 = 0.005;

/// Fractions of the parting pose that are tried, in order.
const LESSER_POSES: [f32; 5] = [0.4, 0.5, 0.6, 0.7, 0.8];

/// Pairs that touch in the neutral, and the pose that parts them.
#[derive(Debug, Clone, Default)]
pub struct Slits {
    /// Skin vertices, the lower index first, ascending.
    pub pairs: Vec<[u32; 2]>,
    /// Weights of the rig at which the pairs are apart; all zero when there are no pairs.
    pub parting_weights: Vec<f32>,
    /// Pairs that are [`PARTED`] there.
    pub n_parted: usize,
    /// The same pose opened wider, in order, for volumes whose elements are too large for it.
    pub wider: Vec<Vec<f32>>,
}

impl Slits {
    /// Finds the pairs and the parting pose.
    pub fn find(rig: &Rig, evaluator: &Evaluator, skin: &Skin) -> Self {
        let neutral = skin.positions(&rig.neutral);
        let touching = touching_pairs(skin, &neutral);
        let mut pose = vec![0.0; rig.sliders.len()];
        let by_slider: Vec<Vec<f64>> = (0..rig.sliders.len())
            .into_par_iter()
            .map(|s| {
                let mut weights = vec![0.0; rig.sliders.len()];
                weights[s] = rig.sliders[s].range[1].clamp(0.0, 1.0);
                distances(&skin.positions(&evaluator.positions(&weights)), &touching)
            })
            .collect();
        let keep: Vec<bool> = (0..touching.len()).map(|i| by_slider.iter().any(|d| d[i] > PARTED)).collect();
        let pairs: Vec<[u32; 2]> = touching.iter().zip(&keep).filter(|(_, k)| **k).map(|(p, _)| *p).collect();
        if pairs.is_empty() {
            return Self { pairs, parting_weights: pose, ..Self::default() };
        }
        let n_parted_at = |weights: &[f32]| {
            let positions = skin.positions(&evaluator.positions(weights));
            let posed = TriMesh { positions, triangles: skin.triangles.clone() };
            let normals = posed.vertex_normals();
            pairs.iter().filter(|p| air_between(&posed.positions, &normals, **p) > PARTED).count()
        };
        let full = |s: usize| rig.sliders[s].range[1].clamp(0.0, 1.0);
        // The slider that parts most pairs, then those that part a significant number of the rest (lids after
        // lips).
        let mut order: Vec<(usize, usize)> = (0..rig.sliders.len())
            .into_par_iter()
            .filter(|&s| by_slider[s].iter().any(|&d| d > PARTED))
            .map(|s| {
                let mut weights = vec![0.0; rig.sliders.len()];
                weights[s] = full(s);
                (n_parted_at(&weights), s)
            })
            .collect();
        order.sort_by_key(|&(n, s)| (Reverse(n), s));
        let mut n_parted = 0;
        for &(_, s) in order.iter().take(12) {
            let mut trial = pose.clone();
            trial[s] = full(s);
            let count = n_parted_at(&trial);
            if count > n_parted + pairs.len() / 20 {
                (pose, n_parted) = (trial, count);
            }
        }
        // No farther than needed, since moving to the neutral shears elements.
        let enough = n_parted - n_parted / 10;
        let lesser = |share: &f32| pose.iter().map(|w| w * share).collect::<Vec<f32>>();
        let mut poses: Vec<Vec<f32>> = LESSER_POSES.iter().map(lesser).collect();
        poses.push(pose.clone());
        let counts: Vec<usize> = poses.iter().map(|weights| n_parted_at(weights)).collect();
        let first = counts.iter().position(|&count| count >= enough).unwrap_or(LESSER_POSES.len());
        let wider = poses.split_off(first + 1);
        Self { pairs, parting_weights: poses.swap_remove(first), n_parted: counts[first], wider }
    }
}

fn distances(positions: &[DVec3], pairs: &[[u32; 2]]) -> Vec<f64> {
    pairs.iter().map(|p| positions[p[0] as usize].distance(positions[p[1] as usize])).collect()
}

/// Gap between two vertices that face each other; negative where they have passed through one another, as
/// with mouthClose when the jaw is closed.
pub(crate) fn air_between(positions: &[DVec3], normals: &[DVec3], [a, b]: [u32; 2]) -> f64 {
    let (a, b) = (a as usize, b as usize);
    let apart = positions[b] - positions[a];
    let facing = normals[a] - normals[b];
    // Neighbors around a fold face the same way.
    if facing.length() > 0.5 {
        apart.dot(facing.normalize()).signum() * apart.length()
    } else {
        apart.length()
    }
}

/// Pairs closer than [`TOUCHING`] that are not neighbors along the skin.
fn touching_pairs(skin: &Skin, neutral: &[DVec3]) -> Vec<[u32; 2]> {
    let own = skin.rig_vertices.len();
    let points: Vec<[f32; 3]> = neutral[..own].iter().map(|p| p.as_vec3().to_array()).collect();
    let tree = Bvh::of_points(&points);
    let ways = Ways::prepare(skin, neutral);
    let found: Vec<Vec<[u32; 2]>> = (0..own as u32)
        .into_par_iter()
        .map(|a| {
            let p = neutral[a as usize];
            let reach = glam::Vec3::splat(TOUCHING as f32);
            let around = Aabb { min: p.as_vec3() - reach, max: p.as_vec3() + reach };
            let mut near = Vec::new();
            let _ = tree.overlapping(&around, |b| {
                if b > a && neutral[b as usize].distance(p) < TOUCHING && !ways.share_edge(a, b) {
                    near.push(b);
                }
                ControlFlow::Continue(())
            });
            if near.is_empty() {
                return Vec::new();
            }
            near.sort_unstable();
            let close = ways.within(a, APART_ALONG_SKIN);
            near.into_iter().filter(|b| close.binary_search(b).is_err()).map(|b| [a, b]).collect()
        })
        .collect();
    found.concat()
}

/// The skin's edges with their lengths, for paths along the surface.
struct Ways {
    first: Vec<u32>,
    to: Vec<(u32, f64)>,
}

impl Ways {
    fn prepare(skin: &Skin, positions: &[DVec3]) -> Self {
        let edges = Edges::of(&Polygons::from_triangles(&skin.triangles));
        let mut list: Vec<(u32, u32)> = Vec::with_capacity(2 * edges.len());
        for e in 0..edges.len() {
            let [a, b] = edges.vertices(e);
            list.extend([(a, b), (b, a)]);
        }
        list.sort_unstable();
        let mut first = vec![0u32; skin.n_vertices() + 1];
        for &(a, _) in &list {
            first[a as usize + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let to =
            list.iter().map(|&(a, b)| (b, positions[a as usize].distance(positions[b as usize]))).collect();
        Self { first, to }
    }

    fn from(&self, v: u32) -> &[(u32, f64)] {
        &self.to[self.first[v as usize] as usize..self.first[v as usize + 1] as usize]
    }

    fn share_edge(&self, a: u32, b: u32) -> bool {
        self.from(a).iter().any(|w| w.0 == b)
    }

    /// All vertices within the path length `reach` along edges, ascending.
    fn within(&self, start: u32, reach: f64) -> Vec<u32> {
        within(start, reach, |v| self.from(v).iter().copied()).into_keys().collect()
    }
}
