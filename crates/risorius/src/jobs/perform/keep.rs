//! Keeps finished frames of a performance in `TAKE.partial/`, with resume states, until the output is
//! written.
//!
//! States are kept at regular intervals of frames, so that an edit anywhere in a clip loses little work. One
//! more is kept about every second and replaced by the next, so that a killed run loses little work. The
//! interval depends on the size of states: together they may take as much disk space as the frames, or a
//! little more in short takes.

use crate::error::{Error, Result};
use risorius_io::IoError;
use risorius_io::native::take_folder::{Kept, TakeFolder};
use risorius_perform::{Checkpoint, Frame, FrameKey, FrameReport, PerformError};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between temporary states, which are kept besides those at regular intervals.
const BETWEEN_STATES: Duration = Duration::from_secs(1);

/// States may take this many bytes, or as many as the frames if that is more.
const ROOM: usize = 256 << 20;

/// Most frames between two states, as long as all states take less than [`MOST_ROOM`].
const MOST_FRAMES_BETWEEN: usize = 32;

/// Most bytes that states may take.
const MOST_ROOM: usize = 8 << 30;

/// Where a resumed run starts, and why there.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Resumed {
    /// The first computed frame; the number of frames if none is computed.
    pub from: usize,
    /// The reason, as text for the user.
    pub why: String,
}

/// Keeps frames while they are computed.
pub(super) struct Keeper {
    output: PathBuf,
    folder: TakeFolder,
    keys: Vec<FrameKey>,
    n_vertices: usize,
    /// Reports of the finished frames.
    reports: Vec<FrameReport>,
    /// The last finished frame, if this run computed it, and whether its state is in the folder.
    last: Option<(Checkpoint, bool)>,
    last_written: Instant,
    /// A temporary state, removed once the next state is written.
    passing: Option<usize>,
    /// Frames whose states an earlier run left.
    left: BTreeSet<usize>,
    failure: Option<IoError>,
    /// Notes for the user.
    notes: Vec<String>,
}

impl Keeper {
    /// Opens the folder of frames beside the file `beside`; its contents are not used until
    /// [`Keeper::resume`].
    pub(super) fn open(output: &Path, beside: &Path, keys: Vec<FrameKey>, n_vertices: usize) -> Result<Self> {
        let folder = TakeFolder::open(beside)?;
        Ok(Self {
            output: output.to_path_buf(),
            left: folder.states().into_iter().collect(),
            folder,
            keys,
            n_vertices,
            reports: Vec::new(),
            last: None,
            last_written: Instant::now(),
            passing: None,
            failure: None,
            notes: Vec::new(),
        })
    }

    /// Reports of the finished frames, from the first frame of the clip.
    pub(super) fn reports(&self) -> &[FrameReport] {
        &self.reports
    }

    /// Finds the last state for which the inputs of all frames up to it are unchanged.
    pub(super) fn resume(&mut self) -> (Option<Checkpoint>, Option<Resumed>) {
        let folder = self.folder.path().display().to_string();
        let cause = self.read_frames();
        let done = self.reports.len();
        let Some(cause) = cause else {
            return (None, Some(Resumed { from: done, why: format!("all frames were in {folder}") }));
        };
        for frame in self.left.iter().rev().copied().filter(|&f| f < done) {
            match self.folder.state(frame) {
                Kept::Whole((key, checkpoint)) if key == self.keys[frame] => {
                    self.reports.truncate(frame + 1);
                    let from = frame + 1;
                    let before = if from < done { ", resumed at the last state before it" } else { "" };
                    return (Some(checkpoint), Some(Resumed { from, why: format!("{cause}{before}") }));
                }
                Kept::Unusable => {
                    self.notes.push(unusable(&format!("the state after frame {frame}"), &folder))
                }
                Kept::Nothing | Kept::Whole(_) => (),
            }
        }
        self.reports.clear();
        let why = match done {
            0 => cause,
            _ => format!("{cause}, and there is no state before it"),
        };
        (None, Some(Resumed { from: 0, why }))
    }

    /// Reads frames while they are complete and their inputs unchanged. Returns why the next one is not, or
    /// `None` if all are.
    fn read_frames(&mut self) -> Option<String> {
        let folder = self.folder.path().display().to_string();
        for (frame, key) in self.keys.iter().enumerate() {
            match self.folder.frame(frame) {
                Kept::Whole(kept) if kept.key == *key && kept.vertices.len() == self.n_vertices => {
                    self.reports.push(kept.report);
                }
                Kept::Whole(kept) => {
                    let what = key.changed_since(&kept.key).unwrap_or("an earlier input");
                    return Some(format!("{what} changed at frame {frame}"));
                }
                Kept::Nothing if frame == 0 => {
                    return Some(format!("there was nothing to resume from in {folder}"));
                }
                Kept::Nothing => return Some(format!("frame {frame} had not been computed")),
                Kept::Unusable => {
                    self.notes.push(unusable(&format!("frame {frame}"), &folder));
                    return Some(format!("frame {frame} in {folder} cannot be used"));
                }
            }
        }
        None
    }

    /// Keeps a finished frame. `Break` if that fails.
    pub(super) fn frame(&mut self, frame: &Frame) -> ControlFlow<()> {
        let (index, key) = (frame.index, &self.keys[frame.index]);
        if let Err(error) = self.folder.put_frame(index, key, frame.report, frame.vertices) {
            self.failure = Some(error);
            return ControlFlow::Break(());
        }
        self.reports.push(*frame.report);
        let checkpoint = Checkpoint { frame: index, state: frame.body.state() };
        let every = frames_between(self.keys.len(), 12 * self.n_vertices, n_bytes(&checkpoint));
        self.last = Some((checkpoint, false));
        let lasting = index.is_multiple_of(every);
        if lasting || self.last_written.elapsed() > BETWEEN_STATES {
            self.keep_state(lasting);
        } else if self.left.contains(&index) && !self.has_state(index) {
            self.folder.remove_state(index);
        }
        ControlFlow::Continue(())
    }

    /// Keeps the state of the last frame: permanently if `lasting`, otherwise until the next state is
    /// written.
    fn keep_state(&mut self, lasting: bool) {
        let Some((checkpoint, is_kept @ false)) = &mut self.last else { return };
        match self.folder.put_state(&self.keys[checkpoint.frame], checkpoint) {
            Ok(()) => {
                *is_kept = true;
                let passing = if lasting { None } else { Some(checkpoint.frame) };
                if let Some(frame) = std::mem::replace(&mut self.passing, passing) {
                    self.folder.remove_state(frame);
                }
            }
            // The take does not need it.
            Err(error) => {
                let note = format!("a state could not be kept: {error}");
                self.notes.retain(|n| *n != note);
                self.notes.push(note);
            }
        }
        self.last_written = Instant::now();
    }

    fn has_state(&self, index: usize) -> bool {
        matches!(self.folder.state(index), Kept::Whole((key, _)) if key == self.keys[index])
    }

    /// Vertices of a finished frame.
    pub(super) fn vertices(&self, index: usize) -> Result<risorius_base::Array<[f32; 3]>> {
        match self.folder.frame(index) {
            Kept::Whole(kept) if kept.key == self.keys[index] && kept.vertices.len() == self.n_vertices => {
                Ok(kept.vertices)
            }
            _ => {
                let folder = self.folder.path().display();
                Err(Error::failed(format!("frame {index} in {folder} was damaged or removed meanwhile")))
            }
        }
    }

    /// Ends a run. `write` gets the finished frames, also after an error. The folder is removed after
    /// success, unless it `stays` for the next run. Returns the reports of all frames.
    pub(super) fn finish(
        mut self,
        ended: std::result::Result<(), PerformError>,
        stays: bool,
        notes: &mut Vec<String>,
        write: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<Vec<FrameReport>> {
        let stopped: Option<Error> = match (self.failure.take(), ended) {
            (Some(error), _) => Some(error.into()),
            (None, Err(error)) => Some(error.into()),
            (None, Ok(())) => None,
        };
        if stays || stopped.is_some() {
            self.keep_state(true);
        }
        let n_done = self.reports.len();
        if n_done == 0
            && let Some(cause) = stopped
        {
            self.folder.remove_if_empty();
            return Err(cause);
        }
        let folder = self.folder.path().display();
        let advice = format!("repeat the call with resuming to continue from {folder}");
        let (output, written) = (self.output.display(), write(&self));
        if let Some(cause) = stopped {
            let done = match written {
                Ok(()) => format!("the {n_done} earlier frames are in {output}"),
                Err(error) => format!("the {n_done} earlier frames are not in {output}: {error}"),
            };
            return Err(cause.followed_by(&format!("{done}; {advice}")).with_options(&["resume"]));
        }
        written.map_err(|error| error.followed_by(&advice).with_options(&["resume"]))?;
        notes.append(&mut self.notes);
        if !stays && let Err(error) = self.folder.remove_all() {
            notes.push(format!("frames that are no longer needed could not be removed: {error}"));
        }
        Ok(self.reports)
    }
}

fn unusable(what: &str, folder: &str) -> String {
    format!("{what} in {folder} is damaged or of another version and was not used")
}

fn n_bytes(checkpoint: &Checkpoint) -> usize {
    let state = &checkpoint.state;
    let n_parameters: usize = state.configuration.parameters.iter().map(Vec::len).sum();
    8 * (15 * state.positions.len() + 2 * n_parameters)
}

/// Number of frames from one kept state to the next.
fn frames_between(n_frames: usize, frame_bytes: usize, state_bytes: usize) -> usize {
    let room = ROOM.max(n_frames.saturating_mul(frame_bytes));
    let fits = |every: usize| {
        let room = if every < MOST_FRAMES_BETWEEN { room } else { MOST_ROOM };
        (n_frames / every).saturating_mul(state_bytes) <= room
    };
    (0..usize::BITS - 1).map(|k| 1 << k).find(|&every| fits(every)).unwrap_or(1 << (usize::BITS - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_take_no_more_room_than_they_may() {
        // Short takes and small faces: a state at every frame.
        assert_eq!(frames_between(20, 120_000, 250_000), 1);
        assert_eq!(frames_between(0, 0, 0), 1);
        // A minute of a face of 9000 nodes: as much as the frames, 900 MB.
        assert_eq!(frames_between(3000, 300_000, 2_500_000), 16);
        // 200,000 nodes: at least one in 32 frames, unless states would exceed the limit.
        assert_eq!(frames_between(3000, 300_000, 55_000_000), 32);
        assert_eq!(frames_between(100_000, 30_000, 55_000_000), 1024);
    }
}
