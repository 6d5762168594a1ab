//! `muscle solve`: finds the activations of shapes.

use super::{MaterialArgs, leading_text};
use crate::arguments::{files_text, names};
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::muscle::solve::SolveMusclesJob;
use risorius::perform::InverseOptions;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The face (.face).
    face: PathBuf,
    /// Sliders whose shapes are solved for, by names or patterns with * and ?, separated by commas; default
    /// all.
    #[arg(long, value_name = "NAMES")]
    shapes: Option<String>,
    /// Solve for a mesh with the face's vertices instead; the output is the pose that comes nearest.
    #[arg(long, value_name = "MESH")]
    target: Option<PathBuf>,
    /// Number of landmarks, 20 or more; default 480.
    #[arg(long, value_name = "N")]
    landmarks: Option<usize>,
    /// A full activation costs as much as this distance at all landmarks, mm, positive; default 0.1.
    #[arg(long, value_name = "MM", allow_negative_numbers = true)]
    effort: Option<f64>,
    /// Most Gauss-Newton steps; default 14.
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    #[command(flatten)]
    material: MaterialArgs,
    /// Draw the first shapes by the artist and by muscles into this file (.png).
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Output: the face with what was found (.face); with --target, the pose (.glb, .gltf, .obj or .ply).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let usual = InverseOptions::default();
    let job = SolveMusclesJob {
        face: arguments.face.clone(),
        shapes: names(arguments.shapes.as_deref()),
        target: arguments.target.clone(),
        options: InverseOptions {
            landmarks: arguments.landmarks.unwrap_or(usual.landmarks),
            effort_mm: arguments.effort.unwrap_or(usual.effort_mm),
            iterations: arguments.iterations.unwrap_or(usual.iterations),
        },
        material: arguments.material.material(),
        output: arguments.output.clone(),
        picture: arguments.picture.clone(),
    };
    let report = job.run(&session.progress())?;
    let mut text = format!(
        "{}: {} shapes at {} landmarks in {:.1} s\n",
        report.output,
        report.shapes.len(),
        report.landmarks,
        report.seconds
    );
    for shape in &report.shapes {
        text += &format!(
            "  {:<24} {:>5.2} of {:>5.2} mm, at most {:>5.2}; jaw {:>4.1} degrees; {:>2} steps, {:>4} Newton steps, \
             {:>5.1} s{}\n{}",
            shape.shape,
            shape.residual_mm[0],
            shape.before_mm[0],
            shape.residual_mm[1],
            shape.jaw.open_deg,
            shape.steps,
            shape.newton_steps,
            shape.seconds,
            if shape.converged { "" } else { ", not converged" },
            leading_text(&shape.muscles),
        );
    }
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}
