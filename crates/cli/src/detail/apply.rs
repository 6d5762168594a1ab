//! `detail apply`: learned wrinkles on an animation.

use crate::files::{expect_ending, extension, in_file};
use crate::pose::ClipArgs;
use crate::rig_args::{mapping_to_json, mapping_to_text};
use crate::session::{Failure, Report, Session};
use crate::takes::{CACHES, FRAMES, expect_room, write_vertices};
use clap::Args;
use glam::{DVec3, Vec3};
use risorius_detail::attach::Attached;
use risorius_detail::player::Stage;
use risorius_detail::{Base, Detail, Player, ShellOptions};
use risorius_io::detail_file::{self, DetailFile};
use risorius_io::markers_csv::{self, MarkerContent};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_io::take_in::open_take_of;
use risorius_mesh::progress::tick;
use risorius_rig::pins::{PinSet, PinSpec};
use risorius_rig::{Evaluator, HeadMotion, Rig};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The detail (.detail), made by `detail learn`.
    detail: PathBuf,
    /// An animation as frames of the rest's vertices: .glb, .gltf, .mdd, .pc2 or .npz; for example what `perform` made.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rig", "clip"], required_unless_present_any = ["rig", "markers"])]
    take: Option<PathBuf>,
    /// A marker take: CSV with a time column and NAME_X, NAME_Y, NAME_Z. Its head motion is taken out, its gaps are filled.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rig", "clip", "take"], requires = "points")]
    markers: Option<PathBuf>,
    /// Where some markers sit on the face, as pins by marker name: a JSON file, {"Chin": {"vertex": 12}, "Nose": {"near": [0, 1, 2]}}.
    /// At least four; the others are laid over the face with them.
    #[arg(long, value_name = "JSON", requires = "markers")]
    points: Option<PathBuf>,
    /// A rig with the vertices of the rest; give --clip too.
    #[arg(long, value_name = "FILE", requires = "clip")]
    rig: Option<PathBuf>,
    /// Slider values over time, for --rig.
    #[arg(long, value_name = "FILE", requires = "rig")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Leave out what is coarser than this, which the animation shows already: millimeters. When left out: nothing if it was learned
    /// with --plain, else three quarters of the distance between handles where they are dense.
    #[arg(long, value_name = "MM", allow_negative_numbers = true)]
    finer_than: Option<f64>,
    /// Output: .glb, .gltf, .mdd, .pc2 or .npz.
    #[arg(long, short)]
    output: PathBuf,
}

/// What is finer than this part of the distance between handles is detail on an animation that exists.
const FINE: f64 = 0.75;

/// Frames to put detail on.
struct Animation {
    times_secs: Vec<f64>,
    head: Option<HeadMotion>,
    notes: Vec<String>,
    mapping: Option<(serde_json::Value, String)>,
    frame: Frame,
}

/// What is known of a frame.
enum Frame {
    /// Where every vertex is without detail.
    Mesh(Box<dyn Fn(usize) -> Vec<[f32; 3]>>),
    /// Where the handles are.
    Handles(Box<dyn Fn(usize) -> Vec<DVec3>>),
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    let output = &arguments.output;
    expect_ending(output, &FRAMES, "a take")?;
    let content = detail_file::open(&arguments.detail).map_err(in_file(&arguments.detail))?;
    let (detail, rig) = (&content.detail, content.fine_rig());
    let mm_per_unit = 1000.0 * rig.space.meters_per_unit;
    let usual = match detail.base {
        // Markers say no more than handles do.
        _ if arguments.markers.is_some() => None,
        Base::Shell => Some(FINE * detail.features.dense_spacing(&detail.mesh)),
        Base::Animation => None,
    };
    let finest = arguments.finer_than.map(|mm| mm / mm_per_unit).or(usual);
    let player = match finest {
        Some(length) => Player::prepare(&detail.finer_than(length, &session.progress())?)?,
        None => Player::prepare(detail)?,
    };
    let animation = match &arguments.markers {
        Some(path) => open_markers(path, arguments.points.as_deref(), &rig, detail, session)?,
        None => open_animation(arguments, &content, &rig, session)?,
    };
    let times_secs = &animation.times_secs;
    expect_room(&rig, times_secs, output)?;
    let mut notes = animation.notes.clone();
    if animation.head.is_some() && CACHES.contains(&extension(output).as_str()) {
        notes.push("the frames are in the head's own space; .glb also moves the head".into());
    }
    let mut stage = Stage::default();
    let (mut playing_secs, mut largest) = (0.0, 0.0f32);
    write_vertices(&rig, times_secs, animation.head.as_ref(), output, |frame| {
        tick(&session.progress(), "frames", frame as f32 / times_secs.len() as f32)?;
        match &animation.frame {
            Frame::Mesh(moved) => {
                let moved = moved(frame);
                player.on(&moved, &mut stage)?;
                let offsets = stage.positions.iter().zip(&moved).map(|(a, b)| Vec3::from(*a).distance(Vec3::from(*b)));
                largest = offsets.fold(largest, f32::max);
            }
            Frame::Handles(handles) => player.frame(&handles(frame), &mut stage)?,
        }
        playing_secs += stage.seconds.iter().sum::<f64>();
        Ok(stage.positions.clone())
    })?;
    let n_frames = times_secs.len();
    let largest_mm = f64::from(largest) * mm_per_unit;
    let ms = 1000.0 * playing_secs / n_frames.max(1) as f64;
    let seconds = start.elapsed().as_secs_f64();
    let (mapping, mapped) = animation.mapping.clone().unwrap_or_default();
    let json = json!({
        "output": output.display().to_string(), "frames": n_frames, "vertices": rig.n_vertices(),
        "finer_than_mm": finest.map(|length| length * mm_per_unit),
        "largest_displacement_mm": largest_mm, "ms_per_frame": ms, "mapping": mapping, "notes": notes, "seconds": seconds,
    });
    let mut text = format!("{}: {n_frames} frames in {seconds:.1} s, {ms:.2} ms of it for a frame\n", output.display());
    let finer = finest.map(|length| format!(" finer than {:.0} mm", length * mm_per_unit)).unwrap_or_default();
    if matches!(animation.frame, Frame::Mesh(_)) {
        text += &format!("  detail{finer} moved vertices by {largest_mm:.2} mm at most\n");
    }
    notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
    Ok(Report { json, text: text + &mapped })
}

/// Markers, as what they do to the handles of a detail.
fn open_markers(
    path: &Path,
    points: Option<&Path>,
    rest: &Rig,
    detail: &Detail,
    session: &Session,
) -> Result<Animation, Failure> {
    let MarkerContent { take, mut notes } = markers_csv::read(&read_file(path)?).map_err(in_file(path))?;
    let settled = take.settled()?;
    let mut pairs = Vec::new();
    if let Some(file) = points {
        let specs: BTreeMap<String, PinSpec> = serde_json::from_slice(&read_file(file)?)
            .map_err(|e| Failure::could_not(format!("{}: {e}", file.display())))?;
        for (name, spec) in specs {
            let Some(marker) = take.names.iter().position(|n| *n == name) else {
                let known = take.names.join(", ");
                return Err(Failure::could_not(format!("{}: no marker '{name}'; there are {known}", file.display())));
            };
            let pins = PinSet::resolve(rest, &[spec]).map_err(|problems| {
                let all: Vec<String> = problems.iter().map(|p| format!("{}: '{name}': {p}", file.display())).collect();
                Failure::could_not(all.join("\n"))
            })?;
            pairs.extend(pins.pins.first().map(|pin| (marker, pin.vertex)));
        }
    }
    let shell = ShellOptions::default();
    let attached = Attached::prepare(&detail.mesh, &settled, &pairs, &shell, &session.progress())?;
    let mm_per_unit = 1000.0 * rest.space.meters_per_unit;
    let far = attached.distances.iter().enumerate().fold((0, 0.0), |w, (k, &d)| if d > w.1 { (k, d) } else { w });
    notes.push(format!(
        "{} markers attached, '{}' farthest from its vertex, {:.1} mm; a unit of the markers is {:.3} mm",
        take.names.len(),
        take.names[far.0],
        far.1 * mm_per_unit,
        attached.similarity.scale * mm_per_unit,
    ));
    if settled.n_filled > 0 {
        notes.push(format!("{} places of markers that were lost were filled in", settled.n_filled));
    }
    let handles = detail.shell.handles.clone();
    Ok(Animation {
        times_secs: take.times_secs.clone(),
        head: None,
        notes,
        mapping: None,
        frame: Frame::Handles(Box::new(move |frame| attached.moved(&settled, frame, &handles))),
    })
}

/// The frames of a take, or of a rig over a clip, on the vertices of the detail: they have those of the artist's rig, or the detail's own.
fn open_animation(
    arguments: &Arguments,
    content: &DetailFile,
    fine: &Rig,
    session: &Session,
) -> Result<Animation, Failure> {
    let refinement = content.refinement.clone();
    if let Some(path) = &arguments.take {
        let fps = arguments.clip_args.fps.unwrap_or(30.0);
        let open = |rig: &Rig| open_take_of(path, rig, fps, &session.progress());
        let (take, is_coarse) = match open(&content.rig) {
            Ok(take) => (take, true),
            Err(_) if content.n_steps > 0 && open(fine).is_ok() => (open(fine).map_err(in_file(path))?, false),
            Err(error) => return Err(in_file(path)(error)),
        };
        return Ok(Animation {
            times_secs: take.times_secs().to_vec(),
            head: take.head.clone(),
            notes: Vec::new(),
            mapping: None,
            frame: Frame::Mesh(Box::new(move |frame| match is_coarse {
                true => refinement.apply(&take.frame(frame)),
                false => take.frame(frame),
            })),
        });
    }
    let (Some(path), Some(clip)) = (&arguments.rig, &arguments.clip) else {
        return Err(Failure::wrong_call("give --take, or --rig and --clip"));
    };
    let rig = open_rig(path, &OpenOptions::default(), &session.progress()).map_err(in_file(path))?.rig;
    let n = content.rig.n_vertices();
    if rig.n_vertices() != n {
        let counts = format!("{} vertices, the rest of the detail {n}", rig.n_vertices());
        let advice = "learn from this rig, or transfer the detail to it";
        return Err(Failure::could_not(format!("{}: the rig has {counts}; {advice}", path.display())));
    }
    let opened = arguments.clip_args.open(clip, session)?;
    let (weights, map) = opened.clip.bind(&rig)?;
    let names = &opened.clip.names;
    let mapping = Some((mapping_to_json(&map, names, &rig), mapping_to_text(&map, names, &rig)));
    let (evaluator, sliders) = (Evaluator::prepare(&rig), rig.sliders.len());
    Ok(Animation {
        times_secs: opened.clip.times_secs.clone(),
        head: opened.clip.head.clone(),
        notes: opened.notes,
        mapping,
        frame: Frame::Mesh(Box::new(move |frame| {
            refinement.apply(&evaluator.positions(&weights[frame * sliders..(frame + 1) * sliders]))
        })),
    })
}
