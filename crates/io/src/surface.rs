//! A surface without shapes: what PLY and STL files hold.

use crate::IoError;
use risorius_mesh::Polygons;
use risorius_rig::RawPart;

/// One part and what was noticed while reading it.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// The surface; it has no shapes.
    pub part: RawPart,
    /// What was changed or left out, as sentences.
    pub notes: Vec<String>,
}

/// Refuses coordinates that are not finite, naming the first and counting all.
pub(crate) fn check_finite(format: &'static str, positions: &[[f32; 3]]) -> Result<(), IoError> {
    let is_bad = |p: &[f32; 3]| !p.iter().all(|x| x.is_finite());
    let Some(first) = positions.iter().position(is_bad) else { return Ok(()) };
    let [x, y, z] = positions[first];
    let count = positions.iter().filter(|p| is_bad(p)).count();
    let problem = format!("it is at {x} {y} {z} ({count} such vertices); give finite coordinates");
    Err(IoError::malformed(format, format!("vertex {first}"), problem))
}

/// Appends `face` unless it has fewer than three corners, which is counted.
pub(crate) fn push_face(faces: &mut Polygons, face: &[u32], n_small: &mut usize) {
    if face.len() < 3 {
        *n_small += 1;
    } else {
        faces.push(face);
    }
}
