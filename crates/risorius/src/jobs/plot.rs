//! Plots values of performances over time, several runs in one figure.

use super::shown;
use crate::error::{Error, Result};
use crate::files::{expect_ending, stem};
use risorius_io::open::read_file;
use risorius_io::output::write_whole;
use risorius_view::{Series, lines};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// Plots the reports of performances.
#[derive(Debug, Clone, Default)]
pub struct PlotJob {
    /// Reports of [`super::perform::PerformJob`], as JSON files.
    pub reports: Vec<PathBuf>,
    /// The value to plot over time.
    pub value: Quantity,
    /// Names of the runs; the file names by default.
    pub labels: Option<Vec<String>>,
    /// The figure, `.png`.
    pub output: PathBuf,
}

/// A value that every frame reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quantity {
    /// Mean displacement of the skin by physics.
    #[default]
    Mean,
    /// Largest displacement of the skin by physics.
    Max,
    /// Kinetic energy relative to the head.
    Kinetic,
    /// Elastic energy.
    Elastic,
    /// Largest residual force at a node.
    Residual,
    /// Smallest ratio of an element's volume to its rest volume.
    Volume,
    /// Longest motion of a node by the repair of the rest shape.
    RestMoved,
    /// Largest acceleration of a node of the rest shape.
    RestAcceleration,
    /// Computation time.
    Seconds,
}

impl Quantity {
    /// All of them, with the names and descriptions that people choose them by.
    pub const ALL: [(&'static str, Self, &'static str); 9] = [
        ("mean", Self::Mean, "Mean displacement of the skin by physics"),
        ("max", Self::Max, "Largest displacement of the skin by physics"),
        ("kinetic", Self::Kinetic, "Kinetic energy relative to the head"),
        ("elastic", Self::Elastic, "Elastic energy"),
        ("residual", Self::Residual, "Largest force left at a node"),
        ("volume", Self::Volume, "Smallest volume of an element, as a part of its rest"),
        ("rest-moved", Self::RestMoved, "How far the repair of the rest shape moved a node"),
        ("rest-acceleration", Self::RestAcceleration, "Largest acceleration of a node of the rest shape"),
        ("seconds", Self::Seconds, "Time taken"),
    ];

    /// Key in the report, axis label, title.
    fn texts(self) -> [&'static str; 3] {
        match self {
            Self::Mean => ["mean_mm", "mean displacement (mm)", "Skin moved by physics, mean"],
            Self::Max => ["max_mm", "largest displacement (mm)", "Skin moved by physics, largest"],
            Self::Kinetic => {
                ["kinetic", "kinetic energy (J)", "Kinetic energy of the flesh, relative to the head"]
            }
            Self::Elastic => ["elastic", "elastic energy (J)", "Elastic energy of the flesh"],
            Self::Residual => ["residual", "force (N)", "Largest residual force at a node"],
            Self::Volume => ["smallest_det", "volume / rest volume", "Smallest element"],
            Self::RestMoved => ["rest_moved_mm", "longest motion (mm)", "Repair of the rest shape"],
            Self::RestAcceleration => {
                ["rest_acceleration_mm", "acceleration (mm/frame^2)", "Rest shape: largest acceleration"]
            }
            Self::Seconds => ["seconds", "computation time (s)", "Computation time of each frame"],
        }
    }
}

/// The report of a plot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlotReport {
    /// The written file.
    pub output: String,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Key of the plotted value in reports.
    pub value: &'static str,
    /// All runs.
    pub runs: Vec<RunReport>,
}

/// A run in a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// Its name.
    pub name: String,
    /// Number of frames.
    pub frames: usize,
    /// Mean over all frames.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// Time of the largest value.
    pub max_at_secs: f64,
}

impl PlotJob {
    /// Runs the job.
    pub fn run(&self) -> Result<PlotReport> {
        expect_ending(&self.output, &["png"], "a figure")?;
        let reports = &self.reports;
        let names = self.labels.clone().unwrap_or_else(|| reports.iter().map(|r| stem(r)).collect());
        if names.len() != reports.len() {
            let counts = format!("{} labels for {} reports", names.len(), reports.len());
            return Err(Error::request(format!("{counts}; give one for each")));
        }
        let [key, y_label, title] = self.value.texts();
        let mut series = Vec::new();
        for (path, name) in reports.iter().zip(names) {
            let points = points(&read_file(path)?, key).map_err(|error| error.in_file(path))?;
            series.push(Series { name, points });
        }
        let canvas = lines(&series, "time (s)", y_label, title)?;
        write_whole(&self.output, &canvas.encode_png())?;
        let run = |one: &Series| {
            let n = one.points.len();
            let larger = |best: [f64; 2], &p: &[f64; 2]| if p[1] > best[1] { p } else { best };
            let [max_at_secs, max] = one.points.iter().fold([0.0, f64::NEG_INFINITY], larger);
            let mean = one.points.iter().map(|p| p[1]).sum::<f64>() / n as f64;
            RunReport { name: one.name.clone(), frames: n, mean, max, max_at_secs }
        };
        Ok(PlotReport {
            output: shown(&self.output),
            width: canvas.width,
            height: canvas.height,
            value: key,
            runs: series.iter().map(run).collect(),
        })
    }
}

/// Time and `key` of every frame of a report.
fn points(bytes: &[u8], key: &str) -> Result<Vec<[f64; 2]>> {
    let report: Value = serde_json::from_slice(bytes).map_err(|e| {
        Error::failed(format!("this is not a report of `perform`, which is JSON: {e}"))
            .with_options(&["report"])
    })?;
    let advice = "write one with `perform`";
    let missing = |what: &str| Error::failed(format!("{what}; {advice}")).with_options(&["report"]);
    let Some(frames) = report.get("frames").and_then(Value::as_array) else {
        return Err(missing("not a report of `perform`: it has no list of frames"));
    };
    if frames.is_empty() {
        return Err(Error::failed("the report has no frames"));
    }
    let Some(times) = report.get("times_secs").and_then(Value::as_array) else {
        return Err(missing("the report has no times_secs"));
    };
    if times.len() != frames.len() {
        let message = format!("the report has {} times for {} frames", times.len(), frames.len());
        return Err(Error::failed(message));
    }
    let mut points: Vec<[f64; 2]> = Vec::with_capacity(frames.len());
    for (i, (time, frame)) in times.iter().zip(frames).enumerate() {
        let not_a_number =
            |what: String, value: &Value| Error::failed(format!("{what} is {value}, not a number"));
        let secs = time.as_f64().ok_or_else(|| not_a_number(format!("time {i}"), time))?;
        if points.last().is_some_and(|before| secs <= before[0]) {
            return Err(Error::failed(format!("time {i} is {secs} s, which is not after the previous time")));
        }
        let value = frame.get(key).unwrap_or(&Value::Null);
        let number = value.as_f64().ok_or_else(|| not_a_number(format!("{key} of frame {i}"), value))?;
        points.push([secs, number]);
    }
    Ok(points)
}
