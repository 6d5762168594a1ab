//! Point caches and takes as Blender plays them, through the `bpy` package of PyPI.
//!
//! Blender is installed once under the target folder, 350 MB, so these checks are part of the long runs
//! (`RISORIUS_FULL=1`). Without Python 3.11, which that package is for, they are skipped and counted.

use crate::desk::{Desk, data};
use crate::takes;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Python with Blender in it, or `None` after reporting why not.
fn blender() -> Option<&'static Path> {
    static PYTHON: OnceLock<Result<PathBuf, &str>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        if std::env::var_os("RISORIUS_FULL").is_none() {
            return Err("RISORIUS_FULL is not set");
        }
        let works = |c: &mut Command| c.output().is_ok_and(|output| output.status.success());
        if !works(Command::new("python3.11").args(["-m", "venv", "--help"])) {
            return Err("Blender's package needs python3.11 with venv");
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("blender");
        let python = folder.join("bin/python");
        if !works(Command::new(&python).args(["-c", "import bpy"])) {
            let made = works(Command::new("python3.11").args(["-m", "venv"]).arg(&folder));
            let install = ["-m", "pip", "install", "--quiet", "bpy==5.0.1"];
            if !made || !works(Command::new(&python).args(install)) {
                return Err("Blender's package cannot be installed");
            }
        }
        Ok(python)
    });
    match found {
        Ok(python) => Some(python),
        Err(why) => {
            risorius_test_data::skip("point caches in Blender", why);
            None
        }
    }
}

/// Plays takes of a rig in Blender: point caches of all meshes, and a GLB. They must have the vertices of the
/// NPZ.
fn check(desk: &Desk, python: &Path, rig: &str, clip: &str, head: &str) {
    let call = ["pose", rig, "--clip", clip, "--bake", "--fps", "30", "--end", "20"];
    let outputs = ["-o", "take.npz", "-o", "take.mdd", "-o", "take.pc2", "-o", "take.glb"];
    let report = desk.json(&[&call[..], &outputs].concat());
    let files: Vec<&str> = report["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
    let of =
        |ending: &str| files.iter().copied().filter(|f| f.ends_with(ending)).collect::<Vec<_>>().join(",");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blender/play.py");
    let output = Command::new(python)
        .arg(script)
        .args([rig, "take.npz", &of(".mdd"), &of(".pc2"), "take.glb"])
        .current_dir(desk.path(""))
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = out.lines().rev().find_map(|line| line.strip_prefix("result "));
    let result = result.unwrap_or_else(|| panic!("{rig}: {out}{err}"));
    let result: serde_json::Value = serde_json::from_str(result).unwrap();
    eprintln!("{rig}: {result} ({head})");
    for way in ["mdd", "pc2", "glb"] {
        let off = result[way].as_f64().unwrap();
        assert!(off < 1e-5, "{rig}: {way} is off by {off} of the head's size: {result}");
    }
    assert!(result["moved"].as_f64().unwrap() > 1e-3, "nothing moves: {result}");
}

#[test]
fn blender_plays_point_caches_of_every_mesh_and_takes() {
    let Some(python) = blender() else { return };
    // The clip has no motion of nodes: Blender's objects rest where the file puts them.
    let clip = "time_s,jawOpen,mouthSmile_L\n0,0,0\n0.4,1,0.3\n0.7,0.2,1\n";
    let made = takes::desk();
    made.write("clip.csv", clip);
    check(&made, python, "face.gltf", "clip.csv", "two meshes, one scaled by its node");
    for (rig, what) in [
        ("facecap/facecap_plain.glb", "four meshes, quantized, each with a transform"),
        ("makehuman_male/makehuman_head_male.glb", "six meshes"),
        ("ict_facekit/ict_expressions.glb", "one mesh"),
    ] {
        let Some(rig) = data(rig) else { continue };
        let desk = Desk::new();
        desk.write("clip.csv", clip);
        check(&desk, python, &rig, "clip.csv", what);
    }
}
