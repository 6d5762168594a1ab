//! A synthetic head: an egg with a nose, cut off at the neck, with shapes where a face has them. Centimeters,
//! +Y up, +Z front, the character's left at +X.

use risorius_mesh::Polygons;
use risorius_rig::{Deltas, RawPart, RawRig, RawShape, Rig, assemble};

/// Shapes that reveal unit and axes, with both sides of each.
pub const NAMES: [&str; 12] = [
    "eyeBlinkLeft",
    "eyeBlinkRight",
    "browDownLeft",
    "browDownRight",
    "browInnerUp",
    "jawOpen",
    "jawLeft",
    "jawRight",
    "mouthPucker",
    "mouthFunnel",
    "mouthSmileLeft",
    "mouthSmileRight",
];

const RINGS: u32 = 48;
const AROUND: u32 = 64;

type Vec3 = [f32; 3];

fn skin() -> (Vec<Vec3>, Polygons) {
    let mut positions = vec![[0.0, 12.0, 0.0]];
    for ring in 1..=RINGS {
        let polar = 2.5 * ring as f32 / RINGS as f32;
        for i in 0..AROUND {
            let around = std::f32::consts::TAU * i as f32 / AROUND as f32;
            let (x, z) = (polar.sin() * around.sin(), polar.sin() * around.cos());
            let mut p = [7.5 * x, 12.0 * polar.cos(), 9.5 * z];
            let to_nose = (p[0] / 1.5).powi(2) + ((p[1] + 0.5) / 2.5).powi(2);
            if p[2] > 0.0 {
                p[2] += 2.5 * (-to_nose).exp();
            }
            positions.push(p);
        }
    }
    let at = |ring: u32, i: u32| 1 + (ring - 1) * AROUND + i % AROUND;
    let mut faces = Polygons::default();
    for i in 0..AROUND {
        faces.push(&[0, at(1, i), at(1, i + 1)]);
        for ring in 1..RINGS {
            faces.push(&[at(ring, i), at(ring + 1, i), at(ring + 1, i + 1), at(ring, i + 1)]);
        }
    }
    (positions, faces)
}

/// Moves the front of the head around (x, y) by `offset`, falling off over `radius`.
fn bump(positions: &[Vec3], center: [f32; 2], radius: f32, offset: Vec3) -> Deltas {
    let mut deltas = Deltas::default();
    for (v, p) in positions.iter().enumerate() {
        let d = ((p[0] - center[0]).powi(2) + (p[1] - center[1]).powi(2)) / (radius * radius);
        if p[2] > 0.0 && d < 1.0 {
            deltas.vertices.push(v as u32);
            deltas.offsets.push(offset.map(|x| x * (1.0 - d)));
        }
    }
    deltas
}

/// The head before assembly; with shapes that carry `names` (ARKit's), or none.
pub fn raw_head(names: &[&str]) -> RawRig {
    let (positions, faces) = skin();
    let shape = |name: &str| {
        let side = if name.ends_with("Right") || name.ends_with("_R") { -1.0 } else { 1.0 };
        let (center, radius, offset) = match name {
            n if n.starts_with("eyeBlink") => ([3.1 * side, 2.5], 1.4, [0.0, -0.8, 0.1]),
            n if n.starts_with("browDown") => ([3.0 * side, 5.0], 2.0, [0.0, -0.6, 0.0]),
            "browInnerUp" => ([0.0, 5.0], 2.5, [0.0, 0.7, 0.0]),
            "jawOpen" => ([0.0, -7.5], 3.5, [0.0, -2.5, -0.8]),
            "jawLeft" | "jawRight" => ([0.0, -7.5], 3.0, [1.0 * side, 0.0, 0.0]),
            "mouthPucker" => ([0.0, -5.0], 2.0, [0.0, 0.0, 0.9]),
            "mouthFunnel" => ([0.0, -5.0], 2.4, [0.0, 0.0, 0.7]),
            n if n.starts_with("mouthSmile") => ([2.5 * side, -5.0], 1.8, [0.7 * side, 0.8, -0.3]),
            _ => ([0.0, 0.0], 3.0, [0.0, 0.3, 0.3]),
        };
        RawShape { name: name.into(), deltas: bump(&positions, center, radius, offset) }
    };
    let shapes = names.iter().map(|n| shape(n)).collect();
    let part = RawPart { name: "skin".into(), positions, faces, shapes, ..RawPart::default() };
    RawRig { name: "egg".into(), parts: vec![part], ..RawRig::default() }
}

/// Applies `f`, a linear map, to every position and displacement.
pub fn mapped(mut raw: RawRig, f: impl Fn(Vec3) -> Vec3) -> Rig {
    for part in &mut raw.parts {
        part.positions.iter_mut().for_each(|p| *p = f(*p));
        part.shapes.iter_mut().flat_map(|s| &mut s.deltas.offsets).for_each(|d| *d = f(*d));
    }
    assemble(raw, &Default::default()).0
}
