//! Quick solves with a factor of three unknowns per node: in single precision, one right-hand side.
//!
//! The same substitutions as [`SparseCholesky::solve`], on a copy of L in single precision. For one
//! right-hand side they are limited by the bytes of L, which are read twice, and by calls for many small
//! blocks. The copy halves the former, and plain loops over dense panels avoid the latter. Single precision
//! is enough for a preconditioner. The right-hand side is scaled to be near one, so that its magnitude costs
//! no precision. Everything runs on the calling thread, in a fixed order.
//!
//! A panel is a range of columns with the same rows below them: `[L11; L21]`, by columns, with the
//! reciprocals of the diagonal.

use crate::sparse_cholesky::SparseCholesky;
use glam::DVec3;
use pulp::Arch;

/// Partial sums of a product of two vectors.
const LANES: usize = 16;
/// Columns of a panel that are read at once.
const COLUMNS: usize = 4;

/// A copy of a factor; see the module.
#[derive(Debug, Clone)]
pub struct QuickFactor {
    /// Free nodes in elimination order.
    nodes: Vec<u32>,
    panels: Vec<Panel>,
    /// Unknowns of the rows below each panel.
    rows: Vec<u32>,
    values: Vec<f32>,
    arch: Arch,
}

/// Where the columns, the rows below them and the values of a panel start.
#[derive(Debug, Clone, Copy)]
struct Panel {
    column: usize,
    n_columns: usize,
    row: usize,
    n_rows: usize,
    value: usize,
}

/// Workspace of the solves, kept by the caller.
#[derive(Debug, Clone, Default)]
pub struct QuickSpace {
    x: Vec<f32>,
    /// Values of the rows below a panel.
    below: Vec<f32>,
}

impl QuickFactor {
    /// Copies a factor.
    pub fn prepare(factor: &SparseCholesky<3>) -> Self {
        let (mut panels, mut rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
        factor.for_panels(|column, n_columns, below, value| {
            panels.push(Panel {
                column,
                n_columns,
                row: rows.len(),
                n_rows: below.len(),
                value: values.len(),
            });
            rows.extend_from_slice(below);
            for c in 0..n_columns {
                values.extend((0..n_columns).map(|r| match r.cmp(&c) {
                    std::cmp::Ordering::Less => 0.0,
                    std::cmp::Ordering::Equal => (1.0 / value(c, c)) as f32,
                    std::cmp::Ordering::Greater => value(r, c) as f32,
                }));
            }
            for c in 0..n_columns {
                values.extend((n_columns..n_columns + below.len()).map(|r| value(r, c) as f32));
            }
        });
        Self { nodes: factor.nodes().to_vec(), panels, rows, values, arch: Arch::new() }
    }

    /// `x = A^-1 b` for values at all nodes; held nodes get zero.
    pub fn solve(&self, b: &[DVec3], x: &mut [DVec3], space: &mut QuickSpace) {
        let largest = self.nodes.iter().map(|&n| b[n as usize].abs().max_element()).fold(0.0, f64::max);
        x.fill(DVec3::ZERO);
        if largest == 0.0 || !largest.is_finite() {
            return;
        }
        let QuickSpace { x: now, below } = space;
        now.clear();
        now.extend(self.nodes.iter().flat_map(|&n| (b[n as usize] / largest).as_vec3().to_array()));
        below.resize(self.panels.iter().map(|p| p.n_rows).max().unwrap_or(0), 0.0);
        self.arch.dispatch(
            #[inline(always)]
            || {
                // Plain loops, so that they are compiled for the registers at hand.
                for panel in &self.panels {
                    self.forward(panel, now, below);
                }
                for panel in self.panels.iter().rev() {
                    self.backward(panel, now, below);
                }
            },
        );
        for (&node, value) in self.nodes.iter().zip(now.as_chunks::<3>().0) {
            x[node as usize] = DVec3::from_array(value.map(f64::from)) * largest;
        }
    }

    /// Rows below a panel, `L11` and `L21`.
    #[inline(always)]
    fn parts(&self, panel: &Panel) -> (&[u32], &[f32], &[f32]) {
        let &Panel { n_columns, row, n_rows, value, .. } = panel;
        let (square, lower) =
            self.values[value..value + n_columns * (n_columns + n_rows)].split_at(n_columns * n_columns);
        (&self.rows[row..row + n_rows], square, lower)
    }

    #[inline(always)]
    fn forward(&self, panel: &Panel, x: &mut [f32], below: &mut [f32]) {
        let &Panel { column, n_columns: n, n_rows, .. } = panel;
        let (rows, square, lower) = self.parts(panel);
        let own = &mut x[column..column + n];
        for c in 0..n {
            let l = &square[c * n..(c + 1) * n];
            own[c] *= l[c];
            let known = own[c];
            own[c + 1..].iter_mut().zip(&l[c + 1..]).for_each(|(x, l)| *x -= l * known);
        }
        if n_rows == 0 {
            return;
        }
        let below = &mut below[..n_rows];
        below.fill(0.0);
        let (wide, narrow) = lower.split_at(n / COLUMNS * COLUMNS * n_rows);
        for (columns, x) in wide.chunks_exact(COLUMNS * n_rows).zip(own.chunks_exact(COLUMNS)) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| &columns[k * n_rows..(k + 1) * n_rows]);
            for (i, sum) in below.iter_mut().enumerate() {
                *sum += (a[i] * x[0] + b[i] * x[1]) + (c[i] * x[2] + d[i] * x[3]);
            }
        }
        for (l, &x) in narrow.chunks_exact(n_rows).zip(&own[n / COLUMNS * COLUMNS..]) {
            below.iter_mut().zip(l).for_each(|(sum, l)| *sum += l * x);
        }
        rows.iter().zip(below).for_each(|(&row, sum)| x[row as usize] -= *sum);
    }

    #[inline(always)]
    fn backward(&self, panel: &Panel, x: &mut [f32], below: &mut [f32]) {
        let &Panel { column, n_columns: n, n_rows, .. } = panel;
        let (rows, square, lower) = self.parts(panel);
        if n_rows > 0 {
            let below = &mut below[..n_rows];
            below.iter_mut().zip(rows).for_each(|(to, &row)| *to = x[row as usize]);
            for (x, l) in x[column..].iter_mut().zip(lower.chunks_exact(n_rows)) {
                *x -= product(l, below);
            }
        }
        let own = &mut x[column..column + n];
        for c in (0..n).rev() {
            let l = &square[c * n..(c + 1) * n];
            own[c] = (own[c] - product(&l[c + 1..], &own[c + 1..])) * l[c];
        }
    }
}

/// The product of two vectors, summed in a fixed order that suits wide registers.
#[inline(always)]
fn product(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        (0..LANES).for_each(|k| sums[k] += a[k] * b[k]);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::{BlockMatrix, NodeGraph, Pattern, Stencil};
    use std::sync::Arc;

    /// A chain of elements in rings, some nodes held: small ones have simplicial factors, large ones panels.
    fn factor(n: usize, links: usize) -> (SparseCholesky<3>, Vec<bool>) {
        let held: Vec<bool> = (0..n).map(|v| v % 11 == 3).collect();
        let node = |v: usize| (v % n) as u32;
        let stencils: Vec<Stencil> = (0..n)
            .flat_map(|v| (1..links).map(move |k| [node(v), node(v + k), node(v + k * k), node(v + 1)]))
            .collect();
        let pattern =
            Arc::new(Pattern::<3>::prepare(&NodeGraph::prepare(&held, &[&stencils]).unwrap()).unwrap());
        let mut matrix = BlockMatrix::zeros(&pattern);
        let mut blocks = [[[0.0; 3]; 3]; 10];
        for a in 0..4 {
            for b in 0..=a {
                let mixed = if a == b { [3.2, 0.05] } else { [-1.0, 0.0] };
                blocks[crate::sparse::block_index(a, b)] =
                    std::array::from_fn(|i| std::array::from_fn(|j| mixed[usize::from(i != j)]));
            }
        }
        let all = vec![blocks; stencils.len()];
        matrix.add(&pattern, &crate::Gather::prepare(&pattern, &stencils), &all);
        (SparseCholesky::new(&pattern, &matrix).unwrap(), held)
    }

    #[test]
    fn quick_solves_agree_with_precise_ones() {
        for (n, links) in [(1, 1), (40, 2), (300, 4), (900, 12)] {
            let (factor, held) = factor(n, links.max(2));
            let quick = QuickFactor::prepare(&factor);
            for size in [1e-20, 1.0, 1e15] {
                let b: Vec<DVec3> = (0..n)
                    .map(|v| size * DVec3::new((v as f64).sin(), 1.0, (3.0 * v as f64).cos()))
                    .collect();
                let mut precise: Vec<[f64; 3]> = b.iter().map(|b| b.to_array()).collect();
                factor.solve(&mut precise);
                let mut found = vec![DVec3::NAN; n];
                quick.solve(&b, &mut found, &mut QuickSpace::default());
                let longest = precise.iter().map(|p| DVec3::from_array(*p).length()).fold(0.0, f64::max);
                for ((p, found), held) in precise.iter().zip(&found).zip(&held) {
                    assert!(DVec3::from_array(*p).distance(*found) <= 2e-5 * longest, "{n}: {p:?} {found}");
                    assert!(!held || *found == DVec3::ZERO);
                }
            }
        }
    }

    #[test]
    fn zero_and_overflowing_loads_give_zero() {
        let (factor, _) = factor(40, 3);
        let quick = QuickFactor::prepare(&factor);
        for b in [DVec3::ZERO, DVec3::INFINITY] {
            let mut found = vec![DVec3::ONE; 40];
            quick.solve(&[b; 40], &mut found, &mut QuickSpace::default());
            assert!(found.iter().all(|x| *x == DVec3::ZERO));
        }
    }
}
