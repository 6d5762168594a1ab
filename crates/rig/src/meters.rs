//! The neutral and the shapes of a rig in meters, +Y up, +Z front, +X the character's left.

use crate::Rig;
use glam::DVec3;

/// The neutral of `rig` in meters; not finite where the rig's is not.
pub fn neutral(rig: &Rig) -> Vec<DVec3> {
    rig.neutral.iter().map(|&p| rig.space.to_si(p)).collect()
}

/// The displacement of each vertex by shape number `shape`, in meters.
pub fn displacements(rig: &Rig, shape: usize) -> Vec<DVec3> {
    let mut moved = vec![DVec3::ZERO; rig.n_vertices()];
    let deltas = &rig.shapes[shape].deltas;
    for (&v, &offset) in deltas.vertices.iter().zip(&deltas.offsets) {
        let d = rig.space.to_si(offset);
        if let Some(slot) = moved.get_mut(v as usize).filter(|_| d.is_finite()) {
            *slot = d;
        }
    }
    moved
}
