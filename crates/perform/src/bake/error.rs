//! Why correctives could not be made, and which options can help.

use super::plan::{MOST_SAMPLES, Skipped};
use crate::error::PerformError;
use risorius_base::{Advise, Cancelled};

/// Why correctives could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BakeError {
    /// Pairs need two sliders.
    #[error(
        "{found} sliders are left to bake; correctives of pairs need two or more that move flesh: name them, or \
         give a face with more shapes"
    )]
    TooFewSliders {
        /// Sliders that can be baked.
        found: usize,
    },
    /// A slider that was asked for does nothing.
    #[error("slider '{slider}' moves no flesh, so there is nothing to correct; leave it out")]
    NoFlesh {
        /// Its name.
        slider: String,
    },
    /// No pair can need a correction.
    #[error(
        "none of the pairs of {sliders} sliders can need a correction: {} move nothing in common, {} are multiples \
         of one another, {} are opposite; choose other sliders, or take all pairs",
        skipped.apart, skipped.twins, skipped.opposite
    )]
    NoPairs {
        /// Sliders.
        sliders: usize,
        /// Why pairs were left out.
        skipped: Skipped,
    },
    /// The plan is too large.
    #[error("{pairs} pairs need {n} samples, more than {MOST_SAMPLES}; name the sliders that matter")]
    TooManySamples {
        /// Samples.
        n: usize,
        /// Pairs.
        pairs: usize,
    },
    /// A number is out of range.
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
    /// The least squares problem has no solution.
    #[error(
        "the samples do not determine the shapes of sliders: too many are missing; keep the artist's shapes"
    )]
    Singular,
    /// The neutral could not be simulated, or too many samples.
    #[error(
        "{failed} of {of} samples could not be simulated, the first of them {number} ({weights}): {problem}; leave \
         out one of these sliders, or simulate without contact"
    )]
    Samples {
        /// How many failed.
        failed: usize,
        /// Of how many.
        of: usize,
        /// The first that failed.
        number: usize,
        /// Its sliders and values.
        weights: String,
        /// Why.
        problem: String,
    },
    /// The simulation could not begin.
    #[error(transparent)]
    Perform(PerformError),
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Advise for BakeError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::TooFewSliders { .. } | Self::NoFlesh { .. } | Self::TooManySamples { .. } => &["shapes"],
            Self::NoPairs { .. } => &["shapes", "pairs"],
            Self::Samples { .. } => &["shapes", "contact"],
            Self::Option { option, .. } => option,
            Self::Perform(error) => error.options(),
            Self::Singular => &["keep"],
            Self::Cancelled(_) => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}
