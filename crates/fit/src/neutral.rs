//! The neutral of a person: template, prior and scan to pose, coefficients and a registered surface
//! [Ichim16, sec. 3.1].
//!
//! 1. a similarity from the landmarks;
//! 2. pose and coefficients of the prior's modes ([`crate::subspace`]), with landmarks first and closest
//!    points alone last: the strong end of E_faceLike and E_faceDist;
//! 3. the surface bends from there to the scan ([`crate::register`]), while the prior's weight falls.
//!
//! A jaw that is open and eyes that are closed are modes as well, so that they are not taken for features of
//! the person; the neutral is what is left without them. Whether the scan shows them is decided by [`shown`],
//! [`crate::lids`] and [`mouth`]: to closest points alone, an eyeball between open lids looks like a lid.
//!
//! The scale of a scan is unknown, so the size of the person is the one that the prior finds most likely.

mod mouth;
mod shown;

use crate::FitError;
use crate::deform::Stiffness;
use crate::lids;
use crate::prior::Prior;
use crate::register::{Registered, Registration, Stage};
use crate::solids::{N_EYES, Solids};
use crate::subspace::{Explained, Mark, Model, Round};
use crate::target::{Acceptance, Target};
use crate::template::Template;
use glam::{DMat3, DVec3};
use mouth::Opening;
use risorius_anatomy::Note;
use risorius_base::Progress;
use risorius_head::landmarks::{N_LANDMARKS, index};
use risorius_mesh::{Similarity, TriMesh};
use shown::{MOUTH, Shown};

/// What the neutral is found from.
#[derive(Clone, Copy)]
pub struct Neutral<'a> {
    /// The template.
    pub template: &'a Template,
    /// How faces vary.
    pub prior: &'a Prior,
    /// The scan.
    pub target: &'a Target,
    /// Landmarks on it.
    pub marks: &'a [Mark],
}

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
    /// Shifts of the eyes beyond the motion of the skin around them.
    pub eye_shifts: [DVec3; N_EYES],
    /// What the scan shows and the template cannot.
    pub notes: Vec<Note>,
}

/// Values below this are part of the person, not an expression.
const SHOWN_LEAST: f64 = 0.15;

/// Rounds of the search for pose and modes; the last ones are almost without landmarks.
fn model_rounds() -> Vec<Round> {
    let mut rounds = vec![Round::new(0.030, 0.3, 6.0, 4.0); 4];
    rounds.extend([Round::new(0.020, 0.5, 3.0, 5.0); 6]);
    rounds.extend([Round::new(0.012, 0.6, 1.5, 8.0); 6]);
    rounds.extend([Round::new(0.008, 0.7, 0.8, 20.0); 8]);
    rounds
}

/// The first of the rounds that are left when pose and identity are known.
const KNOWN: usize = 10;

/// Stages of the bending, from stiff to soft.
pub(crate) fn bend_stages() -> Vec<Stage> {
    // Rounds, resistance, reach, length of a radian, doubt (mm); weights of the prior and of landmarks (mm2).
    let stage = |rounds, length: f64, [reach, turn, doubt]: [f64; 3], along, prior, mark: f64| Stage {
        rounds,
        stiffness: Stiffness { stretch: 0.5 * length * 1e-3, bend: length * 1e-3 },
        accepted: Acceptance { reach: reach * 1e-3, least_cos: 0.5 },
        turn: turn * 1e-3,
        along,
        doubt: doubt * 1e-3,
        prior,
        mark: mark * 1e-6,
    };
    // A match 3 mm away is not doubted even at the end: wings of the nose and lids of a template of another
    // person arrive last, and with a doubt of 1 mm they stayed 2 mm off.
    vec![
        stage(2, 16.0, [15.0, 10.0, 6.0], 0.2, 1e-2, 50.0),
        stage(2, 8.0, [10.0, 8.0, 5.0], 0.15, 3e-3, 20.0),
        stage(3, 4.0, [7.0, 6.0, 4.0], 0.1, 1e-3, 2.0),
        stage(3, 2.0, [5.0, 3.0, 3.0], 0.03, 2e-4, 0.5),
        stage(2, 1.4, [4.0, 0.0, 3.0], 0.002, 1e-4, 0.2),
    ]
}

/// The edges of the lips in the middle.
const LIPS: [&str; 2] = ["lip_upper_middle_inner", "lip_lower_middle_inner"];

/// Values of blinks above this hide most of the eyes.
const HALF_CLOSED: f64 = 0.7;

/// A slider that opens the lips by less does not open the mouth, meters.
const LEAST_MOTION: f64 = 5e-3;

/// A fit that assumes what the neutral shows.
struct Attempt {
    shown: Vec<Shown>,
    explained: Explained,
    surface: TriMesh,
    registered: Registered,
}

impl Neutral<'_> {
    /// Fits the neutral. What it shows is asked of landmarks if they were given, not found, and of the
    /// surface otherwise.
    pub fn fit(&self, marks_are_given: bool, progress: &Progress) -> Result<NeutralFit, FitError> {
        let base = self.template.skin_part(&self.prior.mean);
        let placed = place(&base, self.marks);
        let told = |names: &[&str]| {
            let by_marks = || shown::by_marks(names, self.template, &base, self.marks, &placed);
            marks_are_given.then(by_marks).flatten()
        };
        let (mouth, eyes) = (told(&MOUTH), told(&lids::BLINKS));
        let shown = [&mouth, &eyes].into_iter().flatten().flatten().copied().collect();
        let coefficients = vec![0.0; self.prior.modes.len()];
        let start = Explained { scan_from_template: placed, coefficients };
        let mut best = self.attempt(shown, start, &model_rounds(), progress)?;
        let (mut opening, mut notes) = (None, Vec::new());
        if mouth.is_none() {
            let Attempt { registered, explained, .. } = &best;
            let pose = &explained.scan_from_template;
            opening = mouth::opening(self.template, &registered.skin, self.target, pose);
        }
        let marks = opening.map(|o| self.marks_of(&o, &best));
        let opened = Neutral { marks: marks.as_deref().unwrap_or(self.marks), ..*self };
        if let Some(opening) = &opening {
            let open = |jaw| opened.opened_by(jaw, opening);
            let shown = shown::known(&MOUTH, self.template, open, [0.15, 0.0]);
            notes.extend(shown.is_empty().then(|| cannot("the mouth is open", "jawOpen")));
            best = opened.also(&best, shown, progress)?;
        }
        let pose = &best.explained.scan_from_template;
        let closed = || lids::closed(self.template, &best.registered.skin, self.target, pose);
        if eyes.is_none() && closed() == Some(true) {
            let shown = shown::known(&lids::BLINKS, self.template, |_| lids::CLOSED, [lids::DEVIATION, 0.7]);
            notes.extend(
                shown.is_empty().then(|| cannot("the eyes are closed", "eyeBlinkLeft and eyeBlinkRight")),
            );
            best = opened.also(&best, shown, progress)?;
        }
        Ok(NeutralFit { notes, ..self.finished(best) })
    }

    /// Landmarks with those of the lips where they open; what was found below the nose is doubtful then.
    fn marks_of(&self, opening: &Opening, attempt: &Attempt) -> Vec<Mark> {
        let Attempt { explained, registered, .. } = attempt;
        let nose = index("subnasale").and_then(|i| self.template.on_skin(i, &registered.skin));
        let base = nose.map_or(f64::NEG_INFINITY, |p| p.y);
        let back = explained.scan_from_template.inverse();
        let mut marks: Vec<Mark> =
            self.marks.iter().filter(|m| back.apply(m.place).y > base).copied().collect();
        let mut places = vec![None; N_LANDMARKS];
        for (name, p) in [(LIPS[0], opening.upper), (LIPS[1], opening.lower)] {
            if let Some(i) = index(name) {
                places[i] = Some(explained.scan_from_template.apply(p));
            }
        }
        marks.extend(self.template.marks(&places));
        marks
    }

    /// The value of a slider that opens the lips this far.
    fn opened_by(&self, slider: usize, opening: &Opening) -> f64 {
        let mode = self.template.slider_mode(slider);
        let at = |name: &str| index(name).and_then(|i| self.template.on_skin(i, &mode));
        match (at(LIPS[0]), at(LIPS[1])) {
            (Some(a), Some(b)) if a.y - b.y > LEAST_MOTION => {
                ((opening.upper.y - opening.lower.y) / (a.y - b.y)).min(1.0)
            }
            _ => 0.0,
        }
    }

    /// The attempt again, with more that it shows.
    fn also(&self, attempt: &Attempt, more: Vec<Shown>, progress: &Progress) -> Result<Attempt, FitError> {
        let shown = attempt.shown.iter().copied().chain(more).collect();
        self.attempt(shown, self.identity(&attempt.explained), &model_rounds()[KNOWN..], progress)
    }

    /// What is explained without expressions.
    fn identity(&self, explained: &Explained) -> Explained {
        let n = self.prior.modes.len();
        Explained { coefficients: explained.coefficients[..n].to_vec(), ..explained.clone() }
    }

    /// A fit from a start; `start` has the coefficients of the identity.
    fn attempt(
        &self,
        shown: Vec<Shown>,
        mut start: Explained,
        rounds: &[Round],
        progress: &Progress,
    ) -> Result<Attempt, FitError> {
        let Self { template, prior, .. } = *self;
        let n_modes = prior.modes.len();
        let mut modes: Vec<Vec<DVec3>> = prior.modes.iter().map(|m| template.skin_part(m)).collect();
        let (mut expected, mut bounds) =
            (vec![[0.0, 1.0]; n_modes], vec![[-prior.most, prior.most]; n_modes]);
        for s in &shown {
            modes.push(template.slider_mode(s.slider));
            expected.push(s.expected);
            bounds.push(s.bounds);
            start.coefficients.push(s.expected[0]);
        }
        let model = Model {
            base: &template.skin_part(&prior.mean),
            modes: &modes,
            expected: &expected,
            bounds: &bounds,
            triangles: &template.mesh.triangles,
            weights: &template.area_weights(),
            steady: &[],
            marks: self.marks,
        };
        let explained = model.explain(self.target, start, rounds)?;
        let positions = model.positions(&explained.coefficients);
        let surface = TriMesh { positions, triangles: template.mesh.triangles.clone() };
        let all = self.solids(&explained, &shown);
        // Closed lids hide the eyes: no point of the scan is theirs.
        let is_closed = self.shows_closed_eyes(&shown, &explained);
        let solids = if is_closed { all.without_eyes() } else { all };
        let weights = template.weights_of(&surface, &solids);
        let registration = Registration {
            surface: &surface,
            weights: &weights,
            marks: self.marks,
            scan_from_template: explained.scan_from_template,
            solids: &solids,
            solids_follow: true,
        };
        let mut registered = registration.run(self.target, &bend_stages(), "neutral", progress)?;
        let seen = TriMesh { positions: registered.skin.clone(), triangles: self.seen(&weights) };
        let eyes = solids.carried(&surface.positions, &seen.positions, &weights, &registered.eye_shifts);
        let behind = solids.behind(&eyes, &seen);
        registered.eye_shifts.iter_mut().zip(behind).for_each(|(shift, by)| *shift += by);
        Ok(Attempt { shown, explained, surface, registered })
    }

    /// Whether an attempt has closed eyes.
    fn shows_closed_eyes(&self, shown: &[Shown], explained: &Explained) -> bool {
        let blinks = shown::known(&lids::BLINKS, self.template, |_| lids::CLOSED, [lids::DEVIATION, 0.0]);
        let values = &explained.coefficients[self.prior.modes.len()..];
        let is_blink = |s: &Shown| blinks.iter().any(|b| b.slider == s.slider);
        shown.iter().zip(values).any(|(s, w)| is_blink(s) && *w > HALF_CLOSED)
    }

    /// Triangles of the skin that can be seen.
    fn seen(&self, weights: &[f64]) -> Vec<[u32; 3]> {
        let is_seen = |t: &&[u32; 3]| t.iter().all(|&v| weights[v as usize] > 0.0);
        self.template.mesh.triangles.iter().filter(is_seen).copied().collect()
    }

    /// Eyeballs and teeth of the model.
    fn solids(&self, explained: &Explained, shown: &[Shown]) -> Solids {
        let n_modes = self.prior.modes.len();
        let places = self.prior.face(&explained.coefficients[..n_modes]);
        let solids = Solids::new(self.template, &places, &vec![DMat3::IDENTITY; places.len()]);
        let mut values = vec![0.0; self.template.rig.sliders.len()];
        shown.iter().zip(&explained.coefficients[n_modes..]).for_each(|(s, w)| values[s.slider] = *w);
        solids.posed(&values)
    }

    fn finished(&self, attempt: Attempt) -> NeutralFit {
        let Attempt { shown, explained, surface, registered, .. } = attempt;
        let n_modes = self.prior.modes.len();
        let values = shown.iter().map(|s| s.slider).zip(explained.coefficients[n_modes..].iter().copied());
        let expression: Vec<(usize, f64)> = values.filter(|(_, w)| *w >= SHOWN_LEAST).collect();
        let mut rest = registered.skin.clone();
        for &(s, w) in &expression {
            rest.iter_mut().zip(self.template.slider_mode(s)).for_each(|(p, d)| *p -= d * w);
        }
        let coefficients = explained.coefficients[..n_modes].to_vec();
        NeutralFit {
            scan_from_template: explained.scan_from_template,
            modeled: self.prior.face(&coefficients),
            coefficients,
            expression,
            surface: surface.positions,
            skin: registered.skin,
            rest,
            eye_shifts: registered.eye_shifts,
            notes: Vec::new(),
        }
    }
}

/// The template lacks a shape that the scan shows.
fn cannot(shows: &str, shapes: &str) -> Note {
    let what = format!("{shows} in the neutral, and the template has no {shapes}: the fit is wrong there");
    Note::new(what, "scan a neutral, or give a template that has the shape")
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
