//! Masks: pictures whose brightness encodes a number, sampled by texture coordinates.
//!
//! PNG of any color type and depth. The value of a pixel is its displayed brightness, 0 black to 1 white: the
//! luminance in linear light, encoded as sRGB, so that grays keep the number that painting programs show.
//! Alpha 0 means that nothing is painted there. Between pixels, values are interpolated linearly, weighted by
//! alpha. Coordinates outside 0 to 1 repeat, as for textures. Pictures with more than 8192 pixels per side
//! are refused.

use crate::IoError;
use crate::error::check_count;
use crate::formats::color::{linear_from_srgb, srgb_from_linear};
use std::io::Cursor;

const FORMAT: &str = "PNG";
const MAX_SIDE: u64 = 8192;

/// A picture whose pixels are values.
#[derive(Debug, Clone, PartialEq)]
pub struct Mask {
    width: usize,
    height: usize,
    /// Value and alpha from 0 to 255, rows from the top.
    pixels: Vec<[u8; 2]>,
}

/// Displayed (sRGB) brightness of a linear color, 0 to 1.
pub fn brightness(linear: [f32; 3]) -> f32 {
    let [r, g, b] = linear.map(f64::from);
    srgb_from_linear((0.2126 * r + 0.7152 * g + 0.0722 * b).clamp(0.0, 1.0)) as f32
}

/// Reads a mask from the bytes of a PNG file.
pub fn read(bytes: &[u8]) -> Result<Mask, IoError> {
    let wrong = |e: png::DecodingError| IoError::malformed(FORMAT, "picture", e.to_string());
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let (width, height) = (reader.info().width, reader.info().height);
    check_count(FORMAT, "the longest side", width.max(height).into(), MAX_SIDE)?;
    let size = reader.output_buffer_size().unwrap_or(usize::MAX);
    check_count(FORMAT, "the size of the picture", size as u64, 4 * MAX_SIDE * MAX_SIDE)?;
    let mut buffer = vec![0; size];
    let frame = reader.next_frame(&mut buffer).map_err(wrong)?;
    let samples = frame.color_type.samples();
    let value = |pixel: &[u8]| match *pixel {
        [gray, alpha] => [gray, alpha],
        [r, g, b, alpha] => {
            let linear = [r, g, b].map(|c| linear_from_srgb(f64::from(c) / 255.0) as f32);
            [(255.0 * brightness(linear)).round() as u8, alpha]
        }
        _ => [0, 0],
    };
    let pixels = buffer[..frame.buffer_size()].chunks_exact(samples).map(value).collect();
    Ok(Mask { width: width as usize, height: height as usize, pixels })
}

impl Mask {
    /// The value at `uv` (origin at the top left), interpolated between pixels; `None` where nothing is
    /// painted.
    pub fn at(&self, uv: [f32; 2]) -> Option<f32> {
        let [u, v] = uv.map(f64::from);
        if !(u.is_finite() && v.is_finite() && !self.pixels.is_empty()) {
            return None;
        }
        let (x, y) = (place(u, self.width), place(v, self.height));
        let (mut sum, mut weight) = (0.0, 0.0);
        for (row, wy) in y {
            for (column, wx) in x {
                let [value, alpha] = self.pixels[row * self.width + column];
                let share = wx * wy * f64::from(alpha) / 255.0;
                (sum, weight) = (sum + share * f64::from(value) / 255.0, weight + share);
            }
        }
        (weight > 1e-3).then(|| (sum / weight) as f32)
    }
}

/// The two pixels around a repeating coordinate, with their weights. The outer half of the last pixel is not
/// interpolated with the first pixel: textures of faces seldom tile, and 1 is the far edge.
fn place(coordinate: f64, n: usize) -> [(usize, f64); 2] {
    let wrapped = if (0.0..=1.0).contains(&coordinate) { coordinate } else { coordinate.rem_euclid(1.0) };
    let at = (wrapped * n as f64 - 0.5).clamp(0.0, (n - 1) as f64);
    let first = at.floor() as usize;
    let share = at - first as f64;
    [(first, 1.0 - share), ((first + 1).min(n - 1), share)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(width: u32, height: u32, color: png::ColorType, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        bytes
    }

    #[test]
    fn grays_keep_their_number_and_are_blended() {
        let mask = read(&encoded(2, 1, png::ColorType::Grayscale, &[51, 204])).unwrap();
        for (u, expected) in
            [(0.0, 0.2), (0.25, 0.2), (0.5, 0.5), (0.75, 0.8), (1.0, 0.8), (1.25, 0.2), (-0.25, 0.8)]
        {
            let found = mask.at([u, 0.5]).unwrap();
            assert!((found - expected).abs() < 1e-4, "{u}: {found}");
        }
        let rgb = read(&encoded(1, 1, png::ColorType::Rgb, &[128, 128, 128])).unwrap();
        assert!((rgb.at([0.3, 0.9]).unwrap() - 128.0 / 255.0).abs() < 1e-3);
    }

    #[test]
    fn rows_run_from_the_top_and_transparent_is_not_painted() {
        let data = [0, 0, 0, 0, 255, 255, 255, 255];
        let mask = read(&encoded(1, 2, png::ColorType::Rgba, &data)).unwrap();
        assert_eq!(mask.at([0.5, 0.1]), None);
        assert!(mask.at([0.5, 0.5]).unwrap() > 0.999, "the transparent pixel adds no black");
        assert!(mask.at([0.5, 0.9]).unwrap() > 0.999);
        assert_eq!(mask.at([f32::NAN, 0.9]), None);
    }

    #[test]
    fn damage_is_reported() {
        let good = encoded(8, 8, png::ColorType::Rgb, &[7; 192]);
        for cut in [0, 7, 20, 40, good.len() / 2] {
            assert!(matches!(read(&good[..cut]), Err(IoError::Malformed { format: "PNG", .. })), "{cut}");
        }
        assert!(read(b"GIF89a").is_err());
    }
}
