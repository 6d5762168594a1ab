//! Weights and rig sidecars.

use glam::DVec3;
use risorius_base::Axis;
use risorius_io::specs::{sidecar, weights};
use risorius_rig::CombinationRule;

const FULL: &str = r#"{"inbetweens":[{"shape":"jawOpen50","slider":"jawOpen","at":0.5}],
 "combinations":[{"shape":"fix","sliders":["smile_L","jawOpen"],"rule":"lowest"},{"shape":"p","sliders":["a","b"]}],
 "sliders":["brow50"],"limits":{"jawOpen":[-0.5,1]},"ignore_names":true,
 "regions":{"lips":[3,1,2],"teeth":{"part":"lower_teeth","vertices":[9],"ranges":[[2,5],[4,7]]}},
 "unit":"cm","up":"+Y","front":"-z"}"#;

#[test]
fn sidecars_are_read() {
    let s = sidecar::read(FULL.as_bytes()).unwrap();
    assert_eq!(s.roles.inbetweens, [("jawOpen50".into(), "jawOpen".into(), 0.5)]);
    assert_eq!(
        s.roles.combinations[0],
        ("fix".into(), vec!["smile_L".into(), "jawOpen".into()], CombinationRule::Lowest)
    );
    assert_eq!(s.roles.combinations[1].2, CombinationRule::Multiply);
    assert!(s.roles.sliders.contains("brow50") && s.roles.ignore_names);
    assert_eq!(s.roles.limits["jawOpen"], [-0.5, 1.0]);
    assert_eq!(s.meters_per_unit, Some(0.01));
    assert_eq!(s.front, Some(Axis { index: 2, negative: true }));
    assert_eq!(s.regions[0].resolve(4).unwrap(), [1, 2, 3]);
    assert_eq!(s.regions[1].part.as_deref(), Some("lower_teeth"));
    assert_eq!(s.regions[1].resolve(10).unwrap(), [2, 3, 4, 5, 6, 9]);
    let error = s.regions[1].resolve(9).unwrap_err().to_string();
    assert!(error.contains("regions.teeth") && error.contains("vertex 9"), "{error}");
    assert_eq!(sidecar::read(b"{}").unwrap(), sidecar::Sidecar::default());
    assert_eq!(sidecar::read(br#"{"unit":0.0254}"#).unwrap().meters_per_unit, Some(0.0254));
}

#[test]
fn sidecar_problems_are_named() {
    let cases = [
        (r#"{"regoins":{}}"#, "did you mean 'regions'"),
        (r#"{"inbetweens":[{"shape":"a","slider":"b","att":0.5}]}"#, "inbetweens[0]: 'att'"),
        (r#"{"inbetweens":[{"shape":"a","slider":"b"}]}"#, "'at' is missing"),
        (r#"{"inbetweens":[{"shape":"a","slider":"b","at":1.5}]}"#, "inbetweens[0].at"),
        (r#"{"combinations":[{"shape":"a","sliders":["b"]}]}"#, "two or more"),
        (r#"{"combinations":[{"shape":"a","sliders":["b","c"],"rule":"max"}]}"#, "combinations[0].rule"),
        (r#"{"limits":{"jawOpen":[1,0]}}"#, "limits.jawOpen"),
        (r#"{"limits":{"jawOpen":[0,1e39]}}"#, "limits.jawOpen"),
        (r#"{"regions":{"lips":[1,-2]}}"#, "regions.lips[1]"),
        (r#"{"regions":{"lips":{"ranges":[[5,5]]}}}"#, "regions.lips.ranges[0]"),
        (r#"{"unit":"yd"}"#, "'yd'"),
        (r#"{"unit":-1}"#, "positive"),
        (r#"{"up":"Q"}"#, "'Q'"),
        (r#"{"up":"Y","front":"-Y"}"#, "one axis"),
        ("{", "line 1"),
        ("[]", "object"),
    ];
    for (text, expected) in cases {
        let error = sidecar::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn plain_ranges_only_through_their_own_function() {
    let text = br#"{"note":"half-open","face":[0,3],"neck":[3,5]}"#;
    let regions = sidecar::read_ranges(text).unwrap();
    assert_eq!(regions.len(), 2);
    assert_eq!(regions[1].resolve(5).unwrap(), [3, 4]);
    assert!(sidecar::read(text).is_err());
    assert!(sidecar::read_ranges(br#"{"face":[0,3,4]}"#).unwrap_err().to_string().contains("face"));
}

#[test]
fn huge_ranges_cost_nothing_until_the_mesh_is_known() {
    let text = br#"{"regions":{"a":{"ranges":[[0,4294967295],[1,4294967295]]}}}"#;
    let s = sidecar::read(text).unwrap();
    assert!(s.regions[0].resolve(10).is_err());
}

#[test]
fn weights_are_read_and_written() {
    let weights = weights::read(b"\xEF\xBB\xBF{\"jawOpen\": 0.6, \"smile\": -1}").unwrap();
    assert_eq!(weights, [("jawOpen".to_string(), 0.6), ("smile".to_string(), -1.0)]);
    assert_eq!(weights::read(&weights::write(&weights)).unwrap(), weights);
    assert!(String::from_utf8(weights::write(&weights)).unwrap().contains("0.6"));
    for (text, expected) in [
        (&b"{\"a\":1,\"a\":2}"[..], "'a' appears twice"),
        (b"{\"a\":1e39}", "out of range"),
        (b"{\"a\":\"x\"}", "line 1"),
        (b"[1]", "slider names"),
        (b"{\"a\":1", "line 1"),
    ] {
        let error = weights::read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn every_part_with_a_problem_is_reported() {
    let text = br#"{"unit": "parsec", "up": "+Q", "regoins": {}, "regions": {"lips": [-1]}}"#;
    let error = sidecar::read(text).unwrap_err().to_string();
    for expected in ["4 problems", "parsec", "+Q", "regions", "lips"] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn jaw_motions_and_material_curves_are_read() {
    let text = br#"{"jaw": {"jawOpen": {"rotate": [90, 0, 0], "about": [0, 1, 0], "move": [0, 0, 0.5]}},
        "stiffening": {"smile": {"by": "squint", "curve": [[0, 0], [0.5, 0.2]]}, "frown": {}}}"#;
    let found = sidecar::read(text).unwrap();
    let (name, motion) = &found.jaw[0];
    let moved = motion.apply(DVec3::new(0.0, 2.0, 0.0));
    assert!(name == "jawOpen" && moved.distance(DVec3::new(0.0, 1.0, 1.5)) < 1e-12, "{moved}");
    let smile = found.stiffening.iter().find(|s| s.shape == "smile").unwrap();
    assert_eq!((smile.by.as_deref(), &smile.curve[..]), (Some("squint"), &[[0.0, 0.0], [0.5, 0.2]][..]));
    for (text, expected) in [
        (&br#"{"jaw": {"jawOpen": {"rotate": [17, 0, 0]}}}"#[..], "'about' is missing"),
        (br#"{"jaw": {"jawOpen": {"rotate": [170, 0, 0], "about": [0, 0, 0]}}}"#, "at most 90"),
        (br#"{"jaw": {"jawOpen": {"turn": [1, 0, 0]}}}"#, "turn"),
        (br#"{"stiffening": {"a": {"curve": [[0, 0], [0, 1]]}}}"#, "ascend"),
        (br#"{"stiffening": {"a": {"curve": []}}}"#, "no points"),
    ] {
        let error = sidecar::read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
