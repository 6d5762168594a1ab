//! What earlier searches for contacts have shown, so that most need not be repeated.
//!
//! If no triangle that a point can ever touch was nearer than d, and since then the point has moved by a and
//! the triangles by at most b, then none is nearer than `d - a - b`. The motion of triangles is summed from
//! call to call, which bounds it from above. Decisions follow from the geometry alone, so results do not
//! depend on which searches were made before.

use crate::contact::search::{Patch, Watched};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// For rounding, meters.
const MARGIN: f64 = 1e-7;

/// A point that has things nearby which do not face it looks ahead only in one of so many calls.
const RARELY: usize = 16;

/// What is known about one collision pair.
#[derive(Debug, Default)]
pub(super) struct SeenRule {
    /// Motion of its triangles since the first call, bounded from above.
    travelled: f64,
    n_calls: usize,
    points: Vec<SeenPoint>,
}

/// What is known about a point of a pair.
#[derive(Debug, Clone, Copy)]
struct SeenPoint {
    /// Where it was, and [`SeenRule::travelled`] then.
    from: DVec3,
    travelled: f64,
    /// The distance within which there was nothing to touch.
    clear: f64,
    /// Whether that was too little for the next call.
    is_crowded: bool,
    /// The triangle that was the closest.
    hint: Option<u32>,
}

impl SeenRule {
    fn new(n_points: usize) -> Self {
        let point =
            SeenPoint { from: DVec3::ZERO, travelled: 0.0, clear: 0.0, is_crowded: false, hint: None };
        Self { travelled: 0.0, n_calls: 0, points: vec![point; n_points] }
    }

    /// Whether something may be within `reach` of the pair's `i`-th point.
    pub(super) fn may_touch(&self, i: usize, now: DVec3, reach: f64) -> bool {
        let point = &self.points[i];
        let motion = now.distance(point.from) + (self.travelled - point.travelled);
        let is_clear = point.clear - motion > reach + MARGIN;
        // Also if a position is not finite.
        !is_clear
    }

    /// The triangle that was last the closest to the `i`-th point.
    pub(super) fn hint(&self, i: usize) -> Option<u32> {
        self.points[i].hint
    }

    /// Whether to look farther than needed if nothing is found.
    pub(super) fn looks_ahead(&self, i: usize) -> bool {
        !self.points[i].is_crowded || (self.n_calls + i).is_multiple_of(RARELY)
    }

    /// `triangle` is the closest to the `i`-th point.
    pub(super) fn note_closest(&mut self, i: usize, triangle: u32) {
        self.points[i].hint = Some(triangle);
        (self.points[i].clear, self.points[i].is_crowded) = (0.0, false);
    }

    /// Nothing is within `clear` of the `i`-th point at `from`, of which the search needed `reach`.
    pub(super) fn note_clear(&mut self, i: usize, from: DVec3, clear: f64, reach: f64) {
        let (travelled, hint) = (self.travelled, self.points[i].hint);
        self.points[i] = SeenPoint { from, travelled, clear, is_crowded: clear <= reach, hint };
    }
}

/// What is known about all pairs.
#[derive(Debug, Default)]
pub(super) struct Seen {
    positions: Vec<DVec3>,
    pub(super) rules: Vec<SeenRule>,
}

impl Seen {
    /// How much farther than needed a search without result looks, meters.
    pub(super) const LOOK_AHEAD: f64 = 1.5e-3;

    /// Takes note of new positions. Returns whether there were others before: then it pays to look ahead.
    pub(super) fn advance(&mut self, positions: &[DVec3], rules: &[Watched]) -> bool {
        let is_first = self.positions.len() != positions.len();
        if is_first {
            self.rules = rules.iter().map(|watched| SeenRule::new(watched.rule.points.len())).collect();
        } else {
            let before = &self.positions;
            rules.par_iter().zip(&mut self.rules).for_each(|(watched, seen)| {
                let moved = |&p: &u32| positions[p as usize].distance_squared(before[p as usize]);
                let of_patch = |patch: &Patch| patch.corners.iter().map(moved).fold(0.0, f64::max);
                let patches = watched.patches.par_iter().with_min_len(8);
                let farthest = patches.map(of_patch).reduce(|| 0.0, f64::max);
                seen.travelled += farthest.sqrt();
                seen.n_calls += 1;
            });
        }
        self.positions.clear();
        self.positions.extend_from_slice(positions);
        !is_first
    }
}

/// Holds a [`Seen`] between calls. A clone starts without any.
#[derive(Debug, Default)]
pub(super) struct SearchLog(Mutex<Seen>);

impl Clone for SearchLog {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl SearchLog {
    /// What is known so far; a call at the same time gets nothing.
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn put(&self, seen: Seen) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}
