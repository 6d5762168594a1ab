//! Unit and axes of heads in every orientation and scale.

mod head;

use glam::Vec3;
use head::{NAMES, mapped, raw_head};
use risorius_base::Axis;
use risorius_rig::classify::space::{SpaceGuess, guess_space};
use risorius_rig::{RawRig, Rig};

/// Every pair of axes that can be up and front.
fn orientations() -> Vec<(Axis, Axis)> {
    let axes: Vec<Axis> =
        (0..3).flat_map(|index| [false, true].map(|negative| Axis { index, negative })).collect();
    let pairs = axes.iter().flat_map(|&up| axes.iter().map(move |&front| (up, front)));
    pairs.filter(|(up, front)| up.index != front.index).collect()
}

/// A head whose up and front lie along the given axes.
fn turned(raw: RawRig, up: Axis, front: Axis, scale: f32) -> Rig {
    let (up, front) = (up.direction().as_vec3(), front.direction().as_vec3());
    let left = up.cross(front);
    mapped(raw, |[x, y, z]| ((left * x + up * y + front * z) * scale).into())
}

fn axes(guess: &SpaceGuess) -> (Axis, Axis) {
    (guess.space.up, guess.space.front)
}

#[test]
fn every_orientation_and_unit_is_found_from_shapes() {
    for (up, front) in orientations() {
        for (unit, scale) in [("cm", 1.0), ("m", 0.01), ("mm", 10.0), ("dm", 0.1), ("inch", 1.0 / 2.54)] {
            let guess = guess_space(&turned(raw_head(&NAMES), up, front, scale));
            assert_eq!(axes(&guess), (up, front), "{guess:?}");
            assert_eq!(guess.unit_name, unit, "{guess:?}");
            assert!(guess.axes_confidence > 0.7 && guess.unit_confidence > 0.7, "{guess:?}");
            let meters = guess.space.meters_per_unit * f64::from(scale);
            assert!((meters - 0.01).abs() < 1e-9, "{guess:?}");
        }
    }
}

#[test]
fn studio_names_with_sides_are_enough_for_the_axes() {
    for (up, front) in orientations() {
        let names = ["eyeBlink_L", "eyeBlink_R", "jawOpen"];
        assert_eq!(axes(&guess_space(&turned(raw_head(&names), up, front, 1.0))), (up, front));
    }
}

#[test]
fn names_on_the_wrong_side_do_not_turn_the_head_around() {
    // "Left" as the viewer sees it.
    let mut raw = raw_head(&NAMES);
    for shape in &mut raw.parts[0].shapes {
        shape.name = match shape.name.strip_suffix("Left") {
            Some(base) => format!("{base}Right"),
            None => shape.name.strip_suffix("Right").map_or(shape.name.clone(), |base| format!("{base}Left")),
        };
    }
    let guess = guess_space(&turned(raw, orientations()[0].0, orientations()[0].1, 1.0));
    assert_eq!(axes(&guess), orientations()[0]);
    assert!(guess.axes_reason.contains("against"), "{guess:?}");
}

#[test]
fn shoulders_do_not_change_the_unit_when_eyes_are_known() {
    let mut raw = raw_head(&NAMES);
    let part = &mut raw.parts[0];
    // A wide slab under the neck, as tall again as the head.
    for corner in 0..8 {
        let sign = |bit: u32| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
        part.positions.push([25.0 * sign(0), -35.0 + 15.0 * sign(1), 10.0 * sign(2)]);
    }
    let guess = guess_space(&mapped(raw, |p| p.map(|x| x * 10.0)));
    assert_eq!(guess.unit_name, "mm", "{guess:?}");
}

#[test]
fn without_shapes_symmetry_and_neck_decide_with_less_confidence() {
    let with_shapes = guess_space(&mapped(raw_head(&NAMES), |p| p));
    for (up, front) in orientations() {
        let guess = guess_space(&turned(raw_head(&[]), up, front, 1.0));
        assert_eq!(guess.space.up, up, "{guess:?}");
        assert_eq!(guess.space.front.index, front.index, "{guess:?}");
        assert_eq!(guess.unit_name, "cm");
        assert!(guess.axes_confidence < with_shapes.axes_confidence - 0.2, "{guess:?}");
    }
}

#[test]
fn nothing_to_go_by_gives_the_convention() {
    for rig in [Rig::default(), Rig { neutral: vec![[f32::NAN; 3]; 4], ..Rig::default() }] {
        let guess = guess_space(&rig);
        assert_eq!(guess.space, risorius_base::Space::default());
        assert!(guess.axes_confidence < 0.1 && guess.unit_confidence == 0.0);
    }
    let cube =
        (0..8).map(|i| Vec3::new((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32).into()).collect();
    let guess = guess_space(&Rig { neutral: cube, ..Rig::default() });
    assert_eq!(axes(&guess), axes(&guess_space(&Rig::default())));
    assert!(guess.axes_confidence < 0.1, "{guess:?}");
    let point = guess_space(&Rig { neutral: vec![[3.0; 3]], ..Rig::default() });
    assert!(point.axes_confidence < 0.1 && point.unit_confidence == 0.0, "{point:?}");
}

#[test]
fn broken_numbers_are_passed_over() {
    let mut raw = raw_head(&NAMES);
    raw.parts[0].positions[100] = [f32::NAN, 0.0, f32::INFINITY];
    for shape in &mut raw.parts[0].shapes {
        shape.deltas.offsets[0] = [f32::NAN; 3];
    }
    let guess = guess_space(&mapped(raw, |p| p));
    assert_eq!((guess.unit_name, guess.space.up.to_string().as_str()), ("cm", "+Y"));
    let mut raw = raw_head(&NAMES);
    raw.parts[0].positions[100] = [f32::MAX, 0.0, f32::MAX];
    raw.parts[0].positions[101] = [f32::MIN, 0.0, f32::MIN];
    let guess = guess_space(&mapped(raw, |p| p));
    assert_eq!((guess.space.up.to_string().as_str(), guess.space.front.to_string().as_str()), ("+Y", "+Z"));
    assert!(guess.axes_confidence.is_finite() && guess.unit_confidence.is_finite());
}
