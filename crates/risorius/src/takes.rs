//! Writes frames to files in the take formats, frame by frame, completely or not at all.
//!
//! Frames are poses in the head frame. A glTF holds them as morph targets, with the motion of the head as a
//! node above them. A point cache holds vertices only. Parts that move rigidly besides (eyes on nodes of
//! their own) move with their vertices, except in a point cache of a single object in the object's own
//! coordinates: there the object's node moves it.

use crate::error::{Error, Result};
use crate::files::{CACHES, TakeFiles, expect_ending, extension, is_cache};
use crate::jobs::shown;
use glam::{DAffine3, DMat3, Vec3};
use risorius_base::progress::{Progress, tick};
use risorius_io::formats::gltf::{
    GlbOptions, MAX_TAKE_FRAMES, TakeGlbWriter, TakeOptions, WeightTrack, write_glb,
};
use risorius_io::formats::mdd::MddWriter;
use risorius_io::formats::npz::NpzWriter;
use risorius_io::formats::pc2::Pc2Writer;
use risorius_io::formats::{obj, ply};
use risorius_io::output::{WholeFile, scratch_beside, write_whole};
use risorius_io::take_out::{TakeHeader, TakeWriter, part_paths};
use risorius_mesh::Polygons;
use risorius_rig::part_motion::move_parts;
use risorius_rig::{BoundClip, Evaluator, HeadMotion, Part, Rig, RigidTrack, ShadingNormals, Shape, Span};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

/// What is known about frames besides their vertices.
pub(crate) struct Frames<'a> {
    /// The rig that they are poses of.
    pub rig: &'a Rig,
    /// Time of each frame.
    pub times_secs: &'a [f64],
    /// Motion of the head.
    pub head: Option<&'a HeadMotion>,
    /// Parts that move relative to the head, by their indices.
    pub moving: &'a [(usize, RigidTrack)],
    /// Write vertices in the world, moved by the head.
    pub in_world: bool,
    /// They are a preview, and files that can say so do.
    pub is_preview: bool,
}

/// A point cache that is being written.
struct CacheSink {
    path: PathBuf,
    /// The only part that it holds; otherwise it holds all.
    part: Option<usize>,
    /// Into the coordinates of the object, if they are not those of the rig.
    into_object: Option<DAffine3>,
    writer: Box<dyn TakeWriter<WholeFile>>,
}

impl Frames<'_> {
    /// Writes frames to all `outputs`, each in the format of its ending, and returns the written files.
    /// `vertices` gives a pose in the head frame, without moving parts; it is called once for each frame.
    pub(crate) fn write(
        &self,
        outputs: &[&Path],
        files: &TakeFiles,
        mut vertices: impl FnMut(usize) -> Result<Vec<[f32; 3]>>,
    ) -> Result<Vec<String>> {
        let mut caches = Vec::new();
        for output in outputs.iter().filter(|output| is_cache(output)) {
            caches.extend(self.caches(output, files)?);
        }
        let head = head_from_zero(self.times_secs, self.head.filter(|_| !self.in_world));
        let mut gltfs = Vec::new();
        for output in outputs.iter().filter(|output| !is_cache(output)) {
            let as_text = extension(output) == "gltf";
            let name = self.animation_name();
            let options = TakeOptions { target_normals: files.normals, as_text, head: head.as_ref(), name };
            let (scratch, path) = (Box::new(scratch_beside(output)?), output.to_path_buf());
            gltfs.push((*output, TakeGlbWriter::new(self.rig, self.times_secs, options, scratch, path)?));
        }
        for (frame, &time_secs) in self.times_secs.iter().enumerate() {
            let own = vertices(frame)?;
            let moved = self.moved(&own, time_secs);
            let all = moved.as_deref().unwrap_or(&own);
            for cache in &mut caches {
                let is_own = cache.part.is_some() && !self.in_world;
                cache.frame(self.rig, if is_own { &own } else { all })?;
            }
            gltfs.iter_mut().try_for_each(|(_, gltf)| gltf.frame(all))?;
        }
        let mut written = Vec::new();
        for cache in caches {
            cache.writer.finish()?.finish()?;
            written.push(shown(&cache.path));
        }
        for (output, gltf) in gltfs {
            let mut file = WholeFile::create(output)?;
            gltf.finish(&mut file)?;
            file.finish()?;
            written.push(shown(output));
        }
        Ok(written)
    }

    /// The name of the animation in a glTF.
    pub(crate) fn animation_name(&self) -> &'static str {
        if self.is_preview { "preview" } else { GlbOptions::default().name }
    }

    /// A pose with its moving parts and, in the world, with the head; `None` if that changes nothing.
    fn moved(&self, own: &[[f32; 3]], time_secs: f64) -> Option<Vec<[f32; 3]>> {
        let head = self.head.filter(|_| self.in_world);
        if self.moving.is_empty() && head.is_none() {
            return None;
        }
        let mut all = own.to_vec();
        let moving: Vec<_> = self.moving.iter().map(|(part, track)| (*part, track)).collect();
        move_parts(self.rig, &moving, time_secs, &mut all);
        if let Some(head) = head {
            let (si_from_file, file_from_si) = (self.rig.space.si_from_file(), self.rig.space.file_from_si());
            let head = head.at(time_secs);
            let turn = file_from_si * DMat3::from_quat(head.rotation) * si_from_file;
            let position = file_from_si * head.translation;
            for p in &mut all {
                *p = (turn * Vec3::from(*p).as_dvec3() + position).as_vec3().to_array();
            }
        }
        Some(all)
    }

    /// The point caches of an output: one for each part, or one for all.
    fn caches(&self, output: &Path, files: &TakeFiles) -> Result<Vec<CacheSink>> {
        let parts = cache_parts(self.rig, output, files);
        let one = |(part, path): (Option<usize>, PathBuf)| {
            let placement = part.and_then(|part| self.rig.parts[part].placement);
            let writer = take_writer(&path, header_of(self.rig, part, &path, self.times_secs))?;
            Ok(CacheSink { path, part, into_object: placement.map(|p| p.inverse()), writer })
        };
        parts.into_iter().map(one).collect()
    }

    /// Notes about what the files do not hold, or how they are used.
    pub(crate) fn notes(&self, outputs: &[&Path], files: &TakeFiles) -> Vec<String> {
        let mut notes = Vec::new();
        let mut objects: Vec<usize> = Vec::new();
        for output in outputs.iter().filter(|output| is_cache(output)) {
            let parts = cache_parts(self.rig, output, files);
            if parts.len() > 1 {
                let (n, shown) = (parts.len(), output.display());
                notes.push(format!("{shown}: {n} point caches, one for each mesh, in its own coordinates"));
                let joined = output.exists();
                notes.extend(joined.then(|| format!("{shown} of an earlier run remains; remove it")));
            }
            objects.extend(parts.iter().filter_map(|(part, _)| *part));
        }
        if !objects.is_empty() {
            let settings = "Forward Z and Up -Y in Blender's Mesh Cache";
            notes.push(format!("point caches have the axes of the rig's file: {settings} if it is a glTF"));
        }
        let by_nodes = self.moving.iter().filter(|(part, _)| objects.contains(part) && !self.in_world);
        let by_nodes: Vec<String> = by_nodes.map(|(part, _)| self.rig.parts[*part].name.clone()).collect();
        if !by_nodes.is_empty() {
            let names = by_nodes.join(", ");
            notes.push(format!(
                "the point caches of {names} leave their motion to their nodes in the rig's file"
            ));
        }
        notes
    }
}

impl CacheSink {
    fn frame(&mut self, rig: &Rig, positions: &[[f32; 3]]) -> Result<()> {
        let mut vertices = match self.part {
            Some(part) => rig.parts[part].to_file_order(positions),
            None => in_file_order(rig, positions),
        };
        if let Some(into_object) = &self.into_object {
            for p in &mut vertices {
                *p = into_object.transform_point3(p.map(f64::from).into()).as_vec3().to_array();
            }
        }
        Ok(self.writer.frame(&vertices)?)
    }
}

/// The files of a point cache with the part that each holds, or `None` for all parts. A rig of one mesh has
/// one file in the coordinates of that mesh. NPZ, which only programs of ours and scripts read, is never
/// split and is in the coordinates of the rig.
fn cache_parts(rig: &Rig, output: &Path, files: &TakeFiles) -> Vec<(Option<usize>, PathBuf)> {
    let parts = part_paths(rig, output);
    let is_for_others = extension(output) != "npz";
    match parts.len() {
        1 if is_for_others => vec![(Some(parts[0].0), output.to_path_buf())],
        2.. if is_for_others && files.per_part != Some(false) => {
            parts.into_iter().map(|(part, path)| (Some(part), path)).collect()
        }
        _ => vec![(None, output.to_path_buf())],
    }
}

/// Evaluates a clip and writes it to `outputs`, each in the format of its ending. With `bake`, a GLB gets the
/// vertices of every frame instead of the rig's shapes with a weight animation. Returns the written files.
pub(crate) fn write_clip_frames(
    rig: &Rig,
    clip: &BoundClip,
    (moving, head): (&[(usize, RigidTrack)], Option<&HeadMotion>),
    outputs: &[&Path],
    (bake, files): (bool, &TakeFiles),
    progress: &Progress,
) -> Result<Vec<String>> {
    let evaluator = Evaluator::prepare(rig);
    let (vertices, weights): (Vec<&Path>, Vec<&Path>) =
        outputs.iter().copied().partition(|output| bake || is_cache(output));
    let frames =
        Frames { rig, times_secs: &clip.times_secs, head, moving, in_world: false, is_preview: false };
    let mut written = Vec::new();
    if !vertices.is_empty() {
        expect_room(rig, &clip.times_secs, &vertices, files)?;
        written = frames.write(&vertices, files, |frame| {
            tick(progress, "writing frames", frame as f32 / clip.n_frames() as f32)?;
            Ok(evaluator.positions(clip.frame(frame)))
        })?;
    }
    let (track, head) = (weight_track(&evaluator, clip), head_from_zero(&clip.times_secs, head));
    let part_motions = motions_at(moving, &clip.times_secs);
    for output in weights {
        let options = GlbOptions {
            as_text: extension(output) == "gltf",
            target_normals: files.normals,
            animation: Some(&track),
            head: head.as_ref(),
            part_motions: &part_motions,
            ..GlbOptions::default()
        };
        write_whole(output, &write_glb(rig, &options)?)?;
        written.push(shown(output));
    }
    Ok(written)
}

/// Shape strengths of every frame, for a weight animation; times start at 0 or later, as glTF requires.
pub(crate) fn weight_track(evaluator: &Evaluator, clip: &BoundClip) -> WeightTrack {
    let earlier = time_before_zero(&clip.times_secs);
    WeightTrack {
        times_secs: clip.times_secs.iter().map(|t| t + earlier).collect(),
        coefficients: (0..clip.n_frames()).flat_map(|f| evaluator.strengths(clip.frame(f))).collect(),
    }
}

/// The motions of parts at the times of [`weight_track`].
pub(crate) fn motions_at(moving: &[(usize, RigidTrack)], times_secs: &[f64]) -> Vec<(usize, RigidTrack)> {
    let earlier = time_before_zero(times_secs);
    let sampled = |track: &RigidTrack| RigidTrack {
        motions: times_secs.iter().map(|&t| track.at(t)).collect(),
        times_secs: times_secs.iter().map(|t| t + earlier).collect(),
    };
    moving.iter().map(|(part, track)| (*part, sampled(track))).collect()
}

/// Head motion with the times of [`weight_track`], without samples before 0.
pub(crate) fn head_from_zero(times_secs: &[f64], head: Option<&HeadMotion>) -> Option<HeadMotion> {
    let (head, earlier) = (head?, time_before_zero(times_secs));
    let first = head.times_secs.partition_point(|t| t + earlier < 0.0);
    let shifted = HeadMotion {
        times_secs: head.times_secs[first..].iter().map(|t| t + earlier).collect(),
        positions_m: head.positions_m[first..].to_vec(),
        rotations_xyzw: head.rotations_xyzw[first..].to_vec(),
    };
    (!shifted.times_secs.is_empty()).then_some(shifted)
}

/// The head motion that belongs to a part of a clip: cut with it, or whole with the whole clip.
pub(crate) fn head_of_span(span: &Span, times_secs: &[f64], head: Option<&HeadMotion>) -> Option<HeadMotion> {
    let (first, last) = (times_secs.first()?, times_secs.last()?);
    head.map(|head| if span.is_whole() { head.clone() } else { head.within(*first, *last) })
}

/// How far a clip starts before time 0, in seconds.
fn time_before_zero(times_secs: &[f64]) -> f64 {
    (-times_secs.first().copied().unwrap_or(0.0)).max(0.0)
}

/// Largest GLB in bytes; its format counts them in 32 bits.
const MAX_GLB_BYTES: usize = 4 << 30;

/// Fails for takes that do not fit their files, before anything is computed.
pub(crate) fn expect_room(rig: &Rig, times_secs: &[f64], outputs: &[&Path], files: &TakeFiles) -> Result<()> {
    for output in outputs {
        if is_cache(output) {
            let header = header_of(rig, None, output, times_secs);
            writer_to(std::io::Cursor::new(Vec::new()), output, header)?;
            continue;
        }
        let n_frames = times_secs.len();
        let per_vertex = if files.normals { 24 } else { 12 };
        let n_bytes = n_frames.saturating_mul(per_vertex * rig.n_file_vertices());
        if n_bytes >= MAX_GLB_BYTES || n_frames > MAX_TAKE_FRAMES {
            let advice = "write .mdd, .pc2 or .npz, use a part of the clip, or fewer frames per second";
            let message = format!("{n_frames} frames are too many for {}; {advice}", output.display());
            return Err(Error::failed(message).with_options(&["start", "end", "fps"]));
        }
    }
    Ok(())
}

/// The header of a take of `rig`, or of one of its parts.
fn header_of(rig: &Rig, part: Option<usize>, path: &Path, times_secs: &[f64]) -> TakeHeader {
    let (n_vertices, triangles) = match part {
        Some(part) => (rig.parts[part].n_file_vertices(), rig.parts[part].faces.triangulated()),
        None => (rig.n_file_vertices(), file_triangles(rig)),
    };
    TakeHeader { path: path.to_path_buf(), times_secs: times_secs.to_vec(), n_vertices, triangles }
}

/// A writer for the take at `path`, in the format of its ending.
pub(crate) fn take_writer(path: &Path, header: TakeHeader) -> Result<Box<dyn TakeWriter<WholeFile>>> {
    expect_ending(path, &CACHES, "a take")?;
    writer_to(WholeFile::create(path)?, path, header)
}

fn writer_to<W: Write + Seek + 'static>(
    file: W,
    path: &Path,
    header: TakeHeader,
) -> Result<Box<dyn TakeWriter<W>>> {
    Ok(match extension(path).as_str() {
        "mdd" => Box::new(MddWriter::new(file, header)?),
        "pc2" => Box::new(Pc2Writer::new(file, header)?),
        _ => Box::new(NpzWriter::new(file, header)?),
    })
}

/// Positions of all parts' file vertices, one part after another.
fn in_file_order(rig: &Rig, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
    rig.parts.iter().flat_map(|p| p.to_file_order(positions)).collect()
}

/// Triangles over all parts' file vertices, one part after another.
fn file_triangles(rig: &Rig) -> Vec<[u32; 3]> {
    let mut first = 0;
    let mut all = Vec::new();
    for part in &rig.parts {
        all.extend(part.faces.triangulated().into_iter().map(|t| t.map(|v| v + first)));
        first += part.n_file_vertices() as u32;
    }
    all
}

/// Writes a pose as a surface without shapes, in the format of the ending.
pub(crate) fn write_surface(rig: &Rig, positions: &[[f32; 3]], output: &Path) -> Result<()> {
    let extension = extension(output);
    let bytes = match extension.as_str() {
        "obj" => obj::write(rig, positions),
        "ply" => {
            let (faces, colors) = joined(rig);
            ply::write(&in_file_order(rig, positions), &faces, colors.as_deref(), false)
        }
        // The ending was checked: only .glb and .gltf remain.
        _ => {
            let mut still = Rig { neutral: positions.to_vec(), shapes: Vec::<Shape>::new(), ..rig.clone() };
            still.sliders.clear();
            // The artist's normals belong to the neutral; they turn with the surface.
            let normals = ShadingNormals::prepare(rig).corner_normals(rig, positions);
            still.parts.iter_mut().zip(normals).for_each(|(part, turned)| part.corner_normals = turned);
            write_glb(&still, &GlbOptions { as_text: extension == "gltf", ..GlbOptions::default() })?
        }
    };
    Ok(write_whole(output, &bytes)?)
}

/// Faces and colors of all parts over their file vertices, one part after another.
fn joined(rig: &Rig) -> (Polygons, Option<Vec<[f32; 4]>>) {
    let mut faces = Polygons::default();
    let mut colors = Vec::new();
    let mut first = 0;
    for part in &rig.parts {
        for face in part.faces.iter() {
            faces.push(&face.iter().map(|v| v + first).collect::<Vec<_>>());
        }
        first += part.n_file_vertices() as u32;
        colors.extend(part.colors.clone().unwrap_or_else(|| vec![[1.0; 4]; part.n_file_vertices()]));
    }
    let has_colors = rig.parts.iter().any(|p: &Part| p.colors.is_some());
    (faces, has_colors.then_some(colors))
}
