//! Makes wrinkles for a rig without examples.

use crate::error::Result;
use crate::files::expect_ending;
use crate::jobs::shown;
use crate::source::RigSource;
use risorius_base::Progress;
use risorius_detail::{MakeOptions, make};
use risorius_io::native::detail;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Makes a detail.
#[derive(Debug, Clone, Default)]
pub struct MakeJob {
    /// The rig.
    pub rig: RigSource,
    /// Age, depth, irregularity and fineness.
    pub options: MakeOptions,
    /// The detail (`.detail`).
    pub output: PathBuf,
}

/// The report of making wrinkles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MakeReport {
    /// The written file.
    pub output: String,
    /// Number of vertices of the mesh that carries the detail.
    pub vertices: usize,
    /// Steps of subdivision.
    pub subdivided: usize,
    /// Mean length of the edges near lines.
    pub edge_mm: f64,
    /// Lines on the face.
    pub lines: Vec<LineReport>,
    /// Expressions that fold the skin.
    pub expressions: Vec<String>,
    /// Names of the poses in the model, the rest first.
    pub poses: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
}

/// A line along which the skin folds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineReport {
    /// Its name.
    pub name: String,
    /// Depth from ridge to valley in the expression that folds it most.
    pub deepest_mm: f64,
    /// Depth at rest.
    pub at_rest_mm: f64,
    /// That expression; empty if none folds it.
    pub expression: String,
}

impl MakeJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<MakeReport> {
        let start = Instant::now();
        expect_ending(&self.output, &["detail"], "a detail")?;
        let rig = self.rig.open_with_sliders(progress)?.rig;
        let made = make(rig, &self.options, progress)?;
        detail::write(&made.content, &self.output)?;
        let line = |l: risorius_detail::make::MadeLine| LineReport {
            name: l.name,
            deepest_mm: l.deepest_mm,
            at_rest_mm: l.at_rest_mm,
            expression: l.expression,
        };
        Ok(MakeReport {
            output: shown(&self.output),
            vertices: made.content.detail.mesh.n_vertices(),
            subdivided: made.content.rest.n_steps,
            edge_mm: made.edge_mm,
            lines: made.lines.into_iter().map(line).collect(),
            expressions: made.expressions,
            poses: made.content.detail.poses.clone(),
            notes: made.notes,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}
