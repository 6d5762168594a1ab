//! Shading: linear-light color of a point from its normal, its surface and its openness to the lights.
//!
//! Studio lights move with the camera: a warm key from the upper left, a cool fill from the right, rim lights
//! from behind, and a sky. Skin uses wrapped diffuse lighting (red wraps furthest), which approximates
//! subsurface scattering. Highlights are Blinn-Phong with Schlick's Fresnel approximation.

use crate::camera::{Camera, Projected};
use crate::look::{FaceLook, Made, SurfaceLook};
use crate::model::Finish;
use crate::raster::{Corner, Place};
use crate::visibility::Openness;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_rig::classify::kinds::Kind;
use risorius_rig::classify::pieces::Eye;

/// How much nearer lining must be than outer skin to be seen before it, in units of half a face: about 4 mm.
/// A lip is thicker, so the inner side of an open mouth is not affected.
pub(crate) const LINING_MARGIN: f32 = 0.04;

/// Number of lashes in a full circle around an eye.
const LASHES_AROUND: f32 = 110.0;

/// Factor on the skin's color in the lining of the mouth.
const LINING: Vec3 = Vec3::new(0.72, 0.36, 0.36);

/// A pose in view space, prepared for drawing.
pub(crate) struct Scene<'a> {
    pub look: &'a FaceLook,
    pub camera: Camera,
    pub points: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    /// Triangles that are lashes.
    pub lashes: Vec<bool>,
    /// All opaque surfaces, then the translucent surfaces one by one.
    pub layers: Vec<Layer>,
}

/// Triangles that are drawn and lit independently of other layers.
#[derive(Default)]
pub(crate) struct Layer {
    pub chosen: Vec<u32>,
    /// The chosen triangles except lashes, which cast no shadows and do not occlude.
    pub solid: Vec<[u32; 3]>,
    /// Where the solid triangles lie.
    pub places: Vec<Place>,
}

impl<'a> Scene<'a> {
    /// `positions` of `look`'s rig as `camera` sees them.
    pub fn new(look: &'a FaceLook, positions: &[[f32; 3]], camera: Camera) -> Self {
        let placed: Vec<Vec3> = positions.par_iter().map(|&p| look.frame.point(p)).collect();
        let flat: Vec<[f32; 3]> = placed.iter().map(|p| p.to_array()).collect();
        let normals = look.normals.compute(&flat);
        let lashes: Vec<bool> = look
            .triangles
            .iter()
            .map(|t| look.surfaces[t.surface as usize].kind == Made::Of(Kind::Lash))
            .collect();
        let mut layers = vec![Layer::default()];
        for (t, triangle) in look.triangles.iter().enumerate() {
            let layer = look.surfaces[triangle.surface as usize].layer;
            layers.resize_with(layers.len().max(layer + 1), Layer::default);
            layers[layer].chosen.push(t as u32);
            if !lashes[t] {
                layers[layer].solid.push(triangle.vertices);
                layers[layer].places.push(look.places[t]);
            }
        }
        Self {
            look,
            camera,
            points: placed.par_iter().map(|&p| camera.view_point(p)).collect(),
            normals: normals.par_iter().map(|&n| camera.view_direction(n.into())).collect(),
            triangles: look.triangles.iter().map(|t| t.vertices).collect(),
            lashes,
            layers,
        }
    }

    /// Whether a point of lash triangle `t` is on a strand: strands surround the eye and taper to their tips.
    pub(crate) fn is_strand(&self, t: u32, shares: [f32; 3]) -> bool {
        let triangle = &self.look.triangles[t as usize];
        let surface = &self.look.surfaces[triangle.surface as usize];
        let rest: Vec3 = (0..3).map(|k| self.look.rest[triangle.vertices[k] as usize] * shares[k]).sum();
        // Without an eye the direction of growth is unknown; thin vertical stripes are drawn.
        let Some(eye) = surface.eye.and_then(|e| self.look.eyes.get(e)) else {
            return (rest.x * 90.0).fract().abs() < 0.3;
        };
        let d = (rest - eye.center) / eye.radius;
        let along =
            ((d.length() - surface.span[0]) / (surface.span[1] - surface.span[0]).max(1e-3)).clamp(0.0, 1.0);
        let place = (d.y.atan2(d.x) + 0.12 * along) * LASHES_AROUND / std::f32::consts::TAU;
        let strand = place.floor();
        // Neighbors differ in length by a deterministic irregular sequence.
        let length = 0.65 + 0.35 * (strand * 0.618_034 - (strand * 0.618_034).floor());
        (place - strand - 0.5).abs() < 0.26 * (1.0 - along / length)
    }

    /// The screen position of a point in the coordinates of the rig or model.
    pub fn project(&self, p: DVec3) -> Projected {
        self.camera.project(self.camera.view_point(self.look.frame.place(p)))
    }

    /// All vertices on the screen of `camera`.
    pub fn corners(&self, camera: &Camera) -> Vec<Corner> {
        self.points
            .par_iter()
            .map(|&p| {
                let projected = camera.project(p);
                Corner::new(projected.pixel, projected.nearness)
            })
            .collect()
    }
}

/// Directions to the key and the fill light, view space.
pub(crate) fn light_directions() -> [Vec3; 2] {
    [Vec3::new(-0.50, 0.62, 0.78).normalize(), Vec3::new(0.85, 0.08, 0.60).normalize()]
}

struct Light {
    direction: Vec3,
    color: Vec3,
}

/// The lights of every picture.
pub(crate) struct Studio {
    key: Light,
    fill: Light,
    rims: [Light; 2],
}

impl Studio {
    pub fn new() -> Self {
        let [key, fill] = light_directions();
        let light = |d: Vec3, color: Vec3| Light { direction: d.normalize(), color };
        Self {
            key: light(key, Vec3::new(1.10, 1.00, 0.90) * 1.12),
            fill: light(fill, Vec3::new(0.82, 0.92, 1.10) * 0.30),
            rims: [
                light(Vec3::new(0.75, 0.45, -0.55), Vec3::new(0.95, 1.0, 1.1) * 1.1),
                light(Vec3::new(-0.85, 0.25, -0.55), Vec3::new(1.0, 1.0, 1.0) * 0.5),
            ],
        }
    }

    /// Light reflected to the camera by a point with unit normal `n` and unit direction `v` to the camera.
    pub(crate) fn shade(&self, material: &Material, n: Vec3, v: Vec3, open: Openness) -> Vec3 {
        let wrap = material.wrap;
        let wrapped = |light: &Light| {
            let lit = ((wrap + n.dot(light.direction)) / (1.0 + wrap)).max(Vec3::ZERO);
            lit * lit * (1.0 + 0.5 * wrap) * light.color
        };
        let highlight = |light: &Light| {
            if n.dot(light.direction) <= 0.0 {
                return Vec3::ZERO;
            }
            let half = (light.direction + v).normalize_or(Vec3::Z);
            let fresnel = 0.04 + 0.96 * (1.0 - half.dot(v).clamp(0.0, 1.0)).powi(5);
            let facing = (n.dot(light.direction) * 4.0).clamp(0.0, 1.0);
            let lobe = n.dot(half).max(0.0).powi(material.shine) * (material.shine as f32 + 8.0) * 0.04;
            light.color * (lobe * fresnel * facing * material.gloss)
        };
        let sky = Vec3::new(0.135, 0.115, 0.10).lerp(Vec3::new(0.27, 0.29, 0.32), 0.5 + 0.5 * n.y);
        // Cavities in flesh are slightly brighter and redder, by light scattered inside.
        let hollow = open.sky * (1.0 - wrap) + open.sky.sqrt() * wrap;
        let mut diffuse = wrapped(&self.key) * (open.key * (0.35 + 0.65 * open.sky));
        diffuse += (wrapped(&self.fill) * open.fill + sky) * hollow;
        let mut glint =
            highlight(&self.key) * open.key * open.sky + highlight(&self.fill) * open.fill * open.sky;
        // Rim lights act only at grazing angles; elsewhere they would shine through from behind.
        let slant = (0.9 - n.dot(v)).max(0.0).powi(2) * open.sky * open.sky * 1.2;
        if slant > 0.0 {
            for rim in &self.rims {
                diffuse += wrapped(rim) * slant;
                glint += highlight(rim) * slant;
            }
        }
        material.color * diffuse + glint
    }

    /// Light for colors that represent values: it shows the form and keeps the hue.
    pub(crate) fn shade_flat(&self, color: Vec3, n: Vec3, v: Vec3, open: Openness) -> Vec3 {
        let key = n.dot(self.key.direction).max(0.0) * (0.4 + 0.6 * open.key);
        let level = 0.46 + 0.34 * key + 0.22 * n.dot(v).max(0.0);
        color * level * (0.45 + 0.55 * open.sky)
    }
}

/// How a surface reflects light.
pub(crate) struct Material {
    pub color: Vec3,
    /// How far light wraps around, per channel.
    pub wrap: Vec3,
    pub gloss: f32,
    /// Exponent of the highlight.
    pub shine: i32,
}

impl Material {
    /// The material of `surface`, whose own color is `color`, at a point whose position in the neutral is
    /// `rest` (face space); `inside` is 1 for lining, 0 for outer skin.
    pub fn of(surface: &SurfaceLook, color: Vec3, eyes: &[Eye], rest: Vec3, inside: f32) -> Self {
        let plain = |wrap: f32, gloss: f32, shine: i32| Self { color, wrap: Vec3::splat(wrap), gloss, shine };
        match surface.kind {
            Made::Of(Kind::Skin) | Made::Piece(Finish::Skin) => Self {
                color: color.lerp(color * LINING, inside),
                wrap: Vec3::new(0.42, 0.24, 0.18),
                gloss: 1.0,
                shine: 20,
            },
            Made::Of(Kind::Mouth | Kind::Tongue) => {
                Self { wrap: Vec3::new(0.35, 0.1, 0.1), ..plain(0.2, 1.6, 50) }
            }
            Made::Of(Kind::Teeth) => plain(0.3, 2.0, 70),
            Made::Piece(Finish::Matte | Finish::Flat) => plain(0.25, 0.3, 10),
            Made::Piece(Finish::Bone) => Self { wrap: Vec3::new(0.34, 0.28, 0.22), ..plain(0.3, 0.8, 24) },
            Made::Piece(Finish::Flesh) => Self { wrap: Vec3::new(0.42, 0.28, 0.14), ..plain(0.3, 1.2, 30) },
            Made::Piece(Finish::Muscle) => Self { wrap: Vec3::new(0.34, 0.10, 0.10), ..plain(0.2, 1.8, 36) },
            Made::Of(Kind::Lash | Kind::Hair | Kind::Hidden) => plain(0.3, 0.4, 12),
            Made::Of(Kind::Eye) => match surface.eye.and_then(|e| eyes.get(e)) {
                Some(eye) => Self { color: color * iris(eye, rest), ..plain(0.35, 5.0, 420) },
                None => plain(0.35, 3.0, 200),
            },
        }
    }
}

/// Factor on the white of the eye at `rest`: a warmer tone at the edge, iris, dark ring, pupil.
fn iris(eye: &Eye, rest: Vec3) -> Vec3 {
    let d = (rest - eye.center).normalize_or(eye.gaze);
    // By the distance from the axis, so that the iris is round also on coarse meshes and under a bulging
    // cornea.
    let away = (rest - eye.center).reject_from_normalized(eye.gaze).length() / eye.radius;
    let angle = if d.dot(eye.gaze) > 0.0 { away.min(1.0).asin().to_degrees() } else { 90.0 };
    let step = |edge: f32, soft: f32| ((angle - edge) / soft + 0.5).clamp(0.0, 1.0);
    let white =
        Vec3::new(1.0, 0.97, 0.95).lerp(Vec3::new(1.0, 0.80, 0.76), ((angle - 38.0) / 50.0).clamp(0.0, 1.0));
    let ring = Vec3::new(0.06, 0.05, 0.045);
    let outer = Vec3::new(0.20, 0.16, 0.115);
    let inner = Vec3::new(0.36, 0.22, 0.11);
    let colored = inner
        .lerp(outer, ((angle - 11.0) / 10.0).clamp(0.0, 1.0))
        .lerp(ring, ((angle - 20.5) / 5.0).clamp(0.0, 1.0));
    Vec3::splat(0.012).lerp(colored, step(10.5, 1.2)).lerp(white, step(25.0, 2.4))
}

/// Tone mapping from scene light to display light: linear for mid tones, compressed near white so that
/// highlights keep their form.
pub(crate) fn tone(light: Vec3) -> Vec3 {
    let bend = |x: f32| if x < 0.6 { x } else { 0.6 + 0.4 * (1.0 - (-(x - 0.6) / 0.4).exp()) };
    light.max(Vec3::ZERO).map(bend)
}
