//! What acts on a face besides its head: obstacles, wind, forces, regions that are stiffer or heavier.

pub(crate) mod along_skin;
pub mod factors;
pub mod forces;
pub mod model;
