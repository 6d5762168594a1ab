//! How much light reaches a point: screen-space ambient occlusion, and soft shadows of key and fill light.
//!
//! Both are smooth over the surface, so they are computed at reduced resolution for large pictures (see
//! `MAX_PIXELS`), blurred slightly without crossing depth edges, and interpolated by the shader in the same
//! way. Occlusion: points on a spiral around the pixel that lie above the tangent plane hide part of the sky.
//! Two sizes are multiplied, a fine one (lids, lip line, nostrils) and a wide one (mouth, sockets, under the
//! chin). Shadows: a depth map from the light, compared at points of a disc so that edges are soft.

use crate::camera::Camera;
use crate::exposure::depth_map;
use crate::raster::{Corner, NONE, Rules, Screen, TILE};
use crate::shade::{LINING_MARGIN, Layer, Scene};
use glam::{Vec2, Vec3};
use rayon::prelude::*;

/// Number of pixels above which the maps are smaller than the picture.
const MAX_PIXELS: usize = 600_000;
/// Radius of occlusion (units of half a face) and number of sample points.
const FINE: (f32, usize) = (0.07, 7);
const WIDE: (f32, usize) = (0.55, 13);
/// Shadow maps of key and fill: pixels per side, radius of the soft edge; and the offset that avoids
/// self-shadowing.
const MAP_SIDE: [usize; 2] = [768, 384];
const SOFT: [f32; 2] = [0.06, 0.14];
const SHADOW_POINTS: usize = 12;
const GAP: f32 = 0.016;
/// Keeps depths along the light positive.
const LIGHT_FAR: f32 = 64.0;

/// Maps of openness, to be sampled at pixels of the full picture.
pub(crate) struct Visibility {
    width: usize,
    height: usize,
    /// Map pixels per picture pixel.
    factor: f32,
    /// 0 where there is no surface.
    nearness: Vec<f32>,
    /// Openness to the sky, the key and the fill light, 0 to 1.
    light: Vec<Vec3>,
}

/// Openness at a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Openness {
    pub sky: f32,
    pub key: f32,
    pub fill: f32,
}

impl Openness {
    /// Openness reduced for surfaces that lie `inside` (0 to 1) the face.
    pub fn deeper(self, inside: f32) -> Self {
        let left = 1.0 - 0.55 * inside;
        Self { sky: self.sky * left, key: self.key * left, fill: self.fill * left }
    }
}

impl Visibility {
    /// Maps for only the solid triangles of a `layer` of `scene`, on a canvas of `width` x `height`, with key
    /// and fill light from `directions` (view space).
    pub fn compute(scene: &Scene, layer: &Layer, width: usize, height: usize, directions: [Vec3; 2]) -> Self {
        let mut shrink = 1;
        while (width / shrink) * (height / shrink) > MAX_PIXELS {
            shrink += 1;
        }
        let (w, h) = (width.div_ceil(shrink), height.div_ceil(shrink));
        let factor = 1.0 / shrink as f32;
        let camera = scene.camera.scaled(factor);
        let (nearness, normals) = surface(scene, layer, &camera, w, h);
        let solid = &layer.solid;
        let [key, fill] = [0, 1].map(|i| ShadowMap::new(scene, solid, directions[i], MAP_SIDE[i], SOFT[i]));
        let spiral = [spiral(FINE.1), spiral(WIDE.1)];
        let turns: [Vec2; 16] =
            std::array::from_fn(|i| Vec2::from_angle(i as f32 / 16.0 * std::f32::consts::TAU));
        let mut light = vec![Vec3::ONE; w * h];
        light.par_chunks_mut(w).enumerate().for_each(|(y, row)| {
            for (x, out) in row.iter_mut().enumerate() {
                let near = nearness[y * w + x];
                if near > 0.0 {
                    let pixel = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
                    let (position, normal) = (camera.unproject(pixel, near), normals[y * w + x]);
                    let turn = turns[(x % 4) * 4 + (y % 4)];
                    let point = Point { pixel, near, position, normal, turn };
                    let seen = Depths { camera: &camera, nearness: &nearness, width: w, height: h };
                    let sky =
                        seen.openness(&point, FINE.0, &spiral[0]) * seen.openness(&point, WIDE.0, &spiral[1]);
                    *out = Vec3::new(sky, key.lit(&point), fill.lit(&point));
                }
            }
        });
        let mut map = Self { width: w, height: h, factor, nearness, light };
        map.blur();
        map
    }

    /// Openness at `pixel` of the full picture, for a surface at `nearness`.
    pub fn at(&self, pixel: Vec2, nearness: f32) -> Openness {
        let place = pixel * self.factor - 0.5;
        let base = place.floor();
        let part = place - base;
        let (mut sum, mut total) = (Vec3::ZERO, 0.0f32);
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let x = (base.x as i64 + dx).clamp(0, self.width as i64 - 1) as usize;
            let y = (base.y as i64 + dy).clamp(0, self.height as i64 - 1) as usize;
            let i = y * self.width + x;
            let bilinear =
                (if dx == 0 { 1.0 - part.x } else { part.x }) * (if dy == 0 { 1.0 - part.y } else { part.y });
            let weight = (bilinear + 0.01) * likeness(self.nearness[i], nearness);
            total += weight;
            sum += weight * self.light[i];
        }
        let open = if total < 1e-6 { Vec3::splat(0.8) } else { sum / total };
        Openness { sky: open.x, key: open.y, fill: open.z }
    }

    /// Whether a point at `pixel` and `nearness` lies on the visible surface, within `slack` times its
    /// distance.
    pub fn shows(&self, pixel: Vec2, nearness: f32, slack: f32) -> bool {
        let place = pixel * self.factor;
        if !(place.x >= 0.0 && place.y >= 0.0) {
            return false;
        }
        let (x, y) = (place.x as usize, place.y as usize);
        let hidden = |x: usize, y: usize| self.nearness[y * self.width + x] > nearness * (1.0 + slack);
        x < self.width
            && y < self.height
            && (y.saturating_sub(1)..(y + 2).min(self.height))
                .any(|y| (x.saturating_sub(1)..(x + 2).min(self.width)).any(|x| !hidden(x, y)))
    }

    /// Whether there is any surface between two corners (left, top, right, bottom) of the full picture.
    pub(crate) fn any_within(&self, corners: [f32; 4]) -> bool {
        let [x0, y0, x1, y1] = corners.map(|c| (c * self.factor).max(0.0) as usize);
        (y0..(y1 + 1).min(self.height))
            .any(|y| (x0..(x1 + 1).min(self.width)).any(|x| self.nearness[y * self.width + x] > 0.0))
    }

    /// Averages 4 x 4 pixels of one surface, one for each rotation of the spiral.
    fn blur(&mut self) {
        let (w, h) = (self.width, self.height);
        let mut out = self.light.clone();
        out.par_chunks_mut(w).enumerate().for_each(|(y, row)| {
            for (x, out) in row.iter_mut().enumerate() {
                let near = self.nearness[y * w + x];
                if near == 0.0 {
                    continue;
                }
                let (mut sum, mut total) = (Vec3::ZERO, 0.0f32);
                for v in y.saturating_sub(2)..(y + 2).min(h) {
                    for u in x.saturating_sub(2)..(x + 2).min(w) {
                        let i = v * w + u;
                        let weight = likeness(self.nearness[i], near);
                        total += weight;
                        sum += weight * self.light[i];
                    }
                }
                *out = sum / total.max(1e-6);
            }
        });
        self.light = out;
    }
}

/// 1 for points at the same distance, falling to 0 where the distance differs by more than about a hundredth.
fn likeness(a: f32, b: f32) -> f32 {
    if a <= 0.0 { 0.0 } else { (1.0 - (a / b - 1.0).abs() * 90.0).max(0.0) }
}

/// Nearness and view-space normal (facing the camera) of the nearest surface at each pixel.
fn surface(
    scene: &Scene,
    layer: &Layer,
    camera: &Camera,
    width: usize,
    height: usize,
) -> (Vec<f32>, Vec<Vec3>) {
    let corners: Vec<Corner> = scene.corners(camera);
    let solid = &layer.solid;
    let rules = Rules { places: Some((&layer.places, LINING_MARGIN)), ..Rules::default() };
    let screen = Screen::of(width, height, &corners, solid, 0..solid.len() as u32, rules);
    let tiles = screen.map_tiles::<1, _>(|tile| {
        let mut out = Vec::with_capacity(TILE * TILE);
        for (i, (&t, &near)) in tile.triangle.iter().zip(&tile.nearness).enumerate() {
            if t == NONE {
                out.push((0.0, Vec3::Z));
                continue;
            }
            let (x, y) = ((tile.x + i % TILE) as f64 + 0.5, (tile.y + i / TILE) as f64 + 0.5);
            let shares = screen.shares(t, x, y);
            let n: Vec3 = (0..3).map(|k| scene.normals[solid[t as usize][k] as usize] * shares[k]).sum();
            out.push((near, if screen.faces_viewer(t) { n } else { -n }.normalize_or(Vec3::Z)));
        }
        (tile.x, tile.y, out)
    });
    let (mut nearness, mut normals) = (vec![0.0; width * height], vec![Vec3::Z; width * height]);
    for (tx, ty, samples) in tiles {
        for (i, (near, normal)) in samples.into_iter().enumerate() {
            let (x, y) = (tx + i % TILE, ty + i / TILE);
            if x < width && y < height {
                nearness[y * width + x] = near;
                normals[y * width + x] = normal;
            }
        }
    }
    (nearness, normals)
}

/// `n` points that fill the unit disc evenly.
fn spiral(n: usize) -> Vec<Vec2> {
    (0..n)
        .map(|i| {
            let angle = i as f32 * 2.399_963;
            Vec2::from_angle(angle) * ((i as f32 + 0.5) / n as f32).sqrt()
        })
        .collect()
}

/// A pixel of the map and the surface seen there.
struct Point {
    pixel: Vec2,
    near: f32,
    position: Vec3,
    normal: Vec3,
    /// Rotation of the spirals at this pixel, as cosine and sine.
    turn: Vec2,
}

struct Depths<'a> {
    camera: &'a Camera,
    nearness: &'a [f32],
    width: usize,
    height: usize,
}

impl Depths<'_> {
    /// 1 for an unoccluded point, towards 0 in a cavity.
    fn openness(&self, point: &Point, reach: f32, spiral: &[Vec2]) -> f32 {
        let pixels = (reach * self.camera.pixels_per_unit(point.near)).min(256.0);
        if pixels < 1.0 {
            return 1.0;
        }
        let mut hidden = 0.0;
        for offset in spiral {
            let at = point.pixel + point.turn.rotate(*offset) * pixels;
            if !(at.x >= 0.0 && at.y >= 0.0 && at.x < self.width as f32 && at.y < self.height as f32) {
                continue;
            }
            let (x, y) = (at.x as usize, at.y as usize);
            let other = self.nearness[y * self.width + x];
            if other == 0.0 {
                continue;
            }
            let v = self.camera.unproject(Vec2::new(x as f32 + 0.5, y as f32 + 0.5), other) - point.position;
            let distance = v.length();
            // A point much nearer to the camera belongs to an object in front, not to the wall of a cavity.
            let fade = (1.0 - distance / (2.2 * reach)).max(0.0);
            hidden += ((v.dot(point.normal) / distance.max(1e-6) - 0.08).max(0.0)) * fade;
        }
        (1.0 - 1.75 * hidden / spiral.len() as f32).max(0.0)
    }
}

/// Depths seen from a light.
struct ShadowMap {
    right: Vec3,
    up: Vec3,
    towards: Vec3,
    /// Pixels on a side.
    side: usize,
    soft: f32,
    per_unit: f32,
    depths: Vec<f32>,
    disc: Vec<Vec2>,
}

impl ShadowMap {
    fn new(scene: &Scene, solid: &[[u32; 3]], towards: Vec3, side: usize, soft: f32) -> Self {
        let right = Vec3::Y.cross(towards).normalize_or(Vec3::X);
        let up = towards.cross(right);
        let reach = (1.8 * scene.camera.half_height()).clamp(1.6, 30.0);
        let per_unit = side as f32 / (2.0 * reach);
        let mut map = Self {
            right,
            up,
            towards,
            side,
            soft,
            per_unit,
            depths: Vec::new(),
            disc: spiral(SHADOW_POINTS),
        };
        let corners: Vec<Corner> = scene
            .points
            .par_iter()
            .map(|&p| {
                let (pixel, depth) = map.place(p);
                Corner::new(pixel, depth)
            })
            .collect();
        map.depths = depth_map(&corners, solid, side);
        map
    }

    fn place(&self, p: Vec3) -> (Vec2, f32) {
        let middle = 0.5 * self.side as f32;
        let pixel = Vec2::new(p.dot(self.right), -p.dot(self.up)) * self.per_unit + middle;
        (pixel, p.dot(self.towards) + LIGHT_FAR)
    }

    /// Fraction of the light's disc that is visible from a surface point.
    fn lit(&self, point: &Point) -> f32 {
        let facing = point.normal.dot(self.towards);
        if facing < -0.45 {
            return 0.0;
        }
        // Offset along the normal at grazing light, where the surface's own facets would shadow it.
        let grazing = 1.0 - facing.clamp(0.0, 1.0);
        let (pixel, depth) = self.place(point.position + point.normal * GAP * (0.5 + 1.5 * grazing));
        let side = self.side as f32;
        let mut lit = 0.0;
        for offset in &self.disc {
            let at = pixel + point.turn.rotate(*offset) * (self.soft * self.per_unit);
            let inside = at.x >= 0.0 && at.y >= 0.0 && at.x < side && at.y < side;
            let blocker = if inside { self.depths[at.y as usize * self.side + at.x as usize] } else { 0.0 };
            // A slanted surface is higher by itself towards the rim of the disc.
            let allowed = GAP + 0.6 * self.soft * offset.length() * grazing;
            lit += 1.0 - ((blocker - depth - allowed) / (0.5 * self.soft)).clamp(0.0, 1.0);
        }
        lit / self.disc.len() as f32
    }
}
