//! Blendvolumes: the volume of every shape [Kozlov17, sec. 6.1], and the effect of pairs of shapes on it.
//!
//! Shapes are independent of each other and are solved in parallel. Combinations are solved after their
//! drivers, because their volume is the difference to the sum of the drivers' volumes. Finished shapes are
//! saved in a [`ShapeStore`] under a key that hashes everything they depend on.

use crate::face::{PairReport, ShapeReport};
use crate::flesh::{Flesh, SkinEmbedding, VolumeShape};
use crate::follow::Follower;
use crate::rest::{LEAST_J, RestVolumes};
use crate::store::ShapeStore;
use crate::volume::{Parts, Pose};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::Fingerprint;
use risorius_base::progress::{Progress, tick};
use risorius_rig::Role;
use risorius_solve::SolveError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Version of the method, part of every key: increase it when results change.
const METHOD: u64 = 1;

/// Number of pairs on which the repair is tested, the worst first; evaluation repairs any pair.
const REPAIRS_TRIED: usize = 32;

/// Displacements below this are not stored, in meters.
const LEAST_OFFSET: f64 = 1e-7;

/// Solves the volumes of all shapes of the rig.
pub fn blendvolumes(
    parts: &Parts,
    follower: &Follower,
    embedding: &SkinEmbedding,
    store: &dyn ShapeStore,
    progress: &Progress,
) -> Result<Vec<(VolumeShape, ShapeReport)>, SolveError> {
    let n = parts.rig.shapes.len();
    let alone = |i: usize| !matches!(parts.rig.shapes[i].role, Role::Combination { .. });
    let base = follower_key(follower);
    let done = AtomicUsize::new(0);
    let solve = |i: usize, before: &[VolumeShape]| -> Result<(VolumeShape, ShapeReport), SolveError> {
        tick(progress, "shapes", done.fetch_add(1, Ordering::Relaxed) as f32 / n as f32)?;
        let drivers = drivers(parts, i);
        let mut strengths = vec![0.0; n];
        strengths[i] = 1.0;
        drivers.iter().for_each(|&d| strengths[d] = 1.0);
        let pose = parts.pose_of(strengths);
        let key = key_of(base, &pose);
        if let Some(found) = store.load(key) {
            return Ok(found);
        }
        let cancel = |_: &str, _: f32| progress("shapes", done.load(Ordering::Relaxed) as f32 / n as f32);
        let followed = follower.follow(&pose, &cancel)?;
        let mut offsets: Vec<DVec3> =
            followed.positions.iter().zip(follower.rest()).map(|(x, r)| *x - *r).collect();
        let fit_mm = fit(parts, embedding, follower.tets(), &offsets, &pose);
        for shape in drivers.iter().map(|&d| &before[d]) {
            for (&node, &offset) in shape.nodes.iter().zip(shape.offsets.iter()) {
                offsets[node as usize] -= glam::Vec3::from(offset).as_dvec3();
            }
        }
        let report = ShapeReport {
            name: parts.rig.shapes[i].name.clone(),
            fit_mm,
            least_j: followed.least_j,
            n_untangled: followed.n_untangled,
            iterations: followed.iterations,
        };
        let shape = sparse(&offsets);
        store.save(key, &shape, &report);
        Ok((shape, report))
    };
    let mut out: Vec<(VolumeShape, ShapeReport)> = vec![Default::default(); n];
    for wanted in [true, false] {
        let before: Vec<VolumeShape> = out.iter().map(|o| o.0.clone()).collect();
        let indices: Vec<usize> = (0..n).filter(|&i| alone(i) == wanted).collect();
        let solved: Result<Vec<_>, SolveError> =
            indices.par_iter().with_max_len(1).map(|&i| solve(i, &before)).collect();
        for (i, result) in indices.into_iter().zip(solved?) {
            out[i] = result;
        }
    }
    Ok(out)
}

/// The full shapes of a combination's drivers.
fn drivers(parts: &Parts, shape: usize) -> Vec<usize> {
    match &parts.rig.shapes[shape].role {
        Role::Combination { drivers, .. } => {
            drivers.iter().map(|d| parts.rig.sliders[d.slider].shape).collect()
        }
        _ => Vec::new(),
    }
}

fn sparse(offsets: &[DVec3]) -> VolumeShape {
    let nodes: Vec<u32> =
        (0..offsets.len() as u32).filter(|&i| offsets[i as usize].length() > LEAST_OFFSET).collect();
    let offsets = nodes.iter().map(|&i| offsets[i as usize].as_vec3().to_array()).collect();
    VolumeShape { nodes: nodes.into(), offsets }
}

/// Mean and largest distance in mm between the visible skin as moved by the volume and by the artist's shape,
/// over the vertices that move.
fn fit(
    parts: &Parts,
    embedding: &SkinEmbedding,
    tets: &[[u32; 4]],
    offsets: &[DVec3],
    pose: &Pose,
) -> [f64; 2] {
    let neutral = parts.skin.positions(&parts.rig.neutral);
    let carried = embedding.apply(tets, offsets);
    let misses: Vec<f64> = embedding
        .vertices
        .iter()
        .zip(&carried)
        .filter_map(|(v, carried)| {
            let i = parts.skin.rig_vertices.binary_search(v).ok().filter(|&i| parts.outer[i])?;
            let moved = pose.skin[i] - neutral[i];
            (moved.length() > 1e-5).then(|| 1000.0 * moved.distance(*carried))
        })
        .collect();
    [misses.iter().sum::<f64>() / misses.len().max(1) as f64, misses.iter().copied().fold(0.0, f64::max)]
}

/// Blends every pair of sliders at their full shapes, and tests the repair on the worst of those that invert.
pub fn pairs(flesh: &Flesh, parts: &Parts, progress: &Progress) -> Result<PairReport, SolveError> {
    let rest = RestVolumes::prepare(flesh)?;
    let full: Vec<usize> = parts.rig.sliders.iter().map(|s| s.shape).collect();
    let all: Vec<[usize; 2]> =
        (0..full.len()).flat_map(|a| (a + 1..full.len()).map(move |b| [a, b])).collect();
    let strengths = |pair: &[usize; 2]| {
        let mut strengths = vec![0.0; parts.rig.shapes.len()];
        pair.iter().for_each(|&s| strengths[full[s]] = 1.0);
        strengths
    };
    let done = AtomicUsize::new(0);
    let advance = |of: usize| {
        let count = done.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(16) { tick(progress, "pairs", count as f32 / of as f32) } else { Ok(()) }
    };
    let worst: Result<Vec<f64>, SolveError> = all
        .par_iter()
        .map(|pair| {
            advance(all.len() + REPAIRS_TRIED)?;
            let moves = pair.iter().all(|&s| !flesh.volumes[full[s]].nodes.is_empty());
            Ok(if moves { rest.worst(&rest.blend(&strengths(pair))).0 } else { f64::INFINITY })
        })
        .collect();
    let mut bad: Vec<(f64, [usize; 2])> = worst?.into_iter().zip(all.iter().copied()).collect();
    bad.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let names = |pair: &[usize; 2]| pair.map(|s| parts.rig.sliders[s].name.clone());
    let mut report = PairReport { n_pairs: all.len(), ..PairReport::default() };
    report.worst = bad.first().filter(|b| b.0.is_finite()).map(|b| (names(&b.1), b.0));
    bad.retain(|b| b.0 < LEAST_J);
    report.n_inverting = bad.len();
    bad.truncate(REPAIRS_TRIED);
    report.n_tried = bad.len();
    let whole: Result<Vec<bool>, SolveError> = bad
        .par_iter()
        .with_max_len(1)
        .map(|(_, pair)| {
            advance(all.len() + REPAIRS_TRIED)?;
            Ok(rest.at(&strengths(pair))?.share == 1.0)
        })
        .collect();
    for ((_, pair), whole) in bad.iter().zip(whole?) {
        report.n_repaired += usize::from(whole);
        if !whole {
            report.unrepaired.push(names(pair));
        }
    }
    Ok(report)
}

fn vectors(hash: Fingerprint, points: &[DVec3]) -> Fingerprint {
    hash.numbers(points.iter().flat_map(|p| p.to_array()))
}

/// Everything but the pose that a followed shape depends on.
fn follower_key(follower: &Follower) -> Fingerprint {
    let method = Fingerprint::default().bytes(&METHOD.to_le_bytes());
    let bounds: Vec<u8> = follower.bounds().iter().map(|b| *b as u8).collect();
    let volume = vectors(method.bytes(bytemuck::cast_slice(follower.tets())).bytes(&bounds), follower.rest());
    follower.bones().iter().fold(volume, |hash, bone| vectors(hash, &bone.positions))
}

fn key_of(base: Fingerprint, pose: &Pose) -> u128 {
    let jaw = base.numbers(pose.jaw.rotation.to_array());
    vectors(vectors(jaw, &[pose.jaw.translation]), &pose.skin).value()
}
