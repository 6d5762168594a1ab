//! A surface without shapes: the content of PLY and STL files.

use risorius_mesh::Polygons;
use risorius_rig::RawPart;

/// One part, and notes from reading it.
#[derive(Debug, Clone, Default)]
pub struct SurfaceFile {
    /// The surface; it has no shapes.
    pub part: RawPart,
    /// What was changed or left out, as sentences.
    pub notes: Vec<String>,
}

/// Appends `face` unless it has fewer than three corners, which is counted.
pub(crate) fn push_face(faces: &mut Polygons, face: &[u32], n_small: &mut usize) {
    if face.len() < 3 {
        *n_small += 1;
    } else {
        faces.push(face);
    }
}
