//! Poses and takes on the vertices of a detail. Files have the vertices of the artist's rig or of the
//! subdivided rig.

use crate::error::{Result, in_file};
use risorius_base::Progress;
use risorius_detail::Rest;
use risorius_io::take_in::{open_pose_of, open_take_of};
use risorius_rig::FrameSource;
use risorius_rig::frames::RefinedFrames;
use std::path::Path;

/// A pose from a file.
pub(super) fn open_pose(path: &Path, rest: &Rest, progress: &Progress) -> Result<Vec<[f32; 3]>> {
    let coarse = open_pose_of(path, &rest.rig, progress);
    if rest.n_steps == 0 {
        return coarse.map_err(in_file(path));
    }
    match open_pose_of(path, &rest.fine, progress) {
        Ok(fine) => Ok(fine),
        Err(_) => coarse.map(|x| rest.refinement.apply(&x)).map_err(in_file(path)),
    }
}

/// Frames on the vertices of a detail, from a file; `fps` is for PC2.
pub(super) fn open_frames(
    path: &Path,
    rest: &Rest,
    fps: f64,
    progress: &Progress,
) -> Result<Box<dyn FrameSource>> {
    let coarse = open_take_of(path, &rest.rig, fps, progress);
    if rest.n_steps == 0 {
        return Ok(Box::new(coarse.map_err(in_file(path))?));
    }
    match open_take_of(path, &rest.fine, fps, progress) {
        Ok(take) => Ok(Box::new(take)),
        Err(_) => Ok(Box::new(RefinedFrames {
            coarse: Box::new(coarse.map_err(in_file(path))?),
            refinement: rest.refinement.clone(),
        })),
    }
}
