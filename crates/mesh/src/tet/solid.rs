//! A [`Domain`] for flesh: the inside of a surface that may be open, doubled or self-intersecting, minus
//! other surfaces.
//!
//! A point is inside where the winding number of the skin is above one half and that of no hole is. Values
//! derive from winding numbers, so only their sign is meaningful. A point outside the bounding box of a
//! surface sees it within half of all directions, so its winding number is below one half. A ball is clear of
//! the boundary if no triangle is near, but the zero set also spans the openings of the skin, far from any
//! triangle. There the winding number w is harmonic. By Harnack's inequality it grows within a ball of radius
//! r at most by the factor (1 + q) / (1 - q)^2 over its value at the center, where q is r over the distance
//! to the nearest triangle. The same holds for 1 - w. This requires w between 0 and 1; where skins overlap it
//! exceeds 1, which does no harm.

use crate::query::bvh::Aabb;
use crate::query::sides::{About, Sides};
use crate::tet::domain::{Domain, Hits};
use crate::{Bvh, TriMesh, WindingNumbers};
use glam::DVec3;

/// Triangles farther than this many radii of a ball are not searched.
const FAR: f64 = 6.0;

/// A skin and the holes inside it that are not flesh, prepared for one pose.
pub struct SolidDomain<'a> {
    skin: Shell,
    holes: Vec<Shell>,
    size: Box<dyn Fn(DVec3) -> f64 + Sync + 'a>,
}

/// One surface, prepared for inside tests and distances.
pub struct Shell {
    winding: WindingNumbers,
    /// Its triangles.
    pub tree: Bvh,
    bounds: Aabb,
    sides: Option<Sides>,
}

impl<'a> SolidDomain<'a> {
    /// The inside of `skin` minus the inside of each of `holes`, with edges of length `size`.
    pub fn prepare(skin: &TriMesh, holes: &[&TriMesh], size: impl Fn(DVec3) -> f64 + Sync + 'a) -> Self {
        let holes = holes.iter().map(|s| Shell::for_many(s)).collect();
        Self { skin: Shell::for_many(skin), holes, size: Box::new(size) }
    }

    fn shells(&self) -> impl Iterator<Item = &Shell> + Clone {
        [&self.skin].into_iter().chain(&self.holes)
    }
}

impl Shell {
    /// Prepares the queries.
    pub fn prepare(surface: &TriMesh) -> Self {
        let positions = surface.positions_f32();
        let tree = Bvh::build(&positions, &surface.triangles);
        let bounds = tree.nodes.first().map_or(Aabb::default(), |root| root.bounds);
        let winding = WindingNumbers::prepare(&positions, &surface.triangles);
        Self { winding, tree, bounds, sides: None }
    }

    /// Prepares the same queries for many points: slower to prepare, faster to ask.
    pub fn for_many(surface: &TriMesh) -> Self {
        let shell = Self::prepare(surface);
        Self { sides: Sides::prepare(&shell.winding), ..shell }
    }

    fn about(&self, p: DVec3) -> Option<About> {
        self.sides.as_ref()?.about(p, &self.winding, &self.tree)
    }

    /// Positive where the winding number is above one half, negative where it is below or outside the box.
    pub fn value(&self, p: DVec3) -> f64 {
        if self.bounds.distance_sq(p) != 0.0 {
            return -0.5;
        }
        let sure = self.about(p).filter(|about| (about.w - 0.5).abs() > about.error);
        sure.map_or_else(|| self.winding.at_roughly(p), |about| about.w) - 0.5
    }

    /// Distance to the surface, up to `max`.
    pub fn distance(&self, p: DVec3, max: f64) -> f64 {
        self.tree.closest_point(p, max).map_or(max, |c| c.distance_sq.sqrt())
    }

    /// Whether the surface comes within `distance` of `p`.
    pub fn comes_within(&self, p: DVec3, distance: f64) -> bool {
        let clear = self.about(p).map_or(0.0, |about| about.clear);
        clear <= distance && self.tree.comes_within(p, distance)
    }

    /// Whether the whole ball is inside (`true`) or outside, if that is certain.
    pub fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        if self.bounds.distance_sq(center) > radius * radius {
            return Some(false);
        }
        if let Some(About { w, error, clear }) = self.about(center).filter(|about| about.clear > radius) {
            // As below, with bounds of the distance and of the winding number.
            let sure = least_change(radius / clear.min(FAR * radius));
            if w + error < sure {
                return Some(false);
            } else if w - error > 1.0 - sure {
                return Some(true);
            }
        }
        let nearest =
            self.tree.closest_point(center, FAR * radius).map_or(FAR * radius, |c| c.distance_sq.sqrt());
        let share = radius / nearest;
        // NaN where the ball has radius 0 and lies on a triangle.
        if share.is_nan() || share >= 1.0 {
            return None;
        }
        let sure = least_change(share);
        let w = self.winding.at_roughly(center);
        if w < sure { Some(false) } else { (w > 1.0 - sure).then_some(true) }
    }
}

/// Winding numbers below this at the center of a ball stay below one half all over it, if the radius is this
/// share of the distance to the surface.
fn least_change(share: f64) -> f64 {
    0.5 * (1.0 - share).powi(2) / (1.0 + share)
}

impl Domain for SolidDomain<'_> {
    fn value(&self, p: DVec3) -> f64 {
        let inside = self.skin.value(p);
        if inside <= 0.0 {
            inside
        } else {
            self.holes.iter().fold(inside, |least, hole| least.min(-hole.value(p)))
        }
    }

    fn size(&self, p: DVec3) -> f64 {
        (self.size)(p)
    }

    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        if !self.skin.side_of_ball(center, radius)? {
            return Some(false);
        }
        let mut all_out = Some(true);
        for hole in &self.holes {
            match hole.side_of_ball(center, radius) {
                Some(true) => return Some(false),
                Some(false) => {}
                None => all_out = None,
            }
        }
        all_out
    }

    fn hits(&self, from: DVec3, to: DVec3) -> Hits {
        hits_of(self.shells(), from, to)
    }
}

/// Where the segment meets the triangles of `shells`.
pub fn hits_of<'a>(shells: impl Iterator<Item = &'a Shell> + Clone, from: DVec3, to: DVec3) -> Hits {
    let first = |a: DVec3, b: DVec3| {
        let distances = shells.clone().filter_map(|s| s.tree.ray(a, b - a, 1.0)).map(|hit| hit.distance);
        distances.fold(f64::INFINITY, f64::min)
    };
    let forward = first(from, to);
    if forward.is_infinite() {
        return Hits::Smooth;
    }
    // If the first hits from both ends coincide, there is no other.
    let backward = first(to, from);
    if (forward + backward - 1.0).abs() < 1e-6 { Hits::Once(forward) } else { Hits::Unknown }
}
