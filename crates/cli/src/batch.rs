//! The text of batches: a line for each item that succeeded, notes once, and why others failed.

use crate::outcome::{Printed, message, with_flags};
use risorius::jobs::batch::BatchReport;
use serde::Serialize;

/// The report of a batch. `what` names its items (takes, faces); `line` describes one, and `notes` are its
/// notes.
pub fn printed<R: Serialize + 'static>(
    report: BatchReport<R>,
    what: &str,
    line: impl Fn(&R) -> String,
    notes: impl Fn(&R) -> Vec<String>,
) -> Printed {
    let n = report.items.len();
    let failed = if report.failed > 0 { format!(", {} failed", report.failed) } else { String::new() };
    let memory = memory(report.peak_mb);
    let mut text = format!("{} of {n} {what} in {:.1} s{failed}{memory}\n", report.done, report.seconds);
    let mut all: Vec<(String, usize)> = Vec::new();
    for done in report.items.iter().filter_map(|item| item.result.as_ref().ok()) {
        text += &format!("  {}\n", line(done));
        for note in notes(done) {
            match all.iter_mut().find(|(known, _)| *known == note) {
                Some((_, count)) => *count += 1,
                None => all.push((note, 1)),
            }
        }
    }
    for (note, count) in all {
        text += &format!("  note ({count} of {n}): {}\n", with_flags(&note));
    }
    for item in &report.items {
        if let Err(error) = &item.result {
            let why = message(error);
            let place = if why.contains(&item.input) { "" } else { &format!("{}: ", item.input) };
            text += &format!("  failed: {place}{why}\n");
        }
    }
    let failure = (report.failed > 0).then(|| format!("{} of {n} {what} failed", report.failed));
    Printed { failure, ..Printed::new(report, text) }
}

/// The peak memory as the end of a line; nothing if it is not known.
pub fn memory(peak_mb: f64) -> String {
    if peak_mb > 0.0 { format!(", {peak_mb:.0} MB of memory at most") } else { String::new() }
}
