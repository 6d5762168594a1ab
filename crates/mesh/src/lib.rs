//! Meshes without meaning: the crate knows vertices, faces and distances, and nothing of faces that smile.
//!
//! Positions of an artist's surface are `[f32; 3]` in whatever unit the caller uses; functions take slices, so that a
//! pose costs no copy. What is simulated ([`Surface`], [`TetMesh`]) is f64 in meters.

pub mod array;
pub mod bvh;
pub mod clean;
pub mod collapse;
pub mod components;
mod crossings;
mod cut;
pub mod defects;
pub mod domain;
pub mod embed;
pub mod fingerprint;
pub mod improve;
pub mod intersect;
pub mod lattice;
pub mod normals;
pub mod octree;
pub mod polygons;
pub mod progress;
pub mod quality;
pub mod query;
pub mod rigid;
pub mod similarity;
pub mod solid;
pub mod stuffing;
pub mod subdivide;
pub mod surface;
pub mod swap;
pub mod tet_check;
pub mod tets;
pub mod topology;
pub mod walk;
pub mod winding;

pub use array::Array;
pub use bvh::Bvh;
pub use domain::{Domain, Hits};
pub use embed::{EmbedOptions, Embedding, TetTree};
pub use fingerprint::Fingerprint;
pub use improve::ImproveOptions;
pub use intersect::{IntersectOptions, SelfIntersections, self_intersections};
pub use normals::VertexNormals;
pub use polygons::Polygons;
pub use progress::{Cancelled, Flow, Progress};
pub use quality::Quality;
pub use rigid::Rigid;
pub use similarity::Similarity;
pub use solid::Solid;
pub use stuffing::{Meshed, TetError, TetOptions, tetrahedralize};
pub use subdivide::Subdivision;
pub use surface::Surface;
pub use tet_check::{TetProblem, check};
pub use tets::TetMesh;
pub use topology::Edges;
pub use walk::{EdgeGraph, Nearest, within};
pub use winding::WindingNumbers;
