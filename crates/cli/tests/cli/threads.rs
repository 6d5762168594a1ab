//! The same bytes from 1, 2 and 7 threads, for every verb that writes files.

use crate::desk::Desk;
use crate::rigs;

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let pins = r#"[{"region": "brow"}, {"vertex": 22, "times": [[0.5, 1.5]]}]"#;
    let calls: [&[&str]; 13] = [
        &["convert", "face.glb", "objs/"],
        &["convert", "face.glb", "copy.glb", "--clip", "clip.csv"],
        &["convert", "clip.csv", "clip.json"],
        &["pose", "face.glb", "-w", "jawOpen=0.7,mouthSmile_L=0.3", "-o", "pose.obj"],
        &["pose", "face.glb", "-w", "jawOpen=0.7", "-o", "pose.glb"],
        &["pose", "face.glb", "--clip", "clip.csv", "--bake", "-o", "baked.glb"],
        &["pose", "face.glb", "--clip", "clip.csv", "--fps", "24", "-o", "take.npz"],
        &["convert", "take.npz", "take.mdd"],
        &[
            "attenuate",
            "face.glb",
            "--pins",
            pins,
            "-w",
            "jawOpen=1",
            "--bounds",
            "-o",
            "w.json",
            "--picture",
            "w.png",
        ],
        &[
            "attenuate",
            "face.glb",
            "--pins",
            pins,
            "--clip",
            "clip.csv",
            "-o",
            "held.csv",
            "--picture",
            "held.png",
        ],
        &["interference", "face.glb", "-o", "matrix.png"],
        &["interference", "face.glb", "--sliders", "jawOpen,mouthSmile_L", "-o", "pair.json"],
        &["render", "face.glb", "-w", "jawOpen=1", "--color", "motion", "--size", "200", "-o", "face.png"],
    ];
    let files = ["1", "2", "7"].map(|threads| {
        let desk = rigs::desk(rigs::face_with_extras());
        for call in calls {
            desk.ok(&[call, &["--threads", threads]].concat());
        }
        desk.files()
    });
    assert!(files[0].len() > 20, "{:?}", files[0].keys());
    for other in &files[1..] {
        assert!(files[0].keys().eq(other.keys()));
        for (name, bytes) in &files[0] {
            assert!(bytes == &other[name], "{} depends on the number of threads", name.display());
        }
    }
}

#[test]
fn the_demo_ends_in_files_that_the_other_verbs_take() {
    let desk = Desk::new();
    let report = desk.json(&["demo", "--nodes", "600", "--out", "my demo"]);
    let files: Vec<&str> = report["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
    assert_eq!(files.len(), desk.files().len());
    assert!(files.iter().all(|f| desk.path(f).is_file()), "{files:?}");
    let (before, after) = (&report["pinned_before_mm"], &report["pinned_after_mm"]);
    assert!(after.as_f64().unwrap() < 0.2 * before.as_f64().unwrap(), "{report}");
    let head = "my demo/head.glb";
    let inspected = desk.json(&["inspect", head]);
    assert_eq!((&inspected["sliders"], &inspected["space"]["meters_per_unit"]), (&67.into(), &1.0.into()));
    let args =
        ["attenuate", head, "--pins", r#"[{"region": "lips_upper"}]"#, "-w", "noseSneerLeft=1", "--bounds"];
    let held = desk.json(&args);
    assert!(held["pinned_after"]["rms"].as_f64().unwrap() < held["pinned_before"]["rms"].as_f64().unwrap());
    let face = desk.json(&["inspect", "my demo/head.face"]);
    assert_eq!(face["face"]["volume"]["nodes"], report["report"]["n_nodes"]);
    assert_eq!(report["report"]["n_fused_pairs"], 0);
    assert!(report["report"]["n_slit_pairs"].as_u64().unwrap() > 1000, "closed lips are many pairs");
    let alone = Desk::new();
    alone.ok(&["demo", "--nodes", "600", "--out", "my demo", "--threads", "1"]);
    for (name, bytes) in desk.files() {
        assert!(bytes == alone.files()[&name], "{} depends on the number of threads", name.display());
    }
}
