//! Fits a template to scans of a person and writes the person's face: rig, flesh, report, pictures.

mod draw;
mod folder;

use super::build::{BuildJobReport, build_resumable, write_face};
use super::{plans, shown};
use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_folder, extension, stem};
use crate::source::RigSource;
use glam::DVec3;
use risorius_anatomy::Note;
use risorius_anatomy::carry::{CarryOptions, carry};
use risorius_anatomy::find::Given;
use risorius_base::progress::{Plan, Progress, tick};
use risorius_fit::actor::{Actor, FitActor, FittedScan, ScanReport};
use risorius_fit::prior::{Named, Prior};
use risorius_fit::template::Template;
use risorius_flesh::BuildOptions;
use risorius_head::{Head, Identity};
use risorius_io::formats::gltf::{GlbOptions, write_glb};
use risorius_io::formats::{npz, obj};
use risorius_io::open::{OpenOptions, open_rig, read_file};
use risorius_io::output::write_whole;
use risorius_io::specs::landmarks;
use risorius_mesh::Bvh;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Fits a template to scans.
///
/// ```no_run
/// use risorius::prelude::*;
///
/// let job = FitJob {
///     scans: "captures/anna".into(),
///     rig: Some("anna.glb".into()),
///     pictures: Some("anna-pictures".into()),
///     ..FitJob::default()
/// };
/// let fitted = job.run(&no_progress)?;
/// for scan in &fitted.scans {
///     println!("{}: {:.2} mm", scan.name, scan.distance.mean_mm);
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FitJob {
    /// Folder of scans, or a single scan.
    pub scans: PathBuf,
    /// The template: a rig or a face. Default: the built-in head.
    pub template: Option<RigSource>,
    /// Landmarks of the template that override the detected ones.
    pub template_landmarks: Option<PathBuf>,
    /// A rig whose shapes are the modes of variation of the template, scaled by their deviation, or an NPZ
    /// file with the arrays `mean`, `modes` and `deviations`.
    pub prior: Option<PathBuf>,
    /// Landmark files of scans, named after them.
    pub landmarks: Vec<PathBuf>,
    /// Approximate weights of the scans; default `approximate_weights.json` beside them.
    pub weights: Option<PathBuf>,
    /// Number of flesh nodes of the face. Default 9000.
    pub nodes: usize,
    /// The face to write, `.face`.
    pub output: Option<PathBuf>,
    /// The personal rig to write, `.glb`.
    pub rig: Option<PathBuf>,
    /// Folder for the registered mesh of each scan.
    pub registered: Option<PathBuf>,
    /// Folder for pictures: scan, fit and distance side by side.
    pub pictures: Option<PathBuf>,
}

impl Default for FitJob {
    fn default() -> Self {
        Self {
            scans: PathBuf::new(),
            template: None,
            template_landmarks: None,
            prior: None,
            landmarks: Vec::new(),
            weights: None,
            nodes: 9000,
            output: None,
            rig: None,
            registered: None,
            pictures: None,
        }
    }
}

/// The report of a fit.
#[derive(Debug, Clone, Serialize)]
pub struct FitReport {
    /// All written files.
    pub files: Vec<String>,
    /// The template.
    pub template: String,
    /// Coefficients of the prior's modes, in deviations.
    pub identity: Vec<f64>,
    /// One for each scan; the neutral first.
    pub scans: Vec<ScanReport>,
    /// Observations, with advice.
    pub notes: Vec<Note>,
    /// The build of the face.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildJobReport>,
    /// Time, seconds.
    pub seconds: f64,
}

impl FitJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<FitReport> {
        let plan = Plan::new(progress, &plans::FIT);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        self.check()?;
        tick(progress, "built-in head", 0.0)?;
        let head = risorius_head::build(&Identity::default());
        let (template, template_name) = self.template(&head, progress)?;
        let prior = self.prior(&template, progress)?;
        let scans =
            folder::read(&self.scans, self.weights.as_deref(), &self.landmarks, &template.rig, progress)?;
        let mut notes = scans.notes;
        let over_bone = over_bone(&template, &head, progress)?;
        let name = self.name();
        let fit =
            FitActor { template: &template, prior: &prior, over_bone: &over_bone, head: &head, name: &name };
        let fitted = fit.run(scans.scans, scans.neutral, progress)?;
        notes.extend(fitted.notes.iter().cloned());
        let mut report = FitReport {
            files: Vec::new(),
            template: template_name,
            identity: fitted.identity.clone(),
            scans: fitted.scans.iter().map(|s| s.report.clone()).collect(),
            notes,
            build: None,
            seconds: 0.0,
        };
        self.write(&template, &head, &fitted, &mut report, progress)?;
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Checks the request before anything is read.
    fn check(&self) -> Result<()> {
        if self.output.is_none() && self.rig.is_none() {
            let problem = "a fit needs a file to write: a face (.face) or a rig (.glb)";
            return Err(Error::request(problem).with_options(&["output", "rig"]));
        }
        self.output.as_deref().map_or(Ok(String::new()), |o| expect_ending(o, &["face"], "a face"))?;
        self.rig.as_deref().map_or(Ok(String::new()), |o| expect_ending(o, &["glb", "gltf"], "a rig"))?;
        let folders = [&self.registered, &self.pictures];
        folders.into_iter().flatten().try_for_each(|f| expect_folder(f))?;
        if !self.scans.exists() {
            return Err(Error::failed("there is no such file or folder of scans").in_file(&self.scans));
        }
        Ok(())
    }

    fn template(&self, head: &Head, progress: &Progress) -> Result<(Template, String)> {
        let (rig, name) = match &self.template {
            Some(source) => (source.open_with_sliders(progress)?.rig, shown(&source.path)),
            None => (head.rig.clone(), "built-in head".to_string()),
        };
        let given = match &self.template_landmarks {
            Some(path) => landmarks::read(&read_file(path)?, &rig).map_err(in_file(path))?,
            None => Given::default(),
        };
        Ok((Template::prepare(&rig, head, &given)?, name))
    }

    fn prior(&self, template: &Template, progress: &Progress) -> Result<Prior> {
        match (&self.prior, &self.template) {
            (Some(path), _) if extension(path) == "npz" => {
                let arrays = npz::read_arrays(&read_file(path)?).map_err(in_file(path))?;
                let named: Vec<Named> = (arrays.iter())
                    .map(|a| Named { name: &a.name, shape: &a.shape, values: &a.values })
                    .collect();
                Prior::of_arrays(&named, &template.rig).map_err(|e| Error::from(e).in_file(path))
            }
            (Some(path), _) => {
                let modes = open_rig(path, &OpenOptions::default(), progress).map_err(in_file(path))?.rig;
                Prior::of_rig(&modes, &template.rig).map_err(|e| Error::from(e).in_file(path))
            }
            (None, None) => Ok(Prior::built_in()),
            (None, Some(_)) => Ok(Prior::none(&template.rig)),
        }
    }

    /// The name of the person: that of the output.
    fn name(&self) -> String {
        self.rig.as_deref().or(self.output.as_deref()).map(stem).unwrap_or_default()
    }

    fn write(
        &self,
        template: &Template,
        head: &Head,
        actor: &Actor,
        report: &mut FitReport,
        progress: &Progress,
    ) -> Result<()> {
        if let Some(path) = &self.rig {
            let options = GlbOptions { target_normals: false, ..GlbOptions::default() };
            write_whole(path, &write_glb(&actor.rig, &options)?)?;
            report.files.push(shown(path));
        }
        if let Some(folder) = &self.registered {
            for scan in &actor.scans {
                let path = folder.join(format!("{}.obj", scan.report.name));
                write_whole(&path, &obj::write(&actor.rig, &registered(template, actor, scan)))?;
                report.files.push(shown(&path));
            }
        }
        if let Some(folder) = &self.pictures {
            for (k, scan) in actor.scans.iter().enumerate() {
                tick(progress, "drawing", k as f32 / actor.scans.len() as f32)?;
                let path = folder.join(format!("{}.png", scan.report.name));
                write_whole(&path, &draw::picture(template, scan)?)?;
                report.files.push(shown(&path));
            }
        }
        if let Some(path) = &self.output {
            let mut options = BuildOptions::default();
            options.volume.nodes = self.nodes;
            let face = build_resumable(&actor.rig, head, &options, path, progress)?;
            let bytes = write_face(&face, path)?;
            report.build = Some(BuildJobReport::new(&face, path, bytes, Vec::new()));
            report.files.push(shown(path));
        }
        Ok(())
    }
}

/// The rig's vertices with the skin that was laid onto a scan; teeth and eyes as the weights place them.
fn registered(template: &Template, actor: &Actor, scan: &FittedScan) -> Vec<[f32; 3]> {
    let weights: Vec<f32> = scan.weights.iter().map(|w| *w as f32).collect();
    let mut positions = risorius_rig::Evaluator::prepare(&actor.rig).positions(&weights);
    let to_file = actor.rig.space.file_from_si();
    for (&v, p) in template.skin.iter().zip(&scan.skin) {
        positions[v as usize] = (to_file * *p).as_vec3().to_array();
    }
    positions
}

/// Distance of skin from the skull at which it counts half for the pose, meters.
const NEAR_BONE: f64 = 0.006;

/// How still each vertex of the template's skin lies over its skull.
fn over_bone(template: &Template, head: &Head, progress: &Progress) -> Result<Vec<f64>> {
    let Template { rig, pieces, landmarks, .. } = template;
    let options = CarryOptions::default();
    let anatomy = carry(rig, pieces.clone(), landmarks, head, &options, progress)?;
    let skull = &anatomy.bones.cranium;
    let tree = Bvh::build(&skull.positions_f32(), &skull.triangles);
    let still = |p: &DVec3| {
        let far = tree.closest_point(*p, 0.1).map_or(0.1, |c| c.distance_sq.sqrt());
        1.0 / (1.0 + (far / NEAR_BONE).powi(4))
    };
    Ok(template.mesh.positions.iter().map(still).collect())
}
