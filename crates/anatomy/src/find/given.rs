//! Landmarks that the user knows better than [`super::find`] does.

use glam::DVec3;

/// Landmarks by number, with their positions in meters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// Number of the landmark, position in meters.
    pub points: Vec<(usize, DVec3)>,
}
