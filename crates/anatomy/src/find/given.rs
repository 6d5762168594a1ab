//! Landmarks given by the user, which replace detected ones.

use glam::DVec3;

/// Landmarks by index, with their positions in meters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// Index of the landmark, position in meters.
    pub points: Vec<(usize, DVec3)>,
}
