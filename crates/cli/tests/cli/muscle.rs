//! `muscle` and `perform --method muscles`: poses, shapes found, reached and edited, performances with the
//! same bytes for any number of threads and when resumed, wrong calls refused.

use crate::desk::Desk;
use std::sync::OnceLock;

/// A face with a shape that muscles are led to, and the report of that.
type Led = (Vec<u8>, serde_json::Value);

/// A desk with a small face that has a muscle shape. It is made once.
fn desk() -> (Desk, &'static serde_json::Value) {
    static LED: OnceLock<Led> = OnceLock::new();
    let desk = crate::perform::desk();
    let (face, report) = LED.get_or_init(|| {
        let solve = ["muscle", "solve", "head.face", "--shapes", "mouthSmileLeft", "--iterations", "3"];
        desk.ok(&[&solve[..], &["-o", "solved.face"]].concat());
        let target = ["muscle", "target", "solved.face", "--to", "mouthSmileLeft", "--iterations", "3"];
        let report = desk.json(&[&target[..], &["--plot", "snaps.png", "-o", "led.face"]].concat());
        (desk.read("led.face"), report)
    });
    desk.write("led.face", face);
    (desk, report)
}

#[test]
fn a_shape_is_solved_for_and_reached() {
    let (_, report) = desk();
    let shape = &report["shapes"][0];
    let snaps: Vec<f64> =
        shape["snaps_mm"].as_array().unwrap().iter().map(|s| s[0].as_f64().unwrap()).collect();
    assert!(snaps.len() > 1 && snaps[snaps.len() - 1] < 0.8 * snaps[0], "{snaps:?}");
    assert!(shape["end_error_m"].as_f64().unwrap() < 1e-6, "{shape}");
    assert!(shape["least_j"].as_f64().unwrap() > 0.0, "{shape}");
    assert_eq!(report["solved"], 0, "the shape was solved for before");
}

#[test]
fn an_edited_muscle_leads_and_gets_the_tension_of_its_length() {
    let (desk, _) = desk();
    let edit = ["muscle", "edit", "led.face", "--shape", "mouthSmileLeft", "-o", "edited.face"];
    let report = desk.json(&[&edit[..], &["--scale", "orbicularis_oris:0.7,1,1"]].concat());
    let muscle = &report["muscles"][0];
    assert_eq!(muscle["name"], "orbicularis_oris");
    let length = |i: usize| muscle["length_mm"][i].as_f64().unwrap();
    assert!(length(1) < 0.9 * length(0), "{muscle}");
    assert!(muscle["activation"][1].as_f64() >= muscle["activation"][0].as_f64(), "{muscle}");
    let curve: Vec<f64> =
        muscle["curve_mm"].as_array().unwrap().iter().map(|l| l.as_f64().unwrap()).collect();
    assert!(curve.windows(2).all(|w| w[1] <= w[0]) && curve[4] < curve[0], "{curve:?}");
    desk.fails_with(
        2,
        &[&edit[..], &["--move", "orbicularis_oris:1,2"]].concat(),
        &["three numbers", "--move"],
    );
    desk.fails_with(2, &[&edit[..], &["--move", "orbicularis_ori"]].concat(), &["MUSCLE:NUMBERS"]);
    desk.fails_with(2, &edit, &["to move or to scale", "--scale"]);
}

#[test]
fn a_performance_has_the_same_bytes_for_any_threads_and_when_resumed() {
    let (desk, _) = desk();
    let call = ["perform", "led.face", "--method", "muscles", "--clip", "clip.csv", "--head", "motion.csv"];
    let with = |more: &[&'static str]| [&call[..], more].concat();
    let report = desk.json(&with(&["-o", "a.npz"]));
    assert_eq!(report["frames"].as_array().unwrap().len(), 4);
    desk.ok(&with(&["--threads", "1", "-o", "b.npz"]));
    assert!(desk.read("a.npz") == desk.read("b.npz"), "threads change bytes");
    let clip = String::from_utf8(desk.read("clip.csv")).unwrap();
    desk.write("clip.csv", clip.lines().take(3).map(|line| line.to_owned() + "\n").collect::<String>());
    desk.ok(&with(&["--resume", "-o", "c.npz"]));
    desk.write("clip.csv", clip);
    let report = desk.json(&with(&["--resume", "-o", "c.npz"]));
    assert_eq!(report["resumed"]["from"], 2, "{}", report["resumed"]);
    assert!(desk.read("a.npz") == desk.read("c.npz"), "a resumed run gives other bytes");
}

#[test]
fn wrong_calls_say_what_to_do() {
    let (desk, _) = desk();
    let activate = ["muscle", "activate", "head.face", "-o", "a.obj"];
    let unknown = [&activate[..], &["--activations", "zigomaticus_major=1"]].concat();
    desk.fails_with(2, &unknown, &["zigomaticus_major", "zygomaticus_major_L"]);
    for (more, words) in [
        (&["--activations", "frontalis=1.5"][..], &["frontalis_L", "1.5", "from 0"][..]),
        (&["--jaw-open", "60"], &["60", "from 0 to 35", "--jaw-open"]),
        (&["--strength", "0"], &["strength", "positive"]),
    ] {
        desk.fails_with(1, &[&activate[..], more].concat(), words);
    }
    desk.write("head.glb", "a rig");
    let perform = ["perform", "head.face", "--clip", "clip.csv", "-o", "a.npz"];
    let with = |more: &[&'static str]| [&perform[..], more].concat();
    let solve = |more: &[&'static str]| [&["muscle", "solve"][..], more].concat();
    let target = vec!["muscle", "target", "head.face", "--to", "mesh.obj", "-o", "a.face"];
    let cases: [(i32, Vec<&str>, &[&str]); 7] = [
        (2, solve(&["head.face", "-o", "a.glb"]), &[".face"]),
        (1, solve(&["head.face", "--shapes", "smyle", "-o", "a.face"]), &["smyle"]),
        (1, solve(&["head.glb", "-o", "a.face"]), &["head.glb", "build"]),
        (2, target, &["--shape"]),
        (1, with(&["--method", "muscles"]), &["muscle solve"]),
        (2, with(&["--snap", "0.5"]), &["snaps", "--method"]),
        (2, with(&["--method", "muscles", "--damping", "2"]), &["damping", "--method"]),
    ];
    for (code, call, words) in cases {
        desk.fails_with(code, &call, words);
    }
    let led = ["perform", "led.face", "--clip", "clip.csv", "-o", "a.npz", "--method", "muscles"];
    desk.fails_with(1, &[&led[..], &["--snap", "2"]].concat(), &["snaps", "from 0 to 1"]);
    assert!(!desk.path("a.npz").exists() && !desk.path("a.obj").exists());
}
