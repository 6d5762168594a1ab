//! Wrong calls, help, and behavior common to all verbs.

use crate::desk::Desk;
use crate::rigs::{self, desk};
use std::io::Read;
use std::process::{Command, Stdio};

#[test]
fn help_and_version_are_no_errors() {
    let desk = Desk::new();
    let help = desk.ok(&["--help"]);
    assert!(help.starts_with("Physics for face rigs"), "{help}");
    for verb in [
        "demo",
        "sample",
        "inspect",
        "build",
        "convert",
        "pose",
        "perform",
        "attenuate",
        "interference",
        "render",
    ] {
        assert!(help.contains(verb));
        assert!(desk.ok(&[verb, "--help"]).contains("--json"));
    }
    assert!(desk.ok(&["--version"]).starts_with("risorius "));
}

#[test]
fn wrong_calls_exit_with_2() {
    let desk = desk(rigs::face());
    desk.fails_with(2, &["inspct", "face.glb"], &["inspct", "inspect"]);
    desk.fails_with(2, &["inspect"], &["FILE"]);
    desk.fails_with(2, &["pose", "face.glb", "-o", "a.obj"], &["--weights", "--clip"]);
    desk.fails_with(2, &["pose", "face.glb", "-w", "jawOpen=1"], &["--output"]);
    desk.fails_with(
        2,
        &["pose", "face.glb", "-w", "jawOpen=1", "--clip", "clip.csv", "-o", "a.glb"],
        &["--clip"],
    );
    desk.fails_with(2, &["pose", "face.glb", "-w", "jawOpen=1", "--bake", "-o", "a.glb"], &["--clip"]);
    desk.fails_with(2, &["attenuate", "face.glb", "-w", "jawOpen=1"], &["--pins"]);
    desk.fails_with(2, &["attenuate", "face.glb", "--pins", "[]"], &["--weights", "--clip"]);
    desk.fails_with(2, &["interference", "face.glb"], &["--output"]);
    desk.fails_with(2, &["convert", "face.glb"], &["OUTPUT"]);
    for threads in ["0", "-1", "2000", "x"] {
        desk.fails_with(2, &["inspect", "face.glb", "--threads", threads], &["--threads", threads]);
    }
    for (option, bad) in [("--unit", "furlong"), ("--unit", "-1"), ("--up", "W"), ("--front", "+YZ")] {
        desk.fails_with(2, &["inspect", "face.glb", option, bad], &[bad]);
    }
}

/// File endings are checked before any work: the rig does not even exist.
#[test]
fn unknown_endings_are_wrong_calls() {
    let desk = Desk::new();
    let w = ["-w", "jawOpen=1"];
    let pins = ["--pins", "[]"];
    let calls: [(&[&str], &[&str], &str, &str); 9] = [
        (&["pose", "no.glb"], &w, "a.xyz", ".obj"),
        (&["pose", "no.glb"], &w, "a", ".obj"),
        (&["pose", "no.glb"], &["--clip", "c.csv"], "a.obj", ".mdd"),
        (&["attenuate", "no.glb", "-w", "jawOpen=1"], &pins, "a.obj", ".json"),
        (&["attenuate", "no.glb", "--clip", "c.csv"], &pins, "a.obj", ".csv"),
        (&["attenuate", "no.glb", "-w", "jawOpen=1", "--picture", "p.jpg"], &pins, "a.json", ".png"),
        (&["interference", "no.glb"], &[], "a.txt", ".png, .json"),
        (&["render", "no.glb"], &w, "a.jpg", ".png"),
        (&["render", "no.glb"], &[], "a", ".png"),
    ];
    for (verb, more, output, offered) in calls {
        desk.fails_with(2, &[verb, more, &["-o", output]].concat(), &[offered]);
    }
    for (input, output, offered) in [
        ("no.glb", "a.xyz", ".glb, .gltf, .obj, .ply"),
        ("no.glb", "a", "a/"),
        ("no.obj", "a.mdd", "pose the rig"),
        ("no.csv", "a.glb", ".csv, .json"),
        ("no.mdd", "a.glb", "needs its rig"),
        ("no.mdd", "a.obj", ".mdd, .pc2, .npz"),
        ("no.bvh", "a.glb", ".csv"),
    ] {
        desk.fails_with(2, &["convert", input, output], &[offered]);
    }
}

/// Every verb that reads a rig names the file that cannot be read, and its reason.
#[test]
fn rigs_that_cannot_be_read_are_named() {
    let desk = desk(rigs::face());
    let whole = desk.read("face.glb");
    desk.write("cut.glb", &whole[..whole.len() / 2]);
    desk.write("garbage.glb", b"\x00\xff nothing of the kind");
    desk.write("empty.glb", b"");
    desk.write("picture.png", b"not a rig");
    desk.write("folder/readme.txt", b"no obj in here");
    let verbs: [&[&str]; 6] = [
        &["inspect"],
        &["convert", "out.obj"],
        &["pose", "-w", "jawOpen=1", "-o", "out.obj"],
        &[
            "attenuate",
            "-w",
            "jawOpen=1",
            "--pins",
            "[{\"vertex\": 0}]",
            "-o",
            "out.json",
            "--picture",
            "p.png",
        ],
        &["interference", "-o", "out.png"],
        &["render", "-o", "out.png"],
    ];
    desk.write("out.obj", b"older");
    desk.write("out.json", b"older");
    desk.write("out.png", b"older");
    for verb in verbs {
        for (rig, reason) in [
            ("missing.glb", "No such file"),
            ("cut.glb", "glTF"),
            ("garbage.glb", "glTF"),
            ("empty.glb", "glTF"),
            ("picture.png", ".png"),
            ("folder", "no .obj files"),
        ] {
            desk.fails_with(1, &[&verb[..1], &[rig], &verb[1..]].concat(), &[rig, reason]);
        }
    }
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let desk = desk(rigs::face());
    desk.write("file", b"in the way");
    desk.write("taken.obj/inside", b"a folder of that name");
    for (output, named) in [("file/a.obj", "file: the folder cannot be created"), ("taken.obj", "taken.obj")]
    {
        desk.fails_with(1, &["pose", "face.glb", "-w", "jawOpen=1", "-o", output], &[named]);
    }
    desk.fails_with(1, &["demo", "--out", "file"], &["file"]);
    desk.fails_with(1, &["pose", "face.glb", "--clip", "clip.csv", "-o", "file/a.mdd"], &["file"]);
    desk.fails_with(1, &["render", "face.glb", "--size", "20", "-o", "file/a.png"], &["file"]);
    desk.fails_with(1, &["interference", "face.glb", "-o", "file/a.json"], &["file"]);
    desk.fails_with(1, &["convert", "face.glb", "file/a/"], &["file"]);
}

#[test]
fn names_with_spaces_capitals_and_new_folders() {
    let desk = Desk::new();
    desk.write("my rigs/Face Of Ann.GLB", rigs::face());
    desk.ok(&["pose", "my rigs/Face Of Ann.GLB", "-w", "jawOpen=1", "-o", "new folder/deep/Öffnen.OBJ"]);
    desk.ok(&["pose", "./my rigs/../my rigs/Face Of Ann.GLB", "-w", "jawOpen=1", "-o", "here.obj"]);
    assert_eq!(desk.read("here.obj"), desk.read("new folder/deep/Öffnen.OBJ"));
    assert_eq!(desk.files().len(), 3);
}

/// `risorius inspect ... | head -1` must end quietly when the reader goes away.
#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let desk = desk(rigs::face());
    for args in [&["inspect", "face.glb", "--json"][..], &["--help"], &["pose", "--help"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_risorius"))
            .args(args)
            .current_dir(desk.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success(), "{args:?}: {said}");
        assert!(said.is_empty(), "{args:?}: {said}");
    }
}
