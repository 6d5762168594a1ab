//! `perform --resume`: runs that were stopped, shortened or edited give the same bytes as uninterrupted ones
//! and report where they resumed. Kept files are used only if key and checksum match.

use crate::desk::Desk;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CALL: [&str; 6] = ["perform", "head.face", "--head", "motion.csv", "--clip", "clip.csv"];

/// `n` frames at 50 per second.
fn clip(n: usize) -> String {
    let row = |i: usize| {
        let t = i as f64 / 50.0;
        format!(
            "{t},{:.3},{:.3},{:.3}\n",
            0.2 + 0.2 * (9.0 * t).sin(),
            0.5 - 0.5 * (4.0 * t).cos(),
            (2.0 * t).min(1.0)
        )
    };
    "time,jawOpen,mouthSmileLeft,mouthSmileRight\n".to_string() + &(0..n).map(row).collect::<String>()
}

/// `text` with the line of frame `i` changed: all values except the time are halved.
fn edited(text: &str, i: usize) -> String {
    let halved = |line: &str| {
        let values: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        let rest: Vec<String> = values[1..].iter().map(|v| (0.5 * v).to_string()).collect();
        format!("{},{}", values[0], rest.join(","))
    };
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(k, line)| if k == i + 1 { halved(line) } else { line.into() })
        .collect();
    lines.join("\n") + "\n"
}

/// A head that shakes for two seconds, 100 samples per second.
fn motion() -> String {
    let row = |i: usize| {
        let t = i as f64 / 100.0;
        let angle = 0.1 * (20.0 * t).sin();
        format!("{t},0,{:.5},0,0,{},0,{}\n", 0.004 * (30.0 * t).sin(), angle.sin(), angle.cos())
    };
    "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n".to_string() + &(0..200).map(row).collect::<String>()
}

fn desk() -> Desk {
    let desk = crate::perform::desk();
    desk.write("clip.csv", clip(20));
    desk.write("motion.csv", motion());
    desk
}

/// The take of an uninterrupted run on the files of the desk; it must leave nothing beside the take.
fn unbroken(desk: &Desk, more: &[&str]) -> Vec<u8> {
    let report = desk.json(&[&CALL[..], more, &["-o", "plain.npz"]].concat());
    assert!(report["resumed"].is_null() && !desk.path("plain.npz.partial").exists(), "{report}");
    desk.read("plain.npz")
}

/// Runs with `--resume`; the take must be that of an uninterrupted run.
fn resumed(desk: &Desk, more: &[&str]) -> Value {
    let report = desk.json(&[&CALL[..], more, &["--resume", "-o", "take.npz"]].concat());
    assert!(
        desk.read("take.npz") == unbroken(desk, more),
        "other bytes than an uninterrupted run: {}",
        report["resumed"]
    );
    assert!(desk.path("take.npz.partial").is_dir(), "the frames are gone");
    report
}

/// The frame from which a run resumed; its reason must contain `words`.
fn from(report: &Value, words: &str) -> u64 {
    let why = report["resumed"]["why"].as_str().unwrap();
    assert!(why.contains(words), "no '{words}' in: {why}");
    report["resumed"]["from"].as_u64().unwrap()
}

#[test]
fn longer_shorter_and_edited_clips_resume_where_they_change() {
    let desk = desk();
    desk.write("clip.csv", clip(10));
    assert_eq!(from(&resumed(&desk, &[]), "nothing to resume from in take.npz.partial"), 0);
    desk.write("clip.csv", clip(20));
    let longer = resumed(&desk, &[]);
    assert_eq!(from(&longer, "frame 10 had not been computed"), 10);
    assert_eq!(longer["frames"].as_array().unwrap().len(), 20, "reports of kept frames are missing");
    assert!(longer["frames"][3]["max_mm"].as_f64().unwrap() > 0.01, "nothing moves in {longer}");
    desk.write("clip.csv", edited(&clip(20), 15));
    assert_eq!(from(&resumed(&desk, &[]), "the weights changed at frame 15"), 15);
    assert_eq!(from(&resumed(&desk, &[]), "all frames were in take.npz.partial"), 20);
    desk.write("clip.csv", edited(&clip(12), 11));
    assert_eq!(from(&resumed(&desk, &[]), "the weights changed at frame 11"), 11);
    // Kept frame 12 is of the earlier clip: its own inputs are the same, those of frame 11 are not.
    desk.write("clip.csv", edited(&clip(20), 11));
    assert_eq!(from(&resumed(&desk, &[]), "an earlier input changed at frame 12"), 12);
    // The sample at 0.3 s is that of frame 15. Smoothing reaches back to 0.27 s and slopes to 0.26 s, the
    // time of frame 13, so the piece of the path that ends there changes.
    desk.write("motion.csv", motion().replace("\n0.3,0,", "\n0.3,0.001,"));
    assert_eq!(from(&resumed(&desk, &[]), "the head's motion changed at frame 13"), 13);
    assert_eq!(from(&resumed(&desk, &["--gravity", "5"]), "an option changed at frame 0"), 0);
    let text = desk.ok(&[&CALL[..], &["--gravity", "5", "--resume", "-o", "take.npz"]].concat());
    assert!(text.contains("nothing to compute: all frames were in"), "{text}");
    let [glb, again] = ["plain.glb", "take.glb"].map(|output| {
        let call = [&CALL[..], &["-o", output]].concat();
        desk.ok(&if output == "plain.glb" { call } else { [&call[..], &["--resume"]].concat() });
        desk.read(output)
    });
    assert!(glb == again, "a GLB from kept frames differs");
}

#[test]
fn damaged_cut_foreign_and_old_files_are_noted_and_not_used() {
    let desk = desk();
    let kept = |name: &str| format!("take.npz.partial/{name}.kept");
    let damage = |name: &str, how: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = desk.read(&kept(name));
        how(&mut bytes);
        desk.write(&kept(name), bytes);
    };
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
    };
    resumed(&desk, &[]);
    let noted = |report: &Value, words: &str| {
        let notes = report["notes"].to_string();
        assert!(
            notes.contains(words) && notes.contains("damaged or of another version"),
            "no '{words}' in {notes}"
        );
    };
    desk.write("clip.csv", clip(22));
    damage("state-000019", &flip);
    damage("state-000018", &|bytes| bytes.truncate(1000));
    desk.write(&kept("state-000017"), "not ours");
    // A valid file, but of another frame.
    desk.write(&kept("state-000016"), desk.read(&kept("state-000003")));
    let report = resumed(&desk, &[]);
    assert_eq!(from(&report, "the last state before"), 16);
    for frame in [19, 18, 17] {
        noted(&report, &format!("the state after frame {frame} "));
    }
    damage("frame-000007", &flip);
    let report = resumed(&desk, &[]);
    assert_eq!(from(&report, "frame 7 in take.npz.partial cannot be used"), 7);
    noted(&report, "frame 7 ");
    desk.write(&kept("frame-000009"), desk.read(&kept("frame-000008")));
    assert_eq!(from(&resumed(&desk, &[]), "changed at frame 9"), 9);
    // Files of an earlier version of the format: all is computed again.
    for name in desk.files().into_keys().filter(|n| n.extension().is_some_and(|e| e == "kept")) {
        let text = desk.read(name.to_str().unwrap());
        let at = text.windows(9).position(|w| w == b"-kept-fra" || w == b"-kept-sta").unwrap()
            + "-kept-frame-".len();
        let old = text.iter().enumerate().map(|(i, &b)| if i == at { b'0' } else { b }).collect::<Vec<_>>();
        desk.write(name.to_str().unwrap(), old);
    }
    let report = resumed(&desk, &[]);
    assert_eq!(from(&report, "frame 0 in take.npz.partial cannot be used"), 0);
    noted(&report, "frame 0 ");
    // Foreign files are kept; a run without --resume removes the rest.
    desk.write("take.npz.partial/mine.txt", "mine");
    desk.ok(&[&CALL[..], &["-o", "take.npz"]].concat());
    let left: Vec<_> = desk.files().into_keys().filter(|n| n.starts_with("take.npz.partial")).collect();
    assert!(left.iter().all(|n| n.ends_with("mine.txt") || n.ends_with("lock")), "{left:?}");
}

#[test]
fn two_runs_at_once_and_places_without_room_are_refused_with_advice() {
    let desk = desk();
    let call = [&CALL[..], &["-o", "take.npz"]].concat();
    desk.write("take.npz.partial/lock", "");
    let lock = std::fs::File::options().write(true).open(desk.path("take.npz.partial/lock")).unwrap();
    lock.try_lock().unwrap();
    desk.fails_with(1, &call, &["take.npz.partial", "another run is working", "choose another output"]);
    drop(lock);
    desk.ok(&call);
    assert!(!desk.path("take.npz.partial").exists());
    desk.write("take.npz.partial", "a file");
    desk.fails_with(
        1,
        &call,
        &["take.npz.partial", "the folder for frames cannot be created", "choose another place"],
    );
}

/// A run that gets a signal once five frames exist; returns its message.
#[cfg(unix)]
fn interrupted(desk: &Desk, signal: &str, more: &[&str]) -> String {
    let call = [&CALL[..], more, &["-o", "take.npz"]].concat();
    let mut child = Command::new(env!("CARGO_BIN_EXE_risorius"))
        .args(&call)
        .current_dir(desk.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !desk.path("take.npz.partial/frame-000005.kept").exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended before frame 5");
        assert!(start.elapsed() < Duration::from_secs(120), "frame 5 was not written in time");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{signal}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_resumes_to_the_same_bytes() {
    let desk = desk();
    desk.write("clip.csv", clip(60));
    // Small steps, so that there is enough time to interrupt it.
    let fine = ["--dt", "0.001", "--contact", "off"];
    let mut said = String::new();
    for signal in ["-TERM", "-INT"] {
        std::fs::remove_dir_all(desk.path("take.npz.partial")).ok();
        said = interrupted(&desk, signal, &fine);
        for words in ["cancelled", "earlier frames are in take.npz;", "--resume", "take.npz.partial"] {
            assert!(said.contains(words), "{signal}: no '{words}' in: {said}");
        }
    }
    let n_kept =
        said.split("the ").find_map(|s| s.split_once(" earlier frames")?.0.parse::<u64>().ok()).unwrap();
    assert!((6..60).contains(&n_kept), "{said}");
    assert!(desk.path("take.npz").is_file(), "the frames before the stop are not there");
    let report = resumed(&desk, &fine);
    assert_eq!(from(&report, "had not been computed"), n_kept, "not all finished frames were used");
    // Without --resume a run starts again, and leaves nothing beside its take.
    desk.ok(&[&CALL[..], &fine, &["-o", "take.npz"]].concat());
    assert!(!desk.path("take.npz.partial").exists());
}

#[cfg(unix)]
#[test]
fn a_full_disk_stops_a_run_and_loses_nothing() {
    let desk = desk();
    // File sizes are limited, as if the disk were full: first nothing fits, then frames but neither states
    // nor the take.
    let run = |blocks: usize, more: &str| {
        let program = env!("CARGO_BIN_EXE_risorius");
        let call =
            format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} {} {more} -o take.npz", CALL.join(" "));
        let output = Command::new("sh").args(["-c", &call]).current_dir(desk.path("")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run(0, "");
    assert!(code == Some(1) && said.contains("take.npz.partial"), "{code:?} {said}");
    assert!(!desk.path("take.npz").exists() && !desk.path("take.npz.partial").exists(), "{said}");
    desk.write("clip.csv", clip(10));
    desk.ok(&[&CALL[..], &["--resume", "-o", "take.npz"]].concat());
    let before = desk.read("take.npz");
    let frame_blocks = desk.read("take.npz.partial/frame-000000.kept").len().div_ceil(512) + 1;
    desk.write("clip.csv", clip(20));
    let (code, said) = run(frame_blocks, "--resume");
    assert!(code == Some(1) && said.contains("take.npz") && said.contains("--resume"), "{code:?} {said}");
    assert!(desk.read("take.npz") == before, "a take that could not be written replaced the one before");
    assert_eq!(from(&resumed(&desk, &[]), "all frames were in"), 20, "{said}");
}
