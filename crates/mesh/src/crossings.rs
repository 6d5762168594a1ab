//! Where the edges of a lattice meet the boundary of a domain.
//!
//! Only signs count. An edge with one end inside is bisected to its crossing. An edge that crosses more than once is the
//! danger of all such methods: two pieces with a gap between them become one, or a thin sheet is lost. Edges near the
//! boundary are therefore also asked at two points between their ends; an edge whose signs change more than once is
//! [`doubtful`], and the cubes around it are refined. Of any three consecutive points none is farther than a third of the
//! edge from the next, so gaps and sheets of that width across the edge are always seen.
//! In: nodes with signs, edges. Out: one fraction for each crossing edge; 12 bisections place it to 1/4096 of the edge.

use crate::stuffing::Domain;
use glam::DVec3;
use rayon::prelude::*;

/// Bisections for each crossing.
const STEPS: u32 = 12;
/// Where edges are asked between their ends.
const ASKED: [f64; 2] = [1.0 / 3.0, 2.0 / 3.0];

/// A domain cut off at a box, as signs.
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

    /// Whether a ball surely holds nothing of the boundary; the box is part of it.
    pub fn is_clear(&self, center: DVec3, radius: f64) -> bool {
        let beyond = (self.min - center).max(center - self.max).max_element();
        beyond > radius || (beyond < -radius && self.domain.is_clear(center, radius))
    }
}

/// An edge with one end inside: its nodes and how far from the first the boundary is, as a fraction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Crossing {
    pub edge: [u32; 2],
    pub at: f64,
}

/// Finds the crossing of every edge whose ends differ, ascending by edge.
pub(crate) fn crossings(signs: &Signs, nodes: &[DVec3], inside: &[bool], edges: &[[u32; 2]]) -> Vec<Crossing> {
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

/// The fraction from `a` to `b` where the sign changes; `a` is inside or not as told, `b` is the other.
pub(crate) fn bisect(signs: &Signs, a: DVec3, b: DVec3, a_inside: bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if signs.inside(a.lerp(b, middle)) == a_inside {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// For each edge, whether its signs change more than once.
pub(crate) fn doubtful(signs: &Signs, nodes: &[DVec3], inside: &[bool], edges: &[[u32; 2]]) -> Vec<bool> {
    edges
        .par_iter()
        .with_min_len(64)
        .map(|&[i, j]| {
            let (a, b) = (nodes[i as usize], nodes[j as usize]);
            let ends_differ = inside[i as usize] != inside[j as usize];
            if !ends_differ && signs.is_clear(a.midpoint(b), 0.5 * a.distance(b)) {
                return false;
            }
            let (mut last, mut n_changes) = (inside[i as usize], 0);
            for t in ASKED {
                let now = signs.inside(a.lerp(b, t));
                n_changes += u32::from(now != last);
                last = now;
            }
            n_changes + u32::from(last != inside[j as usize]) > 1
        })
        .collect()
}
