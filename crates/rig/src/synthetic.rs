//! Generated rigs for tests and benchmarks: any size, any sparsity, deterministic for a given seed.

use crate::model::{Deltas, Part, Rig, Role, Shape, Slider};
use risorius_mesh::Polygons;

/// A small fixed-sequence generator (splitmix64), so that rigs do not change with a dependency.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next number, evenly from -1 to 1.
    pub fn signed(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// The next number, evenly from 0 to 1.
    pub fn unit(&mut self) -> f32 {
        0.5 * (self.signed() + 1.0)
    }
}

/// A bumpy sheet of about `n_vertices` vertices, row after row, with `n_shapes` smooth local bumps, each over
/// about the fraction `support` of the vertices (1: all of them).
pub fn random_rig(n_vertices: usize, n_shapes: usize, support: f32, seed: u64) -> Rig {
    let mut random = Random(seed);
    let n_columns = (n_vertices as f32).sqrt().ceil().max(1.0) as usize;
    let place =
        |v: usize| [(v % n_columns) as f32 / n_columns as f32, (v / n_columns) as f32 / n_columns as f32];
    let neutral: Vec<[f32; 3]> = (0..n_vertices)
        .map(|v| {
            let [x, y] = place(v);
            [x, y, 0.1 * (7.0 * x).sin() * (5.0 * y).cos()]
        })
        .collect();
    let mut faces = Polygons::default();
    for v in 0..n_vertices.saturating_sub(n_columns) {
        if v % n_columns + 1 < n_columns && v + n_columns + 1 < n_vertices {
            faces.push(&[v, v + 1, v + n_columns + 1, v + n_columns].map(|i| i as u32));
        }
    }
    let shapes: Vec<Shape> = (0..n_shapes)
        .map(|s| Shape {
            name: format!("shape{s:04}"),
            role: Role::Slider(s),
            deltas: bump(n_vertices, place, support, &mut random),
        })
        .collect();
    Rig {
        name: "synthetic".into(),
        parts: vec![Part {
            name: "skin".into(),
            vertices: 0..n_vertices,
            rig_vertex: (0..n_vertices as u32).collect(),
            faces,
            ..Part::default()
        }],
        neutral,
        sliders: shapes
            .iter()
            .enumerate()
            .map(|(shape, s)| Slider { name: s.name.clone(), shape, range: [0.0, 1.0] })
            .collect(),
        shapes,
        ..Rig::default()
    }
}

fn bump(n_vertices: usize, place: impl Fn(usize) -> [f32; 2], support: f32, random: &mut Random) -> Deltas {
    let center = [random.unit(), random.unit()];
    // A disk of this radius covers `support` of the unit square, less the part beyond its border.
    let radius = if support >= 1.0 { 2.0 } else { (support / std::f32::consts::PI).sqrt() };
    let direction = [random.signed(), random.signed(), random.signed()];
    let wave = [3.0 + 20.0 * random.unit(), 3.0 + 20.0 * random.unit()];
    let mut deltas = Deltas::default();
    for v in 0..n_vertices {
        let [x, y] = place(v);
        let distance = ((x - center[0]).powi(2) + (y - center[1]).powi(2)).sqrt() / radius;
        if distance < 1.0 {
            let height = 0.05
                * (1.0 - distance * distance).powi(2)
                * (1.2 + (wave[0] * x).sin() * (wave[1] * y).cos());
            deltas.vertices.push(v as u32);
            deltas.offsets.push(direction.map(|d| d * height));
        }
    }
    deltas
}
