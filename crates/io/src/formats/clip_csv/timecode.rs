//! Converts timecodes `HH:MM:SS:FF.fff` to seconds.
//!
//! The number of frames per second is derived from the file: where the seconds advance, the frame number
//! jumps back by it; failing that, a frame number of 30 or more implies 60. If neither occurs, 30 is assumed
//! and noted. A `;` before the frames means drop-frame counting (29.97 or 59.94 per second), which skips the
//! first numbers of nine minutes in ten. Times keep increasing past midnight.

use crate::formats::text::{excerpt, number};

/// Rates at which frames are numbered.
const BASES: [f64; 8] = [24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 100.0, 120.0];

/// Hours, minutes, seconds and frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timecode {
    minutes: u32,
    seconds: u32,
    frames: f64,
    drop_frame: bool,
}

/// Reads a timecode, or says what is wrong with it.
pub fn parse(text: &[u8]) -> Result<Timecode, String> {
    let bad = || format!("'{}' is not a timecode (HH:MM:SS:FF.fff)", excerpt(text));
    let pieces: Vec<&[u8]> = text.split(|&b| b == b':' || b == b';').collect();
    let [hours, minutes, seconds, frames] = pieces[..] else { return Err(bad()) };
    let whole = |piece: &[u8], below: u32| number::<u32>(piece).filter(|&n| n < below).ok_or_else(bad);
    let (hours, minutes, seconds) = (whole(hours, 24)?, whole(minutes, 60)?, whole(seconds, 60)?);
    let frames = number::<f64>(frames).filter(|f| (0.0..1000.0).contains(f)).ok_or_else(bad)?;
    Ok(Timecode { minutes: hours * 60 + minutes, seconds, frames, drop_frame: text.contains(&b';') })
}

/// Seconds since the first timecode, each with its line. `base` is the rate of frame numbers when it is
/// known.
///
/// The result does not advance or runs backwards where the timecodes do; only midnight is handled.
pub fn seconds(
    timecodes: &[(Timecode, usize)],
    base: Option<f64>,
    notes: &mut Vec<String>,
) -> Vec<(f64, usize)> {
    let base = base.or_else(|| shown_base(timecodes)).unwrap_or_else(|| {
        notes.push(
            "the timecodes do not determine the frame rate (the recording is too short); 30 is assumed, \
             give the frame rate if it is another"
                .into(),
        );
        30.0
    });
    let day = frame_number(24 * 60, 0, 0.0, base, timecodes.iter().any(|t| t.0.drop_frame));
    let mut days = 0.0;
    let mut first = None;
    let mut previous = f64::NEG_INFINITY;
    timecodes
        .iter()
        .map(|(t, line)| {
            let frame = frame_number(t.minutes, t.seconds, t.frames, base, t.drop_frame);
            // A jump back by more than half a day is midnight; a smaller one is an error in the file.
            if frame + days * day < previous - day / 2.0 {
                days += 1.0;
            }
            previous = frame + days * day;
            let elapsed = previous - *first.get_or_insert(previous);
            (elapsed / true_rate(base, t.drop_frame), *line)
        })
        .collect()
}

fn is_dropping(base: f64, drop_frame: bool) -> bool {
    drop_frame && (base == 30.0 || base == 60.0)
}

fn true_rate(base: f64, drop_frame: bool) -> f64 {
    if is_dropping(base, drop_frame) { base * 1000.0 / 1001.0 } else { base }
}

/// Frames since midnight.
fn frame_number(minutes: u32, seconds: u32, frames: f64, base: f64, drop_frame: bool) -> f64 {
    let numbered = (f64::from(minutes) * 60.0 + f64::from(seconds)) * base + frames;
    let dropped =
        if is_dropping(base, drop_frame) { base / 15.0 * f64::from(minutes - minutes / 10) } else { 0.0 };
    numbered - dropped
}

/// The rate of frame numbers, if the timecodes determine it.
fn shown_base(timecodes: &[(Timecode, usize)]) -> Option<f64> {
    let highest = timecodes.iter().map(|t| t.0.frames.floor()).fold(0.0, f64::max);
    let second = |t: &Timecode| u64::from(t.minutes) * 60 + u64::from(t.seconds);
    let pairs = || timecodes.windows(2).map(|w| (w[0].0, w[1].0));
    let step =
        median(pairs().filter(|(a, b)| second(a) == second(b)).map(|(a, b)| b.frames - a.frames).collect());
    let jumps = pairs().filter(|(a, b)| second(b) == second(a) + 1).map(|(a, b)| a.frames - b.frames);
    let base = step
        .and_then(|step| median(jumps.map(|jump| jump + step).collect()))
        .and_then(|base| BASES.into_iter().find(|b| (b - base).abs() < 0.4));
    base.or((highest >= 30.0).then_some(60.0)).filter(|&base| base > highest)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(codes: &[&str]) -> (Vec<f64>, Vec<String>) {
        let parsed: Vec<(Timecode, usize)> =
            codes.iter().enumerate().map(|(i, c)| (parse(c.as_bytes()).unwrap(), i + 2)).collect();
        let mut notes = Vec::new();
        (seconds(&parsed, None, &mut notes).into_iter().map(|s| s.0).collect(), notes)
    }

    #[test]
    fn rates_are_read_off_the_jump() {
        for base in [24u32, 25, 30, 50, 60] {
            let codes: Vec<String> = (0..2 * base)
                .map(|f| format!("10:00:{:02}:{:02}.250", 7 + (f + 3) / base, (f + 3) % base))
                .collect();
            let (times, notes) = run(&codes.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(notes.is_empty());
            assert!(
                (times[times.len() - 1] - f64::from(2 * base - 1) / f64::from(base)).abs() < 1e-9,
                "{base}"
            );
        }
    }

    #[test]
    fn short_recordings_say_what_is_assumed() {
        let (times, notes) = run(&["01:00:00:10.0", "01:00:00:11.0"]);
        assert!((times[1] - 1.0 / 30.0).abs() < 1e-12);
        assert!(notes[0].contains("30 is assumed"));
        let (times, notes) = run(&["01:00:00:41.0", "01:00:00:42.0"]);
        assert!((times[1] - 1.0 / 60.0).abs() < 1e-12 && notes.is_empty());
    }

    #[test]
    fn midnight_and_drop_frames_pass() {
        let (times, _) = run(&["23:59:59:28.0", "23:59:59:29.0", "00:00:00:00.0", "00:00:00:01.0"]);
        assert!(times.windows(2).all(|w| (w[1] - w[0] - 1.0 / 30.0).abs() < 1e-9));
        // 01:00;00 and ;01 do not exist in drop-frame counting.
        let (times, _) = run(&["00:00:59;28", "00:00:59;29", "00:01:00;02", "00:01:00;03"]);
        assert!(times.windows(2).all(|w| (w[1] - w[0] - 1001.0 / 30_000.0).abs() < 1e-9), "{times:?}");
        assert!(
            parse(b"1:2:3").is_err() && parse(b"25:00:00:00").is_err() && parse(b"00:00:00:nan").is_err()
        );
    }
}
