//! Spatial queries: closest points, rays, inside-outside tests, and best-fit transforms between point sets.

pub mod bvh;
pub mod closest;
pub mod fit;
pub(crate) mod sides;
pub mod similarity;
pub mod winding;
