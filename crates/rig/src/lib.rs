//! Blendshape rigs: what they are, and what they look like at given weights.
//!
//! Reading order: [`model`] (the words), [`mod@assemble`] (from an importer's raw parts to a [`Rig`]),
//! [`classify`] (what names and geometry say of shapes, parts, unit and axes), [`coefficients`] and
//! [`evaluate`] (weights to vertices), [`clip`] and [`frames`] (over time), [`check`] (problems), [`refine`]
//! (subdivided rigs).
//!
//! A rig keeps the numbers of the artist's file: their unit, their axes. [`risorius_base::Space`] is the way
//! to meters, +Y up, +Z front. Physics converts displacements, never the artist's surface, which is how an
//! untouched result stays the artist's to the bit.

pub mod assemble;
pub mod check;
pub mod classify;
pub mod clip;
pub mod coefficients;
pub mod evaluate;
pub mod frames;
pub mod lookup;
pub mod meters;
pub mod model;
pub mod refine;
pub mod synthetic;

pub use assemble::{RawPart, RawRig, RawShape, assemble};
pub use clip::{Clip, HeadMotion};
pub use evaluate::Evaluator;
pub use frames::Take;
pub use model::{
    CombinationRule, Deltas, Driver, FaceGroup, Image, Material, Part, Rig, Role, Shape, Slider,
};
pub use refine::Refinement;
