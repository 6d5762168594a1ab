//! Small JSON files that users write: landmarks, sidecars of rigs, scenes, slider values.

pub mod landmarks;
pub mod scans;
pub mod scene;
pub mod sidecar;
pub mod weights;
