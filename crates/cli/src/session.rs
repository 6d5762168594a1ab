//! What all verbs share: reports, failures with their exit code, progress that Ctrl-C cancels.

use risorius_base::Flow;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a verb did.
pub struct Report {
    /// For programs.
    pub json: serde_json::Value,
    /// For people; ends with a new line.
    pub text: String,
}

/// Why a verb did not.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong and what to do.
    pub message: String,
    /// Exit code: 1 could not, 2 wrong call.
    pub code: u8,
}

impl Failure {
    /// The call itself makes no sense.
    pub fn wrong_call(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }

    /// The call makes sense but cannot be done.
    pub fn could_not(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::could_not(error.to_string())
    }
}

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Progress and cancellation of one run.
pub struct Session {
    shows_progress: bool,
    last_shown: Mutex<Option<Instant>>,
}

impl Session {
    /// Listens for Ctrl-C: the first asks the work to stop, so that nothing half-made is left; the second
    /// ends at once.
    pub fn start() -> Self {
        let listening = ctrlc::set_handler(|| {
            if CANCELLED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        if let Err(error) = listening {
            eprintln!("risorius: Ctrl-C will end the program at once ({error})");
        }
        Self { shows_progress: std::io::stderr().is_terminal(), last_shown: Mutex::new(None) }
    }

    /// The progress callback for library calls.
    pub fn progress(&self) -> impl Fn(&str, f32) -> Flow + Sync + '_ {
        |stage, fraction| {
            if CANCELLED.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            if self.shows_progress
                && let Ok(mut last) = self.last_shown.try_lock()
                && last.is_none_or(|t| t.elapsed() > Duration::from_millis(100))
            {
                *last = Some(Instant::now());
                let filled = (fraction.clamp(0.0, 1.0) * 30.0) as usize;
                eprint!(
                    "\r\x1b[K{stage} [{}{}] {:3.0} %",
                    "#".repeat(filled),
                    " ".repeat(30 - filled),
                    100.0 * fraction
                );
                let _ = std::io::stderr().flush();
            }
            ControlFlow::Continue(())
        }
    }

    /// Removes the progress line.
    pub fn clear_progress(&self) {
        if self.shows_progress && self.last_shown.lock().is_ok_and(|l| l.is_some()) {
            eprint!("\r\x1b[K");
        }
    }
}

/// Largest memory of this process so far in MB; 0 where the system does not tell.
pub fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(0.0, |k| k * 1024.0 / 1e6)
}
