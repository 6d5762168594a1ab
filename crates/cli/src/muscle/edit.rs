//! `muscle edit`: moves and scales the ends of tracks.

use super::MaterialArgs;
use crate::arguments::files_text;
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::muscle::edit::EditMusclesJob;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// A face whose shapes were solved for (.face).
    face: PathBuf,
    /// The slider whose muscle shape is edited.
    #[arg(long, value_name = "NAME")]
    shape: String,
    /// Move the end of a muscle: to the character's left, up, to the front; repeat for several.
    #[arg(long = "move", value_name = "MUSCLE:X,Y,Z[mm]", allow_hyphen_values = true)]
    moves: Vec<String>,
    /// Scale the end of a muscle around its middle, by one factor or one for each of x, y, z; repeat for
    /// several.
    #[arg(long = "scale", value_name = "MUSCLE:FACTOR[,Y,Z]")]
    scales: Vec<String>,
    /// Do the same on the other side.
    #[arg(long)]
    mirror: bool,
    #[command(flatten)]
    material: MaterialArgs,
    /// Draw the shape by muscles before and after into this file (.png).
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Output: the face with the edited shape (.face).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = EditMusclesJob {
        face: arguments.face.clone(),
        shape: arguments.shape.clone(),
        moves: arguments.moves.clone(),
        scales: arguments.scales.clone(),
        mirror: arguments.mirror,
        material: arguments.material.material(),
        output: arguments.output.clone(),
        picture: arguments.picture.clone(),
    };
    let report = job.run(&session.progress())?;
    let [before, after] = report.skin_moved_mm;
    let mut text = format!(
        "{}: the skin is {:.2} mm from the neutral on average instead of {:.2}, at most {:.1} mm instead of {:.1}; {:.1} s\n",
        report.output, after[0], before[0], after[1], before[1], report.seconds
    );
    for muscle in &report.muscles {
        let ([a, b], [long, short]) = (muscle.activation, muscle.length_mm);
        text += &format!("  {:<42} {a:.2} > {b:.2}, {long:.1} > {short:.1} mm\n", muscle.name);
    }
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}
