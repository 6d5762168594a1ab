//! `inspect`: contents and problems of rigs, clips, head motion, takes and settings.

use crate::desk::Desk;
use crate::rigs;

fn codes(report: &serde_json::Value) -> Vec<&str> {
    report["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect()
}

#[test]
fn a_rig_is_reported_in_full() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face_with_extras());
    desk.write("face.rig.json", rigs::BROW_SIDECAR);
    let report = desk.json(&["inspect", "face.glb"]);
    assert_eq!(report["kind"], "rig");
    assert_eq!(report["vertices"], 81);
    assert_eq!(report["sliders"], 5);
    assert_eq!(report["shapes"].as_array().unwrap().len(), 7);
    assert_eq!(report["arkit_matched"], 5);
    assert_eq!(report["regions"]["brow"], 6);
    assert_eq!(report["space"]["meters_per_unit"], 0.01);
    let role = |name: &str| {
        report["shapes"].as_array().unwrap().iter().find(|s| s["name"] == name).unwrap()["role"].clone()
    };
    assert_eq!(role("jawOpen50")["slider"], "jawOpen");
    assert_eq!(role("jawOpen50")["at"], 0.5);
    assert_eq!(role("mouthSmile_L__jawOpen")["kind"], "combination");
    assert_eq!(role("mouthSmile_L__jawOpen")["sliders"], serde_json::json!(["mouthSmile_L", "jawOpen"]));
    let text = desk.ok(&["inspect", "face.glb"]);
    for word in
        ["81 vertices", "5 sliders", "5 of 52 ARKit", "part 'skin'", "in-between 'jawOpen50'", "0 errors"]
    {
        assert!(text.contains(word), "no {word} in {text}");
    }
}

#[test]
fn what_the_user_knows_comes_before_guesses() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    desk.write("ranges.json", r#"{"chin": [3, 6], "comment": "ends are not included"}"#);
    let args =
        ["inspect", "face.glb", "--unit", "mm", "--up", "-Y", "--front", "x", "--regions", "ranges.json"];
    let report = desk.json(&args);
    assert_eq!(report["space"], serde_json::json!({ "meters_per_unit": 0.001, "up": "-Y", "front": "+X" }));
    assert_eq!(report["regions"]["chin"], 3);
    desk.fails_with(1, &["inspect", "face.glb", "--up", "+Y", "--front", "-Y"], &["face.glb", "one axis"]);
    desk.write("beyond.json", r#"{"chin": [3, 100]}"#);
    desk.fails_with(1, &["inspect", "face.glb", "--regions", "beyond.json"], &["chin", "99", "81"]);
    desk.write("typo.json", r#"{"regoins": {}}"#);
    desk.fails_with(
        1,
        &["inspect", "face.glb", "--sidecar", "typo.json"],
        &["regoins", "did you mean 'regions'"],
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let mut text = String::new();
    for p in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [5.0, 5.0], [6.0, 6.0]] {
        text += &format!("v {} {} 0\n", p[0], p[1]);
    }
    // A face without area, an edge with three faces, an unused vertex, and a NaN coordinate.
    text += "v 0.5 0.5 1\nf 1 2 3\nf 2 4 3\nf 2 3 7\nf 5 5 6\n";
    let desk = Desk::new();
    desk.write("bad/neutral.obj", &text);
    desk.write("bad/same.obj", &text);
    desk.write("bad/short.obj", "v 0 0 0\n");
    desk.write("bad/moved.obj", text.replace("v 0.5 0.5 1", "v 0.5 0.5 2"));
    desk.write("bad/twin.obj", text.replace("v 0.5 0.5 1", "v 0.5 0.5 2"));
    desk.write("bad/nan.obj", text.replace("v 0.5 0.5 1", "v 0.5 nan 2"));
    let report = desk.json(&["inspect", "bad"]);
    let found = codes(&report);
    for code in ["empty-shape", "duplicate-shape"] {
        assert!(found.contains(&code), "no {code} in {found:?}");
    }
    assert!(found.iter().any(|c| c.contains("manifold")), "{found:?}");
    assert!(found.iter().any(|c| c.contains("degenerate")), "{found:?}");
    for problem in report["problems"].as_array().unwrap() {
        assert!(
            !problem["advice"].as_str().unwrap().is_empty()
                && !problem["message"].as_str().unwrap().is_empty()
        );
    }
    let notes = report["notes"].to_string();
    assert!(notes.contains("short.obj has 1 vertices, the neutral has 7"), "{notes}");
    // NaN in a shape is reported either as a problem of the shape or as a file that was left out.
    assert!(notes.contains("nan") || found.contains(&"nan-delta"), "{notes} {found:?}");
}

#[test]
fn recordings_takes_and_settings() {
    let desk = rigs::desk(rigs::face());
    let clip = desk.json(&["inspect", "clip.csv"]);
    assert_eq!(
        (&clip["kind"], &clip["frames"], &clip["last_secs"]),
        (&"clip".into(), &4.into(), &3.0.into())
    );
    assert_eq!(clip["columns"], serde_json::json!(["jawOpen", "browInnerUp", "Blink"]));
    desk.ok(&["convert", "clip.csv", "clip.json"]);
    assert_eq!(desk.json(&["inspect", "clip.json"])["frames"], 4);
    desk.write("head.csv", "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n0,0,0,0,0,0,0,1\n0.5,0,0.1,0,0,0,0,1\n");
    let head = desk.json(&["inspect", "head.csv"]);
    assert_eq!((&head["kind"], &head["frames"]), (&"head motion".into(), &2.into()));
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", "take.mdd"]);
    let take = desk.json(&["inspect", "take.mdd"]);
    assert_eq!((&take["kind"], &take["frames"], &take["vertices"]), (&"take".into(), &4.into(), &81.into()));
    desk.write("w.json", r#"{"jawOpen": 1}"#);
    desk.write("p.json", r#"[{"vertex": 1}, {"near": [0, 0, 0]}]"#);
    desk.write("face.rig.json", rigs::BROW_SIDECAR);
    assert_eq!(desk.json(&["inspect", "w.json"])["kind"], "weights");
    assert_eq!(desk.json(&["inspect", "p.json"])["entries"], 2);
    assert_eq!(desk.json(&["inspect", "face.rig.json"])["regions"], 1);
}

#[test]
fn a_clip_is_mapped_to_a_rig() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    desk.write("clip.csv", "time_s,JawOpen,EyeBlinkLeft,mouthSmileRight,Other\n0,0,0,0,0\n1,1,1,1,1\n");
    let report = desk.json(&["inspect", "face.glb", "--clip", "clip.csv"]);
    let mapping = &report["mapping"];
    let pairs: Vec<(&str, &str)> = mapping["matched"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["column"].as_str().unwrap(), m["slider"].as_str().unwrap()))
        .collect();
    assert_eq!(
        pairs,
        [("JawOpen", "jawOpen"), ("mouthSmileRight", "mouthSmile_R"), ("EyeBlinkLeft", "eyeBlink_L")]
    );
    assert_eq!(mapping["unmatched_columns"], serde_json::json!(["Other"]));
    assert_eq!(mapping["undriven_sliders"], serde_json::json!(["mouthSmile_L", "browInnerUp"]));
    let text = desk.ok(&["inspect", "face.glb", "--clip", "clip.csv"]);
    assert!(
        text.contains("3 of 5 sliders are driven") && text.contains("columns without a slider: Other"),
        "{text}"
    );
}
