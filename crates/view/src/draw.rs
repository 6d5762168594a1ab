//! From a pose to a picture.
//!
//! Each pixel has four samples that know their triangle; a triangle is shaded once per pixel that it touches, at the
//! middle of its samples, and the samples are averaged as light (not as bytes). Lines of the wireframe are drawn by the
//! shader from the distance to the polygon's sides, so they are hidden and smoothed as the surface is.

use crate::ViewError;
use crate::camera::{Camera, Framing};
use crate::canvas::{Canvas, Color};
use crate::colormap::{SrgbTable, fraction, linear_of_byte};
use crate::look::FaceLook;
use crate::overlay::{self, Marker, ScalarField, ScalePlace};
use crate::raster::{Cutout, NONE, Screen, TILE, Tile, sample_positions};
use crate::shade::{Material, Scene, Studio, light_directions, tone};
use crate::visibility::Visibility;
use glam::{Vec2, Vec3, Vec4};

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
    /// Turn of the camera around the head; positive shows more of the character's left side, 90 is its profile.
    pub yaw_degrees: f32,
    /// Positive looks from above.
    pub pitch_degrees: f32,
    /// Above 1 makes the face larger than its framing; must be positive.
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
            title: None,
        }
    }
}

/// Draws the rig of `look` with its vertices at `positions` (in the rig's own unit and axes).
///
/// Vertices that are not finite, or behind the camera, take their triangles out of the picture.
pub fn draw(look: &FaceLook, positions: &[[f32; 3]], options: &DrawOptions) -> Result<Canvas, ViewError> {
    check(look, positions, options)?;
    let mut canvas = Canvas::new(options.width, options.height, [0; 4])?;
    let (yaw, pitch) = (options.yaw_degrees.to_radians(), options.pitch_degrees.to_radians());
    let scale = options.field.as_ref().and_then(|f| Some((ScalePlace::new(f, options.width, options.height)?, f)));
    // Framed as for a picture without the columns of the scale bar, which lie to the right.
    let width = options.width - 2 * scale.as_ref().map_or(0, |s| s.0.shift);
    let camera = Camera::new(look, &options.framing, yaw, pitch, options.zoom, width, options.height);
    let scene = Scene::new(look, positions, camera);
    let visibility = Visibility::compute(&scene, options.width, options.height, light_directions());
    let corners = scene.corners(&camera);
    let strand = |t: u32, shares: [f32; 3]| scene.is_strand(t, shares);
    let cutout = Cutout { has_holes: &scene.lashes, solid: &strand };
    let screen = Screen::new(options.width, options.height, &corners, &scene.triangles, Some(cutout));
    let table = options.field.as_ref().map(|f| f.colormap.linear_table()).unwrap_or_default();
    let painter = Painter {
        scene: &scene,
        screen: &screen,
        visibility: &visibility,
        studio: Studio::new(),
        srgb: SrgbTable::new(),
        options,
        table,
    };
    for (x, y, pixels) in screen.map_tiles::<4, _>(|tile| (tile.x, tile.y, painter.paint(tile))) {
        let columns = TILE.min(options.width - x);
        for (row, colors) in pixels.chunks(TILE).enumerate().take(options.height - y) {
            let first = (y + row) * options.width + x;
            canvas.pixels[first..first + columns].copy_from_slice(&colors[..columns]);
        }
    }
    overlay::draw_markers(&mut canvas, &options.markers, &scene, &visibility);
    let ink = ink_on(options.background);
    if let Some((place, field)) = scale {
        place.draw(&mut canvas, field, &visibility, ink);
    }
    if let Some(title) = &options.title {
        overlay::draw_title(&mut canvas, title, ink);
    }
    Ok(canvas)
}

fn check(look: &FaceLook, positions: &[[f32; 3]], options: &DrawOptions) -> Result<(), ViewError> {
    let n = look.n_vertices;
    if positions.len() != n {
        return Err(ViewError::PositionCount { expected: n, found: positions.len() });
    }
    if let Some(field) = options.field.as_ref().filter(|f| f.values.len() != n) {
        return Err(ViewError::FieldCount { label: field.unit.clone(), expected: n, found: field.values.len() });
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

struct Painter<'a> {
    scene: &'a Scene<'a>,
    screen: &'a Screen<'a>,
    visibility: &'a Visibility,
    studio: Studio,
    srgb: SrgbTable,
    options: &'a DrawOptions,
    /// Linear-light colors of the field, 256 of them.
    table: Vec<[f32; 3]>,
}

impl Painter<'_> {
    fn paint(&self, tile: &Tile<4>) -> Vec<Color> {
        let mut out = vec![[0; 4]; TILE * TILE];
        let (rows, columns) = (TILE.min(self.options.height - tile.y), TILE.min(self.options.width - tile.x));
        for y in 0..rows {
            for x in 0..columns {
                let i = y * TILE + x;
                let samples: [u32; 4] = std::array::from_fn(|s| tile.triangle[4 * i + s]);
                out[i] = self.pixel(tile.x + x, tile.y + y, self.merged(samples));
            }
        }
        out
    }

    /// Samples on triangles that join at a corner share the first one's triangle, so that fine meshes are not shaded
    /// many times. Surfaces that only touch, as lips do, keep their own: the line between them must stay smooth.
    fn merged(&self, mut samples: [u32; 4]) -> [u32; 4] {
        if self.options.wireframe {
            return samples;
        }
        let joined = |a: u32, b: u32| {
            let (a_at, b_at) = (&self.scene.look.triangles[a as usize], &self.scene.look.triangles[b as usize]);
            a_at.surface == b_at.surface
                && a_at.vertices.iter().any(|v| b_at.vertices.contains(v))
                && self.screen.faces_viewer(a) == self.screen.faces_viewer(b)
        };
        for s in 1..4 {
            let first = samples[..s].iter().copied().find(|&t| t != NONE);
            if let Some(first) = first.filter(|&f| samples[s] != NONE && samples[s] != f && joined(samples[s], f)) {
                samples[s] = first;
            }
        }
        samples
    }

    fn pixel(&self, x: usize, y: usize, samples: [u32; 4]) -> Color {
        let positions = sample_positions::<4>();
        let mut light = Vec4::ZERO;
        for s in 0..4 {
            // A triangle is shaded at its first sample, for all of its samples.
            if samples[s] == NONE || samples[..s].contains(&samples[s]) {
                continue;
            }
            let (mut at, mut count) = ([0.0; 2], 0.0);
            for (position, _) in positions.iter().zip(samples).filter(|(_, t)| *t == samples[s]) {
                at = [at[0] + position[0], at[1] + position[1]];
                count += 1.0;
            }
            let shaded = self.shade(samples[s], x as f64 + at[0] / count, y as f64 + at[1] / count);
            light += shaded.extend(1.0) * count as f32;
        }
        let covered = light.w / 4.0;
        let behind = if covered < 1.0 { self.background(x, y) } else { Vec4::ZERO };
        let color = light.truncate() / 4.0 + behind.truncate() * (behind.w * (1.0 - covered));
        let alpha = covered + behind.w * (1.0 - covered);
        let [r, g, b] = (color / alpha.max(1e-6)).to_array().map(|c| self.srgb.byte(c));
        [r, g, b, (alpha * 255.0 + 0.5) as u8]
    }

    fn background(&self, x: usize, y: usize) -> Vec4 {
        match self.options.background {
            Background::Plain([r, g, b, a]) => Vec3::from([r, g, b].map(linear_of_byte)).extend(a as f32 / 255.0),
            Background::Studio => {
                let (w, h) = (self.options.width as f32, self.options.height as f32);
                let offset = Vec2::new((x as f32 + 0.5 - 0.5 * w) / h, (y as f32 + 0.5) / h - 0.42);
                let level = 0.030 + 0.085 * (-3.2 * offset.length_squared()).exp();
                Vec3::new(level, level * 1.02, level * 1.06).extend(1.0)
            }
        }
    }

    /// Display light of triangle `t` at a point of the screen.
    fn shade(&self, t: u32, x: f64, y: f64) -> Vec3 {
        let scene = self.scene;
        let corners = scene.triangles[t as usize];
        // Samples that share a neighbor's triangle may lie outside of it: take the triangle's border there.
        let clipped = self.screen.shares(t, x, y).map(|s| s.max(0.0));
        let total = (clipped[0] + clipped[1] + clipped[2]).max(1e-6);
        let flat = clipped.map(|s| s / total);
        let near: [f32; 3] = corners.map(|v| self.screen.nearness(v));
        let nearness = flat[0] * near[0] + flat[1] * near[1] + flat[2] * near[2];
        let shares: [f32; 3] = std::array::from_fn(|k| flat[k] * near[k] / nearness);
        let mix = |values: &[Vec3]| -> Vec3 { (0..3).map(|k| values[corners[k] as usize] * shares[k]).sum() };
        let point = mix(&scene.points);
        let front = self.screen.faces_viewer(t);
        let normal = if front { mix(&scene.normals) } else { -mix(&scene.normals) }.normalize_or(Vec3::Z);
        let towards = scene.camera.towards(point);
        let normal = turned_to(normal, towards);
        let look = scene.look;
        let inside: f32 = (0..3).map(|k| look.inside[corners[k] as usize] * shares[k]).sum();
        let surface = &look.surfaces[look.triangles[t as usize].surface as usize];
        let open = self.visibility.at(Vec2::new(x as f32, y as f32), nearness).deeper(inside * surface.hollow());
        let mut light = match &self.options.field {
            Some(field) => {
                let value: f32 = (0..3).map(|k| field.values[corners[k] as usize] * shares[k]).sum();
                let part = fraction(value, field.range);
                let color = if part.is_nan() { [0.21; 3] } else { self.table[(part * 255.0 + 0.5) as usize] };
                self.studio.shade_flat(color.into(), normal, towards, open)
            }
            None => {
                let material = Material::of(surface, &look.eyes, mix(&look.rest), inside);
                self.studio.shade(&material, normal, towards, open)
            }
        };
        if !front {
            light *= 0.45;
        }
        let light = tone(light);
        if self.options.wireframe { light.lerp(Vec3::splat(0.012), self.line_cover(t, flat)) } else { light }
    }

    /// How much of a point the wireframe covers: lines one pixel wide, fainter where polygons are only a few pixels.
    fn line_cover(&self, t: u32, shares: [f32; 3]) -> f32 {
        let outline = self.scene.look.triangles[t as usize].outline;
        let heights = self.screen.heights(t);
        let distance =
            (0..3).filter(|k| outline & (1 << k) != 0).map(|k| shares[k] * heights[k]).fold(f32::MAX, f32::min);
        let room = heights[0].max(heights[1]).max(heights[2]);
        (1.05 - distance).clamp(0.0, 1.0) * (room / 9.0).clamp(0.12, 0.8)
    }
}

/// `normal` bent so that it does not point away from the viewer, as smooth normals do near outlines.
fn turned_to(normal: Vec3, towards: Vec3) -> Vec3 {
    let c = normal.dot(towards);
    if c >= 0.02 { normal } else { (normal + towards * (0.02 - c)).normalize_or(towards) }
}
