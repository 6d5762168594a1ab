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
use risorius_mesh::Bvh;
use risorius_mesh::solid::{Shell, hits_of};
use risorius_mesh::stuffing::{Domain, Hits};

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

/// Where flesh is in one pose.
pub struct FleshDomain {
    /// Skin in the pose, tunnels included.
    pub skin: Shell,
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
            && self.skin.value(p) > 0.0
            && [&self.cranium, &self.mandible].into_iter().flatten().all(|bone| bone.value(p) <= 0.0)
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
        let bone = |solid: &Option<Shell>| solid.as_ref().map_or(FAR, |s| s.distance(p, FAR));
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

    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        let Some((_, distance_sq)) = self.moving.closest_vertex(center, self.reach + radius) else {
            return Some(false);
        };
        let mut sure = self.reach - distance_sq.sqrt() > radius;
        let mut outside = false;
        let mut ask = |is_in: Option<bool>, wanted: bool| match is_in {
            Some(side) => outside |= side != wanted,
            None => sure = false,
        };
        ask(self.skin.side_of_ball(center, radius), true);
        for &(middle, eye_radius) in &self.eyes {
            let gap = center.distance(middle) - eye_radius;
            ask(if gap.abs() > radius { Some(gap < 0.0) } else { None }, false);
        }
        for bone in [&self.cranium, &self.mandible].into_iter().flatten() {
            ask(bone.side_of_ball(center, radius), false);
        }
        if outside {
            return Some(false);
        }
        let free = self.joint.condyles.iter().all(|c| center.distance(*c) > JOINT_RADIUS + radius);
        (sure && free).then_some(true)
    }

    fn hits(&self, from: DVec3, to: DVec3) -> Hits {
        // Spheres and the border have no triangles to be hit.
        let middle = from.midpoint(to);
        let radius = 0.5 * from.distance(to);
        let near_eye = |eye: &(DVec3, f64)| (middle.distance(eye.0) - eye.1).abs() <= radius;
        let border = self.moving.closest_vertex(middle, self.reach - radius).is_none();
        let near_joint = self.joint.condyles.iter().any(|c| middle.distance(*c) < JOINT_RADIUS + radius);
        if border || near_joint || self.eyes.iter().any(near_eye) {
            return Hits::Unknown;
        }
        let shells = [Some(&self.skin), self.cranium.as_ref(), self.mandible.as_ref()];
        hits_of(shells.into_iter().flatten(), from, to)
    }
}
