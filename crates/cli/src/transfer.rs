//! `transfer`: carries all shapes of a rig to another mesh.

use crate::arguments::{AboutRig, files_text};
use crate::outcome::{Failure, Printed, notes_text};
use crate::session::Session;
use clap::Args;
use risorius::jobs::transfer::TransferShapesJob;
use std::path::PathBuf;

/// See [`crate`].
#[derive(Args)]
pub struct Arguments {
    /// The rig with the shapes: .face, .glb, .gltf, .fbx, or a folder of OBJs with a neutral.
    rig: PathBuf,
    /// The other face at rest, of any topology, unit and pose: a mesh or a rig.
    #[arg(long, value_name = "MESH")]
    to: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Only these sliders, with their in-betweens and combinations. Separate names by commas.
    #[arg(long, value_delimiter = ',')]
    shapes: Vec<String>,
    /// Keep the other face's own shapes; they stay where names are equal.
    #[arg(long)]
    keep: bool,
    /// JSON file with landmarks of the other face: {"nose_tip": [x, y, z], "mouth_left": 1234}, or 68 or 51
    /// points of a face tracker, {"points": [[x, y, z], ...]}. Found by default.
    #[arg(long, value_name = "FILE")]
    landmarks: Option<PathBuf>,
    /// JSON file with more corresponding points: [{"from": {"vertex": 12}, "to": {"near": [0, 1, 2]}}].
    #[arg(long, value_name = "FILE")]
    pins: Option<PathBuf>,
    /// Draw both faces in several shapes, and the landmarks, into this folder.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Output: the new rig (.glb or .gltf).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let job = TransferShapesJob {
        rig: arguments.rig.clone().into(),
        to: arguments.about.source(&arguments.to),
        output: arguments.output.clone(),
        shapes: arguments.shapes.clone(),
        keep: arguments.keep,
        landmarks: arguments.landmarks.clone(),
        pins: arguments.pins.clone(),
        pictures: arguments.pictures.clone(),
    };
    let report = job.run(&session.progress())?;
    let sure = report.landmarks.iter().filter(|l| l.confidence >= 0.3).count();
    let mut text = format!(
        "{}: {} shapes on {} vertices, in {:.1} s\n  \
         the faces are {:.2} mm apart on average after registration, 95 % within {:.2} mm; \
         {sure} of {} landmarks are sure; {} vertices follow their neighbors\n",
        report.output,
        report.shapes,
        report.vertices,
        report.seconds,
        report.mean_distance_mm,
        report.distance_95_mm,
        report.landmarks.len(),
        report.free_vertices,
    );
    text += &files_text(&report.files);
    text += &notes_text(&report.notes);
    Ok(Printed::new(report, text))
}
