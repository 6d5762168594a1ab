//! `plot`: figures of `perform` over time, several runs in one picture.

use crate::files::expect_ending;
use crate::session::{Failure, Report};
use clap::{Args, ValueEnum};
use risorius_io::open::read_file;
use risorius_io::output::write_whole;
use risorius_view::{Series, lines};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// Reports: what `perform` wrote with --report, or printed with --json.
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,
    /// What is drawn over time.
    #[arg(long, value_enum, default_value_t = Quantity::Mean)]
    value: Quantity,
    /// Names of the runs, separated by commas; those of the files when left out.
    #[arg(long, value_name = "LIST")]
    label: Option<String>,
    /// The figure, .png.
    #[arg(long, short)]
    output: PathBuf,
}

/// A figure that every frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Quantity {
    /// Mean displacement of the skin by physics.
    Mean,
    /// Largest displacement of the skin by physics.
    Max,
    /// Kinetic energy relative to the head.
    Kinetic,
    /// Elastic energy.
    Elastic,
    /// Largest force left at a node.
    Residual,
    /// Smallest volume of an element, as a part of its rest.
    Volume,
    /// Time taken.
    Seconds,
}

impl Quantity {
    /// Key in the report, label of the axis, title.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Mean => ["mean_mm", "mean displacement (mm)", "Skin moved by physics, mean over the skin"],
            Self::Max => ["max_mm", "largest displacement (mm)", "Skin moved by physics, where it is most"],
            Self::Kinetic => {
                ["kinetic", "kinetic energy (J)", "Kinetic energy of the flesh, relative to the head"]
            }
            Self::Elastic => ["elastic", "elastic energy (J)", "Elastic energy of the flesh"],
            Self::Residual => ["residual", "force (N)", "Largest force left at a node"],
            Self::Volume => ["smallest_det", "volume / rest volume", "Smallest element"],
            Self::Seconds => ["seconds", "time taken (s)", "Time taken for each frame"],
        }
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    expect_ending(&arguments.output, &["png"], "a figure")?;
    let reports = &arguments.reports;
    let names = match &arguments.label {
        Some(list) => list.split(',').map(|l| l.trim().to_string()).collect(),
        None => reports.iter().map(|r| stem(r)).collect::<Vec<_>>(),
    };
    if names.len() != reports.len() {
        let counts = format!("{} labels for {} reports", names.len(), reports.len());
        return Err(Failure::wrong_call(format!("{counts}; give one for each")));
    }
    let [key, y_label, title] = arguments.value.words();
    let mut series = Vec::new();
    for (path, name) in reports.iter().zip(names) {
        let points = points(&read_file(path)?, key)
            .map_err(|problem| Failure::could_not(format!("{}: {problem}", path.display())))?;
        series.push(Series { name, points });
    }
    let canvas = lines(&series, "time (s)", y_label, title)?;
    write_whole(&arguments.output, &canvas.encode_png())?;
    let (output, width, height) = (arguments.output.display().to_string(), canvas.width, canvas.height);
    let mut text = format!("{output}: {width} x {height} pixels\n");
    let mut runs = Vec::new();
    for one in &series {
        let n = one.points.len();
        let mean = one.points.iter().map(|p| p[1]).sum::<f64>() / n as f64;
        let most = one
            .points
            .iter()
            .fold([0.0, f64::NEG_INFINITY], |best, &p| if p[1] > best[1] { p } else { best });
        text +=
            &format!("  {}: {mean:.4} in the mean, {:.4} at most ({:.2} s)\n", one.name, most[1], most[0]);
        runs.push(
            json!({ "name": one.name, "frames": n, "mean": mean, "max": most[1], "max_at_secs": most[0] }),
        );
    }
    let json = json!({ "output": output, "width": width, "height": height, "value": key, "runs": runs });
    Ok(Report { json, text })
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Time and `key` of every frame of a report, or what is wrong with it.
fn points(bytes: &[u8], key: &str) -> Result<Vec<[f64; 2]>, String> {
    let report: Value = serde_json::from_slice(bytes).map_err(|e| format!("not JSON: {e}"))?;
    let advice = "write one with `risorius perform ... --report FILE`";
    let Some(frames) = report.get("frames").and_then(Value::as_array) else {
        return Err(format!("not a report of `perform`, as it has no list of frames; {advice}"));
    };
    if frames.is_empty() {
        return Err("the report has no frames".into());
    }
    let Some(times) = report.get("times_secs").and_then(Value::as_array) else {
        return Err(format!("the report has no times_secs; {advice}"));
    };
    if times.len() != frames.len() {
        return Err(format!("the report has {} times for {} frames", times.len(), frames.len()));
    }
    let mut points: Vec<[f64; 2]> = Vec::with_capacity(frames.len());
    for (i, (time, frame)) in times.iter().zip(frames).enumerate() {
        let time = time.as_f64().ok_or_else(|| format!("time {i} is {time}, not a number"))?;
        if points.last().is_some_and(|before| time <= before[0]) {
            return Err(format!("time {i} is {time} s and does not come after the one before"));
        }
        let value = frame.get(key).unwrap_or(&Value::Null);
        points.push([
            time,
            value.as_f64().ok_or_else(|| format!("{key} of frame {i} is {value}, not a number"))?,
        ]);
    }
    Ok(points)
}
