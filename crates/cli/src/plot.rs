//! `plot`: plots values of `perform` over time, several runs in one figure.

use crate::arguments::list;
use crate::outcome::{Failure, Printed};
use clap::{Args, ValueEnum};
use risorius::jobs::plot::{PlotJob, Quantity};
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// Reports that `perform` wrote with --report or printed with --json.
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,
    /// The value to plot over time.
    #[arg(long, value_enum, default_value_t = QuantityName::Mean)]
    value: QuantityName,
    /// Names of the runs, separated by commas; default the file names.
    #[arg(long, value_name = "LIST")]
    label: Option<String>,
    /// Output: the figure (.png).
    #[arg(long, short)]
    output: PathBuf,
}

/// A value that every frame reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum QuantityName {
    /// Mean displacement of the skin by physics, mm.
    Mean,
    /// Largest displacement of the skin by physics, mm.
    Max,
    /// Kinetic energy relative to the head, J.
    Kinetic,
    /// Elastic energy, J.
    Elastic,
    /// Largest residual force at a node, N.
    Residual,
    /// Smallest ratio of an element's volume to its rest volume.
    Volume,
    /// Computation time, s.
    Seconds,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Printed, Failure> {
    let value = match arguments.value {
        QuantityName::Mean => Quantity::Mean,
        QuantityName::Max => Quantity::Max,
        QuantityName::Kinetic => Quantity::Kinetic,
        QuantityName::Elastic => Quantity::Elastic,
        QuantityName::Residual => Quantity::Residual,
        QuantityName::Volume => Quantity::Volume,
        QuantityName::Seconds => Quantity::Seconds,
    };
    let labels = arguments.label.as_deref().map(list);
    let (reports, output) = (arguments.reports.clone(), arguments.output.clone());
    let report = PlotJob { reports, value, labels, output }.run()?;
    let mut text = format!("{}: {} x {} pixels\n", report.output, report.width, report.height);
    for run in &report.runs {
        let (name, mean, max, at) = (&run.name, run.mean, run.max, run.max_at_secs);
        text += &format!("  {name}: mean {mean:.4}, at most {max:.4} ({at:.2} s)\n");
    }
    Printed::new(&report, text)
}
