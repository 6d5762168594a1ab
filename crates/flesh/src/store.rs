//! Where finished shapes of a build wait, so that an interrupted build goes on where it stopped.
//!
//! A key stands for everything that a shape depends on: the same key, the same shape. A store may forget what
//! it was given, and must never give anything else than what was saved under the key.

use crate::face::ShapeReport;
use crate::flesh::VolumeShape;

/// Keeps finished shapes by key.
pub trait ShapeStore: Sync {
    /// What was saved under `key`, if it is still there.
    fn load(&self, key: u128) -> Option<(VolumeShape, ShapeReport)>;

    /// Keeps a shape; a store that cannot does nothing, since the build needs it only to be faster next time.
    fn save(&self, key: u128, shape: &VolumeShape, report: &ShapeReport);
}

/// The store that keeps nothing.
impl ShapeStore for () {
    fn load(&self, _key: u128) -> Option<(VolumeShape, ShapeReport)> {
        None
    }

    fn save(&self, _key: u128, _shape: &VolumeShape, _report: &ShapeReport) {}
}
