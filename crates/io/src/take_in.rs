//! Reads takes of a known rig from any format with frames, on the rig's vertices.
//!
//! Point caches (.mdd, .pc2, .npz) have the file vertices of all parts, one part after another. A glTF has
//! morph targets and their strengths over time: frames that were written as targets by
//! [`crate::formats::gltf::write_take_glb`], or shapes with a weight animation. Its frames are computed on
//! demand as `rest + sum of strength * target`, because the frames of a small file may not fit in memory. Our
//! writer appends vertices to a part where corners differ; they are left out here, and a part with more
//! vertices than the rig's must have the rig's rest positions.

use crate::IoError;
use crate::formats::gltf::{self, GltfContent, NodeTrack};
use crate::open::{beside, extension, open_take, read_file, read_parts, unknown_format};
use glam::{DQuat, DVec3};
use risorius_base::Space;
use risorius_base::{Progress, Rigid};
use risorius_rig::{Clip, Deltas, FrameSource, HeadMotion, RawPart, Rig, Take};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A take whose frames have the vertices of a rig.
#[derive(Debug, Clone)]
pub struct RigTake {
    head: Option<HeadMotion>,
    times_secs: Vec<f64>,
    neutral: Vec<[f32; 3]>,
    frames: Frames,
}

#[derive(Debug, Clone)]
enum Frames {
    /// Vertices of every frame, and the rig vertex of each vertex.
    Cache { take: Take, rig_vertex: Vec<u32> },
    /// Targets over rig vertices, and the rest positions.
    Targets { rest: Vec<[f32; 3]>, targets: Vec<Target>, clip: Clip },
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
        match &self.frames {
            Frames::Cache { take, rig_vertex } => {
                let mut positions = self.neutral.clone();
                take.frame(frame_idx).iter().zip(rig_vertex).for_each(|(p, &v)| positions[v as usize] = *p);
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
        }
    }
}

/// Reads a take of `rig`; `fps` is for PC2 files, which count frames.
pub fn open_take_of(path: &Path, rig: &Rig, fps: f64, progress: &Progress) -> Result<RigTake, IoError> {
    let neutral = rig.neutral.clone();
    let ending = extension(path);
    if !matches!(ending.as_str(), "glb" | "gltf") {
        if !["mdd", "pc2", "npz"].contains(&ending.as_str()) {
            return Err(unknown_format(&ending, "a take", "a .glb, .gltf, .mdd, .pc2 or .npz"));
        }
        let take = open_take(path, fps)?;
        let rig_vertex: Vec<u32> = rig.parts.iter().flat_map(|p| p.rig_vertex.iter().copied()).collect();
        if rig_vertex.len() != take.n_vertices {
            return Err(other_rig(format!(
                "it has {} vertices, the rig {}",
                take.n_vertices,
                rig_vertex.len()
            )));
        }
        let times_secs = take.times_secs.clone();
        return Ok(RigTake { head: None, times_secs, neutral, frames: Frames::Cache { take, rig_vertex } });
    }
    let GltfContent { raw, mut clips, tracks, .. } = gltf::read(&read_file(path)?, &beside(path), progress)?;
    if clips.is_empty() {
        let problem = "the file has no animation of morph targets, so there are no frames; give a take, or a rig and a clip";
        return Err(IoError::malformed("glTF", "animations", problem));
    }
    let clip = clips.swap_remove(0).clip;
    let head = head_motion(&tracks, raw.parts.len(), &rig.space);
    let (rest, targets) = on_rig(rig, &raw.parts, &clip)?;
    let times_secs = clip.times_secs.clone();
    Ok(RigTake { head, times_secs, neutral, frames: Frames::Targets { rest, targets, clip } })
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

/// The motion of the node above most of the `n_parts` parts, in meters, +Y up, +Z front.
pub(crate) fn head_motion(tracks: &[NodeTrack], n_parts: usize, space: &Space) -> Option<HeadMotion> {
    // A node above one part of several (an eye) is not the head.
    let head = tracks.iter().filter(|t| 2 * t.is_ancestor_of_parts.len() > n_parts);
    let track = head.max_by_key(|t| t.is_ancestor_of_parts.len())?;
    let in_file = track
        .positions
        .iter()
        .zip(&track.rotations)
        .map(|(p, q)| Rigid { rotation: DQuat::from_array(*q), translation: DVec3::from(*p) });
    let motion = HeadMotion::from_file(track.times_secs.clone(), in_file, space);
    motion.check().is_ok().then_some(motion)
}
