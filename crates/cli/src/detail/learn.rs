//! `detail learn`: wrinkles from example poses.

use crate::arguments::AboutRig;
use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::{Args, ValueEnum};
use risorius::detail::PoseModel;
use risorius::jobs::detail::learn::LearnJob;
use risorius::rig::refine::MAX_STEPS;
use std::path::PathBuf;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The face at rest: a rig or a mesh.
    #[arg(long, value_name = "FILE")]
    rest: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Handles: a JSON file, or the JSON itself. Pins, [{"vertex": 12}, {"near": [0, 1, 2]}], or pins by the
    /// names of the markers that will drive them, {"Chin": {"vertex": 12}}. Chosen when left out.
    #[arg(long, value_name = "H")]
    handles: Option<String>,
    /// Strain gauges of your own: JSON, or a JSON file, with pairs of handles by number from 0 or by name,
    /// [[0, 1], ["Chin", "Lip"]]. Made when left out.
    #[arg(long, value_name = "PAIRS", requires = "handles")]
    gauges: Option<String>,
    /// How many handles are chosen when none are given: well spread, and denser where examples move.
    #[arg(long, value_name = "N", default_value_t = 90, conflicts_with = "handles")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// Subdivide the rest N times: wrinkles need vertices a millimeter apart. Examples have its vertices, or
    /// those of the rest as it is.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MAX_STEPS as i64))]
    subdivide: u32,
    /// Example poses: a folder of meshes with the vertices of the rest, or a take (.glb, .mdd, .pc2, .npz).
    /// Without any there are no wrinkles, only what `detail edit` paints.
    #[arg(long, value_name = "DIR")]
    examples: Option<PathBuf>,
    /// The same poses without detail, as the rig shows them: meshes of the same names. Detail is then learned
    /// to be put on that rig's animations, and nothing of the pose itself is taken for detail.
    #[arg(long, value_name = "DIR", requires = "examples")]
    plain: Option<PathBuf>,
    /// Use P poses in the model, chosen for all examples to be met best; all of them, exactly, when left out.
    #[arg(long, value_name = "P", conflicts_with = "tolerance")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    basis: Option<u32>,
    /// Use as many poses as it takes for all examples to be met within this many millimeters.
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

/// See [`PoseModel`].
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

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = LearnJob {
        rest: arguments.about.source(&arguments.rest),
        handles: arguments.handles.clone(),
        gauges: arguments.gauges.clone(),
        count: arguments.count as usize,
        subdivide: arguments.subdivide as usize,
        examples: arguments.examples.clone(),
        plain: arguments.plain.clone(),
        basis: arguments.basis.map(|n| n as usize),
        tolerance: arguments.tolerance,
        model: match arguments.model {
            ModelName::Wpsd => PoseModel::Wpsd,
            ModelName::Psd => PoseModel::Psd,
            ModelName::LocalBlendshapes => PoseModel::LocalBlendshapes,
            ModelName::GlobalBlendshapes => PoseModel::GlobalBlendshapes,
        },
        bending: arguments.bending,
        output: arguments.output.clone(),
    };
    let report = job.run(&session.progress())?;
    let mut text = format!(
        "{}: {} vertices, {} handles, {} strain gauges, {} poses of {} examples, in {:.1} s\n",
        report.output,
        report.vertices,
        report.handles.len(),
        report.gauges,
        report.poses.len(),
        report.examples.len() + 1,
        report.seconds,
    );
    text += &format!("  detail beyond the large scale: {:.2} mm at most\n", report.largest_displacement_mm);
    let worse = |w: (usize, f64), (k, &mm): (usize, &f64)| if mm > w.1 { (k, mm) } else { w };
    let worst = report.example_errors_mm.iter().enumerate().fold((0, 0.0), worse);
    if let Some(name) = report.examples.get(worst.0) {
        text += &format!("  examples are met within {:.3} mm ('{name}')\n", worst.1);
    }
    Printed::new(&report, text)
}
