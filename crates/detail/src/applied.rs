//! A detail applied to an animation: prepared once, then evaluated for each frame.
//!
//! In: frames of the artist's rig, or positions of handles. Out: all vertices of the detail's mesh. On an
//! animation with its own large scale, only the fine part of a detail is added ([`crate::split`]), unless it
//! was learned relative to plain poses.

use crate::player::PlayedFrame;
use crate::rest::FaceDetail;
use crate::{Base, DetailError, DetailPlayer};
use risorius_base::Progress;

/// Default length limit of the detail added to an existing animation, as a fraction of the distance between
/// handles where they are dense.
const FINE: f64 = 0.75;

/// What an animation specifies of the face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    /// Every vertex, without detail.
    Mesh,
    /// Only the handles, like markers.
    Handles,
}

/// A detail prepared for frames.
pub struct AppliedDetail {
    /// The learned detail and its rest.
    pub content: FaceDetail,
    /// The player of the (filtered) detail.
    pub player: DetailPlayer,
    /// Detail coarser than this length is left out, in the mesh's unit.
    pub coarsest_kept: Option<f64>,
    /// The last evaluated frame.
    pub played: PlayedFrame,
}

impl AppliedDetail {
    /// Prepares a detail for animations. `finer_than`: detail coarser than this length in millimeters is left
    /// out; by default the part that the animation itself can show.
    pub fn prepare(
        content: FaceDetail,
        finer_than: Option<f64>,
        drive: Drive,
        progress: &Progress,
    ) -> Result<Self, DetailError> {
        let detail = &content.detail;
        let usual = match detail.base {
            Base::Shell if drive == Drive::Mesh && detail.poses.len() > 1 => {
                Some(FINE * detail.features.dense_spacing(&detail.mesh))
            }
            _ => None,
        };
        let coarsest_kept = finer_than.map(|mm| mm / content.rest.mm_per_unit()).or(usual);
        let player = match coarsest_kept {
            Some(length) => DetailPlayer::prepare(&detail.finer_than(length, progress)?)?,
            None => DetailPlayer::prepare(detail)?,
        };
        Ok(Self { content, player, coarsest_kept, played: PlayedFrame::default() })
    }

    /// A frame of the artist's rig with its detail, on the vertices of the detail.
    pub fn on_coarse(&mut self, frame: &[[f32; 3]]) -> Result<Vec<[f32; 3]>, DetailError> {
        self.player.on(&self.content.rest.refinement.apply(frame), &mut self.played)?;
        let mut positions = Vec::new();
        self.player.in_mesh_order(&self.played.positions, &mut positions);
        Ok(positions)
    }
}
