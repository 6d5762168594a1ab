//! Where tests find real heads.

pub mod anatomy;
pub mod flesh;
pub mod strange;
pub mod wrinkled;

use std::path::PathBuf;

/// The folder that `RISORIUS_DATA` names, or `None` after saying that the test is skipped.
pub fn data(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os("RISORIUS_DATA").map(PathBuf::from).filter(|p| p.is_dir());
    if found.is_none() {
        eprintln!("{test}: skipped, RISORIUS_DATA does not name a folder");
    }
    found
}
