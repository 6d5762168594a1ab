//! Which sliders columns drive: several sets of shapes, twins, parts.

use super::*;

/// Binds names to names. Sliders whose names begin with `head.` or `teeth.` move their own vertices; all
/// others move the same ones.
fn bound(columns: &[&str], sliders: &[&str], binding: &Binding) -> NameMap {
    let names: Vec<String> = columns.iter().map(|n| (*n).to_string()).collect();
    let own = |s: usize| ["head.", "teeth."].iter().find(|p| sliders[s].starts_with(**p));
    let overlap = |a: usize, b: usize| own(a) == own(b);
    Binder::new(&names, sliders, binding, &overlap).unwrap().bind()
}

fn links(columns: &[&str], sliders: &[&str]) -> Vec<(usize, usize, f32)> {
    bound(columns, sliders, &Binding::default()).links
}

fn driven<'a>(map: &NameMap, sliders: &[&'a str]) -> Vec<&'a str> {
    map.links.iter().map(|l| sliders[l.1]).collect()
}

const BY_HAND: Binding = Binding { set: None, by_hand: true };

/// Three sets as game rigs have them; the jaw is in all of them, and twice in the first.
const GAME: [&str; 16] = [
    "AK_01_EyeBlinkLeft",
    "AK_02_EyeBlinkRight",
    "AK_25_JawOpen",
    "AK_30_MouthSmileLeft",
    "AK_31_MouthSmileRight",
    "AK_52_TongueOut",
    "AK_99_Jaw_Open",
    "SR_07_Eye_Blink_L",
    "SR_21_Jaw_Open",
    "SR_33_Mouth_Smile_L",
    "SR_40_Nose_Sneer_L",
    "VIS_01_aa",
    "VIS_02_oh",
    "VIS_03_ee",
    "VIS_04_mm",
    "VIS_05_JawOpen",
];

const LIVE_LINK: [&str; 7] = [
    "EyeBlinkLeft",
    "EyeBlinkRight",
    "JawOpen",
    "MouthSmileLeft",
    "MouthSmileRight",
    "NoseSneerLeft",
    "TongueOut",
];

#[test]
fn wholes_meet_halves() {
    let map = bound(
        &["BrowInnerUp", "JawOpen", "Nothing"],
        &["browInnerUp_L", "browInnerUp_R", "jawOpen", "extra"],
        &Binding::default(),
    );
    assert_eq!(map.links, [(0, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0)]);
    assert_eq!((map.unmatched_columns, map.unmatched_sliders), (vec![2], vec![3]));
    assert_eq!((map.set, map.other_sets.len(), map.twins.len()), (None, 0, 0));
    assert_eq!(links(&["cheekPuff_L", "cheekPuff_R"], &["cheekPuff"]), [(0, 0, 0.5), (1, 0, 0.5)]);
    assert_eq!(links(&["JawOpen"], &["jawOpen", "fix_jawOpen", "smile_jawOpen"]), [(0, 0, 1.0)]);
    let beside_fix = bound(&["JawOpen"], &["jawOpen", "fix_jawOpen"], &Binding::default());
    assert_eq!((beside_fix.links, beside_fix.set), (vec![(0, 0, 1.0)], None), "a corrective is no set");
    assert_eq!(links(&["JawOpen"], &["head.jawOpen", "teeth.jawOpen"]).len(), 2, "two parts of one rig");
    assert_eq!(links(&["jawOpen"], &["jawOpen", "teeth.jawOpen"]).len(), 2, "two parts of one rig");
    assert_eq!(links(&["jawLeft", "mouthLeft"], &["jaw", "mouthLeft"]), [(1, 1, 1.0)]);
}

#[test]
fn a_whole_beside_its_halves_is_not_driven_twice() {
    let sliders = ["mouthSmile", "mouthSmile_L", "mouthSmile_R"];
    assert_eq!(links(&["MouthSmile"], &sliders), [(0, 0, 1.0)]);
    assert_eq!(links(&["MouthSmileLeft", "MouthSmileRight"], &sliders), [(0, 1, 1.0), (1, 2, 1.0)]);
    assert_eq!(links(&["mouthSmile"], &sliders[1..]), [(0, 0, 1.0), (0, 1, 1.0)]);
}

#[test]
fn a_clip_binds_the_set_that_covers_most() {
    let map = bound(&LIVE_LINK, &GAME, &Binding::default());
    assert_eq!(driven(&map, &GAME), GAME[..6]);
    assert_eq!(map.set.as_deref(), Some("AK"));
    assert_eq!(map.other_sets, [("SR".to_string(), 4), ("VIS".to_string(), 1)]);
    assert_eq!(map.twins, [(6, 2)], "AK_99_Jaw_Open repeats AK_25_JawOpen");
    assert_eq!(map.unmatched_columns, [5], "only a rival has the sneer");
}

#[test]
fn a_set_can_be_asked_for() {
    let sr = Binding { set: Some("sr_"), by_hand: false };
    let map = bound(&LIVE_LINK, &GAME, &sr);
    assert_eq!(driven(&map, &GAME), GAME[7..11]);
    assert_eq!(map.set.as_deref(), Some("SR"));
    let vis = Binding { set: Some("VIS"), by_hand: false };
    assert_eq!(
        driven(&bound(&["aa", "ee", "JawOpen"], &GAME, &vis), &GAME),
        ["VIS_01_aa", "VIS_03_ee", "VIS_05_JawOpen"]
    );
    let names = ["JawOpen".to_string()];
    let unknown = Binding { set: Some("FACS"), by_hand: false };
    let error = Binder::new(&names, &GAME, &unknown, &|_, _| true).err().unwrap().to_string();
    assert!(
        error.contains("'FACS'") && error.contains("AK (7 sliders)") && error.contains("SR (4"),
        "{error}"
    );
}

#[test]
fn a_full_name_means_that_slider_alone() {
    for name in GAME {
        assert_eq!(driven(&bound(&[name], &GAME, &BY_HAND), &GAME), [name]);
        assert_eq!(driven(&bound(&[name], &GAME, &Binding::default()), &GAME), [name], "in a clip");
    }
    let lower = bound(&["sr_21_jawopen"], &GAME, &BY_HAND);
    assert_eq!(driven(&lower, &GAME), ["SR_21_Jaw_Open"], "in another spelling");
    assert_eq!(driven(&bound(&["jawOpen"], &GAME, &BY_HAND), &GAME), ["AK_25_JawOpen"], "of the largest set");
    let beside = ["mouthSmile", "mouthSmile_L", "mouthSmile_R"];
    assert_eq!(driven(&bound(&["mouthSmile"], &beside, &BY_HAND), &beside), ["mouthSmile"]);
}

#[test]
fn the_animation_of_the_rig_itself_drives_every_slider_once() {
    let map = bound(&GAME, &GAME, &Binding::default());
    assert_eq!(map.links, (0..GAME.len()).map(|i| (i, i, 1.0)).collect::<Vec<_>>());
}

#[test]
fn marks_behind_names_are_sets_too() {
    let sliders = [
        "jawOpen",
        "mouthSmileLeft",
        "mouthSmileRight",
        "cheekPuff",
        "tongueOut",
        "jawOpen_FACS",
        "mouthSmile_FACS_L",
        "cheekPuff_FACS",
        "mouthPucker_FACS",
    ];
    let clip = ["JawOpen", "MouthSmileLeft", "CheekPuff", "TongueOut"];
    let map = bound(&clip, &sliders, &Binding::default());
    assert_eq!(driven(&map, &sliders), ["jawOpen", "mouthSmileLeft", "cheekPuff", "tongueOut"]);
    assert_eq!((map.set.as_deref(), &map.other_sets[..]), (Some(""), &[("FACS".to_string(), 3)][..]));
    let facs = Binding { set: Some("FACS"), by_hand: false };
    let map = bound(&clip, &sliders, &facs);
    assert_eq!(driven(&map, &sliders), ["jawOpen_FACS", "mouthSmile_FACS_L", "cheekPuff_FACS"]);
    let by_name = bound(&["JawOpen_Facs"], &sliders, &Binding::default());
    assert_eq!(driven(&by_name, &sliders), ["jawOpen_FACS"]);
}
