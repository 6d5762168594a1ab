//! Learns wrinkles from example poses.

use super::points::named_points;
use super::poses::{open_frames, open_pose};
use crate::error::{Error, Result};
use crate::files::{expect_ending, extension, stem};
use crate::jobs::{plans, shown};
use crate::source::{RigSource, json_text};
use glam::Vec3;
use risorius_attenuate::{PinSet, PinSpec};
use risorius_base::progress::{Plan, Progress, tick};
use risorius_detail::{
    Detail, Examples, FaceDetail, FeatureGraph, Fit, LearnOptions, PoseModel, Rest, ShellOptions, handles,
    learn,
};
use risorius_io::native::detail;
use risorius_rig::Rig;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Learns a detail.
#[derive(Debug, Clone)]
pub struct LearnJob {
    /// The face at rest: a rig or a mesh.
    pub rest: RigSource,
    /// Handles as JSON or the name of a JSON file: pins, `[{"vertex": 12}]`, or pins by the names of the
    /// markers that will drive them, `{"Chin": {"vertex": 12}}`. Chosen automatically by default.
    pub handles: Option<String>,
    /// Strain gauges as JSON or the name of a JSON file: pairs of handles, by number from 0 or by name.
    /// Chosen automatically by default.
    pub gauges: Option<String>,
    /// Number of handles to choose if none are given. Default 90.
    pub count: usize,
    /// Number of subdivisions of the rest mesh; wrinkles need vertices about a millimeter apart. Default 0.
    pub subdivide: usize,
    /// Example poses: a folder of meshes with the vertices of the rest mesh, or a take.
    pub examples: Option<PathBuf>,
    /// The same poses without detail, as the rig produces them: meshes of the same names.
    pub plain: Option<PathBuf>,
    /// Number of poses in the model, chosen to approximate all examples best. By default all poses, which is
    /// exact.
    pub basis: Option<usize>,
    /// Use as many poses as needed to approximate all examples within this many millimeters.
    pub tolerance: Option<f64>,
    /// The model that predicts wrinkles from skin strain.
    pub model: PoseModel,
    /// The length below which the large-scale deformation bends rather than stretches, in mean distances
    /// between handles. Default 3.
    pub bending: f64,
    /// The learned detail (`.detail`).
    pub output: PathBuf,
}

impl Default for LearnJob {
    fn default() -> Self {
        Self {
            rest: RigSource::default(),
            handles: None,
            gauges: None,
            count: 90,
            subdivide: 0,
            examples: None,
            plain: None,
            basis: None,
            tolerance: None,
            model: PoseModel::Wpsd,
            bending: 3.0,
            output: PathBuf::new(),
        }
    }
}

/// The report of learning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnReport {
    /// The written file.
    pub output: String,
    /// Number of vertices of the mesh that carries the detail.
    pub vertices: usize,
    /// Vertices of the handles.
    pub handles: Vec<u32>,
    /// Number of strain gauges.
    pub gauges: usize,
    /// Names of the examples.
    pub examples: Vec<String>,
    /// Names of the poses in the model, the rest first.
    pub poses: Vec<String>,
    /// Largest distance of the model from each example.
    pub example_errors_mm: Vec<f64>,
    /// Largest displacement beyond the large-scale deformation.
    pub largest_displacement_mm: f64,
    /// Computation time, seconds.
    pub seconds: f64,
}

impl LearnJob {
    /// Runs the job.
    pub fn run(&self, progress: &Progress) -> Result<LearnReport> {
        let plan = Plan::new(progress, &plans::LEARN);
        let progress: &Progress = &|stage, fraction| plan.report(stage, fraction);
        let start = Instant::now();
        expect_ending(&self.output, &["detail"], "a detail")?;
        let rest = Rest::checked(self.rest.open(progress)?.rig, self.subdivide)?;
        let mm_per_unit = rest.mm_per_unit();
        let examples = self.open_examples(&rest, progress)?;
        let mesh = rest.mesh();
        let (names, vertices) = self.find_handles(&rest.fine, &examples)?;
        let fit = match (self.basis, self.tolerance) {
            (Some(n), _) => Fit::Basis(n),
            (None, Some(mm)) => Fit::Tolerance(mm / mm_per_unit),
            (None, None) => Fit::All,
        };
        let shell = ShellOptions { bending: self.bending };
        let options = LearnOptions { model: self.model, fit, shell };
        let features = match &self.gauges {
            Some(given) => Some(FeatureGraph::given(&mesh, &vertices, &edges(given, &names)?)?),
            None => None,
        };
        let mut detail = learn(mesh, &vertices, features, &examples, &options, progress)?;
        detail.handle_names = names;
        let content = FaceDetail { rest, detail };
        detail::write(&content, &self.output)?;
        let detail = &content.detail;
        let off = |(k, p): (usize, &Vec<[f32; 3]>)| farthest(detail, p, examples.plain.get(k)) * mm_per_unit;
        let lengths = detail.displacements.iter().flat_map(|of| of.iter()).map(|d| Vec3::from(*d).length());
        Ok(LearnReport {
            output: shown(&self.output),
            vertices: detail.mesh.n_vertices(),
            handles: vertices,
            gauges: detail.features.edges.len(),
            example_errors_mm: examples.positions.iter().enumerate().map(off).collect(),
            examples: examples.names.clone(),
            poses: detail.poses.clone(),
            largest_displacement_mm: f64::from(lengths.fold(0.0, f32::max)) * mm_per_unit,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Reads the examples, and the same poses without detail if given.
    fn open_examples(&self, rest: &Rest, progress: &Progress) -> Result<Examples> {
        let Some(path) = &self.examples else { return Ok(Examples::default()) };
        let mut examples = open_examples(path, rest, progress)?;
        let Some(path) = &self.plain else { return Ok(examples) };
        let mut plain = open_examples(path, rest, progress)?;
        for name in &examples.names {
            let Some(at) = plain.names.iter().position(|n| n == name) else {
                let problem = format!("there is no plain pose '{name}'");
                let advice = "give one for each example, with the same name";
                return Err(Error::failed(format!("{problem}; {advice}")).in_file(path));
            };
            examples.plain.push(std::mem::take(&mut plain.positions[at]));
        }
        Ok(examples)
    }

    /// Names (empty if they have none) and vertices of the handles.
    fn find_handles(&self, rig: &Rig, examples: &Examples) -> Result<(Vec<String>, Vec<u32>)> {
        match &self.handles {
            Some(given) if is_named(given)? => Ok(named_points(given, rig)?.into_iter().unzip()),
            Some(given) => Ok((Vec::new(), in_order(given, rig)?)),
            None => {
                let mesh =
                    risorius_mesh::FileMesh { positions: rig.neutral.clone(), triangles: rig.triangles() };
                let moved =
                    |v: usize, p: &Vec<[f32; 3]>| Vec3::from(mesh.positions[v]).distance(Vec3::from(p[v]));
                let most = |v| examples.positions.iter().map(|p| moved(v, p)).fold(0.0, f32::max);
                let motion: Vec<f32> = (0..mesh.n_vertices()).map(most).collect();
                Ok((Vec::new(), handles::choose(&mesh, &motion, self.count)?))
            }
        }
    }
}

/// Parses JSON text, or the file of that name.
fn json_of(given: &str) -> Result<Value> {
    let (bytes, path) = json_text(given)?;
    serde_json::from_slice(&bytes).map_err(|e| {
        let error = Error::failed(e.to_string());
        if path.is_some() { error.at(given) } else { error }
    })
}

/// Whether handles are given as pins by name, rather than as a pin or a list of pins.
fn is_named(given: &str) -> Result<bool> {
    let json = json_of(given)?;
    Ok(json.as_object().is_some_and(|all| !all.is_empty() && all.values().all(Value::is_object)))
}

/// The vertices of pins, in the given order, without duplicates.
fn in_order(given: &str, rig: &Rig) -> Result<Vec<u32>> {
    let json = json_of(given)?;
    let list = json.as_array().cloned().unwrap_or_else(|| vec![json]);
    let mut vertices: Vec<u32> = Vec::new();
    for (k, entry) in list.into_iter().enumerate() {
        let problem = |what: String| Error::failed(format!("handle {k}: {what}")).with_options(&["handles"]);
        let spec: PinSpec = serde_json::from_value(entry).map_err(|e| problem(e.to_string()))?;
        let pins = PinSet::resolve(rig, &[spec])
            .map_err(|all| problem(all.problems.first().map(|p| p.problem.clone()).unwrap_or_default()))?;
        for pin in pins.pins {
            if !vertices.contains(&pin.vertex) {
                vertices.push(pin.vertex);
            }
        }
    }
    Ok(vertices)
}

/// Pairs of handles, by number or by name.
fn edges(given: &str, names: &[String]) -> Result<Vec<[u32; 2]>> {
    let problem = |what: String| Error::failed(format!("strain gauges: {what}")).with_options(&["gauges"]);
    let handle = |end: &Value| {
        let by_name = |name: &str| names.iter().position(|n| n == name).map(|k| k as u64);
        let found = end.as_u64().or_else(|| by_name(end.as_str()?)).and_then(|k| u32::try_from(k).ok());
        found.ok_or_else(|| problem(format!("{end} is not a handle, by number from 0 or by name")))
    };
    let json = json_of(given)?;
    let pairs = json.as_array().ok_or_else(|| problem("give a list of pairs of handles".into()))?;
    let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([a, b]) => Ok([handle(a)?, handle(b)?]),
        _ => Err(problem(format!("{pair} is not a pair of handles"))),
    };
    pairs.iter().map(pair).collect()
}

/// Largest distance of the model from an example, in the mesh's unit.
fn farthest(detail: &Detail, example: &[[f32; 3]], plain: Option<&Vec<[f32; 3]>>) -> f64 {
    let at = |v: u32| Vec3::from(example[v as usize]).as_dvec3();
    let made = match plain {
        Some(plain) => detail.on_by_definition(plain),
        None => detail.by_definition(&detail.shell.handles.iter().map(|&v| at(v)).collect::<Vec<_>>()),
    };
    made.iter().zip(0..).map(|(p, v)| p.distance(at(v))).fold(0.0, f64::max)
}

/// The meshes of a folder by name, or the frames of a take.
fn open_examples(path: &Path, rest: &Rest, progress: &Progress) -> Result<Examples> {
    let mut examples = Examples::default();
    if !path.exists() {
        let advice = "give a folder of meshes, or a take";
        return Err(Error::failed(format!("there is no such folder or file; {advice}")).in_file(path));
    }
    if !path.is_dir() {
        let frames = open_frames(path, rest, 30.0, progress)?;
        for frame in 0..frames.times_secs().len() {
            examples.names.push(format!("frame {frame}"));
            examples.positions.push(frames.frame(frame));
        }
        return Ok(examples);
    }
    let os = |e: std::io::Error| Error::failed(e.to_string()).in_file(path);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(os)? {
        let file = entry.map_err(os)?.path();
        if ["obj", "ply", "glb", "gltf", "fbx", "stl"].contains(&extension(&file).as_str()) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let advice = "put example meshes there (.obj, .ply, .glb, .fbx)";
        return Err(Error::failed(format!("the folder has no meshes; {advice}")).in_file(path));
    }
    for (k, file) in files.iter().enumerate() {
        tick(progress, "examples", k as f32 / files.len() as f32)?;
        examples.positions.push(open_pose(file, rest, progress)?);
        examples.names.push(stem(file));
    }
    Ok(examples)
}
