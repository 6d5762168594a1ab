//! Quantized and compressed data: round trips of every component type, mode and filter.

use super::read::{CORNERS, read_json, triangle};
use risorius_io::formats::gltf::GltfContent;
use serde_json::{Value, json};

/// A triangle whose bufferViews are `views` (bytes, stride, compression) and whose other parts are `extra`.
fn with_views(views: &[(Vec<u8>, usize, Option<Value>)], extra: Value) -> Value {
    let mut bytes: Vec<u8> = Vec::new();
    let mut list = Vec::new();
    for (data, stride, compression) in views {
        let mut view =
            json!({"buffer": 0, "byteOffset": bytes.len(), "byteLength": data.len(), "byteStride": stride});
        if let Some(compression) = compression {
            let mut compression = compression.clone();
            let name = compression["name"].take();
            for key in ["byteOffset", "byteLength", "byteStride", "buffer"] {
                compression[key] = view[key].clone();
            }
            view =
                json!({"buffer": 1, "byteLength": 1000, "extensions": {name.as_str().unwrap(): compression}});
        }
        list.push(view);
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let floats: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let mut root = triangle(&floats, &[], extra);
    root["bufferViews"] = list.into();
    root["buffers"].as_array_mut().unwrap().push(json!({"byteLength": 100_000}));
    root
}

fn read(root: &Value) -> GltfContent {
    read_json(root).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn quantized_attributes() {
    let bytes = |v: &[i16]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let views = [
        (bytes(&[0, 0, 0, 0, 32767, -32767, 16384, 0, -32768, 0, 1, 0]), 8, None),
        (vec![0, 255, 51, 255, 255, 0, 0, 102, 1, 2, 3, 4], 4, None),
        (bytes(&[0, -1, 1, 0, -1, -1]), 4, None),
        (vec![0, 0, 127, 0, 0, 127, 0, 0, 129, 0, 0, 0], 4, None),
        (vec![0, 1, 2, 0], 1, None),
    ];
    let root = with_views(
        &views,
        json!({
            "extensionsRequired": ["KHR_mesh_quantization"],
            "accessors": [
                {"bufferView": 0, "componentType": 5122, "normalized": true, "count": 3, "type": "VEC3"},
                {"bufferView": 1, "componentType": 5121, "normalized": true, "count": 3, "type": "VEC4"},
                {"bufferView": 2, "componentType": 5123, "normalized": true, "count": 3, "type": "VEC2"},
                {"bufferView": 3, "componentType": 5120, "normalized": true, "count": 3, "type": "VEC3"},
                {"bufferView": 4, "componentType": 5121, "count": 3, "type": "SCALAR"},
            ],
            "meshes": [{"primitives": [{"attributes":
                {"POSITION": 0, "COLOR_0": 1, "TEXCOORD_0": 2, "NORMAL": 3}, "indices": 4}]}],
        }),
    );
    let content = read(&root);
    let part = &content.raw.parts[0];
    assert!(content.notes.is_empty(), "{:?}", content.notes);
    assert_eq!(part.positions[1][..2], [1.0, -1.0]);
    assert_eq!(part.positions[2], [-1.0, 0.0, 1.0 / 32767.0]);
    assert_eq!(part.colors.as_ref().unwrap()[0], [0.0, 1.0, 0.2, 1.0]);
    assert_eq!(part.corner_uvs.as_ref().unwrap()[..], [[0.0, 1.0], [1.0 / 65535.0, 0.0], [1.0, 1.0]]);
    assert_eq!(
        part.corner_normals.as_ref().unwrap()[..],
        [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    );
}

/// Encodes rows of four bytes or more as a compressed attribute stream.
fn packed<T: Copy>(name: &str, rows: &[T], filter: &str) -> (Vec<u8>, usize, Option<Value>) {
    let compression = json!({"name": name, "count": rows.len(), "mode": "ATTRIBUTES", "filter": filter});
    (meshopt::encode_vertex_buffer(rows).unwrap(), size_of::<T>(), Some(compression))
}

#[test]
fn compressed_views_of_every_mode_and_filter() {
    let corners: Vec<[f32; 3]> = CORNERS.as_chunks().0.to_vec();
    let up: [[f32; 4]; 3] = [[0.0, 0.0, 1.0, 0.0], [0.6, 0.0, 0.8, 0.0], [0.0, -1.0, 0.0, 0.0]];
    let turn = glam::Quat::from_rotation_y(0.5);
    let turns = meshopt::encode_filter_quat(&[glam::Quat::IDENTITY.to_array(), turn.to_array()], 16);
    let sequence = meshopt::encode_index_sequence(&[0, 1, 2, 2, 1, 0], 3).unwrap();
    let triangles = meshopt::encode_index_buffer(&[0, 1, 2], 3).unwrap();
    for name in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
        let positions = meshopt::encode_filter_exp(&corners, 24, meshopt::EncodeExpMode::Separate);
        let views = [
            packed(name, &positions, "EXPONENTIAL"),
            packed(name, &meshopt::encode_filter_oct::<i16>(&up, 16), "OCTAHEDRAL"),
            packed(name, &turns, "QUATERNION"),
            (sequence.clone(), 4, Some(json!({"name": name, "count": 6, "mode": "INDICES"}))),
            (triangles.clone(), 2, Some(json!({"name": name, "count": 3, "mode": "TRIANGLES"}))),
            packed(name, &[0.0f32, 1.0], "NONE"),
        ];
        let root = with_views(
            &views,
            json!({
                "accessors": [
                    {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                    {"bufferView": 1, "componentType": 5122, "normalized": true, "count": 3, "type": "VEC3"},
                    {"bufferView": 2, "componentType": 5122, "normalized": true, "count": 2, "type": "VEC4"},
                    {"bufferView": 3, "componentType": 5125, "count": 6, "type": "SCALAR"},
                    {"bufferView": 4, "componentType": 5123, "count": 3, "type": "SCALAR"},
                    {"bufferView": 5, "componentType": 5126, "count": 2, "type": "SCALAR"},
                ],
                "meshes": [{"primitives": [
                    {"attributes": {"POSITION": 0, "NORMAL": 1}, "indices": 3},
                    {"attributes": {"POSITION": 0, "NORMAL": 1}, "indices": 4},
                ]}],
                "animations": [{"samplers": [{"input": 5, "output": 2}],
                                "channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}]}],
            }),
        );
        let content = read(&root);
        let part = &content.raw.parts[0];
        assert_eq!(part.positions, corners);
        assert_eq!(part.faces.corners(), [0, 1, 2, 2, 1, 0, 0, 1, 2]);
        for (n, expected) in part.corner_normals.as_ref().unwrap().iter().zip(&up) {
            assert!(glam::Vec3::from(*n).distance(glam::Vec3::from_slice(expected)) < 1e-3, "{n:?}");
        }
        let q = glam::DQuat::from_array(content.tracks[0].rotations[1]);
        assert!(q.angle_between(turn.as_dquat()) < 1e-2);
    }
}

#[test]
fn sizes_are_checked_before_the_decoder_sees_them() {
    let corners: Vec<[f32; 3]> = CORNERS.as_chunks().0.to_vec();
    let good = |count: Value, mode: &str, filter: &str, stride: usize| {
        let bytes = meshopt::encode_vertex_buffer(&corners).unwrap();
        let compression =
            json!({"name": "EXT_meshopt_compression", "count": count, "mode": mode, "filter": filter});
        let accessor = json!({"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"});
        let primitive = json!({"attributes": {"POSITION": 0}});
        with_views(
            &[(bytes, stride, Some(compression))],
            json!({"accessors": [accessor], "meshes": [{"primitives": [primitive]}]}),
        )
    };
    assert_eq!(read(&good(3.into(), "ATTRIBUTES", "NONE", 12)).raw.parts[0].positions, corners);
    for (count, mode, filter, stride) in [
        (json!(3), "ATTRIBUTES", "NONE", 10),
        (json!(3), "ATTRIBUTES", "NONE", 0),
        (json!(3), "ATTRIBUTES", "NONE", 260),
        (json!(3), "ATTRIBUTES", "OCTAHEDRAL", 12),
        (json!(3), "ATTRIBUTES", "QUATERNION", 12),
        (json!(3), "ATTRIBUTES", "SECRET", 12),
        (json!(4_000_000_000u64), "ATTRIBUTES", "NONE", 12),
        (json!(u64::MAX), "ATTRIBUTES", "NONE", 12),
        (json!(3), "TRIANGLES", "NONE", 12),
        (json!(4), "TRIANGLES", "NONE", 4),
        (json!(3), "TRIANGLES", "EXPONENTIAL", 4),
        (json!(3_000_000), "TRIANGLES", "NONE", 4),
        (json!(3_000_000), "INDICES", "NONE", 4),
        (json!(3), "MAGIC", "NONE", 12),
        (json!(300), "ATTRIBUTES", "NONE", 12),
    ] {
        let error = read_json(&good(count, mode, filter, stride)).unwrap_err().to_string();
        assert!(error.contains("bufferView 0"), "{error}");
    }
}
