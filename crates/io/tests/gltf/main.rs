//! Reading and writing glTF: handwritten files, real rigs, and the Khronos validator on all written files.

mod damaged;
mod packed;
mod read;
mod synthetic;
mod take_in;
mod validator;
mod write;

use risorius_base::progress::no_progress;
use risorius_io::IoError;
use risorius_io::formats::gltf::{self, GltfContent};

/// No files beside the one that is read.
fn alone(path: &str) -> Result<Vec<u8>, IoError> {
    Err(IoError::malformed("test", path, "there are no other files"))
}

fn read_alone(bytes: &[u8]) -> Result<GltfContent, IoError> {
    gltf::read(bytes, &alone, &no_progress)
}

/// A file of the real data, or `None` (reported on standard error) without the data.
fn data(path: &str) -> Option<Vec<u8>> {
    let path = risorius_test_data::file(path)?;
    Some(std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}
