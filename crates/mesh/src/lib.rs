//! Meshes without meaning: the crate knows vertices, faces and distances, and nothing of faces that smile.
//!
//! [`surface`] has triangles and polygons, [`query`] asks where things are, [`tet`] fills volumes. Positions
//! of an artist's surface are `[f32; 3]` in whatever unit the caller uses; functions take slices, so that a
//! pose costs no copy. What is simulated ([`TriMesh`], [`TetMesh`]) is f64 in meters.

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
