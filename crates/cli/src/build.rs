//! `build`: adds bones, muscles and flesh to a rig and writes a `.face` file.

use crate::arguments::AboutRig;
use crate::batch;
use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::Args;
use risorius::anatomy::Note;
use risorius::flesh::BuildReport;
use risorius::jobs::batch::{Batch, has_mark, is_folder};
use risorius::jobs::build::{
    BuildJob, BuildJobReport, LandmarkReport, Painting, Property, RIG_MARK, property_name, usual_range,
};
use std::path::{Path, PathBuf};

/// Landmarks below this confidence are listed.
const UNSURE: f64 = 0.5;

/// Number of worst-fitting shapes in the text report.
const WORST_SHAPES: usize = 8;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The rig: .face, .glb, .gltf, .fbx, .obj, .ply, .stl, or a folder of OBJs with a neutral. Several rigs
    /// give a face each: -o is then a folder, or a name with {rig} in it, for the rig's name.
    #[arg(value_name = "RIG", required = true)]
    rigs: Vec<PathBuf>,
    #[command(flatten)]
    about: AboutRig,
    /// Skull without the jaw: a closed surface in the rig's unit and axes. By default the built-in skull is
    /// fitted.
    #[arg(long, value_name = "FILE")]
    skull: Option<PathBuf>,
    /// Lower jaw: a closed surface in the rig's unit and axes. By default the built-in jaw is fitted.
    #[arg(long, value_name = "FILE")]
    jaw: Option<PathBuf>,
    /// Upper teeth, in the rig's unit and axes; default the rig's own.
    #[arg(long, value_name = "FILE")]
    teeth_upper: Option<PathBuf>,
    /// Lower teeth, in the rig's unit and axes; default the rig's own.
    #[arg(long, value_name = "FILE")]
    teeth_lower: Option<PathBuf>,
    /// JSON file with landmarks that override the detected ones, each a vertex or a position: {"nose_tip":
    /// 1234, "mouth_left": [0.1, 2.3, 4.5]}.
    #[arg(long, value_name = "JSON")]
    landmarks: Option<PathBuf>,
    /// Number of flesh nodes, 500 to 200000; more nodes follow the skin more closely and take longer.
    #[arg(long, value_name = "N", default_value_t = 9000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(500..=200_000))]
    nodes: u32,
    /// Painted stiffness of the neutral, or of SHAPE: vertex colors (.glb, .gltf, .ply) or a mask over the
    /// UVs (.png), from black, 3000 Pa, to white, 20000 Pa; transparent is unpainted. Repeat for several
    /// shapes.
    #[arg(long, value_name = "[SHAPE=]FILE")]
    paint: Vec<String>,
    /// Painted resistance to volume change (lambda), as --paint; black is 2500 Pa, white 80000 Pa.
    #[arg(long, value_name = "[SHAPE=]FILE")]
    paint_lambda: Vec<String>,
    /// Painted mass of the neutral, as --paint; black is 500 kg/m^3, white 2000.
    #[arg(long, value_name = "FILE")]
    paint_mass: Vec<String>,
    /// Painted damping of the neutral, as --paint; black is 0 s, white 0.05 s. A motion at F hertz has the
    /// damping ratio 3.14 F times this.
    #[arg(long, value_name = "FILE")]
    paint_damping: Vec<String>,
    /// Values of black and white for a painted property (stiffness, lambda, mass, damping), for example
    /// stiffness=500..80000. Repeat for several.
    #[arg(long, value_name = "PROPERTY=LOW..HIGH", value_parser = paint_range)]
    paint_range: Vec<(Property, [f32; 2])>,
    /// Folder for pictures of landmarks, bones, muscles and a cut through the flesh.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Output: the face (.face). A folder gets RIG.face for each rig. {rig} in this and other file names is
    /// the rig's name without folder and ending.
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = BuildJob {
        rig: arguments.about.source(&arguments.rigs[0]),
        skull: arguments.skull.clone(),
        jaw: arguments.jaw.clone(),
        teeth_upper: arguments.teeth_upper.clone(),
        teeth_lower: arguments.teeth_lower.clone(),
        landmarks: arguments.landmarks.clone(),
        nodes: arguments.nodes as usize,
        paint: paintings(arguments),
        pictures: arguments.pictures.clone(),
        output: arguments.output.clone(),
    };
    let output = &arguments.output;
    if arguments.rigs.len() > 1 || is_folder(output, false) || has_mark(output, RIG_MARK) {
        let jobs = job.for_rigs(&arguments.rigs);
        let report = Batch { jobs, report: None }.run(&session.progress())?;
        let notes = |built: &BuildJobReport| built.notes.iter().map(note_text).collect();
        return Ok(batch::printed(report, "faces", line, notes));
    }
    let report = job.run(&session.progress())?;
    let mut text = format!("{}: {:.1} MB\n{}", report.output, report.bytes as f64 / 1e6, summary(&report));
    for picture in &report.pictures {
        text += &format!("  picture: {picture}\n");
    }
    text += &next_steps(&report);
    Ok(Printed::new(report, text))
}

/// A face of a batch.
fn line(built: &BuildJobReport) -> String {
    let (report, mb) = (&built.report, built.bytes as f64 / 1e6);
    let seconds: f64 = report.stages.iter().map(|s| s.seconds).sum();
    let worst = report.shapes.iter().map(|s| s.fit_mm[1]).fold(0.0, f64::max);
    let (nodes, fused) = (report.n_nodes, report.n_fused_pairs);
    format!(
        "{}: {nodes} nodes, {mb:.1} MB, in {seconds:.1} s; worst fit {worst:.2} mm, {fused} fused pairs",
        built.output
    )
}

fn note_text(note: &Note) -> String {
    format!("{} -> {}", note.what, note.advice)
}

const PROPERTIES: [Property; 4] =
    [Property::Stiffness, Property::VolumeStiffness, Property::Density, Property::Damping];

/// Everything that is painted.
fn paintings(arguments: &Arguments) -> Vec<Painting> {
    let Arguments { paint, paint_lambda, paint_mass, paint_damping, paint_range, .. } = arguments;
    let given = PROPERTIES.into_iter().zip([paint, paint_lambda, paint_mass, paint_damping]);
    let one = |(property, text): (Property, &String)| {
        let range = paint_range.iter().rfind(|(of, _)| *of == property).map(|(_, range)| *range);
        // A file name may contain =.
        let (shape, file) = match text.split_once('=') {
            Some((name, path)) if !Path::new(text).exists() => (Some(name.into()), path.into()),
            _ => (None, text.into()),
        };
        Painting { property, range, shape, file }
    };
    given.flat_map(|(property, texts)| texts.iter().map(move |text| (property, text))).map(one).collect()
}

/// The property and the range of `PROPERTY=LOW..HIGH`.
fn paint_range(text: &str) -> Result<(Property, [f32; 2]), String> {
    let parse = || {
        let (name, range) = text.split_once('=')?;
        let property = PROPERTIES.into_iter().find(|p| property_name(*p) == name.trim())?;
        let (low, high) = range.split_once("..")?;
        Some((property, [low.trim().parse().ok()?, high.trim().parse().ok()?]))
    };
    parse().ok_or_else(|| {
        let usual =
            |p: Property| format!("{}={}..{}", property_name(p), usual_range(p)[0], usual_range(p)[1]);
        format!("write it as one of {}, with your own numbers", PROPERTIES.map(usual).join(", "))
    })
}

/// The report as text.
pub fn summary(built: &BuildJobReport) -> String {
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
    let [mean, most] = report.embedding_mm;
    text += &format!("  skin: {mean:.3} mm from the flesh on average, {most:.3} mm at most\n");
    let (pairs, fused) = (report.n_slit_pairs, report.n_fused_pairs);
    text += &format!("  closed lips and lids: {pairs} pairs of vertices, {fused} fused\n");
    text += &unsure_landmarks(&built.landmarks);
    text += &worst_shapes(report);
    text += &pairs_text(report);
    for note in &built.notes {
        text += &format!("  note: {}\n", note_text(note));
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

fn unsure_landmarks(all: &[LandmarkReport]) -> String {
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
            "    {:<28} mean {:.2} mm, at most {:.2} mm; least volume {:.2}, {} nodes untangled\n",
            shape.name, shape.fit_mm[0], shape.fit_mm[1], shape.least_j, shape.n_untangled
        );
    }
    text
}

fn pairs_text(report: &BuildReport) -> String {
    let pairs = &report.pairs;
    let mut text = format!("  pairs of shapes: {}\n", pairs.summary());
    if let Some(([a, b], least)) = &pairs.worst {
        text += &format!("    the worst: {a} with {b}, least volume {least:.2}\n");
    }
    text
}

/// Suggestions for the next step.
fn next_steps(built: &BuildJobReport) -> String {
    let mut text = String::from("Try next:\n");
    if built.pictures.is_empty() {
        text += "  repeat the call with --pictures DIR    to see landmarks, bones, muscles and flesh\n";
    }
    if built.landmarks.iter().any(|l| l.confidence < UNSURE) {
        text +=
            "  --landmarks FILE.json                  to correct landmarks that are wrong in the pictures\n";
    }
    if built.report.embedding_mm[1] > 2.0 {
        text += "  --nodes N                              with more nodes, for flesh closer to the skin\n";
    }
    text + &format!("  risorius inspect {}\n", built.output)
}
