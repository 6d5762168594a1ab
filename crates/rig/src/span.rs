//! A part of a clip or take, from one moment to another, both included.

use std::ops::Range;

/// A frame or a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moment {
    /// A frame, from 0.
    Frame(usize),
    /// A time in seconds.
    Secs(f64),
}

impl std::str::FromStr for Moment {
    type Err = String;

    /// `12` is a frame, `1.5s` a time.
    fn from_str(text: &str) -> Result<Self, String> {
        let advice = || format!("'{text}' is neither a frame (12) nor a time in seconds (1.5s)");
        match text.trim().strip_suffix('s') {
            Some(secs) => {
                let secs = secs.trim().parse::<f64>().ok().filter(|t| t.is_finite());
                secs.map(Self::Secs).ok_or_else(advice)
            }
            None => text.trim().parse().map(Self::Frame).map_err(|_| advice()),
        }
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Frame(frame) => write!(f, "frame {frame}"),
            Self::Secs(secs) => write!(f, "{secs} s"),
        }
    }
}

/// The first and the last moment that are used; the ends of the clip by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Span {
    /// The first moment.
    pub start: Option<Moment>,
    /// The last moment, included.
    pub end: Option<Moment>,
}

/// No frame lies within a span.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("no frame lies between {from} and {to}: there are {n_frames} frames, from {first} s to {last} s")]
pub struct EmptySpan {
    from: String,
    to: String,
    n_frames: usize,
    first: f64,
    last: f64,
}

impl risorius_base::Advise for EmptySpan {
    fn options(&self) -> &'static [&'static str] {
        &["start", "end"]
    }
}

impl Span {
    /// Whether it is everything.
    pub fn is_whole(&self) -> bool {
        self.start.is_none() && self.end.is_none()
    }

    /// The frames at `times_secs` (ascending) that lie within. Times in files are rounded, so a frame within
    /// a microsecond of an end counts.
    pub fn frames(&self, times_secs: &[f64]) -> Result<Range<usize>, EmptySpan> {
        const ROUNDED: f64 = 1e-6;
        let n = times_secs.len();
        let start = match self.start {
            None => 0,
            Some(Moment::Frame(frame)) => frame,
            Some(Moment::Secs(secs)) => times_secs.partition_point(|&t| t < secs - ROUNDED),
        };
        let end = match self.end {
            None => n,
            Some(Moment::Frame(frame)) => frame.saturating_add(1).min(n),
            Some(Moment::Secs(secs)) => times_secs.partition_point(|&t| t <= secs + ROUNDED),
        };
        if start < end {
            return Ok(start..end);
        }
        let shown = |moment: Option<Moment>, otherwise: &str| {
            moment.map_or_else(|| otherwise.to_string(), |m| m.to_string())
        };
        Err(EmptySpan {
            from: shown(self.start, "the first frame"),
            to: shown(self.end, "the last frame"),
            n_frames: n,
            first: times_secs.first().copied().unwrap_or(0.0),
            last: times_secs.last().copied().unwrap_or(0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_included() {
        let times = [0.0, 0.1f32 as f64, 0.2, 0.3];
        let frames = |start: &str, end: &str| {
            let parse = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
            Span { start: parse(start), end: parse(end) }.frames(&times)
        };
        assert_eq!(frames("", ""), Ok(0..4));
        assert_eq!(frames("1", "2"), Ok(1..3));
        assert_eq!(frames("0.1s", "0.2s"), Ok(1..3));
        assert_eq!(frames("0.15s", "99"), Ok(2..4));
        let error = frames("3", "1").unwrap_err().to_string();
        assert!(error.contains("between frame 3 and frame 1: there are 4 frames"), "{error}");
        assert!(frames("4", "").is_err() && frames("", "-1s").is_err());
        assert!("1,5s".parse::<Moment>().is_err() && "x".parse::<Moment>().is_err());
    }
}
