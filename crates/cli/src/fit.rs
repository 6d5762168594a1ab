//! `fit`: lays a template onto scans of a person.

use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::Args;
use risorius::jobs::fit::{FitJob, FitReport};
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// Folder with scans of one person (.ply, .obj, .stl, .glb), one of them named neutral, or a single
    /// scan. NAME.landmarks.json, approximate_weights.json and scans.json beside them are read.
    #[arg(value_name = "SCANS")]
    scans: PathBuf,
    /// The template, a rig or a face, whose topology, UVs and shapes the person gets; default the built-in
    /// head.
    #[arg(long, value_name = "RIG")]
    template: Option<PathBuf>,
    /// JSON file with landmarks of the template that override the detected ones.
    #[arg(long, value_name = "JSON")]
    template_landmarks: Option<PathBuf>,
    /// How faces vary: a rig with the vertices of the template whose shapes are modes of variation, scaled by
    /// their deviation, or an .npz file with mean, modes and deviations.
    #[arg(long, value_name = "RIG")]
    prior: Option<PathBuf>,
    /// Landmarks of a scan, named after it (smile.landmarks.json): 68 points or positions by name. Repeat
    /// for several.
    #[arg(long, value_name = "JSON")]
    landmarks: Vec<PathBuf>,
    /// Approximate slider values of the scans: {"smile": {"mouthSmileLeft": 0.9}}; default
    /// approximate_weights.json beside them.
    #[arg(long, value_name = "JSON")]
    weights: Option<PathBuf>,
    /// Number of flesh nodes of the face, 500 to 200000.
    #[arg(long, value_name = "N", default_value_t = 9000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(500..=200_000))]
    nodes: u32,
    /// Output: the face (.face).
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Output: the personal rig with all shapes of the template (.glb).
    #[arg(long, value_name = "GLB")]
    rig: Option<PathBuf>,
    /// Folder for the registered mesh of each scan (.obj).
    #[arg(long, value_name = "DIR")]
    registered: Option<PathBuf>,
    /// Folder for pictures of each scan, its fit and the distance between them.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = FitJob {
        scans: arguments.scans.clone(),
        template: arguments.template.as_ref().map(Into::into),
        template_landmarks: arguments.template_landmarks.clone(),
        prior: arguments.prior.clone(),
        landmarks: arguments.landmarks.clone(),
        weights: arguments.weights.clone(),
        nodes: arguments.nodes as usize,
        output: arguments.output.clone(),
        rig: arguments.rig.clone(),
        registered: arguments.registered.clone(),
        pictures: arguments.pictures.clone(),
    };
    let report = job.run(&session.progress())?;
    let text = text(&report);
    Ok(Printed::new(report, text))
}

fn text(report: &FitReport) -> String {
    let mut text =
        format!("{} scans fitted by {} in {:.1} s\n", report.scans.len(), report.template, report.seconds);
    text += "  distance of the scan, mm        fit             model           rig             time\n";
    for scan in &report.scans {
        let pair = |s: &risorius::fit::measure::Spread| format!("{:.2} (95 %: {:.2})", s.mean_mm, s.p95_mm);
        let (fit, model, rig) = (pair(&scan.distance), pair(&scan.model), pair(&scan.rig));
        text += &format!("    {:<26}  {fit:<15} {model:<15} {rig:<15} {:.1} s\n", scan.name, scan.seconds);
    }
    for note in &report.notes {
        text += &format!("  note: {} -> {}\n", note.what, note.advice);
    }
    for file in &report.files {
        text += &format!("  {file}\n");
    }
    text
}
