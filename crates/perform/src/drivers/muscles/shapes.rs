//! Shapes of a rig made by muscles: from activations to tracks, at places of their paths, and blended.
//!
//! In-betweens of a shape interpolate its controls, so that every point follows a curved path; simulations at
//! [`KEYS`] places give the tracks of the control points [Cong16, sec. 3]. Several shapes are blended as
//! blendshapes: their activations, jaws and tracks add up [Cong16, sec. 7]. The jaw stays within its limits,
//! activations within 0 to 1.
//!
//! What muscles do not move is the artist's: eyes, ears, skin without flesh. Teeth and tongue keep what the
//! artist does to them beyond the motion of the jaw.

use super::inverse::{Inverse, Solved};
use super::target::FARTHEST;
use super::{Controls, JawPose, Lead, MuscleModel, MusclePose};
use crate::error::PerformError;
use glam::{DVec3, Vec3};
use risorius_anatomy::PieceKind;
use risorius_base::{Progress, Rigid};
use risorius_mesh::query::fit::fit_rigid;
use risorius_muscle::{MuscleShape, Snap, Tracks};
use risorius_rig::{Evaluator, meters};

/// Places of a path at which it is simulated.
pub const KEYS: usize = 4;

/// Most rounds of contact detection for them.
const WAY_ROUNDS: usize = 2;

/// Slider values at which a muscle shape is blended, with the shape.
pub type Blend<'s> = Vec<(&'s MuscleShape, f64)>;

impl MuscleModel<'_> {
    /// Controls at a place of a shape's path: 0 is the neutral, 1 the shape.
    pub fn controls_of(&self, shape: &MuscleShape, place: f64) -> Controls {
        self.blended(&[(shape, place)])
    }

    /// The controls of shapes at places of their paths, added up. Negative places count as 0.
    pub fn blended(&self, shapes: &[(&MuscleShape, f64)]) -> Controls {
        let mut controls = self.relaxed();
        let mut jaw = [0.0; 3];
        let mut lead = Lead { to: Vec::new(), shares: vec![0.0; self.names.len()] };
        for &(shape, place) in shapes.iter().filter(|(_, place)| *place > 0.0) {
            for (sum, a) in controls.activations.iter_mut().zip(&shape.activations) {
                *sum += place * a;
            }
            jaw.iter_mut().zip(shape.jaw).for_each(|(sum, j)| *sum += place * j);
            for (share, _) in lead.shares.iter_mut().zip(&shape.leads).filter(|(_, leads)| **leads) {
                *share = f64::min(1.0, *share + place);
            }
        }
        if lead.shares.iter().any(|&s| s > 0.0) {
            lead.to = vec![DVec3::ZERO; self.control.len()];
            for &(shape, place) in shapes.iter().filter(|(_, place)| *place > 0.0) {
                lead.to.iter_mut().zip(shape.tracks.at(place)).for_each(|(sum, d)| *sum += d);
            }
            controls.lead = lead;
        }
        controls.activations.iter_mut().for_each(|a| *a = a.clamp(0.0, 1.0));
        for (value, [low, high]) in jaw.iter_mut().zip(JawPose::LIMITS) {
            *value = value.clamp(low, high);
        }
        controls.jaw = JawPose::from_array(jaw);
        controls
    }

    /// The muscle shapes of the face that a slider has, at these slider values.
    pub fn shapes_at(&self, weights: &[f32]) -> Blend<'_> {
        let sliders = self.face.rig.sliders.iter().zip(weights);
        let of = |shape: usize| self.face.muscle_shapes.iter().find(|s| s.shape as usize == shape);
        sliders.filter(|(_, w)| **w > 0.0).filter_map(|(s, &w)| Some((of(s.shape)?, w.into()))).collect()
    }

    /// The tracks of all control points to a pose without leading muscles. Places on the way are simulated
    /// from each other, near to rest.
    pub fn trace(&self, end: &MusclePose, progress: &Progress) -> Result<Tracks, PerformError> {
        let mut tracks = Tracks::default();
        let mut before: Option<MusclePose> = None;
        for key in 1..KEYS {
            let place = key as f64 / KEYS as f64;
            let jaw = JawPose::from_array(end.controls.jaw.to_array().map(|j| place * j));
            let activations = end.controls.activations.iter().map(|a| place * a).collect();
            let controls = Controls { activations, jaw, lead: Lead::default() };
            let start = before.as_ref().map(MusclePose::as_start);
            let pose = self.pose_in(&controls, start, None, WAY_ROUNDS, progress)?;
            tracks.keys.push(self.track_points(&pose));
            before = Some(pose);
        }
        tracks.keys.push(self.track_points(end));
        Ok(tracks)
    }

    /// The displacements of the control points in a pose.
    fn track_points(&self, pose: &MusclePose) -> Vec<[f32; 3]> {
        let moved = self.control_offsets(&self.offsets(pose));
        moved.into_iter().map(|d| d.as_vec3().to_array()).collect()
    }

    /// The artist's vertices in a pose, where muscles do not act as in `artist`; in file units. `jaw`: the
    /// motion that the artist gave the jaw.
    pub fn skin_among(&self, pose: &MusclePose, artist: &[[f32; 3]], jaw: &Rigid) -> Vec<[f32; 3]> {
        let mut vertices = self.skin.unmoved(&self.neutral, artist);
        let back = self.jaw(&pose.controls).after(&jaw.inverse());
        let space = &self.face.rig.space;
        let (si, file) = (space.si_from_file(), space.file_from_si());
        for &v in &self.with_jaw {
            let p = si * Vec3::from(artist[v as usize]).as_dvec3();
            vertices[v as usize] = (file * back.apply(p)).as_vec3().to_array();
        }
        self.skin.add(&self.offsets(pose), &mut vertices);
        vertices
    }

    /// The artist's skin of a slider at full value, and the motion of the jaw in it.
    pub fn artist_shape(&self, evaluator: &Evaluator, shape: usize) -> (Vec<[f32; 3]>, Rigid) {
        let rig = &self.face.rig;
        let mut weights = vec![0.0; rig.sliders.len()];
        if let Some(slider) = rig.sliders.iter().position(|s| s.shape == shape) {
            weights[slider] = 1.0;
        }
        let strengths: Vec<f64> = evaluator.strengths(&weights).iter().map(|&c| c.into()).collect();
        (evaluator.positions(&weights), self.face.anatomy.jaw(&strengths))
    }

    /// The position of the joint nearest to a motion of the jaw.
    pub fn jaw_nearest(&self, motion: &Rigid) -> JawPose {
        let bones = &self.face.anatomy.bones;
        let points: Vec<DVec3> = bones.mandible.positions.iter().step_by(37).copied().collect();
        JawPose::nearest(motion, &bones.joint, &points)
    }
}

impl Inverse<'_, '_> {
    /// Finds the controls of a slider's shape, and traces them.
    pub fn solve_shape(
        &self,
        evaluator: &Evaluator,
        shape: usize,
        progress: &Progress,
    ) -> Result<(MuscleShape, Solved), PerformError> {
        let model = self.model();
        let (artist, motion) = model.artist_shape(evaluator, shape);
        let moved = meters::displacements(&model.face.rig, shape);
        let target: Vec<DVec3> = self.marks.vertices.iter().map(|&v| moved[v as usize]).collect();
        let solved = self.solve(&target, model.jaw_nearest(&motion), progress)?;
        let skin = model.skin_among(&solved.pose, &artist, &motion);
        let made =
            MuscleShape { snap: Snap::between(&skin, &artist), ..self.as_shape(shape, &solved, progress)? };
        Ok((made, solved))
    }

    /// What was found as a shape of the rig, with its tracks and without a snap.
    pub fn as_shape(
        &self,
        shape: usize,
        solved: &Solved,
        progress: &Progress,
    ) -> Result<MuscleShape, PerformError> {
        let (model, controls) = (self.model(), &solved.pose.controls);
        Ok(MuscleShape {
            shape: shape as u32,
            activations: controls.activations.clone(),
            jaw: controls.jaw.to_array(),
            tracks: model.trace(&solved.pose, progress)?,
            leads: vec![false; model.names.len()],
            snap: Snap::default(),
            miss_mm: solved.residual_mm,
        })
    }

    /// Finds the controls nearest to a skin, in file units; the jaw is where its lower teeth are.
    pub fn solve_mesh(&self, goal: &[[f32; 3]], progress: &Progress) -> Result<Solved, PerformError> {
        let model = self.model();
        let si = model.face.rig.space.si_from_file();
        let moved = |v: u32| {
            let [from, to] = [&model.neutral, goal].map(|all| Vec3::from(all[v as usize]).as_dvec3());
            si * (to - from)
        };
        let pieces = &model.face.anatomy.pieces;
        let teeth = pieces.vertices(PieceKind::TeethLower);
        let from: Vec<DVec3> = teeth.iter().map(|&v| pieces.positions[v as usize]).collect();
        let to: Vec<DVec3> = teeth.iter().zip(&from).map(|(&v, p)| *p + moved(v)).collect();
        let still = teeth.len() < 4 || teeth.iter().all(|&v| moved(v).length() < 1e-5);
        let jaw = if still { Rigid::IDENTITY } else { fit_rigid(&from, &to, &[]) };
        let target: Vec<DVec3> = self.marks.vertices.iter().map(|&v| moved(v)).collect();
        if let Some(i) = target.iter().position(|d| !d.is_finite() || d.length() > FARTHEST) {
            let (vertex, distance_mm) = (self.marks.vertices[i], 1000.0 * target[i].length());
            return Err(PerformError::Target { vertex: model.face.rig.vertex_name(vertex), distance_mm });
        }
        self.solve(&target, model.jaw_nearest(&jaw), progress)
    }
}
