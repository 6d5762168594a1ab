//! Surfaces: polygons and triangles, their connectivity, normals, connected components and defects;
//! subdivision; shortest paths.

pub mod components;
pub mod defects;
pub mod intersect;
pub mod normals;
pub mod polygons;
mod quadratic;
pub mod subdivide;
pub mod topology;
pub mod tri_mesh;
pub mod union_find;
pub mod walk;
