//! Faces from scans: a template is laid onto raw captures of a person, and its shapes are carried along
//! [Ichim16, sec. 3].

pub mod actor;
pub mod blendshapes;
pub mod carry_shapes;
pub mod clean;
pub mod correspond;
pub mod deform;
pub mod deformation;
pub mod error;
pub mod expressions;
pub mod find;
mod lids;
pub mod measure;
pub mod neutral;
pub mod person;
pub mod point_cloud;
pub mod prior;
pub mod register;
pub mod slits;
pub mod solids;
pub mod subspace;
pub mod synthetic;
mod taken;
pub mod target;
pub mod template;
pub mod visible;

pub use carry_shapes::{Carried, CarryOptions, carry_shapes};
pub use deformation::{Correspondence, Deformation, DeformationOptions, Link, SourcePoint};
pub use error::FitError;
pub use find::{FindOptions, Found, find};
