//! Contact sheets: pictures in a grid, each with its label below.

use crate::ViewError;
use crate::canvas::{Canvas, Color};
use crate::text::{fitted, text_height, text_width, wrapped};

const PAPER: Color = [30, 31, 33, 255];
const INK: Color = [232, 232, 230, 255];
const GAP: usize = 8;

/// Lays `cells` out in rows of `columns` (0 counts as 1), each with its label, under `title` (empty: none).
///
/// Cells may differ in size; all get the room of the largest. Labels too long for a line take two. A sheet
/// larger than a canvas may be is refused.
pub fn sheet(cells: &[(Canvas, String)], columns: usize, title: &str) -> Result<Canvas, ViewError> {
    let columns = columns.clamp(1, cells.len().max(1));
    let rows = cells.len().div_ceil(columns);
    let cell_width = cells.iter().map(|c| c.0.width).max().unwrap_or(1);
    let cell_height = cells.iter().map(|c| c.0.height).max().unwrap_or(1);
    let size = if cell_width >= 420 { 20 } else { 16 };
    let texts: Vec<Vec<String>> = cells.iter().map(|c| wrapped(size, &c.1, cell_width)).collect();
    let lines = texts.iter().map(Vec::len).max().unwrap_or(1);
    let label = if cells.iter().any(|c| !c.1.is_empty()) { lines * text_height(size) + 6 } else { 0 };
    let head = if title.is_empty() { 0 } else { text_height(24) + 2 * GAP };
    let least = if title.is_empty() { 1 } else { text_width(24, title).min(1600) + 2 * GAP };
    let width = (GAP + columns * (cell_width + GAP)).max(least);
    let height = head + GAP + rows * (cell_height + label + GAP);
    let mut canvas = Canvas::new(width, height, PAPER)?;
    canvas.text(GAP as i64 + 2, GAP as i64, 24, INK, &fitted(24, title, width - 2 * GAP));
    for (i, ((picture, _), text)) in cells.iter().zip(&texts).enumerate() {
        let x = GAP + (i % columns) * (cell_width + GAP);
        let y = head + GAP + (i / columns) * (cell_height + label + GAP);
        let inset = ((cell_width - picture.width) / 2, (cell_height - picture.height) / 2);
        canvas.blit(picture, (x + inset.0) as i64, (y + inset.1) as i64);
        for (row, line) in text.iter().enumerate() {
            let centered = x + (cell_width - text_width(size, line)) / 2;
            canvas.text(
                centered as i64,
                (y + cell_height + 3 + row * text_height(size)) as i64,
                size,
                INK,
                line,
            );
        }
    }
    Ok(canvas)
}
