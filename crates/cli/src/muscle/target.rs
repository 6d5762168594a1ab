//! `muscle target`: leads muscles to shapes.

use super::{MaterialArgs, leading_text};
use crate::arguments::{files_text, list};
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::muscle::target::TargetMusclesJob;
use risorius::perform::TargetOptions;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The face (.face). Shapes that were not solved for are solved for first.
    face: PathBuf,
    /// Sliders, by names or patterns with * and ?, separated by commas; or a mesh with the face's vertices.
    #[arg(long, value_name = "NAMES|MESH")]
    to: String,
    /// The slider that a mesh is to replace.
    #[arg(long, value_name = "NAME")]
    shape: Option<String>,
    /// Most iterations of snap, morph and simulation, 1 or more; default 5.
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    #[command(flatten)]
    material: MaterialArgs,
    /// Draw the first shapes by the artist and by muscles into this file (.png).
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Plot the snap over the iterations into this file (.png).
    #[arg(long, value_name = "PNG")]
    plot: Option<PathBuf>,
    /// Output: the face with the tracks and snaps (.face).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let usual = TargetOptions::default();
    let job = TargetMusclesJob {
        face: arguments.face.clone(),
        to: list(&arguments.to),
        shape: arguments.shape.clone(),
        options: TargetOptions { iterations: arguments.iterations.unwrap_or(usual.iterations), ..usual },
        material: arguments.material.material(),
        output: arguments.output.clone(),
        picture: arguments.picture.clone(),
        plot: arguments.plot.clone(),
    };
    let report = job.run(&session.progress())?;
    let n = report.shapes.len().max(1) as f64;
    let mean = report.shapes.iter().map(|s| s.ratio).sum::<f64>() / n;
    let mut text = format!(
        "{}: {} shapes, of which {} had to be solved for; the snap is {:.0} % of the raw one on average; {:.1} s\n",
        report.output,
        report.shapes.len(),
        report.solved,
        100.0 * mean,
        report.seconds
    );
    for shape in &report.shapes {
        let snaps: Vec<String> = shape.snaps_mm.iter().map(|s| format!("{:.2}", s[0])).collect();
        text += &format!(
            "  {:<24} snap {} mm; {} muscles lead; volume {:.1} %, smallest element {:.0} %; end {:.1e} m; {:.1} s\n{}",
            shape.shape,
            snaps.join(" > "),
            shape.leading,
            100.0 * shape.volume_ratio,
            100.0 * shape.least_j,
            shape.end_error_m,
            shape.seconds,
            leading_text(&shape.muscles),
        );
    }
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}
