//! What is prepared once for a topology and a set of held nodes, and the sums over elements.
//!
//! A [`System`] orders the nodes, lays out the sparse matrices (three unknowns per node, and one), and lists for every
//! node the elements that push it. It is immutable; solves on several threads share it. A [`Problem`] puts energies
//! with the same stencils on it: other rest shapes, materials, targets or stiffnesses need no other system.
//!
//! Sums are grouped by the data (elements in blocks of 256, nodes with their elements in ascending order), so
//! results are the same to the bit for any number of threads.

use crate::energy::Energy;
use crate::{SolveError, check_length};
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NO_NODE, NodeGraph, Pattern, SparseCholesky, SparseError, Stencil,
};
use std::sync::Arc;

/// Elements that one task takes.
const CHUNK: usize = 256;

/// Order, symbolic factors and gather lists of a topology.
#[derive(Debug)]
pub struct System {
    held: Vec<bool>,
    stencils: Vec<Vec<Stencil>>,
    incidence: Vec<Incidence>,
    pub(crate) vector: Layout<3>,
    pub(crate) scalar: Layout<1>,
}

/// Pattern of a matrix and, for each energy, where its elements go.
#[derive(Debug)]
pub(crate) struct Layout<const B: usize> {
    pub(crate) pattern: Arc<Pattern<B>>,
    gathers: Vec<Gather<B>>,
}

impl<const B: usize> Layout<B> {
    fn prepare(graph: &NodeGraph, stencils: &[Vec<Stencil>]) -> Result<Self, SparseError> {
        let pattern = Arc::new(Pattern::prepare(graph)?);
        let gathers = stencils.iter().map(|list| Gather::prepare(&pattern, list)).collect();
        Ok(Self { pattern, gathers })
    }
}

/// For every node its elements, as `4 * element + corner`, ascending.
#[derive(Debug)]
struct Incidence {
    start: Vec<u32>,
    entry: Vec<u32>,
}

impl Incidence {
    fn prepare(n_nodes: usize, stencils: &[Stencil]) -> Self {
        let corners = || stencils.iter().flatten().enumerate().filter(|&(_, &node)| node != NO_NODE);
        let mut start = vec![0u32; n_nodes + 1];
        corners().for_each(|(_, &node)| start[node as usize + 1] += 1);
        (0..n_nodes).for_each(|v| start[v + 1] += start[v]);
        let mut next = start.clone();
        let mut entry = vec![0; start[n_nodes] as usize];
        for (corner, &node) in corners() {
            entry[next[node as usize] as usize] = corner as u32;
            next[node as usize] += 1;
        }
        Self { start, entry }
    }

    fn sum(&self, node: usize, forces: &[[DVec3; 4]]) -> DVec3 {
        let corners = &self.entry[self.start[node] as usize..self.start[node + 1] as usize];
        corners.iter().fold(DVec3::ZERO, |sum, &c| sum + forces[c as usize / 4][c as usize % 4])
    }
}

impl System {
    /// For energies with these stencils, in this order; nodes that are held keep the positions given to a solve, as do
    /// nodes that no element names.
    pub fn prepare(held: &[bool], stencils: &[&[Stencil]]) -> Result<Self, SolveError> {
        let mut alone = vec![true; held.len()];
        for &node in stencils.iter().copied().flatten().flatten() {
            if let Some(flag) = alone.get_mut(node as usize) {
                *flag = false;
            }
        }
        let held: Vec<bool> = held.iter().zip(&alone).map(|(&held, &alone)| held || alone).collect();
        let graph = NodeGraph::prepare(&held, stencils)?;
        let stencils: Vec<Vec<Stencil>> = stencils.iter().map(|list| list.to_vec()).collect();
        Ok(Self {
            incidence: stencils.iter().map(|list| Incidence::prepare(held.len(), list)).collect(),
            vector: Layout::prepare(&graph, &stencils)?,
            scalar: Layout::prepare(&graph, &stencils)?,
            stencils,
            held,
        })
    }

    /// Number of nodes, held ones included.
    pub fn n_nodes(&self) -> usize {
        self.held.len()
    }

    /// Which nodes are held.
    pub fn held(&self) -> &[bool] {
        &self.held
    }
}

/// Energies on a system.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Prepared with the stencils of these energies.
    pub system: &'a System,
    /// The energies, in the system's order.
    pub energies: &'a [&'a dyn Energy],
    /// A constant force at each node, newtons; empty for none.
    pub loads: &'a [DVec3],
}

/// Energies of all elements and the forces at all nodes at one state.
#[derive(Clone)]
pub(crate) struct Evaluation {
    values: Vec<Vec<f64>>,
    forces: Vec<Vec<[DVec3; 4]>>,
    /// Derivative at each node, loads included; zero at held nodes.
    pub(crate) gradient: Vec<DVec3>,
}

impl Problem<'_> {
    /// Fails if the energies are not those that the system was prepared for.
    pub(crate) fn check(&self, x: &[DVec3]) -> Result<(), SolveError> {
        check_length("positions", x.len(), self.system.n_nodes())?;
        if !self.loads.is_empty() {
            check_length("loads", self.loads.len(), x.len())?;
        }
        self.check_energies()
    }

    fn check_energies(&self) -> Result<(), SolveError> {
        check_length("energies", self.energies.len(), self.system.stencils.len())?;
        for (energy, stencils) in self.energies.iter().zip(&self.system.stencils) {
            check_length("elements of an energy", energy.stencils().len(), stencils.len())?;
            let same = energy.stencils().iter().zip(stencils).filter(|(a, b)| a == b).count();
            check_length("elements with the stencil that the system was prepared with", same, stencils.len())?;
        }
        Ok(())
    }

    pub(crate) fn new_evaluation(&self) -> Evaluation {
        let counts = self.system.stencils.iter().map(Vec::len);
        Evaluation {
            values: counts.clone().map(|n| vec![0.0; n]).collect(),
            forces: counts.map(|n| vec![[DVec3::ZERO; 4]; n]).collect(),
            gradient: vec![DVec3::ZERO; self.system.n_nodes()],
        }
    }

    /// Values and gradient at `x`.
    pub(crate) fn evaluate(&self, x: &[DVec3], out: &mut Evaluation) {
        for ((energy, values), forces) in self.energies.iter().zip(&mut out.values).zip(&mut out.forces) {
            values.par_chunks_mut(CHUNK).zip(forces.par_chunks_mut(CHUNK)).enumerate().for_each(|(k, (v, f))| {
                let first = k * CHUNK;
                energy.gradients(x, first..first + v.len(), v, f);
            });
        }
        let forces = &out.forces;
        out.gradient.par_chunks_mut(CHUNK).enumerate().for_each(|(k, gradient)| {
            for (g, node) in gradient.iter_mut().zip(k * CHUNK..) {
                *g = if self.system.held[node] { DVec3::ZERO } else { self.gradient_at(node, forces) };
            }
        });
    }

    fn gradient_at(&self, node: usize, forces: &[Vec<[DVec3; 4]>]) -> DVec3 {
        let load = self.loads.get(node).copied().unwrap_or(DVec3::ZERO);
        self.system.incidence.iter().zip(forces).fold(-load, |sum, (lists, forces)| sum + lists.sum(node, forces))
    }

    /// Sum over elements, and of absolute values: the scale of its rounding.
    pub(crate) fn energy(&self, x: &[DVec3], at: &Evaluation) -> (f64, f64) {
        let work: f64 = self.loads.iter().zip(x).map(|(f, p)| f.dot(*p)).sum();
        let sums = at.values.iter().map(|v| (v.iter().sum::<f64>(), v.iter().map(|e| e.abs()).sum::<f64>()));
        sums.fold((-work, work.abs()), |(s, a), (t, b)| (s + t, a + b))
    }

    /// Energy of `new` minus that of `old`, summed over the differences of elements: small steps keep their digits.
    pub(crate) fn change(&self, old: &Evaluation, new: &Evaluation, motion: impl Iterator<Item = DVec3>) -> f64 {
        let work: f64 = self.loads.iter().zip(motion).map(|(f, d)| f.dot(d)).sum();
        let changes = old.values.iter().zip(&new.values).map(|(a, b)| a.iter().zip(b).map(|(a, b)| b - a).sum::<f64>());
        changes.sum::<f64>() - work
    }

    /// The matrix of second derivatives.
    pub(crate) fn assemble(&self, x: &[DVec3], exact: bool, matrix: &mut BlockMatrix<3>) {
        assemble(self, &self.system.vector, matrix, |energy, elements, blocks| {
            energy.hessians(x, elements, exact, blocks);
        });
    }

    /// The matrix of second derivatives at `x`, factored; regularized if it must be.
    pub fn stiffness_factor(&self, x: &[DVec3]) -> Result<SparseCholesky<3>, SolveError> {
        self.check(x)?;
        let pattern = &self.system.vector.pattern;
        let mut matrix = BlockMatrix::zeros(pattern);
        self.assemble(x, false, &mut matrix);
        let tiny = matrix.largest_diagonal(pattern) * 1e-10;
        matrix.add_to_diagonal(pattern, tiny);
        Ok(SparseCholesky::new(pattern, &matrix)?)
    }

    /// The Laplacian that stands for the energies, factored: nine times smaller than the stiffness.
    pub fn laplacian_factor(&self) -> Result<SparseCholesky<1>, SolveError> {
        self.check_energies()?;
        let pattern = &self.system.scalar.pattern;
        let mut matrix = BlockMatrix::zeros(pattern);
        assemble(self, &self.system.scalar, &mut matrix, |energy, elements, blocks| {
            energy.laplacians(elements, blocks)
        });
        let tiny = matrix.largest_diagonal(pattern) * 1e-10;
        matrix.add_to_diagonal(pattern, tiny);
        Ok(SparseCholesky::new(pattern, &matrix)?)
    }

    /// The largest step along `d` before a tet that is upright becomes flat.
    pub(crate) fn largest_step(&self, x: &[DVec3], d: &[DVec3]) -> f64 {
        self.least(|energy, elements| energy.largest_step(x, d, elements))
    }

    /// The smallest determinant of a deformation gradient.
    pub fn smallest_det(&self, x: &[DVec3]) -> f64 {
        self.least(|energy, elements| energy.smallest_det(x, elements))
    }

    fn least(&self, f: impl Fn(&dyn Energy, std::ops::Range<usize>) -> f64 + Sync) -> f64 {
        let of = |energy: &&dyn Energy| {
            let n = energy.stencils().len();
            let chunks = (0..n.div_ceil(CHUNK)).into_par_iter();
            chunks.map(|k| f(*energy, k * CHUNK..((k + 1) * CHUNK).min(n))).reduce(|| f64::INFINITY, f64::min)
        };
        self.energies.iter().map(of).fold(f64::INFINITY, f64::min)
    }
}

fn assemble<const B: usize>(
    problem: &Problem,
    layout: &Layout<B>,
    matrix: &mut BlockMatrix<B>,
    fill: impl Fn(&dyn Energy, std::ops::Range<usize>, &mut [ElementBlocks<B>]) + Sync,
) {
    matrix.clear();
    let mut blocks: Vec<ElementBlocks<B>> = Vec::new();
    for (energy, gather) in problem.energies.iter().zip(&layout.gathers) {
        blocks.resize(energy.stencils().len(), [[[0.0; B]; B]; 10]);
        blocks.par_chunks_mut(CHUNK).enumerate().for_each(|(k, chunk)| {
            fill(*energy, k * CHUNK..k * CHUNK + chunk.len(), chunk);
        });
        matrix.add(&layout.pattern, gather, &blocks);
    }
}
