//! Reading: real rigs and small files written by hand.

use super::{alone, data, read_alone};
use glam::{DQuat, DVec3};
use risorius_base::progress::no_progress;
use risorius_io::IoError;
use risorius_io::formats::gltf::{self, GltfContent};
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{RawPart, assemble};
use serde_json::{Value, json};

/// A .gltf with one buffer (`floats`, then `indices` as u16): a plain triangle with the members of `extra`
/// replaced.
pub fn triangle(floats: &[f32], indices: &[u16], extra: Value) -> Value {
    let mut bytes: Vec<u8> = floats.iter().flat_map(|x| x.to_le_bytes()).collect();
    bytes.extend(indices.iter().flat_map(|i| i.to_le_bytes()));
    let hex: String = bytes.iter().map(|b| format!("{b:08b}")).collect::<Vec<_>>().concat();
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let base64: String = hex
        .as_bytes()
        .chunks(6)
        .map(|c| {
            let bits = std::str::from_utf8(c).unwrap();
            digits[usize::from_str_radix(&format!("{bits:0<6}"), 2).unwrap()] as char
        })
        .collect();
    let mut root = json!({
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": bytes.len(), "uri": format!("data:application/octet-stream;base64,{base64}")}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 4 * floats.len()},
            {"buffer": 0, "byteOffset": 4 * floats.len(), "byteLength": 2 * indices.len()},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "nodes": [{"mesh": 0}],
    });
    for (key, value) in extra.as_object().unwrap() {
        root[key] = value.clone();
    }
    root
}

pub const CORNERS: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];

pub fn read_json(root: &Value) -> Result<GltfContent, IoError> {
    read_alone(root.to_string().as_bytes())
}

fn names(parts: &[RawPart]) -> Vec<&str> {
    parts.iter().map(|p| p.name.as_str()).collect()
}

#[test]
fn ict_and_makehuman_are_read_whole() {
    let Some(bytes) = data("ict_facekit/ict_expressions.glb") else { return };
    let start = std::time::Instant::now();
    let content = read_alone(&bytes).unwrap();
    eprintln!("ICT: read in {:?}", start.elapsed());
    let part = &content.raw.parts[0];
    assert_eq!((part.positions.len(), part.faces.len(), part.shapes.len()), (26_719, 52_220, 57));
    assert_eq!(part.shapes[2].name, "browDown_L");
    assert!(part.shapes.iter().any(|s| s.name == "jawOpen" && s.deltas.max_length() > 1.0));
    let Some(bytes) = data("makehuman_male/makehuman_head_male.glb") else { return };
    let start = std::time::Instant::now();
    let content = read_alone(&bytes).unwrap();
    eprintln!("MakeHuman: read in {:?}; {:?}", start.elapsed(), names(&content.raw.parts));
    let (rig, _) = assemble(content.raw, &RoleTable::default());
    assert_eq!(rig.shapes.len(), 100);
    assert_eq!(rig.parts.len(), 6);
    assert!(rig.parts.iter().any(|p| p.vertices.len() == 4453));
}

#[test]
fn compressed_and_plain_facecap_agree() {
    let (Some(packed), Some(plain)) = (data("facecap/facecap.glb"), data("facecap/facecap_plain.glb")) else {
        return;
    };
    let (packed, plain) = (read_alone(&packed).unwrap(), read_alone(&plain).unwrap());
    assert_eq!(names(&packed.raw.parts), ["eyeLeft", "eyeRight", "head", "teeth"]);
    let (mut a, mut b) = (packed.raw.parts, plain.raw.parts);
    for (a, b) in a.iter_mut().zip(&mut b) {
        assert_eq!(a.faces, b.faces);
        assert_eq!(a.positions.len(), b.positions.len());
        let close = |x: &[[f32; 3]], y: &[[f32; 3]]| {
            x.iter().flatten().zip(y.iter().flatten()).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
        };
        assert!(close(&a.positions, &b.positions) < 1e-6, "{}", close(&a.positions, &b.positions));
        assert_eq!(a.shapes.len(), b.shapes.len());
        for (s, t) in a.shapes.iter().zip(&b.shapes) {
            assert_eq!(s.name, t.name);
            assert_eq!(s.deltas.vertices, t.deltas.vertices);
            assert!(close(&s.deltas.offsets, &t.deltas.offsets) < 1e-6);
        }
        let uvs = a.corner_uvs.as_ref().unwrap();
        assert!(uvs.iter().flatten().all(|x| (-0.1..1.1).contains(x)), "texture transform is applied");
        let unit = |n: &[f32; 3]| (glam::Vec3::from(*n).length() - 1.0).abs() < 1e-5;
        assert!(a.corner_normals.as_ref().unwrap().iter().all(unit));
    }
    assert_eq!(packed.clips.len(), 1);
    assert_eq!(packed.clips[0].clip.n_frames(), 335);
    assert_eq!(packed.clips[0].clip.names.len(), 52);
    let nodes: Vec<_> =
        packed.tracks.iter().map(|t| (t.node_name.as_str(), t.is_ancestor_of_parts.clone())).collect();
    assert_eq!(
        nodes,
        [("grp_eyeLeft", vec![0]), ("grp_eyeRight", vec![1]), ("grp_transform", vec![0, 1, 2, 3])]
    );
    assert!(packed.notes.iter().any(|n| n.contains("PNG")), "{:?}", packed.notes);
}

#[test]
fn facecap_weights_are_those_of_its_recording() {
    let (Some(glb), Some(csv)) = (data("facecap/facecap.glb"), data("facecap/facecap_take001.csv")) else {
        return;
    };
    let content = read_alone(&glb).unwrap();
    let clip = &content.clips[0].clip;
    let text = String::from_utf8(csv).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = header.iter().position(|h| h.trim() == "jawOpen").unwrap();
    let jaw = clip.names.iter().position(|n| n == "jawOpen").unwrap();
    for (f, line) in lines.enumerate() {
        let value: f32 = line.split(',').nth(column).unwrap().trim().parse().unwrap();
        assert!((clip.frame(f)[jaw] - value).abs() < 0.01, "frame {f}");
    }
}

#[test]
fn transforms_move_points_turn_normals_and_mirror_winding() {
    let extra = json!({
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
            {"bufferView": 0, "byteOffset": 36, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 0, "byteOffset": 72, "componentType": 5126, "count": 3, "type": "VEC3", "name": "smile"},
        ],
        "meshes": [{"primitives": [
            {"attributes": {"POSITION": 0, "NORMAL": 2}, "indices": 1, "targets": [{"POSITION": 3}]}
        ]}],
        "nodes": [
            {"mesh": 0}, {"name": "mirror", "scale": [-2.0, 1.0, 1.0], "translation": [1.0, 0.0, 0.0], "children": [0]},
        ],
    });
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let mut floats = CORNERS.to_vec();
    floats.extend([half, half, 0.0].repeat(3));
    floats.extend([0.0, 0.0, 0.0, 0.25, 0.5, 0.0, 0.0, f32::NAN, 0.0]);
    let part = &read_json(&triangle(&floats, &[0, 1, 2], extra)).unwrap().raw.parts[0];
    assert_eq!(part.name, "mirror");
    assert_eq!(part.positions, [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]);
    assert_eq!(part.faces.face(0), [0, 2, 1]);
    let normal = glam::Vec3::from(part.corner_normals.as_ref().unwrap()[0]);
    assert!(normal.distance(glam::Vec3::new(-0.5, 1.0, 0.0).normalize()) < 1e-6, "{normal}");
    assert_eq!(part.shapes[0].name, "smile");
    assert_eq!(part.shapes[0].deltas.vertices, [1, 2]);
    assert_eq!(part.shapes[0].deltas.offsets[0], [-0.5, 0.5, 0.0]);
    assert!(part.shapes[0].deltas.offsets[1][1].is_nan());
}

#[test]
fn strips_fans_and_shared_vertices() {
    let floats: Vec<f32> = (0..15).map(|i| i as f32).collect();
    let extra = json!({
        "bufferViews": [
            {"buffer": 0, "byteLength": 60}, {"buffer": 0, "byteOffset": 60, "byteLength": 10},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 5, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 5, "type": "SCALAR"},
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
        ],
        "materials": [{"name": "skin"}, {}],
        "meshes": [{"primitives": [
            {"attributes": {"POSITION": 0}, "indices": 1, "mode": 5, "material": 1},
            {"attributes": {"POSITION": 0}, "indices": 1, "mode": 6, "material": 0},
            {"attributes": {"POSITION": 2}, "mode": 4},
            {"attributes": {"POSITION": 2}, "mode": 1},
        ]}],
        "nodes": [{"mesh": 0, "name": "a"}, {"mesh": 0, "name": "a"}],
    });
    let content = read_json(&triangle(&floats, &[0, 1, 2, 3, 4], extra)).unwrap();
    assert_eq!(names(&content.raw.parts), ["a", "a.2"]);
    let part = &content.raw.parts[0];
    assert_eq!(part.positions.len(), 9);
    let faces: Vec<&[u32]> = part.faces.iter().collect();
    let expected = [[0u32, 1, 2], [2, 1, 3], [2, 3, 4], [0, 1, 2], [0, 2, 3], [0, 3, 4], [5, 6, 7]];
    assert_eq!(faces, expected.iter().map(|f| f.as_slice()).collect::<Vec<_>>());
    let groups: Vec<_> = part.groups.iter().map(|g| (g.name.as_str(), g.first_face, g.material)).collect();
    assert_eq!(groups, [("", 0, Some(1)), ("skin", 3, Some(0)), ("", 6, None)]);
    assert!(content.notes.iter().any(|n| n.contains("lines")));
}

/// Times 0 and 1, then `values`, as an animation of a triangle with one target.
fn animated(values: &[f32], path: &str, interpolation: &str) -> Value {
    let mut floats = CORNERS.to_vec();
    floats.extend([0.0, 1.0]);
    floats.extend(values);
    let (kind, width) = match path {
        "weights" => ("SCALAR", 1),
        "rotation" => ("VEC4", 4),
        _ => ("VEC3", 3),
    };
    let extra = json!({
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
            {"bufferView": 0, "byteOffset": 36, "componentType": 5126, "count": 2, "type": "SCALAR"},
            {"bufferView": 0, "byteOffset": 44, "componentType": 5126, "count": values.len() / width, "type": kind},
        ],
        "meshes": [{"extras": {"targetNames": ["jawOpen"]}, "primitives": [
            {"attributes": {"POSITION": 0}, "indices": 1, "targets": [{"POSITION": 0}]}
        ]}],
        "nodes": [{"mesh": 0}, {"name": "neck", "translation": [0.0, 2.0, 0.0], "children": [0]},
                  {"scale": [10.0, 10.0, 10.0], "children": [1]}],
        "animations": [{"name": "talk", "samplers": [{"input": 2, "output": 3, "interpolation": interpolation}],
                        "channels": [{"sampler": 0, "target": {"node": usize::from(path != "weights"), "path": path}}]}],
    });
    triangle(&floats, &[0, 1, 2], extra)
}

#[test]
fn weight_tracks_of_every_interpolation() {
    let clip =
        |values: &[f32], how| read_json(&animated(values, "weights", how)).unwrap().clips[0].clip.clone();
    let linear = clip(&[0.25, 0.75], "LINEAR");
    assert_eq!((linear.n_frames(), linear.names[0].as_str()), (2, "jawOpen"));
    let step = clip(&[0.25, 0.75], "STEP");
    assert_eq!(step.n_frames(), 61);
    assert_eq!((step.sample(0.9)[0], step.sample(1.0)[0]), (0.25, 0.75));
    // In-tangent, value, out-tangent per key: a parabola t (1 - t) * 4 has slopes 4 and -4.
    let cubic = clip(&[0.0, 0.0, 4.0, -4.0, 0.0, 0.0], "CUBICSPLINE");
    for (t, v) in cubic.times_secs.iter().zip(&cubic.values) {
        assert!((f64::from(*v) - 4.0 * t * (1.0 - t)).abs() < 1e-6);
    }
}

#[test]
fn channels_with_other_key_times_share_frames() {
    // Times 0 and 1 with weights 0.25 and 0.75; a second mesh has the same shape and another with keys at 0,
    // 0.5 and 1.
    let mut root =
        animated(&[0.25, 0.75, 0.0, 0.5, 1.0, 0.25, 0.0, 0.5, 1.0, 0.75, 0.25], "weights", "LINEAR");
    root["accessors"][3]["count"] = 2.into();
    for (offset, count) in [(52, 3), (64, 6)] {
        let accessor = json!({"bufferView": 0, "byteOffset": offset, "componentType": 5126, "count": count, "type": "SCALAR"});
        root["accessors"].as_array_mut().unwrap().push(accessor);
    }
    let mut mesh = root["meshes"][0].clone();
    mesh["extras"] = json!({"targetNames": ["jawOpen", "smile"]});
    mesh["primitives"][0]["targets"] = json!([{"POSITION": 0}, {}]);
    root["meshes"].as_array_mut().unwrap().push(mesh);
    root["nodes"].as_array_mut().unwrap().push(json!({"mesh": 1}));
    let animation = &mut root["animations"][0];
    animation["samplers"].as_array_mut().unwrap().push(json!({"input": 4, "output": 5}));
    let channel = json!({"sampler": 1, "target": {"node": 3, "path": "weights"}});
    animation["channels"].as_array_mut().unwrap().push(channel);
    let content = read_json(&root).unwrap();
    let clip = &content.clips[0].clip;
    assert_eq!(clip.names, ["jawOpen", "smile"]);
    assert_eq!(clip.times_secs, [0.0, 0.5, 1.0]);
    assert_eq!(clip.values, [0.25, 0.0, 0.5, 1.0, 0.75, 0.25]);
    assert!(content.notes.is_empty(), "{:?}", content.notes);
}

#[test]
fn node_tracks_are_motions_of_the_world() {
    let turn = DQuat::from_rotation_z(0.5).as_quat().to_array();
    let mut values = vec![0.0, 0.0, 0.0, 1.0];
    values.extend(turn);
    let content = read_json(&animated(&values, "rotation", "LINEAR")).unwrap();
    let track = &content.tracks[0];
    assert_eq!((track.node_name.as_str(), &track.is_ancestor_of_parts[..]), ("neck", &[0usize][..]));
    assert_eq!((track.positions[0], track.rotations[0]), ([0.0; 3], [0.0, 0.0, 0.0, 1.0]));
    // The neck's origin, at 20 above the world's, does not move.
    let (p, q) = (DVec3::from(track.positions[1]), DQuat::from_array(track.rotations[1]));
    let origin = DVec3::new(0.0, 20.0, 0.0);
    assert!((q * origin + p).distance(origin) < 1e-6 && q.angle_between(DQuat::from_rotation_z(0.5)) < 1e-3);
    let content = read_json(&animated(&[0.0, 2.0, 0.0, 0.0, 2.5, 0.0], "translation", "LINEAR")).unwrap();
    assert_eq!(content.tracks[0].positions, [[0.0; 3], [0.0, 5.0, 0.0]]);
}

#[test]
fn files_beside_a_gltf_come_through_the_callback() {
    let mut root = triangle(&CORNERS, &[0, 1, 2], json!({}));
    root["buffers"][0]["uri"] = "my%20face.bin".into();
    let bytes: Vec<u8> = CORNERS.iter().flat_map(|x| x.to_le_bytes()).chain([0, 0, 1, 0, 2, 0]).collect();
    let fetch = |path: &str| if path == "my face.bin" { Ok(bytes.clone()) } else { alone(path) };
    let content = gltf::read(root.to_string().as_bytes(), &fetch, &no_progress).unwrap();
    assert_eq!(content.raw.parts[0].faces.face(0), [0, 1, 2]);
    assert!(read_json(&root).unwrap_err().to_string().contains("my face.bin"));
}
