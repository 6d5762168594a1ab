//! Written files come back to the bit, and the validator finds no problem in them.

use super::synthetic::{deltas, rig};
use super::{data, read_alone, validator};
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_io::IoError;
use risorius_io::formats::gltf::{GlbOptions, TakeOptions, WeightTrack, write_glb, write_take_glb};
use risorius_io::open::{OpenOptions, open_rig};
use risorius_io::take_in::open_take_of;
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{FrameSource, HeadMotion, Part, Rig, RigidTrack, Take, assemble};

fn bits<const N: usize>(values: &[[f32; N]]) -> Vec<u32> {
    values.as_flattened().iter().map(|x| x.to_bits()).collect()
}

/// Texture coordinates per corner of the triangles.
fn triangle_uvs(part: &Part) -> Option<Vec<u32>> {
    let uvs = part.corner_uvs.as_ref()?;
    let corners = part.faces.triangulated_corners();
    Some(corners.as_flattened().iter().flat_map(|&c| uvs[c as usize].map(f32::to_bits)).collect())
}

/// Asserts that `back` is `rig` with its faces as triangles.
fn assert_same(rig: &Rig, back: &Rig) {
    assert_eq!(bits(&rig.neutral), bits(&back.neutral));
    assert_eq!(rig.space, back.space);
    assert_eq!(rig.materials[..], back.materials[..rig.materials.len()]);
    assert_eq!(rig.shapes.len(), back.shapes.len());
    for (a, b) in rig.shapes.iter().zip(&back.shapes) {
        assert_eq!((&a.name, &a.deltas.vertices), (&b.name, &b.deltas.vertices));
        assert_eq!(bits(&a.deltas.offsets), bits(&b.deltas.offsets), "{}", a.name);
    }
    assert_eq!(rig.parts.len(), back.parts.len());
    for (a, b) in rig.parts.iter().zip(&back.parts) {
        assert_eq!(a.name, b.name);
        assert_eq!(a.rig_vertex, b.rig_vertex[..a.rig_vertex.len()], "{}", a.name);
        assert_eq!(a.rig_triangles(), b.rig_triangles());
        assert_eq!(triangle_uvs(a), triangle_uvs(b), "{}", a.name);
        let n = a.n_file_vertices();
        assert_eq!(a.colors.as_ref().map(|c| bits(c)), b.colors.as_ref().map(|c| bits(&c[..n])));
    }
}

fn read_rig(bytes: &[u8]) -> Rig {
    assemble(read_alone(bytes).unwrap().raw, &RoleTable::default()).0
}

#[test]
fn a_rig_with_seams_comes_back_to_the_bit() {
    let rig = rig();
    let glb = write_glb(&rig, &GlbOptions::default()).unwrap();
    validator::assert_clean("synthetic.glb", &glb);
    let back = read_rig(&glb);
    assert_same(&rig, &back);
    assert_eq!(back.name, "synthetic");
    // The strip's groups and their materials; the still part uses a twin of the skin without the picture.
    let groups: Vec<_> = back.parts[0].groups.iter().map(|g| (g.first_face, g.material)).collect();
    assert_eq!(groups, [(0, Some(0)), (4, Some(1))]);
    assert!(back.parts[0].n_file_vertices() > 8 && back.parts[0].vertices.len() == 8);
    let twin = &back.materials[back.parts[1].groups[0].material.unwrap()];
    assert!(twin.name == "skin" && twin.image.is_none());
    let text = write_glb(&rig, &GlbOptions { as_text: true, ..GlbOptions::default() }).unwrap();
    validator::assert_clean("synthetic.gltf", &text);
    assert_same(&rig, &read_rig(&text));
    assert_eq!(glb, write_glb(&rig, &GlbOptions::default()).unwrap());
}

#[test]
fn real_rigs_come_back_to_the_bit() {
    for path in
        ["ict_facekit/ict_expressions.glb", "makehuman_male/makehuman_head_male.glb", "facecap/facecap.glb"]
    {
        let Some(bytes) = data(path) else { continue };
        let rig = read_rig(&bytes);
        for target_normals in [true, false] {
            let glb = write_glb(&rig, &GlbOptions { target_normals, ..GlbOptions::default() }).unwrap();
            validator::assert_clean(path, &glb);
            assert_same(&rig, &read_rig(&glb));
        }
    }
}

#[test]
fn animation_and_head_motion_come_back() {
    let rig = rig();
    let track =
        WeightTrack { times_secs: vec![0.0, 0.5, 1.0], coefficients: vec![0.0, 0.1, 0.7, 0.2, 1.0, 0.3] };
    let head = HeadMotion {
        times_secs: vec![0.0, 1.0],
        positions_m: vec![[0.0; 3], [0.02, 0.0, 0.01]],
        rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0], glam::DQuat::from_rotation_y(0.4).to_array()],
    };
    let weights = [0.25, 0.5];
    let options = GlbOptions {
        default_weights: Some(&weights),
        animation: Some(&track),
        head: Some(&head),
        ..GlbOptions::default()
    };
    let glb = write_glb(&rig, &options).unwrap();
    validator::assert_clean("animated.glb", &glb);
    let content = read_alone(&glb).unwrap();
    let clip = &content.clips[0].clip;
    assert_eq!(clip.names, ["jawOpen", "smile_L"]);
    assert_eq!((&clip.times_secs, &clip.values), (&track.times_secs, &track.coefficients));
    let motion = &content.tracks[0];
    assert_eq!(motion.is_ancestor_of_parts, [0, 1]);
    // Centimeters in the file.
    assert!(glam::DVec3::from(motion.positions[1]).distance(glam::DVec3::new(2.0, 0.0, 1.0)) < 1e-6);
    assert!(
        glam::DQuat::from_array(motion.rotations[1]).angle_between(glam::DQuat::from_rotation_y(0.4)) < 1e-3
    );
    assert_same(&rig, &assemble(content.raw, &RoleTable::default()).0);
}

#[test]
fn takes_play_frame_after_frame() {
    let rig = rig();
    let n = rig.n_vertices();
    let frames: Vec<Vec<[f32; 3]>> =
        (0..3).map(|f| rig.neutral.iter().map(|p| [p[0], p[1] + 0.25 * f as f32, p[2]]).collect()).collect();
    let take = Take { times_secs: vec![0.0, 0.1, 0.2], n_vertices: n, positions: frames.concat() };
    let glb = write_take_glb(&rig, &take, &TakeOptions::default()).unwrap();
    validator::assert_clean("take.glb", &glb);
    let content = read_alone(&glb).unwrap();
    let clip = content.clips[0].clip.clone();
    let back = assemble(content.raw, &RoleTable::default()).0;
    assert_eq!(clip.n_frames(), 3);
    for (f, frame) in frames.iter().enumerate() {
        let mut posed = back.neutral.clone();
        for (shape, &w) in back.shapes.iter().zip(clip.frame(f)) {
            for (&v, o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                (0..3).for_each(|k| posed[v as usize][k] += w * o[k]);
            }
        }
        assert!(posed.iter().zip(frame).all(|(a, b)| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)));
    }
    let long = Take { times_secs: (0..2001).map(f64::from).collect(), n_vertices: 0, positions: Vec::new() };
    assert!(matches!(write_take_glb(&rig, &long, &TakeOptions::default()), Err(IoError::Unsupported { .. })));
}

/// Normals of a target of a file: those of the rest plus those of the target, by vertex.
fn normals(glb: &[u8], mesh: usize, target: usize) -> Vec<[f32; 3]> {
    let n = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let json: serde_json::Value = serde_json::from_slice(&glb[20..20 + n]).unwrap();
    let primitive = &json["meshes"][mesh]["primitives"][0];
    let floats = |view: &serde_json::Value| -> Vec<[f32; 3]> {
        let view = &json["bufferViews"][view.as_u64().unwrap() as usize];
        let at = 28 + n + view["byteOffset"].as_u64().unwrap() as usize;
        let bytes = &glb[at..at + view["byteLength"].as_u64().unwrap() as usize];
        let float = |b: &[u8]| f32::from_le_bytes(b.try_into().unwrap());
        bytes.chunks(12).map(|p| [float(&p[..4]), float(&p[4..8]), float(&p[8..12])]).collect()
    };
    let accessor = |idx: &serde_json::Value| &json["accessors"][idx.as_u64().unwrap() as usize];
    let mut sum = floats(&accessor(&primitive["attributes"]["NORMAL"])["bufferView"]);
    let moved = accessor(&primitive["targets"][target]["NORMAL"]);
    if moved["bufferView"].is_number() {
        let add = |(a, b): (&mut [f32; 3], [f32; 3])| (0..3).for_each(|k| a[k] += b[k]);
        sum.iter_mut().zip(floats(&moved["bufferView"])).for_each(add);
    } else {
        assert!(moved["sparse"].is_null(), "the test reads dense targets");
    }
    sum
}

#[test]
fn frames_have_the_normals_of_their_pose() {
    // Everything turns, so every normal does, also those of hard edges that the artist gave.
    let rig = rig();
    let turn = |p: &[f32; 3]| [p[2], p[1], -p[0]];
    let frames = [rig.neutral.clone(), rig.neutral.iter().map(turn).collect()];
    let take = Take { times_secs: vec![0.0, 0.1], n_vertices: rig.n_vertices(), positions: frames.concat() };
    let glb = write_take_glb(&rig, &take, &TakeOptions::default()).unwrap();
    validator::assert_clean("turned.glb", &glb);
    for mesh in 0..2 {
        let (rest, turned) = (normals(&glb, mesh, 0), normals(&glb, mesh, 1));
        for (v, (a, b)) in rest.iter().zip(&turned).enumerate() {
            let wanted = turn(a);
            let off = (0..3).map(|k| (wanted[k] - b[k]).abs()).fold(0.0, f32::max);
            // The smallest rotation does not know of turns about the normal; here these are up to 14 degrees.
            let bound = if mesh == 0 { 0.3 } else { 1e-5 };
            assert!(off < bound, "mesh {mesh}, vertex {v}: {b:?} for {wanted:?}");
            assert!((b.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
        }
        assert_eq!(rest.len(), turned.len());
    }
    let plain = write_take_glb(&rig, &take, &TakeOptions { target_normals: false, ..TakeOptions::default() });
    assert!(plain.unwrap().len() < glb.len());
}

#[test]
fn moving_parts_come_back() {
    let rig = rig();
    let track = WeightTrack { times_secs: vec![0.0, 0.5], coefficients: vec![0.0; 4] };
    let turn = |angle: f64| Rigid::about(glam::DVec3::X, glam::DQuat::from_rotation_y(angle));
    let motion = RigidTrack { times_secs: vec![0.0, 0.5], motions: vec![turn(0.0), turn(0.5)] };
    let part_motions = [(1, motion)];
    let options =
        GlbOptions { animation: Some(&track), part_motions: &part_motions, ..GlbOptions::default() };
    let glb = write_glb(&rig, &options).unwrap();
    validator::assert_clean("moving.glb", &glb);
    let file = tempfile::Builder::new().suffix(".glb").tempfile().unwrap();
    std::fs::write(file.path(), &glb).unwrap();
    let opened = open_rig(file.path(), &OpenOptions::default(), &no_progress).unwrap();
    assert!(opened.clips[0].clip.head.is_none(), "one part of two is not the head");
    assert_eq!(opened.part_motions.len(), 1);
    assert_eq!(opened.part_motions[0].part, rig.parts[1].name);
    let back = open_take_of(file.path(), &rig, 30.0, &no_progress).unwrap();
    let mut expected = rig.neutral.clone();
    turn(0.5).apply_to(&mut expected[rig.parts[1].vertices.clone()]);
    for (a, b) in back.frame(1).iter().flatten().zip(expected.iter().flatten()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn what_gltf_cannot_hold_is_named() {
    let mut broken = rig();
    broken.neutral[4][1] = f32::NAN;
    let error = write_glb(&broken, &GlbOptions::default()).unwrap_err().to_string();
    assert!(error.contains("'strip' vertex 4"), "{error}");
    let mut broken = rig();
    broken.shapes[1].deltas = deltas(&[(2, [f32::INFINITY, 0.0, 0.0])]);
    let error = write_glb(&broken, &GlbOptions::default()).unwrap_err().to_string();
    assert!(error.contains("'smile_L'") && error.contains("vertex 2"), "{error}");
    for (times_secs, coefficients) in [
        (vec![-1.0], vec![0.0; 2]),
        (vec![0.0, 0.0], vec![0.0; 4]),
        (vec![1e9, 1e9 + 0.01], vec![0.0; 4]),
        (vec![0.0], vec![0.0]),
    ] {
        let track = WeightTrack { times_secs, coefficients };
        assert!(write_glb(&rig(), &GlbOptions { animation: Some(&track), ..GlbOptions::default() }).is_err());
    }
    assert!(write_glb(&Rig::default(), &GlbOptions::default()).is_err());
}
