//! Pictures of numbers: reads displacement maps, writes displacement and normal maps.
//!
//! Reads PNG, JPEG, TIFF and OpenEXR. Integers are scaled to 0 to 1, floats are kept, and color channels are
//! averaged. Writes PNG with 16 bits and OpenEXR with 32-bit floats.

use crate::IoError;
use crate::output::write_whole;
use image::{DynamicImage, ImageBuffer, ImageFormat, ImageReader, Limits};
use risorius_detail::maps::Picture;
use std::io::Cursor;
use std::path::Path;

const FORMAT: &str = "picture";

/// Largest number of texels per side.
pub const MAX_SIDE: u32 = 16384;

/// Largest memory for reading a picture, in bytes.
const MAX_BYTES: u64 = 3 << 30;

/// Reads a picture as one number per texel.
pub fn read(bytes: &[u8]) -> Result<Picture, IoError> {
    let wrong = |e: image::ImageError| IoError::malformed(FORMAT, "file", e.to_string());
    let os = |e: std::io::Error| IoError::malformed(FORMAT, "file", e.to_string());
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(os)?;
    if reader.format().is_none() {
        return Err(IoError::malformed(FORMAT, "file", "it is not a PNG, JPEG, TIFF or OpenEXR"));
    }
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE), Some(MAX_SIDE));
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits);
    let image = reader.decode().map_err(wrong)?;
    let size = [image.width() as usize, image.height() as usize];
    let has_color = image.color().has_color();
    let values: Vec<f32> = if has_color {
        image.into_rgb32f().pixels().map(|p| (p[0] + p[1] + p[2]) / 3.0).collect()
    } else if matches!(image, DynamicImage::ImageLuma16(_) | DynamicImage::ImageLumaA16(_)) {
        image.into_luma16().pixels().map(|p| f32::from(p[0]) / 65535.0).collect()
    } else {
        image.into_luma8().pixels().map(|p| f32::from(p[0]) / 255.0).collect()
    };
    if let Some(at) = values.iter().position(|v| !v.is_finite()) {
        let (x, y) = (at % size[0], at / size[0]);
        return Err(IoError::malformed(FORMAT, format!("texel {x}, {y}"), "it is not a finite number"));
    }
    Ok(Picture { size, values })
}

/// Writes values from 0 to 1 as a 16-bit gray PNG.
pub fn write_gray(path: &Path, [width, height]: [usize; 2], values: &[f32]) -> Result<(), IoError> {
    let numbers: Vec<u16> = values.iter().map(|&v| to_u16(v)).collect();
    let image = ImageBuffer::<image::Luma<u16>, _>::from_raw(width as u32, height as u32, numbers);
    write(path, image.map(DynamicImage::ImageLuma16), ImageFormat::Png)
}

/// Writes values from 0 to 1 as a 16-bit color PNG.
pub fn write_color(path: &Path, [width, height]: [usize; 2], values: &[[f32; 3]]) -> Result<(), IoError> {
    let numbers: Vec<u16> = values.as_flattened().iter().map(|&v| to_u16(v)).collect();
    let image = ImageBuffer::<image::Rgb<u16>, _>::from_raw(width as u32, height as u32, numbers);
    write(path, image.map(DynamicImage::ImageRgb16), ImageFormat::Png)
}

/// Writes 32-bit floats as an OpenEXR.
pub fn write_floats(path: &Path, [width, height]: [usize; 2], values: &[[f32; 3]]) -> Result<(), IoError> {
    let numbers = values.as_flattened().to_vec();
    let image = ImageBuffer::<image::Rgb<f32>, _>::from_raw(width as u32, height as u32, numbers);
    write(path, image.map(DynamicImage::ImageRgb32F), ImageFormat::OpenExr)
}

fn to_u16(value: f32) -> u16 {
    (value.clamp(0.0, 1.0) * 65535.0).round() as u16
}

fn write(path: &Path, image: Option<DynamicImage>, format: ImageFormat) -> Result<(), IoError> {
    let Some(image) = image else {
        return Err(IoError::malformed(FORMAT, "values", "their number differs from the number of texels"));
    };
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).map_err(|e| IoError::malformed(FORMAT, "file", e.to_string()))?;
    write_whole(path, bytes.get_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let values: Vec<f32> = (0..12).map(|k| k as f32 / 11.0).collect();
        let colors: Vec<[f32; 3]> = values.iter().map(|&v| [v * 3.0 - 1.0; 3]).collect();
        let [gray, floats] = ["gray.png", "floats.exr"].map(|name| folder.path().join(name));
        write_gray(&gray, [4, 3], &values).unwrap();
        write_floats(&floats, [4, 3], &colors).unwrap();
        let back = read(&std::fs::read(&gray).unwrap()).unwrap();
        assert_eq!(back.size, [4, 3]);
        assert!(back.values.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-4));
        let back = read(&std::fs::read(&floats).unwrap()).unwrap();
        assert!(back.values.iter().zip(&values).all(|(a, b)| (a - (b * 3.0 - 1.0)).abs() < 1e-5), "{back:?}");
        write_color(&gray, [4, 3], &[[0.5, 0.5, 1.0]; 12]).unwrap();
        assert!((read(&std::fs::read(&gray).unwrap()).unwrap().values[5] - 2.0 / 3.0).abs() < 1e-4);
        assert!(write_gray(&gray, [4, 4], &values).is_err());
    }

    #[test]
    fn damaged_pictures_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let values = vec![[0.25; 3]; 64 * 64];
        for name in ["a.png", "a.exr"] {
            let path = folder.path().join(name);
            match name {
                "a.png" => write_color(&path, [64, 64], &values).unwrap(),
                _ => write_floats(&path, [64, 64], &values).unwrap(),
            }
            let whole = std::fs::read(&path).unwrap();
            let mut state = 7u64;
            for _ in 0..300 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let mut bytes = whole.clone();
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] ^= (state >> 17) as u8 | 1;
                if state & 3 == 0 {
                    bytes.truncate(at);
                }
                // Success and error are both fine; a panic is not.
                if let Ok(picture) = read(&bytes) {
                    assert_eq!(picture.values.len(), picture.size[0] * picture.size[1]);
                }
            }
        }
        assert!(read(b"not a picture").is_err());
    }
}
