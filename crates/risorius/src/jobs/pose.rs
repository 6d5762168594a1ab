//! Evaluates a rig at slider values as a surface, or over a clip as frames.

use super::{plans, shown};
use crate::error::{Error, Result};
use crate::files::{FRAMES, SURFACES, TakeFiles, expect_ending, expect_not_input, is_cache};
use crate::source::{
    BoundContent, ClipReading, Mapping, NamedValues, RigSource, named, named_from_text, nonzero_weights,
};
use crate::takes::{Frames, head_of_span, write_clip_frames, write_surface};
use risorius_base::Progress;
use risorius_base::progress::Plan;
use risorius_rig::{Evaluator, Rig};
use serde::Serialize;
use std::path::{Path, PathBuf};
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
    /// More files with the same pose or clip.
    pub also: Vec<PathBuf>,
    /// How files with frames are written.
    pub files: TakeFiles,
}

/// The report of a pose.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoseReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files.
    pub files: Vec<String>,
    /// Of a clip: number of frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<usize>,
    /// Number of vertices, as the rig's file has them.
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
        let plan = Plan::new(progress, &plans::POSE);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        let outputs: Vec<&Path> =
            std::iter::once(&self.output).chain(&self.also).map(|o| o.as_path()).collect();
        for output in &outputs {
            match &self.what {
                Posed::Clip(_) => expect_ending(output, &FRAMES, "a clip on a rig")?,
                _ => expect_ending(output, &SURFACES, "a pose")?,
            };
            let clip = if let Posed::Clip(clip) = &self.what { Some(clip.as_path()) } else { None };
            expect_not_input(output, std::iter::once(self.rig.path.as_path()).chain(clip))?;
        }
        let rig = self.rig.open(progress)?.rig;
        let vertices = rig.n_file_vertices();
        let mut report = PoseReport { output: shown(&self.output), vertices, ..PoseReport::default() };
        if let Posed::Clip(path) = &self.what {
            self.clip(path, &rig, &outputs, &mut report, progress)?;
        } else {
            let NamedValues { weights, notes } = self.what.weights(&rig, self.clip.set.as_deref())?;
            report.notes = Some(notes).filter(|notes| !notes.is_empty());
            let positions = Evaluator::prepare(&rig).positions(&weights);
            if let Some(v) = positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
                let (vertex, advice) =
                    (rig.vertex_name(v as u32), "are weights or shapes out of range? inspect the rig");
                return Err(Error::failed(format!("{vertex} would be at {:?}; {advice}", positions[v])));
            }
            outputs.iter().try_for_each(|output| write_surface(&rig, &positions, output))?;
            report.files = outputs.iter().map(|output| shown(output)).collect();
            report.weights = Some(nonzero_weights(&rig, &weights));
        }
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Writes a clip on the rig.
    fn clip(
        &self,
        path: &Path,
        rig: &Rig,
        outputs: &[&Path],
        report: &mut PoseReport,
        progress: &Progress,
    ) -> Result<()> {
        let content = self.clip.open_for(path, rig, progress)?;
        if !outputs.iter().all(|output| is_cache(output)) {
            content.check_head()?;
        }
        let BoundContent { clip, mapping, moving, mut notes, .. } = content;
        if clip.head.is_some() && outputs.iter().any(|output| is_cache(output)) {
            let note = "head motion is left out: a point cache cannot hold it; write .glb to keep it";
            notes.push(note.into());
        }
        let head = head_of_span(&self.clip.span, &clip.times_secs, clip.head.as_ref());
        let frames = Frames {
            rig,
            times_secs: &clip.times_secs,
            head: head.as_ref(),
            moving: &moving,
            in_world: false,
            is_preview: false,
        };
        notes.extend(frames.notes(outputs, &self.files));
        let how = (self.bake, &self.files);
        report.files = write_clip_frames(rig, &clip, (&moving, head.as_ref()), outputs, how, progress)?;
        report.frames = Some(clip.n_frames());
        (report.mapping, report.notes) = (Some(mapping), Some(notes));
        Ok(())
    }
}
