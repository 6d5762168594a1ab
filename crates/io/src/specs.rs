//! Small JSON files that users write: landmarks, sidecars of rigs, scenes, slider values; and formulas of
//! rigs, for other programs.

pub mod formulas;
pub mod landmarks;
pub mod scans;
pub mod scene;
pub mod sidecar;
pub mod weights;
