//! Measures which slider disturbs which: a matrix, a list, and for two sliders a heat map on the face.

use super::{plans, shown};
use crate::error::{Error, Result};
use crate::files::expect_ending;
use crate::pictures::interference_matrix;
use crate::source::{RigSource, slider_names, sliders_by_name};
use risorius_attenuate::interference::{Interference, pair_field, region_motion};
use risorius_base::Progress;
use risorius_base::progress::Plan;
use risorius_io::output::write_whole;
use risorius_rig::{Evaluator, Rig};
use risorius_view::{DrawOptions, FaceLook, ScalarField, draw, sheet};
use serde::Serialize;
use std::path::PathBuf;

/// Measures the interference of a rig's sliders.
#[derive(Debug, Clone)]
pub struct InterferenceJob {
    /// The rig.
    pub rig: RigSource,
    /// Two sliders, for a heat map of where both move, instead of the matrix.
    pub sliders: Option<Vec<String>>,
    /// Most sliders in the picture of the matrix; those of largest effect are shown. Default 60.
    pub most: usize,
    /// `.png` or `.json`.
    pub output: PathBuf,
}

impl Default for InterferenceJob {
    fn default() -> Self {
        Self { rig: RigSource::default(), sliders: None, most: 60, output: PathBuf::new() }
    }
}

/// The report; rows and columns are in the order of `sliders`.
#[derive(Debug, Clone, Serialize)]
pub struct InterferenceReport {
    /// The written file.
    #[serde(skip)]
    pub output: String,
    /// Sliders, sorted by effect, largest first.
    pub sliders: Vec<String>,
    /// Effect of each slider.
    pub effect: Vec<f64>,
    /// How far the column's slider moves what the row's slider moves, relative to the row's own motion.
    pub disturbs: Vec<Vec<f64>>,
    /// Cosine of the angle between shapes.
    pub cosine: Vec<Vec<f64>>,
    /// The strongest pairs.
    pub strongest: Vec<Disturbance>,
    /// Motion of regions by each slider.
    pub regions: Vec<RegionReport>,
    /// The two requested sliders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<PairReport>,
}

/// One slider disturbs another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disturbance {
    /// The slider whose motion is disturbed.
    pub disturbed: String,
    /// The slider that disturbs it.
    pub by: String,
    /// Disturbance relative to its own motion.
    pub value: f64,
    /// Cosine of the angle between the shapes.
    pub cosine: f64,
}

/// Motion of a region by each slider, in the order of sliders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionReport {
    /// Its name.
    pub region: String,
    /// Root mean square, mm.
    pub rms_mm: Vec<f64>,
    /// Largest, mm.
    pub max_mm: Vec<f64>,
}

/// Two sliders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairReport {
    /// Their names.
    pub sliders: [String; 2],
    /// How far the second disturbs the first, and the first the second, relative to own motion.
    pub disturbs: [f64; 2],
    /// Cosine of the angle between the shapes.
    pub cosine: f64,
    /// Largest motion where both move.
    pub largest_common_motion_mm: f64,
}

impl InterferenceJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<InterferenceReport> {
        let plan = Plan::new(progress, &plans::INTERFERENCE);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let extension = expect_ending(&self.output, &["png", "json"], "the report")?;
        let rig = &self.rig.open_with_sliders(progress)?.rig;
        let pair = self.sliders.as_ref().map(|names| two_sliders(rig, names)).transpose()?;
        let measured = Interference::measure(rig, progress)?;
        let report = self.report(rig, &measured, pair);
        let bytes = match (extension.as_str(), pair) {
            ("json", _) => serde_json::to_value(&report)
                .and_then(|value| serde_json::to_vec_pretty(&value))
                .map_err(|error| Error::failed(format!("the report cannot be written as JSON: {error}")))?,
            (_, Some((a, b))) => pair_picture(rig, a, b)?,
            (_, None) => interference_matrix(rig, &measured, self.most)?.encode_png(),
        };
        write_whole(&self.output, &bytes)?;
        Ok(report)
    }

    fn report(&self, rig: &Rig, measured: &Interference, pair: Option<(usize, usize)>) -> InterferenceReport {
        let names = slider_names(rig);
        let order = &measured.order;
        let rows = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            order.iter().map(|&i| order.iter().map(|&j| value(i, j)).collect()).collect()
        };
        let mm = |v: &[f64]| order.iter().map(|&s| rig.space.millimeters(v[s])).collect::<Vec<_>>();
        let strongest = measured.strongest(50).into_iter().map(|(i, j, value)| Disturbance {
            disturbed: names[i].clone(),
            by: names[j].clone(),
            value,
            cosine: measured.cosine[(i, j)],
        });
        let regions = region_motion(rig).into_iter().map(|r| RegionReport {
            region: r.region.clone(),
            rms_mm: mm(&r.rms),
            max_mm: mm(&r.max),
        });
        let pair = pair.map(|(a, b)| PairReport {
            sliders: [names[a].clone(), names[b].clone()],
            disturbs: [measured.disturbs[(a, b)], measured.disturbs[(b, a)]],
            cosine: measured.cosine[(a, b)],
            largest_common_motion_mm: {
                let most = pair_field(rig, a, b).iter().copied().fold(0.0, f32::max);
                rig.space.millimeters(most.into())
            },
        });
        InterferenceReport {
            output: shown(&self.output),
            sliders: order.iter().map(|&s| names[s].clone()).collect(),
            effect: order.iter().map(|&s| measured.effect[s]).collect(),
            disturbs: rows(&|i, j| measured.disturbs[(i, j)]),
            cosine: rows(&|i, j| measured.cosine[(i, j)]),
            strongest: strongest.collect(),
            regions: regions.collect(),
            pair,
        }
    }
}

fn two_sliders(rig: &Rig, names: &[String]) -> Result<(usize, usize)> {
    match sliders_by_name(rig, names)?[..] {
        [a, b] if a != b => Ok((a, b)),
        _ => {
            let message = format!("'{}' is not two different sliders", names.join(","));
            Err(Error::request(message).with_options(&["sliders"]))
        }
    }
}

fn pair_picture(rig: &Rig, a: usize, b: usize) -> Result<Vec<u8>> {
    let look = FaceLook::prepare(rig);
    let evaluator = Evaluator::prepare(rig);
    let to_mm = rig.space.millimeters(1.0) as f32;
    let field: Vec<f32> = pair_field(rig, a, b).iter().map(|x| x * to_mm).collect();
    let mut cells = Vec::new();
    for slider in [a, b] {
        let mut weights = vec![0.0; rig.sliders.len()];
        weights[slider] = 1.0;
        let canvas = draw(&look, &evaluator.positions(&weights), &DrawOptions::default())?;
        cells.push((canvas, format!("{} at 1", rig.sliders[slider].name)));
    }
    let options = DrawOptions { field: Some(ScalarField::spanning(field, "mm")), ..DrawOptions::default() };
    cells.push((draw(&look, &rig.neutral, &options)?, "where both move".into()));
    let title = format!("{} and {}", rig.sliders[a].name, rig.sliders[b].name);
    Ok(sheet(&cells, 3, &title)?.encode_png())
}
