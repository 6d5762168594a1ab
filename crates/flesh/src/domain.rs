//! Where flesh is: inside the skin, outside bones and eyeballs, near what the shapes move; and how fine it is meshed there.
//!
//! A point is in flesh if it is
//!
//!   inside the skin: the generalized winding number is above 1/2
//!   outside cranium, mandible and eyeballs
//!   within reach of a skin vertex that some shape moves: the back of the head and the body are left out
//!   not where jaw and skull come so close beside a condyle that flesh between them would be torn
//!
//! Element sizes: finest at lips and lids, growing with the distance from them, and never much more than the flesh is
//! thick between skin and bone.

use glam::DVec3;
use risorius_anatomy::JawJoint;
use risorius_mesh::bvh::{self, Aabb};
use risorius_mesh::stuffing::Domain;
use risorius_mesh::winding::WindingNumbers;
use risorius_mesh::{Bvh, Surface};

/// What a boundary node of the volume lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Bound {
    /// The skin, mouth bag and sockets included.
    Skin = 0,
    /// The skull.
    Cranium = 1,
    /// The jaw.
    Mandible = 2,
    /// An eyeball.
    Eye = 3,
    /// The cut towards the rest of the head and body.
    Border = 4,
    /// The free surface around the jaw joint.
    Joint = 5,
    /// Not on the boundary.
    Inside = 6,
}

impl Bound {
    /// The bound with this number; numbers above 5 are inside.
    pub fn from_number(number: u8) -> Self {
        use Bound::*;
        [Skin, Cranium, Mandible, Eye, Border, Joint].get(usize::from(number)).copied().unwrap_or(Inside)
    }
}

/// Flesh that is nearer than this to both jaw and skull beside a condyle is left out, in meters (sum of the distances).
const JOINT_GAP: f64 = 0.008;

/// Radius around a condyle in which that happens, in meters.
const JOINT_RADIUS: f64 = 0.025;

/// Distances beyond this are not told apart, in meters.
const FAR: f64 = 0.03;

/// Sizes of elements in meters, before the node count asks for a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Edge length at lips and lids.
    pub fine: f64,
    /// Longest edge anywhere.
    pub coarse: f64,
    /// Growth of the edge length per meter of distance from lips and lids.
    pub growth: f64,
    /// Edge length per thickness of flesh between skin and bone.
    pub per_thickness: f64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { fine: 0.0024, coarse: 0.010, growth: 0.11, per_thickness: 0.9 }
    }
}

/// A surface that tells inside from outside.
pub struct Solid {
    winding: WindingNumbers,
    tree: Bvh,
    bounds: Aabb,
}

impl Solid {
    /// Prepares the queries.
    pub fn prepare(surface: &Surface) -> Self {
        let positions = surface.positions_f32();
        Self {
            winding: WindingNumbers::prepare(&positions, &surface.triangles),
            tree: Bvh::build(&positions, &surface.triangles),
            bounds: bvh::bounds(&positions).unwrap_or(Aabb { min: glam::Vec3::MAX, max: glam::Vec3::MAX }),
        }
    }

    /// Whether `p` is inside.
    pub fn contains(&self, p: DVec3) -> bool {
        self.bounds.distance_sq(p) == 0.0 && self.winding.at(p) > 0.5
    }

    /// Distance to the surface, up to `max`.
    pub fn distance(&self, p: DVec3, max: f64) -> f64 {
        self.tree.closest_point(p, max).map_or(max, |c| c.distance_sq.sqrt())
    }

    /// Whether the ball surely holds no point where the winding number passes 1/2. Near triangles it may; away from them
    /// the number is harmonic, and by Harnack's inequality stays on its side within half the free radius if it is
    /// within 1/12 of 0 or 1 at the center.
    fn is_clear(&self, center: DVec3, radius: f64) -> bool {
        self.tree.closest_point(center, 2.0 * radius).is_none() && {
            let number = self.winding.at(center);
            number < 1.0 / 12.0 || number > 11.0 / 12.0
        }
    }

    /// The closest point of the surface.
    pub fn closest(&self, p: DVec3) -> Option<risorius_mesh::query::Closest> {
        self.tree.closest_point(p, f64::INFINITY)
    }
}

/// Where flesh is in one pose.
pub struct FleshDomain {
    /// Skin in the pose, tunnels included.
    pub skin: Solid,
    /// Skull.
    pub cranium: Option<Solid>,
    /// Jaw in the pose.
    pub mandible: Option<Solid>,
    /// Eyeballs: center and radius.
    pub eyes: Vec<(DVec3, f64)>,
    /// The joint in the pose.
    pub joint: JawJoint,
    /// Skin vertices that some shape moves.
    pub moving: Bvh,
    /// How far flesh reaches around them, in meters.
    pub reach: f64,
    /// Points along lips and lids.
    pub features: Bvh,
    /// Sizes of elements.
    pub sizes: Sizes,
}

impl FleshDomain {
    /// Whether `p` is in flesh. The cheapest questions come first.
    pub fn contains(&self, p: DVec3) -> bool {
        self.moving.closest_vertex(p, self.reach).is_some()
            && self.eyes.iter().all(|eye| p.distance(eye.0) > eye.1)
            && self.skin.contains(p)
            && [&self.cranium, &self.mandible].into_iter().flatten().all(|bone| !bone.contains(p))
            && self.beside_joint(p) > 0.0
    }

    /// Sum of the distances to jaw and skull beside a condyle, less the gap that is kept free; far away elsewhere.
    fn beside_joint(&self, p: DVec3) -> f64 {
        match (&self.cranium, &self.mandible) {
            (Some(cranium), Some(mandible)) if self.joint.condyles.iter().any(|c| p.distance(*c) < JOINT_RADIUS) => {
                cranium.distance(p, FAR) + mandible.distance(p, FAR) - JOINT_GAP
            }
            _ => FAR,
        }
    }

    /// The boundary nearest to a point on the boundary of flesh.
    pub fn bound(&self, p: DVec3) -> Bound {
        let border = self.moving.closest_vertex(p, self.reach * 2.0).map_or(2.0 * self.reach, |c| c.1.sqrt());
        let bone = |solid: &Option<Solid>| solid.as_ref().map_or(FAR, |s| s.distance(p, FAR));
        let eye = self.eyes.iter().map(|eye| (p.distance(eye.0) - eye.1).abs()).fold(FAR, f64::min);
        let distances = [
            (self.skin.distance(p, FAR), Bound::Skin),
            (bone(&self.cranium), Bound::Cranium),
            (bone(&self.mandible), Bound::Mandible),
            (eye, Bound::Eye),
            ((self.reach - border).abs(), Bound::Border),
            (self.beside_joint(p).abs(), Bound::Joint),
        ];
        let nearest = distances.into_iter().fold((f64::INFINITY, Bound::Border), |a, b| if b.0 < a.0 { b } else { a });
        // Far from everything: the membrane that winding numbers span over an open neck.
        if nearest.0 > 0.002 { Bound::Border } else { nearest.1 }
    }

    /// Longest edge wanted at `p`.
    pub fn edge_length(&self, p: DVec3) -> f64 {
        let sizes = &self.sizes;
        let from_features = self.features.closest_vertex(p, 0.2).map_or(0.2, |c| c.1.sqrt());
        let graded = (sizes.fine + sizes.growth * (from_features - 0.004).max(0.0)).min(sizes.coarse);
        if graded <= 1.2 * sizes.fine {
            return graded;
        }
        let bones = [&self.cranium, &self.mandible].into_iter().flatten();
        let thickness = self.skin.distance(p, FAR) + bones.map(|s| s.distance(p, FAR)).fold(FAR, f64::min);
        graded.min((sizes.per_thickness * thickness).max(1.7 * sizes.fine))
    }
}

impl Domain for FleshDomain {
    fn value(&self, p: DVec3) -> f64 {
        if self.contains(p) { 1.0 } else { -1.0 }
    }

    fn size(&self, p: DVec3) -> f64 {
        self.edge_length(p)
    }

    fn is_clear(&self, center: DVec3, radius: f64) -> bool {
        let limit = self.reach + radius;
        let Some((_, distance_sq)) = self.moving.closest_vertex(center, limit) else { return true };
        let border = self.reach - distance_sq.sqrt();
        let bones = [&self.cranium, &self.mandible].into_iter().flatten();
        border > radius
            && self.skin.is_clear(center, radius)
            && bones.into_iter().all(|solid| solid.is_clear(center, radius))
            && self.eyes.iter().all(|eye| (center.distance(eye.0) - eye.1).abs() > radius)
            && self.joint.condyles.iter().all(|c| center.distance(*c) > JOINT_RADIUS + radius)
    }
}
