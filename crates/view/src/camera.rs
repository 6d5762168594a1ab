//! The camera: a portrait lens, at the same position for every pose.
//!
//! The camera looks at the middle of the framed region in the *neutral*, from a distance at which the face
//! fills the height of a 36 mm tall frame through an 85 mm lens. Close-ups keep that distance and use a
//! longer lens, so the perspective does not change with the framing. They are centered on the framed skin
//! that is visible from the camera; otherwise the far side of a mouth and its lining would shift a close-up
//! away from the lips. View space: x right, y up, z towards the camera, origin at the target point; units of
//! face space.

use crate::look::FaceLook;
use glam::{DVec3, Mat3, Vec2, Vec3};

/// Half the height of the frame over the distance, for 85 mm: 18 / 85.
const TAN_HALF_VIEW: f32 = 18.0 / 85.0;
/// Free space around the framed vertices, as a factor.
const MARGIN: f32 = 1.10;
/// Cosine between normal and camera above which skin counts as seen in a close-up.
const FACING: f32 = 0.2;

/// What the picture shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Framing {
    /// The face: where shapes move the skin, or the front of the head. For a model: its frame.
    #[default]
    Face,
    /// Everything in the rig or model.
    Whole,
    /// These rig vertices, for close-ups. For a model: counted over its pieces in order.
    Vertices(Vec<u32>),
    /// This box in the coordinates of the rig or model, for close-ups that are the same for several models.
    Box(Bounds),
}

/// A box along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Least coordinates.
    pub lo: DVec3,
    /// Greatest coordinates.
    pub hi: DVec3,
}

impl Bounds {
    /// Bounds of the finite `points`; the origin if there are none.
    pub fn of(points: impl IntoIterator<Item = DVec3>) -> Self {
        let finite = points.into_iter().filter(|p| p.is_finite());
        let grown = |b: Option<Self>, p: DVec3| {
            Some(b.map_or(Self { lo: p, hi: p }, |b| Self { lo: b.lo.min(p), hi: b.hi.max(p) }))
        };
        finite.fold(None, grown).unwrap_or(Self { lo: DVec3::ZERO, hi: DVec3::ZERO })
    }

    /// A cube around `center` with half-width `reach`.
    pub fn around(center: DVec3, reach: f64) -> Self {
        Self { lo: center - reach, hi: center + reach }
    }

    pub(crate) fn corners(&self) -> [DVec3; 8] {
        let pick = |bit: bool, lo: f64, hi: f64| if bit { hi } else { lo };
        std::array::from_fn(|i| {
            let (lo, hi) = (self.lo, self.hi);
            DVec3::new(pick(i & 1 > 0, lo.x, hi.x), pick(i & 2 > 0, lo.y, hi.y), pick(i & 4 > 0, lo.z, hi.z))
        })
    }
}

/// A camera for one size of canvas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Camera {
    /// View space from face space: rotate, then translate.
    rotation: Mat3,
    target: Vec3,
    distance: f32,
    /// Pixels per unit at a distance of 1.
    focal: f32,
    middle: Vec2,
}

/// A projected vertex.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projected {
    pub pixel: Vec2,
    /// One over the distance from the camera plane; 0 for vertices that cannot be drawn.
    pub nearness: f32,
}

impl Camera {
    /// A camera for a `width` x `height` canvas, rotated by `yaw` and `pitch` (radians).
    pub fn new(
        look: &FaceLook,
        framing: &Framing,
        yaw: f32,
        pitch: f32,
        zoom: f32,
        width: usize,
        height: usize,
    ) -> Self {
        let rotation = Mat3::from_rotation_x(pitch) * Mat3::from_rotation_y(-yaw);
        let aspect = width as f32 / height as f32;
        // The scale fits the front view, so that several views of one head have the same size.
        let fits = |half: Vec3| half.y.max(half.x / aspect).max(1e-6);
        let turned = Extent::of(look, framing, rotation);
        let half = fits(Extent::of(look, framing, Mat3::IDENTITY).half).max(fits(turned.half) * 0.9);
        let face = fits(Extent::of(look, &Framing::Face, Mat3::IDENTITY).half);
        let distance = (half.max(face) * MARGIN / TAN_HALF_VIEW).max(1e-3);
        let focal = distance * 0.5 * height as f32 / (half * MARGIN) * zoom;
        let middle = Vec2::new(0.5 * width as f32, 0.5 * height as f32);
        let mut camera = Self { rotation, target: turned.middle, distance, focal, middle };
        if let Framing::Vertices(vertices) = framing {
            camera.center_on(look, vertices, zoom);
        }
        camera
    }

    /// Moves the camera sideways so that the projections of the visible ones of `vertices` are centered.
    ///
    /// Without zoom all of them should fit, so the center of their bounds is used. With increasing zoom their
    /// outer parts leave the picture, and the center moves to where most of them are.
    fn center_on(&mut self, look: &FaceLook, vertices: &[u32], zoom: f32) {
        let points = self.in_sight(look, vertices);
        if points.is_empty() {
            return;
        }
        let outskirts = 1.0 / zoom.max(1.0).powi(2);
        self.target = self.rotation * points.iter().sum::<Vec3>() / points.len() as f32;
        // Near points move faster across the picture than far ones; a few iterations converge to a hundredth
        // of a pixel.
        for _ in 0..4 {
            let middle = [0, 1].map(|axis| {
                let place = |p: &Vec3| {
                    let p = self.view_point(*p);
                    p[axis] / (self.distance - p.z).max(0.1 * self.distance)
                };
                let mut places: Vec<f32> = points.iter().map(place).collect();
                let half = places.len() / 2;
                let median = *places.select_nth_unstable_by(half, f32::total_cmp).1;
                let (lo, hi) =
                    places.iter().fold((f32::MAX, f32::MIN), |(lo, hi), &x| (lo.min(x), hi.max(x)));
                median + (0.5 * (lo + hi) - median) * outskirts
            });
            self.target += (Vec2::from(middle) * self.distance).extend(0.0);
        }
    }

    /// Rest positions of those of `vertices` that face the camera: of the outer skin, or else of the lining,
    /// or else of all.
    fn in_sight(&self, look: &FaceLook, vertices: &[u32]) -> Vec<Vec3> {
        let place = |v: usize| look.rest.get(v).copied().filter(|p| p.is_finite());
        let faces = |v: usize, p: Vec3| {
            let towards = self.towards(self.view_point(p));
            look.rest_normals.get(v).is_some_and(|&n| self.view_direction(n.into()).dot(towards) > FACING)
        };
        let inside = |v: usize| look.inside.get(v).is_some_and(|&i| i > 0.5);
        let framed = vertices.iter().map(|&v| v as usize).filter_map(|v| place(v).map(|p| (v, p)));
        let facing: Vec<(usize, Vec3)> = framed.clone().filter(|&(v, p)| faces(v, p)).collect();
        let outer: Vec<Vec3> = facing.iter().filter(|(v, _)| !inside(*v)).map(|f| f.1).collect();
        if !outer.is_empty() {
            outer
        } else if !facing.is_empty() {
            facing.into_iter().map(|f| f.1).collect()
        } else {
            framed.map(|f| f.1).collect()
        }
    }

    /// The same camera for a canvas of `factor` times as many pixels on a side.
    pub fn scaled(&self, factor: f32) -> Self {
        Self { focal: self.focal * factor, middle: self.middle * factor, ..*self }
    }

    /// A point of face space in view space.
    pub(crate) fn view_point(&self, p: Vec3) -> Vec3 {
        self.rotation * p - self.target
    }

    /// A direction of face space in view space.
    pub(crate) fn view_direction(&self, d: Vec3) -> Vec3 {
        self.rotation * d
    }

    /// Unit direction from a view-space point to the camera.
    pub fn towards(&self, p: Vec3) -> Vec3 {
        (Vec3::new(0.0, 0.0, self.distance) - p).normalize_or(Vec3::Z)
    }

    /// Screen position of a view-space point.
    pub fn project(&self, p: Vec3) -> Projected {
        let w = self.distance - p.z;
        let pixel = self.middle + Vec2::new(p.x, -p.y) * (self.focal / w);
        // Points closer than a tenth of the distance are not drawn: only broken vertices are that close.
        let drawable = w > 0.1 * self.distance && pixel.is_finite() && w.is_finite();
        Projected { pixel, nearness: if drawable { 1.0 / w } else { 0.0 } }
    }

    /// View-space point at `pixel` and `nearness`.
    pub(crate) fn unproject(&self, pixel: Vec2, nearness: f32) -> Vec3 {
        let w = 1.0 / nearness;
        let offset = (pixel - self.middle) * (w / self.focal);
        Vec3::new(offset.x, -offset.y, self.distance - w)
    }

    /// Pixels that a length of 1 covers at `nearness`.
    pub(crate) fn pixels_per_unit(&self, nearness: f32) -> f32 {
        self.focal * nearness
    }

    /// Half the height of the picture in units of face space, at the target point.
    pub fn half_height(&self) -> f32 {
        self.middle.y * self.distance / self.focal
    }
}

/// Bounds in rotated face space.
struct Extent {
    middle: Vec3,
    half: Vec3,
}

impl Extent {
    fn of(look: &FaceLook, framing: &Framing, rotation: Mat3) -> Self {
        let rest = |v: u32| look.rest.get(v as usize).copied();
        match framing {
            Framing::Face => Self::around(look.face.iter().copied(), rotation, 0.01),
            Framing::Whole => {
                Self::around(look.triangles.iter().flat_map(|t| t.vertices).filter_map(rest), rotation, 0.0)
            }
            Framing::Vertices(vertices) => {
                Self::around(vertices.iter().copied().filter_map(rest), rotation, 0.0)
            }
            Framing::Box(bounds) => {
                Self::around(bounds.corners().into_iter().map(|p| look.frame.place(p)), rotation, 0.0)
            }
        }
    }

    /// Bounds of `points` without the outermost `outer` fraction on each side.
    fn around(points: impl Iterator<Item = Vec3>, rotation: Mat3, outer: f32) -> Self {
        let points: Vec<Vec3> = points.filter(|p| p.is_finite()).map(|p| rotation * p).collect();
        let (mut lo, mut hi) = (Vec3::splat(-1.0), Vec3::splat(1.0));
        let skipped = (outer * points.len() as f32) as usize;
        for axis in 0..3 {
            let mut values: Vec<f32> = points.iter().map(|p| p[axis]).collect();
            if values.is_empty() {
                break;
            }
            let last = values.len() - 1 - skipped;
            lo[axis] = *values.select_nth_unstable_by(skipped, f32::total_cmp).1;
            hi[axis] = *values.select_nth_unstable_by(last, f32::total_cmp).1;
        }
        Self { middle: 0.5 * (lo + hi), half: (0.5 * (hi - lo)).max(Vec3::splat(1e-4)) }
    }
}
