//! `detail apply`: learned wrinkles on an animation.

use super::maps::{MapArguments, Maps};
use super::points::named_points;
use super::poses::Frames;
use super::worn::{Worn, expect_fits};
use crate::files::{expect_ending, extension, in_file};
use crate::pose::ClipArgs;
use crate::rig_args::{mapping_to_json, mapping_to_text};
use crate::session::{Failure, Report, Session};
use crate::takes::{CACHES, FRAMES, expect_room, write_vertices};
use clap::Args;
use glam::{DVec3, Vec3};
use risorius_base::Rigid;
use risorius_base::Space;
use risorius_base::progress::tick;
use risorius_detail::Detail;
use risorius_detail::attach::Attached;
use risorius_io::formats::markers_csv::{self, MarkerContent};
use risorius_io::native::detail::{DetailFile, Rest};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_rig::{Evaluator, HeadMotion, Rig};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The detail (.detail), made by `detail learn`.
    detail: PathBuf,
    /// An animation as frames of the rest's vertices: .glb, .gltf, .mdd, .pc2 or .npz; for example what
    /// `perform` made.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rig", "clip"], required_unless_present_any = ["rig", "markers"])]
    take: Option<PathBuf>,
    /// A marker take: CSV with a time column and NAME_X, NAME_Y, NAME_Z. Its head motion is taken out, its
    /// gaps are filled.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rig", "clip", "take"])]
    markers: Option<PathBuf>,
    /// Where some markers sit on the face, as pins by marker name: a JSON file, {"Chin": {"vertex": 12},
    /// "Nose": {"near": [0, 1, 2]}}. At least four; the others are laid over the face with them. When left
    /// out, handles that have the names of markers.
    #[arg(long, value_name = "JSON", requires = "markers")]
    points: Option<String>,
    /// A time at which the actor's face is at rest, in seconds; the first frame that shows most markers when
    /// left out.
    #[arg(long, value_name = "SECONDS", requires = "markers", allow_negative_numbers = true)]
    neutral: Option<f64>,
    /// A rig with the vertices of the rest; give --clip too.
    #[arg(long, value_name = "FILE", requires = "clip")]
    rig: Option<PathBuf>,
    /// Slider values over time, for --rig.
    #[arg(long, value_name = "FILE", requires = "rig")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Leave out what is coarser than this, which the animation shows already: millimeters. When left out:
    /// nothing if it was learned with --plain, else three quarters of the distance between handles where they
    /// are dense.
    #[arg(long, value_name = "MM", allow_negative_numbers = true)]
    finer_than: Option<f64>,
    #[command(flatten)]
    maps: MapArguments,
    /// Output: .glb, .gltf, .mdd, .pc2 or .npz.
    #[arg(long, short, required_unless_present = "maps")]
    output: Option<PathBuf>,
}

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
    arguments.output.as_ref().map(|output| expect_ending(output, &FRAMES, "a take")).transpose()?;
    let by_markers = arguments.markers.is_some();
    let Worn { content, player, finest, mut stage } =
        Worn::open(&arguments.detail, arguments.finer_than, by_markers, session)?;
    let DetailFile { rest, detail } = &content;
    let (rig, mm_per_unit) = (&rest.fine, rest.mm_per_unit());
    let animation = match &arguments.markers {
        Some(path) => {
            open_markers(path, (arguments.points.as_deref(), arguments.neutral), rig, detail, session)?
        }
        None => open_animation(arguments, rest, session)?,
    };
    let times_secs = &animation.times_secs;
    let mut maps = Maps::open(&arguments.maps, rest, detail)?;
    let mut notes = animation.notes.clone();
    if let Some(output) = &arguments.output {
        expect_room(rig, times_secs, output)?;
        if animation.head.is_some() && CACHES.contains(&extension(output).as_str()) {
            notes.push("the frames are in the head's own space; .glb also moves the head".into());
        }
    }
    let (mut playing_secs, mut largest) = (0.0, 0.0f32);
    let mut play = |frame: usize| -> Result<Vec<[f32; 3]>, Failure> {
        tick(&session.progress(), "frames", frame as f32 / times_secs.len() as f32)?;
        let mut positions = Vec::new();
        match &animation.frame {
            Frame::Mesh(moved) => {
                let moved = moved(frame);
                player.on(&moved, &mut stage)?;
                player.in_mesh_order(&stage.positions, &mut positions);
                let offsets =
                    positions.iter().zip(&moved).map(|(a, b)| Vec3::from(*a).distance(Vec3::from(*b)));
                largest = offsets.fold(largest, f32::max);
                maps.as_mut().map(|maps| maps.write(frame, &moved, &positions)).transpose()?;
            }
            Frame::Handles(handles) => {
                player.frame(&handles(frame), &mut stage)?;
                player.in_mesh_order(&stage.positions, &mut positions);
            }
        }
        playing_secs += stage.seconds.iter().sum::<f64>();
        Ok(positions)
    };
    match &arguments.output {
        Some(output) => write_vertices(rig, times_secs, animation.head.as_ref(), output, play)?,
        None => (0..times_secs.len()).try_for_each(|frame| play(frame).map(drop))?,
    }
    let mut about_maps = None;
    if let Some(maps) = maps {
        let (about, found) = maps.finish(times_secs)?;
        about_maps = Some(about);
        notes.extend(found);
    }
    let n_frames = times_secs.len();
    let largest_mm = f64::from(largest) * mm_per_unit;
    let ms = 1000.0 * playing_secs / n_frames.max(1) as f64;
    let seconds = start.elapsed().as_secs_f64();
    let (mapping, mapped) = animation.mapping.clone().unwrap_or_default();
    let outputs = [&arguments.output, &arguments.maps.maps].into_iter().flatten();
    let outputs: Vec<String> = outputs.map(|path| path.display().to_string()).collect();
    let json = json!({
        "output": arguments.output, "maps": about_maps, "frames": n_frames, "vertices": rig.n_vertices(),
        "finer_than_mm": finest.map(|length| length * mm_per_unit),
        "largest_displacement_mm": largest_mm, "ms_per_frame": ms, "mapping": mapping, "notes": notes, "seconds": seconds,
    });
    let outputs = outputs.join(", ");
    let mut text = format!("{outputs}: {n_frames} frames in {seconds:.1} s, {ms:.2} ms of it for a frame\n");
    let finer =
        finest.map(|length| format!(" finer than {:.0} mm", length * mm_per_unit)).unwrap_or_default();
    if matches!(animation.frame, Frame::Mesh(_)) {
        text += &format!("  detail{finer} moved vertices by {largest_mm:.2} mm at most\n");
    }
    notes.iter().for_each(|n| text += &format!("  note: {n}\n"));
    Ok(Report { json, text: text + &mapped })
}

/// Markers, as what they do to the handles of a detail.
fn open_markers(
    path: &Path,
    (points, neutral_secs): (Option<&str>, Option<f64>),
    rest: &Rig,
    detail: &Detail,
    session: &Session,
) -> Result<Animation, Failure> {
    let MarkerContent { take, mut notes } = markers_csv::read(&read_file(path)?).map_err(in_file(path))?;
    let reference = match neutral_secs {
        Some(time) => Some(frame_at(&take.times_secs, time)?),
        None => None,
    };
    let settled = take.settled(reference)?;
    notes.push(format!(
        "the face is taken to be at rest at {:.2} s (frame {}); --neutral says another time",
        take.times_secs[settled.reference], settled.reference
    ));
    let named = match points {
        Some(given) => named_points(given, rest)?,
        None => {
            let both = detail.handle_names.iter().cloned().zip(detail.shell.handles.iter().copied());
            both.filter(|(name, _)| take.names.contains(name)).collect()
        }
    };
    let mut pairs = Vec::new();
    for (name, vertex) in named {
        let Some(marker) = take.names.iter().position(|n| *n == name) else {
            let known = take.names.join(", ");
            return Err(Failure::could_not(format!(
                "{}: no marker '{name}'; there are {known}",
                points.unwrap_or_default()
            )));
        };
        pairs.push((marker, vertex));
    }
    let attached =
        Attached::prepare(&detail.mesh, &settled, &pairs, &detail.shell.options, &session.progress())?;
    let mm_per_unit = 1000.0 * rest.space.meters_per_unit;
    let far =
        attached.distances.iter().enumerate().fold((0, 0.0), |w, (k, &d)| if d > w.1 { (k, d) } else { w });
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
        head: Some(head_of(&attached.heads(&settled), &take.times_secs, &rest.space)),
        notes,
        mapping: None,
        frame: Frame::Handles(Box::new(move |frame| attached.moved(&settled, frame, &handles))),
    })
}

/// The frame nearest to a time.
fn frame_at(times_secs: &[f64], time: f64) -> Result<usize, Failure> {
    let (first, last) =
        (times_secs.first().copied().unwrap_or(0.0), times_secs.last().copied().unwrap_or(0.0));
    if !(first..=last).contains(&time) {
        return Err(Failure::could_not(format!("--neutral: the take goes from {first} to {last} s")));
    }
    let far = |f: &usize| (times_secs[*f] - time).abs();
    Ok((0..times_secs.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0))
}

/// Motions in the space of a file, as those of a head in meters.
fn head_of(motions: &[Rigid], times_secs: &[f64], space: &Space) -> HeadMotion {
    let motions: Vec<Rigid> = motions.iter().map(|motion| space.motion_to_si(motion)).collect();
    HeadMotion {
        times_secs: times_secs.to_vec(),
        positions_m: motions.iter().map(|m| m.translation.to_array()).collect(),
        rotations_xyzw: motions.iter().map(|m| m.rotation.to_array()).collect(),
    }
}

/// The frames of a take, or of a rig over a clip, on the vertices of the detail: they have those of the
/// artist's rig, or the detail's own.
fn open_animation(arguments: &Arguments, rest: &Rest, session: &Session) -> Result<Animation, Failure> {
    if let Some(path) = &arguments.take {
        let frames = Frames::open(path, rest, arguments.clip_args.fps.unwrap_or(30.0), session)?;
        return Ok(Animation {
            times_secs: frames.take.times_secs().to_vec(),
            head: frames.take.head.clone(),
            notes: Vec::new(),
            mapping: None,
            frame: Frame::Mesh(Box::new(move |frame| frames.frame(frame))),
        });
    }
    let (Some(path), Some(clip)) = (&arguments.rig, &arguments.clip) else {
        return Err(Failure::wrong_call("give --take, or --rig and --clip"));
    };
    let rig = open_rig(path, &OpenOptions::default(), &session.progress()).map_err(in_file(path))?.rig;
    expect_fits(rest, &rig, path)?;
    let opened = arguments.clip_args.open(clip, session)?;
    let (weights, map) = opened.clip.bind(&rig)?;
    let names = &opened.clip.names;
    let mapping = Some((mapping_to_json(&map, names, &rig), mapping_to_text(&map, names, &rig)));
    let (evaluator, sliders) = (Evaluator::prepare(&rig), rig.sliders.len());
    let refinement = rest.refinement.clone();
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
