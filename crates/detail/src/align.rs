//! Aligns poses with the rest: the rigid motion of the head, from the handles.

use crate::FeatureGraph;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::Rigid;
use risorius_mesh::FileMesh;
use risorius_mesh::query::fit::fit_rigid;

/// A handle that moves this far against the others counts half in the alignment of a pose, relative to the
/// mean distance of handles from their middle; and rounds of weighting.
const STEADY: f64 = 0.02;
const STEADY_ROUNDS: usize = 4;

/// Largest number of poses whose motions are kept.
const MOST_POSES: usize = 24;

/// A pose rigidly aligned with the rest pose.
pub(crate) struct Aligned {
    /// From the rest to the pose.
    pub(crate) carried: Rigid,
    /// Handles, aligned with the rest.
    pub(crate) handles: Vec<DVec3>,
    pub(crate) strains: Vec<f32>,
}

impl Aligned {
    /// Handles that are already in the space of the rest, as those of markers without head motion.
    pub(crate) fn as_is(handles: &[DVec3], features: &FeatureGraph) -> Self {
        Self { carried: Rigid::IDENTITY, handles: handles.to_vec(), strains: features.strains(handles) }
    }

    /// Aligns the handles of a pose; `rest`: their rest positions.
    pub(crate) fn new(rest: &[DVec3], handles: &[DVec3], features: &FeatureGraph) -> Self {
        let carried = if on_a_line(rest) {
            // Points on a line do not determine a rotation.
            let mean = |points: &[DVec3]| points.iter().sum::<DVec3>() / points.len().max(1) as f64;
            Rigid { translation: mean(handles) - mean(rest), ..Rigid::IDENTITY }
        } else {
            steady_fit(rest, handles)
        };
        let back = carried.inverse();
        Self {
            carried,
            handles: handles.iter().map(|&p| back.apply(p)).collect(),
            strains: features.strains(handles),
        }
    }
}

/// The rigid motion that most handles agree on. Those that move against the others, like a jaw that opens,
/// get little weight; with equal weights they would rotate the head. The number of rounds is fixed, so the
/// result depends smoothly on the handles.
fn steady_fit(rest: &[DVec3], handles: &[DVec3]) -> Rigid {
    let mean = rest.iter().sum::<DVec3>() / rest.len().max(1) as f64;
    let square = rest.iter().map(|p| p.distance_squared(mean)).sum::<f64>() / rest.len().max(1) as f64;
    let still = (STEADY * STEADY * square).max(f64::MIN_POSITIVE);
    let mut carried = fit_rigid(rest, handles, &vec![1.0; rest.len()]);
    for _ in 0..STEADY_ROUNDS {
        let off = |(p, q): (&DVec3, &DVec3)| carried.apply(*p).distance_squared(*q);
        let weights: Vec<f64> = rest.iter().zip(handles).map(|both| still / (still + off(both))).collect();
        carried = fit_rigid(rest, handles, &weights);
    }
    carried
}

fn on_a_line(points: &[DVec3]) -> bool {
    let Some(&first) = points.first() else { return true };
    let far = |from: DVec3| {
        points.iter().map(|p| *p - from).fold(DVec3::ZERO, |m, d| if d.length() > m.length() { d } else { m })
    };
    let along = far(first);
    let aside = points
        .iter()
        .map(|p| (*p - first).reject_from(along.normalize_or_zero()).length())
        .fold(0.0, f64::max);
    aside <= 1e-3 * along.length()
}

/// The motion of every vertex in some of the poses, well spread, aligned with the rest by the handles.
pub(crate) fn motions(
    mesh: &FileMesh,
    handles: &[u32],
    features: &FeatureGraph,
    poses: &[Vec<[f32; 3]>],
) -> Vec<Vec<Vec3>> {
    let rest: Vec<DVec3> = handles.iter().map(|&v| mesh.at(v)).collect();
    let one = |positions: &Vec<[f32; 3]>| {
        let at = |v: u32| Vec3::from(positions[v as usize]).as_dvec3();
        let moved: Vec<DVec3> = handles.iter().map(|&v| at(v)).collect();
        let back = Aligned::new(&rest, &moved, features).carried.inverse();
        (0..mesh.n_vertices() as u32).map(|v| (back.apply(at(v)) - mesh.at(v)).as_vec3()).collect()
    };
    let step = poses.len().div_ceil(MOST_POSES).max(1);
    poses.par_iter().step_by(step).map(one).collect()
}
