//! `detail edit`: a pose replaced or painted, everything else kept.

use super::poses::open_pose;
use super::texture::Texture;
use crate::files::{expect_ending, in_file};
use crate::session::{Failure, Report, Session};
use clap::Args;
use risorius_detail::edit::Join;
use risorius_io::formats::picture;
use risorius_io::native::detail;
use risorius_io::open::read_file;
use risorius_rig::lookup::unknown;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

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
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    expect_ending(&arguments.output, &["detail"], "a detail")?;
    let mut content = detail::open(&arguments.detail).map_err(in_file(&arguments.detail))?;
    let Some(pose) = content.detail.pose(&arguments.pose) else {
        let known = content.detail.poses.iter().map(String::as_str);
        return Err(Failure::could_not(unknown("pose", &arguments.pose, known)));
    };
    let n_changed = match (&arguments.mesh, &arguments.image, arguments.height) {
        (Some(path), _, _) => {
            let mesh = open_pose(path, &content.rest, session)?;
            let plain =
                arguments.plain.as_ref().map(|path| open_pose(path, &content.rest, session)).transpose()?;
            match pose {
                0 => content.detail.sculpt_rest(&mesh)?,
                _ => content.detail.replace_pose(pose, &mesh, plain.as_deref())?,
            }
        }
        (None, Some(path), Some(height)) => {
            if !height.is_finite() {
                return Err(Failure::wrong_call("--height: give millimeters"));
            }
            let picture = picture::read(&read_file(path)?).map_err(in_file(path))?;
            let rig = &content.rest.fine;
            let texture = Texture::of(rig, arguments.part.as_deref(), &content.detail.shell.handles)?;
            let is_exr = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("exr"));
            let middle = arguments.middle.unwrap_or(if is_exr { 0.0 } else { 0.5 });
            let scale = (height / content.rest.mm_per_unit()) as f32;
            let values = picture.at_vertices(rig.n_vertices(), &texture.triangles, &texture.uvs);
            let heights: Vec<Option<f32>> =
                values.into_iter().map(|value| value.map(|value| (value - middle) * scale)).collect();
            let join = if arguments.replace { Join::Replace } else { Join::Add };
            content.detail.paint(pose, &heights, join)?
        }
        _ => return Err(Failure::wrong_call("give --mesh, or --image and --height")),
    };
    detail::write(&content, &arguments.output)?;
    let (n, seconds) = (content.detail.mesh.n_vertices(), start.elapsed().as_secs_f64());
    let output = arguments.output.display();
    let json = json!({
        "output": output.to_string(), "pose": arguments.pose, "vertices": n, "changed": n_changed, "seconds": seconds,
    });
    let text =
        format!("{output}: '{}' changed at {n_changed} of {n} vertices, in {seconds:.1} s\n", arguments.pose);
    Ok(Report { json, text })
}
