//! Flesh for any face: the tet volume between skin and bones, its rest state in every shape, its materials.
//!
//! [`mod@build`] runs all stages: [`slits`] finds the pose that parts lips and lids, [`volume`] meshes the
//! [`domain`] in it, [`neutral`] moves the volume to the neutral, [`blendvolumes`] to every shape,
//! [`correctives`] corrects pairs of shapes, and [`tissue`] and [`materials`] assign stiffness, mass and
//! damping. [`rest`] blends the results for any weights. [`coarse`] makes a face for previews. Everything is
//! in SI units, +Y up, +Z front.

pub mod along_skin;
pub mod blendvolumes;
pub mod build;
pub mod coarse;
pub mod correctives;
pub mod domain;
mod embed;
pub mod face;
pub mod flesh;
pub mod follow;
pub mod fused;
pub mod gradients;
pub mod materials;
pub mod neutral;
pub mod region_shares;
pub mod rest;
pub mod skin;
pub mod slits;
pub mod store;
pub mod thin;
pub mod tissue;
pub mod volume;

pub use build::{BuildError, BuildOptions, SkinPainting, Surroundings, build};
pub use coarse::coarsen;
pub use domain::Bound;
pub use face::{BuildReport, Face};
pub use flesh::{Corrective, Flesh, MaterialShape, Materials, Response, SkinEmbedding, VolumeShape};
pub use materials::Property;
pub use skin::Skin;
pub use slits::Slits;
pub use store::ShapeStore;
