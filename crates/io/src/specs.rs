//! Small JSON files that people write: sidecars of rigs, scenes, slider values.

pub mod landmarks;
pub mod scene;
pub mod sidecar;
pub mod weights;
