//! Progress callbacks that can cancel: long work reports a stage and a fraction, and stops if the callback
//! says so.

use std::ops::ControlFlow;

/// `Continue`, or `Break` to cancel.
pub type Flow = ControlFlow<()>;

/// Called at intervals with the name of the stage and the completed fraction of it, 0 to 1.
pub type Progress<'a> = dyn Fn(&str, f32) -> Flow + Sync + 'a;

/// The caller's progress callback asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Reports to `progress` and turns its answer into a `Result` for `?`.
pub fn tick(progress: &Progress, stage: &str, fraction: f32) -> Result<(), Cancelled> {
    match progress(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Cancelled),
    }
}

/// The progress callback that reports nothing and never cancels.
pub fn no_progress(_stage: &str, _fraction: f32) -> Flow {
    ControlFlow::Continue(())
}
