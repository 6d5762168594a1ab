//! `render`: sizes, sheets, colors, refusals.

use crate::rigs::{self, desk};

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["render", "face.glb", "-o", "out.png"][..], more].concat()
}

/// Width and height in the header of a PNG.
fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (word(16), word(20))
}

#[test]
fn pictures_have_the_size_asked_for() {
    let desk = desk(rigs::face());
    for (size, expected) in [("64", (64, 64)), ("120x80", (120, 80))] {
        let report = desk.json(&run(&["--size", size]));
        assert_eq!(png_size(&desk.read("out.png")), expected);
        assert_eq!((&report["width"], &report["pictures"]), (&expected.0.into(), &1.into()));
    }
}

#[test]
fn every_option_changes_the_picture() {
    let desk = desk(rigs::face());
    let draw = |more: &[&str]| {
        desk.ok(&run(&[&["--size", "96"][..], more].concat()));
        desk.read("out.png")
    };
    let plain = draw(&[]);
    let list: Vec<usize> = (0..81).collect();
    desk.write("heat.json", format!("{list:?}"));
    for more in [
        &["-w", "jawOpen=1"][..],
        &["--view", "three-quarter"],
        &["--view", "-35,5"],
        &["--wireframe"],
        &["--zoom", "2"],
        &["--pins", r#"[{"vertex": 40}]"#],
        &["-w", "jawOpen=1", "--color", "motion"],
        &["--color", "shape:jawOpen"],
        &["--color", "region:brow"],
        &["--color", "heat.json"],
        &["--frame", "brow"],
    ] {
        assert!(draw(more) != plain, "{more:?}");
    }
    assert!(draw(&["--view", "front"]) == plain && draw(&["-w", "jawOpen=0"]) == plain);
}

#[test]
fn sheets_of_poses_views_shapes_and_frames() {
    let desk = desk(rigs::face());
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", "take.npz"]);
    for (more, pictures) in [
        (&["-w", "jawOpen=1", "-w", "browInnerUp=1"][..], 2),
        (&["--view", "front", "--view", "left", "--view", "right"], 3),
        (&["--shapes"], 5),
        (&["--clip", "clip.csv"], 4),
        (&["--take", "take.npz"], 4),
        (&["--take", "take.npz", "--frames", "1, 3"], 2),
        (&["--clip", "clip.csv", "--fps", "10"], 12),
    ] {
        let report = desk.json(&run(&[&["--size", "40"][..], more].concat()));
        assert_eq!(report["pictures"], pictures, "{more:?}");
    }
}

#[test]
fn wrong_calls_are_refused_with_advice() {
    let desk = desk(rigs::face());
    desk.write("out.png", "older");
    for (more, words) in [
        (&["--size", "0"][..], &["'0' is not a size", "1280x720"][..]),
        (&["--size", "big"], &["'big'"]),
        (&["--view", "top"], &["'top' is not a view", "three-quarter"]),
        (&["--clip", "clip.csv", "--frames", "x"], &["'x' is not a frame number"]),
        (&["--shapes", "-w", "jawOpen=1"], &["--weights"]),
    ] {
        desk.fails_with(2, &run(more), words);
    }
    desk.write("short.json", "[1, 2]");
    for (more, words) in [
        (&["--size", "100000"][..], &["100000", "16384"][..]),
        (&["--zoom", "-3"], &["zoom is -3"]),
        (&["--zoom", "nan"], &["zoom is NaN"]),
        (&["--color", "shape:jawOpne"], &["'jawOpne'; did you mean jawOpen"]),
        (&["--color", "region:borw"], &["'borw'; did you mean brow"]),
        (&["--color", "heat"], &["'heat' is not a color", "motion, shape:NAME"]),
        (&["--color", "short.json"], &["short.json", "2 numbers for 81"]),
        (&["--color", "clip.csv"], &["clip.csv", "list of numbers"]),
        (&["--frame", "borw"], &["brow"]),
        (&["--pins", r#"[{"vertex": 81}]"#], &["pin 0", "81"]),
        (&["--clip", "clip.csv", "--frames", "4"], &["frame 4 is out of range: there are 4"]),
        (&["-w", "jawOpne=1"], &["did you mean jawOpen"]),
    ] {
        desk.fails_with(1, &run(more), words);
    }
    desk.ok(&["convert", "face.glb", "still.ply"]);
    desk.fails_with(1, &["render", "still.ply", "--shapes", "-o", "out.png"], &["still.ply", "no shapes"]);
    desk.write("other.glb", rigs::glb(&[("a", &rigs::SLIDERS), ("b", &[])]));
    desk.ok(&["pose", "other.glb", "--clip", "clip.csv", "--per-part=off", "-o", "other.mdd"]);
    desk.fails_with(1, &run(&["--take", "other.mdd"]), &["other.mdd", "162 vertices, the rig 81"]);
}
