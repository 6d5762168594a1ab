//! Writes frames to files in the take formats, frame by frame, completely or not at all.

use crate::error::{Error, Result};
use crate::files::{CACHES, expect_ending, extension, is_cache};
use risorius_base::progress::{Progress, tick};
use risorius_io::formats::gltf::{
    GlbOptions, MAX_TAKE_FRAMES, TakeOptions, WeightTrack, write_glb, write_take_glb,
};
use risorius_io::formats::mdd::MddWriter;
use risorius_io::formats::npz::NpzWriter;
use risorius_io::formats::pc2::Pc2Writer;
use risorius_io::formats::{obj, ply};
use risorius_io::output::{WholeFile, write_whole};
use risorius_io::take_out::{TakeHeader, TakeWriter};
use risorius_mesh::Polygons;
use risorius_rig::{BoundClip, Evaluator, HeadMotion, Part, Rig, Shape, Take};
use std::io::{Seek, Write};
use std::path::Path;

/// Evaluates a clip and writes it to `path` in the format of its ending. With `bake`, a GLB gets the vertices
/// of every frame instead of the rig's shapes with a weight animation.
pub(crate) fn write_clip_frames(
    rig: &Rig,
    clip: &BoundClip,
    path: &Path,
    bake: bool,
    progress: &Progress,
) -> Result<()> {
    let evaluator = Evaluator::prepare(rig);
    if is_cache(path) {
        return stream(rig, &evaluator, clip, path, progress);
    }
    let as_text = extension(path) == "gltf";
    let head = head_from_zero(&clip.times_secs, clip.head.as_ref());
    let head = head.as_ref();
    let bytes = if bake {
        let (n_frames, most) = (clip.n_frames(), MAX_TAKE_FRAMES);
        if n_frames > most {
            let advice = "write .mdd, .pc2 or .npz, or a weight animation instead of baked vertices";
            let message = format!("{n_frames} frames, but a GLB holds at most {most}; {advice}");
            return Err(Error::failed(message).with_options(&["bake"]));
        }
        let take = evaluate_take(&evaluator, clip, progress)?;
        write_take_glb(rig, &take, &TakeOptions { as_text, head, ..TakeOptions::default() })?
    } else {
        let track = weight_track(&evaluator, clip);
        write_glb(rig, &GlbOptions { as_text, animation: Some(&track), head, ..GlbOptions::default() })?
    };
    Ok(write_whole(path, &bytes)?)
}

/// Shape strengths of every frame, for a weight animation; times start at 0 or later, as glTF requires.
pub(crate) fn weight_track(evaluator: &Evaluator, clip: &BoundClip) -> WeightTrack {
    let earlier = time_before_zero(&clip.times_secs);
    WeightTrack {
        times_secs: clip.times_secs.iter().map(|t| t + earlier).collect(),
        coefficients: (0..clip.n_frames()).flat_map(|f| evaluator.strengths(clip.frame(f))).collect(),
    }
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

/// How far a clip starts before time 0, in seconds.
fn time_before_zero(times_secs: &[f64]) -> f64 {
    (-times_secs.first().copied().unwrap_or(0.0)).max(0.0)
}

fn evaluate_take(evaluator: &Evaluator, clip: &BoundClip, progress: &Progress) -> Result<Take> {
    let (n_frames, n_vertices) = (clip.n_frames(), evaluator.n_vertices());
    let mut take = Take { times_secs: clip.times_secs.clone(), n_vertices, positions: Vec::new() };
    for frame in 0..n_frames {
        tick(progress, "evaluating frames", frame as f32 / n_frames as f32)?;
        take.positions.extend(evaluator.positions(clip.frame(frame)));
    }
    Ok(take)
}

fn stream(
    rig: &Rig,
    evaluator: &Evaluator,
    clip: &BoundClip,
    path: &Path,
    progress: &Progress,
) -> Result<()> {
    let mut writer = take_writer(path, header_of(rig, path, &clip.times_secs))?;
    let mut positions = vec![[0.0; 3]; evaluator.n_vertices()];
    for frame in 0..clip.n_frames() {
        tick(progress, "writing frames", frame as f32 / clip.n_frames() as f32)?;
        evaluator.positions_into(clip.frame(frame), &mut positions);
        writer.frame(&in_file_order(rig, &positions))?;
    }
    Ok(writer.finish()?.finish()?)
}

/// Writes frames of a rig in the format of the ending: streamed to a point cache, or collected for glTF,
/// which can also hold head motion.
pub(crate) fn write_vertices(
    rig: &Rig,
    times_secs: &[f64],
    head: Option<&HeadMotion>,
    output: &Path,
    mut vertices: impl FnMut(usize) -> Result<Vec<[f32; 3]>>,
) -> Result<()> {
    if is_cache(output) {
        let mut writer = take_writer(output, header_of(rig, output, times_secs))?;
        for frame in 0..times_secs.len() {
            writer.frame(&in_file_order(rig, &vertices(frame)?))?;
        }
        return Ok(writer.finish()?.finish()?);
    }
    let mut take =
        Take { times_secs: times_secs.to_vec(), n_vertices: rig.n_vertices(), positions: Vec::new() };
    for frame in 0..times_secs.len() {
        take.positions.append(&mut vertices(frame)?);
    }
    let head = head_from_zero(times_secs, head);
    let as_text = extension(output) == "gltf";
    let options = TakeOptions { as_text, head: head.as_ref(), ..TakeOptions::default() };
    Ok(write_whole(output, &write_take_glb(rig, &take, &options)?)?)
}

/// Largest take in bytes that is held in memory, as a GLB requires.
const MAX_TAKE_BYTES: usize = 4 << 30;

/// Fails for takes that do not fit their file, before anything is computed.
pub(crate) fn expect_room(rig: &Rig, times_secs: &[f64], output: &Path) -> Result<()> {
    if is_cache(output) {
        let header = header_of(rig, output, times_secs);
        return writer_to(std::io::Cursor::new(Vec::new()), output, header).map(drop);
    }
    let n_frames = times_secs.len();
    let n_bytes = n_frames.saturating_mul(12 * rig.n_vertices());
    if n_bytes > MAX_TAKE_BYTES || n_frames > MAX_TAKE_FRAMES {
        let advice = "write .mdd, .pc2 or .npz, use a part of the clip, or fewer frames per second";
        let message = format!("{n_frames} frames are too many for {}; {advice}", output.display());
        return Err(Error::failed(message).with_options(&["fps"]));
    }
    Ok(())
}

/// The header of a take of `rig`.
fn header_of(rig: &Rig, path: &Path, times_secs: &[f64]) -> TakeHeader {
    TakeHeader {
        path: path.to_path_buf(),
        times_secs: times_secs.to_vec(),
        n_vertices: rig.parts.iter().map(Part::n_file_vertices).sum(),
        triangles: file_triangles(rig),
    }
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
            // The artist's normals belong to the neutral.
            still.parts.iter_mut().for_each(|p| p.corner_normals = None);
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
    let has_colors = rig.parts.iter().any(|p| p.colors.is_some());
    (faces, has_colors.then_some(colors))
}
