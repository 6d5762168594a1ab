//! The shapes of the built-in head: the 52 of ARKit and fifteen visemes, generated over all parts.
//!
//! No vertex indices are hard-coded: `ground` provides landmarks, lines, regions and distances along the
//! skin. `jaw`, `lids` and `lips` move the three mechanisms of a face by angles and millimeters; `pulls` move
//! soft skin; `contact` keeps lips off the teeth and `seam` keeps them apart. Tables: `mouth`, `upper`,
//! `visemes`. Fields are in mm until the end. Left shapes are mirrored to the right, to the bit. Every shape
//! is linear: the pose at weight 1 is modeled and scaled by the weight, so eyeballs and teeth shrink by up to
//! 3 % halfway through large rotations.

mod contact;
mod fill;
mod folds;
mod ground;
mod jaw;
mod lids;

mod lips;
mod mouth;
mod pulls;
mod seam;
mod tongue;
mod upper;
mod visemes;

use crate::bones::JawJoint;
use crate::skin::NeutralHead;
use contact::Contact;
use glam::{DQuat, DVec3};
use ground::{Field, Ground, MM};
use jaw::Jaw;
use lids::{LidPose, Lids};
use lips::{Lip, LipPose, Lips};
use pulls::{add, left_half, masked, pulled, slide};
use rayon::prelude::*;
use risorius_base::ease::ramp;
use risorius_rig::classify::names::ARKIT;
use risorius_rig::{Deltas, Rig, Role, Shape, Slider};
use seam::Seam;
use visemes::{VISEMES, Viseme};

/// Opening of the jaw in `jawOpen`, degrees, and how far the condyles slide.
pub(crate) const JAW_OPEN: (f64, [f64; 2]) = (25.0, [0.9, 0.9]);
/// Opening in degrees and slides (left condyle, right condyle) of `jawForward` and of `jawLeft`.
const JAW_FORWARD: (f64, [f64; 2]) = (0.0, [0.6, 0.6]);
const JAW_LEFT: (f64, [f64; 2]) = (0.0, [-0.06, 0.72]);
/// Displacements below this are dropped, mm.
const LEAST: f64 = 1e-3;
/// Width of the blend across the midline of one-sided shapes, mm.
const BLEND: f64 = 18.0;
/// Rotations of the eyes, degrees: to the side, up, down.
const LOOK: [f64; 3] = [28.0, 25.0, 27.0];

/// Names of all shapes, in the order of [`make`].
pub fn names() -> Vec<&'static str> {
    ARKIT.into_iter().chain(VISEMES.iter().map(|v| v.name)).collect()
}

/// Adds all shapes and their sliders to the rig of `head`.
pub(crate) fn add_to(rig: &mut Rig, head: &NeutralHead, joint: &JawJoint) {
    for (name, deltas) in names().into_iter().zip(make(head, joint)) {
        let (slider, shape) = (rig.sliders.len(), rig.shapes.len());
        rig.shapes.push(Shape { name: name.into(), role: Role::Slider(slider), deltas });
        rig.sliders.push(Slider { name: name.into(), shape, range: [0.0, 1.0] });
    }
}

/// All shapes of `head` in the order of [`names`], over all parts, in meters.
pub fn make(head: &NeutralHead, joint: &JawJoint) -> Vec<Deltas> {
    let ground = Ground::prepare(head);
    let makers = Makers::prepare(&ground, joint);
    let names = names();
    let sources: Vec<&str> = names.iter().copied().filter(|n| !n.ends_with("Right")).collect();
    let fields: Vec<Field> = sources.par_iter().map(|name| makers.make(name)).collect();
    let find = |name: &str| sources.iter().position(|s| *s == name).map(|i| &fields[i]);
    let deltas = |name: &&str| match find(name) {
        Some(field) => sparse(field),
        None => {
            find(&name.replace("Right", "Left")).map_or_else(Deltas::default, |f| sparse(&ground.mirrored(f)))
        }
    };
    names.iter().map(deltas).collect()
}

fn sparse(field: &Field) -> Deltas {
    let moving = || field.iter().enumerate().filter(|(_, d)| d.length() >= LEAST);
    Deltas {
        vertices: moving().map(|(v, _)| v as u32).collect(),
        offsets: moving().map(|(_, d)| (*d / MM).as_vec3().to_array()).collect(),
    }
}

/// Generators of the shapes, prepared once.
struct Makers<'g, 'h> {
    ground: &'g Ground<'h>,
    lips: Lips<'g, 'h>,
    jaw: Jaw<'g, 'h>,
    lids: Lids<'g, 'h>,
    contact: Contact<'g, 'h>,
    seam: Seam<'g, 'h>,
    lid_edge_distance: Vec<f64>,
}

impl<'g, 'h> Makers<'g, 'h> {
    fn prepare(ground: &'g Ground<'h>, joint: &JawJoint) -> Self {
        let lips = Lips::prepare(ground, &[26.0, 36.0, 45.0]);
        let jaw = Jaw::prepare(ground, &lips, joint);
        let edges = ["upper_left", "lower_left", "upper_right", "lower_right"];
        let edge: Vec<u32> =
            edges.iter().flat_map(|e| ground.line(&format!("lid_{e}_edge"))).copied().collect();
        let lid_edge_distance = ground.distances(&edge, 30.0);
        let (contact, seam) = (Contact::prepare(ground), Seam::prepare(ground, &lips));
        Self { ground, lips, jaw, lids: Lids::prepare(ground), contact, seam, lid_edge_distance }
    }

    /// The shape called `name`: a left one or one without side.
    fn make(&self, name: &str) -> Field {
        let base = name.strip_suffix("Left").unwrap_or(name);
        if let Some(viseme) = VISEMES.iter().find(|v| v.name == name) {
            return self.both(self.viseme(viseme));
        }
        if let Some(pose) = eye_pose(base) {
            return self.eye(base, &pose);
        }
        match name {
            "jawOpen" => return self.both(self.jaw_open(JAW_OPEN.0)),
            "jawForward" => return self.both(self.jaw_shift(JAW_FORWARD)),
            "jawLeft" => return self.jaw_shift(JAW_LEFT),
            "mouthLeft" => return self.mouth_left(),
            "mouthClose" => return self.both(self.mouth_close(JAW_OPEN.0)),
            "tongueOut" => return self.both(self.tongue_out()),
            _ => {}
        }
        let whole = match mouth::MOUTH.iter().find(|m| m.name == base) {
            Some(shape) => self.settled(self.mouth(shape)),
            None => self.upper(base),
        };
        let whole = self.both(whole);
        if name == base { whole } else { left_half(self.ground, &whole, BLEND) }
    }

    fn both(&self, mut field: Field) -> Field {
        self.ground.symmetrize(&mut field);
        field
    }

    /// Keeps lips apart and off the teeth.
    fn settled(&self, mut field: Field) -> Field {
        for _ in 0..3 {
            self.seam.part(&mut field);
            self.contact.off_teeth(&mut field);
        }
        field
    }

    fn mouth(&self, shape: &mouth::MouthShape) -> Field {
        let mut field = self.lips.posed(&shape.lips, shape.reach);
        let mut around = pulled(self.ground, shape.pulls);
        // Lips move by their table only; pulls begin outside.
        masked(&mut around, |v| ramp(self.lips.distance[v], 0.0, 12.0), self.ground.n_skin);
        masked(&mut around, |v| ramp(self.lid_edge_distance[v], 1.0, 12.0), self.ground.n_skin);
        add(&mut field, 1.0, &around);
        self.fold(&mut field, shape.name);
        field
    }

    fn fold(&self, field: &mut Field, base: &str) {
        if let Some((_, [depth, height])) = mouth::FOLDS.iter().find(|f| f.0 == base) {
            let mut fold = folds::nasolabial(self.ground, *depth, *height);
            masked(&mut fold, |v| ramp(self.lips.distance[v], 2.0, 10.0), self.ground.n_skin);
            masked(&mut fold, |v| ramp(self.lid_edge_distance[v], 1.0, 12.0), self.ground.n_skin);
            add(field, 1.0, &fold);
        }
    }

    fn upper(&self, base: &str) -> Field {
        let Some(shape) = upper::UPPER.iter().find(|u| u.name == base) else { return self.ground.still() };
        let mut field = pulled(self.ground, shape.pulls);
        masked(&mut field, |v| ramp(self.lid_edge_distance[v], 1.0, 12.0), self.ground.n_skin);
        masked(&mut field, |v| ramp(self.lips.distance[v], -4.0, shape.off_lips), self.ground.n_skin);
        self.fold(&mut field, base);
        if shape.slide > 0.0 {
            slide(self.ground, &mut field, &["forehead", "brow_left", "brow_right", "scalp"], shape.slide);
        }
        let lids =
            self.lids.posed(&LidPose { upper: shape.lids[0], lower: shape.lids[1], ..LidPose::default() });
        add(&mut field, 1.0, &lids);
        add(&mut field, 1.0, &self.ground.mirrored(&lids));
        let pose = match base {
            "cheekPuff" => puffed_lips(),
            "noseSneer" => sneered_lips(),
            _ => return field,
        };
        add(&mut field, 1.0, &self.lips.posed(&pose, 36.0));
        self.settled(field)
    }

    fn eye(&self, base: &str, pose: &LidPose) -> Field {
        let mut field = self.lids.posed(pose);
        if base == "eyeSquint" {
            let by = [pulls::pull("orbitale_left", [0.0, 2.4, 1.0], 22.0)];
            let mut cheek = left_half(self.ground, &pulled(self.ground, &by), BLEND);
            masked(&mut cheek, |v| ramp(self.lid_edge_distance[v], 1.0, 12.0), self.ground.n_skin);
            add(&mut field, 1.0, &cheek);
        }
        field
    }

    fn jaw_open(&self, degrees: f64) -> Field {
        let slide = JAW_OPEN.1.map(|s| s * (degrees / JAW_OPEN.0).powf(0.8));
        let mut field = self.jaw.moved(degrees, slide);
        let part = degrees / JAW_OPEN.0;
        let narrow = LipPose {
            corner: [-3.2 * part, 0.0, -part],
            upper: Lip { side: [-0.8 * part, 0.0, -0.4 * part], ..Lip::default() },
            lower: Lip { side: [-1.2 * part, 0.0, 0.0], ..Lip::default() },
        };
        add(&mut field, 1.0, &self.lips.posed(&narrow, 36.0));
        self.contact.off_teeth(&mut field);
        field
    }

    /// Moves the jaw without opening the lips: both follow, the upper lip less.
    fn jaw_shift(&self, (degrees, slides): (f64, [f64; 2])) -> Field {
        let mut field = self.jaw.moved(degrees, slides);
        let mean = |v: usize| 0.45 * self.jaw.bone(degrees, slides, self.ground.points[v]);
        let mut moves = vec![DVec3::ZERO; self.ground.n_skin];
        for v in (0..self.ground.n_skin).filter(|&v| self.lips.is_lip(v)) {
            let more = self.jaw.share[v] - 0.5;
            let d = mean(v);
            let together = DVec3::new(d.x * (1.0 + 0.5 * more), 0.4 * d.y, d.z * (1.0 + 1.1 * more));
            moves[v] = together - field[v];
        }
        add(&mut field, 1.0, &self.lips.follow(&moves, 36.0));
        self.settled(field)
    }

    /// The mouth rotated to the left about the arch of the teeth.
    fn mouth_left(&self) -> Field {
        let turn = DQuat::from_rotation_y(11.0f64.to_radians());
        let pivot = DVec3::new(0.0, 0.0, 48.0);
        let at = |v: usize| {
            let p = self.ground.points[v] - pivot;
            let lift = 1.2 * ramp(self.lips.s[v], -0.2, 1.0) * DVec3::Y;
            if self.lips.is_lip(v) { turn * p - p + lift } else { DVec3::ZERO }
        };
        let moves: Vec<DVec3> = (0..self.ground.n_skin).map(at).collect();
        self.settled(self.lips.follow(&moves, 45.0))
    }

    /// The field that closes the lips while the jaw is open by `degrees`.
    fn mouth_close(&self, degrees: f64) -> Field {
        let open = self.jaw_open(degrees);
        let part = degrees / JAW_OPEN.0;
        let corner = open[self.ground.mark("mouth_left") as usize];
        let lip = Lip {
            middle: [-17.0 * part, -6.5 * part],
            side: [-1.5 * part, -17.5 * part, -7.0 * part],
            ..Lip::default()
        };
        let pose = LipPose { upper: lip, lower: lip, corner: [corner.x, corner.y, corner.z] };
        let mut moves = self.lips.moves(&pose);
        (0..self.ground.n_skin).filter(|&v| self.lips.is_lip(v)).for_each(|v| moves[v] -= open[v]);
        let mut sum = self.lips.follow(&moves, 45.0);
        add(&mut sum, 1.0, &open);
        let mut closed = self.settled(sum);
        add(&mut closed, -1.0, &open);
        closed
    }

    fn tongue_out(&self) -> Field {
        let mut field = self.jaw_open(9.0);
        if let Some(shape) = mouth::MOUTH.iter().find(|m| m.name == "aroundTongue") {
            add(&mut field, 1.0, &self.mouth(shape));
        }
        tongue::put_out(self.ground, &mut field);
        self.contact.off_teeth(&mut field);
        field
    }

    fn viseme(&self, viseme: &Viseme) -> Field {
        let mut field = self.jaw_open(viseme.jaw);
        if viseme.close > 0.0 {
            add(&mut field, viseme.close, &self.mouth_close(viseme.jaw));
        }
        for (name, amount) in viseme.lips {
            if let Some(shape) = mouth::MOUTH.iter().find(|m| m.name == *name) {
                add(&mut field, *amount, &self.mouth(shape));
            }
        }
        tongue::bend(self.ground, &mut field, viseme.tongue);
        self.settled(field)
    }
}

/// Lips of puffed cheeks: sealed, and a little forward.
fn puffed_lips() -> LipPose {
    let lip = Lip { middle: [0.0, 2.4], side: [0.4, 0.0, 3.2], roll: 4.0, thin: 0.06 };
    LipPose { upper: lip, lower: lip, corner: [1.2, 0.0, 4.2] }
}

/// Lips of a sneer: the upper lip rises beside the nose.
fn sneered_lips() -> LipPose {
    let upper = Lip { middle: [2.4, 0.3], side: [0.5, 4.2, 0.3], ..Lip::default() };
    LipPose { upper, lower: Lip::default(), corner: [0.5, 1.4, 0.0] }
}

/// Poses of lids and eyes by the name of their shape without side.
fn eye_pose(base: &str) -> Option<LidPose> {
    let [side, up, down] = LOOK;
    let still = LidPose::default();
    Some(match base {
        "eyeBlink" => LidPose { close: 1.0, ..still },
        "eyeWide" => LidPose { upper: 8.0, lower: -2.5, ..still },
        "eyeSquint" => LidPose { upper: -5.0, lower: 9.0, ..still },
        "eyeLookDown" => LidPose { upper: -17.0, lower: -5.0, pitch: -down, ..still },
        "eyeLookUp" => LidPose { upper: 7.5, lower: 2.0, pitch: up, ..still },
        "eyeLookIn" => LidPose { yaw: -side, upper: -0.5, ..still },
        "eyeLookOut" => LidPose { yaw: side, upper: -0.5, ..still },
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
