//! What a scan of a neutral shows besides the person: an open jaw, closed eyes.
//!
//! Given landmarks say it: a slider is shown if it moves landmarks near each other apart as they lie on the
//! scan. Landmarks that were found are too uncertain. So where a fit leaves mouth or eyes unlike the scan, it
//! is repeated with the other assumption, and kept if it is clearly more alike there in place and direction,
//! eyeballs included.

use crate::subspace::Mark;
use crate::template::Template;
use glam::DVec3;
use risorius_head::landmarks::index;
use risorius_mesh::Similarity;
use risorius_rig::classify::names::find;

/// A slider that may be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shown {
    /// Index of the slider.
    pub slider: usize,
    /// Expected value and deviation.
    pub expected: [f64; 2],
    /// Least and largest value.
    pub bounds: [f64; 2],
}

/// A part of the face that an expression of a neutral changes.
pub(super) struct Region {
    /// Its name.
    pub name: &'static str,
    /// Sliders.
    sliders: &'static [&'static str],
    /// Expected value and deviation where nothing else is known.
    expected: [f64; 2],
    /// Least value where nothing else is known.
    least: f64,
    /// Landmarks; the middle of each pair is a place of the region.
    places: &'static [[&'static str; 2]],
    /// Radius around the places, meters.
    pub radius: f64,
    /// Misfit of a fit that needs no doubt, meters.
    pub clear: f64,
    /// Another assumption is kept if its misfit is this part of the first.
    pub better: f64,
}

/// Mouth and eyes.
pub(super) const REGIONS: [Region; 2] = [
    Region {
        name: "mouth",
        sliders: &["jawOpen"],
        expected: [0.3, 0.3],
        least: 0.0,
        places: &[["mouth_left", "mouth_right"]],
        radius: 0.024,
        clear: 0.6e-3,
        better: 0.8,
    },
    Region {
        name: "eyes",
        sliders: &["eyeBlinkLeft", "eyeBlinkRight"],
        expected: [0.95, 0.05],
        least: 0.7,
        places: &[["eye_left_inner", "eye_left_outer"], ["eye_right_inner", "eye_right_outer"]],
        radius: 0.017,
        clear: 0.6e-3,
        better: 0.9,
    },
];

impl Region {
    /// The places on a skin.
    pub fn places(&self, template: &Template, skin: &[DVec3]) -> Vec<DVec3> {
        let middle = |pair: &[&str; 2]| {
            let [a, b] = pair.map(|name| index(name).and_then(|i| template.on_skin(i, skin)));
            Some((a? + b?) * 0.5)
        };
        self.places.iter().filter_map(middle).collect()
    }

    /// What is shown if it is the opposite in this region; `None` if the template cannot show it.
    pub fn toggled(&self, template: &Template, shown: &[Shown]) -> Option<Vec<Shown>> {
        let own = sliders(template, self.sliders);
        let others: Vec<Shown> = shown.iter().filter(|s| !own.contains(&s.slider)).copied().collect();
        if others.len() < shown.len() {
            return Some(others);
        }
        let one = |slider| Shown { slider, expected: self.expected, bounds: [self.least, 1.0] };
        let more = others.into_iter().chain(own.iter().copied().map(one)).collect();
        (!own.is_empty()).then_some(more)
    }
}

/// Deviation of values that landmarks show.
const DEVIATION: f64 = 0.3;

/// A slider is shown if it brings landmarks nearer to each other, or apart, by at least this, meters.
const MOTION: f64 = 3e-3;

/// Landmarks nearer to each other than this are compared, meters.
const OPPOSITE: f64 = 0.03;

/// What given landmarks show.
pub(super) fn by_marks(
    template: &Template,
    base: &[DVec3],
    marks: &[Mark],
    placed: &Similarity,
) -> Vec<Shown> {
    let all = REGIONS.iter().flat_map(|r| sliders(template, r.sliders));
    let moved = |s: &usize| motion_of_marks(base, &template.slider_mode(*s), marks, placed) > MOTION;
    all.filter(moved).map(|slider| Shown { slider, expected: [0.0, DEVIATION], bounds: [0.0, 1.0] }).collect()
}

fn sliders(template: &Template, names: &[&str]) -> Vec<usize> {
    let all = || template.rig.sliders.iter().map(|s| s.name.as_str());
    names.iter().filter_map(|name| find(name, all())).collect()
}

/// How far the landmarks of a scan have moved by a slider, in meters: from pairs of nearby landmarks that it
/// moves differently, because their distance says more than their place.
fn motion_of_marks(base: &[DVec3], mode: &[DVec3], marks: &[Mark], placed: &Similarity) -> f64 {
    let on = |field: &[DVec3], m: &Mark| -> DVec3 {
        m.corners.iter().zip(m.barycentric).map(|(&v, w)| field[v as usize] * w).sum()
    };
    let back = placed.inverse();
    let all: Vec<[DVec3; 3]> =
        marks.iter().map(|m| [on(base, m), on(mode, m), back.apply(m.place)]).collect();
    let (mut along, mut squares, mut longest) = (0.0, 0.0, 0.0f64);
    for (i, [p, u, x]) in all.iter().enumerate() {
        for (j, [q, v, y]) in all.iter().enumerate().skip(i + 1) {
            let apart = *u - *v;
            let weight = marks[i].weight * marks[j].weight;
            if p.distance(*q) < OPPOSITE && apart.length() > MOTION {
                along += weight * apart.dot((*x - *y) - (*p - *q));
                squares += weight * apart.length_squared();
                longest = longest.max(apart.length());
            }
        }
    }
    if squares > 0.0 { longest * along / squares } else { 0.0 }
}
