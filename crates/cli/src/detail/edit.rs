//! `detail edit`: replaces a pose or paints on it, and keeps everything else.

use crate::outcome::{Failure, Printed};
use crate::session::Session;
use clap::Args;
use risorius::jobs::detail::edit::{EditJob, PaintedHeights, PoseChange};
use std::path::PathBuf;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The detail (.detail).
    detail: PathBuf,
    /// Name of the pose to change; 'rest' is the relief that all poses have, such as pores.
    #[arg(long, value_name = "NAME")]
    pose: String,
    /// The new pose: a mesh with the vertices of the rest mesh, or of the subdivided rest mesh.
    #[arg(long, value_name = "FILE", required_unless_present = "image")]
    mesh: Option<PathBuf>,
    /// The same pose without detail, if the detail was learned with --plain.
    #[arg(long, value_name = "FILE", requires = "mesh")]
    plain: Option<PathBuf>,
    /// Heights along the normals, painted in the texture coordinates: .png, .jpg, .tif or .exr.
    #[arg(long, value_name = "FILE", conflicts_with = "mesh", requires = "height")]
    image: Option<PathBuf>,
    /// Height of white above black in --image, or of 1 above 0 in an OpenEXR, millimeters.
    #[arg(long, value_name = "MM", requires = "image", allow_negative_numbers = true)]
    height: Option<f64>,
    /// The value in --image that means no change; default 0.5, or 0 in an OpenEXR.
    #[arg(long, value_name = "V", requires = "image", allow_negative_numbers = true)]
    middle: Option<f32>,
    /// Replace the detail of the pose by --image instead of adding to it.
    #[arg(long, requires = "image")]
    replace: bool,
    /// The part whose texture coordinates --image uses; default the one with the most handles.
    #[arg(long, value_name = "NAME", requires = "image")]
    part: Option<String>,
    /// Output: the edited detail (.detail).
    #[arg(long, short)]
    output: PathBuf,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Printed, Failure> {
    let change = match (&arguments.mesh, &arguments.image, arguments.height) {
        (Some(mesh), _, _) => PoseChange::Mesh { mesh: mesh.clone(), plain: arguments.plain.clone() },
        (None, Some(image), Some(height)) => PoseChange::Paint(PaintedHeights {
            image: image.clone(),
            height,
            middle: arguments.middle,
            replace: arguments.replace,
            part: arguments.part.clone(),
        }),
        _ => return Err(Failure::wrong_call("give --mesh, or --image and --height")),
    };
    let job = EditJob {
        detail: arguments.detail.clone(),
        pose: arguments.pose.clone(),
        change,
        output: arguments.output.clone(),
    };
    let report = job.run(&session.progress())?;
    let (output, pose, seconds) = (&report.output, &report.pose, report.seconds);
    let counts = format!("{} of {} vertices", report.changed, report.vertices);
    let text = format!("{output}: '{pose}' changed at {counts}, in {seconds:.1} s\n");
    Ok(Printed::new(report, text))
}
