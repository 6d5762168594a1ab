//! Writes rigs as glTF: one node and mesh per part, all shapes as morph targets of every part.
//!
//! Coordinates stay in the rig's unit and axes, which are stored in the asset's extras for reading back.
//! Nothing is scaled or rotated, so every float is exactly that of the rig. Vertices are in the order of the
//! artist's file, faces are fans of triangles. Targets that move few vertices are sparse. Parts without
//! vertices are left out; texture coordinates that are not finite become 0, normals without direction become
//! smooth ones.

use super::build::Builder;
use super::container;
use super::malformed;
use super::split::{SplitPart, split};
use crate::IoError;
use glam::DQuat;
use risorius_base::Rigid;
use risorius_rig::shading::{ShadingNormals, turned};
use risorius_rig::{Deltas, HeadMotion, Material, Part, Rig, RigidTrack};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Shape strengths over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WeightTrack {
    /// Time of each frame in seconds: not negative, ascending also as `f32`.
    pub times_secs: Vec<f64>,
    /// Strength of every shape of the rig (not slider), frame after frame.
    pub coefficients: Vec<f32>,
}

/// What is written in addition to the rig.
#[derive(Debug, Clone)]
pub struct GlbOptions<'a> {
    /// Write normals for every target (default): correct shading without computing normals during playback,
    /// at about twice the size.
    pub target_normals: bool,
    /// Write JSON text with the data inside (.gltf) rather than a GLB (default).
    pub as_text: bool,
    /// Strength of every shape when nothing animates it; none by default.
    pub default_weights: Option<&'a [f32]>,
    /// Shape strengths over time.
    pub animation: Option<&'a WeightTrack>,
    /// Head motion over time, as a node above all parts.
    pub head: Option<&'a HeadMotion>,
    /// Motion of the nodes of single parts, below the head: the index of the part and its motion.
    pub part_motions: &'a [(usize, RigidTrack)],
}

impl Default for GlbOptions<'_> {
    fn default() -> Self {
        Self {
            target_normals: true,
            as_text: false,
            default_weights: None,
            animation: None,
            head: None,
            part_motions: &[],
        }
    }
}

/// The morph targets of the file, computed one at a time.
pub(super) struct Targets<'a> {
    pub names: Vec<String>,
    pub deltas: &'a dyn Fn(usize) -> Cow<'a, Deltas>,
}

/// Writes `rig` as glTF.
pub fn write_glb(rig: &Rig, options: &GlbOptions) -> Result<Vec<u8>, IoError> {
    let deltas = |i: usize| Cow::Borrowed(&rig.shapes[i].deltas);
    write(
        rig,
        &Targets { names: rig.shapes.iter().map(|s| s.name.clone()).collect(), deltas: &deltas },
        options,
    )
}

/// Writes the parts of `rig` with any targets.
pub(super) fn write(rig: &Rig, targets: &Targets, options: &GlbOptions) -> Result<Vec<u8>, IoError> {
    let parts: Vec<&Part> = rig.parts.iter().filter(|p| p.n_file_vertices() > 0).collect();
    if parts.is_empty() {
        return Err(malformed("the rig", "it has no vertices, and glTF cannot hold an empty mesh"));
    }
    check_finite(rig, &parts)?;
    let shading = ShadingNormals::prepare(rig);
    let written = (0..rig.parts.len()).filter(|&p| rig.parts[p].n_file_vertices() > 0);
    let splits: Vec<SplitPart> = written.map(|p| split(rig, p, &shading)).collect();
    let mut builder = Builder::default();
    let mut looks = Looks::new(rig, &mut builder);
    let mut primitives: Vec<Vec<Value>> = parts
        .iter()
        .zip(&splits)
        .map(|(part, split)| write_primitives(&mut builder, &mut looks, rig, part, split))
        .collect();
    let shading = options.target_normals.then_some(&shading);
    let target_lists = write_targets(&mut builder, rig, targets, &splits, shading)?;
    for (list, targets) in primitives.iter_mut().zip(target_lists) {
        for primitive in list.iter_mut().filter(|_| !targets.is_empty()) {
            primitive["targets"] = targets.clone().into();
        }
    }
    let (json, bin) = document(rig, &parts, primitives, targets, options, builder, looks)?;
    if options.as_text {
        Ok(json.to_string().into_bytes())
    } else {
        container::join_glb(&json.to_string(), &bin)
    }
}

fn check_finite(rig: &Rig, parts: &[&Part]) -> Result<(), IoError> {
    for part in parts {
        let bad =
            part.rig_vertex.iter().position(|&v| !rig.neutral[v as usize].iter().all(|x| x.is_finite()));
        if let Some(vertex) = bad {
            let position = rig.neutral[part.rig_vertex[vertex] as usize];
            return Err(not_finite(&format!("part '{}' vertex {vertex}", part.name), position));
        }
    }
    Ok(())
}

fn not_finite(place: &str, value: [f32; 3]) -> IoError {
    malformed(place, format!("{value:?} is not finite and glTF cannot hold it; repair the vertex first"))
}

/// The primitives of a part: one per group of faces, all over the same vertices.
fn write_primitives(
    builder: &mut Builder,
    looks: &mut Looks,
    rig: &Rig,
    part: &Part,
    split: &SplitPart,
) -> Vec<Value> {
    let positions: Vec<[f32; 3]> = split.rig_vertex.iter().map(|&v| rig.neutral[v as usize]).collect();
    let mut attributes = json!({
        "POSITION": builder.attribute(&positions, true),
        "NORMAL": builder.attribute(&split.normals, false),
    });
    if let Some(uvs) = &split.uvs {
        attributes["TEXCOORD_0"] = builder.attribute(uvs, false).into();
    }
    if let Some(colors) = &part.colors {
        let gather = |&v: &u32| colors.get(v as usize).map_or([1.0; 4], |c| c.map(clamped));
        let colors: Vec<[f32; 4]> = split.file_vertex.iter().map(gather).collect();
        attributes["COLOR_0"] = builder.attribute(&colors, false).into();
    }
    let mut starts: Vec<(usize, Option<usize>)> =
        part.groups.iter().map(|g| (g.first_face, g.material)).collect();
    if starts.first().is_none_or(|s| s.0 > 0) {
        starts.insert(0, (0, None));
    }
    let mut primitives = Vec::new();
    for (i, &(first, material)) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(part.faces.len(), |s| s.0.min(part.faces.len()));
        let indices = fan_indices(part, split, first..end);
        if indices.is_empty() {
            continue;
        }
        let mut primitive =
            json!({"attributes": attributes, "indices": builder.indices(&indices, split.rig_vertex.len())});
        if let Some(material) = material.filter(|&m| m < rig.materials.len()) {
            primitive["material"] = looks.material(rig, material, split.uvs.is_some()).into();
        }
        primitives.push(primitive);
    }
    if primitives.is_empty() {
        // A cloud of points.
        primitives.push(json!({"attributes": attributes, "mode": 0}));
    }
    primitives
}

fn fan_indices(part: &Part, split: &SplitPart, faces: std::ops::Range<usize>) -> Vec<u32> {
    faces
        .flat_map(|f| {
            let corners = part.faces.corner_range(f);
            (corners.start + 2..corners.end).flat_map(move |c| [corners.start, c - 1, c])
        })
        .map(|c| split.corners[c])
        .collect()
}

/// For each part, the morph targets as glTF attributes.
fn write_targets(
    builder: &mut Builder,
    rig: &Rig,
    targets: &Targets,
    splits: &[SplitPart],
    shading: Option<&ShadingNormals>,
) -> Result<Vec<Vec<Value>>, IoError> {
    let mut lists = vec![Vec::with_capacity(targets.names.len()); splits.len()];
    let mut offsets = vec![[0.0f32; 3]; rig.n_vertices()];
    for (t, name) in targets.names.iter().enumerate() {
        let deltas = (targets.deltas)(t);
        offsets.fill([0.0; 3]);
        for (&v, &offset) in deltas.vertices.iter().zip(&deltas.offsets) {
            if !offset.iter().all(|x| x.is_finite()) {
                return Err(not_finite(&format!("shape '{name}' rig vertex {v}"), offset));
            }
            offsets[v as usize] = offset;
        }
        let posed = shading.map(|shading| {
            let add = |(p, o): (&[f32; 3], &[f32; 3])| std::array::from_fn(|k| p[k] + o[k]);
            let moved: Vec<[f32; 3]> = rig.neutral.iter().zip(&offsets).map(add).collect();
            (shading.rest(), shading.at(&moved))
        });
        for (split, list) in splits.iter().zip(&mut lists) {
            let moved = split.rig_vertex.iter().map(|&v| offsets[v as usize]);
            let mut target = json!({"POSITION": write_difference(builder, moved)});
            if let Some((rest, now)) = &posed {
                let turn = |(own, &g): (&[f32; 3], &u32)| {
                    let new = turned(*own, rest[g as usize], now[g as usize]);
                    std::array::from_fn(|k| new[k] - own[k])
                };
                let turned = split.normals.iter().zip(&split.groups).map(turn);
                target["NORMAL"] = write_difference(builder, turned).into();
            }
            list.push(target);
        }
    }
    Ok(lists)
}

/// An accessor of differences, one for each vertex.
fn write_difference(builder: &mut Builder, offsets: impl ExactSizeIterator<Item = [f32; 3]>) -> usize {
    let n = offsets.len();
    let (indices, values): (Vec<u32>, Vec<[f32; 3]>) =
        (0u32..).zip(offsets).filter(|(_, o)| *o != [0.0; 3]).unzip();
    builder.differences(n, &indices, &values)
}

/// Materials and pictures. A material with a picture also gets a copy without it if a part that uses it has
/// no texture coordinates.
struct Looks {
    materials: Vec<Value>,
    plain_twin: Vec<Option<usize>>,
    images: Vec<Value>,
}

impl Looks {
    fn new(rig: &Rig, builder: &mut Builder) -> Self {
        let mut written: Vec<&risorius_rig::Image> = Vec::new();
        let mut images = Vec::new();
        let materials = rig.materials.iter().map(|m| {
            let image = m.image.as_ref().map(|image| {
                written.iter().position(|w| *w == image).unwrap_or_else(|| {
                    let view = builder.view(&image.bytes, None);
                    images.push(json!({"bufferView": view, "mimeType": image.mime}));
                    written.push(image);
                    written.len() - 1
                })
            });
            material(m, image)
        });
        let materials: Vec<Value> = materials.collect();
        Self { plain_twin: vec![None; materials.len()], materials, images }
    }

    /// The material to use on a part that has texture coordinates or not.
    fn material(&mut self, rig: &Rig, idx: usize, has_uvs: bool) -> usize {
        if has_uvs || rig.materials[idx].image.is_none() {
            return idx;
        }
        *self.plain_twin[idx].get_or_insert_with(|| {
            self.materials.push(material(&rig.materials[idx], None));
            self.materials.len() - 1
        })
    }
}

fn material(m: &Material, image: Option<usize>) -> Value {
    let mut pbr = json!({
        "baseColorFactor": m.base_color.map(|x| f64::from(clamped(x))),
        "metallicFactor": f64::from(clamped(m.metallic)),
        "roughnessFactor": f64::from(clamped(m.roughness)),
    });
    if let Some(image) = image {
        pbr["baseColorTexture"] = json!({"index": image});
    }
    json!({"name": m.name, "doubleSided": m.double_sided, "pbrMetallicRoughness": pbr})
}

/// Clamps to 0 to 1, as glTF requires of colors; NaN becomes 1.
fn clamped(x: f32) -> f32 {
    if x.is_nan() { 1.0 } else { x.clamp(0.0, 1.0) }
}

/// The whole JSON, and the binary data unless they are embedded in it.
fn document(
    rig: &Rig,
    parts: &[&Part],
    primitives: Vec<Vec<Value>>,
    targets: &Targets,
    options: &GlbOptions,
    mut builder: Builder,
    looks: Looks,
) -> Result<(Value, Vec<u8>), IoError> {
    let n_targets = targets.names.len();
    let mut nodes: Vec<Value> =
        parts.iter().enumerate().map(|(i, part)| json!({"name": part.name, "mesh": i})).collect();
    let mut meshes: Vec<Value> = parts
        .iter()
        .zip(primitives)
        .map(|(part, list)| json!({"name": part.name, "primitives": list}))
        .collect();
    for mesh in meshes.iter_mut().filter(|_| n_targets > 0) {
        mesh["extras"] = json!({"targetNames": targets.names});
        if let Some(weights) = options.default_weights {
            mesh["weights"] = checked_weights("the default weights", weights, n_targets)?.into();
        }
    }
    let animations = write_animation(&mut builder, rig, parts.len(), n_targets, options)?;
    let mut roots: Vec<usize> = (0..parts.len()).collect();
    if options.head.is_some() {
        nodes.push(json!({"name": "head_motion", "children": roots}));
        roots = vec![parts.len()];
    }
    let mut root = json!({
        "asset": asset(rig),
        "scene": 0,
        "scenes": [{"nodes": roots}],
        "nodes": nodes,
        "meshes": meshes,
    });
    if !rig.name.is_empty() {
        root["scenes"][0]["name"] = rig.name.as_str().into();
    }
    let mut buffer = json!({"byteLength": builder.bin.len()});
    if options.as_text {
        let data = container::encode_base64(&builder.bin);
        buffer["uri"] = format!("data:application/octet-stream;base64,{data}").into();
    }
    let textures: Vec<Value> = (0..looks.images.len()).map(|i| json!({"source": i})).collect();
    let lists = [
        ("buffers", vec![buffer]),
        ("bufferViews", builder.views),
        ("accessors", builder.accessors),
        ("materials", looks.materials),
        ("images", looks.images),
        ("textures", textures),
        ("animations", animations),
    ];
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        root[name] = list.into();
    }
    Ok((root, builder.bin))
}

/// The generator, and the unit and axes of the coordinates.
fn asset(rig: &Rig) -> Value {
    let risorius_base::Space { meters_per_unit, up, front } = &rig.space;
    json!({
        "version": "2.0",
        "generator": concat!("risorius ", env!("CARGO_PKG_VERSION")),
        "extras": {"space": {"metersPerUnit": meters_per_unit, "up": up.to_string(), "front": front.to_string()}},
    })
}

fn checked_weights(what: &str, weights: &[f32], n: usize) -> Result<Vec<f64>, IoError> {
    if weights.len() != n {
        return Err(malformed(what, format!("there are {} values for {n} shapes", weights.len())));
    }
    match weights.iter().position(|w| !w.is_finite()) {
        Some(i) => {
            Err(malformed(what, format!("the value of shape {i} is {}; give a finite number", weights[i])))
        }
        None => Ok(weights.iter().map(|&w| w.into()).collect()),
    }
}

fn write_animation(
    builder: &mut Builder,
    rig: &Rig,
    n_parts: usize,
    n_targets: usize,
    options: &GlbOptions,
) -> Result<Vec<Value>, IoError> {
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    if let Some(track) = options.animation.filter(|_| n_targets > 0) {
        let what = "the weight animation";
        let input = builder.track(&f32_times(what, &track.times_secs)?, true);
        checked_weights(what, &track.coefficients, n_targets * track.times_secs.len())?;
        let values: &[[f32; 1]] = bytemuck::cast_slice(&track.coefficients);
        samplers.push(json!({"input": input, "output": builder.track(values, false)}));
        channels.extend(
            (0..n_parts).map(|node| json!({"sampler": 0, "target": {"node": node, "path": "weights"}})),
        );
    }
    // Nodes that move rigidly: which, what for messages, and how.
    let mut moving: Vec<(usize, String, Cow<RigidTrack>)> = Vec::new();
    if let Some(head) = options.head {
        head.check()?;
        let motion = |(&p, &q): (&[f64; 3], &[f64; 4])| {
            let rotation = DQuat::from_array(q).normalize();
            rig.space.motion_to_file(&Rigid { rotation, translation: p.into() })
        };
        let motions = head.positions_m.iter().zip(&head.rotations_xyzw).map(motion).collect();
        let track = RigidTrack { times_secs: head.times_secs.clone(), motions };
        moving.push((n_parts, "the head motion".to_string(), Cow::Owned(track)));
    }
    let written: Vec<usize> = (0..rig.parts.len()).filter(|&p| rig.parts[p].n_file_vertices() > 0).collect();
    for (part, track) in options.part_motions {
        let Some(node) = written.iter().position(|p| p == part) else { continue };
        let what = format!("the motion of part '{}'", rig.parts[*part].name);
        moving.push((node, what, Cow::Borrowed(track)));
    }
    for (node, what, track) in moving {
        let input = builder.track(&f32_times(&what, &track.times_secs)?, true);
        let positions: Vec<[f32; 3]> = track.motions.iter().map(|m| m.translation.as_vec3().into()).collect();
        let turn = |m: &Rigid| m.rotation.normalize().as_quat().to_array();
        let rotations: Vec<[f32; 4]> = track.motions.iter().map(turn).collect();
        let outputs = [
            ("translation", builder.track(&positions, false)),
            ("rotation", builder.track(&rotations, false)),
        ];
        for (path, output) in outputs {
            channels.push(json!({"sampler": samplers.len(), "target": {"node": node, "path": path}}));
            samplers.push(json!({"input": input, "output": output}));
        }
    }
    if channels.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![json!({"name": "performance", "samplers": samplers, "channels": channels})])
}

/// Times as glTF has them.
fn f32_times(what: &str, times_secs: &[f64]) -> Result<Vec<[f32; 1]>, IoError> {
    let times: Vec<[f32; 1]> = times_secs.iter().map(|&t| [t as f32]).collect();
    if times.is_empty() {
        return Err(malformed(what, "it has no frames"));
    }
    let usable =
        |i: usize| times[i][0].is_finite() && times[i][0] >= 0.0 && (i == 0 || times[i][0] > times[i - 1][0]);
    match (0..times.len()).find(|&i| !usable(i)) {
        Some(i) => Err(malformed(
            what,
            format!(
                "frame {i} is at {} s; glTF needs times from 0 that ascend in single precision; start the recording at 0",
                times_secs[i]
            ),
        )),
        None => Ok(times),
    }
}
