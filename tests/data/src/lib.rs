//! Where tests find real heads, and how they say that they are skipped without them.
//!
//! The environment variable `RISORIUS_DATA` names the folder. What is skipped goes to standard error, and to
//! the file that `RISORIUS_SKIPS` names, a line each: `cargo xtask test` counts them at the end of a run.

use std::io::Write;
use std::path::PathBuf;

/// The folder with real heads, or `None` after saying that `what` is skipped.
pub fn folder(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os("RISORIUS_DATA").map(PathBuf::from).filter(|p| p.is_dir());
    if found.is_none() {
        skip(what, "RISORIUS_DATA does not name a folder");
    }
    // Tests run in folders of their own: a relative name is made absolute first.
    found.and_then(|folder| std::path::absolute(folder).ok())
}

/// A file or folder among the real data, or `None` after saying that it is not read.
///
/// # Panics
/// If the folder is there and the file is not.
pub fn file(path: &str) -> Option<PathBuf> {
    let file = folder(path)?.join(path);
    assert!(file.exists(), "{} is missing", file.display());
    Some(file)
}

/// Says that `what` is skipped, and why.
pub fn skip(what: &str, why: &str) {
    eprintln!("{what}: skipped, {why}");
    let Some(list) = std::env::var_os("RISORIUS_SKIPS") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
    if let Ok(mut file) = file {
        // A count that is one short does not fail a test.
        let _ = writeln!(file, "{what}: {why}");
    }
}
