//! Transfers the bones, muscles and joint of one head into the skin of another.
//!
//! 1. a similarity from the landmarks, each weighted by the square of its confidence;
//! 2. a smooth warp through landmarks, eyeballs and teeth, softer where they are less certain
//!    ([`crate::warp`]);
//! 3. refinement of the warp: in several rounds, points of the built-in outer skin are pulled to the closest
//!    outer skin of the rig with a similar normal (`skin`), so that the anatomy follows the actual surface;
//! 4. bones closer to the skin than the tissue depth allows are pushed in by smooth fields (`depth`);
//! 5. the rigid motions of jaw and eyes in every shape ([`crate::jaw_motion`]).
//!
//! Bones that the user supplies are used unchanged. Everything is in meters, +Y up, +Z front. Follows
//! [Ichim16, section 3.2], with a fixed template instead of a statistical one.

mod anchors;
mod depth;
mod skin;
mod supplied;

pub use supplied::Supplied;

use crate::error::AnatomyError;
use crate::eyes::{Eye, fit_eyes};
use crate::find::{FoundLandmark, Landmarks};
use crate::jaw_motion;
use crate::note::Note;
use crate::outer::OuterSkin;
use crate::pieces::{PieceKind, Pieces, pieces};
use crate::warp::Warp;
use glam::DVec3;
use risorius_base::progress::tick;
use risorius_base::{Progress, Rigid};
use risorius_head::bones::{Bones, JawJoint};
use risorius_head::landmarks::N_LANDMARKS;
use risorius_head::person::Head;
use risorius_mesh::TriMesh;
use risorius_muscle::Muscle;
use risorius_rig::Rig;

/// Upper and lower teeth, in the order of [`Anatomy::teeth`].
const TEETH: [PieceKind; 2] = [PieceKind::TeethUpper, PieceKind::TeethLower];

/// Teeth of the rig and stored ones whose vertices are this close are the same, in meters.
const SAME: f64 = 1e-6;

/// Options of [`carry`].
#[derive(Debug, Clone)]
pub struct CarryOptions {
    /// Bones supplied by the user, used unchanged.
    pub supplied: Supplied,
    /// Rounds of fitting the built-in skin to the rig's; 0 uses the landmarks only. Six rounds converged on
    /// every head tried.
    pub rounds: usize,
    /// Least thickness of the skin over bone, in meters; 0.002 is the least value in forensic tables.
    pub thinnest: f64,
    /// Motions of the jaw in shapes of the rig, at weight 1, given by the user in SI; others are found.
    pub jaw_motion: Vec<(usize, Rigid)>,
}

impl Default for CarryOptions {
    fn default() -> Self {
        Self { supplied: Supplied::default(), rounds: 6, thinnest: 0.002, jaw_motion: Vec::new() }
    }
}

/// The anatomy under the skin of a rig, in meters, +Y up, +Z front.
#[derive(Debug, Clone)]
pub struct Anatomy {
    /// Skull, jaw and joint.
    pub bones: Bones,
    /// Upper and lower teeth: the rig's own, the supplied ones, or the built-in head's; empty when there are
    /// none.
    pub teeth: [TriMesh; 2],
    /// The facial muscles.
    pub muscles: Vec<Muscle>,
    /// In the order of [`risorius_head::landmarks::NAMES`].
    pub landmarks: Vec<FoundLandmark>,
    /// The anatomical kind of each rig vertex.
    pub pieces: Pieces,
    /// Left and right eyeball; built-in ones where the rig has none.
    pub eyes: [Option<Eye>; 2],
    /// The jaw's motion in each shape of the rig, at weight 1.
    pub jaw_motion: Vec<Rigid>,
    /// The motion of the left and right eyeball in each shape.
    pub eye_motion: [Vec<Rigid>; 2],
    /// From the built-in head to the rig, without the corrections that keep bones under the skin.
    pub warp: Warp,
    /// Findings for the user.
    pub notes: Vec<Note>,
}

impl Anatomy {
    /// The jaw's motion at these strengths of the rig's shapes.
    pub fn jaw(&self, strengths: &[f64]) -> Rigid {
        jaw_motion::blend(&self.jaw_motion, strengths, &self.bones.joint)
    }

    /// Upper and lower teeth that are not vertices of the rig: supplied ones, or the built-in head's.
    pub fn added_teeth(&self) -> [Option<&TriMesh>; 2] {
        [0, 1].map(|k| {
            let own = surface_of(&self.pieces, TEETH[k]);
            let is_own = own.triangles == self.teeth[k].triangles
                && own.positions.iter().zip(&self.teeth[k].positions).all(|(a, b)| a.distance(*b) < SAME);
            (!is_own).then_some(&self.teeth[k])
        })
    }
}

/// Transfers the anatomy of `head` into `rig`.
pub fn carry(
    rig: &Rig,
    rig_pieces: Pieces,
    landmarks: &Landmarks,
    head: &Head,
    options: &CarryOptions,
    progress: &Progress,
) -> Result<Anatomy, AnatomyError> {
    check(head, landmarks)?;
    tick(progress, "carry: skins", 0.0)?;
    let mut notes = rig_pieces.notes.clone();
    notes.extend(landmarks.notes.iter().cloned());
    let head_pieces = pieces(&head.rig);
    let (from_skin, to_skin) = (
        OuterSkin::new(&head_pieces.positions, &head_pieces.skin),
        OuterSkin::new(&rig_pieces.positions, &rig_pieces.skin),
    );
    let anchors = anchors::gather(&head_pieces, &rig_pieces, landmarks);
    let warp = skin::fit(&anchors, &from_skin, &to_skin, head, landmarks, options.rounds, progress)?;
    tick(progress, "carry: bones", 0.0)?;
    let mut bones = warped_bones(&warp, &head.bones);
    let head_depths = depth::Depths::of(&from_skin, &head.bones, warp.similarity.scale);
    let pushed = depth::push_in(&mut bones, &head_depths, &to_skin, options.thinnest, &mut notes);
    note_folds(&warp, &head.bones, &bones, &mut notes);
    let mut muscles = head.muscles.clone();
    for muscle in &mut muscles {
        let control = warp.apply_all(&muscle.solid.control);
        muscle.solid.control = control.into_iter().map(|p| pushed.follow(p, &to_skin)).collect();
    }
    let mut teeth = own_teeth(&rig_pieces, &head_pieces, &warp);
    supplied::place(&options.supplied, &mut bones, &mut teeth, &to_skin, &mut notes)?;
    place_rig_bones(&rig_pieces, &options.supplied, &mut bones);
    tick(progress, "carry: motions", 0.0)?;
    let mut jaw = jaw_motion::jaw(rig, &rig_pieces, &landmarks.all, &bones.joint, &mut notes);
    for (shape, motion) in &options.jaw_motion {
        jaw.motions[*shape] = *motion;
    }
    let eye_motion = jaw_motion::eyes(rig, &rig_pieces).map(|m| m.motions);
    Ok(Anatomy {
        eyes: eyes(&rig_pieces, &head_pieces, &warp),
        bones,
        teeth,
        muscles,
        landmarks: landmarks.all.clone(),
        pieces: rig_pieces,
        jaw_motion: jaw.motions,
        eye_motion,
        warp,
        notes,
    })
}

fn check(head: &Head, landmarks: &Landmarks) -> Result<(), AnatomyError> {
    let fail = |what: String| Err(AnatomyError::Head { what });
    if [head.landmarks.len(), landmarks.all.len(), landmarks.on_head.len()].iter().any(|n| *n != N_LANDMARKS)
    {
        return fail(format!(
            "{} landmarks, and the rig {}; both need {N_LANDMARKS}",
            head.landmarks.len(),
            landmarks.all.len()
        ));
    }
    if head.bones.cranium.triangles.is_empty() || head.bones.mandible.triangles.is_empty() {
        return fail("no bones".into());
    }
    Ok(())
}

/// Reports bones with triangles that the warp flipped.
fn note_folds(warp: &Warp, before: &Bones, after: &Bones, notes: &mut Vec<Note>) {
    let turn = warp.similarity.rigid.rotation;
    for (name, a, b) in
        [("skull", &before.cranium, &after.cranium), ("jaw", &before.mandible, &after.mandible)]
    {
        let normal = |[p, q, r]: [DVec3; 3]| (q - p).cross(r - p);
        let folded =
            a.corners().zip(b.corners()).filter(|(p, q)| (turn * normal(*p)).dot(normal(*q)) < 0.0).count();
        // A few slivers flip in any warp.
        if folded > a.triangles.len() / 200 {
            let what = format!("{folded} of {} triangles of the {name} are flipped", a.triangles.len());
            notes.push(Note::new(what, "landmarks contradict each other: check them, or supply the bone"));
        }
    }
}

fn warped_bones(warp: &Warp, bones: &Bones) -> Bones {
    let surface =
        |s: &TriMesh| TriMesh { positions: warp.apply_all(&s.positions), triangles: s.triangles.clone() };
    let joint = &bones.joint;
    let condyles = joint.condyles.map(|c| warp.apply(c));
    let center = joint.center();
    // Over the length of the track only, to get the local rotation and stretch of the warp.
    let ahead = warp.apply(center + joint.track * joint.track_length) - warp.apply(center);
    let joint = JawJoint { condyles, track: ahead.normalize_or(joint.track), track_length: ahead.length() };
    Bones { cranium: surface(&bones.cranium), mandible: surface(&bones.mandible), joint }
}

/// Teeth of the rig, or the built-in head's where it has none.
fn own_teeth(rig: &Pieces, head: &Pieces, warp: &Warp) -> [TriMesh; 2] {
    TEETH.map(|kind| {
        let own = surface_of(rig, kind);
        if !own.triangles.is_empty() {
            return own;
        }
        let built_in = surface_of(head, kind);
        TriMesh { positions: warp.apply_all(&built_in.positions), triangles: built_in.triangles }
    })
}

/// The surface that the vertices of a kind form.
pub(crate) fn surface_of(pieces: &Pieces, kind: PieceKind) -> TriMesh {
    let triangles = pieces.triangles_of(&[kind]);
    let mut number = vec![u32::MAX; pieces.positions.len()];
    let mut surface = TriMesh::default();
    for t in triangles {
        let t = t.map(|v| {
            let slot = &mut number[v as usize];
            if *slot == u32::MAX {
                *slot = surface.positions.len() as u32;
                surface.positions.push(pieces.positions[v as usize]);
            }
            *slot
        });
        surface.triangles.push(t);
    }
    surface
}

/// Bones that are part of the rig replace transferred ones, unless the user supplied some.
fn place_rig_bones(rig: &Pieces, supplied: &Supplied, bones: &mut Bones) {
    let own = |kind: PieceKind| Some(surface_of(rig, kind)).filter(|s| s.triangles.len() >= 50);
    if let Some(s) = own(PieceKind::Cranium).filter(|_| supplied.cranium.is_none()) {
        bones.cranium = s;
    }
    if let Some(s) = own(PieceKind::Mandible).filter(|_| supplied.mandible.is_none()) {
        bones.mandible = s;
    }
}

/// Eyeballs of the rig; where it has none, the warped built-in ones.
fn eyes(rig: &Pieces, head: &Pieces, warp: &Warp) -> [Option<Eye>; 2] {
    let (own, built_in) = (fit_eyes(rig), fit_eyes(head));
    [0, 1].map(|side| {
        own[side].or_else(|| {
            let eye = built_in[side]?;
            let center = warp.apply(eye.center);
            let reach = |d: DVec3| (warp.apply(eye.center + d * eye.radius) - center).length();
            let radius = (reach(DVec3::X) + reach(DVec3::Y) + reach(DVec3::Z)) / 3.0;
            Some(Eye { center, radius, residual: 0.0 })
        })
    })
}
