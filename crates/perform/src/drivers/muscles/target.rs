//! Tracks that lead the simulated skin to a target: snap, morph, simulate [Cong16, sec. 5].
//!
//! The snap is the displacement from the simulated skin to the target. A harmonic field over the deformed
//! tets takes it inwards: nodes that carry outer skin have the mean snap of that skin, nodes on bone stay.
//! The field lives on the tets, not in space, so the snap of the upper lip never reaches the lower one, even
//! where they touch or overlap. The field moves the ends of all tracks; tracks lead from then on, and the
//! face is simulated again. Ends add up what is missing from iteration to iteration until the snap stops
//! falling.
//!
//! Departure: activations stay those of the raw pose. The paper takes them from the length of the muscle,
//! which adds tension where tracks shorten a muscle; here the springs supply it.

use super::{MuscleModel, MusclePose};
use crate::error::PerformError;
use glam::{DVec3, Vec3};
use risorius_anatomy::outer::OuterSkin;
use risorius_base::progress::{Progress, tick};
use risorius_mesh::TetMesh;
use risorius_muscle::MuscleShape;
use risorius_solve::{Energy, Harmonic, TetAttachment};

/// Nodes that carry less of the skin than this follow their neighbors.
const LEAST_CARRIED: f64 = 0.05;

/// Muscles whose ends move by less than this do not lead, meters.
const LEAST_MOVED: f64 = 1e-4;

/// An iteration that lowers the snap by less than this share is the last.
const LEAST_GAIN: f64 = 0.02;

/// Parts of the snap by which ends are moved, one after another until the snap falls.
const PARTS: [f64; 2] = [1.0, 0.4];

/// A target farther than this from the simulated skin is none, meters.
pub(super) const FARTHEST: f64 = 0.1;

/// Options of [`Targeting::approach`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetOptions {
    /// Most iterations, 1 or more. Default 5.
    pub iterations: usize,
    /// Snap that is near enough, root mean square, mm. Default 0.01.
    pub enough_mm: f64,
}

impl Default for TargetOptions {
    fn default() -> Self {
        Self { iterations: 5, enough_mm: 0.01 }
    }
}

/// A target that was approached.
#[derive(Debug, Clone, PartialEq)]
pub struct Targeted {
    /// The shape with its tracks; without a snap.
    pub shape: MuscleShape,
    /// The pose at the end of the path.
    pub pose: MusclePose,
    /// Root mean square and largest snap of the outer skin before, and after each iteration, mm.
    pub snaps_mm: Vec<[f64; 2]>,
}

/// The outer skin of a face in its flesh.
pub struct Targeting<'m, 'f> {
    model: &'m MuscleModel<'f>,
    /// Outer vertices that follow the flesh, with how they do.
    skin: Vec<(u32, TetAttachment)>,
    /// The part of the outer skin that each node carries.
    carried: Vec<f64>,
}

impl<'m, 'f> Targeting<'m, 'f> {
    /// Finds the outer skin.
    pub fn prepare(model: &'m MuscleModel<'f>) -> Self {
        let face = model.face();
        let pieces = &face.anatomy.pieces;
        let outer = OuterSkin::new(&pieces.positions, &pieces.skin);
        let attached = |&v: &u32| {
            let attachment = model.skin.attachment(v);
            (attachment.weights.iter().sum::<f64>() > 0.5).then_some((v, attachment))
        };
        let skin: Vec<(u32, TetAttachment)> = outer.vertices.iter().filter_map(attached).collect();
        let mut carried = vec![0.0; face.flesh.n_nodes()];
        for (_, attachment) in &skin {
            for (node, weight) in of_nodes(&face.flesh.tets, attachment) {
                carried[node] += weight;
            }
        }
        Self { model, skin, carried }
    }

    /// The displacements of the outer skin from `from` to `to`, in file units, as meters.
    fn snap(&self, from: &[[f32; 3]], to: &[[f32; 3]]) -> Vec<DVec3> {
        let si = self.model.face().rig.space.si_from_file();
        let at = |all: &[[f32; 3]], v: u32| Vec3::from(all[v as usize]).as_dvec3();
        self.skin.iter().map(|&(v, _)| si * (at(to, v) - at(from, v))).collect()
    }

    /// Root mean square and largest distance of the outer skin between two skins in file units, mm.
    pub fn distance_mm(&self, from: &[[f32; 3]], to: &[[f32; 3]]) -> [f64; 2] {
        norms_mm(&self.snap(from, to))
    }

    /// Leads muscles so that the outer skin comes to `goal`. `show`: the vertices of a pose; both in file
    /// units.
    pub fn approach(
        &self,
        start: &MuscleShape,
        goal: &[[f32; 3]],
        show: &dyn Fn(&MusclePose) -> Vec<[f32; 3]>,
        options: &TargetOptions,
        progress: &Progress,
    ) -> Result<Targeted, PerformError> {
        let model = self.model;
        let mut shape = start.clone();
        let quiet: &Progress = &|_, _| progress("targeting", 0.0);
        let mut pose = model.pose(&model.controls_of(&shape, 1.0), None, quiet)?;
        if shape.tracks.keys.is_empty() {
            shape.tracks = model.trace(&pose, quiet)?;
        }
        let mut snap = self.snap(&show(&pose), goal);
        self.check(&snap)?;
        let mut snaps_mm = vec![norms_mm(&snap)];
        for iteration in 0..options.iterations {
            tick(progress, "targeting", iteration as f32 / options.iterations as f32)?;
            let [before, _] = snaps_mm[iteration];
            if before <= options.enough_mm {
                break;
            }
            let now = (&pose, snap.as_slice());
            let Some(next) = self.improved(&shape, now, before, goal, show, quiet)? else { break };
            (shape, pose, snap) = next;
            let norms = norms_mm(&snap);
            snaps_mm.push(norms);
            if norms[0] > (1.0 - LEAST_GAIN) * before {
                break;
            }
        }
        shape.miss_mm = snaps_mm[snaps_mm.len() - 1];
        Ok(Targeted { shape, pose, snaps_mm })
    }

    /// The shape, its pose and what is left, with ends moved by the snap, or by a part of it if that lowers
    /// the snap and the whole does not; `None` if nothing does.
    fn improved(
        &self,
        shape: &MuscleShape,
        (pose, snap): (&MusclePose, &[DVec3]),
        before: f64,
        goal: &[[f32; 3]],
        show: &dyn Fn(&MusclePose) -> Vec<[f32; 3]>,
        progress: &Progress,
    ) -> Result<Option<(MuscleShape, MusclePose, Vec<DVec3>)>, PerformError> {
        let model = self.model;
        for part in PARTS {
            let by: Vec<DVec3> = snap.iter().map(|d| *d * part).collect();
            let trial = self.morphed(shape, pose, &by)?;
            let next = model.pose(&model.controls_of(&trial, 1.0), Some(pose.as_start()), progress)?;
            let left = self.snap(&show(&next), goal);
            if norms_mm(&left)[0] < before {
                return Ok(Some((trial, next, left)));
            }
        }
        Ok(None)
    }

    fn check(&self, snap: &[DVec3]) -> Result<(), PerformError> {
        let bad = |d: &DVec3| !d.is_finite() || d.length() > FARTHEST;
        match snap.iter().position(bad) {
            None => Ok(()),
            Some(i) => Err(PerformError::Target {
                vertex: self.model.face().rig.vertex_name(self.skin[i].0),
                distance_mm: 1000.0 * snap[i].length(),
            }),
        }
    }

    /// The shape with the ends of its tracks moved by the snap, taken inwards.
    fn morphed(
        &self,
        shape: &MuscleShape,
        pose: &MusclePose,
        snap: &[DVec3],
    ) -> Result<MuscleShape, PerformError> {
        let model = self.model;
        let by = model.control_offsets(&self.inwards(pose, snap)?);
        let mut shape = shape.clone();
        shape.tracks.move_ends(&by);
        let mut first = 0;
        let volumes = &model.overlap.volumes;
        for ((muscle, leads), volume) in
            model.face().anatomy.muscles.iter().zip(&mut shape.leads).zip(volumes)
        {
            let own = first..first + muscle.solid.control.len();
            *leads |= *volume > 0.0 && by[own.clone()].iter().any(|d| d.length() > LEAST_MOVED);
            first = own.end;
        }
        Ok(shape)
    }

    /// A displacement of every node: harmonic, that of the skin at nodes that carry skin, none on bone.
    fn inwards(&self, pose: &MusclePose, snap: &[DVec3]) -> Result<Vec<DVec3>, PerformError> {
        let model = self.model;
        let mut sums = vec![DVec3::ZERO; self.carried.len()];
        for ((_, attachment), d) in self.skin.iter().zip(snap) {
            for (node, weight) in of_nodes(&model.face().flesh.tets, attachment) {
                sums[node] += *d * weight;
            }
        }
        let on_bone = model.statics.held();
        let carries = |n: usize| !on_bone[n] && self.carried[n] > LEAST_CARRIED;
        let known: Vec<bool> = (0..sums.len()).map(|n| on_bone[n] || carries(n)).collect();
        let value = |n: usize| if carries(n) { sums[n] / self.carried[n] } else { DVec3::ZERO };
        let values: Vec<[f64; 3]> = (0..sums.len()).map(|n| value(n).to_array()).collect();
        // Tets between bones only may be folded.
        let mesh = TetMesh { nodes: pose.nodes.clone(), tets: model.tissue.stencils().to_vec() };
        let field = Harmonic::prepare(&mesh, &known).and_then(|harmonic| harmonic.extend(&values));
        Ok(field.map_err(super::failed)?.into_iter().map(DVec3::from_array).collect())
    }
}

/// The nodes of an attachment with positive weights.
fn of_nodes<'a>(
    tets: &'a [[u32; 4]],
    attachment: &'a TetAttachment,
) -> impl Iterator<Item = (usize, f64)> + 'a {
    let nodes = tets.get(attachment.tet as usize).into_iter().flatten();
    nodes.zip(attachment.weights).map(|(&n, w)| (n as usize, w.max(0.0)))
}

fn norms_mm(snap: &[DVec3]) -> [f64; 2] {
    let sum: f64 = snap.iter().map(|d| d.length_squared()).sum();
    let largest = snap.iter().map(|d| d.length()).fold(0.0, f64::max);
    [1000.0 * (sum / snap.len().max(1) as f64).sqrt(), 1000.0 * largest]
}
