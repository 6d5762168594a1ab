//! `detail learn`: learns wrinkles from example poses.

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
    /// Handles, the vertices that drive the large-scale deformation: a JSON file or inline JSON. A list of
    /// pins is [{"vertex": 12}, {"near": [0, 1, 2]}]. Pins with the names of the markers that will drive them
    /// are {"Chin": {"vertex": 12}}. Chosen automatically by default.
    #[arg(long, value_name = "H")]
    handles: Option<String>,
    /// Strain gauges: a JSON file or inline JSON with pairs of handles, by number from 0 or by name, [[0, 1],
    /// ["Chin", "Lip"]]. Chosen automatically by default.
    #[arg(long, value_name = "PAIRS", requires = "handles")]
    gauges: Option<String>,
    /// Number of handles to choose if --handles is not given, 1 to 2000: well spread, and denser where
    /// examples move.
    #[arg(long, value_name = "N", default_value_t = 90, conflicts_with = "handles")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// Subdivide the rest mesh N times; wrinkles need vertices about a millimeter apart. Examples may have
    /// the vertices of the subdivided mesh or of the original one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MAX_STEPS as i64))]
    subdivide: u32,
    /// Example poses: a folder of meshes with the vertices of the rest mesh, or a take (.glb, .mdd, .pc2,
    /// .npz). Without examples there are no wrinkles until `detail edit` adds some.
    #[arg(long, value_name = "DIR")]
    examples: Option<PathBuf>,
    /// The same poses without detail, as the rig produces them: a folder of meshes with the same names. The
    /// detail is then the difference to these poses, to be applied to animations of that rig.
    #[arg(long, value_name = "DIR", requires = "examples")]
    plain: Option<PathBuf>,
    /// Number of poses in the model, including the rest, 1 to 1000, chosen to approximate all examples best.
    /// Default: all examples, at most 64.
    #[arg(long, value_name = "P", conflicts_with = "tolerance")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    basis: Option<u32>,
    /// Use as many poses as needed to approximate all examples within this distance, millimeters.
    #[arg(long, value_name = "MM", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// The model that predicts wrinkles from skin strain.
    #[arg(long, value_enum, default_value_t = ModelName::Wpsd)]
    model: ModelName,
    /// The length below which the large-scale deformation bends rather than stretches, as a multiple of the
    /// mean distance between handles; positive.
    #[arg(long, default_value_t = 3.0, allow_negative_numbers = true)]
    bending: f64,
    /// Output: the learned detail (.detail).
    #[arg(long, short)]
    output: PathBuf,
}

/// See [`PoseModel`].
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ModelName {
    /// Pose-space deformation with weights per vertex.
    Wpsd,
    /// Pose-space deformation with the same weights for the whole face.
    Psd,
    /// Blend of examples with weights per vertex, for comparison.
    LocalBlendshapes,
    /// Blend of examples with the same weights for the whole face, for comparison.
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
    text += &format!(
        "  detail beyond the large-scale deformation: {:.2} mm at most\n",
        report.largest_displacement_mm
    );
    let worse = |w: (usize, f64), (k, &mm): (usize, &f64)| if mm > w.1 { (k, mm) } else { w };
    let worst = report.example_errors_mm.iter().enumerate().fold((0, 0.0), worse);
    if let Some(name) = report.examples.get(worst.0) {
        text += &format!("  examples are reproduced within {:.3} mm (worst: '{name}')\n", worst.1);
    }
    Ok(Printed::new(report, text))
}
