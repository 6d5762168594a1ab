//! Corresponding vertices of two faces, from landmarks that are found on both.

use crate::DetailError;
use glam::Vec3;
use risorius_anatomy::find::{FoundLandmark, Given, find};
use risorius_anatomy::pieces::pieces;
use risorius_head::Identity;
use risorius_mesh::Bvh;
use risorius_rig::Rig;

/// Two corresponding vertices.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexPair {
    /// Name of the landmark, for display.
    pub name: String,
    /// On the source and on the target.
    pub vertices: [u32; 2],
}

/// Landmarks with less confidence than this are not paired.
const SURE: f64 = 0.5;

/// Least number of landmarks that must be found on both faces.
const ENOUGH: usize = 12;

/// Landmarks farther than this from every vertex are not on the mesh (meters).
const NEAR_M: f64 = 0.005;

/// A face to find landmarks on, and the rig whose vertices are returned: the same rig, or its subdivision.
#[derive(Clone, Copy)]
pub struct LandmarkFace<'a> {
    /// The rig to search; its shapes, if any, improve the confidence of landmarks.
    pub shaped: &'a Rig,
    /// The rig whose vertices are returned, at the same position.
    pub fine: &'a Rig,
}

/// Vertices of landmarks that are found with enough confidence on both faces.
pub fn landmark_pairs(source: LandmarkFace, target: LandmarkFace) -> Result<Vec<VertexPair>, DetailError> {
    let head = risorius_head::build(&Identity::default());
    let found = |face: LandmarkFace| -> Result<Vec<Option<(FoundLandmark, u32)>>, DetailError> {
        let LandmarkFace { shaped, fine } = face;
        let landmarks = find(shaped, &pieces(shaped), &head, &Given::default())?.all;
        let tree = Bvh::build(&fine.neutral, &fine.triangles());
        let vertex = |l: FoundLandmark| {
            let place = Vec3::from(shaped.neutral[l.vertex as usize]).as_dvec3();
            let (v, _) = tree.closest_vertex(place, NEAR_M / fine.space.meters_per_unit)?;
            (l.confidence >= SURE).then_some((l, v))
        };
        Ok(landmarks.into_iter().map(vertex).collect())
    };
    let both = found(source)?.into_iter().zip(found(target)?).filter_map(|(a, b)| a.zip(b));
    let pairs: Vec<VertexPair> =
        both.map(|(a, b)| VertexPair { name: a.0.name.into(), vertices: [a.1, b.1] }).collect();
    if pairs.len() < ENOUGH {
        return Err(DetailError::FewLandmarks { found: pairs.len(), wanted: ENOUGH });
    }
    Ok(pairs)
}
