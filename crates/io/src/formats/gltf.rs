//! glTF 2.0, as .glb or .gltf: rigs with morph targets, weight animation and node motion in; rigs and takes
//! out.
//!
//! In: every node with a mesh becomes a part of one rig, with its world transform applied; morph targets
//! become shapes. Sparse, quantized and meshopt-compressed data are read; Draco is not. Normals and tangents
//! of targets are ignored; the rig computes its own. Values that are not finite are kept, for `inspect` to
//! report. Out: one node per part, with exact `f32`s, so that reading restores what was written.
//!
//! Reading order: `container` (GLB, data URIs), `json`, `document` (buffers, budgets), `unpack` (compressed
//! views), `accessor`, then `scene`, `materials`, `parts` and `animation`; `build`, `split`, `write` and
//! `take` for output.

mod accessor;
mod animation;
mod build;
mod container;
mod document;
mod json;
mod materials;
mod parts;
mod scene;
mod split;
mod take;
mod text;
mod unpack;
mod write;

pub use build::Storage;
#[cfg(feature = "fbx")]
pub(crate) use scene::Placement;
pub use take::{MAX_TAKE_FRAMES, TakeGlbWriter, TakeOptions, write_take_glb};
pub use write::{GlbOptions, WeightTrack, write_glb};

use crate::IoError;
use document::Document;
use risorius_base::Progress;
use risorius_base::{Axis, Space};
use risorius_rig::{Clip, RawRig};
use std::collections::HashMap;

const FORMAT: &str = "glTF";

/// Fetches a file that a .gltf refers to, by its relative path. The callback must reject paths that leave the
/// folder.
pub(crate) type External<'a> = dyn Fn(&str) -> Result<Vec<u8>, IoError> + 'a;

/// The content of a glTF file.
#[derive(Debug, Clone, Default)]
pub struct GltfContent {
    /// Parts and shapes, before assembling.
    pub raw: RawRig,
    /// One for each animation that moves weights.
    pub clips: Vec<NamedClip>,
    /// One for each node that an animation moves.
    pub tracks: Vec<NodeTrack>,
    /// Sentences for the user: what was left out or changed.
    pub notes: Vec<String>,
}

/// A clip and the name of its animation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamedClip {
    /// Name of the animation.
    pub name: String,
    /// Weights by the names of morph targets.
    pub clip: Clip,
}

/// Rigid motion of a node in the file's world space, relative to its rest: a point `x` of the rig moves to
/// `rotation * x + position`. Animated ancestors are taken at rest, so the motions of a chain multiply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeTrack {
    /// Name of the animation.
    pub animation: String,
    /// Index of the node.
    pub node: usize,
    /// Name of the node.
    pub node_name: String,
    /// Parts at or below the node, ascending.
    pub is_ancestor_of_parts: Vec<usize>,
    /// Number of nodes above it.
    pub depth: usize,
    /// Time of each frame in seconds, strictly ascending.
    pub times_secs: Vec<f64>,
    /// In the file's unit.
    pub positions: Vec<[f64; 3]>,
    /// Unit quaternions, x y z w.
    pub rotations: Vec<[f64; 4]>,
}

/// Reads a .glb or .gltf. `external` fetches buffers and pictures beside a .gltf.
pub fn read(bytes: &[u8], external: &External, progress: &Progress) -> Result<GltfContent, IoError> {
    let doc = Document::open(bytes, external)?;
    note_extensions(&doc)?;
    let tree = scene::tree(&doc.root)?;
    let placed = parts::placements(&doc)?;
    let parts = parts::parts(&doc, &tree, &placed, progress)?;
    let (clips, tracks) = animation::animations(&doc, &tree, &placed, &parts, progress)?;
    let scene = doc.root.scenes.get(doc.root.scene.unwrap_or(0));
    let raw = RawRig {
        name: scene.and_then(|s| s.name.clone()).unwrap_or_default(),
        space: space_from_extras(&doc).unwrap_or_default(),
        materials: materials::materials(&doc),
        parts,
        has_split_vertices: true,
    };
    Ok(GltfContent { raw, clips, tracks, notes: doc.into_notes() })
}

fn draco() -> IoError {
    IoError::Unsupported {
        format: FORMAT,
        feature: "KHR_draco_mesh_compression".into(),
        advice: "export the file again without Draco compression (meshopt compression is read)".into(),
    }
}

fn note_extensions(doc: &Document) -> Result<(), IoError> {
    const READ: [&str; 4] = [
        "KHR_mesh_quantization",
        "EXT_meshopt_compression",
        "KHR_meshopt_compression",
        "KHR_texture_transform",
    ];
    if doc.root.extensions_required.iter().any(|e| e == "KHR_draco_mesh_compression") {
        return Err(draco());
    }
    let all = doc.root.extensions_required.iter().chain(&doc.root.extensions_used);
    for extension in all.filter(|e| !READ.contains(&e.as_str())) {
        doc.note(format!("the extension {extension} is ignored"));
    }
    Ok(())
}

/// The unit and axes that our writer stores in the asset; other files are in meters, +Y up, +Z front by the
/// standard.
fn space_from_extras(doc: &Document) -> Option<Space> {
    let space = doc.root.asset.extras.as_ref()?.get("space")?;
    let axis = |name: &str| {
        let (sign, letter) = space.get(name)?.as_str()?.split_at_checked(1)?;
        let index = ["X", "Y", "Z"].iter().position(|&l| l == letter)?;
        Some(Axis { index, negative: sign == "-" })
    };
    let (up, front) = (axis("up")?, axis("front")?);
    let meters_per_unit = space.get("metersPerUnit")?.as_f64()?;
    let usable = meters_per_unit > 0.0 && meters_per_unit.is_finite() && up.index != front.index;
    usable.then_some(Space { meters_per_unit, up, front })
}

/// `name`, or `name.2`, `name.3` ... when it is taken.
pub(crate) fn unique(name: String, taken: &mut HashMap<String, usize>) -> String {
    let Some(&count) = taken.get(&name) else {
        taken.insert(name.clone(), 1);
        return name;
    };
    let mut n = count + 1;
    while taken.contains_key(&format!("{name}.{n}")) {
        n += 1;
    }
    let numbered = format!("{name}.{n}");
    taken.insert(name, n);
    taken.insert(numbered.clone(), 1);
    numbered
}

fn malformed(place: impl Into<String>, problem: impl Into<String>) -> IoError {
    IoError::malformed(FORMAT, place, problem)
}
