//! Aligns poses with the rest: removes the rigid motion of the head, which the handles show.
//!
//! With equal weights, handles on a jaw that opens rotate the head, and the crown moves by a centimeter. So
//! handles that stay still in the examples count most. Weights are fixed when a detail is learned: weights
//! that are found for each frame anew would let the head jump between frames.

use crate::FeatureGraph;
use glam::{DVec3, Vec3};
use risorius_base::Rigid;
use risorius_mesh::FileMesh;
use risorius_mesh::query::fit::fit_rigid;

/// A handle that moves this far in the examples counts half, in distances between handles.
const STILL: f64 = 0.05;

/// The least that a handle counts, so that a rotation is always determined.
const LEAST: f64 = 1e-3;

/// Rounds of aligning all examples and weighting handles by what is left of their motion.
const ROUNDS: usize = 4;

/// A pose rigidly aligned with the rest pose.
pub(crate) struct Aligned {
    /// From the rest to the pose.
    pub(crate) carried: Rigid,
    /// Handles, aligned with the rest.
    pub(crate) handles: Vec<DVec3>,
    pub(crate) strains: Vec<f32>,
}

impl Aligned {
    /// Aligns the handles of a pose; `rest`: their rest positions; `steadiness`: how much each counts, or
    /// empty.
    pub(crate) fn new(
        rest: &[DVec3],
        handles: &[DVec3],
        steadiness: &[f32],
        features: &FeatureGraph,
    ) -> Self {
        let carried = carried(rest, handles, steadiness);
        let back = carried.inverse();
        Self {
            carried,
            handles: handles.iter().map(|&p| back.apply(p)).collect(),
            strains: features.strains(handles),
        }
    }
}

/// The rigid motion of the handles.
fn carried(rest: &[DVec3], handles: &[DVec3], steadiness: &[f32]) -> Rigid {
    if on_a_line(rest) {
        // Points on a line do not determine a rotation.
        let mean = |points: &[DVec3]| points.iter().sum::<DVec3>() / points.len().max(1) as f64;
        return Rigid { translation: mean(handles) - mean(rest), ..Rigid::IDENTITY };
    }
    match steadiness.is_empty() {
        true => fit_rigid(rest, handles, &vec![1.0; rest.len()]),
        false => fit_rigid(rest, handles, &steadiness.iter().map(|&w| f64::from(w)).collect::<Vec<_>>()),
    }
}

/// How much each handle counts, from its motion in the examples; empty without examples.
pub(crate) fn steadiness(
    mesh: &FileMesh,
    handles: &[u32],
    features: &FeatureGraph,
    examples: &[Vec<[f32; 3]>],
) -> Vec<f32> {
    let rest: Vec<DVec3> = handles.iter().map(|&v| mesh.at(v)).collect();
    let still = (STILL * features.spacing(mesh)).powi(2);
    if examples.is_empty() || !(still > 0.0 && still.is_finite()) {
        return Vec::new();
    }
    let posed = |x: &Vec<[f32; 3]>| handles.iter().map(|&v| Vec3::from(x[v as usize]).as_dvec3()).collect();
    let poses: Vec<Vec<DVec3>> = examples.iter().map(posed).collect();
    let mut weights: Vec<f32> = vec![1.0; handles.len()];
    for _ in 0..ROUNDS {
        let mut moved = vec![0.0; handles.len()];
        for pose in &poses {
            let motion = carried(&rest, pose, &weights);
            for ((sum, p), q) in moved.iter_mut().zip(&rest).zip(pose) {
                *sum += motion.apply(*p).distance_squared(*q) / poses.len() as f64;
            }
        }
        weights = moved.iter().map(|m| (still / (still + m)).max(LEAST) as f32).collect();
    }
    weights
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of handles whose lower third opens like a jaw, in examples with head motion of their own.
    #[test]
    fn a_jaw_that_opens_does_not_turn_the_head() {
        let at = |k: u32| [(k % 6) as f32 * 0.2, (k / 6) as f32 * 0.2, 0.1 * (k as f32).sin()];
        let positions: Vec<[f32; 3]> = (0..36).map(at).collect();
        let quad = |v: u32| [[v, v + 1, v + 7], [v, v + 7, v + 6]];
        let triangles = (0..30).filter(|v| v % 6 != 5).flat_map(quad).collect();
        let mesh = FileMesh { positions, triangles };
        let handles: Vec<u32> = (0..36).collect();
        let open = |amount: f32| {
            let moved =
                |p: &[f32; 3]| if p[1] < 0.3 { [p[0], p[1] - 0.3 * amount, p[2] - 0.2 * amount] } else { *p };
            mesh.positions.iter().map(moved).collect::<Vec<_>>()
        };
        let motion =
            Rigid { rotation: glam::DQuat::from_rotation_y(0.3), translation: DVec3::new(1.0, 0.2, 0.0) };
        let turned =
            open(0.8).iter().map(|p| motion.apply(Vec3::from(*p).as_dvec3()).as_vec3().to_array()).collect();
        let features = FeatureGraph::make(&mesh, &handles);
        let weights = steadiness(&mesh, &handles, &features, &[open(1.0), turned]);
        let points = |x: &[[f32; 3]]| x.iter().map(|p| Vec3::from(*p).as_dvec3()).collect::<Vec<_>>();
        let rest = points(&mesh.positions);
        let crown = |weights: &[f32]| {
            let motion = carried(&rest, &points(&open(0.5)), weights);
            motion.apply(rest[35]).distance(rest[35])
        };
        let (equal, steady) = (crown(&[]), crown(&weights));
        assert!(
            equal > 0.05 && steady < 0.1 * equal,
            "{steady} with steady handles, {equal} with all the same"
        );
        assert!(steadiness(&mesh, &handles, &features, &[]).is_empty());
    }
}
