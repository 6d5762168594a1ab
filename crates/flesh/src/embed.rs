//! Attaches the skin to the volume, in the pose that parts lips and lids [Cong16, sec. 3].
//!
//! Every skin vertex gets the element that contains it, or the nearest one, with weights of its nodes. Near
//! the corner of a mouth, the two sides of a slit can be so close to each other that one element is the
//! nearest to both, and skin attached to it would stick together. There, each side takes the nearest element
//! that lies behind its own skin instead.

use crate::flesh::SkinEmbedding;
use crate::slits::Slits;
use crate::volume::{Parts, Pose, Volume};
use glam::DVec3;
use risorius_mesh::tet::embed::{EmbedOptions, Embedding};
use risorius_mesh::{TetMesh, TriMesh};
use std::collections::{BTreeMap, BTreeSet};

/// Skin farther than this from the volume does not move with it, in meters.
const OUT_OF_REACH: f64 = 0.015;

/// Most rounds of looking for elements that the two sides of a slit do not share.
const ROUNDS: usize = 16;

/// Attaches the skin to the volume in `parted`. Also returns the mean and largest distance from the volume,
/// in mm, of visible skin that shapes move.
pub(crate) fn embed(
    parts: &Parts,
    volume: &Volume,
    slits: &Slits,
    parted: &Pose,
) -> (SkinEmbedding, [f64; 2]) {
    let own = parts.skin.rig_vertices.len();
    let mut bound =
        Embedding::prepare(&volume.mesh, &parted.skin[..own], &EmbedOptions::default(), |_, _| true);
    part_slits(&volume.mesh, parts, slits, parted, &mut bound);
    let mut rows: Vec<(u32, u32, [f32; 4])> = Vec::new();
    for (i, &v) in parts.skin.rig_vertices.iter().enumerate() {
        if bound.tets[i] != u32::MAX && bound.distances[i] < OUT_OF_REACH {
            rows.push((v, bound.tets[i], bound.weights[i].map(|w| w as f32)));
        }
    }
    let misses: Vec<f64> =
        parts.moving_vertices().iter().map(|&i| 1000.0 * bound.distances[i as usize]).collect();
    let mean = misses.iter().sum::<f64>() / misses.len().max(1) as f64;
    let embedding = SkinEmbedding {
        vertices: rows.iter().map(|r| r.0).collect(),
        tets: rows.iter().map(|r| r.1).collect(),
        weights: rows.iter().map(|r| r.2).collect(),
    };
    (embedding, [mean, misses.iter().copied().fold(0.0, f64::max)])
}

/// Attaches vertices of slit pairs that share an element to others, until no pair shares one.
fn part_slits(mesh: &TetMesh, parts: &Parts, slits: &Slits, parted: &Pose, bound: &mut Embedding) {
    let own = parts.skin.rig_vertices.len() as u32;
    let pairs: Vec<[u32; 2]> = slits.pairs.iter().filter(|p| p.iter().all(|v| *v < own)).copied().collect();
    let skin = TriMesh { positions: parted.skin.clone(), triangles: parts.skin.triangles.clone() };
    let normals = skin.vertex_normals();
    let center = |t: u32| mesh.tets[t as usize].iter().map(|&n| mesh.nodes[n as usize]).sum::<DVec3>() / 4.0;
    let mut refused: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let mut again: Vec<u32> = Vec::new();
        for pair in &pairs {
            let [a, b] = pair.map(|v| bound.tets[v as usize]);
            if a == b && a != u32::MAX {
                pair.iter().for_each(|v| {
                    refused.entry(*v).or_default().insert(a);
                });
                again.extend(pair);
            }
        }
        again.sort_unstable();
        again.dedup();
        if again.is_empty() {
            return;
        }
        let points: Vec<DVec3> = again.iter().map(|&v| skin.positions[v as usize]).collect();
        let accept = |i: usize, t: u32| {
            let behind = (center(t) - points[i]).dot(normals[again[i] as usize]) < 0.0;
            behind && !refused[&again[i]].contains(&t)
        };
        let found = Embedding::prepare(mesh, &points, &EmbedOptions::default(), accept);
        for (i, &v) in again.iter().enumerate().filter(|(i, _)| found.tets[*i] != u32::MAX) {
            let v = v as usize;
            (bound.tets[v], bound.nodes[v]) = (found.tets[i], found.nodes[i]);
            (bound.weights[v], bound.distances[v]) = (found.weights[i], found.distances[i]);
        }
    }
}
