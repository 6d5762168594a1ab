//! Damaged files of every other format: reported by name with a reason, never a panic.

use crate::desk::Desk;
use crate::rigs;

/// Each format cut at many lengths and with bytes changed: every run ends by itself with 0 or 1 and writes
/// nothing when it fails.
#[test]
fn damaged_files_of_every_format() {
    let whole = rigs::desk(rigs::face());
    whole.ok(&["convert", "face.glb", "a.gltf"]);
    whole.ok(&["convert", "face.glb", "a.obj"]);
    whole.ok(&["convert", "face.glb", "a.ply"]);
    whole.ok(&["convert", "clip.csv", "a.json"]);
    for take in ["a.mdd", "a.pc2", "a.npz"] {
        whole.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", take]);
    }
    let desk = Desk::new();
    for name in ["a.gltf", "a.obj", "a.ply", "a.json", "a.mdd", "a.pc2", "a.npz"] {
        let bytes = whole.read(name);
        for eighth in 0..4 {
            let mut damaged = bytes[..bytes.len() * (2 * eighth + 1) / 8].to_vec();
            if let Some(byte) = damaged.get_mut(3 + 11 * eighth) {
                *byte ^= 0xa5;
            }
            desk.write(name, &damaged);
            let run = desk.run(&["inspect", name]);
            assert!(
                run.code == 1 && run.err.contains(name) || run.code == 0,
                "{name}: {} {}",
                run.code,
                run.err
            );
        }
        // Binary formats state their size, so half a file is always detected.
        if ["a.gltf", "a.mdd", "a.pc2", "a.npz", "a.json"].contains(&name) {
            desk.write(name, &bytes[..bytes.len() / 2]);
            desk.fails_with(1, &["inspect", name], &[name]);
        }
    }
}

#[test]
fn counts_that_no_file_can_back_are_refused_at_once() {
    let desk = Desk::new();
    desk.write("a.mdd", [[0x7f, 0xff, 0xff, 0xff]; 2].concat());
    desk.write("a.stl", [&[0; 80][..], &[0xff; 4]].concat());
    desk.write("a.ply", "ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\nproperty float z\nend_header\n");
    desk.write(
        "a.pc2",
        [
            b"POINTCACHE2\0".as_slice(),
            &[1, 0, 0, 0],
            &[0xff, 0xff, 0xff, 0x7f],
            &[0; 8],
            &[0xff, 0xff, 0xff, 0x7f],
        ]
        .concat(),
    );
    for name in ["a.mdd", "a.stl", "a.ply", "a.pc2"] {
        desk.fails_with(1, &["inspect", name], &[name]);
    }
}

#[test]
fn folders_where_files_belong_and_the_other_way_round() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    desk.write("clip.csv/inside", "a folder");
    desk.write("w.json/inside", "a folder");
    desk.fails_with(
        1,
        &["pose", "face.glb", "--clip", "clip.csv", "-o", "a.mdd"],
        &["clip.csv", "directory"],
    );
    desk.fails_with(1, &["pose", "face.glb", "-w", "w.json", "-o", "a.obj"], &["w.json", "directory"]);
    desk.fails_with(1, &["attenuate", "face.glb", "-w", "", "--pins", "w.json"], &["w.json", "directory"]);
    desk.fails_with(1, &["inspect", "clip.csv"], &["clip.csv", "directory"]);
    desk.fails_with(1, &["inspect", "face.glb", "--sidecar", "w.json"], &["w.json", "directory"]);
}

#[test]
fn sidecars_that_name_what_is_not_there() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    desk.write("face.rig.json", r#"{"inbetweens": [{"shape": "nothing", "slider": "jawOpen", "at": 0.5}]}"#);
    let report = desk.json(&["inspect", "face.glb"]);
    assert!(report["role_problems"].to_string().contains("nothing"), "{report}");
    desk.write("face.rig.json", r#"{"regions": {"lips": {"part": "skn", "vertices": [1]}}}"#);
    desk.fails_with(1, &["inspect", "face.glb"], &["face.glb", "region 'lips'", "'skn'", "skin"]);
    desk.write("face.rig.json", "{");
    desk.fails_with(1, &["pose", "face.glb", "-w", "", "-o", "a.obj"], &["sidecar", "line 1"]);
}
