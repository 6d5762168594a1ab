//! Findings that do not prevent a result, with advice.

use serde::{Deserialize, Serialize};

/// Something the user should know; the result is usable nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl Note {
    /// A note from its two texts.
    pub fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: advice.into() }
    }
}
