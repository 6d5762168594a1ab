//! The prepared system, and its minimization.

use super::descent::{Descent, ProjectSpace};
use super::elements::{Aims, Elements, Gradients, TetWeights};
use super::kernel::Number;
use super::planes::Touching;
use crate::contact::planes::Contact;
use crate::energy::isotropic::tet_laplacian;
use crate::minimize::contact_aware::Laplacian;
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::Progress;
use risorius_linalg::sparse::block_index;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NodeGraph, Order, Pattern, SparseCholesky, Stencil, Sweep,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Nodes per parallel task and partial sum.
pub(super) const NODES: usize = 1024;

/// Factors that are kept for steps of different lengths.
const KEPT: usize = 6;

/// A point of the body that is pulled: the weighted sum of up to four nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pin {
    /// Its nodes; unused ones are [`crate::NO_NODE`].
    pub nodes: Stencil,
    /// Their weights.
    pub weights: [f64; 4],
    /// Newtons per meter.
    pub stiffness: f64,
}

/// Where a pin pulls its point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinPlace {
    /// A place.
    pub place: DVec3,
    /// With a unit normal: to the plane through the place.
    pub normal: Option<DVec3>,
}

/// Inertia over a step.
#[derive(Debug, Clone, Copy)]
pub struct Inertial<'a> {
    /// The time over which it acts, seconds.
    pub span_secs: f64,
    /// Where nodes would be without forces.
    pub flight: &'a [DVec3],
    /// Positions that viscosity resists to leave.
    pub from: &'a [DVec3],
}

/// What is minimized.
#[derive(Clone, Copy)]
pub struct Objective<'a, T = f32> {
    /// What the tets are drawn to.
    pub aims: &'a Aims<T>,
    /// Inertia and viscosity; none in equilibrium.
    pub inertial: Option<Inertial<'a>>,
    /// Force at each node, newtons; none if empty.
    pub forces: &'a [DVec3],
    /// Where each pin pulls; none if empty.
    pub places: &'a [PinPlace],
    /// Contacts.
    pub touching: Option<Touching<'a>>,
}

/// When iterations end, and how they are combined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iterations {
    /// Most of them.
    pub most: usize,
    /// They end when no node of a plain step moves farther, meters.
    pub tolerance: f64,
    /// Steps that are combined; 0 for plain ones.
    pub memory: usize,
    /// Contacts are found anew at least after this many iterations.
    pub detect_every: usize,
    /// How often contacts are found, at most.
    pub detections: usize,
}

impl Default for Iterations {
    fn default() -> Self {
        Self { most: 200, tolerance: 1e-7, memory: 5, detect_every: 10, detections: 40 }
    }
}

/// What a minimization did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectReport {
    /// Global steps.
    pub iterations: usize,
    /// Combined steps that were undone.
    pub undone: usize,
    /// The longest motion of a node in the last plain step, meters.
    pub step: f64,
    /// The largest force left at a free node before the last step, contacts aside, newtons.
    pub residual: f64,
    /// Whether the tolerance was met.
    pub converged: bool,
    /// Energy before each step, joules; with that of contacts, which changes where they are found anew.
    pub energies: Vec<f64>,
    /// Contacts that pushed in the last step.
    pub pushing: usize,
    /// How often contacts were found.
    pub detections: usize,
    /// Contacts at the end, with the allowed depth as part of their room.
    pub contacts: Vec<Contact>,
    /// Time for projections, substitutions, contacts, factorizations.
    pub seconds: [f64; 4],
}

/// A factor of A for inertia over some time.
pub(super) struct Factor {
    factor: SparseCholesky<1>,
    /// For steps, in single precision.
    sweep: Sweep,
    /// For contacts, in double precision; made when the first one pushes.
    exact: OnceLock<Laplacian<f64>>,
    /// Of the matrix.
    diagonal: Vec<f64>,
}

impl Factor {
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Motion of a node under a unit force, estimated from its neighborhood, meters per newton.
    pub fn compliance(&self, node: u32) -> f64 {
        // Twice what it is with its neighbors held.
        2.0 / self.diagonal[node as usize]
    }

    /// Columns of the inverse of the nodes, restricted to `at`; both ascending.
    pub fn columns(&self, nodes: &[u32], at: &[u32]) -> Vec<Arc<[f64]>> {
        self.exact.get_or_init(|| Laplacian::new(Sweep::prepare(&self.factor))).columns(nodes, at)
    }
}

/// A body of tets, prepared; shared by threads that minimize different objectives.
pub struct Projective<T = f32> {
    elements: Elements<T>,
    held: Vec<bool>,
    masses: Vec<f64>,
    pins: Vec<Pin>,
    pattern: Arc<Pattern<1>>,
    gather: Gather<1>,
    gather_pins: Gather<1>,
    factors: Mutex<BTreeMap<i32, Arc<Factor>>>,
    /// Nodes that contacts can act on, ascending.
    carriers: Vec<u32>,
    /// Half the size of the body, meters.
    far: f64,
}

/// The key of the factor without inertia.
const STATIC: i32 = i32::MAX;

/// Factors are made for times in steps of this ratio, rounded down, so that A is never too small.
const GRID: f64 = 1.09;

impl<T: Number> Projective<T> {
    /// `held`: nodes that stay where they are; `carriers`: tets whose nodes contacts can act on.
    pub fn prepare(
        tets: &[Stencil],
        rest: &[DVec3],
        weights: &TetWeights,
        masses: &[f64],
        held: &[bool],
        pins: Vec<Pin>,
        carriers: &[Stencil],
    ) -> Result<Self, SolveError> {
        check_length("masses", masses.len(), rest.len())?;
        check_length("held nodes", held.len(), rest.len())?;
        check_values("mass", masses.iter().copied())?;
        check_values("stiffness of a pin", pins.iter().map(|pin| pin.stiffness))?;
        let of_pins: Vec<Stencil> = pins.iter().map(|pin| pin.nodes).collect();
        let graph = NodeGraph::ordered(held, &[tets, &of_pins], Order::NestedDissection)?;
        let pattern = Arc::new(Pattern::<1>::prepare(&graph)?);
        let mut nodes = carriers.concat();
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Self {
            elements: Elements::prepare(tets, rest, weights, held)?,
            held: held.to_vec(),
            masses: masses.to_vec(),
            gather: Gather::prepare(&pattern, tets),
            gather_pins: Gather::prepare(&pattern, &of_pins),
            pattern,
            pins,
            factors: Mutex::default(),
            carriers: nodes,
            far: 0.5 * size_of(rest),
        })
    }

    /// Fails if free nodes are farther from a pose than half the size of the body.
    pub fn check_near(&self, x: &[DVec3], pose: &[DVec3]) -> Result<(), SolveError> {
        let apart = |i: usize| x[i].distance(pose[i]);
        match (0..x.len()).find(|&i| !self.held[i] && apart(i) > self.far) {
            Some(node) => Err(SolveError::Escaped { node, meters: apart(node) }),
            None => Ok(()),
        }
    }

    /// Nodes that stay where they are.
    pub fn held(&self) -> &[bool] {
        &self.held
    }

    /// Mass of each node.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// The tets.
    pub fn tets(&self) -> &[Stencil] {
        &self.elements.tets
    }

    /// Nodes that contacts can act on, ascending.
    pub(super) fn carriers(&self) -> &[u32] {
        &self.carriers
    }

    /// The smallest determinant of a gradient.
    pub fn smallest_det(&self, x: &[DVec3]) -> f64 {
        self.elements.smallest_det(x)
    }

    /// The energy at `x`, with forces measured from the origin.
    pub fn energy(&self, objective: &Objective<T>, x: &[DVec3]) -> f64 {
        let from = self.viscous(objective);
        let mut space = ProjectSpace::default();
        self.evaluate(objective, from.as_ref(), x, &mut space)
    }

    /// The derivative of the energy at `x`, contacts aside; zero at held nodes.
    pub fn gradient(&self, objective: &Objective<T>, x: &[DVec3]) -> Vec<DVec3> {
        let from = self.viscous(objective);
        let mut space = ProjectSpace::default();
        self.evaluate(objective, from.as_ref(), x, &mut space);
        space.gradient
    }

    pub(super) fn viscous(&self, objective: &Objective<T>) -> Option<(Gradients<T>, f64)> {
        let inertial = objective.inertial.filter(|_| self.elements.is_viscous())?;
        Some((self.elements.gradients(inertial.from), inertial.span_secs))
    }

    /// Energy, and its derivative in the workspace.
    pub(super) fn evaluate(
        &self,
        objective: &Objective<T>,
        from: Option<&(Gradients<T>, f64)>,
        x: &[DVec3],
        space: &mut ProjectSpace,
    ) -> f64 {
        let from = from.map(|(gradients, span)| (gradients, *span));
        let elastic = self.elements.evaluate(x, objective.aims, from, &mut space.sums);
        let (sums, n) = (&space.sums, x.len());
        space.gradient.resize(n, DVec3::ZERO);
        let inverse_square = objective.inertial.map_or(0.0, |i| 1.0 / (i.span_secs * i.span_secs));
        let node = |i: usize, gradient: &mut DVec3| -> f64 {
            *gradient = DVec3::ZERO;
            if self.held[i] {
                return 0.0;
            }
            *gradient = self.elements.force(i, sums);
            let mut energy = 0.0;
            if let Some(inertial) = &objective.inertial {
                let pull = (x[i] - inertial.flight[i]) * (self.masses[i] * inverse_square);
                *gradient += pull;
                energy += 0.5 * pull.dot(x[i] - inertial.flight[i]);
            }
            if let Some(force) = objective.forces.get(i) {
                *gradient -= *force;
                energy -= force.dot(x[i]);
            }
            energy
        };
        let chunk = |(k, gradients): (usize, &mut [DVec3])| -> f64 {
            gradients.iter_mut().enumerate().map(|(i, g)| node(k * NODES + i, g)).sum()
        };
        let parts: Vec<f64> = space.gradient.par_chunks_mut(NODES).enumerate().map(chunk).collect();
        elastic + parts.iter().sum::<f64>() + self.add_pins(objective.places, x, &mut space.gradient)
    }

    /// Adds the pulls of pins to the gradient; returns their energy.
    fn add_pins(&self, places: &[PinPlace], x: &[DVec3], gradient: &mut [DVec3]) -> f64 {
        let mut energy = 0.0;
        for (pin, place) in self.pins.iter().zip(places) {
            let used = || pin.nodes.iter().zip(pin.weights).filter(|(node, _)| (**node as usize) < x.len());
            let point: DVec3 = used().map(|(&node, w)| x[node as usize] * w).sum();
            let mut apart = point - place.place;
            if let Some(normal) = place.normal {
                apart = normal * normal.dot(apart);
            }
            energy += 0.5 * pin.stiffness * apart.length_squared();
            for (&node, w) in used().filter(|(node, _)| !self.held[**node as usize]) {
                gradient[node as usize] += apart * (pin.stiffness * w);
            }
        }
        energy
    }

    /// The factor for inertia over some time, or for none.
    pub(super) fn factor(&self, span_secs: Option<f64>) -> Result<Arc<Factor>, SolveError> {
        let key = span_secs.map_or(STATIC, |span| (span.ln() / GRID.ln() + 1e-6).floor() as i32);
        let mut kept = self.factors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(factor) = kept.get(&key) {
            return Ok(factor.clone());
        }
        let span = if key == STATIC { f64::INFINITY } else { GRID.powi(key) };
        let factor = Arc::new(self.factored(span)?);
        if kept.len() >= KEPT {
            kept.pop_first();
        }
        kept.insert(key, factor.clone());
        Ok(factor)
    }

    /// Bytes of the factor for inertia over some time.
    pub fn factor_bytes(&self, span_secs: f64) -> Result<usize, SolveError> {
        Ok(self.factor(Some(span_secs))?.sweep().n_bytes())
    }

    fn factored(&self, span_secs: f64) -> Result<Factor, SolveError> {
        let blocks: Vec<ElementBlocks<1>> = (0..self.elements.tets.len())
            .into_par_iter()
            .map(|t| tet_laplacian(self.elements.rest.inverse[t], self.elements.stiffness(t, span_secs)))
            .collect();
        let of_pin = |pin: &Pin| {
            let mut blocks = [[[0.0]]; 10];
            for a in 0..4 {
                for b in 0..=a {
                    blocks[block_index(a, b)] = [[pin.stiffness * pin.weights[a] * pin.weights[b]]];
                }
            }
            blocks
        };
        let of_pins: Vec<ElementBlocks<1>> = self.pins.iter().map(of_pin).collect();
        let mut matrix = BlockMatrix::zeros(&self.pattern);
        matrix.add(&self.pattern, &self.gather, &blocks);
        matrix.add(&self.pattern, &self.gather_pins, &of_pins);
        let inertia: Vec<[[f64; 1]; 1]> =
            self.masses.iter().map(|m| [[m / (span_secs * span_secs)]]).collect();
        matrix.add_node_blocks(&self.pattern, &inertia);
        // For nodes without tets, and parts that nothing holds.
        matrix.add_to_diagonal(&self.pattern, 1e-12 * matrix.largest_diagonal(&self.pattern).max(1e-300));
        let factor = SparseCholesky::new(&self.pattern, &matrix)?;
        let mut diagonal: Vec<f64> = inertia.iter().map(|m| m[0][0]).collect();
        let of_pins = self.pins.iter().map(|pin| &pin.nodes).zip(&of_pins);
        for (nodes, blocks) in self.elements.tets.iter().zip(&blocks).chain(of_pins) {
            for (k, &node) in nodes.iter().enumerate() {
                if let Some(sum) = diagonal.get_mut(node as usize) {
                    *sum += blocks[block_index(k, k)][0][0];
                }
            }
        }
        diagonal.iter_mut().for_each(|d| *d = d.max(1e-300));
        Ok(Factor { sweep: Sweep::prepare(&factor), factor, exact: OnceLock::new(), diagonal })
    }

    /// Moves the free nodes of `x` to a minimum. Contacts are kept out as far as they are found.
    pub fn minimize(
        &self,
        objective: &Objective<T>,
        x: &mut Vec<DVec3>,
        options: &Iterations,
        progress: &Progress,
    ) -> Result<ProjectReport, SolveError> {
        check_length("positions", x.len(), self.held.len())?;
        if !x.iter().all(|p| p.is_finite()) {
            return Err(SolveError::BadStart);
        }
        rayon::scope(|_| Descent::prepare(self, objective, options)?.run(x, progress))
    }
}

/// The diagonal of the box around some points.
fn size_of(points: &[DVec3]) -> f64 {
    let low = points.iter().fold(DVec3::INFINITY, |low, p| low.min(*p));
    let high = points.iter().fold(DVec3::NEG_INFINITY, |high, p| high.max(*p));
    if points.is_empty() { 0.0 } else { low.distance(high) }
}

/// Adds the time that `f` takes, in seconds.
pub(super) fn timed<R>(seconds: &mut f64, f: impl FnOnce() -> R) -> R {
    let start = std::time::Instant::now();
    let result = f();
    *seconds += start.elapsed().as_secs_f64();
    result
}
