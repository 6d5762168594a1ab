//! `plot`: plots values of `perform` over time, several runs in one figure.

use crate::arguments::list;
use crate::outcome::{Failure, Printed};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use risorius::jobs::plot::{PlotJob, Quantity};
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// Reports that `perform` wrote with --report or printed with --json.
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,
    /// The value to plot over time.
    #[arg(long, value_parser = quantity(), default_value = "mean")]
    value: Quantity,
    /// Names of the runs, separated by commas; default the file names.
    #[arg(long, value_name = "LIST")]
    label: Option<String>,
    /// Output: the figure (.png).
    #[arg(long, short)]
    output: PathBuf,
}

/// Parses the name of a quantity; help lists them with their descriptions.
fn quantity() -> impl TypedValueParser<Value = Quantity> {
    let choices = Quantity::ALL.map(|(name, _, about)| PossibleValue::new(name).help(about));
    let by_name = |name: String| Quantity::ALL.into_iter().find(|(n, ..)| *n == name).map(|(_, q, _)| q);
    PossibleValuesParser::new(choices).map(move |name| by_name(name).unwrap_or_default())
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Printed, Failure> {
    let value = arguments.value;
    let labels = arguments.label.as_deref().map(list);
    let (reports, output) = (arguments.reports.clone(), arguments.output.clone());
    let report = PlotJob { reports, value, labels, output }.run()?;
    let mut text = format!("{}: {} x {} pixels\n", report.output, report.width, report.height);
    for run in &report.runs {
        let (name, mean, max, at) = (&run.name, run.mean, run.max, run.max_at_secs);
        text += &format!("  {name}: mean {mean:.4}, at most {max:.4} ({at:.2} s)\n");
    }
    Ok(Printed::new(report, text))
}
