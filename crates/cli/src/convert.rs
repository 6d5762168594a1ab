//! `convert`: converts rigs to rigs, clips to clips, head motion to CSV, takes to takes.

use crate::arguments::{AboutRig, ClipArgs, TakeFileArgs, files_text};
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
    /// for head motion; .glb, .gltf, .mdd, .pc2 or .npz for takes.
    output: PathBuf,
    /// The rig of a take, for a .glb of a point cache, or for caches of single meshes.
    #[arg(long, value_name = "FILE")]
    rig: Option<PathBuf>,
    /// Replace the input if the output is the same file.
    #[arg(long)]
    force: bool,
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
    #[command(flatten)]
    files: TakeFileArgs,
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
        rig: arguments.rig.as_deref().map(|rig| arguments.about.source(rig)),
        force: arguments.force,
        names: arguments.names.map(spelling),
        clip: arguments.clip.clone(),
        reading: arguments.clip_args.reading(),
        files: arguments.files.files(),
    };
    let report = job.run(&session.progress())?;
    let mut text = format!("{}\n{}", report.output, files_text(&report.files));
    text += &notes_text(&report.notes);
    let n_renamed = report.renamed.as_ref().map_or(0, Vec::len);
    if n_renamed > 0 {
        text += &format!("  {n_renamed} names respelled\n");
    }
    Ok(Printed::new(report, text))
}
