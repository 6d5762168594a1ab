//! Rest volumes for any weights, never inverted and smooth in the weights.
//!
//! ```text
//! X(w) = lift(X0 + B_X c(w) + sum over pairs s(c_i) s(c_j) D_ij)
//! ```
//!
//! `c` are the strengths of the rig's shapes, so in-betweens and combinations act on the volume as they do on
//! the skin [Kozlov17, eq. 2]. Two valid volumes may blend to one with inverted elements. For pairs of shapes
//! that do, the build stores a corrective `D_ij` ([`crate::correctives`]); `s` rises from 0 to 1.
//! What is still squashed is lifted by moving a few nodes ([`risorius_solve::lift`]): every element below
//! [`ONSET`] of its neutral volume is pushed up, as a smooth function of the blend. If an element is below
//! [`LEAST_J`] even then, [`RestVolumes::untangled`] repairs it, which may jump from frame to frame and is
//! reported.

use crate::domain::Bound;
use crate::flesh::{Corrective, Flesh, VolumeShape};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_solve::lift::{LiftOptions, Lifter};
use risorius_solve::untangle::{UntangleOptions, untangle};
use risorius_solve::{SolveError, TissueRest};

/// Least volume of an element, relative to its neutral volume.
pub const LEAST_J: f64 = 0.05;

/// Elements below this volume, relative to the neutral, are lifted.
pub const ONSET: f64 = 0.2;

/// Pull of nodes toward the blend while elements are lifted: inside, on the skin, on bones and border. Nodes
/// inside move first, because nothing shows where they are.
const PULLS: [f64; 3] = [0.02, 0.2, 1.0];

/// Number of states between the neutral and the blend along which elements are lifted.
const STATES: usize = 8;

/// The same for correctives, which need not be smooth in anything.
const ROUGH_STATES: usize = 4;

/// Nodes of lifted states are this close to the minimum, and those of correctives, in meters.
const PRECISE: f64 = 1e-8;
const ROUGH: f64 = 2e-5;

/// The volume's rest states, prepared for blending.
#[derive(Debug, Clone)]
pub struct RestVolumes<'a> {
    flesh: &'a Flesh,
    nodes: Vec<DVec3>,
    rest: TissueRest,
    movable: Vec<bool>,
    lifter: Lifter,
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
    /// Whether lifting was enough; otherwise the repair may jump from frame to frame.
    pub is_smooth: bool,
    /// Blend factor from the neutral (0) to the requested state (1); below 1 only if moving nodes was not
    /// enough.
    pub share: f64,
}

/// From 0 at 0 to 1 at 1, ending smoothly. It rises faster than a smooth step, because elements are squashed
/// well before both shapes are at their full strength.
fn step(c: f64) -> f64 {
    (c.clamp(0.0, 1.0) * std::f64::consts::FRAC_PI_2).sin()
}

/// About 1 for totals below 1, about the total above, and smooth.
fn saturated(total: f64) -> f64 {
    (1.0 + total.powi(4)).sqrt().sqrt()
}

fn add(positions: &mut [DVec3], shape: &VolumeShape, strength: f64) {
    for (&node, &offset) in shape.nodes.iter().zip(shape.offsets.iter()) {
        positions[node as usize] += glam::Vec3::from(offset).as_dvec3() * strength;
    }
}

impl<'a> RestVolumes<'a> {
    /// Prepares the volumes of `flesh`.
    pub fn prepare(flesh: &'a Flesh) -> Result<Self, SolveError> {
        let nodes = flesh.rest();
        let rest = TissueRest::prepare(&flesh.tets, &nodes)?;
        let movable = (0..nodes.len()).map(|n| !flesh.is_held(n)).collect();
        let pull = |n: usize| match flesh.bound(n) {
            Bound::Inside | Bound::Eye | Bound::Joint => PULLS[0],
            Bound::Skin => PULLS[1],
            Bound::Cranium | Bound::Mandible | Bound::Border => PULLS[2],
        };
        let pulls: Vec<f64> = (0..nodes.len()).map(pull).collect();
        let options = LiftOptions { onset: ONSET, ..LiftOptions::default() };
        let lifter = Lifter::prepare(&flesh.tets, &rest, &pulls, options)?;
        Ok(Self { flesh, nodes, rest, movable, lifter })
    }

    /// `X0 + B_X c`, without correctives and repair; `strengths` has one value per shape of the rig.
    pub fn linear(&self, strengths: &[f64]) -> Vec<DVec3> {
        let mut positions = self.nodes.clone();
        for (shape, &c) in self.flesh.volumes.iter().zip(strengths).filter(|(_, c)| **c != 0.0) {
            add(&mut positions, shape, c);
        }
        positions
    }

    /// The linear blend with the correctives of pairs, without repair. Where the correctives of several pairs
    /// move a node, it gets their mean, weighted by their strengths, so that they do not add up.
    pub fn blend(&self, strengths: &[f64]) -> Vec<DVec3> {
        let mut positions = self.linear(strengths);
        let strength =
            |c: &Corrective| c.shapes.iter().map(|&s| step(strengths[s as usize])).product::<f64>();
        let active: Vec<(&Corrective, f64)> =
            self.flesh.correctives.iter().map(|c| (c, strength(c))).filter(|(_, s)| *s > 0.0).collect();
        if active.is_empty() {
            return positions;
        }
        let mut sums = vec![DVec3::ZERO; positions.len()];
        let mut totals = vec![0.0; positions.len()];
        for (corrective, strength) in active {
            add(&mut sums, &corrective.volume, strength);
            corrective.volume.nodes.iter().for_each(|&n| totals[n as usize] += strength);
        }
        for ((p, sum), total) in positions.iter_mut().zip(sums).zip(totals) {
            *p += sum / saturated(total);
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
        self.repaired(|share| {
            let part: Vec<f64> = strengths.iter().map(|c| c * share).collect();
            self.blend(&part)
        })
    }

    /// The linear blend for these strengths, lifted; roughly, and possibly not enough.
    pub(crate) fn lifted(&self, strengths: &[f64]) -> Result<Vec<DVec3>, SolveError> {
        let state = |k: usize| {
            let share = k as f64 / ROUGH_STATES as f64;
            let part: Vec<f64> = strengths.iter().map(|c| c * share).collect();
            self.linear(&part)
        };
        let states: Vec<Vec<DVec3>> = (1..=ROUGH_STATES).map(state).collect();
        Ok(self.lifter.lift_along(&states, ROUGH)?.0)
    }

    /// The state at the end of a path from the neutral, at share 0, to 1. Elements below [`ONSET`] are
    /// lifted; what is below [`LEAST_J`] after that is untangled.
    fn repaired(&self, path: impl Fn(f64) -> Vec<DVec3>) -> Result<Rest, SolveError> {
        let positions = path(1.0);
        let worst_before = self.worst(&positions);
        let as_is = Rest {
            positions,
            worst_before,
            moved: Vec::new(),
            longest_motion: 0.0,
            is_smooth: true,
            share: 1.0,
        };
        if worst_before.0 >= ONSET {
            return Ok(as_is);
        }
        let mut states: Vec<Vec<DVec3>> = (1..STATES).map(|k| path(k as f64 / STATES as f64)).collect();
        states.push(as_is.positions.clone());
        let (lifted, _) = self.lifter.lift_along(&states, PRECISE)?;
        let repaired = match self.worst(&lifted).0 >= LEAST_J {
            true => Rest { positions: lifted, ..as_is.clone() },
            false => Rest { worst_before, is_smooth: false, ..self.untangled(lifted)? },
        };
        Ok(repaired.moved_from(&as_is.positions))
    }

    /// Moves nodes of `positions` until no tet is below [`LEAST_J`]. First, nodes on bones and border are
    /// kept, except those of bad tets. If that is not enough, all nodes may move. If that is not enough
    /// either, the whole volume is blended toward the neutral, which has no inverted tets.
    pub fn untangled(&self, mut positions: Vec<DVec3>) -> Result<Rest, SolveError> {
        let worst_before = self.worst(&positions);
        let done = |positions: Vec<DVec3>, share: f64| Rest {
            positions,
            worst_before,
            moved: Vec::new(),
            longest_motion: 0.0,
            is_smooth: false,
            share,
        };
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
                let result = untangle(&self.flesh.tets, &self.rest, &mut positions, movable, &options)?;
                if result.still_bad.is_empty() {
                    return Ok(done(positions, share).moved_from(&blended));
                }
            }
            share -= 0.125;
            positions = blended.iter().zip(&self.nodes).map(|(x, x0)| x0.lerp(*x, share)).collect();
        }
        Ok(done(self.nodes.clone(), 0.0).moved_from(&blended))
    }

    /// The shape gradient `F = dX(w)/dX0` of a tet.
    pub fn gradient(&self, positions: &[DVec3], tet_idx: usize) -> DMat3 {
        let tet = self.flesh.tets[tet_idx];
        edge_matrix(positions, tet) * self.rest.inverse[tet_idx]
    }
}

impl Rest {
    /// The same with the nodes that differ from `before`.
    fn moved_from(mut self, before: &[DVec3]) -> Self {
        let moved = |&i: &u32| self.positions[i as usize] != before[i as usize];
        self.moved = (0..before.len() as u32).filter(moved).collect();
        let motion = |(a, b): (&DVec3, &DVec3)| a.distance(*b);
        self.longest_motion = self.positions.iter().zip(before).map(motion).fold(0.0, f64::max);
        self
    }
}
