//! Line plots: measurements over frames, iterations or weights.

use crate::ViewError;
use crate::canvas::{Canvas, Color};
use crate::scale::ticks;
use crate::text::{fitted, text_height, text_width};

const PAPER: Color = [250, 250, 248, 255];
const INK: Color = [34, 34, 36, 255];
const FAINT: Color = [34, 34, 36, 32];
const SIZE: usize = 16;
const WIDTH: i64 = 960;
const HEIGHT: i64 = 560;
/// Colors that are told apart by lightness as well as by hue.
const PENS: [Color; 8] = [
    [31, 87, 164, 255],
    [206, 78, 36, 255],
    [42, 138, 92, 255],
    [122, 66, 156, 255],
    [196, 148, 20, 255],
    [70, 70, 76, 255],
    [190, 52, 110, 255],
    [56, 158, 178, 255],
];

/// One line of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Points in order; the line is broken at points that are not finite.
    pub points: Vec<[f64; 2]>,
}

/// Draws `series` over common axes named `x_label` and `y_label`, under `title`.
pub fn lines(series: &[Series], x_label: &str, y_label: &str, title: &str) -> Result<Canvas, ViewError> {
    let mut canvas = Canvas::new(WIDTH as usize, HEIGHT as usize, PAPER)?;
    let line = text_height(SIZE) as i64;
    let (x_range, y_range) = (extent(series, 0, 0.0), extent(series, 1, 0.05));
    let y_ticks = ticks(y_range[0], y_range[1], 7);
    let widest = y_ticks.iter().map(|t| text_width(SIZE, &t.1)).max().unwrap_or(0) as i64;
    let left = 16 + line + 8 + widest + 8;
    let top = 16 + if title.is_empty() { 0 } else { text_height(24) as i64 + 8 };
    let area = Area { left, top, right: WIDTH - 24, bottom: HEIGHT - 16 - 2 * line - 12, x_range, y_range };
    canvas.text(16, 12, 24, INK, &fitted(24, title, (WIDTH - 32) as usize));
    area.axes(&mut canvas, &y_ticks);
    let room = (area.right - left) as usize;
    let x_text = fitted(SIZE, x_label, room);
    let x_middle = left + (area.right - left - text_width(SIZE, &x_text) as i64) / 2;
    canvas.text(x_middle, HEIGHT - 12 - line, SIZE, INK, &x_text);
    let y_text = fitted(SIZE, y_label, (area.bottom - top) as usize);
    let y_start = area.bottom - (area.bottom - top - text_width(SIZE, &y_text) as i64) / 2;
    canvas.text_upwards(14, y_start, SIZE, INK, &y_text);
    for (i, one) in series.iter().enumerate() {
        area.curve(&mut canvas, &one.points, PENS[i % PENS.len()]);
    }
    area.legend(&mut canvas, series);
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
    if span > 1e-12 * lo.abs().max(hi.abs()) { [lo - margin * span, hi + margin * span] } else { [lo - 0.5, hi + 0.5] }
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
        // Halves first: the span of the largest numbers is not a number.
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
                canvas.disc(self.place(*single), 2.5, pen);
            }
            for pair in run.windows(2) {
                canvas.line(self.place(pair[0]), self.place(pair[1]), 1.8, pen);
            }
        }
    }

    fn legend(&self, canvas: &mut Canvas, series: &[Series]) {
        let named: Vec<(usize, &Series)> =
            series.iter().enumerate().filter(|(_, s)| !s.name.is_empty()).take(24).collect();
        let line = text_height(SIZE) as i64 + 2;
        let widest = named.iter().map(|(_, s)| text_width(SIZE, &s.name)).max().unwrap_or(0).min(320) as i64;
        if named.is_empty() {
            return;
        }
        let (x, y) = (self.right - widest - 52, self.top + 8);
        canvas.fill_rect(x, y, widest + 44, named.len() as i64 * line + 8, [250, 250, 248, 225]);
        for (row, (i, one)) in named.iter().enumerate() {
            let middle = y + 4 + row as i64 * line + line / 2;
            canvas.fill_rect(x + 6, middle - 1, 22, 3, PENS[i % PENS.len()]);
            canvas.text(x + 34, middle - line / 2, SIZE, INK, &fitted(SIZE, &one.name, 320));
        }
    }
}
