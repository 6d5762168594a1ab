//! Faces from scans: a template is laid onto raw captures of a person, and its shapes are carried along
//! [Ichim16, sec. 3].

pub mod carry_shapes;
pub mod correspond;
pub mod deformation;
pub mod error;
pub mod find;

pub use carry_shapes::{Carried, CarryOptions, carry_shapes};
pub use deformation::{Correspondence, Deformation, DeformationOptions, Link, SourcePoint};
pub use error::FitError;
pub use find::{FindOptions, Found, find};
