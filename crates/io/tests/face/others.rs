//! Other software reads the file: the reference implementation, and Python with only its standard library.

use super::{sample, taken_apart};
use risorius_io::native::face;
use std::process::Command;

#[test]
fn the_reference_implementation_reads_it() {
    let face = sample::face();
    let bytes = face::to_bytes(&face).unwrap();
    let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let ours = super::read(&bytes).unwrap();
    assert_eq!(theirs.len(), ours.arrays.len());
    for (name, info) in &ours.arrays {
        let tensor = theirs.tensor(name).unwrap();
        assert_eq!(tensor.shape(), info.shape);
        assert_eq!(format!("{:?}", tensor.dtype()), format!("{:?}", info.dtype));
    }
    let nodes = theirs.tensor("flesh.nodes").unwrap();
    assert_eq!(nodes.data(), bytemuck::cast_slice::<[f64; 3], u8>(&face.flesh.nodes));
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert_eq!(metadata["format"], "risorius-face");
    assert_eq!(metadata["version"], "2");
}

/// A face saved again by the reference implementation, in its own order, is still valid.
#[test]
fn what_others_save_again_is_read() {
    let bytes = face::to_bytes(&sample::face()).unwrap();
    let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let again = safetensors::serialize(theirs.tensors(), header.metadata().clone()).unwrap();
    let opened = super::read(&again).unwrap().face;
    assert_eq!(face::to_bytes(&opened).unwrap(), bytes);
}

#[test]
fn every_array_is_in_the_documentation() {
    let manual =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/face-file.md")).unwrap();
    let bytes = face::to_bytes(&sample::face()).unwrap();
    let (header, _) = taken_apart(&bytes);
    for name in header.as_object().unwrap().keys().filter(|k| *k != "__metadata__") {
        let number = |c: &str| c.chars().all(|c| c.is_ascii_digit());
        let general: Vec<&str> = name.split('.').map(|c| if number(c) { "N" } else { c }).collect();
        assert!(
            manual.contains(&format!("`{}`", general.join("."))),
            "docs/face-file.md does not name {name}"
        );
    }
    for key in header["__metadata__"].as_object().unwrap().keys() {
        assert!(manual.contains(&format!("`{key}`")), "docs/face-file.md does not name the metadata {key}");
    }
}

/// Reads the file as the safetensors documentation specifies, and a shape as ours specifies.
const PLAIN: &str = r#"
import array, json, struct, sys
file = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", file[:8])[0]
header = json.loads(file[8:8 + size])
codes = {"F64": "d", "F32": "f", "U64": "Q", "U32": "I", "U8": "B"}
def load(name):
    info = header[name]
    start, end = info["data_offsets"]
    return array.array(codes[info["dtype"]], file[8 + size + start:8 + size + end])
about = header["__metadata__"]
assert about["format"] == "risorius-face"
rig = json.loads(about["rig"])
names = [shape["name"] for shape in rig["shapes"]]
i = names.index("jawOpen33")
first = load("flesh.volumes.first")
nodes = load("flesh.volumes.nodes")[first[i]:first[i + 1]]
offsets = load("flesh.volumes.offsets")[3 * first[i]:3 * first[i + 1]]
bounds = json.loads(about["flesh"])["bounds"]
report = json.loads(about["report"])
print(json.dumps([names, list(nodes), [round(x, 6) for x in offsets], [bounds[b] for b in load("flesh.bounds")],
                  rig["space"]["meters_per_unit"], report["shapes"][0]["iterations"]]))
"#;

/// The same with the package that Python users have, where it is installed.
const PACKAGE: &str = r#"
import sys
try:
    from safetensors import safe_open
    from safetensors.numpy import load_file
except ImportError:
    print("none")
    sys.exit()
arrays = load_file(sys.argv[1])
with safe_open(sys.argv[1], "numpy") as file:
    assert file.metadata()["format"] == "risorius-face"
first = arrays["flesh.volumes.first"]
print(arrays["flesh.nodes"].shape, arrays["flesh.volumes.nodes"][first[0]:first[1]].tolist())
"#;

/// The output of a script; `None`, with a message on standard error, without Python.
fn python(script: &str, path: &std::path::Path) -> Option<String> {
    let program = std::env::var_os("RISORIUS_PYTHON").unwrap_or("python3".into());
    let Ok(output) = Command::new(program).arg("-c").arg(script).arg(path).output() else {
        eprintln!("skipped: there is no python3");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_string())
}

#[test]
fn python_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.face");
    face::write(&sample::face(), &path).unwrap();
    let Some(printed) = python(PLAIN, &path) else { return };
    let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let bounds = ["skin", "cranium", "mandible", "joint", "inside"];
    assert_eq!(found, serde_json::json!([sample::SHAPES, [2], [0.001, 0.0, 0.0], bounds, 0.01, 12]));
    match python(PACKAGE, &path).as_deref() {
        Some("none") => eprintln!("skipped: the Python package safetensors is not installed"),
        printed => assert_eq!(printed, Some("(5, 3) [1, 3, 4]")),
    }
}
