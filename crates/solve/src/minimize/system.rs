//! The data prepared once for a topology and a set of held nodes, and sums over elements.
//!
//! A [`System`] orders the nodes, lays out the sparse matrices (with three unknowns per node, and with one),
//! and lists the elements that act on each node. It is immutable; solves on several threads can share it. A
//! [`Problem`] combines it with energies that have the same stencils. Other rest shapes, materials, targets
//! or stiffnesses need no other system.
//!
//! The grouping of sums depends on the data alone (elements in blocks, nodes with their blocks in ascending
//! order), so results are the same to the bit for any number of threads.

use crate::energy::{Energy, Pulls};
use crate::minimize::descent::longest;
use crate::minimize::scatter::{BLOCK, Scatter};
use crate::{SolveError, check_length};
use glam::DVec3;
use rayon::prelude::*;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NodeGraph, Order, Pattern, SparseCholesky, SparseError, Stencil,
};
use std::sync::{Arc, OnceLock};

/// Nodes per parallel task.
const NODES: usize = 512;

/// Systems for a few solves are ordered by nested dissection from this number of free nodes on.
const DISSECTED: usize = 20_000;

/// Order, symbolic factors and gather lists of a topology.
#[derive(Debug)]
pub struct System {
    held: Vec<bool>,
    stencils: Vec<Vec<Stencil>>,
    scatters: Vec<Scatter>,
    graph: NodeGraph,
    /// Made when it is first needed: most solves need only the scalar one.
    vector: OnceLock<Layout<3>>,
    pub(crate) scalar: Layout<1>,
}

/// Pattern of a matrix and, for each energy, the matrix entries of its elements.
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

impl System {
    /// For energies with these stencils, in this order. Held nodes keep the positions given to a solve, as do
    /// nodes without elements.
    pub fn prepare(held: &[bool], stencils: &[&[Stencil]]) -> Result<Self, SolveError> {
        Self::ordered(held, stencils, Order::NestedDissection)
    }

    /// As [`System::prepare`], for a few solves: up to some size, a quick order takes less time than it
    /// costs.
    pub fn for_few_solves(held: &[bool], stencils: &[&[Stencil]]) -> Result<Self, SolveError> {
        let n_free = held.iter().filter(|&&held| !held).count();
        let order = if n_free < DISSECTED { Order::MinimumDegree } else { Order::NestedDissection };
        Self::ordered(held, stencils, order)
    }

    fn ordered(held: &[bool], stencils: &[&[Stencil]], order: Order) -> Result<Self, SolveError> {
        let mut alone = vec![true; held.len()];
        for &node in stencils.iter().copied().flatten().flatten() {
            if let Some(flag) = alone.get_mut(node as usize) {
                *flag = false;
            }
        }
        let held: Vec<bool> = held.iter().zip(&alone).map(|(&held, &alone)| held || alone).collect();
        let graph = NodeGraph::ordered(&held, stencils, order)?;
        let stencils: Vec<Vec<Stencil>> = stencils.iter().map(|list| list.to_vec()).collect();
        Ok(Self {
            scatters: stencils.iter().map(|list| Scatter::prepare(&held, list)).collect(),
            vector: OnceLock::new(),
            scalar: Layout::prepare(&graph, &stencils)?,
            graph,
            stencils,
            held,
        })
    }

    /// Number of nodes, held ones included.
    pub fn n_nodes(&self) -> usize {
        self.held.len()
    }

    /// The layout of matrices with three unknowns per node.
    pub(crate) fn vector(&self) -> Result<&Layout<3>, SparseError> {
        if let Some(layout) = self.vector.get() {
            return Ok(layout);
        }
        let made = Layout::prepare(&self.graph, &self.stencils)?;
        Ok(self.vector.get_or_init(|| made))
    }

    /// Adds the derivative of an energy with the stencils of the `k`-th at every free node.
    pub(crate) fn add_forces(&self, k: usize, energy: &dyn Energy, x: &[DVec3], forces: &mut [DVec3]) {
        if energy.is_zero() {
            return;
        }
        let scatter = &self.scatters[k];
        let mut sums = vec![DVec3::ZERO; scatter.n_sums()];
        scatter.blocks(&mut sums).into_par_iter().for_each(|(elements, sums)| {
            let corners = scatter.corners(elements.clone());
            energy.add_gradients(x, elements.clone(), &mut [0.0; BLOCK][..elements.len()], corners, sums);
        });
        forces.iter_mut().enumerate().for_each(|(node, force)| *force += scatter.at(node, &sums));
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
    /// Energies of springs of single nodes ([`Energy::pulls`]) at each node.
    pulled: Vec<f64>,
    /// For each energy, the sums of its blocks of elements.
    sums: Vec<Vec<DVec3>>,
    /// For each energy and block, the distance that nodes can move without flattening an element.
    reach: Vec<Vec<f64>>,
    /// Derivative at each node, loads included; zero at held nodes.
    pub(crate) gradient: Vec<DVec3>,
    /// Its longest vector; infinite if one is not finite.
    pub(crate) longest: f64,
}

impl Problem<'_> {
    /// Fails if the energies are not those for which the system was prepared.
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
            // All of them take a while to compare; energies of another mesh differ in the first ones.
            let some = |list: &[Stencil]| list[..list.len().min(BLOCK)].to_vec();
            if some(energy.stencils()) != some(stencils) {
                let same = energy.stencils().iter().zip(stencils).filter(|(a, b)| a == b).count();
                let what = "elements with the stencil that the system was prepared with";
                check_length(what, same, stencils.len())?;
            }
        }
        Ok(())
    }

    pub(crate) fn new_evaluation(&self) -> Evaluation {
        let counts = self.system.stencils.iter().map(Vec::len);
        Evaluation {
            values: counts.clone().map(|n| vec![0.0; n]).collect(),
            sums: self.system.scatters.iter().map(|scatter| vec![DVec3::ZERO; scatter.n_sums()]).collect(),
            reach: counts.map(|n| vec![f64::INFINITY; n.div_ceil(BLOCK)]).collect(),
            pulled: vec![0.0; self.system.n_nodes()],
            gradient: vec![DVec3::ZERO; self.system.n_nodes()],
            longest: 0.0,
        }
    }

    /// Whether an evaluation has the lists of this problem.
    pub(crate) fn fits(&self, evaluation: &Evaluation) -> bool {
        let n_elements = self.system.stencils.iter().map(Vec::len);
        let n_sums = self.system.scatters.iter().map(Scatter::n_sums);
        evaluation.gradient.len() == self.system.n_nodes()
            && evaluation.values.iter().map(Vec::len).eq(n_elements)
            && evaluation.sums.iter().map(Vec::len).eq(n_sums)
    }

    /// Values and gradient at `x`, into an evaluation of this problem.
    pub(crate) fn evaluate(&self, x: &[DVec3], out: &mut Evaluation) {
        for (k, (energy, scatter)) in self.energies.iter().zip(&self.system.scatters).enumerate() {
            if energy.is_zero() || energy.pulls().is_some() {
                // The evaluation may be of another problem before.
                out.values[k].fill(0.0);
                out.reach[k].fill(f64::INFINITY);
                continue;
            }
            let blocks = scatter.blocks(&mut out.sums[k]).into_par_iter();
            let results = out.values[k].par_chunks_mut(BLOCK).zip(&mut out.reach[k]);
            blocks.zip(results).for_each(|((elements, sums), (values, reach))| {
                sums.fill(DVec3::ZERO);
                let corners = scatter.corners(elements.clone());
                *reach = energy.add_gradients(x, elements, values, corners, sums);
            });
        }
        let sums = self.system.scatters.iter().zip(&out.sums).zip(self.energies);
        let (summed, pulls): (Vec<_>, Vec<_>) =
            sums.filter(|(_, energy)| !energy.is_zero()).partition(|(_, energy)| energy.pulls().is_none());
        let pulls: Vec<Pulls> = pulls.iter().filter_map(|(_, energy)| energy.pulls()).collect();
        let blocks = out.gradient.par_chunks_mut(NODES).zip(out.pulled.par_chunks_mut(NODES)).enumerate();
        let longest_of_block = |(k, (gradient, pulled)): (usize, (&mut [DVec3], &mut [f64]))| {
            for ((g, pulled), node) in gradient.iter_mut().zip(pulled).zip(k * NODES..) {
                *g = -self.loads.get(node).copied().unwrap_or(DVec3::ZERO);
                *g = summed.iter().fold(*g, |g, ((scatter, sums), _)| g + scatter.at(node, sums));
                *pulled = 0.0;
                for pull in &pulls {
                    let offset = x[node] - pull.targets[node];
                    *pulled += 0.5 * pull.stiffness[node] * offset.length_squared();
                    *g += offset * pull.stiffness[node];
                }
                *g = if self.system.held[node] { DVec3::ZERO } else { *g };
            }
            longest(gradient)
        };
        out.longest = blocks.map(longest_of_block).reduce(|| 0.0, f64::max);
    }

    /// The sum over elements, and the sum of absolute values, which gives the scale of rounding.
    pub(crate) fn energy(&self, x: &[DVec3], at: &Evaluation) -> (f64, f64) {
        let work: f64 = self.loads.iter().zip(x).map(|(f, p)| f.dot(*p)).sum();
        let all = at.values.iter().chain([&at.pulled]);
        let sums = all.map(|v| (sum_pairs(v, v, |e, _| e), sum_pairs(v, v, |e, _| e.abs())));
        sums.fold((-work, work.abs()), |(s, a), (t, b)| (s + t, a + b))
    }

    /// Energy of `new` minus that of `old`, summed over the differences of elements to keep the precision of
    /// small steps.
    pub(crate) fn change(
        &self,
        old: &Evaluation,
        new: &Evaluation,
        motion: impl Iterator<Item = DVec3>,
    ) -> f64 {
        let work: f64 = self.loads.iter().zip(motion).map(|(f, d)| f.dot(d)).sum();
        let pairs = old.values.iter().zip(&new.values).chain([(&old.pulled, &new.pulled)]);
        pairs.map(|(a, b)| sum_pairs(a, b, |a, b| b - a)).sum::<f64>() - work
    }

    /// The matrix of second derivatives.
    pub(crate) fn assemble(&self, layout: &Layout<3>, x: &[DVec3], exact: bool, matrix: &mut BlockMatrix<3>) {
        assemble(self, layout, matrix, |energy, elements, blocks| {
            energy.hessians(x, elements, exact, blocks);
        });
    }

    /// The projected Hessian at `x`, slightly regularized and factored.
    pub(crate) fn stiffness_factor(&self, x: &[DVec3]) -> Result<SparseCholesky<3>, SolveError> {
        self.check(x)?;
        let layout = self.system.vector()?;
        let pattern = &layout.pattern;
        let mut matrix = BlockMatrix::zeros(pattern);
        self.assemble(layout, x, false, &mut matrix);
        let tiny = matrix.largest_diagonal(pattern) * 1e-10;
        matrix.add_to_diagonal(pattern, tiny);
        Ok(SparseCholesky::new(pattern, &matrix)?)
    }

    /// The Laplacian that approximates the energies, factored: nine times smaller than the stiffness.
    pub(crate) fn laplacian_factor(&self) -> Result<SparseCholesky<1>, SolveError> {
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

    /// The largest step along `d` from `x`, where `at` was evaluated, before a tet that is not inverted
    /// becomes flat. The longest motion in `d` is `length`.
    pub(crate) fn largest_step(&self, x: &[DVec3], at: &Evaluation, d: &[DVec3], length: f64) -> f64 {
        let near = |(energy, reach): (&&dyn Energy, &Vec<f64>)| {
            let n = energy.stencils().len();
            let blocks = reach.par_iter().with_min_len(8).enumerate().filter(|(_, reach)| **reach <= length);
            blocks
                .map(|(k, _)| energy.largest_step(x, d, k * BLOCK..((k + 1) * BLOCK).min(n)))
                .reduce(|| f64::INFINITY, f64::min)
        };
        self.energies.iter().zip(&at.reach).map(near).fold(f64::INFINITY, f64::min)
    }

    /// The smallest determinant of a deformation gradient.
    pub fn smallest_det(&self, x: &[DVec3]) -> f64 {
        self.least(|energy, elements| energy.smallest_det(x, elements))
    }

    fn least(&self, f: impl Fn(&dyn Energy, std::ops::Range<usize>) -> f64 + Sync) -> f64 {
        let of = |energy: &&dyn Energy| {
            let n = energy.stencils().len();
            let chunks = (0..n.div_ceil(BLOCK)).into_par_iter();
            chunks.map(|k| f(*energy, k * BLOCK..((k + 1) * BLOCK).min(n))).reduce(|| f64::INFINITY, f64::min)
        };
        self.energies.iter().map(of).fold(f64::INFINITY, f64::min)
    }
}

/// The sum of `f` over two lists of equal length, in a fixed order that suits vector instructions.
fn sum_pairs(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let ((heads, tail), (others, last)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in heads.iter().zip(others) {
        (0..8).for_each(|k| sums[k] += f(a[k], b[k]));
    }
    sums.iter().sum::<f64>() + tail.iter().zip(last).map(|(a, b)| f(*a, *b)).sum::<f64>()
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
        blocks.par_chunks_mut(BLOCK).enumerate().for_each(|(k, chunk)| {
            fill(*energy, k * BLOCK..k * BLOCK + chunk.len(), chunk);
        });
        matrix.add(&layout.pattern, gather, &blocks);
    }
}
