//! Errors of fitting.

use risorius_anatomy::AnatomyError;
use risorius_base::{Advise, Cancelled};
use risorius_linalg::{QpError, SparseError};

/// Why a fit could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The caller stopped the job.
    #[error("cancelled")]
    Cancelled(#[from] Cancelled),
    /// A linear system could not be solved.
    #[error("the registration cannot be solved: {0}")]
    Sparse(#[from] SparseError),
    /// A quadratic program could not be solved.
    #[error("pose and weights cannot be solved: {0}")]
    Program(#[from] QpError),
    /// The template has no usable face.
    #[error("the template cannot be used: {0}")]
    Template(String),
    /// The prior does not suit the template.
    #[error("{0}")]
    Prior(String),
    /// A scan is unusable.
    #[error("scan '{scan}': {problem}")]
    Scan {
        /// Its name.
        scan: String,
        /// What is wrong, and what to do.
        problem: String,
        /// Options that can help.
        options: &'static [&'static str],
    },
}

impl From<AnatomyError> for FitError {
    fn from(error: AnatomyError) -> Self {
        match error {
            AnatomyError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Template(other.to_string()),
        }
    }
}

impl Advise for FitError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Template(_) => &["template"],
            Self::Prior(_) => &["prior"],
            Self::Scan { options, .. } => options,
            _ => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}
