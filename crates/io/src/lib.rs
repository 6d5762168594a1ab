//! Everything that parses or writes files; no other crate touches a format.
//!
//! Readers take bytes, not paths, so that they can be tested against hostile input without a disk; they never trust a
//! count that the file states beyond what its bytes can back, and they say where a file is wrong. Writers give bytes or
//! stream into a [`output::WholeFile`], which appears under its name only when it is complete.

pub mod bvh;
pub mod clip_csv;
pub mod clip_json;
mod color;
pub mod container;
pub mod detail_file;
pub mod error;
pub mod face;
pub mod fbx;
pub mod gltf;
pub mod head_csv;
pub mod markers_csv;
pub mod mask;
pub mod mdd;
pub mod npz;
pub mod obj;
pub mod obj_folder;
pub mod open;
pub mod output;
pub mod pc2;
pub mod picture;
pub mod ply;
pub mod scene_json;
pub mod sidecar;
pub mod stl;
pub mod surface;
pub mod take_folder;
pub mod take_in;
pub mod take_out;
pub mod text;
pub mod weights_json;

pub use error::IoError;
