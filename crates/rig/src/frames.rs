//! A take: solved skin, frame by frame.

/// Vertex positions over time, in the rig's unit and vertex order.
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
