//! Jaw motion of the skin and the parts of the mouth: teeth, gums and tongue move rigidly with the mandible,
//! the skin by a weight per vertex.
//!
//! A share of 1 follows the mandible, 0 the skull. Shares are given on the lips (0.5 at the corner, so that
//! the open mouth is an oval), along the line of the jaw, inside the mouth and where nothing moves; a plate
//! interpolates the rest. A vertex with share w takes the motion at w times the angle and slide. So it moves
//! on its own arc, without the shrinkage of linear blending.

use super::fill::{Fill, Sheet};
use super::ground::{Field, Ground, MM};
use super::lips::Lips;
use crate::bones::JawJoint;
use glam::DVec3;
use risorius_base::ease::ramp;

/// Parts that are fixed to the mandible.
pub(crate) const WITH_JAW: [&str; 3] = ["teeth_lower", "gums_lower", "tongue"];

/// Shares along the jaw line; the left ones are used for both sides.
const SHARES: [(&str, f64); 9] = [
    ("supramentale", 1.0),
    ("pogonion", 1.0),
    ("gnathion", 1.0),
    ("jaw_left_7", 0.98),
    ("jaw_left_6", 0.88),
    ("jaw_left_5", 0.66),
    ("jaw_left_4", 0.4),
    ("jaw_left_3", 0.2),
    ("jaw_left_2", 0.06),
];

/// Regions that stay with the skull.
const STILL: [&str; 14] = [
    "forehead",
    "scalp",
    "nose",
    "brow_left",
    "brow_right",
    "ear_left",
    "ear_right",
    "lids_upper_left",
    "lids_upper_right",
    "lids_lower_left",
    "lids_lower_right",
    "eye_socket_left",
    "eye_socket_right",
    "neck_border",
];

/// The jaw of a head.
pub struct Jaw<'g, 'h> {
    ground: &'g Ground<'h>,
    joint: JawJoint,
    /// How far each skin vertex follows the mandible, 0 to 1.
    pub share: Vec<f64>,
}

impl<'g, 'h> Jaw<'g, 'h> {
    /// Finds the shares.
    pub fn prepare(ground: &'g Ground<'h>, lips: &Lips, joint: &JawJoint) -> Self {
        Self { ground, joint: *joint, share: shares(ground, lips) }
    }

    /// Displacement of a point that is fixed to the mandible, mm.
    pub fn bone(&self, degrees: f64, slides: [f64; 2], p: DVec3) -> DVec3 {
        self.joint.motion(degrees.to_radians(), slides).apply(p / MM) * MM - p
    }

    /// The jaw at `degrees` with its condyles at `slides` of their tracks.
    pub fn moved(&self, degrees: f64, slides: [f64; 2]) -> Field {
        let ground = self.ground;
        let motion = |w: f64| self.joint.motion((w * degrees).to_radians(), slides.map(|s| w * s));
        let apply = |w: f64, p: DVec3| motion(w).apply(p / MM) * MM - p;
        let mut field = ground.still();
        for v in (0..ground.n_skin).filter(|&v| self.share[v] > 0.0) {
            field[v] = apply(self.share[v], ground.points[v]);
        }
        for v in WITH_JAW.iter().flat_map(|part| ground.part(part)) {
            field[v] = self.bone(degrees, slides, ground.points[v]);
        }
        field
    }
}

fn shares(ground: &Ground, lips: &Lips) -> Vec<f64> {
    let n = ground.n_skin;
    let mut given = ground.marked(&STILL);
    ground.line("neck_border").iter().for_each(|&v| given[v as usize] = true);
    let mut share = vec![0.0; n];
    let chin = ground.points[ground.mark("gnathion") as usize];
    let (alare, tragion) = (
        ground.points[ground.mark("alare_left") as usize],
        ground.points[ground.mark("tragion_left") as usize],
    );
    let slope = (alare.y - tragion.y) / (alare.z - tragion.z);
    let bag = ground.marked(&["mouth_bag"]);
    let seam = ground.points[ground.mark("mouth_left_inner") as usize].y;
    for v in 0..n {
        let p = ground.points[v];
        let above = p.y - (tragion.y + slope * (p.z - tragion.z));
        if lips.is_lip(v) {
            let s = lips.s[v].clamp(-1.0, 1.0);
            let round = (1.0 - s * s).powf(0.62);
            (given[v], share[v]) = (true, 0.5 + if lips.of[1][v] { 0.5 * round } else { -0.5 * round });
        } else if bag[v] {
            if lips.distance[v] > 16.0 {
                (given[v], share[v]) = (true, ramp(seam - p.y, -14.0, 14.0));
            }
        } else if above > 12.0 || p.z < -12.0 || p.y < chin.y - 52.0 {
            given[v] = true;
        }
    }
    for (mark, value) in SHARES {
        let v = ground.mark(mark);
        for v in [v, ground.mirror[v as usize]] {
            (given[v as usize], share[v as usize]) = (true, value);
        }
    }
    let fill = Fill::prepare(ground, given, Sheet::Plate);
    fill.numbers(&share).into_iter().map(|w| w.clamp(0.0, 1.0)).collect()
}
