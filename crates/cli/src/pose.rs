//! `pose`: evaluates a rig at slider values as a surface, or over a clip as frames.

use crate::arguments::{RigArgs, TakeFileArgs, WeightsOrClip, files_text, mapping_text};
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::pose::PoseJob;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    #[command(flatten)]
    what: WeightsOrClip,
    /// Write the vertices of every frame into the GLB, instead of shapes with a weight animation.
    #[arg(long, conflicts_with = "weights")]
    bake: bool,
    /// Output: .glb, .gltf, .obj or .ply for a pose; .glb, .gltf, .mdd, .pc2 or .npz for a clip. Repeat for
    /// several.
    #[arg(long, short, required = true)]
    output: Vec<PathBuf>,
    #[command(flatten)]
    files: TakeFileArgs,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = PoseJob {
        rig: arguments.rig.source(),
        what: arguments.what.posed(),
        clip: arguments.what.clip_args.reading(),
        bake: arguments.bake,
        output: arguments.output[0].clone(),
        also: arguments.output[1..].to_vec(),
        files: arguments.files.files(),
    };
    let report = job.run(&session.progress())?;
    let mut text = match report.frames {
        Some(frames) => format!("{}: {frames} frames\n", report.output),
        None => format!("{}: {} vertices\n", report.output, report.vertices),
    };
    text += &files_text(&report.files);
    text += &notes_text(report.notes.as_deref().unwrap_or_default());
    text += &report.mapping.as_ref().map(mapping_text).unwrap_or_default();
    Ok(Printed::new(report, text))
}
