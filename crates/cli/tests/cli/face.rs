//! `.face` files: reported in full by `inspect`, and accepted as rigs by the other verbs.

use crate::desk::Desk;
use crate::sample;
use risorius_io::native::face;
use serde_json::json;

fn desk() -> Desk {
    let desk = Desk::new();
    face::write(&sample::face(), &desk.path("head.face")).unwrap();
    desk
}

#[test]
fn a_face_is_reported_in_full() {
    let desk = desk();
    let report = desk.json(&["inspect", "head.face"]);
    assert_eq!((&report["kind"], &report["format"]), (&json!("face"), &json!("face")));
    assert_eq!(report["vertices"], 11);
    assert_eq!(report["shapes"].as_array().unwrap().len(), 4);
    let face = &report["face"];
    assert_eq!((&face["volume"]["nodes"], &face["volume"]["tets"]), (&json!(5), &json!(2)));
    assert_eq!(face["volume"]["bounds"]["skin"], 1);
    assert_eq!(face["volume"]["bounds"]["eye"], 0);
    assert_eq!(face["bones"]["cranium"]["closed"], true);
    assert!((face["bones"]["cranium"]["cm3"].as_f64().unwrap() - 1000.0 / 6.0).abs() < 1e-9);
    assert_eq!(face["bones"]["teeth_lower"]["closed"], false);
    assert_eq!(face["muscles"][0]["name"], "zygomaticus_major_left");
    assert_eq!(face["landmarks"].as_array().unwrap().len(), 94);
    assert_eq!(face["landmarks"][3]["source"], "shape 3");
    assert_eq!(face["jaw"].as_array().unwrap().len(), 1);
    assert!((face["jaw"][0]["degrees"].as_f64().unwrap() - 0.4f64.to_degrees()).abs() < 1e-9);
    assert_eq!(face["fit"]["shapes"][0]["name"], sample::SHAPES[3], "the worst comes first");
    assert_eq!(face["pairs"]["pairs"]["n_pairs"], 1);
    assert_eq!(face["materials"]["mu_pa"], json!([2000.0, 3500.5]));
    assert_eq!(face["build_notes"][0]["advice"], "add some");
    let bytes = desk.read("head.face").len();
    assert_eq!(face["contents"]["bytes"], bytes);
    assert!(face["contents"]["arrays"].as_array().unwrap().iter().any(|a| a["name"] == "flesh.tets"));
}

#[test]
fn people_see_the_worst_rows() {
    let desk = desk();
    let text = desk.ok(&["inspect", "head.face"]);
    for words in [
        "face rig 'sample'",
        "flesh: 5 nodes, 2 tets",
        "cranium: 4 vertices, closed, 166.7 cm3",
        "zygomaticus_major_left",
        "94, 44 of them",
        "and 82 more",
        "jaw: moved by 1 of 4 shapes",
        "22.9 degrees",
        "mu 2000 to 3500 Pa",
        "not repaired: jawOpen with smile_L",
        "the rig has no lower teeth -> add some",
        "version 2, written by risorius",
    ] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    assert!(text.lines().count() < 120, "{text}");
}

#[test]
fn other_verbs_take_a_face_as_its_rig() {
    let desk = desk();
    desk.ok(&["convert", "head.face", "head.obj"]);
    desk.ok(&["pose", "head.face", "--weights", "jawOpen=1", "-o", "open.obj"]);
    desk.ok(&["render", "head.face", "-o", "head.png"]);
    let text = String::from_utf8(desk.read("open.obj")).unwrap();
    assert_eq!(text.lines().filter(|l| l.starts_with("v ")).count(), 11);
    assert_ne!(desk.read("head.obj"), desk.read("open.obj"));
}

#[test]
fn other_versions_and_damage_are_refused() {
    let desk = desk();
    let good = desk.read("head.face");
    let mut bytes = good.clone();
    let version = br#""version":"2""#;
    let at = bytes.windows(version.len()).position(|w| w == version).unwrap();
    bytes[at + version.len() - 2] = b'1';
    desk.write("old.face", &bytes);
    desk.fails_with(1, &["inspect", "old.face"], &["old.face", "version 1", "risorius build"]);
    desk.write("cut.face", &good[..good.len() / 2]);
    desk.fails_with(1, &["inspect", "cut.face"], &["cut.face", "damaged", "risorius build"]);
    desk.fails_with(1, &["inspect", "head.face", "--unit", "mm"], &["head.face", "risorius build"]);
}
