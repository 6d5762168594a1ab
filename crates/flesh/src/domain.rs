//! The domain of flesh: inside the skin, outside bones and eyeballs, near moving skin; and its element sizes.
//!
//! A point is in flesh if all of these hold:
//!
//! - it is inside the skin: the generalized winding number is above 1/2;
//! - it is outside cranium, mandible and eyeballs, or so close below the skin that no element would fit
//!   between;
//! - it is within reach of a skin vertex that some shape moves, and in front of the ears (the rest of the
//!   body is left out);
//! - it is not between jaw and skull close to a condyle, where flesh would be torn.
//!
//! Elements are finest at lips and lids and grow with the distance from them. Over bone, flesh can be as thin
//! as 3 mm. Instead of meshing a whole forehead that finely, the volume extends into the bone by the missing
//! thickness. Lids and nostrils are thinner still; there it extends beyond the skin ([`crate::thin`]).

use crate::thin::ThinSkin;
use glam::DVec3;
use risorius_head::JawJoint;
use risorius_mesh::Bvh;
use risorius_mesh::tet::domain::{Domain, Hits};
use risorius_mesh::tet::solid::{Shell, hits_of};

/// The surface that a boundary node of the volume lies on.
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
    /// The cut to the rest of the head and body.
    Border = 4,
    /// The free surface around the jaw joint.
    Joint = 5,
    /// Not on the boundary.
    Inside = 6,
}

impl Bound {
    /// The bound with this number; numbers above 5 are inside.
    pub(crate) fn from_number(number: u8) -> Self {
        use Bound::*;
        [Skin, Cranium, Mandible, Eye, Border, Joint].get(usize::from(number)).copied().unwrap_or(Inside)
    }
}

/// Close to a condyle, flesh is left out where the sum of its distances to jaw and skull is below this, in
/// meters.
const JOINT_GAP: f64 = 0.008;

/// Radius around a condyle in which this applies, in meters.
const JOINT_RADIUS: f64 = 0.025;

/// Interior nodes nearer to a bone than this are attached to it, in meters.
pub(crate) const AT_BONE: f64 = 0.001;

/// Distances are capped at this, in meters.
const FAR: f64 = 0.03;

/// Largest thickness to which thin flesh is extended, in meters.
const THICK_ENOUGH: f64 = 0.02;

/// Sizes of lattice cells in meters, before scaling to the target number of nodes; elements at the skin are
/// half as large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Edge length at lips and lids.
    pub fine: f64,
    /// Longest edge anywhere.
    pub coarse: f64,
    /// Growth of the edge length per meter of distance from lips and lids.
    pub growth: f64,
    /// Thickness of the thinnest flesh in edge lengths.
    pub least_thickness: f64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { fine: 0.008, coarse: 0.022, growth: 0.6, least_thickness: 0.45 }
    }
}

impl Sizes {
    /// Longest edge wanted at `p`, where `features` are points along lips and lids.
    pub(crate) fn edge_length(&self, features: &Bvh, p: DVec3) -> f64 {
        let from_features = features.closest_vertex(p, 0.1).map_or(0.1, |c| c.1.sqrt());
        (self.fine + self.growth * (from_features - 0.005).max(0.0)).min(self.coarse)
    }

    /// Least thickness of flesh for edges of this length.
    pub(crate) fn least_thickness(&self, edge_length: f64) -> f64 {
        (self.least_thickness * edge_length).min(THICK_ENOUGH)
    }
}

/// Where flesh ends toward the back: just in front of the ears, and below them at a slope that includes the
/// angle of the jaw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Back {
    /// The more forward of the two tragions.
    pub ear: DVec3,
}

impl Back {
    /// Flesh ends this far in front of the tragion, in meters.
    const BEFORE_EAR: f64 = 0.006;
    /// The lobe ends this far below it, in meters.
    const LOBE: f64 = 0.03;
    /// Normal of the sloping part.
    const SLOPE: DVec3 = DVec3::new(0.0, -0.9, 0.436);

    /// Distance in front of the end, negative behind; never larger than the true distance.
    pub fn distance(&self, p: DVec3) -> f64 {
        let upright = p.z - self.ear.z - Self::BEFORE_EAR;
        let sloping = (p - self.ear - DVec3::new(0.0, -Self::LOBE, Self::BEFORE_EAR)).dot(Self::SLOPE);
        upright.max(sloping)
    }
}

/// The domain of flesh in one pose.
pub struct FleshDomain {
    /// Skin in the pose, tunnels included.
    pub skin: Shell,
    /// Skin with skin close behind it.
    pub thin: ThinSkin,
    /// Skull.
    pub cranium: Option<Shell>,
    /// Jaw in the pose.
    pub mandible: Option<Shell>,
    /// Eyeballs: center and radius.
    pub eyes: Vec<(DVec3, f64)>,
    /// The joint in the pose.
    pub joint: JawJoint,
    /// Skin vertices that some shape moves.
    pub moving: Bvh,
    /// How far flesh reaches around them, in meters.
    pub reach: f64,
    /// Where flesh ends toward the back.
    pub back: Back,
    /// Points along lips and lids.
    pub features: Bvh,
    /// Sizes of elements.
    pub sizes: Sizes,
}

impl FleshDomain {
    /// Whether `p` is in flesh. The cheapest tests come first.
    pub fn contains(&self, p: DVec3) -> bool {
        self.back.distance(p) > 0.0
            && self.moving.has_vertex_within(p, self.reach)
            && (self.skin.value(p) > 0.0 || self.thin.reaches(p))
            && (self.is_outside_solids(p) || self.is_thin(p))
            && self.beside_joint(p) > 0.0
    }

    fn is_outside_solids(&self, p: DVec3) -> bool {
        self.eyes.iter().all(|eye| p.distance(eye.0) > eye.1)
            && [&self.cranium, &self.mandible].into_iter().flatten().all(|bone| bone.value(p) <= 0.0)
    }

    /// Whether `p` is nearer to the skin than the least thickness of flesh.
    fn is_thin(&self, p: DVec3) -> bool {
        let least = self.sizes.least_thickness(self.edge_length(p));
        self.skin.comes_within(p, least)
    }

    /// Close to a condyle, the sum of the distances to jaw and skull minus [`JOINT_GAP`]; [`FAR`] elsewhere.
    fn beside_joint(&self, p: DVec3) -> f64 {
        match (&self.cranium, &self.mandible) {
            (Some(cranium), Some(mandible))
                if self.joint.condyles.iter().any(|c| p.distance(*c) < JOINT_RADIUS) =>
            {
                cranium.distance(p, FAR) + mandible.distance(p, FAR) - JOINT_GAP
            }
            _ => FAR,
        }
    }

    /// The bound of a node at `p`: the bone that contains it, or the nearest boundary surface if it is on the
    /// boundary.
    pub fn bound(&self, p: DVec3, on_boundary: bool) -> Bound {
        // Interior nodes that almost touch a bone are attached to it: elements between such a node and others
        // on the bone would be so flat that any motion inverts them.
        let touches = |s: &Shell| !on_boundary && s.comes_within(p, AT_BONE);
        let inside = |solid: &Option<Shell>| solid.as_ref().is_some_and(|s| s.value(p) > 0.0 || touches(s));
        let within = if inside(&self.mandible) {
            Bound::Mandible
        } else if inside(&self.cranium) {
            Bound::Cranium
        } else {
            Bound::Inside
        };
        if !on_boundary {
            return within;
        }
        let border = self.moving.closest_vertex(p, self.reach * 2.0).map_or(2.0 * self.reach, |c| c.1.sqrt());
        let bone = |solid: &Option<Shell>| solid.as_ref().map_or(FAR, |s| s.distance(p, FAR));
        let eye = self.eyes.iter().map(|eye| (p.distance(eye.0) - eye.1).abs()).fold(FAR, f64::min);
        let distances = [
            (self.skin.distance(p, FAR), Bound::Skin),
            (bone(&self.cranium), Bound::Cranium),
            (bone(&self.mandible), Bound::Mandible),
            (eye, Bound::Eye),
            ((self.reach - border).abs(), Bound::Border),
            (self.back.distance(p).abs(), Bound::Border),
            (self.beside_joint(p).abs(), Bound::Joint),
        ];
        let nearest =
            distances.into_iter().fold((f64::INFINITY, Bound::Border), |a, b| if b.0 < a.0 { b } else { a });
        if nearest.0 < 0.0005 {
            return nearest.1;
        }
        if self.skin.value(p) < 0.0 && self.thin.is_near(p, 0.0005) {
            return Bound::Skin;
        }
        // Where flesh is thin, its inner boundary lies within the bone or eye.
        if within != Bound::Inside {
            within
        } else if self.eyes.iter().any(|e| p.distance(e.0) < e.1) {
            Bound::Eye
        } else if nearest.0 > 0.002 {
            // The zero set of the winding number across an open neck.
            Bound::Border
        } else {
            nearest.1
        }
    }

    /// Longest edge wanted at `p`.
    pub(crate) fn edge_length(&self, p: DVec3) -> f64 {
        self.sizes.edge_length(&self.features, p)
    }
}

impl Domain for FleshDomain {
    fn value(&self, p: DVec3) -> f64 {
        if self.contains(p) { 1.0 } else { -1.0 }
    }

    fn size(&self, p: DVec3) -> f64 {
        self.edge_length(p)
    }

    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        let Some((_, distance_sq)) = self.moving.closest_vertex(center, self.reach + radius) else {
            return Some(false);
        };
        let side = self.skin.side_of_ball(center, radius);
        let beyond = side != Some(true) && self.thin.is_near(center, radius);
        if self.back.distance(center) < -radius || (side == Some(false) && !beyond) {
            return Some(false);
        }
        let mut sure = self.reach - distance_sq.sqrt() > radius && self.back.distance(center) > radius;
        sure &= side == Some(true);
        let mut solid = Some(false);
        let mut ask = |is_in: Option<bool>| match is_in {
            Some(true) => solid = Some(true),
            Some(false) => {}
            None => sure = false,
        };
        for &(middle, eye_radius) in &self.eyes {
            let gap = center.distance(middle) - eye_radius;
            ask((gap.abs() > radius).then_some(gap < 0.0));
        }
        for bone in [&self.cranium, &self.mandible].into_iter().flatten() {
            ask(bone.side_of_ball(center, radius));
        }
        if solid == Some(true) {
            let thick =
                self.sizes.least_thickness(self.edge_length(center) + self.sizes.growth * radius) + radius;
            return (!self.skin.comes_within(center, thick)).then_some(false);
        }
        let free = self.joint.condyles.iter().all(|c| center.distance(*c) > JOINT_RADIUS + radius);
        (sure && free).then_some(true)
    }

    fn hits(&self, from: DVec3, to: DVec3) -> Hits {
        // Eyeballs, the border and the inside of bones have no triangles to hit.
        let middle = from.midpoint(to);
        let radius = 0.5 * from.distance(to);
        let near_eye = |eye: &(DVec3, f64)| (middle.distance(eye.0) - eye.1).abs() <= radius;
        let border = !self.moving.has_vertex_within(middle, self.reach - radius);
        let near_joint = self.joint.condyles.iter().any(|c| middle.distance(*c) < JOINT_RADIUS + radius);
        let back = self.back.distance(middle).abs() < radius;
        let mut bones = [&self.cranium, &self.mandible].into_iter().flatten();
        if border || back || near_joint || self.eyes.iter().any(near_eye) || self.thin.is_near(middle, radius)
        {
            return Hits::Unknown;
        }
        if bones.any(|bone| bone.side_of_ball(middle, radius) != Some(false)) {
            return Hits::Unknown;
        }
        hits_of(std::iter::once(&self.skin), from, to)
    }
}
