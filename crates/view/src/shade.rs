//! Light on a point of the face: linear-light color from its normal, its surface and how open it lies.
//!
//! Three lights that move with the camera, as a photographer would set them: a warm key from the upper left, a cool
//! fill from the right, rims from behind; and a sky. Skin wraps diffuse light around (red furthest), which stands for
//! scattering below the surface; highlights are Blinn's with Schlick's rise at grazing angles.

use crate::camera::Camera;
use crate::components::Eye;
use crate::look::{FaceLook, Surface};
use crate::names::Kind;
use crate::raster::Corner;
use crate::visibility::Openness;
use glam::Vec3;
use rayon::prelude::*;

/// A pose in view space, ready to be drawn.
pub(crate) struct Scene<'a> {
    pub look: &'a FaceLook,
    pub camera: Camera,
    pub points: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    pub kinds: Vec<Kind>,
    pub sparse: Vec<bool>,
}

impl<'a> Scene<'a> {
    /// `positions` of `look`'s rig as `camera` sees them.
    pub fn new(look: &'a FaceLook, positions: &[[f32; 3]], camera: Camera) -> Self {
        let placed: Vec<Vec3> = positions.par_iter().map(|&p| look.frame.point(p)).collect();
        let flat: Vec<[f32; 3]> = placed.iter().map(|p| p.to_array()).collect();
        let normals = look.normals.compute(&flat);
        let kinds: Vec<Kind> = look.triangles.iter().map(|t| look.surfaces[t.surface as usize].kind).collect();
        Self {
            look,
            camera,
            points: placed.par_iter().map(|&p| camera.view_point(p)).collect(),
            normals: normals.par_iter().map(|&n| camera.view_direction(n.into())).collect(),
            triangles: look.triangles.iter().map(|t| t.vertices).collect(),
            sparse: kinds.iter().map(|k| *k == Kind::Lash).collect(),
            kinds,
        }
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

/// Direction to the key light, view space.
pub(crate) fn key_direction() -> Vec3 {
    Vec3::new(-0.50, 0.62, 0.78).normalize()
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
        let light = |d: Vec3, color: Vec3| Light { direction: d.normalize(), color };
        Self {
            key: light(key_direction(), Vec3::new(1.10, 1.00, 0.90) * 1.05),
            fill: light(Vec3::new(0.85, 0.05, 0.55), Vec3::new(0.82, 0.92, 1.10) * 0.26),
            rims: [
                light(Vec3::new(0.75, 0.45, -0.55), Vec3::new(0.95, 1.0, 1.1) * 0.50),
                light(Vec3::new(-0.85, 0.25, -0.55), Vec3::new(1.0, 1.0, 1.0) * 0.22),
            ],
        }
    }

    /// Light sent to the camera by a point with unit normal `n`, unit direction `v` to the camera.
    pub fn shade(&self, material: &Material, n: Vec3, v: Vec3, open: Openness) -> Vec3 {
        let wrapped = |light: &Light| {
            let c = n.dot(light.direction);
            material.wrap.map(|w| ((c + w) / (1.0 + w)).max(0.0).powi(2) * (1.0 + 0.5 * w)) * light.color
        };
        let highlight = |light: &Light| {
            let half = (light.direction + v).normalize_or(Vec3::Z);
            let c = n.dot(half).max(0.0);
            let fresnel = 0.04 + 0.96 * (1.0 - half.dot(v).clamp(0.0, 1.0)).powi(5);
            let facing = (n.dot(light.direction) * 4.0).clamp(0.0, 1.0);
            light.color * (c.powf(material.shine) * (material.shine + 8.0) * 0.04 * fresnel * facing * material.gloss)
        };
        let sky_share = 0.5 + 0.5 * n.y;
        let sky = Vec3::new(0.30, 0.32, 0.35).lerp(Vec3::new(0.17, 0.145, 0.13), 1.0 - sky_share);
        // Cavities in flesh glow a little: light that enters leaves red.
        let hollow = material.wrap.map(|w| open.sky.powf(1.0 - 0.45 * w));
        let shadow = Vec3::splat(open.key) * 0.86 + 0.14 * open.key.sqrt();
        let mut diffuse =
            wrapped(&self.key) * shadow * (0.35 + 0.65 * open.sky) + wrapped(&self.fill) * hollow + sky * hollow;
        let mut glint = highlight(&self.key) * open.key + highlight(&self.fill) * open.sky;
        for rim in &self.rims {
            diffuse += wrapped(rim) * open.sky * 0.5;
            glint += highlight(rim) * open.sky * open.sky;
        }
        material.color * diffuse + glint
    }

    /// Light for colors that mean values: form is shown, hue is left alone.
    pub fn shade_flat(&self, color: Vec3, n: Vec3, v: Vec3, open: Openness) -> Vec3 {
        let key = n.dot(self.key.direction).max(0.0) * (0.4 + 0.6 * open.key);
        let level = 0.46 + 0.34 * key + 0.22 * n.dot(v).max(0.0);
        color * level * (0.45 + 0.55 * open.sky)
    }
}

/// How a surface answers light.
pub(crate) struct Material {
    pub color: Vec3,
    /// How far light wraps around, per channel.
    pub wrap: Vec3,
    pub gloss: f32,
    pub shine: f32,
}

impl Material {
    /// The material of `surface` at a point whose place in the neutral is `rest` (face space).
    pub fn of(surface: &Surface, eyes: &[Eye], rest: Vec3) -> Self {
        let color = Vec3::from(surface.color);
        let plain = |wrap: f32, gloss: f32, shine: f32| Self { color, wrap: Vec3::splat(wrap), gloss, shine };
        match surface.kind {
            Kind::Skin => Self { color, wrap: Vec3::new(0.42, 0.24, 0.18), gloss: 1.0, shine: 18.0 },
            Kind::Mouth | Kind::Tongue => Self { wrap: Vec3::new(0.35, 0.1, 0.1), ..plain(0.2, 2.0, 50.0) },
            Kind::Teeth => plain(0.3, 2.2, 70.0),
            Kind::Lash | Kind::Hair | Kind::Hidden => plain(0.3, 0.4, 12.0),
            Kind::Eye => match surface.eye.and_then(|e| eyes.get(e)) {
                Some(eye) => Self { color: color * iris(eye, rest), ..plain(0.35, 5.0, 420.0) },
                None => plain(0.35, 3.0, 200.0),
            },
        }
    }
}

/// What the white of the eye is multiplied by at `rest`: veins of warmth at the edge, iris, dark ring, pupil.
fn iris(eye: &Eye, rest: Vec3) -> Vec3 {
    let d = (rest - eye.center).normalize_or(eye.gaze);
    let angle = d.dot(eye.gaze).clamp(-1.0, 1.0).acos().to_degrees();
    let step = |edge: f32, soft: f32| ((angle - edge) / soft + 0.5).clamp(0.0, 1.0);
    let white = Vec3::new(1.0, 0.97, 0.95).lerp(Vec3::new(1.0, 0.80, 0.76), ((angle - 38.0) / 50.0).clamp(0.0, 1.0));
    let ring = Vec3::new(0.06, 0.05, 0.045);
    let outer = Vec3::new(0.20, 0.16, 0.115);
    let inner = Vec3::new(0.36, 0.22, 0.11);
    let colored =
        inner.lerp(outer, ((angle - 11.0) / 10.0).clamp(0.0, 1.0)).lerp(ring, ((angle - 20.5) / 5.0).clamp(0.0, 1.0));
    Vec3::splat(0.012).lerp(colored, step(10.5, 1.2)).lerp(white, step(25.0, 2.4))
}

/// Scene light to display light: straight for mid tones, bending before white so that highlights keep their form.
pub(crate) fn tone(light: Vec3) -> Vec3 {
    let bend = |x: f32| if x < 0.6 { x } else { 0.6 + 0.4 * (1.0 - (-(x - 0.6) / 0.4).exp()) };
    light.max(Vec3::ZERO).map(bend)
}
