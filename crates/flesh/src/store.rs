//! Storage of finished shapes, so that an interrupted build can resume.
//!
//! A key hashes everything that a shape depends on: equal keys mean equal shapes. A store may drop entries,
//! but must never return anything other than what was saved under the key.

use crate::face::ShapeReport;
use crate::flesh::VolumeShape;

/// Stores finished shapes by key.
pub trait ShapeStore: Sync {
    /// The entry saved under `key`, if it still exists.
    fn load(&self, key: u128) -> Option<(VolumeShape, ShapeReport)>;

    /// Saves a shape. A store that cannot save does nothing: the build uses it only to avoid repeated work.
    fn save(&self, key: u128, shape: &VolumeShape, report: &ShapeReport);
}

/// The store that saves nothing.
impl ShapeStore for () {
    fn load(&self, _key: u128) -> Option<(VolumeShape, ShapeReport)> {
        None
    }

    fn save(&self, _key: u128, _shape: &VolumeShape, _report: &ShapeReport) {}
}
