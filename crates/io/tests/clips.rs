//! Clips and head motion: CSV, JSON and BVH.

use glam::{DQuat, DVec3};
use risorius_base::Advise;
use risorius_io::formats::clip_csv::head_columns::HeadUnit;
use risorius_io::formats::clip_csv::{self, ClipOptions};
use risorius_io::formats::{bvh, clip_json, head_csv};
use risorius_rig::{Clip, HeadMotion};

fn read(text: &str) -> clip_csv::ClipContent {
    clip_csv::read(text.as_bytes(), &ClipOptions::default()).unwrap()
}

fn error(text: &str) -> String {
    clip_csv::read(text.as_bytes(), &ClipOptions::default()).unwrap_err().to_string()
}

fn live_link(rows: &[&str]) -> String {
    let head = "Timecode,BlendShapeCount,JawOpen,HeadYaw,HeadPitch,HeadRoll,\
                LeftEyeYaw,LeftEyePitch,LeftEyeRoll,RightEyeYaw,RightEyePitch,RightEyeRoll";
    format!("{head}\n{}\n", rows.join("\n"))
}

#[test]
fn live_link_columns_go_where_they_belong() {
    let content = read(&live_link(&[
        "10:00:00:28.000,10,0.1,0.3,0,0,1,2,3,4,5,6",
        "10:00:00:29.000,10,0.2,0,0.3,0,1,2,3,4,5,6",
        "10:00:01:00.000,10,0.3,0,0,0.3,1,2,3,4,5,6",
        "10:00:01:01.000,10,0.4,0.3,0.2,0.1,1,2,3,4,5,6",
    ]));
    assert_eq!(content.clip.names, ["JawOpen"]);
    assert_eq!(content.clip.values, [0.1, 0.2, 0.3, 0.4]);
    assert_eq!(content.fps, Some(30.0));
    assert_eq!(content.timecode_start.as_deref(), Some("10:00:00:28.000"));
    assert_eq!(content.clip.times_secs[0], 0.0);
    assert_eq!(content.clip.eye_angles.as_ref().unwrap()[0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let head = content.clip.head.unwrap();
    assert!(head.positions_m.iter().all(|p| *p == [0.0; 3]));
    let rotation = |i: usize| DQuat::from_array(head.rotations_xyzw[i]);
    let (front, up, left) = (DVec3::Z, DVec3::Y, DVec3::X);
    assert!((rotation(0) * front).dot(left) < -0.2, "yaw turns the face to the character's right");
    assert!((rotation(1) * front).dot(up) < -0.2, "pitch lowers the nose");
    assert!((rotation(2) * -left).dot(up) < -0.2, "roll lowers the right ear");
    let expected = DQuat::from_rotation_y(-0.3) * DQuat::from_rotation_x(0.2) * DQuat::from_rotation_z(0.1);
    assert!(rotation(3).angle_between(expected) < 1e-7);
    let reversed = ClipOptions { head_angle_signs: [1.0, 1.0, 1.0], ..ClipOptions::default() };
    let text = live_link(&["10:00:00:28.0,10,0,0.3,0,0,0,0,0,0,0,0"]);
    let head = clip_csv::read(text.as_bytes(), &reversed).unwrap().clip.head.unwrap();
    assert!(DQuat::from_array(head.rotations_xyzw[0]).angle_between(DQuat::from_rotation_y(0.3)) < 1e-7);
}

#[test]
fn live_link_lost_and_repeated_frames() {
    let zeros = "0,0,0,0,0,0,0,0,0";
    let row = |t: &str, v: &str| format!("{t},10,{v},{zeros}");
    let rows = [
        "10:00:00:27.000,0".to_string(),
        row("10:00:00:28.000", "0.1"),
        "10:00:00:29.000,0".to_string(),
        row("10:00:01:00.000", "0.3"),
        row("10:00:01:00.000", "0.9"),
        "10:00:01:01.000,0".to_string(),
    ];
    let content = read(&live_link(&rows.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(content.clip.values, [0.1, 0.1, 0.3, 0.3]);
    let notes = content.notes.join("\n");
    assert!(notes.contains("2 frames without tracking hold") && notes.contains("line 4"), "{notes}");
    assert!(notes.contains("1 frames before the first"), "{notes}");
    assert!(notes.contains("1 rows that repeat") && notes.contains("line 6"), "{notes}");
    assert!(notes.contains("head angles are 0"), "{notes}");
    let cut = live_link(&[&row("10:00:00:28.000", "0.1"), "10:00:00:29.000,10,0.5"]);
    let error = clip_csv::read(cut.as_bytes(), &ClipOptions::default()).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("cut off"), "{error}");
}

#[test]
fn live_link_time_must_advance_except_at_midnight() {
    let zeros = "10,0.1,0,0,0,0,0,0,0,0,0";
    let at = |t: &str| format!("{t},{zeros}");
    let night = read(&live_link(&[&at("23:59:59:58.5"), &at("23:59:59:59.5"), &at("00:00:00:00.5")]));
    assert!((night.clip.times_secs[2] - 2.0 / 60.0).abs() < 1e-9);
    let back = error(&live_link(&[&at("10:00:00:20.0"), &at("10:00:00:21.0"), &at("10:00:00:19.0")]));
    assert!(back.contains("line 4") && back.contains("time does not advance"), "{back}");
    let bad = error(&live_link(&[&at("10:00:20.0")]));
    assert!(bad.contains("line 2, column 'Timecode'"), "{bad}");
    let options = ClipOptions { fps: Some(25.0), ..ClipOptions::default() };
    let text = live_link(&[&at("10:00:00:20.0"), &at("10:00:00:21.0")]);
    let given = clip_csv::read(text.as_bytes(), &options).unwrap();
    assert!(
        (given.clip.times_secs[1] - 0.04).abs() < 1e-12 && !given.notes.iter().any(|n| n.contains("assumed"))
    );
}

#[test]
fn tables_with_any_separator() {
    let content = read("\u{feff}time_s;\"jaw;Open\";smile;\r\n0;0.5;1;\r\n\r\n0.04;.25;-0.1;\r\n");
    assert_eq!(content.clip.names, ["jaw;Open", "smile"]);
    assert_eq!(content.clip.values, [0.5, 1.0, 0.25, -0.1]);
    assert_eq!(content.fps, Some(25.0));
    let tabs = read("# exported\ntime\tpx_m\tpy_m\tpz_m\tqx\tqy\tqz\tqw\n0\t1\t2\t3\t0\t0\t0\t1\n");
    assert_eq!(tabs.clip.head.unwrap().positions_m, [[1.0, 2.0, 3.0]]);
    assert!(tabs.notes[0].contains("no slider columns"));
    assert_eq!(read("frame,time,a\n7,0,1\n").clip.names, ["a"], "an unused frame number is no slider");
    let frames = b"frame,a\n10,0\n12,1\n";
    let options = ClipOptions { fps: Some(10.0), ..ClipOptions::default() };
    assert_eq!(clip_csv::read(frames, &options).unwrap().clip.times_secs, [1.0, 1.2]);
    let centimeters = ClipOptions { head_meters_per_unit: Some(0.01), ..ClipOptions::default() };
    let text = b"t,a,head_tx,head_ty,head_tz,head_qx,head_qy,head_qz,head_qw\n0,0,100,0,0,0,0,0,1\n";
    assert_eq!(clip_csv::read(text, &centimeters).unwrap().clip.head.unwrap().positions_m[0][0], 1.0);
}

#[test]
fn frame_numbers_are_times_at_a_rate() {
    let given = ClipOptions { frame_fps: Some(10.0), ..ClipOptions::default() };
    for name in ["frame", "Frame", "frame_number", "Frame #", "#", "FrameNo", "frame index"] {
        let text = format!("{name},jawOpen\n10,0\n12,1\n");
        let content = clip_csv::read(text.as_bytes(), &given).unwrap();
        assert_eq!(
            (&content.clip.names[..], content.clip.times_secs),
            (&["jawOpen".into()][..], vec![1.0, 1.2])
        );
    }
    for stated in ["# fps: 10", "# made by hand\n# Frame rate = 10.0", "#fps=10"] {
        let content = read(&format!("{stated}\nframe,a\n10,0\n12,1\n"));
        assert_eq!(content.clip.times_secs, [1.0, 1.2], "{stated}");
    }
    // The rate of frame numbers does not concern timecodes.
    let live =
        "Timecode,BlendShapeCount,JawOpen\n00:00:00:00.000,1,0\n00:00:00:30.000,1,0\n00:00:01:00.000,1,1\n";
    let options = ClipOptions { frame_fps: Some(10.0), ..ClipOptions::default() };
    assert_eq!(clip_csv::read(live.as_bytes(), &options).unwrap().clip, read(live).clip);
}

#[test]
fn head_positions_have_the_unit_of_their_columns_or_the_given_one() {
    let table = |names: &str| format!("time_s,{names},qx,qy,qz,qw\n0,100,200,300,0,0,0,1\n");
    let cm = ClipOptions { head_meters_per_unit: Some(0.01), ..ClipOptions::default() };
    for names in
        ["px,py,pz", "x,y,z", "Pos_X,Pos_Y,Pos_Z", "translateX,translateY,translateZ", "head_x,head_y,head_z"]
    {
        let head = head_csv::read(table(names).as_bytes(), &cm).unwrap();
        assert_eq!((head.motion.positions_m[0], head.unit), ([1.0, 2.0, 3.0], HeadUnit::Given), "{names}");
        let error = head_csv::read(table(names).as_bytes(), &ClipOptions::default()).unwrap_err();
        assert_eq!(error.options(), ["head_unit"], "{names}: {error}");
    }
    for names in ["px_cm,py_cm,pz_cm", "head_tx_cm,head_ty_cm,head_tz_cm", "px (cm),py (cm),pz (cm)"] {
        for options in [ClipOptions::default(), ClipOptions { head_meters_per_unit: Some(7.0), ..cm }] {
            let head = head_csv::read(table(names).as_bytes(), &options).unwrap();
            assert_eq!(
                (head.motion.positions_m[0], head.unit),
                ([1.0, 2.0, 3.0], HeadUnit::Stated),
                "{names}"
            );
            let said = head.notes.iter().any(|n| n.contains("`head_unit` is not used"));
            assert_eq!(said, options.head_meters_per_unit.is_some(), "{:?}", head.notes);
        }
    }
    let ours = head_csv::read(table("head_tx,head_ty,head_tz").as_bytes(), &ClipOptions::default()).unwrap();
    assert_eq!((ours.motion.positions_m[0][0], ours.unit), (100.0, HeadUnit::Assumed));
    let text = "t,px_m,py_m,pz_m,qx,qy,qz,qw,rotX,confidence,JawOpen\n0,1,2,3,0,0,0,1,9,9,0\n";
    let notes = head_csv::read(text.as_bytes(), &ClipOptions::default()).unwrap().notes;
    assert_eq!(notes, ["columns that are not understood as head motion are not used: rotX, confidence"]);
    // Positions beside angles.
    let text = "t,px_m,py_m,pz_m,HeadYaw,HeadPitch,HeadRoll,JawOpen\n0,1,2,3,0.5,0,0,0\n";
    let head = read(text).clip.head.unwrap();
    assert_eq!(head.positions_m, [[1.0, 2.0, 3.0]]);
    assert!(head.rotations_xyzw[0][1] < -0.2);
    // Without a rotation, x and tx are sliders of other tables.
    assert_eq!(read("t,x,y,z\n0,1,2,3\n").clip.names, ["x", "y", "z"]);
}

#[test]
fn frame_rates_are_distinguished() {
    let times = |fps: f64| (0..200).map(|i| f64::from(i) / fps).collect::<Vec<f64>>();
    assert_eq!(clip_csv::detect_fps(&times(59.963)), Some(60.0));
    assert_eq!(clip_csv::detect_fps(&times(30_000.0 / 1001.0)), Some(30_000.0 / 1001.0));
    assert!((clip_csv::detect_fps(&times(17.5)).unwrap() - 17.5).abs() < 1e-9);
    assert_eq!(clip_csv::detect_fps(&[0.0, 1.0, 1.1, 3.0, 3.7]), None);
    assert_eq!(clip_csv::detect_fps(&[0.0]), None);
}

#[test]
fn table_problems_name_line_and_column() {
    let cases = [
        ("", "empty"),
        ("time,a\n", "no frames"),
        ("jawOpen,smile\n0,1\n", "is a time"),
        ("frame,a\n0,1\n", "give the frame rate"),
        ("Frame Number,a\n0,1\n", "column 'Frame Number' gives time as frame numbers"),
        ("#,a\n0,1\n", "column '#' gives time as frame numbers"),
        ("t,px,py,pz,qx,qy,qz,qw\n0,1,2,3,0,0,0,1\n", "column 'px': head positions have no unit"),
        ("t,px,py,qx,qy,qz,qw\n0,1,2,0,0,0,1\n", "a column 'px' but none called 'pz_m'"),
        ("t,px_m,py_m,pz_m\n0,1,2,3\n", "a column 'px_m' but none called 'qx'"),
        ("time,a\n0,1\n0,1\n", "line 3: time does not advance"),
        ("time,a,b\n0,1,2\n1,,2\n", "line 3, column 'a': the cell is missing"),
        ("time,a,b\n0,1\n", "line 2, column 'b': the cell is missing"),
        ("time,a\n0,NaN\n", "line 2, column 'a': the value is NaN"),
        ("time,a\ninf,0\n", "column 'time'"),
        ("time;a\n0;0,5\n", "'0,5' is not a number"),
        ("time,a\n0,1e39\n", "column 'a': the value is inf"),
        ("time,a,a\n0,1,2\n", "both called 'a'"),
        ("time,a\n0,1,2\n", "3 cells"),
        ("time,\"a\n0,1\n", "quote"),
        ("time,head_tx,head_ty,head_tz,head_qx,head_qy,head_qz\n0,1,1,1,1,1,1\n", "'head_qw'"),
        ("time,HeadYaw\n0,1\n", "'HeadPitch'"),
    ];
    for (text, expected) in cases {
        let message = error(text);
        assert!(message.contains(expected), "{text:?}: {message}");
    }
}

fn full_clip() -> Clip {
    let times: Vec<f64> = (0..4).map(|i| 0.1 + f64::from(i) / 30.0).collect();
    let head = HeadMotion {
        times_secs: times.clone(),
        positions_m: (0..4).map(|i| [f64::from(i) / 7.0, 1e-9, -3.0]).collect(),
        rotations_xyzw: vec![[0.1, 0.2, 0.3, 0.9]; 4],
    };
    Clip {
        names: vec!["jawOpen".into(), "odd, \"name\"".into()],
        values: (0..8).map(|i| (i as f32).sin() * 1e-3).collect(),
        eye_angles: Some((0..4).map(|i| [[i as f32 / 3.0; 3], [1e-8; 3]]).collect()),
        head: Some(head),
        times_secs: times,
    }
}

#[test]
fn clips_come_back_to_the_bit() {
    let clip = full_clip();
    assert_eq!(read(&String::from_utf8(clip_csv::write_csv(&clip)).unwrap()).clip, clip);
    assert_eq!(clip_json::read(&clip_json::write(&clip), None).unwrap().clip, clip);
    let bare = Clip { head: None, eye_angles: None, ..clip.clone() };
    assert_eq!(read(&String::from_utf8(clip_csv::write_csv(&bare)).unwrap()).clip, bare);
    assert_eq!(clip_json::read(&clip_json::write(&bare), None).unwrap().clip, bare);
    let head = clip.head.clone().unwrap();
    assert_eq!(head_csv::read(&head_csv::write(&head), &ClipOptions::default()).unwrap().motion, head);
    assert!(
        head_csv::read(b"time,a\n0,1\n", &ClipOptions::default()).unwrap_err().to_string().contains("px_m")
    );
}

#[test]
fn json_clips_in_both_forms() {
    let rows = br#"{"fps":30,"names":["a","b"],"frames":[[0,1],[0.5,0.25]],"author":"x"}"#;
    let content = clip_json::read(rows, None).unwrap();
    assert_eq!(content.clip.times_secs, [0.0, 1.0 / 30.0]);
    assert_eq!(content.clip.values, [0.0, 1.0, 0.5, 0.25]);
    assert_eq!(content.fps, Some(30.0));
    let named =
        br#"{"frames":[{"time":0.0,"weights":{"jawOpen":0.2}},{"time":1,"weights":{"smile":1,"jawOpen":0.1}}]}"#;
    let content = clip_json::read(named, None).unwrap();
    assert_eq!(content.clip.names, ["jawOpen", "smile"]);
    assert_eq!(content.clip.values, [0.2, 0.0, 0.1, 1.0]);
    assert!(content.notes[0].contains("1 values"));
    let cases: [(&str, &str); 9] = [
        (r#"{"frames":[[0]]}"#, "frames[0]"),
        (r#"{"names":["a"],"frames":[[0]]}"#, "fps"),
        (r#"{"fps":0,"names":["a"],"frames":[[0]]}"#, "frame rate of 0"),
        (r#"{"fps":30,"names":["a"],"frames":[[0],[1,2]]}"#, "frames[1]"),
        (r#"{"fps":30,"names":["a","a"],"frames":[[0,1]]}"#, "names[1]"),
        (r#"{"fps":30,"names":["a"],"frames":[[null]]}"#, "line 1"),
        (r#"{"fps":30,"names":["a"],"frames":[]}"#, "no frames"),
        (
            r#"{"frames":[{"time":1,"weights":{}},{"time":0,"weights":{}}]}"#,
            "time does not advance at frame 1",
        ),
        (r#"{"fps":30,"names":["a"],"frames":[[1e39]]}"#, "out of range"),
    ];
    for (text, expected) in cases {
        let message = clip_json::read(text.as_bytes(), None).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

const SKELETON: &str = "HIERARCHY
ROOT Hips
{
  OFFSET 1 0 0
  CHANNELS 6 Yrotation Xposition Yposition Zposition Xrotation Zrotation
  JOINT Spine
  {
    OFFSET 0 2 0
    JOINT My Head
    {
      OFFSET 0 1 0
      CHANNELS 1 Zrotation
      End Site
      {
        OFFSET 0 5 0
      }
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.5
0 10 0 0 0 0 0
90 10 0 0 0 90 45
";

#[test]
fn bvh_evaluates_channels_in_their_order() {
    let head = bvh::read(SKELETON.as_bytes(), None, 0.1).unwrap();
    assert_eq!(head.times_secs, [0.0, 0.5]);
    assert!(DVec3::from(head.positions_m[0]).distance(DVec3::new(1.1, 0.3, 0.0)) < 1e-12);
    // Ry(90) Rz(90) maps +Y to -X and then to +Z.
    assert!(
        DVec3::from(head.positions_m[1]).distance(DVec3::new(1.1, 0.0, 0.3)) < 1e-12,
        "{:?}",
        head.positions_m[1]
    );
    let right_angle = std::f64::consts::FRAC_PI_2;
    let expected = DQuat::from_rotation_y(right_angle) * DQuat::from_rotation_z(right_angle * 1.5);
    assert!(DQuat::from_array(head.rotations_xyzw[1]).angle_between(expected) < 1e-7);
    let hips = bvh::read(SKELETON.as_bytes(), Some("hips"), 1.0).unwrap();
    assert_eq!(hips.positions_m[0], [11.0, 0.0, 0.0]);
}

#[test]
fn bvh_problems_are_named() {
    let with = |from: &str, to: &str| SKELETON.replacen(from, to, 1);
    let cases = [
        (with("Frames: 2", "Frames: 3"), "3 frames are stated, 2 are present"),
        (with("Frames: 2", "Frames: 1"), "more frames than the 1"),
        (with("0 10 0 0 0 0 0\n", "0 10 0\n"), "frame 0 has 3 numbers, the joints have 7"),
        (with("0 10 0", "0 ten 0"), "'ten'"),
        (with("0 10 0", "0 inf 0"), "'inf'"),
        (with("CHANNELS 1", "CHANNELS 4000000000"), "line 12"),
        (with("Frame Time: 0.5", "Frame Time: 0"), "frame time of 0"),
        (with("}\nMOTION", "MOTION"), "not closed"),
        (with("HIERARCHY", "HIERARCHY\n}"), "'}' without"),
        (SKELETON.split("MOTION").next().unwrap().to_string(), "no MOTION"),
    ];
    for (text, expected) in cases {
        let message = bvh::read(text.as_bytes(), None, 1.0).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let missing = bvh::read(SKELETON.as_bytes(), Some("MyHaed"), 1.0).unwrap_err().to_string();
    assert!(missing.contains("'MyHaed'") && missing.contains("My Head"), "{missing}");
    assert!(bvh::read(SKELETON.as_bytes(), None, 0.0).is_err());
}

#[test]
fn bvh_of_any_depth_is_read() {
    let depth = 1_000_000;
    let mut text = String::from("HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xposition\n");
    text.extend((1..depth).map(|_| "JOINT b\n{\nOFFSET 0 1 0\n"));
    text += "JOINT head\n{\nOFFSET 0 1 0\n}\n";
    text.extend((0..depth).map(|_| "}\n"));
    text += "MOTION\nFrames: 1000\nFrame Time: 1\n";
    text.extend((0..1000).map(|_| "7\n"));
    let head = bvh::read(text.as_bytes(), None, 1.0).unwrap();
    assert_eq!(head.positions_m[999], [7.0, f64::from(depth), 0.0]);
}
