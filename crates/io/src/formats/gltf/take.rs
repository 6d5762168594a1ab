//! Writes takes as glTF: each frame is a morph target, and hat functions of time blend from one to the next.
//!
//! Between frames vertices move linearly. The size of the file grows with frames times moving vertices, and
//! that of the weights with frames squared, so long takes belong in a vertex cache. Normals are plain floats:
//! glTF adds them to those of the rest, and such differences are as long as 2, beyond normalized integers.

use super::build::Storage;
use super::malformed;
use super::write::{GlbOptions, Weights, Writer};
use crate::IoError;
use risorius_rig::{Deltas, Rig, Take};
use std::io::{Cursor, Write};
use std::path::PathBuf;

/// Longest take that is written as morph targets; the weights alone are 16 MB then.
pub const MAX_TAKE_FRAMES: usize = 2000;

/// How a take is written.
#[derive(Debug, Clone)]
pub struct TakeOptions<'a> {
    /// Normals for every frame (default). Without them a player shades every frame like the rest, and folds
    /// do not show; the file has half the size.
    pub target_normals: bool,
    /// Write JSON text with the data inside (.gltf) rather than a GLB.
    pub as_text: bool,
    /// Head motion over time, as a node above all parts, for takes that are relative to the head.
    pub head: Option<&'a risorius_rig::HeadMotion>,
    /// Name of the animation.
    pub name: &'a str,
}

impl Default for TakeOptions<'_> {
    fn default() -> Self {
        Self { target_normals: true, as_text: false, head: None, name: GlbOptions::default().name }
    }
}

/// Writes `take`, whose frames have the vertices of `rig`, as an animated glTF.
pub fn write_take_glb(rig: &Rig, take: &Take, options: &TakeOptions) -> Result<Vec<u8>, IoError> {
    let storage = Box::new(Cursor::new(Vec::new()));
    let mut writer = TakeGlbWriter::new(rig, &take.times_secs, options.clone(), storage, PathBuf::new())?;
    if take.n_vertices != rig.n_vertices() || take.positions.len() != take.n_frames() * take.n_vertices {
        return Err(wrong_vertices(take.n_vertices, rig));
    }
    for frame in 0..take.n_frames() {
        writer.frame(take.frame(frame))?;
    }
    let mut out = Vec::new();
    writer.finish(&mut out)?;
    Ok(out)
}

/// A take that is being written as an animated glTF, frame by frame. Frames have the vertices of the rig.
pub struct TakeGlbWriter<'a> {
    rig: &'a Rig,
    times_secs: &'a [f64],
    options: TakeOptions<'a>,
    writer: Writer<'a>,
    n_written: usize,
}

impl<'a> TakeGlbWriter<'a> {
    /// Prepares the file. The data of frames is kept in `storage` until the file is finished; `path` is for
    /// messages.
    pub fn new(
        rig: &'a Rig,
        times_secs: &'a [f64],
        options: TakeOptions<'a>,
        storage: Box<dyn Storage>,
        path: PathBuf,
    ) -> Result<Self, IoError> {
        let n = times_secs.len();
        if n == 0 {
            return Err(malformed("the take", "it has no frames"));
        }
        if n > MAX_TAKE_FRAMES {
            return Err(IoError::Unsupported {
                format: super::FORMAT,
                feature: format!("a take of {n} frames (at most {MAX_TAKE_FRAMES})"),
                advice: "write it as .mdd, .pc2 or .npz, or cut it".into(),
            });
        }
        let writer = Writer::new(rig, options.target_normals, storage, path)?;
        Ok(Self { rig, times_secs, options, writer, n_written: 0 })
    }

    /// Writes the next frame.
    pub fn frame(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        if positions.len() != self.rig.n_vertices() {
            return Err(wrong_vertices(positions.len(), self.rig));
        }
        let name = format!("frame{:04}", self.n_written);
        self.n_written += 1;
        self.writer.target(name, &difference(positions, &self.rig.neutral))
    }

    /// Writes the file to `out`, after exactly as many frames as there are times.
    pub fn finish(self, out: &mut dyn Write) -> Result<(), IoError> {
        let n = self.times_secs.len();
        if self.n_written != n {
            let problem = format!("{n} frames were announced, {} were written", self.n_written);
            return Err(malformed("the take", problem));
        }
        // Viewers without animation show the first frame.
        let first: Vec<f32> = (0..n).map(|frame| if frame == 0 { 1.0 } else { 0.0 }).collect();
        let glb = GlbOptions {
            as_text: self.options.as_text,
            default_weights: Some(&first),
            head: self.options.head,
            name: self.options.name,
            ..GlbOptions::default()
        };
        self.writer.finish(&glb, Some(Weights::Hats(self.times_secs)), out)
    }
}

fn wrong_vertices(found: usize, rig: &Rig) -> IoError {
    let problem = format!("it has {found} vertices per frame where the rig has {}", rig.n_vertices());
    malformed("the take", problem)
}

fn difference(frame: &[[f32; 3]], neutral: &[[f32; 3]]) -> Deltas {
    let mut deltas = Deltas::default();
    for (v, (p, rest)) in frame.iter().zip(neutral).enumerate() {
        let offset: [f32; 3] = std::array::from_fn(|k| p[k] - rest[k]);
        if offset != [0.0; 3] {
            deltas.vertices.push(v as u32);
            deltas.offsets.push(offset);
        }
    }
    deltas
}
