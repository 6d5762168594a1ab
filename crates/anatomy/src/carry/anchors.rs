//! Point pairs that determine the warp: landmarks, eyeballs, and the ends of the rows of teeth.

use crate::eyes::fit_eyes;
use crate::find::Landmarks;
use crate::pieces::{PieceKind, Pieces};
use glam::DVec3;

/// A point of the built-in head and its position in the rig.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    pub from: DVec3,
    pub to: DVec3,
    /// 0 to 1.
    pub confidence: f64,
}

impl Anchor {
    /// How closely the warp interpolates it, in meters; see [`crate::warp`].
    pub(crate) fn softness(&self) -> f64 {
        0.004 / (self.confidence * self.confidence).max(0.01)
    }
}

/// All anchors. Landmarks of the built-in head that are not finite are left out.
pub fn gather(head: &Pieces, rig: &Pieces, marks: &Landmarks) -> Vec<Anchor> {
    let mut anchors: Vec<Anchor> = marks
        .on_head
        .iter()
        .zip(&marks.all)
        .map(|(&from, mark)| Anchor { from, to: mark.position, confidence: mark.confidence })
        .collect();
    for (a, b) in fit_eyes(head).iter().zip(fit_eyes(rig)) {
        if let (Some(a), Some(b)) = (a, b) {
            anchors.push(Anchor { from: a.center, to: b.center, confidence: 0.95 });
        }
    }
    if let Some(half) = marks.half {
        let side = usize::from(half.side < 0.0);
        if let (Some(a), Some(b)) = (fit_eyes(head)[1 - side], fit_eyes(rig)[side]) {
            let to = DVec3::new(2.0 * half.plane - b.center.x, b.center.y, b.center.z);
            anchors.push(Anchor { from: a.center, to, confidence: 0.9 });
        }
    }
    for kind in [PieceKind::TeethUpper, PieceKind::TeethLower] {
        // On half a face, a row of teeth ends at the midline.
        if marks.half.is_some() {
            continue;
        }
        if let (Some(a), Some(b)) = (row_ends(head, kind), row_ends(rig, kind)) {
            anchors.extend(a.iter().zip(b).map(|(&from, to)| Anchor { from, to, confidence: 0.7 }));
        }
    }
    anchors.retain(|a| a.from.is_finite() && a.to.is_finite());
    anchors
}

/// Front, left end and right end of a row of teeth.
fn row_ends(pieces: &Pieces, kind: PieceKind) -> Option<[DVec3; 3]> {
    let points: Vec<DVec3> = pieces.vertices(kind).iter().map(|&v| pieces.positions[v as usize]).collect();
    if points.len() < 20 {
        return None;
    }
    let outermost = |score: &dyn Fn(&DVec3) -> f64| {
        let mut sorted: Vec<DVec3> = points.clone();
        sorted.sort_by(|a, b| score(b).total_cmp(&score(a)));
        let n = (points.len() / 12).max(3);
        sorted[..n].iter().sum::<DVec3>() / n as f64
    };
    // Ends of the row lie sideways and to the back.
    Some([outermost(&|p| p.z), outermost(&|p| p.x - 0.7 * p.z), outermost(&|p| -p.x - 0.7 * p.z)])
}
