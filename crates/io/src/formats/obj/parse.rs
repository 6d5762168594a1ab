//! Parses the lines of an OBJ file into flat lists, before they become parts.

use super::FORMAT;
use crate::IoError;
use crate::error::{MAX_VERTICES, check_count};
use crate::formats::color::linear_from_srgb;
use crate::formats::text::{excerpt, joined_lines, number, text, tokens};
use risorius_base::Progress;
use risorius_base::progress::tick;
use std::collections::HashMap;

/// "No number given", for texture coordinates, normals, materials and groups.
pub(super) const NONE: u32 = u32::MAX;

/// The color of a vertex whose line has none, marked by an invalid opacity.
pub(super) const NO_COLOR: [f32; 4] = [1.0, 1.0, 1.0, -1.0];

/// More names than this on one `g` line mean a damaged file.
const MAX_NAMES: usize = 64;

/// Numbers of position, texture coordinate and normal of a face corner, 0-based.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub v: u32,
    pub vt: u32,
    pub vn: u32,
}

/// One `f` line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Face {
    pub first_corner: u32,
    pub line: u32,
    pub object: u32,
    pub groups: u32,
    pub material: u32,
}

/// One `o` line; its vertices end where those of the next begin.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub name: String,
    pub first_vertex: usize,
}

/// The whole file.
#[derive(Debug, Default)]
pub(super) struct ObjFile {
    pub positions: Vec<[f32; 3]>,
    /// As long as `positions` or empty; linear, [`NO_COLOR`] where a line has none.
    pub colors: Vec<[f32; 4]>,
    pub uvs: Vec<[f32; 2]>,
    pub normals: Vec<[f32; 3]>,
    pub corners: Vec<Corner>,
    pub faces: Vec<Face>,
    pub objects: Vec<Object>,
    /// The names of each `g` line.
    pub group_sets: Vec<Vec<String>>,
    pub materials: Vec<String>,
    pub material_libs: Vec<String>,
    pub notes: Vec<String>,
    group_set_of: HashMap<Vec<String>, u32>,
    material_of: HashMap<String, u32>,
    n_small_faces: usize,
    n_bad_uvs: usize,
    n_bad_normals: usize,
}

fn malformed(line: usize, problem: impl Into<String>) -> IoError {
    IoError::malformed(FORMAT, format!("line {line}"), problem)
}

/// Reads all lines. Corner numbers are checked only by [`check`], since faces may come before their vertices.
pub(super) fn parse(bytes: &[u8], name: &str, progress: &Progress) -> Result<ObjFile, IoError> {
    let mut file =
        ObjFile { objects: vec![Object { name: name.into(), first_vertex: 0 }], ..ObjFile::default() };
    let (mut groups, mut material) = (NONE, NONE);
    let mut n_bytes = 0;
    for (row, (line, content)) in joined_lines(bytes).enumerate() {
        n_bytes += content.len() + 1;
        if row % 0x1_0000 == 0 {
            tick(progress, "reading OBJ", n_bytes as f32 / bytes.len() as f32)?;
        }
        let mut words = tokens(&content);
        let Some(keyword) = words.next() else { continue };
        match keyword {
            b"v" => file.vertex(line, words)?,
            b"vt" => file.texture_coordinate(line, words)?,
            b"vn" => file.normal(line, words)?,
            b"f" => file.face(line, words, groups, material)?,
            b"o" => file.object(rest_of(&content, 1)),
            b"g" => groups = file.group_set(words),
            b"usemtl" => material = file.material(rest_of(&content, 6)),
            b"mtllib" => file.material_libs.push(rest_of(&content, 6)),
            _ => {}
        }
    }
    file.note_counts();
    Ok(file)
}

/// Only the `v` lines.
pub(super) fn positions(bytes: &[u8]) -> Result<Vec<[f32; 3]>, IoError> {
    let mut file = ObjFile::default();
    for (line, content) in joined_lines(bytes) {
        let mut words = tokens(&content);
        if words.next() == Some(b"v") {
            file.vertex(line, words)?;
        }
    }
    Ok(file.positions)
}

/// Rejects files without vertices, and corners that refer to something that does not exist.
pub(super) fn check(file: &ObjFile) -> Result<(), IoError> {
    if file.positions.is_empty() {
        return Err(IoError::malformed(
            FORMAT,
            "whole file",
            "there are no vertices (`v` lines); is this an OBJ file?",
        ));
    }
    check_count(FORMAT, "the number of vertices", file.positions.len() as u64, MAX_VERTICES)?;
    check_count(FORMAT, "the number of face corners", file.corners.len() as u64, 4 * MAX_VERTICES)?;
    for (i, face) in file.faces.iter().enumerate() {
        for corner in &file.corners[file.corner_range(i)] {
            let wrong = [
                (corner.v, file.positions.len(), "vertex", false),
                (corner.vt, file.uvs.len(), "texture coordinate", true),
                (corner.vn, file.normals.len(), "normal", true),
            ];
            for (index, count, what, optional) in wrong {
                if index as usize >= count && !(optional && index == NONE) {
                    let number = u64::from(index) + 1;
                    let problem =
                        format!("{what} {number} does not exist; the file has {count}; correct the face");
                    return Err(malformed(face.line as usize, problem));
                }
            }
        }
    }
    Ok(())
}

/// What follows a keyword of `skip` bytes, as a name.
fn rest_of(line: &[u8], skip: usize) -> String {
    text(line.get(skip..).unwrap_or_default().trim_ascii()).into_owned()
}

/// Up to `N` numbers of a line; how many there were.
fn numbers<'a, const N: usize>(
    line: usize,
    keyword: &str,
    words: impl Iterator<Item = &'a [u8]>,
) -> Result<([f32; N], usize), IoError> {
    let mut values = [0.0f32; N];
    let mut count = 0;
    for (value, word) in values.iter_mut().zip(words) {
        *value = number(word).ok_or_else(|| {
            malformed(line, format!("'{}' of a `{keyword}` line is not a number", excerpt(word)))
        })?;
        count += 1;
    }
    Ok((values, count))
}

impl ObjFile {
    /// The range of a face's corners.
    pub fn corner_range(&self, face: usize) -> std::ops::Range<usize> {
        let end = self.faces.get(face + 1).map_or(self.corners.len(), |f| f.first_corner as usize);
        self.faces[face].first_corner as usize..end
    }

    fn vertex<'a>(&mut self, line: usize, words: impl Iterator<Item = &'a [u8]>) -> Result<(), IoError> {
        let ([x, y, z, a, b, c, d], count) = numbers::<7>(line, "v", words)?;
        if count < 3 {
            return Err(malformed(line, format!("a `v` line needs x y z, this one has {count} numbers")));
        }
        let color = match count {
            6 => Some([a, b, c]),
            7 => Some([b, c, d]),
            _ => None,
        };
        if color.is_some() && self.colors.is_empty() {
            self.colors = vec![NO_COLOR; self.positions.len()];
        }
        self.positions.push([x, y, z]);
        if let Some(color) = color {
            let linear = |stored: f32| linear_from_srgb(f64::from(stored)) as f32;
            let [r, g, b] = color.map(|c| if c.is_finite() { linear(c) } else { 1.0 });
            self.colors.push([r, g, b, 1.0]);
        } else if !self.colors.is_empty() {
            self.colors.push(NO_COLOR);
        }
        Ok(())
    }

    fn texture_coordinate<'a>(
        &mut self,
        line: usize,
        words: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), IoError> {
        let mut values = [0.0f64; 2];
        for (value, word) in values.iter_mut().zip(words) {
            *value = number(word).ok_or_else(|| {
                malformed(line, format!("'{}' of a `vt` line is not a number", excerpt(word)))
            })?;
        }
        // In f64, so that the flip of an f32 is exact and the writer can undo it.
        let uv = [values[0] as f32, (1.0 - values[1]) as f32];
        let finite = uv.iter().all(|x| x.is_finite());
        self.n_bad_uvs += usize::from(!finite);
        self.uvs.push(if finite { uv } else { [0.0; 2] });
        Ok(())
    }

    fn normal<'a>(&mut self, line: usize, words: impl Iterator<Item = &'a [u8]>) -> Result<(), IoError> {
        let (normal, count) = numbers::<3>(line, "vn", words)?;
        let good = count == 3 && normal.iter().all(|x| x.is_finite());
        self.n_bad_normals += usize::from(!good);
        self.normals.push(if good { normal } else { [0.0; 3] });
        Ok(())
    }

    fn face<'a>(
        &mut self,
        line: usize,
        words: impl Iterator<Item = &'a [u8]>,
        groups: u32,
        material: u32,
    ) -> Result<(), IoError> {
        let first = self.corners.len();
        for word in words {
            let corner = self.corner(line, word)?;
            self.corners.push(corner);
        }
        if self.corners.len() - first < 3 {
            self.corners.truncate(first);
            self.n_small_faces += 1;
            return Ok(());
        }
        let object = (self.objects.len() - 1) as u32;
        self.faces.push(Face { first_corner: first as u32, line: line as u32, object, groups, material });
        Ok(())
    }

    fn corner(&self, line: usize, word: &[u8]) -> Result<Corner, IoError> {
        let mut pieces = word.split(|&b| b == b'/');
        let bad = || {
            malformed(
                line,
                format!("'{}' is not a face corner (`v`, `v/vt`, `v//vn`, `v/vt/vn`)", excerpt(word)),
            )
        };
        let mut index = |count: usize, required: bool| match pieces.next() {
            None | Some(b"") if !required => Ok(NONE),
            None => Err(bad()),
            Some(piece) => {
                let i: i64 = number(piece).ok_or_else(bad)?;
                let zero_based = if i < 0 { i + count as i64 } else { i - 1 };
                u32::try_from(zero_based).ok().filter(|&i| i != NONE).ok_or_else(|| {
                    let problem =
                        format!("number {i} in '{}' refers to nothing; numbers start at 1", excerpt(word));
                    malformed(line, problem)
                })
            }
        };
        let v = index(self.positions.len(), true)?;
        let vt = index(self.uvs.len(), false)?;
        let vn = index(self.normals.len(), false)?;
        Ok(Corner { v, vt, vn })
    }

    fn object(&mut self, name: String) {
        self.objects.push(Object { name, first_vertex: self.positions.len() });
    }

    fn group_set<'a>(&mut self, words: impl Iterator<Item = &'a [u8]>) -> u32 {
        let mut names: Vec<String> = words.take(MAX_NAMES).map(|w| text(w).into_owned()).collect();
        if names.is_empty() {
            return NONE;
        }
        names.sort_unstable();
        names.dedup();
        *self.group_set_of.entry(names).or_insert_with_key(|names| {
            self.group_sets.push(names.clone());
            self.group_sets.len() as u32 - 1
        })
    }

    fn material(&mut self, name: String) -> u32 {
        if name.is_empty() {
            return NONE;
        }
        *self.material_of.entry(name).or_insert_with_key(|name| {
            self.materials.push(name.clone());
            self.materials.len() as u32 - 1
        })
    }

    fn note_counts(&mut self) {
        let counts = [
            (self.n_small_faces, "faces have fewer than three corners and are left out"),
            (self.n_bad_uvs, "texture coordinates are not finite and are set to 0"),
            (self.n_bad_normals, "normals are incomplete or not finite and are set to 0"),
        ];
        self.notes.extend(counts.iter().filter(|c| c.0 > 0).map(|(count, what)| format!("{count} {what}")));
    }
}
