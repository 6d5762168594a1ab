//! Landmarks on the skin of any rig: from what its shapes move, and from its geometry.
//!
//! [`frame`] finds eyes, mouth and middle plane; [`mouth`] the slit of the lips; [`profile`] the middle line; [`lids`],
//! [`nose`], [`brows`] the rest that can be seen; what cannot be found is mirrored from the other side or comes from the
//! built-in head, warped by what was found. A head that is tilted is set upright first. Every landmark says where it is from and how sure it is.

mod brows;
mod frame;
mod front;
mod lids;
mod mouth;
mod nose;
mod profile;
mod upright;

use crate::landmarks::{self, N_LANDMARKS, NAMES};
use crate::note::Note;
use crate::pieces::Pieces;
use front::{Front, SkinPoint};
use glam::DVec3;
use risorius_rig::Rig;

/// A landmark on the skin of a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundLandmark {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// In meters, +Y up, +Z front.
    pub position: DVec3,
    /// The nearest skin vertex, as the rig numbers it.
    pub vertex: u32,
    /// The skin triangle that it lies on (rig vertices).
    pub triangle: [u32; 3],
    /// Weights of the triangle's corners.
    pub barycentric: [f64; 3],
    /// 0 a mere guess, 1 given by the user.
    pub confidence: f64,
    /// The shape or the feature that it was found by.
    pub source: String,
}

/// The landmarks found so far, by number.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    all: Vec<Option<FoundLandmark>>,
}

impl Found {
    fn new() -> Self {
        Self { all: vec![None; N_LANDMARKS] }
    }

    /// Sets a landmark unless a surer one is there.
    fn set(&mut self, front: &Front, name: &str, p: SkinPoint, confidence: f64, source: &str) {
        let Some(index) = landmarks::index(name) else { return };
        let slot = &mut self.all[index];
        if slot.as_ref().is_some_and(|s| s.confidence >= confidence) {
            return;
        }
        let triangle = front.pieces.skin[p.triangle as usize];
        let heaviest = (0..3).fold(0, |best, k| if p.barycentric[k] > p.barycentric[best] { k } else { best });
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

/// What can be found of the landmarks of `rig`, in the order of [`NAMES`], and what is missing.
pub fn find_direct(rig: &Rig, pieces: &Pieces) -> (Vec<Option<FoundLandmark>>, Vec<Note>) {
    let mut found = Found::new();
    let notes = Vec::new();
    let Some(turned) = upright_pieces(rig, pieces) else { return (found.all, notes) };
    let front = Front::new(&turned);
    let Some(frame) = frame::frame(rig, &turned, &front) else { return (found.all, notes) };
    let (gaps, source) = mouth::slit(rig, &front, &frame);
    let slit_y = (!gaps.is_empty()).then(|| gaps[gaps.len() / 2].middle().y);
    lids::find(rig, &front, &frame, &mut found);
    if let Some(profile) = profile::find(&front, &frame, slit_y, &mut found) {
        mouth::find(&front, &frame, &gaps, &source, profile.subnasale.y, &mut found);
        nose::find(&front, &frame, &profile, &mut found);
    }
    brows::find(rig, &front, &frame, &mut found);
    for l in found.all.iter_mut().flatten() {
        l.position = on_triangle(pieces, l.triangle, l.barycentric);
    }
    (found.all, notes)
}

/// The pieces turned so that the middle plane of the face is upright; `None` without anything that looks like a face.
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
