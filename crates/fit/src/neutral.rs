//! The neutral of a person: template, prior and scan to pose, coefficients and a registered surface
//! [Ichim16, sec. 3.1].
//!
//! 1. a similarity from the landmarks;
//! 2. pose and coefficients of the prior's modes ([`crate::subspace`]), with landmarks first and closest
//!    points alone last: the strong end of E_faceLike and E_faceDist;
//! 3. the surface bends from there to the scan ([`crate::register`]), while the prior's weight falls.
//!
//! A jaw that is open and eyes that are closed in the scan are modes as well, so that they are not taken for
//! features of the person; the neutral is what is left without them. They are modes only if the landmarks of
//! lips and lids show them: to the closest points alone, an eyeball between open lids looks like a lid.
//!
//! The scale of a scan is unknown, so the size of the person is the one that the prior finds most likely.

use crate::FitError;
use crate::deform::Stiffness;
use crate::prior::Prior;
use crate::register::{Registration, Stage};
use crate::subspace::{Explained, Mark, Model, Round};
use crate::target::{Acceptance, Target};
use crate::template::Template;
use glam::DVec3;
use risorius_base::Progress;
use risorius_mesh::{Similarity, TriMesh};
use risorius_rig::classify::names::find;
use risorius_rig::meters;

/// The registered neutral.
#[derive(Debug, Clone)]
pub struct NeutralFit {
    /// From the template's space to the scan.
    pub scan_from_template: Similarity,
    /// Coefficients of the prior's modes.
    pub coefficients: Vec<f64>,
    /// Sliders that the scan shows, with their values: an open jaw, closed eyes.
    pub expression: Vec<(usize, f64)>,
    /// The face of the coefficients without expression, all rig vertices.
    pub modeled: Vec<DVec3>,
    /// The skin of the model with its expression.
    pub surface: Vec<DVec3>,
    /// The skin laid onto the scan.
    pub skin: Vec<DVec3>,
    /// The same without the expression: the person's neutral.
    pub rest: Vec<DVec3>,
}

/// Sliders that a scan of a neutral may show.
const SHOWN: [&str; 3] = ["jawOpen", "eyeBlinkLeft", "eyeBlinkRight"];

/// Deviation of their values.
const SHOWN_DEVIATION: f64 = 0.3;

/// Values below this are part of the person, not an expression.
const SHOWN_LEAST: f64 = 0.15;

/// A slider is shown if it brings landmarks nearer to each other, or apart, by at least this, meters.
const SHOWN_MOTION: f64 = 3e-3;

/// Landmarks nearer to each other than this are compared, meters.
const OPPOSITE: f64 = 0.03;

/// Reach in meters and least cosine.
pub(crate) const fn accept(reach: f64, least_cos: f64) -> Acceptance {
    Acceptance { reach, least_cos }
}

/// Rounds of the search for pose and modes; the last ones are without landmarks.
pub(crate) fn model_rounds() -> Vec<Round> {
    let round = |reach: f64, least_cos: f64, noise: f64, mark: f64| Round {
        accepted: accept(reach, least_cos),
        noise: noise * 1e-3,
        mark: mark * 1e-3,
    };
    let mut rounds = vec![round(0.030, 0.3, 6.0, 4.0); 4];
    rounds.extend([round(0.020, 0.5, 3.0, 5.0); 6]);
    rounds.extend([round(0.012, 0.6, 1.5, 8.0); 6]);
    rounds.extend([round(0.008, 0.7, 0.8, 20.0); 8]);
    rounds
}

/// Stages of the bending, from stiff to soft.
pub(crate) fn bend_stages(softest: f64) -> Vec<Stage> {
    let stage = |rounds: usize, length: f64, reach: f64, prior: f64, mark: f64| Stage {
        rounds,
        stiffness: Stiffness { stretch: 0.5 * length.max(softest) * 1e-3, bend: length.max(softest) * 1e-3 },
        accepted: accept(reach, 0.6),
        prior,
        mark: mark * 1e-6,
    };
    vec![
        stage(3, 20.0, 0.015, 1e-2, 50.0),
        stage(3, 10.0, 0.010, 3e-3, 20.0),
        stage(3, 5.0, 0.008, 1e-3, 5.0),
        stage(3, 3.0, 0.005, 3e-4, 1.0),
        stage(3, 2.0, 0.004, 1e-4, 0.0),
    ]
}

/// Fits the neutral.
pub fn fit_neutral(
    template: &Template,
    prior: &Prior,
    target: &Target,
    marks: &[Mark],
    progress: &Progress,
) -> Result<NeutralFit, FitError> {
    let base = template.skin_part(&prior.mean);
    let n_modes = prior.modes.len();
    let mut modes: Vec<Vec<DVec3>> = prior.modes.iter().map(|m| template.skin_part(m)).collect();
    let (mut expected, mut bounds) = (vec![[0.0, 1.0]; n_modes], vec![[-prior.most, prior.most]; n_modes]);
    let placed = place(&base, marks);
    let mut sliders = shown(template);
    sliders.retain(|&s| motion_of_marks(&base, &slider_mode(template, s), marks, &placed) > SHOWN_MOTION);
    for &s in &sliders {
        modes.push(slider_mode(template, s));
        expected.push([0.0, SHOWN_DEVIATION]);
        bounds.push([0.0, 1.0]);
    }
    let model = Model {
        base: &base,
        modes: &modes,
        expected: &expected,
        bounds: &bounds,
        triangles: &template.mesh.triangles,
        weights: &template.area_weights(),
        steady: &[],
        marks,
    };
    let start = Explained { scan_from_template: placed, coefficients: vec![0.0; modes.len()] };
    let explained = model.explain(target, start, &model_rounds())?;
    let surface = TriMesh {
        positions: model.positions(&explained.coefficients),
        triangles: template.mesh.triangles.clone(),
    };
    let registration = Registration {
        surface: &surface,
        weights: &template.weights,
        marks,
        scan_from_template: explained.scan_from_template,
    };
    let skin = registration.run(target, &bend_stages(0.0), "neutral", progress)?;
    let values = sliders.into_iter().zip(explained.coefficients[n_modes..].iter().copied());
    let expression: Vec<(usize, f64)> = values.filter(|(_, w)| *w >= SHOWN_LEAST).collect();
    let mut rest = skin.clone();
    for &(s, w) in &expression {
        rest.iter_mut().zip(slider_mode(template, s)).for_each(|(p, d)| *p -= d * w);
    }
    let coefficients = explained.coefficients[..n_modes].to_vec();
    Ok(NeutralFit {
        scan_from_template: explained.scan_from_template,
        modeled: prior.face(&coefficients),
        coefficients,
        expression,
        surface: surface.positions,
        skin,
        rest,
    })
}

/// Sliders of the template that a neutral may show.
fn shown(template: &Template) -> Vec<usize> {
    let names = || template.rig.sliders.iter().map(|s| s.name.as_str());
    SHOWN.iter().filter_map(|name| find(name, names())).collect()
}

/// Displacements of the skin by a slider.
fn slider_mode(template: &Template, slider: usize) -> Vec<DVec3> {
    template.skin_part(&meters::displacements(&template.rig, template.rig.sliders[slider].shape))
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
            if p.distance(*q) < OPPOSITE && apart.length() > SHOWN_MOTION {
                along += weight * apart.dot((*x - *y) - (*p - *q));
                squares += weight * apart.length_squared();
                longest = longest.max(apart.length());
            }
        }
    }
    if squares > 0.0 { longest * along / squares } else { 0.0 }
}

/// Rounds in which landmarks that contradict the others lose weight.
const PLACING: usize = 12;

/// Distance of a landmark, in meters, at which it loses most of its weight.
const WRONG: f64 = 0.012;

/// The similarity that most of the landmarks agree on.
pub(crate) fn place(base: &[DVec3], marks: &[Mark]) -> Similarity {
    let here = |m: &Mark| m.corners.iter().zip(m.barycentric).map(|(&v, w)| base[v as usize] * w).sum();
    let from: Vec<DVec3> = marks.iter().map(here).collect();
    let (to, given): (Vec<DVec3>, Vec<f64>) = marks.iter().map(|m| (m.place, m.weight)).unzip();
    let mut weights = given.clone();
    let mut found = Similarity::fit(&from, &to, &weights);
    for _ in 0..PLACING {
        for i in 0..from.len() {
            let t = found.apply(from[i]).distance(to[i]) / (found.scale * WRONG);
            weights[i] = given[i] / (1.0 + t * t).powi(2);
        }
        found = Similarity::fit(&from, &to, &weights);
    }
    found
}
