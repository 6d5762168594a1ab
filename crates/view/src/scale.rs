//! Round numbers for axes, and the scale bar of a color map.

use crate::canvas::{Canvas, Color};
use crate::colormap::Colormap;
use crate::text::{text_height, text_width};

/// Round numbers (1, 2, 2.5 or 5 times a power of ten) from `lo` to `hi`, about `wanted` of them, with their
/// labels.
///
/// An empty range gives a single number, an unusable one none.
pub(crate) fn ticks(lo: f64, hi: f64, wanted: usize) -> Vec<(f64, String)> {
    if !lo.is_finite() || !hi.is_finite() {
        return Vec::new();
    }
    let (lo, hi) = if lo <= hi { (lo, hi) } else { (hi, lo) };
    let span = hi - lo;
    if !(span > 0.0 && span.is_finite() && span > 1e-12 * lo.abs().max(hi.abs())) {
        return vec![(lo, label(lo, 0.0))];
    }
    let raw = span / wanted.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * 0.999).unwrap_or(raw);
    if step <= 0.0 || !step.is_finite() {
        return vec![(lo, label(lo, 0.0)), (hi, label(hi, 0.0))];
    }
    let (first, last) = ((lo / step - 1e-9).ceil() as i64, (hi / step + 1e-9).floor() as i64);
    (first..=last.min(first.saturating_add(1000)))
        .map(|i| (i as f64 * step, label(i as f64 * step, step)))
        .collect()
}

/// `value` with as many digits as a scale of `step` needs.
pub(crate) fn label(value: f64, step: f64) -> String {
    let size = value.abs().max(step.abs());
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        return trimmed(&format!("{value:.2e}"));
    }
    let digits = if step > 0.0 { (1.0 - step.log10().floor()).clamp(0.0, 9.0) } else { 4.0 };
    trimmed(&format!("{value:.*}", digits as usize))
}

/// A number without the zeros at the end of its fraction.
fn trimmed(number: &str) -> String {
    let (mantissa, exponent) = number.split_once('e').map_or((number, None), |(m, e)| (m, Some(e)));
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    exponent.map_or_else(|| mantissa.to_string(), |e| format!("{mantissa}e{e}"))
}

/// Whether values lie below or above a range, so that its end colors also represent those values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Beyond {
    below: bool,
    above: bool,
}

impl Beyond {
    /// Compares `values` with `range`; NaN is ignored.
    pub fn of(values: impl Iterator<Item = f64>, range: [f32; 2]) -> Self {
        let [lo, hi] = range.map(f64::from);
        let (lo, hi) = (lo.min(hi), lo.max(hi));
        // Ends computed in another precision do not count as beyond.
        let slack = 1e-5 * (hi - lo);
        values.fold(Self::default(), |found, v| Self {
            below: found.below || v < lo - slack,
            above: found.above || v > hi + slack,
        })
    }
}

/// What a scale bar shows.
pub(crate) struct ScaleBar<'a> {
    pub colormap: Colormap,
    pub range: [f32; 2],
    /// Whether the ends of the bar also represent values beyond them.
    pub beyond: Beyond,
    pub unit: &'a str,
    pub ink: Color,
    /// Line height of its labels.
    pub size: usize,
}

impl ScaleBar<'_> {
    fn bar_width(&self) -> i64 {
        text_height(self.size) as i64
    }

    /// Labels of the bar; an end that also represents values beyond it always has a label that says so.
    fn ticks(&self, height: i64) -> Vec<(f64, String)> {
        let line = text_height(self.size) as f64;
        let wanted = (height as f64 / (3.0 * line)).floor().clamp(1.0, 8.0) as usize;
        let [lo, hi] = self.range.map(f64::from);
        let mut ticks = ticks(lo, hi, wanted);
        let (least, most) = (lo.min(hi), lo.max(hi));
        let step = (most - least) / wanted as f64;
        let spacing = 1.2 * line / (height as f64 - 2.0 * line).max(1.0) * (most - least);
        for (end, sign, says) in [(least, "<=", self.beyond.below), (most, ">=", self.beyond.above)] {
            if says && end.is_finite() {
                ticks.retain(|t| (t.0 - end).abs() > spacing);
                ticks.push((end, format!("{sign} {}", label(end, step))));
            }
        }
        ticks
    }

    /// Width in pixels that the bar needs at `height`, with its labels.
    pub fn width(&self, height: i64) -> i64 {
        let labels = self.ticks(height).iter().map(|t| text_width(self.size, &t.1)).max().unwrap_or(0) as i64;
        (self.bar_width() + 10 + labels).max(text_width(self.size, self.unit) as i64)
    }

    /// Draws the bar with its top left corner at (`x`, `y`): unit above, values to the right.
    pub fn draw(&self, canvas: &mut Canvas, x: i64, y: i64, height: i64) {
        let line = text_height(self.size) as i64;
        canvas.text(x, y, self.size, self.ink, self.unit);
        let (top, length) = (y + line + line / 2, height - 2 * line);
        if length < 2 {
            return;
        }
        let width = self.bar_width();
        for row in 0..length {
            let t = 1.0 - (row as f32 + 0.5) / length as f32;
            canvas.fill_rect(x, top + row, width, 1, self.colormap.color(t));
        }
        canvas.frame_rect(x - 1, top - 1, width + 2, length + 2, self.ink);
        let (lo, hi) = (self.range[0] as f64, self.range[1] as f64);
        for (value, text) in self.ticks(height) {
            let t = if hi == lo { 0.5 } else { (value - lo) / (hi - lo) };
            let at = top + ((1.0 - t) * (length - 1) as f64).round() as i64;
            canvas.fill_rect(x + width + 1, at, 4, 1, self.ink);
            canvas.text(x + width + 8, at - line / 2, self.size, self.ink, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_clip_say_so() {
        let labels = |range: [f32; 2], values: &[f64]| {
            let beyond = Beyond::of(values.iter().copied(), range);
            let bar =
                ScaleBar { colormap: Colormap::Sequential, range, beyond, unit: "", ink: [0; 4], size: 16 };
            bar.ticks(240).into_iter().map(|t| t.1).collect::<Vec<_>>()
        };
        assert_eq!(labels([0.0, 1.0], &[0.0, 1.0, f64::NAN]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels([0.0, 1.0], &[0.5, 1.5]), ["0", "0.2", "0.4", "0.6", "0.8", ">= 1"]);
        assert_eq!(labels([-3.0, 3.0], &[-4.0, 7.0]), ["-2", "0", "2", "<= -3", ">= 3"]);
        assert_eq!(labels([0.0, 0.93], &[2.0]), ["0", "0.2", "0.4", "0.6", "0.8", ">= 0.93"]);
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let texts = |lo, hi, n| ticks(lo, hi, n).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(texts(0.0, 1.0, 5), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(texts(-3.0, 3.0, 3), ["-2", "0", "2"]);
        assert_eq!(texts(0.0, 2.5e-6, 5), ["0", "5e-7", "1e-6", "1.5e-6", "2e-6", "2.5e-6"]);
        assert_eq!(texts(7.0, 7.0, 5), ["7"]);
        assert!(texts(f64::NAN, 1.0, 5).is_empty());
        assert!(ticks(-f64::MAX, f64::MAX, 5).len() < 20);
    }
}
