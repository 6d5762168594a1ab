//! Landmarks on bare meshes: simulated scans against their truth, a real scan, and the neutrals of rigs in
//! random poses and units. Figures are printed; the limits are what was measured, with a margin.

use glam::{DMat3, DQuat, DVec3, Vec3};
use risorius_base::progress::no_progress;
use risorius_fit::FitError;
use risorius_fit::find::{FindOptions, Finder, Found, Given, ibug};
use risorius_head::landmarks::{NAMES, mirrored};
use risorius_head::{Head, Identity};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_mesh::FileMesh;
use risorius_rig::Rig;
use risorius_test_data as data;
use risorius_tests::flesh::is_full;
use risorius_view::LabeledPoint;
use risorius_view::{DrawOptions, FaceLook, draw};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

fn head() -> &'static Head {
    static HEAD: OnceLock<Head> = OnceLock::new();
    HEAD.get_or_init(|| risorius_head::build(&Identity::default()))
}

fn finder() -> &'static Finder {
    static FINDER: OnceLock<Finder> = OnceLock::new();
    FINDER.get_or_init(|| Finder::prepare(head()))
}

fn open(path: &Path) -> Rig {
    open_rig(path, &OpenOptions::default(), &no_progress).unwrap().rig
}

fn mesh_of(rig: &Rig) -> FileMesh {
    FileMesh { positions: rig.neutral.clone(), triangles: rig.triangles() }
}

/// Draws the found landmarks, if `RISORIUS_PICTURES` names a folder. The view is that of the built-in head.
fn picture(name: &str, rig: &Rig, found: &Found) {
    let Some(folder) = std::env::var_os("RISORIUS_PICTURES") else { return };
    let mut turned = rig.clone();
    turned.space = risorius_base::Space::default();
    let place = |p: &[f32; 3]| found.similarity.apply(Vec3::from(*p).as_dvec3()).as_vec3().to_array();
    turned.neutral = rig.neutral.iter().map(place).collect();
    turned.shapes.clear();
    turned.sliders.clear();
    let look = FaceLook::prepare(&turned);
    let label = |l: &risorius_fit::find::MeshLandmark| LabeledPoint {
        position: found.similarity.apply(l.position),
        label: String::new(),
        confidence: Some(l.confidence as f32),
    };
    for (side, yaw) in [("front", 0.0), ("side", 50.0)] {
        let options = DrawOptions {
            labels: found.landmarks.iter().map(label).collect(),
            yaw_degrees: yaw,
            ..DrawOptions::default()
        };
        let canvas = draw(&look, &turned.neutral, &options).unwrap();
        let file = Path::new(&folder).join(format!("{name}_{side}.png"));
        std::fs::write(file, canvas.encode_png()).unwrap();
    }
}

/// Distances between found and true landmarks in millimeters, with their indices.
fn errors(found: &Found, truth: &[(usize, DVec3)], mm_per_unit: f64) -> Vec<(usize, f64)> {
    truth.iter().map(|&(i, p)| (i, found.landmarks[i].position.distance(p) * mm_per_unit)).collect()
}

fn summary(name: &str, found: &Found, errors: &[(usize, f64)], secs: f64) -> (f64, f64) {
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
    let of = |range: std::ops::Range<usize>| -> Vec<f64> {
        errors.iter().filter(|e| range.contains(&e.0)).map(|e| e.1).collect()
    };
    let (jaw, inner) = (of(0..17), of(17..68));
    let worst = errors.iter().filter(|e| e.0 >= 17 && e.0 < 68).max_by(|a, b| a.1.total_cmp(&b.1));
    let (w, off) = worst.copied().unwrap_or_default();
    println!(
        "{name:28} score {:4.2} mm, mean {:5.2} mm, worst {off:5.1} ({}); brows {:.1} nose {:.1} eyes {:.1} \
         mouth {:.1}; jaw line {:.1}; {secs:.2} s {:?}",
        1000.0 * found.score,
        mean(&inner),
        NAMES[w],
        mean(&of(17..27)),
        mean(&of(27..36)),
        mean(&of(36..48)),
        mean(&of(48..68)),
        mean(&jaw),
        found.notes,
    );
    (mean(&inner), off)
}

/// The true position of each landmark of a scan of actor_a, in the scan's unit, and millimeters per unit.
fn truth_of_scan(name: &str, identity: &Rig, expressions: &Rig) -> (Vec<(usize, DVec3)>, f64) {
    let file = data::file("scans/actor_a/truth.json").unwrap();
    let truth: serde_json::Value = serde_json::from_slice(&read_file(&file).unwrap()).unwrap();
    let number = |v: &serde_json::Value| v.as_f64().unwrap();
    let scan = &truth["scans"][name];
    let row = |k: usize| -> DVec3 { DVec3::from_array(std::array::from_fn(|j| number(&scan["R"][k][j]))) };
    let turn = DMat3::from_cols(row(0), row(1), row(2)).transpose();
    let shift = DVec3::from_array(std::array::from_fn(|j| number(&scan["t"][j])));
    let scale = number(&scan["scale"]);
    // The two files weld different vertices; both have the same ones in the order of the file.
    let in_file = |rig: &Rig, field: &[DVec3]| -> Vec<DVec3> {
        rig.parts.iter().flat_map(|p| p.rig_vertex.iter().map(|&v| field[v as usize])).collect()
    };
    let neutral: Vec<DVec3> = identity.neutral.iter().map(|&p| Vec3::from(p).as_dvec3()).collect();
    let mut x = in_file(identity, &neutral);
    let mut add = |rig: &Rig, shape: usize, w: f64| {
        let deltas = &rig.shapes[shape].deltas;
        let mut field = vec![DVec3::ZERO; rig.n_vertices()];
        for (&v, &o) in deltas.vertices.iter().zip(&deltas.offsets) {
            field[v as usize] = Vec3::from(o).as_dvec3();
        }
        x.iter_mut().zip(in_file(rig, &field)).for_each(|(x, d)| *x += d * w);
    };
    for (k, w) in truth["identity"].as_array().unwrap().iter().enumerate() {
        add(identity, identity.sliders[k].shape, number(w));
    }
    for (shape, w) in scan["weights"].as_object().unwrap() {
        let slider = expressions.slider_index(shape).unwrap();
        add(expressions, expressions.sliders[slider].shape, number(w));
    }
    let list = ict_landmarks();
    let at = |&v: &usize| turn * x[v] * scale + shift;
    (list.iter().map(at).enumerate().collect(), 10.0 / scale)
}

fn ict_landmarks() -> Vec<usize> {
    let file = data::file("ict_facekit/vertex_indices.json").unwrap();
    let value: serde_json::Value = serde_json::from_slice(&read_file(&file).unwrap()).unwrap();
    value["idx_to_landmark_verts"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

const SCANS: [&str; 12] = [
    "neutral",
    "jaw_open",
    "smile",
    "smile_open",
    "frown",
    "kiss",
    "funnel",
    "sneer",
    "surprise",
    "blink",
    "puff",
    "smirk_left",
];

#[test]
fn simulated_scans_against_their_truth() {
    let Some(folder) = data::file("scans/actor_a") else { return };
    let identity = open(&data::file("ict_facekit/ict_identity40.glb").unwrap());
    let expressions = open(&data::file("ict_facekit/ict_expressions.glb").unwrap());
    assert_eq!(identity.n_file_vertices(), expressions.n_file_vertices());
    let mut means = Vec::new();
    let some = if is_full() { None } else { Some("neutral,jaw_open".to_owned()) };
    let only = std::env::var("RISORIUS_SCAN").ok().or(some);
    for name in SCANS.iter().filter(|n| only.as_ref().is_none_or(|o| o.contains(**n))) {
        let (truth, mm) = truth_of_scan(name, &identity, &expressions);
        let rig = open(&folder.join(format!("{name}.ply")));
        let start = Instant::now();
        let found = finder().find(&mesh_of(&rig), &FindOptions::default(), &no_progress).unwrap();
        let secs = start.elapsed().as_secs_f64();
        let scale = found.similarity.scale * 1000.0 / mm;
        picture(&format!("actor_{name}"), &rig, &found);
        let (mean, _) = summary(name, &found, &errors(&found, &truth, mm), secs);
        println!("    scale {scale:.3} of the true one");
        assert!(mean < 8.5 && (0.93..1.1).contains(&scale), "{name}: {mean:.1} mm, scale {scale:.2}");
        means.push(mean);
    }
    println!("mean over scans {:.2} mm", means.iter().sum::<f64>() / means.len() as f64);
}

/// A rotation and a scale, the same for the same seed.
fn random_pose(seed: u64) -> (DQuat, f64) {
    let mut random = risorius_rig::synthetic::Random(seed * 7919 + 13);
    let mut next = || f64::from(random.signed());
    let axis = DVec3::new(next(), next(), next()).normalize_or(DVec3::X);
    (DQuat::from_axis_angle(axis, 3.0 * next()), [0.01, 1.0, 39.37, 100.0, 1000.0][seed as usize % 5])
}

fn posed(mesh: &FileMesh, (turn, scale): (DQuat, f64)) -> FileMesh {
    let place = |p: &[f32; 3]| (turn * (Vec3::from(*p).as_dvec3() * scale) + DVec3::splat(scale)).as_vec3();
    FileMesh { positions: mesh.positions.iter().map(|p| place(p).to_array()).collect(), ..mesh.clone() }
}

#[test]
fn neutrals_in_any_pose_and_unit() {
    let heads = [
        ("ict", "ict_facekit/ict_expressions.glb"),
        ("makehuman", "makehuman_male/makehuman_head_male.glb"),
        ("facecap", "facecap/facecap_plain.glb"),
        ("lee_perry_smith", "lee_perry_smith/LeePerrySmith.glb"),
    ];
    let mut rigs: Vec<(&str, Rig)> = vec![("built_in", head().rig.clone())];
    for (name, path) in heads {
        let Some(file) = data::file(path) else { return };
        rigs.push((name, open(&file)));
    }
    for (k, (name, rig)) in rigs.iter().enumerate() {
        // Landmarks found with the help of shapes are the reference where no better is known.
        let pieces = risorius_anatomy::pieces::pieces(rig);
        let reference = risorius_anatomy::find::find(rig, &pieces, head(), &Default::default());
        for seed in if is_full() { 0..2 } else { 0..1 } {
            let (turn, scale) = random_pose(seed + 3 * k as u64);
            let mesh = posed(&mesh_of(rig), (turn, scale));
            let start = Instant::now();
            let found = finder().find(&mesh, &FindOptions::default(), &no_progress).unwrap();
            let secs = start.elapsed().as_secs_f64();
            let to_file = rig.space.file_from_si();
            let place = |p: DVec3| turn * (to_file * p * scale) + DVec3::splat(scale);
            let truth: Vec<(usize, DVec3)> = match (*name, &reference) {
                ("ict", _) => ict_landmarks()
                    .iter()
                    .map(|&v| rig.space.to_si(rig.neutral[rig.parts[0].rig_vertex[v] as usize]))
                    .map(place)
                    .enumerate()
                    .collect(),
                ("built_in", _) => head().landmarks[..68].iter().map(|&p| place(p)).enumerate().collect(),
                (_, Ok(list)) => (0..68).map(|i| (i, place(list.all[i].position))).collect(),
                (_, Err(_)) => Vec::new(),
            };
            let mm = rig.space.meters_per_unit * 1000.0 / scale;
            let mut shown = rig.clone();
            shown.neutral = mesh.positions.clone();
            if seed == 0 {
                picture(name, &shown, &found);
            }
            let (mean, _) = summary(&format!("{name} {seed}"), &found, &errors(&found, &truth, mm), secs);
            assert!(mean < if *name == "built_in" { 1.5 } else { 6.5 }, "{name}: {mean:.1} mm");
        }
    }
}

fn find_in(mesh: &FileMesh) -> Result<Found, FitError> {
    finder().find(mesh, &FindOptions::default(), &no_progress)
}

fn head_mesh() -> FileMesh {
    mesh_of(&head().rig)
}

/// The built-in head's own landmarks, in the coordinates of its mesh.
fn worst_on_built_in(found: &Found, place: impl Fn(DVec3) -> DVec3, mm: f64) -> f64 {
    let truth: Vec<(usize, DVec3)> = head().landmarks[..68].iter().map(|&p| place(p)).enumerate().collect();
    errors(found, &truth, mm).iter().map(|e| e.1).fold(0.0, f64::max)
}

/// A ball with waves on it.
fn ball(waves: f64) -> FileMesh {
    let (rings, around) = (60u32, 90u32);
    let mut mesh = FileMesh::default();
    for i in 0..=rings {
        for j in 0..around {
            let (a, b) = (
                std::f64::consts::PI * (0.01 + 0.98 * f64::from(i) / f64::from(rings)),
                std::f64::consts::TAU * f64::from(j) / f64::from(around),
            );
            let r = 100.0 * (1.0 + waves * (4.0 * b).sin() * (5.0 * a).sin());
            mesh.positions
                .push((DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin()) * r).as_vec3().into());
        }
    }
    for i in 0..rings {
        for j in 0..around {
            let at = |i: u32, j: u32| i * around + j % around;
            mesh.triangles.extend([
                [at(i, j), at(i, j + 1), at(i + 1, j)],
                [at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)],
            ]);
        }
    }
    mesh
}

#[test]
fn what_is_no_face_is_refused() {
    let no_face = |name: &str, mesh: &FileMesh| match find_in(mesh) {
        Err(FitError::NoFace { miss_mm }) => println!("{name}: refused at {miss_mm:?} mm"),
        other => panic!("{name}: {other:?}"),
    };
    no_face("ball", &ball(0.0));
    no_face("wavy ball", &ball(0.06));
    let mut back = head_mesh();
    back.triangles.retain(|t| t.iter().all(|&v| back.positions[v as usize][2] < -0.01));
    no_face("back of the head", &back);
    let mut empty = head_mesh();
    empty.triangles.clear();
    assert!(matches!(find_in(&empty), Err(FitError::NoSurface { .. })));
    let mut broken = head_mesh();
    broken.positions.iter_mut().for_each(|p| p[1] = f32::NAN);
    assert!(matches!(find_in(&broken), Err(FitError::NoSurface { .. })));
    let mut two = head_mesh();
    let n = two.positions.len() as u32;
    let more: Vec<[f32; 3]> = two.positions.iter().map(|p| [p[0] + 0.4, p[1], p[2]]).collect();
    let again: Vec<[u32; 3]> = two.triangles.iter().map(|t| t.map(|v| v + n)).collect();
    two.positions.extend(more);
    two.triangles.extend(again);
    assert!(matches!(find_in(&two), Err(FitError::SeveralFaces { n: 2 })));
}

#[test]
fn strange_meshes_of_a_face_are_understood() {
    // Inches, upside down, with vertices that are not finite, a hole, a floating shell and spikes.
    let turn = DQuat::from_rotation_z(3.0);
    let place = |p: DVec3| turn * p * 39.37 + DVec3::new(5.0, -3.0, 2.0);
    let mut mesh = head_mesh();
    mesh.positions.iter_mut().for_each(|p| *p = place(Vec3::from(*p).as_dvec3()).as_vec3().into());
    let hole = place(DVec3::new(0.05, 0.06, 0.07)).as_vec3();
    mesh.triangles.retain(|t| Vec3::from(mesh.positions[t[0] as usize]).distance(hole) > 0.6);
    let n = mesh.positions.len() as u32;
    mesh.positions.extend([[9.0, 9.0, 9.0], [9.3, 9.0, 9.0], [9.0, 9.4, 9.0], [f32::NAN; 3]]);
    mesh.triangles.extend([[n, n + 1, n + 2], [0, 1, n + 3]]);
    for v in (0..n as usize).step_by(997) {
        mesh.positions[v] = (Vec3::from(mesh.positions[v]) * 1.08).into();
    }
    let found = find_in(&mesh).unwrap();
    assert!(worst_on_built_in(&found, place, 25.4) < 8.0, "{}", worst_on_built_in(&found, place, 25.4));
    assert!((found.similarity.scale / 0.0254 - 1.0).abs() < 0.03);
    assert!(found.notes.iter().any(|n| n.contains("not finite")));
    // Inside out, and mirrored.
    let mut inside = head_mesh();
    inside.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let found = find_in(&inside).unwrap();
    assert!(found.inside_out && found.notes.iter().any(|n| n.contains("inward")));
    assert!(worst_on_built_in(&found, |p| p, 1000.0) < 8.0);
    let mut mirrored = head_mesh();
    mirrored.positions.iter_mut().for_each(|p| p[0] = -p[0]);
    assert!(find_in(&mirrored).unwrap().inside_out);
}

#[test]
fn given_landmarks_lead_and_stay() {
    let points: Vec<DVec3> = head().landmarks[..68].to_vec();
    let given = ibug::from_points(&points).unwrap();
    let options = FindOptions { landmarks: given, ..FindOptions::default() };
    let found = finder().find(&head_mesh(), &options, &no_progress).unwrap();
    assert_eq!(found.position("nose_tip"), Some(points[30]));
    assert!(found.landmarks.iter().all(|l| l.position.distance(DVec3::ZERO) < 0.4));
    let five: Vec<Given> = ["nose_tip", "mouth_left", "mouth_right", "eye_left_outer", "eye_right_outer"]
        .iter()
        .map(|n| ibug::named(n, points[risorius_head::landmarks::index(n).unwrap()]).unwrap())
        .collect();
    let options = FindOptions { landmarks: five, ..FindOptions::default() };
    let found = finder().find(&head_mesh(), &options, &no_progress).unwrap();
    let exchanged: Vec<Given> = ibug::from_points(&points)
        .unwrap()
        .into_iter()
        .map(|g| Given { index: mirrored(g.index), ..g })
        .collect();
    let options = FindOptions { landmarks: exchanged, ..FindOptions::default() };
    assert_eq!(finder().find(&head_mesh(), &options, &no_progress), Err(FitError::Mirrored));
    assert!(worst_on_built_in(&found, |p| p, 1000.0) < 6.0);
}
