//! `render`: pictures of a face, one or many on a sheet.

use crate::files::{expect_ending, in_file};
use crate::pictures::{distances_mm, pin_markers};
use crate::pose::ClipArgs;
use crate::rig_args::{RigArgs, pins, weights};
use crate::session::{Failure, Report, Session};
use clap::Args;
use risorius_io::open::{open_take, read_file};
use risorius_io::output::write_whole;
use risorius_mesh::progress::tick;
use risorius_rig::pins::{find_shape, region_vertices};
use risorius_rig::{Evaluator, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, Framing, ScalarField, draw, sheet};
use serde_json::json;
use std::path::{Path, PathBuf};

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Slider values: a JSON file, inline JSON, or jawOpen=0.6,smile=1. Several times for several poses on a sheet.
    #[arg(long, short, value_name = "W")]
    weights: Vec<String>,
    /// One picture of every slider at 1, on a sheet.
    #[arg(long, conflicts_with_all = ["weights", "clip", "take"])]
    shapes: bool,
    /// Frames of a clip, on a sheet.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["weights", "take"])]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Frames of a take (.mdd, .pc2, .npz) of this rig, on a sheet.
    #[arg(long, value_name = "FILE", conflicts_with = "weights")]
    take: Option<PathBuf>,
    /// Which frames, separated by commas; 12 spread over the whole when left out.
    #[arg(long, value_name = "LIST")]
    frames: Option<String>,
    /// front, left, right, three-quarter, below, or YAW,PITCH in degrees. Several times for several views on a sheet.
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    view: Vec<String>,
    /// Colors: motion (distance from the neutral), shape:NAME, region:NAME, or a JSON list of numbers per file vertex.
    #[arg(long, value_name = "WHAT")]
    color: Option<String>,
    /// Draw the edges of the artist's polygons.
    #[arg(long)]
    wireframe: bool,
    /// Mark these pinned points: a JSON file, or the JSON itself.
    #[arg(long, value_name = "P")]
    pins: Option<String>,
    /// Pixels of one picture: WIDTH or WIDTHxHEIGHT; 900, or 400 on a sheet of many.
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Above 1 comes closer.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    zoom: f32,
    /// Frame everything in the rig rather than the face.
    #[arg(long, conflicts_with = "frame")]
    whole: bool,
    /// Frame this region, part, or shape:NAME.
    #[arg(long, value_name = "REGION")]
    frame: Option<String>,
    /// Columns of the sheet.
    #[arg(long)]
    columns: Option<usize>,
    /// The picture, .png.
    #[arg(long, short)]
    output: PathBuf,
}

/// Most pictures on one sheet: beyond it nobody sees anything.
const MAX_PICTURES: usize = 400;

/// A pose to draw and its label.
type Pose = (Vec<[f32; 3]>, String);

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    expect_ending(&arguments.output, &["png"], "a picture")?;
    let file = if arguments.shapes { arguments.rig.open_with_sliders(session) } else { arguments.rig.open(session) }?;
    let rig = &file.rig;
    let views = if arguments.view.is_empty() {
        vec![(0.0, 0.0, "front".to_string())]
    } else {
        arguments.view.iter().map(|v| parse_view(v)).collect::<Result<_, _>>()?
    };
    let poses = poses(arguments, rig, session)?;
    let look = FaceLook::prepare(rig);
    let n_cells = views.len() * poses.len();
    let options = base_options(arguments, rig, n_cells)?;
    let mut fields = arguments
        .color
        .iter()
        .flat_map(|c| poses.iter().map(|p| field(rig, &p.0, c)))
        .collect::<Result<Vec<_>, _>>()?;
    // One scale for the whole sheet, so that poses can be compared.
    let low = fields.iter().map(|f| f.range[0]).fold(f32::INFINITY, f32::min);
    let high = fields.iter().map(|f| f.range[1]).fold(f32::NEG_INFINITY, f32::max);
    fields.iter_mut().for_each(|f| f.range = [low, high]);
    let mut cells = Vec::new();
    for (p, (positions, label)) in poses.iter().enumerate() {
        for (yaw_degrees, pitch_degrees, view) in &views {
            tick(&session.progress(), "drawing", (p * views.len()) as f32 / n_cells as f32)?;
            let field = fields.get(p).cloned();
            let options =
                DrawOptions { yaw_degrees: *yaw_degrees, pitch_degrees: *pitch_degrees, field, ..options.clone() };
            let label = if views.len() > 1 { format!("{label} {view}") } else { label.clone() };
            cells.push((draw(&look, positions, &options)?, label.trim().to_string()));
        }
    }
    let canvas: Canvas = if cells.len() == 1 {
        cells.swap_remove(0).0
    } else {
        let columns = arguments.columns.unwrap_or_else(|| if views.len() > 1 { views.len() } else { n_cells.min(6) });
        sheet(&cells, columns.max(1), &rig.name)?
    };
    write_whole(&arguments.output, &canvas.encode_png())?;
    let json = json!({
        "output": arguments.output.display().to_string(), "width": canvas.width, "height": canvas.height,
        "pictures": n_cells,
    });
    Ok(Report { json, text: format!("{}: {} x {} pixels\n", arguments.output.display(), canvas.width, canvas.height) })
}

fn poses(arguments: &Arguments, rig: &Rig, session: &Session) -> Result<Vec<Pose>, Failure> {
    let evaluator = Evaluator::prepare(rig);
    if arguments.shapes {
        check_pictures(rig.sliders.len())?;
        let one = |s: usize| {
            let mut w = vec![0.0; rig.sliders.len()];
            w[s] = 1.0;
            (evaluator.positions(&w), rig.sliders[s].name.clone())
        };
        return Ok((0..rig.sliders.len()).map(one).collect());
    }
    if let Some(path) = &arguments.clip {
        let clip = arguments.clip_args.open(path, session)?.clip;
        let (values, _) = clip.bind(rig)?;
        let n = rig.sliders.len();
        let frames = frame_list(arguments.frames.as_deref(), clip.n_frames())?;
        let label = |f: usize| format!("frame {f}, {:.2} s", clip.times_secs[f]);
        return Ok(frames.iter().map(|&f| (evaluator.positions(&values[n * f..n * (f + 1)]), label(f))).collect());
    }
    if let Some(path) = &arguments.take {
        return take_poses(arguments, rig, path);
    }
    if arguments.weights.is_empty() {
        return Ok(vec![(rig.neutral.clone(), String::new())]);
    }
    let label = |w: &str| if w.contains('=') && !Path::new(w).is_file() { w.to_string() } else { short_name(w) };
    arguments.weights.iter().map(|w| Ok((evaluator.positions(&weights(rig, w)?), label(w)))).collect()
}

/// Frames of a take, whose vertices are the file vertices of all parts, brought back to rig vertices.
fn take_poses(arguments: &Arguments, rig: &Rig, path: &Path) -> Result<Vec<Pose>, Failure> {
    let take = open_take(path, arguments.clip_args.fps.unwrap_or(30.0)).map_err(in_file(path))?;
    let of_file: Vec<u32> = rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect();
    if of_file.len() != take.n_vertices {
        return Err(Failure::could_not(format!(
            "{}: the take has {} vertices, the rig {}; is it a take of this rig?",
            path.display(),
            take.n_vertices,
            of_file.len()
        )));
    }
    let frames = frame_list(arguments.frames.as_deref(), take.n_frames())?;
    Ok(frames
        .iter()
        .map(|&f| {
            let mut positions = rig.neutral.clone();
            take.frame(f).iter().zip(&of_file).for_each(|(p, &v)| positions[v as usize] = *p);
            (positions, format!("frame {f}, {:.2} s", take.times_secs[f]))
        })
        .collect())
}

fn check_pictures(n: usize) -> Result<(), Failure> {
    if n > MAX_PICTURES {
        let message =
            format!("{n} pictures are too many for a sheet, which holds {MAX_PICTURES}; draw some by --weights");
        return Err(Failure::could_not(message));
    }
    Ok(())
}

fn frame_list(list: Option<&str>, n_frames: usize) -> Result<Vec<usize>, Failure> {
    let Some(list) = list else {
        let n = n_frames.min(12);
        return Ok((0..n).map(|i| i * (n_frames - 1) / (n - 1).max(1)).collect());
    };
    check_pictures(list.split(',').count())?;
    list.split(',')
        .map(|piece| match piece.trim().parse::<usize>() {
            Ok(f) if f < n_frames => Ok(f),
            Ok(f) => Err(Failure::could_not(format!("frame {f} is out of range: there are {n_frames}, from 0"))),
            Err(_) => Err(Failure::wrong_call(format!("'{piece}' is not a frame number"))),
        })
        .collect()
}

fn short_name(given: &str) -> String {
    let stem = Path::new(given).file_stem().map(|s| s.to_string_lossy().into_owned());
    if given.trim_start().starts_with('{') { String::new() } else { stem.unwrap_or_default() }
}

fn base_options(arguments: &Arguments, rig: &Rig, n_cells: usize) -> Result<DrawOptions, Failure> {
    let default = if n_cells > 4 { "400" } else { "900" };
    let (width, height) = parse_size(arguments.size.as_deref().unwrap_or(default))?;
    let framing = match (&arguments.frame, arguments.whole) {
        (Some(region), _) => Framing::Vertices(region_vertices(rig, region).map_err(Failure::could_not)?),
        (None, true) => Framing::Whole,
        (None, false) => Framing::Face,
    };
    let markers = match &arguments.pins {
        Some(given) => pin_markers(&pins(rig, given)?),
        None => Vec::new(),
    };
    Ok(DrawOptions {
        width,
        height,
        zoom: arguments.zoom,
        framing,
        wireframe: arguments.wireframe,
        markers,
        ..DrawOptions::default()
    })
}

fn parse_size(text: &str) -> Result<(usize, usize), Failure> {
    let side = |s: &str| s.trim().parse::<usize>().ok().filter(|&n| n > 0);
    let size = match text.split_once(['x', 'X']) {
        Some((w, h)) => side(w).zip(side(h)),
        None => side(text).map(|n| (n, n)),
    };
    size.ok_or_else(|| Failure::wrong_call(format!("'{text}' is not a size; give 900 or 1280x720")))
}

fn parse_view(text: &str) -> Result<(f32, f32, String), Failure> {
    let named = match text {
        "front" => Some((0.0, 0.0)),
        "left" => Some((90.0, 0.0)),
        "right" => Some((-90.0, 0.0)),
        "three-quarter" => Some((35.0, 5.0)),
        "below" => Some((0.0, -35.0)),
        _ => None,
    };
    let number = |s: &str| s.trim().parse::<f32>().ok().filter(|x| x.is_finite());
    let given = || match text.split_once(',') {
        Some((yaw, pitch)) => number(yaw).zip(number(pitch)),
        None => number(text).map(|yaw| (yaw, 0.0)),
    };
    named.or_else(given).map(|(yaw, pitch)| (yaw, pitch, text.to_string())).ok_or_else(|| {
        Failure::wrong_call(format!(
            "'{text}' is not a view; give front, left, right, three-quarter, below or YAW,PITCH"
        ))
    })
}

/// A value per rig vertex for `what`.
fn field(rig: &Rig, positions: &[[f32; 3]], what: &str) -> Result<ScalarField, Failure> {
    if what == "motion" {
        return Ok(ScalarField::spanning(distances_mm(rig, positions, &rig.neutral), "mm"));
    }
    let mut values = vec![0.0; rig.n_vertices()];
    if let Some(name) = what.strip_prefix("shape:") {
        let shape = &rig.shapes[find_shape(rig, name).map_err(Failure::could_not)?];
        let to_mm = rig.space.millimeters(1.0) as f32;
        for (&v, o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            values[v as usize] = to_mm * o.iter().map(|x| x * x).sum::<f32>().sqrt();
        }
        return Ok(ScalarField::spanning(values, "mm"));
    }
    if let Some(name) = what.strip_prefix("region:") {
        let vertices = region_vertices(rig, name).map_err(Failure::could_not)?;
        vertices.iter().for_each(|&v| values[v as usize] = 1.0);
        return Ok(ScalarField::spanning(values, name));
    }
    if !Path::new(what).exists() {
        let message =
            format!("'{what}' is not a color; give motion, shape:NAME, region:NAME or a JSON file of numbers");
        return Err(Failure::could_not(message));
    }
    let numbers: Vec<f32> = serde_json::from_slice(&read_file(Path::new(what))?)
        .map_err(|e| Failure::could_not(format!("{what}: a list of numbers is expected: {e}")))?;
    let of_file: Vec<u32> = rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect();
    if numbers.len() != of_file.len() {
        let message = format!("{what} has {} numbers for {} file vertices", numbers.len(), of_file.len());
        return Err(Failure::could_not(message));
    }
    numbers.iter().zip(&of_file).for_each(|(x, &v)| values[v as usize] = *x);
    Ok(ScalarField::spanning(values, ""))
}
