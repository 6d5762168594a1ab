//! Clips and head motion of other programs: frame numbers, units, different lengths, percent, no match.

use crate::desk::Desk;
use crate::rigs::{self, desk};

const HEAD: &str = "qx,qy,qz,qw\n";

/// Head motion over some seconds, 30 frames each, to and fro by 5 in some unit.
fn head(columns: &str, seconds: usize) -> String {
    let mut text = format!("time_s,{columns},{HEAD}");
    for i in 0..=30 * seconds {
        let t = i as f64 / 30.0;
        text += &format!("{t},{},0,0,0,0,0,1\n", 5.0 * (6.0 * t).sin());
    }
    text
}

fn pose(desk: &Desk, more: &[&str]) -> (String, String) {
    let run = desk.run(&[&["pose", "face.glb", "--clip", "clip.csv", "-o", "take.glb"], more].concat());
    (run.out, run.err)
}

#[test]
fn head_positions_without_a_unit_are_asked_about() {
    let desk = desk(rigs::face());
    desk.write("head.csv", head("px,py,pz", 3));
    let error = pose(&desk, &["--head", "head.csv"]).1;
    assert!(error.contains("head.csv") && error.contains("'px'") && error.contains("--head-unit"), "{error}");
    let (out, error) = pose(&desk, &["--head", "head.csv", "--head-unit", "cm"]);
    assert!(out.starts_with("take.glb: 4 frames") && error.is_empty(), "{out}{error}");
    desk.write(
        "strange.csv",
        head("px_cm,py_cm,pz_cm", 3).replace("qw\n", "qw,confidence\n").replace(",1\n", ",1,9\n"),
    );
    let out = pose(&desk, &["--head", "strange.csv"]).0;
    assert!(
        out.contains("strange.csv: columns that are not understood as head motion are not used: confidence"),
        "{out}"
    );
}

#[test]
fn one_check_of_the_unit_for_every_verb() {
    let desk = desk(rigs::face());
    // Five meters to and fro, once a second.
    desk.write("wild.csv", head("px_m,py_m,pz_m", 3));
    desk.write("assumed.csv", head("head_tx,head_ty,head_tz", 3));
    let movie =
        ["render", "face.glb", "--clip", "clip.csv", "--with-head", "--size", "64", "-o", "movie.png"];
    let posed = ["pose", "face.glb", "--clip", "clip.csv", "-o", "take.glb"];
    for call in [&movie[..], &posed] {
        let error = desk.fails(1, &[call, &["--head", "assumed.csv"]].concat());
        assert!(error.contains("implausible head acceleration") && error.contains("--head-unit"), "{error}");
        desk.ok(&[call, &["--head", "assumed.csv", "--head-unit", "cm"]].concat());
        desk.ok(&[call, &["--head", "assumed.csv", "--head-unit", "m"]].concat());
        // A unit that is not used does not switch the check off.
        for unit in [&[][..], &["--head-unit", "cm"]] {
            let error = desk.fails(1, &[call, &["--head", "wild.csv"], unit].concat());
            assert!(error.contains("states the unit of its positions"), "{error}");
        }
    }
    // Where the head is not shown, its unit does not matter.
    desk.ok(&[
        "render",
        "face.glb",
        "--clip",
        "clip.csv",
        "--head",
        "wild.csv",
        "--size",
        "64",
        "-o",
        "still.png",
    ]);
}

#[test]
fn different_lengths_of_clip_and_head_are_said() {
    let desk = desk(rigs::face());
    desk.write("long.csv", head("px_cm,py_cm,pz_cm", 8));
    desk.write("short.csv", head("px_cm,py_cm,pz_cm", 1));
    let long = pose(&desk, &["--head", "long.csv"]).0;
    assert!(long.contains("5.00 s of head motion are not used"), "{long}");
    let short = pose(&desk, &["--head", "short.csv"]).0;
    assert!(short.contains("the head is held still during 2.00 s"), "{short}");
}

#[test]
fn a_given_head_replaces_what_a_recorder_did_not_store() {
    let desk = desk(rigs::face());
    let live = "Timecode,BlendShapeCount,JawOpen,HeadYaw,HeadPitch,HeadRoll\n\
                00:00:00:00.000,1,0,0,0,0\n00:00:00:01.000,1,1,0,0,0\n";
    desk.write("clip.csv", live);
    desk.write("head.csv", head("px_cm,py_cm,pz_cm", 1));
    assert!(pose(&desk, &[]).0.contains("the head angles are 0"));
    assert!(!pose(&desk, &["--head", "head.csv"]).0.contains("head angles"));
}

#[test]
fn frame_numbers_need_a_rate() {
    let desk = desk(rigs::face());
    for name in ["frame", "Frame", "frame_number", "#"] {
        desk.write("clip.csv", format!("{name},jawOpen\n0,0\n1,0.5\n2,1\n"));
        let error = pose(&desk, &[]).1;
        assert!(error.contains("frame numbers") && error.contains("--fps"), "{name}: {error}");
        let (out, error) = pose(&desk, &["--fps", "24"]);
        assert!(out.starts_with("take.glb: 3 frames"), "{name}: {out}{error}");
        desk.ok(&["inspect", "clip.csv"]);
    }
    desk.write("clip.csv", "# fps: 24\nframe,jawOpen\n0,0\n1,0.5\n2,1\n");
    assert!(pose(&desk, &[]).0.starts_with("take.glb: 3 frames"));
}

#[test]
fn percent_is_noted_and_a_clip_without_a_slider_is_refused() {
    let desk = desk(rigs::face());
    desk.write("clip.csv", "time,jawOpen,browInnerUp\n0,0,0\n1,100,40\n");
    let out = pose(&desk, &[]).0;
    assert!(
        out.contains("'jawOpen' reaches 100") && out.contains("2 columns") && out.contains("percent"),
        "{out}"
    );
    desk.write("clip.csv", "time,AU12,AU25\n0,0,0\n1,1,1\n");
    let error = desk.fails(1, &["pose", "face.glb", "--clip", "clip.csv", "-o", "take.glb"]);
    assert!(error.contains("AU12, AU25") && error.contains("jawOpen, mouthSmile_L"), "{error}");
    let text = desk.ok(&["inspect", "face.glb", "--clip", "clip.csv"]);
    assert!(text.contains("0 of 5 sliders are driven"), "{text}");
    // Head motion alone is a clip of the neutral face.
    desk.write("clip.csv", head("px_cm,py_cm,pz_cm", 1));
    assert!(pose(&desk, &[]).0.starts_with("take.glb: 31 frames"));
}

#[test]
fn the_neutral_of_a_folder_can_be_named() {
    let desk = Desk::new();
    desk.write("poses/calm.obj", rigs::CUBE);
    desk.write("poses/smile.obj", rigs::CUBE.replace("v 0 0 0", "v 0.5 0 0"));
    let error = desk.fails(1, &["inspect", "poses"]);
    assert!(error.contains("calm.obj, smile.obj") && error.contains("--neutral"), "{error}");
    let report = desk.json(&["inspect", "poses", "--neutral", "calm"]);
    assert_eq!(report["sliders"], 1);
    assert!(desk.fails(1, &["inspect", "poses", "--neutral", "angry"]).contains("no 'angry.obj'"));
    for name in ["Rest", "BASIS", "default"] {
        desk.write(&format!("{name}/{name}.obj"), rigs::CUBE);
        desk.write(&format!("{name}/smile.obj"), rigs::CUBE.replace("v 0 0 0", "v 0.5 0 0"));
        assert_eq!(desk.json(&["inspect", name])["sliders"], 1, "{name}");
    }
}
