//! Basic types of all other crates: progress callbacks that can cancel, fingerprints, lists in mapped files,
//! rigid motions, and [`Space`], the only conversion between an artist's file and SI units.
//!
//! Nothing here depends on meshes or faces. A file keeps its own unit and axes; everything that is simulated
//! is in meters, kilograms and seconds, right-handed, +Y up, +Z the way the face looks, +X the character's
//! left.

pub mod advice;
pub mod array;
pub mod ease;
pub mod fingerprint;
pub mod progress;
pub mod rigid;
pub mod space;

pub use advice::Advise;
pub use array::Array;
pub use fingerprint::Fingerprint;
pub use progress::{Cancelled, Flow, Progress};
pub use rigid::Rigid;
pub use space::{Axis, Space};
