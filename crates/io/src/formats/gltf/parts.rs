//! Converts meshes to parts: joins the primitives of a mesh, applies node transforms, reads morph targets as
//! shapes.
//!
//! A primitive has a block of vertices, which primitives with the same accessors share, and faces over it.
//! Texture coordinates and normals are stored per face corner, colors and morph targets per vertex.

use super::accessor::Accessor;
use super::document::Document;
use super::json::{Mesh, Primitive};
use super::materials;
use super::scene::{Placement, Tree};
use super::{FORMAT, malformed};
use crate::IoError;
use crate::error::{MAX_SHAPES, MAX_VERTICES, check_count};
use glam::DAffine3;
use risorius_base::{Progress, progress};
use risorius_rig::{Deltas, FaceGroup, RawPart, RawShape};
use std::collections::{BTreeMap, HashMap};

const TRIANGLES: u32 = 4;
const STRIP: u32 = 5;
const FAN: u32 = 6;

/// A part and the node that it came from.
pub(super) struct Placed {
    pub node: Option<usize>,
    pub mesh: usize,
}

/// Which meshes are parts, in the order of nodes; meshes without nodes when no node has a mesh.
pub(super) fn placements(doc: &Document) -> Result<Vec<Placed>, IoError> {
    let mut placed = Vec::new();
    for (i, node) in doc.root.nodes.iter().enumerate() {
        let Some(mesh) = node.mesh else { continue };
        if mesh >= doc.root.meshes.len() {
            return Err(malformed(format!("node {i}"), format!("its mesh {mesh} does not exist")));
        }
        if node.skin.is_some() {
            doc.note("skinning is not imported; the bind pose is used".into());
        }
        if node.weights.iter().flatten().any(|&w| w != 0.0) {
            doc.note("default weights are not applied; the neutral is read".into());
        }
        placed.push(Placed { node: Some(i), mesh });
    }
    if placed.is_empty() {
        placed = (0..doc.root.meshes.len()).map(|mesh| Placed { node: None, mesh }).collect();
    }
    Ok(placed)
}

/// All parts. Those without faces or vertices are kept, so that indices do not change.
pub(super) fn parts(
    doc: &Document,
    tree: &Tree,
    placed: &[Placed],
    callback: &Progress,
) -> Result<Vec<RawPart>, IoError> {
    let mut taken = HashMap::new();
    let mut parts = Vec::new();
    for (done, p) in placed.iter().enumerate() {
        progress::tick(callback, "reading meshes", done as f32 / placed.len() as f32)?;
        let Some(mesh) = doc.root.meshes.get(p.mesh) else { continue };
        let name = [
            p.node.and_then(|n| doc.root.nodes[n].name.as_deref()),
            mesh.name.as_deref(),
            p.node.and_then(|n| tree.named_ancestor(&doc.root, n)),
        ]
        .into_iter()
        .flatten()
        .find(|n| !n.is_empty())
        .map_or_else(|| format!("mesh{}", p.mesh), str::to_string);
        let world = p.node.map_or(DAffine3::IDENTITY, |n| tree.world[n]);
        let placement = Placement::new(world);
        let mut part = part(doc, p.mesh, mesh, &placement, callback)?;
        part.placement = placement.to_keep();
        part.name = super::unique(name, &mut taken);
        if mesh.weights.iter().flatten().any(|&w| w != 0.0) {
            doc.note("default weights are not applied; the neutral is read".into());
        }
        parts.push(part);
    }
    Ok(parts)
}

/// Vertices that primitives share: position and color accessors, target accessors.
type BlockKey = (usize, Option<usize>, Vec<Option<usize>>);

/// The blocks of a part so far, with the first index and the number of their vertices.
#[derive(Default)]
struct Blocks {
    of_key: BTreeMap<BlockKey, usize>,
    ranges: Vec<(usize, usize)>,
    targets: Vec<Vec<Option<usize>>>,
}

fn part(
    doc: &Document,
    idx: usize,
    mesh: &Mesh,
    at: &Placement,
    callback: &Progress,
) -> Result<RawPart, IoError> {
    doc.keep(1024, &format!("mesh {idx}"))?;
    let mut part = RawPart::default();
    let mut blocks = Blocks::default();
    for (p, primitive) in mesh.primitives.iter().enumerate() {
        let place = format!("mesh {idx} primitive {p}");
        if !(TRIANGLES..=FAN).contains(&primitive.mode.unwrap_or(TRIANGLES)) {
            doc.note(format!("{place} has points or lines, which are left out"));
        } else if let Some(&position) = primitive.attributes.get("POSITION") {
            let block = vertices(doc, primitive, position, at, &mut part, &mut blocks, &place)?;
            faces(doc, primitive, block, at, &mut part, &place)?;
        } else {
            doc.note(format!("{place} has no positions and is left out"));
        }
    }
    part.shapes = shapes(doc, idx, mesh, at, &blocks, callback)?;
    Ok(part)
}

/// Appends the primitive's vertices unless an earlier one added them; returns their first index and count.
fn vertices(
    doc: &Document,
    primitive: &Primitive,
    position: usize,
    at: &Placement,
    part: &mut RawPart,
    blocks: &mut Blocks,
    place: &str,
) -> Result<(usize, usize), IoError> {
    let color = primitive.attributes.get("COLOR_0").copied();
    let targets: Vec<Option<usize>> = primitive.targets.iter().map(|t| t.get("POSITION").copied()).collect();
    let key = (position, color, targets);
    if let Some(&known) = blocks.of_key.get(&key) {
        return Ok(blocks.ranges[known]);
    }
    let user = format!("POSITION of {place}");
    let accessor = Accessor::open(doc, position, &user)?;
    let first = part.positions.len();
    check_count(FORMAT, &format!("vertices up to {place}"), (first + accessor.count) as u64, MAX_VERTICES)?;
    if !accessor.is_backed() && primitive.extensions.contains_key("KHR_draco_mesh_compression") {
        return Err(super::draco());
    }
    doc.keep(12 * accessor.count as u64, &user)?;
    part.positions.extend(accessor.dense::<3>()?.into_iter().map(|p| at.point(p)));
    let block = (first, accessor.count);
    if color.is_some() || part.colors.is_some() {
        doc.keep(16 * part.positions.len() as u64, &user)?;
        let colors = part.colors.get_or_insert_default();
        colors.resize(first, [1.0; 4]);
        colors.extend(color.map_or(Ok(Vec::new()), |c| read_colors(doc, c, accessor.count, place))?);
        colors.resize(first + accessor.count, [1.0; 4]);
    }
    blocks.ranges.push(block);
    blocks.targets.push(key.2.clone());
    blocks.of_key.insert(key, blocks.ranges.len() - 1);
    Ok(block)
}

fn read_colors(doc: &Document, idx: usize, count: usize, place: &str) -> Result<Vec<[f32; 4]>, IoError> {
    let accessor = Accessor::open(doc, idx, &format!("COLOR_0 of {place}"))?;
    accessor.expect_count(count, "POSITION")?;
    if accessor.n_components == 3 {
        let opaque = |[r, g, b]: [f64; 3]| [r as f32, g as f32, b as f32, 1.0];
        return Ok(accessor.dense::<3>()?.into_iter().map(opaque).collect());
    }
    Ok(accessor.dense::<4>()?.into_iter().map(|c| c.map(|x| x as f32)).collect())
}

/// Appends the primitive's faces, with the attributes of their corners.
fn faces(
    doc: &Document,
    primitive: &Primitive,
    (first, count): (usize, usize),
    at: &Placement,
    part: &mut RawPart,
    place: &str,
) -> Result<(), IoError> {
    let user = format!("indices of {place}");
    let indices = match primitive.indices {
        Some(idx) => Accessor::open(doc, idx, &user)?.indices()?,
        None => (0..count as u32).collect(),
    };
    if let Some(i) = indices.iter().position(|&v| v as usize >= count) {
        return Err(malformed(
            user,
            format!("index {} at position {i}, but there are {count} vertices", indices[i]),
        ));
    }
    doc.keep(24 * indices.len() as u64, &user)?;
    let mut triangles = triangles(&indices, primitive.mode.unwrap_or(TRIANGLES));
    if at.mirrored {
        triangles.iter_mut().for_each(|t| t.swap(1, 2));
    }
    let before = part.faces.corners().len();
    let n_new = 3 * triangles.len();
    check_count(
        FORMAT,
        &format!("faces up to {place}"),
        (part.faces.len() + triangles.len()) as u64,
        MAX_VERTICES,
    )?;
    let group_name = primitive.material.and_then(|m| doc.root.materials.get(m)).and_then(|m| m.name.clone());
    part.groups.push(FaceGroup {
        name: group_name.unwrap_or_default(),
        first_face: part.faces.len(),
        material: primitive.material.filter(|&m| m < doc.root.materials.len()),
    });
    for t in &triangles {
        part.faces.push(&t.map(|v| v + first as u32));
    }
    let corners = triangles.as_flattened();
    let uvs = corner_uvs(doc, primitive, count, corners, place)?;
    append_corners(&mut part.corner_uvs, before, uvs, n_new, [0.0; 2]);
    let normals = corner_normals(doc, primitive, count, corners, at, place)?;
    append_corners(&mut part.corner_normals, before, normals, n_new, [0.0; 3]);
    Ok(())
}

fn triangles(indices: &[u32], mode: u32) -> Vec<[u32; 3]> {
    let proper = |t: &[u32; 3]| t[0] != t[1] && t[1] != t[2] && t[2] != t[0];
    match mode {
        // Strips are stitched by triangles without area.
        STRIP => indices
            .windows(3)
            .enumerate()
            .map(|(i, w)| if i % 2 == 0 { [w[0], w[1], w[2]] } else { [w[1], w[0], w[2]] })
            .filter(proper)
            .collect(),
        FAN => indices.windows(2).skip(1).map(|w| [indices[0], w[0], w[1]]).filter(proper).collect(),
        _ => indices.as_chunks::<3>().0.to_vec(),
    }
}

fn corner_uvs(
    doc: &Document,
    primitive: &Primitive,
    count: usize,
    corners: &[u32],
    place: &str,
) -> Result<Option<Vec<[f32; 2]>>, IoError> {
    let Some(&idx) = primitive.attributes.get("TEXCOORD_0") else { return Ok(None) };
    let accessor = Accessor::open(doc, idx, &format!("TEXCOORD_0 of {place}"))?;
    accessor.expect_count(count, "POSITION")?;
    let transform = materials::uv_transform(doc, primitive.material);
    if transform.is_some() {
        doc.note("KHR_texture_transform was applied to the texture coordinates".into());
    }
    let place_uv = |uv| transform.map_or(uv, |t| materials::transformed_uv(&t, uv)).map(|x| x as f32);
    let uvs: Vec<[f32; 2]> = accessor.dense::<2>()?.into_iter().map(place_uv).collect();
    Ok(Some(corners.iter().map(|&v| uvs[v as usize]).collect()))
}

fn corner_normals(
    doc: &Document,
    primitive: &Primitive,
    count: usize,
    corners: &[u32],
    at: &Placement,
    place: &str,
) -> Result<Option<Vec<[f32; 3]>>, IoError> {
    let Some(&idx) = primitive.attributes.get("NORMAL") else { return Ok(None) };
    let accessor = Accessor::open(doc, idx, &format!("NORMAL of {place}"))?;
    accessor.expect_count(count, "POSITION")?;
    let normals: Vec<[f32; 3]> = accessor.dense::<3>()?.into_iter().map(|n| at.normal(n)).collect();
    Ok(Some(corners.iter().map(|&v| normals[v as usize]).collect()))
}

/// Appends corner attributes; primitives without them are filled with a default if another one has them.
fn append_corners<T: Copy>(
    into: &mut Option<Vec<T>>,
    before: usize,
    new: Option<Vec<T>>,
    n_new: usize,
    fill: T,
) {
    if into.is_none() && new.is_none() {
        return;
    }
    let all = into.get_or_insert_default();
    all.resize(before, fill);
    all.extend(new.unwrap_or_default());
    all.resize(before + n_new, fill);
}

fn shapes(
    doc: &Document,
    idx: usize,
    mesh: &Mesh,
    at: &Placement,
    blocks: &Blocks,
    callback: &Progress,
) -> Result<Vec<RawShape>, IoError> {
    let n_shapes = blocks.targets.iter().map(Vec::len).max().unwrap_or(0);
    check_count(FORMAT, &format!("morph targets of mesh {idx}"), n_shapes as u64, MAX_SHAPES)?;
    let mut taken = HashMap::new();
    let mut shapes = Vec::with_capacity(n_shapes);
    for s in 0..n_shapes {
        if s % 16 == 0 {
            progress::tick(callback, "reading shapes", s as f32 / n_shapes as f32)?;
        }
        let mut deltas = Deltas::default();
        for (&(first, count), targets) in blocks.ranges.iter().zip(&blocks.targets) {
            let Some(&Some(accessor_idx)) = targets.get(s) else { continue };
            let accessor = Accessor::open(doc, accessor_idx, &format!("mesh {idx} target {s}"))?;
            accessor.expect_count(count, "POSITION")?;
            let (vertices, offsets) = accessor.nonzero::<3>()?;
            doc.keep(16 * vertices.len() as u64, &format!("mesh {idx} target {s}"))?;
            for (v, offset) in vertices.into_iter().zip(offsets) {
                let offset = at.vector(offset);
                if offset != [0.0; 3] {
                    deltas.vertices.push(v + first as u32);
                    deltas.offsets.push(offset);
                }
            }
        }
        doc.keep(128, &format!("mesh {idx} target {s}"))?;
        let name = super::unique(target_name(doc, mesh, blocks, s), &mut taken);
        shapes.push(RawShape { name, deltas });
    }
    Ok(shapes)
}

fn target_name(doc: &Document, mesh: &Mesh, blocks: &Blocks, s: usize) -> String {
    let in_extras = mesh.extras.as_ref().and_then(|e| e.get("targetNames")?.get(s)?.as_str());
    let accessor = blocks.targets.iter().find_map(|t| *t.get(s)?).and_then(|a| doc.root.accessors.get(a));
    let name =
        in_extras.filter(|n| !n.is_empty()).or_else(|| accessor?.name.as_deref().filter(|n| !n.is_empty()));
    name.map_or_else(|| format!("target{s}"), str::to_string)
}
