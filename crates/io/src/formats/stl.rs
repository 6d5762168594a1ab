//! STL: triangles as corner positions, as text or binary. Corners at exactly the same position become one
//! vertex.
//!
//! A file is binary if its length matches the triangle count at byte 80, even if it starts with `solid`, as
//! many binary files do; otherwise it is text if it starts with `solid`. Normals and attribute bytes are not
//! read. Triangles that become degenerate by merging corners are left out and counted.

use crate::IoError;
use crate::error::{MAX_VERTICES, check_count};
use crate::formats::surface::SurfaceFile;
use crate::formats::text::{excerpt, lines, number, tokens, without_bom};
use risorius_mesh::Polygons;
use risorius_rig::RawPart;
use std::collections::HashMap;

const FORMAT: &str = "STL";
const HEADER: usize = 84;
const TRIANGLE: usize = 50;

/// Reads an STL file; `name` becomes that of the part.
pub fn read(bytes: &[u8], name: &str) -> Result<SurfaceFile, IoError> {
    let corners = if is_binary(bytes)? { binary_corners(bytes)? } else { text_corners(bytes)? };
    if corners.is_empty() {
        return Err(IoError::malformed(FORMAT, "whole file", "there are no triangles"));
    }
    Ok(join(&corners, name))
}

/// The triangle count of a binary file, if there are enough bytes to hold it.
fn stated_count(bytes: &[u8]) -> Option<u64> {
    let count = bytes.get(80..HEADER)?.try_into().ok()?;
    Some(u64::from(u32::from_le_bytes(count)))
}

fn is_binary(bytes: &[u8]) -> Result<bool, IoError> {
    let needed = stated_count(bytes).map(|count| HEADER as u64 + count * TRIANGLE as u64);
    if needed == Some(bytes.len() as u64) {
        return Ok(true);
    }
    if without_bom(bytes)
        .trim_ascii_start()
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"solid"))
    {
        return Ok(false);
    }
    match needed {
        Some(needed) if needed < bytes.len() as u64 => Ok(true),
        Some(needed) => {
            let problem = format!(
                "its triangle count requires {needed} bytes, the file has {}; it is cut off",
                bytes.len()
            );
            Err(IoError::malformed(FORMAT, "byte 80", problem))
        }
        None => {
            Err(IoError::malformed(FORMAT, "byte 0", "neither a text STL ('solid ...') nor a binary one"))
        }
    }
}

fn binary_corners(bytes: &[u8]) -> Result<Vec<[f32; 3]>, IoError> {
    let count = stated_count(bytes).unwrap_or(0);
    check_count(FORMAT, "the number of triangles", count, MAX_VERTICES)?;
    let mut corners = Vec::with_capacity(3 * count as usize);
    for triangle in bytes[HEADER..].chunks_exact(TRIANGLE).take(count as usize) {
        let values: Vec<f32> =
            triangle[12..48].as_chunks::<4>().0.iter().map(|&value| f32::from_le_bytes(value)).collect();
        corners.extend_from_slice(values.as_chunks::<3>().0);
    }
    Ok(corners)
}

fn text_corners(bytes: &[u8]) -> Result<Vec<[f32; 3]>, IoError> {
    let mut corners: Vec<[f32; 3]> = Vec::new();
    for (line, content) in lines(bytes) {
        let malformed = |problem: String| IoError::malformed(FORMAT, format!("line {line}"), problem);
        let mut words = tokens(content);
        match words.next() {
            Some(b"vertex") => {
                let mut position = [0.0f32; 3];
                for x in &mut position {
                    let word = words.next().unwrap_or_default();
                    *x = number(word)
                        .ok_or_else(|| malformed(format!("'{}' is not a coordinate", excerpt(word))))?;
                }
                corners.push(position);
            }
            Some(b"endfacet") if !corners.len().is_multiple_of(3) => {
                return Err(malformed(
                    "a facet has other than three vertices; only triangles are read".into(),
                ));
            }
            _ => {}
        }
    }
    if !corners.len().is_multiple_of(3) {
        return Err(IoError::malformed(
            FORMAT,
            "end of file",
            "the last facet is incomplete; the file is cut off",
        ));
    }
    Ok(corners)
}

fn join(corners: &[[f32; 3]], name: &str) -> SurfaceFile {
    let mut number_of: HashMap<[u32; 3], u32> = HashMap::new();
    let mut positions: Vec<[f32; 3]> = Vec::new();
    let vertices: Vec<u32> = corners
        .iter()
        .map(|&corner| {
            // -0 equals +0.
            let key = corner.map(|x| (x + 0.0).to_bits());
            *number_of.entry(key).or_insert_with(|| {
                positions.push(corner);
                positions.len() as u32 - 1
            })
        })
        .collect();
    let (all, _) = vertices.as_chunks::<3>();
    let kept: Vec<[u32; 3]> = all.iter().copied().filter(|[a, b, c]| a != b && b != c && c != a).collect();
    let n_left_out = all.len() - kept.len();
    let notes = match n_left_out {
        0 => Vec::new(),
        n => vec![format!("{n} triangles with two corners at the same position are left out")],
    };
    let part = RawPart {
        name: name.into(),
        positions,
        faces: Polygons::from_triangles(&kept),
        ..RawPart::default()
    };
    SurfaceFile { part, notes }
}
