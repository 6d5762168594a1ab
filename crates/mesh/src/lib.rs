//! General-purpose geometry processing of triangle, polygon and tetrahedral meshes.
//!
//! [`surface`] holds triangles and polygons, [`query`] answers spatial queries, [`tet`] meshes volumes.
//! Positions of an artist's surface are `[f32; 3]` in the caller's unit; functions take slices, so that a
//! pose needs no copy. Simulated meshes ([`TriMesh`], [`TetMesh`]) are f64 in meters.

pub mod query;
pub mod surface;
pub mod tet;

pub use query::bvh::Bvh;
pub use query::similarity::Similarity;
pub use query::winding::WindingNumbers;
pub use surface::intersect::{IntersectOptions, SelfIntersections, self_intersections};
pub use surface::normals::VertexNormals;
pub use surface::polygons::Polygons;
pub use surface::subdivide::Subdivision;
pub use surface::topology::Edges;
pub use surface::tri_mesh::{FileMesh, TriMesh};
pub use surface::walk::{EdgeGraph, Nearest, within};
pub use tet::check::{TetProblem, check};
pub use tet::domain::{Domain, Hits};
pub use tet::embed::{EmbedOptions, Embedding, TetTree};
pub use tet::improve::ImproveOptions;
pub use tet::quality::Quality;
pub use tet::solid::SolidDomain;
pub use tet::stuffing::{Meshed, TetError, TetOptions, tetrahedralize};
pub use tet::tet_mesh::TetMesh;
