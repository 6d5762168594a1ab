//! The least squares fit of neutral, shapes and pairs together [Ichim16, sec. 4].
//!
//! Every pair counts with its whole grid of weights, `{0, .25, .5, .75, 1}^2`: a slider alone counts once for
//! each of its pairs, the neutral once for each pair, both at least once. No sample has two pairs, so the
//! columns of pairs are orthogonal to each other, and each v follows from m and u:
//!
//! ```text
//! v_ij = sum_ab a b (d - m - a u_i - b u_j) / sum_ab (a b)^2
//! ```
//!
//! What is left is a system for m and u of `1 + b` unknowns, the same for every coordinate of every vertex:
//! one Cholesky factor. Its right-hand sides are summed in the order of samples.

use super::BakeError;
use super::fit::{Field, Samples, Sum, pair_norm, products};
use super::plan::{LEVELS, PER_PAIR};
use risorius_linalg::{Cholesky, Matrix};
use risorius_rig::Deltas;

/// What pairs are fitted beside.
pub(super) enum Base {
    /// The samples of single sliders themselves.
    Samples,
    /// m and u, for every vertex.
    Fitted { neutral: Vec<[f64; 3]>, linear: Vec<Vec<[f64; 3]>> },
}

impl Base {
    /// m and u, where they are longer than `least`.
    pub fn deltas(&self, samples: &Samples, least: f64) -> (Deltas, Vec<Deltas>) {
        let Self::Fitted { neutral, linear } = self else { return Default::default() };
        let mut sum = Sum::new(samples.n_vertices);
        let mut sparse = |dense: &[[f64; 3]]| {
            sum.add_dense(dense, 1.0);
            sum.take(least)
        };
        (sparse(neutral), linear.iter().map(|u| sparse(u)).collect())
    }
}

/// m (zero unless it is free) and u beside the pairs `which`; all other samples of pairs are fitted too.
pub(super) fn base(samples: &Samples, which: &[usize], free_neutral: bool) -> Result<Base, BakeError> {
    let plan = samples.plan;
    let n = plan.sliders.len();
    let shift = usize::from(free_neutral);
    let mut system = vec![0.0; (n + shift) * (n + shift)];
    let mut sides = vec![vec![[0.0; 3]; samples.n_vertices]; n + shift];
    let mut counts = vec![0usize; n];
    for (pair, sliders) in plan.pairs.iter().enumerate() {
        let sliders = sliders.map(|s| s as usize);
        sliders.iter().for_each(|&s| counts[s] += 1);
        let usable = samples.of_pair(pair, false);
        let columns = Columns::of_pair(which.binary_search(&pair).is_ok(), &usable);
        let mut rows: Vec<(usize, &[f64; PER_PAIR])> =
            sliders.iter().zip(&columns.sliders).map(|(&s, column)| (s + shift, column)).collect();
        if free_neutral {
            rows.push((0, &columns.ones));
        }
        let first = plan.first_of_pair(pair);
        for (row, projected) in &rows {
            for k in (0..PER_PAIR).filter(|&k| usable[k]) {
                add(&mut sides[*row], (samples.field)(first + k), projected[k]);
            }
            for (column, other) in &rows {
                // Projections are symmetric and idempotent.
                let product: f64 = projected.iter().zip(*other).map(|(a, b)| a * b).sum();
                system[row * (n + shift) + column] += product;
            }
        }
    }
    for (slider, count) in counts.iter().enumerate() {
        let (row, count) = (slider + shift, (*count).max(1) as f64);
        let usable = |(level, _): &(usize, &f32)| (samples.usable)(plan.single(slider, *level));
        for (level, &value) in LEVELS.iter().enumerate().filter(usable) {
            let (field, w) = ((samples.field)(plan.single(slider, level)), f64::from(value));
            add(&mut sides[row], field, count * w);
            system[row * (n + shift) + row] += count * w * w;
            if free_neutral {
                add(&mut sides[0], field, count);
                system[0] += count;
                system[row * (n + shift)] += count * w;
                system[row] += count * w;
            }
        }
    }
    if free_neutral {
        let count = plan.pairs.len().max(1) as f64;
        add(&mut sides[0], (samples.field)(0), count);
        system[0] += count;
    }
    solve(&system, sides, free_neutral)
}

/// The columns of a pair's samples that can be used, without their part along that of the pair if it is
/// fitted.
struct Columns {
    ones: [f64; PER_PAIR],
    sliders: [[f64; PER_PAIR]; 2],
}

impl Columns {
    fn of_pair(is_fitted: bool, usable: &[bool; PER_PAIR]) -> Self {
        let level = |k: usize| f64::from(LEVELS[k]);
        let product = products();
        let norm = pair_norm(usable);
        let project = |mut column: [f64; PER_PAIR]| {
            column.iter_mut().zip(usable).filter(|(_, usable)| !**usable).for_each(|(c, _)| *c = 0.0);
            let along: f64 = column.iter().zip(&product).map(|(c, p)| c * p).sum();
            match is_fitted {
                true => std::array::from_fn(|k| match usable[k] {
                    true => column[k] - along / norm * product[k],
                    false => 0.0,
                }),
                false => column,
            }
        };
        Self {
            ones: project([1.0; PER_PAIR]),
            sliders: [
                project(std::array::from_fn(|k| level(k / LEVELS.len()))),
                project(std::array::from_fn(|k| level(k % LEVELS.len()))),
            ],
        }
    }
}

fn add(sum: &mut [[f64; 3]], field: Field, factor: f64) {
    for (&v, offset) in field.vertices.iter().zip(field.offsets) {
        (0..3).for_each(|k| sum[v as usize][k] += factor * f64::from(offset[k]));
    }
}

/// Solves for all coordinates of all vertices.
fn solve(system: &[f64], mut sides: Vec<Vec<[f64; 3]>>, free_neutral: bool) -> Result<Base, BakeError> {
    let n = sides.len();
    let matrix = Matrix::symmetric(n, |i, j| system[i * n + j]);
    let factor = Cholesky::factor(matrix).map_err(|_| BakeError::Singular)?;
    let mut column = vec![0.0; n];
    for v in 0..sides.first().map_or(0, Vec::len) {
        for k in 0..3 {
            column.iter_mut().zip(&sides).for_each(|(c, side)| *c = side[v][k]);
            factor.solve_in_place(&mut column);
            sides.iter_mut().zip(&column).for_each(|(side, c)| side[v][k] = *c);
        }
    }
    let neutral = if free_neutral { sides.remove(0) } else { Vec::new() };
    Ok(Base::Fitted { neutral, linear: sides })
}
