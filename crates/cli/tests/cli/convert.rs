//! `convert`: round trips, names, and data that must not be lost or overwritten.

use crate::desk::Desk;
use crate::rigs::{self, SLIDERS};
use risorius_base::progress::no_progress;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_rig::Rig;

fn open(desk: &Desk, name: &str) -> Rig {
    open_rig(&desk.path(name), &OpenOptions::default(), &no_progress).unwrap().rig
}

fn shape_names(rig: &Rig) -> Vec<&str> {
    rig.shapes.iter().map(|s| s.name.as_str()).collect()
}

/// Same vertices; same shapes in any order, to `tolerance`.
fn assert_same(a: &Rig, b: &Rig, tolerance: f32) {
    assert_eq!(a.neutral, b.neutral);
    assert_eq!(a.shapes.len(), b.shapes.len());
    for shape in &a.shapes {
        let other =
            b.shapes.iter().find(|s| s.name == shape.name).unwrap_or_else(|| panic!("no {}", shape.name));
        assert_eq!(shape.deltas.vertices, other.deltas.vertices, "{}", shape.name);
        let pairs = shape.deltas.offsets.iter().flatten().zip(other.deltas.offsets.iter().flatten());
        pairs.for_each(|(x, y)| assert!((x - y).abs() <= tolerance, "{}: {x} {y}", shape.name));
    }
    assert_eq!(a.sliders.len(), b.sliders.len());
    assert_eq!(a.regions, b.regions);
    assert_eq!(a.space, b.space);
}

#[test]
fn a_rig_goes_to_a_folder_and_back() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face_with_extras());
    desk.write("face.rig.json", rigs::BROW_SIDECAR);
    let report = desk.json(&["convert", "face.glb", "objs/"]);
    assert_eq!((&report["vertices"], &report["shapes"]), (&81.into(), &7.into()));
    assert!(desk.path("objs/jawOpen50.obj").is_file());
    desk.ok(&["convert", "objs", "back.glb"]);
    // A folder holds positions, so differences are rounded once.
    assert_same(&open(&desk, "face.glb"), &open(&desk, "back.glb"), 1e-6);
    assert_same(&open(&desk, "objs"), &open(&desk, "back.glb"), 0.0);
    desk.ok(&["convert", "face.glb", "text.gltf"]);
    assert_same(&open(&desk, "face.glb"), &open(&desk, "text.gltf"), 0.0);
    desk.fails_with(2, &["convert", "face.glb", "new"], &["'new' has no ending", "'new/'"]);
    // Writing again is allowed, but shapes of another rig in the folder would become shapes of this one.
    desk.ok(&["convert", "face.glb", "objs/"]);
    desk.write("objs/stranger.obj", "v 0 0 0\n");
    desk.fails_with(1, &["convert", "face.glb", "objs/"], &["stranger.obj", "empty folder"]);
}

#[test]
fn unit_and_axes_survive_formats_that_have_no_place_for_them() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    desk.ok(&["convert", "face.glb", "odd/", "--unit", "in", "--up", "z", "--front", "-x"]);
    let space = desk.json(&["inspect", "odd"])["space"].clone();
    assert_eq!(space, serde_json::json!({ "meters_per_unit": 0.0254, "up": "+Z", "front": "-X" }));
    desk.ok(&["convert", "odd", "odd.glb"]);
    assert_eq!(desk.json(&["inspect", "odd.glb"])["space"], space);
}

#[test]
fn shapes_that_stay_behind_are_noted() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    for output in ["face.obj", "face.ply"] {
        let report = desk.json(&["convert", "face.glb", output]);
        assert!(report["notes"].to_string().contains("the 5 shapes are not written"), "{report}");
        assert_eq!(desk.json(&["inspect", output])["vertices"], 81);
    }
}

#[test]
fn names_are_spelled_anew_also_inside_others() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face_with_extras());
    let report = desk.json(&["convert", "face.glb", "arkit.glb", "--names", "arkit"]);
    assert_eq!(report["renamed"][0], serde_json::json!(["mouthSmile_L", "mouthSmileLeft"]));
    let rig = open(&desk, "arkit.glb");
    assert_eq!(
        shape_names(&rig),
        [
            "jawOpen",
            "mouthSmileLeft",
            "mouthSmileRight",
            "browInnerUp",
            "eyeBlinkLeft",
            "jawOpen50",
            "mouthSmileLeft__jawOpen"
        ]
    );
    assert_eq!(rig.sliders.len(), 5);
    desk.ok(&["convert", "arkit.glb", "ict.glb", "--names", "ict"]);
    assert_same(&open(&desk, "face.glb"), &open(&desk, "ict.glb"), 0.0);
    desk.write("clip.csv", "time_s,EyeBlinkLeft,viseme_aa\n0,1,1\n");
    desk.ok(&["convert", "clip.csv", "ict.csv", "--names", "ict"]);
    assert!(desk.read("ict.csv").starts_with(b"time_s,eyeBlink_L,viseme_aa\n"));
}

#[test]
fn two_shapes_never_get_one_name() {
    let desk = Desk::new();
    let mut again = SLIDERS[4];
    again.0 = "ARKit_eyeBlinkLeft";
    desk.write("face.glb", rigs::glb(&[("skin", &[SLIDERS[4], again])]));
    let report = desk.json(&["convert", "face.glb", "arkit.glb", "--names", "arkit"]);
    assert_eq!(shape_names(&open(&desk, "arkit.glb")), ["eyeBlinkLeft", "ARKit_eyeBlinkLeft"]);
    assert!(report["notes"].to_string().contains("'ARKit_eyeBlinkLeft' keeps its name"), "{report}");
}

#[test]
fn the_sidecar_of_the_input_is_never_overwritten() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    desk.write("face.rig.json", rigs::BROW_SIDECAR);
    desk.ok(&["convert", "face.glb", "face.gltf"]);
    desk.ok(&["convert", "face.glb", "face.obj"]);
    desk.fails_with(2, &["convert", "face.glb", "face.glb"], &["face.glb", "--force"]);
    desk.ok(&["convert", "face.glb", "face.glb", "--force"]);
    assert_eq!(desk.read("face.rig.json"), rigs::BROW_SIDECAR.as_bytes());
    desk.write("other.json", r#"{"regions": {"chin": [1]}}"#);
    let args = ["convert", "face.glb", "face.gltf", "--sidecar", "other.json"];
    desk.fails_with(1, &args, &["face.rig.json", "another name"]);
    desk.ok(&["convert", "face.glb", "new.glb", "--sidecar", "other.json"]);
    assert_eq!(desk.json(&["inspect", "new.glb"])["regions"], serde_json::json!({ "chin": 1 }));
}

#[test]
fn clips_round_trip_between_csv_json_and_animation() {
    let desk = Desk::new();
    desk.write("clip.csv", rigs::CLIP);
    desk.write("face.glb", rigs::face());
    desk.ok(&["convert", "clip.csv", "clip.json"]);
    desk.ok(&["convert", "clip.json", "back.csv"]);
    assert_eq!(String::from_utf8(desk.read("back.csv")).unwrap(), rigs::CLIP);
    desk.ok(&["convert", "face.glb", "animated.glb", "--clip", "clip.csv"]);
    desk.ok(&["convert", "animated.glb", "out.csv"]);
    let text = String::from_utf8(desk.read("out.csv")).unwrap();
    let expected = "time_s,jawOpen,mouthSmile_L,mouthSmile_R,browInnerUp,eyeBlink_L\n\
        0,0,0,0,0,0\n1,0.5,0,0,0.25,0\n2,1,0,0,1,0\n3,0.25,0,0,0.5,0\n";
    assert_eq!(text, expected);
    desk.fails_with(1, &["convert", "face.glb", "out.json"], &["face.glb", "no animation"]);
    desk.ok(&["convert", "clip.csv", "slow.csv", "--fps", "0.5"]);
    assert_eq!(desk.json(&["inspect", "slow.csv"])["frames"], 2);
}

/// glTF animates shapes; reading recovers the sliders that drive in-betweens and combinations.
#[test]
fn sliders_come_back_from_an_animation_of_shapes() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face_with_extras());
    let clip = "time_s,jawOpen,mouthSmile_L,mouthSmile_R,browInnerUp,eyeBlink_L\n\
        0,0.125,0.5,0,0.25,0\n1,0.5,0.25,1,0,-0.5\n2,0.75,1,0,0,0\n3,1.5,0.5,0,0,0\n";
    desk.write("clip.csv", clip);
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", "animated.glb"]);
    desk.ok(&["convert", "animated.glb", "back.csv"]);
    assert_eq!(String::from_utf8(desk.read("back.csv")).unwrap(), clip);
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", "a.mdd"]);
    desk.ok(&["pose", "animated.glb", "--clip", "animated.glb", "-o", "b.mdd"]);
    assert_eq!(desk.read("a.mdd"), desk.read("b.mdd"));
    desk.ok(&["convert", "animated.glb", "again.glb"]);
    desk.ok(&["convert", "again.glb", "again.csv"]);
    assert_eq!(desk.read("again.csv"), desk.read("back.csv"));
}

#[test]
fn takes_round_trip_between_caches() {
    let desk = Desk::new();
    desk.write("clip.csv", rigs::CLIP);
    desk.write("face.glb", rigs::face());
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", "a.mdd"]);
    desk.ok(&["convert", "a.mdd", "b.npz"]);
    desk.ok(&["convert", "b.npz", "c.pc2"]);
    let report = desk.json(&["convert", "c.pc2", "d.mdd"]);
    assert!(report["notes"].to_string().contains("30 fps"), "{report}");
    desk.ok(&["convert", "c.pc2", "e.mdd", "--fps", "1"]);
    assert_eq!(desk.read("e.mdd"), desk.read("a.mdd"));
    assert_ne!(desk.read("d.mdd"), desk.read("a.mdd"));
    desk.fails_with(2, &["convert", "a.mdd", "f.npz", "--fps", "25"], &["--fps", ".pc2"]);
}

#[test]
fn head_motion_leaves_a_bvh() {
    let bvh = "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation \
        Yrotation\nJOINT Head\n{\nOFFSET 0 50 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 10 0\n}\n\
        }\n}\nMOTION\nFrames: 2\nFrame Time: 0.5\n0 0 0 0 0 0 0 0 0\n0 100 0 0 0 0 0 0 90\n";
    let desk = Desk::new();
    desk.write("run.bvh", bvh);
    desk.ok(&["convert", "run.bvh", "head.csv", "--joint", "Head", "--head-unit", "cm"]);
    let text = String::from_utf8(desk.read("head.csv")).unwrap();
    let last: Vec<f64> = text.lines().last().unwrap().split(',').map(|x| x.parse().unwrap()).collect();
    assert!((last[0] - 0.5).abs() < 1e-9 && (last[2] - 1.5).abs() < 1e-6, "{text}");
    assert!((last[5].abs() - 0.5f64.sqrt()).abs() < 1e-6, "{text}");
    desk.fails_with(1, &["convert", "run.bvh", "head.csv", "--joint", "Haed"], &["run.bvh", "Haed", "Head"]);
    desk.ok(&["convert", "run.bvh", "even.csv", "--joint", "Head", "--fps", "4"]);
    assert_eq!(desk.json(&["inspect", "even.csv"])["frames"], 3);
}
