//! `perform`: simulates a clip on the flesh of a face and writes the frames.

use crate::arguments::{ClipArgs, TakeFileArgs, files_text, mapping_text};
use crate::batch::{self, memory};
use crate::outcome::{Failure, Printed, notes_text};
use crate::perform_scene::SceneArgs;
use crate::session::Session;
use clap::{Args, ValueEnum};
use risorius::files::{extension, is_rig};
use risorius::jobs::batch::{Batch, has_mark, is_folder};
use risorius::jobs::perform::{
    CLIP_MARK, FitReport, FitRow, Look, MAX_SHAPES, Method, OutputSpace, PerformJob, PerformReport,
    PreviewReport, Resumed,
};
use risorius::perform::{FrameReport, Stepping};
use risorius::rig::FileVertex;
use std::path::{Path, PathBuf};

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The face (.face), made by `build`.
    #[arg(required_unless_present = "clip")]
    face: Option<PathBuf>,
    /// Slider values over time: Live Link Face CSV, CSV, JSON, or the animation of a glTF or FBX. Several
    /// clips give a take each: -o is then a folder, or a name with {clip} in it, for the clip's name.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    clip: Vec<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// How flesh is simulated. See docs/performing.md and docs/volumetric.md.
    #[arg(long, value_enum, default_value_t = MethodName::Enrich)]
    method: MethodName,
    /// Of --method volumetric: share of the stiffness that draws flesh to the blend of shapes with its
    /// orientation, 0 to 1; default 0.5.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    active: Option<f64>,
    /// Of --method volumetric: most iterations of a time step, 1 or more; default 40.
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    /// Of --method volumetric: make every pose without forces the artist's, not only those of single shapes.
    #[arg(long)]
    exact: bool,
    /// Of --method muscles: share of the final snaps, 0 to 1; default 1, with which a slider that is on alone
    /// shows the artist's shape.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    snap: Option<f64>,
    /// Of --method muscles: flesh without inertia, at rest in every frame.
    #[arg(long)]
    no_inertia: bool,
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
    /// Longest time step, seconds, positive; default 1/200 s, and 1/60 s for --method volumetric.
    #[arg(long, allow_negative_numbers = true)]
    dt: Option<f64>,
    /// The formula of the time steps.
    #[arg(long, value_enum, default_value_t = SteppingName::Bdf2)]
    stepping: SteppingName,
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
    /// A first look in seconds, before the final run: about 2000 flesh nodes, sampled from those of the face,
    /// and steps of 1/60 s. Its frames are kept apart from those of a final run.
    #[arg(long)]
    preview: bool,
    /// Coordinates of the written vertices: relative to the head, where a GLB also contains the head motion;
    /// or in the world, where vertices move with the head.
    #[arg(long, value_enum, default_value_t = SpaceName::Head)]
    space: SpaceName,
    /// Apply these learned wrinkles (.detail) to the result, as `detail apply` does; they must belong to this
    /// rig.
    #[arg(long, value_name = "FILE")]
    detail: Option<PathBuf>,
    /// Output: .glb, .gltf, .mdd, .pc2 or .npz. Repeat for several. Frames are kept beside the first while
    /// they are computed. A folder gets CLIP.glb for each clip. {clip} in a name, also in that of --head,
    /// --scene, --report and --fit-plot, is the clip's name without folder and ending.
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
    /// Also write the JSON report to this file (.json), for `plot`. Of several clips: the report of all, or
    /// with {clip} in the name one for each.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// See [`Stepping`].
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum SteppingName {
    /// Second order: the swing of flesh hardly depends on the length of the steps.
    Bdf2,
    /// Backward Euler, first order: damps the swing of flesh, more so in longer steps.
    Euler,
}

/// See [`Method`].
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodName {
    /// Physics on top of the artist's animation, which is exact without forces.
    Enrich,
    /// Volumetric blendshapes: flesh is drawn to blended gradients, keeps its volume and does not pass
    /// itself.
    Volumetric,
    /// The muscles of each shape, blended and simulated; the face needs `muscle solve` or `muscle target`
    /// first.
    Muscles,
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Self {
        match name {
            MethodName::Enrich => Self::Enrich,
            MethodName::Volumetric => Self::Volumetric,
            MethodName::Muscles => Self::Muscles,
        }
    }
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
    let (face, clips) = face_and_clips(arguments)?;
    expect_face(&face)?;
    let outputs = &arguments.output;
    let is_batch = clips.len() > 1 || outputs.iter().any(|o| is_folder(o, false) || has_mark(o, CLIP_MARK));
    let job = PerformJob { face, ..job(arguments)? };
    if is_batch {
        return run_batch(job, &clips, session);
    }
    let report = PerformJob { clip: clips[0].clone(), ..job }.run(&session.progress())?;
    let n_frames = report.times_secs.len();
    let mut text = format!(
        "{}: {n_frames} frames in {:.1} s{}\n",
        report.output,
        report.seconds,
        memory(report.peak_mb)
    );
    text += &report.preview.as_ref().map(preview_text).unwrap_or_default();
    text += &summary(&report);
    text += &resumed_text(&report).map(|resumed| format!("  {resumed}\n")).unwrap_or_default();
    text += &report.fit.as_ref().map(fit_text).unwrap_or_default();
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    text += &mapping_text(&report.mapping);
    Ok(Printed::new(report, text))
}

/// Runs the job for each clip.
fn run_batch(job: PerformJob, clips: &[PathBuf], session: &Session) -> Result<Printed, Failure> {
    let (each, whole): (Option<PathBuf>, Option<PathBuf>) = match &job.report {
        Some(path) if has_mark(path, CLIP_MARK) => (Some(path.clone()), None),
        path => (None, path.clone()),
    };
    let jobs = PerformJob { report: each, ..job }.for_clips(clips);
    let report = Batch { jobs, report: whole }.run(&session.progress())?;
    let line = |take: &PerformReport| {
        let most = take.moved_most.as_ref().map_or(0.0, |most| most.mm);
        let line = format!(
            "{}: {}{} frames in {:.1} s; skin moved by physics: mean {:.3} mm, at most {most:.2} mm",
            take.output,
            if take.preview.is_some() { "a preview, " } else { "" },
            take.times_secs.len(),
            take.seconds,
            mean_mm(take),
        );
        resumed_text(take).map_or(line.clone(), |resumed| format!("{line}; {resumed}"))
    };
    Ok(batch::printed(report, "takes", line, |take| take.notes.clone()))
}

/// The face and the clips. A face that follows `--clip` is read as one more clip.
fn face_and_clips(arguments: &Arguments) -> Result<(PathBuf, Vec<PathBuf>), Failure> {
    if let Some(face) = &arguments.face {
        return Ok((face.clone(), arguments.clip.clone()));
    }
    let is_face = |path: &&PathBuf| extension(path) == "face";
    let clips: Vec<PathBuf> = arguments.clip.iter().filter(|path| !is_face(path)).cloned().collect();
    let faces: Vec<&PathBuf> = arguments.clip.iter().filter(is_face).collect();
    match (&faces[..], clips.is_empty()) {
        ([face], false) => Ok(((*face).clone(), clips)),
        _ => Err(Failure::wrong_call("no face is given; write: risorius perform HEAD.face --clip CLIP ...")),
    }
}

/// The job without face and clip.
fn job(arguments: &Arguments) -> Result<PerformJob, Failure> {
    Ok(PerformJob {
        face: PathBuf::new(),
        clip: PathBuf::new(),
        reading: arguments.clip_args.reading(),
        method: arguments.method.into(),
        active: arguments.active,
        iterations: arguments.iterations,
        exact: arguments.exact,
        snap: arguments.snap,
        inertia: !arguments.no_inertia,
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
        stepping: match arguments.stepping {
            SteppingName::Bdf2 => Stepping::Bdf2,
            SteppingName::Euler => Stepping::BackwardEuler,
        },
        substeps: arguments.substeps,
        damping: arguments.damping,
        tightening: arguments.tightening,
        scene: arguments.acting.scene()?,
        contact: arguments.acting.contact(),
        adhesion: arguments.acting.adhesion,
        gravity: arguments.gravity,
        smooth_head: arguments.smooth_head,
        resume: arguments.resume,
        preview: arguments.preview,
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
    })
}

/// How a preview differs from the final take.
fn preview_text(preview: &PreviewReport) -> String {
    let (dt, secs) = (1000.0 * preview.dt_secs, preview.flesh_secs);
    let flesh = match preview.nodes == preview.face_nodes {
        true => format!("the {} nodes of the face", preview.nodes),
        false => format!("{} nodes in place of {}, made in {secs:.1} s", preview.nodes, preview.face_nodes),
    };
    format!("  a preview: {flesh}; steps of {dt:.1} ms; run without --preview for the final take\n")
}

/// Where a resumed run started, and why.
fn resumed_text(report: &PerformReport) -> Option<String> {
    let (Resumed { from, why }, n_frames) = (report.resumed.as_ref()?, report.times_secs.len());
    Some(match n_frames - from {
        0 => format!("nothing to compute: {why}"),
        _ => format!("computed from frame {from} of {n_frames} on: {why}"),
    })
}

/// Mean displacement of the skin by physics over all frames.
fn mean_mm(report: &PerformReport) -> f64 {
    report.frames.iter().map(|f| f.mean_mm).sum::<f64>() / report.frames.len().max(1) as f64
}

/// A summary of all frames as text.
fn summary(report: &PerformReport) -> String {
    let frames = &report.frames;
    let sum = |f: &dyn Fn(&FrameReport) -> usize| frames.iter().map(f).sum::<usize>();
    let steps = sum(&|f| f.steps).max(1);
    let seconds: f64 = frames.iter().map(|f| f.seconds).sum();
    let iterations = [sum(&|f| f.iterations[0]), sum(&|f| f.iterations[1])].map(|n| n as f64 / steps as f64);
    let mean = mean_mm(report);
    let least = frames.iter().map(|f| f.smallest_det).fold(f64::INFINITY, f64::min);
    let each = 1000.0 * seconds / steps as f64;
    let mut text = match report.method.name {
        Method::Enrich => format!(
            "  {steps} steps, {each:.1} ms each; {:.1} dynamic and {:.1} static iterations\n",
            iterations[0], iterations[1]
        ),
        Method::Volumetric => format!(
            "  volumetric: {steps} steps, {each:.1} ms each; {:.1} iterations, largest force left {:.1e} N\n",
            iterations[0], report.method.residual
        ),
        Method::Muscles => format!(
            "  muscles: {steps} steps, {each:.1} ms each; {:.1} Newton steps, largest force left {:.1e} N\n",
            iterations[0], report.method.residual
        ),
    };
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
