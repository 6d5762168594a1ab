//! Blendshape rigs: what they are, what they look like at given weights, and what their sliders do to one another.
//!
//! Reading order: [`model`] (the words), [`mod@assemble`] (from an importer's raw parts to a [`Rig`]), [`roles`] and
//! [`names`] (what shape names say), [`coefficients`] and [`evaluate`] (weights to vertices), [`clip`] and [`take`]
//! (over time); [`space`] and [`check`] (unit, axes, problems); [`face`], [`kinds`] and [`pieces`] (skin, eyes, teeth).
//! Attenuation: [`pins`], [`gram`], [`selection`] and [`constrained`] (the solvers), [`attenuate`] and
//! [`attenuate_clip`] (what callers use), [`interference`].
//!
//! A rig keeps the numbers of the artist's file: their unit, their axes. [`Space`] says how to get to meters, +Y up,
//! +Z front. Physics converts displacements, never the artist's surface, which is how an untouched result stays the
//! artist's to the bit.

pub mod assemble;
pub mod attenuate;
pub mod attenuate_clip;
pub mod check;
pub mod clip;
pub mod coefficients;
pub mod constrained;
pub mod evaluate;
pub mod face;
pub mod gram;
pub mod interference;
pub mod kinds;
pub mod model;
pub mod names;
pub mod pieces;
pub mod pins;
pub mod refine;
pub mod roles;
pub mod selection;
pub mod space;
pub mod synthetic;
pub mod take;

pub use assemble::{RawPart, RawRig, RawShape, assemble};
pub use clip::{Clip, HeadMotion};
pub use evaluate::Evaluator;
pub use model::{Axis, Deltas, Driver, FaceGroup, Image, Material, Part, Rig, Role, Rule, Shape, Slider, Space};
pub use refine::Refinement;
pub use take::Take;
