//! Blendvolumes: the volume of every shape [Kozlov17, sec. 6.1].
//!
//! Shapes are independent of each other and are solved in parallel. Combinations are solved after their
//! drivers, because their volume is the difference to the sum of the drivers' volumes. In the same way,
//! shapes that cannot be matched because they push closed lips through each other, as mouthClose does with
//! the jaw shut, are solved on top of the sliders that part them, which is how they are used. Finished shapes
//! are saved in a [`ShapeStore`] under a key that hashes everything they depend on.

use crate::face::ShapeReport;
use crate::flesh::{SkinEmbedding, VolumeShape};
use crate::follow::Follower;
use crate::slits::{Slits, air_between};
use crate::store::ShapeStore;
use crate::volume::{Parts, Pose};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::Fingerprint;
use risorius_base::progress::{Progress, tick};
use risorius_mesh::TriMesh;
use risorius_rig::Role;
use risorius_solve::SolveError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Version of the method, part of every key: increase it when results change.
const METHOD: u64 = 5;

/// Pairs across slits have passed through each other if they overlap by this, in meters.
const CROSSED: f64 = 0.003;

/// A shape that does this to more than this share of all pairs may be solved with the slits apart.
const CROSSED_SHARE: f64 = 0.5;

/// A shape is not matched if the skin is farther than this from it on average, in mm.
const MISSED_MM: f64 = 0.4;

/// Displacements below this are not stored, in meters.
const LEAST_OFFSET: f64 = 1e-7;

/// Solves the volumes of all shapes of the rig.
pub fn blendvolumes(
    parts: &Parts,
    follower: &Follower,
    embedding: &SkinEmbedding,
    slits: &Slits,
    store: &dyn ShapeStore,
    progress: &Progress,
) -> Result<Vec<(VolumeShape, ShapeReport)>, SolveError> {
    let n = parts.rig.shapes.len();
    let base = follower_key(follower).bytes(bytemuck::cast_slice(&embedding.weights[..]));
    let done = AtomicUsize::new(0);
    let share = |count: usize| (count as f32 / n as f32).min(1.0);
    let solve = |i: usize, drivers: &[usize], before: &[VolumeShape]| -> Result<Solved, SolveError> {
        tick(progress, "shapes", share(done.fetch_add(1, Ordering::Relaxed)))?;
        let pose = parts.pose_of(with(drivers, i, n));
        let key = key_of(base, &pose, drivers);
        if let Some(found) = store.load(key) {
            return Ok(found);
        }
        let cancel = |_: &str, _: f32| progress("shapes", share(done.load(Ordering::Relaxed)));
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
        let shape = sparse(&offsets, LEAST_OFFSET);
        store.save(key, &shape, &report);
        Ok((shape, report))
    };
    let mut out: Vec<Solved> = vec![Default::default(); n];
    for stage in [Stage::Alone, Stage::Parted, Stage::Combined] {
        let before: Vec<VolumeShape> = out.iter().map(|o| o.0.clone()).collect();
        let wanted: Vec<(usize, Vec<usize>)> = (0..n)
            .into_par_iter()
            .filter_map(|i| Some((i, drivers(parts, slits, i, stage, &out[i].1)?)))
            .collect();
        let solved: Result<Vec<Solved>, SolveError> =
            wanted.par_iter().with_max_len(1).map(|(i, drivers)| solve(*i, drivers, &before)).collect();
        for ((i, _), result) in wanted.into_iter().zip(solved?) {
            if stage != Stage::Parted || result.1.fit_mm[0] < 0.5 * out[i].1.fit_mm[0] {
                out[i] = result;
            }
        }
    }
    Ok(out)
}

/// A volume and how well it follows its shape.
type Solved = (VolumeShape, ShapeReport);

/// The order in which shapes are solved.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// Everything but combinations, alone.
    Alone,
    /// Again with the slits parted, if a shape is not matched because it pushes lips through each other.
    Parted,
    /// Combinations, on top of their drivers.
    Combined,
}

/// The shapes at full strength on top of which a shape is solved at a stage; `None` if it is not.
fn drivers(
    parts: &Parts,
    slits: &Slits,
    shape: usize,
    stage: Stage,
    report: &ShapeReport,
) -> Option<Vec<usize>> {
    let rig = parts.rig;
    let of_slider = |slider: usize| rig.sliders[slider].shape;
    match (&rig.shapes[shape].role, stage) {
        (Role::Combination { drivers, .. }, Stage::Combined) => {
            Some(drivers.iter().map(|d| of_slider(d.slider)).collect())
        }
        (Role::Combination { .. }, _) | (_, Stage::Combined) => None,
        (_, Stage::Alone) => Some(Vec::new()),
        (_, Stage::Parted) => {
            let apart = |slider: &usize| slits.parting_weights.get(*slider).is_some_and(|w| *w > 0.0);
            let parting: Vec<usize> = (0..rig.sliders.len()).filter(apart).map(of_slider).collect();
            let missed = report.fit_mm[0] > MISSED_MM && !parting.is_empty() && !parting.contains(&shape);
            let pose = || parts.pose_of(with(&[], shape, rig.shapes.len()));
            let crosses =
                || n_crossed(parts, slits, pose()) as f64 > CROSSED_SHARE * slits.pairs.len() as f64;
            (missed && crosses()).then_some(parting)
        }
    }
}

/// Strengths with some shapes at 1.
fn with(shapes: &[usize], and: usize, n: usize) -> Vec<f64> {
    let mut strengths = vec![0.0; n];
    shapes.iter().chain([&and]).for_each(|&s| strengths[s] = 1.0);
    strengths
}

/// Number of slit pairs that have passed through each other.
fn n_crossed(parts: &Parts, slits: &Slits, pose: Pose) -> usize {
    let posed = TriMesh { positions: pose.skin, triangles: parts.skin.triangles.clone() };
    let normals = posed.vertex_normals();
    slits.pairs.iter().filter(|p| air_between(&posed.positions, &normals, **p) < -CROSSED).count()
}

/// The displacements that are longer than `least`, in meters.
pub(crate) fn sparse(offsets: &[DVec3], least: f64) -> VolumeShape {
    let nodes: Vec<u32> =
        (0..offsets.len() as u32).filter(|&i| offsets[i as usize].length() > least).collect();
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

fn key_of(base: Fingerprint, pose: &Pose, drivers: &[usize]) -> u128 {
    let drivers = drivers.iter().fold(base, |hash, d| hash.bytes(&(*d as u64).to_le_bytes()));
    let jaw = drivers.numbers(pose.jaw.rotation.to_array());
    vectors(vectors(jaw, &[pose.jaw.translation]), &pose.skin).value()
}
