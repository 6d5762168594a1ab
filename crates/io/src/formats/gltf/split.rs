//! Splits vertices by corner attributes: glTF has texture coordinates and normals per vertex, a part has them
//! per corner.
//!
//! File vertices keep their indices. Where the corners of a vertex differ, the first variant keeps the index
//! and the others are appended at the end, in the order of the faces.

use risorius_rig::Part;
use std::collections::HashMap;

/// A part in the form that glTF requires.
pub(super) struct SplitPart {
    /// For each vertex written, its rig vertex.
    pub rig_vertex: Vec<u32>,
    /// For each vertex written, its vertex in the part.
    pub file_vertex: Vec<u32>,
    pub uvs: Option<Vec<[f32; 2]>>,
    pub normals: Vec<[f32; 3]>,
    /// For each corner of the part's faces, its vertex.
    pub corners: Vec<u32>,
}

type Key = ([u32; 2], [u32; 3]);

/// Splits the vertices of a part; `smooth` has a normal for each rig vertex, for parts or corners without
/// their own.
pub(super) fn split(part: &Part, smooth: &[[f32; 3]]) -> SplitPart {
    let n = part.n_file_vertices();
    let mut out = SplitPart {
        rig_vertex: part.rig_vertex.clone(),
        file_vertex: (0..n as u32).collect(),
        uvs: part.corner_uvs.as_ref().map(|_| vec![[0.0; 2]; n]),
        normals: part.to_file_order(smooth),
        corners: Vec::with_capacity(part.faces.corners().len()),
    };
    let mut first: Vec<Option<Key>> = vec![None; n];
    let mut further: HashMap<(u32, Key), u32> = HashMap::new();
    for (c, &v) in part.faces.corners().iter().enumerate() {
        let uv = part.corner_uvs.as_ref().and_then(|uvs| uvs.get(c)).copied().unwrap_or_default();
        let uv = if uv.iter().all(|x| x.is_finite()) { uv } else { [0.0; 2] };
        let rig_vertex = part.rig_vertex[v as usize];
        let own = part.corner_normals.as_ref().and_then(|normals| unit(*normals.get(c)?));
        let normal = own.unwrap_or(smooth[rig_vertex as usize]);
        let key = (uv.map(f32::to_bits), normal.map(f32::to_bits));
        let vertex = match &first[v as usize] {
            Some(known) if *known == key => v,
            None => {
                first[v as usize] = Some(key);
                if let Some(uvs) = &mut out.uvs {
                    uvs[v as usize] = uv;
                }
                out.normals[v as usize] = normal;
                v
            }
            Some(_) => *further.entry((v, key)).or_insert_with(|| {
                out.rig_vertex.push(rig_vertex);
                out.file_vertex.push(v);
                out.uvs.iter_mut().for_each(|uvs| uvs.push(uv));
                out.normals.push(normal);
                out.rig_vertex.len() as u32 - 1
            }),
        };
        out.corners.push(vertex);
    }
    out
}

/// The normalized normal; unchanged if its length is nearly one, `None` if it has no direction.
fn unit(normal: [f32; 3]) -> Option<[f32; 3]> {
    let v = glam::Vec3::from(normal);
    let length = v.length();
    if (length - 1.0).abs() < 5e-4 {
        return Some(normal);
    }
    (length > 0.0 && length.is_finite()).then(|| (v / length).into()).filter(|_| (v / length).is_normalized())
}
