//! `perform`: a clip played through the flesh of a face, as frames.

use crate::arguments::{ClipArgs, mapping_text};
use crate::outcome::{Failure, Printed, notes_text};
use crate::perform_scene::SceneArgs;
use crate::session::Session;
use clap::{Args, ValueEnum};
use risorius::jobs::perform::{OutputSpace, PerformJob, PerformReport, Resumed};
use risorius::perform::FrameReport;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The face (.face), made by `build`.
    face: PathBuf,
    /// Slider values over time: Live Link Face CSV, CSV, JSON, or a glTF animation.
    #[arg(long, value_name = "FILE")]
    clip: PathBuf,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// 1: shapes set nothing in motion by themselves; 0: they do, as in a conventional simulation.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    rebalance: f64,
    /// A conventional simulation, for comparison: --rebalance 0.
    #[arg(long, conflicts_with = "rebalance")]
    naive: bool,
    /// Longest time step, seconds.
    #[arg(long, default_value_t = 1.0 / 300.0, allow_negative_numbers = true)]
    dt: f64,
    /// Time steps per frame at least, instead of --dt.
    #[arg(long, value_name = "N", conflicts_with = "dt", value_parser = clap::value_parser!(u32).range(1..=10000))]
    substeps: Option<u32>,
    /// Decay of motion relative to the head, 1/s.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    damping: f64,
    /// Factor on how much shapes tighten the flesh; 0 for a stiffness that stays the same.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    tightening: f64,
    #[command(flatten)]
    acting: SceneArgs,
    /// Gravity, m/s^2; what counts is its change relative to the head.
    #[arg(long, default_value_t = 9.81, allow_negative_numbers = true)]
    gravity: f64,
    /// Smooth the head's motion over this many seconds: captured markers jump. Frames of the head stay as
    /// they are.
    #[arg(long, default_value_t = 0.01, value_name = "SECONDS", allow_negative_numbers = true)]
    smooth_head: f64,
    /// Resume from the frames that an earlier run kept in OUTPUT.partial, as far as nothing that leads to
    /// them changed; and keep them, so that this can be done again after an edit. The take is the same as
    /// without.
    #[arg(long)]
    resume: bool,
    /// What the written vertices are expressed in: the head frame, which a GLB also moves; or the world, in
    /// which vertices move with the head.
    #[arg(long, value_enum, default_value_t = SpaceName::Head)]
    space: SpaceName,
    /// Apply these learned wrinkles to the result (.detail), as `detail apply` does; they have to be of this
    /// rig.
    #[arg(long, value_name = "FILE")]
    detail: Option<PathBuf>,
    /// Output: .glb, .gltf, .mdd, .pc2 or .npz.
    #[arg(long, short)]
    output: PathBuf,
    /// Write what --json prints to this .json file too, for `plot`.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// What written vertices are expressed in.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum SpaceName {
    /// The head frame.
    Head,
    /// The space that the head moves in.
    World,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = PerformJob {
        face: arguments.face.clone(),
        clip: arguments.clip.clone(),
        reading: arguments.clip_args.reading(),
        rebalance: if arguments.naive { 0.0 } else { arguments.rebalance },
        dt: arguments.dt,
        substeps: arguments.substeps,
        damping: arguments.damping,
        tightening: arguments.tightening,
        scene: arguments.acting.scene()?,
        contact: arguments.acting.contact(),
        overlap: arguments.acting.overlap(),
        gravity: arguments.gravity,
        smooth_head: arguments.smooth_head,
        resume: arguments.resume,
        space: match arguments.space {
            SpaceName::Head => OutputSpace::Head,
            SpaceName::World => OutputSpace::World,
        },
        detail: arguments.detail.clone(),
        output: arguments.output.clone(),
        report: arguments.report.clone(),
    };
    let report = job.run(&session.progress())?;
    let n_frames = report.times_secs.len();
    let mut text =
        format!("{}: {n_frames} frames in {:.1} s\n{}", report.output, report.seconds, summary(&report));
    if let Some(Resumed { from, why }) = &report.resumed {
        text += &match n_frames - from {
            0 => format!("  nothing to compute: {why}\n"),
            _ => format!("  computed from frame {from} of {n_frames} on: {why}\n"),
        };
    }
    text += &notes_text(&report.notes);
    text += &mapping_text(&report.mapping);
    Printed::new(&report, text)
}

/// The figures of all frames, for people.
fn summary(report: &PerformReport) -> String {
    let frames = &report.frames;
    let sum = |f: &dyn Fn(&FrameReport) -> usize| frames.iter().map(f).sum::<usize>();
    let steps = sum(&|f| f.steps).max(1);
    let seconds: f64 = frames.iter().map(|f| f.seconds).sum();
    let iterations = [sum(&|f| f.iterations[0]), sum(&|f| f.iterations[1])].map(|n| n as f64 / steps as f64);
    let farther = |best: (usize, f64, u32), (i, f): (usize, &FrameReport)| {
        if f.max_mm > best.1 { (i, f.max_mm, f.vertex) } else { best }
    };
    let (frame, most, vertex) = frames.iter().enumerate().fold((0, 0.0, 0), farther);
    let mean = frames.iter().map(|f| f.mean_mm).sum::<f64>() / frames.len().max(1) as f64;
    let least = frames.iter().map(|f| f.smallest_det).fold(f64::INFINITY, f64::min);
    let mut text = format!(
        "  {steps} steps, {:.1} ms each; {:.1} dynamic and {:.1} static iterations\n",
        1000.0 * seconds / steps as f64,
        iterations[0],
        iterations[1]
    );
    text += &format!(
        "  skin moved by physics: mean {mean:.3} mm, at most {most:.2} mm (frame {frame}, vertex {vertex})\n"
    );
    let (halved, unconverged) = (sum(&|f| f.halved), sum(&|f| f.unconverged));
    text += &format!("  smallest volume of an element {least:.3} of its rest");
    text += &format!("; {halved} steps halved, {unconverged} not converged\n");
    if let (Some(frame), Some(vertex)) = (report.contact.frame, report.contact.vertex) {
        let (most, deepest) = (report.contact.most, report.contact.deepest_mm);
        text += &format!(
            "  up to {most} contacts, {deepest:.2} mm deep at most (frame {frame}, vertex {vertex})\n"
        );
    }
    text
}
