//! Splits vertices by corner attributes: glTF has texture coordinates and normals per vertex, a part has them
//! per corner.
//!
//! File vertices keep their indices. Where the corners of a vertex differ, the first variant keeps the index
//! and the others are appended at the end, in the order of the faces.

use risorius_rig::shading::{ShadingNormals, own_normal};
use risorius_rig::{Part, Rig};
use std::collections::HashMap;

/// A part in the form that glTF requires.
pub(super) struct SplitPart {
    /// For each vertex written, its rig vertex.
    pub rig_vertex: Vec<u32>,
    /// For each vertex written, its vertex in the part.
    pub file_vertex: Vec<u32>,
    pub uvs: Option<Vec<[f32; 2]>>,
    pub normals: Vec<[f32; 3]>,
    /// For each vertex written, its group of [`ShadingNormals`].
    pub groups: Vec<u32>,
    /// For each corner of the part's faces, its vertex.
    pub corners: Vec<u32>,
}

type Key = ([u32; 2], [u32; 3]);

/// Splits the vertices of a part; `shading` has normals for parts or corners without their own.
pub(super) fn split(rig: &Rig, idx: usize, shading: &ShadingNormals) -> SplitPart {
    let (part, smooth): (&Part, _) = (&rig.parts[idx], shading.rest());
    let corner_groups = shading.corner_groups(idx);
    let n = part.n_file_vertices();
    let mut out = SplitPart {
        rig_vertex: part.rig_vertex.clone(),
        file_vertex: (0..n as u32).collect(),
        uvs: part.corner_uvs.as_ref().map(|_| vec![[0.0; 2]; n]),
        normals: part.to_file_order(smooth),
        groups: part.rig_vertex.clone(),
        corners: Vec::with_capacity(part.faces.corners().len()),
    };
    let mut first: Vec<Option<Key>> = vec![None; n];
    let mut further: HashMap<(u32, Key), u32> = HashMap::new();
    for (c, &v) in part.faces.corners().iter().enumerate() {
        let uv = part.corner_uvs.as_ref().and_then(|uvs| uvs.get(c)).copied().unwrap_or_default();
        let uv = if uv.iter().all(|x| x.is_finite()) { uv } else { [0.0; 2] };
        let rig_vertex = part.rig_vertex[v as usize];
        let group = corner_groups[c];
        let normal = own_normal(part, c).unwrap_or(smooth[group as usize]);
        let key = (uv.map(f32::to_bits), normal.map(f32::to_bits));
        let vertex = match &first[v as usize] {
            Some(known) if *known == key => v,
            None => {
                first[v as usize] = Some(key);
                if let Some(uvs) = &mut out.uvs {
                    uvs[v as usize] = uv;
                }
                out.normals[v as usize] = normal;
                out.groups[v as usize] = group;
                v
            }
            Some(_) => *further.entry((v, key)).or_insert_with(|| {
                out.rig_vertex.push(rig_vertex);
                out.file_vertex.push(v);
                out.uvs.iter_mut().for_each(|uvs| uvs.push(uv));
                out.normals.push(normal);
                out.groups.push(group);
                out.rig_vertex.len() as u32 - 1
            }),
        };
        out.corners.push(vertex);
    }
    out
}
