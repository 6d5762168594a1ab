//! Small rigs made in code, and their poses computed here without the program's evaluation.

use crate::desk::Desk;
use risorius_base::Space;
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_mesh::Polygons;
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{Deltas, RawPart, RawRig, RawShape, Rig, assemble};

/// Vertices along a side of the face.
pub const SIDE: usize = 9;

/// A shape: name, center on the sheet, and motion at the center.
pub type Spot = (&'static str, [f32; 2], [f32; 3]);

/// Sliders of the face with their spots. Names are ICT's and ARKit's.
pub const SLIDERS: [Spot; 5] = [
    ("jawOpen", [0.0, -5.0], [0.0, -1.5, -0.25]),
    ("mouthSmile_L", [3.0, -3.0], [0.75, 0.5, 0.0]),
    ("mouthSmile_R", [-3.0, -3.0], [-0.75, 0.5, 0.0]),
    ("browInnerUp", [0.0, 5.0], [0.0, 1.0, 0.125]),
    ("eyeBlink_L", [3.0, 3.0], [0.0, -0.5, 0.25]),
];

/// An in-between and a combination, recognized by their names.
pub const EXTRAS: [Spot; 2] = [
    ("jawOpen50", [0.0, -5.0], [0.0, -0.5, 0.5]),
    ("mouthSmile_L__jawOpen", [2.0, -4.0], [0.25, 0.25, 0.25]),
];

/// Rest position of vertex `v` in centimeters.
pub fn rest(v: usize) -> [f32; 3] {
    let (x, y) = (2.0 * (v % SIDE) as f32 - 8.0, 2.0 * (v / SIDE) as f32 - 8.0);
    [x, y, 6.0 - (x * x + y * y) / 16.0]
}

/// Displacement of vertex `v` by a spot at full strength.
pub fn displacement(spot: &Spot, v: usize) -> [f32; 3] {
    let p = rest(v);
    let distance = ((p[0] - spot.1[0]).powi(2) + (p[1] - spot.1[1]).powi(2)).sqrt();
    let strength = (1.0 - distance / 5.0).max(0.0);
    spot.2.map(|x| x * strength)
}

fn shape(spot: &Spot) -> RawShape {
    let mut deltas = Deltas::default();
    for v in 0..SIDE * SIDE {
        let offset = displacement(spot, v);
        if offset != [0.0; 3] {
            deltas.vertices.push(v as u32);
            deltas.offsets.push(offset);
        }
    }
    RawShape { name: spot.0.into(), deltas }
}

fn sheet(name: &str, spots: &[Spot]) -> RawPart {
    let mut faces = Polygons::default();
    let side = SIDE as u32;
    for v in (0..side * side - side).filter(|v| v % side != side - 1) {
        faces.push(&[v, v + 1, v + side + 1, v + side]);
    }
    RawPart {
        name: name.into(),
        positions: (0..SIDE * SIDE).map(rest).collect(),
        faces,
        shapes: spots.iter().map(shape).collect(),
        ..RawPart::default()
    }
}

/// A rig of these sheets, in centimeters.
pub fn rig(parts: &[(&str, &[Spot])]) -> Rig {
    let parts = parts.iter().map(|(name, spots)| sheet(name, spots)).collect();
    let space = Space { meters_per_unit: 0.01, ..Space::default() };
    assemble(RawRig { name: "face".into(), space, parts, ..RawRig::default() }, &RoleTable::default()).0
}

/// A GLB of [`rig`].
pub fn glb(parts: &[(&str, &[Spot])]) -> Vec<u8> {
    write_glb(&rig(parts), &GlbOptions::default()).unwrap()
}

/// The face with its five sliders.
pub fn face() -> Vec<u8> {
    glb(&[("skin", &SLIDERS)])
}

/// The face with an in-between and a combination as well.
pub fn face_with_extras() -> Vec<u8> {
    glb(&[("skin", &[&SLIDERS[..], &EXTRAS].concat())])
}

/// A region of the brow for [`face`], as a sidecar.
pub const BROW_SIDECAR: &str = r#"{"regions": {"brow": [57, 58, 59, 66, 67, 68]}}"#;

/// A clip of three seconds in which the jaw opens and the brow rises.
pub const CLIP: &str = "time_s,jawOpen,browInnerUp,Blink\n0,0,0,0\n1,0.5,0.25,1\n2,1,1,0\n3,0.25,0.5,0\n";

/// A desk with `face` as face.glb, its sidecar, and clip.csv.
pub fn desk(face: Vec<u8>) -> Desk {
    let desk = Desk::new();
    desk.write("face.glb", face);
    desk.write("face.rig.json", BROW_SIDECAR);
    desk.write("clip.csv", CLIP);
    desk
}

/// Positions of the face with each spot at its strength, summed in f64.
pub fn posed(strengths: &[(&Spot, f64)]) -> Vec<[f64; 3]> {
    (0..SIDE * SIDE)
        .map(|v| {
            let mut p = rest(v).map(f64::from);
            for (spot, strength) in strengths {
                let d = displacement(spot, v);
                (0..3).for_each(|k| p[k] += strength * f64::from(d[k]));
            }
            p
        })
        .collect()
}

/// `v` lines of an OBJ.
pub fn obj_positions(bytes: &[u8]) -> Vec<[f64; 3]> {
    let text = std::str::from_utf8(bytes).unwrap();
    let lines = text.lines().filter_map(|l| l.strip_prefix("v "));
    lines
        .map(|l| {
            let numbers: Vec<f64> = l.split_whitespace().take(3).map(|x| x.parse().unwrap()).collect();
            [numbers[0], numbers[1], numbers[2]]
        })
        .collect()
}

/// Largest difference of coordinates; the lists must have equal length.
pub fn largest_difference(a: &[[f64; 3]], b: &[[f64; 3]]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// A cube without shapes, as an OBJ.
pub const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
                        f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
