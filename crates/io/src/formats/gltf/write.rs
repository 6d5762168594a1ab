//! Writes rigs as glTF: one node and mesh per part, all shapes as morph targets of every part.
//!
//! Coordinates stay in the rig's unit and axes, which are stored in the asset's extras for reading back.
//! Nothing is scaled or rotated, so every float is exactly that of the rig. Vertices are in the order of the
//! artist's file, faces are fans of triangles. Targets that move few vertices are sparse. Parts without
//! vertices are left out; texture coordinates that are not finite become 0, normals without direction become
//! smooth ones.

use super::build::{Builder, Storage};
use super::container;
use super::malformed;
use super::split::{SplitPart, split};
use super::text::{Field, Fields, List, write_object};
use crate::IoError;
use glam::DQuat;
use risorius_base::Rigid;
use risorius_rig::shading::{ShadingNormals, turned};
use risorius_rig::{Deltas, HeadMotion, Material, Part, Rig, RigidTrack};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{self, Cursor, Write};
use std::path::PathBuf;

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
    /// Name of the animation.
    pub name: &'a str,
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
            name: "performance",
        }
    }
}

/// Writes `rig` as glTF.
pub fn write_glb(rig: &Rig, options: &GlbOptions) -> Result<Vec<u8>, IoError> {
    let storage = Box::new(Cursor::new(Vec::new()));
    let mut writer = Writer::new(rig, options.target_normals, storage, PathBuf::new())?;
    for shape in &rig.shapes {
        writer.target(shape.name.clone(), &shape.deltas)?;
    }
    let mut out = Vec::new();
    writer.finish(options, options.animation.map(Weights::Rows), &mut out)?;
    Ok(out)
}

/// Strengths of targets over time.
pub(super) enum Weights<'a> {
    /// Any.
    Rows(&'a WeightTrack),
    /// As many frames as targets, at these times; each target is 1 at its own frame and 0 at the others.
    Hats(&'a [f64]),
}

/// A glTF that is being written: the parts of a rig, and morph targets one after another. Memory does not
/// grow with the data of targets, if `storage` does not hold it there.
pub(super) struct Writer<'a> {
    rig: &'a Rig,
    /// The file, for messages.
    path: PathBuf,
    /// Parts with vertices.
    parts: Vec<&'a Part>,
    splits: Vec<SplitPart>,
    shading: ShadingNormals,
    with_normals: bool,
    builder: Builder,
    looks: Looks,
    /// Of each part.
    primitives: Vec<Vec<Value>>,
    /// Of each part, its targets so far.
    targets: Vec<List>,
    names: Vec<String>,
    /// The motion of every vertex of the rig in a target.
    offsets: Vec<[f32; 3]>,
}

impl<'a> Writer<'a> {
    pub fn new(
        rig: &'a Rig,
        with_normals: bool,
        storage: Box<dyn Storage>,
        path: PathBuf,
    ) -> Result<Self, IoError> {
        let parts: Vec<&Part> = rig.parts.iter().filter(|p| p.n_file_vertices() > 0).collect();
        if parts.is_empty() {
            return Err(malformed("the rig", "it has no vertices, and glTF cannot hold an empty mesh"));
        }
        check_finite(rig, &parts)?;
        let shading = ShadingNormals::prepare(rig);
        let written = (0..rig.parts.len()).filter(|&p| rig.parts[p].n_file_vertices() > 0);
        let splits: Vec<SplitPart> = written.map(|p| split(rig, p, &shading)).collect();
        let mut builder = Builder::new(storage);
        let mut looks = Looks::new(rig, &mut builder);
        let primitives = parts
            .iter()
            .zip(&splits)
            .map(|(part, split)| write_primitives(&mut builder, &mut looks, rig, part, split))
            .collect();
        let (targets, names) = (parts.iter().map(|_| List::default()).collect(), Vec::new());
        let offsets = vec![[0.0; 3]; rig.n_vertices()];
        Ok(Self {
            rig,
            path,
            parts,
            splits,
            shading,
            with_normals,
            builder,
            looks,
            primitives,
            targets,
            names,
            offsets,
        })
    }

    /// Writes the next morph target to all parts.
    pub fn target(&mut self, name: String, deltas: &Deltas) -> Result<(), IoError> {
        self.offsets.fill([0.0; 3]);
        for (&v, &offset) in deltas.vertices.iter().zip(&deltas.offsets) {
            if !offset.iter().all(|x| x.is_finite()) {
                return Err(not_finite(&format!("shape '{name}' rig vertex {v}"), offset));
            }
            self.offsets[v as usize] = offset;
        }
        let posed = self.with_normals.then(|| {
            let add = |(p, o): (&[f32; 3], &[f32; 3])| std::array::from_fn(|k| p[k] + o[k]);
            let moved: Vec<[f32; 3]> = self.rig.neutral.iter().zip(&self.offsets).map(add).collect();
            (self.shading.rest(), self.shading.at(&moved))
        });
        for (split, list) in self.splits.iter().zip(&mut self.targets) {
            let moved = split.rig_vertex.iter().map(|&v| self.offsets[v as usize]);
            let mut target = json!({"POSITION": write_difference(&mut self.builder, moved)});
            if let Some((rest, now)) = &posed {
                let turn = |(own, &g): (&[f32; 3], &u32)| {
                    let new = turned(*own, rest[g as usize], now[g as usize]);
                    std::array::from_fn(|k| new[k] - own[k])
                };
                let turned = split.normals.iter().zip(&split.groups).map(turn);
                target["NORMAL"] = write_difference(&mut self.builder, turned).into();
            }
            list.push(&target);
        }
        self.names.push(name);
        self.builder.bin.check().map_err(|source| IoError::Os { path: self.path.clone(), source })
    }

    /// Writes the whole file to `out`. Of `options`, `animation` and `target_normals` do not matter here.
    pub fn finish(
        mut self,
        options: &GlbOptions,
        weights: Option<Weights>,
        out: &mut dyn Write,
    ) -> Result<(), IoError> {
        let path = self.path.clone();
        let os = |source: io::Error| IoError::Os { path: path.clone(), source };
        let (n_parts, n_targets) = (self.parts.len(), self.names.len());
        let mut meshes: Vec<Fields> = Vec::new();
        let primitives = std::mem::take(&mut self.primitives);
        for ((part, primitives), targets) in self.parts.iter().zip(primitives).zip(&self.targets) {
            let mut mesh = Fields::from([
                ("name", Field::Value(part.name.as_str().into())),
                ("primitives", Field::Primitives(primitives, targets)),
            ]);
            if n_targets > 0 {
                mesh.insert("extras", Field::Value(json!({"targetNames": self.names})));
                if let Some(weights) = options.default_weights {
                    let weights = checked_weights("the default weights", weights, n_targets)?;
                    mesh.insert("weights", Field::Value(weights.into()));
                }
            }
            meshes.push(mesh);
        }
        let animations =
            write_animation(&mut self.builder, self.rig, (n_parts, n_targets), options, weights)?;
        let mut root = document(self.rig, &self.parts, options.head.is_some(), animations, self.looks);
        let Builder { bin, views, accessors, .. } = &mut self.builder;
        root.insert("meshes", Field::Objects(meshes));
        for (name, list) in [("bufferViews", &*views), ("accessors", &*accessors)] {
            if !list.is_empty() {
                root.insert(name, Field::List(list));
            }
        }
        if options.as_text {
            root.insert("buffers", Field::Buffer(bin));
            return write_object(root, out).map_err(os);
        }
        root.insert("buffers", Field::Value(json!([{"byteLength": bin.len()}])));
        let mut json = Vec::new();
        write_object(root, &mut json).map_err(os)?;
        let size = container::glb_size(&json, bin.len())?;
        container::write_glb(size, &json, bin, out).map_err(os)
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

/// The whole JSON except for meshes and arrays.
fn document(
    rig: &Rig,
    parts: &[&Part],
    has_head: bool,
    animations: Vec<Value>,
    looks: Looks,
) -> Fields<'static> {
    let mut nodes: Vec<Value> =
        parts.iter().enumerate().map(|(i, part)| json!({"name": part.name, "mesh": i})).collect();
    let mut roots: Vec<usize> = (0..parts.len()).collect();
    if has_head {
        nodes.push(json!({"name": "head_motion", "children": roots}));
        roots = vec![parts.len()];
    }
    let mut scene = json!({"nodes": roots});
    if !rig.name.is_empty() {
        scene["name"] = rig.name.as_str().into();
    }
    let textures: Vec<Value> = (0..looks.images.len()).map(|i| json!({"source": i})).collect();
    let lists = [
        ("materials", looks.materials),
        ("images", looks.images),
        ("textures", textures),
        ("animations", animations),
    ];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let fixed =
        [("asset", asset(rig)), ("scene", 0.into()), ("scenes", json!([scene])), ("nodes", nodes.into())];
    let values = fixed.into_iter().chain(lists.map(|(name, list)| (name, list.into())));
    values.map(|(name, value)| (name, Field::Value(value))).collect()
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
    (n_parts, n_targets): (usize, usize),
    options: &GlbOptions,
    weights: Option<Weights>,
) -> Result<Vec<Value>, IoError> {
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    if let Some(weights) = weights.filter(|_| n_targets > 0) {
        let what = "the weight animation";
        let times_secs = match &weights {
            Weights::Rows(track) => &track.times_secs,
            Weights::Hats(times_secs) => *times_secs,
        };
        let input = builder.track(&f32_times(what, times_secs)?, true);
        let output = match weights {
            Weights::Hats(_) => builder.hats(n_targets),
            Weights::Rows(track) => {
                checked_weights(what, &track.coefficients, n_targets * track.times_secs.len())?;
                builder.track::<1>(bytemuck::cast_slice(&track.coefficients), false)
            }
        };
        samplers.push(json!({"input": input, "output": output}));
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
    Ok(vec![json!({"name": options.name, "samplers": samplers, "channels": channels})])
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
