//! Line plots: measurements over frames, iterations or weights.

use crate::ViewError;
use crate::canvas::{Canvas, Color};
use crate::scale::ticks;
use crate::text::{fitted, text_height, text_width};

const PAPER: Color = [250, 250, 248, 255];
const INK: Color = [34, 34, 36, 255];
const FAINT: Color = [34, 34, 36, 32];
const SIZE: usize = 20;
const WIDTH: i64 = 1200;
const HEIGHT: i64 = 600;
/// Free pixels at the edges.
const EDGE: i64 = 20;
/// Colors that color-blind people can distinguish: those of [Okabe08], with a lighter orange, which is
/// otherwise confused with vermilion, and brown as an eighth.
const PENS: [Color; 8] = [
    [0, 114, 178, 255],
    [213, 94, 0, 255],
    [0, 158, 115, 255],
    [240, 190, 40, 255],
    [204, 121, 167, 255],
    [86, 180, 233, 255],
    [20, 20, 22, 255],
    [120, 60, 30, 255],
];

/// One line of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Points in order; the line is broken at points that are not finite.
    pub points: Vec<[f64; 2]>,
}

/// Draws `series` over common axes named `x_label` and `y_label`, below `title` and a legend that covers no
/// line.
pub fn lines(series: &[Series], x_label: &str, y_label: &str, title: &str) -> Result<Canvas, ViewError> {
    let mut canvas = Canvas::new(WIDTH as usize, HEIGHT as usize, PAPER)?;
    let line = text_height(SIZE) as i64;
    let (x_range, y_range) = (extent(series, 0, 0.0), from_zero(extent(series, 1, 0.05)));
    let y_ticks = ticks(y_range[0], y_range[1], 7);
    let widest = y_ticks.iter().map(|t| text_width(SIZE, &t.1)).max().unwrap_or(0) as i64;
    let left = EDGE + line + 10 + widest + 10;
    let title_bottom = EDGE + if title.is_empty() { 0 } else { text_height(24) as i64 + 8 };
    let top = legend(&mut canvas, series, left, title_bottom);
    let bottom = HEIGHT - EDGE - 2 * line - 14;
    // Room for the last label of the horizontal axis, which is centered at the end of the axis.
    let area = Area { left, top, right: WIDTH - EDGE - 30, bottom, x_range, y_range };
    canvas.text(left, EDGE, 24, INK, &fitted(24, title, (WIDTH - EDGE - left) as usize));
    area.axes(&mut canvas, &y_ticks);
    let room = (area.right - left) as usize;
    let x_text = fitted(SIZE, x_label, room);
    let x_middle = left + (area.right - left - text_width(SIZE, &x_text) as i64) / 2;
    canvas.text(x_middle, HEIGHT - EDGE - line, SIZE, INK, &x_text);
    let y_text = fitted(SIZE, y_label, (area.bottom - top) as usize);
    let y_start = area.bottom - (area.bottom - top - text_width(SIZE, &y_text) as i64) / 2;
    canvas.text_upwards(EDGE, y_start, SIZE, INK, &y_text);
    for (i, one) in series.iter().enumerate() {
        area.curve(&mut canvas, &one.points, PENS[i % PENS.len()]);
    }
    Ok(canvas)
}

/// Smallest and largest finite coordinate, with `margin` of the span added and never empty.
fn extent(series: &[Series], axis: usize, margin: f64) -> [f64; 2] {
    let points = series.iter().flat_map(|s| &s.points).filter(|p| p[0].is_finite() && p[1].is_finite());
    let (lo, hi) = points.fold((f64::MAX, f64::MIN), |(lo, hi), p| (lo.min(p[axis]), hi.max(p[axis])));
    if lo > hi {
        return [0.0, 1.0];
    }
    let span = hi - lo;
    // If all values are 0, the axis starts at 0.
    let beside = if lo == 0.0 { [0.0, 1.0] } else { [lo - 0.5, hi + 0.5] };
    let wide = [if lo == 0.0 { 0.0 } else { lo - margin * span }, hi + margin * span];
    if span > 1e-12 * lo.abs().max(hi.abs()) { wide } else { beside }
}

/// Extends the range to begin at 0, so that heights can be compared, unless that costs half of the picture.
fn from_zero([lo, hi]: [f64; 2]) -> [f64; 2] {
    if lo < 0.5 * hi && (lo >= 0.0 || -lo < 0.06 * hi) { [0.0, hi] } else { [lo, hi] }
}

/// Draws names and colors in rows from (`x`, `y`); returns the row where they end.
fn legend(canvas: &mut Canvas, series: &[Series], x: i64, y: i64) -> i64 {
    const SWATCH: i64 = 34;
    let line = text_height(SIZE) as i64 + 4;
    let (mut at, mut row) = (x, y);
    let named = series.iter().enumerate().filter(|(_, s)| !s.name.is_empty()).take(24);
    for (i, one) in named {
        let text = fitted(SIZE, &one.name, 480);
        let width = SWATCH + 8 + text_width(SIZE, &text) as i64;
        if at > x && at + width > WIDTH - EDGE {
            (at, row) = (x, row + line);
        }
        canvas.fill_rect(at, row + line / 2 - 2, SWATCH, 4, PENS[i % PENS.len()]);
        canvas.text(at + SWATCH + 8, row, SIZE, INK, &text);
        at += width + 32;
    }
    row + if at > x { line + 10 } else { 10 }
}

struct Area {
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
    x_range: [f64; 2],
    y_range: [f64; 2],
}

impl Area {
    fn place(&self, p: [f64; 2]) -> [f32; 2] {
        // Halved first, since the span of the largest floats would overflow.
        let part = |v: f64, r: [f64; 2]| (0.5 * v - 0.5 * r[0]) / (0.5 * r[1] - 0.5 * r[0]);
        let x = self.left as f64 + part(p[0], self.x_range) * (self.right - self.left) as f64;
        let y = self.bottom as f64 - part(p[1], self.y_range) * (self.bottom - self.top) as f64;
        [x as f32, y as f32]
    }

    fn axes(&self, canvas: &mut Canvas, y_ticks: &[(f64, String)]) {
        let line = text_height(SIZE) as i64;
        for (value, text) in ticks(self.x_range[0], self.x_range[1], 9) {
            let x = self.place([value, self.y_range[0]])[0] as i64;
            canvas.fill_rect(x, self.top, 1, self.bottom - self.top, FAINT);
            canvas.fill_rect(x, self.bottom, 1, 5, INK);
            canvas.text(x - text_width(SIZE, &text) as i64 / 2, self.bottom + 7, SIZE, INK, &text);
        }
        for (value, text) in y_ticks {
            let y = self.place([self.x_range[0], *value])[1] as i64;
            canvas.fill_rect(self.left, y, self.right - self.left, 1, FAINT);
            canvas.fill_rect(self.left - 5, y, 5, 1, INK);
            canvas.text(self.left - 8 - text_width(SIZE, text) as i64, y - line / 2, SIZE, INK, text);
        }
        canvas.fill_rect(self.left, self.top, 1, self.bottom - self.top, INK);
        canvas.fill_rect(self.left, self.bottom, self.right - self.left, 1, INK);
    }

    fn curve(&self, canvas: &mut Canvas, points: &[[f64; 2]], pen: Color) {
        let finite = |p: &[f64; 2]| p[0].is_finite() && p[1].is_finite();
        for run in points.split(|p| !finite(p)) {
            if let [single] = run {
                canvas.disc(self.place(*single), 3.5, pen);
            }
            for pair in run.windows(2) {
                canvas.line(self.place(pair[0]), self.place(pair[1]), 2.4, pen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE Lab of a color as perceived with all cones, without red cones or without green cones: the matrices
    /// of [Machado09, tab. 1] for a severity of 1, on linear light.
    fn seen(color: Color, cones: usize) -> [f64; 3] {
        const ALL: [[[f64; 3]; 3]; 3] = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ];
        const XYZ: [[f64; 3]; 3] =
            [[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0178, 0.1095, 0.8727]];
        let times = |m: [[f64; 3]; 3], v: [f64; 3]| m.map(|row| (0..3).map(|k| row[k] * v[k]).sum::<f64>());
        let linear = [0, 1, 2].map(|k| {
            let c = f64::from(color[k]) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        let [x, y, z] = times(XYZ, times(ALL[cones], linear).map(|c| c.clamp(0.0, 1.0)))
            .map(|t| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn pens_stay_apart_for_color_blind_people() {
        for cones in 0..3 {
            for (i, &pen) in PENS.iter().enumerate() {
                for (j, &other) in PENS[..i].iter().enumerate() {
                    let (a, b) = (seen(pen, cones), seen(other, cones));
                    let apart = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
                    // A distance of 2 is just noticeable; most plots have up to four lines.
                    let least = if i < 4 { 24.0 } else { 17.0 };
                    assert!(apart > least, "pens {i} and {j} are {apart:.1} apart, way of seeing {cones}");
                }
            }
        }
    }

    #[test]
    fn heights_begin_at_zero_where_that_is_cheap() {
        assert_eq!(from_zero([-0.05, 1.05]), [0.0, 1.05]);
        assert_eq!(from_zero([0.2, 1.0]), [0.0, 1.0]);
        assert_eq!(from_zero([0.8, 1.0]), [0.8, 1.0]);
        assert_eq!(from_zero([-0.5, 1.0]), [-0.5, 1.0]);
        let flat = Series { name: String::new(), points: vec![[0.0, 0.0], [1.0, 0.0]] };
        assert_eq!(extent(&[flat], 1, 0.05), [0.0, 1.0]);
    }

    #[test]
    fn the_legend_covers_no_line() {
        let series: Vec<Series> = (0..7)
            .map(|i| Series {
                name: format!("a run with a rather long name {i}"),
                points: vec![[0.0, i as f64]],
            })
            .collect();
        let mut canvas = Canvas::new(WIDTH as usize, HEIGHT as usize, PAPER).unwrap();
        let end = legend(&mut canvas, &series, 80, 50);
        let inked = |y: i64| (0..WIDTH as usize).any(|x| canvas.get(x, y as usize) != Some(PAPER));
        assert!((end..HEIGHT).all(|y| !inked(y)) && inked(60), "ends at {end}");
        assert!(
            (0..HEIGHT as usize).all(|y| canvas.get(WIDTH as usize - 1, y) == Some(PAPER)),
            "cut at the right"
        );
        for (i, pen) in PENS.iter().enumerate().take(7) {
            assert!(canvas.pixels.contains(pen), "line {i} is not in the legend");
        }
    }
}
