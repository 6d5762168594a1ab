//! Finds the real heads for tests, and reports tests that are skipped without them.
//!
//! The environment variable `RISORIUS_DATA` names the folder. Each skipped check is reported on standard
//! error and as a line in the file that `RISORIUS_SKIPS` names. `cargo xtask test` counts these lines at the
//! end of a run.

use std::io::Write;
use std::path::PathBuf;

/// The folder with real heads, or `None` after reporting that `what` is skipped.
pub fn folder(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os("RISORIUS_DATA").map(PathBuf::from).filter(|p| p.is_dir());
    if found.is_none() {
        skip(what, "RISORIUS_DATA does not name a folder");
    }
    // Tests run in different folders, so a relative path is made absolute first.
    found.and_then(|folder| std::path::absolute(folder).ok())
}

/// A file or folder of the real data, or `None` after reporting that it is skipped.
///
/// # Panics
/// If the data folder exists and the file does not.
pub fn file(path: &str) -> Option<PathBuf> {
    let file = folder(path)?.join(path);
    assert!(file.exists(), "{} is missing", file.display());
    Some(file)
}

/// Reports that `what` is skipped, and why.
pub fn skip(what: &str, why: &str) {
    eprintln!("{what}: skipped, {why}");
    let Some(list) = std::env::var_os("RISORIUS_SKIPS") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
    if let Ok(mut file) = file {
        // A wrong count of skips must not fail a test.
        let _ = writeln!(file, "{what}: {why}");
    }
}
