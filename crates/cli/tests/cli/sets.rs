//! Rigs with several sets of shapes, and rigs with correctives: which sliders names, clips and pins mean.

use crate::desk::Desk;
use crate::rigs::{self, Spot, desk, displacement, obj_positions, rest};
use serde_json::Value;

const JAW: ([f32; 2], [f32; 3]) = ([0.0, -5.0], [0.0, -1.5, -0.25]);
const SMILE: ([f32; 2], [f32; 3]) = ([3.0, -3.0], [0.75, 0.5, 0.0]);
const BROW: ([f32; 2], [f32; 3]) = ([0.0, 5.0], [0.0, 1.0, 0.125]);
const BLINK: ([f32; 2], [f32; 3]) = ([3.0, 3.0], [0.0, -0.5, 0.25]);

const fn spot(name: &'static str, at: ([f32; 2], [f32; 3])) -> Spot {
    (name, at.0, at.1)
}

/// Three sets: ARKit, FACS units and visemes. The jaw opens in each of them.
const GAME: [Spot; 10] = [
    spot("SR_21_Jaw_Open", JAW),
    spot("SR_22_Mouth_Smile_L", SMILE),
    spot("AK_25_JawOpen", JAW),
    spot("AK_30_MouthSmileLeft", SMILE),
    spot("AK_03_BrowInnerUp", BROW),
    spot("AK_09_EyeBlinkLeft", BLINK),
    spot("VIS_01_aa", JAW),
    spot("VIS_02_oh", SMILE),
    spot("VIS_03_ee", SMILE),
    spot("VIS_04_JawOpen", JAW),
];

const LIVE_LINK: &str = "Timecode,BlendShapeCount,JawOpen,MouthSmileLeft,BrowInnerUp,EyeBlinkLeft\n\
                         00:00:00:00.000,4,0,0,0,0\n00:00:00:01.000,4,1,0.5,0.25,0\n00:00:00:02.000,4,0.5,0,0,1\n";

fn game() -> Desk {
    let desk = desk(rigs::glb(&[("skin", &GAME)]));
    desk.write("take.csv", LIVE_LINK);
    desk
}

fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|v| v[key].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_full_name_moves_its_slider_alone() {
    let desk = game();
    for (name, set) in [("AK_25_JawOpen", "AK"), ("SR_21_Jaw_Open", "SR"), ("VIS_04_JawOpen", "VIS")] {
        let report = desk.json(&["pose", "face.glb", "-w", &format!("{name}=1"), "-o", "one.obj"]);
        assert_eq!(report["weights"], serde_json::json!({ name: 1.0 }), "{set}");
        let chin = 2 * rigs::SIDE + 4;
        let moved = obj_positions(&desk.read("one.obj"))[chin][1] - f64::from(rest(chin)[1]);
        assert!(
            (moved - f64::from(displacement(&GAME[2], chin)[1])).abs() < 1e-5,
            "once, not two or three times"
        );
    }
    let report = desk.json(&["pose", "face.glb", "-w", "jawOpen=1", "-o", "any.obj"]);
    assert_eq!(report["weights"], serde_json::json!({"AK_25_JawOpen": 1.0}), "the largest set");
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("'jawOpen' means 'AK_25_JawOpen' of set AK") && note.contains("SR, VIS"), "{note}");
    let report = desk.json(&["pose", "face.glb", "-w", "jawOpen=1", "--set", "SR", "-o", "any.obj"]);
    assert_eq!(report["weights"], serde_json::json!({"SR_21_Jaw_Open": 1.0}));
    let error = desk.fails(1, &["pose", "face.glb", "-w", "jawOpen=1,AK_25_JawOpen=0.5", "-o", "x.obj"]);
    assert!(error.contains("given twice"), "{error}");
}

#[test]
fn a_clip_drives_one_set_and_the_report_says_which() {
    let desk = game();
    let report = desk.json(&["pose", "face.glb", "--clip", "take.csv", "-o", "take.glb"]);
    let driven = names(&report["mapping"]["matched"], "slider");
    assert_eq!(driven, ["AK_25_JawOpen", "AK_30_MouthSmileLeft", "AK_03_BrowInnerUp", "AK_09_EyeBlinkLeft"]);
    assert_eq!(report["mapping"]["set"], "AK");
    assert_eq!(names(&report["mapping"]["other_sets"], "set"), ["SR", "VIS"]);
    let text = desk.ok(&["pose", "face.glb", "--clip", "take.csv", "-o", "take.glb"]);
    assert!(
        text.contains("set AK is driven; with --set the clip could drive sliders of SR (2), VIS (1) instead"),
        "{text}"
    );
    let report = desk.json(&["pose", "face.glb", "--clip", "take.csv", "--set", "sr", "-o", "take.glb"]);
    assert_eq!(names(&report["mapping"]["matched"], "slider"), ["SR_21_Jaw_Open", "SR_22_Mouth_Smile_L"]);
    let error = desk.fails(1, &["pose", "face.glb", "--clip", "take.csv", "--set", "FACS", "-o", "x.glb"]);
    assert!(error.contains("no set of shapes called 'FACS'") && error.contains("AK (4 sliders)"), "{error}");
    let text = desk.ok(&["inspect", "face.glb", "--clip", "take.csv", "--set", "VIS"]);
    assert!(text.contains("set VIS is driven"), "{text}");
}

#[test]
fn parts_with_names_of_their_own_are_driven_together() {
    let teeth = [spot("teeth.jawOpen", JAW)];
    let desk = desk(rigs::glb(&[
        ("skin", &[spot("head.jawOpen", JAW), spot("mouthSmile_L", SMILE)]),
        ("teeth", &teeth),
    ]));
    desk.write("take.csv", LIVE_LINK);
    let report = desk.json(&["pose", "face.glb", "--clip", "take.csv", "-o", "take.glb"]);
    let driven = names(&report["mapping"]["matched"], "slider");
    assert_eq!(driven, ["head.jawOpen", "mouthSmile_L", "teeth.jawOpen"]);
    assert_eq!(report["mapping"]["set"], Value::Null);
}

#[test]
fn pins_and_locks_mean_the_slider_that_they_name() {
    let desk = game();
    let pins = r#"[{"vertex": 22, "only": ["SR_21_Jaw_Open"]}]"#;
    let run = |weights: &str, more: &[&str]| {
        let call = ["attenuate", "face.glb", "--pins", pins, "-w", weights, "--alpha", "1e6"];
        desk.json(&[&call[..], more].concat())
    };
    // The slider that may move the point moves it; its twin may not.
    let rms = |report: &Value, key: &str| report[key]["rms"].as_f64().unwrap();
    assert!(rms(&run("SR_21_Jaw_Open=1", &[]), "pinned_before") < 1e-9);
    let other = run("AK_25_JawOpen=1", &[]);
    assert!(
        rms(&other, "pinned_before") > 0.1
            && rms(&other, "pinned_after") < 0.1 * rms(&other, "pinned_before")
    );
    let locked = run("AK_25_JawOpen=1", &["--lock", "ak_*,SR_21_Jaw_Open"]);
    assert_eq!(locked["weights"]["AK_25_JawOpen"], 1.0);
    assert_eq!(locked["weights"]["SR_21_Jaw_Open"], 0.0);
    let freed = run("AK_25_JawOpen=1", &["--lock", "*", "--free", "AK_25*"]);
    assert!(freed["weights"]["AK_25_JawOpen"].as_f64().unwrap() < 0.9, "{freed}");
    assert_eq!(freed["weights"]["SR_21_Jaw_Open"], 0.0);
    let error =
        desk.fails(1, &["attenuate", "face.glb", "--pins", pins, "-w", "jawOpen=1", "--lock", "jaw*"]);
    assert!(error.contains("no slider that matches 'jaw*'"), "{error}");
}

#[test]
fn correctives_are_locked_unless_they_are_freed() {
    let spots = [
        spot("jawOpen", JAW),
        spot("mouthSmile_L", SMILE),
        spot("browInnerUp", BROW),
        spot("jawOpen_mouthSmile_L", JAW),
        spot("CORR_smile", SMILE),
    ];
    let desk = desk(rigs::glb(&[("skin", &spots)]));
    let call = ["attenuate", "face.glb", "--pins", r#"[{"vertex": 22}]"#, "-w", "jawOpen=1"];
    let report = desk.json(&call);
    for name in ["jawOpen_mouthSmile_L", "CORR_smile"] {
        assert_eq!(report["weights"][name], 0.0, "{name}");
    }
    assert!(report["weights"]["jawOpen"].as_f64().unwrap() < 0.5);
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.starts_with("2 correctives are not moved ('jawOpen_mouthSmile_L' ...)"), "{note}");
    let text = desk.ok(&call);
    assert!(text.contains("--free with their names or '*' moves them"), "{text}");
    let freed = desk.json(&[&call[..], &["--free", "*"]].concat());
    assert_ne!(freed["weights"]["jawOpen_mouthSmile_L"], 0.0);
    assert!(freed["notes"].as_array().unwrap().is_empty(), "{freed}");
}
