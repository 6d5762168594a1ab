//! Conversion of vertex colors: files store sRGB, a rig stores linear light.

/// A stored component, 0 to 1, as linear light. In `f64`, so that [`srgb_from_linear`] inverts it exactly.
pub(crate) fn linear_from_srgb(stored: f64) -> f64 {
    if stored <= 0.04045 { stored / 12.92 } else { ((stored + 0.055) / 1.055).powf(2.4) }
}

/// The inverse of [`linear_from_srgb`].
pub(crate) fn srgb_from_linear(linear: f64) -> f64 {
    if linear <= 0.04045 / 12.92 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_back() {
        for byte in 0..=255u8 {
            let linear = linear_from_srgb(f64::from(byte) / 255.0) as f32;
            assert_eq!((srgb_from_linear(f64::from(linear)) * 255.0).round() as u8, byte);
        }
        assert!((linear_from_srgb(0.5) - 0.2140).abs() < 1e-4);
    }
}
