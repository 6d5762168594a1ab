//! The `.detail` file: a learned face with its rest rig, in the container of `.face` files.
//!
//! The rest rig provides the artist's own vertices, parts and texture coordinates for playback; its shapes
//! are left out. If it is too coarse for wrinkles, the detail is on the rig subdivided `steps` times (in the
//! metadata); the file contains only the artist's rig. Arrays under `detail.` are those of [`Detail`], named
//! like its fields; lists of equal length are one array. All indices are checked.

use crate::IoError;
use crate::native::container::{Archive, Writer, damaged};
use crate::native::face::{map, rig as rig_arrays};
use crate::output::WholeFile;
use risorius_base::Array;
use risorius_base::array::SharedBytes;
use risorius_detail::pose_space::{Influence, MAX_GAUGES};
use risorius_detail::rest::{FaceDetail, Rest};
use risorius_detail::{Base, Detail, FeatureGraph, PoseModel, Shell, ShellOptions};
use risorius_rig::Rig;
use risorius_rig::refine::MAX_STEPS;
use serde::{Deserialize, Serialize};
use std::path::Path;

const FORMAT: &str = ".detail";

/// What `format` says in the metadata.
const NAME: &str = "risorius-detail";

/// Version of the arrays and metadata; files of another version must be learned again.
pub const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Text {
    model: String,
    /// "shell" or "animation".
    base: String,
    poses: Vec<String>,
    /// Steps of subdivision from the rig to the mesh that detail is on.
    steps: usize,
    /// Names of the handles; empty when they have none.
    handles: Vec<String>,
    /// See [`ShellOptions::bending`].
    bending: f64,
}

/// Names of models, as users write them.
pub(crate) const MODELS: [(&str, PoseModel); 4] = [
    ("wpsd", PoseModel::Wpsd),
    ("psd", PoseModel::Psd),
    ("local-blendshapes", PoseModel::LocalBlendshapes),
    ("global-blendshapes", PoseModel::GlobalBlendshapes),
];

/// Names of what displacements are added to.
const BASES: [(&str, Base); 2] = [("shell", Base::Shell), ("animation", Base::Animation)];

/// Writes a detail; the file appears whole or not at all.
pub fn write(content: &FaceDetail, path: &Path) -> Result<(), IoError> {
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let detail = &content.detail;
    let mut file = Writer::default();
    file.text("format", NAME);
    file.text("version", VERSION.to_string());
    file.text("software", concat!("risorius ", env!("CARGO_PKG_VERSION")));
    let rig = Rig { shapes: Vec::new(), sliders: Vec::new(), ..content.rest.rig.clone() };
    rig_arrays::save(&rig, &mut file)?;
    let model = MODELS.iter().find(|(_, m)| *m == detail.model).map_or("", |(name, _)| name);
    let base = BASES.iter().find(|(_, b)| *b == detail.base).map_or("", |(name, _)| name);
    let (model, base) = (model.into(), base.into());
    let (poses, handles) = (detail.poses.clone(), detail.handle_names.clone());
    let bending = detail.shell.options.bending;
    file.json("detail", &Text { model, base, poses, steps: content.rest.n_steps, handles, bending })?;
    file.array("detail.handles", &detail.shell.handles);
    file.lists("detail.basis", detail.shell.basis.iter().map(|column| &**column));
    if !detail.steadiness.is_empty() {
        file.array("detail.steadiness", &detail.steadiness);
    }
    file.array("detail.edges", &detail.features.edges);
    file.lists("detail.strains", detail.strains.iter().map(Vec::as_slice));
    file.array("detail.limits", &detail.limits);
    file.array("detail.gauges", &detail.influence.gauges);
    file.array("detail.gauge_weights", &detail.influence.weights);
    file.array("detail.weights", &detail.weights);
    file.array("detail.relief", &detail.relief);
    file.lists("detail.displacements", detail.displacements.iter().map(|of| &**of));
    let mut out = WholeFile::create(path)?;
    file.write(&mut out, os)?;
    out.finish()
}

/// Opens and checks a detail; its arrays are views into the mapped file.
pub fn open(path: &Path) -> Result<FaceDetail, IoError> {
    read(map(path)?)
}

/// The rig with the vertices of the detail in a file.
pub fn open_rig(path: &Path) -> Result<Rig, IoError> {
    let file = archive(map(path)?)?;
    rest(&file).map(|(rest, _)| rest.fine)
}

fn archive(bytes: SharedBytes) -> Result<Archive, IoError> {
    let file = Archive::read(bytes)?;
    if file.text("format")? != NAME {
        return Err(damaged(
            "metadata 'format'",
            format!("it is not '{NAME}'; `risorius detail learn` makes details"),
        ));
    }
    let version: u32 =
        file.text("version")?.parse().map_err(|_| damaged("metadata 'version'", "it is not a number"))?;
    if version != VERSION {
        let feature = format!("version {version} of the file (this program has version {VERSION})");
        let advice = "learn it again with `risorius detail learn`".into();
        return Err(IoError::Unsupported { format: FORMAT, feature, advice });
    }
    Ok(file)
}

/// The rest rig and the metadata of a detail, checked.
fn rest(file: &Archive) -> Result<(Rest, Text), IoError> {
    let rig = rig_arrays::load(file)?;
    crate::native::face::check_rig(&rig)?;
    let text: Text = file.json("detail")?;
    let n_handles = file.array::<u32>("detail.handles")?.len();
    let n = file.array::<f32>("detail.basis")?.len() / n_handles.max(1);
    // Checked before subdividing: a surface has two triangles per vertex, a faulty one may have a few more.
    let n_triangles = rig.triangles().len().saturating_mul(4usize.saturating_pow(text.steps.min(32) as u32));
    if text.steps > MAX_STEPS || (text.steps > 0 && n_triangles > n.saturating_mul(16)) {
        return Err(damaged(
            "metadata 'detail'",
            format!("{} steps of subdivision do not give {n} vertices", text.steps),
        ));
    }
    // Subdivision puts parts one after another.
    let mut end = 0;
    for part in &rig.parts {
        if part.vertices.start != end {
            return Err(damaged(
                "metadata 'rig'",
                format!("part '{}' does not begin where the one before ends", part.name),
            ));
        }
        end = part.vertices.end;
    }
    if end != rig.n_vertices() {
        return Err(damaged("metadata 'rig'", "some vertices belong to no part"));
    }
    let rest = Rest::new(rig, text.steps);
    risorius_detail::check_rest(&rest.mesh()).map_err(|e| damaged("array 'rig.neutral'", e))?;
    Ok((rest, text))
}

/// Reads a detail from the bytes of a file.
pub fn read(bytes: SharedBytes) -> Result<FaceDetail, IoError> {
    let file = archive(bytes)?;
    let (rest, text) = rest(&file)?;
    let handles = file.array::<u32>("detail.handles")?.to_vec();
    let mesh = rest.mesh();
    let n = mesh.n_vertices();
    let model = MODELS.iter().find(|(name, _)| *name == text.model).map(|(_, model)| *model);
    let model = model.ok_or_else(|| damaged("metadata 'detail'", "its model is unknown"))?;
    let base = BASES.iter().find(|(name, _)| *name == text.base).map(|(_, base)| *base);
    let base = base.ok_or_else(|| damaged("metadata 'detail'", "its base is unknown"))?;
    let edges = file.array::<[u32; 2]>("detail.edges")?.to_vec();
    below("detail.handles", &handles, n)?;
    below("detail.edges", edges.as_flattened(), handles.len())?;
    let features =
        FeatureGraph::given(&mesh, &handles, &edges).map_err(|e| damaged("array 'detail.edges'", e))?;
    if features.edges != edges {
        return Err(damaged("array 'detail.edges'", "edges repeat, are not in order, or have no length"));
    }
    let options = ShellOptions { bending: text.bending };
    if !(options.bending > 0.0 && options.bending.is_finite()) {
        return Err(damaged("metadata 'detail'", "the length of bending is not positive"));
    }
    let steadiness = match file.has("detail.steadiness") {
        true => file.rows::<f32>("detail.steadiness", handles.len(), "handles")?.to_vec(),
        false => Vec::new(),
    };
    if steadiness.iter().any(|w| !(*w >= 0.0 && w.is_finite())) {
        return Err(damaged("array 'detail.steadiness'", "it has a number that is not finite or below zero"));
    }
    let n_poses = text.poses.len();
    let n_felt = if model.is_pose_space() { edges.len() } else { 3 * handles.len() };
    let influence = match model.is_local() {
        true => Influence {
            gauges: file.rows::<[u16; MAX_GAUGES]>("detail.gauges", n, "vertices")?,
            weights: file.rows::<[f32; MAX_GAUGES]>("detail.gauge_weights", n, "vertices")?,
        },
        false => Influence::default(),
    };
    if let Some(v) =
        influence.gauges.iter().position(|g| g.iter().any(|&g| usize::from(g) >= edges.len().max(1)))
    {
        return Err(damaged(
            "array 'detail.gauges'",
            format!("row {v} refers to a gauge that does not exist; there are {}", edges.len()),
        ));
    }
    if edges.is_empty() && influence.weights.as_flattened().iter().any(|w| *w > 0.0) {
        return Err(damaged("array 'detail.gauge_weights'", "there are weights but no gauges"));
    }
    let detail = Detail {
        shell: Shell { basis: split("detail.basis", &file, handles.len(), n)?, handles, options },
        strains: split("detail.strains", &file, n_poses, n_felt)?
            .iter()
            .map(|of: &Array<f32>| of.to_vec())
            .collect(),
        weights: file.rows::<[f32; 3]>("detail.weights", n.saturating_mul(n_poses), "vertices and poses")?,
        displacements: split("detail.displacements", &file, n_poses, n)?,
        limits: file.rows::<[f32; 2]>("detail.limits", n_felt, "strain gauges")?.to_vec(),
        relief: file.array::<[f32; 3]>("detail.relief")?,
        poses: text.poses,
        handle_names: text.handles,
        steadiness,
        mesh,
        features,
        model,
        base,
        influence,
    };
    if !detail.handle_names.is_empty() && detail.handle_names.len() != detail.shell.handles.len() {
        let (names, handles) = (detail.handle_names.len(), detail.shell.handles.len());
        return Err(damaged("metadata 'detail'", format!("it has {names} names for {handles} handles")));
    }
    finite("detail.basis", detail.shell.basis.iter().flat_map(|column| column.iter()).copied())?;
    finite("detail.strains", detail.strains.iter().flatten().copied())?;
    if !detail.relief.is_empty() && detail.relief.len() != n {
        return Err(damaged(
            "array 'detail.relief'",
            format!("it has {} rows for {n} vertices", detail.relief.len()),
        ));
    }
    finite("detail.relief", detail.relief.as_flattened().iter().copied())?;
    finite("detail.limits", detail.limits.as_flattened().iter().copied())?;
    finite("detail.gauge_weights", detail.influence.weights.as_flattened().iter().copied())?;
    finite("detail.weights", detail.weights.as_flattened().iter().copied())?;
    finite("detail.displacements", detail.displacements.iter().flat_map(|of| of.as_flattened()).copied())?;
    Ok(FaceDetail { rest, detail })
}

fn below(name: &str, numbers: &[u32], limit: usize) -> Result<(), IoError> {
    match numbers.iter().find(|&&x| x as usize >= limit) {
        Some(x) => Err(damaged(format!("array '{name}'"), format!("{x} is not below {limit}"))),
        None => Ok(()),
    }
}

fn finite(name: &str, mut numbers: impl Iterator<Item = f32>) -> Result<(), IoError> {
    match numbers.position(|x| !x.is_finite()) {
        Some(at) => Err(damaged(format!("array '{name}'"), format!("number {at} is not finite"))),
        None => Ok(()),
    }
}

/// `n` lists of equal length.
fn split<T: crate::native::container::Row>(
    name: &str,
    file: &Archive,
    n: usize,
    length: usize,
) -> Result<Vec<Array<T>>, IoError> {
    let first: Vec<usize> = (0..=n).map(|k| k.saturating_mul(length)).collect();
    file.lists(name, &first)
}
