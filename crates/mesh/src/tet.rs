//! Tetrahedral meshes: generation by isosurface stuffing, improvement, validation, and embedding of points.
//!
//! `stuffing` runs `octree` -> `lattice` -> `crossings` -> `cut` -> `clean` -> `collapse` -> `swap` ->
//! `improve`.

pub mod check;
pub mod clean;
pub mod collapse;
mod crossings;
mod cut;
pub mod domain;
pub mod embed;
pub mod improve;
pub mod lattice;
pub mod octree;
pub mod quality;
pub mod solid;
pub mod stuffing;
pub mod swap;
pub mod tet_mesh;
