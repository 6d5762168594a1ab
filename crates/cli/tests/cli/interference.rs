//! `interference`: values, pictures, and unsuitable rigs.

use crate::rigs::{self, SLIDERS, desk, displacement};

#[test]
fn the_matrix_is_what_its_formula_says() {
    let desk = desk(rigs::face());
    let report = desk.json(&["interference", "face.glb", "-o", "report.json"]);
    assert_eq!(desk.read_json("report.json"), report);
    let names: Vec<&str> =
        report["sliders"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert_eq!(names.len(), 5);
    let square =
        |s: usize, v: usize| displacement(&SLIDERS[s], v).iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
    let index = |name: &str| SLIDERS.iter().position(|s| s.0 == name).unwrap();
    for (row, disturbed) in names.iter().enumerate() {
        for (column, by) in names.iter().enumerate() {
            let (i, j) = (index(disturbed), index(by));
            let sum = |f: &dyn Fn(usize) -> f64| (0..81).map(f).sum::<f64>();
            let expected = (sum(&|v| square(i, v) * square(j, v)) / sum(&|v| square(i, v).powi(2))).sqrt();
            let found = report["disturbs"][row][column].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-6, "{disturbed} by {by}: {found} {expected}");
        }
    }
    let effect: Vec<f64> = report["effect"].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect();
    assert!(effect.windows(2).all(|w| w[0] >= w[1]), "{effect:?}");
    assert_eq!(report["regions"][0]["region"], "brow");
    assert!(desk.ok(&["interference", "face.glb", "-o", "report.json"]).contains("times as far as"));
}

#[test]
fn pictures_of_the_matrix_and_of_a_pair() {
    let desk = desk(rigs::face());
    desk.ok(&["interference", "face.glb", "-o", "matrix.PNG"]);
    desk.ok(&["interference", "face.glb", "--most", "2", "-o", "small.png"]);
    assert_ne!(desk.read("matrix.PNG"), desk.read("small.png"));
    let args = ["interference", "face.glb", "--sliders", "jawOpen, mouthSmileLeft", "-o", "pair.png"];
    let pair = &desk.json(&args)["pair"];
    assert_eq!(pair["sliders"], serde_json::json!(["jawOpen", "mouthSmile_L"]));
    assert!(pair["largest_common_motion_mm"].as_f64().unwrap() > 0.0);
    assert!(desk.read("pair.png").starts_with(b"\x89PNG"));
}

#[test]
fn wrong_sliders_and_rigs_are_refused() {
    let desk = desk(rigs::face());
    desk.write("report.png", "older");
    let run = |sliders: &'static str| ["interference", "face.glb", "--sliders", sliders, "-o", "report.png"];
    desk.fails_with(1, &run("jawOpne,browInnerUp"), &["'jawOpne'; did you mean jawOpen"]);
    for wrong in ["jawOpen", "jawOpen,jawOpen", "jawOpen,browInnerUp,eyeBlink_L", ","] {
        desk.fails_with(2, &run(wrong), &["two different sliders", "--sliders"]);
    }
    desk.ok(&["convert", "face.glb", "still.obj"]);
    desk.fails_with(1, &["interference", "still.obj", "-o", "report.png"], &["still.obj", "no shapes"]);
}
