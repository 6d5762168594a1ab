//! Progress that can cancel: long work calls back with a stage and a fraction, and stops when told to.

use std::ops::ControlFlow;

/// `Continue` to go on, `Break` to cancel.
pub type Flow = ControlFlow<()>;

/// Called now and then with the name of the stage and the fraction of it that is done, 0 to 1.
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
