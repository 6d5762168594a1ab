//! The output of verbs: reports, and failures with their exit code and the flags that can help.

use risorius::{Error, ErrorKind};
use serde::Serialize;
use serde_json::Value;

/// The report of a verb.
pub struct Printed {
    /// For `--json`.
    pub json: Value,
    /// As text, ending with a newline.
    pub text: String,
}

impl Printed {
    /// From a serializable report and its text.
    pub fn new(report: &impl Serialize, text: String) -> Result<Self, Failure> {
        let json = serde_json::to_value(report).map_err(|e| Failure { message: e.to_string(), code: 1 })?;
        Ok(Self { json, text })
    }
}

/// Why a verb failed.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong and what to do.
    pub message: String,
    /// Exit code: 1 failure, 2 wrong call.
    pub code: u8,
}

impl Failure {
    /// The call itself is wrong.
    pub fn wrong_call(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }
}

impl From<Error> for Failure {
    /// The library names options; here they are turned into flags.
    fn from(error: Error) -> Self {
        let flags: Vec<String> =
            error.options().iter().map(|o| format!("--{}", o.replace('_', "-"))).collect();
        let message = match flags.is_empty() {
            true => error.to_string(),
            false => format!("{error} (see {})", flags.join(", ")),
        };
        Self { message, code: if error.kind() == ErrorKind::Request { 2 } else { 1 } }
    }
}

/// A line for each note.
pub fn notes_text(notes: &[String]) -> String {
    notes.iter().map(|note| format!("  note: {}\n", with_flags(note))).collect()
}

/// The first names of a list, and how many more there are.
pub fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

/// Options that notes of the library name in backticks.
const NAMED: [&str; 11] = [
    "camera",
    "fps",
    "free",
    "head_unit",
    "map_kind",
    "neutral",
    "overshoot",
    "resume",
    "set",
    "space",
    "whole",
];

/// A note with its option names as flags.
pub fn with_flags(note: &str) -> String {
    let flag = |text: String, name: &&str| {
        text.replace(&format!("`{name}`"), &format!("--{}", name.replace('_', "-")))
    };
    NAMED.iter().fold(note.to_string(), flag)
}
