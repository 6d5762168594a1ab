//! `detail apply`: applies learned wrinkles to an animation.

use crate::arguments::{ClipArgs, TakeFileArgs, files_text, mapping_text};
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::{Args, ValueEnum};
use risorius::io::formats::picture;
use risorius::jobs::detail::apply::{Animation, ApplyJob};
use risorius::jobs::detail::{MapKind, MapOptions};
use std::path::PathBuf;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The detail (.detail), made by `detail learn`.
    detail: PathBuf,
    /// An animation as frames with the vertices of the rest mesh: .glb, .gltf, .mdd, .pc2 or .npz; for
    /// example the output of `perform`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rig", "clip"])]
    #[arg(required_unless_present_any = ["rig", "markers"])]
    take: Option<PathBuf>,
    /// A marker take: CSV with a time column and columns NAME_X, NAME_Y, NAME_Z. Its head motion is removed
    /// and its gaps are filled.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rig", "clip", "take"])]
    markers: Option<PathBuf>,
    /// Positions of some markers on the face, as pins by marker name: a JSON file or inline JSON, {"Chin":
    /// {"vertex": 12}, "Nose": {"near": [0, 1, 2]}}. At least four; the other markers are aligned with them.
    /// Default: the handles that have the names of markers.
    #[arg(long, value_name = "JSON", requires = "markers")]
    points: Option<String>,
    /// A time at which the actor's face is at rest, seconds; default the first frame with the most markers
    /// visible.
    #[arg(long, value_name = "SECONDS", requires = "markers", allow_negative_numbers = true)]
    neutral: Option<f64>,
    /// A rig with the vertices of the rest mesh, animated by --clip.
    #[arg(long, value_name = "FILE", requires = "clip")]
    rig: Option<PathBuf>,
    /// Slider values over time, for --rig.
    #[arg(long, value_name = "FILE", requires = "rig")]
    clip: Option<PathBuf>,
    #[command(flatten)]
    clip_args: ClipArgs,
    /// Omit detail coarser than this length, millimeters, because the animation already shows it. Default:
    /// omit nothing if the detail was learned with --plain; otherwise three quarters of the distance between
    /// handles where they are dense.
    #[arg(long, value_name = "MM", allow_negative_numbers = true)]
    finer_than: Option<f64>,
    /// Write a displacement map and a normal map of every frame to this folder, in the texture coordinates of
    /// the rest mesh.
    #[arg(long, value_name = "DIR", conflicts_with = "markers")]
    maps: Option<PathBuf>,
    /// Width and height of the maps in texels, 16 to 16384.
    #[arg(long, value_name = "N", default_value_t = 2048, requires = "maps")]
    #[arg(value_parser = clap::value_parser!(u32).range(16..=picture::MAX_SIDE as i64))]
    map_size: u32,
    /// Format of displacement maps: heights as 16-bit PNG, or vectors as OpenEXR.
    #[arg(long, value_enum, default_value_t = MapKindName::Png, requires = "maps")]
    map_kind: MapKindName,
    /// The part whose texture coordinates are used; default the one with the most handles.
    #[arg(long, value_name = "NAME", requires = "maps")]
    map_part: Option<String>,
    /// Output: .glb, .gltf, .mdd, .pc2 or .npz; optional with --maps.
    #[arg(long, short, required_unless_present = "maps")]
    output: Option<PathBuf>,
    #[command(flatten)]
    files: TakeFileArgs,
}

/// Format of displacement maps.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum MapKindName {
    /// Heights along the normal, 16 bits.
    Png,
    /// Displacement vectors, 32-bit floats.
    Exr,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let maps = arguments.maps.as_ref().map(|folder| MapOptions {
        folder: folder.clone(),
        size: arguments.map_size as usize,
        kind: match arguments.map_kind {
            MapKindName::Png => MapKind::Png,
            MapKindName::Exr => MapKind::Exr,
        },
        part: arguments.map_part.clone(),
    });
    let job = ApplyJob {
        detail: arguments.detail.clone(),
        animation: animation(arguments)?,
        reading: arguments.clip_args.reading(),
        finer_than: arguments.finer_than,
        maps,
        output: arguments.output.clone(),
        files: arguments.files.files(),
    };
    let report = job.run(&session.progress())?;
    let written = [&report.output, &report.maps_folder].into_iter().flatten();
    let written: Vec<String> = written.map(|path| path.display().to_string()).collect();
    let (n_frames, seconds, ms) = (report.frames, report.seconds, report.ms_per_frame);
    let mut text = format!(
        "{}: {n_frames} frames in {seconds:.1} s, {ms:.2} ms of it per frame for detail\n",
        written.join(", ")
    );
    if report.is_on_mesh {
        let finer = report.finer_than_mm.map(|mm| format!(" finer than {mm:.0} mm")).unwrap_or_default();
        let most = report.largest_displacement_mm;
        text += &format!("  detail{finer} moved vertices by {most:.2} mm at most\n");
    }
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    text += &report.mapping.as_ref().map(mapping_text).unwrap_or_default();
    Ok(Printed::new(report, text))
}

fn animation(arguments: &Arguments) -> Result<Animation, Failure> {
    if let Some(file) = &arguments.markers {
        let (points, neutral) = (arguments.points.clone(), arguments.neutral);
        return Ok(Animation::Markers { file: file.clone(), points, neutral });
    }
    if let Some(path) = &arguments.take {
        return Ok(Animation::Take(path.clone()));
    }
    match (&arguments.rig, &arguments.clip) {
        (Some(rig), Some(clip)) => Ok(Animation::RigClip { rig: rig.clone(), clip: clip.clone() }),
        _ => Err(Failure::wrong_call("give --take, or --rig and --clip")),
    }
}
