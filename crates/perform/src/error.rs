//! Why a performance ended early, and which options can help.

use risorius_base::{Advise, Cancelled};
use risorius_solve::SolveError;

/// Why a performance ended early; frames already passed to the sink are valid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PerformError {
    /// Weights do not fit the face.
    #[error("{got} weights for {frames} frames of {sliders} sliders")]
    Weights {
        /// Given.
        got: usize,
        /// Frames.
        frames: usize,
        /// Sliders of the face.
        sliders: usize,
    },
    /// An option is out of range.
    #[error("{what} is {value}; it must be {wanted}")]
    Option {
        /// Which.
        what: &'static str,
        /// Its name in the options of a job.
        option: &'static [&'static str],
        /// As given.
        value: f64,
        /// The valid range.
        wanted: &'static str,
    },
    /// Something in the scene is invalid.
    #[error("the scene: {what}")]
    Scene {
        /// The problem, and what to do.
        what: String,
    },
    /// A rest volume could not be made.
    #[error("frame {frame}: no rest volume: {source}; are slider values out of range?")]
    Rest {
        /// Frame of the clip.
        frame: usize,
        /// Why.
        source: SolveError,
    },
    /// A step failed, and halving it did not help.
    #[error(
        "frame {frame} (at {time_secs:.4} s) could not be solved: {source}; try a smaller time step or a smoother motion"
    )]
    Step {
        /// Frame of the clip.
        frame: usize,
        /// Its time.
        time_secs: f64,
        /// Why.
        source: SolveError,
    },
    /// A checkpoint belongs to another face.
    #[error("the checkpoint after frame {frame} does not fit: {source}; start again from the first frame")]
    Checkpoint {
        /// The frame after which it was made.
        frame: usize,
        /// Why.
        source: SolveError,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Advise for PerformError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Step { .. } => &["dt", "smooth_head"],
            Self::Option { option, .. } => option,
            _ => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}

/// The error of a failed step, with its frame.
pub(crate) fn step_error(frame: usize, time_secs: f64, source: SolveError) -> PerformError {
    match source {
        SolveError::Cancelled(cancelled) => PerformError::Cancelled(cancelled),
        source => PerformError::Step { frame, time_secs, source },
    }
}
