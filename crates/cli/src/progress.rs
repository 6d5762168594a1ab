//! What people see of a long job: one bar with an estimate of the time left, or lines in a log.
//!
//! The estimate of the time left assumes that the rest goes as fast as what is done so far. From the middle
//! of the job on only the later half of the time counts: shares of stages are only roughly known. Times are
//! passed in, in seconds since the start.

/// Characters of the bar, and most characters of the name of a stage.
const BAR: usize = 28;
const STAGE: usize = 28;
/// Time between two drawings of the bar.
const REDRAW_SECS: f64 = 0.1;
/// Least time between two lines; and the time after which there is one although little has changed.
const LINE_SECS: f64 = 5.0;
const LATEST_LINE_SECS: f64 = 60.0;
/// Progress that is worth a line.
const LINE_FRACTION: f32 = 0.1;
/// Before this time and fraction, nothing is said about the time left.
const GUESS_SECS: f64 = 2.0;
const GUESS_FRACTION: f32 = 0.02;

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A bar that is drawn again and again on one line of a terminal.
    Bar,
    /// A line now and then, for files and pipes.
    Lines,
    /// Nowhere.
    No,
}

/// Progress so far.
pub struct Display {
    shown: Shown,
    /// Time and fraction of what was shown last.
    last: Option<(f64, f32)>,
    /// Times and fractions, at most two per second.
    history: Vec<(f64, f32)>,
}

impl Display {
    /// Nothing done yet.
    pub fn new(shown: Shown) -> Self {
        Self { shown, last: None, history: vec![(0.0, 0.0)] }
    }

    /// Takes a report, and returns the text to print for it, if any.
    pub fn update(&mut self, now_secs: f64, stage: &str, fraction: f32) -> Option<String> {
        let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        if self.history.last().is_none_or(|h| now_secs - h.0 >= 0.5) {
            self.history.push((now_secs, fraction));
        }
        let (since, advanced) = self.last.map_or((now_secs, fraction), |l| (now_secs - l.0, fraction - l.1));
        let is_due = match self.shown {
            Shown::Bar => self.last.is_none() || since >= REDRAW_SECS,
            Shown::Lines => {
                since >= LATEST_LINE_SECS
                    || since >= LINE_SECS && (advanced >= LINE_FRACTION || self.last.is_none())
            }
            Shown::No => false,
        };
        if !is_due {
            return None;
        }
        self.last = Some((now_secs, fraction));
        let percent = (100.0 * fraction).floor();
        let left = self.secs_left(now_secs, fraction).map(|s| format!("about {} left", duration(s)));
        Some(match self.shown {
            Shown::Bar => {
                let filled = (fraction * BAR as f32) as usize;
                let (done, open) = ("#".repeat(filled), " ".repeat(BAR - filled));
                let stage: String = stage.chars().take(STAGE).collect();
                format!("\r\x1b[K[{done}{open}] {percent:3.0} %  {stage}  {}", left.unwrap_or_default())
            }
            _ => {
                let left = left.map(|l| format!(", {l}")).unwrap_or_default();
                format!("risorius: {percent:.0} %, {stage}{left}\n")
            }
        })
    }

    /// What removes the bar from the terminal.
    pub fn clear(&self) -> &'static str {
        if self.shown == Shown::Bar && self.last.is_some() { "\r\x1b[K" } else { "" }
    }

    fn secs_left(&self, now_secs: f64, fraction: f32) -> Option<f64> {
        if now_secs < GUESS_SECS || fraction < GUESS_FRACTION {
            return None;
        }
        let halfway = self.history.partition_point(|h| h.0 <= 0.5 * now_secs).saturating_sub(1);
        let (then, before) = self.history[halfway];
        let lately = f64::from(fraction - before) / (now_secs - then).max(1e-3);
        let overall = f64::from(fraction) / now_secs;
        let weight = f64::from(2.0 * fraction).min(1.0);
        let rate = (lately * weight + overall * (1.0 - weight)).max(0.02 * overall);
        Some((1.0 - f64::from(fraction)) / rate)
    }
}

/// A duration as people say it.
fn duration(secs: f64) -> String {
    match secs {
        s if s < 10.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 90.0 => format!("{:.0} s", (s / 5.0).round() * 5.0),
        s if s < 3600.0 * 1.5 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_one_bar_with_the_time_left() {
        let mut display = Display::new(Shown::Bar);
        let first = display.update(0.0, "reading", 0.0).unwrap();
        assert!(first.starts_with("\r\x1b[K[ ") && first.contains("  0 %  reading"), "{first:?}");
        assert!(!first.contains("left") && !first.contains('\n'));
        assert_eq!(display.update(0.05, "reading", 0.01), None, "too soon");
        for i in 1..=100 {
            display.update(0.2 * f64::from(i), "frames", 0.25 * i as f32 / 100.0);
        }
        let text = display.update(20.2, "frames", 0.25).unwrap();
        assert!(text.contains(" 25 %  frames  about 60 s left"), "{text:?}");
        assert_eq!(text.matches('#').count(), BAR / 4);
        assert_eq!(display.clear(), "\r\x1b[K");
        assert!(display.update(21.0, &"long".repeat(50), f32::NAN).unwrap().len() < 110);
    }

    #[test]
    fn a_log_gets_a_line_every_few_seconds_and_short_jobs_none() {
        let mut display = Display::new(Shown::Lines);
        let mut lines = Vec::new();
        for i in 0..=1000 {
            lines.extend(display.update(0.1 * f64::from(i), "frames", i as f32 / 1000.0));
        }
        assert_eq!(lines.len(), 10, "{lines:?}");
        assert_eq!(lines[0], "risorius: 5 %, frames, about 2 min left\n");
        assert!(lines.iter().all(|l| l.ends_with('\n') && !l.contains('\x1b')), "{lines:?}");
        assert_eq!(display.clear(), "");
        let mut short = Display::new(Shown::Lines);
        assert!((0..40).all(|i| short.update(0.1 * f64::from(i), "frames", i as f32 / 40.0).is_none()));
        let mut stuck = Display::new(Shown::Lines);
        let n = (0..3000).filter_map(|i| stuck.update(0.1 * f64::from(i), "frames", 0.3)).count();
        assert_eq!(n, 5, "a line a minute although nothing advances");
        let mut quiet = Display::new(Shown::No);
        assert!((0..100).all(|i| quiet.update(f64::from(i), "frames", i as f32 / 100.0).is_none()));
    }

    #[test]
    fn the_estimate_follows_a_change_of_speed() {
        let mut display = Display::new(Shown::Bar);
        for i in 0..100 {
            display.update(0.1 * f64::from(i), "fast", 0.05 * i as f32 / 100.0 * 10.0);
        }
        // Half is done after 10 s; then a fiftieth of that speed.
        for i in 0..500 {
            display.update(10.0 + 0.1 * f64::from(i), "slow", 0.5 + 0.05 * i as f32 / 500.0);
        }
        let left = display.secs_left(60.0, 0.55).unwrap();
        assert!((400.0..500.0).contains(&left), "0.45 at 0.001 a second take 450 s: {left}");
        // A slow start says little: 4 % at once, then nothing for a while.
        let mut display = Display::new(Shown::Bar);
        (0..100).for_each(|i| drop(display.update(0.1 * f64::from(i), "slow", 0.04)));
        let left = display.secs_left(10.0, 0.04).unwrap();
        assert!((200.0..400.0).contains(&left), "{left}");
    }
}
