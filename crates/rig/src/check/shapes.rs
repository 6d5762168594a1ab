//! Checks of shapes and sliders: shapes that move nothing, move too far, repeat another, or lack their other
//! side; in-betweens and combinations that cannot act; sliders with unusable ranges.

use super::surface::{Extent, HUGE};
use super::twins::twins;
use super::{Kind, List, Place, Places, Severity};
use crate::classify::names::{self, Key, Side};
use crate::model::{Driver, Rig, Role};
use glam::Vec3;
use std::collections::{HashMap, HashSet};

const NO_SHAPES: Kind = Kind {
    severity: Severity::Note,
    code: "no-shapes",
    one: "the rig has no shapes",
    many: "",
    advice: "nothing can be animated until it has some; transfer shapes from another head",
};
const NAN_DELTA: Kind = Kind {
    severity: Severity::Error,
    code: "nan-delta",
    one: "a displacement is not a finite number",
    many: "displacements are not finite numbers",
    advice: "repair the shape in the modeling tool and export again",
};
const HUGE_DELTA: Kind = Kind {
    severity: Severity::Error,
    code: "huge-delta",
    one: "a displacement is many times as long as the head",
    many: "displacements are many times as long as the head",
    advice: "the shape is broken or stored as positions instead of differences; export it again",
};
const LARGE_MOTION: Kind = Kind {
    severity: Severity::Warning,
    code: "large-motion",
    one: "a shape moves by more than half the head",
    many: "shapes move by more than half the head",
    advice: "check that the shape belongs to this neutral and has its unit",
};
const EMPTY_SHAPE: Kind = Kind {
    severity: Severity::Warning,
    code: "empty-shape",
    one: "a shape moves nothing",
    many: "shapes move nothing",
    advice: "delete it, or export it again with its displacements",
};
const DUPLICATE_SHAPE: Kind = Kind {
    severity: Severity::Warning,
    code: "duplicate-shape",
    one: "a shape repeats another",
    many: "shapes repeat another",
    advice: "keep one of each; solvers cannot distinguish them",
};
const PROPORTIONAL_SHAPE: Kind = Kind {
    severity: Severity::Warning,
    code: "proportional-shape",
    one: "a shape is a multiple of another",
    many: "shapes are multiples of another",
    advice: "keep one of each; solvers cannot distinguish them",
};
const INBETWEEN_WITHOUT_MOTION: Kind = Kind {
    severity: Severity::Warning,
    code: "inbetween-without-motion",
    one: "an in-between belongs to a slider whose full shape moves nothing",
    many: "in-betweens belong to sliders whose full shape moves nothing",
    advice: "export the full shape, or make the in-between a slider",
};
const COMBINATION_WITHOUT_MOTION: Kind = Kind {
    severity: Severity::Warning,
    code: "combination-without-motion",
    one: "a combination is driven by a slider whose shape moves nothing",
    many: "combinations are driven by sliders whose shape moves nothing",
    advice: "export the slider's shape, or make the combination a slider",
};
const REPEATED_COMBINATION: Kind = Kind {
    severity: Severity::Warning,
    code: "repeated-combination",
    one: "a combination has the same sliders as another",
    many: "combinations have the same sliders as another",
    advice: "add them into one shape",
};
const SLIDER_RANGE: Kind = Kind {
    severity: Severity::Warning,
    code: "slider-range",
    one: "a slider's range is empty or leaves out 0",
    many: "sliders have a range that is empty or leaves out 0",
    advice: "give limits with the lower first, around 0",
};
const MISSING_SIDE: Kind = Kind {
    severity: Severity::Note,
    code: "missing-side",
    one: "a slider has no counterpart on the other side",
    many: "sliders have no counterpart on the other side",
    advice: "add the other side, or mirror the shape",
};

/// A displacement longer than this, in head sizes, is an error and no expression.
const HUGE_IN_HEADS: f64 = 10.0;
/// Expressions move less than this fraction of the head size.
const LARGE_IN_HEADS: f64 = 0.5;

/// Adds every problem of shapes and sliders to `list`.
pub fn check(rig: &Rig, list: &mut List) {
    if rig.shapes.is_empty() {
        list.push(&NO_SHAPES, Places::of_rig(), String::new());
        return;
    }
    check_displacements(rig, list);
    check_twins(rig, list);
    check_roles(rig, list);
    check_sliders(rig, list);
}

fn check_displacements(rig: &Rig, list: &mut List) {
    let size = Extent::of(rig).size;
    let too_long = if size > 0.0 { HUGE_IN_HEADS * size } else { HUGE };
    let (mut nan, mut huge, mut large, mut empty) = <(Places, Places, Places, Places)>::default();
    let mut longest = (0.0, String::new());
    for (s, shape) in rig.shapes.iter().enumerate() {
        let mut most = 0.0f64;
        for (&v, &offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            let place = || Place { shape: Some(shape.name.clone()), ..list.vertex(v) };
            let length = Vec3::from(offset).as_dvec3().length();
            if !Vec3::from(offset).is_finite() {
                nan.add(place);
            } else if length > too_long {
                huge.add(place);
            } else {
                most = most.max(length);
            }
        }
        if most > LARGE_IN_HEADS * size {
            large.add(|| list.shape(s));
            if most > longest.0 {
                longest = (most, format!(" (farthest: '{}' by {most:.4} of {size:.4} units)", shape.name));
            }
        }
        if shape.deltas.offsets.iter().all(|d| *d == [0.0; 3]) {
            empty.add(|| list.shape(s));
        }
    }
    list.push(&NAN_DELTA, nan, String::new());
    list.push(&HUGE_DELTA, huge, String::new());
    list.push(&LARGE_MOTION, large, longest.1);
    list.push(&EMPTY_SHAPE, empty, String::new());
}

fn check_twins(rig: &Rig, list: &mut List) {
    let (mut equal, mut scaled) = (Places::default(), Places::default());
    let (mut equal_pairs, mut scaled_pairs) = (Vec::new(), Vec::new());
    for twin in twins(rig) {
        let [name, of] = [twin.shape, twin.of].map(|s| &rig.shapes[s].name);
        if (twin.scale - 1.0).abs() < 1e-4 {
            equal.add(|| list.shape(twin.shape));
            equal_pairs.push(format!("'{name}' equals '{of}'"));
        } else {
            scaled.add(|| list.shape(twin.shape));
            scaled_pairs.push(format!("'{name}' is {:.4} times '{of}'", twin.scale));
        }
    }
    let said = |pairs: Vec<String>| {
        let more = if pairs.len() > super::MAX_EXAMPLES { " ..." } else { "" };
        format!("; {}{more}", pairs[..pairs.len().min(super::MAX_EXAMPLES)].join(", "))
    };
    list.push(&DUPLICATE_SHAPE, equal, said(equal_pairs));
    list.push(&PROPORTIONAL_SHAPE, scaled, said(scaled_pairs));
}

fn check_roles(rig: &Rig, list: &mut List) {
    let still = |slider: usize| {
        let shape = rig.sliders.get(slider).and_then(|s| rig.shapes.get(s.shape));
        shape.is_none_or(|s| s.deltas.offsets.iter().all(|d| *d == [0.0; 3]))
    };
    let (mut lone, mut undriven, mut same_sliders) = <(Places, Places, Places)>::default();
    let mut combinations: HashSet<Vec<(usize, Option<u32>)>> = HashSet::new();
    for (s, shape) in rig.shapes.iter().enumerate() {
        match &shape.role {
            Role::Slider(_) => {}
            Role::Inbetween { slider, .. } => {
                if still(*slider) {
                    lone.add(|| list.shape(s));
                }
            }
            Role::Combination { drivers, .. } => {
                if drivers.iter().any(|d| still(d.slider)) {
                    undriven.add(|| list.shape(s));
                }
                let mut key: Vec<_> =
                    drivers.iter().map(|Driver { slider, at }| (*slider, at.map(f32::to_bits))).collect();
                key.sort_unstable();
                if !combinations.insert(key) {
                    same_sliders.add(|| list.shape(s));
                }
            }
        }
    }
    list.push(&INBETWEEN_WITHOUT_MOTION, lone, String::new());
    list.push(&COMBINATION_WITHOUT_MOTION, undriven, String::new());
    list.push(&REPEATED_COMBINATION, same_sliders, String::new());
}

fn check_sliders(rig: &Rig, list: &mut List) {
    let (mut one_sided, mut bad_range) = (Places::default(), Places::default());
    let keys: HashMap<Key, usize> =
        rig.sliders.iter().enumerate().map(|(i, s)| (names::key(&s.name), i)).collect();
    for slider in &rig.sliders {
        let place = || Place { shape: Some(slider.name.clone()), ..Place::default() };
        let key = names::key(&slider.name);
        let other = key.side.map(|side| if side == Side::Left { Side::Right } else { Side::Left });
        if other.is_some() && !keys.contains_key(&Key { base: key.base, side: other }) {
            one_sided.add(place);
        }
        let [low, high] = slider.range;
        if !(low <= 0.0 && high >= 0.0 && low < high) {
            bad_range.add(place);
        }
    }
    list.push(&SLIDER_RANGE, bad_range, String::new());
    list.push(&MISSING_SIDE, one_sided, String::new());
}
