//! Rigs that are incomplete or not faces at all.

use risorius_mesh::Polygons;
use risorius_rig::{Deltas, Part, Rig, Role, Shape, Slider};

/// Keeps the polygons for which `keep` is true at all rig vertices.
pub fn cut(rig: &Rig, keep: impl Fn(usize) -> bool) -> Rig {
    let mut rig = rig.clone();
    for part in &mut rig.parts {
        let mut faces = Polygons::default();
        for face in part.faces.iter() {
            if face.iter().all(|&v| keep(part.rig_vertex[v as usize] as usize)) {
                faces.push(face);
            }
        }
        part.faces = faces;
        part.groups.clear();
    }
    rig
}

/// Removes all motion from the shapes for whose name `drop` is true.
pub fn without_shapes(rig: &Rig, drop: impl Fn(&str) -> bool) -> Rig {
    let mut rig = rig.clone();
    for shape in rig.shapes.iter_mut().filter(|s| drop(&s.name)) {
        shape.deltas = Deltas::default();
    }
    rig
}

/// The rig with `f` applied to positions and displacements.
pub fn mapped(rig: &Rig, f: impl Fn([f32; 3]) -> [f32; 3]) -> Rig {
    let mut other = rig.clone();
    other.neutral.iter_mut().for_each(|p| *p = f(*p));
    other.shapes.iter_mut().for_each(|s| s.deltas.offsets.iter_mut().for_each(|o| *o = f(*o)));
    other
}

/// The rig with the winding of every polygon reversed.
pub fn inside_out(rig: &Rig) -> Rig {
    let mut rig = rig.clone();
    for part in &mut rig.parts {
        let mut faces = Polygons::default();
        part.faces.iter().for_each(|f| faces.push(&f.iter().rev().copied().collect::<Vec<_>>()));
        part.faces = faces;
    }
    rig
}

/// A cube of 20 cm with two shapes.
pub fn cube() -> Rig {
    let mut neutral = Vec::new();
    let n = 6;
    let mut faces = Polygons::default();
    for side in 0..6u32 {
        let (axis, at) = (side as usize / 2, if side % 2 == 0 { -0.1f32 } else { 0.1 });
        let first = neutral.len() as u32;
        for i in 0..n * n {
            let place = |k: usize| 0.2 * k as f32 / (n - 1) as f32 - 0.1;
            let mut p = [at; 3];
            (p[(axis + 1) % 3], p[(axis + 2) % 3]) = (place(i % n), place(i / n));
            neutral.push(p);
        }
        for i in (0..n * n).filter(|i| i % n + 1 < n && i / n + 1 < n) {
            let q = [i, i + 1, i + 1 + n, i + n].map(|v| first + v as u32);
            faces.push(&if side % 2 == 0 { [q[0], q[3], q[2], q[1]] } else { q });
        }
    }
    let count = neutral.len();
    let shape = |name: &str, s: usize| Shape {
        name: name.into(),
        role: Role::Slider(s),
        deltas: Deltas { vertices: (0..20).collect(), offsets: vec![[0.0, -0.01, 0.01]; 20] },
    };
    Rig {
        name: "cube".into(),
        parts: vec![Part {
            name: "cube".into(),
            vertices: 0..count,
            rig_vertex: (0..count as u32).collect(),
            faces,
            ..Part::default()
        }],
        neutral,
        shapes: vec![shape("one", 0), shape("two", 1)],
        sliders: ["one", "two"].map(|n| Slider { name: n.into(), shape: 0, range: [0.0, 1.0] }).to_vec(),
        ..Rig::default()
    }
}
