//! Flesh for any face: the volume between skin and bones, how it follows every shape, and what it is made of.

pub mod blendvolumes;
pub mod build;
pub mod domain;
pub mod face;
pub mod flesh;
pub mod follow;
pub mod materials;
pub mod neutral;
pub mod rest;
pub mod skin;
pub mod slits;
pub mod store;
pub mod thin;
pub mod volume;

pub use build::{BuildError, BuildOptions, SkinPainting, Surroundings, build};
pub use domain::Bound;
pub use face::{BuildReport, Face};
pub use flesh::{Flesh, MaterialShape, Materials, SkinEmbedding, VolumeShape};
pub use skin::Skin;
pub use slits::Slits;
pub use store::ShapeStore;
