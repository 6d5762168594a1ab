//! The triangles near each point, remembered from search to search.
//!
//! A snapshot keeps the surface as it was. In it, each point lists the triangles of nearby patches within
//! some distance. If the point and a patch have approached each other by at most m since then, every
//! triangle of the patch that is now within r of the point was within `r + m` of it, and one that was d away
//! is at least `d - m` away. So a search looks at few triangles: those listed, nearest first, until `d - m`
//! exceeds the distance of the closest found. The motion of a patch is a box of displacements, so flesh that
//! moves as a whole does not count.
//!
//! Lists are made when they are asked for, and again when they are too short. When searches have looked at
//! more triangles than the lists in use hold, the snapshot moves on to the present surface: distances of
//! listed triangles are computed anew, and the lists reach less far, by the approach of their patches. So no
//! list has to be made again only because flesh has moved. What is found is the closest of all triangles in
//! any case, in double precision, so it does not depend on earlier searches.

use crate::contact::search::{Asked, Bounds, Patch, Watched};
use glam::DVec3;
use rayon::prelude::*;
use risorius_mesh::Bvh;
use risorius_mesh::query::bvh::Aabb;
use risorius_mesh::query::closest::closest_on_triangle;
use std::ops::ControlFlow;
use std::sync::{Mutex, OnceLock, PoisonError};

/// How much farther than needed lists of triangles reach, and lists of patches, meters.
const AHEAD: f64 = 1.5e-3;
const PATCHES_AHEAD: f64 = 1e-2;

/// For rounding of single precision, meters.
const MARGIN: f64 = 1e-6;

/// Points per parallel task.
const TASK: usize = 128;

/// Displacements of some points since a pose lie in this box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Displaced {
    low: DVec3,
    high: DVec3,
}

impl Displaced {
    pub(super) fn of(points: &[u32], positions: &[DVec3], pose: &[DVec3]) -> Self {
        points.iter().fold(Self::NOTHING, |all, &p| {
            let moved = positions[p as usize] - pose[p as usize];
            Self { low: all.low.min(moved), high: all.high.max(moved) }
        })
    }

    const NOTHING: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
    const STILL: Self = Self { low: DVec3::ZERO, high: DVec3::ZERO };

    pub(super) fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The most that a point displaced by `own` and one of these have approached each other.
    pub(super) fn closer(&self, own: DVec3) -> f64 {
        self.closer_squared(own).sqrt()
    }

    fn closer_squared(&self, own: DVec3) -> f64 {
        (own - self.low).abs().max((own - self.high).abs()).length_squared()
    }
}

/// A triangle near a point.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Its distance in the snapshot, meters.
    distance: f64,
    triangle: u32,
    patch: u32,
}

/// A patch near a point.
#[derive(Debug, Clone, Copy)]
struct NearPatch {
    patch: u32,
    /// Its distance in the snapshot is at least this, meters.
    away: f64,
    /// All its triangles within this distance are listed, meters; negative for none.
    within: f64,
}

/// What is near a point in the snapshot.
#[derive(Debug, Clone, Default)]
struct NearPoint {
    /// All other patches are at least this far away, meters.
    beyond: f64,
    patches: Vec<NearPatch>,
    /// Nearest first.
    candidates: Vec<Candidate>,
    /// The triangle that was found last: often the closest again.
    last: Option<u32>,
    /// Triangles, ascending, and whether the point can ever touch them.
    known: Vec<(u32, bool)>,
    /// Searched for since the snapshot.
    is_used: bool,
}

/// The closest point on the triangles of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) triangle: u32,
    pub(super) barycentric: [f64; 3],
    pub(super) distance_sq: f64,
}

/// What searches have cost.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    /// Triangles that were looked at, other than for first lists.
    looked: usize,
    /// Triangles in the lists of the points that were searched for.
    listed: usize,
}

/// A snapshot of the surface and what is near each point of a pair in it.
#[derive(Debug, Default)]
pub(super) struct Near {
    snapshot: Vec<DVec3>,
    is_finite: bool,
    boxes: Vec<Bounds>,
    /// The trees of the patches, fitted when they are needed.
    trees: Vec<OnceLock<Bvh>>,
    points: Vec<NearPoint>,
    /// Triangles that were looked at since the snapshot.
    looked: usize,
    /// Triangles in the lists that the last searches used.
    listed: usize,
}

impl Near {
    /// What `search` gives for each of the points that are asked for, by ascending number and with a search
    /// distance.
    pub(super) fn searched<T: Send>(
        &mut self,
        watched: &Watched,
        positions: &[DVec3],
        asked: &[Asked],
        search: impl Fn(&Asked, &mut NearSearch) -> Option<T> + Sync,
    ) -> Vec<T> {
        if !self.is_finite || self.snapshot.len() != positions.len() {
            self.renew(watched, positions);
        }
        let since = |snapshot: &[DVec3]| {
            let moved = |patch: &Patch| Displaced::of(&patch.corners, positions, snapshot);
            watched.patches.par_iter().with_min_len(8).map(moved).collect::<Vec<Displaced>>()
        };
        let mut moved = since(&self.snapshot);
        if self.looked > self.listed && positions.iter().all(|p| p.is_finite()) {
            self.advance(watched, positions, &moved);
            moved.fill(Displaced::STILL);
        }
        let Self { snapshot, boxes, trees, points, .. } = self;
        let all = moved.iter().fold(Displaced::NOTHING, |a, b| a.union(*b));
        let pair = NearPair { watched, snapshot, boxes, trees, moved: &moved, all: &all, positions };
        let of_task = |(first, points): (usize, &mut [NearPoint])| {
            let from = asked.partition_point(|(i, ..)| *i < first);
            let (end, mut found, mut work) = (first + points.len(), Vec::new(), Work::default());
            for ask in asked[from..].iter().take_while(|(i, ..)| *i < end) {
                let (i, point, _) = *ask;
                let place = [snapshot, positions].map(|all| all[point as usize]);
                let near = &mut points[i - first];
                let mut one = NearSearch { pair, own: place[1] - place[0], place, near, work: &mut work };
                found.extend(search(ask, &mut one));
            }
            (found, work)
        };
        let tasks = points.par_chunks_mut(TASK).enumerate().map(|(k, points)| of_task((k * TASK, points)));
        let tasks: Vec<(Vec<T>, Work)> = tasks.collect();
        self.looked += tasks.iter().map(|(_, work)| work.looked).sum::<usize>();
        self.listed = tasks.iter().map(|(_, work)| work.listed).sum();
        tasks.into_iter().flat_map(|(found, _)| found).collect()
    }

    /// A new snapshot without any lists.
    fn renew(&mut self, watched: &Watched, positions: &[DVec3]) {
        self.points.resize(watched.rule.points.len(), NearPoint::default());
        self.points.iter_mut().for_each(NearPoint::clear);
        self.is_finite = positions.iter().all(|p| p.is_finite());
        self.keep(watched, positions);
    }

    /// Moves the snapshot on to the present surface. Points that were searched for since the last one get
    /// the distances of their triangles, the others a bound. `moved`: displacements of the patches.
    fn advance(&mut self, watched: &Watched, positions: &[DVec3], moved: &[Displaced]) {
        let from = std::mem::take(&mut self.snapshot);
        self.keep(watched, positions);
        let all = moved.iter().fold(Displaced::NOTHING, |a, b| a.union(*b));
        let boxes = &self.boxes;
        let points = self.points.par_iter_mut().zip(&watched.rule.points).with_min_len(TASK);
        points.filter(|(near, _)| !near.patches.is_empty()).for_each(|(near, &point)| {
            let is_used = std::mem::take(&mut near.is_used);
            let p = positions[point as usize];
            let own = p - from[point as usize];
            near.beyond -= all.closer(own);
            for near in &mut near.patches {
                near.within -= moved[near.patch as usize].closer(own);
                near.away = boxes[near.patch as usize].distance_sq(p).sqrt();
            }
            let NearPoint { patches, candidates, .. } = near;
            candidates.retain_mut(|candidate| {
                // Patches are ascending.
                let of = patches.binary_search_by_key(&candidate.patch, |near| near.patch);
                let Some(within) = of.ok().map(|k| patches[k].within).filter(|&within| within > 0.0) else {
                    return false;
                };
                candidate.distance = if is_used {
                    let corners = watched.rule.triangles[candidate.triangle as usize];
                    closest_on_triangle(p, corners.map(|v| positions[v as usize])).0.distance(p)
                } else {
                    candidate.distance - moved[candidate.patch as usize].closer(own)
                };
                candidate.distance <= within
            });
            near.sort();
        });
    }

    /// Takes the positions for the snapshot.
    fn keep(&mut self, watched: &Watched, positions: &[DVec3]) {
        self.snapshot.clear();
        self.snapshot.extend_from_slice(positions);
        self.boxes = watched.patches.par_iter().with_min_len(8).map(|p| p.bounds(positions)).collect();
        self.trees = watched.patches.iter().map(|_| OnceLock::new()).collect();
        self.looked = 0;
    }
}

impl NearPoint {
    /// Forgets the lists.
    fn clear(&mut self) {
        self.beyond = f64::NEG_INFINITY;
        self.patches.clear();
        self.candidates.clear();
    }

    fn sort(&mut self) {
        self.candidates
            .sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.triangle.cmp(&b.triangle)));
    }
}

/// What searches of a pair share.
#[derive(Clone, Copy)]
struct NearPair<'a> {
    watched: &'a Watched,
    snapshot: &'a [DVec3],
    boxes: &'a [Bounds],
    trees: &'a [OnceLock<Bvh>],
    /// Displacements of the patches, and of all, since the snapshot.
    moved: &'a [Displaced],
    all: &'a Displaced,
    positions: &'a [DVec3],
}

/// Finds what is closest to a point.
pub(super) struct NearSearch<'a> {
    pair: NearPair<'a>,
    own: DVec3,
    /// The point in the snapshot, and now.
    place: [DVec3; 2],
    near: &'a mut NearPoint,
    work: &'a mut Work,
}

impl NearSearch<'_> {
    /// The closest triangle within `reach` that both tests take; of equal ones, the first. `meets` must
    /// always give the same.
    pub(super) fn closest(
        &mut self,
        reach: f64,
        faces: impl Fn([u32; 3]) -> bool,
        meets: impl Fn([u32; 3]) -> bool,
    ) -> Option<Found> {
        let most = self.prepare(reach, meets)?;
        let Self { pair, own, place, near, work } = self;
        work.listed += near.candidates.len();
        if near.candidates.first().is_none_or(|first| first.distance - most > reach + MARGIN) {
            return None;
        }
        let triangles = &pair.watched.rule.triangles;
        let mut best: Option<Found> = None;
        let mut look = |triangle: u32, best: &mut Option<Found>| {
            let corners = triangles[triangle as usize];
            if !faces(corners) {
                return;
            }
            work.looked += 1;
            let (at, barycentric) =
                closest_on_triangle(place[1], corners.map(|v| pair.positions[v as usize]));
            let found = Found { triangle, barycentric, distance_sq: at.distance_squared(place[1]) };
            let is_better = match best {
                None => found.distance_sq <= reach * reach,
                Some(best) => (found.distance_sq, triangle) < (best.distance_sq, best.triangle),
            };
            if is_better {
                *best = Some(found);
            }
        };
        // The one that was found last bounds the search. It is in the list if it is within reach.
        near.last.into_iter().for_each(|last| look(last, &mut best));
        for candidate in &near.candidates {
            let limit = best.map_or(reach, |best| best.distance_sq.sqrt()) + MARGIN;
            if candidate.distance - most > limit {
                break;
            }
            let approach = (candidate.distance - limit).max(0.0);
            let closer = pair.moved[candidate.patch as usize].closer_squared(*own);
            if approach * approach <= closer && near.last != Some(candidate.triangle) {
                look(candidate.triangle, &mut best);
            }
        }
        if let Some(found) = best {
            near.last = Some(found.triangle);
        }
        best
    }

    /// Lists all triangles within `reach`. Returns the largest approach of a patch that has some, if any.
    fn prepare(&mut self, reach: f64, meets: impl Fn([u32; 3]) -> bool) -> Option<f64> {
        self.near.is_used = true;
        self.gather(reach);
        let Self { pair, own, near, work, .. } = self;
        let mut most: Option<f64> = None;
        let mut extended = false;
        for k in 0..near.patches.len() {
            let NearPatch { patch, away, within } = near.patches[k];
            let closer = pair.moved[patch as usize].closer(*own);
            if away - closer > reach + MARGIN {
                continue;
            }
            most = Some(most.map_or(closer, |most| most.max(closer)));
            if within < reach + closer + MARGIN {
                near.patches[k].within = reach + closer + AHEAD;
                near.candidates.retain(|candidate| candidate.patch != patch);
                let looked = Self::list(pair, near, self.place[0], near.patches[k], &meets);
                work.looked += if within < 0.0 { 0 } else { looked };
                extended = true;
            }
        }
        if extended {
            near.sort();
        }
        most
    }

    /// Lists all patches within `reach`.
    fn gather(&mut self, reach: f64) {
        let Self { pair, own, near, place, .. } = self;
        let closer = pair.all.closer(*own);
        if near.beyond - closer > reach + MARGIN {
            return;
        }
        let radius = reach + closer + PATCHES_AHEAD;
        let known = std::mem::take(&mut near.patches);
        near.beyond = f64::INFINITY;
        for (k, bounds) in pair.boxes.iter().enumerate() {
            let away = bounds.distance_sq(place[0]).sqrt();
            if away > radius {
                near.beyond = near.beyond.min(away);
                continue;
            }
            let known = known.iter().find(|patch| patch.patch as usize == k);
            near.patches.push(known.copied().unwrap_or(NearPatch { patch: k as u32, away, within: -1.0 }));
        }
    }

    /// Lists the triangles of a patch near the place `p` in the snapshot. Returns how many it looked at.
    fn list(
        pair: &NearPair,
        near: &mut NearPoint,
        p: DVec3,
        NearPatch { patch, within, .. }: NearPatch,
        meets: &impl Fn([u32; 3]) -> bool,
    ) -> usize {
        let mut work = 0;
        let of = &pair.watched.patches[patch as usize];
        let tree = pair.trees[patch as usize].get_or_init(|| of.fitted(pair.snapshot));
        let region = Aabb::of([(p - (within + MARGIN)).as_vec3(), (p + (within + MARGIN)).as_vec3()]);
        let _ = tree.overlapping(&region, |t| {
            work += 1;
            let triangle = of.triangles[t as usize];
            let corners = pair.watched.rule.triangles[triangle as usize];
            let distance = closest_on_triangle(p, corners.map(|v| pair.snapshot[v as usize])).0.distance(p);
            if distance > within {
                return ControlFlow::Continue(());
            }
            let meets = match near.known.binary_search_by_key(&triangle, |(t, _)| *t) {
                Ok(at) => near.known[at].1,
                Err(at) => {
                    let meets = meets(corners);
                    near.known.insert(at, (triangle, meets));
                    meets
                }
            };
            if meets {
                near.candidates.push(Candidate { distance, triangle, patch });
            }
            ControlFlow::Continue(())
        });
        work
    }
}

/// Holds what is near the points of each pair between calls. A clone starts without any.
#[derive(Debug, Default)]
pub(super) struct NearLog(Mutex<Vec<Near>>);

impl Clone for NearLog {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl NearLog {
    /// What is known so far; a call at the same time gets nothing.
    pub(super) fn take(&self, n_pairs: usize) -> Vec<Near> {
        let mut known = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        known.resize_with(n_pairs, Near::default);
        known
    }

    pub(super) fn put(&self, known: Vec<Near>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

#[cfg(test)]
mod tests {
    use crate::contact::detect::{CollisionPair, Touch, TouchOptions};
    use crate::contact::planes::TetAttachment;
    use glam::DVec3;

    /// Points on each side of a sheet.
    const SIDE: u32 = 24;
    /// Their distance, meters.
    const CELL: f64 = 1e-3;

    /// A point of a sheet, at a height.
    fn point(k: u32, y: f64) -> DVec3 {
        DVec3::new(f64::from(k % SIDE) * CELL, y, f64::from(k / SIDE) * CELL)
    }

    /// Triangles of the sheet that begins at point `first`; their normals are up or down.
    fn sheet(first: u32, up: bool) -> Vec<[u32; 3]> {
        let cells = (0..SIDE * (SIDE - 1)).filter(|k| k % SIDE != SIDE - 1).map(|k| first + k);
        let of = |k: u32| [[k, k + SIDE, k + 1], [k + 1, k + SIDE, k + SIDE + 1]];
        cells.flat_map(of).map(|[a, b, c]| if up { [a, b, c] } else { [a, c, b] }).collect()
    }

    /// Two sheets slide past each other and touch here and there.
    #[test]
    fn snapshots_that_move_on_change_nothing() {
        let n = SIDE * SIDE;
        let points: Vec<DVec3> =
            (0..n).map(|k| point(k, 0.0)).chain((0..n).map(|k| point(k, 8e-4))).collect();
        let pair = |points: std::ops::Range<u32>, triangles: Vec<[u32; 3]>| CollisionPair {
            points: points.collect(),
            triangles,
            same_surface: false,
        };
        let rules = vec![pair(n..2 * n, sheet(0, true)), pair(0..n, sheet(n, false))];
        let attachments = vec![TetAttachment::FIXED; points.len()];
        let areas = vec![1e-6; points.len()];
        let body = (&[][..], &[][..], vec![points.clone()]);
        let options = TouchOptions::default();
        let touch = Touch::prepare(attachments, areas, rules, body, false, options).unwrap();
        let pose = touch.posed(points.clone());
        let (mut n_found, mut n_advances) = (0, 0);
        let mut last: Vec<Vec<DVec3>> = Vec::new();
        for round in 0..80 {
            let time = f64::from(round);
            let at = |(k, p): (usize, &DVec3)| {
                let side = if k < n as usize { -1.0 } else { 1.0 };
                let wave = (300.0 * p.x + 0.2 * time).sin() * (200.0 * p.z - 0.1 * time).cos();
                *p + DVec3::new(6e-5 * time, -3e-4 * wave - 2e-4 * (0.15 * time).sin(), 2e-5 * time) * side
            };
            let positions: Vec<DVec3> = points.iter().enumerate().map(at).collect();
            let found = touch.find(&positions, &pose);
            assert_eq!(found, touch.clone().find(&positions, &pose), "round {round}");
            n_found += found.len();
            let known = touch.log.take(2);
            let now: Vec<Vec<DVec3>> = known.iter().map(|near| near.snapshot.clone()).collect();
            n_advances += usize::from(round > 0 && now != last);
            last = now;
            touch.log.put(known);
        }
        assert!(n_found > 4000 && n_advances > 3, "{n_found} contacts, {n_advances} new snapshots");
    }
}
