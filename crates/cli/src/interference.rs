//! `interference`: measures which slider disturbs which, as a matrix, a list, and for two sliders on the
//! face.

use crate::arguments::{RigArgs, names};
use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::Args;
use risorius::jobs::interference::InterferenceJob;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Two sliders, for a heat map on the face of where both move, instead of the matrix.
    #[arg(long, value_name = "A,B")]
    sliders: Option<String>,
    /// Largest number of sliders shown in the picture of the matrix; those with the largest effect are shown.
    #[arg(long, default_value_t = 60)]
    most: usize,
    /// Output: the report (.png or .json).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = InterferenceJob {
        rig: arguments.rig.source(),
        sliders: arguments.sliders.as_deref().map(|list| names(Some(list))),
        most: arguments.most,
        output: arguments.output.clone(),
    };
    let report = job.run(&session.progress())?;
    let mut text = format!("{}: {} sliders; strongest:\n", report.output, report.sliders.len());
    for pair in report.strongest.iter().take(10) {
        let (disturbed, by, times) = (&pair.disturbed, &pair.by, pair.value);
        text += &format!(
            "  {by} moves the vertices of {disturbed} {times:.2} times as far as {disturbed} does\n"
        );
    }
    Ok(Printed::new(report, text))
}
