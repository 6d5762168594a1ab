//! The error type of all jobs: what is wrong, where, and which options can help.

use risorius_base::Advise;
use risorius_io::IoError;
use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request itself is invalid, whatever the files contain.
    Request,
    /// The request is valid but cannot be carried out.
    Failed,
    /// The progress callback asked to stop.
    Cancelled,
}

/// Why a job failed. The message names the file, shape, vertex or line at fault and says what to do.
///
/// ```
/// use risorius::prelude::*;
///
/// let job = RenderJob { rig: "face.glb".into(), output: "movie.mp4".into(), ..RenderJob::default() };
/// let error = job.run(&no_progress).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Request);
/// // A command line shows these as flags, a page points at their controls.
/// assert_eq!(error.options(), ["clip", "take"]);
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    options: Vec<&'static str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The result of a job.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The request is invalid.
    pub fn request(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Request, message: message.into(), options: Vec::new(), source: None }
    }

    /// The request cannot be carried out.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Failed, ..Self::request(message) }
    }

    /// With the options whose change can help.
    pub fn with_options(mut self, options: &[&'static str]) -> Self {
        self.options.extend(options);
        self
    }

    /// With the name of the file in front of the message.
    pub fn in_file(self, path: &Path) -> Self {
        self.at(&path.display().to_string())
    }

    /// With a place in front of the message.
    pub fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// With more text at the end of the message.
    pub(crate) fn followed_by(mut self, more: &str) -> Self {
        self.message = format!("{}; {more}", self.message);
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Names of options of the job whose change can help.
    pub fn options(&self) -> &[&'static str] {
        &self.options
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl<E: Advise + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self {
            kind: if error.is_cancelled() { ErrorKind::Cancelled } else { ErrorKind::Failed },
            message: error.to_string(),
            options: error.options().to_vec(),
            source: Some(Box::new(error)),
        }
    }
}

/// Adds the file name to a reader's error; readers get bytes, without a name.
pub(crate) fn in_file(path: &Path) -> impl Fn(IoError) -> Error {
    move |error| match error {
        IoError::Os { .. } | IoError::Cancelled(_) => error.into(),
        other => Error::from(other).in_file(path),
    }
}
