//! `detail edit`: a pose replaced or painted, everything else kept.

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
    /// The pose to change, by name; 'rest' is relief that every pose has, such as pores.
    #[arg(long, value_name = "NAME")]
    pose: String,
    /// The pose as it should be: a mesh with the vertices of the rest, or of the rest as it is subdivided.
    #[arg(long, value_name = "FILE", required_unless_present = "image")]
    mesh: Option<PathBuf>,
    /// The same pose without detail, where detail was learned with --plain.
    #[arg(long, value_name = "FILE", requires = "mesh")]
    plain: Option<PathBuf>,
    /// Heights painted along the normals, through the texture coordinates: .png, .jpg, .tif or .exr.
    #[arg(long, value_name = "FILE", conflicts_with = "mesh", requires = "height")]
    image: Option<PathBuf>,
    /// How much higher white is than black in --image, or 1 than 0 in an OpenEXR: millimeters.
    #[arg(long, value_name = "MM", requires = "image", allow_negative_numbers = true)]
    height: Option<f64>,
    /// The value in --image that changes nothing; 0.5 when left out, 0 in an OpenEXR.
    #[arg(long, value_name = "V", requires = "image", allow_negative_numbers = true)]
    middle: Option<f32>,
    /// Paint instead of what the pose shows, rather than on top of it.
    #[arg(long, requires = "image")]
    replace: bool,
    /// The part whose texture coordinates --image is for; that with most handles when left out.
    #[arg(long, value_name = "NAME", requires = "image")]
    part: Option<String>,
    /// Output: .detail.
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
    Printed::new(&report, text)
}
