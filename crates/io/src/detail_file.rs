//! The `.detail` file: a learned face with its rest rig, in the container of `.face` files.
//!
//! The rest rig is there so that what is played has the artist's own vertices, parts and texture coordinates; its
//! shapes are left out. Arrays under `detail.` are those of [`Detail`], named as its fields; lists of one length are one array. Everything that
//! refers to something is checked.

use crate::IoError;
use crate::container::{Archive, Writer, damaged};
use crate::face::{map, rig as rig_arrays};
use crate::output::WholeFile;
use risorius_detail::pose_space::{Influence, MAX_GAUGES};
use risorius_detail::{Base, Detail, FeatureGraph, Mesh, Model, Shell};
use risorius_rig::Rig;
use serde::{Deserialize, Serialize};
use std::path::Path;

const FORMAT: &str = ".detail";

/// What `format` says in the metadata.
const NAME: &str = "risorius-detail";

/// Version of the arrays and metadata; another means that files are learned again.
pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Text {
    model: String,
    /// "shell" or "animation".
    base: String,
    poses: Vec<String>,
}

/// A learned face and the rig that it rests as.
#[derive(Debug, Clone)]
pub struct DetailFile {
    /// The rest, without shapes.
    pub rig: Rig,
    /// What was learned.
    pub detail: Detail,
}

/// Names of models, as users write them.
pub const MODELS: [(&str, Model); 4] = [
    ("wpsd", Model::Wpsd),
    ("psd", Model::Psd),
    ("local-blendshapes", Model::LocalBlendshapes),
    ("global-blendshapes", Model::GlobalBlendshapes),
];

/// Names of what displacements are added to.
const BASES: [(&str, Base); 2] = [("shell", Base::Shell), ("animation", Base::Animation)];

/// The mesh of a rig at rest.
pub fn mesh_of(rig: &Rig) -> Mesh {
    Mesh { positions: rig.neutral.clone(), triangles: rig.triangles() }
}

/// Writes a detail that rests as `rig`; the file appears whole or not at all.
pub fn write(rig: &Rig, detail: &Detail, path: &Path) -> Result<(), IoError> {
    let os = |source| IoError::Os { path: path.to_path_buf(), source };
    let rest = Rig { shapes: Vec::new(), sliders: Vec::new(), ..rig.clone() };
    let mut file = Writer::default();
    file.text("format", NAME);
    file.text("version", VERSION.to_string());
    file.text("software", concat!("risorius ", env!("CARGO_PKG_VERSION")));
    rig_arrays::save(&rest, &mut file)?;
    let model = MODELS.iter().find(|(_, m)| *m == detail.model).map_or("", |(name, _)| name);
    let base = BASES.iter().find(|(_, b)| *b == detail.base).map_or("", |(name, _)| name);
    file.json("detail", &Text { model: model.into(), base: base.into(), poses: detail.poses.clone() })?;
    file.array("detail.handles", &detail.shell.handles);
    file.lists("detail.basis", detail.shell.basis.iter().map(Vec::as_slice));
    file.array("detail.edges", &detail.features.edges);
    file.lists("detail.strains", detail.strains.iter().map(Vec::as_slice));
    file.array("detail.gauges", &detail.influence.gauges);
    file.array("detail.gauge_weights", &detail.influence.weights);
    file.array("detail.weights", &detail.weights);
    file.lists("detail.displacements", detail.displacements.iter().map(Vec::as_slice));
    let mut out = WholeFile::create(path)?;
    file.write(&mut out, os)?;
    out.finish()
}

/// Opens and checks a detail.
pub fn open(path: &Path) -> Result<DetailFile, IoError> {
    let file = Archive::read(map(path)?)?;
    if file.text("format")? != NAME {
        return Err(damaged("metadata 'format'", format!("it is not '{NAME}'; `risorius detail learn` makes details")));
    }
    let version: u32 = file.text("version")?.parse().map_err(|_| damaged("metadata 'version'", "it is no number"))?;
    if version != VERSION {
        let feature = format!("version {version} of the file (this program has version {VERSION})");
        let advice = "learn it again with `risorius detail learn`".into();
        return Err(IoError::Unsupported { format: FORMAT, feature, advice });
    }
    let rig = rig_arrays::load(&file)?;
    crate::face::check_rig(&rig)?;
    let mesh = mesh_of(&rig);
    mesh.check().map_err(|e| damaged("array 'rig.neutral'", e))?;
    let n = mesh.n_vertices();
    let text: Text = file.json("detail")?;
    let model = MODELS.iter().find(|(name, _)| *name == text.model).map(|(_, model)| *model);
    let model = model.ok_or_else(|| damaged("metadata 'detail'", "it names no model that is known"))?;
    let base = BASES.iter().find(|(name, _)| *name == text.base).map(|(_, base)| *base);
    let base = base.ok_or_else(|| damaged("metadata 'detail'", "it names no base that is known"))?;
    let handles = file.array::<u32>("detail.handles")?.to_vec();
    let edges = file.array::<[u32; 2]>("detail.edges")?.to_vec();
    below("detail.handles", &handles, n)?;
    below("detail.edges", edges.as_flattened(), handles.len())?;
    let features = FeatureGraph::given(&mesh, &handles, &edges).map_err(|e| damaged("array 'detail.edges'", e))?;
    if features.edges != edges {
        return Err(damaged("array 'detail.edges'", "edges repeat, are not in order, or have no length"));
    }
    let n_poses = text.poses.len();
    let influence = match model.is_local() {
        true => Influence {
            gauges: file.rows::<[u16; MAX_GAUGES]>("detail.gauges", n, "vertices")?.to_vec(),
            weights: file.rows::<[f32; MAX_GAUGES]>("detail.gauge_weights", n, "vertices")?.to_vec(),
        },
        false => Influence::default(),
    };
    if let Some(v) = influence.gauges.iter().position(|g| g.iter().any(|&g| usize::from(g) >= edges.len().max(1))) {
        return Err(damaged("array 'detail.gauges'", format!("row {v} names a gauge beyond the {}", edges.len())));
    }
    let detail = Detail {
        shell: Shell { basis: split("detail.basis", &file, handles.len(), n)?, handles },
        strains: split("detail.strains", &file, n_poses, edges.len())?,
        weights: file.rows::<[f32; 3]>("detail.weights", n.saturating_mul(n_poses), "vertices and poses")?.to_vec(),
        displacements: split("detail.displacements", &file, n_poses, n)?,
        poses: text.poses,
        mesh,
        features,
        model,
        base,
        influence,
    };
    finite("detail.basis", detail.shell.basis.iter().flatten().copied())?;
    finite("detail.strains", detail.strains.iter().flatten().copied())?;
    finite("detail.gauge_weights", detail.influence.weights.as_flattened().iter().copied())?;
    finite("detail.weights", detail.weights.as_flattened().iter().copied())?;
    finite("detail.displacements", detail.displacements.iter().flatten().flatten().copied())?;
    Ok(DetailFile { rig, detail })
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

/// `n` lists of one length.
fn split<T: crate::container::Row>(
    name: &str,
    file: &Archive,
    n: usize,
    length: usize,
) -> Result<Vec<Vec<T>>, IoError> {
    let all = file.rows::<T>(name, n.saturating_mul(length), "numbers")?;
    if length == 0 {
        return Ok(vec![Vec::new(); n]);
    }
    Ok(all.chunks(length).map(<[T]>::to_vec).collect())
}
