//! Wavefront OBJ: meshes as text.
//!
//! Read: `v` (with an optional `w`, which is dropped, and optional colors), `vt`, `vn`, `f` in all four
//! corner forms with negative numbers, `o` as parts, `g` as vertex regions, `usemtl` as materials, `mtllib`,
//! lines continued after `\`. Polygons stay polygons, and vertices keep the numbers of their `v` lines, used
//! or not. Curves, lines, points and smoothing groups are skipped. Texture coordinate `v` increases upwards
//! in the file and downwards in a rig; colors are sRGB in the file and linear in a rig. A file whose objects
//! share vertices becomes a single part with the objects as regions.
//!
//! Written: one `o` per part with quads, texture coordinates, normals, colors, regions as `g` and materials
//! as `usemtl`. Numbers have the fewest digits that restore the same bits.

mod mtl;
mod parse;
mod parts;
mod write;

pub use mtl::apply_mtl;
pub use write::write;

use crate::IoError;
use risorius_base::Progress;
use risorius_rig::{Material, RawPart};

const FORMAT: &str = "OBJ";

/// The content of an OBJ file.
#[derive(Debug, Clone, Default)]
pub struct ObjContent {
    /// Objects in file order.
    pub parts: Vec<RawPart>,
    /// The names of `usemtl` in order of first use, gray until [`apply_mtl`] colors them.
    pub materials: Vec<Material>,
    /// File names of `mtllib` lines.
    pub material_libs: Vec<String>,
    /// What was changed or left out, as sentences.
    pub notes: Vec<String>,
}

/// Reads an OBJ file. `name` is that of the part when the file names none.
pub fn read(bytes: &[u8], name: &str, progress: &Progress) -> Result<ObjContent, IoError> {
    let file = parse::parse(bytes, name, progress)?;
    parse::check(&file)?;
    Ok(parts::build(file))
}

/// Reads only the vertex positions, in the order of their `v` lines; enough for a shape of a known mesh.
pub(crate) fn read_positions(bytes: &[u8]) -> Result<Vec<[f32; 3]>, IoError> {
    parse::positions(bytes)
}
