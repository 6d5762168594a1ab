//! Corrective shapes for engines: simulates pairs of sliders at rest and puts what flesh adds into the
//! artist's rig.
//!
//! A whole run simulates the samples of a plan, fits correctives to them, and writes the rig. A farm does the
//! same in steps: `samples` simulates a range and writes it to a file, `join` reads such files and writes the
//! rig, with the same bytes as one run. Samples are kept beside the output while a run computes them, so that
//! it can be resumed. The method is in [`risorius_perform::bake`].

mod on_clip;
mod pictures;
mod report;
mod samples;

pub use on_clip::{ClipErrors, FrameErrors};
pub use report::{
    BakeReport, BakedRig, Corrective, FailedSample, PlanReport, SampleSummary, SampleWeights, Skips,
};
pub use risorius_perform::bake::{Budget, Keep, PairChoice};

use super::perform::{Method, PerformJob, SceneSource};
use super::{peak_mb, plans, shown, write_report, write_rig};
use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_native, expect_not_input};
use crate::source::{BoundContent, ClipReading, sliders_by_pattern};
use glam::{DQuat, DVec3};
use report::Fits;
use risorius_base::Fingerprint;
use risorius_base::progress::{Plan, Progress};
use risorius_flesh::Face;
use risorius_io::native::face;
use risorius_io::output::write_whole;
use risorius_io::specs::formulas::{blender_drivers, formulas};
use risorius_perform::bake::rig::without_inbetweens;
use risorius_perform::bake::{BakeError, BakeKey, FitOptions, Samples, Skipped, baked_rig, fit};
use risorius_perform::{BakePlan, ContactMode, HeadPath, MethodOptions, Performance, Scene};
use risorius_rig::{BoundClip, Evaluator, HeadMotion};
use samples::AllSamples;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bakes corrective shapes.
///
/// ```no_run
/// use risorius::prelude::*;
///
/// let job = BakeJob {
///     face: "head.face".into(),
///     shapes: vec!["jawOpen".into(), "mouth*".into()],
///     clip: Some("talk.csv".into()),
///     output: "rig.glb".into(),
///     ..BakeJob::default()
/// };
/// let report = job.run(&no_progress)?;
/// for corrective in report.rig.iter().flat_map(|rig| &rig.correctives).take(10) {
///     println!("{}: up to {:.1} mm", corrective.shape, corrective.most_mm);
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BakeJob {
    /// The face (`.face`).
    pub face: PathBuf,
    /// The rig to write (`.glb`, `.gltf`), or with `samples` the file of these samples (`.samples`).
    pub output: PathBuf,
    /// The simulation method. Default `volumetric`; with `enrich`, flesh at rest is the artist's unless
    /// something acts on it.
    pub method: Method,
    /// Sliders to bake, by names or patterns with `*` and `?`. By default all that move flesh and are no
    /// correctives.
    pub shapes: Vec<String>,
    /// Which pairs are sampled. Default: those that can need a correction.
    pub pairs: PairChoice,
    /// What of the artist's rig stays as it is. By default the neutral and all shapes; nothing where forces
    /// act, because these change them.
    pub keep: Option<Keep>,
    /// Whether sliders get in-betweens where their way is not straight; only where shapes are kept. Default
    /// true.
    pub inbetweens: bool,
    /// Correctives that move no vertex farther than this are left out, mm, 0 or more. Default 0.1.
    pub visible_mm: f64,
    /// How many correctives are kept, the best ones. Default: all that are visible.
    pub budget: Budget,
    /// Everything that acts on the face, at time 0.
    pub scene: SceneSource,
    /// Rotation of the head as a rotation vector, degrees about +X (the character's left), +Y (up), +Z
    /// (front). Gravity pulls on the flesh accordingly. Default 0.
    pub tilt_degrees: [f64; 3],
    /// How contacts are enforced. Default walls.
    pub contact: ContactMode,
    /// Of `enrich`: how strongly lips that touch in the neutral resist being parted, Pa. Default 0.
    pub adhesion: f64,
    /// Gravity, m/s^2. Only its change relative to the head acts. Default 9.81.
    pub gravity: f64,
    /// Of `volumetric`: share of the stiffness that draws flesh to the blend of shapes with its orientation.
    pub active: Option<f64>,
    /// Only these samples of the plan; the output is a file of samples.
    pub samples: Option<Range<usize>>,
    /// Files of samples to make the rig from, instead of simulating.
    pub join: Vec<PathBuf>,
    /// Write the plan to this `.json` file: all samples with their slider values. Without an output, nothing
    /// else is done.
    pub plan: Option<PathBuf>,
    /// Use samples that an interrupted run of the same request kept beside the output.
    pub resume: bool,
    /// Write normals of shapes: engines that do not compute normals need them. Default true.
    pub normals: bool,
    /// Write the strengths of all shapes as formulas for engines to this `.json` file.
    pub formulas: Option<PathBuf>,
    /// Write drivers of shape keys for Blender to this `.json` file.
    pub drivers: Option<PathBuf>,
    /// Compare the artist's rig and the baked one with the simulation over this clip.
    pub clip: Option<PathBuf>,
    /// How the clip is read.
    pub reading: ClipReading,
    /// Folder for pictures: the strongest correctives, and the errors over the clip.
    pub pictures: Option<PathBuf>,
    /// Also write the report to this `.json` file.
    pub report: Option<PathBuf>,
}

impl Default for BakeJob {
    fn default() -> Self {
        Self {
            face: PathBuf::new(),
            output: PathBuf::new(),
            method: Method::Volumetric,
            shapes: Vec::new(),
            pairs: PairChoice::Auto,
            keep: None,
            inbetweens: true,
            visible_mm: 0.1,
            budget: Budget::All,
            scene: SceneSource::default(),
            tilt_degrees: [0.0; 3],
            contact: ContactMode::default(),
            adhesion: 0.0,
            gravity: 9.81,
            active: None,
            samples: None,
            join: Vec::new(),
            plan: None,
            resume: false,
            normals: true,
            formulas: None,
            drivers: None,
            clip: None,
            reading: ClipReading::default(),
            pictures: None,
            report: None,
        }
    }
}

/// The face, and what acts on it while it is simulated.
struct Setting {
    face: Face,
    fingerprint: Fingerprint,
    scene: Scene,
    options: MethodOptions,
    head: HeadPath,
    /// Whether something acts on the flesh besides its shapes.
    pushed: bool,
}

impl BakeJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<BakeReport> {
        let plan = Plan::new(progress, &plans::BAKE);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        self.check()?;
        let mut notes = Vec::new();
        let setting = self.setting(&mut notes, progress)?;
        let clip = self.clip.as_deref().map(|clip| self.reading.open_for(clip, &setting.face.rig, progress));
        let clip = clip.transpose()?;
        let mut report = match self.join.is_empty() {
            true => self.simulate(&setting, clip.as_ref(), notes, progress)?,
            false => {
                let all = AllSamples::join(&self.join, &setting)?;
                if clip.is_some() {
                    all.expect_same(&setting)?;
                }
                let rig = &setting.face.rig;
                let mut report = BakeReport::new(self.method, rig, all.plan(), None);
                report.notes = notes;
                report.samples = Some(SampleSummary::new(rig, &all, 0, 0.0));
                self.write_plan(&setting, all.plan(), &mut report)?;
                self.make_rig(&setting, &all, clip.as_ref(), &mut report, progress)?;
                report
            }
        };
        (report.seconds, report.peak_mb) = (start.elapsed().as_secs_f64(), peak_mb());
        if let Some(path) = &self.report {
            write_report(&report, path)?;
        }
        Ok(report)
    }

    /// Checks the request before anything is read.
    fn check(&self) -> Result<()> {
        let only_plan = self.plan.is_some() && self.output.as_os_str().is_empty();
        if self.samples.is_some() && !self.join.is_empty() {
            let problem = "samples are either simulated or joined; give one of both";
            return Err(Error::request(problem).with_options(&["samples", "join"]));
        }
        if only_plan && (self.samples.is_some() || !self.join.is_empty()) {
            return Err(Error::request("an output is missing").with_options(&["output"]));
        }
        match &self.samples {
            _ if only_plan => {}
            Some(_) => drop(expect_ending(&self.output, &["samples"], "samples")?),
            None => drop(expect_ending(&self.output, &["glb", "gltf"], "a rig")?),
        }
        let jsons = [("plan", &self.plan), ("formulas", &self.formulas), ("drivers", &self.drivers)];
        for (_, path) in jsons.iter().chain(&[("report", &self.report)]) {
            path.as_deref().map_or(Ok(String::new()), |p| expect_ending(p, &["json"], "this"))?;
        }
        let inputs = self.join.iter().chain([&self.face]).chain(&self.clip).map(PathBuf::as_path);
        let outputs = [Some(&self.output), self.plan.as_ref(), self.formulas.as_ref(), self.drivers.as_ref()];
        for output in outputs.into_iter().flatten() {
            expect_not_input(output, inputs.clone())?;
        }
        expect_native(&self.face, "face")?;
        if self.reading.head.is_some() {
            let problem = "samples are at rest, so the head does not move; tilt it instead";
            return Err(Error::request(problem).with_options(&["head", "tilt"]));
        }
        self.performing().check_method()?;
        let wrong =
            |what, option, value, wanted| Err(BakeError::Option { what, option, value, wanted }.into());
        if !(self.visible_mm >= 0.0 && self.visible_mm.is_finite()) {
            return wrong("the visible displacement", &["visible"], self.visible_mm, "0 mm or more");
        }
        if matches!(self.budget, Budget::Shapes(0) | Budget::Bytes(0)) {
            let wanted = "1 or more: without correctives the rig is the artist's";
            return wrong("the budget", &["budget"], 0.0, wanted);
        }
        match self.tilt_degrees.iter().find(|x| !x.is_finite()) {
            Some(&x) => wrong("a tilt", &["tilt"], x, "in degrees"),
            None => Ok(()),
        }
    }

    /// The same simulation as a performance.
    fn performing(&self) -> PerformJob {
        PerformJob {
            method: self.method,
            contact: self.contact,
            adhesion: self.adhesion,
            gravity: self.gravity,
            active: self.active,
            ..PerformJob::default()
        }
    }

    fn setting(&self, notes: &mut Vec<String>, progress: &Progress) -> Result<Setting> {
        let (face, fingerprint) = face::open_with_fingerprint(&self.face).map_err(in_file(&self.face))?;
        let (scene, factors) = self.scene.resolve(&face, notes, progress)?;
        let options = self.performing().method_options(&[0.0], factors);
        let turned = self.tilt_degrees != [0.0; 3] && self.gravity != 0.0;
        let Scene { colliders, wind, forces, stiffness: _, mass: _, touch: _, held } = &scene;
        let still = colliders.is_empty() && wind.is_empty() && forces.is_empty() && held.is_empty();
        let turn = DVec3::from(self.tilt_degrees).map(f64::to_radians);
        let head = HeadMotion {
            times_secs: vec![0.0],
            positions_m: vec![[0.0; 3]],
            rotations_xyzw: vec![DQuat::from_scaled_axis(turn).to_array()],
        };
        let head = if turned { HeadPath::keyed(&head) } else { HeadPath::default() };
        let pushed = turned || !still;
        if self.method == Method::Enrich && !pushed && self.join.is_empty() {
            let problem = "with enrich, flesh at rest is the artist's unless something acts on it, so there is \
                           nothing to bake; tilt the head, give a scene with forces, or take volumetric";
            return Err(Error::request(problem).with_options(&["tilt", "scene", "method"]));
        }
        Ok(Setting { face, fingerprint, scene, options, head, pushed })
    }

    /// Simulates samples and writes them, or the rig.
    fn simulate(
        &self,
        setting: &Setting,
        clip: Option<&BoundContent>,
        notes: Vec<String>,
        progress: &Progress,
    ) -> Result<BakeReport> {
        let rig = &setting.face.rig;
        let sliders = match self.shapes.is_empty() {
            true => None,
            false => {
                let found = sliders_by_pattern(rig, &self.shapes);
                Some(found.map_err(|e| e.with_options(&["shapes"]))?)
            }
        };
        let (plan, skipped) = BakePlan::new(&setting.face, sliders.as_deref(), self.pairs)?;
        let mut report = BakeReport::new(self.method, rig, &plan, Some(skipped));
        report.notes = notes;
        self.write_plan(setting, &plan, &mut report)?;
        if self.output.as_os_str().is_empty() {
            return Ok(report);
        }
        let range = self.samples.clone().unwrap_or(0..plan.n_samples());
        if range.is_empty() || range.end > plan.n_samples() {
            let n = plan.n_samples();
            let problem = format!("samples {}..{} are none of the plan's 0..{n}", range.start, range.end);
            return Err(Error::request(problem).with_options(&["samples"]));
        }
        let key = setting.key(&plan);
        let kept = samples::Store::open(&self.output, key, &plan, rig)?;
        let computed = kept.compute(setting, &range, self.resume, progress)?;
        let all = AllSamples::new(plan.clone(), computed.parts)?;
        report.samples = Some(SampleSummary::new(rig, &all, computed.n_simulated, computed.seconds));
        report.notes.extend(computed.notes);
        match self.samples {
            Some(_) => {
                all.write(&self.output)?;
                report.output = Some(shown(&self.output));
                report.files.push(shown(&self.output));
            }
            None => self.make_rig(setting, &all, clip, &mut report, progress)?,
        }
        report.notes.extend(kept.remove());
        Ok(report)
    }

    /// Writes the list of samples.
    fn write_plan(&self, setting: &Setting, plan: &BakePlan, report: &mut BakeReport) -> Result<()> {
        let Some(path) = &self.plan else { return Ok(()) };
        write_report(&PlanReport::new(&setting.face.rig, plan), path)?;
        report.files.push(shown(path));
        Ok(())
    }

    /// Fits correctives to all samples, writes the rig, and compares it with the simulation.
    fn make_rig(
        &self,
        setting: &Setting,
        all: &AllSamples,
        clip: Option<&BoundContent>,
        report: &mut BakeReport,
        progress: &Progress,
    ) -> Result<()> {
        let (rig, plan) = (&setting.face.rig, all.plan());
        all.check_enough(rig)?;
        let keep = self.keep.unwrap_or(if all.pushed(setting) { Keep::Nothing } else { Keep::Shapes });
        let mm = rig.space.millimeters(1.0);
        let halves = if self.inbetweens { without_inbetweens(rig, plan) } else { Vec::new() };
        let visible = self.visible_mm / mm;
        let options = FitOptions { keep, halves, visible, budget: self.budget };
        let field = |number: usize| all.field(number);
        let usable = |number: usize| all.is_usable(number);
        let samples = Samples { plan, n_vertices: rig.n_vertices(), field: &field, usable: &usable };
        let fitted = fit(&samples, &options, progress)?;
        let (baked, added) = baked_rig(rig, plan, &fitted);
        let fits = Fits { rig, plan, fitted: &fitted, added: &added, baked: &baked };
        let mut described = fits.report(keep);
        let mut files = write_rig(&baked, &self.output, self.normals)?;
        if let Some(path) = &self.formulas {
            write_whole(path, &formulas(&baked))?;
            files.push(shown(path));
        }
        if let Some(path) = &self.drivers {
            let (bytes, note) = blender_drivers(&baked);
            write_whole(path, &bytes)?;
            files.push(shown(path));
            report.notes.extend(note);
        }
        let mut worst = None;
        if let Some(clip) = clip {
            let rigs = [rig, &baked].map(Evaluator::prepare);
            let (errors, frame) = setting.compare(plan, clip, &rigs, progress)?;
            (described.clip, worst) = (Some(errors), frame);
        }
        if let Some(folder) = &self.pictures {
            files.extend(pictures::write(folder, &fits, all, &described, worst.as_ref())?);
        }
        report.notes.extend(fits.notes(keep));
        report.output = Some(shown(&self.output));
        report.files.extend(files);
        report.rig = Some(described);
        Ok(())
    }
}

impl Setting {
    /// A performance of these slider values, all at time 0.
    fn performance<'a>(&self, clip: &'a BoundClip) -> Performance<'a> {
        Performance { clip, head: self.head.clone(), scene: self.scene.clone() }
    }

    /// What samples of a plan depend on.
    fn key(&self, plan: &BakePlan) -> BakeKey {
        let resting = rows(&self.face, vec![0.0; self.face.rig.sliders.len()]);
        BakeKey::new(self.fingerprint, &self.performance(&resting), &self.options, plan)
    }
}

/// Slider values as frames at time 0.
fn rows(face: &Face, weights: Vec<f32>) -> BoundClip {
    let n_sliders = face.rig.sliders.len();
    let n = weights.len() / n_sliders.max(1);
    BoundClip { times_secs: vec![0.0; n], weights, n_sliders, head: None }
}

/// Why pairs were left out, for reports.
fn skips(skipped: Skipped) -> Skips {
    let Skipped { apart, twins, opposite } = skipped;
    Skips { apart, twins, opposite }
}

/// The folder in which a run keeps its samples.
pub fn partial_folder(output: &Path) -> PathBuf {
    samples::folder_beside(output)
}
