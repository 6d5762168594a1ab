//! FBX (binary or text, 3.0 to 7.7): meshes with blend shapes, material colors, blend weight animation.
//!
//! Every node with a mesh becomes a part, with control points in the file's order, unchanged polygons, and
//! the node's world transform applied. Coordinates stay in the file's unit and axes, which its settings give.
//! A blend shape channel becomes a shape; its in-between targets become shapes called `channel@0.5`. Texture
//! coordinates are converted from FBX's origin at the bottom left to ours at the top left. Skinning, pictures
//! and node animation are not imported, which is noted.
//!
//! Parsing is done by ufbx, with memory limits that grow with the file and without access to other files.

use crate::IoError;
use crate::error::{MAX_SHAPES, MAX_VERTICES, check_count};
use crate::formats::gltf::{NamedClip, Placement, unique};
use glam::{DAffine3, DMat3, DVec3};
use risorius_base::{Axis, Space};
use risorius_base::{Cancelled, Progress, progress};
use risorius_mesh::Polygons;
use risorius_rig::clip::MAX_FRAMES;
use risorius_rig::{Clip, Deltas, FaceGroup, Material, RawPart, RawRig, RawShape};
use std::collections::{BTreeMap, HashMap, HashSet};

const FORMAT: &str = "FBX";

/// Memory that ufbx may use regardless of the file's size, for temporary data and for results each ...
const MEMORY_BASE: usize = 128 << 20;
/// ... and additional memory per byte of the file: arrays are compressed, and numbers grow to `f64`.
const MEMORY_PER_BYTE: usize = 64;

/// The content of an FBX file.
#[derive(Debug, Clone, Default)]
pub struct FbxContent {
    /// Parts and shapes, before assembling.
    pub raw: RawRig,
    /// One for each animation stack that moves blend shapes.
    pub clips: Vec<NamedClip>,
    /// Sentences for the user: what was left out.
    pub notes: Vec<String>,
}

/// Reads an FBX file.
pub fn read(bytes: &[u8], progress: &Progress) -> Result<FbxContent, IoError> {
    let scene = load(bytes, progress)?;
    let mut content = FbxContent::default();
    content.raw.space = space(&scene.settings, &mut content.notes);
    content.raw.materials = scene.materials.iter().map(|m| material(m)).collect();
    let mut reader = Reader { budget: limits(bytes).memory_limit as u64, shape_of_channel: HashMap::new() };
    let mut taken = HashMap::new();
    for (done, node) in scene.nodes.iter().enumerate() {
        progress::tick(progress, "reading meshes", done as f32 / scene.nodes.len() as f32)?;
        let Some(mesh) = &node.mesh else { continue };
        let name = [&node.element.name, &mesh.element.name].into_iter().find(|n| !n.is_empty());
        let name = unique(name.map_or_else(|| "mesh".to_string(), |n| n.to_string()), &mut taken);
        if !mesh.skin_deformers.is_empty() {
            content.notes.push(format!("'{name}': skinning is not imported; the bind pose is used"));
        }
        content.raw.parts.push(reader.part(name, node, mesh)?);
    }
    if !scene.textures.is_empty() {
        content.notes.push("pictures of materials are not imported from FBX".into());
    }
    for stack in &scene.anim_stacks {
        progress::tick(progress, "reading animations", 0.0)?;
        if let Some(clip) = reader.clip(&scene, stack, limits(bytes))? {
            content.clips.push(NamedClip { name: stack.element.name.to_string(), clip });
        }
    }
    Ok(content)
}

fn limits(bytes: &[u8]) -> ufbx::AllocatorOpts {
    let memory_limit = MEMORY_BASE.saturating_add(bytes.len().saturating_mul(MEMORY_PER_BYTE));
    ufbx::AllocatorOpts { memory_limit, ..Default::default() }
}

fn load(bytes: &[u8], progress: &Progress) -> Result<ufbx::SceneRoot, IoError> {
    let report =
        |p: &ufbx::Progress| match progress("parsing", p.bytes_read as f32 / p.bytes_total.max(1) as f32) {
            std::ops::ControlFlow::Continue(()) => ufbx::ProgressResult::Continue,
            std::ops::ControlFlow::Break(()) => ufbx::ProgressResult::Cancel,
        };
    let options = ufbx::LoadOpts {
        temp_allocator: limits(bytes),
        result_allocator: limits(bytes),
        ignore_embedded: true,
        load_external_files: false,
        evaluate_skinning: false,
        evaluate_caches: false,
        skip_skin_vertices: true,
        node_depth_limit: 10_000,
        file_format: ufbx::FileFormat::Fbx,
        progress_cb: ufbx::ProgressCb::Ref(&report),
        ..Default::default()
    };
    ufbx::load_memory(bytes, options).map_err(failed)
}

fn failed(error: ufbx::Error) -> IoError {
    match error.type_ {
        ufbx::ErrorType::Cancelled => Cancelled.into(),
        ufbx::ErrorType::UnsupportedVersion => IoError::Unsupported {
            format: FORMAT,
            feature: format!("this version ({})", error.info()),
            advice: "export it as FBX 7.4 (2014) or later".into(),
        },
        ufbx::ErrorType::UnrecognizedFileFormat => {
            IoError::malformed(FORMAT, "byte 0", "this is not an FBX file")
        }
        _ => IoError::malformed(FORMAT, "the file", format!("{} {}", &*error.description, error.info())),
    }
}

/// Unit and axes by the file's settings.
fn space(settings: &ufbx::SceneSettings, notes: &mut Vec<String>) -> Space {
    let axis = |a: ufbx::CoordinateAxis| {
        (a != ufbx::CoordinateAxis::Unknown)
            .then_some(Axis { index: a as usize / 2, negative: a as usize % 2 == 1 })
    };
    let mut space = Space::default();
    if settings.unit_meters > 0.0 && settings.unit_meters.is_finite() {
        space.meters_per_unit = settings.unit_meters;
    }
    match (axis(settings.axes.up), axis(settings.axes.front)) {
        (Some(up), Some(front)) if up.index != front.index => (space.up, space.front) = (up, front),
        _ => notes
            .push("the file does not say which axes point up and to the front; +Y and +Z are assumed".into()),
    }
    space
}

fn material(m: &ufbx::Material) -> Material {
    let color = if m.pbr.base_color.has_value { &m.pbr.base_color } else { &m.fbx.diffuse_color }.value_vec4;
    let unit = |map: &ufbx::MaterialMap, default: f32| {
        if map.has_value && map.value_vec4.x.is_finite() {
            map.value_vec4.x.clamp(0.0, 1.0) as f32
        } else {
            default
        }
    };
    Material {
        name: m.element.name.to_string(),
        base_color: [color.x as f32, color.y as f32, color.z as f32, 1.0],
        metallic: unit(&m.pbr.metalness, 0.0),
        roughness: unit(&m.pbr.roughness, 0.5),
        double_sided: m.features.double_sided.enabled,
        image: None,
    }
}

/// State while parts are read.
struct Reader {
    /// Bytes that may still be allocated; needed because instances of a mesh take no space in the file.
    budget: u64,
    /// Shape name of each blend channel, by element.
    shape_of_channel: HashMap<u32, String>,
}

impl Reader {
    fn keep(&mut self, bytes: u64, what: &str) -> Result<(), IoError> {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.ok_or_else(|| IoError::TooLarge {
            format: FORMAT,
            what: format!("the memory needed by {what}, in bytes,"),
            count: bytes,
            limit: self.budget,
        })?;
        Ok(())
    }

    fn part(&mut self, name: String, node: &ufbx::Node, mesh: &ufbx::Mesh) -> Result<RawPart, IoError> {
        check_count(FORMAT, &format!("vertices of '{name}'"), mesh.vertices.len() as u64, MAX_VERTICES)?;
        check_count(FORMAT, &format!("corners of '{name}'"), mesh.num_indices as u64, 3 * MAX_VERTICES)?;
        self.keep(12 * mesh.vertices.len() as u64 + 28 * mesh.num_indices as u64, &name)?;
        let placement = Placement::new(affine(&node.geometry_to_world));
        let mut part = RawPart {
            positions: mesh.vertices.iter().map(|v| placement.point([v.x, v.y, v.z])).collect(),
            placement: placement.to_keep(),
            ..RawPart::default()
        };
        let (faces, groups) = ordered_faces(node, mesh);
        let corners = corners(mesh, &faces, placement.mirrored);
        part.groups = groups;
        if let Some(v) = mesh.vertex_indices.iter().find(|&&v| v as usize >= part.positions.len()) {
            return Err(IoError::malformed(
                FORMAT,
                format!("mesh '{name}'"),
                format!("vertex {v} does not exist"),
            ));
        }
        part.faces = corners.map_vertices(|c| mesh.vertex_indices[c as usize]);
        if mesh.vertex_uv.exists {
            let flip = |uv: &ufbx::Vec2| [uv.x as f32, (1.0 - uv.y) as f32];
            part.corner_uvs = Some(gather(&corners, &mesh.vertex_uv.indices, &mesh.vertex_uv.values, flip));
        }
        if mesh.vertex_normal.exists && !mesh.generated_normals {
            let turn = |n: &ufbx::Vec3| placement.normal([n.x, n.y, n.z]);
            part.corner_normals =
                Some(gather(&corners, &mesh.vertex_normal.indices, &mesh.vertex_normal.values, turn));
        }
        part.shapes = self.shapes(&name, mesh, &placement)?;
        part.name = name;
        Ok(part)
    }

    fn shapes(
        &mut self,
        part: &str,
        mesh: &ufbx::Mesh,
        placement: &Placement,
    ) -> Result<Vec<RawShape>, IoError> {
        let mut shapes = Vec::new();
        let mut taken = HashMap::new();
        for channel in mesh.blend_deformers.iter().flat_map(|d| d.channels.iter()) {
            check_count(FORMAT, &format!("shapes of '{part}'"), shapes.len() as u64, MAX_SHAPES)?;
            let Some(full) = channel.keyframes.iter().map(|k| k.target_weight).max_by(f64::total_cmp) else {
                continue;
            };
            let name = unique(channel.element.name.to_string(), &mut taken);
            for key in &channel.keyframes {
                let at = key.target_weight / full;
                let is_full = key.target_weight == full;
                if !(is_full || at > 0.0 && at < 1.0) {
                    continue;
                }
                self.keep(128 + 16 * key.shape.offset_vertices.len() as u64, part)?;
                let shape_name =
                    if is_full { name.clone() } else { unique(format!("{name}@{}", at as f32), &mut taken) };
                shapes.push(RawShape {
                    name: shape_name,
                    deltas: deltas(&key.shape, mesh.vertices.len(), placement),
                });
            }
            self.shape_of_channel.entry(channel.element.element_id).or_insert(name);
        }
        Ok(shapes)
    }

    /// The blend weights of an animation stack, with a frame at every key of every channel.
    fn clip(
        &mut self,
        scene: &ufbx::Scene,
        stack: &ufbx::AnimStack,
        limits: ufbx::AllocatorOpts,
    ) -> Result<Option<Clip>, IoError> {
        let memory_limit = limits.memory_limit;
        let fps = scene.settings.frames_per_second;
        let options = ufbx::BakeOpts {
            temp_allocator: limits,
            result_allocator: ufbx::AllocatorOpts { memory_limit, ..Default::default() },
            resample_rate: if fps > 0.0 && fps <= 1000.0 { fps } else { 30.0 },
            skip_node_transforms: true,
            ..Default::default()
        };
        let baked = ufbx::bake_anim(scene, &stack.anim, options).map_err(failed)?;
        let columns = self.columns(&baked);
        if columns.is_empty() {
            return Ok(None);
        }
        let mut times_secs: Vec<f64> =
            columns.iter().flat_map(|(_, keys)| keys.iter().map(|k| k.time)).collect();
        times_secs.sort_unstable_by(f64::total_cmp);
        times_secs.dedup();
        check_count(FORMAT, "frames", times_secs.len() as u64, MAX_FRAMES as u64)?;
        let n_values = times_secs.len() as u64 * columns.len() as u64;
        self.keep(4 * n_values, &format!("animation '{}'", &*stack.element.name))?;
        let mut values = Vec::with_capacity(n_values as usize);
        for &t in &times_secs {
            values.extend(columns.iter().map(|(_, keys)| percent_at(keys, t)));
        }
        let names = columns.into_iter().map(|(name, _)| name).collect();
        let clip = Clip { names, times_secs, values, ..Clip::default() };
        clip.check()?;
        Ok(Some(clip))
    }

    /// The animated blend channels in the file's order; of channels that drive the same shape, the first.
    fn columns<'b>(&self, baked: &'b ufbx::BakedAnim) -> Vec<(String, &'b [ufbx::BakedVec3])> {
        let mut seen = HashSet::new();
        let mut columns = Vec::new();
        for element in &baked.elements {
            let Some(name) = self.shape_of_channel.get(&element.element_id) else { continue };
            let percent = element.props.iter().find(|p| &*p.name == "DeformPercent" && !p.keys.is_empty());
            if let Some(percent) = percent.filter(|_| seen.insert(name)) {
                columns.push((name.clone(), &*percent.keys));
            }
        }
        columns
    }
}

fn affine(m: &ufbx::Matrix) -> DAffine3 {
    DAffine3 {
        matrix3: DMat3::from_cols(
            DVec3::new(m.m00, m.m10, m.m20),
            DVec3::new(m.m01, m.m11, m.m21),
            DVec3::new(m.m02, m.m12, m.m22),
        ),
        translation: DVec3::new(m.m03, m.m13, m.m23),
    }
}

/// Faces with three corners or more, those of one material together in the file's order, and the groups that
/// they form.
fn ordered_faces(node: &ufbx::Node, mesh: &ufbx::Mesh) -> (Vec<usize>, Vec<FaceGroup>) {
    let slot = |f: usize| mesh.face_material.get(f).copied().unwrap_or(0);
    let mut order_of_slot: HashMap<u32, usize> = HashMap::new();
    let mut faces: Vec<usize> = (0..mesh.faces.len()).filter(|&f| mesh.faces[f].num_indices >= 3).collect();
    for &f in &faces {
        let next = order_of_slot.len();
        order_of_slot.entry(slot(f)).or_insert(next);
    }
    faces.sort_by_key(|&f| order_of_slot[&slot(f)]);
    let materials = if !node.materials.is_empty() { &node.materials } else { &mesh.materials };
    let mut groups: Vec<FaceGroup> = Vec::new();
    for (i, &f) in faces.iter().enumerate() {
        if i > 0 && slot(faces[i - 1]) == slot(f) {
            continue;
        }
        let material = materials.get(slot(f) as usize);
        groups.push(FaceGroup {
            name: material.map(|m| m.element.name.to_string()).unwrap_or_default(),
            first_face: i,
            material: material.map(|m| m.element.typed_id as usize),
        });
    }
    (faces, groups)
}

/// The corners of each face as positions in the mesh's index lists; in reverse order, starting at the first
/// corner, when mirrored.
fn corners(mesh: &ufbx::Mesh, faces: &[usize], mirrored: bool) -> Polygons {
    let n = mesh.vertex_indices.len() as u32;
    let mut corners = Polygons::default();
    let mut face = Vec::new();
    for &f in faces {
        let first = mesh.faces[f].index_begin;
        face.clear();
        face.extend(first..first.saturating_add(mesh.faces[f].num_indices).min(n));
        if mirrored && face.len() > 1 {
            face[1..].reverse();
        }
        corners.push(&face);
    }
    corners
}

/// A per-corner attribute in the order of `corners`.
fn gather<T, U: Default>(corners: &Polygons, indices: &[u32], values: &[T], f: impl Fn(&T) -> U) -> Vec<U> {
    let value =
        |&c: &u32| indices.get(c as usize).and_then(|&i| values.get(i as usize)).map(&f).unwrap_or_default();
    corners.corners().iter().map(value).collect()
}

fn deltas(shape: &ufbx::BlendShape, n_vertices: usize, placement: &Placement) -> Deltas {
    // If the file lists a vertex twice, its offsets are added.
    let mut sums: BTreeMap<u32, DVec3> = BTreeMap::new();
    for (&v, o) in shape.offset_vertices.iter().zip(&shape.position_offsets) {
        if (v as usize) < n_vertices {
            *sums.entry(v).or_default() += DVec3::new(o.x, o.y, o.z);
        }
    }
    let mut deltas = Deltas::default();
    for (v, offset) in sums {
        let offset = placement.vector(offset.into());
        if offset != [0.0; 3] {
            deltas.vertices.push(v);
            deltas.offsets.push(offset);
        }
    }
    deltas
}

/// The weight at `t`, interpolated between the keys, which are in percent.
fn percent_at(keys: &[ufbx::BakedVec3], t: f64) -> f32 {
    let after = keys.partition_point(|k| k.time <= t);
    let percent = match (after.checked_sub(1).map(|i| &keys[i]), keys.get(after)) {
        (Some(a), Some(b)) => a.value.x + (b.value.x - a.value.x) * ((t - a.time) / (b.time - a.time)),
        (Some(only), None) | (None, Some(only)) => only.value.x,
        (None, None) => 0.0,
    };
    (percent / 100.0) as f32
}
