//! Overlays on a picture of a face: values as colors, dots on vertices, scale bar, title.

use crate::canvas::{Canvas, Color};
use crate::colormap::Colormap;
use crate::scale::{Beyond, ScaleBar};
use crate::shade::Scene;
use crate::text::{fitted, text_height};
use crate::visibility::Visibility;

/// A value per rig vertex, shown as color.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarField {
    /// One value per rig vertex; NaN is drawn gray.
    pub values: Vec<f32>,
    /// Values at the two ends of the color map; if `values` lie beyond an end, the bar's label there says so.
    pub range: [f32; 2],
    /// Written over the scale bar, e.g. "mm".
    pub unit: String,
    /// The colors.
    pub colormap: Colormap,
}

impl ScalarField {
    /// A field whose color map spans the finite values: from 0 for values of one sign, symmetric around 0 for
    /// both.
    pub fn spanning(values: Vec<f32>, unit: &str) -> Self {
        let finite = values.iter().copied().filter(|v| v.is_finite());
        let (lo, hi) = finite.fold((0.0f32, 0.0f32), |(lo, hi), v| (lo.min(v), hi.max(v)));
        let most = hi.max(-lo);
        let (range, colormap) = match (lo < 0.0, hi > 0.0) {
            (true, true) => ([-most, most], Colormap::Diverging),
            _ => ([lo, hi], Colormap::Sequential),
        };
        Self { values, range, unit: unit.to_string(), colormap }
    }
}

/// A dot on a vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marker {
    /// The rig vertex.
    pub vertex: u32,
    /// Color of the dot.
    pub color: Color,
    /// Radius in pixels.
    pub radius: f32,
}

impl Marker {
    /// A dot of 4 pixels.
    pub fn new(vertex: u32, color: Color) -> Self {
        Self { vertex, color, radius: 4.0 }
    }
}

/// Draws the markers whose vertices are visible.
pub(crate) fn draw_markers(canvas: &mut Canvas, markers: &[Marker], scene: &Scene, seen: &Visibility) {
    for marker in markers {
        let point = scene.points[marker.vertex as usize];
        let on_screen = scene.camera.project(point);
        let towards = scene.camera.towards(point).dot(scene.normals[marker.vertex as usize]);
        // Vertices that face away are hidden by their own surface; depth decides for the others.
        if on_screen.nearness > 0.0
            && towards > -0.1
            && seen.shows(on_screen.pixel, on_screen.nearness, 0.004)
        {
            let center = on_screen.pixel.to_array();
            canvas.disc(center, marker.radius + 1.2, [20, 20, 20, 200]);
            canvas.disc(center, marker.radius, marker.color);
        }
    }
}

/// Where the scale bar of a picture goes.
pub(crate) struct ScalePlace {
    size: usize,
    unit: String,
    beyond: Beyond,
    x: i64,
    y: i64,
    width: i64,
    height: i64,
    /// Columns by which the picture's center moves to the left, so that the bar does not cover the face.
    pub shift: usize,
}

/// Free columns beside the bar.
const BESIDE: i64 = 16;

impl ScalePlace {
    /// At the right edge of a `width` x `height` picture; `None` if it would cover too much of the picture.
    pub fn new(field: &ScalarField, width: usize, height: usize) -> Option<Self> {
        let size = label_size(width, height);
        let unit = fitted(size, &field.unit, width * 2 / 5);
        let beyond = Beyond::of(field.values.iter().map(|&v| v as f64), field.range);
        let mut place = Self { size, unit, beyond, x: 0, y: 0, width: 0, height: 0, shift: 0 };
        place.height = (height as i64 * 6 / 10).min(520);
        place.width = place.bar(field, [0; 4]).width(place.height);
        let strip = place.width + 2 * BESIDE;
        if place.height <= 4 * text_height(size) as i64 || strip > width as i64 / 2 {
            return None;
        }
        (place.x, place.y) = (width as i64 - place.width - BESIDE, (height as i64 - place.height) / 2);
        // A head with its ears is about 1.2 times as wide as the face that fills the height; wide pictures
        // have room.
        let room = (width as i64 - height as i64 * 6 / 5) / 2;
        place.shift = (strip - room).clamp(0, strip / 2) as usize;
        Some(place)
    }

    fn bar<'a>(&'a self, field: &ScalarField, ink: Color) -> ScaleBar<'a> {
        let (range, beyond) = (field.range, self.beyond);
        ScaleBar { colormap: field.colormap, range, beyond, unit: &self.unit, ink, size: self.size }
    }

    /// Draws the bar; if it covers a surface, as in close-ups, on a plate that keeps it readable. `covered`
    /// checks a box (left, top, right, bottom).
    pub fn draw(
        &self,
        canvas: &mut Canvas,
        field: &ScalarField,
        covered: impl Fn([f32; 4]) -> bool,
        ink: Color,
    ) {
        let inset = BESIDE / 2;
        let (x, y) = (self.x - inset, self.y - inset);
        let (width, height) = (self.width + 2 * inset, self.height + 2 * inset);
        if covered([x, y, x + width, y + height].map(|c| c as f32)) {
            let plate = if ink[0] < 128 { [250, 250, 248, 215] } else { [22, 23, 25, 205] };
            canvas.fill_rect(x, y, width, height, plate);
        }
        self.bar(field, ink).draw(canvas, self.x, self.y, self.height);
    }
}

/// Writes the title at the top left.
pub(crate) fn draw_title(canvas: &mut Canvas, title: &str, ink: Color) {
    let size = if canvas.width >= 700 { 24 } else { label_size(canvas.width, canvas.height) };
    let inset = (size / 2) as i64;
    let text = fitted(size, title, canvas.width.saturating_sub(size));
    canvas.text(inset, inset, size, ink, &text);
}

/// Line height of labels in a picture.
pub(crate) fn label_size(width: usize, height: usize) -> usize {
    match width.min(height) {
        0..300 => 12,
        300..800 => 16,
        _ => 20,
    }
}
