//! Rest volumes for any weights, never inverted.
//!
//! ```text
//! X(w) = lift(X0 + B_X c(w) + sum over pairs of s(c_i) s(c_j) D_ij)
//! ```
//!
//! `c` are the strengths of the rig's shapes, so in-betweens and combinations act on the volume as they do on
//! the skin [Kozlov17, eq. 2]. Two valid volumes may blend to one with squashed or inverted elements. For
//! pairs of shapes that do, the build stores a corrective `D_ij` ([`crate::correctives`]); `s` rises from 0
//! to 1. What is still squashed is opened by moving nodes ([`risorius_solve::lift`]), as a continuous
//! function of the weights. If an element has less than [`LEAST_J`] of its neutral volume even then,
//! [`RestVolumes::untangled`] repairs it, which may jump from frame to frame and is reported.

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

/// Compression of elements relative to the neutral from which on they are opened: in blends, and in the
/// shapes that blends are made of, which need a margin.
const ONSET: f64 = 0.2;
pub(crate) const SHAPE_ONSET: f64 = 0.35;

/// Pull of nodes to their place while elements are opened: inside, on the skin, on bones and border. Nodes
/// inside move first, because nothing shows where they are.
const PULLS: [f64; 3] = [0.02, 0.1, 1.0];

/// Solves end with a step below this: of blends, which must be smooth over time, and of shapes and
/// correctives, in meters.
const PRECISE: f64 = 1e-6;
pub(crate) const ROUGH: f64 = 2e-5;

/// Nodes that a repair moves by less than this do not count as moved, in meters.
const NEGLIGIBLE: f64 = 1e-5;

/// The volume's rest states, prepared for blending.
pub struct RestVolumes<'a> {
    flesh: &'a Flesh,
    nodes: Vec<DVec3>,
    rest: TissueRest,
    movable: Vec<bool>,
    lifter: Lifter,
    rough: Lifter,
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
    /// Whether the repair is continuous in the weights; if not, it may jump from frame to frame.
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

/// Adds a shape at a strength.
pub(crate) fn add(positions: &mut [DVec3], shape: &VolumeShape, strength: f64) {
    shape.add_to(positions, strength);
}

impl<'a> RestVolumes<'a> {
    /// Prepares the volumes of `flesh`.
    pub fn prepare(flesh: &'a Flesh) -> Result<Self, SolveError> {
        let nodes = flesh.rest();
        let rest = TissueRest::prepare(&flesh.tets, &nodes)?;
        let movable = (0..nodes.len()).map(|n| !flesh.is_held(n)).collect();
        let bounds: Vec<Bound> = (0..nodes.len()).map(|n| flesh.bound(n)).collect();
        let rough = lifter(&flesh.tets, &rest, &bounds, ROUGH)?;
        let options = LiftOptions { step_tolerance: PRECISE, ..LiftOptions::default() };
        let lifter = rough.with_options(options);
        Ok(Self { flesh, nodes, movable, lifter, rough, rest })
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
    /// move a node, it gets their mean, weighted by their strengths: all of them correct the same elements.
    pub fn blend(&self, strengths: &[f64]) -> Vec<DVec3> {
        let mut positions = self.linear(strengths);
        let strength =
            |c: &Corrective| c.shapes.iter().map(|&s| step(strengths[s as usize])).product::<f64>();
        let mut sums = vec![DVec3::ZERO; positions.len()];
        let mut totals = vec![0.0; positions.len()];
        for corrective in &self.flesh.correctives {
            let strength = strength(corrective);
            if strength > 0.0 {
                add(&mut sums, &corrective.volume, strength);
                corrective.volume.nodes.iter().for_each(|&n| totals[n as usize] += strength);
            }
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
        let blended = self.blend(strengths);
        let worst_before = self.worst(&blended);
        let mut positions = blended.clone();
        self.lifter.lift(&mut positions, ONSET)?;
        if self.worst(&positions).0 >= LEAST_J {
            return Ok(repaired(positions, &blended, worst_before, 1.0, true));
        }
        let (positions, share) = self.untangled(positions)?;
        Ok(repaired(positions, &blended, worst_before, share, false))
    }

    /// The linear blend for these strengths with its squashed elements opened, possibly not enough.
    pub(crate) fn lifted(&self, strengths: &[f64]) -> Result<Vec<DVec3>, SolveError> {
        let mut positions = self.linear(strengths);
        self.rough.lift(&mut positions, SHAPE_ONSET)?;
        Ok(positions)
    }

    /// Moves nodes of `positions` until no tet is below [`LEAST_J`]. First, nodes on bones and border are
    /// kept, except those of bad tets. If that is not enough, all nodes may move. If that is not enough
    /// either, the whole volume is blended toward the neutral, which has no inverted tets, by the share that
    /// is returned: 1 for not at all.
    pub fn untangled(&self, mut positions: Vec<DVec3>) -> Result<(Vec<DVec3>, f64), SolveError> {
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
                    return Ok((positions, share));
                }
            }
            share -= 0.125;
            positions = blended.iter().zip(&self.nodes).map(|(x, x0)| x0.lerp(*x, share)).collect();
        }
        Ok((self.nodes.clone(), 0.0))
    }

    /// The shape gradient `F = dX(w)/dX0` of a tet.
    pub fn gradient(&self, positions: &[DVec3], tet_idx: usize) -> DMat3 {
        let tet = self.flesh.tets[tet_idx];
        edge_matrix(positions, tet) * self.rest.inverse[tet_idx]
    }
}

/// What opens squashed elements of a volume.
pub(crate) fn lifter(
    tets: &[[u32; 4]],
    rest: &TissueRest,
    bounds: &[Bound],
    step_tolerance: f64,
) -> Result<Lifter, SolveError> {
    let pull = |bound: &Bound| match bound {
        Bound::Inside | Bound::Eye | Bound::Joint => PULLS[0],
        Bound::Skin => PULLS[1],
        Bound::Cranium | Bound::Mandible | Bound::Border => PULLS[2],
    };
    let pulls: Vec<f64> = bounds.iter().map(pull).collect();
    Lifter::prepare(tets, rest, &pulls, LiftOptions { step_tolerance, ..LiftOptions::default() })
}

/// A repaired rest state.
fn repaired(
    positions: Vec<DVec3>,
    blended: &[DVec3],
    worst_before: (f64, usize),
    share: f64,
    is_smooth: bool,
) -> Rest {
    let motion = |i: usize| positions[i].distance(blended[i]);
    let moved: Vec<u32> = (0..positions.len() as u32).filter(|&i| motion(i as usize) > NEGLIGIBLE).collect();
    let longest_motion = moved.iter().map(|&i| motion(i as usize)).fold(0.0, f64::max);
    Rest { positions, worst_before, moved, longest_motion, share, is_smooth }
}
