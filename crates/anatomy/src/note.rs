//! What was noticed on the way, with what to do about it.

use serde::{Deserialize, Serialize};

/// Something that a person should know; the result is usable all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What is the matter.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl Note {
    /// A note.
    pub fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: advice.into() }
    }
}
