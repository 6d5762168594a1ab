//! The ICT, MakeHuman and facecap heads: facts, poses against sums computed here, and plausible values.

use crate::desk::{Desk, data};
use crate::rigs::{largest_difference, obj_positions};
use risorius_base::progress::no_progress;
use risorius_io::IoError;
use risorius_io::open::open_take;
use serde_json::Value;

const ICT: &str = "ict_facekit/ict_expressions.glb";
const MAKEHUMAN: &str = "makehuman_male/makehuman_head_male.glb";
const FACECAP: &str = "facecap/facecap.glb";
const FACECAP_PLAIN: &str = "facecap/facecap_plain.glb";

fn part<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["parts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn problem_codes(report: &Value) -> Vec<&str> {
    report["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect()
}

fn assert_space(report: &Value, meters_per_unit: f64) {
    let expected = serde_json::json!({ "meters_per_unit": meters_per_unit, "up": "+Y", "front": "+Z" });
    assert_eq!(report["space"], expected);
}

#[test]
fn inspect_finds_the_facts_of_the_ict_head() {
    let (Some(rig), Some(regions)) = (data(ICT), data("ict_facekit/regions.json")) else { return };
    let report = Desk::new().json(&["inspect", &rig, "--regions", &regions]);
    assert_eq!(report["parts"][0]["file_vertices"], 26_719);
    assert_eq!(report["vertices"].as_u64().unwrap() + report["welded"].as_u64().unwrap(), 26_719);
    assert_eq!(report["sliders"], 57);
    assert_eq!(report["regions"]["teeth_upper"], 2_208);
    assert_space(&report, 0.01);
    let codes = problem_codes(&report);
    assert!(codes.contains(&"self-intersection") && codes.contains(&"open-boundary"), "{codes:?}");
}

#[test]
fn inspect_finds_the_facts_of_the_makehuman_head() {
    let Some(rig) = data(MAKEHUMAN) else { return };
    let report = Desk::new().json(&["inspect", &rig]);
    assert_eq!(part(&report, "skin")["vertices"], 4_453);
    for name in ["eyes", "upper_teeth", "lower_teeth", "tongue", "lashes"] {
        part(&report, name);
    }
    assert_eq!((&report["sliders"], &report["arkit_matched"]), (&100.into(), &52.into()));
    assert!(!problem_codes(&report).contains(&"self-intersection"));
    assert_space(&report, 0.01);
}

#[test]
fn inspect_finds_the_facts_of_the_facecap_heads() {
    for name in [FACECAP, FACECAP_PLAIN] {
        let Some(rig) = data(name) else { return };
        let report = Desk::new().json(&["inspect", &rig]);
        assert_eq!(part(&report, "head")["file_vertices"], 2_694);
        assert_eq!((&report["sliders"], &report["arkit_matched"]), (&52.into(), &52.into()));
        assert_eq!(report["clips"][0]["frames"], 335);
        assert!(problem_codes(&report).contains(&"empty-shape"), "tongueOut moves nothing");
    }
    let Some(take) = data("facecap/facecap_take001.csv") else { return };
    let report = Desk::new().json(&["inspect", &take]);
    assert_eq!((&report["frames"], &report["head"]), (&335.into(), &335.into()));
}

/// The sum `f0 + D w` in f64 over the vertices of the file, before anything is welded.
fn summed(rig: &str, weights: &[(&str, f64)]) -> Vec<[f64; 3]> {
    let alone = |uri: &str| Err(IoError::malformed("test", uri, "there are no other files"));
    let raw =
        risorius_io::formats::gltf::read(&std::fs::read(rig).unwrap(), &alone, &no_progress).unwrap().raw;
    let mut all = Vec::new();
    for part in &raw.parts {
        let mut positions: Vec<[f64; 3]> = part.positions.iter().map(|p| p.map(f64::from)).collect();
        for (name, weight) in weights {
            for shape in part.shapes.iter().filter(|s| s.name == *name) {
                for (&v, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                    (0..3).for_each(|k| positions[v as usize][k] += weight * f64::from(offset[k]));
                }
            }
        }
        all.extend(positions);
    }
    all
}

#[test]
fn poses_equal_sums_made_without_the_evaluation() {
    for (name, weights) in [
        (ICT, [("jawOpen", 0.75), ("mouthSmile_L", 1.0), ("eyeBlink_R", 0.5), ("browDown_L", -0.25)]),
        (
            MAKEHUMAN,
            [
                ("ARKit_jawOpen", 0.75),
                ("ARKit_mouthSmileLeft", 1.0),
                ("ARKit_eyeBlinkRight", 0.5),
                ("ARKit_browDownLeft", -0.25),
            ],
        ),
        (FACECAP, [("jawOpen", 0.75), ("mouthSmile_L", 1.0), ("eyeBlink_R", 0.5), ("browDown_L", -0.25)]),
    ] {
        let Some(rig) = data(name) else { return };
        let desk = Desk::new();
        // One spelling for all of them.
        let given = "jawOpen=0.75,mouthSmileLeft=1,EyeBlinkRight=0.5,browDown_L=-0.25";
        desk.ok(&["pose", &rig, "-w", given, "-o", "pose.obj"]);
        let found = obj_positions(&desk.read("pose.obj"));
        let expected = summed(&rig, &weights);
        let size = expected.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
        let difference = largest_difference(&found, &expected);
        assert!(difference < 4.0 * f64::from(f32::EPSILON) * size, "{name}: {difference} of {size}");
        assert!(largest_difference(&expected, &summed(&rig, &[])) > 0.01 * size, "{name} does not move");
    }
}

#[test]
fn clips_drive_every_head() {
    let (Some(take), Some(live)) =
        (data("facecap/facecap_take001.csv"), data("performances/livelink_short_60fps.csv"))
    else {
        return;
    };
    for (name, driven, vertices) in [(ICT, 53, 26_719), (MAKEHUMAN, 52, 5_209), (FACECAP_PLAIN, 52, 4_368)] {
        let Some(rig) = data(name) else { return };
        for (clip, frames) in [(&take, 335), (&live, 328)] {
            let desk = Desk::new();
            let report = desk.json(&["pose", &rig, "--clip", clip, "--per-part=off", "-o", "take.pc2"]);
            assert_eq!(report["frames"], frames);
            assert_eq!(report["mapping"]["matched"].as_array().unwrap().len(), driven, "{name}");
            // Twelve bytes per vertex after a header of 32.
            let size = std::fs::metadata(desk.path("take.pc2")).unwrap().len();
            assert_eq!(size, 32 + 12 * frames * vertices, "{name}");
        }
    }
}

#[test]
fn compressed_and_plain_files_move_alike() {
    let (Some(packed), Some(plain), Some(take)) =
        (data(FACECAP), data(FACECAP_PLAIN), data("facecap/facecap_take001.csv"))
    else {
        return;
    };
    let desk = Desk::new();
    let takes = [("a.npz", &packed), ("b.npz", &plain)].map(|(output, rig)| {
        desk.ok(&["pose", rig, "--clip", &take, "-o", output]);
        open_take(&desk.path(output), 30.0).unwrap()
    });
    let [a, b] = &takes;
    assert_eq!((a.n_frames(), a.n_vertices), (b.n_frames(), b.n_vertices));
    let coordinates =
        |take: &risorius_rig::Take| take.positions.iter().flatten().copied().collect::<Vec<f32>>();
    let size = coordinates(a).iter().fold(0.0f32, |m, x| m.max(x.abs()));
    let pairs = coordinates(a).into_iter().zip(coordinates(b));
    let difference = pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
    assert!(difference < 1e-3 * size, "{difference} of {size}");
}

#[test]
fn attenuation_holds_points_on_every_head() {
    for name in [ICT, MAKEHUMAN, FACECAP] {
        let Some(rig) = data(name) else { return };
        let desk = Desk::new();
        let pins = r#"[{"region": "shape:browInnerUp_L", "axes": "y"}, {"region": "shape:browDownLeft", "axes": "y"}]"#;
        let pins = if name == ICT { pins } else { r#"[{"region": "shape:browDownLeft", "axes": "y"}]"# };
        let weights = "browOuterUpLeft=1,noseSneerLeft=1,jawOpen=0.5";
        for bounds in [&[][..], &["--bounds"]] {
            let call = ["attenuate", &rig, "--pins", pins, "-w", weights, "-o", "new.json"];
            let report = desk.json(&[&call[..], bounds].concat());
            let mm = |which: &str, what: &str| report[which][what].as_f64().unwrap();
            let (before, after) = (mm("pinned_before", "rms_mm"), mm("pinned_after", "rms_mm"));
            assert!((0.2..30.0).contains(&before), "{name}: {before} mm");
            assert!(after < 0.7 * before, "{name}: {before} mm, then {after} mm");
            assert!(
                mm("others_deviation", "rms_mm") < before && mm("pinned_after", "max_mm") >= after,
                "{report}"
            );
            let weights = report["weights"].as_object().unwrap();
            let outside = weights.values().map(|w| w.as_f64().unwrap()).any(|w| !(0.0..=1.0).contains(&w));
            assert!(!outside || bounds.is_empty(), "{name}");
            assert_eq!(desk.read_json("new.json").as_object().unwrap().len(), weights.len());
        }
    }
}
