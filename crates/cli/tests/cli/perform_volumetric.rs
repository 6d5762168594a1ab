//! `perform --method volumetric`: single shapes as the artist made them, motion, the same bytes for any
//! thread count and when resumed, options of the other method refused.

use crate::desk::Desk;

const CALL: [&str; 7] = ["perform", "head.face", "--method", "volumetric", "--clip", "clip.csv", "--head"];

/// A desk with a small face, a clip of two shapes that are held one after the other, and a head that nods.
fn desk() -> Desk {
    let desk = crate::perform::desk();
    desk.write("one.csv", "time,jawOpen,mouthSmileLeft\n0,0,0\n0.2,1,0\n1.2,1,0\n1.4,0,1\n2.4,0,1\n");
    let row = |i: usize| format!("{},0,{:.5},0,0,0,0,1\n", 0.01 * i as f64, 0.01 * (0.9 * i as f64).sin());
    let rows: String = (0..12).map(row).collect();
    desk.write("motion.csv", "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n".to_owned() + &rows);
    desk
}

fn moving<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&CALL[..], &["motion.csv"], more].concat()
}

#[test]
fn single_shapes_are_the_artists_and_blends_are_if_exact() {
    let desk = desk();
    let far = |more: &[&str]| -> Vec<f64> {
        let call = ["perform", "head.face", "--method", "volumetric", "--clip"];
        let report = desk.json(&[&call[..], more, &["-o", "a.npz"]].concat());
        let frames = report["frames"].as_array().unwrap().clone();
        frames.iter().map(|f| f["max_mm"].as_f64().unwrap()).collect()
    };
    // At rest: on the way, flesh is slower than the skin.
    let one = far(&["one.csv"]);
    assert!(one[2] < 0.05 && one[4] < 0.05, "single shapes are {one:?} mm off");
    desk.write("held.csv", "time,jawOpen,mouthSmileLeft\n0,0,0\n0.2,0.5,0.8\n2.2,0.5,0.8\n");
    let held = |more: &[&str]| far(&[&["held.csv", "--contact", "off"], more].concat())[2];
    let (blend, exact) = (held(&[]), held(&["--exact"]));
    assert!(blend > 0.02 && exact < 0.005, "{blend} {exact}");
}

#[test]
fn bytes_depend_neither_on_threads_nor_on_where_a_run_was_resumed() {
    let desk = desk();
    let report = desk.json(&moving(&["-o", "a.npz"]));
    assert!(report["frames"][3]["max_mm"].as_f64().unwrap() > 0.05, "{report}");
    desk.ok(&moving(&["--threads", "1", "-o", "b.npz"]));
    assert!(desk.read("a.npz") == desk.read("b.npz"), "threads change bytes");
    // A shorter clip first; the longer one goes on from there.
    let clip = String::from_utf8(desk.read("clip.csv")).unwrap();
    desk.write("clip.csv", clip.lines().take(3).map(|line| line.to_owned() + "\n").collect::<String>());
    desk.ok(&moving(&["--resume", "-o", "c.npz"]));
    desk.write("clip.csv", clip);
    let report = desk.json(&moving(&["--resume", "-o", "c.npz"]));
    assert_eq!(report["resumed"]["from"], 2, "{}", report["resumed"]);
    assert!(desk.read("a.npz") == desk.read("c.npz"), "a resumed run gives other bytes");
    let report = desk.json(&moving(&["--resume", "--active", "0.3", "-o", "c.npz"]));
    assert_eq!(report["resumed"]["from"], 0, "{}", report["resumed"]);
}

#[test]
fn options_out_of_range_and_of_the_other_method_are_refused() {
    let desk = desk();
    desk.write("held.json", r#"{"held": [{"region": "teeth_upper"}]}"#);
    desk.write("lip.json", r#"{"held": [{"region": "lips_lower"}]}"#);
    for (more, words) in [
        (&["--active", "1.5"][..], &["active", "from 0 to 1"][..]),
        (&["--iterations", "0"], &["iterations", "1 or more"]),
        (&["--tightening", "0.5"], &["volumetric", "tightening", "--method"]),
        (&["--adhesion", "100"], &["volumetric", "adhesion", "--method"]),
        (&["--contact", "penalty"], &["volumetric", "penalties", "--contact"]),
        (&["--dt", "0"], &["time step"]),
        (&["--scene", "held.json"], &["held region 0", "no flesh"]),
    ] {
        // Options that the method does not have are wrong calls.
        let code = if words[0] == "volumetric" { 2 } else { 1 };
        desk.fails_with(code, &moving(&[more, &["-o", "a.npz"]].concat()), words);
    }
    let enrich = ["perform", "head.face", "--clip", "clip.csv", "-o", "a.npz"];
    for (more, words) in [
        (&["--active", "0.5"][..], &["enrich", "active", "--method"][..]),
        (&["--iterations", "9"], &["enrich", "iterations", "--method"]),
        (&["--exact"], &["enrich", "exact", "--method"]),
        (&["--scene", "lip.json"], &["held", "--method"]),
    ] {
        desk.fails_with(2, &[&enrich[..], more].concat(), words);
    }
    assert!(!desk.path("a.npz").exists());
}
