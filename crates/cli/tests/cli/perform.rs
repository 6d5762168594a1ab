//! `perform`: the animation to the bit without forces, motion where the head moves, wrong calls refused.

use crate::build::few_shapes;
use crate::desk::Desk;
use std::sync::OnceLock;

const CLIP: &str =
    "time,jawOpen,mouthSmileLeft,mouthSmileRight\n0,0,0,0\n0.02,0.3,0.5,0.2\n0.04,0.1,1,0.9\n0.06,0,0.4,1\n";

const HEAD: &str = "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n0,0,0,0,0,0,0,1\n0.02,0,0.002,0,0,0.01,0,0.99995\n\
                    0.04,0,0.008,0,0,0.03,0,0.99955\n0.06,0,0.004,0,0,0.06,0,0.9982\n";

/// A desk with a small face, a clip and head motion. The face is built once.
pub fn desk() -> Desk {
    static FACE: OnceLock<Vec<u8>> = OnceLock::new();
    let desk = Desk::new();
    let face = FACE.get_or_init(|| {
        let desk = few_shapes();
        desk.ok(&["build", "head.glb", "--nodes", "800", "-o", "head.face"]);
        desk.read("head.face")
    });
    desk.write("head.face", face);
    desk.write("clip.csv", CLIP);
    desk.write("motion.csv", HEAD);
    desk
}

#[test]
fn a_still_head_gives_the_animation_and_a_moving_one_moves_flesh() {
    let desk = desk();
    let still = desk.json(&["perform", "head.face", "--clip", "clip.csv", "-o", "still.npz"]);
    desk.ok(&["pose", "head.face", "--clip", "clip.csv", "-o", "plain.npz"]);
    assert!(desk.read("still.npz") == desk.read("plain.npz"), "not the artist's animation to the bit");
    assert_eq!(still["frames"].as_array().unwrap().len(), 4);
    assert!(still["frames"].as_array().unwrap().iter().all(|f| f["max_mm"] == 0.0), "{still}");
    let naive = desk.json(&["perform", "head.face", "--clip", "clip.csv", "--naive", "-o", "naive.npz"]);
    assert!(naive["frames"][3]["max_mm"].as_f64().unwrap() > 0.01, "{naive}");

    let call = ["perform", "head.face", "--clip", "clip.csv", "--report", "still.json", "-o", "still.npz"];
    let reported = desk.json(&call);
    assert!(desk.read_json("still.json") == reported, "the report differs from what --json prints");
    assert_eq!(reported["times_secs"], serde_json::json!([0.0, 0.02, 0.04, 0.06]));
    let plotted = desk.json(&["plot", "still.json", "--value", "max", "-o", "still.png"]);
    assert_eq!((&plotted["runs"][0]["max"], &plotted["runs"][0]["frames"]), (&0.0.into(), &4.into()));

    let moving = ["perform", "head.face", "--clip", "clip.csv", "--head", "motion.csv"];
    let moved = desk.json(&[&moving[..], &["-o", "moved.glb"]].concat());
    let frames = moved["frames"].as_array().unwrap();
    assert!(
        frames[3]["max_mm"].as_f64().unwrap() > 0.1 && frames[3]["smallest_det"].as_f64().unwrap() > 0.0,
        "{moved}"
    );
    let most = |extra: &[&str]| {
        let report = desk.json(&[&moving[..], extra, &["-o", "again.npz"]].concat());
        report["frames"][3]["max_mm"].as_f64().unwrap()
    };
    let usual = most(&[]);
    assert!(most(&["--stiffness", "10"]) < 0.5 * usual && most(&["--substeps", "3"]) > 0.2 * usual);
    let text = desk.ok(&[&moving[..], &["--threads", "1", "-o", "again.npz"]].concat());
    assert!(text.contains("skin moved by physics") && text.contains("4 frames"), "{text}");
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let desk = desk();
    desk.fails_with(2, &["perform", "head.face", "-o", "a.npz"], &["--clip"]);
    desk.fails_with(
        2,
        &["perform", "head.face", "--clip", "clip.csv", "--naive", "--rebalance", "1", "-o", "a.npz"],
        &["--naive"],
    );
    desk.fails_with(2, &["perform", "head.face", "--clip", "clip.csv", "-o", "a.obj"], &["a.obj", ".npz"]);
    let report = ["perform", "head.face", "--clip", "clip.csv", "--report", "a.txt", "-o", "a.npz"];
    desk.fails_with(2, &report, &["a.txt", ".json"]);
    desk.fails_with(1, &["perform", "clip.csv", "--clip", "clip.csv", "-o", "a.npz"], &["clip.csv"]);
    for (option, value, words) in [
        ("--dt", "0", "time step"),
        ("--dt", "nan", "time step"),
        ("--rebalance", "1.5", "from 0 to 1"),
        ("--damping", "-1", "damping"),
        ("--stiffness", "0", "stiffness"),
        ("--gravity", "inf", "gravity"),
    ] {
        desk.fails_with(
            1,
            &["perform", "head.face", "--clip", "clip.csv", option, value, "-o", "a.npz"],
            &[words],
        );
    }
    desk.write("uneven.csv", "time,jawOpen\n0,0\n0.02,0.3\n0.05,0.1\n");
    let uneven = ["perform", "head.face", "--clip", "uneven.csv", "-o", "a.pc2"];
    desk.fails_with(1, &uneven, &["uneven frame rate", "MDD"]);
    assert!(!desk.path("a.pc2.partial").exists(), "frames were computed before the error was found");
    assert!(!desk.path("a.npz").exists());
}

#[test]
fn a_head_in_centimeters_is_asked_about() {
    let desk = desk();
    let row =
        |i: usize| format!("{},{},0,{},0,0,0,0,1\n", i as f64 / 25.0, 0.1 * i as f64, 3.0 * (i as f64).sin());
    let rows: String = (0..6).map(row).collect();
    desk.write(
        "cm.csv",
        "time,jawOpen,head_tx,head_ty,head_tz,head_qx,head_qy,head_qz,head_qw\n".to_owned() + &rows,
    );
    let call = ["perform", "head.face", "--clip", "cm.csv", "-o", "a.npz"];
    desk.fails_with(1, &call, &["implausible head acceleration", "centimeters", "--head-unit"]);
    let reported = desk.json(&[&call[..], &["--head-unit", "cm"]].concat());
    assert!(reported["frames"][5]["max_mm"].as_f64().unwrap() > 0.1, "{reported}");
}
