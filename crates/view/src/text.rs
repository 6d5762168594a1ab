//! Text on a canvas: Noto Sans Mono, from prerasterized glyphs, so that it is the same on every machine.
//!
//! Three sizes exist (line heights of 16, 20 and 24 pixels); a size in between takes the next smaller one,
//! and 12 is made by halving 24. Characters without a glyph are drawn as `?`. Text runs right, or upwards for
//! matrix columns.

use crate::canvas::{Canvas, Color};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};

/// The smallest line height in pixels.
const SMALL: usize = 12;

/// The glyph source for a line height: the raster size and the factor to shrink it by.
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

/// Calls `put(x, y, coverage)` for the inked pixels of `text`, with the top left of the first character at
/// (0, 0).
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
                    // Halved strokes lose contrast, so their coverage is raised.
                    let coverage = if shrink > 1 { coverage.powf(0.7) } else { coverage };
                    put(i as i64 * step + x as i64, y as i64, coverage);
                }
            }
        }
    }
}

impl Canvas {
    /// Writes `text` with its top left corner at (`x`, `y`); `size` is the line height in pixels (12, 16, 20
    /// or 24).
    pub fn text(&mut self, x: i64, y: i64, size: usize, color: Color, text: &str) {
        for_each_inked(size, text, |dx, dy, coverage| self.blend(x + dx, y + dy, color, coverage));
    }

    /// Writes `text` upwards, rotated by a quarter turn: the line starts at (`x`, `y`) and extends
    /// [`text_height`] pixels to the right.
    pub(crate) fn text_upwards(&mut self, x: i64, y: i64, size: usize, color: Color, text: &str) {
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

/// `text` on one line, or on two if one is too narrow; text that still does not fit in `width` pixels is cut.
///
/// The break is at a space or after a comma, or else after other punctuation, or else before a capital
/// letter, where the lines are most equal in length; without such a place the first line is filled.
pub(crate) fn wrapped(size: usize, text: &str, width: usize) -> Vec<String> {
    let room = width / advance(size).max(1);
    let chars: Vec<char> = text.trim().chars().collect();
    if chars.len() <= room || room < 3 {
        return vec![fitted(size, text, width)];
    }
    let rank = |at: usize| match (chars[at - 1], chars[at]) {
        (_, ' ') | (',', _) => Some(0),
        ('_' | '-' | '/' | ':' | ';' | '+', after) if after.is_alphabetic() => Some(1),
        (before, after) if before.is_lowercase() && after.is_uppercase() => Some(2),
        _ => None,
    };
    let lines = |at: usize| {
        [&chars[..at], &chars[at..]].map(|part| part.iter().collect::<String>().trim().to_string())
    };
    // Ordered by: fits without a cut, kind of break, equal length of lines.
    let cost = |at: usize| {
        let longest = lines(at).map(|line| line.chars().count()).into_iter().max().unwrap_or(0);
        rank(at).map(|rank| (longest.max(room), rank, longest, at))
    };
    // The first line must fit; the second may be cut.
    let at = (1..=room).filter_map(cost).min().map_or(room, |best| best.3);
    let [first, second] = lines(at);
    vec![first, fitted(size, &second, width)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_break_at_words() {
        let wrap = |text: &str, letters: usize| wrapped(16, text, letters * text_width(16, "m"));
        assert_eq!(wrap("jawOpen", 7), ["jawOpen"]);
        assert_eq!(wrap("mouth smile left", 12), ["mouth", "smile left"]);
        assert_eq!(wrap("mouthUpperUpLeft", 12), ["mouthUpper", "UpLeft"]);
        assert_eq!(wrap("noseSneer_L=0.9,jawOpen=0.3", 18), ["noseSneer_L=0.9,", "jawOpen=0.3"]);
        assert_eq!(wrap("abcdefghijkl", 8), ["abcdefgh", "ijkl"]);
        assert_eq!(wrap("a label that is much too long for that", 12), ["a label that", "is much to.."]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("abc", 0), [""]);
    }
}
