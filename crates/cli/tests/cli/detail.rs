//! `detail`: examples learned and met, detail put on takes and rigs, wrong calls and damaged files refused.

use crate::build::few_shapes;
use crate::desk::Desk;
use serde_json::Value;
use std::sync::OnceLock;

const CLIP: &str =
    "time,jawOpen,mouthSmileLeft,mouthSmileRight\n0,0,0,0\n0.02,0.3,0.5,0.2\n0.04,0.1,1,0.9\n0.06,0,0.4,1\n";

/// A desk with a rig, a clip and two examples: poses with ripples all over the skin.
fn desk() -> Desk {
    static FILES: OnceLock<[Vec<u8>; 3]> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let desk = few_shapes();
        let rippled = |weights: &str, phase: f32| {
            desk.ok(&["pose", "head.glb", "--weights", weights, "-o", "pose.obj"]);
            let text = String::from_utf8(desk.read("pose.obj")).unwrap();
            let line = |line: &str| match line.strip_prefix("v ") {
                Some(numbers) => {
                    let mut p: Vec<f32> = numbers.split_whitespace().map(|x| x.parse().unwrap()).collect();
                    p[2] += 0.0004 * (900.0 * p[1] + phase).sin();
                    format!("v {} {} {}\n", p[0], p[1], p[2])
                }
                None => format!("{line}\n"),
            };
            text.lines().map(line).collect::<String>().into_bytes()
        };
        [desk.read("head.glb"), rippled("jawOpen=1", 0.0), rippled("mouthSmileLeft=1,mouthSmileRight=1", 1.0)]
    });
    let desk = Desk::new();
    desk.write("head.glb", &files[0]);
    std::fs::create_dir(desk.path("examples")).unwrap();
    desk.write("examples/jaw.obj", &files[1]);
    desk.write("examples/smile.obj", &files[2]);
    desk.write("clip.csv", CLIP);
    desk
}

const LEARN: [&str; 9] = ["detail", "learn", "--rest", "head.glb", "--examples", "examples", "--count", "40", "-o"];

fn learned(desk: &Desk, more: &[&str]) -> Value {
    desk.json(&[&LEARN[..], &["face.detail"], more].concat())
}

#[test]
fn examples_are_met_and_detail_goes_onto_rigs_and_takes() {
    let desk = desk();
    let told = learned(&desk, &[]);
    assert_eq!(told["poses"], serde_json::json!(["rest", "jaw", "smile"]));
    assert_eq!(told["handles"].as_array().unwrap().len(), 40);
    let errors = told["example_errors_mm"].as_array().unwrap();
    assert!(errors.iter().all(|e| e.as_f64().unwrap() < 0.01), "{errors:?}");
    let again = desk.read("face.detail");
    learned(&desk, &["--threads", "1"]);
    assert!(again == desk.read("face.detail"), "the same bytes on any number of threads");

    // Ripples are 7 mm long and 0.4 mm high; corners of mouth and lids, of which few handles tell little, move more.
    let on_rig =
        ["detail", "apply", "face.detail", "--rig", "head.glb", "--clip", "clip.csv", "--finer-than", "8", "-o"];
    let told = desk.json(&[&on_rig[..], &["rig.npz"]].concat());
    assert_eq!(told["frames"], 4);
    let moved = told["largest_displacement_mm"].as_f64().unwrap();
    assert!((0.1..3.0).contains(&moved), "{told}");
    // Where the poses are known without ripples, ripples are all that is learned; where nothing strains they cannot be.
    std::fs::create_dir(desk.path("plain")).unwrap();
    desk.ok(&["pose", "head.glb", "--weights", "jawOpen=1", "-o", "plain/jaw.obj"]);
    desk.ok(&["pose", "head.glb", "--weights", "mouthSmileLeft=1,mouthSmileRight=1", "-o", "plain/smile.obj"]);
    let call =
        ["detail", "learn", "--rest", "head.glb", "--examples", "examples", "--plain", "plain", "-o", "p.detail"];
    let told = desk.json(&call);
    assert!(told["largest_displacement_mm"].as_f64().unwrap() < 0.41, "{told}");
    let on_rig = ["detail", "apply", "p.detail", "--rig", "head.glb", "--clip", "clip.csv", "-o", "p.npz"];
    let told = desk.json(&on_rig);
    // Ripples of both poses add up.
    assert!((0.05..0.8).contains(&told["largest_displacement_mm"].as_f64().unwrap()), "{told}");

    desk.ok(&["pose", "head.glb", "--clip", "clip.csv", "-o", "plain.npz"]);
    desk.ok(&["detail", "apply", "face.detail", "--take", "plain.npz", "--finer-than", "8", "-o", "take.npz"]);
    assert!(desk.read("rig.npz") == desk.read("take.npz"), "a rig over a clip and its take are one");
    desk.ok(&["detail", "apply", "face.detail", "--take", "plain.npz", "-o", "take.glb"]);
    let text = desk.ok(&["render", "head.glb", "--take", "take.glb", "-o", "take.png"]);
    assert!(text.contains("take.png"), "{text}");
}

#[test]
fn a_take_is_a_set_of_examples_and_few_poses_stand_for_many() {
    let desk = desk();
    desk.ok(&["pose", "head.glb", "--clip", "clip.csv", "-o", "plain.npz"]);
    let from_take =
        ["detail", "learn", "--rest", "head.glb", "--examples", "plain.npz", "--basis", "3", "-o", "b.detail"];
    let told = desk.json(&from_take);
    assert_eq!((told["poses"].as_array().unwrap().len(), told["examples"].as_array().unwrap().len()), (3, 4));
    let told = desk.json(
        &[
            &from_take[..6],
            &[
                "--handles",
                r#"[{"near": [0, 0, 0.1]}, {"near": [0, 0.1, 0.1]}]"#,
                "--tolerance",
                "100",
                "-o",
                "c.detail",
            ],
        ]
        .concat(),
    );
    assert_eq!((told["handles"].as_array().unwrap().len(), told["poses"].as_array().unwrap().len()), (2, 1), "{told}");
    // Far more than handles: every vertex that a slider moves.
    let many = r#"[{"region": "shape:jawOpen"}]"#;
    desk.fails_with(1, &[&from_take[..6], &["--handles", many, "-o", "c.detail"]].concat(), &["number of handles"]);
}

#[test]
fn wrong_calls_and_damaged_files_say_what_is_wrong() {
    let desk = desk();
    learned(&desk, &[]);
    let learn_with = |more: &[&'static str]| [&["detail", "learn", "--rest", "head.glb"], more].concat();
    desk.fails_with(2, &learn_with(&["-o", "a.detail"]), &["--examples"]);
    desk.fails_with(2, &learn_with(&["--examples", "examples", "-o", "a.npz"]), &["a.npz", ".detail"]);
    desk.fails_with(1, &learn_with(&["--examples", "examples", "--tolerance", "0", "-o", "a.detail"]), &["tolerance"]);
    desk.fails_with(1, &learn_with(&["--examples", "examples", "--bending", "0", "-o", "a.detail"]), &["bending"]);
    std::fs::create_dir(desk.path("empty")).unwrap();
    desk.fails_with(1, &learn_with(&["--examples", "empty", "-o", "a.detail"]), &["empty", ".obj"]);
    let mut more = desk.read("examples/jaw.obj");
    more.extend(b"v 0 0 0\n");
    desk.write("examples/more.obj", &more);
    desk.fails_with(1, &learn_with(&["--examples", "examples", "-o", "a.detail"]), &["more.obj", "vertices"]);
    assert!(!desk.path("a.detail").exists());

    desk.ok(&["pose", "head.glb", "--clip", "clip.csv", "-o", "plain.npz"]);
    let apply =
        |file: &'static str, more: &[&'static str]| [&["detail", "apply", file], more, &["-o", "a.npz"]].concat();
    desk.fails_with(2, &apply("face.detail", &[]), &["--take"]);
    desk.fails_with(2, &apply("face.detail", &["--rig", "head.glb"]), &["--clip"]);
    desk.fails_with(1, &apply("face.detail", &["--take", "plain.npz", "--finer-than", "0"]), &["finest"]);
    desk.fails_with(1, &apply("head.glb", &["--take", "plain.npz"]), &["head.glb"]);
    let whole = desk.read("face.detail");
    desk.write("cut.detail", &whole[..whole.len() - 5]);
    desk.fails_with(1, &apply("cut.detail", &["--take", "plain.npz"]), &["cut.detail", "damaged", "detail learn"]);
    // Somewhere in the arrays, a number that is none.
    let mut bad = whole.clone();
    let at = whole.len() - 4096;
    bad[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let at = at - at % 4;
    bad[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    desk.write("nan.detail", &bad);
    desk.fails_with(1, &apply("nan.detail", &["--take", "plain.npz"]), &["nan.detail", "damaged"]);
    let model = [
        "detail",
        "learn",
        "--rest",
        "head.glb",
        "--examples",
        "plain.npz",
        "--model",
        "local-blendshapes",
        "-o",
        "b.detail",
    ];
    desk.ok(&model);
    desk.fails_with(1, &apply("b.detail", &["--take", "plain.npz"]), &["pose space"]);
}

/// Markers in another unit, place and direction, on a head that moves, one of them lost for a while.
#[test]
fn markers_drive_the_face() {
    let desk = desk();
    learned(&desk, &[]);
    let rest = [[0.0, -0.06, 0.09], [0.0, 0.06, 0.1], [0.03, -0.03, 0.09], [-0.03, -0.03, 0.09], [0.0, 0.0, 0.12]];
    let names = ["chin", "brow", "left", "right", "nose"];
    let row = |f: usize| {
        let t = f as f64 / 60.0;
        let place = |m: usize| {
            let [x, y, z] = rest[m];
            let open = if m == 0 { 0.01 * (10.0 * t).sin() } else { 0.0 };
            // Turned about y by a right angle, in centimeters, and drifting.
            format!(",{},{},{}", 100.0 * z + t, 100.0 * (y - open) + 70.0, -100.0 * x + 5.0)
        };
        let lost = |m: usize| if m == 2 && (5..9).contains(&f) { ",,,".to_owned() } else { place(m) };
        format!("{t}{}\n", (0..5).map(lost).collect::<String>())
    };
    let header: String = names.iter().flat_map(|n| ["X", "Y", "Z"].map(|axis| format!(",{n}_{axis}"))).collect();
    desk.write("markers.csv", format!("time_s{header}\n{}", (0..20).map(row).collect::<String>()));
    let point = |m: usize| format!("\"{}\": {{\"near\": {:?}}}", names[m], rest[m]);
    desk.write("points.json", format!("{{{}}}", (0..5).map(point).collect::<Vec<_>>().join(",")));
    let call = ["detail", "apply", "face.detail", "--markers", "markers.csv", "--points", "points.json", "-o", "m.npz"];
    let told = desk.json(&call);
    assert_eq!(told["frames"], 20);
    let notes = told["notes"].to_string();
    assert!(notes.contains("5 markers") && notes.contains("4 places"), "{notes}");
    desk.write("three.json", format!("{{{}}}", (0..3).map(point).collect::<Vec<_>>().join(",")));
    let with = |points: &'static str| {
        ["detail", "apply", "face.detail", "--markers", "markers.csv", "--points", points, "-o", "n.npz"]
    };
    desk.fails_with(1, &with("three.json"), &["3 points", "at least four"]);
    desk.write("other.json", r#"{"ear": {"vertex": 1}}"#);
    desk.fails_with(1, &with("other.json"), &["other.json", "'ear'", "chin"]);
    desk.fails_with(2, &["detail", "apply", "face.detail", "--markers", "markers.csv", "-o", "n.npz"], &["--points"]);
}
