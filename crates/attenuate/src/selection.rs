//! Attenuation of a linear rig: a selection is prepared once, and every slider event costs one small product.
//!
//! | symbol | meaning |
//! | --- | --- |
//! | `w1`, `w2` | slider values asked for, and after attenuation; `e = w2 - w1` |
//! | `S` | rows of `D` of the `s` pinned coordinates |
//! | `G` | `D^T D` plus a small ridge on `e` |
//! | `t` | where the pins are held, as displacements from the neutral |
//! | `r` | how far each pin is faded in, 0 (off) to 1 (on) |
//!
//! The objective is that of [Lewis05, eq. 2], with each pin fading from an ordinary coordinate to a held one:
//!
//! ```text
//! sum_pins  r a (S w2 - t)^2 + (1 - r) (S e)^2   +   |other rows of D e|^2   +   ridge |e|^2
//! (G + S^T diag(r (a - 1)) S) e = -S^T diag(r a) (S w1 - t)           equal to eq. 3 for r = 1, t = S w0
//! ```
//!
//! Departure from the paper: the system is solved for `e`, so that sliders without effect keep their values.
//! With few pins it is solved by the Woodbury identity on the factor of `G`, which is kept with the rig:
//! with `Z = G^-1 S^T`, `K = S Z` and `R = diag(r)^1/2`, `e = -a Z R (I + (a - 1) R K R)^-1 R (S w1 - t)`. A
//! new selection costs `s` solves instead of a factorization, a new `a` an s x s factor, an event an s x m
//! product. With many pins the system is factored directly.

use crate::gram::{RigGram, add_at, factor_with_ridge};
use crate::pins::PinSet;
use rayon::prelude::*;
use risorius_linalg::{Cholesky, KnownInverse, Matrix, dense::dot};
use risorius_rig::model::Deltas;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

/// Largest `a` (dimensionless); above it, pins do not get any harder in f64.
pub(crate) const MAX_ALPHA: f64 = 1e12;

/// The part of the rig's basis that belongs to pinned coordinates: one sparse row over shapes per coordinate.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    first: Vec<usize>,
    /// Shape and value; f32 like the deltas, since a slider event reads them all.
    entries: Vec<(u32, f32)>,
}

impl Rows {
    /// The rows of the given coordinates (vertex, axis), ascending.
    pub fn gather(gram: &RigGram, coordinates: &[(u32, usize)]) -> Self {
        // By shape first, since a shape's vertices ascend as the coordinates do.
        let by_shape: Vec<Vec<(u32, f32)>> =
            gram.deltas().par_iter().map(|d| entries_of(d, coordinates)).collect();
        let mut first = vec![0usize; coordinates.len() + 1];
        by_shape.iter().flatten().for_each(|&(row, _)| first[row as usize + 1] += 1);
        for row in 0..coordinates.len() {
            first[row + 1] += first[row];
        }
        let mut next = first.clone();
        let mut entries = vec![(0, 0.0); first[coordinates.len()]];
        for (shape, column) in by_shape.iter().enumerate() {
            for &(row, value) in column {
                entries[next[row as usize]] = (shape as u32, value);
                next[row as usize] += 1;
            }
        }
        Self { first, entries }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shapes and values of one row.
    pub fn row(&self, row: usize) -> &[(u32, f32)] {
        &self.entries[self.first[row]..self.first[row + 1]]
    }

    /// All rows as a dense matrix.
    fn dense(&self, n_shapes: usize) -> Matrix {
        let mut dense = Matrix::zeros(self.len(), n_shapes);
        for i in 0..self.len() {
            self.row(i).iter().for_each(|&(s, x)| dense[(i, s as usize)] = x.into());
        }
        dense
    }

    /// `S c`: how far each coordinate moves at shape strengths `c`.
    pub fn times(&self, c: &[f64]) -> Vec<f64> {
        (0..self.len())
            .map(|i| self.row(i).iter().map(|&(s, x)| f64::from(x) * c[s as usize]).sum())
            .collect()
    }

    /// `S^T y`.
    pub fn transposed_times(&self, y: &[f64], n_shapes: usize) -> Vec<f64> {
        let mut out = vec![0.0; n_shapes];
        for (i, &yi) in y.iter().enumerate() {
            self.row(i).iter().for_each(|&(s, x)| out[s as usize] += f64::from(x) * yi);
        }
        out
    }

    /// `S^T diag(weight) S` for weights of 0 or more.
    pub(crate) fn weighted_gram(&self, weights: &[f64], n_shapes: usize) -> Matrix {
        const PANEL: usize = 256;
        let starts: Vec<usize> = (0..self.len()).step_by(PANEL).collect();
        // Products in parallel, a few at a time to limit memory, and summed in the order of the panels.
        let mut sum = Matrix::zeros(n_shapes, n_shapes);
        for some in starts.chunks(8) {
            let products: Vec<(Vec<usize>, Matrix)> = some
                .par_iter()
                .map(|&start| self.panel(start..(start + PANEL).min(self.len()), weights, n_shapes))
                .map(|(active, panel)| (active, panel.gram()))
                .collect();
            products.iter().for_each(|(active, product)| add_at(&mut sum, active, product));
        }
        sum.mirror_lower();
        sum
    }

    /// The shapes that act on some rows, ascending, and these rows times the roots of their weights.
    fn panel(&self, rows: Range<usize>, weights: &[f64], n_shapes: usize) -> (Vec<usize>, Matrix) {
        let mut column_of = vec![usize::MAX; n_shapes];
        rows.clone().flat_map(|i| self.row(i)).for_each(|e| column_of[e.0 as usize] = 0);
        let active: Vec<usize> = (0..n_shapes).filter(|&s| column_of[s] == 0).collect();
        active.iter().enumerate().for_each(|(column, &shape)| column_of[shape] = column);
        let mut panel = Matrix::zeros(rows.len(), active.len());
        for (local, i) in rows.enumerate() {
            let scale = weights[i].max(0.0).sqrt();
            self.row(i)
                .iter()
                .for_each(|&(s, x)| panel[(local, column_of[s as usize])] = scale * f64::from(x));
        }
        (active, panel)
    }
}

/// Rows and values of a shape's displacements at ascending coordinates, zeros left out.
fn entries_of(deltas: &Deltas, coordinates: &[(u32, usize)]) -> Vec<(u32, f32)> {
    let mut entries = Vec::new();
    // Each search starts where the last one ended; one search serves all three axes.
    let (mut at, mut last) = (0, None);
    for (row, &(vertex, axis)) in coordinates.iter().enumerate() {
        if last != Some(vertex) {
            at += deltas.vertices[at..].partition_point(|&v| v < vertex);
            last = Some(vertex);
        }
        match deltas.vertices.get(at) {
            Some(&v) if v == vertex && deltas.offsets[at][axis] != 0.0 => {
                entries.push((row as u32, deltas.offsets[at][axis]));
            }
            Some(_) => {}
            None => break,
        }
    }
    entries
}

/// Pins on a rig, prepared for every `a`, every strength and every slider event.
#[derive(Debug)]
pub struct Selection<'a> {
    gram: &'a RigGram,
    set: PinSet,
    rows: Rows,
    limit_rows: Rows,
    /// Sliders that may change.
    free: Vec<usize>,
    /// `Z` (free sliders x pins) and `K`, when pins are few.
    low_rank: Option<(Matrix, Matrix)>,
    /// `S^T S`, computed on first use.
    pinned_gram: OnceLock<Matrix>,
    /// `S G^-1` (pins x all sliders) and `S G^-1 S^T`, computed on first use.
    spread: OnceLock<(Matrix, Matrix)>,
}

impl<'a> Selection<'a> {
    /// Prepares the pins and limits of `set`; `locked` sliders keep the values they are given.
    pub fn prepare(gram: &'a RigGram, set: PinSet, locked: &[usize]) -> Self {
        let pinned: Vec<(u32, usize)> = set.pins.iter().map(|p| (p.vertex, p.axis)).collect();
        let limited: Vec<(u32, usize)> = set.limits.iter().map(|l| (l.vertex, l.axis)).collect();
        let rows = Rows::gather(gram, &pinned);
        let limit_rows = Rows::gather(gram, &limited);
        let mut is_free = vec![true; gram.activation().n_sliders()];
        locked.iter().for_each(|&s| is_free[s] = false);
        let free: Vec<usize> = (0..is_free.len()).filter(|&s| is_free[s]).collect();
        // Solving for s columns costs s m^2, factoring m^3 / 3: beyond a quarter the direct solve is faster.
        let low_rank =
            (gram.is_linear() && 4 * rows.len() <= free.len()).then(|| low_rank(gram, &rows, &free));
        Self {
            gram,
            set,
            rows,
            limit_rows,
            free,
            low_rank,
            pinned_gram: OnceLock::new(),
            spread: OnceLock::new(),
        }
    }

    /// The rig's inner products.
    pub fn gram(&self) -> &'a RigGram {
        self.gram
    }

    /// The pins and limits.
    pub fn set(&self) -> &PinSet {
        &self.set
    }

    /// Rows of the pins.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Rows of the limited coordinates.
    pub(crate) fn limit_rows(&self) -> &Rows {
        &self.limit_rows
    }

    /// Sliders that may change.
    pub fn free(&self) -> &[usize] {
        &self.free
    }

    /// The paper's default: the number of vertices without a pin over that of vertices with one, whether one
    /// or all of their coordinates are pinned [Lewis05, section 5]. At least 1: the ratio makes up for pinned
    /// vertices being few, and where most are pinned it would let go of them.
    pub fn default_alpha(&self) -> f64 {
        let mut vertices: Vec<u32> = self.set.pins.iter().map(|p| p.vertex).collect();
        vertices.dedup();
        let (all, pinned) = (self.gram.n_coordinates() / 3, vertices.len());
        ((all - pinned) as f64 / pinned.max(1) as f64).max(1.0)
    }

    /// Where pins are held: as in the base pose `w0`, except that the sliders a pin allows may move it as in
    /// `w1`.
    pub fn targets(&self, w0: &[f64], w1: &[f64]) -> Vec<f64> {
        let mut held = self.held_at(w0);
        let mut seen: Vec<(&[usize], Vec<f64>)> = Vec::new();
        for (i, pin) in self.set.pins.iter().enumerate().filter(|(_, p)| !p.only.is_empty()) {
            let known = seen.iter().position(|(only, _)| *only == pin.only);
            let known = known.unwrap_or_else(|| {
                let mut allowed = w0.to_vec();
                pin.only.iter().for_each(|&s| allowed[s] = w1[s]);
                seen.push((&pin.only, self.held_at(&allowed)));
                seen.len() - 1
            });
            held[i] = seen[known].1[i];
        }
        held
    }

    /// Where the pose `w` puts the pinned coordinates: displacements from the neutral.
    pub fn held_at(&self, w: &[f64]) -> Vec<f64> {
        self.rows.times(&self.gram.activation().coefficients(w))
    }

    /// `G + S^T diag(r (a - 1)) S` over all shapes, without the ridge.
    pub fn system(&self, alpha: f64, fades: &[f64]) -> Matrix {
        let n = self.gram.matrix().n_rows();
        let mut a = if fades.iter().all(|&r| r == 1.0) {
            self.pinned_gram.get_or_init(|| self.rows.weighted_gram(fades, n)).clone()
        } else {
            self.rows.weighted_gram(fades, n)
        };
        a.scale(alpha - 1.0);
        a.add(self.gram.matrix());
        a
    }

    /// The inverse of the system over all sliders, with the ridge, and an estimate of its condition number:
    /// the rig's own inverse with a correction for the pins, by the Woodbury identity. Only for linear rigs
    /// with few pins and few locked sliders; `None` for others, which had better be factored.
    pub(crate) fn inverse(&self, alpha: f64, fades: &[f64]) -> Option<(KnownInverse<'a>, f64)> {
        let (n, s) = (self.gram.activation().n_sliders(), self.rows.len());
        if !self.gram.is_linear() || 4 * s > n || 2 * self.free.len() < n {
            return None;
        }
        let (z, k) = self.spread.get_or_init(|| {
            let dense = self.rows.dense(n);
            let z = dense.times_matrix(self.gram.inverse());
            let mut k = Matrix::zeros(s, s);
            for j in 0..s {
                let column = k.column_mut(j);
                for &(shape, x) in self.rows.row(j) {
                    let of = z.column(shape as usize);
                    column.iter_mut().zip(of).for_each(|(k, z)| *k += f64::from(x) * z);
                }
            }
            k.mirror_lower();
            (z, k)
        });
        let root: Vec<f64> = fades.iter().map(|r| r.max(0.0).sqrt()).collect();
        let factor = faded_factor(k, alpha, &root);
        let scale = (alpha - 1.0).abs().sqrt();
        let mut low = z.clone();
        low.columns_mut().for_each(|c| c.iter_mut().zip(&root).for_each(|(z, r)| *z *= scale * r));
        factor.lower_solve_columns_in_place(&mut low);
        let condition = self.gram.factor().condition_estimate() * factor.condition_estimate();
        Some((KnownInverse::corrected(self.gram.inverse(), low, (alpha - 1.0).signum()), condition))
    }

    /// Factors the system for one `alpha` and the pins' `fades` (0 to 1). Only for linear rigs.
    pub fn attenuator(&'a self, alpha: f64, fades: &[f64]) -> Attenuator<'a> {
        assert!(self.gram.is_linear() && fades.len() == self.rows.len());
        let alpha = alpha.min(MAX_ALPHA);
        let root: Vec<f64> = fades.iter().map(|r| r.max(0.0).sqrt()).collect();
        let factor = match &self.low_rank {
            Some((_, k)) => faded_factor(k, alpha, &root),
            None => factor_with_ridge(self.system(alpha, fades).principal(&self.free), self.gram.ridge()).0,
        };
        Attenuator { selection: self, alpha, root, factor }
    }
}

/// Factor of `I + (a - 1) R K R` with `R` the roots of the fades.
fn faded_factor(k: &Matrix, alpha: f64, root: &[f64]) -> Cholesky {
    let mut small = k.clone();
    for j in 0..root.len() {
        for i in 0..root.len() {
            small[(i, j)] *= (alpha - 1.0) * root[i] * root[j];
        }
        small[(j, j)] += 1.0;
    }
    // For alpha below 1 the system is still positive: K has no eigenvalue above 1.
    factor_with_ridge(small, f64::EPSILON).0
}

fn low_rank(gram: &RigGram, rows: &Rows, free: &[usize]) -> (Matrix, Matrix) {
    let m = free.len();
    let mut slot = vec![usize::MAX; gram.matrix().n_rows()];
    free.iter().enumerate().for_each(|(i, &f)| slot[f] = i);
    let mut s_transposed = Matrix::zeros(m, rows.len());
    for i in 0..rows.len() {
        for &(shape, x) in rows.row(i) {
            if slot[shape as usize] != usize::MAX {
                s_transposed[(slot[shape as usize], i)] = x.into();
            }
        }
    }
    let all_free = m == gram.matrix().n_rows();
    let factor: Cow<Cholesky> = if all_free {
        Cow::Borrowed(gram.factor())
    } else {
        Cow::Owned(factor_with_ridge(gram.matrix().principal(free), gram.ridge()).0)
    };
    let mut z = s_transposed.clone();
    factor.solve_columns_in_place(&mut z);
    let mut k = s_transposed.transposed_product(&z);
    // Symmetric in exact arithmetic; made so here, since only one half is read.
    k.mirror_lower();
    (z, k)
}

/// A selection with its `a` and fades factored: slider events cost one product.
#[derive(Debug)]
pub struct Attenuator<'a> {
    selection: &'a Selection<'a>,
    alpha: f64,
    root: Vec<f64>,
    factor: Cholesky,
}

impl Attenuator<'_> {
    /// The `a` in use.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Estimate of the condition number of the system that is solved.
    pub fn condition_estimate(&self) -> f64 {
        // The low-rank solve inverts two matrices one after the other.
        let first = if self.selection.low_rank.is_some() {
            self.selection.gram.factor().condition_estimate()
        } else {
            1.0
        };
        first * self.factor.condition_estimate()
    }

    /// New slider values for the requested values `w1`, with pins held at `targets` (see
    /// [`Selection::held_at`]).
    pub fn solve(&self, w1: &[f64], targets: &[f64]) -> Vec<f64> {
        let Selection { gram, rows, free, low_rank, .. } = self.selection;
        let moved = rows.times(w1);
        let pull = |i: usize| self.root[i] * (moved[i] - targets[i]);
        let mut w2 = w1.to_vec();
        match low_rank {
            Some((z, _)) => {
                let mut y: Vec<f64> = (0..rows.len()).map(pull).collect();
                self.factor.solve_in_place(&mut y);
                for (i, y) in y.iter().enumerate() {
                    let step = self.alpha * self.root[i] * y;
                    if step != 0.0 {
                        free.iter().zip(z.column(i)).for_each(|(&f, z)| w2[f] -= step * z);
                    }
                }
            }
            None => {
                let y: Vec<f64> = (0..rows.len()).map(|i| self.alpha * self.root[i] * pull(i)).collect();
                let b = rows.transposed_times(&y, gram.matrix().n_rows());
                let mut e: Vec<f64> = free.iter().map(|&f| b[f]).collect();
                self.factor.solve_in_place(&mut e);
                free.iter().zip(&e).for_each(|(&f, e)| w2[f] -= e);
            }
        }
        w2
    }
}

/// Sums over all pins of `r (S c - t)^2`; for objectives and reports.
pub(crate) fn weighted_square(moved: &[f64], targets: &[f64], fades: &[f64]) -> f64 {
    let off: Vec<f64> = moved.iter().zip(targets).zip(fades).map(|((m, t), r)| r.sqrt() * (m - t)).collect();
    dot(&off, &off)
}
