//! Rest volumes for any weights: `X(w) = X0 + B_X c(w)` [Kozlov17, eq. 2], never inverted.
//!
//! `c` are the strengths of the rig's shapes, so in-betweens and combinations act on the volume as they do on
//! the skin. Two valid volumes may blend to one with inverted elements. [`RestVolumes::at`] detects them and
//! moves as few nodes as possible until every element has at least [`LEAST_J`] of its neutral volume. Weights
//! that need no repair cost only the check.

use crate::flesh::Flesh;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_solve::untangle::{UntangleOptions, untangle};
use risorius_solve::{SolveError, TissueRest};

/// Least volume of an element, relative to its neutral volume.
pub const LEAST_J: f64 = 0.05;

/// The volume's rest states, prepared for blending.
#[derive(Debug, Clone)]
pub struct RestVolumes<'a> {
    flesh: &'a Flesh,
    nodes: Vec<DVec3>,
    rest: TissueRest,
    movable: Vec<bool>,
}

/// A rest state.
#[derive(Debug, Clone, PartialEq)]
pub struct Rest {
    /// Position of every node.
    pub positions: Vec<DVec3>,
    /// Smallest volume relative to the neutral before repair, and its tet.
    pub worst_before: (f64, usize),
    /// Nodes that the repair moved, ascending.
    pub moved: Vec<u32>,
    /// The longest motion of a node by the repair, meters.
    pub longest_motion: f64,
    /// Blend factor from the neutral (0) to the requested state (1); below 1 only if moving nodes was not
    /// enough.
    pub share: f64,
}

impl<'a> RestVolumes<'a> {
    /// Prepares the volumes of `flesh`.
    pub fn prepare(flesh: &'a Flesh) -> Result<Self, SolveError> {
        let nodes = flesh.rest();
        let rest = TissueRest::prepare(&flesh.tets, &nodes)?;
        let movable = (0..nodes.len()).map(|n| !flesh.is_held(n)).collect();
        Ok(Self { flesh, nodes, rest, movable })
    }

    /// `X0 + B_X c`, without repair; `strengths` has one value per shape of the rig.
    pub fn blend(&self, strengths: &[f64]) -> Vec<DVec3> {
        let mut positions = self.nodes.clone();
        for (shape, &c) in self.flesh.volumes.iter().zip(strengths).filter(|(_, c)| **c != 0.0) {
            for (&node, &offset) in shape.nodes.iter().zip(shape.offsets.iter()) {
                positions[node as usize] += glam::Vec3::from(offset).as_dvec3() * c;
            }
        }
        positions
    }

    /// Volume of a tet relative to the neutral.
    pub fn j(&self, positions: &[DVec3], tet_idx: usize) -> f64 {
        edge_matrix(positions, self.flesh.tets[tet_idx]).determinant() / (6.0 * self.rest.volume[tet_idx])
    }

    /// The smallest relative volume and its tet.
    pub fn worst(&self, positions: &[DVec3]) -> (f64, usize) {
        // NaN is the worst; of equals, the first.
        let key = |(j, t): (f64, usize)| (if j.is_nan() { f64::NEG_INFINITY } else { j }, t);
        let worse = |a: (f64, usize), b: (f64, usize)| if key(b) < key(a) { b } else { a };
        let all = (0..self.rest.volume.len()).into_par_iter().with_min_len(1024);
        all.map(|t| (self.j(positions, t), t)).reduce(|| (f64::INFINITY, 0), worse)
    }

    /// The rest state for these strengths, repaired where needed.
    pub fn at(&self, strengths: &[f64]) -> Result<Rest, SolveError> {
        self.repair(self.blend(strengths))
    }

    /// Moves nodes of `positions` until no tet is below [`LEAST_J`]. First, nodes on bones and border are
    /// kept, except those of bad tets. If that is not enough, all nodes may move. If that is not enough
    /// either, the whole volume is blended toward the neutral, which has no inverted tets.
    pub fn repair(&self, mut positions: Vec<DVec3>) -> Result<Rest, SolveError> {
        let worst_before = self.worst(&positions);
        if worst_before.0 >= LEAST_J {
            return Ok(Rest { positions, worst_before, moved: Vec::new(), longest_motion: 0.0, share: 1.0 });
        }
        let options = UntangleOptions { threshold: LEAST_J, ..UntangleOptions::default() };
        let all = vec![true; positions.len()];
        // Held nodes are kept, except those of elements that are squashed.
        let mut some = self.movable.clone();
        let bad = |t: &usize| self.j(&positions, *t) < LEAST_J;
        (0..self.flesh.tets.len())
            .filter(bad)
            .for_each(|t| self.flesh.tets[t].iter().for_each(|&n| some[n as usize] = true));
        let blended = positions.clone();
        let mut share = 1.0;
        while share > 0.0 {
            for movable in [&some, &all] {
                let done = untangle(&self.flesh.tets, &self.rest, &mut positions, movable, &options)?;
                if done.still_bad.is_empty() {
                    return Ok(repaired(positions, &blended, worst_before, share));
                }
            }
            share -= 0.125;
            positions = blended.iter().zip(&self.nodes).map(|(x, x0)| x0.lerp(*x, share)).collect();
        }
        Ok(repaired(self.nodes.clone(), &blended, worst_before, 0.0))
    }

    /// The shape gradient `F = dX(w)/dX0` of a tet.
    pub fn gradient(&self, positions: &[DVec3], tet_idx: usize) -> DMat3 {
        let tet = self.flesh.tets[tet_idx];
        edge_matrix(positions, tet) * self.rest.inverse[tet_idx]
    }
}

/// A repaired rest state.
fn repaired(positions: Vec<DVec3>, blended: &[DVec3], worst_before: (f64, usize), share: f64) -> Rest {
    let motion = |i: usize| positions[i].distance(blended[i]);
    let moved: Vec<u32> = (0..positions.len() as u32).filter(|&i| motion(i as usize) > 0.0).collect();
    let longest_motion = moved.iter().map(|&i| motion(i as usize)).fold(0.0, f64::max);
    Rest { positions, worst_before, moved, longest_motion, share }
}
