//! From scans to an actor: the neutral, the expressions, the personal blendshapes, the rig [Ichim16].

use crate::FitError;
use crate::blendshapes::{Example, personal_shapes};
use crate::clean::{Cleaned, clean, unusable};
use crate::expressions::Person;
use crate::measure::{Spread, distances};
use crate::neutral::{NeutralFit, fit_neutral};
use crate::person::Personal;
use crate::prior::Prior;
use crate::subspace::Mark;
use crate::target::Target;
use crate::template::Template;
use glam::DVec3;
use risorius_anatomy::Note;
use risorius_base::progress::{Progress, tick};
use risorius_mesh::{Similarity, TriMesh};
use risorius_rig::Rig;
use serde::Serialize;
use std::time::Instant;

/// A raw scan.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// The expression.
    pub name: String,
    /// The surface in its own unit and pose.
    pub mesh: TriMesh,
    /// Places of landmarks in the order of [`risorius_head::landmarks::NAMES`].
    pub landmarks: Vec<Option<DVec3>>,
    /// Approximate values of all sliders of the template; found if unknown.
    pub weights: Option<Vec<f64>>,
}

/// A scan with the surface laid onto it.
#[derive(Debug, Clone)]
pub struct FittedScan {
    /// The cleaned scan.
    pub mesh: TriMesh,
    /// From the space of the template to the scan.
    pub scan_from_template: Similarity,
    /// The registered skin in the template's space.
    pub skin: Vec<DVec3>,
    /// Distance of each vertex of the scan, meters; see [`distances`].
    pub distances: Vec<f64>,
    /// Values of all sliders.
    pub weights: Vec<f64>,
    /// Figures.
    pub report: ScanReport,
}

/// Figures of a fitted scan.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScanReport {
    /// The expression.
    pub name: String,
    /// What cleaning left out.
    pub cleaned: Cleaned,
    /// Distance of the scan from the registered surface, over the narrow face.
    pub distance: Spread,
    /// Distance of the scan from what the model alone explains: identity, or blended shapes.
    pub model: Spread,
    /// Distance of the scan from the personal rig at the scan's weights.
    pub rig: Spread,
    /// Units of the scan in a meter of the actor.
    pub scale: f64,
    /// Rotation of the head relative to the actor's space, as a rotation vector in degrees.
    pub rotation_degrees: [f64; 3],
    /// Slider values that are not zero, by name.
    pub weights: std::collections::BTreeMap<String, f64>,
    /// Time of registration.
    pub seconds: f64,
}

/// The result of a fit.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The personal rig: topology, names and parts of the template.
    pub rig: Rig,
    /// Coefficients of the prior.
    pub identity: Vec<f64>,
    /// The neutral first, then the expressions.
    pub scans: Vec<FittedScan>,
    /// Findings for the user.
    pub notes: Vec<Note>,
}

/// Mean distance in mm above which a fit is called bad.
const BAD_MEAN: f64 = 1.0;

/// Distance in mm that 95 of 100 keep in a fit that is not bad.
const BAD_95: f64 = 4.0;

/// Fits all scans; the neutral is the one at `neutral`. `over_bone` says how still each skin vertex of the
/// template lies over the skull, 0 to 1.
pub fn fit_actor(
    template: &Template,
    prior: &Prior,
    scans: Vec<Scan>,
    neutral: usize,
    over_bone: Vec<f64>,
    name: &str,
    progress: &Progress,
) -> Result<Actor, FitError> {
    let (mut fitted, mut notes) = (Vec::new(), Vec::new());
    let mut expressions = scans;
    let first = expressions.remove(neutral);
    let n = expressions.len() + 1;
    let start = Instant::now();
    tick(progress, "fit: neutral", 0.0)?;
    let taken = Taken::new(template, first, &mut notes)?;
    let quiet: &Progress = &|_, _| progress("fit", 0.0);
    let NeutralFit { scan_from_template, coefficients, modeled, skin } =
        fit_neutral(template, prior, &taken.target, &taken.marks, quiet)?;
    let own = template.skin_part(&modeled);
    let zero = vec![0.0; template.rig.sliders.len()];
    fitted.push(taken.fitted(template, scan_from_template, skin.clone(), &own, zero, start));
    let mut person = Person::new(template, &skin, over_bone)?;
    for (k, scan) in expressions.into_iter().enumerate() {
        tick(progress, "fit", (k + 1) as f32 / n as f32)?;
        let start = Instant::now();
        let given = scan.weights.clone();
        let taken = Taken::new(template, scan, &mut notes)?;
        let quiet: &Progress = &|_, _| progress("fit", (k + 1) as f32 / n as f32);
        let found =
            person.fit(template, &taken.target, &taken.marks, given.as_deref(), &taken.name, quiet)?;
        let pose = found.scan_from_template;
        fitted.push(taken.fitted(template, pose, found.skin, &found.modeled, found.weights, start));
    }
    let examples: Vec<Example> = fitted[1..].iter().map(|f| example(template, f, &skin)).collect();
    person.shapes = personal_shapes(&person.shapes, &examples);
    for scan in &mut fitted {
        let posed = person.posed(&scan.weights);
        let far = distances(template, &posed, &scan.mesh, &scan.scan_from_template);
        scan.report.rig = Spread::of(far.into_iter());
        note_bad(&scan.report, &mut notes);
    }
    let personal =
        Personal { template, modeled: &modeled, skin: &skin, shapes: &person.shapes, frames: &person.frames };
    Ok(Actor { rig: personal.rig(name), identity: coefficients, scans: fitted, notes })
}

/// A scan that was cleaned, with its landmarks on the template.
struct Taken {
    name: String,
    target: Target,
    cleaned: Cleaned,
    marks: Vec<Mark>,
}

/// Least number of landmarks that place a scan.
const FEWEST_MARKS: usize = 4;

impl Taken {
    fn new(template: &Template, scan: Scan, notes: &mut Vec<Note>) -> Result<Self, FitError> {
        let (mesh, cleaned) = clean(scan.mesh, &scan.name)?;
        let marks = template.marks(&scan.landmarks);
        if marks.len() < FEWEST_MARKS {
            let problem = format!("{} landmarks, {FEWEST_MARKS} are needed to place the scan", marks.len());
            return Err(unusable(&scan.name, problem, &["landmarks"]));
        }
        note_cleaned(&scan.name, &cleaned, notes);
        Ok(Self { name: scan.name, target: Target::new(mesh), cleaned, marks })
    }

    fn fitted(
        self,
        template: &Template,
        pose: Similarity,
        skin: Vec<DVec3>,
        modeled: &[DVec3],
        weights: Vec<f64>,
        start: Instant,
    ) -> FittedScan {
        let seconds = start.elapsed().as_secs_f64();
        let far = distances(template, &skin, &self.target.mesh, &pose);
        let model = Spread::of(distances(template, modeled, &self.target.mesh, &pose).into_iter());
        let on = template.rig.sliders.iter().zip(&weights).filter(|(_, w)| w.abs() > 0.005);
        let report = ScanReport {
            name: self.name,
            cleaned: self.cleaned,
            distance: Spread::of(far.iter().copied()),
            model,
            rig: Spread::default(),
            scale: pose.scale,
            rotation_degrees: (pose.rigid.rotation.to_scaled_axis() * 180.0 / std::f64::consts::PI)
                .to_array(),
            weights: on.map(|(s, w)| (s.name.clone(), *w)).collect(),
            seconds,
        };
        FittedScan { mesh: self.target.mesh, scan_from_template: pose, skin, distances: far, weights, report }
    }
}

/// The example that a fitted expression is: what is visible is known.
fn example(template: &Template, scan: &FittedScan, neutral: &[DVec3]) -> Example {
    Example {
        weights: scan.weights.clone(),
        moved: scan.skin.iter().zip(neutral).map(|(p, q)| *p - *q).collect(),
        known: template.weights.iter().map(|w| if *w > 0.0 { 1.0 } else { 0.3 }).collect(),
    }
}

fn note_cleaned(name: &str, cleaned: &Cleaned, notes: &mut Vec<Note>) {
    let Cleaned { not_finite, spikes, floating, turned } = *cleaned;
    if not_finite > 0 {
        let what = format!("scan '{name}': {not_finite} vertices are not finite numbers and are left out");
        notes.push(Note::new(what, "export the scan again if they are many"));
    }
    if spikes + floating > 0 {
        let what = format!(
            "scan '{name}': {spikes} vertices of spikes and {floating} of floating pieces are left out"
        );
        notes.push(Note::new(what, "nothing to do if they are not part of the face"));
    }
    if turned {
        let what = format!("scan '{name}' is inside out and has been turned");
        notes.push(Note::new(what, "flip its normals when it is exported"));
    }
}

/// A bad fit is told by its own distances.
fn note_bad(report: &ScanReport, notes: &mut Vec<Note>) {
    let Spread { mean_mm, p95_mm, n } = report.distance;
    if n == 0 || mean_mm > BAD_MEAN || p95_mm > BAD_95 {
        let what = format!(
            "the fit of '{}' is bad: the scan is {mean_mm:.2} mm from it on average, {p95_mm:.2} mm at 95 %",
            report.name
        );
        let advice = "look at its picture; check its landmarks and its weights, or leave the scan out";
        notes.push(Note::new(what, advice));
    }
}
