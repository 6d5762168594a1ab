//! Draws a pose: the options, and the order of drawing.
//!
//! Surfaces first ([`crate::paint`]), then 3D lines, dots and labels over them, and last the scale bar and
//! the title. Faces and models are drawn the same way; they differ in how their look is prepared.

use crate::ViewError;
use crate::annotate::{self, LabeledPoint, Polyline};
use crate::camera::{Camera, Framing, Projected};
use crate::canvas::{Canvas, Color};
use crate::colormap::SrgbTable;
use crate::look::FaceLook;
use crate::overlay::{self, Marker, ScalarField, ScalePlace};
use crate::paint::{Coat, Painter};
use crate::raster::{Cutout, Rules, Screen, TILE};
use crate::shade::{LINING_MARGIN, Scene, Studio, light_directions};
use crate::visibility::Visibility;
use glam::Vec3;

/// What is behind the face.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// A gray backdrop, lighter behind the middle.
    #[default]
    Studio,
    /// One color; alpha 0 leaves the background transparent.
    Plain(Color),
}

/// How to draw a pose.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawOptions {
    /// Pixels, 1 to [`crate::MAX_SIDE`].
    pub width: usize,
    /// Pixels, 1 to [`crate::MAX_SIDE`].
    pub height: usize,
    /// Rotation of the camera around the head; positive shows more of the character's left side, 90 is its
    /// profile.
    pub yaw_degrees: f32,
    /// Positive looks from above.
    pub pitch_degrees: f32,
    /// Values above 1 make the face larger than its framing; must be positive.
    pub zoom: f32,
    /// What the picture shows.
    pub framing: Framing,
    /// What is behind.
    pub background: Background,
    /// Draws the sides of the artist's polygons.
    pub wireframe: bool,
    /// Values to show instead of surface colors.
    pub field: Option<ScalarField>,
    /// Dots on vertices.
    pub markers: Vec<Marker>,
    /// Dots with names at 3D points.
    pub labels: Vec<LabeledPoint>,
    /// 3D lines.
    pub lines: Vec<Polyline>,
    /// Written at the top left.
    pub title: Option<String>,
}

impl Default for DrawOptions {
    /// The face from the front, 800 x 800, on a gray backdrop.
    fn default() -> Self {
        Self {
            width: 800,
            height: 800,
            yaw_degrees: 0.0,
            pitch_degrees: 0.0,
            zoom: 1.0,
            framing: Framing::Face,
            background: Background::Studio,
            wireframe: false,
            field: None,
            markers: Vec::new(),
            labels: Vec::new(),
            lines: Vec::new(),
            title: None,
        }
    }
}

/// Draws the rig of `look` with its vertices at `positions` (in the rig's own unit and axes).
///
/// Triangles with vertices that are not finite or behind the camera are not drawn.
pub fn draw(look: &FaceLook, positions: &[[f32; 3]], options: &DrawOptions) -> Result<Canvas, ViewError> {
    check(look, positions, options)?;
    picture(look, positions, options, options.field.as_ref())
}

/// A picture with a scale bar for `scaled`; everything in `options` must have been checked.
pub(crate) fn picture(
    look: &FaceLook,
    positions: &[[f32; 3]],
    options: &DrawOptions,
    scaled: Option<&ScalarField>,
) -> Result<Canvas, ViewError> {
    let (width, height) = (options.width, options.height);
    let mut canvas = Canvas::new(width, height, [0; 4])?;
    let scale = scaled.and_then(|f| Some((ScalePlace::new(f, width, height)?, f)));
    // Framed as for a picture without the columns of the scale bar on the right.
    let framed = width - 2 * scale.as_ref().map_or(0, |s| s.0.shift);
    let camera = camera_of(look, options, framed);
    let scene = Scene::new(look, positions, camera);
    let corners = scene.corners(&camera);
    let strand = |t: u32, shares: [f32; 3]| scene.is_strand(t, shares);
    let rules = Rules {
        cutout: Some(Cutout { has_holes: &scene.lashes, solid: &strand }),
        places: Some((&look.places, LINING_MARGIN)),
    };
    let coat = |layer: &crate::shade::Layer| Coat {
        screen: Screen::of(width, height, &corners, &scene.triangles, layer.chosen.iter().copied(), rules),
        visibility: Visibility::compute(&scene, layer, width, height, light_directions()),
    };
    let painter = Painter {
        scene: &scene,
        coats: scene.layers.iter().map(coat).collect(),
        studio: Studio::new(),
        srgb: SrgbTable::new(),
        options,
        table: options.field.as_ref().map(|f| f.colormap.linear_table()).unwrap_or_default(),
    };
    let depths = paint_tiles(&painter, &mut canvas, !options.lines.is_empty());
    annotate::draw_lines(&mut canvas, &options.lines, &scene, &depths);
    let seen = &painter.coats[0].visibility;
    overlay::draw_markers(&mut canvas, &options.markers, &scene, seen);
    annotate::draw_labels(&mut canvas, &options.labels, &scene, seen);
    let ink = ink_on(options.background);
    if let Some((place, field)) = scale {
        let covered = |corners: [f32; 4]| painter.coats.iter().any(|c| c.visibility.any_within(corners));
        place.draw(&mut canvas, field, covered, ink);
    }
    if let Some(title) = &options.title {
        overlay::draw_title(&mut canvas, title, ink);
    }
    Ok(canvas)
}

/// The share of those vertices that are in the picture in the neutral which also are at `positions`, 0 to 1;
/// 1 if there are none. A head that leaves the picture has a small share, whatever is framed.
pub fn share_in_view(
    look: &FaceLook,
    positions: &[[f32; 3]],
    options: &DrawOptions,
) -> Result<f64, ViewError> {
    check(look, positions, options)?;
    let camera = camera_of(look, options, options.width);
    let is_seen = |p: Vec3| {
        let Projected { pixel, nearness } = camera.project(camera.view_point(p));
        let (width, height) = (options.width as f32, options.height as f32);
        nearness > 0.0 && (0.0..width).contains(&pixel.x) && (0.0..height).contains(&pixel.y)
    };
    let at_rest = look.rest.iter().zip(positions).filter(|(rest, _)| is_seen(**rest));
    let (n, still) = at_rest.fold((0usize, 0usize), |(n, still), (_, &p)| {
        (n + 1, still + usize::from(is_seen(look.frame.point(p))))
    });
    Ok(if n == 0 { 1.0 } else { still as f64 / n as f64 })
}

/// The camera of `options`, for a picture whose face takes `width` of its columns.
fn camera_of(look: &FaceLook, options: &DrawOptions, width: usize) -> Camera {
    let (yaw, pitch) = (options.yaw_degrees.to_radians(), options.pitch_degrees.to_radians());
    Camera::new(look, &options.framing, yaw, pitch, options.zoom, width, options.height)
}

/// Fills `canvas`; if `wanted`, returns the nearness of the opaque surface at the four samples of each pixel.
fn paint_tiles(painter: &Painter, canvas: &mut Canvas, wanted: bool) -> Vec<[f32; 4]> {
    let mut depths = if wanted { vec![[0.0; 4]; canvas.pixels.len()] } else { Vec::new() };
    let screen = &painter.coats[0].screen;
    let tiles = screen.map_tiles::<4, _>(|tile| {
        let nearness = if wanted { tile.nearness.clone() } else { Vec::new() };
        (tile.x, tile.y, painter.paint(tile), nearness)
    });
    for (x, y, pixels, nearness) in tiles {
        let columns = TILE.min(canvas.width - x);
        for (row, colors) in pixels.chunks(TILE).enumerate().take(canvas.height - y) {
            let first = (y + row) * canvas.width + x;
            canvas.pixels[first..first + columns].copy_from_slice(&colors[..columns]);
            if wanted {
                let (samples, _) = nearness[row * TILE * 4..].as_chunks::<4>();
                depths[first..first + columns].copy_from_slice(&samples[..columns]);
            }
        }
    }
    depths
}

/// Checks that `options` fit a look and are numbers that a camera can use.
pub(crate) fn check(look: &FaceLook, positions: &[[f32; 3]], options: &DrawOptions) -> Result<(), ViewError> {
    let n = look.n_vertices;
    if positions.len() != n {
        return Err(ViewError::PositionCount { expected: n, found: positions.len() });
    }
    if let Some(field) = options.field.as_ref().filter(|f| f.values.len() != n) {
        return Err(ViewError::FieldCount {
            label: field.unit.clone(),
            expected: n,
            found: field.values.len(),
        });
    }
    if let Some(vertex) = options.markers.iter().map(|m| m.vertex).find(|&v| v as usize >= n) {
        return Err(ViewError::Vertex { what: "a marker", vertex, n_vertices: n });
    }
    if let Framing::Vertices(vertices) = &options.framing
        && let Some(vertex) = vertices.iter().copied().find(|&v| v as usize >= n)
    {
        return Err(ViewError::Vertex { what: "the framing", vertex, n_vertices: n });
    }
    let angles = [("yaw_degrees", options.yaw_degrees), ("pitch_degrees", options.pitch_degrees)];
    if let Some((name, value)) = angles.into_iter().find(|(_, value)| !value.is_finite()) {
        return Err(ViewError::Number { name, value, hint: "" });
    }
    if !(options.zoom > 0.0 && options.zoom.is_finite()) {
        return Err(ViewError::Number { name: "zoom", value: options.zoom, hint: " above 0" });
    }
    Ok(())
}

fn ink_on(background: Background) -> Color {
    match background {
        Background::Plain([r, g, b, a]) if a > 0 && r as u32 + g as u32 + b as u32 > 330 => [25, 25, 25, 255],
        Background::Plain([_, _, _, 0]) => [25, 25, 25, 255],
        _ => [238, 238, 236, 255],
    }
}
