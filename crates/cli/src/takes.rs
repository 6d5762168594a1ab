//! Frames to files: the take formats, frame after frame, whole or not at all.

use crate::session::{Failure, Session};
use risorius_io::gltf::{GlbOptions, TakeOptions, WeightTrack, write_glb, write_take_glb};
use risorius_io::output::{WholeFile, write_whole};
use risorius_io::take_out::{TakeHeader, TakeWriter};
use risorius_io::{mdd::MddWriter, npz::NpzWriter, pc2::Pc2Writer};
use risorius_mesh::progress::tick;
use risorius_rig::{Evaluator, HeadMotion, Part, Rig, Take};
use std::path::Path;

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

/// Evaluates `frames` and writes them to `path` in the format of its ending. `bake` puts vertices of every frame into a
/// GLB instead of the rig's shapes with a weight animation.
pub fn write_frames(rig: &Rig, frames: &Frames, path: &Path, bake: bool, session: &Session) -> Result<(), Failure> {
    let evaluator = Evaluator::prepare(rig);
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "glb" | "gltf" => {
            let as_text = extension == "gltf";
            let bytes = if bake {
                let take = evaluate_take(&evaluator, frames, session)?;
                write_take_glb(rig, &take, &TakeOptions { as_text, head: frames.head, ..TakeOptions::default() })?
            } else {
                let track = weight_track(&evaluator, frames);
                write_glb(
                    rig,
                    &GlbOptions { as_text, animation: Some(&track), head: frames.head, ..GlbOptions::default() },
                )?
            };
            Ok(write_whole(path, &bytes)?)
        }
        "mdd" | "pc2" | "npz" => stream(rig, &evaluator, frames, path, &extension, session),
        _ => Err(Failure::wrong_call(format!("'{}': frames go to .glb, .gltf, .mdd, .pc2 or .npz", path.display()))),
    }
}

/// Shape strengths of every frame, for a weight animation; times start at 0, as glTF wants them.
pub fn weight_track(evaluator: &Evaluator, frames: &Frames) -> WeightTrack {
    let first = frames.times_secs.first().copied().unwrap_or(0.0).min(0.0);
    WeightTrack {
        times_secs: frames.times_secs.iter().map(|t| t - first).collect(),
        coefficients: (0..frames.times_secs.len()).flat_map(|f| evaluator.strengths(frames.row(f))).collect(),
    }
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
    format: &str,
    session: &Session,
) -> Result<(), Failure> {
    let header = TakeHeader {
        path: path.to_path_buf(),
        times_secs: frames.times_secs.to_vec(),
        n_vertices: rig.parts.iter().map(Part::n_file_vertices).sum(),
        triangles: file_triangles(rig),
    };
    let mut writer = take_writer(WholeFile::create(path)?, header, format)?;
    let mut positions = vec![[0.0; 3]; evaluator.n_vertices()];
    for f in 0..frames.times_secs.len() {
        tick(&session.progress(), "writing frames", f as f32 / frames.times_secs.len() as f32)?;
        evaluator.positions_into(frames.row(f), &mut positions);
        writer.frame(&in_file_order(rig, &positions))?;
    }
    Ok(writer.finish()?.finish()?)
}

/// A writer for the take format with this ending.
pub fn take_writer(
    file: WholeFile,
    header: TakeHeader,
    format: &str,
) -> Result<Box<dyn TakeWriter<WholeFile>>, Failure> {
    Ok(match format {
        "mdd" => Box::new(MddWriter::new(file, header)?),
        "pc2" => Box::new(Pc2Writer::new(file, header)?),
        "npz" => Box::new(NpzWriter::new(file, header)?),
        other => return Err(Failure::wrong_call(format!("'.{other}' is not a take format: use .mdd, .pc2 or .npz"))),
    })
}

/// Positions of all parts' file vertices, one part after another.
pub fn in_file_order(rig: &Rig, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
    rig.parts.iter().flat_map(|p| p.to_file_order(positions)).collect()
}

/// Triangles over all parts' file vertices, one part after another.
pub fn file_triangles(rig: &Rig) -> Vec<[u32; 3]> {
    let mut first = 0;
    let mut all = Vec::new();
    for part in &rig.parts {
        all.extend(part.faces.triangulated().into_iter().map(|t| t.map(|v| v + first)));
        first += part.n_file_vertices() as u32;
    }
    all
}
