//! Poses and takes on the vertices of a detail: files have those of the artist's rig, or those of the rig
//! subdivided.

use crate::files::in_file;
use crate::session::{Failure, Session};
use risorius_io::native::detail::Rest;
use risorius_io::take_in::{RigTake, open_pose_of, open_take_of};
use std::path::Path;

/// A pose from a file.
pub fn open_pose(path: &Path, rest: &Rest, session: &Session) -> Result<Vec<[f32; 3]>, Failure> {
    let coarse = open_pose_of(path, &rest.rig, &session.progress());
    if rest.n_steps == 0 {
        return coarse.map_err(in_file(path));
    }
    match open_pose_of(path, &rest.fine, &session.progress()) {
        Ok(fine) => Ok(fine),
        Err(_) => coarse.map(|x| rest.refinement.apply(&x)).map_err(in_file(path)),
    }
}

/// Frames on the vertices of a detail.
pub struct Frames {
    /// As in the file.
    pub take: RigTake,
    refinement: Option<risorius_rig::Refinement>,
}

impl Frames {
    /// A take from a file; `fps` is for PC2.
    pub fn open(path: &Path, rest: &Rest, fps: f64, session: &Session) -> Result<Self, Failure> {
        let coarse = open_take_of(path, &rest.rig, fps, &session.progress());
        if rest.n_steps == 0 {
            return Ok(Self { take: coarse.map_err(in_file(path))?, refinement: None });
        }
        match open_take_of(path, &rest.fine, fps, &session.progress()) {
            Ok(take) => Ok(Self { take, refinement: None }),
            Err(_) => {
                Ok(Self { take: coarse.map_err(in_file(path))?, refinement: Some(rest.refinement.clone()) })
            }
        }
    }

    /// One position for each vertex of the detail.
    pub fn frame(&self, frame: usize) -> Vec<[f32; 3]> {
        let x = self.take.frame(frame);
        self.refinement.as_ref().map(|r| r.apply(&x)).unwrap_or(x)
    }
}
