//! From displaced flesh to the artist's vertices: `skin(w) + embedded (x - X(w))`.
//!
//! The displacement by physics is added to the artist's surface; where it is zero, the bits do not change.
//! Lashes, brows and the like take the displacement of the skin vertex that carries them; teeth and eyes are
//! not displaced. Towards skin without flesh the displacement fades over [`FADE`], so that there is no seam
//! where the flesh ends.

use glam::{DMat3, DVec3, Vec3};
use risorius_base::ease::smoothstep;
use risorius_flesh::Face;
use risorius_flesh::along_skin::distances;
use risorius_solve::TetAttachment;

/// Distance along the skin, meters, over which displacements fade to zero towards vertices without flesh.
pub(crate) const FADE: f64 = 0.015;

/// Adds displacements to poses of a rig.
pub struct SkinOut<'a> {
    face: &'a Face,
    file_from_si: DMat3,
    /// Vertices carried by an embedded vertex, and the row of that vertex.
    hanging: Vec<(u32, u32)>,
    /// The share of its displacement that each embedded vertex takes, 0 to 1.
    shares: Vec<f64>,
}

/// How far physics moved the skin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moved {
    /// Mean over embedded vertices, mm.
    pub mean_mm: f64,
    /// Largest displacement, mm.
    pub max_mm: f64,
    /// Its rig vertex.
    pub vertex: u32,
}

impl<'a> SkinOut<'a> {
    /// Finds carried vertices and fading shares.
    pub fn prepare(face: &'a Face) -> Self {
        let embedded = &face.flesh.embedding.vertices;
        let carriers = face.anatomy.pieces.carriers.iter().enumerate();
        let hanging = carriers
            .filter_map(|(v, carrier)| {
                let row = embedded.binary_search(carrier.as_ref()?).ok()?;
                embedded.binary_search(&(v as u32)).is_err().then_some((v as u32, row as u32))
            })
            .collect();
        Self { face, file_from_si: face.rig.space.file_from_si(), hanging, shares: shares(face) }
    }

    /// The attachment of a rig vertex to the flesh.
    pub fn attachment(&self, vertex: u32) -> TetAttachment {
        let embedding = &self.face.flesh.embedding;
        let Ok(row) = embedding.vertices.binary_search(&vertex) else { return TetAttachment::FIXED };
        let weights = embedding.weights[row].map(|w| f64::from(w) * self.shares[row]);
        TetAttachment { tet: embedding.tets[row], weights }
    }

    /// A skin whose vertices are where `neutral` has them as far as they follow the flesh, and otherwise
    /// where `artist` has them; all in file units.
    pub fn unmoved(&self, neutral: &[[f32; 3]], artist: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut vertices = artist.to_vec();
        let mut mix = |vertex: u32, share: f64| {
            let v = vertex as usize;
            vertices[v] = match share {
                1.0 => neutral[v],
                _ => Vec3::from(artist[v]).lerp(neutral[v].into(), share as f32).to_array(),
            };
        };
        let rows = self.face.flesh.embedding.vertices.iter().zip(&self.shares);
        rows.for_each(|(&vertex, &share)| mix(vertex, share));
        self.hanging.iter().for_each(|&(vertex, row)| mix(vertex, self.shares[row as usize]));
        vertices
    }

    /// Adds the displacements of flesh nodes, in meters, to a pose of the rig in file units.
    pub fn add(&self, node_offsets: &[DVec3], pose: &mut [[f32; 3]]) -> Moved {
        let embedding = &self.face.flesh.embedding;
        let mut offsets = embedding.apply(&self.face.flesh.tets, node_offsets);
        offsets.iter_mut().zip(&self.shares).for_each(|(offset, share)| *offset *= *share);
        let mut moved = Moved::default();
        let mut add = |vertex: u32, offset: DVec3| {
            if offset != DVec3::ZERO {
                let p = &mut pose[vertex as usize];
                *p = (Vec3::from(*p).as_dvec3() + self.file_from_si * offset).as_vec3().to_array();
            }
        };
        for (&vertex, &offset) in embedding.vertices.iter().zip(&offsets) {
            add(vertex, offset);
            let mm = 1000.0 * offset.length();
            moved.mean_mm += mm;
            if mm > moved.max_mm {
                (moved.max_mm, moved.vertex) = (mm, vertex);
            }
        }
        for &(vertex, row) in &self.hanging {
            add(vertex, offsets[row as usize]);
        }
        moved.mean_mm /= offsets.len().max(1) as f64;
        moved
    }
}

/// 1 within the flesh, falling smoothly to 0 at skin vertices that are not embedded.
fn shares(face: &Face) -> Vec<f64> {
    let embedded = &face.flesh.embedding.vertices;
    let distances = distances(&face.anatomy.pieces, |v| embedded.binary_search(&v).is_err(), FADE);
    let share = |&v: &u32| smoothstep((distances[v as usize] / FADE).min(1.0));
    embedded.iter().map(share).collect()
}
