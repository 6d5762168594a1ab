//! Color maps: one sequential and one diverging, both with uniform steps in lightness.
//!
//! The maps are short tables of colors in CIE L*a*b* with equally spaced L*, interpolated linearly in that
//! space and converted to sRGB. So equal steps of value look equal, and a gray copy remains readable.
//! Sequential: L* from 32 to 95, indigo over rose to pale yellow; it starts above black so that the form of a
//! face with low values stays visible. Diverging: L* of 92 in the middle, falling evenly to 38 at both ends,
//! blue below and red above.

use crate::canvas::Color;

/// How values become colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colormap {
    /// From dark (least) to light (most): distances, energies, errors.
    #[default]
    Sequential,
    /// Blue below, pale in the middle, red above: signed values around zero.
    Diverging,
}

/// L*, a*, b* of equally spaced stops.
const SEQUENTIAL: [[f32; 3]; 8] = [
    [32.0, 20.0, -44.0],
    [41.0, 38.0, -46.0],
    [50.0, 52.0, -34.0],
    [59.0, 55.0, -8.0],
    [68.0, 46.0, 18.0],
    [77.0, 28.0, 40.0],
    [86.0, 8.0, 54.0],
    [95.0, -8.0, 46.0],
];

const DIVERGING: [[f32; 3]; 7] = [
    [38.0, 10.0, -52.0],
    [56.0, -6.0, -40.0],
    [74.0, -8.0, -22.0],
    [92.0, 0.0, 2.0],
    [74.0, 24.0, 18.0],
    [56.0, 46.0, 30.0],
    [38.0, 58.0, 36.0],
];

/// The color of NaN.
pub(crate) const NAN_COLOR: Color = [128, 128, 128, 255];

impl Colormap {
    /// The color at `t` from 0 to 1 (outside: the end colors; NaN: gray).
    pub fn color(self, t: f32) -> Color {
        if t.is_nan() {
            return NAN_COLOR;
        }
        let [r, g, b] = linear_of_lab(self.lab(t)).map(srgb_byte);
        [r, g, b, 255]
    }

    /// The color of `value` where `range` maps to 0 to 1; an empty range puts every value in the middle.
    pub(crate) fn color_in(self, value: f32, range: [f32; 2]) -> Color {
        self.color(fraction(value, range))
    }

    /// A table of 256 linear-light colors, for lookups per pixel.
    pub(crate) fn linear_table(self) -> Vec<[f32; 3]> {
        (0..256).map(|i| linear_of_lab(self.lab(i as f32 / 255.0))).collect()
    }

    fn lab(self, t: f32) -> [f32; 3] {
        let stops: &[[f32; 3]] = match self {
            Self::Sequential => &SEQUENTIAL,
            Self::Diverging => &DIVERGING,
        };
        let place = t.clamp(0.0, 1.0) * (stops.len() - 1) as f32;
        let i = (place as usize).min(stops.len() - 2);
        let f = place - i as f32;
        std::array::from_fn(|c| stops[i][c] + f * (stops[i + 1][c] - stops[i][c]))
    }
}

/// The position of `value` in `range`: 0 at its start, 1 at its end.
pub(crate) fn fraction(value: f32, range: [f32; 2]) -> f32 {
    let (lo, hi) = (range[0] as f64, range[1] as f64);
    if value.is_nan() || !(hi - lo).is_finite() {
        return f32::NAN;
    }
    if hi == lo { 0.5 } else { ((value as f64 - lo) / (hi - lo)).clamp(0.0, 1.0) as f32 }
}

/// The color of `value` in a [`Colormap::linear_table`] over `range`; gray for NaN.
pub(crate) fn linear_in(table: &[[f32; 3]], value: f32, range: [f32; 2]) -> [f32; 3] {
    let part = fraction(value, range);
    if part.is_nan() { [0.21; 3] } else { table[(part * 255.0 + 0.5) as usize] }
}

/// Linear-light sRGB primaries of a CIE L*a*b* color (D65), clipped to what a screen can show.
fn linear_of_lab([l, a, b]: [f32; 3]) -> [f32; 3] {
    let fy = (l + 16.0) / 116.0;
    let inverse =
        |f: f32| if f > 6.0 / 29.0 { f * f * f } else { 3.0 * (6.0f32 / 29.0).powi(2) * (f - 4.0 / 29.0) };
    let x = 0.950_47 * inverse(fy + a / 500.0);
    let y = inverse(fy);
    let z = 1.088_83 * inverse(fy - b / 200.0);
    [
        3.240_97 * x - 1.537_383 * y - 0.498_611 * z,
        -0.969_244 * x + 1.875_968 * y + 0.041_555 * z,
        0.055_63 * x - 0.203_977 * y + 1.056_972 * z,
    ]
    .map(|c| c.clamp(0.0, 1.0))
}

/// A linear-light value as an sRGB byte.
pub(crate) fn srgb_byte(linear: f32) -> u8 {
    let c = linear.clamp(0.0, 1.0);
    let encoded = if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
    (encoded * 255.0 + 0.5) as u8
}

/// [`srgb_byte`] by lookup, for every pixel of a picture.
pub(crate) struct SrgbTable(Vec<u8>);

impl SrgbTable {
    /// Fine enough that the steepest part, near black, changes by a fifth of a byte value per entry.
    const LAST: f32 = 16383.0;

    pub fn new() -> Self {
        Self((0..=Self::LAST as usize).map(|i| srgb_byte(i as f32 / Self::LAST)).collect())
    }

    pub fn byte(&self, linear: f32) -> u8 {
        self.0[(linear.clamp(0.0, 1.0) * Self::LAST + 0.5) as usize]
    }
}

/// An sRGB byte as a linear-light value.
pub(crate) fn linear_of_byte(byte: u8) -> f32 {
    let c = byte as f32 / 255.0;
    if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lightness(color: Color) -> f32 {
        let [r, g, b] = [color[0], color[1], color[2]].map(linear_of_byte);
        let y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        116.0 * y.cbrt() - 16.0
    }

    #[test]
    fn sequential_is_even_in_lightness() {
        let l: Vec<f32> = (0..=20).map(|i| lightness(Colormap::Sequential.color(i as f32 / 20.0))).collect();
        assert!(l.windows(2).all(|w| (w[1] - w[0] - 63.0 / 20.0).abs() < 1.5), "{l:?}");
    }

    #[test]
    fn diverging_is_symmetric_in_lightness() {
        for i in 0..=10 {
            let t = i as f32 / 20.0;
            let (a, b) = (Colormap::Diverging.color(t), Colormap::Diverging.color(1.0 - t));
            assert!((lightness(a) - lightness(b)).abs() < 4.0, "{t}: {a:?} {b:?}");
        }
        assert_eq!(Colormap::Diverging.color(f32::NAN), NAN_COLOR);
    }

    #[test]
    fn bytes_survive_linear_light() {
        for b in 0..=255 {
            assert_eq!(srgb_byte(linear_of_byte(b)), b);
        }
    }
}
