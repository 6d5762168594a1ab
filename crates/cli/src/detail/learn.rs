//! `detail learn`: wrinkles from example poses.

use super::expect_reasonable;
use super::points::named_points;
use super::poses::{Frames, open_pose};
use crate::files::{expect_ending, extension};
use crate::rig_args::AboutRig;
use crate::session::{Failure, Report, Session};
use clap::{Args, ValueEnum};
use glam::Vec3;
use risorius_attenuate::pins::{PinSet, PinSpec};
use risorius_base::progress::tick;
use risorius_detail::{
    Detail, Examples, FeatureGraph, Fit, LearnOptions, PoseModel, ShellOptions, handles, learn,
};
use risorius_io::native::detail::{DetailFile, Rest};
use risorius_io::open::read_file;
use risorius_rig::Rig;
use risorius_rig::refine::MAX_STEPS;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// See [`super`].
#[derive(Args)]
pub struct Arguments {
    /// The face at rest: a rig or a mesh.
    #[arg(long, value_name = "FILE")]
    rest: PathBuf,
    #[command(flatten)]
    about: AboutRig,
    /// Handles: a JSON file, or the JSON itself. Pins, [{"vertex": 12}, {"near": [0, 1, 2]}], or pins by the
    /// names of the markers that will drive them, {"Chin": {"vertex": 12}}. Chosen when left out.
    #[arg(long, value_name = "H")]
    handles: Option<String>,
    /// Strain gauges of your own: JSON, or a JSON file, with pairs of handles by number from 0 or by name,
    /// [[0, 1], ["Chin", "Lip"]]. Made when left out.
    #[arg(long, value_name = "PAIRS", requires = "handles")]
    gauges: Option<String>,
    /// How many handles are chosen when none are given: well spread, and denser where examples move.
    #[arg(long, value_name = "N", default_value_t = 90, conflicts_with = "handles")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// Subdivide the rest so many times: wrinkles need vertices a millimeter apart. Examples have its
    /// vertices, or those of the rest as it is.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MAX_STEPS as i64))]
    subdivide: u32,
    /// Example poses: a folder of meshes with the vertices of the rest, or a take (.glb, .mdd, .pc2, .npz).
    /// Without any there are no wrinkles, only what `detail edit` paints.
    #[arg(long, value_name = "DIR")]
    examples: Option<PathBuf>,
    /// The same poses without detail, as the rig shows them: meshes of the same names. Detail is then learned
    /// to be put on that rig's animations, and nothing of the pose itself is taken for detail.
    #[arg(long, value_name = "DIR", requires = "examples")]
    plain: Option<PathBuf>,
    /// Take so many poses into the model, chosen for all examples to be met best; all of them, exactly, when
    /// left out.
    #[arg(long, value_name = "P", conflicts_with = "tolerance", value_parser = clap::value_parser!(u32).range(1..=1000))]
    basis: Option<u32>,
    /// Take as many poses as it needs for all examples to be met within this many millimeters.
    #[arg(long, value_name = "MM", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// How wrinkles follow from the strain of the skin.
    #[arg(long, value_enum, default_value_t = ModelName::Wpsd)]
    model: ModelName,
    /// The length below which the large scale bends rather than stretches, in distances between handles.
    #[arg(long, default_value_t = 3.0, allow_negative_numbers = true)]
    bending: f64,
    /// Output: .detail.
    #[arg(long, short)]
    output: PathBuf,
}

/// Names of models.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ModelName {
    /// Around each vertex.
    Wpsd,
    /// Over the whole face.
    Psd,
    /// Examples blended around each vertex, for comparison.
    LocalBlendshapes,
    /// Examples blended over the whole face, for comparison.
    GlobalBlendshapes,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, session: &Session) -> Result<Report, Failure> {
    let start = Instant::now();
    expect_ending(&arguments.output, &["detail"], "a detail")?;
    let rig = arguments.about.open(&arguments.rest, session)?.rig;
    expect_reasonable(&rig, arguments.subdivide as usize)?;
    let rest = Rest::new(rig, arguments.subdivide as usize);
    let (rig, mm_per_unit) = (&rest.fine, rest.mm_per_unit());
    let mut examples = match &arguments.examples {
        Some(path) => open_examples(path, &rest, session)?,
        None => Examples::default(),
    };
    if let Some(path) = &arguments.plain {
        let mut plain = open_examples(path, &rest, session)?;
        for name in &examples.names {
            let Some(at) = plain.names.iter().position(|n| n == name) else {
                let problem = format!("{}: there is no pose '{name}' without detail", path.display());
                return Err(Failure::could_not(format!(
                    "{problem}; give one for each example, of the same name"
                )));
            };
            examples.plain.push(std::mem::take(&mut plain.positions[at]));
        }
    }
    let mesh = rest.mesh();
    let mut names = Vec::new();
    let vertices: Vec<u32> = match &arguments.handles {
        Some(given) if is_named(given)? => {
            let points = named_points(given, rig)?;
            names = points.iter().map(|(name, _)| name.clone()).collect();
            points.iter().map(|(_, vertex)| *vertex).collect()
        }
        Some(given) => in_order(given, rig)?,
        None => {
            let moved =
                |v: usize, p: &Vec<[f32; 3]>| Vec3::from(mesh.positions[v]).distance(Vec3::from(p[v]));
            let most = |v| examples.positions.iter().map(|p| moved(v, p)).fold(0.0, f32::max);
            let motion: Vec<f32> = (0..mesh.n_vertices()).map(most).collect();
            handles::choose(&mesh, &motion, arguments.count as usize)?
        }
    };
    let fit = match (arguments.basis, arguments.tolerance) {
        (Some(n), _) => Fit::Basis(n as usize),
        (None, Some(mm)) => Fit::Tolerance(mm / mm_per_unit),
        (None, None) => Fit::All,
    };
    let model = match arguments.model {
        ModelName::Wpsd => PoseModel::Wpsd,
        ModelName::Psd => PoseModel::Psd,
        ModelName::LocalBlendshapes => PoseModel::LocalBlendshapes,
        ModelName::GlobalBlendshapes => PoseModel::GlobalBlendshapes,
    };
    let options = LearnOptions { model, fit, shell: ShellOptions { bending: arguments.bending } };
    let features = match &arguments.gauges {
        Some(given) => Some(FeatureGraph::given(&mesh, &vertices, &edges(given, &names)?)?),
        None => None,
    };
    let mut detail = learn(mesh, &vertices, features, &examples, &options, &session.progress())?;
    detail.handle_names = names;
    let content = DetailFile { rest, detail };
    risorius_io::native::detail::write(&content, &arguments.output)?;
    let detail = &content.detail;
    let off = |(k, p): (usize, &Vec<[f32; 3]>)| farthest(detail, p, examples.plain.get(k)) * mm_per_unit;
    let off: Vec<f64> = examples.positions.iter().enumerate().map(off).collect();
    let worst =
        off.iter().copied().enumerate().fold((0, 0.0), |w, (k, mm)| if mm > w.1 { (k, mm) } else { w });
    let largest = detail
        .displacements
        .iter()
        .flat_map(|of| of.iter())
        .map(|d| Vec3::from(*d).length())
        .fold(0.0, f32::max);
    let largest_mm = f64::from(largest) * mm_per_unit;
    let seconds = start.elapsed().as_secs_f64();
    let json = json!({
        "output": arguments.output.display().to_string(), "vertices": detail.mesh.n_vertices(),
        "handles": vertices, "gauges": detail.features.edges.len(), "examples": examples.names,
        "poses": detail.poses, "example_errors_mm": off, "largest_displacement_mm": largest_mm, "seconds": seconds,
    });
    let mut text = format!(
        "{}: {} vertices, {} handles, {} strain gauges, {} poses of {} examples, in {seconds:.1} s\n",
        arguments.output.display(),
        detail.mesh.n_vertices(),
        vertices.len(),
        detail.features.edges.len(),
        detail.poses.len(),
        examples.names.len() + 1,
    );
    text += &format!("  detail beyond the large scale: {largest_mm:.2} mm at most\n");
    if let Some(name) = examples.names.get(worst.0) {
        text += &format!("  examples are met within {:.3} mm ('{name}')\n", worst.1);
    }
    Ok(Report { json, text })
}

/// JSON itself, or that of a file.
fn json_of(given: &str) -> Result<serde_json::Value, Failure> {
    let is_json = given.trim_start().starts_with(['[', '{']);
    let bytes = if is_json { given.as_bytes().to_vec() } else { read_file(Path::new(given))? };
    let place = if is_json { String::new() } else { format!("{given}: ") };
    serde_json::from_slice(&bytes).map_err(|e| Failure::could_not(format!("{place}{e}")))
}

/// Whether handles are pins by name, rather than a pin or a list of pins.
fn is_named(given: &str) -> Result<bool, Failure> {
    let json = json_of(given)?;
    Ok(json.as_object().is_some_and(|all| !all.is_empty() && all.values().all(serde_json::Value::is_object)))
}

/// The vertices of pins, in the order in which they are given, each once.
fn in_order(given: &str, rig: &Rig) -> Result<Vec<u32>, Failure> {
    let json = json_of(given)?;
    let list = json.as_array().cloned().unwrap_or_else(|| vec![json]);
    let mut vertices: Vec<u32> = Vec::new();
    for (k, entry) in list.into_iter().enumerate() {
        let problem = |what: String| Failure::could_not(format!("--handles: handle {k}: {what}"));
        let spec: PinSpec = serde_json::from_value(entry).map_err(|e| problem(e.to_string()))?;
        let pins = PinSet::resolve(rig, &[spec])
            .map_err(|all| problem(all.first().map(|p| p.problem.clone()).unwrap_or_default()))?;
        for pin in pins.pins {
            if !vertices.contains(&pin.vertex) {
                vertices.push(pin.vertex);
            }
        }
    }
    Ok(vertices)
}

/// Pairs of handles, by number or by name.
fn edges(given: &str, names: &[String]) -> Result<Vec<[u32; 2]>, Failure> {
    let handle = |end: &serde_json::Value| {
        let by_name = |name: &str| names.iter().position(|n| n == name).map(|k| k as u64);
        let found = end.as_u64().or_else(|| by_name(end.as_str()?)).and_then(|k| u32::try_from(k).ok());
        found.ok_or_else(|| {
            Failure::could_not(format!("--gauges: {end} is no handle, by number from 0 or by name"))
        })
    };
    let json = json_of(given)?;
    let pairs =
        json.as_array().ok_or_else(|| Failure::could_not("--gauges: give a list of pairs of handles"))?;
    let pair = |pair: &serde_json::Value| match pair.as_array().map(Vec::as_slice) {
        Some([a, b]) => Ok([handle(a)?, handle(b)?]),
        _ => Err(Failure::could_not(format!("--gauges: {pair} is no pair of handles"))),
    };
    pairs.iter().map(pair).collect()
}

/// How far the model is from an example anywhere, in the mesh's unit.
fn farthest(detail: &Detail, example: &[[f32; 3]], plain: Option<&Vec<[f32; 3]>>) -> f64 {
    let at = |v: u32| Vec3::from(example[v as usize]).as_dvec3();
    let made = match plain {
        Some(plain) => detail.on_by_definition(plain),
        None => detail.by_definition(&detail.shell.handles.iter().map(|&v| at(v)).collect::<Vec<_>>()),
    };
    made.iter().zip(0..).map(|(p, v)| p.distance(at(v))).fold(0.0, f64::max)
}

/// The meshes of a folder by name, or the frames of a take.
fn open_examples(path: &Path, rest: &Rest, session: &Session) -> Result<Examples, Failure> {
    let mut examples = Examples::default();
    if !path.is_dir() {
        let frames = Frames::open(path, rest, 30.0, session)?;
        for frame in 0..frames.take.times_secs().len() {
            examples.names.push(format!("frame {frame}"));
            examples.positions.push(frames.frame(frame));
        }
        return Ok(examples);
    }
    let os = |e: std::io::Error| Failure::could_not(format!("{}: {e}", path.display()));
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
        return Err(Failure::could_not(format!("{}: there are no meshes in it; {advice}", path.display())));
    }
    for (k, file) in files.iter().enumerate() {
        tick(&session.progress(), "examples", k as f32 / files.len() as f32)?;
        examples.positions.push(open_pose(file, rest, session)?);
        examples.names.push(file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default());
    }
    Ok(examples)
}
