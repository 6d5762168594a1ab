//! The Cholesky factor of a [`BlockMatrix`], and solves with it.
//!
//! faer's sparse `L L^T` (simplicial or supernodal, as faer decides) over the symbolic factor of the
//! [`Pattern`], so that refactoring allocates nothing and repeats no analysis. Factorization and single
//! solves run on the calling thread: with more threads the bits of the factor could depend on their number,
//! and solves become slower. Many right-hand sides are solved on all threads. A factor is immutable while
//! solving and can be shared.

use crate::sparse::{BlockMatrix, Pattern, SparseError};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, LltParams};
use faer::sparse::linalg::cholesky::supernodal::SupernodalLltRef;
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholeskyRaw};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};
use rayon::prelude::*;
use std::sync::Arc;

/// Right-hand sides that are solved together: the factor is read once for all of them.
const TOGETHER: usize = 8;

/// `A = L L^T` of a sparse symmetric positive definite matrix.
pub struct SparseCholesky<const B: usize> {
    pattern: Arc<Pattern<B>>,
    values: Vec<f64>,
    memory: MemBuffer,
}

impl<const B: usize> SparseCholesky<B> {
    /// Factors `matrix`.
    pub fn new(pattern: &Arc<Pattern<B>>, matrix: &BlockMatrix<B>) -> Result<Self, SparseError> {
        let params = Spec::<LltParams, f64>::default();
        let request = pattern.symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, params);
        let memory = MemBuffer::try_new(request).map_err(|_| SparseError::TooLarge)?;
        let values = vec![0.0; pattern.symbolic.len_val()];
        let mut factor = Self { pattern: pattern.clone(), values, memory };
        factor.refactor(matrix)?;
        Ok(factor)
    }

    /// Factors another matrix of the same pattern in place. After an error the factor must not be used.
    pub fn refactor(&mut self, matrix: &BlockMatrix<B>) -> Result<(), SparseError> {
        let pattern = &*self.pattern;
        let n = pattern.n_unknowns();
        if n == 0 {
            return Ok(());
        }
        if let Some(at) = matrix.values.iter().position(|v| !v.is_finite()) {
            return Err(not_definite(pattern, pattern.row[at] as usize));
        }
        let symbolic = SymbolicSparseColMatRef::new_checked(n, n, &pattern.column_start, None, &pattern.row);
        let lower = SparseColMatRef::new(symbolic, &matrix.values);
        let stack = MemStack::new(&mut self.memory);
        let params = Spec::<LltParams, f64>::default();
        pattern
            .symbolic
            .factorize_numeric_llt(
                &mut self.values,
                lower,
                Side::Lower,
                Default::default(),
                Par::Seq,
                stack,
                params,
            )
            .map_err(|LltError::NonPositivePivot { index }| {
                // faer counts pivots from one in its simplicial factor, from zero in its supernodal one.
                let one_based = matches!(pattern.symbolic.raw(), SymbolicCholeskyRaw::Simplicial(_));
                not_definite(pattern, index - usize::from(one_based))
            })?;
        Ok(())
    }

    /// Solves `A x = b` in place for values at all nodes. W is B times the number of right-hand sides: each
    /// node has B values of the first right-hand side, then B of the second, and so on. Held nodes get zero.
    pub fn solve<const W: usize>(&self, values: &mut [[f64; W]]) {
        let n = self.pattern.n_unknowns();
        let nodes = self.pattern.graph.free_nodes();
        let n_columns = W / B;
        let mut x = vec![0.0; n * n_columns];
        for (place, &node) in nodes.iter().enumerate() {
            for (k, &value) in values[node as usize].iter().enumerate() {
                x[k / B * n + place * B + k % B] = value;
            }
        }
        self.solve_ordered(&mut x, n_columns);
        values.fill([0.0; W]);
        for (place, &node) in nodes.iter().enumerate() {
            for (k, value) in values[node as usize].iter_mut().enumerate() {
                *value = x[k / B * n + place * B + k % B];
            }
        }
    }

    /// Solves `A x = b` in place for many right-hand sides with B values at each node, in parallel. Groups
    /// of [`TOGETHER`] are solved together, whatever the number of threads.
    pub fn solve_many(&self, many: &mut [Vec<[f64; B]>]) {
        let n = self.pattern.n_unknowns();
        let nodes = self.pattern.graph.free_nodes();
        many.par_chunks_mut(TOGETHER).for_each(|group| {
            let mut x = vec![0.0; n * group.len()];
            for (x, values) in x.chunks_mut(n.max(1)).zip(group.iter()) {
                for (x, &node) in x.chunks_mut(B).zip(nodes) {
                    x.copy_from_slice(&values[node as usize]);
                }
            }
            self.solve_ordered(&mut x, group.len());
            for (x, values) in x.chunks(n.max(1)).zip(group) {
                values.fill([0.0; B]);
                for (x, &node) in x.chunks(B).zip(nodes) {
                    values[node as usize].copy_from_slice(x);
                }
            }
        });
    }

    /// The free nodes in elimination order.
    pub(crate) fn nodes(&self) -> &[u32] {
        self.pattern.graph.free_nodes()
    }

    /// Calls `f(row, column, value)` for the entries of L, column by column with ascending rows.
    pub(crate) fn for_entries(&self, mut f: impl FnMut(usize, usize, f64)) {
        if self.pattern.n_unknowns() == 0 {
            return;
        }
        match self.pattern.symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(symbolic) => {
                for (column, ends) in symbolic.col_ptr().windows(2).enumerate() {
                    let mine = ends[0] as usize..ends[1] as usize;
                    for (&row, &value) in symbolic.row_idx()[mine.clone()].iter().zip(&self.values[mine]) {
                        f(row as usize, column, value);
                    }
                }
            }
            SymbolicCholeskyRaw::Supernodal(symbolic) => {
                let factor = SupernodalLltRef::new(symbolic, &self.values);
                for s in 0..symbolic.n_supernodes() {
                    let node = factor.supernode(s);
                    let (start, values) = (node.start(), node.val());
                    for c in 0..values.ncols() {
                        for r in c..values.nrows() {
                            let below = r.checked_sub(values.ncols()).map(|k| node.pattern()[k] as usize);
                            f(below.unwrap_or(start + r), start + c, *values.get(r, c));
                        }
                    }
                }
            }
        }
    }

    /// Calls `f(first column, number of columns, rows below, value of row and column)` for ranges of columns
    /// with the same rows below them, ascending. Rows of a range are counted from its first column on.
    pub(crate) fn for_panels(&self, mut f: impl FnMut(usize, usize, &[u32], &dyn Fn(usize, usize) -> f64)) {
        if self.pattern.n_unknowns() == 0 {
            return;
        }
        match self.pattern.symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(symbolic) => {
                for (column, ends) in symbolic.col_ptr().windows(2).enumerate() {
                    let mine = ends[0] as usize..ends[1] as usize;
                    // The diagonal comes first.
                    let (rows, values) = (&symbolic.row_idx()[mine.clone()], &self.values[mine]);
                    f(column, 1, &rows[1..], &|row, _| values[row]);
                }
            }
            SymbolicCholeskyRaw::Supernodal(symbolic) => {
                let factor = SupernodalLltRef::new(symbolic, &self.values);
                for s in 0..symbolic.n_supernodes() {
                    let node = factor.supernode(s);
                    let values = node.val();
                    f(node.start(), values.ncols(), node.pattern(), &|row, column| *values.get(row, column));
                }
            }
        }
    }

    /// Solves in place for columns of unknowns in elimination order.
    fn solve_ordered(&self, x: &mut [f64], n_columns: usize) {
        let n = self.pattern.n_unknowns();
        if n == 0 {
            return;
        }
        let symbolic = &self.pattern.symbolic;
        let mut memory = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(n_columns, Par::Seq));
        LltRef::new(symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, n, n_columns),
            Par::Seq,
            MemStack::new(&mut memory),
        );
    }
}

fn not_definite<const B: usize>(pattern: &Pattern<B>, unknown: usize) -> SparseError {
    SparseError::NotPositiveDefinite { node: pattern.graph.free_nodes()[unknown / B] as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::{Cholesky, Matrix};
    use crate::sparse::{ElementBlocks, Gather, NO_NODE, NodeGraph, Stencil, block_index};
    use glam::DVec3;

    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Elements over random nodes; some with fewer than four nodes, one with a repeated node.
    fn random_stencils(n_nodes: usize, seed: &mut u64) -> Vec<Stencil> {
        let mut pick = |_| ((random(seed) + 1.0) / 2.0 * n_nodes as f64) as u32;
        let mut list: Vec<Stencil> = (0..2 * n_nodes)
            .map(|k| {
                let base = pick(0);
                [
                    base,
                    (base + 1 + pick(0) % 3) % n_nodes as u32,
                    (base + 4) % n_nodes as u32,
                    (base + 5 + k as u32 % 2) % n_nodes as u32,
                ]
            })
            .collect();
        list[0][3] = NO_NODE;
        list[1] = [3, NO_NODE, NO_NODE, NO_NODE];
        list[2] = [5, 5, 7, NO_NODE];
        list
    }

    /// A positive definite element matrix `sum of v v^T + 0.1 I`, full and as blocks.
    fn element_matrix<const B: usize>(seed: &mut u64) -> (Vec<Vec<f64>>, ElementBlocks<B>) {
        let n = 4 * B;
        let mut full = vec![vec![0.0; n]; n];
        for _ in 0..n {
            let v: Vec<f64> = (0..n).map(|_| random(seed)).collect();
            (0..n).for_each(|i| (0..n).for_each(|j| full[i][j] += v[i] * v[j]));
        }
        (0..n).for_each(|i| full[i][i] += 0.1);
        let mut blocks = [[[0.0; B]; B]; 10];
        for a in 0..4 {
            for b in 0..=a {
                blocks[block_index(a, b)] =
                    std::array::from_fn(|c| std::array::from_fn(|r| full[a * B + r][b * B + c]));
            }
        }
        (full, blocks)
    }

    /// Compares factor, product and solution with the dense ones.
    fn compare<const B: usize, const W: usize>(n_nodes: usize, seed: u64) {
        let mut seed = seed;
        let stencils = random_stencils(n_nodes, &mut seed);
        let held: Vec<bool> = (0..n_nodes).map(|v| v % 7 == 2).collect();
        let mut dense = Matrix::zeros(n_nodes * B, n_nodes * B);
        let mut elements = Vec::new();
        for stencil in &stencils {
            let (full, blocks) = element_matrix::<B>(&mut seed);
            for (p, &row) in stencil.iter().enumerate() {
                for (q, &column) in stencil.iter().enumerate() {
                    if row == NO_NODE || column == NO_NODE || held[row as usize] || held[column as usize] {
                        continue;
                    }
                    for i in 0..B {
                        for j in 0..B {
                            dense.column_mut(column as usize * B + j)[row as usize * B + i] +=
                                full[p * B + i][q * B + j];
                        }
                    }
                }
            }
            elements.push(blocks);
        }
        for v in 0..n_nodes * B {
            dense.column_mut(v)[v] += if held[v / B] { 1.0 } else { 0.5 };
        }
        let graph = NodeGraph::prepare(&held, &[&stencils]).unwrap();
        let pattern = Arc::new(Pattern::<B>::prepare(&graph).unwrap());
        let gather = Gather::prepare(&pattern, &stencils);
        let mut matrix = BlockMatrix::zeros(&pattern);
        matrix.add(&pattern, &gather, &elements);
        matrix.add_to_diagonal(&pattern, 0.5);

        let b: Vec<[f64; W]> = held
            .iter()
            .map(|&h| if h { [0.0; W] } else { std::array::from_fn(|_| random(&mut seed)) })
            .collect();
        let factor = SparseCholesky::new(&pattern, &matrix).unwrap();
        let mut x = b.clone();
        factor.solve(&mut x);
        let oracle = Cholesky::factor(dense).unwrap();
        for k in 0..W / B {
            let column = |v: &[[f64; W]]| -> Vec<f64> {
                v.iter().flat_map(|e| e[k * B..(k + 1) * B].to_vec()).collect()
            };
            let mut y = column(&b);
            oracle.solve_in_place(&mut y);
            let mine = column(&x);
            assert!(mine.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-9), "B {B} W {W} column {k}");
            let as_nodes: Vec<[f64; B]> = mine.chunks(B).map(|c| c.try_into().unwrap()).collect();
            let product = matrix.times(&pattern, &as_nodes).concat();
            assert!(product.iter().zip(column(&b)).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    /// Many right-hand sides at once, on any number of threads, and in both precisions of sweeps.
    #[test]
    fn many_are_solved_as_one_by_one() {
        let (n_nodes, mut seed) = (500, 9);
        let stencils = random_stencils(n_nodes, &mut seed);
        let held: Vec<bool> = (0..n_nodes).map(|v| v % 7 == 2 || v > 490).collect();
        let graph = NodeGraph::prepare(&held, &[&stencils]).unwrap();
        let many: Vec<Vec<[f64; 3]>> = (0..19)
            .map(|_| (0..n_nodes).map(|_| std::array::from_fn(|_| random(&mut seed))).collect())
            .collect();
        let on = |threads: usize, run: &(dyn Fn() + Sync)| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
        };
        let pattern = Arc::new(Pattern::<3>::prepare(&graph).unwrap());
        let elements: Vec<_> = stencils.iter().map(|_| element_matrix::<3>(&mut seed).1).collect();
        let mut matrix = BlockMatrix::zeros(&pattern);
        matrix.add(&pattern, &Gather::prepare(&pattern, &stencils), &elements);
        let factor = SparseCholesky::new(&pattern, &matrix).unwrap();
        let results = std::sync::Mutex::new(Vec::new());
        for threads in [1, 3] {
            on(threads, &|| {
                let mut all = many.clone();
                factor.solve_many(&mut all);
                results.lock().unwrap().push(all);
            });
        }
        let [one, three] = results.into_inner().unwrap().try_into().unwrap();
        assert!(one == three, "the bits depend on the number of threads");
        for (found, b) in one.iter().zip(&many) {
            let mut alone = b.clone();
            factor.solve(&mut alone);
            let apart = found.iter().flatten().zip(alone.iter().flatten()).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-12);
        }
        let scalar = Arc::new(Pattern::<1>::prepare(&graph).unwrap());
        let elements: Vec<_> = stencils.iter().map(|_| element_matrix::<1>(&mut seed).1).collect();
        let mut matrix = BlockMatrix::zeros(&scalar);
        matrix.add(&scalar, &Gather::prepare(&scalar, &stencils), &elements);
        let sweep = crate::Sweep::<f64>::prepare(&SparseCholesky::new(&scalar, &matrix).unwrap());
        let many: Vec<Vec<DVec3>> =
            many.iter().map(|b| b.iter().map(|v| DVec3::from_array(*v)).collect()).collect();
        let mut all = many.clone();
        sweep.solve_many(&mut all);
        for (found, b) in all.iter().zip(&many) {
            let mut alone = vec![DVec3::NAN; n_nodes];
            sweep.solve(b, &mut alone, &mut crate::SweepSpace::default());
            assert!(*found == alone);
        }
    }

    #[test]
    fn same_as_dense() {
        compare::<3, 3>(40, 1);
        compare::<3, 6>(300, 2);
        compare::<1, 3>(50, 3);
        compare::<1, 1>(400, 4);
    }

    /// Single-precision solves against those of the factor: small, supernodal, and with several branches.
    #[test]
    fn sweeps_solve_to_single_precision() {
        for (n_nodes, reach) in [(60usize, 5), (700, 400), (900, 0)] {
            let mut seed = n_nodes as u64;
            let mut pick = |most: usize| ((random(&mut seed) + 1.0) / 2.0 * most as f64) as u32;
            let node = |v: u32| v % n_nodes as u32;
            let mut near = |k: u32| node(k + 1 + pick(reach));
            let stencils: Vec<Stencil> = match n_nodes {
                900 => (0..869).map(|k| [k, k + 1, k + 30, k + 31]).collect(),
                _ => (0..8 * n_nodes as u32).map(|k| [node(k), near(k), near(k), near(k)]).collect(),
            };
            let held: Vec<bool> = (0..n_nodes).map(|v| v % 9 == 4).collect();
            let graph = NodeGraph::prepare(&held, &[&stencils]).unwrap();
            let pattern = Arc::new(Pattern::<1>::prepare(&graph).unwrap());
            let kind = matches!(pattern.symbolic.raw(), SymbolicCholeskyRaw::Supernodal(_));
            assert_eq!(kind, n_nodes == 700, "the test must cover both kinds of factor");
            let mut seed = 5;
            let elements: Vec<ElementBlocks<1>> =
                stencils.iter().map(|_| element_matrix::<1>(&mut seed).1).collect();
            let mut matrix = BlockMatrix::zeros(&pattern);
            matrix.add(&pattern, &Gather::prepare(&pattern, &stencils), &elements);
            let factor = SparseCholesky::new(&pattern, &matrix).unwrap();
            let b: Vec<[f64; 3]> = (0..n_nodes).map(|_| std::array::from_fn(|_| random(&mut seed))).collect();
            let mut exact = b.clone();
            factor.solve(&mut exact);
            let b: Vec<DVec3> = b.into_iter().map(DVec3::from_array).collect();
            let (mut quick, mut space) = (vec![DVec3::NAN; n_nodes], crate::SweepSpace::default());
            let sweep = crate::Sweep::<f32>::prepare(&factor);
            sweep.solve(&b, &mut quick, &mut space);
            assert!(n_nodes != 900 || sweep.n_branches() > 1, "the test must cover parallel branches");
            let largest = exact.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
            let apart =
                quick.iter().zip(&exact).map(|(a, b)| a.distance(DVec3::from_array(*b))).fold(0.0, f64::max);
            assert!(apart < 1e-5 * largest, "{apart} of {largest}");
            assert!(apart > 0.0, "the sweep is in single precision");
            assert!(quick.iter().zip(&held).all(|(v, held)| !held || *v == DVec3::ZERO));
            // The same in double precision.
            let (mut precise, mut wide) = (vec![DVec3::NAN; n_nodes], crate::SweepSpace::default());
            crate::Sweep::<f64>::prepare(&factor).solve(&b, &mut precise, &mut wide);
            let apart = precise.iter().zip(&exact).map(|(a, b)| a.distance(DVec3::from_array(*b)));
            assert!(apart.fold(0.0, f64::max) < 1e-12 * largest);
            // Along paths: values, added loads, columns of the inverse; a held node does not respond.
            let nodes = [0, 4, n_nodes as u32 / 2, n_nodes as u32 - 1, 5];
            let reach = sweep.reach(&nodes);
            let columns = sweep.columns(&nodes, &nodes, &reach);
            let load = DVec3::new(0.5, -2.0, 1.0);
            // What a scratch space held before must not matter.
            let mut scratch = space.clone();
            for (k, &node) in nodes.iter().enumerate() {
                let node = node as usize;
                sweep.halfway(&b, &mut space);
                let values = sweep.values_at(&space, &reach, &nodes, &mut scratch);
                for (value, &node) in values.iter().zip(&nodes) {
                    assert!(value.distance(quick[node as usize]) < 1e-5 * largest, "node {node}");
                }
                sweep.load(&mut space, &reach, [(node as u32, load)].into_iter(), &mut scratch);
                let mut loaded = vec![DVec3::NAN; n_nodes];
                sweep.finish(&mut space, &mut loaded);
                let mut at_once = b.clone();
                at_once[node] += load;
                let mut expected = vec![DVec3::NAN; n_nodes];
                sweep.solve(&at_once, &mut expected, &mut space);
                let apart = loaded.iter().zip(&expected).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                assert!(apart < 1e-5 * largest, "node {node}: {apart} of {largest}");
                let at = f64::from(columns[k][k]);
                assert!((load * at).distance(loaded[node] - quick[node]) < 1e-5 * largest);
                assert_eq!(at == 0.0, held[node]);
            }
        }
    }

    #[test]
    fn refuses_indefinite_and_nan() {
        let stencils = [[0, 1, NO_NODE, NO_NODE]];
        let graph = NodeGraph::prepare(&[false; 2], &[&stencils]).unwrap();
        let pattern = Arc::new(Pattern::<1>::prepare(&graph).unwrap());
        let gather = Gather::prepare(&pattern, &stencils);
        for bad in [-1.0, f64::NAN, 0.0] {
            let mut matrix = BlockMatrix::zeros(&pattern);
            let mut element = [[[0.0]]; 10];
            element[block_index(0, 0)] = [[1.0]];
            element[block_index(1, 1)] = [[bad]];
            matrix.add(&pattern, &gather, &[element]);
            let error = SparseCholesky::new(&pattern, &matrix).err().unwrap();
            assert_eq!(error, SparseError::NotPositiveDefinite { node: 1 });
        }
        assert!(NodeGraph::prepare(&[false; 2], &[&[[0, 2, NO_NODE, NO_NODE]]]).is_err());
        let nothing = NodeGraph::prepare(&[true; 2], &[&stencils]).unwrap();
        let pattern = Arc::new(Pattern::<3>::prepare(&nothing).unwrap());
        SparseCholesky::new(&pattern, &BlockMatrix::zeros(&pattern)).unwrap().solve(&mut [[1.0; 3]; 2]);
    }
}
