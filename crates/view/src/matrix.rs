//! Draws a table of numbers as a heat map, with row and column names.

use crate::ViewError;
use crate::canvas::{Canvas, Color};
use crate::colormap::Colormap;
use crate::scale::{Beyond, ScaleBar, ticks};
use crate::text::{fitted, text_height, text_width};

const PAPER: Color = [250, 250, 248, 255];
const INK: Color = [34, 34, 36, 255];
const FAINT: Color = [34, 34, 36, 90];
/// Longest label in pixels before it is cut.
const LONGEST: usize = 260;
const INSET: i64 = 16;

/// How to draw a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixOptions {
    /// Written above.
    pub title: String,
    /// Written over the scale bar.
    pub unit: String,
    /// Values at the ends of the color map; by default from 0 to the largest, or symmetric around 0 if some
    /// are negative. If values lie beyond an end, the bar's label there says so.
    pub range: Option<[f32; 2]>,
    /// The colors; by default sequential, or diverging if some values are negative.
    pub colormap: Option<Colormap>,
    /// Number of rows or columns above which numbers at ticks replace names.
    pub most_labels: usize,
}

impl Default for MatrixOptions {
    /// Names for up to 110 rows and columns.
    fn default() -> Self {
        Self { title: String::new(), unit: String::new(), range: None, colormap: None, most_labels: 110 }
    }
}

/// Draws `values` (row after row, one row per entry of `rows`) as a heat map; values that are not finite are
/// gray.
pub fn matrix(
    rows: &[String],
    columns: &[String],
    values: &[f64],
    options: &MatrixOptions,
) -> Result<Canvas, ViewError> {
    if rows.len().checked_mul(columns.len()) != Some(values.len()) {
        return Err(ViewError::MatrixShape { rows: rows.len(), columns: columns.len(), found: values.len() });
    }
    let (range, colormap) = colors(values, options);
    let cell = cell_size(rows.len().max(columns.len()));
    let named = rows.len().max(columns.len()) <= options.most_labels;
    let size = text_size(cell);
    let longest =
        |names: &[String]| names.iter().map(|n| text_width(size, n)).max().unwrap_or(0).min(LONGEST) as i64;
    let number = text_width(size, &rows.len().max(columns.len()).to_string()) as i64 + 8;
    let (left, top) = if named {
        (longest(rows) + 6, longest(columns) + 6)
    } else {
        (number, text_height(size) as i64 + 8)
    };
    let head = if options.title.is_empty() { 0 } else { text_height(24) as i64 + INSET };
    let (x0, y0) = (INSET + left, INSET + head + top);
    let (grid_width, grid_height) = ((cell * columns.len()) as i64, (cell * rows.len()) as i64);
    let beyond = Beyond::of(values.iter().copied().filter(|v| v.is_finite()), range);
    let bar = ScaleBar { colormap, range, beyond, unit: &options.unit, ink: INK, size: 16 };
    let bar_height = grid_height.clamp(140, 460);
    let title_width = text_width(24, &options.title) as i64 + 2 * INSET;
    let width = (x0 + grid_width + 2 * INSET + bar.width(bar_height) + INSET).max(title_width);
    let mut canvas = Canvas::new(width as usize, (y0 + grid_height.max(bar_height) + INSET) as usize, PAPER)?;
    canvas.text(INSET, INSET, 24, INK, &options.title);
    for (i, &value) in values.iter().enumerate() {
        let (row, column) = (i / columns.len(), i % columns.len());
        let color = colormap.color_in(if value.is_finite() { value as f32 } else { f32::NAN }, range);
        let (x, y) = (x0 + (column * cell) as i64, y0 + (row * cell) as i64);
        canvas.fill_rect(x, y, cell as i64, cell as i64, color);
    }
    canvas.frame_rect(x0 - 1, y0 - 1, grid_width + 2, grid_height + 2, INK);
    let grid = Grid { x0, y0, cell: cell as i64, size };
    if named {
        grid.names(&mut canvas, rows, columns);
    } else {
        grid.numbers(&mut canvas, rows.len(), columns.len());
    }
    bar.draw(&mut canvas, x0 + grid_width + 2 * INSET, y0, bar_height);
    Ok(canvas)
}

fn colors(values: &[f64], options: &MatrixOptions) -> ([f32; 2], Colormap) {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (lo, hi) = finite.fold((0.0f64, 0.0f64), |(lo, hi), v| (lo.min(v), hi.max(v)));
    let signed = options.range.map_or(lo < 0.0, |r| r[0] < 0.0 && r[1] > 0.0);
    let most = hi.max(-lo) as f32;
    let range = options.range.unwrap_or(if signed { [-most, most] } else { [0.0, most] });
    (range, options.colormap.unwrap_or(if signed { Colormap::Diverging } else { Colormap::Sequential }))
}

/// Pixels on a side of a cell: large for small matrices, one for huge ones.
fn cell_size(n: usize) -> usize {
    match n {
        0..=12 => 44,
        13..=30 => 26,
        31..=60 => 17,
        61..=150 => 13,
        _ => (1600 / n).clamp(1, 12),
    }
}

fn text_size(cell: usize) -> usize {
    match cell {
        0..16 => 12,
        16..24 => 16,
        _ => 20,
    }
}

struct Grid {
    x0: i64,
    y0: i64,
    cell: i64,
    size: usize,
}

impl Grid {
    fn names(&self, canvas: &mut Canvas, rows: &[String], columns: &[String]) {
        let centered = (self.cell - text_height(self.size) as i64) / 2;
        for (i, name) in rows.iter().enumerate() {
            let text = fitted(self.size, name, LONGEST);
            let x = self.x0 - 6 - text_width(self.size, &text) as i64;
            canvas.text(x, self.y0 + i as i64 * self.cell + centered, self.size, INK, &text);
        }
        for (i, name) in columns.iter().enumerate() {
            let text = fitted(self.size, name, LONGEST);
            canvas.text_upwards(
                self.x0 + i as i64 * self.cell + centered,
                self.y0 - 6,
                self.size,
                INK,
                &text,
            );
        }
    }

    fn numbers(&self, canvas: &mut Canvas, n_rows: usize, n_columns: usize) {
        let line = text_height(self.size) as i64;
        for (value, text) in ticks(0.0, n_rows.saturating_sub(1) as f64, 8) {
            let y = self.y0 + value as i64 * self.cell + self.cell / 2;
            canvas.fill_rect(self.x0 - 5, y, 4, 1, FAINT);
            canvas.text(
                self.x0 - 7 - text_width(self.size, &text) as i64,
                y - line / 2,
                self.size,
                INK,
                &text,
            );
        }
        for (value, text) in ticks(0.0, n_columns.saturating_sub(1) as f64, 8) {
            let x = self.x0 + value as i64 * self.cell + self.cell / 2;
            canvas.fill_rect(x, self.y0 - 5, 1, 4, FAINT);
            canvas.text(
                x - text_width(self.size, &text) as i64 / 2,
                self.y0 - 6 - line,
                self.size,
                INK,
                &text,
            );
        }
    }
}
