//! `perform`: a clip played through the flesh of a face, as frames.

use crate::detail::worn::{Worn, expect_fits};
use crate::files::{expect_ending, extension, in_file};
use crate::perform_keep::{Keeper, Resumed};
use crate::perform_scene::SceneArgs;
use crate::pose::ClipArgs;
use crate::rig_args::{mapping_to_json, mapping_to_text};
use crate::session::{Failure, Report, Session};
use crate::takes::{CACHES, FRAMES, expect_room, write_vertices};
use clap::{Args, ValueEnum};
use glam::{DMat3, Vec3};
use risorius_io::output::write_whole;
use risorius_perform::{EnrichOptions, Frame, FrameReport, HeadPath, Performance, enrich_from, frame_keys};
use risorius_rig::{HeadMotion, Rig};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What a head endures during a tenth of the time, as a multiple of gravity: running gives 1.5, centimeters
/// for meters 13.
const MAX_USUAL_G: f64 = 6.0;

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
    /// Go on from the frames that an earlier run kept in OUTPUT.partial, as far as nothing that leads to them
    /// changed; and keep them, so that this can be done again after an edit. The take is the same as without.
    #[arg(long)]
    resume: bool,
    /// What the written vertices are told in: the head, which a GLB also moves; or the world, in which
    /// vertices move with it.
    #[arg(long, value_enum, default_value_t = OutputSpace::Head)]
    space: OutputSpace,
    /// Put these learned wrinkles on the result (.detail), as `detail apply` does; they have to be of this
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

/// What written vertices are told in.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum OutputSpace {
    /// The head's own space.
    Head,
    /// The space that the head moves in.
    World,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    let output = &arguments.output;
    expect_ending(output, &FRAMES, "a take")?;
    arguments.report.as_deref().map(|r| expect_ending(r, &["json"], "a report")).transpose()?;
    let (face, fingerprint) = risorius_io::native::face::open_with_fingerprint(&arguments.face)
        .map_err(in_file(&arguments.face))?;
    let mut content = arguments.clip_args.open(&arguments.clip, session)?;
    let clip = &content.clip;
    let (weights, map) = clip.bind(&face.rig)?;
    let n_frames = clip.n_frames();
    let is_cache = CACHES.contains(&extension(output).as_str());
    let mut worn =
        arguments.detail.as_deref().map(|path| Worn::open(path, None, false, session)).transpose()?;
    if let Some(worn) = &worn {
        expect_fits(&worn.content.rest, &face.rig, &arguments.face)?;
    }
    expect_room(worn.as_ref().map_or(&face.rig, |worn| &worn.content.rest.fine), &clip.times_secs, output)?;
    let head = clip.head.as_ref();
    if let (Some(head), None) = (head, arguments.clip_args.head_unit) {
        expect_a_living_head(head)?;
    }
    let (scene, factors) = arguments.acting.resolve(&face, &mut content.notes, session)?;
    let performance = Performance {
        times_secs: &clip.times_secs,
        weights: &weights,
        head: head.map(|h| HeadPath::prepare(h, arguments.smooth_head)).unwrap_or_default(),
        scene,
    };
    let options = arguments.options(&clip.times_secs, factors);
    let keys = frame_keys(fingerprint, &performance, &options);
    let mut keeper = Keeper::open(output, keys, face.rig.n_vertices())?;
    let (checkpoint, resumed) = match arguments.resume {
        true => keeper.go_on(),
        false => (None, None),
    };
    let mut ended = Ok(());
    if keeper.reports().len() < n_frames {
        let mut sink = |frame: &Frame| keeper.frame(frame);
        ended = enrich_from(checkpoint, &face, &performance, &options, &mut sink, &session.progress());
    }
    let frames = keeper.finish(ended, arguments.resume, &mut content.notes, |done| {
        let times_secs = &content.clip.times_secs[..done.reports().len()];
        write(
            (&face.rig, worn.as_mut()),
            times_secs,
            done,
            (content.clip.head.as_ref(), arguments.space),
            output,
        )
    })?;
    match (head.is_some(), arguments.space) {
        (true, OutputSpace::Head) if is_cache => {
            let note = "the frames are in the head's own space; .glb also moves the head, --space world moves vertices";
            content.notes.push(note.into());
        }
        (false, OutputSpace::World) => {
            content.notes.push("there is no head motion: --space world is the head's".into())
        }
        _ => (),
    }
    let seconds = start.elapsed().as_secs_f64();
    let json = json!({
        "output": output.display().to_string(), "times_secs": content.clip.times_secs, "frames": frames,
        "vertices": worn.as_ref().map_or(face.rig.n_vertices(), |worn| worn.content.rest.fine.n_vertices()),
        "mapping": mapping_to_json(&map, &content.clip.names, &face.rig), "notes": content.notes, "seconds": seconds,
        "resumed": resumed, "contact": Contact::of(&frames),
    });
    if let Some(report) = &arguments.report {
        write_whole(report, format!("{json}\n").as_bytes())?;
    }
    let mut text = format!("{}: {n_frames} frames in {seconds:.1} s\n{}", output.display(), summary(&frames));
    if let Some(Resumed { from, why }) = &resumed {
        text += &match n_frames - from {
            0 => format!("  nothing to compute: {why}\n"),
            _ => format!("  computed from frame {from} of {n_frames} on: {why}\n"),
        };
    }
    content.notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
    Ok(Report { json, text: text + &mapping_to_text(&map, &content.clip.names, &face.rig) })
}

/// Positions in centimeters, taken as meters, throw the head about as no head is, and every step takes
/// minutes.
fn expect_a_living_head(head: &HeadMotion) -> Result<(), Failure> {
    let g = head.usual_acceleration() / 9.81;
    if g <= MAX_USUAL_G {
        return Ok(());
    }
    let advice = "are its positions in centimeters? then say --head-unit cm; if this is meant, --head-unit m";
    Err(Failure::could_not(format!(
        "the head is thrown about with {g:.0} g during a tenth of the time; {advice}"
    )))
}

impl Arguments {
    /// With factors on the stiffness and mass of all flesh.
    fn options(&self, times_secs: &[f64], [stiffness, mass]: [f64; 2]) -> EnrichOptions {
        let shortest = times_secs.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
        let dt_secs = match self.substeps {
            Some(n) if shortest.is_finite() => shortest / f64::from(n),
            _ => self.dt,
        };
        let usual = EnrichOptions::default();
        EnrichOptions {
            dt_secs,
            rebalance: if self.naive { 0.0 } else { self.rebalance },
            damping: self.damping,
            tightening: self.tightening,
            stiffness,
            density: usual.density * mass,
            gravity: self.gravity,
            contact: self.acting.contact(),
            ..usual
        }
    }
}

/// Writes the frames that are done, which are those at `times_secs`, with the detail that they wear.
fn write(
    (rig, mut worn): (&Rig, Option<&mut Worn>),
    times_secs: &[f64],
    keeper: &Keeper,
    (head, space): (Option<&HeadMotion>, OutputSpace),
    output: &Path,
) -> Result<(), Failure> {
    let (shown, carries) = match space {
        OutputSpace::Head => (head, None),
        OutputSpace::World => (None, head),
    };
    let written = worn.as_ref().map_or_else(|| rig.clone(), |worn| worn.content.rest.fine.clone());
    let vertices = |frame: usize| -> Result<Vec<[f32; 3]>, Failure> {
        let coarse = keeper.vertices(frame)?;
        let vertices = match &mut worn {
            Some(worn) => worn.on_coarse(&coarse)?,
            None => coarse.to_vec(),
        };
        Ok(carries.map(|head| moved(rig, &vertices, head, times_secs[frame])).unwrap_or(vertices))
    };
    write_vertices(&written, times_secs, shown, output, vertices)
}

/// Where the head puts vertices of the rig, in file units, as a GLB that moves the head would show them.
fn moved(rig: &Rig, vertices: &[[f32; 3]], head: &HeadMotion, time_secs: f64) -> Vec<[f32; 3]> {
    let meters_from_file = rig.space.si_from_file();
    let file_from_meters = meters_from_file.inverse();
    let (position, turn) = head.sample(time_secs);
    let turn = file_from_meters * DMat3::from_quat(turn) * meters_from_file;
    let position = file_from_meters * position;
    let one = |&p: &[f32; 3]| (turn * Vec3::from(p).as_dvec3() + position).as_vec3().to_array();
    vertices.iter().map(one).collect()
}

/// What touched over all frames.
#[derive(serde::Serialize)]
struct Contact {
    /// Most contacts that pressed at the end of a step.
    most: usize,
    /// How much deeper than the artist made it a vertex was in something, mm.
    deepest_mm: f64,
    /// In which frame.
    frame: Option<usize>,
    /// Which rig vertex.
    vertex: Option<u32>,
}

impl Contact {
    fn of(frames: &[FrameReport]) -> Self {
        let mut all = Self { most: 0, deepest_mm: 0.0, frame: None, vertex: None };
        for (i, frame) in frames.iter().enumerate() {
            all.most = all.most.max(frame.contacts);
            if frame.depth_mm > all.deepest_mm {
                (all.deepest_mm, all.frame, all.vertex) = (frame.depth_mm, Some(i), frame.deepest);
            }
        }
        all
    }
}

/// The figures of all frames, for people.
fn summary(frames: &[FrameReport]) -> String {
    let sum = |f: &dyn Fn(&FrameReport) -> usize| frames.iter().map(f).sum::<usize>();
    let steps = sum(&|f| f.steps).max(1);
    let seconds: f64 = frames.iter().map(|f| f.seconds).sum();
    let iterations = [sum(&|f| f.iterations[0]), sum(&|f| f.iterations[1])].map(|n| n as f64 / steps as f64);
    let most = frames
        .iter()
        .enumerate()
        .fold((0, 0.0, 0), |best, (i, f)| if f.max_mm > best.1 { (i, f.max_mm, f.vertex) } else { best });
    let mean = frames.iter().map(|f| f.mean_mm).sum::<f64>() / frames.len().max(1) as f64;
    let least = frames.iter().map(|f| f.smallest_det).fold(f64::INFINITY, f64::min);
    let mut text = format!(
        "  {steps} steps, {:.1} ms each; {:.1} dynamic and {:.1} static iterations\n",
        1000.0 * seconds / steps as f64,
        iterations[0],
        iterations[1]
    );
    text += &format!(
        "  skin moved by physics: {mean:.3} mm in the mean, {:.2} mm at most (frame {}, vertex {})\n",
        most.1, most.0, most.2
    );
    text += &format!("  smallest volume of an element {least:.3} of its rest");
    let (halved, unconverged) = (sum(&|f| f.halved), sum(&|f| f.unconverged));
    text += &format!("; {halved} steps halved, {unconverged} not converged\n");
    let contact = Contact::of(frames);
    if let (Some(frame), Some(vertex)) = (contact.frame, contact.vertex) {
        let (most, deepest) = (contact.most, contact.deepest_mm);
        text += &format!(
            "  up to {most} contacts, {deepest:.2} mm deep at most (frame {frame}, vertex {vertex})\n"
        );
    }
    text
}
