//! Evaluates a rig at slider values as a surface, or over a clip as frames.

use super::shown;
use crate::error::{Error, Result};
use crate::files::{FRAMES, SURFACES, expect_ending, is_cache};
use crate::source::{ClipReading, Mapping, NamedValues, RigSource, named, named_from_text, nonzero_weights};
use crate::takes::{write_clip_frames, write_surface};
use risorius_base::Progress;
use risorius_rig::{Evaluator, Rig};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// The source of slider values.
#[derive(Debug, Clone)]
pub enum Posed {
    /// Slider values by name.
    Weights(Vec<(String, f32)>),
    /// Slider values as text: the name of a JSON file, JSON, or `jawOpen=0.6,smile=1`.
    Text(String),
    /// A clip: Live Link Face CSV, CSV, JSON, or an animation in a glTF or FBX.
    Clip(PathBuf),
}

impl Default for Posed {
    fn default() -> Self {
        Self::Weights(Vec::new())
    }
}

impl Posed {
    /// Weights of `rig`; all zero for a clip. Of several sets of shapes, names mean `set`.
    pub(crate) fn weights(&self, rig: &Rig, set: Option<&str>) -> Result<NamedValues> {
        match self {
            Self::Weights(pairs) => named(rig, pairs, set),
            Self::Text(text) => named_from_text(rig, text, set),
            Self::Clip(_) => named(rig, &[], None),
        }
    }
}

/// Evaluates a rig.
#[derive(Debug, Clone, Default)]
pub struct PoseJob {
    /// The rig.
    pub rig: RigSource,
    /// Slider values or a clip.
    pub what: Posed,
    /// How a clip is read.
    pub clip: ClipReading,
    /// Write the vertices of every frame into a GLB, instead of shapes with a weight animation.
    pub bake: bool,
    /// `.glb`, `.gltf`, `.obj` or `.ply` for a pose; `.glb`, `.gltf`, `.mdd`, `.pc2` or `.npz` for a clip.
    pub output: PathBuf,
}

/// The report of a pose.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoseReport {
    /// The written file.
    pub output: String,
    /// Of a clip: number of frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<usize>,
    /// Number of vertices of the rig.
    pub vertices: usize,
    /// Of a pose: the nonzero slider values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<serde_json::Map<String, serde_json::Value>>,
    /// Of a clip: which columns drive which sliders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<Mapping>,
    /// What was assumed or left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<String>>,
    /// Computation time, seconds.
    pub seconds: f64,
}

impl PoseJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<PoseReport> {
        let start = Instant::now();
        let output = &self.output;
        match &self.what {
            Posed::Clip(_) => expect_ending(output, &FRAMES, "a clip on a rig")?,
            _ => expect_ending(output, &SURFACES, "a pose")?,
        };
        let rig = self.rig.open(progress)?.rig;
        let mut report =
            PoseReport { output: shown(output), vertices: rig.n_vertices(), ..PoseReport::default() };
        if let Posed::Clip(path) = &self.what {
            let mut content = self.clip.open_for(path, &rig, progress)?;
            if !is_cache(output) {
                content.check_head()?;
            } else if content.clip.head.is_some() {
                let note = "head motion is left out: a point cache cannot hold it; write .glb to keep it";
                content.notes.push(note.into());
            }
            write_clip_frames(&rig, &content.clip, output, self.bake, progress)?;
            report.frames = Some(content.clip.n_frames());
            (report.mapping, report.notes) = (Some(content.mapping), Some(content.notes));
        } else {
            let NamedValues { weights, notes } = self.what.weights(&rig, self.clip.set.as_deref())?;
            report.notes = Some(notes).filter(|notes| !notes.is_empty());
            let positions = Evaluator::prepare(&rig).positions(&weights);
            if let Some(v) = positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
                let advice = "are weights or shapes out of range? inspect the rig";
                return Err(Error::failed(format!("vertex {v} would be at {:?}; {advice}", positions[v])));
            }
            write_surface(&rig, &positions, output)?;
            report.weights = Some(nonzero_weights(&rig, &weights));
        }
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }
}
