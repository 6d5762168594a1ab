//! A rig with very many shapes: inspected in seconds, refused with a clear message where it would need too
//! much memory.

use crate::desk::Desk;
use serde_json::json;
use std::time::{Duration, Instant};

const SHAPES: usize = 200_000;

/// A triangle with [`SHAPES`] targets that share one accessor, as a GLB written by hand.
fn many_shapes() -> Vec<u8> {
    let numbers = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let mut bin = numbers(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    bin.extend(numbers(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.125, 0.0, 0.0, 0.0]));
    bin.extend([0, 0, 1, 0, 2, 0, 0, 0]);
    let view =
        |offset: usize, length: usize| json!({ "buffer": 0, "byteOffset": offset, "byteLength": length });
    let targets: Vec<_> = (0..SHAPES).map(|_| json!({ "POSITION": 1 })).collect();
    let names: Vec<String> = (0..SHAPES).map(|i| format!("s{i}")).collect();
    let mut text = json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "buffers": [{ "byteLength": bin.len() }],
        "bufferViews": [view(0, 36), view(36, 36), view(72, 6)],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0] },
            { "bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC3" },
            { "bufferView": 2, "componentType": 5123, "count": 3, "type": "SCALAR" },
        ],
        "meshes": [{
            "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 2, "targets": targets }],
            "extras": { "targetNames": names },
        }],
    })
    .to_string()
    .into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let word = |n: usize| (n as u32).to_le_bytes();
    let total = word(12 + 8 + text.len() + 8 + bin.len());
    [b"glTF", &word(2)[..], &total, &word(text.len()), b"JSON", &text, &word(bin.len()), b"BIN\0", &bin]
        .concat()
}

/// Runs a call that must be refused, with 3 GB of address space if the system can limit it.
#[cfg(unix)]
fn refused_in_little_memory(desk: &Desk, args: &str, words: &str) {
    let limit = if cfg!(target_os = "linux") { "ulimit -v 3000000;" } else { "" };
    let line = format!("{limit} exec '{}' {args}", env!("CARGO_BIN_EXE_risorius"));
    let output =
        std::process::Command::new("sh").args(["-c", &line]).current_dir(desk.path(".")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains(words), "{said}");
    assert_eq!(desk.files().len(), 1);
}

#[test]
fn very_many_shapes_are_reported_or_refused() {
    let desk = Desk::new();
    desk.write("many.glb", many_shapes());
    let start = Instant::now();
    let report = desk.json(&["inspect", "many.glb"]);
    // A few seconds when run alone; other tests run in parallel.
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    assert_eq!(report["sliders"], SHAPES);
    assert!(
        report["problems"].to_string().contains("199999 shapes repeat another"),
        "{}",
        report["problems"]
    );
    #[cfg(unix)]
    for (args, words) in [
        ("attenuate many.glb -w s1=1 --pins '[{\"vertex\": 0}]' -o out.json", "200000 shapes"),
        ("interference many.glb -o out.json", "200000 shapes"),
        ("render many.glb --shapes -o out.png", "200000 pictures"),
    ] {
        refused_in_little_memory(&desk, args, words);
    }
}
