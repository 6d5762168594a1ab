//! `render` over time: takes of all formats, movies, performances side by side.

use crate::desk::Desk;
use crate::rigs::{self, desk};
use serde_json::json;

/// A desk with takes of the clip: frames in every format, and a GLB with head motion.
fn takes() -> Desk {
    let desk = desk(rigs::face());
    desk.write(
        "head.csv",
        "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n0,5,1,0,0,0,0,1\n3,5,1.05,0,0,0,0.5,0.8660254\n",
    );
    let call = ["pose", "face.glb", "--clip", "clip.csv"];
    for name in ["take.npz", "take.mdd", "take.pc2", "animated.glb"] {
        desk.ok(&[&call[..], &["--fps", "4", "-o", name]].concat());
    }
    desk.ok(&[&call[..], &["--fps", "4", "--bake", "--head", "head.csv", "-o", "take.glb"]].concat());
    desk
}

fn render<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["render", "face.glb", "--size", "64"][..], more].concat()
}

/// Number of frames and size that an MP4 states.
fn movie(bytes: &[u8]) -> (u32, [u16; 2]) {
    let after = |name: &[u8]| bytes.windows(4).position(|w| w == name).expect("no such box") + 4;
    let (sizes, entry) = (after(b"stsz"), after(b"avc1"));
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let half = |at: usize| u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap());
    (word(sizes + 8), [half(entry + 24), half(entry + 26)])
}

#[test]
fn takes_of_all_formats_show_the_same() {
    let desk = takes();
    let sheet = |take: &str| {
        desk.ok(&render(&["--take", take, "--fps", "4", "-o", "out.png"]));
        desk.read("out.png")
    };
    let npz = sheet("take.npz");
    for take in ["take.mdd", "take.pc2", "take.glb", "animated.glb"] {
        assert!(sheet(take) == npz, "{take} looks different from take.npz");
    }
    desk.write("two.glb", rigs::glb(&[("a", &rigs::SLIDERS), ("b", &[])]));
    desk.ok(&["pose", "two.glb", "--clip", "clip.csv", "--bake", "-o", "two_take.glb"]);
    desk.ok(&["pose", "two.glb", "--clip", "clip.csv", "-o", "two_take.npz"]);
    let two = ["npz", "glb"].map(|ending| {
        let take = format!("two_take.{ending}");
        desk.ok(&["render", "two.glb", "--size", "64", "--take", &take, "-o", "out.png"]);
        desk.read("out.png")
    });
    assert!(two[0] == two[1], "a take of two parts");
}

#[test]
fn movies_have_all_frames_at_the_rate_of_the_clip() {
    let desk = takes();
    for (more, frames, fps) in [
        (&["--take", "take.glb"][..], 13, 4.0),
        (&["--take", "take.mdd"], 13, 4.0),
        (&["--clip", "clip.csv"], 4, 1.0),
        (&["--clip", "clip.csv", "--fps", "10"], 31, 10.0),
        (&["--take", "take.glb", "--fps", "8"], 25, 8.0),
    ] {
        let reported = desk.json(&render(&[more, &["-o", "out.mp4"]].concat()));
        assert_eq!(
            (&reported["frames"], &reported["fps"]),
            (&json!(frames), &json!(fps)),
            "{more:?}: {reported}"
        );
        assert_eq!(movie(&desk.read("out.mp4")), (frames, [64, 64]), "{more:?}");
    }
    let text = desk.ok(&render(&["--take", "take.glb", "-o", "out.mp4"]));
    assert!(text.contains("13 frames of 64 x 64 pixels, 4.000 fps"), "{text}");
    let one = ["1", "3"].map(|threads| {
        desk.ok(&render(&["--clip", "clip.csv", "--color", "motion", "--threads", threads, "-o", "out.mp4"]));
        desk.read("out.mp4")
    });
    assert!(one[0] == one[1], "depends on the number of threads");
}

/// Times of recordings are rounded, and rates are seldom whole numbers.
#[test]
fn movies_show_every_frame_of_a_recording_once() {
    let desk = takes();
    for rate in [30.02, 59.95] {
        let line = |i: usize| format!("{:.3},{:.3}\n", i as f64 / rate, 0.01 * i as f64);
        desk.write("recorded.csv", "time_s,jawOpen\n".to_string() + &(0..61).map(line).collect::<String>());
        for output in ["out.mp4", "out.webp"] {
            let reported = desk.json(&render(&["--clip", "recorded.csv", "-o", output]));
            assert_eq!(reported["frames"], 61, "{rate} {output}: {reported}");
        }
        assert_eq!(movie(&desk.read("out.mp4")).0, 61, "{rate}");
        let frames = desk.read("out.webp").windows(4).filter(|w| w == b"ANMF").count();
        assert_eq!(frames, 61, "{rate}");
    }
    // A rate of one's own: the last frame is not cut off.
    let reported = desk.json(&render(&["--take", "take.glb", "--fps", "2.3", "-o", "out.mp4"]));
    assert_eq!(reported["frames"], 8, "3 s at 2.3 fps: {reported}");
    let slow = desk.json(&render(&["--take", "take.glb", "--speed", "0.25", "-o", "out.mp4"]));
    assert_eq!((&slow["frames"], &slow["fps"]), (&json!(49), &json!(4.0)), "four times as many: {slow}");
    desk.fails_with(2, &render(&["--take", "take.glb", "--speed", "0", "-o", "x.mp4"]), &["speed", "0.01"]);
    desk.fails_with(2, &render(&["--take", "take.glb", "--speed", "0.5", "-o", "x.png"]), &["--speed"]);
}

#[test]
fn the_camera_follows_a_head_that_walks_away() {
    let desk = takes();
    desk.write(
        "walk.csv",
        "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n0,0,0,0,0,0,0,1\n1,2,0,0,0,0,0,1\n2,4,0,0,0,0,0,1\n3,6,0,0,0,0,0,1\n",
    );
    let walk = ["--take", "take.npz", "--head", "walk.csv", "--with-head", "--frames", "0,12"];
    let followed = desk.json(&render(&[&walk[..], &["-o", "out.png"]].concat()));
    assert_eq!(followed["notes"].as_array().map(Vec::len), Some(0), "{followed}");
    let walk = [&walk[..], &["--camera", "still"]].concat();
    let still = desk.ok(&render(&[&walk[..], &["-o", "still.png"]].concat()));
    assert!(
        still.contains("less than half of the face is in the picture in 1 frame,")
            && still.contains("--camera"),
        "{still}"
    );
    assert!(desk.read("out.png") != desk.read("still.png"));
}

#[test]
fn performances_stand_side_by_side() {
    let desk = takes();
    desk.ok(&["pose", "face.glb", "--clip", "clip.csv", "-o", "sparse.npz"]);
    let both = ["--clip", "clip.csv", "--take", "take.glb", "--label", "input,ours"];
    let sheet = desk.json(&render(&[&both[..], &["-o", "out.png"]].concat()));
    assert_eq!((&sheet["pictures"], &sheet["notes"]), (&json!(8), &json!([])), "one row each: {sheet}");
    assert_eq!(sheet["width"], 4 * (64 + 8) + 8, "{sheet}");
    let plain = desk.read("out.png");
    desk.ok(&render(&["--clip", "clip.csv", "--take", "take.glb", "--label", "a,b", "-o", "out.png"]));
    assert!(desk.read("out.png") != plain, "labels are not drawn");
    let reported =
        desk.json(&render(&[&both[..], &["--view", "front", "--view", "left", "-o", "out.mp4"]].concat()));
    assert_eq!((&reported["frames"], &reported["pictures"]), (&json!(4), &json!(4)), "{reported}");

    // The clip and its take are the same motion; a take of half the clip holds its last frame.
    desk.write("half.csv", "time_s,jawOpen,browInnerUp\n0,0,0\n1,0.5,0.25\n");
    desk.ok(&["pose", "face.glb", "--clip", "half.csv", "-o", "half.npz"]);
    let reported = desk.json(&render(&["--take", "half.npz", "--take", "take.npz", "-o", "out.mp4"]));
    assert_eq!(reported["notes"], json!(["'half' ends 2.00 s early and holds its last frame"]), "{reported}");
    assert_eq!(reported["frames"], 13, "the longer one sets the rate: {reported}");
    desk.write("late.csv", "time_s,jawOpen\n2,0\n3,1\n");
    let reported = desk.json(&render(&["--clip", "late.csv", "--take", "take.npz", "-o", "out.mp4"]));
    assert_eq!(
        reported["notes"],
        json!(["'late' starts 2.00 s late and holds its first frame"]),
        "{reported}"
    );
}

#[test]
fn differences_and_the_motion_of_the_head_are_seen() {
    let desk = takes();
    desk.write("other.csv", "time_s,jawOpen,browInnerUp\n0,0,0\n3,0,1\n");
    desk.ok(&["pose", "face.glb", "--clip", "other.csv", "--fps", "4", "-o", "other.npz"]);
    let picture = |more: &[&str]| {
        desk.ok(&render(&[more, &["-o", "out.png"]].concat()));
        desk.read("out.png")
    };
    let two = ["--take", "take.npz", "--take", "other.npz", "--frames", "0,8"];
    let plain = picture(&two);
    assert!(picture(&[&two[..], &["--difference"]].concat()) != plain);
    let one = ["--take", "take.glb", "--frames", "0,12"];
    let still = picture(&one);
    let moved = picture(&[&one[..], &["--with-head"]].concat());
    assert!(moved != still);
    let reported = picture(&["--take", "take.npz", "--frames", "0,12", "--with-head", "--head", "head.csv"]);
    assert!(reported == moved, "the head motion of the GLB differs from that of the file");
    // In the first frame the head is where it is without motion.
    assert!(
        picture(&[&one[..2], &["--frames", "0", "--with-head"]].concat())
            == picture(&["--frames", "0", "--take", "take.glb"])
    );
    desk.fails_with(
        1,
        &render(&["--take", "take.npz", "--with-head", "-o", "x.png"]),
        &["no head motion", "--head"],
    );
}

#[test]
fn wrong_calls_are_refused_with_advice() {
    let desk = takes();
    desk.write("out.mp4", "older");
    for (more, words) in [
        (&["-o", "out.mp4"][..], &["out.mp4", "a movie needs a clip or a take", "--clip, --take"][..]),
        (&["-w", "jawOpen=1", "-o", "out.mp4"], &["needs a clip or a take"]),
        (&["--shapes", "-o", "out.mp4"], &["needs a clip or a take"]),
        (
            &["--take", "take.npz", "--frames", "1", "-o", "out.mp4"],
            &["leave out a list of frames", "--frames"],
        ),
        (&["--take", "take.npz", "--difference", "-o", "out.mp4"], &["two takes"]),
        (&["--take", "take.npz", "--label", "a,b", "-o", "out.mp4"], &["2 labels for 1 performances"]),
        (&["--label", "a", "-o", "out.png"], &["--clip"]),
        (&["--take", "take.npz", "-w", "jawOpen=1", "-o", "out.png"], &["--weights"]),
        (&["--take", "take.npz", "-o", "out.avi"], &["out.avi", ".png, .mp4, .webp"]),
    ] {
        desk.fails_with(2, &render(more), words);
    }
    desk.write("two.glb", rigs::glb(&[("a", &rigs::SLIDERS), ("b", &[])]));
    desk.ok(&["pose", "two.glb", "--clip", "clip.csv", "--bake", "-o", "two_take.glb"]);
    desk.write("take.txt", "no take");
    for (more, words) in [
        (&["--take", "face.glb", "-o", "out.mp4"][..], &["face.glb", "no animation"][..]),
        (
            &["--take", "two_take.glb", "-o", "out.mp4"],
            &["two_take.glb", "2 parts, the rig 1", "take of this rig"],
        ),
        (&["--take", "clip.csv", "-o", "out.mp4"], &["clip.csv", "not a known format of a take"]),
        (&["--take", "take.glb", "--fps", "1000", "-o", "out.mp4"], &["fps is 1000", "240"]),
        (&["--take", "take.glb", "--fps", "-1", "-o", "out.mp4"], &["fps"]),
    ] {
        desk.fails_with(1, &render(more), words);
    }
    for size in ["8", "2400"] {
        let call = ["render", "face.glb", "--take", "take.npz", "--size", size, "-o", "out.mp4"];
        desk.fails_with(1, &call, &[size, "3840", "--size"]);
    }
}
