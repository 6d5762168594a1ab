//! Landmark detection on the skin of any rig, from the motions of its shapes and from its geometry.
//!
//! `frame` finds eyes, mouth and symmetry plane; `mouth` the slit of the lips; `profile` the midline; `lids`,
//! `nose`, `brows` and `ears` the other visible features. Landmarks that are not found are mirrored from the
//! other side, or taken from the built-in head, warped by those that were found. A tilted head is first
//! rotated upright. Every landmark has a source and a confidence.

mod brows;
mod ears;
mod fill;
mod frame;
mod front;
pub mod given;
mod lids;
mod mouth;
mod nose;
mod profile;
mod upright;

use crate::error::AnatomyError;
use crate::note::Note;
use crate::pieces::{self, Pieces};
use frame::FaceFrame;
pub(crate) use front::flat;
use front::{Front, SkinPoint};
pub use given::Given;
use glam::DVec3;
use risorius_head::landmarks::{self, N_LANDMARKS, NAMES};
use risorius_head::person::Head;
use risorius_rig::Rig;

/// A landmark on the skin of a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundLandmark {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// In meters, +Y up, +Z front.
    pub position: DVec3,
    /// The nearest skin vertex, as a rig vertex.
    pub vertex: u32,
    /// The skin triangle that it lies on (rig vertices).
    pub triangle: [u32; 3],
    /// Weights of the triangle's corners.
    pub barycentric: [f64; 3],
    /// 0 for a guess to 1 for a landmark given by the user.
    pub confidence: f64,
    /// The shape or the feature from which it was found.
    pub source: String,
}

/// The landmarks found so far, by index.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    all: Vec<Option<FoundLandmark>>,
}

impl Found {
    fn new() -> Self {
        Self { all: vec![None; N_LANDMARKS] }
    }

    /// Sets a landmark unless it already has a higher confidence.
    fn set(&mut self, front: &Front, name: &str, p: SkinPoint, confidence: f64, source: &str) {
        let Some(index) = landmarks::index(name) else { return };
        let slot = &mut self.all[index];
        if slot.as_ref().is_some_and(|s| s.confidence >= confidence) {
            return;
        }
        let triangle = front.pieces.skin[p.triangle as usize];
        let heaviest =
            (0..3).fold(0, |best, k| if p.barycentric[k] > p.barycentric[best] { k } else { best });
        *slot = Some(FoundLandmark {
            name: NAMES[index],
            position: p.point,
            vertex: triangle[heaviest],
            triangle,
            barycentric: p.barycentric,
            confidence,
            source: source.to_string(),
        });
    }

    fn position(&self, name: &str) -> Option<DVec3> {
        self.all[landmarks::index(name)?].as_ref().map(|l| l.position)
    }
}

/// All landmarks of a rig, in the order of [`NAMES`], with notes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Landmarks {
    /// One for each of [`NAMES`]. On half a face, those of the other side are mirror images without skin.
    pub all: Vec<FoundLandmark>,
    /// The same points on the source head of the anatomy. For landmarks detected on the rig, the positions
    /// that the same detector finds on that head.
    pub on_head: Vec<DVec3>,
    /// Set if the rig has only half of a face.
    pub half: Option<HalfFace>,
    /// Missing or uncertain landmarks.
    pub notes: Vec<Note>,
}

/// One side of a face, cut off at the symmetry plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfFace {
    /// The plane is `x = plane`, in meters.
    pub plane: f64,
    /// The side that is present: +1 the left, -1 the right.
    pub side: f64,
}

/// Least number of confident landmarks to place the head.
const NEEDED: usize = 4;

/// The landmarks of `rig`: those given by the user, those detected, and the rest from `head`.
pub fn find(rig: &Rig, pieces: &Pieces, head: &Head, given: &Given) -> Result<Landmarks, AnatomyError> {
    if pieces.skin.is_empty() {
        return Err(AnatomyError::NoSkin { reason: "no connected surface of triangles was found".into() });
    }
    if head.landmarks.len() != N_LANDMARKS {
        let what = format!("{} landmarks instead of {N_LANDMARKS}", head.landmarks.len());
        return Err(AnatomyError::Head { what });
    }
    let Direct { mut found, mut notes, half } = direct(rig, pieces);
    let front = Front::new(pieces);
    for &(index, position) in &given.points {
        if let Some(p) = front.closest(position) {
            found.all[index] = None;
            found.set(&front, NAMES[index], p, 1.0, "given");
            let off = p.point.distance(position) * 1000.0;
            if off > 10.0 {
                let what = format!("the given landmark '{}' is {off:.0} mm from the skin", NAMES[index]);
                notes.push(Note::new(what, "give it in the unit and axes of the file, or as a vertex"));
            }
        }
    }
    let n_sure = found.all.iter().flatten().filter(|l| l.confidence >= fill::ANCHOR).count();
    if n_sure < NEEDED {
        fill::by_shape(rig, pieces, &front, head, &mut found, &mut notes)?;
    }
    half.iter().for_each(|h| fill::mirrored_in_air(h, false, &mut found));
    let on_head = same_on_head(head, &found);
    fill::from_head(pieces, &front, (&on_head, &head.landmarks), &mut found, &mut notes);
    half.iter().for_each(|h| fill::mirrored_in_air(h, true, &mut found));
    let all: Vec<FoundLandmark> = found.all.into_iter().flatten().collect();
    if all.len() < N_LANDMARKS {
        return Err(AnatomyError::NoLandmarks {
            rig: rig.name.clone(),
            tried: "shapes, profile, eyeballs, the built-in head".into(),
            found: all.len(),
            needed: N_LANDMARKS,
        });
    }
    Ok(Landmarks { all, on_head, half, notes })
}

/// Largest distance of a detection on the source head from the head's own landmark to be used (meters).
const BIAS: f64 = 0.015;

/// Positions of the landmarks of `found` on `head`. For those detected on the rig, the positions that the
/// same detector finds on the head, so that systematic errors of the detector cancel; for the others, the
/// head's own landmarks.
fn same_on_head(head: &Head, found: &Found) -> Vec<DVec3> {
    let seen = direct(&head.rig, &pieces::pieces(&head.rig)).found;
    let same = |i: usize| {
        let (on_rig, on_head) = (found.all[i].as_ref()?, seen.all[i].as_ref()?);
        let was_seen = on_rig.confidence < 1.0 && on_rig.source != fill::MATCHED;
        Some(on_head.position).filter(|p| was_seen && p.distance(head.landmarks[i]) < BIAS)
    };
    (0..N_LANDMARKS).map(|i| same(i).unwrap_or(head.landmarks[i])).collect()
}

/// The landmarks of `rig` that can be detected without the built-in head, in the order of [`NAMES`].
pub fn find_direct(rig: &Rig, pieces: &Pieces) -> (Vec<Option<FoundLandmark>>, Vec<Note>) {
    let Direct { found, notes, .. } = direct(rig, pieces);
    (found.all, notes)
}

/// Results of detection without the built-in head.
struct Direct {
    found: Found,
    notes: Vec<Note>,
    half: Option<HalfFace>,
}

fn direct(rig: &Rig, pieces: &Pieces) -> Direct {
    let mut found = Found::new();
    let mut notes = Vec::new();
    let turned = upright_pieces(rig, pieces);
    let front = turned.as_ref().map(Front::new);
    let frame = turned.as_ref().zip(front.as_ref()).and_then(|(t, f)| frame::frame(rig, t, f));
    let (Some(front), Some(frame)) = (front, frame) else {
        let what = "no eyes and no mouth were found: there are no eyeballs, and no shapes that blink, smile, \
                    pucker or open the jaw";
        notes.push(Note::new(what, "name shapes as ARKit does, or give landmarks in a landmark file"));
        return Direct { found, notes, half: None };
    };
    let (gaps, source) = mouth::slit(rig, &front, &frame);
    let slit_y = (!gaps.is_empty()).then(|| gaps[gaps.len() / 2].middle().y);
    lids::find(rig, &front, &frame, &mut found);
    if let Some(profile) = profile::find(&front, &frame, slit_y, &mut found) {
        mouth::find(&front, &frame, &gaps, &source, profile.subnasale.y, &mut found);
        nose::find(&front, &frame, &profile, &mut found);
    }
    brows::find(rig, &front, &frame, &mut found);
    ears::find(&front, &frame, &mut found);
    if frame.only_side.is_none() {
        fill::mirrored(&front, frame.middle, &mut found);
    }
    for l in found.all.iter_mut().flatten() {
        l.position = on_triangle(pieces, l.triangle, l.barycentric);
    }
    note_doubts(&frame, gaps.is_empty(), &mut notes);
    Direct { found, notes, half: frame.only_side.map(|side| HalfFace { plane: frame.middle, side }) }
}

/// Adds notes on missing or unusual features.
fn note_doubts(frame: &FaceFrame, no_slit: bool, notes: &mut Vec<Note>) {
    if let Some(side) = frame.only_side {
        let side = if side > 0.0 { "left" } else { "right" };
        let what = format!("only the {side} half of the face is present");
        let advice = "the other side of the anatomy is mirrored; mirror the skin in the modeling tool for a \
                      whole face";
        notes.push(Note::new(what, advice));
    } else if frame.symmetry < 0.6 {
        let what =
            format!("the face is not symmetric: {:.0} % of it matches its mirror", 100.0 * frame.symmetry);
        notes.push(Note::new(what, "check the landmarks, and correct wrong ones in a landmark file"));
    }
    if frame.swapped {
        let what = "shapes named left move the character's right side";
        notes.push(Note::new(
            what,
            "sides are taken from where shapes act; the character's left is +X when it looks along +Z",
        ));
    }
    if no_slit {
        let what = "no opening between the lips was found: no shape opens them (jawOpen, mouthFunnel, \
                    mouthLowerDown ...)";
        let advice = "name such a shape as ARKit does, or give mouth_left, mouth_right, \
                      lip_upper_middle_inner and lip_lower_middle_inner in a landmark file";
        notes.push(Note::new(what, advice));
    }
    for (eye, side) in frame.eyeballs.iter().zip(["left", "right"]) {
        if eye.is_none() && frame.only_side.is_none_or(|s| (s > 0.0) == (side == "left")) {
            let what = format!("no {side} eyeball was found");
            notes.push(Note::new(
                what,
                format!("name its part eye_{side}; its position is taken from lids and the built-in head"),
            ));
        }
    }
}

/// The pieces rotated so that the symmetry plane of the face is upright; `None` if no face is found.
fn upright_pieces(rig: &Rig, pieces: &Pieces) -> Option<Pieces> {
    let front = Front::new(pieces);
    let frame = frame::frame(rig, pieces, &front)?;
    let mut turned = pieces.clone();
    if frame.only_side.is_none() {
        let turn = upright::upright(pieces, &front, frame.middle);
        turned.positions.iter_mut().for_each(|p| *p = turn * *p);
    }
    Some(turned)
}

fn on_triangle(pieces: &Pieces, triangle: [u32; 3], barycentric: [f64; 3]) -> DVec3 {
    triangle.iter().zip(barycentric).map(|(&v, w)| pieces.positions[v as usize] * w).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::PieceKind;
    use risorius_head::skin;

    /// The built-in head without shapes: eyeballs, profile and ears are found near its own landmarks.
    #[test]
    fn a_head_without_shapes_is_seen_by_its_geometry() {
        let neutral = skin::neutral();
        let rig = skin::to_rig(&neutral);
        let pieces = pieces::pieces(&rig);
        for kind in [PieceKind::EyeLeft, PieceKind::EyeRight, PieceKind::TeethUpper, PieceKind::TeethLower] {
            assert!(pieces.has(kind), "{kind:?}");
        }
        let (marks, notes) = find_direct(&rig, &pieces);
        assert!(notes.iter().any(|n| n.what.contains("no opening between the lips")));
        let truth = |i: usize| neutral.parts[0].positions[neutral.landmarks[i] as usize];
        for name in
            ["eye_left_outer", "eye_right_outer", "nose_tip", "subnasale", "pogonion", "lid_upper_left_inner"]
        {
            let i = landmarks::index(name).unwrap();
            let off = marks[i].as_ref().unwrap_or_else(|| panic!("{name}")).position.distance(truth(i));
            assert!(off < 0.008, "{name} is {:.1} mm off", 1000.0 * off);
        }
    }
}
