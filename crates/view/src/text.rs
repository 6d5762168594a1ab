//! Text on a canvas: Noto Sans Mono, drawn from glyphs that were rasterized once, so it is the same everywhere.
//!
//! Three sizes exist (line heights of 16, 20 and 24 pixels); a size in between takes the next smaller one, and 12 is
//! made by halving 24. Characters without a glyph are drawn as `?`. Text runs right, or upwards for matrix columns.

use crate::canvas::{Canvas, Color};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};

/// The smallest line height in pixels.
const SMALL: usize = 12;

/// A glyph source for a line height: which raster, and by how much to shrink it.
fn face(size: usize) -> (RasterHeight, usize) {
    match size {
        0..16 => (RasterHeight::Size24, 2),
        16..20 => (RasterHeight::Size16, 1),
        20..24 => (RasterHeight::Size20, 1),
        _ => (RasterHeight::Size24, 1),
    }
}

/// Line height in pixels that text of `size` gets.
pub fn text_height(size: usize) -> usize {
    let (raster, shrink) = face(size);
    if shrink == 2 { SMALL } else { raster.val() }
}

/// Width in pixels of `text` in `size`.
pub fn text_width(size: usize, text: &str) -> usize {
    text.chars().count() * advance(size)
}

fn advance(size: usize) -> usize {
    let (raster, shrink) = face(size);
    get_raster_width(FontWeight::Regular, raster).div_ceil(shrink)
}

fn glyph(c: char, raster: RasterHeight) -> Option<RasterizedChar> {
    get_raster(c, FontWeight::Regular, raster).or_else(|| get_raster('?', FontWeight::Regular, raster))
}

/// Calls `put(x, y, coverage)` for the inked pixels of `text`, with the top left of the first character at 0, 0.
fn for_each_inked(size: usize, text: &str, mut put: impl FnMut(i64, i64, f32)) {
    let (raster, shrink) = face(size);
    let step = advance(size) as i64;
    for (i, c) in text.chars().enumerate() {
        let Some(glyph) = glyph(c, raster) else { continue };
        let (width, height) = (glyph.width().div_ceil(shrink), glyph.height() / shrink);
        for y in 0..height {
            for x in 0..width {
                let mut sum = 0u32;
                for (dy, dx) in (0..shrink).flat_map(|dy| (0..shrink).map(move |dx| (dy, dx))) {
                    sum += glyph.pixel(x * shrink + dx, y * shrink + dy).unwrap_or(0) as u32;
                }
                if sum > 0 {
                    let coverage = sum as f32 / (255 * shrink * shrink) as f32;
                    // Halved strokes lose contrast; lift them.
                    let coverage = if shrink > 1 { coverage.powf(0.7) } else { coverage };
                    put(i as i64 * step + x as i64, y as i64, coverage);
                }
            }
        }
    }
}

impl Canvas {
    /// Writes `text` with its top left corner at (`x`, `y`); `size` is the line height in pixels (12, 16, 20 or 24).
    pub fn text(&mut self, x: i64, y: i64, size: usize, color: Color, text: &str) {
        for_each_inked(size, text, |dx, dy, coverage| self.blend(x + dx, y + dy, color, coverage));
    }

    /// Writes `text` upwards: its first character's bottom left corner, turned by a quarter, is at (`x`, `y`), and the
    /// line is [`text_height`] wide to the right.
    pub fn text_upwards(&mut self, x: i64, y: i64, size: usize, color: Color, text: &str) {
        for_each_inked(size, text, |dx, dy, coverage| self.blend(x + dy, y - 1 - dx, color, coverage));
    }
}

/// `text` cut to at most `width` pixels, with an ending that shows the cut.
pub(crate) fn fitted(size: usize, text: &str, width: usize) -> String {
    let room = width / advance(size).max(1);
    if text.chars().count() <= room {
        return text.to_string();
    }
    let kept: String = text.chars().take(room.saturating_sub(2)).collect();
    if room < 3 { text.chars().take(room).collect() } else { format!("{kept}..") }
}
