//! A face made by hand: a small rig with everything that rigs have, two tets of flesh, bones, a muscle, all
//! landmarks.

use glam::{DQuat, DVec3};
use risorius_anatomy::carry::Anatomy;
use risorius_anatomy::eyes::Eye;
use risorius_anatomy::find::FoundLandmark;
use risorius_anatomy::warp::{Field, Similarity, Warp};
use risorius_anatomy::{Note, PieceKind, Pieces};
use risorius_base::Rigid;
use risorius_base::Space;
use risorius_flesh::face::{PairReport, QualityReport, ShapeReport};
use risorius_flesh::{
    BuildReport, Corrective, Face, Flesh, MaterialShape, Materials, Response, SkinEmbedding, VolumeShape,
};
use risorius_head::landmarks::NAMES;
use risorius_head::{Bones, JawJoint};
use risorius_mesh::{Polygons, TriMesh};
use risorius_muscle::{Muscle, MuscleEnd, MuscleShape, Snap, SplineSolid, Tracks};
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{Deltas, FaceGroup, Image, Material, RawPart, RawRig, RawShape, Rig, assemble};

/// Names of the sample's shapes; the last two are an in-between and a combination.
pub const SHAPES: [&str; 4] = ["jawOpen", "smile_L", "jawOpen33", "smile_L__jawOpen33"];

pub fn face() -> Face {
    let rig = rig();
    let anatomy = anatomy(&rig);
    let muscle_shapes = vec![muscle_shape(&rig, &anatomy)];
    Face { rig, anatomy, flesh: flesh(), report: report(), muscle_shapes }
}

fn muscle_shape(rig: &Rig, anatomy: &Anatomy) -> MuscleShape {
    let n_points: usize = anatomy.muscles.iter().map(|m| m.solid.control.len()).sum();
    let key = |k: usize| (0..n_points).map(|i| [k as f32, 0.1 * i as f32, -0.0]).collect();
    MuscleShape {
        shape: 1,
        activations: vec![1.0 / 3.0; anatomy.muscles.len()],
        jaw: [12.5, 0.1, -0.0],
        tracks: Tracks { keys: (1..4).map(key).collect() },
        leads: vec![true; anatomy.muscles.len()],
        snap: Snap::between(
            &rig.neutral,
            &rig.neutral.iter().map(|p| p.map(|x| x + 0.25)).collect::<Vec<_>>(),
        ),
        miss_mm: [0.5, 2.0],
    }
}

fn shape(name: &str, moves: &[(u32, [f32; 3])]) -> RawShape {
    let deltas = Deltas {
        vertices: moves.iter().map(|m| m.0).collect(),
        offsets: moves.iter().map(|m| m.1).collect(),
    };
    RawShape { name: name.into(), deltas }
}

fn material(name: &str, image: Option<&[u8]>) -> Material {
    Material {
        name: name.into(),
        base_color: [0.8, 0.1 + 0.2, 1.0 / 3.0, 1.0],
        metallic: 0.1,
        roughness: 0.7,
        double_sided: image.is_some(),
        image: image.map(|bytes| Image { mime: "image/png".into(), bytes: bytes.into() }),
    }
}

pub fn rig() -> Rig {
    let mut faces = Polygons::default();
    faces.push(&[0, 1, 4, 3]);
    faces.push(&[1, 2, 5, 4]);
    faces.push(&[3, 4, 7]);
    let n_corners = faces.corners().len();
    let skin = RawPart {
        name: "skin \"quoted\" ü".into(),
        positions: (0..8).map(|v| [(v % 3) as f32 * 0.1, (v / 3) as f32 / 7.0, -0.0]).collect(),
        faces,
        // Values that are not finite belong to the artist and are kept, down to the bits of a NaN.
        corner_uvs: Some((0..n_corners).map(|c| [c as f32 / 16.0, f32::from_bits(0x7fc0_1234)]).collect()),
        corner_normals: Some(vec![[0.6, 0.0, 0.8]; n_corners]),
        colors: Some((0..8).map(|v| [v as f32 / 8.0, 0.25, 1.0 / 3.0, 1.0]).collect()),
        groups: vec![
            FaceGroup { name: "skin".into(), first_face: 0, material: Some(1) },
            FaceGroup { name: String::new(), first_face: 2, material: None },
        ],
        shapes: vec![
            shape(SHAPES[0], &[(4, [0.0, -0.1, 1.0 / 3.0]), (7, [0.0, -0.2, 1e-9])]),
            shape(SHAPES[1], &[(0, [0.1, 0.2, -0.0])]),
            shape(SHAPES[2], &[(4, [0.0, -0.05, 0.1])]),
            shape(SHAPES[3], &[(5, [f32::MIN_POSITIVE, 0.0, 0.0])]),
        ],
        regions: [("lips".to_string(), vec![1, 4]), ("none".to_string(), Vec::new())].into(),
        placement: Some(glam::DAffine3::from_translation(glam::DVec3::new(0.1, 1.0 / 3.0, -0.0))),
    };
    let cloud = RawPart { name: "points".into(), positions: vec![[5.0, 0.0, 0.0]; 3], ..RawPart::default() };
    let picture = [137, 80, 78, 71, 1, 2, 3];
    let raw = RawRig {
        name: "sample".into(),
        space: Space { meters_per_unit: 0.01, up: "-z".parse().unwrap(), front: "+X".parse().unwrap() },
        materials: vec![material("a", Some(&picture)), material("b", None), material("c", Some(&picture))],
        parts: vec![skin, cloud],
        has_split_vertices: true,
    };
    let mut table = RoleTable::default();
    table.limits.insert(SHAPES[0].into(), [-0.2, 1.1]);
    assemble(raw, &table).0
}

fn tetrahedron(size: f64) -> TriMesh {
    TriMesh {
        positions: vec![DVec3::ZERO, DVec3::X * size, DVec3::Y * size, DVec3::Z * size],
        triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    }
}

fn anatomy(rig: &Rig) -> Anatomy {
    let n = rig.n_vertices();
    let turn = DQuat::from_axis_angle(DVec3::X, 0.31);
    let motions = |angle: f64| {
        let open = Rigid::about(DVec3::new(0.0, 0.01, 0.003), DQuat::from_rotation_x(angle));
        vec![open, Rigid::IDENTITY, Rigid::IDENTITY, Rigid::IDENTITY]
    };
    let mark = |(i, name): (usize, &&'static str)| FoundLandmark {
        name,
        position: DVec3::new(i as f64, 1.0 / 3.0, -0.0),
        vertex: (i % n) as u32,
        triangle: [0, 1, 4],
        barycentric: [0.2, 0.3, 0.5],
        confidence: i as f64 / 100.0,
        source: format!("shape {i}"),
    };
    let field = Field {
        centers: vec![DVec3::ONE, DVec3::new(0.1, 0.2, 0.3)],
        weights: vec![DVec3::X, DVec3::NEG_X],
        constant: DVec3::new(1e-3, 0.0, 1.0 / 7.0),
    };
    let rigid = Rigid { rotation: turn, translation: DVec3::new(0.5, -0.25, 1.0 / 3.0) };
    Anatomy {
        bones: Bones {
            cranium: tetrahedron(0.1),
            mandible: tetrahedron(0.07),
            joint: JawJoint {
                condyles: [DVec3::X * 0.05, DVec3::X * -0.05],
                track: DVec3::Z,
                track_length: 0.012,
            },
        },
        teeth: [tetrahedron(0.01), TriMesh::default()],
        muscles: vec![Muscle {
            name: "zygomaticus_major_left".into(),
            origin: MuscleEnd::Cranium,
            insertion: MuscleEnd::Soft,
            solid: SplineSolid {
                counts: [3, 2, 2],
                control: (0..12).map(|i| DVec3::splat(f64::from(i))).collect(),
            },
        }],
        landmarks: NAMES.iter().enumerate().map(mark).collect(),
        pieces: Pieces {
            kinds: (0..n).map(|v| if v < 8 { PieceKind::Skin } else { PieceKind::Lash }).collect(),
            positions: (0..n).map(|v| DVec3::splat(v as f64 / 3.0)).collect(),
            skin: vec![[0, 1, 4], [0, 4, 3]],
            others: vec![[8, 9, 10]],
            carriers: (0..n).map(|v| (v >= 8).then_some(7)).collect(),
            face: vec![0, 4, 7],
            notes: vec![Note::new("a piece", "look at it")],
        },
        eyes: [Some(Eye { center: DVec3::new(0.03, 0.02, 0.08), radius: 0.0121, residual: 1e-4 }), None],
        jaw_motion: motions(0.4),
        eye_motion: [motions(0.0), motions(-0.1)],
        warp: Warp::from_field(Similarity { rigid, scale: 1.1 }, field).unwrap(),
        notes: vec![Note::new("the rig has no lower teeth", "add some")],
    }
}

fn flesh() -> Flesh {
    let volume = |nodes: Vec<u32>, at: f32| VolumeShape {
        offsets: nodes.iter().map(|&n| [n as f32 * at, 0.0, -0.0]).collect(),
        nodes: nodes.into(),
    };
    let change = |tets: Vec<u32>| MaterialShape {
        mu: tets.iter().map(|_| -120.5).collect(),
        lambda: tets.iter().map(|_| 33.0).collect(),
        tets: tets.into(),
    };
    Flesh {
        parting_weights: vec![0.1, 0.0],
        nodes: vec![[0.0; 3], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01], [0.01, 0.01, 0.01]]
            .into(),
        tets: vec![[0, 1, 2, 3], [4, 2, 1, 3]].into(),
        bounds: vec![0, 1, 2, 5, 6].into(),
        embedding: SkinEmbedding {
            vertices: vec![0, 4, 7].into(),
            tets: vec![0, 1, 1].into(),
            weights: vec![[0.25; 4], [1.5, -0.5, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]].into(),
        },
        volumes: vec![
            volume(vec![1, 3, 4], 1e-3),
            volume(vec![], 0.0),
            volume(vec![2], 0.5e-3),
            volume(vec![0, 1], 1e-4),
        ],
        correctives: vec![
            Corrective { shapes: [0, 2], volume: volume(vec![1, 2], 2e-3) },
            Corrective { shapes: [1, 3], volume: volume(vec![4], 1e-3) },
        ],
        materials: Materials {
            mu: vec![2000.0, 3500.5].into(),
            lambda: vec![40_000.0, 0.0].into(),
            density: vec![1100.0, 900.5].into(),
            damping: vec![0.01, 0.0].into(),
            shapes: vec![change(vec![0, 1]), change(vec![]), change(vec![1]), change(vec![])],
            responses: vec![Response { shape: 2, slider: 0, curve: vec![[0.0, 0.0], [1.0, 0.25]] }],
        },
    }
}

fn report() -> BuildReport {
    let fit = |(i, name): (usize, &&str)| ShapeReport {
        name: (*name).into(),
        fit_mm: [0.01 * i as f64, 1.0 / 3.0 + i as f64],
        least_j: 0.3,
        n_untangled: i,
        iterations: 12,
    };
    BuildReport {
        n_nodes: 5,
        n_tets: 2,
        quality: QualityReport { min_dihedral_deg: 54.7, ..QualityReport::default() },
        embedding_mm: [0.01, 0.2],
        n_slit_pairs: 3,
        n_fused_pairs: 0,
        parting_pose: vec![("jawOpen".into(), 0.1)],
        shapes: SHAPES.iter().enumerate().map(fit).collect(),
        pairs: PairReport {
            n_pairs: 1,
            n_inverting: 5,
            n_opposite: 4,
            n_corrected: 1,
            unrepaired: vec![["jawOpen".into(), "smile_L".into()]],
            worst: Some((["jawOpen".into(), "smile_L".into()], -0.2)),
        },
        stages: Vec::new(),
    }
}
