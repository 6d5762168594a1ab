//! Searches for the places of a surface that its points are closest to, and which of them can be left out.
//!
//! The triangles of a pair are in patches, each with boxes around its triangles ([`Bvh`]). Where searches can
//! reach a patch, its boxes are fitted to the present positions. A search is bounded by the distance from a
//! triangle that is likely the closest: the last one, or that of the neutral. Where motion since a pose
//! cannot have brought anything within reach, there is none ([`Moved`], first for blocks of points, then for
//! each). Contacts are searched in every step; for them, `near` remembers what is near each point.

use crate::contact::detect::{CollisionPair, Overlap, Touch};
use crate::contact::fans::{across, blended};
use crate::contact::near::{Found, Near};
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::Bvh;
use risorius_mesh::query::closest::{Closest, closest_on_triangle};
use std::cell::OnceCell;

/// A place faces a point if the cosine between their normals is below minus this.
const FACING: f64 = 0.2;

/// How much farther than in poses the neutral is searched, meters.
const FARTHER: f64 = 8e-3;

/// Added to the distance from a triangle that may be the closest, meters.
const HINTED: f64 = 1e-6;

/// Triangles of a patch.
const PATCH: usize = 512;

/// Points of a block.
const BLOCK: usize = 32;

/// Added to distances from boxes, which are in double precision while the trees are in single, meters.
const ROUNDED: f64 = 1e-6;

/// A collision pair with what searches need.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) rule: CollisionPair,
    /// Its triangles, in groups that lie close together.
    pub(super) patches: Vec<Patch>,
    /// Its points, by number, in groups that lie close together.
    blocks: Vec<Vec<u32>>,
    /// For each point, a triangle that is often the closest: that of the neutral.
    pub(super) hints: Vec<u32>,
    /// For each point, the distance within which there is nothing in the neutral that it can ever touch.
    pub(super) clear: Vec<f64>,
}

/// Triangles of a pair that lie close together.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    /// Ascending.
    pub(super) triangles: Vec<u32>,
    /// Their corners, each once.
    pub(super) corners: Vec<u32>,
    /// Boxes around the triangles in the neutral.
    tree: Bvh,
}

impl Watched {
    /// Prepared at the positions of the neutral.
    pub(super) fn prepare(rule: CollisionPair, positions: &[[f32; 3]]) -> Self {
        let patch = |mut triangles: Vec<u32>| {
            triangles.sort_unstable();
            let of_patch: Vec<[u32; 3]> = triangles.iter().map(|&t| rule.triangles[t as usize]).collect();
            let mut corners = of_patch.concat();
            corners.sort_unstable();
            corners.dedup();
            Patch { tree: Bvh::build(positions, &of_patch), triangles, corners }
        };
        let patches = Bvh::build(positions, &rule.triangles).groups(PATCH).into_iter().map(patch).collect();
        let points: Vec<[f32; 3]> = rule.points.iter().map(|&p| positions[p as usize]).collect();
        let blocks = Bvh::of_points(&points).groups(BLOCK);
        let n_points = rule.points.len();
        Self { rule, patches, blocks, hints: vec![NO_HINT; n_points], clear: vec![0.0; n_points] }
    }
}

/// No hint.
pub(super) const NO_HINT: u32 = u32::MAX;

/// Points in a pose, and how they have moved since.
pub(super) struct Moved {
    center: DVec3,
    radius: f64,
    /// Smallest and largest motion.
    low: DVec3,
    high: DVec3,
}

impl Moved {
    fn prepare(points: impl Iterator<Item = u32> + Clone, positions: &[DVec3], pose: &[DVec3]) -> Self {
        let (mut sum, mut n) = (DVec3::ZERO, 0);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for p in points.clone() {
            let from = pose[p as usize];
            let motion = positions[p as usize] - from;
            (low, high) = (low.min(motion), high.max(motion));
            sum += from;
            n += 1;
        }
        let center = sum / f64::from(n.max(1));
        let radius = points.map(|p| pose[p as usize].distance_squared(center)).fold(0.0, f64::max).sqrt();
        Self { center, radius, low, high }
    }

    /// Whether a point of `other`, which has nothing to touch within `clear` in the pose, may have come
    /// within `limit` of one of these.
    fn may_be_within(&self, limit: f64, other: &Self, clear: f64) -> bool {
        let away = clear.max(self.center.distance(other.center) - self.radius - other.radius);
        let closer = (self.high - other.low).abs().max((self.low - other.high).abs()).length();
        let is_clear = away - closer > limit + ROUNDED;
        // Also if a position is not finite.
        !is_clear
    }

    /// The largest difference between the motion of a point and that of the patch.
    pub(super) fn closer(&self, own: DVec3) -> f64 {
        (own - self.low).abs().max((own - self.high).abs()).length()
    }

    /// The least distance of a point from the patch in the pose.
    pub(super) fn distance(&self, p: DVec3) -> f64 {
        p.distance(self.center) - self.radius
    }
}

/// The place on a pair's triangles that is closest to a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosestPlace {
    pub(super) point: u32,
    pub(super) triangle: u32,
    pub(super) corners: [u32; 3],
    pub(super) barycentric: [f64; 3],
    pub(super) normal: DVec3,
    pub(super) gap: f64,
    pub(super) distance: f64,
}

/// The motion of the surface since a pose, which tells where nothing can be within reach.
pub(super) struct Since<'a> {
    /// The points in the pose.
    pub(super) pose: &'a [DVec3],
    /// For a pair and the number of one of its points, the distance within which it has nothing to touch in
    /// the pose.
    pub(super) clear: &'a (dyn Fn(&Watched, usize) -> f64 + Sync),
    /// Points that nothing can be within this distance of are left out, meters.
    pub(super) limit: f64,
}

/// Gives the search distance for a point, given by its pair and number, from the patches that may be near it;
/// `None` for no search.
pub(super) type Reach<'a> = dyn Fn(&Watched, usize, &[&Moved]) -> Option<f64> + Sync + 'a;

impl Touch {
    /// For each pair and point, the distance within which there is nothing that it can ever touch.
    pub(super) fn clear_in(&self, positions: &[DVec3]) -> Vec<Vec<f64>> {
        let flat = flattened(positions);
        let of_pair = |watched: &Watched| {
            let patches = watched.fitted(&vec![true; watched.patches.len()], positions, &flat);
            let search = Search { touch: self, watched, patches, positions };
            let distance = |&point: &u32| search.distance(point, self.options.rest_reach + FARTHER);
            watched.rule.points.par_iter().with_min_len(64).map(distance).collect()
        };
        self.rules.iter().map(of_pair).collect()
    }

    /// For every point of every pair for which `reach` gives a search distance, the closest place that
    /// counts.
    pub(super) fn places(
        &self,
        positions: &[DVec3],
        since: Option<&Since>,
        reach: &Reach,
    ) -> Vec<ClosestPlace> {
        self.searched(positions, since, reach).into_iter().flatten().filter_map(|(_, found)| found).collect()
    }

    /// As `places`; remembers from call to call what is near each point.
    pub(super) fn places_near(&self, positions: &[DVec3], since: &Since, reach: &Reach) -> Vec<ClosestPlace> {
        let mut known = self.log.take(self.rules.len());
        let of_pair = |(watched, near): (&Watched, &mut Near)| {
            let asked = watched.asked(positions, Some(since), reach);
            near.searched(watched, positions, &asked, |&(_, point, reach), search| {
                let own = OnceCell::new();
                let faces = |corners: [u32; 3]| {
                    let own: &DVec3 = own.get_or_init(|| self.fans.normal_of(positions, point));
                    faces(*own, across(positions, corners))
                };
                let meets = |corners: [u32; 3]| self.meets(watched, point, corners);
                let Found { triangle, barycentric, .. } = search.closest(reach, faces, meets)?;
                Some(self.place(watched, point, triangle, barycentric, positions))
            })
        };
        let found: Vec<Vec<ClosestPlace>> = self.rules.par_iter().zip(&mut known).map(of_pair).collect();
        self.log.put(known);
        found.into_iter().flatten().collect()
    }

    /// Whether a point can ever touch a triangle of its pair.
    fn meets(&self, watched: &Watched, point: u32, corners: [u32; 3]) -> bool {
        let meets = !watched.rule.same_surface || self.meeting.meets(point, corners, self.options.parted);
        meets && (self.options.overlap == Overlap::OfPose || !self.meeting.is_behind(point, corners))
    }

    /// A place on a triangle, seen from a point.
    fn place(
        &self,
        watched: &Watched,
        point: u32,
        triangle: u32,
        barycentric: [f64; 3],
        positions: &[DVec3],
    ) -> ClosestPlace {
        let corners = watched.rule.triangles[triangle as usize];
        let normal = self.fans.normal_at(positions, corners, barycentric);
        let offset = positions[point as usize] - blended(positions, corners, barycentric);
        let (gap, distance) = (normal.dot(offset), offset.length());
        ClosestPlace { point, triangle, corners, barycentric, normal, gap, distance }
    }

    /// For each pair, the points that were searched for, by number, and the places found.
    pub(super) fn searched(
        &self,
        positions: &[DVec3],
        since: Option<&Since>,
        reach: &Reach,
    ) -> Vec<Vec<(usize, Option<ClosestPlace>)>> {
        let asked: Vec<Vec<Asked>> =
            self.rules.par_iter().map(|watched| watched.asked(positions, since, reach)).collect();
        if asked.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let flat = flattened(positions);
        let by_rule = |(watched, asked): (&Watched, &Vec<Asked>)| {
            if asked.is_empty() {
                return Vec::new();
            }
            let needed = watched.needed(asked, positions);
            let patches = watched.fitted(&needed, positions, &flat);
            let search = Search { touch: self, watched, patches, positions };
            let nearest = |&(i, point, reach): &Asked| (i, search.nearest(point, reach, watched.hints[i]));
            asked.par_iter().with_min_len(16).map(nearest).collect::<Vec<_>>()
        };
        self.rules.par_iter().zip(&asked).map(by_rule).collect()
    }
}

/// Whether a triangle with area vector `across` faces a point with the normal `own`.
fn faces(own: DVec3, across: DVec3) -> bool {
    let along = own.dot(across);
    along < 0.0 && along * along > FACING * FACING * across.length_squared()
}

impl Watched {
    /// The points to search for, ascending.
    fn asked(&self, positions: &[DVec3], since: Option<&Since>, reach: &Reach) -> Vec<Asked> {
        let ask = |i: usize, near: &[&Moved]| {
            let point = self.rule.points[i];
            Some((i, point, reach(self, i, near)?))
        };
        let Some(Since { pose, clear, limit }) = since else {
            return (0..self.rule.points.len()).filter_map(|i| ask(i, &[])).collect();
        };
        let moved = |patch: &Patch| Moved::prepare(patch.corners.iter().copied(), positions, pose);
        let patches: Vec<Moved> = self.patches.par_iter().with_min_len(8).map(moved).collect();
        let of_block = |block: &Vec<u32>| {
            let points = block.iter().map(|&i| self.rule.points[i as usize]);
            let moved = Moved::prepare(points, positions, pose);
            let clear = block.iter().map(|&i| clear(self, i as usize)).fold(f64::INFINITY, f64::min);
            let near: Vec<&Moved> =
                patches.iter().filter(|patch| patch.may_be_within(*limit, &moved, clear)).collect();
            let asked = |&i: &u32| ask(i as usize, &near);
            if near.is_empty() { Vec::new() } else { block.iter().filter_map(asked).collect() }
        };
        let mut asked: Vec<Asked> = self.blocks.par_iter().with_min_len(8).flat_map_iter(of_block).collect();
        asked.sort_unstable_by_key(|(i, ..)| *i);
        asked
    }

    /// Which patches searches can reach.
    fn needed(&self, asked: &[Asked], positions: &[DVec3]) -> Vec<bool> {
        let of_patch = |patch: &Patch| {
            let bounds = patch.bounds(positions);
            asked.iter().any(|&(_, p, reach)| bounds.is_within(reach, positions[p as usize]))
        };
        self.patches.par_iter().with_min_len(4).map(of_patch).collect()
    }

    /// The patches that are needed, fitted to the present positions.
    fn fitted(&self, needed: &[bool], positions: &[DVec3], flat: &[[f32; 3]]) -> Vec<Fitted<'_>> {
        let needed: Vec<&Patch> =
            self.patches.iter().zip(needed).filter(|(_, needed)| **needed).map(|(patch, _)| patch).collect();
        let fit = needed.into_par_iter().with_min_len(2).map(|patch| {
            let mut tree = patch.tree.clone();
            tree.refit(flat);
            let corners = |&t: &u32| self.rule.triangles[t as usize];
            let across = patch.triangles.iter().map(corners).map(|c| across(positions, c)).collect();
            Fitted { bounds: patch.bounds(positions), triangles: &patch.triangles, across, tree }
        });
        fit.collect()
    }
}

impl Patch {
    /// Boxes around the triangles.
    pub(super) fn fitted(&self, positions: &[DVec3]) -> Bvh {
        let mut tree = self.tree.clone();
        tree.refit_by(|v| positions[v as usize].as_vec3());
        tree
    }

    pub(super) fn bounds(&self, positions: &[DVec3]) -> Bounds {
        let mut bounds = Bounds { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
        for &p in &self.corners {
            let p = positions[p as usize];
            bounds = Bounds { low: bounds.low.min(p), high: bounds.high.max(p) };
        }
        bounds
    }
}

/// A box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    low: DVec3,
    high: DVec3,
}

impl Bounds {
    /// The squared distance of a point from the box.
    pub(super) fn distance_sq(&self, p: DVec3) -> f64 {
        (self.low - p).max(p - self.high).max(DVec3::ZERO).length_squared()
    }

    fn is_within(&self, distance: f64, p: DVec3) -> bool {
        let most = distance + ROUNDED;
        self.distance_sq(p) <= most * most
    }
}

/// A patch at the present positions.
struct Fitted<'a> {
    bounds: Bounds,
    triangles: &'a [u32],
    /// Area vectors of the triangles.
    across: Vec<DVec3>,
    tree: Bvh,
}

/// A point to search for: its number in the pair, the point, and the search distance.
pub(super) type Asked = (usize, u32, f64);

/// A search for the places of one pair.
struct Search<'a> {
    touch: &'a Touch,
    watched: &'a Watched,
    /// All patches within the search distance of any point.
    patches: Vec<Fitted<'a>>,
    positions: &'a [DVec3],
}

impl Search<'_> {
    /// The point closest to `p` within `reach` on the triangles that both tests take, given by their area
    /// vectors and corners; of equal ones, that on the first triangle.
    fn closest(
        &self,
        p: DVec3,
        reach: f64,
        faces: impl Fn(DVec3) -> bool,
        meets: impl Fn([u32; 3]) -> bool,
    ) -> Option<Closest> {
        let mut best: Option<Closest> = None;
        let mut look = |patch: &Fitted| {
            let limit = best.as_ref().map_or(reach, |best| best.distance_sq.sqrt() + ROUNDED);
            if !patch.bounds.is_within(limit, p) {
                return;
            }
            let faces = |t: u32, _: [u32; 3]| faces(patch.across[t as usize]);
            let Some(found) = patch.tree.closest_tested(p, limit, faces, |_, corners| meets(corners)) else {
                return;
            };
            let found = Closest { triangle: patch.triangles[found.triangle as usize], ..found };
            let is_better = best.as_ref().is_none_or(|best| {
                found.distance_sq < best.distance_sq
                    || found.distance_sq == best.distance_sq && found.triangle < best.triangle
            });
            if is_better {
                best = Some(found);
            }
        };
        // The nearest box first: the others can then often be left out.
        let away = |k: &usize| self.patches[*k].bounds.distance_sq(p);
        let first = (0..self.patches.len()).min_by(|a, b| away(a).total_cmp(&away(b)))?;
        look(&self.patches[first]);
        (0..self.patches.len()).filter(|&k| k != first).for_each(|k| look(&self.patches[k]));
        best
    }

    /// The closest place within `reach` that counts. If the triangle `hint` counts, nothing farther is looked
    /// at.
    fn nearest(&self, point: u32, reach: f64, hint: u32) -> Option<ClosestPlace> {
        let positions = self.positions;
        let p = positions[point as usize];
        let own = self.touch.fans.normal_of(positions, point);
        let faces = |across: DVec3| faces(own, across);
        let meets = |corners: [u32; 3]| self.touch.meets(self.watched, point, corners);
        let reach = match self.watched.rule.triangles.get(hint as usize) {
            Some(&corners) if faces(across(positions, corners)) && meets(corners) => {
                // Slightly more, for rounding: the tree has single precision.
                let at = closest_on_triangle(p, corners.map(|v| positions[v as usize])).0.distance(p);
                reach.min(at + HINTED)
            }
            _ => reach,
        };
        let nearest = self.closest(p, reach, faces, meets)?;
        Some(self.touch.place(self.watched, point, nearest.triangle, nearest.barycentric, positions))
    }

    /// The distance of a point from all places that it can ever touch, at most `reach`.
    fn distance(&self, point: u32, reach: f64) -> f64 {
        let p = self.positions[point as usize];
        let nearest =
            self.closest(p, reach, |_| true, |corners| self.touch.meets(self.watched, point, corners));
        nearest.map_or(reach, |place| place.distance_sq.sqrt())
    }
}

pub(super) fn flattened(positions: &[DVec3]) -> Vec<[f32; 3]> {
    positions.par_iter().with_min_len(4096).map(|p| p.as_vec3().to_array()).collect()
}
