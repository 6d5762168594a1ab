//! What earlier searches for contacts have shown, so that most need not be repeated.
//!
//! If no triangle that a point can ever touch was nearer than d, and since then the point has moved by a and
//! the triangles by at most b, then none is nearer than `d - a - b`. The motion of triangles is summed from
//! call to call, which bounds it from above. Decisions follow from the geometry alone, so results do not
//! depend on which searches were made before.

use crate::contact::detect::CollisionPair;
use glam::DVec3;
use std::sync::{Mutex, PoisonError};

/// For rounding, meters.
const MARGIN: f64 = 1e-7;

/// What is known about one collision pair.
#[derive(Debug, Default)]
pub(super) struct SeenRule {
    /// Motion of its triangles since the first call, bounded from above.
    travelled: f64,
    /// For each of its points: where it was, `travelled` then, and the distance within which there was
    /// nothing to touch.
    clear: Vec<(DVec3, f64, f64)>,
}

impl SeenRule {
    /// Whether something may be within `reach` of the pair's `i`-th point.
    pub(super) fn may_touch(&self, i: usize, now: DVec3, reach: f64) -> bool {
        let (from, travelled, distance) = self.clear[i];
        let motion = now.distance(from) + (self.travelled - travelled);
        // Also true if a position is not finite.
        !(distance - motion > reach + MARGIN)
    }

    /// Nothing within `distance` of the `i`-th point at `from`.
    pub(super) fn note(&mut self, i: usize, from: DVec3, distance: f64) {
        self.clear[i] = (from, self.travelled, distance);
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
    pub(super) fn advance<'a>(
        &mut self,
        positions: &[DVec3],
        rules: impl Iterator<Item = &'a CollisionPair>,
    ) -> bool {
        let is_first = self.positions.len() != positions.len();
        if is_first {
            let fresh = |rule: &CollisionPair| SeenRule {
                travelled: 0.0,
                clear: vec![(DVec3::ZERO, 0.0, 0.0); rule.points.len()],
            };
            self.rules = rules.map(fresh).collect();
        } else {
            for (rule, seen) in rules.zip(&mut self.rules) {
                let moved = |&p: &u32| positions[p as usize].distance_squared(self.positions[p as usize]);
                seen.travelled += rule.triangles.iter().flatten().map(moved).fold(0.0, f64::max).sqrt();
            }
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
