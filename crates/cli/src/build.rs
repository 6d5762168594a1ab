//! `build`: a rig gets bones, muscles and flesh, and becomes a `.face` file.
//!
//! Finished shapes wait in `HEAD.face.partial/` beside the output until the file is whole, so that a build
//! that was stopped goes on where it was.

use crate::files::{expect_ending, in_file};
use crate::paint;
use crate::rig_args::RigArgs;
use crate::session::{Failure, Report, Session, peak_mb};
use clap::Args;
use risorius_anatomy::carry::Supplied;
use risorius_anatomy::find::Given;
use risorius_base::progress::tick;
use risorius_flesh::{BuildError, BuildOptions, BuildReport, Face, Surroundings};
use risorius_head::person::{Head, Identity};
use risorius_io::native::face::{self, ShapeCache};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_io::output::write_whole;
use risorius_io::specs::landmarks;
use risorius_mesh::TriMesh;
use risorius_rig::Rig;
use risorius_view::face_pictures;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Landmarks below this confidence are told.
const UNSURE: f64 = 0.5;

/// Shapes of the worst fit that text shows.
const WORST_SHAPES: usize = 8;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    rig: RigArgs,
    /// Skull without the jaw, a closed surface in the rig's own unit and axes; the built-in one is fitted
    /// when left out.
    #[arg(long, value_name = "FILE")]
    skull: Option<PathBuf>,
    /// Lower jaw, likewise.
    #[arg(long, value_name = "FILE")]
    jaw: Option<PathBuf>,
    /// Upper teeth, likewise; the rig's own when left out.
    #[arg(long, value_name = "FILE")]
    teeth_upper: Option<PathBuf>,
    /// Lower teeth, likewise.
    #[arg(long, value_name = "FILE")]
    teeth_lower: Option<PathBuf>,
    /// Landmarks that you know better, as JSON: {"nose_tip": 1234, "mouth_left": [0.1, 2.3, 4.5]}, vertex or
    /// position.
    #[arg(long, value_name = "JSON")]
    landmarks: Option<PathBuf>,
    /// Nodes of the flesh, 500 to 200000: more follow the skin closer and take longer.
    #[arg(long, value_name = "N", default_value_t = 9000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(500..=200_000))]
    nodes: u32,
    /// Painted stiffness of the neutral, or of a shape: vertex colors (.glb, .ply) or a mask over the UVs
    /// (.png), black 3000 Pa to white 20000 Pa, transparent for not painted. Several times for several
    /// shapes.
    #[arg(long, value_name = "[SHAPE=]FILE")]
    paint: Vec<String>,
    /// Folder for pictures of landmarks, bones, muscles, and the flesh cut open.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// The face to write (.face).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    expect_ending(&arguments.output, &["face"], "a face")?;
    if let Some(folder) = arguments.pictures.as_ref().filter(|f| f.exists() && !f.is_dir()) {
        return Err(Failure::could_not(format!("{}: this is a file; give a folder", folder.display())));
    }
    let file = arguments.rig.open_with_sliders(session)?;
    let rig = &file.rig;
    let options = options(arguments, rig, session)?;
    tick(&session.progress(), "built-in head", 0.0)?;
    let head = risorius_head::build(&Identity::default());
    let built = build(rig, &head, &options, &arguments.output, session)?;
    let pictures = match &arguments.pictures {
        Some(folder) => draw(&built, folder, session)?,
        None => Vec::new(),
    };
    let n_bytes = write(&built, &arguments.output)?;
    for (path, png) in &pictures {
        write_whole(path, png)?;
    }
    Ok(report(arguments, &built, n_bytes, &pictures))
}

/// Everything that the user brings, read and checked.
fn options(arguments: &Arguments, rig: &Rig, session: &Session) -> Result<BuildOptions, Failure> {
    let mut options = BuildOptions::default();
    options.volume.nodes = arguments.nodes as usize;
    let bone = |path: &Option<PathBuf>| path.as_deref().map(|p| bone(p, rig, session)).transpose();
    options.carry.supplied = Supplied {
        cranium: bone(&arguments.skull)?,
        mandible: bone(&arguments.jaw)?,
        teeth_upper: bone(&arguments.teeth_upper)?,
        teeth_lower: bone(&arguments.teeth_lower)?,
    };
    options.given = match &arguments.landmarks {
        Some(path) => landmarks::read(&read_file(path)?, rig)
            .map_err(|problem| Failure::could_not(format!("{}: {problem}", path.display())))?,
        None => Given::default(),
    };
    options.paintings = paint::paintings(&arguments.paint, rig, session)?;
    Ok(options)
}

/// A surface in the rig's own unit and axes, in meters.
fn bone(path: &Path, rig: &Rig, session: &Session) -> Result<TriMesh, Failure> {
    let given = open_rig(path, &OpenOptions::default(), &session.progress()).map_err(in_file(path))?.rig;
    let positions = given.neutral.iter().map(|&p| rig.space.to_si(p)).collect();
    Ok(TriMesh { positions, triangles: given.triangles() })
}

/// Builds, with finished shapes kept beside `output`.
pub fn build(
    rig: &Rig,
    head: &Head,
    options: &BuildOptions,
    output: &Path,
    session: &Session,
) -> Result<Face, Failure> {
    let progress = session.progress();
    let cache = ShapeCache::beside(output);
    let around = Surroundings { progress: &progress, store: &cache, peak_mb: &peak_mb };
    risorius_flesh::build(rig, head, options, &around).map_err(|error| stopped(&error, &cache))
}

/// A failure; whoever stopped a build is told that nothing is lost.
fn stopped(error: &BuildError, cache: &ShapeCache) -> Failure {
    if error.is_cancelled() && cache.folder().is_dir() {
        let kept = cache.folder().display();
        let advice =
            format!("finished shapes are kept in {kept}: the same call again goes on where this one stopped");
        return Failure::could_not(format!("{error}; {advice}"));
    }
    Failure::could_not(error.to_string())
}

/// Writes the face and forgets the shapes that waited for it; the size of the file.
pub fn write(built: &Face, output: &Path) -> Result<u64, Failure> {
    face::write(built, output).map_err(in_file(output))?;
    ShapeCache::beside(output).remove_all()?;
    let n_bytes = std::fs::metadata(output).map(|m| m.len());
    n_bytes.map_err(|e| Failure::could_not(format!("{}: {e}", output.display())))
}

/// Pictures of a face with the files that they go to.
pub fn draw(built: &Face, folder: &Path, session: &Session) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let mut drawn = Vec::new();
    for (i, (name, picture)) in face_pictures::ALL.iter().enumerate() {
        tick(&session.progress(), "drawing", i as f32 / face_pictures::ALL.len() as f32)?;
        drawn.push((folder.join(name), picture(built)?.encode_png()));
    }
    Ok(drawn)
}

fn report(arguments: &Arguments, built: &Face, n_bytes: u64, pictures: &[(PathBuf, Vec<u8>)]) -> Report {
    let output = arguments.output.display().to_string();
    let pictures: Vec<String> = pictures.iter().map(|(path, _)| path.display().to_string()).collect();
    let landmarks: Vec<_> = built
        .anatomy
        .landmarks
        .iter()
        .map(|l| {
            json!({
                "name": l.name, "position": l.position.to_array(), "vertex": l.vertex,
                "confidence": l.confidence, "source": l.source,
            })
        })
        .collect();
    let json = json!({
        "output": output, "bytes": n_bytes, "report": built.report, "landmarks": landmarks,
        "notes": built.anatomy.notes, "pictures": pictures,
    });
    let mut text = format!("{output}: {:.1} MB\n{}", n_bytes as f64 / 1e6, summary(built));
    for picture in &pictures {
        text += &format!("  picture: {picture}\n");
    }
    text += &next_steps(built, &output, pictures.is_empty());
    Report { json, text }
}

/// What was made, for people.
pub fn summary(built: &Face) -> String {
    let report = &built.report;
    let quality = &report.quality;
    let mut text = stages(report);
    text += &format!(
        "  flesh: {} nodes, {} tets; smallest dihedral angle {:.1} degrees (mean {:.1}), volume ratio {:.3} (mean {:.3})\n",
        report.n_nodes,
        report.n_tets,
        quality.min_dihedral_deg,
        quality.mean_min_dihedral_deg,
        quality.min_volume_ratio,
        quality.mean_volume_ratio
    );
    text += &format!(
        "  skin: {:.3} mm from the flesh in the mean, {:.3} mm at most\n",
        report.embedding_mm[0], report.embedding_mm[1]
    );
    text += &format!(
        "  closed lips and lids: {} pairs of vertices, {} fused\n",
        report.n_slit_pairs, report.n_fused_pairs
    );
    text += &unsure_landmarks(built);
    text += &worst_shapes(report);
    text += &pairs(report);
    for note in &built.anatomy.notes {
        text += &format!("  note: {} -> {}\n", note.what, note.advice);
    }
    text
}

fn stages(report: &BuildReport) -> String {
    let total: f64 = report.stages.iter().map(|s| s.seconds).sum();
    let line = |(name, seconds, mb): (&str, f64, f64)| match mb {
        0.0 => format!("    {name:<16} {seconds:7.2} s\n"),
        _ => format!("    {name:<16} {seconds:7.2} s, {mb:5.0} MB at most so far\n"),
    };
    let lines: String = report.stages.iter().map(|s| line((&s.name, s.seconds, s.peak_mb))).collect();
    format!("  built in {total:.1} s:\n{lines}")
}

fn unsure_landmarks(built: &Face) -> String {
    let all = &built.anatomy.landmarks;
    let unsure: Vec<_> = all.iter().filter(|l| l.confidence < UNSURE).collect();
    let mut text =
        format!("  landmarks: {} of {} with a confidence below {UNSURE}\n", unsure.len(), all.len());
    for row in unsure.chunks(4) {
        let names: Vec<String> = row.iter().map(|l| format!("{} {:.2}", l.name, l.confidence)).collect();
        text += &format!("    {}\n", names.join(", "));
    }
    text
}

fn worst_shapes(report: &BuildReport) -> String {
    let mut worst: Vec<_> = report.shapes.iter().collect();
    worst.sort_by(|a, b| b.fit_mm[1].total_cmp(&a.fit_mm[1]));
    let mut text = format!("  fit of {} shapes, the worst:\n", worst.len());
    for shape in worst.iter().take(WORST_SHAPES) {
        text += &format!(
            "    {:<28} {:.2} mm in the mean, {:.2} mm at most; least volume {:.2}, {} nodes untangled\n",
            shape.name, shape.fit_mm[0], shape.fit_mm[1], shape.least_j, shape.n_untangled
        );
    }
    text
}

fn pairs(report: &BuildReport) -> String {
    let pairs = &report.pairs;
    let mut text = format!("  pairs of shapes: {}\n", pairs.summary());
    if let Some(([a, b], least)) = &pairs.worst {
        text += &format!("    the worst: {a} with {b}, least volume {least:.2}\n");
    }
    text
}

/// What a person may want to do now.
fn next_steps(built: &Face, output: &str, without_pictures: bool) -> String {
    let mut text = String::from("Try next:\n");
    if without_pictures {
        text += "  the same call with --pictures DIR      to see landmarks, bones, muscles and flesh\n";
    }
    if built.anatomy.landmarks.iter().any(|l| l.confidence < UNSURE) {
        text +=
            "  --landmarks FILE.json                  to put right landmarks that are off in the pictures\n";
    }
    if built.report.embedding_mm[1] > 2.0 {
        text += "  --nodes N                              with more nodes, for flesh closer to the skin\n";
    }
    text + &format!("  risorius inspect {output}\n")
}
