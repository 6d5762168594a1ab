//! Frames over time: sources of a rig's vertex positions at given times.
//!
//! A [`FrameSource`] has times and a pose of the rig at each of them. A [`Take`] stores the poses, a
//! [`PosedClip`] evaluates a [`BoundClip`], [`CutFrames`] are a part of another source, [`RefinedFrames`]
//! those of another source subdivided; files of takes are sources too (crate `io`). [`positions_at`]
//! interpolates between frames.

use crate::part_motion::RigidTrack;
use crate::{Evaluator, HeadMotion, Refinement};

/// Poses of a rig at ascending times.
pub trait FrameSource: Send + Sync {
    /// Time of each frame in seconds, ascending; at least one.
    fn times_secs(&self) -> &[f64];

    /// One position per rig vertex, in the rig's unit, expressed in the head frame.
    fn frame(&self, frame_idx: usize) -> Vec<[f32; 3]>;

    /// Motion of the head, which the frames do not contain.
    fn head(&self) -> Option<&HeadMotion> {
        None
    }
}

/// A clip with its values mapped to the sliders of a rig.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundClip {
    /// Time of each frame in seconds, strictly ascending.
    pub times_secs: Vec<f64>,
    /// Number of sliders of the rig.
    pub n_sliders: usize,
    /// Frames x sliders.
    pub weights: Vec<f32>,
    /// Head motion that came with the clip.
    pub head: Option<HeadMotion>,
}

impl BoundClip {
    /// Number of frames.
    pub fn n_frames(&self) -> usize {
        self.times_secs.len()
    }

    /// Slider values of one frame.
    pub fn frame(&self, frame_idx: usize) -> &[f32] {
        &self.weights[frame_idx * self.n_sliders..(frame_idx + 1) * self.n_sliders]
    }

    /// The clip with only the given frames.
    pub fn frames(&self, frames: std::ops::Range<usize>) -> Self {
        Self {
            times_secs: self.times_secs[frames.clone()].to_vec(),
            weights: self.weights[frames.start * self.n_sliders..frames.end * self.n_sliders].to_vec(),
            n_sliders: self.n_sliders,
            head: self.head.clone(),
        }
    }
}

/// The poses of a rig over a clip.
pub struct PosedClip {
    evaluator: Evaluator,
    clip: BoundClip,
    /// Rig vertices that move rigidly besides.
    moved: Vec<(std::ops::Range<usize>, RigidTrack)>,
}

impl PosedClip {
    /// Poses of the rig of `evaluator`, which `clip` must be bound to.
    pub fn new(evaluator: Evaluator, clip: BoundClip) -> Self {
        Self { evaluator, clip, moved: Vec::new() }
    }

    /// With parts of `rig` that also move rigidly, by their indices.
    pub fn with_motions(mut self, rig: &crate::Rig, motions: &[(usize, &RigidTrack)]) -> Self {
        let moved = motions.iter().map(|(part, track)| (rig.parts[*part].vertices.clone(), (*track).clone()));
        self.moved = moved.collect();
        self
    }
}

impl FrameSource for PosedClip {
    fn times_secs(&self) -> &[f64] {
        &self.clip.times_secs
    }

    fn frame(&self, frame_idx: usize) -> Vec<[f32; 3]> {
        let mut positions = self.evaluator.positions(self.clip.frame(frame_idx));
        for (vertices, track) in &self.moved {
            track.at(self.clip.times_secs[frame_idx]).apply_to(&mut positions[vertices.clone()]);
        }
        positions
    }

    fn head(&self) -> Option<&HeadMotion> {
        self.clip.head.as_ref()
    }
}

/// A part of another source.
pub struct CutFrames {
    source: Box<dyn FrameSource>,
    frames: std::ops::Range<usize>,
    head: Option<HeadMotion>,
}

impl CutFrames {
    /// The given frames of `source`, which has them; at least one. Their times stay.
    pub fn new(source: Box<dyn FrameSource>, frames: std::ops::Range<usize>) -> Self {
        let times = &source.times_secs()[frames.clone()];
        let head = source.head().map(|head| head.within(times[0], times[times.len() - 1]));
        Self { head, source, frames }
    }
}

impl FrameSource for CutFrames {
    fn times_secs(&self) -> &[f64] {
        &self.source.times_secs()[self.frames.clone()]
    }

    fn frame(&self, frame_idx: usize) -> Vec<[f32; 3]> {
        self.source.frame(self.frames.start + frame_idx)
    }

    fn head(&self) -> Option<&HeadMotion> {
        self.head.as_ref()
    }
}

/// Frames of a coarse rig on the vertices of its subdivision.
pub struct RefinedFrames {
    /// Frames of the coarse rig.
    pub coarse: Box<dyn FrameSource>,
    /// From its vertices to the fine ones.
    pub refinement: Refinement,
}

impl FrameSource for RefinedFrames {
    fn times_secs(&self) -> &[f64] {
        self.coarse.times_secs()
    }

    fn frame(&self, frame_idx: usize) -> Vec<[f32; 3]> {
        self.refinement.apply(&self.coarse.frame(frame_idx))
    }

    fn head(&self) -> Option<&HeadMotion> {
        self.coarse.head()
    }
}

/// Frames per second of a source; rounded if it differs from a whole number only by rounding.
pub fn frame_rate(source: &dyn FrameSource) -> f64 {
    let fps = crate::clip::mean_fps(source.times_secs());
    if (fps - fps.round()).abs() < 1e-3 * fps { fps.round() } else { fps }
}

/// The pose at any time: interpolated linearly between frames, constant before the first and after the last.
pub fn positions_at(source: &dyn FrameSource, t_secs: f64) -> Vec<[f32; 3]> {
    let times = source.times_secs();
    let after = times.partition_point(|&t| t <= t_secs).min(times.len() - 1);
    let before = after.saturating_sub(1);
    let part = (t_secs - times[before]) / (times[after] - times[before]).max(1e-12);
    // Times in files are rounded, so a time close to a frame gives that frame.
    if part < 0.01 {
        return source.frame(before);
    }
    let next = source.frame(after);
    if part > 0.99 {
        return next;
    }
    let blend = |(a, b): ([f32; 3], [f32; 3])| std::array::from_fn(|k| a[k] + part as f32 * (b[k] - a[k]));
    source.frame(before).into_iter().zip(next).map(blend).collect()
}

/// A take: vertex positions over time, in the rig's unit and vertex order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Take {
    /// Time of each frame in seconds, ascending.
    pub times_secs: Vec<f64>,
    /// Rig vertices per frame.
    pub n_vertices: usize,
    /// All frames one after another, `n_vertices` each.
    pub positions: Vec<[f32; 3]>,
}

impl Take {
    /// Number of frames.
    pub fn n_frames(&self) -> usize {
        self.times_secs.len()
    }

    /// Positions of one frame.
    pub fn frame(&self, frame_idx: usize) -> &[[f32; 3]] {
        &self.positions[frame_idx * self.n_vertices..(frame_idx + 1) * self.n_vertices]
    }

    /// Frames per second, from the first and last time; 30 for a single frame.
    pub fn fps(&self) -> f64 {
        crate::clip::mean_fps(&self.times_secs)
    }
}

impl FrameSource for Take {
    fn times_secs(&self) -> &[f64] {
        &self.times_secs
    }

    fn frame(&self, frame_idx: usize) -> Vec<[f32; 3]> {
        self.frame(frame_idx).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_blend_between_frames_and_hold_outside() {
        let take =
            Take { times_secs: vec![1.0, 2.0], n_vertices: 1, positions: vec![[0.0; 3], [4.0, 0.0, 0.0]] };
        let x = |t: f64| positions_at(&take, t)[0][0];
        assert_eq!([x(0.0), x(1.0), x(1.5), x(2.0), x(9.0)], [0.0, 0.0, 2.0, 4.0, 4.0]);
        assert_eq!((x(1.001), x(1.999)), (0.0, 4.0), "times of files are rounded");
        assert_eq!(frame_rate(&take), 1.0);
    }
}
