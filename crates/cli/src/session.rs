//! Progress on standard error, and cancellation by Ctrl-C or a request to terminate.

use crate::progress::{Display, Shown};
use risorius::base::Flow;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Progress and cancellation of one run.
pub struct Session {
    start: Instant,
    display: Mutex<Display>,
}

impl Session {
    /// Installs the handler of Ctrl-C, SIGTERM and SIGHUP. The first asks the job to stop cleanly, without
    /// incomplete files; the second ends the program at once. Progress is a bar on a terminal and lines
    /// otherwise, unless the run is `quiet`.
    pub fn start(quiet: bool) -> Self {
        let listening = ctrlc::set_handler(|| {
            if CANCELLED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        if let Err(error) = listening {
            eprintln!("risorius: Ctrl-C will end the program at once ({error})");
        }
        let shown = match std::io::stderr().is_terminal() {
            _ if quiet => Shown::No,
            true => Shown::Bar,
            false => Shown::Lines,
        };
        Self { start: Instant::now(), display: Mutex::new(Display::new(shown)) }
    }

    /// The progress callback for library calls.
    pub fn progress(&self) -> impl Fn(&str, f32) -> Flow + Sync + '_ {
        |stage, fraction| {
            if CANCELLED.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            // Another thread is printing: its report is as good as this one.
            if let Ok(mut display) = self.display.try_lock()
                && let Some(text) = display.update(self.start.elapsed().as_secs_f64(), stage, fraction)
            {
                print(&text);
            }
            ControlFlow::Continue(())
        }
    }

    /// Removes the progress bar.
    pub fn clear_progress(&self) {
        if let Ok(display) = self.display.lock() {
            print(display.clear());
        }
    }
}

/// Prints to standard error; nothing can be done if that is closed.
fn print(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
