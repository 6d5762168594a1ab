//! Surfaces in meters and volumes of tets, for tests of models and cuts.

use glam::DVec3;
use risorius_mesh::{TetMesh, TriMesh};
use std::collections::HashMap;

/// A ball of 2048 triangles: an octahedron whose faces are split four times.
pub fn ball_surface(center: [f32; 3], radius: f32) -> TriMesh {
    let mut faces = Vec::new();
    for i in 0..8u32 {
        let sign = |bit: u32| if i >> bit & 1 > 0 { -1.0 } else { 1.0 };
        let [a, b, c] = [DVec3::X * sign(0), DVec3::Y * sign(1), DVec3::Z * sign(2)];
        faces.push(if i.count_ones() % 2 == 0 { [a, b, c] } else { [a, c, b] });
    }
    for _ in 0..4 {
        let split = |[a, b, c]: [DVec3; 3]| {
            let [ab, bc, ca] = [(a + b).normalize(), (b + c).normalize(), (c + a).normalize()];
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        };
        faces = faces.into_iter().flat_map(split).collect();
    }
    let mut surface = TriMesh::default();
    let mut known: HashMap<[u64; 3], u32> = HashMap::new();
    for face in faces {
        surface.triangles.push(face.map(|p| {
            // Adding 0 turns -0 into +0.
            *known.entry((p + 0.0).to_array().map(f64::to_bits)).or_insert_with(|| {
                surface.positions.push(DVec3::from(center.map(f64::from)) + p * radius as f64);
                surface.positions.len() as u32 - 1
            })
        }));
    }
    surface
}

/// The cube from -1 to 1 as `n`^3 smaller cubes of six tets each, around the diagonal that all of them share.
pub fn cube_of_tets(n: u32) -> TetMesh {
    let at = |i: u32| 2.0 * i as f64 / n as f64 - 1.0;
    let node = |i: u32, j: u32, k: u32| (i * (n + 1) + j) * (n + 1) + k;
    let mut mesh = TetMesh::default();
    for (i, j, k) in cells(n + 1) {
        mesh.nodes.push(DVec3::new(at(i), at(j), at(k)));
    }
    for (i, j, k) in cells(n) {
        let corner = |bits: u32| node(i + (bits & 1), j + (bits >> 1 & 1), k + (bits >> 2 & 1));
        for [a, b] in [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]] {
            mesh.tets.push([corner(0), corner(a), corner(b), corner(7)]);
        }
    }
    mesh
}

/// Those tets of the cube whose middle is within 1 of its center.
pub fn ball_of_tets(n: u32) -> TetMesh {
    let mut mesh = cube_of_tets(n);
    let middle =
        |mesh: &TetMesh, tet: [u32; 4]| tet.iter().map(|&v| mesh.nodes[v as usize]).sum::<DVec3>() / 4.0;
    mesh.tets = mesh.tets.iter().copied().filter(|&t| middle(&mesh, t).length() < 1.0).collect();
    mesh
}

fn cells(n: u32) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..n).flat_map(move |i| (0..n).flat_map(move |j| (0..n).map(move |k| (i, j, k))))
}
