//! `attenuate` on clips: time ranges, base poses, outputs of every kind.

use crate::desk::Desk;
use crate::rigs;
use risorius_base::progress::no_progress;
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::open::open_clip;
use risorius_rig::Clip;

/// Two seconds at 20 frames a second: the jaw swings between shut and open.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("face.glb", rigs::face());
    let mut csv = String::from("time_s,jawOpen\n");
    for frame in 0..=40 {
        csv += &format!("{},{}\n", frame as f64 / 20.0, 0.5 - 0.5 * (frame as f64 / 5.0).cos());
    }
    desk.write("swing.csv", csv);
    desk
}

fn run<'a>(pins: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["attenuate", "face.glb", "--clip", "swing.csv", "--pins", pins][..], more].concat()
}

fn column(desk: &Desk, file: &str, name: &str) -> Vec<f32> {
    let clip: Clip = open_clip(&desk.path(file), &ClipOptions::default(), &no_progress).unwrap().clip;
    let c = clip.names.iter().position(|n| n == name).unwrap();
    (0..clip.n_frames()).map(|f| clip.frame(f)[c]).collect()
}

fn largest_step(desk: &Desk, file: &str) -> f32 {
    column(desk, file, "jawOpen").windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max)
}

#[test]
fn pins_without_times_hold_all_along() {
    let desk = desk();
    let report = desk.json(&run(r#"[{"vertex": 22}]"#, &["-o", "held.csv"]));
    assert_eq!((&report["frames"], &report["alpha"]), (&41.into(), &80.0.into()));
    let (before, after) = (&report["pinned_before"]["rms_mm"], &report["pinned_after"]["rms_mm"]);
    assert!(after.as_f64().unwrap() < 0.5 * before.as_f64().unwrap(), "{report}");
    let (asked, held) = (column(&desk, "swing.csv", "jawOpen"), column(&desk, "held.csv", "jawOpen"));
    assert!(asked.iter().zip(&held).all(|(a, h)| h.abs() <= a.abs() + 1e-6));
    assert_eq!(report["mapping"]["matched"][0]["slider"], "jawOpen");
}

#[test]
fn times_switch_pins_on_and_off_without_a_jump() {
    let desk = desk();
    desk.ok(&run(r#"[{"vertex": 22, "times": [[0.75, 1.25]]}]"#, &["-o", "timed.json"]));
    let (asked, held) = (column(&desk, "swing.csv", "jawOpen"), column(&desk, "timed.json", "jawOpen"));
    for frame in (0..=10).chain(30..=40) {
        assert_eq!(asked[frame], held[frame], "outside the range and its fades, frame {frame}");
    }
    assert!((15..=25).any(|f| (asked[f] - held[f]).abs() > 0.02), "{held:?}");
    desk.ok(&run(r#"[{"vertex": 22, "times": [[0.75, 1.25]]}]"#, &["--fade", "0", "-o", "hard.csv"]));
    let (soft, hard) = (largest_step(&desk, "timed.json"), largest_step(&desk, "hard.csv"));
    assert!(soft < 0.6 * hard, "{soft} {hard}");
}

#[test]
fn a_base_pose_is_where_pins_were_set() {
    let desk = desk();
    desk.ok(&run(r#"[{"vertex": 22}]"#, &["--from", "jawOpen=1", "--alpha", "inf", "-o", "open.csv"]));
    assert!(column(&desk, "open.csv", "jawOpen").iter().all(|w| (w - 1.0).abs() < 0.35));
    desk.ok(&run(r#"[{"vertex": 22}]"#, &["--lock", "jawOpen", "-o", "locked.csv"]));
    assert_eq!(column(&desk, "locked.csv", "jawOpen"), column(&desk, "swing.csv", "jawOpen"));
    desk.ok(&run(r#"[{"vertex": 22}]"#, &["--bounds", "--alpha", "inf", "-o", "bounded.csv"]));
    for name in ["jawOpen", "mouthSmile_L", "mouthSmile_R", "browInnerUp", "eyeBlink_L"] {
        assert!(column(&desk, "bounded.csv", name).iter().all(|w| (0.0..=1.0).contains(w)), "{name}");
    }
}

#[test]
fn smoothing_takes_the_edges_off() {
    let desk = desk();
    let pins = r#"[{"vertex": 22, "times": [[0.75, 1.25]]}]"#;
    desk.ok(&run(pins, &["--fade", "0", "-o", "hard.csv"]));
    desk.ok(&run(pins, &["--fade", "0", "--smooth", "0.1", "-o", "soft.csv"]));
    assert!(largest_step(&desk, "soft.csv") < largest_step(&desk, "hard.csv"));
}

#[test]
fn every_output_holds_the_same_clip() {
    let desk = desk();
    let pins = r#"[{"vertex": 22}]"#;
    for format in ["csv", "json", "glb", "gltf"] {
        let name = format!("held.{format}");
        desk.ok(&run(pins, &["-o", &name]));
        assert_eq!(column(&desk, &name, "jawOpen"), column(&desk, "held.csv", "jawOpen"), "{format}");
    }
    desk.ok(&run(pins, &["-o", "held.mdd", "--picture", "held.png"]));
    desk.ok(&["pose", "face.glb", "--clip", "held.csv", "-o", "posed.mdd"]);
    assert_eq!(desk.read("held.mdd"), desk.read("posed.mdd"));
    assert!(desk.read("held.png").starts_with(b"\x89PNG"));
}

#[test]
fn wrong_clips_and_times_are_refused() {
    let desk = desk();
    desk.write("held.csv", "older");
    let pins = r#"[{"vertex": 22, "times": [[2, 1]]}]"#;
    desk.fails_with(1, &run(pins, &["-o", "held.csv"]), &["pin 0", "is not ascending"]);
    desk.write("back.csv", "time_s,jawOpen\n0,0\n0,1\n");
    let args =
        ["attenuate", "face.glb", "--clip", "back.csv", "--pins", r#"[{"vertex": 1}]"#, "-o", "held.csv"];
    desk.fails_with(1, &args, &["back.csv", "line 3"]);
    desk.fails_with(2, &run("[]", &["--smooth", "nan"]), &["--smooth"]);
}
