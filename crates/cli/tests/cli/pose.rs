//! `pose`: positions against sums computed here, weights in all spellings, and clips.

use crate::desk::Desk;
use crate::rigs::{self, EXTRAS, SLIDERS, Spot, desk, largest_difference, obj_positions, posed};
use risorius_io::open::open_take;

/// Coordinates are printed as f32 of about 10 cm.
const ROUNDING: f64 = 2e-6;

fn pose_obj(desk: &Desk, weights: &str) -> Vec<[f64; 3]> {
    desk.ok(&["pose", "face.glb", "-w", weights, "-o", "pose.obj"]);
    obj_positions(&desk.read("pose.obj"))
}

#[test]
fn sliders_inbetweens_and_combinations_add_up() {
    let desk = desk(rigs::face_with_extras());
    let [jaw, smile_left, _, brow, _] = &SLIDERS;
    let [jaw_half, both] = &EXTRAS;
    let cases: [(&str, &[(&Spot, f64)]); 8] = [
        ("", &[]),
        ("browInnerUp=0.5", &[(brow, 0.5)]),
        ("browInnerUp=-0.5", &[(brow, -0.5)]),
        ("jawOpen=1", &[(jaw, 1.0)]),
        ("jawOpen=0.5", &[(jaw_half, 1.0)]),
        ("jawOpen=0.25", &[(jaw_half, 0.5)]),
        ("jawOpen=0.75", &[(jaw_half, 0.5), (jaw, 0.5)]),
        ("mouthSmile_L=0.5,jawOpen=1", &[(smile_left, 0.5), (jaw, 1.0), (both, 0.5)]),
    ];
    for (weights, strengths) in cases {
        let difference = largest_difference(&pose_obj(&desk, weights), &posed(strengths));
        assert!(difference < ROUNDING, "{weights}: {difference}");
    }
}

#[test]
fn a_sidecar_gives_roles_that_names_do_not() {
    let desk = Desk::new();
    let [jaw, smile_left, ..] = SLIDERS;
    let (mut half, mut fix) = (EXTRAS[0], EXTRAS[1]);
    (half.0, fix.0) = ("halfway", "fix");
    desk.write("face.glb", rigs::glb(&[("skin", &[jaw, smile_left, half, fix])]));
    assert_eq!(desk.json(&["inspect", "face.glb"])["sliders"], 4);
    let roles = r#"{"inbetweens": [{"shape": "halfway", "slider": "jawOpen", "at": 0.5}],
        "combinations": [{"shape": "fix", "sliders": ["mouthSmile_L", "jawOpen"], "rule": "lowest"}]}"#;
    desk.write("face.rig.json", roles);
    assert_eq!(desk.json(&["inspect", "face.glb"])["sliders"], 2);
    let found = pose_obj(&desk, "jawOpen=1,mouthSmile_L=0.25");
    let expected = posed(&[(&jaw, 1.0), (&smile_left, 0.25), (&fix, 0.25)]);
    assert!(largest_difference(&found, &expected) < ROUNDING);
    // By the product rule, which names imply, it would be half of this.
    let found = pose_obj(&desk, "jawOpen=0.5,mouthSmile_L=0.5");
    let expected = posed(&[(&half, 1.0), (&smile_left, 0.5), (&fix, 0.5)]);
    assert!(largest_difference(&found, &expected) < ROUNDING);
    desk.fails_with(
        1,
        &["pose", "face.glb", "-w", "fix=1,halfway=1", "-o", "pose.obj"],
        &[
            "'fix' is not a slider but the combination of mouthSmile_L and jawOpen",
            "in-between of 'jawOpen' at 0.5",
        ],
    );
    let ignored = ["pose", "face.glb", "-w", "jawOpen=0.5", "--sidecar", "other.json", "-o", "pose.obj"];
    desk.write("other.json", r#"{"ignore_names": true}"#);
    desk.ok(&ignored);
    assert!(largest_difference(&obj_positions(&desk.read("pose.obj")), &posed(&[(&jaw, 0.5)])) < ROUNDING);
}

#[test]
fn weights_in_every_form_and_spelling() {
    let desk = desk(rigs::face_with_extras());
    let expected = pose_obj(&desk, "eyeBlink_L=0.5,mouthSmile_R=1");
    desk.write("w.json", r#"{"eyeBlinkLeft": 0.5, "mouthSmileRight": 1}"#);
    desk.write("has=sign.json", r#"{"EyeBlinkLeft": 0.5, "ARKit_mouthSmileRight": 1}"#);
    for weights in [
        "w.json",
        "has=sign.json",
        r#" {"eyeBlink_L": 0.5, "mouthSmile_R": 1.0}"#,
        " eyeBlinkLeft = 0.5 , MouthSmileRight=1,",
        "blendShape1.eyeBlink_L=5e-1,mouth_smile_right=1",
    ] {
        assert_eq!(pose_obj(&desk, weights), expected, "{weights}");
    }
    let report = desk.json(&["pose", "face.glb", "-w", "w.json", "-o", "pose.obj"]);
    assert_eq!(report["weights"], serde_json::json!({ "eyeBlink_L": 0.5, "mouthSmile_R": 1.0 }));
}

#[test]
fn wrong_weights_are_refused_with_advice() {
    let desk = desk(rigs::face_with_extras());
    desk.write("pose.obj", "older");
    desk.write("list.json", "[1, 2]");
    desk.write("twice.json", r#"{"jawOpen": 1, "jawOpen": 0.5}"#);
    desk.write("broken.json", "{\"jawOpen\": 1,\n\"x\"}");
    let cases: [(i32, &str, &[&str]); 15] = [
        (1, "jawOpne=1", &["there is no slider 'jawOpne'; did you mean jawOpen"]),
        (1, "jawOpne=1,eyeBlnk_L=1", &["jawOpen", "eyeBlink_L"]),
        (1, "qqqq=1", &["'qqqq'", "there are jawOpen, mouthSmile_L"]),
        (1, "jawOpen50=1", &["in-between of 'jawOpen' at 0.5"]),
        (1, "jawOpen=nan", &["'jawOpen' is 'nan'", "finite"]),
        (1, "jawOpen=inf", &["finite"]),
        (1, "jawOpen=much", &["'jawOpen' is 'much'"]),
        (1, r#"{"jawOpen": NaN}"#, &["line 1"]),
        (1, "jawOpen=1,jawOpen=0.5", &["'jawOpen' is given twice"]),
        (1, "eyeBlinkLeft=1,eyeBlink_L=0.5", &["'eyeBlink_L' is given twice", "eyeBlinkLeft"]),
        (2, "jawOpen=1,smile", &["'smile' is not NAME=VALUE"]),
        (1, "jawOpen", &["there is no such file", "NAME=VALUE"]),
        (1, "list.json", &["list.json", "slider names with numbers"]),
        (1, "twice.json", &["twice.json", "'jawOpen' appears twice"]),
        (1, "broken.json", &["broken.json", "line 2"]),
    ];
    for (code, weights, words) in cases {
        desk.fails_with(code, &["pose", "face.glb", "-w", weights, "-o", "pose.obj"], words);
    }
    desk.fails_with(2, &["pose", "face.glb", "-w", "clip.csv", "-o", "pose.obj"], &["clip.csv", "--clip"]);
}

#[test]
fn poses_beyond_numbers_are_refused() {
    let desk = desk(rigs::face());
    desk.fails_with(1, &["pose", "face.glb", "-w", "jawOpen=3e38", "-o", "pose.obj"], &["vertex", "inf"]);
}

#[test]
fn what_a_take_leaves_out_is_noted() {
    let desk = desk(rigs::face());
    desk.write("head.csv", "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n0,0,0,0,0,0,0,1\n3,0,0.1,0,0,0,0,1\n");
    let call = ["pose", "face.glb", "--clip", "clip.csv", "--head", "head.csv", "-o"];
    let noted =
        |output| desk.json(&[&call[..], &[output]].concat())["notes"].to_string().contains("head motion");
    assert!(noted("take.mdd") && !noted("take.glb"));
    assert_eq!(desk.json(&["inspect", "take.glb"])["clips"][0]["head"], 2);
    desk.write("other.csv", "time_s,teeth\n0,1\n");
    let error = desk.fails(1, &["pose", "face.glb", "--clip", "other.csv", "-o", "take.mdd"]);
    assert!(error.contains("Columns: teeth. Sliders: jawOpen"), "{error}");
}

#[test]
fn a_pose_in_every_format_is_the_same_pose() {
    let desk = desk(rigs::face_with_extras());
    let expected = pose_obj(&desk, "jawOpen=1,browInnerUp=0.5");
    for format in ["glb", "gltf", "ply"] {
        let pose = format!("again.{format}");
        desk.ok(&["pose", "face.glb", "-w", "jawOpen=1,browInnerUp=0.5", "-o", &pose]);
        desk.ok(&["pose", &pose, "-w", "", "-o", "back.obj"]);
        assert_eq!(obj_positions(&desk.read("back.obj")), expected, "{format}");
        assert_eq!(desk.json(&["inspect", &pose])["sliders"], 0);
    }
}

#[test]
fn clips_become_takes() {
    let desk = desk(rigs::face_with_extras());
    let report = desk.json(&["pose", "face.glb", "--clip", "clip.csv", "-o", "take.mdd"]);
    assert_eq!(report["frames"], 4);
    assert_eq!(report["mapping"]["unmatched_columns"], serde_json::json!(["Blink"]));
    let [jaw, .., brow, _] = &SLIDERS;
    let expected = posed(&[(&EXTRAS[0], 1.0), (brow, 0.25)]);
    for format in ["mdd", "pc2", "npz"] {
        let name = format!("take.{format}");
        desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", &name]);
        let take = open_take(&desk.path(&name), 1.0).unwrap();
        assert_eq!(take.times_secs, [0.0, 1.0, 2.0, 3.0], "{format}");
        let frame: Vec<[f64; 3]> = take.frame(1).iter().map(|p| p.map(f64::from)).collect();
        assert!(largest_difference(&frame, &expected) < ROUNDING, "{format}");
    }
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "--fps", "2", "-o", "even.npz"]);
    let take = open_take(&desk.path("even.npz"), 1.0).unwrap();
    assert_eq!(take.n_frames(), 7);
    let frame: Vec<[f64; 3]> = take.frame(3).iter().map(|p| p.map(f64::from)).collect();
    let between = posed(&[(&EXTRAS[0], 0.5), (jaw, 0.5), (brow, 0.625)]);
    assert!(largest_difference(&frame, &between) < ROUNDING);
}

#[test]
fn clips_become_animated_rigs_and_baked_ones() {
    let desk = desk(rigs::face_with_extras());
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", "animated.glb"]);
    let report = desk.json(&["inspect", "animated.glb"]);
    assert_eq!((&report["clips"][0]["frames"], &report["clips"][0]["last_secs"]), (&4.into(), &3.0.into()));
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "--bake", "-o", "baked.glb"]);
    let report = desk.json(&["inspect", "baked.glb"]);
    assert_eq!(report["vertices"], 81);
    assert_eq!(report["clips"][0]["frames"], 4);
}

#[test]
fn wrong_clips_are_refused_with_the_line() {
    let desk = desk(rigs::face_with_extras());
    desk.write("take.mdd", "older");
    let pose = |clip: &'static str| ["pose", "face.glb", "--clip", clip, "-o", "take.mdd"];
    for (name, content, words) in [
        ("back.csv", "time_s,jawOpen\n0,0\n0.5,1\n0.4,1\n", &["line 4", "0.5 s, then 0.4 s"][..]),
        ("none.csv", "time_s,jawOpen\n", &["no frames"]),
        ("zero.csv", "", &["empty"]),
        ("nan.csv", "time_s,jawOpen\n0,0\n1,nan\n", &["line 3", "jawOpen"]),
        ("word.csv", "time_s,jawOpen\n0,open\n", &["line 2", "open"]),
        ("short.csv", "time_s,jawOpen,x\n0,1\n", &["line 2"]),
        ("none.json", r#"{"frames": []}"#, &["none.json"]),
        ("cut.json", r#"{"frames": ["#, &["line 1"]),
    ] {
        desk.write(name, content);
        desk.fails_with(1, &pose(name), &[&[name], words].concat());
    }
    desk.fails_with(1, &pose("missing.csv"), &["missing.csv", "No such file"]);
    desk.fails_with(1, &pose("face.glb"), &["face.glb", "no animation"]);
    desk.write("clip.xyz", "");
    desk.fails_with(1, &pose("clip.xyz"), &["clip.xyz", ".csv, .json"]);
    for fps in ["0", "-5", "nan", "inf", "1e9"] {
        desk.fails_with(1, &[&pose("clip.csv")[..], &["--fps", fps]].concat(), &["frame rate", "above 0"]);
    }
    desk.fails_with(1, &[&pose("clip.csv")[..], &["--head", "clip.csv"]].concat(), &["clip.csv"]);
}

#[test]
fn a_take_that_a_glb_cannot_hold_is_refused_before_any_work() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    let rows: String = (0..2001).map(|f| format!("{},0.5\n", f as f64 / 60.0)).collect();
    desk.write("long.csv", format!("time_s,jawOpen\n{rows}"));
    desk.fails_with(
        1,
        &["pose", "face.glb", "--clip", "long.csv", "--bake", "-o", "out.glb"],
        &["2001 frames", "npz"],
    );
}

#[test]
fn a_clip_from_before_time_zero_keeps_its_head_in_step() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    let header = "time_s,jawOpen,head_tx,head_ty,head_tz,head_qx,head_qy,head_qz,head_qw\n";
    desk.write("early.csv", format!("{header}-1,0,0,0,0,0,0,0,1\n0,0.5,1,0,0,0,0,0,1\n1,1,2,0,0,0,0,0,1\n"));
    desk.ok(&["pose", "face.glb", "--clip", "early.csv", "-o", "out.glb"]);
    desk.ok(&["convert", "out.glb", "back.csv"]);
    let back = String::from_utf8(desk.read("back.csv")).unwrap();
    let last = back.lines().last().unwrap();
    assert!(last.starts_with("2,") && last.contains(",2,"), "{back}");
}
