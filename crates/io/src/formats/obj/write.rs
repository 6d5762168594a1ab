//! Writes a posed rig as OBJ text.

use crate::formats::color::{linear_from_srgb, srgb_from_linear};
use crate::formats::text::{push_f32, push_f64};
use risorius_rig::{Part, Rig};
use std::collections::HashMap;

/// State carried over from earlier parts: OBJ counts numbers over the whole file, and material and group stay
/// in effect.
#[derive(Default)]
struct State {
    n_vertices: usize,
    n_uvs: usize,
    n_normals: usize,
    material: String,
    regions: Vec<u32>,
}

/// Per corner of a part, the number of its texture coordinate and normal among those of the part.
struct CornerNumbers {
    uvs: Option<Vec<usize>>,
    normals: Option<Vec<usize>>,
}

/// The rig at `positions` (one per rig vertex, as in [`Rig::neutral`]), with the file's vertices and
/// polygons.
///
/// A region becomes a `g` group of the faces that lie wholly in it. Regions that came from groups are
/// therefore restored exactly, and loose vertices are lost.
pub fn write(rig: &Rig, positions: &[[f32; 3]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 * positions.len());
    let mut state = State::default();
    let regions_of_vertex = regions_of_vertices(rig);
    for part in &rig.parts {
        push_line(&mut out, "o", &part.name);
        push_vertices(&mut out, part, positions);
        let numbers = CornerNumbers {
            uvs: part
                .corner_uvs
                .as_deref()
                .map(|uvs| push_unique(&mut out, uvs, |v| v.map(f32::to_bits), push_uv)),
            normals: (part.corner_normals.as_deref())
                .map(|normals| push_unique(&mut out, normals, |v| v.map(f32::to_bits), push_normal)),
        };
        push_faces(&mut out, rig, part, &mut state, &numbers, &regions_of_vertex);
        let count = |numbers: &Option<Vec<usize>>| numbers.iter().flatten().max().map_or(0, |m| m + 1);
        state.n_vertices += part.n_file_vertices();
        state.n_uvs += count(&numbers.uvs);
        state.n_normals += count(&numbers.normals);
    }
    out
}

/// For each rig vertex the regions that hold it, as ascending indices into [`Rig::regions`].
fn regions_of_vertices(rig: &Rig) -> Vec<Vec<u32>> {
    let mut of_vertex = vec![Vec::new(); if rig.regions.is_empty() { 0 } else { rig.n_vertices() }];
    for (i, vertices) in rig.regions.values().enumerate() {
        for &v in vertices {
            if let Some(regions) = of_vertex.get_mut(v as usize) {
                regions.push(i as u32);
            }
        }
    }
    of_vertex
}

/// A keyword and a name, which may be empty; names cannot hold line breaks.
fn push_line(out: &mut Vec<u8>, keyword: &str, name: &str) {
    let line = format!("{keyword} {}", name.replace(['\n', '\r'], " "));
    out.extend_from_slice(line.trim_end().as_bytes());
    out.push(b'\n');
}

fn push_floats(out: &mut Vec<u8>, keyword: &str, values: &[f32]) {
    out.extend_from_slice(keyword.as_bytes());
    for &value in values {
        out.push(b' ');
        push_f32(out, value);
    }
}

fn push_vertices(out: &mut Vec<u8>, part: &Part, positions: &[[f32; 3]]) {
    for (i, position) in part.to_file_order(positions).iter().enumerate() {
        push_floats(out, "v", position);
        if let Some(color) = part.colors.as_ref().and_then(|c| c.get(i)) {
            for &linear in &color[..3] {
                out.push(b' ');
                push_inverse(out, linear, srgb_from_linear(f64::from(linear)), linear_from_srgb);
            }
        }
        out.push(b'\n');
    }
}

/// Writes `stored` with the fewest digits from which `read` restores `wanted`.
fn push_inverse(out: &mut Vec<u8>, wanted: f32, stored: f64, read: impl Fn(f64) -> f64) {
    // Most files have six decimals; beyond nine a short form saves nothing.
    for decimals in [6, 7, 8, 9] {
        let text = format!("{stored:.decimals$}");
        let short = text.trim_end_matches('0').trim_end_matches('.');
        if short.parse().is_ok_and(|s: f64| (read(s) as f32).to_bits() == wanted.to_bits()) {
            out.extend_from_slice(short.as_bytes());
            return;
        }
    }
    push_f64(out, stored);
}

fn push_uv(out: &mut Vec<u8>, uv: &[f32; 2]) {
    push_floats(out, "vt", &uv[..1]);
    out.push(b' ');
    push_inverse(out, uv[1], 1.0 - f64::from(uv[1]), |stored| 1.0 - stored);
    out.push(b'\n');
}

fn push_normal(out: &mut Vec<u8>, normal: &[f32; 3]) {
    push_floats(out, "vn", normal);
    out.push(b'\n');
}

/// Writes each different value once; for every corner the 0-based number of its value.
fn push_unique<T, K: std::hash::Hash + Eq>(
    out: &mut Vec<u8>,
    values: &[T],
    key: impl Fn(&T) -> K,
    push: impl Fn(&mut Vec<u8>, &T),
) -> Vec<usize> {
    let mut number_of = HashMap::new();
    values
        .iter()
        .map(|value| {
            let next = number_of.len();
            *number_of.entry(key(value)).or_insert_with(|| {
                push(out, value);
                next
            })
        })
        .collect()
}

fn push_faces(
    out: &mut Vec<u8>,
    rig: &Rig,
    part: &Part,
    state: &mut State,
    numbers: &CornerNumbers,
    regions_of_vertex: &[Vec<u32>],
) {
    let mut groups = part.groups.iter().peekable();
    let mut material = "";
    for (i, face) in part.faces.iter().enumerate() {
        while let Some(group) = groups.next_if(|g| g.first_face <= i) {
            material = group.material.and_then(|m| rig.materials.get(m)).map_or(&group.name, |m| &m.name);
        }
        if state.material != material {
            push_line(out, "usemtl", material);
            state.material = material.into();
        }
        if !regions_of_vertex.is_empty() {
            push_group_change(out, rig, state, part, face, regions_of_vertex);
        }
        push_face(out, part.faces.corner_range(i).zip(face), state, numbers);
    }
}

/// Writes a `g` line when the regions of `face` differ from those of the face before; a bare `g` is "no
/// group".
fn push_group_change(
    out: &mut Vec<u8>,
    rig: &Rig,
    state: &mut State,
    part: &Part,
    face: &[u32],
    regions_of_vertex: &[Vec<u32>],
) {
    let mut lists = face.iter().map(|&v| &regions_of_vertex[part.rig_vertex[v as usize] as usize]);
    let mut common = lists.next().cloned().unwrap_or_default();
    for list in lists {
        common.retain(|r| list.binary_search(r).is_ok());
    }
    if state.regions != common {
        let names =
            rig.regions.keys().enumerate().filter(|(i, _)| common.binary_search(&(*i as u32)).is_ok());
        let names: Vec<String> = names.map(|(_, name)| name.replace(char::is_whitespace, "_")).collect();
        push_line(out, "g", &names.join(" "));
        state.regions = common;
    }
}

fn push_face<'a>(
    out: &mut Vec<u8>,
    corners: impl Iterator<Item = (usize, &'a u32)>,
    state: &State,
    numbers: &CornerNumbers,
) {
    use std::io::Write;
    out.push(b'f');
    for (corner, &v) in corners {
        let v = v as usize + state.n_vertices + 1;
        let uv = numbers.uvs.as_ref().and_then(|n| n.get(corner)).map(|n| n + state.n_uvs + 1);
        let normal = numbers.normals.as_ref().and_then(|n| n.get(corner)).map(|n| n + state.n_normals + 1);
        // Writing into memory does not fail.
        let _ = match (uv, normal) {
            (None, None) => write!(out, " {v}"),
            (Some(vt), None) => write!(out, " {v}/{vt}"),
            (None, Some(vn)) => write!(out, " {v}//{vn}"),
            (Some(vt), Some(vn)) => write!(out, " {v}/{vt}/{vn}"),
        };
    }
    out.push(b'\n');
}
