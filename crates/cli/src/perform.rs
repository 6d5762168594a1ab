//! `perform`: simulates a clip on the flesh of a face and writes the frames.

use crate::arguments::{ClipArgs, TakeFileArgs, files_text, mapping_text};
use crate::outcome::{Failure, Printed, notes_text};
use crate::perform_scene::SceneArgs;
use crate::session::Session;
use clap::{Args, ValueEnum};
use risorius::files::is_rig;
use risorius::jobs::perform::{
    FitReport, FitRow, Look, MAX_SHAPES, OutputSpace, PerformJob, PerformReport, Resumed,
};
use risorius::perform::FrameReport;
use risorius::rig::FileVertex;
use std::path::{Path, PathBuf};

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The face (.face), made by `build`.
    face: PathBuf,
    /// Slider values over time: Live Link Face CSV, CSV, JSON, or the animation of a glTF or FBX.
    #[arg(long, value_name = "FILE")]
    clip: PathBuf,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// How far flesh swings: a preset of --stiffness, --gain and --viscosity.
    #[arg(long, value_enum, default_value_t = LookName::Natural)]
    look: LookName,
    /// Factor on what the motion of the head does to the flesh, 0 or more; multiplies that of --look.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    gain: f64,
    /// Factor on the viscosity of the flesh, 0 or more; multiplies that of --look. Less rings longer.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    viscosity: f64,
    /// Share of dynamic rebalancing, 0 to 1. 1: changing sliders does not shake the flesh. 0: it does, as in
    /// a conventional simulation.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    rebalance: f64,
    /// Run a conventional simulation, for comparison; same as --rebalance 0.
    #[arg(long, conflicts_with = "rebalance")]
    naive: bool,
    /// Longest time step, seconds, positive; default 1/300 s.
    #[arg(long, default_value_t = 1.0 / 300.0, allow_negative_numbers = true)]
    dt: f64,
    /// At least N time steps per frame, 1 to 10000; replaces --dt.
    #[arg(long, value_name = "N", conflicts_with = "dt", value_parser = clap::value_parser!(u32).range(1..=10000))]
    substeps: Option<u32>,
    /// Decay rate of motion relative to the head, 1/s, 0 or more; typical values are 0 to 10.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    damping: f64,
    /// How much active shapes stiffen the flesh, as a factor, 0 or more. 0 keeps the stiffness constant.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    tightening: f64,
    #[command(flatten)]
    acting: SceneArgs,
    /// Gravity, m/s^2. An upright head does not sag; only tilting the head has an effect.
    #[arg(long, default_value_t = 9.81, allow_negative_numbers = true)]
    gravity: f64,
    /// Width of the smoothing (standard deviation) of the head motion, seconds; 0 for none. Default 0.6
    /// frames, and at least 0.01 s: as a camera's shutter, it removes what is too fast for the frame rate,
    /// and jumps of captured markers. The written head motion is not smoothed.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    smooth_head: Option<f64>,
    /// Reuse the frames before the first changed input that an earlier run kept in OUTPUT.partial. Also keep
    /// the frames of this run, for the next run after an edit. The result does not change.
    #[arg(long)]
    resume: bool,
    /// Coordinates of the written vertices: relative to the head, where a GLB also contains the head motion;
    /// or in the world, where vertices move with the head.
    #[arg(long, value_enum, default_value_t = SpaceName::Head)]
    space: SpaceName,
    /// Apply these learned wrinkles (.detail) to the result, as `detail apply` does; they must belong to this
    /// rig.
    #[arg(long, value_name = "FILE")]
    detail: Option<PathBuf>,
    /// Output: .glb, .gltf, .mdd, .pc2 or .npz. Repeat for several. Frames are kept beside the first while
    /// they are computed.
    #[arg(long, short, required = true)]
    output: Vec<PathBuf>,
    #[command(flatten)]
    files: TakeFileArgs,
    /// Fit N shapes to what physics adds, 1 to 256. A .glb then holds the artist's shapes, these N, and the
    /// animation of all of them, instead of a target for every frame; point caches hold the exact frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_SHAPES as i64))]
    fit_shapes: Option<u16>,
    /// Draw the error over the number of fitted shapes (.png).
    #[arg(long, value_name = "FILE", requires = "fit_shapes")]
    fit_plot: Option<PathBuf>,
    /// Also write the JSON report to this file (.json), for `plot`.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// How far flesh swings.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum LookName {
    /// Firm flesh.
    Subtle,
    /// Flesh as measured on people.
    Natural,
    /// Heavy, loose flesh.
    Strong,
    /// Squash and stretch beyond what flesh does.
    Cartoon,
}

/// The frame in which written vertices are expressed.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum SpaceName {
    /// The head frame.
    Head,
    /// The world, in which the head moves.
    World,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    expect_face(&arguments.face)?;
    let job = PerformJob {
        face: arguments.face.clone(),
        clip: arguments.clip.clone(),
        reading: arguments.clip_args.reading(),
        look: match arguments.look {
            LookName::Subtle => Look::Subtle,
            LookName::Natural => Look::Natural,
            LookName::Strong => Look::Strong,
            LookName::Cartoon => Look::Cartoon,
        },
        gain: arguments.gain,
        viscosity: arguments.viscosity,
        rebalance: if arguments.naive { 0.0 } else { arguments.rebalance },
        dt: arguments.dt,
        substeps: arguments.substeps,
        damping: arguments.damping,
        tightening: arguments.tightening,
        scene: arguments.acting.scene()?,
        contact: arguments.acting.contact(),
        adhesion: arguments.acting.adhesion,
        gravity: arguments.gravity,
        smooth_head: arguments.smooth_head,
        resume: arguments.resume,
        space: match arguments.space {
            SpaceName::Head => OutputSpace::Head,
            SpaceName::World => OutputSpace::World,
        },
        detail: arguments.detail.clone(),
        output: arguments.output[0].clone(),
        also: arguments.output[1..].to_vec(),
        files: arguments.files.files(),
        fit_shapes: arguments.fit_shapes.map(usize::from),
        fit_plot: arguments.fit_plot.clone(),
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
    text += &report.fit.as_ref().map(fit_text).unwrap_or_default();
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    text += &mapping_text(&report.mapping);
    Printed::new(&report, text)
}

/// A summary of all frames as text.
fn summary(report: &PerformReport) -> String {
    let frames = &report.frames;
    let sum = |f: &dyn Fn(&FrameReport) -> usize| frames.iter().map(f).sum::<usize>();
    let steps = sum(&|f| f.steps).max(1);
    let seconds: f64 = frames.iter().map(|f| f.seconds).sum();
    let iterations = [sum(&|f| f.iterations[0]), sum(&|f| f.iterations[1])].map(|n| n as f64 / steps as f64);
    let mean = frames.iter().map(|f| f.mean_mm).sum::<f64>() / frames.len().max(1) as f64;
    let least = frames.iter().map(|f| f.smallest_det).fold(f64::INFINITY, f64::min);
    let mut text = format!(
        "  {steps} steps, {:.1} ms each; {:.1} dynamic and {:.1} static iterations\n",
        1000.0 * seconds / steps as f64,
        iterations[0],
        iterations[1]
    );
    let most = match &report.moved_most {
        Some(most) => format!("{:.2} mm ({})", most.mm, place(most.frame, most.vertex.as_ref())),
        None => "0 mm".into(),
    };
    text += &format!("  skin moved by physics: mean {mean:.3} mm, at most {most}\n");
    let (halved, unconverged) = (sum(&|f| f.halved), sum(&|f| f.unconverged));
    text += &format!("  smallest element volume {least:.3} of its rest volume");
    text += &format!("; {halved} steps halved, {unconverged} not converged\n");
    if let Some(frame) = report.contact.frame {
        let (most, deepest) = (report.contact.most, report.contact.deepest_mm);
        let place = place(frame, report.contact.vertex.as_ref());
        text += &format!("  up to {most} contacts, at most {deepest:.2} mm deep ({place})\n");
    }
    let rest = &report.rest;
    if let (1.., Some(frame)) = (rest.repaired, rest.frame) {
        text += &format!(
            "  rest shapes repaired in {} frames ({} with inverted elements, {} not smoothly), nodes moved by at most {:.2} mm (frame {frame})\n",
            rest.repaired, rest.inverted, rest.jumping, rest.moved_mm
        );
    }
    text
}

/// A frame and a vertex of the artist's file.
fn place(frame: usize, vertex: Option<&FileVertex>) -> String {
    vertex.map_or_else(|| format!("frame {frame}"), |vertex| format!("frame {frame}, {vertex}"))
}

/// What fitted shapes leave, for a few numbers of shapes.
fn fit_text(fit: &FitReport) -> String {
    let n = fit.shapes.len();
    let row = |row: &FitRow| {
        let (mean, max) = (row.mean_mm, row.max_mm);
        let at = place(row.frame, row.vertex.as_ref());
        format!("  {:>5}: mean {mean:.3} mm, at most {max:.2} mm ({at})\n", row.shapes)
    };
    let is_shown = |row: &&FitRow| [0, n].contains(&row.shapes) || row.shapes.is_power_of_two();
    let rows: String = fit.errors.iter().filter(is_shown).map(row).collect();
    format!("  {n} shapes fitted to physics; distance from the take by their number:\n{rows}")
}

/// Says how to make a face from a rig that was given instead of one.
fn expect_face(path: &Path) -> Result<(), Failure> {
    if !is_rig(path) {
        return Ok(());
    }
    let (rig, face) = (path.display(), path.with_extension("face"));
    let face = face.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let problem = format!("{rig} is a rig; `perform` needs a face (.face), which has flesh and bones");
    let message = format!("{problem}. Make one: risorius build {rig} -o {face}");
    Err(Failure { message, code: 1 })
}
