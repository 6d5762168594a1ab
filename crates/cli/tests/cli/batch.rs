//! Several clips or rigs in one call: the same files as from single calls, failures that stop nothing else,
//! names that clash refused.

use crate::perform::desk;
use serde_json::Value;

const CLIP: &str = "time,jawOpen,mouthSmileLeft\n0,0,0\n0.02,0.3,0.5\n0.04,0.1,1\n";

#[test]
fn several_clips_give_the_bytes_of_single_calls_and_a_bad_one_stops_none() {
    let desk = desk();
    desk.write("clips/one.csv", CLIP);
    desk.write("clips/two.csv", CLIP.replace("0.3", "0.9"));
    desk.write("clips/bad.csv", "time,elbow\n0,1\n");
    desk.write("heads/one.csv", desk.read("motion.csv"));
    desk.write("heads/two.csv", desk.read("motion.csv"));
    let clips = ["clips/bad.csv", "clips/one.csv", "clips/two.csv"];
    let call = [&["perform", "head.face", "--clip"][..], &clips].concat();
    let outputs = ["-o", "takes", "-o", "takes/{clip}.npz", "--report", "night.json"];
    let call = [&call[..], &["--head", "heads/{clip}.csv"], &outputs].concat();
    let run = desk.run(&[&call[..], &["--json"]].concat());
    assert_eq!((run.code, run.err.as_str()), (1, "risorius: 1 of 3 takes failed\n"));
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert!(desk.read_json("night.json") == report, "the report differs from what --json prints");
    assert_eq!((&report["done"], &report["failed"]), (&2.into(), &1.into()));
    assert!(report["items"][0]["error"].as_str().unwrap().contains("heads/bad.csv"), "{report}");
    assert_eq!(report["items"][1]["report"]["output"], "takes/one.glb");
    for name in ["one", "two"] {
        let (clip, head) = (format!("clips/{name}.csv"), format!("heads/{name}.csv"));
        desk.ok(&["perform", "head.face", "--clip", &clip, "--head", &head, "-o", "a.glb", "-o", "a.npz"]);
        for ending in ["glb", "npz"] {
            let (single, batch) = (format!("a.{ending}"), format!("takes/{name}.{ending}"));
            assert!(desk.read(&single) == desk.read(&batch), "{batch} has other bytes than a single call");
        }
    }
    let text = desk.run(&call).out;
    assert!(
        text.starts_with("2 of 3 takes in ") && text.contains("  failed: clips/bad.csv: heads/bad.csv"),
        "{text}"
    );
    let left = desk.files().into_keys().filter(|f| f.to_string_lossy().contains("partial")).count();
    assert_eq!(left, 0, "frames are left");
}

#[test]
fn batches_resume_and_a_face_may_follow_the_clips() {
    let desk = desk();
    desk.write("one.csv", CLIP);
    desk.write("two.csv", CLIP);
    let call = ["perform", "--clip", "one.csv", "two.csv", "head.face", "--resume", "-o", "takes/"];
    assert!(desk.ok(&call).contains("computed from frame 0 of 3 on"));
    desk.write("two.csv", CLIP.replace("0.1,1", "0.2,1"));
    let again = desk.json(&call);
    assert_eq!(again["items"][0]["report"]["resumed"]["from"], 3, "{again}");
    assert_eq!(again["items"][1]["report"]["resumed"]["from"], 2, "{again}");
    // A folder for a single clip is a batch of one, so that scripts always get the same kind of report.
    let one = desk.json(&[
        "perform",
        "head.face",
        "--clip",
        "one.csv",
        "-o",
        "takes/",
        "--report",
        "r/{clip}.json",
    ]);
    assert_eq!((&one["done"], &one["items"][0]["input"]), (&1.into(), &"one.csv".into()));
    assert!(desk.read_json("r/one.json") == one["items"][0]["report"], "{one}");
}

#[test]
fn clashing_names_are_refused() {
    let desk = desk();
    desk.write("a/one.csv", CLIP);
    desk.write("b/one.csv", CLIP);
    desk.write("two.csv", CLIP);
    for (clips, outputs, words) in [
        (
            ["two.csv", "a/one.csv"],
            &["-o", "take.glb"][..],
            ["both be written to take.glb", "{clip}", "--output"],
        ),
        (
            ["a/one.csv", "b/one.csv"],
            &["-o", "takes"],
            ["both be written to takes/one.glb", "{clip}", "--output"],
        ),
        (
            ["two.csv", "a/one.csv"],
            &["-o", "takes", "--fit-shapes", "2", "--fit-plot", "fit.png"],
            ["both be written to fit.png", "{clip}", "--fit-plot"],
        ),
    ] {
        let call = [&["perform", "head.face", "--clip"][..], &clips, outputs].concat();
        desk.fails_with(2, &call, &words);
    }
    desk.fails_with(2, &["perform", "--clip", "two.csv", "-o", "take.glb"], &["no face is given"]);
}

#[test]
fn several_rigs_give_the_bytes_of_single_builds() {
    let desk = crate::build::few_shapes();
    desk.write("other.glb", desk.read("head.glb"));
    desk.write("broken.glb", "no rig");
    let nodes = ["--nodes", "600"];
    let call = [&["build", "head.glb", "broken.glb", "other.glb"][..], &nodes, &["-o", "faces"]].concat();
    let run = desk.run(&[&call[..], &["--json"]].concat());
    assert_eq!(run.code, 1, "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&report["done"], &report["failed"]), (&2.into(), &1.into()));
    assert!(report["items"][1]["error"].as_str().unwrap().contains("broken.glb"), "{report}");
    desk.ok(&[&["build", "head.glb"][..], &nodes, &["-o", "single.face"]].concat());
    let single = desk.json(&["inspect", "single.face"]);
    let of_batch = desk.json(&["inspect", "faces/head.face"]);
    assert_eq!(single["face"]["volume"], of_batch["face"]["volume"]);
    assert_eq!(single["face"]["shapes"], of_batch["face"]["shapes"]);
    let pictures = ["build", "head.glb", "other.glb", "--pictures", "pictures", "-o", "faces"];
    desk.fails_with(2, &pictures, &["both be written to pictures", "{rig}", "--pictures"]);
}
