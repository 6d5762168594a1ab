//! `perform`: the animation to the bit without forces, motion where the head moves, wrong calls refused.

use crate::build::few_shapes;
use crate::desk::Desk;
use risorius_base::progress::no_progress;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_io::take_in::open_take_of;
use risorius_rig::FrameSource;
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

#[test]
fn one_run_writes_frames_and_fitted_shapes() {
    let desk = desk();
    let call = ["perform", "head.face", "--clip", "clip.csv", "--head", "motion.csv"];
    let outputs = ["--fit-shapes", "4", "--fit-plot", "fit.png", "-o", "exact.npz", "-o", "fitted.glb"];
    let report = desk.json(&[&call[..], &outputs].concat());
    assert_eq!(report["files"], serde_json::json!(["exact.npz", "fitted.glb", "fit.png"]));
    // More shapes leave less, and four are enough for four frames.
    let errors: Vec<f64> =
        report["fit"]["errors"].as_array().unwrap().iter().map(|e| e["max_mm"].as_f64().unwrap()).collect();
    let n = report["fit"]["shapes"].as_array().unwrap().len();
    assert!(errors.len() == n + 1 && errors[0] > 0.1 && errors[n] < 1e-3, "{errors:?}");
    assert!(errors[1] < errors[0], "{errors:?}");
    // What an engine plays, all shapes by their strengths, is the take within what was reported.
    let rig = open_rig(&desk.path("head.face"), &OpenOptions::default(), &no_progress).unwrap().rig;
    let [exact, fitted] = ["exact.npz", "fitted.glb"]
        .map(|name| open_take_of(&desk.path(name), &rig, 30.0, &no_progress).unwrap());
    let mm = 1000.0 * rig.space.meters_per_unit as f32;
    for f in 0..4 {
        let (a, b) = (exact.frame(f), fitted.frame(f));
        let off = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| mm * (x - y).abs());
        let off = off.fold(0.0, f32::max);
        assert!(off < 2e-3, "frame {f} is {off} mm off");
    }
    let own = open_rig(&desk.path("fitted.glb"), &OpenOptions::default(), &no_progress).unwrap().rig;
    assert_eq!(own.shapes.len(), rig.shapes.len() + n);
    assert_eq!(own.shapes[rig.shapes.len()].name, "physics_01");
    // The same frames as without fitting.
    desk.ok(&[&call[..], &["-o", "plain.npz"]].concat());
    assert!(desk.read("plain.npz") == desk.read("exact.npz"));
    // Vertices are those of the artist's file.
    let vertex = &report["moved_most"]["vertex"];
    let part = rig.parts.iter().find(|p| p.name == vertex["part"]).unwrap();
    assert!((vertex["vertex"].as_u64().unwrap() as usize) < part.n_file_vertices());
    let text = desk.ok(&[&call[..], &["-o", "plain.npz"]].concat());
    let named = format!("vertex {} of part '{}'", vertex["vertex"], part.name);
    assert!(text.contains(&named), "no {named} in {text}");

    desk.fails_with(
        2,
        &[&call[..], &["--fit-shapes", "2", "-o", "a.mdd"]].concat(),
        &[".glb", "--fit-shapes"],
    );
    desk.fails_with(2, &[&call[..], &["--fit-shapes", "0", "-o", "a.glb"]].concat(), &["1..=256"]);
    let world = ["--fit-shapes", "2", "--space", "world", "-o", "a.glb"];
    desk.fails_with(2, &[&call[..], &world].concat(), &["head frame"]);
}

#[test]
fn a_rig_instead_of_a_face_gets_the_line_that_makes_one() {
    let desk = crate::rigs::desk(crate::rigs::face());
    let call = ["perform", "face.glb", "--clip", "clip.csv", "-o", "a.npz"];
    desk.fails_with(1, &call, &["face.glb is a rig", "risorius build face.glb -o face.face"]);
}

#[test]
fn a_part_of_a_clip_is_performed() {
    let desk = desk();
    let cut =
        ["perform", "head.face", "--clip", "clip.csv", "--start", "1", "--end", "0.04s", "-o", "cut.npz"];
    assert_eq!(desk.json(&cut)["times_secs"], serde_json::json!([0.02, 0.04]));
    let pose = ["pose", "head.face", "--clip", "clip.csv", "--start", "1", "--end", "2", "-o", "plain.npz"];
    desk.ok(&pose);
    assert!(desk.read("cut.npz") == desk.read("plain.npz"), "not the artist's animation to the bit");
}
