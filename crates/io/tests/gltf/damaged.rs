//! Inconsistent files: each is refused quickly, without much memory, with a message that says where.

use super::read::{CORNERS, read_json, triangle};
use super::{alone, read_alone};
use risorius_base::progress::no_progress;
use risorius_io::formats::gltf;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Asserts that `root` is refused with all of `words`, in less than a second.
fn refused(root: &Value, words: &[&str]) {
    let start = Instant::now();
    let error = read_json(root).expect_err(words[0]).to_string();
    assert!(words.iter().all(|w| error.contains(w)), "{error}");
    assert!(start.elapsed() < Duration::from_secs(1));
}

fn changed(change: impl Fn(&mut Value)) -> Value {
    let mut root = triangle(&CORNERS, &[0, 1, 2], json!({}));
    change(&mut root);
    root
}

fn push(list: &mut Value, item: Value) {
    list.as_array_mut().unwrap().push(item);
}

#[test]
fn numbers_beyond_the_file_are_named() {
    assert!(read_json(&changed(|_| {})).is_ok());
    refused(&changed(|r| r["nodes"][0]["mesh"] = 7.into()), &["node 0", "mesh 7"]);
    refused(&changed(|r| r["nodes"][0]["children"] = json!([9])), &["node 0", "child 9"]);
    refused(&changed(|r| r["meshes"][0]["primitives"][0]["indices"] = 9.into()), &["accessor 9"]);
    refused(&changed(|r| r["accessors"][0]["bufferView"] = 9.into()), &["accessor 0", "bufferView 9"]);
    refused(&changed(|r| r["accessors"][0]["count"] = 4.into()), &["accessor 0", "48 bytes"]);
    refused(&changed(|r| r["accessors"][0]["count"] = (1u64 << 60).into()), &["accessor 0"]);
    refused(&changed(|r| r["accessors"][0]["byteOffset"] = u64::MAX.into()), &["accessor 0"]);
    refused(&changed(|r| r["accessors"][0]["componentType"] = 1.into()), &["componentType 1"]);
    refused(&changed(|r| r["accessors"][0]["type"] = "MAT4".into()), &["MAT4"]);
    refused(&changed(|r| r["bufferViews"][0]["buffer"] = 3.into()), &["bufferView 0", "buffer 3"]);
    refused(&changed(|r| r["bufferViews"][0]["byteOffset"] = u64::MAX.into()), &["bufferView 0"]);
    refused(&changed(|r| r["bufferViews"][0]["byteStride"] = 0.into()), &["byteStride"]);
    refused(
        &changed(|r| r["buffers"][0]["byteLength"] = 4_000_000_000u64.into()),
        &["buffer 0", "states 4000000000"],
    );
    refused(&changed(|r| r["accessors"][1]["count"] = (-1).into()), &["JSON"]);
    refused(&triangle(&CORNERS, &[0, 1, 3], json!({})), &["index 3", "3 vertices"]);
    refused(&changed(|r| r["extensionsRequired"] = json!(["KHR_draco_mesh_compression"])), &["Draco"]);
    refused(&changed(|r| r["asset"]["version"] = "1.0".into()), &["version '1.0'"]);
}

#[test]
fn sparse_lies_are_named() {
    let with_sparse = |count: u64, sparse: Value| {
        changed(move |r| {
            push(
                &mut r["accessors"],
                json!({"componentType": 5126, "count": count, "type": "VEC3", "sparse": sparse}),
            );
            r["meshes"][0]["primitives"][0]["targets"] = json!([{"POSITION": 2}]);
        })
    };
    let sparse = |at: u64, n: u64| json!({"count": n, "indices": {"bufferView": 1, "byteOffset": at, "componentType": 5123}, "values": {"bufferView": 0}});
    assert!(read_json(&with_sparse(3, sparse(0, 3))).is_ok());
    refused(&with_sparse(4_000_000_000, sparse(0, 1)), &["accessor 2"]);
    refused(&with_sparse(1_000_000_000, sparse(0, 1)), &["accessor 2", "1000000000"]);
    refused(&with_sparse(3, sparse(0, 4_000_000_000)), &["accessor 2", "4000000000"]);
    refused(&with_sparse(3, sparse(4, 2)), &["accessor 2", "bufferView 1"]);
    for (indices, words) in [
        ([1u16, 1, 2], ["does not ascend", "entry 1"]),
        ([2, 0, 1], ["does not ascend", "index 0"]),
        ([0, 1, 9], ["index 9", "outside"]),
    ] {
        let mut root = with_sparse(3, sparse(0, 3));
        let other = triangle(&CORNERS, &indices, json!({}));
        root["buffers"] = other["buffers"].clone();
        root["meshes"][0]["primitives"][0].as_object_mut().unwrap().remove("indices");
        refused(&root, &["accessor 2", words[0], words[1]]);
    }
    // A base accessor that claims vertices without bytes.
    refused(
        &changed(|r| r["accessors"][0] = json!({"componentType": 5126, "count": 40_000_000, "type": "VEC3"})),
        &["POSITION", "more than"],
    );
}

#[test]
fn trees_that_are_none() {
    refused(&changed(|r| r["nodes"] = json!([{"children": [1]}, {"children": [0]}])), &["own ancestor"]);
    refused(&changed(|r| r["nodes"] = json!([{"children": [0]}])), &["node 0", "own ancestor"]);
    refused(
        &changed(|r| r["nodes"] = json!([{"children": [2]}, {"children": [2]}, {}])),
        &["node 2", "one parent"],
    );
    refused(&changed(|r| r["nodes"] = json!([{"children": [1, 1]}, {}])), &["node 1", "one parent"]);
}

#[test]
fn a_chain_of_a_million_nodes_is_no_trouble() {
    let n = 1_000_000;
    let mut text = triangle(&CORNERS, &[0, 1, 2], json!({})).to_string();
    let nodes: Vec<String> = (0..n)
        .map(|i| if i + 1 < n { format!(r#"{{"children":[{}]}}"#, i + 1) } else { r#"{"mesh":0}"#.into() })
        .collect();
    text = text.replace(r#"[{"mesh":0}]"#, &format!("[{}]", nodes.join(",")));
    let content = read_alone(text.as_bytes()).unwrap();
    assert_eq!(content.raw.parts[0].name, "mesh0");
}

#[test]
fn few_bytes_cannot_ask_for_much() {
    // Many instances of many targets that all share one accessor.
    let targets: Vec<Value> = (0..20_000).map(|_| json!({"POSITION": 0})).collect();
    let mut root = changed(|r| r["meshes"][0]["primitives"][0]["targets"] = targets.clone().into());
    root["nodes"] = (0..20_000).map(|_| json!({"mesh": 0})).collect();
    let start = Instant::now();
    assert!(read_json(&root).unwrap_err().to_string().contains("more than"));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn times_that_do_not_ascend_are_named() {
    let mut floats = CORNERS.to_vec();
    floats.extend([0.0, 0.5, 0.5, 1.0, 1.0, 1.0]);
    let mut root = triangle(&floats, &[0, 1, 2], json!({}));
    push(
        &mut root["accessors"],
        json!({"bufferView": 0, "byteOffset": 36, "componentType": 5126, "count": 3, "type": "SCALAR"}),
    );
    push(
        &mut root["accessors"],
        json!({"bufferView": 0, "byteOffset": 36, "componentType": 5126, "count": 3, "type": "SCALAR"}),
    );
    root["meshes"][0]["primitives"][0]["targets"] = json!([{"POSITION": 0}]);
    root["animations"] = json!([{"name": "talk", "samplers": [{"input": 2, "output": 3}],
        "channels": [{"sampler": 0, "target": {"node": 0, "path": "weights"}}]}]);
    refused(&root, &["'talk'", "key 2"]);
    // Steps over a time span too long to sample.
    floats[10..12].copy_from_slice(&[1.0, 3e38]);
    root["buffers"] = triangle(&floats, &[0, 1, 2], json!({}))["buffers"].clone();
    root["animations"][0]["samplers"][0]["interpolation"] = "STEP".into();
    refused(&root, &["'talk'", "frames"]);
}

#[test]
fn other_files_and_cancelling() {
    for bytes in [&b""[..], b"glTF", b"glTF\x02\0\0\0\xff\xff\xff\xff", b"solid cube", b"{", b"[]", b"{}"] {
        assert!(read_alone(bytes).is_err());
    }
    let root = changed(|_| {}).to_string();
    let stop = |_: &str, _: f32| std::ops::ControlFlow::Break(());
    assert!(gltf::read(root.as_bytes(), &alone, &stop).unwrap_err().to_string().contains("cancelled"));
    assert!(gltf::read(root.as_bytes(), &alone, &no_progress).is_ok());
}
