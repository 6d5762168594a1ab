//! `muscle activate`: poses a face by muscle activations and the jaw.

use super::{MaterialArgs, muscles_text};
use crate::arguments::files_text;
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::muscle::activate::ActivateJob;
use risorius::perform::JawPose;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The face (.face).
    face: PathBuf,
    /// Activations from 0 to 1: zygomaticus_major_L=1,frontalis=0.5 (both sides of a pair without _L or _R),
    /// or a JSON file.
    #[arg(long, default_value = "", value_name = "VALUES")]
    activations: String,
    /// Opening of the jaw in degrees, 0 to 35.
    #[arg(long, default_value_t = 0.0, value_name = "DEGREES", allow_negative_numbers = true)]
    jaw_open: f64,
    /// Protrusion of the jaw, -0.2 to 1.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", allow_negative_numbers = true)]
    jaw_forward: f64,
    /// Motion of the jaw to the character's left (positive) or right, -1 to 1.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", allow_negative_numbers = true)]
    jaw_side: f64,
    #[command(flatten)]
    material: MaterialArgs,
    /// Draw the skin and the muscles, colored by tension, into this file (.png).
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Output: the pose (.glb, .gltf, .obj or .ply).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = ActivateJob {
        face: arguments.face.clone(),
        activations: arguments.activations.clone(),
        jaw: JawPose {
            open_deg: arguments.jaw_open,
            forward: arguments.jaw_forward,
            side: arguments.jaw_side,
        },
        material: arguments.material.material(),
        output: arguments.output.clone(),
        picture: arguments.picture.clone(),
    };
    let report = job.run(&session.progress())?;
    let solve = &report.solve;
    let mut text = format!(
        "{}: the skin moved by {:.2} mm on average, at most {:.1} mm; {} Newton steps in {:.1} s\n  \
         the flesh has {:.1} % of its volume, its smallest element {:.0} %; {} contacts, {:.2} mm deep\n",
        report.output,
        report.skin_moved_mm[0],
        report.skin_moved_mm[1],
        solve.iterations,
        report.seconds[1],
        100.0 * report.volume_ratio,
        100.0 * solve.least_j,
        solve.contacts,
        solve.depth_mm,
    );
    text += &muscles_text(&report.muscles);
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}
