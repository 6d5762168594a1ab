//! `demo` and `sample`: what they write works with the other verbs, word by word as they say.

use crate::desk::{Desk, data};
use crate::rigs::{self, desk};

const DEMO: [&str; 7] = ["demo", "--nodes", "600", "--seconds", "0.17", "--out", "my demo"];

#[test]
fn the_demo_ends_in_files_that_the_other_verbs_take() {
    let desk = Desk::new();
    let report = desk.json(&DEMO);
    let files: Vec<&str> = report["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect();
    assert_eq!(files.len(), desk.files().len(), "{files:?}");
    assert!(files.iter().all(|f| desk.path(f).is_file()), "{files:?}");
    let (before, after) = (&report["pinned_before_mm"], &report["pinned_after_mm"]);
    assert!(after.as_f64().unwrap() < 0.2 * before.as_f64().unwrap(), "{report}");
    assert_eq!(report["frames"], 6);
    let head = "my demo/head.glb";
    let inspected = desk.json(&["inspect", head]);
    assert_eq!((&inspected["sliders"], &inspected["space"]["meters_per_unit"]), (&67.into(), &1.0.into()));
    let face = desk.json(&["inspect", "my demo/head.face"]);
    assert_eq!(face["face"]["volume"]["nodes"], report["report"]["n_nodes"]);
    assert_eq!(report["report"]["n_fused_pairs"], 0);
    assert!(report["report"]["n_slit_pairs"].as_u64().unwrap() > 1000, "closed lips are many pairs");
}

/// A run on one thread writes the same bytes, and what it says to try next works as it stands.
#[cfg(unix)]
#[test]
fn what_the_demo_says_to_try_next_works_word_by_word() {
    let (desk, alone) = (Desk::new(), Desk::new());
    desk.ok(&DEMO);
    let said = alone.ok(&[&DEMO[..], &["--threads", "1"]].concat());
    for (name, bytes) in desk.files() {
        assert!(bytes == alone.files()[&name], "{} depends on the number of threads", name.display());
    }
    let (_, next) = said.split_once("Try next:\n").expect("nothing to try next");
    let calls: Vec<&str> = next.lines().map(str::trim).filter(|l| !l.contains("YOUR_RIG")).collect();
    assert!(calls.iter().any(|c| c.starts_with("risorius perform")), "{calls:?}");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_risorius"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    for call in calls {
        let before = alone.files();
        let output = std::process::Command::new("sh")
            .args(["-c", call])
            .env("PATH", &path)
            .current_dir(alone.path("."))
            .output()
            .unwrap();
        assert!(output.status.success(), "{call}: {}", String::from_utf8_lossy(&output.stderr));
        let changed = before.iter().find(|(name, bytes)| alone.files()[*name] != **bytes);
        assert!(changed.is_none(), "{call} overwrites {:?}", changed.unwrap().0);
    }
}

#[test]
fn samples_are_listed_and_written_by_name() {
    let desk = desk(rigs::face());
    let list = desk.ok(&["sample", "--list"]);
    for name in ["talk", "expressions", "range", "lively", "nod", "shake", "stamp", "run"] {
        assert!(list.lines().any(|l| l.split(' ').next() == Some(name)), "{list}");
    }
    let report = desk.json(&["sample", "-o", "made/here"]);
    assert_eq!(report["files"][0]["output"], "made/here/talk.csv", "{report}");
    assert_eq!((&report["files"][1]["frames"], &report["files"][1]["fps"]), (&481.into(), &120.0.into()));
    let header = |name: &str| String::from_utf8(desk.read(name)).unwrap().lines().next().unwrap().to_string();
    assert_eq!(header("made/here/lively.csv"), "time_s,px_m,py_m,pz_m,qx,qy,qz,qw");
    assert!(
        header("made/here/talk.csv").starts_with("time_s,")
            && header("made/here/talk.csv").contains("jawOpen")
    );
    desk.ok(&["sample", "stamp", "range"]);
    assert!(desk.path("stamp.csv").is_file() && desk.path("range.csv").is_file());
    desk.fails_with(2, &["sample", "stomp"], &["no sample 'stomp'", "stamp", "talk"]);
    desk.fails(2, &["sample", "--list", "talk"]);
    let call = ["pose", "face.glb", "--clip", "made/here/talk.csv", "--head", "made/here/lively.csv"];
    let posed = desk.json(&[&call[..], &["-o", "posed.glb"]].concat());
    assert_eq!(posed["frames"], 121, "{posed}");
    if let Some(rig) = data("facecap/facecap.glb") {
        let posed = desk.json(&["pose", &rig, "--clip", "range.csv", "-o", "range.npz"]);
        assert_eq!(posed["mapping"]["undriven_sliders"].as_array().map(Vec::len), Some(0), "{posed}");
    }
}
