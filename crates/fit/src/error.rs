//! Errors of fitting.

/// Why a fit could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The caller stopped the job.
    #[error("cancelled")]
    Cancelled(#[from] risorius_base::Cancelled),
}
