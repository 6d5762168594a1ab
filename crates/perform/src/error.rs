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
    /// The face has no muscles.
    #[error("the face has no muscles; build it with the muscles of the built-in head")]
    NoMuscles,
    /// The face has no muscle shapes.
    #[error(
        "no shape of this face was solved for by muscles; find the activations of its shapes first (`muscle solve`, or \
         `muscle target` for tracks)"
    )]
    NoMuscleShapes,
    /// An activation is out of range.
    #[error("the activation of {muscle} is {value}; it must be from 0 (relaxed) to 1 (fully tense)")]
    Activation {
        /// The muscle.
        muscle: String,
        /// As given.
        value: f64,
    },
    /// The jaw turns flesh inside out.
    #[error(
        "the jaw cannot open by {open_deg:.1} degrees: flesh beside the joint would be turned inside out; open \
         it less, or build the face with more nodes"
    )]
    JawFolds {
        /// The opening.
        open_deg: f64,
    },
    /// The flesh with muscles could not be prepared or solved.
    #[error("the muscles cannot act: {source}")]
    Muscles {
        /// Why.
        source: SolveError,
    },
    /// A target is not of this face.
    #[error(
        "the target of {vertex} is {distance_mm:.0} mm away from the simulated skin: it is not finite, not of this \
         face, or in another unit or place"
    )]
    Target {
        /// The vertex, for people.
        vertex: String,
        /// How far its target is.
        distance_mm: f64,
    },
    /// No activations could be computed.
    #[error("activations could not be computed: {what}")]
    Activations {
        /// Why.
        what: String,
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
            Self::Activation { .. } => &["activations"],
            Self::JawFolds { .. } => &["jaw_open"],
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
