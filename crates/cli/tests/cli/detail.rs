//! `detail`: examples learned and reproduced, detail applied to takes and rigs, wrong calls and damaged files
//! refused.

use crate::build::few_shapes;
use crate::desk::Desk;
use risorius_io::formats::npz::NpzWriter;
use risorius_io::formats::picture;
use risorius_io::take_out::{TakeHeader, TakeWriter};
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

const LEARN: [&str; 9] =
    ["detail", "learn", "--rest", "head.glb", "--examples", "examples", "--count", "40", "-o"];

fn learned(desk: &Desk, more: &[&str]) -> Value {
    desk.json(&[&LEARN[..], &["face.detail"], more].concat())
}

#[test]
fn examples_are_met_and_detail_goes_onto_rigs_and_takes() {
    let desk = desk();
    let reported = learned(&desk, &[]);
    assert_eq!(reported["poses"], serde_json::json!(["rest", "jaw", "smile"]));
    assert_eq!(reported["handles"].as_array().unwrap().len(), 40);
    let errors = reported["example_errors_mm"].as_array().unwrap();
    assert!(errors.iter().all(|e| e.as_f64().unwrap() < 0.01), "{errors:?}");
    let again = desk.read("face.detail");
    learned(&desk, &["--threads", "1"]);
    assert!(again == desk.read("face.detail"), "the same bytes on any number of threads");

    // Ripples are 7 mm long and 0.4 mm high; the corners of mouth and lids, where handles are sparse, move
    // more.
    let on_rig = [
        "detail",
        "apply",
        "face.detail",
        "--rig",
        "head.glb",
        "--clip",
        "clip.csv",
        "--finer-than",
        "8",
        "-o",
    ];
    let reported = desk.json(&[&on_rig[..], &["rig.npz"]].concat());
    assert_eq!(reported["frames"], 4);
    let moved = reported["largest_displacement_mm"].as_f64().unwrap();
    assert!((0.1..3.0).contains(&moved), "{reported}");
    // With plain poses given, only the ripples are learned, except where there is no strain.
    std::fs::create_dir(desk.path("plain")).unwrap();
    desk.ok(&["pose", "head.glb", "--weights", "jawOpen=1", "-o", "plain/jaw.obj"]);
    desk.ok(&[
        "pose",
        "head.glb",
        "--weights",
        "mouthSmileLeft=1,mouthSmileRight=1",
        "-o",
        "plain/smile.obj",
    ]);
    let call = [
        "detail",
        "learn",
        "--rest",
        "head.glb",
        "--examples",
        "examples",
        "--plain",
        "plain",
        "-o",
        "p.detail",
    ];
    let reported = desk.json(&call);
    assert!(reported["largest_displacement_mm"].as_f64().unwrap() < 0.41, "{reported}");
    let on_rig = ["detail", "apply", "p.detail", "--rig", "head.glb", "--clip", "clip.csv", "-o", "p.npz"];
    let reported = desk.json(&on_rig);
    // Ripples of both poses add up.
    assert!((0.05..0.8).contains(&reported["largest_displacement_mm"].as_f64().unwrap()), "{reported}");

    desk.ok(&["pose", "head.glb", "--clip", "clip.csv", "-o", "plain.npz"]);
    desk.ok(&[
        "detail",
        "apply",
        "face.detail",
        "--take",
        "plain.npz",
        "--finer-than",
        "8",
        "-o",
        "take.npz",
    ]);
    assert!(desk.read("rig.npz") == desk.read("take.npz"), "a rig with a clip and its take differ");
    desk.ok(&["detail", "apply", "face.detail", "--take", "plain.npz", "-o", "take.glb"]);
    let text = desk.ok(&["render", "head.glb", "--take", "take.glb", "-o", "take.png"]);
    assert!(text.contains("take.png"), "{text}");
}

#[test]
fn a_take_is_a_set_of_examples_and_few_poses_stand_for_many() {
    let desk = desk();
    desk.ok(&["pose", "head.glb", "--clip", "clip.csv", "-o", "plain.npz"]);
    let from_take = [
        "detail",
        "learn",
        "--rest",
        "head.glb",
        "--examples",
        "plain.npz",
        "--basis",
        "3",
        "-o",
        "b.detail",
    ];
    let reported = desk.json(&from_take);
    assert_eq!(
        (reported["poses"].as_array().unwrap().len(), reported["examples"].as_array().unwrap().len()),
        (3, 4)
    );
    let reported = desk.json(
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
    assert_eq!(
        (reported["handles"].as_array().unwrap().len(), reported["poses"].as_array().unwrap().len()),
        (2, 1),
        "{reported}"
    );
    // Far too many handles: every vertex that a slider moves.
    let many = r#"[{"region": "shape:jawOpen"}]"#;
    desk.fails_with(
        1,
        &[&from_take[..6], &["--handles", many, "-o", "c.detail"]].concat(),
        &["number of handles"],
    );
}

#[test]
fn wrong_calls_and_damaged_files_say_what_is_wrong() {
    let desk = desk();
    learned(&desk, &[]);
    let learn_with = |more: &[&'static str]| [&["detail", "learn", "--rest", "head.glb"], more].concat();
    desk.fails_with(2, &learn_with(&["--plain", "examples", "-o", "a.detail"]), &["--examples"]);
    desk.fails_with(2, &learn_with(&["--examples", "examples", "-o", "a.npz"]), &["a.npz", ".detail"]);
    desk.fails_with(
        1,
        &learn_with(&["--examples", "examples", "--tolerance", "0", "-o", "a.detail"]),
        &["tolerance"],
    );
    desk.fails_with(
        1,
        &learn_with(&["--examples", "examples", "--bending", "0", "-o", "a.detail"]),
        &["bending"],
    );
    std::fs::create_dir(desk.path("empty")).unwrap();
    desk.fails_with(1, &learn_with(&["--examples", "empty", "-o", "a.detail"]), &["empty", ".obj"]);
    let mut more = desk.read("examples/jaw.obj");
    more.extend(b"v 0 0 0\n");
    desk.write("examples/more.obj", &more);
    desk.fails_with(1, &learn_with(&["--examples", "examples", "-o", "a.detail"]), &["more.obj", "vertices"]);
    assert!(!desk.path("a.detail").exists());

    desk.ok(&["pose", "head.glb", "--clip", "clip.csv", "-o", "plain.npz"]);
    let apply = |file: &'static str, more: &[&'static str]| {
        [&["detail", "apply", file], more, &["-o", "a.npz"]].concat()
    };
    desk.fails_with(2, &apply("face.detail", &[]), &["--take"]);
    desk.fails_with(2, &apply("face.detail", &["--rig", "head.glb"]), &["--clip"]);
    desk.fails_with(
        1,
        &apply("face.detail", &["--take", "plain.npz", "--finer-than", "0"]),
        &["separates fine"],
    );
    desk.fails_with(1, &apply("head.glb", &["--take", "plain.npz"]), &["head.glb"]);
    let whole = desk.read("face.detail");
    desk.write("cut.detail", &whole[..whole.len() - 5]);
    desk.fails_with(
        1,
        &apply("cut.detail", &["--take", "plain.npz"]),
        &["cut.detail", "damaged", "detail learn"],
    );
    // A NaN somewhere in the arrays.
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
    desk.fails_with(1, &apply("b.detail", &["--take", "plain.npz"]), &["comparison", "wpsd", "--model"]);
}

/// Markers in another unit, position and orientation, on a moving head, one of them lost for a while.
#[test]
fn markers_drive_the_face() {
    let desk = desk();
    learned(&desk, &[]);
    let rest =
        [[0.0, -0.06, 0.09], [0.0, 0.06, 0.1], [0.03, -0.03, 0.09], [-0.03, -0.03, 0.09], [0.0, 0.0, 0.12]];
    let names = ["chin", "brow", "left", "right", "nose"];
    let row = |f: usize| {
        let t = f as f64 / 60.0;
        let place = |m: usize| {
            let [x, y, z] = rest[m];
            let open = if m == 0 { 0.01 * (10.0 * t).sin() } else { 0.0 };
            // Rotated about y by 90 degrees, in centimeters, and drifting.
            format!(",{},{},{}", 100.0 * z + t, 100.0 * (y - open) + 70.0, -100.0 * x + 5.0)
        };
        let lost = |m: usize| if m == 2 && (5..9).contains(&f) { ",,,".to_owned() } else { place(m) };
        format!("{t}{}\n", (0..5).map(lost).collect::<String>())
    };
    let header: String =
        names.iter().flat_map(|n| ["X", "Y", "Z"].map(|axis| format!(",{n}_{axis}"))).collect();
    desk.write("markers.csv", format!("time_s{header}\n{}", (0..20).map(row).collect::<String>()));
    let point = |m: usize| format!("\"{}\": {{\"near\": {:?}}}", names[m], rest[m]);
    desk.write("points.json", format!("{{{}}}", (0..5).map(point).collect::<Vec<_>>().join(",")));
    let call = [
        "detail",
        "apply",
        "face.detail",
        "--markers",
        "markers.csv",
        "--points",
        "points.json",
        "-o",
        "m.npz",
    ];
    let reported = desk.json(&call);
    assert_eq!(reported["frames"], 20);
    let notes = reported["notes"].to_string();
    assert!(notes.contains("5 markers") && notes.contains("4 positions"), "{notes}");
    desk.write("three.json", format!("{{{}}}", (0..3).map(point).collect::<Vec<_>>().join(",")));
    let with = |points: &'static str| {
        ["detail", "apply", "face.detail", "--markers", "markers.csv", "--points", points, "-o", "n.npz"]
    };
    desk.fails_with(1, &with("three.json"), &["3 points", "at least four"]);
    desk.write("other.json", r#"{"ear": {"near": [0.1, 0, 0]}}"#);
    desk.fails_with(1, &with("other.json"), &["other.json", "'ear'", "chin"]);
    let alone = ["detail", "apply", "face.detail", "--markers", "markers.csv", "-o", "n.npz"];
    desk.fails_with(1, &alone, &["0 points", "--points"]);

    // Handles named like markers need no points, gauges can use names, and the head motion is written to a
    // glTF.
    let handles = desk.read("points.json");
    let gauges = r#"[["chin", "left"], ["chin", "right"], ["left", "nose"], ["right", "nose"], [0, 2]]"#;
    let named = [
        "--handles",
        "points.json",
        "--gauges",
        gauges,
        "--examples",
        "examples",
        "--rest",
        "head.glb",
        "-o",
        "named.detail",
    ];
    let reported = desk.json(&[&["detail", "learn"], &named[..]].concat());
    assert_eq!(
        (reported["handles"].as_array().unwrap().len(), &reported["gauges"]),
        (5, &5.into()),
        "{reported}"
    );
    desk.ok(&["detail", "apply", "named.detail", "--markers", "markers.csv", "-o", "named.glb"]);
    desk.ok(&["render", "head.glb", "--take", "named.glb", "--with-head", "-o", "named.png"]);
    assert_eq!(handles, desk.read("points.json"));
    let wrong = |gauges: &'static str| {
        [
            "detail",
            "learn",
            "--rest",
            "head.glb",
            "--handles",
            "points.json",
            "--gauges",
            gauges,
            "-o",
            "w.detail",
        ]
    };
    desk.fails_with(1, &wrong(r#"[["chin", "ear"]]"#), &["ear", "not a handle"]);
    desk.fails_with(1, &wrong(r#"[["chin"]]"#), &["not a pair"]);
    desk.fails_with(1, &wrong("[[0, 5]]"), &["handle 5", "numbered from 0"]);
    // Handles are numbered in the given order.
    let list = r#"[{"near": [0, -0.06, 0.09]}, {"near": [0, 0.06, 0.1]}, {"near": [0.03, -0.03, 0.09]}]"#;
    let learn = ["detail", "learn", "--rest", "head.glb", "--handles"];
    let reported = desk.json(&[&learn[..], &[list, "-o", "l.detail"]].concat());
    let reversed = r#"[{"near": [0.03, -0.03, 0.09]}, {"near": [0, 0.06, 0.1]}, {"near": [0, -0.06, 0.09]}]"#;
    let back = desk.json(&[&learn[..], &[reversed, "-o", "l.detail"]].concat());
    let mut handles = back["handles"].as_array().unwrap().clone();
    handles.reverse();
    assert_eq!(reported["handles"], Value::from(handles));
    // The user can set the time at which the face is at rest.
    let at =
        |time: &'static str| [&alone[..2], &["named.detail"], &alone[3..], &["--neutral", time]].concat();
    let reported = desk.json(&at("0.2"));
    assert!(reported["notes"].to_string().contains("(frame 12)"), "{reported}");
    desk.fails_with(1, &at("9"), &["--neutral", "which runs from 0"]);
}

/// A square of 41 x 41 vertices with texture coordinates, as OBJ, with a bump of height `height`, compressed
/// by the share `press`.
fn square(height: f64, press: f64) -> String {
    let mut text = String::new();
    for v in 0..41 * 41 {
        let (x, y) = (f64::from(v % 41) / 40.0, f64::from(v / 41) / 40.0);
        let bump = height * (1.0 - 10.0 * ((x - 0.5).powi(2) + (y - 0.5).powi(2))).max(0.0);
        text += &format!("v {} {} {bump}\nvt {x} {y}\n", 0.2 * x, 0.2 * (y - press * (y - 0.5)));
    }
    for v in (1..=41 * 40).filter(|v| v % 41 != 0) {
        let [a, b, c, d] = [v, v + 1, v + 42, v + 41];
        text += &format!("f {a}/{a} {b}/{b} {c}/{c} {d}/{d}\n");
    }
    text
}

#[test]
fn poses_are_painted_and_replaced_and_come_out_as_maps() {
    let desk = Desk::new();
    desk.write("rest.obj", square(0.0, 0.0));
    desk.write("examples/pressed.obj", square(0.0, 0.2));
    desk.write("examples/more.obj", square(0.0, 0.4));
    desk.write("bump.obj", square(0.002, 0.2));
    let unit = ["--unit", "m", "--up", "+Y", "--front", "+Z"];
    let learn = [
        "detail",
        "learn",
        "--rest",
        "rest.obj",
        "--examples",
        "examples",
        "--plain",
        "examples",
        "--count",
        "16",
        "-o",
    ];
    desk.ok(&[&learn[..], &["flat.detail"], &unit].concat());
    let changed = |arguments: &[&str]| {
        let reported =
            desk.json(&[&["detail", "edit", "flat.detail"], arguments, &["-o", "edited.detail"]].concat());
        reported["changed"].as_u64().unwrap()
    };
    let n = changed(&["--pose", "pressed", "--mesh", "bump.obj", "--plain", "examples/pressed.obj"]);
    assert!((200..1681).contains(&n), "the bump fades out: {n}");

    // Maps of a take of the sculpted pose show the bump.
    let apply = ["detail", "apply", "edited.detail", "--take", "take.npz", "--map-size", "64"];
    desk.write("take.npz", npz_of(&square(0.0, 0.2), 2));
    let reported = desk.json(&[&apply[..], &["--maps", "png", "-o", "out.npz"]].concat());
    let moved = reported["largest_displacement_mm"].as_f64().unwrap();
    assert!((1.9..2.1).contains(&moved), "{reported}");
    let range = desk.read_json("png/maps.json")["range_mm"].as_f64().unwrap();
    let middle = |name: &str| picture::read(&desk.read(name)).unwrap().at([0.5, 0.5]);
    let height = f64::from(middle("png/displacement.0001.png") - 0.5) * 2.0 * range;
    assert!((1.8..2.1).contains(&height), "{height} mm of a range of {range}");
    assert!(
        (f64::from(picture::read(&desk.read("png/displacement.0000.png")).unwrap().at([0.02, 0.02])) - 0.5)
            .abs()
            < 1e-3
    );
    desk.ok(&[&apply[..], &["--maps", "exr", "--map-kind", "exr"]].concat());
    // The mean of three channels, along u, v and the normal, is read; in meters.
    assert!((1.8..2.1).contains(&(f64::from(middle("exr/displacement.0000.exr")) * 3000.0)));

    // The written map is painted on the pose that had no detail.
    let paint = ["--pose", "more", "--image", "png/displacement.0000.png", "--middle", "0.5", "--height"];
    let n = changed(&[&paint[..], &[&format!("{}", 2.0 * range)]].concat());
    assert!(n > 200, "{n}");
    desk.write("take.npz", npz_of(&square(0.0, 0.4), 1));
    let reported = desk.json(&["detail", "apply", "edited.detail", "--take", "take.npz", "-o", "out.npz"]);
    let moved = reported["largest_displacement_mm"].as_f64().unwrap();
    assert!((1.8..2.1).contains(&moved), "{reported}");
    // Relief shows in every pose.
    let relief = ["--pose", "rest", "--image", "png/displacement.0000.png", "--height", "1"];
    assert!(changed(&relief) > 200);
    let reported = desk.json(&["detail", "apply", "edited.detail", "--take", "take.npz", "-o", "out.npz"]);
    assert!(reported["largest_displacement_mm"].as_f64().unwrap() > 0.3, "{reported}");

    let edit = |more: &[&'static str]| [&["detail", "edit", "flat.detail", "-o", "w.detail"], more].concat();
    desk.fails_with(1, &edit(&["--pose", "presed", "--mesh", "bump.obj"]), &["'presed'", "pressed"]);
    desk.fails_with(1, &edit(&["--pose", "pressed", "--mesh", "bump.obj"]), &["without detail"]);
    desk.fails_with(2, &edit(&["--pose", "pressed", "--image", "png/normal.0000.png"]), &["--height"]);
    desk.fails_with(1, &edit(&["--pose", "pressed", "--image", "rest.obj", "--height", "1"]), &["rest.obj"]);
    desk.fails_with(2, &["detail", "apply", "flat.detail", "--take", "take.npz"], &["--output"]);
}

/// Frames of an OBJ's vertices, all the same, as the program writes them.
fn npz_of(obj: &str, n_frames: usize) -> Vec<u8> {
    let positions: Vec<[f32; 3]> = obj
        .lines()
        .filter_map(|line| line.strip_prefix("v "))
        .map(|line| {
            let mut numbers = line.split_whitespace().map(|x| x.parse::<f32>().unwrap());
            std::array::from_fn(|_| numbers.next().unwrap())
        })
        .collect();
    let header = TakeHeader {
        path: "take.npz".into(),
        times_secs: (0..n_frames).map(|f| f as f64 / 30.0).collect(),
        n_vertices: positions.len(),
        triangles: Vec::new(),
    };
    let mut writer: Box<dyn TakeWriter<_>> =
        Box::new(NpzWriter::new(std::io::Cursor::new(Vec::new()), header).unwrap());
    (0..n_frames).for_each(|_| writer.frame(&positions).unwrap());
    writer.finish().unwrap().into_inner()
}

/// Wrinkles without examples, in two commands.
#[test]
fn wrinkles_are_made_without_examples() {
    let desk = desk();
    let make = ["detail", "make", "head.glb", "--subdivide", "0", "--count", "40", "-o", "made.detail"];
    let reported = desk.json(&make);
    assert!(reported["lines"].as_array().unwrap().len() > 30, "{reported}");
    let call =
        ["detail", "apply", "made.detail", "--rig", "head.glb", "--clip", "clip.csv", "-o", "made.npz"];
    let applied = desk.json(&call);
    assert!(applied["largest_displacement_mm"].as_f64().unwrap() > 0.1, "{applied}");
    assert!(desk.ok(&make).contains("nasolabial fold"));
    desk.fails_with(1, &[&make[..], &["--age", "5"]].concat(), &["from 18 to 90"]);
}

/// Transfer between faces, subdivided or not, and detail applied to the output of `perform`.
#[test]
fn detail_goes_to_other_faces_and_onto_physics() {
    let desk = desk();
    learned(&desk, &[]);
    // To itself, by detected landmarks.
    let call =
        ["detail", "transfer", "face.detail", "--from", "head.glb", "--to", "head.glb", "-o", "same.detail"];
    let reported = desk.json(&call);
    assert!(reported["mean_distance_mm"].as_f64().unwrap() < 0.5, "{reported}");
    assert!(
        reported["covered"].as_u64().unwrap() * 10 > reported["vertices"].as_u64().unwrap() * 5,
        "{reported}"
    );
    let on = |detail: &'static str, output: &'static str| {
        [
            "detail",
            "apply",
            detail,
            "--rig",
            "head.glb",
            "--clip",
            "clip.csv",
            "--finer-than",
            "8",
            "-o",
            output,
        ]
    };
    let [before, after] = [on("face.detail", "a.npz"), on("same.detail", "b.npz")]
        .map(|call| desk.json(&call)["largest_displacement_mm"].as_f64().unwrap());
    assert!(after > 0.3 * before && after < 1.5 * before, "{before} mm became {after} mm");
    // Subdivided: coarse animations in, fine frames out.
    desk.write("pairs.json", reported["pairs"].to_string().replace(",\"off_mm\"", ",\"off\""));
    desk.fails_with(
        1,
        &[
            "detail",
            "transfer",
            "face.detail",
            "--to",
            "head.glb",
            "--points",
            "pairs.json",
            "-o",
            "w.detail",
        ],
        &["off"],
    );
    let pairs: Vec<Value> = reported["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| serde_json::json!({ "name": p["name"], "from": p["from"], "to": p["to"] }))
        .collect();
    desk.write("pairs.json", Value::from(pairs).to_string());
    let fine = [
        "detail",
        "transfer",
        "face.detail",
        "--to",
        "head.glb",
        "--points",
        "pairs.json",
        "--subdivide",
        "1",
    ];
    let reported = desk.json(&[&fine[..], &["-o", "fine.detail"]].concat());
    let n_fine = reported["vertices"].as_u64().unwrap();
    let reported = desk.json(&on("fine.detail", "fine.npz"));
    assert_eq!(reported["vertices"], n_fine);
    let text = desk.ok(&["render", "fine.detail", "--take", "fine.npz", "-o", "fine.png"]);
    assert!(text.contains("fine.png"), "{text}");
    desk.ok(&["inspect", "fine.detail"]);
    desk.write("few.json", r#"[{"from": {"near": [0, 0, 0]}, "to": {"near": [0, 0, 0]}}]"#);
    desk.fails_with(
        1,
        &["detail", "transfer", "face.detail", "--to", "head.glb", "--points", "few.json", "-o", "w.detail"],
        &["1 points"],
    );

    // `perform` with detail gives the same as `perform` followed by `detail apply`.
    let flesh = crate::perform::desk();
    flesh.write("fine.detail", desk.read("fine.detail"));
    let perform = ["perform", "head.face", "--clip", "clip.csv"];
    let reported = flesh.json(&[&perform[..], &["--detail", "fine.detail", "-o", "once.npz"]].concat());
    assert_eq!(reported["vertices"], n_fine);
    flesh.ok(&[&perform[..], &["-o", "plain.npz"]].concat());
    flesh.ok(&["detail", "apply", "fine.detail", "--take", "plain.npz", "-o", "twice.npz"]);
    assert!(flesh.read("once.npz") == flesh.read("twice.npz"));
    flesh.write("rest.obj", square(0.0, 0.0));
    flesh.ok(&[
        "detail",
        "learn",
        "--rest",
        "rest.obj",
        "--unit",
        "m",
        "--up",
        "+Y",
        "--front",
        "+Z",
        "--count",
        "9",
        "-o",
        "other.detail",
    ]);
    flesh.fails_with(
        1,
        &[&perform[..], &["--detail", "other.detail", "-o", "w.npz"]].concat(),
        &["head.face", "1681"],
    );
}
