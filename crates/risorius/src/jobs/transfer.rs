//! Carries all shapes of a rig to another mesh.

use crate::error::{Error, Result, in_file};
use crate::files::{expect_ending, expect_not_input};
use crate::jobs::detail::transfer::given_pairs;
use crate::jobs::{plans, shown, write_rig};
use crate::source::RigSource;
use glam::DVec3;
use risorius_base::progress::{Plan, Progress, tick};
use risorius_fit::find::{Given, ibug};
use risorius_fit::{Carried, CarryOptions, carry_shapes};
use risorius_io::open::read_file;
use risorius_io::output::write_whole;
use risorius_io::specs::landmarks;
use risorius_rig::classify::names::find;
use risorius_rig::{Evaluator, Rig};
use risorius_view::{Canvas, DrawOptions, FaceLook, LabeledPoint, draw, sheet};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Carries shapes from a rig to another mesh.
#[derive(Debug, Clone, Default)]
pub struct TransferShapesJob {
    /// The rig with the shapes.
    pub rig: RigSource,
    /// The other face at rest: a mesh, or a rig.
    pub to: RigSource,
    /// The new rig: `.glb` or `.gltf`.
    pub output: PathBuf,
    /// Sliders to carry, with their in-betweens and combinations; all by default.
    pub shapes: Vec<String>,
    /// Keep the other face's own shapes; those stay where names are equal.
    pub keep: bool,
    /// Landmarks of the other face: `{"nose_tip": [x, y, z], "mouth_left": 1234}`, or 68 or 51 points in the
    /// order of face trackers, `{"points": [[x, y, z], ...]}`. By default they are found.
    pub landmarks: Option<PathBuf>,
    /// More corresponding points: `[{"from": {"vertex": 12}, "to": {"near": [0, 1, 2]}}]`.
    pub pins: Option<PathBuf>,
    /// Folder for pictures: both faces in several shapes, and the landmarks.
    pub pictures: Option<PathBuf>,
}

/// The report of a transfer of shapes.
#[derive(Debug, Clone, Serialize)]
pub struct TransferShapesReport {
    /// The output that was asked for.
    pub output: String,
    /// All written files.
    pub files: Vec<String>,
    /// Number of vertices of the new rig, as its file has them.
    pub vertices: usize,
    /// Shapes that were carried.
    pub shapes: usize,
    /// Shapes of the new rig.
    pub total_shapes: usize,
    /// Size of the other face relative to the rig's.
    pub scale: f64,
    /// Meters per unit of the other face, as found.
    pub meters_per_unit: f64,
    /// Distance between the two faces after registration, mean.
    pub mean_distance_mm: f64,
    /// The same, 95 of 100 vertices are nearer.
    pub distance_95_mm: f64,
    /// Vertices of the skin that correspond to nothing and follow their neighbors.
    pub free_vertices: usize,
    /// Landmarks of the other face.
    pub landmarks: Vec<LandmarkReport>,
    /// What was assumed and what is doubtful.
    pub notes: Vec<String>,
    /// Computation time, seconds.
    pub seconds: f64,
}

/// A landmark of the other face.
#[derive(Debug, Clone, Serialize)]
pub struct LandmarkReport {
    /// Its name.
    pub name: &'static str,
    /// In the coordinates of the file.
    pub position: [f64; 3],
    /// 0 for a guess to 1 for one that was given.
    pub confidence: f64,
}

impl TransferShapesJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<TransferShapesReport> {
        let plan = Plan::new(progress, &plans::TRANSFER_SHAPES);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        expect_ending(&self.output, &["glb", "gltf"], "a rig")?;
        expect_not_input(&self.output, [self.rig.path.as_path(), self.to.path.as_path()])?;
        let source = self.rig.open_with_sliders(progress)?.rig;
        let target = self.to.open(progress)?.rig;
        let options = CarryOptions {
            shapes: (!self.shapes.is_empty()).then(|| self.shapes.clone()),
            keep: self.keep,
            landmarks: self.given(&target)?,
            pins: self.pinned(&source, &target)?,
            ..CarryOptions::default()
        };
        let carried = carry_shapes(&source, &target, &options, progress)?;
        tick(progress, "writing", 0.0)?;
        let mut files = write_rig(&carried.rig, &self.output, true)?;
        if let Some(folder) = &self.pictures {
            files.extend(pictures(&source, &carried, folder)?);
        }
        let report = |(name, position, confidence): &(&'static str, DVec3, f64)| LandmarkReport {
            name,
            position: position.to_array(),
            confidence: *confidence,
        };
        Ok(TransferShapesReport {
            output: shown(&self.output),
            files,
            vertices: carried.rig.n_file_vertices(),
            shapes: carried.n_carried,
            total_shapes: carried.rig.shapes.len(),
            scale: carried.scale,
            meters_per_unit: carried.meters_per_unit,
            mean_distance_mm: carried.distance_mm[0],
            distance_95_mm: carried.distance_mm[1],
            free_vertices: carried.n_free,
            landmarks: carried.landmarks.iter().map(report).collect(),
            notes: carried.notes,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Given landmarks of the target, in the coordinates of its file.
    fn given(&self, target: &Rig) -> Result<Vec<Given>> {
        let Some(path) = &self.landmarks else { return Ok(Vec::new()) };
        let bytes = read_file(path)?;
        let tracked = serde_json::from_slice::<Tracked>(&bytes).ok();
        if let Some(Tracked { points }) = tracked {
            let points: Vec<DVec3> = points.into_iter().map(DVec3::from).collect();
            return ibug::from_points(&points)
                .map_err(|e| Error::from(e).in_file(path).with_options(&["landmarks"]));
        }
        let given = landmarks::read(&bytes, target).map_err(in_file(path))?;
        let back = target.space.file_from_si();
        let one = |&(index, p): &(usize, DVec3)| Given { index, position: back * p, confidence: 1.0 };
        Ok(given.points.iter().map(one).collect())
    }

    fn pinned(&self, source: &Rig, target: &Rig) -> Result<Vec<[u32; 2]>> {
        let Some(path) = &self.pins else { return Ok(Vec::new()) };
        Ok(given_pairs(path, source, target)?.into_iter().map(|p| p.vertices).collect())
    }
}

/// Points in the order of face trackers.
#[derive(serde::Deserialize)]
struct Tracked {
    points: Vec<[f64; 3]>,
}

/// Shapes that the picture shows, those that the source has.
const SHOWN: [&[&str]; 8] = [
    &[],
    &["jawOpen"],
    &["mouthSmileLeft", "mouthSmileRight"],
    &["eyeBlinkLeft", "eyeBlinkRight"],
    &["mouthPucker"],
    &["mouthFunnel"],
    &["browInnerUp"],
    &["mouthLowerDownLeft", "noseSneerLeft"],
];

/// Both faces in several shapes side by side, and the landmarks.
fn pictures(source: &Rig, carried: &Carried, folder: &Path) -> Result<Vec<String>> {
    let shown_poses = poses(source);
    let mut cells: Vec<(Canvas, String)> = Vec::new();
    for (who, rig) in [("source", source), ("target", &carried.rig)] {
        let (look, evaluator) = (FaceLook::prepare(rig), Evaluator::prepare(rig));
        for (label, sliders) in &shown_poses {
            let mut weights = vec![0.0; rig.sliders.len()];
            let of_name = |name: &String| rig.slider_index(name);
            sliders.iter().filter_map(of_name).for_each(|s| weights[s] = 1.0);
            let options =
                DrawOptions { width: 420, height: 420, yaw_degrees: 18.0, ..DrawOptions::default() };
            cells.push((draw(&look, &evaluator.positions(&weights), &options)?, format!("{who}: {label}")));
        }
    }
    let faces = sheet(&cells, shown_poses.len(), "")?;
    let mark = |(_, p, confidence): &(&str, DVec3, f64)| LabeledPoint {
        position: *p,
        label: String::new(),
        confidence: Some(*confidence as f32),
    };
    let look = FaceLook::prepare(&carried.rig);
    let options =
        DrawOptions { labels: carried.landmarks.iter().map(mark).collect(), ..DrawOptions::default() };
    let marks = draw(&look, &carried.rig.neutral, &options)?;
    let mut files = Vec::new();
    for (name, canvas) in [("shapes.png", faces), ("landmarks.png", marks)] {
        let path = folder.join(name);
        write_whole(&path, &canvas.encode_png())?;
        files.push(shown(&path));
    }
    Ok(files)
}

/// Names and sliders of the poses to show: [`SHOWN`], or the first sliders where the names are unknown.
fn poses(source: &Rig) -> Vec<(String, Vec<String>)> {
    let names: Vec<&str> = source.sliders.iter().map(|s| s.name.as_str()).collect();
    let known = |list: &&[&str]| -> Option<(String, Vec<String>)> {
        let found: Option<Vec<String>> =
            list.iter().map(|n| find(n, names.iter().copied()).map(|s| names[s].to_string())).collect();
        Some((if list.is_empty() { "neutral".into() } else { list.join(" ") }, found?))
    };
    let mut poses: Vec<(String, Vec<String>)> = SHOWN.iter().filter_map(known).collect();
    if poses.len() < 3 {
        poses.extend(names.iter().take(7).map(|n| (n.to_string(), vec![n.to_string()])));
    }
    poses
}
