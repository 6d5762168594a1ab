//! `perform --preview`: says what it is, keeps its frames apart from those of final takes, and is the
//! artist's animation where nothing acts.

use crate::desk::Desk;
use crate::perform::desk;

const CALL: [&str; 6] = ["perform", "head.face", "--clip", "clip.csv", "--head", "motion.csv"];

/// The kept frames of a take.
fn kept(desk: &Desk, folder: &str) -> usize {
    std::fs::read_dir(desk.path(folder)).map_or(0, |entries| entries.count())
}

#[test]
fn a_preview_says_so_and_takes_long_steps() {
    let desk = desk();
    let call = [&CALL[..], &["--preview", "-o", "take.glb"]].concat();
    let text = desk.ok(&call);
    assert!(text.contains("a preview: the ") && text.contains("steps of 16.7 ms"), "{text}");
    assert!(text.contains("run without --preview for the final take"), "{text}");
    let report = desk.json(&call);
    assert_eq!(report["preview"]["nodes"], report["preview"]["face_nodes"], "coarse already");
    assert_eq!(report["frames"][1]["steps"], 2, "20 ms in steps of at most 1/60 s");
    let is_named = |name: &str| {
        let glb = desk.read("take.glb");
        glb.windows(name.len()).any(|bytes| bytes == name.as_bytes())
    };
    assert!(is_named("\"name\":\"preview\"") && !is_named("\"name\":\"performance\""));
    let last = desk.json(&[&CALL[..], &["-o", "take.glb"]].concat());
    assert!(last["preview"].is_null() && is_named("\"name\":\"performance\""), "{last}");
    let still = ["perform", "head.face", "--clip", "clip.csv", "--preview", "-o", "still.npz"];
    desk.ok(&still);
    desk.ok(&["pose", "head.face", "--clip", "clip.csv", "-o", "plain.npz"]);
    assert!(desk.read("still.npz") == desk.read("plain.npz"), "not the artist's animation to the bit");
}

#[test]
fn frames_of_previews_and_of_final_takes_are_never_mixed() {
    let desk = desk();
    let [last, preview] = [&[][..], &["--preview"]].map(|more| {
        let call = [&CALL[..], more, &["--resume", "-o", "take.npz"]].concat();
        call.into_iter().map(String::from).collect::<Vec<_>>()
    });
    let run = |call: &[String]| desk.json(&call.iter().map(String::as_str).collect::<Vec<_>>());
    run(&last);
    let (take, n_kept) = (desk.read("take.npz"), kept(&desk, "take.npz.partial"));
    let first = run(&preview);
    assert_eq!(first["resumed"]["from"], 0, "{first}");
    assert!(desk.read("take.npz") != take, "the preview is another take");
    assert_eq!(run(&preview)["resumed"]["from"], 4, "previews resume too");
    assert_eq!(kept(&desk, "take.npz.partial"), n_kept, "the preview touched frames of the final take");
    assert_eq!(run(&last)["resumed"]["from"], 4);
    assert!(desk.read("take.npz") == take, "the final take has other bytes after a preview");
}
