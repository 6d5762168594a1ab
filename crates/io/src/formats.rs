//! Formats of other programs: rigs, clips, head motion, markers, takes, pictures.

pub mod bvh;
pub mod clip_csv;
pub mod clip_json;
mod color;
#[cfg(feature = "fbx")]
pub mod fbx;
pub mod gltf;
pub mod head_csv;
pub mod markers_csv;
pub mod mask;
pub mod mdd;
pub mod npz;
pub mod obj;
pub mod obj_folder;
pub mod pc2;
pub mod picture;
pub mod ply;
pub mod stl;
pub mod surface;
pub mod text;
