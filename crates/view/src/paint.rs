//! Computes the colors of pixels.
//!
//! Each pixel has four samples, each with its triangle. A triangle is shaded once per pixel that it touches,
//! at the middle of its samples, and the samples are averaged in linear light. The wireframe is drawn by the
//! shader from the distance to the polygon's sides, so it is hidden and antialiased like the surface.
//! Translucent surfaces are layers composited over that, far to near. Of each layer only the nearest point at
//! a sample counts, so that the far side of a skin, its mouth and its sockets do not obscure what is inside.
//! A layer has its stated opacity where it faces the camera, and more at grazing angles and in creases, which
//! shows its outline and features.

use crate::canvas::Color;
use crate::colormap::{SrgbTable, linear_in, linear_of_byte};
use crate::draw::{Background, DrawOptions};
use crate::look::Made;
use crate::look::SurfaceLook;
use crate::model::Finish;
use crate::raster::{NONE, Screen, TILE, Tile, sample_positions};
use crate::shade::{Material, Scene, Studio, tone};
use crate::visibility::{Openness, Visibility};
use glam::{Vec2, Vec3, Vec4};

/// A layer of the scene on the screen.
pub(crate) struct Coat<'a> {
    pub screen: Screen<'a>,
    pub visibility: Visibility,
}

/// Everything that the color of a pixel depends on.
pub(crate) struct Painter<'a> {
    pub scene: &'a Scene<'a>,
    /// One for each layer of the scene; the first is opaque.
    pub coats: Vec<Coat<'a>>,
    pub studio: Studio,
    pub srgb: SrgbTable,
    pub options: &'a DrawOptions,
    /// Linear-light colors of the field, 256 of them.
    pub table: Vec<[f32; 3]>,
}

impl Painter<'_> {
    /// Colors of the pixels of `tile`, which holds the first coat.
    pub fn paint(&self, tile: &Tile<4>) -> Vec<Color> {
        let mut out = vec![[0; 4]; TILE * TILE];
        let before: Vec<Tile<4>> = self.coats[1..].iter().map(|coat| coat.screen.tile_before(tile)).collect();
        let (rows, columns) = (TILE.min(self.options.height - tile.y), TILE.min(self.options.width - tile.x));
        for y in 0..rows {
            for x in 0..columns {
                let i = y * TILE + x;
                let mut light = self.spread(&self.coats[0], tile, i);
                self.glaze(&mut light, &before, i);
                out[i] = self.finished(tile.x + x, tile.y + y, light);
            }
        }
        out
    }

    /// Composites the translucent layers of pixel `i` over its `light`, the farthest first.
    fn glaze(&self, light: &mut [Vec4; 4], before: &[Tile<4>], i: usize) {
        let mut films: Vec<(&Tile<4>, [Vec4; 4])> = Vec::new();
        for (coat, tile) in self.coats[1..].iter().zip(before) {
            if tile.triangle[4 * i..4 * i + 4].iter().any(|&t| t != NONE) {
                films.push((tile, self.spread(coat, tile, i)));
            }
        }
        for (s, light) in light.iter_mut().enumerate() {
            films.sort_by(|a, b| a.0.nearness[4 * i + s].total_cmp(&b.0.nearness[4 * i + s]));
            for (_, film) in &films {
                *light = film[s] + *light * (1.0 - film[s].w);
            }
        }
    }

    /// Display light and coverage of a layer at the samples of pixel `i` of its tile, premultiplied.
    fn spread(&self, coat: &Coat, tile: &Tile<4>, i: usize) -> [Vec4; 4] {
        let mut light = [Vec4::ZERO; 4];
        let samples = self.merged(&coat.screen, std::array::from_fn(|s| tile.triangle[4 * i + s]));
        let positions = sample_positions::<4>();
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
            let (x, y) = ((tile.x + i % TILE) as f64, (tile.y + i / TILE) as f64);
            let shaded = self.shade(coat, samples[s], x + at[0] / count, y + at[1] / count);
            (0..4).filter(|&k| samples[k] == samples[s]).for_each(|k| light[k] = shaded);
        }
        light
    }

    /// Samples on triangles that share a corner use the first sample's triangle, so that fine meshes are not
    /// shaded many times per pixel. Surfaces that only touch, like lips, keep their own triangles, and so
    /// does lining beside outer skin, so that the line between them stays antialiased.
    fn merged(&self, screen: &Screen, mut samples: [u32; 4]) -> [u32; 4] {
        if self.options.wireframe {
            return samples;
        }
        let look = self.scene.look;
        let joined = |a: u32, b: u32| {
            let (a_at, b_at) = (&look.triangles[a as usize], &look.triangles[b as usize]);
            a_at.surface == b_at.surface
                && look.places[a as usize] == look.places[b as usize]
                && !look.surfaces[a_at.surface as usize].outlined
                && a_at.vertices.iter().any(|v| b_at.vertices.contains(v))
                && screen.faces_viewer(a) == screen.faces_viewer(b)
        };
        for s in 1..4 {
            let first = samples[..s].iter().copied().find(|&t| t != NONE);
            if let Some(first) =
                first.filter(|&f| samples[s] != NONE && samples[s] != f && joined(samples[s], f))
            {
                samples[s] = first;
            }
        }
        samples
    }

    /// The color of a pixel from the light at its samples.
    fn finished(&self, x: usize, y: usize, light: [Vec4; 4]) -> Color {
        let light = light.into_iter().sum::<Vec4>() / 4.0;
        let covered = light.w;
        let behind = if covered < 1.0 { self.background(x, y) } else { Vec4::ZERO };
        let color = light.truncate() + behind.truncate() * (behind.w * (1.0 - covered));
        let alpha = covered + behind.w * (1.0 - covered);
        let [r, g, b] = (color / alpha.max(1e-6)).to_array().map(|c| self.srgb.byte(c));
        [r, g, b, (alpha * 255.0 + 0.5) as u8]
    }

    fn background(&self, x: usize, y: usize) -> Vec4 {
        match self.options.background {
            Background::Plain([r, g, b, a]) => {
                Vec3::from([r, g, b].map(linear_of_byte)).extend(a as f32 / 255.0)
            }
            Background::Studio => {
                let (w, h) = (self.options.width as f32, self.options.height as f32);
                let offset = Vec2::new((x as f32 + 0.5 - 0.5 * w) / h, (y as f32 + 0.5) / h - 0.42);
                let level = 0.030 + 0.085 * (-3.2 * offset.length_squared()).exp();
                Vec3::new(level, level * 1.02, level * 1.06).extend(1.0)
            }
        }
    }

    /// Display light of triangle `t` at a point of the screen, premultiplied by its coverage, and the
    /// coverage.
    fn shade(&self, coat: &Coat, t: u32, x: f64, y: f64) -> Vec4 {
        let (scene, look) = (self.scene, self.scene.look);
        let corners = scene.triangles[t as usize];
        // Samples that use a neighbor's triangle may lie outside it; they are clamped to its border.
        let clipped = coat.screen.shares(t, x, y).map(|s| s.max(0.0));
        let total = (clipped[0] + clipped[1] + clipped[2]).max(1e-6);
        let flat = clipped.map(|s| s / total);
        let near: [f32; 3] = corners.map(|v| coat.screen.nearness(v));
        let nearness = flat[0] * near[0] + flat[1] * near[1] + flat[2] * near[2];
        let shares: [f32; 3] = std::array::from_fn(|k| flat[k] * near[k] / nearness);
        let mix = |values: &[Vec3]| -> Vec3 { (0..3).map(|k| values[corners[k] as usize] * shares[k]).sum() };
        let front = coat.screen.faces_viewer(t);
        let normal = if front { mix(&scene.normals) } else { -mix(&scene.normals) }.normalize_or(Vec3::Z);
        let towards = scene.camera.towards(mix(&scene.points));
        let normal = turned_to(normal, towards);
        let inside: f32 = (0..3).map(|k| look.inside[corners[k] as usize] * shares[k]).sum();
        let surface = &look.surfaces[look.triangles[t as usize].surface as usize];
        let open =
            coat.visibility.at(Vec2::new(x as f32, y as f32), nearness).deeper(inside * surface.hollow());
        let tint = if look.tint.is_empty() { Vec3::ONE } else { mix(&look.tint) };
        let color = Vec3::from(surface.color) * tint;
        let mut light = match &self.options.field {
            Some(field) => {
                let value: f32 = (0..3).map(|k| field.values[corners[k] as usize] * shares[k]).sum();
                self.studio.shade_flat(
                    linear_in(&self.table, value, field.range).into(),
                    normal,
                    towards,
                    open,
                )
            }
            None if surface.kind == Made::Piece(Finish::Flat) => {
                self.studio.shade_flat(color, normal, towards, open)
            }
            None => {
                let material = Material::of(surface, color, &look.eyes, mix(&look.rest), inside);
                self.studio.shade(&material, normal, towards, open)
            }
        };
        if !front {
            light *= 0.45;
        }
        let line =
            if self.options.wireframe || surface.outlined { self.line_cover(coat, t, flat) } else { 0.0 };
        let hidden = line.max(cover(surface, normal.dot(towards), open));
        (tone(light).lerp(Vec3::splat(0.012), line) * hidden).extend(hidden)
    }

    /// Coverage of the wireframe at a point: lines one pixel wide, fainter where polygons are only a few
    /// pixels large.
    fn line_cover(&self, coat: &Coat, t: u32, shares: [f32; 3]) -> f32 {
        let outline = self.scene.look.triangles[t as usize].outline;
        let heights = coat.screen.heights(t);
        let distance = (0..3)
            .filter(|k| outline & (1 << k) != 0)
            .map(|k| shares[k] * heights[k])
            .fold(f32::MAX, f32::min);
        let room = heights[0].max(heights[1]).max(heights[2]);
        (1.05 - distance).clamp(0.0, 1.0) * (room / 9.0).clamp(0.12, 0.8)
    }
}

/// Opacity of a surface where the cosine between its normal and the direction to the viewer is `facing`.
fn cover(surface: &SurfaceLook, facing: f32, open: Openness) -> f32 {
    if surface.layer == 0 {
        return 1.0;
    }
    let slant = (1.0 - facing).clamp(0.0, 1.0);
    let film = surface.opacity + (1.0 - surface.opacity) * slant.powi(2);
    // Creases are more opaque, so that lids, nostrils and the line of the lips stay recognizable.
    let crease = (2.2 * (0.95 - open.sky)).clamp(0.0, 0.75);
    film + (1.0 - film) * crease
}

/// `normal` bent so that it does not point away from the viewer, as smooth normals may near outlines.
fn turned_to(normal: Vec3, towards: Vec3) -> Vec3 {
    let c = normal.dot(towards);
    if c >= 0.02 { normal } else { (normal + towards * (0.02 - c)).normalize_or(towards) }
}
