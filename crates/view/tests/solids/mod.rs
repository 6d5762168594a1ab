//! Rigs made of balls, for tests with known pictures.

use risorius_base::Space;
use risorius_mesh::Polygons;
use risorius_rig::{Deltas, RawPart, RawRig, RawShape, Rig, assemble};

/// A ball of quads and triangles around `center`.
pub fn ball(center: [f32; 3], radius: f32, rings: u32) -> (Vec<[f32; 3]>, Polygons) {
    let around = 2 * rings;
    let mut points = Vec::new();
    for i in 1..rings {
        for j in 0..around {
            let (a, b) = (
                std::f32::consts::PI * i as f32 / rings as f32,
                std::f32::consts::TAU * j as f32 / around as f32,
            );
            points.push([a.sin() * b.sin(), a.cos(), a.sin() * b.cos()]);
        }
    }
    let (top, bottom) = (points.len() as u32, points.len() as u32 + 1);
    points.extend([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]);
    let mut faces = Polygons::default();
    let at = |i: u32, j: u32| i * around + j % around;
    for j in 0..around {
        faces.push(&[top, at(0, j), at(0, j + 1)]);
        faces.push(&[bottom, at(rings - 2, j + 1), at(rings - 2, j)]);
        for i in 0..rings - 2 {
            faces.push(&[at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    let place = |p: [f32; 3]| std::array::from_fn(|k| center[k] + radius * p[k]);
    (points.into_iter().map(place).collect(), faces)
}

/// A part called `name`.
pub fn part(name: &str, (positions, faces): (Vec<[f32; 3]>, Polygons)) -> RawPart {
    RawPart { name: name.into(), positions, faces, ..RawPart::default() }
}

/// A rig of `parts`, meters, Y up.
pub fn rig(parts: Vec<RawPart>) -> Rig {
    rig_in(Space::default(), parts)
}

/// A rig of `parts` in `space`.
pub fn rig_in(space: Space, parts: Vec<RawPart>) -> Rig {
    assemble(RawRig { name: "test".into(), space, parts, ..RawRig::default() }, &Default::default()).0
}

/// One ball of radius 1 at the origin.
pub fn one_ball() -> Rig {
    rig(vec![part("skin", ball([0.0; 3], 1.0, 24))])
}

/// A ball that one shape moves as a whole, so that all of it is the face; other parts are joined to it.
pub fn head(more: Vec<(Vec<[f32; 3]>, Polygons)>) -> Rig {
    let (mut positions, mut faces) = ball([0.0; 3], 1.0, 24);
    let n = positions.len() as u32;
    for (p, f) in more {
        let first = positions.len() as u32;
        positions.extend(p);
        f.iter().for_each(|face| faces.push(&face.iter().map(|v| v + first).collect::<Vec<_>>()));
    }
    let deltas = Deltas { vertices: (0..n).collect(), offsets: vec![[0.0, -0.01, 0.0]; n as usize] };
    let mut one = part("face", (positions, faces));
    one.shapes.push(RawShape { name: "jawOpen".into(), deltas });
    rig(vec![one])
}
