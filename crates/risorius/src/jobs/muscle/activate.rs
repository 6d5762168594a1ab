//! Poses a face by muscle activations and the jaw.

use super::{MuscleMaterial, MuscleState, SolveFigures, open_face, pictures, problem_notes, states};
use crate::error::{Error, Result};
use crate::files::{SURFACES, expect_ending, expect_not_input};
use crate::jobs::{plans, shown};
use crate::source::named_values;
use crate::takes::write_surface;
use risorius_base::Progress;
use risorius_base::progress::{Plan, tick};
use risorius_io::output::write_whole;
use risorius_perform::drivers::muscles::{Controls, JawPose, MuscleModel, find_muscle};
use risorius_view::sheet;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Poses a face by its muscles.
#[derive(Debug, Clone, Default)]
pub struct ActivateJob {
    /// The face.
    pub face: PathBuf,
    /// Activations, 0 to 1, as text: `zygomaticus_major_L=1,frontalis=0.5` (both sides of a pair without a
    /// side), JSON, or the name of a JSON file. Empty for none.
    pub activations: String,
    /// The jaw.
    pub jaw: JawPose,
    /// How flesh and muscles respond.
    pub material: MuscleMaterial,
    /// The pose: `.glb`, `.gltf`, `.obj` or `.ply`.
    pub output: PathBuf,
    /// A picture of the skin and of the muscles, colored by tension: `.png`.
    pub picture: Option<PathBuf>,
}

/// The report of a pose by muscles.
#[derive(Debug, Clone, Serialize)]
pub struct ActivateReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files.
    pub files: Vec<String>,
    /// Muscles that are active, or under tension of 1 kPa or more; the most tense first.
    pub muscles: Vec<MuscleState>,
    /// The jaw.
    pub jaw: JawPose,
    /// How far the skin moved: mean and largest, mm.
    pub skin_moved_mm: [f64; 2],
    /// Volume of the flesh relative to rest.
    pub volume_ratio: f64,
    /// The solve.
    pub solve: SolveFigures,
    /// What was assumed and what is doubtful.
    pub notes: Vec<String>,
    /// Time to prepare the face, and to find the pose, seconds.
    pub seconds: [f64; 2],
}

impl ActivateJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<ActivateReport> {
        let plan = Plan::new(progress, &plans::ACTIVATE);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        expect_ending(&self.output, &SURFACES, "a pose")?;
        expect_not_input(&self.output, [self.face.as_path()])?;
        if let Some(picture) = &self.picture {
            expect_ending(picture, &["png"], "a picture")?;
        }
        let start = Instant::now();
        tick(progress, "reading", 0.0)?;
        let face = open_face(&self.face)?;
        tick(progress, "muscles", 0.0)?;
        let model = MuscleModel::prepare(&face, &self.material.options())?;
        let controls = self.controls(&model)?;
        let prepared = start.elapsed().as_secs_f64();
        let pose = model.pose(&controls, None, progress)?;
        let solved = start.elapsed().as_secs_f64() - prepared;
        let vertices = model.skin(&pose);
        let mut files = Vec::new();
        if let Some(picture) = &self.picture {
            tick(progress, "drawing", 0.0)?;
            let canvas = sheet(&pictures(&model, &pose)?, 3, "")?;
            write_whole(picture, &canvas.encode_png())?;
            files.push(shown(picture));
        }
        tick(progress, "writing", 0.0)?;
        write_surface(&face.rig, &vertices, &self.output)?;
        files.insert(0, shown(&self.output));
        let mut notes = problem_notes(&model);
        if !pose.report.converged {
            let left = pose.report.residual;
            notes.push(format!("forces of {left:.1e} N are left: the pose is not quite in equilibrium"));
        }
        let mut muscles = states(&model, &pose)?;
        muscles.retain(|m| m.activation > 0.0 || m.tension_kpa >= 1.0);
        muscles.sort_by(|a, b| b.tension_kpa.total_cmp(&a.tension_kpa));
        Ok(ActivateReport {
            output: shown(&self.output),
            files,
            muscles,
            jaw: controls.jaw,
            skin_moved_mm: model.moved_mm(&pose),
            volume_ratio: model.volume_ratio(&pose),
            solve: pose.report.into(),
            notes,
            seconds: [prepared, solved],
        })
    }

    fn controls(&self, model: &MuscleModel) -> Result<Controls> {
        let mut controls = Controls { jaw: self.jaw, ..model.relaxed() };
        for (name, value) in named_values(&self.activations, "muscle")? {
            let found = find_muscle(&model.names, &name)
                .map_err(|e| Error::request(e.to_string()).with_options(&["activations"]))?;
            found.into_iter().for_each(|muscle| controls.activations[muscle] = value.into());
        }
        Ok(controls)
    }
}
