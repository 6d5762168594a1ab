//! Blendshape rigs: their data types, and their evaluation at given weights.
//!
//! Reading order: [`model`] (data types), [`mod@assemble`] (from an importer's raw parts to a [`Rig`]),
//! [`classify`] (what names and geometry say of shapes, parts, unit and axes), [`coefficients`] and
//! [`evaluate`] (weights to vertices), [`clip`], [`span`], [`part_motion`] and [`frames`] (over time),
//! [`shading`] (normals), [`check`] (problems), [`refine`] (subdivided rigs).
//!
//! A rig keeps the numbers of the artist's file, in its unit and axes. [`risorius_base::Space`] converts to
//! meters, +Y up, +Z front. Physics converts displacements, never the artist's surface, so vertices that it
//! does not move stay identical to the bit.

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
pub mod part_motion;
pub mod refine;
pub mod shading;
pub mod span;
pub mod synthetic;

pub use assemble::{RawPart, RawRig, RawShape, assemble};
pub use clip::{Clip, HeadMotion};
pub use evaluate::Evaluator;
pub use frames::{BoundClip, FrameSource, Take};
pub use model::{
    CombinationRule, Deltas, Driver, FaceGroup, FileVertex, Image, Material, Part, Rig, Role, Shape, Slider,
};
pub use part_motion::{PartMotion, RigidTrack};
pub use refine::Refinement;
pub use shading::ShadingNormals;
pub use span::{Moment, Span};
