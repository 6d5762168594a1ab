//! From a rig's own unit and axes to meters, +Y up, +Z front, +X the character's left, and back.

use glam::{DMat3, DVec3};
use risorius_rig::{Rig, Space};

/// The way from file coordinates to meters; a rotation and a scale, the origin stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Meters {
    axes: DMat3,
    per_unit: f64,
}

impl Meters {
    /// For the numbers of a rig in `space`.
    pub fn of(space: &Space) -> Self {
        Self { axes: space.si_axes_from_file(), per_unit: space.meters_per_unit }
    }

    /// A point or displacement of the file, in meters.
    pub fn from_file(&self, p: [f32; 3]) -> DVec3 {
        self.axes * DVec3::from(p.map(f64::from)) * self.per_unit
    }

    /// A point or displacement in meters, in the file's unit and axes.
    pub fn to_file(&self, p: DVec3) -> DVec3 {
        self.axes.transpose() * p / self.per_unit
    }
}

/// The neutral of `rig` in meters; not finite where the rig's is not.
pub fn neutral(rig: &Rig) -> Vec<DVec3> {
    let meters = Meters::of(&rig.space);
    rig.neutral.iter().map(|&p| meters.from_file(p)).collect()
}

/// What shape number `shape` does to each vertex, in meters.
pub fn displacements(rig: &Rig, shape: usize) -> Vec<DVec3> {
    let meters = Meters::of(&rig.space);
    let mut moved = vec![DVec3::ZERO; rig.n_vertices()];
    let deltas = &rig.shapes[shape].deltas;
    for (&v, &offset) in deltas.vertices.iter().zip(&deltas.offsets) {
        let d = meters.from_file(offset);
        if let Some(slot) = moved.get_mut(v as usize).filter(|_| d.is_finite()) {
            *slot = d;
        }
    }
    moved
}
