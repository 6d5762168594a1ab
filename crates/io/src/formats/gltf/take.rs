//! Writes takes as glTF: each frame is a morph target, and hat functions of time blend from one to the next.
//!
//! Between frames vertices move linearly. The size of the file grows with frames times moving vertices, and
//! that of the weights with frames squared, so long takes belong in a vertex cache. Normals are plain floats:
//! glTF adds them to those of the rest, and such differences are as long as 2, beyond normalized integers.

use super::malformed;
use super::write::{GlbOptions, Targets, WeightTrack, write};
use crate::IoError;
use risorius_rig::{Deltas, Rig, Take};
use std::borrow::Cow;

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
}

impl Default for TakeOptions<'_> {
    fn default() -> Self {
        Self { target_normals: true, as_text: false, head: None }
    }
}

/// Writes `take`, whose frames have the vertices of `rig`, as an animated glTF.
pub fn write_take_glb(rig: &Rig, take: &Take, options: &TakeOptions) -> Result<Vec<u8>, IoError> {
    let n = take.n_frames();
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
    if take.n_vertices != rig.n_vertices() || take.positions.len() != n * take.n_vertices {
        let problem =
            format!("it has {} vertices per frame where the rig has {}", take.n_vertices, rig.n_vertices());
        return Err(malformed("the take", problem));
    }
    let deltas = |frame: usize| Cow::Owned(difference(take.frame(frame), &rig.neutral));
    let names = (0..n).map(|frame| format!("frame{frame:04}")).collect();
    let mut coefficients = vec![0.0; n * n];
    coefficients.iter_mut().step_by(n + 1).for_each(|hat| *hat = 1.0);
    let track = WeightTrack { times_secs: take.times_secs.clone(), coefficients };
    // Viewers without animation show the first frame.
    let first: Vec<f32> = (0..n).map(|frame| if frame == 0 { 1.0 } else { 0.0 }).collect();
    let glb = GlbOptions {
        target_normals: options.target_normals,
        as_text: options.as_text,
        default_weights: Some(&first),
        animation: Some(&track),
        head: options.head,
        part_motions: &[],
    };
    write(rig, &Targets { names, deltas: &deltas }, &glb)
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
