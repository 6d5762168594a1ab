//! Edits a learned detail: replaces a pose or paints on it, and keeps everything else.

use super::poses::open_pose;
use super::texture::Texture;
use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_native, extension};
use crate::jobs::{plans, shown};
use risorius_base::Progress;
use risorius_base::progress::Plan;
use risorius_detail::FaceDetail;
use risorius_detail::edit::Join;
use risorius_io::formats::picture;
use risorius_io::native::detail;
use risorius_io::open::read_file;
use risorius_rig::lookup::unknown;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Edits a detail.
#[derive(Debug, Clone)]
pub struct EditJob {
    /// The detail (`.detail`).
    pub detail: PathBuf,
    /// The pose to change, by name; `rest` is the relief that all poses have, such as pores.
    pub pose: String,
    /// The change.
    pub change: PoseChange,
    /// The edited detail (`.detail`).
    pub output: PathBuf,
}

/// A change of a pose.
#[derive(Debug, Clone)]
pub enum PoseChange {
    /// Replace it by a mesh with the vertices of the rest mesh, or of the subdivided rest mesh.
    Mesh {
        /// The pose with detail.
        mesh: PathBuf,
        /// The same pose without detail, if the detail was learned with plain poses.
        plain: Option<PathBuf>,
    },
    /// Paint heights along the normals, by the texture coordinates.
    Paint(PaintedHeights),
}

/// A picture of heights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PaintedHeights {
    /// `.png`, `.jpg`, `.tif` or `.exr`.
    pub image: PathBuf,
    /// Height of white above black, or of 1 above 0 in an OpenEXR, millimeters.
    pub height: f64,
    /// The value that changes nothing; by default 0.5, or 0 in an OpenEXR.
    pub middle: Option<f32>,
    /// Replace the detail of the pose instead of adding to it.
    pub replace: bool,
    /// The part whose texture coordinates are used; by default the one with the most handles.
    pub part: Option<String>,
}

/// The report of an edit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EditReport {
    /// The written file.
    pub output: String,
    /// The pose.
    pub pose: String,
    /// Number of vertices of the mesh.
    pub vertices: usize,
    /// Number of vertices that changed.
    pub changed: usize,
    /// Computation time, seconds.
    pub seconds: f64,
}

impl EditJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<EditReport> {
        let plan = Plan::new(progress, &plans::EDIT);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        expect_ending(&self.output, &["detail"], "a detail")?;
        expect_native(&self.detail, "detail")?;
        let mut content = detail::open(&self.detail).map_err(in_file(&self.detail))?;
        let Some(pose) = content.detail.pose(&self.pose) else {
            let known = content.detail.poses.iter().map(String::as_str);
            return Err(unknown("pose", &self.pose, known).into());
        };
        let changed = match &self.change {
            PoseChange::Mesh { mesh, plain } => {
                let mesh = open_pose(mesh, &content.rest, progress)?;
                let plain =
                    plain.as_ref().map(|path| open_pose(path, &content.rest, progress)).transpose()?;
                match pose {
                    0 => content.detail.sculpt_rest(&mesh)?,
                    _ => content.detail.replace_pose(pose, &mesh, plain.as_deref())?,
                }
            }
            PoseChange::Paint(heights) => heights.paint(&mut content, pose)?,
        };
        detail::write(&content, &self.output)?;
        Ok(EditReport {
            output: shown(&self.output),
            pose: self.pose.clone(),
            vertices: content.detail.mesh.n_vertices(),
            changed,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

impl PaintedHeights {
    fn paint(&self, content: &mut FaceDetail, pose: usize) -> Result<usize> {
        if !self.height.is_finite() {
            let message = "the height must be a finite number of millimeters";
            return Err(Error::request(message).with_options(&["height"]));
        }
        let picture = picture::read(&read_file(&self.image)?).map_err(in_file(&self.image))?;
        let rig = &content.rest.fine;
        let texture = Texture::of(rig, self.part.as_deref(), &content.detail.shell.handles)?;
        let middle = self.middle.unwrap_or(if extension(&self.image) == "exr" { 0.0 } else { 0.5 });
        let scale = (self.height / content.rest.mm_per_unit()) as f32;
        let values = picture.at_vertices(rig.n_vertices(), &texture.triangles, &texture.uvs);
        let heights: Vec<Option<f32>> =
            values.into_iter().map(|value| value.map(|value| (value - middle) * scale)).collect();
        let join = if self.replace { Join::Replace } else { Join::Add };
        Ok(content.detail.paint(pose, &heights, join)?)
    }
}
