//! Searches for the places of a surface that its points are closest to, and which of them can be left out.
//!
//! A search goes through the boxes around a pair's triangles ([`Bvh`]), which are fitted to the present
//! positions. It is bounded by the distance from a triangle that is likely the closest: the last one, or that
//! of the neutral. Where motion since a pose cannot have brought anything within reach ([`MovedPatch`], and
//! `seen` for motion since the last search), there is none.

use crate::contact::detect::{CollisionPair, Touch};
use crate::contact::fans::blended;
use crate::contact::seen::{Seen, SeenRule};
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::Bvh;
use risorius_mesh::query::closest::closest_on_triangle;

/// A place faces a point if the cosine between their normals is below minus this.
const FACING: f64 = 0.2;

/// How much farther than in poses the neutral is searched, meters.
const FARTHER: f64 = 8e-3;

/// Added to the distance from a triangle that may be the closest, meters.
const HINTED: f64 = 1e-6;

/// Triangles of a patch.
const PATCH: usize = 256;

/// A collision pair with what searches need.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) rule: CollisionPair,
    pub(super) tree: Bvh,
    /// The first of its triangles among those of all pairs.
    pub(super) first: usize,
    /// The corners of triangles that lie close together.
    pub(super) patches: Vec<Vec<u32>>,
    /// For each point, a triangle that is often the closest: that of the neutral.
    pub(super) hints: Vec<u32>,
    /// For each point, the distance within which there is nothing in the neutral that it can ever touch.
    pub(super) clear: Vec<f64>,
}

impl Watched {
    /// `first`: the first of its triangles among those of all pairs.
    pub(super) fn prepare(rule: CollisionPair, positions: &[[f32; 3]], first: usize) -> Self {
        let tree = Bvh::build(positions, &rule.triangles);
        let patches = tree.groups(PATCH).into_iter().map(|group| corners_of(&rule, &group)).collect();
        let n_points = rule.points.len();
        Self { tree, rule, first, patches, hints: vec![NO_HINT; n_points], clear: vec![0.0; n_points] }
    }
}

/// No hint.
pub(super) const NO_HINT: u32 = u32::MAX;

/// A patch of a pair's triangles in a pose, and how it has moved since.
pub(super) struct MovedPatch {
    center: DVec3,
    radius: f64,
    /// Smallest and largest motion.
    low: DVec3,
    high: DVec3,
}

impl MovedPatch {
    pub(super) fn prepare(patch: &[u32], positions: &[DVec3], pose: &[DVec3]) -> Self {
        let points = || patch.iter().map(|&p| pose[p as usize]);
        let motions = || patch.iter().map(|&p| positions[p as usize] - pose[p as usize]);
        let center = points().sum::<DVec3>() / patch.len().max(1) as f64;
        Self {
            center,
            radius: points().map(|p| p.distance_squared(center)).fold(0.0, f64::max).sqrt(),
            low: motions().fold(DVec3::INFINITY, DVec3::min),
            high: motions().fold(DVec3::NEG_INFINITY, DVec3::max),
        }
    }

    /// All patches as one; at no distance from anything.
    pub(super) fn around(patches: &[Self]) -> Self {
        Self {
            center: DVec3::ZERO,
            radius: f64::INFINITY,
            low: patches.iter().fold(DVec3::INFINITY, |low, patch| low.min(patch.low)),
            high: patches.iter().fold(DVec3::NEG_INFINITY, |high, patch| high.max(patch.high)),
        }
    }

    /// The largest difference between the motion of a point and that of the patch.
    pub(super) fn closer(&self, own: DVec3) -> f64 {
        (own - self.low).abs().max((own - self.high).abs()).length()
    }

    /// Whether a point may be nearer than this to the patch in the pose.
    pub(super) fn is_within(&self, distance: f64, p: DVec3) -> bool {
        let most = distance + self.radius;
        p.distance_squared(self.center) <= most * most
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

impl Touch {
    /// For each pair and point, the distance within which there is nothing that it can ever touch.
    pub(super) fn clear_in(&self, positions: &[DVec3]) -> Vec<Vec<f64>> {
        let across = self.fans.across(positions);
        let of_pair = |watched: &Watched| {
            let search = Search { touch: self, watched, tree: &watched.tree, positions, across: &across };
            let distance = |&point: &u32| search.distance(point, self.options.rest_reach + FARTHER);
            watched.rule.points.par_iter().with_min_len(64).map(distance).collect()
        };
        self.rules.iter().map(of_pair).collect()
    }

    /// For every point of every pair for which `reach` gives a search distance, the closest place that
    /// counts.
    pub(super) fn places<F: Fn(usize, u32) -> Option<f64> + Sync>(
        &self,
        positions: &[DVec3],
        reach: impl Fn(&Watched) -> F + Sync,
    ) -> Vec<ClosestPlace> {
        self.searched(positions, reach, &mut Seen::default())
            .into_iter()
            .flatten()
            .filter_map(|(_, found)| found.ok())
            .collect()
    }

    /// As `places`, with the searches of earlier calls.
    pub(super) fn places_since<F: Fn(usize, u32) -> Option<f64> + Sync>(
        &self,
        positions: &[DVec3],
        reach: impl Fn(&Watched) -> F + Sync,
    ) -> Vec<ClosestPlace> {
        let mut seen = self.log.take();
        let places = self.places_unless(positions, reach, &mut seen);
        self.log.put(seen);
        places
    }

    fn places_unless<F: Fn(usize, u32) -> Option<f64> + Sync>(
        &self,
        positions: &[DVec3],
        reach: impl Fn(&Watched) -> F + Sync,
        seen: &mut Seen,
    ) -> Vec<ClosestPlace> {
        let found = self.searched(positions, reach, seen);
        let mut places = Vec::new();
        for ((found, seen), watched) in found.into_iter().zip(&mut seen.rules).zip(&self.rules) {
            for (i, found) in found {
                match found {
                    Ok(place) => {
                        seen.note_closest(i, place.triangle);
                        places.push(place);
                    }
                    Err(Nothing { within, reach }) => {
                        seen.note_clear(i, positions[watched.rule.points[i] as usize], within, reach);
                    }
                }
            }
        }
        places
    }

    /// For each pair, the points that were searched for, by number, and what was found: a place, or the
    /// distance within which there is nothing.
    pub(super) fn searched<F: Fn(usize, u32) -> Option<f64> + Sync>(
        &self,
        positions: &[DVec3],
        reach: impl Fn(&Watched) -> F + Sync,
        seen: &mut Seen,
    ) -> Vec<Vec<(usize, Result<ClosestPlace, Nothing>)>> {
        let looks_ahead = seen.advance(positions, &self.rules);
        let asked: Vec<Vec<Asked>> = (self.rules.par_iter().zip(&seen.rules))
            .map(|(watched, seen)| {
                let reach = reach(watched);
                let points = watched.rule.points.par_iter().enumerate().with_min_len(512);
                let near = |(i, &p): (usize, &u32)| {
                    let reach = reach(i, p)?;
                    seen.may_touch(i, positions[p as usize], reach).then_some((i, p, reach))
                };
                points.filter_map(near).collect()
            })
            .collect();
        if asked.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let (flat, across) = (flattened(positions), self.fans.across(positions));
        let by_rule = |((watched, seen), asked): ((&Watched, &SeenRule), &Vec<Asked>)| {
            if asked.is_empty() {
                return Vec::new();
            }
            let mut tree = watched.tree.clone();
            tree.refit(&flat);
            let search = Search { touch: self, watched, tree: &tree, positions, across: &across };
            let nearest = |&(i, point, reach): &Asked| {
                let nothing = || match looks_ahead && seen.looks_ahead(i) {
                    true => Nothing { within: search.distance(point, reach + Seen::LOOK_AHEAD), reach },
                    false => Nothing { within: 0.0, reach },
                };
                let hint = seen.hint(i).unwrap_or(watched.hints[i]);
                (i, search.nearest(point, reach, hint).ok_or_else(nothing))
            };
            asked.par_iter().with_min_len(32).map(nearest).collect::<Vec<_>>()
        };
        self.rules.par_iter().zip(&seen.rules).zip(&asked).map(by_rule).collect()
    }
}

/// A point to search for: its number in the pair, the point, and the search distance.
type Asked = (usize, u32, f64);

/// A search found nothing that a point can ever touch within this distance, of which it needed `reach`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nothing {
    within: f64,
    reach: f64,
}

/// A search for the places of one pair.
struct Search<'a> {
    touch: &'a Touch,
    watched: &'a Watched,
    /// Of the triangles at `positions`.
    tree: &'a Bvh,
    positions: &'a [DVec3],
    /// Area vectors of the triangles of all pairs.
    across: &'a [DVec3],
}

impl Search<'_> {
    /// Whether a point can ever touch a triangle.
    fn meets(&self, point: u32, corners: [u32; 3]) -> bool {
        let touch = self.touch;
        !self.watched.rule.same_surface || touch.meeting.meets(point, corners, touch.options.parted)
    }

    /// The closest place within `reach` that counts. If the triangle `hint` counts, nothing farther is looked
    /// at.
    fn nearest(&self, point: u32, reach: f64, hint: u32) -> Option<ClosestPlace> {
        let (fans, positions) = (&self.touch.fans, self.positions);
        let p = positions[point as usize];
        let own = fans.normal(self.across, point);
        let faces = |triangle: u32, _: [u32; 3]| {
            let across = self.across[self.watched.first + triangle as usize];
            let along = own.dot(across);
            along < 0.0 && along * along > FACING * FACING * across.length_squared()
        };
        let meets = |_: u32, corners: [u32; 3]| self.meets(point, corners);
        let reach = match self.watched.rule.triangles.get(hint as usize) {
            Some(&corners) if faces(hint, corners) && self.meets(point, corners) => {
                // Slightly more, for rounding: the tree has single precision.
                let at = closest_on_triangle(p, corners.map(|v| positions[v as usize])).0.distance(p);
                reach.min(at + HINTED)
            }
            _ => reach,
        };
        let nearest = self.tree.closest_tested(p, reach, faces, meets)?;
        let corners = self.watched.rule.triangles[nearest.triangle as usize];
        let barycentric = nearest.barycentric;
        let normal = fans.normal_on(self.across, corners, barycentric);
        let offset = p - blended(positions, corners, barycentric);
        Some(ClosestPlace {
            point,
            triangle: nearest.triangle,
            corners,
            barycentric,
            normal,
            gap: normal.dot(offset),
            distance: offset.length(),
        })
    }

    /// The distance of a point from all places that it can ever touch, at most `reach`.
    fn distance(&self, point: u32, reach: f64) -> f64 {
        let p = self.positions[point as usize];
        let meets = |_: u32, corners: [u32; 3]| self.meets(point, corners);
        let nearest = self.tree.closest_tested(p, reach, |_, _| true, meets);
        nearest.map_or(reach, |place| place.distance_sq.sqrt())
    }
}

/// The corners of some triangles of a pair, each once.
fn corners_of(rule: &CollisionPair, triangles: &[u32]) -> Vec<u32> {
    let mut corners: Vec<u32> = triangles.iter().flat_map(|&t| rule.triangles[t as usize]).collect();
    corners.sort_unstable();
    corners.dedup();
    corners
}

pub(super) fn flattened(positions: &[DVec3]) -> Vec<[f32; 3]> {
    positions.iter().map(|p| p.as_vec3().to_array()).collect()
}
