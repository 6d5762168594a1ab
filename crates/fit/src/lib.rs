//! Faces from scans: a template is laid onto raw captures of a person, and its shapes are carried along
//! [Ichim16, sec. 3].

pub mod actor;
pub mod blendshapes;
pub mod clean;
pub mod deform;
pub mod error;
pub mod expressions;
pub mod measure;
pub mod neutral;
pub mod person;
pub mod prior;
pub mod register;
pub mod subspace;
pub mod target;
pub mod template;

pub use error::FitError;
