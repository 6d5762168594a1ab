//! From scans to an actor: the neutral, the expressions, the personal blendshapes, the rig [Ichim16, sec. 3].

use crate::FitError;
use crate::blendshapes::{Example, personal_shapes};
use crate::clean::Cleaned;
use crate::expressions::{ExpressionFit, Person};
use crate::find::Finder;
use crate::measure::{Others, Spread, distances};
use crate::neutral::{Neutral, NeutralFit};
use crate::person::Personal;
use crate::prior::Prior;
use crate::slits::passed;
use crate::solids::Solids;
use crate::subspace::vertex_normals;
use crate::taken::Taken;
use crate::template::Template;
use glam::DVec3;
use risorius_anatomy::Note;
use risorius_base::progress::{Progress, tick};
use risorius_head::Head;
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
    /// Whether its landmarks were found on the geometry, not given.
    pub landmarks_found: bool,
    /// Distance of the scan from the registered surface, over the narrow face.
    pub distance: Spread,
    /// Distance of the scan from what the model alone explains: identity, or blended shapes.
    pub model: Spread,
    /// Distance of the scan from the personal rig at the scan's weights.
    pub rig: Spread,
    /// How far lips and lids have passed each other in the registered surface, mm, and how many pairs of
    /// vertices by more than 0.1 mm.
    pub passed_mm: (f64, usize),
    /// Number of visible triangles of the registered surface that are turned over.
    pub n_folded: usize,
    /// Mean distance of an expression from the skin over the skull, which does not move, mm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_bone_mm: Option<f64>,
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

/// Distance in mm over the skull above which an expression is not of the person of the neutral.
const OTHER_PERSON: f64 = 0.8;

/// What a fit works with.
pub struct FitActor<'a> {
    /// The template.
    pub template: &'a Template,
    /// How faces vary.
    pub prior: &'a Prior,
    /// How still each skin vertex of the template lies over the skull, 0 to 1.
    pub over_bone: &'a [f64],
    /// The built-in head, to find landmarks where none are given.
    pub head: &'a Head,
    /// The actor's name.
    pub name: &'a str,
}

impl FitActor<'_> {
    /// Fits all scans; the neutral is the one at `neutral`.
    pub fn run(&self, scans: Vec<Scan>, neutral: usize, progress: &Progress) -> Result<Actor, FitError> {
        let template = self.template;
        let (mut fitted, mut notes) = (Vec::new(), Vec::new());
        let mut expressions = scans;
        let first = expressions.remove(neutral);
        let n = expressions.len() + 1;
        let finder = Finder::prepare(self.head);
        let start = Instant::now();
        let inner: &Progress = &|_, _| progress("fit", 0.0);
        let taken = Taken::new(template, first, &finder, &mut notes, inner)?;
        let neutral = Neutral { template, prior: self.prior, target: &taken.target, marks: &taken.marks };
        let fit = neutral.fit(!taken.found, inner)?;
        notes.extend(fit.notes.iter().cloned());
        note_shown(template, &fit.expression, &mut notes);
        let mut person = Person::new(template, &fit.rest, self.over_bone.to_vec())?;
        for &(s, _) in &fit.expression {
            // These shapes lead from the neutral back to what was scanned, as they led away from it.
            person.shapes[s] = template.slider_mode(s);
        }
        let (places, turns) = self.personal(&fit, &person).places();
        person.solids = Solids::new(template, &places, &turns);
        let mut weights = vec![0.0; template.rig.sliders.len()];
        fit.expression.iter().for_each(|&(s, w)| weights[s] = w);
        let laid = Laid {
            pose: fit.scan_from_template,
            skin: fit.skin.clone(),
            modeled: fit.surface.clone(),
            weights,
        };
        fitted.push(laid.measured(template, &person.solids, taken, start));
        for (k, scan) in expressions.into_iter().enumerate() {
            let at = (k + 1) as f32 / n as f32;
            let inner: &Progress = &|_, _| progress("fit", at);
            tick(progress, "fit", at)?;
            let start = Instant::now();
            let given = scan.weights.clone();
            let taken = Taken::new(template, scan, &finder, &mut notes, inner)?;
            let found =
                person.fit(template, &taken.target, &taken.marks, given.as_deref(), &taken.name, inner)?;
            note_expression(&taken.name, &found, &mut notes);
            let ExpressionFit { scan_from_template: pose, weights, modeled, skin, over_bone, .. } = found;
            let laid = Laid { pose, skin, modeled, weights };
            let mut measured = laid.measured(template, &person.solids, taken, start);
            measured.report.over_bone_mm = Some(over_bone * 1e3);
            fitted.push(measured);
        }
        let examples: Vec<Example> = fitted[1..].iter().map(|f| example(template, f, &fit.rest)).collect();
        person.shapes = personal_shapes(&person.shapes, &examples);
        for scan in &mut fitted {
            let posed = person.posed(&scan.weights);
            let others = Others::of(&person.solids.posed(&scan.weights));
            // The vertices that were measured for the fit.
            let seen = |v: usize| scan.distances[v].is_finite();
            let far = distances(template, &posed, &others, &scan.mesh, &scan.scan_from_template, &seen);
            scan.report.rig = Spread::of(far.into_iter());
            note_bad(&scan.report, &mut notes);
        }
        let rig = self.personal(&fit, &person).rig(self.name);
        Ok(Actor { rig, identity: fit.coefficients, scans: fitted, notes })
    }

    fn personal<'p>(&'p self, fit: &'p NeutralFit, person: &'p Person) -> Personal<'p> {
        Personal {
            template: self.template,
            modeled: &fit.modeled,
            skin: &fit.rest,
            shapes: &person.shapes,
            frames: &person.frames,
            eye_shifts: &fit.eye_shifts,
        }
    }
}

/// A surface laid onto a scan.
struct Laid {
    pose: Similarity,
    skin: Vec<DVec3>,
    /// The skin of the model alone.
    modeled: Vec<DVec3>,
    /// Values of all sliders.
    weights: Vec<f64>,
}

impl Laid {
    /// With its figures.
    fn measured(self, template: &Template, solids: &Solids, taken: Taken, start: Instant) -> FittedScan {
        let seconds = start.elapsed().as_secs_f64();
        let Laid { pose, skin, modeled, weights } = self;
        let others = Others::of(&solids.posed(&weights));
        let far = |skin: &[DVec3]| {
            let seen = |v: usize| taken.target.shows(v, pose.scale);
            distances(template, skin, &others, &taken.target.mesh, &pose, &seen)
        };
        let (model, far) = (Spread::of(far(&modeled).into_iter()), far(&skin));
        let mesh = taken.target.mesh;
        let surface = TriMesh { positions: skin.clone(), triangles: template.mesh.triangles.clone() };
        let (deepest, n_passed) = passed(&surface, &template.mesh.positions, &template.slits);
        let on = template.rig.sliders.iter().zip(&weights).filter(|(_, w)| w.abs() > 0.005);
        let report = ScanReport {
            name: taken.name,
            cleaned: taken.cleaned,
            landmarks_found: taken.found,
            distance: Spread::of(far.iter().copied()),
            model,
            rig: Spread::default(),
            passed_mm: (deepest * 1e3, n_passed),
            n_folded: folded(template, &skin),
            over_bone_mm: None,
            scale: pose.scale,
            rotation_degrees: pose.rigid.rotation.to_scaled_axis().to_array().map(f64::to_degrees),
            weights: on.map(|(s, w)| (s.name.clone(), *w)).collect(),
            seconds,
        };
        FittedScan { mesh, scan_from_template: pose, skin, distances: far, weights, report }
    }
}

/// Number of visible triangles that are turned over: they face away from the smooth surface around them.
fn folded(template: &Template, skin: &[DVec3]) -> usize {
    let triangles = &template.mesh.triangles;
    let normals = vertex_normals(skin, triangles);
    let is_folded = |t: &&[u32; 3]| {
        let [a, b, c] = t.map(|v| skin[v as usize]);
        let around: DVec3 = t.iter().map(|&v| normals[v as usize]).sum();
        let is_seen = t.iter().all(|&v| template.weights[v as usize] > 0.5);
        is_seen && (b - a).cross(c - a).dot(around) < 0.0
    };
    triangles.iter().filter(is_folded).count()
}

/// The neutral shows an expression.
fn note_shown(template: &Template, expression: &[(usize, f64)], notes: &mut Vec<Note>) {
    if expression.is_empty() {
        return;
    }
    let name = |(s, w): &(usize, f64)| format!("{} {w:.2}", template.rig.sliders[*s].name);
    let list: Vec<String> = expression.iter().map(name).collect();
    let what =
        format!("the neutral is not neutral ({}); the actor's neutral is without that", list.join(", "));
    notes.push(Note::new(what, "scan a neutral with the lips closed and the eyes open if you can"));
}

/// An expression may show another person, or be mirrored.
fn note_expression(name: &str, found: &ExpressionFit, notes: &mut Vec<Note>) {
    let off = found.over_bone * 1e3;
    if off > OTHER_PERSON {
        let what = format!(
            "'{name}' may show another person, or its pose is wrong: forehead, nose and cheekbones are {off:.1} \
             mm from those of the neutral"
        );
        let advice = "keep one person to a folder; check the landmarks of the scan";
        notes.push(Note::new(what, advice));
    }
    if found.is_exchanged {
        let what = format!("'{name}' shows the mirror image of its weights");
        let advice = "mirror the scans if they are mirrored, or exchange left and right in the weights";
        notes.push(Note::new(what, advice));
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

/// Notes on a fit whose distances are too large.
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
