//! Puts what physics adds into a few more shapes on the artist's own rig, so that an engine plays a take with
//! few targets. The mathematics is in [`risorius_perform::fit_shapes`].

use crate::error::{Error, Result};
use crate::files::extension;
use crate::takes::{Frames, head_from_zero, motions_at, weight_track};
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::output::write_whole;
use risorius_perform::{FittedShapes, fit_shapes};
use risorius_rig::{BoundClip, Deltas, Evaluator, FileVertex, Rig, Role, Shape, Slider};
use risorius_view::{Series, lines};
use serde::Serialize;
use std::path::Path;

/// Most shapes that can be fitted.
pub const MAX_SHAPES: usize = 256;

/// The report of fitted shapes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitReport {
    /// Names of the fitted shapes, the most important first.
    pub shapes: Vec<String>,
    /// What is left with none of them, with the first one, and so on.
    pub errors: Vec<FitRow>,
    /// Passes over the frames.
    pub passes: usize,
}

/// The distance between the take and what some shapes give.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitRow {
    /// Number of fitted shapes that are used.
    pub shapes: usize,
    /// Mean over all frames and vertices, mm.
    pub mean_mm: f64,
    /// Largest distance, mm.
    pub max_mm: f64,
    /// Its frame.
    pub frame: usize,
    /// Its vertex.
    pub vertex: Option<FileVertex>,
}

/// Shapes that were fitted to a take.
pub(super) struct Fitted {
    shapes: FittedShapes,
    names: Vec<String>,
}

impl Fitted {
    /// Fits `n` shapes to the difference between frames of a take and the artist's clip.
    pub(super) fn new(
        n: usize,
        rig: &Rig,
        clip: &BoundClip,
        n_frames: usize,
        frame: impl Fn(usize) -> Result<Vec<[f32; 3]>>,
    ) -> Result<Self> {
        let evaluator = Evaluator::prepare(rig);
        let difference = |f: usize| -> Result<Vec<[f32; 3]>> {
            let mut field = frame(f)?;
            let artist = evaluator.positions(clip.frame(f));
            field.iter_mut().zip(artist).for_each(|(p, a)| *p = std::array::from_fn(|k| p[k] - a[k]));
            Ok(field)
        };
        let shapes = fit_shapes(n, n_frames, rig.n_vertices(), difference)?;
        let is_taken = |name: &String| rig.shapes.iter().any(|s| s.name == *name);
        let names = (1..).map(|i| format!("physics_{i:02}")).filter(|name| !is_taken(name));
        Ok(Self { names: names.take(shapes.shapes.len()).collect(), shapes })
    }

    /// The report, with distances in mm.
    pub(super) fn report(&self, rig: &Rig) -> FitReport {
        let mm = 1000.0 * rig.space.meters_per_unit;
        let row = |(shapes, error): (usize, &risorius_perform::FitError)| FitRow {
            shapes,
            mean_mm: mm * error.mean,
            max_mm: mm * error.max,
            frame: error.frame,
            vertex: rig.file_vertex(error.vertex as u32),
        };
        let errors = self.shapes.errors.iter().enumerate().map(row).collect();
        FitReport { shapes: self.names.clone(), errors, passes: self.shapes.passes }
    }

    /// Writes the artist's rig with the fitted shapes and the strengths of all shapes over time.
    pub(super) fn write(
        &self,
        frames: &Frames,
        clip: &BoundClip,
        normals: bool,
        output: &Path,
    ) -> Result<()> {
        let mut rig = frames.rig.clone();
        for (name, offsets) in self.names.iter().zip(&self.shapes.shapes) {
            let (vertices, offsets) = (0..).zip(offsets).filter(|(_, o)| **o != [0.0; 3]).unzip();
            let (shape, role) = (rig.shapes.len(), Role::Slider(rig.sliders.len()));
            rig.shapes.push(Shape { name: name.clone(), role, deltas: Deltas { vertices, offsets } });
            rig.sliders.push(Slider { name: name.clone(), shape, range: [-1.0, 1.0] });
        }
        let n_frames = frames.times_secs.len();
        let mut track = weight_track(&Evaluator::prepare(frames.rig), &clip.frames(0..n_frames));
        let (n_own, n_new) = (frames.rig.shapes.len(), self.names.len());
        track.coefficients = (0..n_frames)
            .flat_map(|f| {
                let own = &track.coefficients[f * n_own..(f + 1) * n_own];
                [own, &self.shapes.strengths[f * n_new..(f + 1) * n_new]].concat()
            })
            .collect();
        let head = head_from_zero(frames.times_secs, frames.head);
        let options = GlbOptions {
            target_normals: normals,
            as_text: extension(output) == "gltf",
            animation: Some(&track),
            head: head.as_ref(),
            part_motions: &motions_at(frames.moving, frames.times_secs),
            name: frames.animation_name(),
            ..GlbOptions::default()
        };
        Ok(write_whole(output, &write_glb(&rig, &options)?)?)
    }
}

/// Draws the error over the number of shapes.
pub(super) fn write_plot(report: &FitReport, output: &Path) -> Result<()> {
    let series = |name: &str, value: &dyn Fn(&FitRow) -> f64| Series {
        name: name.into(),
        points: report.errors.iter().map(|row| [row.shapes as f64, value(row)]).collect(),
    };
    let series = [series("largest", &|row| row.max_mm), series("mean", &|row| row.mean_mm)];
    let title = "What more shapes leave of physics";
    let picture = lines(&series, "number of shapes", "distance from the take (mm)", title)?;
    Ok(write_whole(output, &picture.encode_png())?)
}

/// Fails if shapes cannot be fitted to what a job writes.
pub(super) fn check(n: usize, has_gltf: bool, has_detail: bool, in_world: bool) -> Result<()> {
    let problem = match () {
        _ if !(1..=MAX_SHAPES).contains(&n) => format!("{n} shapes cannot be fitted; give 1 to {MAX_SHAPES}"),
        _ if !has_gltf => "fitted shapes are written to a .glb or .gltf; give one as output".into(),
        _ if has_detail => "shapes are fitted to the artist's own vertices, without learned detail".into(),
        _ if in_world => "shapes are fitted in the head frame; a .glb holds the motion of the head".into(),
        _ => return Ok(()),
    };
    Err(Error::request(problem).with_options(&["fit_shapes"]))
}
