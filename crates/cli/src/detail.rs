//! `detail`: wrinkles learned from examples, and put on an animation.

use crate::files::{expect_ending, extension, in_file};
use crate::pose::ClipArgs;
use crate::rig_args::{AboutRig, mapping_to_json, mapping_to_text, pins};
use crate::session::{Failure, Report, Session};
use crate::takes::{CACHES, FRAMES, expect_room, write_vertices};
use clap::{Args, Subcommand, ValueEnum};
use glam::{DVec3, Vec3};
use risorius_detail::attach::Attached;
use risorius_detail::player::Stage;
use risorius_detail::{Base, Detail, Examples, Fit, LearnOptions, Model, Player, ShellOptions, handles, learn};
use risorius_io::detail_file::{self, DetailFile, mesh_of};
use risorius_io::markers_csv::{self, MarkerContent};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_io::take_in::{open_pose_of, open_take_of};
use risorius_mesh::progress::tick;
use risorius_rig::pins::{PinSet, PinSpec};
use risorius_rig::{Evaluator, HeadMotion, Rig};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    verb: DetailVerb,
}

#[derive(Subcommand)]
enum DetailVerb {
    /// Learn wrinkles from example poses.
    Learn(LearnArguments),
    /// Put learned wrinkles on an animation.
    Apply(ApplyArguments),
}

#[derive(Args)]
struct LearnArguments {
    /// The face at rest: a rig or a mesh.
    #[arg(long, value_name = "FILE")]
    rest: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Handles as pins: a JSON file, or the JSON itself, e.g. [{"vertex": 12}, {"near": [0, 1, 2]}]. Chosen when left out.
    #[arg(long, value_name = "H")]
    handles: Option<String>,
    /// How many handles are chosen when none are given: well spread, and denser where examples move.
    #[arg(long, value_name = "N", default_value_t = 90, conflicts_with = "handles")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// Example poses: a folder of meshes with the vertices of the rest, or a take (.glb, .mdd, .pc2, .npz).
    #[arg(long, value_name = "DIR")]
    examples: PathBuf,
    /// The same poses without detail, as the rig shows them: meshes of the same names. Detail is then learned to be put on that rig's
    /// animations, and nothing of the pose itself is taken for detail.
    #[arg(long, value_name = "DIR")]
    plain: Option<PathBuf>,
    /// Take so many poses into the model, chosen for all examples to be met best; all of them, exactly, when left out.
    #[arg(long, value_name = "P", conflicts_with = "tolerance", value_parser = clap::value_parser!(u32).range(1..=1000))]
    basis: Option<u32>,
    /// Take as many poses as it needs for all examples to be met within this many millimeters.
    #[arg(long, value_name = "MM", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// How wrinkles follow from the strain of the skin.
    #[arg(long, value_enum, default_value_t = ModelName::Wpsd)]
    model: ModelName,
    /// The length below which the large scale bends rather than stretches, in distances between handles.
    #[arg(long, default_value_t = 3.0, allow_negative_numbers = true)]
    bending: f64,
    /// Output: .detail.
    #[arg(long, short)]
    output: PathBuf,
}

/// Names of models.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ModelName {
    /// Around each vertex.
    Wpsd,
    /// Over the whole face.
    Psd,
    /// Examples blended around each vertex, for comparison.
    LocalBlendshapes,
    /// Examples blended over the whole face, for comparison.
    GlobalBlendshapes,
}

#[derive(Args)]
struct ApplyArguments {
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

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    match &arguments.verb {
        DetailVerb::Learn(arguments) => run_learn(arguments, session),
        DetailVerb::Apply(arguments) => run_apply(arguments, session),
    }
}

fn run_learn(arguments: &LearnArguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    expect_ending(&arguments.output, &["detail"], "a detail")?;
    let rig = arguments.about.open(&arguments.rest, session)?.rig;
    let mm_per_unit = 1000.0 * rig.space.meters_per_unit;
    let mut examples = open_examples(&arguments.examples, &rig, session)?;
    if let Some(path) = &arguments.plain {
        let plain = open_examples(path, &rig, session)?;
        if let Some(name) = examples.names.iter().zip(&plain.names).find(|(a, b)| a != b).map(|(a, _)| a) {
            let problem = format!("{}: there is no pose '{name}' without detail", path.display());
            return Err(Failure::could_not(format!("{problem}; give one for each example, of the same name")));
        }
        examples.plain = plain.positions;
    }
    let mesh = mesh_of(&rig);
    let vertices: Vec<u32> = match &arguments.handles {
        Some(given) => {
            let mut vertices: Vec<u32> = pins(&rig, given)?.pins.iter().map(|pin| pin.vertex).collect();
            vertices.dedup();
            vertices
        }
        None => {
            let moved = |v: usize, p: &Vec<[f32; 3]>| Vec3::from(mesh.positions[v]).distance(Vec3::from(p[v]));
            let most = |v| examples.positions.iter().map(|p| moved(v, p)).fold(0.0, f32::max);
            let motion: Vec<f32> = (0..mesh.n_vertices()).map(most).collect();
            handles::choose(&mesh, &motion, arguments.count as usize)?
        }
    };
    let fit = match (arguments.basis, arguments.tolerance) {
        (Some(n), _) => Fit::Basis(n as usize),
        (None, Some(mm)) => Fit::Tolerance(mm / mm_per_unit),
        (None, None) => Fit::All,
    };
    let model = match arguments.model {
        ModelName::Wpsd => Model::Wpsd,
        ModelName::Psd => Model::Psd,
        ModelName::LocalBlendshapes => Model::LocalBlendshapes,
        ModelName::GlobalBlendshapes => Model::GlobalBlendshapes,
    };
    let options = LearnOptions { model, fit, shell: ShellOptions { bending: arguments.bending } };
    let detail = learn(mesh, &vertices, None, &examples, &options, &session.progress())?;
    detail_file::write(&rig, &detail, &arguments.output)?;
    let off = |(k, p): (usize, &Vec<[f32; 3]>)| farthest(&detail, p, examples.plain.get(k)) * mm_per_unit;
    let off: Vec<f64> = examples.positions.iter().enumerate().map(off).collect();
    let worst = off.iter().copied().enumerate().fold((0, 0.0), |w, (k, mm)| if mm > w.1 { (k, mm) } else { w });
    let largest = detail.displacements.iter().flatten().map(|d| Vec3::from(*d).length()).fold(0.0, f32::max);
    let largest_mm = f64::from(largest) * mm_per_unit;
    let seconds = start.elapsed().as_secs_f64();
    let json = json!({
        "output": arguments.output.display().to_string(), "vertices": detail.mesh.n_vertices(),
        "handles": vertices, "gauges": detail.features.edges.len(), "examples": examples.names,
        "poses": detail.poses, "example_errors_mm": off, "largest_displacement_mm": largest_mm, "seconds": seconds,
    });
    let mut text = format!(
        "{}: {} vertices, {} handles, {} strain gauges, {} poses of {} examples, in {seconds:.1} s\n",
        arguments.output.display(),
        detail.mesh.n_vertices(),
        vertices.len(),
        detail.features.edges.len(),
        detail.poses.len(),
        examples.names.len() + 1,
    );
    text += &format!("  detail beyond the large scale: {largest_mm:.2} mm at most\n");
    if let Some(name) = examples.names.get(worst.0) {
        text += &format!("  examples are met within {:.3} mm ('{name}')\n", worst.1);
    }
    Ok(Report { json, text })
}

/// How far the model is from an example anywhere, in the mesh's unit.
fn farthest(detail: &Detail, example: &[[f32; 3]], plain: Option<&Vec<[f32; 3]>>) -> f64 {
    let at = |v: u32| Vec3::from(example[v as usize]).as_dvec3();
    let made = match plain {
        Some(plain) => detail.on_by_definition(plain),
        None => detail.by_definition(&detail.shell.handles.iter().map(|&v| at(v)).collect::<Vec<_>>()),
    };
    made.iter().zip(0..).map(|(p, v)| p.distance(at(v))).fold(0.0, f64::max)
}

/// The meshes of a folder by name, or the frames of a take.
fn open_examples(path: &Path, rig: &Rig, session: &Session) -> Result<Examples, Failure> {
    let mut examples = Examples::default();
    if !path.is_dir() {
        let take = open_take_of(path, rig, 30.0, &session.progress()).map_err(in_file(path))?;
        for frame in 0..take.times_secs().len() {
            examples.names.push(format!("frame {frame}"));
            examples.positions.push(take.frame(frame));
        }
        return Ok(examples);
    }
    let os = |e: std::io::Error| Failure::could_not(format!("{}: {e}", path.display()));
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(os)? {
        let file = entry.map_err(os)?.path();
        if ["obj", "ply", "glb", "gltf", "fbx", "stl"].contains(&extension(&file).as_str()) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let advice = "put example meshes there (.obj, .ply, .glb, .fbx)";
        return Err(Failure::could_not(format!("{}: there are no meshes in it; {advice}", path.display())));
    }
    for (k, file) in files.iter().enumerate() {
        tick(&session.progress(), "examples", k as f32 / files.len() as f32)?;
        examples.positions.push(open_pose_of(file, rig, &session.progress()).map_err(in_file(file))?);
        examples.names.push(file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default());
    }
    Ok(examples)
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

fn run_apply(arguments: &ApplyArguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    let output = &arguments.output;
    expect_ending(output, &FRAMES, "a take")?;
    let DetailFile { rig, detail } = detail_file::open(&arguments.detail).map_err(in_file(&arguments.detail))?;
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
        None => Player::prepare(&detail)?,
    };
    let animation = match &arguments.markers {
        Some(path) => open_markers(path, arguments.points.as_deref(), &rig, &detail, session)?,
        None => open_animation(arguments, &rig, session)?,
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

/// The frames of a take, or of a rig over a clip, on the vertices of the rest.
fn open_animation(arguments: &ApplyArguments, rest: &Rig, session: &Session) -> Result<Animation, Failure> {
    if let Some(path) = &arguments.take {
        let fps = arguments.clip_args.fps.unwrap_or(30.0);
        let take = open_take_of(path, rest, fps, &session.progress()).map_err(in_file(path))?;
        return Ok(Animation {
            times_secs: take.times_secs().to_vec(),
            head: take.head.clone(),
            notes: Vec::new(),
            mapping: None,
            frame: Frame::Mesh(Box::new(move |frame| take.frame(frame))),
        });
    }
    let (Some(path), Some(clip)) = (&arguments.rig, &arguments.clip) else {
        return Err(Failure::wrong_call("give --take, or --rig and --clip"));
    };
    let rig = open_rig(path, &OpenOptions::default(), &session.progress()).map_err(in_file(path))?.rig;
    if rig.n_vertices() != rest.n_vertices() {
        let counts = format!("{} vertices, the rest of the detail {}", rig.n_vertices(), rest.n_vertices());
        let advice = "learn from this rig, or transfer the detail to it";
        return Err(Failure::could_not(format!("{}: the rig has {counts}; {advice}", path.display())));
    }
    let content = arguments.clip_args.open(clip, session)?;
    let (weights, map) = content.clip.bind(&rig)?;
    let names = &content.clip.names;
    let mapping = Some((mapping_to_json(&map, names, &rig), mapping_to_text(&map, names, &rig)));
    let (evaluator, sliders) = (Evaluator::prepare(&rig), rig.sliders.len());
    Ok(Animation {
        times_secs: content.clip.times_secs.clone(),
        head: content.clip.head.clone(),
        notes: content.notes,
        mapping,
        frame: Frame::Mesh(Box::new(move |frame| {
            evaluator.positions(&weights[frame * sliders..(frame + 1) * sliders])
        })),
    })
}
