//! What acts on a face besides the motion of its head: colliders, wind, forces, and regions that are stiffer
//! or heavier.

pub mod factors;
pub mod forces;
pub(crate) mod loads;
pub mod model;
