//! A picture in memory: RGBA bytes, sRGB, not premultiplied, rows from the top.
//!
//! Drawing outside the picture is allowed and does nothing, so callers need not clip. Lines and dots are
//! antialiased by coverage; colors are blended in sRGB, in which thin dark lines and text on a light
//! background look best.

use crate::{MAX_SIDE, ViewError};

/// Red, green, blue, alpha; sRGB bytes.
pub type Color = [u8; 4];

/// A picture of `width` x `height` pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canvas {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Rows from the top, each from the left.
    pub pixels: Vec<Color>,
}

impl Canvas {
    /// A canvas of one color. Sides of 0 or above [`MAX_SIDE`] are refused.
    pub fn new(width: usize, height: usize, color: Color) -> Result<Self, ViewError> {
        if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
            return Err(ViewError::CanvasSize { width, height });
        }
        Ok(Self { width, height, pixels: vec![color; width * height] })
    }

    /// The picture as a PNG file (8-bit RGBA).
    pub fn encode_png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        // Writing to memory fails only if `pixels` was replaced by a list of another length; the result is
        // then empty.
        let written =
            encoder.write_header().and_then(|mut writer| writer.write_image_data(self.pixels.as_flattened()));
        if written.is_err() {
            bytes.clear();
        }
        bytes
    }

    /// The pixel at (`x`, `y`), if inside.
    pub fn get(&self, x: usize, y: usize) -> Option<Color> {
        if x < self.width { self.pixels.get(y * self.width + x).copied() } else { None }
    }

    /// Fills the rectangle with its top left corner at (`x`, `y`).
    pub fn fill_rect(&mut self, x: i64, y: i64, width: i64, height: i64, color: Color) {
        let (x0, x1) = clip(x, width, self.width);
        let (y0, y1) = clip(y, height, self.height);
        for row in y0..y1 {
            for pixel in &mut self.pixels[row * self.width + x0..row * self.width + x1.max(x0)] {
                *pixel = over(*pixel, color, 1.0);
            }
        }
    }

    /// Outlines a rectangle, one pixel wide, inside of its bounds.
    pub(crate) fn frame_rect(&mut self, x: i64, y: i64, width: i64, height: i64, color: Color) {
        self.fill_rect(x, y, width, 1, color);
        self.fill_rect(x, y + height - 1, width, 1, color);
        self.fill_rect(x, y + 1, 1, height - 2, color);
        self.fill_rect(x + width - 1, y + 1, 1, height - 2, color);
    }

    /// Copies `source` with its top left corner to (`x`, `y`).
    pub fn blit(&mut self, source: &Canvas, x: i64, y: i64) {
        let (x0, x1) = clip(x, source.width as i64, self.width);
        let (y0, y1) = clip(y, source.height as i64, self.height);
        if x1 <= x0 {
            return;
        }
        for row in y0..y1 {
            let first = (row as i64 - y) as usize * source.width + (x0 as i64 - x) as usize;
            self.pixels[row * self.width + x0..row * self.width + x1]
                .copy_from_slice(&source.pixels[first..first + (x1 - x0)]);
        }
    }

    /// Blends `color` over one pixel by `coverage` (0 to 1).
    pub fn blend(&mut self, x: i64, y: i64, color: Color, coverage: f32) {
        if x >= 0 && y >= 0 && (x as usize) < self.width && (y as usize) < self.height {
            let pixel = &mut self.pixels[y as usize * self.width + x as usize];
            *pixel = over(*pixel, color, coverage);
        }
    }

    /// An antialiased line between two points in pixels (pixel centers at .5), `thickness` pixels wide.
    pub fn line(&mut self, from: [f32; 2], to: [f32; 2], thickness: f32, color: Color) {
        let (width, height) = (self.width, self.height);
        for_each_on_line(from, to, thickness, width, height, |x, y, coverage| {
            self.blend(x, y, color, coverage)
        });
    }

    /// An antialiased filled disc.
    pub fn disc(&mut self, center: [f32; 2], radius: f32, color: Color) {
        let edge = MAX_SIDE as f32;
        if !(center[0].abs() < 2.0 * edge && center[1].abs() < 2.0 * edge && radius > 0.0) {
            return;
        }
        let reach = radius.min(edge) + 1.0;
        for y in (center[1] - reach).max(0.0) as i64..=((center[1] + reach).min(self.height as f32)) as i64 {
            for x in (center[0] - reach).max(0.0) as i64..=((center[0] + reach).min(self.width as f32)) as i64
            {
                let distance = (x as f32 + 0.5 - center[0]).hypot(y as f32 + 0.5 - center[1]);
                self.blend(x, y, color, (radius + 0.5 - distance).clamp(0.0, 1.0));
            }
        }
    }
}

/// Calls `put(x, y, coverage)` for the pixels of an antialiased line that may lie on a canvas of `width` x
/// `height`.
pub(crate) fn for_each_on_line(
    from: [f32; 2],
    to: [f32; 2],
    thickness: f32,
    width: usize,
    height: usize,
    mut put: impl FnMut(i64, i64, f32),
) {
    let Some((from, to)) = clip_segment(from, to, width as f32, height as f32, thickness + 2.0) else {
        return;
    };
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let length_squared = (dx * dx + dy * dy).max(1e-12);
    let reach = 0.5 * thickness + 0.5;
    // Walk along the longer axis and touch only the few pixels across it.
    let steep = dy.abs() > dx.abs();
    let (major, minor) = if steep { (1, 0) } else { (0, 1) };
    let (lo, hi) = (from[major].min(to[major]) - reach, from[major].max(to[major]) + reach);
    let across = reach * 1.5 + 1.0;
    for m in lo.floor() as i64..=hi.floor() as i64 {
        let center = m as f32 + 0.5;
        let along = if steep { dy } else { dx };
        let t = if along.abs() < 1e-6 { 0.0 } else { ((center - from[major]) / along).clamp(0.0, 1.0) };
        let middle = from[minor] + t * if steep { dx } else { dy };
        for n in (middle - across).floor() as i64..=(middle + across).floor() as i64 {
            let (x, y) = if steep { (n, m) } else { (m, n) };
            let (px, py) = (x as f32 + 0.5 - from[0], y as f32 + 0.5 - from[1]);
            let s = ((px * dx + py * dy) / length_squared).clamp(0.0, 1.0);
            let distance = (px - s * dx).hypot(py - s * dy);
            put(x, y, (reach - distance).clamp(0.0, 1.0));
        }
    }
}

/// `color` over `below`, its alpha scaled by `coverage`.
fn over(below: Color, color: Color, coverage: f32) -> Color {
    let a = coverage * color[3] as f32 / 255.0;
    if a >= 1.0 {
        return color;
    }
    if a <= 0.0 {
        return below;
    }
    let below_a = below[3] as f32 / 255.0 * (1.0 - a);
    let out_a = a + below_a;
    let mut out = [0; 4];
    for c in 0..3 {
        out[c] = ((color[c] as f32 * a + below[c] as f32 * below_a) / out_a + 0.5) as u8;
    }
    out[3] = (out_a * 255.0 + 0.5) as u8;
    out
}

/// The part of `start..start + length` that lies in `0..limit`.
fn clip(start: i64, length: i64, limit: usize) -> (usize, usize) {
    let end = start.saturating_add(length).clamp(0, limit as i64);
    (start.clamp(0, end) as usize, end as usize)
}

/// The part of a segment inside the canvas extended by `margin`, so that far points cost no time.
fn clip_segment(
    a: [f32; 2],
    b: [f32; 2],
    width: f32,
    height: f32,
    margin: f32,
) -> Option<([f32; 2], [f32; 2])> {
    if !(a[0] + a[1] + b[0] + b[1] + margin).is_finite() {
        return None;
    }
    let (mut t0, mut t1) = (0.0f64, 1.0f64);
    for (axis, limit) in [width, height].into_iter().enumerate() {
        let (from, d) = (a[axis] as f64, b[axis] as f64 - a[axis] as f64);
        let (lo, hi) = (-margin as f64 - from, (limit + margin) as f64 - from);
        if d == 0.0 {
            if lo > 0.0 || hi < 0.0 {
                return None;
            }
            continue;
        }
        let (enter, leave) = if d > 0.0 { (lo / d, hi / d) } else { (hi / d, lo / d) };
        t0 = t0.max(enter);
        t1 = t1.min(leave);
    }
    let at = |t: f64| [0, 1].map(|i| (a[i] as f64 + t * (b[i] as f64 - a[i] as f64)) as f32);
    (t0 <= t1).then(|| (at(t0), at(t1)))
}
