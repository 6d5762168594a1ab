//! Reads takes of a known rig from any format with frames, on the rig's vertices.
//!
//! Point caches (.mdd, .pc2, .npz) have the file vertices of all parts, one part after another; or there is
//! one for each part, in the part's own coordinates ([`part_paths`]). A glTF has
//! morph targets and their strengths over time: frames that were written as targets by
//! [`crate::formats::gltf::write_take_glb`], or shapes with a weight animation. Its frames are computed on
//! demand as `rest + sum of strength * target`, because the frames of a small file may not fit in memory. Our
//! writer appends vertices to a part where corners differ; they are left out here, and a part with more
//! vertices than the rig's must have the rig's rest positions.

use crate::IoError;
use crate::formats::gltf::{self, GltfContent, NamedClip};
use crate::node_motion::NodeMotion;
use crate::open::{beside, extension, open_take, read_file, read_parts, unknown_format};
use crate::take_out::part_paths;
use glam::DAffine3;
use risorius_base::Progress;
use risorius_rig::{Clip, Deltas, FrameSource, HeadMotion, RawPart, Rig, RigidTrack, Take};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A take whose frames have the vertices of a rig.
#[derive(Debug, Clone)]
pub struct RigTake {
    head: Option<HeadMotion>,
    times_secs: Vec<f64>,
    neutral: Vec<[f32; 3]>,
    frames: Frames,
    /// Rig vertices that nodes of the file move relative to the head.
    moved: Vec<(std::ops::Range<usize>, RigidTrack)>,
}

#[derive(Debug, Clone)]
enum Frames {
    /// Point caches, one after another.
    Caches(Vec<Cache>),
    /// Targets over rig vertices, and the rest positions.
    Targets { rest: Vec<[f32; 3]>, targets: Vec<Target>, clip: Clip },
}

/// A point cache with the rig vertex of each of its vertices.
#[derive(Debug, Clone)]
struct Cache {
    take: Take,
    rig_vertex: Vec<u32>,
    /// From the coordinates of the cache to those of the rig, if they differ.
    placement: Option<DAffine3>,
}

/// Displacements at strength 1 of a column of the clip.
#[derive(Debug, Clone)]
struct Target {
    column: usize,
    deltas: Deltas,
}

impl FrameSource for RigTake {
    fn times_secs(&self) -> &[f64] {
        &self.times_secs
    }

    fn head(&self) -> Option<&HeadMotion> {
        self.head.as_ref()
    }

    fn frame(&self, frame_idx: usize) -> Vec<[f32; 3]> {
        let mut positions = match &self.frames {
            Frames::Caches(caches) => {
                let mut positions = self.neutral.clone();
                for Cache { take, rig_vertex, placement } in caches {
                    let placed = |p: &[f32; 3]| match placement {
                        Some(to_rig) => to_rig.transform_point3(p.map(f64::from).into()).as_vec3().into(),
                        None => *p,
                    };
                    let vertices = take.frame(frame_idx).iter().zip(rig_vertex);
                    vertices.for_each(|(p, &v)| positions[v as usize] = placed(p));
                }
                positions
            }
            Frames::Targets { rest, targets, clip } => {
                let mut positions = rest.clone();
                let strengths = clip.frame(frame_idx);
                for Target { column, deltas } in targets.iter().filter(|t| strengths[t.column] != 0.0) {
                    for (&v, offset) in deltas.vertices.iter().zip(&deltas.offsets) {
                        let p = &mut positions[v as usize];
                        (0..3).for_each(|k| p[k] += strengths[*column] * offset[k]);
                    }
                }
                positions
            }
        };
        for (vertices, track) in &self.moved {
            track.at(self.times_secs[frame_idx]).apply_to(&mut positions[vertices.clone()]);
        }
        positions
    }
}

/// Reads a take of `rig`; `fps` is for PC2 files, which count frames. A point cache that does not exist may
/// have been written for each part.
pub fn open_take_of(path: &Path, rig: &Rig, fps: f64, progress: &Progress) -> Result<RigTake, IoError> {
    let neutral = rig.neutral.clone();
    let ending = extension(path);
    if !matches!(ending.as_str(), "glb" | "gltf") {
        if !["mdd", "pc2", "npz"].contains(&ending.as_str()) {
            return Err(unknown_format(&ending, "a take", "a .glb, .gltf, .mdd, .pc2 or .npz"));
        }
        let caches = open_caches(path, rig, fps)?;
        let times_secs = caches[0].take.times_secs.clone();
        let frames = Frames::Caches(caches);
        return Ok(RigTake { head: None, times_secs, neutral, frames, moved: Vec::new() });
    }
    let GltfContent { raw, mut clips, tracks, .. } = gltf::read(&read_file(path)?, &beside(path), progress)?;
    if clips.is_empty() {
        let problem = "the file has no animation of morph targets, so there are no frames; give a take, or a rig and a clip";
        return Err(IoError::malformed("glTF", "animations", problem));
    }
    let NamedClip { name, clip } = clips.swap_remove(0);
    let motion = NodeMotion::of(&tracks, raw.parts.len(), Some(&name));
    let (rest, targets) = on_rig(rig, &raw.parts, &clip)?;
    // Parts were matched in their order, without those that have no vertices.
    let vertices: Vec<_> =
        rig.parts.iter().filter(|p| p.n_file_vertices() > 0).map(|p| &p.vertices).collect();
    let number = |part: usize| raw.parts[..part].iter().filter(|p| !p.positions.is_empty()).count();
    let moved = motion.parts.iter().filter(|(part, _)| !raw.parts[*part].positions.is_empty());
    let moved = moved.map(|(part, track)| (vertices[number(*part)].clone(), track.clone())).collect();
    let (head, times_secs) = (motion.head(&rig.space), clip.times_secs.clone());
    Ok(RigTake { head, times_secs, neutral, frames: Frames::Targets { rest, targets, clip }, moved })
}

/// The point cache at `path`, or those of all parts beside it.
fn open_caches(path: &Path, rig: &Rig, fps: f64) -> Result<Vec<Cache>, IoError> {
    let parts = part_paths(rig, path);
    let exists = parts.iter().filter(|(_, file)| file.exists()).count();
    if path.exists() || exists == 0 {
        let take = open_take(path, fps)?;
        let rig_vertex: Vec<u32> = rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect();
        // The cache of a single mesh is in the coordinates of the mesh.
        let is_single = parts.len() == 1 && extension(path) != "npz";
        let placement = parts.first().filter(|_| is_single).and_then(|(part, _)| rig.parts[*part].placement);
        let (found, wanted) = (take.n_vertices, rig_vertex.len());
        if found != wanted {
            return Err(other_rig(format!("it has {found} vertices, the rig {wanted}")));
        }
        return Ok(vec![Cache { take, rig_vertex, placement }]);
    }
    let mut caches: Vec<Cache> = Vec::new();
    for (idx, file) in parts {
        let part = &rig.parts[idx];
        let take = open_take(&file, fps)?;
        let name = file.display();
        let (found, wanted) = (take.n_vertices, part.n_file_vertices());
        if found != wanted {
            return Err(other_rig(format!("{name} has {found} vertices, part '{}' has {wanted}", part.name)));
        }
        if caches.first().is_some_and(|first| first.take.times_secs != take.times_secs) {
            return Err(other_rig(format!("{name} has other frames than the caches of other parts")));
        }
        caches.push(Cache { take, rig_vertex: part.rig_vertex.clone(), placement: part.placement });
    }
    Ok(caches)
}

/// Reads a surface with the vertices of a rig, in another pose: one position per rig vertex.
pub fn open_pose_of(path: &Path, rig: &Rig, progress: &Progress) -> Result<Vec<[f32; 3]>, IoError> {
    let raw = read_parts(path, progress)?;
    let of_rig: Vec<_> = rig.parts.iter().filter(|p| p.n_file_vertices() > 0).collect();
    let of_file: Vec<_> = raw.iter().filter(|p| !p.positions.is_empty()).collect();
    if of_rig.len() != of_file.len() {
        return Err(other_rig(format!("it has {} parts, the rest {}", of_file.len(), of_rig.len())));
    }
    let mut positions = rig.neutral.clone();
    for (part, raw) in of_rig.into_iter().zip(of_file) {
        let (n, found) = (part.n_file_vertices(), raw.positions.len());
        // Our own glTF writer appends vertices where corners differ.
        let is_gltf = matches!(extension(path).as_str(), "glb" | "gltf");
        let bits = |p: &[f32; 3]| p.map(f32::to_bits);
        let known: HashSet<[u32; 3]> = raw.positions.iter().take(n).map(bits).collect();
        let appended = is_gltf && raw.positions.iter().skip(n).all(|p| known.contains(&bits(p)));
        if found < n || (found > n && !appended) {
            return Err(other_rig(format!(
                "part '{}' has {found} vertices, '{}' of the rest {n}",
                raw.name, part.name
            )));
        }
        part.rig_vertex.iter().zip(&raw.positions).for_each(|(&v, p)| positions[v as usize] = *p);
    }
    Ok(positions)
}

/// Rest and targets of `parts` on the vertices of `rig`.
fn on_rig(rig: &Rig, parts: &[RawPart], clip: &Clip) -> Result<(Vec<[f32; 3]>, Vec<Target>), IoError> {
    let of_rig: Vec<_> = rig.parts.iter().filter(|p| p.n_file_vertices() > 0).collect();
    let of_take: Vec<_> = parts.iter().filter(|p| !p.positions.is_empty()).collect();
    if of_rig.len() != of_take.len() {
        return Err(other_rig(format!("it has {} parts, the rig {}", of_take.len(), of_rig.len())));
    }
    let columns: HashMap<&str, usize> =
        clip.names.iter().enumerate().map(|(c, name)| (name.as_str(), c)).collect();
    let mut rest = rig.neutral.clone();
    let mut targets = Vec::new();
    // A rig vertex that several file vertices share moves with the first of them.
    let mut taken = vec![false; rig.n_vertices()];
    for (part, raw) in of_rig.into_iter().zip(of_take) {
        let (n, found) = (part.n_file_vertices(), raw.positions.len());
        let rests = |v: usize| near(raw.positions[v], rig.neutral[part.rig_vertex[v] as usize]);
        if found < n || (found > n && !(0..n).all(rests)) {
            let problem = format!("part '{}' has {found} vertices, '{}' of the rig {n}", raw.name, part.name);
            return Err(other_rig(problem));
        }
        let mut rig_vertex = vec![None; found];
        for (v, &r) in part.rig_vertex.iter().enumerate() {
            if !std::mem::replace(&mut taken[r as usize], true) {
                rig_vertex[v] = Some(r);
                rest[r as usize] = raw.positions[v];
            }
        }
        for shape in &raw.shapes {
            let Some(&column) = columns.get(shape.name.as_str()) else { continue };
            let moved = shape.deltas.vertices.iter().zip(&shape.deltas.offsets);
            let (vertices, offsets) =
                moved.filter_map(|(&v, &o)| Some((rig_vertex.get(v as usize).copied()??, o))).unzip();
            targets.push(Target { column, deltas: Deltas { vertices, offsets } });
        }
    }
    Ok((rest, targets))
}

/// Whether two positions are equal up to rounding.
fn near(a: [f32; 3], b: [f32; 3]) -> bool {
    (0..3).all(|k| (a[k] - b[k]).abs() <= 1e-4 * b[k].abs().max(1.0))
}

fn other_rig(problem: String) -> IoError {
    IoError::malformed("take", "vertices", format!("{problem}; is it a take of this rig?"))
}
