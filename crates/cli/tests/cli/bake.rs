//! `bake`: samples in parts, resumed and on any number of threads give the same rig, which plays the formula;
//! wrong calls say what to do.

use crate::desk::Desk;
use crate::perform::desk;
use risorius_base::progress::no_progress;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_rig::{Evaluator, Rig, Role};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MOUTH: &str = "jawOpen,mouthSmileLeft,mouthSmileRight";

fn bake<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["bake", "head.face", "--shapes", MOUTH, "--contact", "off"], more].concat()
}

fn open(desk: &Desk, name: &str) -> Rig {
    open_rig(&desk.path(name), &OpenOptions::default(), &no_progress).unwrap().rig
}

#[test]
fn parts_resumed_runs_and_threads_give_the_same_bytes() {
    let desk = desk();
    let pictures = ["--pictures", "p", "--clip", "clip.csv", "--formulas", "f.json", "--drivers", "d.json"];
    let report = desk.json(&[bake(&["-o", "rig.glb"]), pictures.to_vec()].concat());
    assert_eq!(report["planned"], 1 + 12 + 16 * 3);
    assert_eq!(report["samples"]["simulated"], 61);
    assert_eq!(report["rig"]["keep"], "shapes");
    let correctives = report["rig"]["correctives"].as_array().unwrap();
    assert!(correctives.iter().any(|c| c["shape"] == "jawOpen_50"), "{report}");
    assert!(correctives.iter().any(|c| c["sliders"].as_array().unwrap().len() == 2), "{report}");
    let mean = |which: &str| report["rig"][which][0].as_f64().unwrap();
    assert!(mean("after_mm") < 0.5 * mean("before_mm"), "{report}");
    let clip = &report["rig"]["clip"];
    let of = |which: &str| clip[which]["mean_mm"].as_f64().unwrap();
    assert!(of("baked_all") < 0.7 * of("linear_all"), "{clip}");
    for file in ["p/correctives.png", "p/clip.png", "f.json", "d.json"] {
        assert!(report["files"].as_array().unwrap().iter().any(|f| f == file), "{file}: {report}");
        assert!(!desk.read(file).is_empty());
    }
    assert!(!desk.path("rig.glb.partial").exists());

    let plan = desk.json(&bake(&["--plan", "plan.json"]));
    assert_eq!(plan["output"], serde_json::Value::Null);
    let plan = desk.read_json("plan.json");
    assert_eq!((&plan["n_samples"], plan["samples"].as_array().unwrap().len()), (&61.into(), 61));
    assert_eq!(plan["samples"][2]["weights"], serde_json::json!({ "jawOpen": 0.5 }));

    // In parts, of any size and on any number of threads.
    desk.ok(&bake(&["--samples", "0..20", "--threads", "1", "-o", "a.samples"]));
    desk.ok(&bake(&["--samples", "20..61", "--threads", "3", "-o", "b.samples"]));
    desk.ok(&["bake", "head.face", "--join", "b.samples", "a.samples", "-o", "joined.glb"]);
    assert!(desk.read("joined.glb") == desk.read("rig.glb"), "parts give another rig");
    desk.ok(&bake(&["--samples", "0..61", "--threads", "2", "-o", "whole.samples"]));
    desk.ok(&["bake", "head.face", "--join", "whole.samples", "-o", "whole.glb"]);
    assert!(desk.read("whole.glb") == desk.read("rig.glb"), "one part gives another rig");

    // Resumed: kept samples are used, damaged ones are not.
    std::fs::create_dir(desk.path("again.glb.partial")).unwrap();
    desk.write("again.glb.partial/0000000-0000061.samples", desk.read("whole.samples"));
    let resumed = desk.json(&bake(&["--resume", "-o", "again.glb"]));
    assert_eq!(resumed["samples"]["simulated"], 0, "{resumed}");
    assert!(desk.read("again.glb") == desk.read("rig.glb"));
    std::fs::create_dir(desk.path("again.glb.partial")).unwrap();
    let mut damaged = desk.read("whole.samples");
    let end = damaged.len() - 5;
    damaged[end] ^= 1;
    desk.write("again.glb.partial/0000000-0000061.samples", damaged);
    let resumed = desk.json(&bake(&["--resume", "-o", "again.glb"]));
    assert_eq!(resumed["samples"]["simulated"], 61, "{resumed}");
    assert!(resumed["notes"].to_string().contains("kept samples were not used"), "{resumed}");
    assert!(desk.read("again.glb") == desk.read("rig.glb"));
    refuses_parts_that_do_not_belong_together(&desk);
}

fn refuses_parts_that_do_not_belong_together(desk: &Desk) {
    let join = |files: &[&'static str]| [&["bake", "head.face", "-o", "x.glb", "--join"], files].concat();
    desk.fails_with(1, &join(&["a.samples"]), &["20..61 are missing", "--samples"]);
    desk.fails_with(1, &join(&["a.samples", "whole.samples"]), &["samples from 0 on are also in", "once"]);
    desk.fails_with(1, &join(&["a.samples", "a.samples", "b.samples"]), &["also in a.samples"]);
    desk.fails_with(1, &join(&["clip.csv"]), &["clip.csv", "no samples"]);
    desk.fails_with(1, &join(&["none.samples"]), &["none.samples"]);
    desk.ok(&bake(&["--samples", "20..61", "--active", "0.7", "-o", "other.samples"]));
    desk.fails_with(1, &join(&["a.samples", "other.samples"]), &["an option differs", "same request"]);
    let fewer = "jawOpen,mouthSmileLeft";
    desk.ok(&["bake", "head.face", "--shapes", fewer, "--samples", "0..25", "-o", "fewer.samples"]);
    let call = join(&["fewer.samples", "b.samples"]);
    desk.fails_with(1, &call, &["an option differs", "same request"]);
    // Another face of the same rig.
    let mut face = desk.read("head.face");
    let at = face.len() - 3;
    face[at] ^= 1;
    desk.write("other.face", face);
    let call = ["bake", "other.face", "--join", "whole.samples", "-o", "x.glb"];
    desk.fails_with(1, &call, &["whole.samples", "another face"]);
    let call = [&join(&["whole.samples"])[..], &["--clip", "clip.csv", "--gravity", "3"]].concat();
    desk.fails_with(1, &call, &["an option differs", "--clip"]);
    // Cut short, at every length.
    let whole = desk.read("whole.samples");
    for share in 0..12 {
        desk.write("cut.samples", &whole[..whole.len() * share / 12]);
        desk.fails_with(1, &join(&["cut.samples"]), &["cut.samples"]);
    }
}

/// `pose` on the baked rig: the artist's poses are kept, pairs get the product of their sliders.
#[test]
fn the_rig_plays_in_other_verbs() {
    let desk = desk();
    desk.ok(&bake(&["-o", "rig.glb"]));
    let (artist, baked) = (open(&desk, "head.face"), open(&desk, "rig.glb"));
    let of_role = |wanted: &dyn Fn(&Role) -> bool| baked.shapes.iter().filter(|s| wanted(&s.role)).count();
    assert_eq!(of_role(&|r| matches!(r, Role::Slider(_))), 5);
    assert!(of_role(&|r| matches!(r, Role::Combination { .. })) > 0);
    assert!(of_role(&|r| matches!(r, Role::Inbetween { .. })) > 0);
    let (before, after) = (Evaluator::prepare(&artist), Evaluator::prepare(&baked));
    for slider in 0..5 {
        let mut weights = vec![0.0; 5];
        weights[slider] = 1.0;
        assert_eq!(before.positions(&weights), after.positions(&weights));
    }
    desk.ok(&["pose", "rig.glb", "--weights", "jawOpen=0.6,mouthSmileLeft=0.7", "-o", "pose.obj"]);
    desk.ok(&["pose", "head.face", "--weights", "jawOpen=0.6,mouthSmileLeft=0.7", "-o", "own.obj"]);
    assert!(desk.read("pose.obj") != desk.read("own.obj"));
    let inspected = desk.json(&["inspect", "rig.glb"]);
    assert_eq!(inspected["sliders"], 5, "{inspected}");
    // Fewer correctives.
    let fewer = desk.json(&bake(&["--budget", "1", "--normals", "off", "-o", "one.glb"]));
    assert_eq!(fewer["rig"]["correctives"].as_array().unwrap().len(), 1, "{fewer}");
    assert!(fewer["rig"]["over_budget"].as_u64().unwrap() > 0);
    let none = desk.json(&bake(&["--visible", "1000", "-o", "none.glb"]));
    assert!(none["notes"].to_string().contains("no corrective is visible"), "{none}");
    assert_eq!(open(&desk, "none.glb").shapes.len(), artist.shapes.len());
}

#[test]
fn forces_are_baked_into_all_shapes() {
    let desk = desk();
    let tilted = ["--method", "enrich", "--tilt", "0,0,90", "-o", "side.glb"];
    let report = desk.json(&bake(&tilted));
    assert_eq!(report["rig"]["keep"], "nothing", "{report}");
    let (artist, baked) = (open(&desk, "head.face"), open(&desk, "side.glb"));
    assert_ne!(artist.neutral, baked.neutral, "the neutral sags to a side");
    let figure = |which: &str, i: usize| report["rig"][which][i].as_f64().unwrap();
    assert!(figure("after_mm", 0) < 0.3 * figure("before_mm", 0), "{report}");
}

#[test]
fn wrong_calls_say_what_to_do() {
    let desk = desk();
    desk.fails_with(2, &["bake", "head.face"], &["--output"]);
    desk.fails_with(2, &bake(&["-o", "rig.obj"]), &["glb"]);
    desk.fails_with(2, &bake(&["--samples", "0..4", "-o", "rig.glb"]), &["samples"]);
    desk.fails_with(2, &bake(&["--samples", "9..5", "-o", "a.samples"]), &["0..500"]);
    desk.fails_with(2, &bake(&["--samples", "50..62", "-o", "a.samples"]), &["0..61", "--samples"]);
    desk.fails_with(2, &bake(&["--samples", "0..4", "--join", "a", "-o", "a.samples"]), &["--join"]);
    desk.fails_with(1, &bake(&["--budget", "0", "-o", "rig.glb"]), &["--budget", "1 or more"]);
    desk.fails_with(2, &bake(&["--budget", "much", "-o", "rig.glb"]), &["5MB"]);
    desk.fails_with(1, &bake(&["--visible", "-1", "-o", "rig.glb"]), &["--visible"]);
    desk.fails_with(2, &bake(&["--tilt", "a", "-o", "rig.glb"]), &["--tilt", "0,0,90"]);
    desk.fails_with(2, &bake(&["--head", "motion.csv", "-o", "rig.glb"]), &["--tilt"]);
    desk.fails_with(2, &bake(&["--method", "enrich", "-o", "rig.glb"]), &["nothing to bake", "--tilt"]);
    let penalty = ["bake", "head.face", "--contact", "penalty", "-o", "rig.glb"];
    desk.fails_with(2, &penalty, &["--contact"]);
    let shapes = |list: &'static str| ["bake", "head.face", "--shapes", list, "-o", "rig.glb"];
    desk.fails_with(1, &shapes("jawOpne,mouthSmileLeft"), &["jawOpne", "did you mean jawOpen"]);
    desk.fails_with(1, &shapes("jawOpen"), &["two or more", "--shapes"]);
    desk.fails_with(1, &shapes("eyeBlinkLeft,mouthSmileRight"), &["nothing in common", "--pairs"]);
    desk.fails_with(1, &["bake", "clip.csv", "-o", "rig.glb"], &["clip.csv"]);
    let clip = "time,nothing\n0,0\n1,1\n";
    desk.write("other.csv", clip);
    desk.fails_with(1, &bake(&["--clip", "other.csv", "-o", "rig.glb"]), &["no column of the clip"]);
}

#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_resumes_to_the_same_bytes() {
    let desk = desk();
    desk.ok(&["bake", "head.face", "--pairs", "all", "--contact", "off", "-o", "whole.glb"]);
    let child = Command::new(env!("CARGO_BIN_EXE_risorius"))
        .args(["bake", "head.face", "--pairs", "all", "--contact", "off", "-o", "rig.glb"])
        .current_dir(desk.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !desk.path("rig.glb.partial/0000000-0000064.samples").exists() {
        assert!(start.elapsed() < Duration::from_secs(120), "no samples were kept in time");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in ["cancelled", "rig.glb.partial", "--resume"] {
        assert!(said.contains(words), "no '{words}' in: {said}");
    }
    assert!(!desk.path("rig.glb").exists());
    let resumed =
        desk.json(&["bake", "head.face", "--pairs", "all", "--contact", "off", "--resume", "-o", "rig.glb"]);
    let (planned, simulated) = (&resumed["planned"], &resumed["samples"]["simulated"]);
    assert!(simulated.as_u64().unwrap() <= planned.as_u64().unwrap() - 64, "{resumed}");
    assert!(desk.read("rig.glb") == desk.read("whole.glb"));
    assert!(!desk.path("rig.glb.partial").exists());
}

#[cfg(unix)]
#[test]
fn a_full_disk_stops_a_run_and_loses_nothing() {
    let desk = desk();
    // File sizes are limited, as if the disk were full: nothing fits.
    let program = env!("CARGO_BIN_EXE_risorius");
    let call = bake(&["-o", "rig.glb"]).join(" ");
    let call = format!("trap '' XFSZ; ulimit -f 0; exec {program} {call}");
    let output = Command::new("sh").args(["-c", &call]).current_dir(desk.path("")).output().unwrap();
    let (code, said) = (output.status.code(), String::from_utf8(output.stderr).unwrap());
    assert!(code == Some(1) && said.contains("rig.glb.partial"), "{code:?} {said}");
    assert!(!desk.path("rig.glb").exists(), "{said}");
    // With room again, the same call works.
    desk.ok(&bake(&["--resume", "-o", "rig.glb"]));
    desk.ok(&bake(&["-o", "whole.glb"]));
    assert!(desk.read("rig.glb") == desk.read("whole.glb"));
}

/// The formulas for engines, evaluated by another program than ours, give the poses of `pose`.
#[test]
fn formulas_play_the_rig() {
    let desk = desk();
    desk.ok(&bake(&["--formulas", "f.json", "-o", "rig.glb"]));
    let (rig, formulas) = (open(&desk, "rig.glb"), desk.read_json("f.json"));
    let evaluator = Evaluator::prepare(&rig);
    for w in [[0.3, 0.9, 0.4, 0.0, 0.0], [1.0, 0.55, 1.0, 0.2, 0.7], [0.5, 0.0, 0.25, 1.0, 0.1]] {
        let control =
            |v: &Value| -> f64 { w[rig.slider_index(v["control"].as_str().unwrap()).unwrap()].into() };
        let mut expected: Vec<[f64; 3]> = rig.neutral.iter().map(|p| p.map(f64::from)).collect();
        for target in formulas["targets"].as_array().unwrap() {
            let strength = &target["strength"];
            let strength = match (strength["product"].as_array(), strength["curve"].as_array()) {
                (Some(factors), _) => factors.iter().map(control).product(),
                (_, Some(points)) => curve(points, control(strength)),
                _ => control(strength),
            };
            let shape = rig.shapes.iter().find(|s| s.name == target["target"].as_str().unwrap()).unwrap();
            for (&v, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                (0..3).for_each(|k| expected[v as usize][k] += strength * f64::from(offset[k]));
            }
        }
        for (p, q) in evaluator.positions(&w).iter().zip(&expected) {
            (0..3).for_each(|k| assert!((f64::from(p[k]) - q[k]).abs() < 1e-5, "{w:?}: {p:?} {q:?}"));
        }
    }
}

/// Straight segments between points.
fn curve(points: &[Value], x: f64) -> f64 {
    let points: Vec<[f64; 2]> = points.iter().map(|p| [0, 1].map(|k| p[k].as_f64().unwrap())).collect();
    let end = (1..points.len() - 1).find(|&i| x < points[i][0]).unwrap_or(points.len() - 1);
    let [[x0, y0], [x1, y1]] = [points[end - 1], points[end]];
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}
