//! Progress on standard error, and cancellation by Ctrl-C.

use risorius::base::Flow;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Progress and cancellation of one run.
pub struct Session {
    shows_progress: bool,
    last_shown: Mutex<Option<Instant>>,
}

impl Session {
    /// Installs the Ctrl-C handler. The first Ctrl-C asks the job to stop cleanly, without incomplete files;
    /// the second ends the program at once.
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
