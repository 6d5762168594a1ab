//! What is laid over a picture of a face: values as colors, dots on vertices, titles.

use crate::canvas::{Canvas, Color};
use crate::colormap::Colormap;
use crate::scale::ScaleBar;
use crate::shade::Scene;
use crate::text::{fitted, text_height};
use crate::visibility::Visibility;

/// A value per rig vertex, shown as color.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarField {
    /// One value per rig vertex; NaN is drawn gray.
    pub values: Vec<f32>,
    /// Values at the two ends of the colors.
    pub range: [f32; 2],
    /// Written over the scale bar, e.g. "mm".
    pub unit: String,
    /// The colors.
    pub colormap: Colormap,
}

impl ScalarField {
    /// A field whose colors span the finite values: from 0 for values of one sign, evenly around 0 for both.
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

/// Draws the markers whose vertices can be seen.
pub(crate) fn draw_markers(canvas: &mut Canvas, markers: &[Marker], scene: &Scene, seen: &Visibility) {
    for marker in markers {
        let point = scene.points[marker.vertex as usize];
        let on_screen = scene.camera.project(point);
        let towards = scene.camera.towards(point).dot(scene.normals[marker.vertex as usize]);
        // Vertices of a surface turned away are hidden by it; the rest is decided by depth.
        if on_screen.nearness > 0.0 && towards > -0.1 && seen.shows(on_screen.pixel, on_screen.nearness, 0.004) {
            let center = on_screen.pixel.to_array();
            canvas.disc(center, marker.radius + 1.2, [20, 20, 20, 200]);
            canvas.disc(center, marker.radius, marker.color);
        }
    }
}

/// Draws the scale bar of `field` at the right edge.
pub(crate) fn draw_scale(canvas: &mut Canvas, field: &ScalarField, ink: Color) {
    let size = label_size(canvas);
    let bar = ScaleBar { colormap: field.colormap, range: field.range, unit: &field.unit, ink, size };
    let height = (canvas.height as i64 * 6 / 10).min(520);
    let width = bar.width(height);
    if height > 4 * text_height(size) as i64 && width + 24 < canvas.width as i64 {
        bar.draw(canvas, canvas.width as i64 - width - 16, (canvas.height as i64 - height) / 2, height);
    }
}

/// Writes the title at the top left.
pub(crate) fn draw_title(canvas: &mut Canvas, title: &str, ink: Color) {
    let size = if canvas.width >= 700 { 24 } else { label_size(canvas) };
    let inset = (size / 2) as i64;
    let text = fitted(size, title, canvas.width.saturating_sub(size));
    canvas.text(inset, inset, size, ink, &text);
}

fn label_size(canvas: &Canvas) -> usize {
    match canvas.width.min(canvas.height) {
        0..300 => 12,
        300..800 => 16,
        _ => 20,
    }
}
