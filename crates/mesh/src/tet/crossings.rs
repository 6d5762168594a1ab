//! Intersections of lattice edges with the boundary of a domain.
//!
//! Only signs are used. An edge with one end inside is bisected to its crossing. An edge that crosses the
//! boundary more than once breaks all methods of this kind: a gap between two parts is bridged, or a thin
//! sheet is lost. Edges near the boundary are therefore also sampled at two points between their ends. An
//! edge whose sign changes more than once is [`doubtful`], and the cubes around it are refined. The samples
//! are a third of the edge apart, so gaps and sheets wider than that along the edge are always found. In:
//! nodes with signs, edges. Out: one fraction for each crossing edge; 12 bisections locate it to 1/4096 of
//! the edge.

use crate::tet::domain::{Domain, Hits};
use glam::DVec3;
use rayon::prelude::*;

/// Bisections for each crossing.
const STEPS: u32 = 12;
/// A crossing reported by [`Domain::hits`] is accepted if the sign changes within this fraction of the edge.
const CLOSE: f64 = 1.0 / 4096.0;
/// Where edges are sampled between their ends.
const ASKED: [f64; 2] = [1.0 / 3.0, 2.0 / 3.0];

/// The sign of a domain clipped to a box.
pub(crate) struct Signs<'a> {
    pub domain: &'a dyn Domain,
    pub min: DVec3,
    pub max: DVec3,
}

impl Signs<'_> {
    /// Whether `p` is inside the domain and the box.
    pub fn inside(&self, p: DVec3) -> bool {
        p.cmpge(self.min).all() && p.cmple(self.max).all() && self.domain.value(p) > 0.0
    }

    /// [`Domain::side_of_ball`]; the box is part of the boundary.
    pub fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        let beyond = (self.min - center).max(center - self.max).max_element();
        if beyond > radius {
            Some(false)
        } else if beyond < -radius {
            self.domain.side_of_ball(center, radius)
        } else {
            None
        }
    }

    /// [`Domain::hits`], where both ends are within the box.
    pub fn hits(&self, a: DVec3, b: DVec3) -> Hits {
        let within = |p: DVec3| p.cmpge(self.min).all() && p.cmple(self.max).all();
        if within(a) && within(b) { self.domain.hits(a, b) } else { Hits::Unknown }
    }
}

/// An edge with one end inside: its nodes, and the fraction from the first node at which the boundary lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Crossing {
    pub edge: [u32; 2],
    pub at: f64,
}

/// Finds the crossing of every edge whose ends differ, ascending by edge.
pub(crate) fn crossings(
    signs: &Signs,
    nodes: &[DVec3],
    inside: &[bool],
    edges: &[[u32; 2]],
) -> Vec<Crossing> {
    let differ = |e: &&[u32; 2]| inside[e[0] as usize] != inside[e[1] as usize];
    let crossing: Vec<[u32; 2]> = edges.iter().filter(differ).copied().collect();
    crossing
        .par_iter()
        .with_min_len(16)
        .map(|&edge| {
            let [a, b] = edge.map(|v| nodes[v as usize]);
            Crossing { edge, at: bisect(signs, a, b, inside[edge[0] as usize]) }
        })
        .collect()
}

/// The fraction from `a` to `b` where the sign changes; `a_inside` is the side of `a`, `b` is on the other.
pub(crate) fn bisect(signs: &Signs, a: DVec3, b: DVec3, a_inside: bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let like_a = |t: f64| signs.inside(a.lerp(b, t)) == a_inside;
    if let Hits::Once(t) = signs.hits(a, b) {
        // Not guaranteed: where surfaces are open, the sign may change elsewhere.
        let (before, after) = ((t - CLOSE).max(0.0), (t + CLOSE).min(1.0));
        if (before == 0.0 || like_a(before)) && (after == 1.0 || !like_a(after)) {
            return t;
        }
    }
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if like_a(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// For each edge, whether its sign changes more than once; taken from `known` where available.
pub(crate) fn doubtful(
    signs: &Signs,
    nodes: &[DVec3],
    inside: &[bool],
    edges: &[[u32; 2]],
    known: impl Fn([u32; 2]) -> Option<bool> + Sync,
) -> Vec<bool> {
    let is_doubtful = |&edge: &[u32; 2]| {
        known(edge).unwrap_or_else(|| {
            let [a, b] = edge.map(|v| nodes[v as usize]);
            let [at_a, at_b] = edge.map(|v| inside[v as usize]);
            changes_twice(signs, a, b, at_a, at_b)
        })
    };
    edges.par_iter().with_min_len(64).map(is_doubtful).collect()
}

fn changes_twice(signs: &Signs, a: DVec3, b: DVec3, at_a: bool, at_b: bool) -> bool {
    match signs.hits(a, b) {
        Hits::Smooth => return false,
        Hits::Once(_) if at_a != at_b => return false,
        Hits::Unknown if at_a == at_b && signs.side_of_ball(a.midpoint(b), 0.5 * a.distance(b)).is_some() => {
            return false;
        }
        _ => {}
    }
    let (mut last, mut n_changes) = (at_a, 0);
    for now in ASKED.map(|t| signs.inside(a.lerp(b, t))).into_iter().chain([at_b]) {
        n_changes += u32::from(now != last);
        last = now;
    }
    n_changes > 1
}
