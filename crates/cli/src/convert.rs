//! `convert`: converts rigs to rigs, clips to clips, head motion to CSV, takes to takes.

use crate::arguments::{AboutRig, ClipArgs};
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::{Args, ValueEnum};
use risorius::jobs::convert::ConvertJob;
use risorius::rig::classify::names::Spelling;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// A rig, clip, head motion or take.
    input: PathBuf,
    /// Output: .glb, .gltf, .obj, .ply or a folder (ending with /) for rigs; .csv or .json for clips; .csv
    /// for head motion; .mdd, .pc2 or .npz for takes.
    output: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Spelling of ARKit and ICT names; other names are kept. By default names do not change.
    #[arg(long, value_enum)]
    names: Option<Names>,
    /// Animate the rig with this clip; default the first animation of the input.
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Omit the normals of shapes from a GLB: half the size, but the player computes the shading.
    #[arg(long)]
    no_target_normals: bool,
}

/// How names are spelled.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum Names {
    /// eyeBlinkLeft
    Arkit,
    /// eyeBlink_L
    Ict,
    /// EyeBlinkLeft
    Livelink,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let spelling = |names: Names| match names {
        Names::Arkit => Spelling::Arkit,
        Names::Ict => Spelling::Short,
        Names::Livelink => Spelling::LiveLink,
    };
    let job = ConvertJob {
        input: arguments.about.source(&arguments.input),
        output: arguments.output.clone(),
        names: arguments.names.map(spelling),
        clip: arguments.clip.clone(),
        reading: arguments.clip_args.reading(),
        no_target_normals: arguments.no_target_normals,
    };
    let report = job.run(&session.progress())?;
    let mut text = format!("{}\n{}", report.output, notes_text(&report.notes));
    let n_renamed = report.renamed.as_ref().map_or(0, Vec::len);
    if n_renamed > 0 {
        text += &format!("  {n_renamed} names respelled\n");
    }
    Printed::new(&report, text)
}
