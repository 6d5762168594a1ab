//! Files with frames: several of one run, one for each mesh, cut, converted, and on a full disk.

use crate::desk::Desk;
use crate::rigs::{self, SIDE, SLIDERS};
use glam::{DQuat, DVec3};
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_io::formats::gltf::{GlbOptions, WeightTrack, write_glb};
use risorius_io::open::{OpenOptions, open_rig, open_take};
use risorius_io::take_in::open_take_of;
use risorius_rig::{FrameSource, Rig, RigidTrack, Take};

const N: usize = SIDE * SIDE;

/// A face of two meshes as face.gltf. The second is twice as large in its own coordinates as in the rig, and
/// its node turns while the clip of four frames plays.
pub fn desk() -> Desk {
    let rig = rigs::rig(&[("skin", &SLIDERS), ("eye: left", &[])]);
    let times_secs: Vec<f64> = (0..4).map(|i| f64::from(i) / 10.0).collect();
    let strengths = |f: usize| (0..SLIDERS.len()).map(move |s| (f * (s + 1)) as f32 / 15.0);
    let track =
        WeightTrack { times_secs: times_secs.clone(), coefficients: (0..4).flat_map(strengths).collect() };
    let turn = |f: usize| Rigid::about(DVec3::new(1.0, 2.0, 0.0), DQuat::from_rotation_y(0.2 * f as f64));
    let motion = RigidTrack { times_secs, motions: (0..4).map(turn).collect() };
    let part_motions = [(1, motion)];
    let options = GlbOptions {
        as_text: true,
        animation: Some(&track),
        part_motions: &part_motions,
        ..GlbOptions::default()
    };
    let text = write_glb(&rig, &options).unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    json["nodes"][1]["scale"] = serde_json::json!([0.5, 0.5, 0.5]);
    let desk = Desk::new();
    desk.write("face.gltf", json.to_string());
    desk
}

fn rig(desk: &Desk) -> Rig {
    open_rig(&desk.path("face.gltf"), &OpenOptions::default(), &no_progress).unwrap().rig
}

fn take(desk: &Desk, name: &str) -> Take {
    open_take(&desk.path(name), 10.0).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Largest difference of coordinates between two takes of the rig.
fn difference(desk: &Desk, a: &str, b: &str) -> f32 {
    let rig = rig(desk);
    let [a, b] = [a, b].map(|name| open_take_of(&desk.path(name), &rig, 10.0, &no_progress).unwrap());
    assert_eq!(a.times_secs().len(), b.times_secs().len());
    let of_frame = |f: usize| {
        let (a, b) = (a.frame(f), b.frame(f));
        let pairs = a.into_iter().flatten().zip(b.into_iter().flatten());
        pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
    };
    (0..a.times_secs().len()).map(of_frame).fold(0.0, f32::max)
}

#[test]
fn one_run_writes_several_files_and_a_cache_for_each_mesh() {
    let desk = desk();
    let call = ["pose", "face.gltf", "--clip", "face.gltf", "--bake"];
    let outputs = ["-o", "a.glb", "-o", "a.npz", "-o", "a.mdd", "-o", "a.pc2"];
    let report = desk.json(&[&call[..], &outputs].concat());
    let files = ["a.npz", "a.skin.mdd", "a.eye_ left.mdd", "a.skin.pc2", "a.eye_ left.pc2", "a.glb"];
    assert_eq!(report["files"], serde_json::json!(files));
    assert_eq!(report["vertices"], 2 * N);
    assert!(files.iter().all(|file| desk.path(file).is_file()) && !desk.path("a.mdd").exists());
    let notes = report["notes"].to_string();
    assert!(notes.contains("one for each mesh") && notes.contains("eye: left leave their motion"), "{notes}");
    assert!(desk.ok(&[&call[..], &outputs].concat()).contains("\n  a.eye_ left.mdd\n"));

    // The eye turns by its node in frames, and its own cache leaves that to the node.
    let joined = take(&desk, "a.npz");
    assert!(difference(&desk, "a.npz", "a.glb") < 1e-5);
    let eye = take(&desk, "a.eye_ left.mdd");
    assert_eq!((eye.n_vertices, eye.n_frames()), (N, 4));
    for f in 0..4 {
        let motion = Rigid::about(DVec3::new(1.0, 2.0, 0.0), DQuat::from_rotation_y(0.2 * f as f64));
        for v in 0..N {
            // In its own coordinates the mesh has the numbers of the file, which the node halves.
            let own = rigs::rest(v);
            assert_eq!(eye.frame(f)[v], own, "frame {f}, vertex {v}");
            let moved = motion.apply(DVec3::from(own.map(f64::from)) * 0.5).as_vec3();
            assert!(moved.distance(joined.frame(f)[N + v].into()) < 1e-5, "frame {f}, vertex {v}");
        }
    }
    let skin = take(&desk, "a.skin.mdd");
    assert!((0..4).all(|f| skin.frame(f) == &joined.frame(f)[..N]), "not the same bits");
    assert_eq!(take(&desk, "a.skin.pc2").positions, skin.positions);

    // One for all, when that is wanted; the older ones are not mistaken for it.
    let whole = [&call[..], &["--per-part=off", "-o", "b.mdd"]].concat();
    assert_eq!(desk.json(&whole)["files"], serde_json::json!(["b.mdd"]));
    assert_eq!(take(&desk, "b.mdd").positions, joined.positions);
}

#[test]
fn normals_can_be_left_out() {
    let desk = desk();
    let call = ["pose", "face.gltf", "--clip", "face.gltf", "--bake", "-o"];
    desk.ok(&[&call[..], &["with.gltf"]].concat());
    desk.ok(&[&call[..], &["without.gltf", "--normals", "off"]].concat());
    for (file, expected) in [("with.gltf", true), ("without.gltf", false)] {
        let gltf = desk.read_json(file);
        for mesh in gltf["meshes"].as_array().unwrap() {
            let primitive = &mesh["primitives"][0];
            assert!(primitive["attributes"]["NORMAL"].is_number());
            let targets = primitive["targets"].as_array().unwrap();
            assert!(targets.iter().all(|target| target["NORMAL"].is_number() == expected), "{file}");
        }
    }
    assert!(desk.read("with.gltf").len() > 6 * desk.read("without.gltf").len() / 5);
    assert!(difference(&desk, "with.gltf", "without.gltf") == 0.0);
}

#[test]
fn takes_are_cut_and_converted_both_ways() {
    let desk = desk();
    desk.ok(&["pose", "face.gltf", "--clip", "face.gltf", "--bake", "-o", "a.glb", "-o", "a.npz"]);
    // Through every format and back.
    desk.fails_with(2, &["convert", "a.npz", "b.glb"], &["needs its rig", "--rig"]);
    let report = desk.json(&["convert", "a.npz", "b.glb", "--rig", "face.gltf"]);
    assert_eq!((&report["frames"], &report["vertices"]), (&4.into(), &(2 * N).into()));
    desk.ok(&["convert", "b.glb", "c.npz"]);
    assert!(difference(&desk, "a.npz", "c.npz") < 1e-5);
    let split = desk.json(&["convert", "a.npz", "c.mdd", "--rig", "face.gltf"]);
    assert_eq!(split["files"], serde_json::json!(["c.skin.mdd", "c.eye_ left.mdd"]));
    desk.ok(&["convert", "c.mdd", "d.npz", "--rig", "face.gltf"]);
    assert!(difference(&desk, "a.npz", "d.npz") < 1e-5, "the caches of both meshes are one take");

    // Both ends are included, as frames or as seconds; times stay.
    let cut = |args: &[&str], output: &str| {
        let report = desk.json(&[&["convert"], args, &[output]].concat());
        assert_eq!(report["frames"], 2, "{args:?}");
        take(&desk, output).times_secs
    };
    let times = take(&desk, "a.npz").times_secs[1..3].to_vec();
    assert_eq!(cut(&["a.npz", "--start", "1", "--end", "2"], "e.npz"), times);
    assert_eq!(cut(&["a.npz", "--start", "0.1s", "--end", "0.25s"], "f.npz"), times);
    assert_eq!(take(&desk, "e.npz").positions, take(&desk, "a.npz").positions[2 * N..6 * N]);
    // A cut GLB does not keep the targets of other frames.
    desk.ok(&["convert", "a.glb", "short.gltf", "--start", "2"]);
    let names = desk.read_json("short.gltf")["meshes"][0]["extras"]["targetNames"].clone();
    assert_eq!(names.as_array().unwrap().len(), 2);
    let posed = desk.json(&["pose", "face.gltf", "--clip", "face.gltf", "--end", "1", "-o", "g.npz"]);
    assert_eq!(posed["frames"], 2);
    desk.fails_with(1, &["convert", "a.npz", "h.npz", "--start", "9"], &["4 frames", "--start"]);
    desk.fails_with(2, &["convert", "a.npz", "h.npz", "--start", "x"], &["1.5s"]);
}

#[test]
fn inputs_are_not_replaced_by_accident() {
    let desk = desk();
    let before = desk.read("face.gltf");
    desk.fails_with(2, &["convert", "face.gltf", "face.gltf"], &["also an input", "--force"]);
    desk.fails_with(2, &["convert", "face.gltf", "./face.gltf"], &["also an input"]);
    let pose = ["pose", "face.gltf", "-w", "jawOpen=1", "-o", "a.obj", "-o", "face.gltf"];
    desk.fails_with(2, &pose, &["also an input"]);
    assert!(desk.read("face.gltf") == before && !desk.path("a.obj").exists());
    desk.ok(&["convert", "face.gltf", "face.gltf", "--force"]);
    assert!(desk.read("face.gltf") != before);
    // The motion of the eye's node is still there.
    let back = open_rig(&desk.path("face.gltf"), &OpenOptions::default(), &no_progress).unwrap();
    assert_eq!(back.part_motions.len(), 1);
    let report = desk.json(&["convert", "face.gltf", "clip.csv"]);
    assert!(report["notes"].to_string().contains("eye: left is left out"), "{report}");
}

/// Runs the program in a shell that lets no file grow beyond `kib` KiB.
#[cfg(unix)]
fn on_a_full_disk(desk: &Desk, kib: usize, args: &str) -> std::process::Output {
    let program = env!("CARGO_BIN_EXE_risorius");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec '{program}' {args}");
    std::process::Command::new("bash").args(["-c", &script]).current_dir(desk.path("")).output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_one_clean_message() {
    let desk = desk();
    for file in ["a.npz", "a.mdd", "a.glb"] {
        let args = format!("pose face.gltf --clip face.gltf --bake --fps 300 -o {file}");
        let before = desk.files();
        let output = on_a_full_disk(&desk, 8, &args);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with("risorius: ") && message.lines().count() == 1, "{message}");
        assert!(message.contains("a.") && message.contains("too large"), "{message}");
        assert!(!message.contains(".risorius-"), "the temporary name means nothing to people: {message}");
        assert!(desk.files() == before, "something was left: {:?}", desk.files().keys());
    }
    if std::path::Path::new("/dev/full").exists() {
        let output = on_a_full_disk(&desk, 1000, "inspect face.gltf --json > /dev/full");
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "a report was lost without a word");
        assert!(message.contains("report") && !message.contains("Os {"), "{message}");
    }
}
