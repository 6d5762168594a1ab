//! Sparse symmetric positive definite systems on a graph of nodes with B unknowns each.
//!
//! `NodeGraph` orders the free nodes once (`order`; the node graph is B^2 times
//! smaller than that of the unknowns), `Pattern` lays out the lower triangle and its symbolic factor,
//! `Gather` says which element blocks add up to which entry, `BlockMatrix` holds values, `SparseCholesky` (in
//! `sparse_cholesky.rs`) factors and solves. Held (Dirichlet) nodes have no unknowns at all. B = 3 serves
//! positions, B = 1 scalar fields.
//!
//! Assembly gathers: every entry sums its elements in element order on a single thread, so the result is
//! bitwise independent of the number of threads. Everything but the values is immutable and can be shared
//! between threads.
//!
//! Limits: elements of up to four nodes; up to 2^31 entries in the factor.

use crate::order::Order;
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::cholesky::{self, CholeskySymbolicParams, SymbolicCholesky, SymmetricOrdering};
use rayon::prelude::*;

/// Fills the unused entries of a [`Stencil`].
pub const NO_NODE: u32 = u32::MAX;
/// The nodes of an element; fewer than four are padded with [`NO_NODE`]. A node may appear twice.
pub type Stencil = [u32; 4];
/// The blocks `(a, b)`, `a >= b`, of an element's symmetric matrix, at [`block_index`]; each column-major.
pub type ElementBlocks<const B: usize> = [[[f64; B]; B]; 10];

/// Index of the block of local nodes `a >= b` in [`ElementBlocks`].
pub const fn block_index(a: usize, b: usize) -> usize {
    a * (a + 1) / 2 + b
}

/// Why a system cannot be prepared or factored.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SparseError {
    /// An element refers to a node that does not exist.
    #[error("element {element} refers to node {node}, but there are only {n_nodes} nodes")]
    NoSuchNode {
        /// Index of the element in its list.
        element: usize,
        /// The node it refers to.
        node: u32,
        /// Number of nodes.
        n_nodes: usize,
    },
    /// The factor does not fit in memory or in the index type.
    #[error("the sparse factor is too large for the memory or the 32-bit indices; use a coarser mesh")]
    TooLarge,
    /// A pivot was zero, negative or not a number.
    #[error("the matrix is not positive definite (pivot of node {node}); hold a node or add regularization")]
    NotPositiveDefinite {
        /// The node whose pivot failed.
        node: usize,
    },
}

/// The free nodes in elimination order, and which of them are coupled.
#[derive(Debug, Clone)]
pub struct NodeGraph {
    /// Position of each node in the elimination order, [`NO_NODE`] for held nodes.
    position: Vec<u32>,
    /// Node at each position.
    nodes: Vec<u32>,
    /// Lower triangle by columns, diagonal first: start of each column in `row`.
    column_start: Vec<u32>,
    /// Positions of the rows, ascending in each column.
    row: Vec<u32>,
}

impl NodeGraph {
    /// Orders the nodes that are not held by minimum degree; nodes of one stencil are coupled.
    pub fn prepare(held: &[bool], stencils: &[&[Stencil]]) -> Result<Self, SparseError> {
        Self::ordered(held, stencils, Order::MinimumDegree)
    }

    /// As [`NodeGraph::prepare`], in another order.
    pub fn ordered(held: &[bool], stencils: &[&[Stencil]], order: Order) -> Result<Self, SparseError> {
        let mut position = vec![NO_NODE; held.len()];
        let mut nodes: Vec<u32> = (0..held.len() as u32).filter(|&v| !held[v as usize]).collect();
        for (place, &node) in nodes.iter().enumerate() {
            position[node as usize] = place as u32;
        }
        let mut pairs = coupled_pairs(&position, stencils)?;
        let (start, row) = columns(nodes.len(), &pairs);
        let order = order.of(&start, &row)?;
        for (place, &old) in order.iter().enumerate() {
            position[nodes[old as usize] as usize] = place as u32;
        }
        let old_nodes = std::mem::replace(&mut nodes, vec![0; order.len()]);
        for (place, &old) in order.iter().enumerate() {
            nodes[place] = old_nodes[old as usize];
        }
        for pair in &mut pairs {
            let (a, b) = unpack(*pair);
            *pair = pack(position[old_nodes[a] as usize], position[old_nodes[b] as usize]);
        }
        pairs.sort_unstable();
        let (column_start, row) = columns(nodes.len(), &pairs);
        Ok(Self { position, nodes, column_start, row })
    }

    /// Number of nodes, held ones included.
    pub fn n_nodes(&self) -> usize {
        self.position.len()
    }

    /// Free nodes in elimination order.
    pub(crate) fn free_nodes(&self) -> &[u32] {
        &self.nodes
    }
}

/// The smaller position (the column) in the high half, so that sorting sorts by columns.
fn pack(a: u32, b: u32) -> u64 {
    (u64::from(a.min(b)) << 32) | u64::from(a.max(b))
}

fn unpack(pair: u64) -> (usize, usize) {
    ((pair >> 32) as usize, (pair & 0xffff_ffff) as usize)
}

fn coupled_pairs(position: &[u32], stencils: &[&[Stencil]]) -> Result<Vec<u64>, SparseError> {
    let mut pairs = Vec::new();
    for &list in stencils {
        for (element, stencil) in list.iter().enumerate() {
            let mut places = [NO_NODE; 4];
            for (place, &node) in places.iter_mut().zip(stencil) {
                if node != NO_NODE {
                    let n_nodes = position.len();
                    *place = *position.get(node as usize).ok_or(SparseError::NoSuchNode {
                        element,
                        node,
                        n_nodes,
                    })?;
                }
            }
            for a in 1..4 {
                for b in 0..a {
                    if places[a] != NO_NODE && places[b] != NO_NODE && places[a] != places[b] {
                        pairs.push(pack(places[a], places[b]));
                    }
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

/// Lower triangle with its diagonal from sorted pairs.
fn columns(n: usize, pairs: &[u64]) -> (Vec<u32>, Vec<u32>) {
    let mut column_start = Vec::with_capacity(n + 1);
    let mut row = Vec::with_capacity(n + pairs.len());
    let mut pairs = pairs.iter().peekable();
    for j in 0..n {
        column_start.push(row.len() as u32);
        row.push(j as u32);
        while let Some(pair) = pairs.next_if(|&&pair| unpack(pair).0 == j) {
            row.push(unpack(*pair).1 as u32);
        }
    }
    column_start.push(row.len() as u32);
    (column_start, row)
}

/// Storage layout of a symmetric matrix with BxB blocks, and its symbolic factor. Immutable, shared by
/// threads.
#[derive(Debug)]
pub struct Pattern<const B: usize> {
    pub(crate) graph: NodeGraph,
    /// First value of each block column.
    base: Vec<u32>,
    pub(crate) column_start: Vec<u32>,
    pub(crate) row: Vec<u32>,
    pub(crate) symbolic: SymbolicCholesky<u32>,
}

/// Positions: three unknowns at each node.
pub type BlockPattern = Pattern<3>;

impl<const B: usize> Pattern<B> {
    /// Lays out values and factors symbolically.
    pub fn prepare(graph: &NodeGraph) -> Result<Self, SparseError> {
        let n = graph.nodes.len();
        let total = graph.row.len() * B * B;
        if total > i32::MAX as usize {
            return Err(SparseError::TooLarge);
        }
        let (mut base, mut column_start) = (Vec::with_capacity(n + 1), Vec::with_capacity(n * B + 1));
        let mut row = Vec::with_capacity(total);
        for j in 0..n {
            base.push(row.len() as u32);
            let blocks = &graph.row[graph.column_start[j] as usize..graph.column_start[j + 1] as usize];
            for c in 0..B {
                column_start.push(row.len() as u32);
                // The diagonal block comes first, lower triangle only.
                row.extend(blocks.iter().flat_map(|&i| (0..B).map(move |r| i * B as u32 + r as u32)).skip(c));
            }
        }
        base.push(row.len() as u32);
        column_start.push(row.len() as u32);
        let symbolic = symbolic_factor(&column_start, &row)?;
        Ok(Self { graph: graph.clone(), base, column_start, row, symbolic })
    }

    /// The ordered nodes.
    pub fn graph(&self) -> &NodeGraph {
        &self.graph
    }

    /// Number of unknowns.
    pub(crate) fn n_unknowns(&self) -> usize {
        self.graph.nodes.len() * B
    }

    /// Number of values in the factor.
    pub fn n_factor_values(&self) -> usize {
        self.symbolic.len_val()
    }

    /// Blocks of a block column: the first block and one after the last.
    fn blocks_of(&self, column: usize) -> std::ops::Range<usize> {
        self.graph.column_start[column] as usize..self.graph.column_start[column + 1] as usize
    }

    /// Index of the block at `row >= column` (positions in the elimination order).
    fn block_at(&self, row: u32, column: u32) -> usize {
        let blocks = self.blocks_of(column as usize);
        blocks.start + self.graph.row[blocks].partition_point(|&r| r < row)
    }

    /// Calls `f(index of the value in its block column, row in the block, column in the block)` for a block's
    /// values.
    fn for_values(n_blocks: usize, place: usize, mut f: impl FnMut(usize, usize, usize)) {
        for c in 0..B {
            let start = c * B * n_blocks - (c * c.saturating_sub(1)) / 2;
            for r in if place == 0 { c } else { 0 }..B {
                f(start + B * place + r - c, r, c);
            }
        }
    }
}

/// The factor's structure; faer wants the upper triangle here, so the pattern is transposed once.
fn symbolic_factor(column_start: &[u32], row: &[u32]) -> Result<SymbolicCholesky<u32>, SparseError> {
    let n = column_start.len() - 1;
    let mut start = vec![0u32; n + 1];
    for &i in row {
        start[i as usize + 1] += 1;
    }
    for i in 0..n {
        start[i + 1] += start[i];
    }
    let mut next = start.clone();
    let mut upper = vec![0u32; row.len()];
    for j in 0..n {
        for &i in &row[column_start[j] as usize..column_start[j + 1] as usize] {
            upper[next[i as usize] as usize] = j as u32;
            next[i as usize] += 1;
        }
    }
    let upper = SymbolicSparseColMatRef::new_checked(n, n, &start, None, &upper);
    let params = CholeskySymbolicParams::default();
    cholesky::factorize_symbolic_cholesky(upper, faer::Side::Upper, SymmetricOrdering::Identity, params)
        .map_err(|_| SparseError::TooLarge)
}

/// Which element blocks are summed into which block of the matrix.
#[derive(Debug, Clone)]
pub struct Gather<const B: usize> {
    n_elements: usize,
    /// First entry of each block.
    start: Vec<u32>,
    /// `element * 20 + 2 * block_index + transposed`, ascending for each block.
    entry: Vec<u32>,
}

impl<const B: usize> Gather<B> {
    /// The stencils must be among those that the pattern's graph was prepared with.
    pub fn prepare(pattern: &Pattern<B>, stencils: &[Stencil]) -> Self {
        let mut at: Vec<(u32, u32)> = Vec::with_capacity(stencils.len() * 10);
        let place = |node: u32| if node == NO_NODE { NO_NODE } else { pattern.graph.position[node as usize] };
        for (element, stencil) in stencils.iter().enumerate() {
            let places = stencil.map(place);
            for a in 0..4 {
                for b in 0..=a {
                    let (p, q) = (places[a], places[b]);
                    if p == NO_NODE || q == NO_NODE {
                        continue;
                    }
                    let entry = (element * 20 + 2 * block_index(a, b)) as u32;
                    let block = pattern.block_at(p.max(q), p.min(q)) as u32;
                    if p >= q {
                        at.push((block, entry));
                    }
                    if p < q || (p == q && a != b) {
                        at.push((block, entry + 1));
                    }
                }
            }
        }
        at.sort_unstable();
        let n_blocks = pattern.graph.row.len();
        let mut start = vec![0u32; n_blocks + 1];
        for &(block, _) in &at {
            start[block as usize + 1] += 1;
        }
        for b in 0..n_blocks {
            start[b + 1] += start[b];
        }
        Self { n_elements: stencils.len(), start, entry: at.into_iter().map(|(_, entry)| entry).collect() }
    }

    fn sum(&self, block: usize, elements: &[ElementBlocks<B>]) -> [[f64; B]; B] {
        let mut sum = [[0.0; B]; B];
        for &entry in &self.entry[self.start[block] as usize..self.start[block + 1] as usize] {
            let value = &elements[entry as usize / 20][entry as usize % 20 / 2];
            let transposed = entry % 2 == 1;
            for c in 0..B {
                for r in 0..B {
                    sum[c][r] += if transposed { value[r][c] } else { value[c][r] };
                }
            }
        }
        sum
    }
}

/// Values of a symmetric matrix in the layout of its [`Pattern`].
#[derive(Debug, Clone)]
pub struct BlockMatrix<const B: usize> {
    pub(crate) values: Vec<f64>,
}

/// Block columns that one task assembles.
const GROUP: usize = 64;

impl<const B: usize> BlockMatrix<B> {
    /// All zero.
    pub fn zeros(pattern: &Pattern<B>) -> Self {
        Self { values: vec![0.0; pattern.row.len()] }
    }

    /// Sets all values to zero.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// Adds the blocks of elements, one set for each stencil that `gather` was prepared with.
    pub fn add(&mut self, pattern: &Pattern<B>, gather: &Gather<B>, elements: &[ElementBlocks<B>]) {
        assert_eq!(elements.len(), gather.n_elements);
        let n = pattern.graph.nodes.len();
        let mut tasks = Vec::with_capacity(n.div_ceil(GROUP));
        let mut rest = self.values.as_mut_slice();
        for first in (0..n).step_by(GROUP) {
            let last = (first + GROUP).min(n);
            let (mine, others) = rest.split_at_mut((pattern.base[last] - pattern.base[first]) as usize);
            tasks.push((first..last, mine));
            rest = others;
        }
        tasks.into_par_iter().for_each(|(group, values)| {
            let offset = pattern.base[group.start];
            for column in group {
                let blocks = pattern.blocks_of(column);
                let mine = &mut values[(pattern.base[column] - offset) as usize..];
                for (place, block) in blocks.clone().enumerate() {
                    let sum = gather.sum(block, elements);
                    Pattern::<B>::for_values(blocks.len(), place, |at, r, c| mine[at] += sum[c][r]);
                }
            }
        });
    }

    /// Adds `amount` times the identity.
    pub fn add_to_diagonal(&mut self, pattern: &Pattern<B>, amount: f64) {
        for &start in &pattern.column_start[..pattern.n_unknowns()] {
            self.values[start as usize] += amount;
        }
    }

    /// Adds one symmetric block per node to the diagonal; those of held nodes are ignored.
    pub fn add_node_blocks(&mut self, pattern: &Pattern<B>, blocks: &[[[f64; B]; B]]) {
        for (place, &node) in pattern.graph.nodes.iter().enumerate() {
            let n_blocks = pattern.blocks_of(place).len();
            let mine = &mut self.values[pattern.base[place] as usize..];
            Pattern::<B>::for_values(n_blocks, 0, |at, r, c| mine[at] += blocks[node as usize][c][r]);
        }
    }

    /// Largest diagonal entry.
    pub fn largest_diagonal(&self, pattern: &Pattern<B>) -> f64 {
        pattern.column_start[..pattern.n_unknowns()].iter().fold(0.0, |m, &s| m.max(self.values[s as usize]))
    }

    /// `y = A x` over all nodes; held nodes count as zero.
    pub fn times(&self, pattern: &Pattern<B>, x: &[[f64; B]]) -> Vec<[f64; B]> {
        let mut y = vec![[0.0; B]; x.len()];
        let nodes = &pattern.graph.nodes;
        for column in 0..nodes.len() {
            for c in 0..B {
                let j = column * B + c;
                for at in pattern.column_start[j] as usize..pattern.column_start[j + 1] as usize {
                    let i = pattern.row[at] as usize;
                    let (row_node, column_node) = (nodes[i / B] as usize, nodes[column] as usize);
                    y[row_node][i % B] += self.values[at] * x[column_node][c];
                    if i != j {
                        y[column_node][c] += self.values[at] * x[row_node][i % B];
                    }
                }
            }
        }
        y
    }
}
