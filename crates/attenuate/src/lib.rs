//! Selected motion attenuation [Lewis05, section 4]: keeps pinned points in place while sliders move, and
//! measures which sliders disturb which.
//!
//! Reading order: [`pins`] (what is held), [`gram`] (inner products, once per rig), [`selection`] (one set of
//! pins on a linear rig) and [`constrained`] (limits, in-betweens, combinations); [`pose`] and [`clip`] are
//! the interface for callers; [`interference`] measures the rig.

pub mod clip;
pub mod constrained;
pub mod gram;
pub mod interference;
pub mod pins;
pub mod pose;
pub mod selection;

pub use clip::{ClipOptions, attenuate_clip};
pub use gram::RigGram;
pub use interference::Interference;
pub use pins::{PinSet, PinSpec};
pub use pose::{AttenuateOptions, Attenuated, PoseAttenuation};
pub use selection::Selection;
