//! Frames to files: the take formats, frame after frame, whole or not at all.

use crate::files::{expect_ending, extension};
use crate::session::{Failure, Session};
use risorius_base::progress::tick;
use risorius_io::formats::gltf::{
    GlbOptions, MAX_TAKE_FRAMES, TakeOptions, WeightTrack, write_glb, write_take_glb,
};
use risorius_io::formats::mdd::MddWriter;
use risorius_io::formats::npz::NpzWriter;
use risorius_io::formats::pc2::Pc2Writer;
use risorius_io::output::{WholeFile, write_whole};
use risorius_io::take_out::{TakeHeader, TakeWriter};
use risorius_rig::{Evaluator, HeadMotion, Part, Rig, Take};
use std::io::{Seek, Write};
use std::path::Path;

/// Endings of files that hold per-frame vertices only.
pub const CACHES: [&str; 3] = ["mdd", "pc2", "npz"];

/// Endings of files that hold frames of a rig.
pub const FRAMES: [&str; 5] = ["glb", "gltf", "mdd", "pc2", "npz"];

/// A clip bound to a rig: weights per frame.
pub struct Frames<'a> {
    /// Time of each frame.
    pub times_secs: &'a [f64],
    /// Frames x sliders.
    pub weights: &'a [f32],
    /// Head motion to write along, where the format can.
    pub head: Option<&'a HeadMotion>,
}

impl Frames<'_> {
    fn row(&self, frame: usize) -> &[f32] {
        let n = self.weights.len() / self.times_secs.len().max(1);
        &self.weights[frame * n..(frame + 1) * n]
    }
}

/// Evaluates `frames` and writes them to `path` in the format of its ending. `bake` puts vertices of every
/// frame into a GLB instead of the rig's shapes with a weight animation.
pub fn write_frames(
    rig: &Rig,
    frames: &Frames,
    path: &Path,
    bake: bool,
    session: &Session,
) -> Result<(), Failure> {
    let evaluator = Evaluator::prepare(rig);
    let extension = extension(path);
    match extension.as_str() {
        "glb" | "gltf" => {
            let as_text = extension == "gltf";
            let head = shifted_head(frames);
            let bytes = if bake {
                let (n_frames, most) = (frames.times_secs.len(), MAX_TAKE_FRAMES);
                if n_frames > most {
                    let advice = "write .mdd, .pc2 or .npz, or leave out --bake";
                    return Err(Failure::could_not(format!(
                        "{n_frames} frames, a GLB holds {most}; {advice}"
                    )));
                }
                let take = evaluate_take(&evaluator, frames, session)?;
                write_take_glb(
                    rig,
                    &take,
                    &TakeOptions { as_text, head: head.as_ref(), ..TakeOptions::default() },
                )?
            } else {
                let track = weight_track(&evaluator, frames);
                write_glb(
                    rig,
                    &GlbOptions {
                        as_text,
                        animation: Some(&track),
                        head: head.as_ref(),
                        ..GlbOptions::default()
                    },
                )?
            };
            Ok(write_whole(path, &bytes)?)
        }
        _ => stream(rig, &evaluator, frames, path, session),
    }
}

/// Shape strengths of every frame, for a weight animation; times start at 0, as glTF wants them.
pub fn weight_track(evaluator: &Evaluator, frames: &Frames) -> WeightTrack {
    let earlier = time_before_zero(frames);
    WeightTrack {
        times_secs: frames.times_secs.iter().map(|t| t + earlier).collect(),
        coefficients: (0..frames.times_secs.len()).flat_map(|f| evaluator.strengths(frames.row(f))).collect(),
    }
}

/// Head motion on the time of [`weight_track`], from its first sample that is not before 0.
pub fn shifted_head(frames: &Frames) -> Option<HeadMotion> {
    let (head, earlier) = (frames.head?, time_before_zero(frames));
    let first = head.times_secs.partition_point(|t| t + earlier < 0.0);
    let shifted = HeadMotion {
        times_secs: head.times_secs[first..].iter().map(|t| t + earlier).collect(),
        positions_m: head.positions_m[first..].to_vec(),
        rotations_xyzw: head.rotations_xyzw[first..].to_vec(),
    };
    (!shifted.times_secs.is_empty()).then_some(shifted)
}

/// How far a clip reaches back before time 0, in seconds.
fn time_before_zero(frames: &Frames) -> f64 {
    (-frames.times_secs.first().copied().unwrap_or(0.0)).max(0.0)
}

fn evaluate_take(evaluator: &Evaluator, frames: &Frames, session: &Session) -> Result<Take, Failure> {
    let n_vertices = evaluator.n_vertices();
    let mut take = Take { times_secs: frames.times_secs.to_vec(), n_vertices, positions: Vec::new() };
    for f in 0..frames.times_secs.len() {
        tick(&session.progress(), "evaluating frames", f as f32 / frames.times_secs.len() as f32)?;
        take.positions.extend(evaluator.positions(frames.row(f)));
    }
    Ok(take)
}

fn stream(
    rig: &Rig,
    evaluator: &Evaluator,
    frames: &Frames,
    path: &Path,
    session: &Session,
) -> Result<(), Failure> {
    let mut writer = take_writer(path, header_of(rig, path, frames.times_secs))?;
    let mut positions = vec![[0.0; 3]; evaluator.n_vertices()];
    for f in 0..frames.times_secs.len() {
        tick(&session.progress(), "writing frames", f as f32 / frames.times_secs.len() as f32)?;
        evaluator.positions_into(frames.row(f), &mut positions);
        writer.frame(&in_file_order(rig, &positions))?;
    }
    Ok(writer.finish()?.finish()?)
}

/// Writes frames of a rig as they come, in the format of the ending: streamed to a point cache, or gathered
/// for glTF, which can also move the head.
pub fn write_vertices(
    rig: &Rig,
    times_secs: &[f64],
    head: Option<&HeadMotion>,
    output: &Path,
    mut vertices: impl FnMut(usize) -> Result<Vec<[f32; 3]>, Failure>,
) -> Result<(), Failure> {
    match extension(output).as_str() {
        ending @ ("glb" | "gltf") => {
            let mut take =
                Take { times_secs: times_secs.to_vec(), n_vertices: rig.n_vertices(), positions: Vec::new() };
            for frame in 0..times_secs.len() {
                take.positions.append(&mut vertices(frame)?);
            }
            let head = shifted_head(&Frames { times_secs, weights: &[], head });
            let options =
                TakeOptions { as_text: ending == "gltf", head: head.as_ref(), ..TakeOptions::default() };
            Ok(write_whole(output, &write_take_glb(rig, &take, &options)?)?)
        }
        _ => {
            let mut writer = take_writer(output, header_of(rig, output, times_secs))?;
            for frame in 0..times_secs.len() {
                writer.frame(&in_file_order(rig, &vertices(frame)?))?;
            }
            Ok(writer.finish()?.finish()?)
        }
    }
}

/// Takes beyond this many bytes are not held in memory, which a GLB needs.
const MAX_TAKE_BYTES: usize = 4 << 30;

/// Finds takes that do not fit their file, before anything is computed for them.
pub fn expect_room(rig: &Rig, times_secs: &[f64], output: &Path) -> Result<(), Failure> {
    if CACHES.contains(&extension(output).as_str()) {
        return expect_holdable(output, header_of(rig, output, times_secs));
    }
    let n_frames = times_secs.len();
    let n_bytes = n_frames.saturating_mul(12 * rig.n_vertices());
    if n_bytes > MAX_TAKE_BYTES || n_frames > MAX_TAKE_FRAMES {
        let advice = "write .mdd, .pc2 or .npz, or take a part of the clip, or fewer frames with --fps";
        return Err(Failure::could_not(format!(
            "{n_frames} frames are too many for {}; {advice}",
            output.display()
        )));
    }
    Ok(())
}

/// What a take of `rig` begins with.
pub fn header_of(rig: &Rig, path: &Path, times_secs: &[f64]) -> TakeHeader {
    TakeHeader {
        path: path.to_path_buf(),
        times_secs: times_secs.to_vec(),
        n_vertices: rig.parts.iter().map(Part::n_file_vertices).sum(),
        triangles: file_triangles(rig),
    }
}

/// A writer for the take at `path`, in the format of its ending.
pub fn take_writer(path: &Path, header: TakeHeader) -> Result<Box<dyn TakeWriter<WholeFile>>, Failure> {
    expect_ending(path, &CACHES, "a take")?;
    writer_to(WholeFile::create(path)?, path, header)
}

/// Finds what a point cache at `path` could not hold.
fn expect_holdable(path: &Path, header: TakeHeader) -> Result<(), Failure> {
    expect_ending(path, &CACHES, "a take")?;
    writer_to(std::io::Cursor::new(Vec::new()), path, header).map(drop)
}

fn writer_to<W: Write + Seek + 'static>(
    file: W,
    path: &Path,
    header: TakeHeader,
) -> Result<Box<dyn TakeWriter<W>>, Failure> {
    Ok(match extension(path).as_str() {
        "mdd" => Box::new(MddWriter::new(file, header)?),
        "pc2" => Box::new(Pc2Writer::new(file, header)?),
        _ => Box::new(NpzWriter::new(file, header)?),
    })
}

/// Positions of all parts' file vertices, one part after another.
pub fn in_file_order(rig: &Rig, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
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
