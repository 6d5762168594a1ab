//! What a scan of a neutral shows besides the person: an open jaw, closed eyes.
//!
//! Landmarks say it: a slider is shown if it moves landmarks near each other apart as they lie on the scan.
//! Landmarks that were found are too uncertain; without given ones, see [`super::mouth`] and [`crate::lids`].

use crate::subspace::Mark;
use crate::template::Template;
use glam::DVec3;
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

/// Sliders that open the mouth.
pub(super) const MOUTH: [&str; 1] = ["jawOpen"];

/// Sliders that are known to be shown, at about a value for each; none if the template lacks them.
pub(super) fn known(
    names: &[&str],
    template: &Template,
    value: impl Fn(usize) -> f64,
    [deviation, least]: [f64; 2],
) -> Vec<Shown> {
    let one = |slider| Shown { slider, expected: [value(slider), deviation], bounds: [least, 1.0] };
    sliders(template, names).into_iter().map(one).collect()
}

/// Deviation of values that landmarks show.
const DEVIATION: f64 = 0.3;

/// A slider is shown if it brings landmarks nearer to each other, or apart, by at least this, meters.
const MOTION: f64 = 3e-3;

/// Landmarks nearer to each other than this are compared, meters.
const OPPOSITE: f64 = 0.03;

/// What landmarks say about some sliders: which are shown, or `None` if they do not tell.
pub(super) fn by_marks(
    names: &[&str],
    template: &Template,
    base: &[DVec3],
    marks: &[Mark],
    placed: &Similarity,
) -> Option<Vec<Shown>> {
    let mut shown = Vec::new();
    for slider in sliders(template, names) {
        if motion_of_marks(base, &template.slider_mode(slider), marks, placed)? > MOTION {
            shown.push(Shown { slider, expected: [0.0, DEVIATION], bounds: [0.0, 1.0] });
        }
    }
    Some(shown)
}

fn sliders(template: &Template, names: &[&str]) -> Vec<usize> {
    let all = || template.rig.sliders.iter().map(|s| s.name.as_str());
    names.iter().filter_map(|name| find(name, all())).collect()
}

/// How far the landmarks of a scan have moved by a slider, in meters: from pairs of nearby landmarks that it
/// moves differently, because their distance says more than their place. `None` without such pairs.
fn motion_of_marks(base: &[DVec3], mode: &[DVec3], marks: &[Mark], placed: &Similarity) -> Option<f64> {
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
    (squares > 0.0).then(|| longest * along / squares)
}
