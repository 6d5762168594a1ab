//! `render`: draws a face, as one picture, many on a sheet, or a movie; performances side by side.

use crate::arguments::{ClipArgs, RigArgs, list, size};
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::{ArgGroup, Args, ValueEnum};
use risorius::jobs::attenuate::Pins;
use risorius::jobs::render::{CameraMotion, Coloring, RenderJob, View};
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
#[command(group(ArgGroup::new("over_time").multiple(true).args(["clip", "take"])))]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Slider values of a pose: a JSON file, inline JSON, or jawOpen=0.6,smile=1; default the neutral. Repeat
    /// for several poses on a sheet.
    #[arg(long, short, value_name = "W")]
    weights: Vec<String>,
    /// Draw every slider at 1, on a sheet.
    #[arg(long, conflicts_with_all = ["weights", "clip", "take"])]
    shapes: bool,
    /// Draw the frames of a clip, on a sheet or as a movie.
    #[arg(long, value_name = "FILE", conflicts_with = "weights")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Draw the frames of a take of this rig (.glb, .gltf, .mdd, .pc2, .npz). Repeat, or combine with --clip,
    /// to compare.
    #[arg(long, value_name = "FILE", conflicts_with = "weights")]
    take: Vec<PathBuf>,
    /// Names of the compared performances, separated by commas: the clip, then the takes; default the file
    /// names.
    #[arg(long, value_name = "LIST", requires = "over_time")]
    label: Option<String>,
    /// Color by the distance from the first compared performance.
    #[arg(long, conflicts_with = "color", requires = "over_time")]
    difference: bool,
    /// Show the head motion of the take, the clip or --head, relative to its first frame.
    #[arg(long, requires = "over_time")]
    with_head: bool,
    /// How the camera moves with --with-head.
    #[arg(long, value_enum, default_value_t = CameraName::Follow)]
    camera: CameraName,
    /// Speed of a movie, 0.01 to 10: 0.5 is slow motion.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    speed: f64,
    /// Frames to put on a sheet, separated by commas, from 0; default 12 spread over the whole, or 6 when
    /// comparing.
    #[arg(long, value_name = "LIST")]
    frames: Option<String>,
    /// Camera view: front, left, right, three-quarter, below, or YAW,PITCH in degrees; default front. Repeat
    /// for several views on a sheet.
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    view: Vec<String>,
    /// Color by motion (distance from the neutral), shape:NAME, region:NAME, or a JSON file with a list of
    /// numbers, one per file vertex; default skin.
    #[arg(long, value_name = "WHAT")]
    color: Option<String>,
    /// Draw the edges of the artist's polygons.
    #[arg(long)]
    wireframe: bool,
    /// Mark these pinned points: a JSON file or inline JSON.
    #[arg(long, value_name = "P")]
    pins: Option<String>,
    /// Size of one picture in pixels: WIDTH or WIDTHxHEIGHT; default 900, or 400 on sheets of more than 4. In
    /// movies 560 for 2 to 4 side by side, 400 for more.
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Zoom factor; above 1 is closer.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    zoom: f32,
    /// Frame the whole rig rather than the face.
    #[arg(long, conflicts_with = "frame")]
    whole: bool,
    /// Frame this region, part, or shape:NAME; default the face.
    #[arg(long, value_name = "REGION")]
    frame: Option<String>,
    /// Number of columns of the sheet, or of pictures side by side in a movie; chosen automatically by
    /// default.
    #[arg(long)]
    columns: Option<usize>,
    /// Output: the picture (.png), the movie (.mp4), or an animated picture that web pages play (.webp).
    #[arg(long, short)]
    output: PathBuf,
}

/// How the camera moves.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum CameraName {
    /// With the head, so that the face stays in the picture; hops, nods and shakes are seen.
    Follow,
    /// Not at all: a head that moves away leaves the picture.
    Still,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = RenderJob {
        rig: arguments.rig.source(),
        weights: arguments.weights.clone(),
        shapes: arguments.shapes,
        clip: arguments.clip.clone(),
        reading: arguments.clip_args.reading(),
        takes: arguments.take.clone(),
        labels: arguments.label.as_deref().map(list),
        difference: arguments.difference,
        with_head: arguments.with_head,
        camera: match arguments.camera {
            CameraName::Follow => CameraMotion::Follow,
            CameraName::Still => CameraMotion::Still,
        },
        speed: arguments.speed,
        frames: arguments.frames.as_deref().map(parse_frames).transpose()?,
        views: arguments.view.iter().map(|v| parse_view(v)).collect::<Result<_, _>>()?,
        color: parse_color(arguments.color.as_deref()),
        wireframe: arguments.wireframe,
        pins: arguments.pins.clone().map(Pins::Text),
        size: arguments.size.as_deref().map(size).transpose()?,
        zoom: arguments.zoom,
        whole: arguments.whole,
        frame: arguments.frame.clone(),
        columns: arguments.columns,
        output: arguments.output.clone(),
    };
    let report = job.run(&session.progress())?;
    let (output, width, height) = (&report.output, report.width, report.height);
    let mut text = match report.frames.zip(report.fps) {
        Some((frames, fps)) => {
            format!("{output}: {frames} frames of {width} x {height} pixels, {fps:.3} fps\n")
        }
        None => format!("{output}: {width} x {height} pixels\n"),
    };
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}

fn parse_frames(text: &str) -> Result<Vec<usize>, Failure> {
    let frame = |piece: &str| {
        let number = piece.trim().parse();
        number.map_err(|_| Failure::wrong_call(format!("'{piece}' is not a frame number")))
    };
    text.split(',').map(frame).collect()
}

fn parse_color(text: Option<&str>) -> Coloring {
    match text {
        None => Coloring::Skin,
        Some("motion") => Coloring::Motion,
        Some(what) => match (what.strip_prefix("shape:"), what.strip_prefix("region:")) {
            (Some(name), _) => Coloring::Shape(name.into()),
            (_, Some(name)) => Coloring::Region(name.into()),
            _ => Coloring::File(what.into()),
        },
    }
}

fn parse_view(text: &str) -> Result<View, Failure> {
    let number = |s: &str| s.trim().parse::<f32>().ok().filter(|x| x.is_finite());
    let given = || match text.split_once(',') {
        Some((yaw, pitch)) => number(yaw).zip(number(pitch)),
        None => number(text).map(|yaw| (yaw, 0.0)),
    };
    let turned =
        || given().map(|(yaw_degrees, pitch_degrees)| View { yaw_degrees, pitch_degrees, name: text.into() });
    View::named(text).or_else(turned).ok_or_else(|| {
        let known = View::NAMED.map(|(name, ..)| name).join(", ");
        Failure::wrong_call(format!("'{text}' is not a view; give {known} or YAW,PITCH"))
    })
}
