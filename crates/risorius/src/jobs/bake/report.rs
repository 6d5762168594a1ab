//! Reports of baking.

use super::on_clip::ClipErrors;
use super::samples::{AllSamples, levels};
use super::{Keep, skips};
use crate::jobs::perform::Method;
use risorius_perform::BakePlan;
use risorius_perform::bake::choose::target_bytes;
use risorius_perform::bake::{BakedShape, Ending, Fitted, Skipped};
use risorius_rig::Rig;
use serde::Serialize;

/// The report of a bake.
#[derive(Debug, Clone, Serialize)]
pub struct BakeReport {
    /// The written rig or file of samples; none if only a plan was written.
    pub output: Option<String>,
    /// All written files.
    pub files: Vec<String>,
    /// The simulation method.
    pub method: Method,
    /// Names of the sliders.
    pub sliders: Vec<String>,
    /// Pairs that are sampled.
    pub pairs: usize,
    /// Pairs that are not, if this run made the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skips>,
    /// Samples of the plan.
    pub planned: usize,
    /// Samples of this run, if it simulated any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleSummary>,
    /// The baked rig, if one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rig: Option<BakedRig>,
    /// What was assumed and what is doubtful.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
    /// Peak memory, MB.
    pub peak_mb: f64,
}

/// Pairs that are not sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Skips {
    /// Their shapes move nothing in common.
    pub apart: usize,
    /// One shape is a multiple of the other.
    pub twins: usize,
    /// Their shapes move the skin in opposite directions.
    pub opposite: usize,
}

/// Simulated samples.
#[derive(Debug, Clone, Serialize)]
pub struct SampleSummary {
    /// The first, and the one after the last.
    pub range: [usize; 2],
    /// How many were simulated; the others were kept from an earlier run.
    pub simulated: usize,
    /// Time of the simulation, seconds.
    pub seconds: f64,
    /// How many settled at the second attempt only.
    pub retried: usize,
    /// Samples that were used although the last iterations still moved something.
    pub unsettled: Vec<SampleWeights>,
    /// Samples that could not be simulated; the fit goes without them.
    pub failed: Vec<FailedSample>,
    /// The deepest contact beyond what the artist's pose has, mm.
    pub depth_mm: f64,
}

/// A rig with correctives.
#[derive(Debug, Clone, Serialize)]
pub struct BakedRig {
    /// What of the artist's rig stayed as it was.
    pub keep: Keep,
    /// Correctives, the strongest first.
    pub correctives: Vec<Corrective>,
    /// Candidates that would not have been visible.
    pub invisible: usize,
    /// Visible candidates beyond the budget.
    pub over_budget: usize,
    /// Candidates of which too many samples failed.
    pub unsampled: usize,
    /// Bytes of the positions of all correctives as sparse morph targets.
    pub bytes: usize,
    /// Vertices that flesh moves in any sample.
    pub vertices: usize,
    /// Distance of the artist's rig from the samples, mm: mean and largest.
    pub before_mm: [f64; 2],
    /// Distance of the baked rig, mm.
    pub after_mm: [f64; 2],
    /// The sample where the baked rig is farthest.
    pub worst: SampleWeights,
    /// Distances over a clip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<ClipErrors>,
}

/// A shape that was added.
#[derive(Debug, Clone, Serialize)]
pub struct Corrective {
    /// Its name.
    pub shape: String,
    /// Its slider, for an in-between, or its sliders.
    pub sliders: Vec<String>,
    /// The largest displacement that it corrects by, mm.
    pub most_mm: f64,
    /// Number of vertices that it moves.
    pub vertices: usize,
}

/// The slider values of a sample.
#[derive(Debug, Clone, Serialize)]
pub struct SampleWeights {
    /// Its number.
    pub sample: usize,
    /// Values by name; all others are 0.
    pub weights: serde_json::Map<String, serde_json::Value>,
}

/// A sample that could not be simulated.
#[derive(Debug, Clone, Serialize)]
pub struct FailedSample {
    /// Its slider values.
    #[serde(flatten)]
    pub weights: SampleWeights,
    /// Why.
    pub problem: String,
}

/// A plan: everything that a farm must know to split it.
#[derive(Debug, Clone, Serialize)]
pub struct PlanReport {
    /// Slider values of samples.
    pub levels: Vec<f32>,
    /// Sliders.
    pub sliders: Vec<String>,
    /// Pairs, by names.
    pub pairs: Vec<[String; 2]>,
    /// Number of samples.
    pub n_samples: usize,
    /// Samples in their order.
    pub samples: Vec<SampleWeights>,
}

fn weights(rig: &Rig, plan: &BakePlan, sample: usize) -> SampleWeights {
    let values = plan.values(sample).into_iter();
    let named = values.map(|(s, value)| (name(rig, plan, s), f64::from(value).into()));
    SampleWeights { sample, weights: named.collect() }
}

/// The slider values of a sample, for messages.
pub(super) fn weights_text(rig: &Rig, plan: &BakePlan, sample: usize) -> String {
    let values = plan.values(sample).into_iter();
    let named: Vec<String> = values.map(|(s, value)| format!("{}={value}", name(rig, plan, s))).collect();
    if named.is_empty() { "the neutral".into() } else { named.join(", ") }
}

fn name(rig: &Rig, plan: &BakePlan, slider: usize) -> String {
    rig.sliders[plan.sliders[slider] as usize].name.clone()
}

impl PlanReport {
    pub(super) fn new(rig: &Rig, plan: &BakePlan) -> Self {
        let name = |s: usize| name(rig, plan, s);
        Self {
            levels: levels(),
            sliders: (0..plan.sliders.len()).map(name).collect(),
            pairs: plan.pairs.iter().map(|pair| pair.map(|s| name(s as usize))).collect(),
            n_samples: plan.n_samples(),
            samples: (0..plan.n_samples()).map(|sample| weights(rig, plan, sample)).collect(),
        }
    }
}

impl BakeReport {
    pub(super) fn new(method: Method, rig: &Rig, plan: &BakePlan, skipped: Option<Skipped>) -> Self {
        Self {
            output: None,
            files: Vec::new(),
            method,
            sliders: (0..plan.sliders.len()).map(|s| name(rig, plan, s)).collect(),
            pairs: plan.pairs.len(),
            skipped: skipped.map(skips),
            planned: plan.n_samples(),
            samples: None,
            rig: None,
            notes: Vec::new(),
            seconds: 0.0,
            peak_mb: 0.0,
        }
    }
}

impl SampleSummary {
    pub(super) fn new(rig: &Rig, all: &AllSamples, simulated: usize, seconds: f64) -> Self {
        let range = all.range();
        let ended = |ending: Ending| range.clone().filter(move |&n| all.outcome(n).ending == ending);
        let weights = |sample: usize| weights(rig, all.plan(), sample);
        let failed = |sample: usize| {
            let problem = all.outcome(sample).problem.clone();
            FailedSample { weights: weights(sample), problem }
        };
        Self {
            range: [range.start, range.end],
            simulated,
            seconds,
            retried: ended(Ending::Retried).count(),
            unsettled: ended(Ending::Unsettled).map(weights).collect(),
            failed: ended(Ending::Failed).map(failed).collect(),
            depth_mm: range.clone().map(|n| f64::from(all.outcome(n).depth_mm)).fold(0.0, f64::max),
        }
    }
}

/// Fitted correctives with all that describes them.
pub(super) struct Fits<'a> {
    pub rig: &'a Rig,
    pub plan: &'a BakePlan,
    pub fitted: &'a Fitted,
    pub added: &'a [BakedShape],
    pub baked: &'a Rig,
}

impl Fits<'_> {
    pub fn report(&self, keep: Keep) -> BakedRig {
        let mm = self.rig.space.millimeters(1.0);
        let mut order: Vec<&BakedShape> = self.added.iter().collect();
        order.sort_by(|a, b| b.most.total_cmp(&a.most).then(a.shape.cmp(&b.shape)));
        let corrective = |added: &BakedShape| {
            let shape = &self.baked.shapes[added.shape];
            Corrective {
                shape: shape.name.clone(),
                sliders: added.sliders.iter().map(|&s| self.rig.sliders[s].name.clone()).collect(),
                most_mm: mm * added.most,
                vertices: shape.deltas.vertices.len(),
            }
        };
        let correctives: Vec<Corrective> = order.into_iter().map(corrective).collect();
        let errors = &self.fitted.errors;
        BakedRig {
            keep,
            bytes: correctives.iter().map(|c| target_bytes(c.vertices)).sum(),
            correctives,
            invisible: self.fitted.invisible,
            over_budget: self.fitted.over_budget,
            unsampled: self.fitted.unsampled,
            vertices: errors.vertices,
            before_mm: errors.before.map(|x| mm * x),
            after_mm: errors.after.map(|x| mm * x),
            worst: weights(self.rig, self.plan, errors.worst_after),
            clip: None,
        }
    }

    /// What people should know about the rig.
    pub fn notes(&self, keep: Keep) -> Vec<String> {
        let mut notes = Vec::new();
        if self.added.is_empty() && keep == Keep::Shapes {
            notes.push("no corrective is visible, so the rig is the artist's".to_string());
        }
        let renamed = self.added.iter().filter(|a| {
            let name = &self.baked.shapes[a.shape].name;
            name.ends_with("_baked") || name.contains("_baked")
        });
        if renamed.count() > 0 {
            let why = "the rig has shapes of the usual names already";
            notes.push(format!(
                "{why}; keep the .rig.json beside the rig, which says what the new shapes mean"
            ));
        }
        notes
    }
}
