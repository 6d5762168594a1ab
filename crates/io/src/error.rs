//! The error type of this crate: which file, where in it, what is wrong, what to do.

use std::path::PathBuf;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// The operating system reported an error.
    #[error("{path}: {source}", path = path.display())]
    Os {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The content breaks the rules of its format.
    #[error("{format}: {place}: {problem}")]
    Malformed {
        /// Name of the format, e.g. `glTF`.
        format: &'static str,
        /// Line, byte, accessor, column ...
        place: String,
        /// What is wrong and, where possible, what to do.
        problem: String,
    },
    /// The file leaves something open that the caller has to say.
    #[error("{format}: {place}: {problem}")]
    Asks {
        /// Name of the format.
        format: &'static str,
        /// Line, column, folder ...
        place: String,
        /// What is open and what to do.
        problem: String,
        /// The options that say it.
        options: &'static [&'static str],
    },
    /// The content is valid but uses an unsupported feature.
    #[error("{format}: {feature} is not supported; {advice}")]
    Unsupported {
        /// Name of the format.
        format: &'static str,
        /// What the file uses.
        feature: String,
        /// What the user can do.
        advice: String,
    },
    /// A count in the file is larger than any face needs.
    #[error("{format}: {what} is {count}, more than the {limit} that are read; is the file damaged?")]
    TooLarge {
        /// Name of the format.
        format: &'static str,
        /// What is counted.
        what: String,
        /// The count in the file.
        count: u64,
        /// The largest count that is read.
        limit: u64,
    },
    /// A file written by hand has problems in several places.
    #[error("{what} has {} problems:\n- {}", problems.len(), problems.join("\n- "))]
    Problems {
        /// Description of the file, for the message.
        what: &'static str,
        /// Every problem, with advice.
        problems: Vec<String>,
    },
    /// An invalid clip or head motion.
    #[error(transparent)]
    Clip(#[from] risorius_rig::clip::ClipError),
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] risorius_base::Cancelled),
}

impl IoError {
    /// A [`IoError::Malformed`].
    pub fn malformed(format: &'static str, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Malformed { format, place: place.into(), problem: problem.into() }
    }

    /// A [`IoError::Asks`].
    pub fn asks(
        format: &'static str,
        place: impl Into<String>,
        problem: impl Into<String>,
        options: &'static [&'static str],
    ) -> Self {
        Self::Asks { format, place: place.into(), problem: problem.into(), options }
    }
}

/// Largest number of vertices of one part, and of faces: ten times the largest scans that are animated.
pub const MAX_VERTICES: u64 = 50_000_000;

/// Largest number of shapes of a rig.
pub const MAX_SHAPES: u64 = 4_000_000;

/// Rejects a `count` above `limit`.
pub(crate) fn check_count(format: &'static str, what: &str, count: u64, limit: u64) -> Result<(), IoError> {
    if count > limit {
        return Err(IoError::TooLarge { format, what: what.into(), count, limit });
    }
    Ok(())
}

impl risorius_base::Advise for IoError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Asks { options, .. } => options,
            Self::Clip(error) => error.options(),
            _ => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}
