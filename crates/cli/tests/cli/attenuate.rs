//! `attenuate` on poses: pins of every kind, options, refusals.

use crate::desk::Desk;
use crate::rigs::{self, SLIDERS, desk, displacement};
use serde_json::Value;

/// Vertex of the grid at column and row, of nine each.
const fn at(column: usize, row: usize) -> usize {
    row * rigs::SIDE + column
}

fn attenuate(desk: &Desk, pins: &str, weights: &str, more: &[&str]) -> Value {
    desk.json(&[&["attenuate", "face.glb", "--pins", pins, "-w", weights], more].concat())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Displacement of vertex `v` at the weights of a report.
fn moved(report: &Value, v: usize) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for spot in &SLIDERS {
        let d = displacement(spot, v);
        (0..3).for_each(|k| sum[k] += number(&report["weights"][spot.0]) * f64::from(d[k]));
    }
    sum
}

#[test]
fn pins_hold_and_the_report_says_so() {
    let desk = desk(rigs::face());
    // The chin is moved by the jaw and both smiles.
    let chin = at(4, 2);
    let report = attenuate(&desk, &format!("[{{\"vertex\": {chin}}}]"), "jawOpen=1", &[]);
    assert_eq!(report["pinned_coordinates"], 3);
    assert_eq!(report["alpha"], 80.0, "other over pinned coordinates: (243 - 3) / 3");
    let (before, after) = (number(&report["pinned_before"]["max"]), number(&report["pinned_after"]["max"]));
    let alone = displacement(&SLIDERS[0], chin).map(f64::from);
    assert!((before - alone[1].abs()).abs() < 1e-6, "{before} {alone:?}");
    assert!(after < 0.5 * before, "{before} {after}");
    let left = moved(&report, chin).iter().fold(0.0f64, |m, x| m.max(x.abs()));
    assert!((left - after).abs() < 1e-5, "{left} {after}");
    assert!((number(&report["pinned_before"]["max_mm"]) - 10.0 * before).abs() < 1e-9);
    assert!(report["warnings"].as_array().unwrap().is_empty(), "{report}");
    let text = desk.ok(&["attenuate", "face.glb", "--pins", "[{\"vertex\": 22}]", "-w", "jawOpen=1"]);
    assert!(text.contains("3 pinned coordinates, alpha 80.0") && text.contains("jawOpen 1.000 ->"), "{text}");
}

#[test]
fn alpha_goes_from_free_to_rigid() {
    let desk = desk(rigs::face());
    let run = |alpha: &str| attenuate(&desk, r#"[{"near": [0, -4, 5]}]"#, "jawOpen=1", &["--alpha", alpha]);
    let free = run("0");
    assert_eq!((&free["alpha"], &free["weights"]["jawOpen"]), (&0.0.into(), &1.0.into()));
    assert_eq!(free["pinned_before"], free["pinned_after"]);
    let some = number(&run("1")["pinned_after"]["rms"]);
    let rigid = run("inf");
    assert!(some < number(&free["pinned_after"]["rms"]));
    assert!(number(&rigid["pinned_after"]["rms"]) < 1e-3 * some, "{rigid}");
    for bad in ["-1", "nan", "-inf"] {
        desk.fails_with(
            2,
            &["attenuate", "face.glb", "--pins", "[]", "-w", "jawOpen=1", "--alpha", bad],
            &["--alpha", "0 or more"],
        );
    }
}

#[test]
fn axes_regions_points_and_files() {
    let desk = desk(rigs::face());
    let one_axis = attenuate(&desk, r#"[{"vertex": 22, "axes": "y"}]"#, "jawOpen=1", &["--alpha", "inf"]);
    assert_eq!(one_axis["pinned_coordinates"], 1);
    assert!(moved(&one_axis, 22)[1].abs() < 1e-5);
    let region = attenuate(&desk, r#"[{"region": "brow"}]"#, "browInnerUp=1", &[]);
    assert_eq!(region["pinned_coordinates"], 18);
    assert!(number(&region["weights"]["browInnerUp"]) < 0.2, "{region}");
    // The point is nearest to vertex 40, the middle of the grid.
    let near = attenuate(&desk, r#"[{"near": [0.4, -0.3, 9]}]"#, "jawOpen=1", &[]);
    let by_number = attenuate(&desk, r#"[{"vertex": 40}]"#, "jawOpen=1", &[]);
    assert_eq!(near["weights"], by_number["weights"]);
    desk.write("pins.json", r#"{"pins": [{"vertices": [40]}]}"#);
    assert_eq!(attenuate(&desk, "pins.json", "jawOpen=1", &[])["weights"], by_number["weights"]);
    let shape = attenuate(&desk, r#"[{"region": "shape:browInnerUp"}]"#, "browInnerUp=1", &[]);
    assert!(number(&shape["pinned_coordinates"]) > 18.0);
}

#[test]
fn only_and_within_are_kept() {
    let desk = desk(rigs::face());
    let pins = r#"[{"vertex": 22, "only": ["jawOpen"]}]"#;
    let report = attenuate(&desk, pins, "jawOpen=0.5,mouthSmile_L=1,mouthSmile_R=1", &["--alpha", "inf"]);
    let jaw_alone = displacement(&SLIDERS[0], 22).map(|x| 0.5 * f64::from(x));
    let found = moved(&report, 22);
    (0..3).for_each(|k| assert!((found[k] - jaw_alone[k]).abs() < 1e-4, "{found:?} {jaw_alone:?}"));
    let limited = attenuate(&desk, r#"[{"vertex": 22, "within": {"y": [-0.25, 0.25]}}]"#, "jawOpen=1", &[]);
    assert_eq!(limited["limited_coordinates"], 1);
    assert!((moved(&limited, 22)[1] + 0.25).abs() < 1e-4, "{:?}", moved(&limited, 22));
}

#[test]
fn from_lock_and_bounds() {
    let desk = desk(rigs::face());
    let pins = r#"[{"vertex": 22}]"#;
    let still = attenuate(&desk, pins, "jawOpen=1", &["--from", "jawOpen=1"]);
    assert_eq!(still["weights"]["jawOpen"], 1.0);
    assert_eq!(still["pinned_before"]["max"], 0.0);
    let locked = attenuate(&desk, pins, "jawOpen=1", &["--lock", " jawOpen, EyeBlinkLeft"]);
    assert_eq!((&locked["weights"]["jawOpen"], &locked["weights"]["eyeBlink_L"]), (&1.0.into(), &0.0.into()));
    assert_ne!(locked["weights"]["mouthSmile_L"], 0.0);
    let free = attenuate(&desk, pins, "jawOpen=1", &["--alpha", "inf"]);
    let bounded = attenuate(&desk, pins, "jawOpen=1", &["--bounds", "--alpha", "inf"]);
    let outside =
        |r: &Value| r["weights"].as_object().unwrap().values().any(|w| !(0.0..=1.0).contains(&number(w)));
    assert!(outside(&free) && !outside(&bounded), "{free} {bounded}");
    assert!(number(&bounded["kkt_residual"]) < 1e-8);
    for (option, value) in [("--lock", "jawOpne"), ("--from", "jawOpne=1")] {
        let args = ["attenuate", "face.glb", "--pins", pins, "-w", "jawOpen=1", option, value];
        desk.fails_with(1, &args, &["'jawOpne'; did you mean jawOpen"]);
    }
}

#[test]
fn inbetweens_and_combinations_are_solved_too() {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face_with_extras());
    let report = attenuate(&desk, r#"[{"vertex": 22, "axes": "y"}]"#, "jawOpen=0.75,mouthSmile_L=1", &[]);
    assert!(number(&report["steps"]) >= 1.0);
    let (before, after) = (number(&report["pinned_before"]["rms"]), number(&report["pinned_after"]["rms"]));
    assert!(after < 0.2 * before, "{before} {after}");
}

#[test]
fn new_weights_and_pictures_are_written() {
    let desk = desk(rigs::face());
    let more = ["-o", "out/new.json", "--picture", "out/before and after.png"];
    let report = attenuate(&desk, r#"[{"vertex": 22}]"#, "jawOpen=1", &more);
    let written = desk.read_json("out/new.json");
    for (name, value) in report["weights"].as_object().unwrap() {
        assert_eq!(number(&written[name]) as f32, number(value) as f32, "{name}");
    }
    assert!(desk.read("out/before and after.png").starts_with(b"\x89PNG"));
    desk.ok(&["pose", "face.glb", "-w", "out/new.json", "-o", "pose.obj"]);
    assert_eq!(desk.files().len(), 6);
}

#[test]
fn every_wrong_pin_is_reported() {
    let desk = desk(rigs::face());
    let run =
        |pins: &'static str| ["attenuate", "face.glb", "-w", "jawOpen=1", "-o", "new.json", "--pins", pins];
    desk.write("new.json", "older");
    desk.fails_with(
        1,
        &run(r#"[{"vertex": 81}, {"vertex": 1}, {"region": "borw"}, {"vertex": 3, "axes": "w"}, {"near": [0, 0]},
            {"vertex": 3, "only": ["jawOpne"]}]"#),
        &["pins JSON"],
    );
    desk.fails_with(
        1,
        &run(
            r#"[{"vertex": 81}, {"vertex": 1}, {"region": "borw"}, {"vertex": 3, "axes": "w"}, {"axes": "x"},
            {"vertex": 3, "only": ["jawOpne"]}, {"vertex": 3, "within": {"y": [1, -1]}}, {"vertex": 1, "part": "eye"}]"#,
        ),
        &[
            "pin 0: vertex 81 is out of range: part 'skin' has 81",
            "pin 2: there is no region or part 'borw'; did you mean brow",
            "pin 3: axes 'w'",
            "pin 4: say where",
            "pin 5: there is no slider 'jawOpne'; did you mean jawOpen",
            "pin 6: `within` goes from 1 to -1",
            "pin 7: there is no part 'eye'; there are skin",
        ],
    );
    desk.fails_with(1, &run(r#"[{"vertx": 3}]"#), &["vertx", "vertices"]);
    desk.fails_with(1, &run(r#"[{"vertex": -1}]"#), &["-1"]);
    desk.fails_with(1, &run(r#"[{"vertex": 1}"#), &["line 1"]);
    desk.fails_with(1, &run("missing.json"), &["missing.json"]);
    desk.write("bad pins.json", "{\"pins\": 3}");
    desk.fails_with(1, &run("bad pins.json"), &["bad pins.json", "line 1"]);
    let args = ["attenuate", "face.glb", "-w", "jawOpen=1", "--pins", "[]", "--fade", "-1"];
    desk.fails_with(2, &args, &["--fade"]);
}

#[test]
fn several_parts_need_a_name() {
    let desk = Desk::new();
    desk.write("head.glb", rigs::glb(&[("skin", &SLIDERS), ("teeth", &SLIDERS[..1])]));
    let run = |pins: &'static str| ["attenuate", "head.glb", "-w", "jawOpen=1", "--pins", pins];
    desk.fails_with(1, &run(r#"[{"vertex": 22}]"#), &["several parts", "skin, teeth"]);
    let report = desk.json(&run(r#"[{"vertex": 22, "part": "teeth"}, {"region": "skin", "axes": "x"}]"#));
    assert_eq!(report["pinned_coordinates"], 3 + 81);
}

#[test]
fn nothing_to_hold_or_nothing_to_move() {
    let desk = desk(rigs::face());
    let report = attenuate(&desk, "[]", "jawOpen=1", &[]);
    assert_eq!(report["weights"]["jawOpen"], 1.0);
    assert!(report["warnings"].to_string().contains("no pins"), "{report}");
    desk.ok(&["convert", "face.glb", "still.ply"]);
    let args = ["attenuate", "still.ply", "-w", "", "--pins", r#"[{"vertex": 1}]"#];
    desk.fails_with(1, &args, &["still.ply", "no shapes"]);
}
