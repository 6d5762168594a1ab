//! File names on the command line: endings, and errors that say which of several files is wrong.

use crate::session::Failure;
use risorius_io::IoError;
use std::path::Path;

/// The ending of a file's name in lower case, without the dot; empty when there is none.
pub fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// The ending of an output, which must be one of `known`; asked before any work is done.
pub fn expect_ending(output: &Path, known: &[&str], what: &str) -> Result<String, Failure> {
    let found = extension(output);
    if known.contains(&found.as_str()) {
        return Ok(found);
    }
    Err(Failure::wrong_call(format!(
        "'{}': {what} goes to a file ending in .{}",
        output.display(),
        known.join(", .")
    )))
}

/// Turns a reader's error into a failure that names the file; readers see bytes and know no names.
pub fn in_file(path: &Path) -> impl Fn(IoError) -> Failure {
    move |error| match error {
        IoError::Os { .. } | IoError::Cancelled(_) => error.into(),
        other => Failure::could_not(format!("{}: {other}", path.display())),
    }
}
