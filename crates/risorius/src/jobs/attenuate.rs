//! Holds pinned points still while sliders move, for a pose or for a whole clip [Lewis05, section 4].

use super::plans;
use crate::error::{Error, Result};
use crate::files::{TakeFiles, expect_ending, extension};
use crate::jobs::pose::Posed;
use crate::pictures::{distances_mm, field_up_to, pin_markers};
use crate::source::{
    BoundContent, ClipReading, Mapping, NamedValues, RigSource, nonzero_weights, slider_names,
    sliders_by_pattern,
};
use crate::takes::write_clip_frames;
use risorius_attenuate::clip::{ClipAttenuated, ClipOptions, FrameReport, attenuate_clip};
use risorius_attenuate::pose::{AttenuateOptions, Attenuated, Motion, PoseAttenuation};
use risorius_attenuate::{PinSet, PinSpec, RigGram, Selection};
use risorius_base::Progress;
use risorius_base::progress::Plan;
use risorius_io::formats::{clip_csv, clip_json};
use risorius_io::output::write_whole;
use risorius_io::specs::weights;
use risorius_rig::classify::correctives::correctives;
use risorius_rig::{BoundClip, Clip, Evaluator, Rig, RigidTrack};
use risorius_view::{DrawOptions, FaceLook, Series, draw, lines, sheet};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Pins of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Pins {
    /// As values.
    Specs(Vec<PinSpec>),
    /// The name of a JSON file, or JSON itself.
    Text(String),
}

impl Default for Pins {
    fn default() -> Self {
        Self::Specs(Vec::new())
    }
}

impl Pins {
    /// Resolves the pins on `rig`.
    pub fn resolve(&self, rig: &Rig) -> Result<PinSet> {
        match self {
            Self::Specs(specs) => Ok(PinSet::resolve(rig, specs)?),
            Self::Text(text) => crate::source::pins_from_text(rig, text),
        }
    }
}

/// Attenuates a pose or a clip.
#[derive(Debug, Clone)]
pub struct AttenuateJob {
    /// The rig.
    pub rig: RigSource,
    /// The points to hold.
    pub pins: Pins,
    /// The requested pose or clip.
    pub what: Posed,
    /// How a clip is read.
    pub clip: ClipReading,
    /// Slider values at which the pins were set; the neutral by default.
    pub from: Posed,
    /// Weight of pinned against other coordinates, 0 or more, or infinite. By default the number of vertices
    /// without a pin divided by the number of vertices with one.
    pub alpha: Option<f64>,
    /// Keep sliders within their ranges.
    pub bounds: bool,
    /// Without `bounds`: how far sliders may go beyond either end of their ranges, in lengths of the range, 0
    /// or more, or infinite. Default 0.5.
    pub overshoot: f64,
    /// Sliders that must not change: names, or patterns with `*` and `?`.
    pub lock: Vec<String>,
    /// Sliders that may change although they are locked, likewise. Correctives, which rigs drive and no
    /// person moves, are locked by default.
    pub free: Vec<String>,
    /// Time over which pins with times fade in and out, seconds, 0 or more. Default 0.2.
    pub fade: f64,
    /// Standard deviation of the smoothing of weight changes over a clip, seconds; 0, the default, for none.
    pub smooth: f64,
    /// New weights (`.json`), or the new clip (`.csv`, `.json`, `.glb`, `.gltf`, `.mdd`, `.pc2`, `.npz`).
    pub output: Option<PathBuf>,
    /// A picture (`.png`). Of a pose: without and with pins, and how far each vertex moved since the pins
    /// were set. Of a clip: the distance of pins over time.
    pub picture: Option<PathBuf>,
}

impl Default for AttenuateJob {
    fn default() -> Self {
        Self {
            rig: RigSource::default(),
            pins: Pins::default(),
            what: Posed::default(),
            clip: ClipReading::default(),
            from: Posed::default(),
            alpha: None,
            bounds: false,
            overshoot: AttenuateOptions::default().overshoot,
            lock: Vec::new(),
            free: Vec::new(),
            fade: 0.2,
            smooth: 0.0,
            output: None,
            picture: None,
        }
    }
}

/// The report of an attenuation.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Attenuation {
    /// Of a pose.
    Pose(PoseAttenuationReport),
    /// Of a clip.
    Clip(ClipAttenuationReport),
}

/// How far some coordinates moved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MotionReport {
    /// Largest distance, in the rig's unit.
    pub max: f64,
    /// Root mean square, in the rig's unit.
    pub rms: f64,
    /// Largest distance, mm.
    pub max_mm: f64,
    /// Root mean square, mm.
    pub rms_mm: f64,
}

impl MotionReport {
    fn new(rig: &Rig, motion: Motion) -> Self {
        let mm = |x: f64| rig.space.millimeters(x);
        Self { max: motion.max, rms: motion.rms, max_mm: mm(motion.max), rms_mm: mm(motion.rms) }
    }
}

/// The report of an attenuated pose.
#[derive(Debug, Clone, Serialize)]
pub struct PoseAttenuationReport {
    /// The new value of every slider.
    pub weights: Map<String, Value>,
    /// The alpha that was used.
    pub alpha: f64,
    /// Number of pinned coordinates.
    pub pinned_coordinates: usize,
    /// Number of coordinates with limits.
    pub limited_coordinates: usize,
    /// Motion of the pins without attenuation.
    pub pinned_before: MotionReport,
    /// Motion of the pins with attenuation.
    pub pinned_after: MotionReport,
    /// Distance of all other coordinates from the requested pose.
    pub others_deviation: MotionReport,
    /// Sliders at an end of their range.
    pub at_bound: Vec<String>,
    /// Gauss-Newton steps.
    pub steps: usize,
    /// KKT residual of the quadratic program, if one was solved.
    pub kkt_residual: Option<f64>,
    /// Condition number of the system.
    pub condition: f64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// What was assumed.
    pub notes: Vec<String>,
    /// Computation time.
    pub seconds: AttenuationSeconds,
    /// Sliders that changed, with requested and attenuated value, largest change first.
    #[serde(skip)]
    pub changed: Vec<(String, [f32; 2])>,
}

/// Computation time of the parts of an attenuation, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct AttenuationSeconds {
    /// Inner products of shapes, once per rig.
    pub inner_products: f64,
    /// Preparing the selection, once per set of pins.
    pub selection: f64,
    /// Factoring its system.
    pub factor: f64,
    /// Solving for one pose.
    pub solve: f64,
}

/// The report of an attenuated clip.
#[derive(Debug, Clone, Serialize)]
pub struct ClipAttenuationReport {
    /// Number of frames.
    pub frames: usize,
    /// The alpha that was used.
    pub alpha: f64,
    /// Number of pinned coordinates.
    pub pinned_coordinates: usize,
    /// Motion of the pins without attenuation.
    pub pinned_before: MotionReport,
    /// Motion of the pins with attenuation.
    pub pinned_after: MotionReport,
    /// Distance of all other coordinates from the requested clip, over all frames.
    pub others_deviation: RmsReport,
    /// Number of frames in which a pin is active.
    pub frames_with_pins: usize,
    /// Largest number of sliders at a bound in any frame.
    pub most_sliders_at_bound: usize,
    /// What was assumed or left out.
    pub notes: Vec<String>,
    /// Which columns drive which sliders.
    pub mapping: Mapping,
    /// The nonzero weights of the first frame.
    pub first_weights: Map<String, Value>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
}

/// A root mean square.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RmsReport {
    /// In the rig's unit.
    pub rms: f64,
    /// mm.
    pub rms_mm: f64,
}

impl AttenuateJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<Attenuation> {
        let plan = Plan::new(progress, &plans::ATTENUATE);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        self.check()?;
        let rig = &self.rig.open_with_sliders(progress)?.rig;
        let set = self.pins.resolve(rig)?;
        let (locked, note) = self.locked(rig)?;
        let start = Instant::now();
        let gram = RigGram::prepare(rig, progress)?;
        let inner_products = start.elapsed().as_secs_f64();
        let prepared = Selection::prepare(&gram, set, &locked);
        let selection = start.elapsed().as_secs_f64() - inner_products;
        if let Posed::Clip(path) = &self.what {
            let mut report = self.attenuate_clip(path, rig, &prepared, progress)?;
            report.notes.extend(note);
            return Ok(Attenuation::Clip(report));
        }
        let mut report = self.attenuate_pose(rig, &prepared)?;
        report.notes.extend(note);
        (report.seconds.inner_products, report.seconds.selection) = (inner_products, selection);
        Ok(Attenuation::Pose(report))
    }

    /// Sliders that must not change, and a note about those of them that are locked by default.
    fn locked(&self, rig: &Rig) -> Result<(Vec<usize>, Option<String>)> {
        let (lock, free) = (sliders_by_pattern(rig, &self.lock)?, sliders_by_pattern(rig, &self.free)?);
        let by_default: Vec<usize> = (correctives(rig).into_iter())
            .filter(|s| lock.binary_search(s).is_err() && free.binary_search(s).is_err())
            .collect();
        let note = by_default.first().map(|&first| {
            let (n, name) = (by_default.len(), &rig.sliders[first].name);
            format!("{n} correctives are not moved ('{name}' ...); `free` with their names or '*' moves them")
        });
        let mut locked: Vec<usize> = lock.into_iter().filter(|s| free.binary_search(s).is_err()).collect();
        locked.extend(by_default);
        locked.sort_unstable();
        Ok((locked, note))
    }

    /// Checks the request before any work is done.
    fn check(&self) -> Result<()> {
        if !(self.fade >= 0.0 && self.smooth >= 0.0) {
            let message = "the times for fading and smoothing must be 0 or more seconds";
            return Err(Error::request(message).with_options(&["fade", "smooth"]));
        }
        if self.alpha.is_some_and(|a| a.is_nan() || a < 0.0) {
            return Err(Error::request("alpha must be 0 or more, or infinite").with_options(&["alpha"]));
        }
        if self.overshoot.is_nan() || self.overshoot < 0.0 {
            let message = "the overshoot must be 0 or more ranges, or infinite";
            return Err(Error::request(message).with_options(&["overshoot"]));
        }
        match (&self.output, &self.what) {
            (Some(output), Posed::Clip(_)) => expect_ending(
                output,
                &["csv", "json", "glb", "gltf", "mdd", "pc2", "npz"],
                "an attenuated clip",
            )?,
            (Some(output), _) => expect_ending(output, &["json"], "a set of weights")?,
            (None, _) => String::new(),
        };
        self.picture.as_ref().map_or(Ok(()), |p| expect_ending(p, &["png"], "a picture").map(drop))
    }

    fn options(&self) -> AttenuateOptions {
        AttenuateOptions { alpha: self.alpha, bounds: self.bounds, overshoot: self.overshoot }
    }

    fn attenuate_pose(&self, rig: &Rig, selection: &Selection) -> Result<PoseAttenuationReport> {
        let pins = selection.set();
        let set = self.clip.set.as_deref();
        let NamedValues { weights: w1, notes } = self.what.weights(rig, set)?;
        let w0 = self.from.weights(rig, set)?.weights;
        let start = Instant::now();
        let pose = PoseAttenuation::prepare(rig, selection, &self.options())?;
        let factor = start.elapsed().as_secs_f64();
        let mut result = pose.solve(&w1, &w0)?;
        result.warnings.extend(no_pins_warning(pins));
        let solve = start.elapsed().as_secs_f64() - factor;
        // Drawn before anything is written, so that a failed run writes nothing.
        let picture = match &self.picture {
            Some(path) => Some((path, pose_picture(rig, pins, [&w0, &w1], &result)?)),
            None => None,
        };
        if let Some(path) = &self.output {
            let named: Vec<(String, f32)> =
                slider_names(rig).into_iter().zip(result.weights.iter().copied()).collect();
            write_whole(path, &weights::write(&named))?;
        }
        if let Some((path, png)) = picture {
            write_whole(path, &png)?;
        }
        let seconds = AttenuationSeconds { factor, solve, ..AttenuationSeconds::default() };
        Ok(PoseAttenuationReport { notes, ..pose_report(rig, pins, &w1, result, seconds) })
    }

    fn attenuate_clip(
        &self,
        path: &Path,
        rig: &Rig,
        selection: &Selection,
        progress: &Progress,
    ) -> Result<ClipAttenuationReport> {
        let set = selection.set();
        let BoundContent { clip, recorded, mapping, moving, notes, .. } =
            self.clip.open_for(path, rig, progress)?;
        let from = match &self.from {
            Posed::Weights(pairs) if pairs.is_empty() => None,
            from => Some(from.weights(rig, self.clip.set.as_deref())?.weights),
        };
        let options =
            ClipOptions { pose: self.options(), from, fade_secs: self.fade, smooth_secs: self.smooth };
        let start = Instant::now();
        let result = attenuate_clip(rig, selection, &clip, &options, progress)?;
        let seconds = start.elapsed().as_secs_f64();
        let picture = match &self.picture {
            Some(path) => Some((path, clip_picture(rig, &clip.times_secs, &result.frames)?)),
            None => None,
        };
        if let Some(output) = &self.output {
            write_clip(rig, &recorded, (&clip, &moving), &result.weights, output, progress)?;
        }
        if let Some((path, png)) = picture {
            write_whole(path, &png)?;
        }
        Ok(clip_report(rig, set, &clip, result, (mapping, notes), seconds))
    }
}

/// A warning if the list of pins is empty.
fn no_pins_warning(set: &PinSet) -> Option<String> {
    let is_empty = set.pins.is_empty() && set.limits.is_empty();
    is_empty.then(|| "there are no pins, so nothing is held".to_string())
}

fn pose_report(
    rig: &Rig,
    set: &PinSet,
    asked: &[f32],
    result: Attenuated,
    seconds: AttenuationSeconds,
) -> PoseAttenuationReport {
    let by = |s: usize| (result.weights[s] - asked[s]).abs();
    let mut changed: Vec<usize> = (0..asked.len()).filter(|&s| by(s) > 5e-4).collect();
    changed.sort_by(|&a, &b| by(b).total_cmp(&by(a)));
    let named = rig.sliders.iter().zip(&result.weights);
    PoseAttenuationReport {
        weights: named.map(|(s, &w)| (s.name.clone(), f64::from(w).into())).collect(),
        alpha: result.alpha,
        pinned_coordinates: set.pins.len(),
        limited_coordinates: set.limits.len(),
        pinned_before: MotionReport::new(rig, result.pinned_before),
        pinned_after: MotionReport::new(rig, result.pinned_after),
        others_deviation: MotionReport::new(rig, result.others_deviation),
        at_bound: result.at_bound.iter().map(|&s| rig.sliders[s].name.clone()).collect(),
        steps: result.steps,
        kkt_residual: result.kkt_residual,
        condition: result.condition,
        changed: changed
            .into_iter()
            .map(|s| (rig.sliders[s].name.clone(), [asked[s], result.weights[s]]))
            .collect(),
        warnings: result.warnings,
        notes: Vec::new(),
        seconds,
    }
}

fn clip_report(
    rig: &Rig,
    set: &PinSet,
    clip: &BoundClip,
    result: ClipAttenuated,
    (mapping, notes): (Mapping, Vec<String>),
    seconds: f64,
) -> ClipAttenuationReport {
    let sum = result.frames.iter().map(|f| f.others_rms.powi(2)).sum::<f64>();
    let rms = (sum / clip.n_frames() as f64).sqrt();
    ClipAttenuationReport {
        frames: clip.n_frames(),
        alpha: result.alpha,
        pinned_coordinates: set.pins.len(),
        pinned_before: MotionReport::new(rig, result.pinned_before),
        pinned_after: MotionReport::new(rig, result.pinned_after),
        others_deviation: RmsReport { rms, rms_mm: rig.space.millimeters(rms) },
        frames_with_pins: result.frames.iter().filter(|f| f.n_held > 0).count(),
        most_sliders_at_bound: result.frames.iter().map(|f| f.n_at_bound).max().unwrap_or(0),
        notes,
        mapping,
        first_weights: nonzero_weights(rig, result.weights.get(..clip.n_sliders).unwrap_or_default()),
        warnings: no_pins_warning(set).into_iter().chain(result.warnings).collect(),
        seconds,
    }
}

/// Alpha with four decimals; large values, which stand for infinity, in scientific notation.
pub fn alpha_text(alpha: f64) -> String {
    match alpha {
        1e9.. => format!("{alpha:e}"),
        10.0..1e9 => format!("{alpha:.1}"),
        _ => format!("{alpha:.4}"),
    }
}

/// The requested and the attenuated pose, and how far each has moved since the pins were set; pins are
/// marked.
fn pose_picture(rig: &Rig, set: &PinSet, [w0, w1]: [&[f32]; 2], result: &Attenuated) -> Result<Vec<u8>> {
    let look = FaceLook::prepare(rig);
    let evaluator = Evaluator::prepare(rig);
    let base = evaluator.positions(w0);
    let (asked, held) = (evaluator.positions(w1), evaluator.positions(&result.weights));
    let markers = pin_markers(set);
    let (far, near) = (distances_mm(rig, &asked, &base), distances_mm(rig, &held, &base));
    let most = far.iter().chain(&near).copied().fold(1e-3, f32::max);
    let mut cells = Vec::new();
    for (positions, values, name) in [(&asked, far, "without pins"), (&held, near, "with pins")] {
        let plain =
            DrawOptions { width: 560, height: 560, markers: markers.clone(), ..DrawOptions::default() };
        let color = DrawOptions { field: Some(field_up_to(values, most, "mm moved")), ..plain.clone() };
        cells.push((draw(&look, positions, &plain)?, name.to_string()));
        cells.push((draw(&look, positions, &color)?, format!("{name}: motion")));
    }
    let title = format!("{} pinned points, alpha {}", markers.len(), alpha_text(result.alpha));
    Ok(sheet(&cells, 2, &title)?.encode_png())
}

/// Distance of pins over time, without and with attenuation.
fn clip_picture(rig: &Rig, times_secs: &[f64], frames: &[FrameReport]) -> Result<Vec<u8>> {
    // Lines are interrupted where no pin is active.
    let shown =
        |f: &FrameReport, m: Motion| if f.n_held > 0 { rig.space.millimeters(m.rms) } else { f64::NAN };
    let line = |name: &str, of: &dyn Fn(&FrameReport) -> Motion| Series {
        name: name.into(),
        points: times_secs.iter().zip(frames).map(|(&t, f)| [t, shown(f, of(f))]).collect(),
    };
    let series = [line("without attenuation", &|f| f.before), line("with attenuation", &|f| f.after)];
    Ok(lines(&series, "time (s)", "rms distance of pins (mm)", "Pinned points over the clip")?.encode_png())
}

/// Writes weights per frame as a clip, or evaluated as a take.
fn write_clip(
    rig: &Rig,
    clip: &Clip,
    (bound, moving): (&BoundClip, &[(usize, RigidTrack)]),
    weights: &[f32],
    output: &Path,
    progress: &Progress,
) -> Result<()> {
    let new = Clip { names: slider_names(rig), values: weights.to_vec(), ..clip.clone() };
    match extension(output).as_str() {
        "csv" => Ok(write_whole(output, &clip_csv::write_csv(&new))?),
        "json" => Ok(write_whole(output, &clip_json::write(&new))?),
        _ => {
            let attenuated = BoundClip { weights: weights.to_vec(), ..bound.clone() };
            let (head, files) = (attenuated.head.as_ref(), TakeFiles::default());
            let (moving, how) = ((moving, head), (false, &files));
            let written = write_clip_frames(rig, &attenuated, moving, &[output], how, progress);
            written.map(drop)
        }
    }
}
