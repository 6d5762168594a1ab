//! The output of verbs: reports, and failures with their exit code and the flags that can help.

use risorius::{Error, ErrorKind};
use serde::Serialize;
use std::io::Write;

/// Writes something.
pub type Print = dyn Fn(&mut dyn Write) -> std::io::Result<()>;

/// The report of a verb.
pub struct Printed {
    /// Writes it as JSON. Reports of long takes are large, so that this is done only if it is asked for.
    pub json: Box<Print>,
    /// As text, ending with a newline.
    pub text: String,
    /// What failed although there is a report; the exit code is 1 then.
    pub failure: Option<String>,
}

impl Printed {
    /// From a serializable report and its text.
    pub fn new(report: impl Serialize + 'static, text: String) -> Self {
        let json = move |out: &mut dyn Write| Ok(serde_json::to_writer(out, &report)?);
        Self { json: Box::new(json), text, failure: None }
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
    fn from(error: Error) -> Self {
        Self { message: message(&error), code: if error.kind() == ErrorKind::Request { 2 } else { 1 } }
    }
}

/// The message of an error. The library names options; here they are turned into flags.
pub fn message(error: &Error) -> String {
    let flags: Vec<String> = error.options().iter().map(|o| format!("--{}", o.replace('_', "-"))).collect();
    match flags.is_empty() {
        true => error.to_string(),
        false => format!("{error} (see {})", flags.join(", ")),
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
