//! Questions about where things are: closest points, rays, inside or outside, the best fit between two sets
//! of points.

pub mod bvh;
pub mod closest;
pub mod fit;
pub mod similarity;
pub mod winding;
