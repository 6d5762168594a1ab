//! A small rig with everything that can go wrong between corners and vertices.

use risorius_base::Space;
use risorius_mesh::Polygons;
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{Deltas, FaceGroup, Image, Material, RawPart, RawRig, RawShape, Rig, assemble};

/// A picture of 2 x 2 pixels.
const PNG: [u8; 73] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 2, 0, 0, 0, 253,
    212, 154, 115, 0, 0, 0, 16, 73, 68, 65, 84, 120, 156, 99, 56, 49, 173, 9, 136, 24, 32, 20, 0, 53, 166, 7,
    129, 231, 53, 15, 146, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

pub fn material(name: &str, image: bool) -> Material {
    Material {
        name: name.into(),
        base_color: [0.8, 0.6, 0.5, 1.0],
        metallic: 0.0,
        roughness: 0.55,
        double_sided: true,
        image: image.then(|| Image { mime: "image/png".into(), bytes: PNG.to_vec().into() }),
    }
}

/// Deltas from (vertex, offset).
pub fn deltas(moves: &[(u32, [f32; 3])]) -> Deltas {
    Deltas { vertices: moves.iter().map(|m| m.0).collect(), offsets: moves.iter().map(|m| m.1).collect() }
}

fn shape(name: &str, moves: &[(u32, [f32; 3])]) -> RawShape {
    RawShape { name: name.into(), deltas: deltas(moves) }
}

/// A strip of quads with a seam in its texture coordinates, colors, two materials and two shapes; a triangle
/// that does not move, without texture coordinates but with a material that has a picture.
pub fn raw() -> RawRig {
    let mut faces = Polygons::default();
    for f in [[0u32, 1, 4, 3], [1, 2, 5, 4], [3, 4, 7, 6]] {
        faces.push(&f);
    }
    faces.push(&[4, 5, 7]);
    let n_corners = faces.corners().len();
    let position = |v: usize| [(v % 3) as f32 * 0.1 - 0.3, (v / 3) as f32 / 7.0, (v * v) as f32 * 1e-3];
    let strip = RawPart {
        name: "strip".into(),
        positions: (0..8).map(position).collect(),
        // Corner 5 and on: the same vertex 4 with other coordinates in every face.
        corner_uvs: Some((0..n_corners).map(|c| [c as f32 / 16.0, (c / 5) as f32 / 3.0]).collect()),
        corner_normals: Some(
            (0..n_corners).map(|c| if c < 8 { [0.0, 0.0, 1.0] } else { [0.6, 0.0, 0.8] }).collect(),
        ),
        colors: Some((0..8).map(|v| [v as f32 / 8.0, 0.25, 1.0 / 3.0, 1.0]).collect()),
        groups: vec![
            FaceGroup { name: "skin".into(), first_face: 0, material: Some(0) },
            FaceGroup { name: "lips".into(), first_face: 2, material: Some(1) },
        ],
        faces,
        shapes: vec![
            shape("jawOpen", &[(4, [0.0, -0.1, 1.0 / 3.0]), (7, [0.0, -0.2, 1e-9])]),
            shape("smile_L", &[(0, [0.1, 0.2, -0.0])]),
        ],
        ..RawPart::default()
    };
    let still = RawPart {
        name: "still".into(),
        positions: vec![[5.0, 0.0, 0.0], [6.0, 0.0, 0.0], [5.0, 1.0, 0.0]],
        faces: Polygons::from_triangles(&[[0, 1, 2]]),
        groups: vec![FaceGroup { name: "skin".into(), first_face: 0, material: Some(0) }],
        ..RawPart::default()
    };
    RawRig {
        name: "synthetic".into(),
        space: Space { meters_per_unit: 0.01, ..Space::default() },
        materials: vec![material("skin", true), material("lips", false)],
        parts: vec![strip, still],
        has_split_vertices: true,
    }
}

pub fn rig() -> Rig {
    assemble(raw(), &RoleTable::default()).0
}
