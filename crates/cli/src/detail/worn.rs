//! A detail that is worn by an animation: opened, made ready to play, put on frames.

use crate::files::in_file;
use crate::session::{Failure, Session};
use risorius_detail::player::PlayedFrame;
use risorius_detail::{Base, DetailPlayer};
use risorius_io::native::detail::{self, DetailFile, Rest};
use risorius_rig::Rig;
use std::path::Path;

/// What is finer than this part of the distance between handles is detail on an animation that exists.
const FINE: f64 = 0.75;

/// A detail ready to be put on frames.
pub struct Worn {
    /// The file.
    pub content: DetailFile,
    /// Plays it.
    pub player: DetailPlayer,
    /// What is coarser than this is left out, in the mesh's unit.
    pub finest: Option<f64>,
    /// What was played last.
    pub stage: PlayedFrame,
}

impl Worn {
    /// Opens a detail for animations (or for markers, which say no more than handles do). `finer_than`: what
    /// the user wants left out, in millimeters.
    pub fn open(
        path: &Path,
        finer_than: Option<f64>,
        by_markers: bool,
        session: &Session,
    ) -> Result<Self, Failure> {
        let content = detail::open(path).map_err(in_file(path))?;
        let detail = &content.detail;
        let usual = match detail.base {
            Base::Shell if !by_markers && detail.poses.len() > 1 => {
                Some(FINE * detail.features.dense_spacing(&detail.mesh))
            }
            _ => None,
        };
        let finest = finer_than.map(|mm| mm / content.rest.mm_per_unit()).or(usual);
        let player = match finest {
            Some(length) => DetailPlayer::prepare(&detail.finer_than(length, &session.progress())?)?,
            None => DetailPlayer::prepare(detail)?,
        };
        Ok(Self { content, player, finest, stage: PlayedFrame::default() })
    }

    /// A frame of the artist's rig with its detail, on the vertices of the detail.
    pub fn on_coarse(&mut self, frame: &[[f32; 3]]) -> Result<Vec<[f32; 3]>, Failure> {
        self.player.on(&self.content.rest.refinement.apply(frame), &mut self.stage)?;
        let mut positions = Vec::new();
        self.player.in_mesh_order(&self.stage.positions, &mut positions);
        Ok(positions)
    }
}

/// Whether frames of `rig`, from a file, can wear a detail with this rest.
pub fn expect_fits(rest: &Rest, rig: &Rig, path: &Path) -> Result<(), Failure> {
    let n = rest.rig.n_vertices();
    if rig.n_vertices() == n {
        return Ok(());
    }
    let counts = format!("{} vertices, the rest of the detail {n}", rig.n_vertices());
    let advice = "learn from this rig, or transfer the detail to it";
    Err(Failure::could_not(format!("{}: the rig has {counts}; {advice}", path.display())))
}
