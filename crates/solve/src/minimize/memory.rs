//! The history of quasi-Newton: L-BFGS with few passes over memory.
//!
//! With gradient g, steps `s_i`, gradient changes `y_i`, and the preconditioner applied to both, `p = A^-1 g`
//! and `z_i = A^-1 y_i`, the two-loop recursion is a combination of p, s and z whose coefficients follow from
//! inner products alone [Liu17, L-BFGS]:
//!
//! ```text
//! a_i = (s_i.g - sum over newer j of a_j s_i.y_j) / s_i.y_i                                    newest first
//! b_i = (z_i.g - sum over all j of a_j z_i.y_j + sum over older j of (a_j - b_j) s_j.y_i) / s_i.y_i      oldest first
//! d   = -p + sum over i of a_i z_i - (a_i - b_i) s_i
//! ```
//!
//! Each z is a difference of two p, so an iteration costs one solve, one pass for all inner products with g
//! and the newest y, and one pass for d. Nodes are grouped in blocks, and sums over blocks have a fixed
//! order, so the bits do not depend on the number of threads.
//!
//! The preconditioner is not scaled by the latest curvature (`s.y / z.y`). Scaling saves one iteration in
//! twenty, but makes steps shorter, and solves that stop at a short step then stop farther from the minimum.

use glam::DVec3;
use pulp::Arch;
use rayon::prelude::*;

/// Number of stored pairs. With five, a face needs as many iterations, but solves that stop at a short step
/// end 1.5 times as far from the minimum; twenty save nothing.
pub(crate) const PAIRS: usize = 8;

/// Nodes in a block.
const BLOCK: usize = 512;
/// Numbers of a block in one vector.
const WIDTH: usize = 3 * BLOCK;
/// Slots for pairs: one is free for the next.
const SLOTS: usize = PAIRS + 1;
/// Numbers stored per block: steps and preconditioned gradient changes, alternating.
const STRIDE: usize = 2 * SLOTS * WIDTH;

/// Inner products of the stored steps and preconditioned changes with a vector.
type Products = [[f64; 2]; SLOTS];

/// Stored pairs and their inner products.
pub(crate) struct Memory {
    n_nodes: usize,
    /// Block by block: `s_0, z_0, s_1, z_1, ...`.
    history: Vec<f64>,
    /// Slots of the stored pairs, the newest last.
    order: Vec<usize>,
    /// `s_i.y_j` for j not older than i.
    sy: [[f64; SLOTS]; SLOTS],
    /// `z_i.y_j`.
    zy: [[f64; SLOTS]; SLOTS],
    /// `s_i.g` and `z_i.g`.
    with_gradient: Products,
}

/// The last iteration.
pub(crate) struct Last<'a> {
    /// The direction and the step length along it.
    pub(crate) direction: &'a [DVec3],
    pub(crate) alpha: f64,
    /// Gradients before and after.
    pub(crate) gradients: [&'a [DVec3]; 2],
    /// The preconditioned gradients before and after.
    pub(crate) solved: [&'a [DVec3]; 2],
}

/// Slope and length of a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measure {
    /// Its inner product with the gradient.
    pub(crate) slope: f64,
    /// Its longest vector; infinite if one is not finite.
    pub(crate) length: f64,
}

/// Sums and largest squares of a block.
#[derive(Clone, Copy, Default)]
struct Part {
    with_gradient: Products,
    with_change: Products,
    longest: [f64; 2],
}

impl Memory {
    pub(crate) fn new(n_nodes: usize) -> Self {
        Self {
            n_nodes,
            history: vec![0.0; n_nodes.div_ceil(BLOCK) * STRIDE],
            order: Vec::with_capacity(SLOTS),
            sy: [[0.0; SLOTS]; SLOTS],
            zy: [[0.0; SLOTS]; SLOTS],
            with_gradient: Products::default(),
        }
    }

    /// The memory in `slot`, emptied; a new one if there is none for so many nodes.
    pub(crate) fn emptied(slot: &mut Option<Self>, n_nodes: usize) -> &mut Self {
        let fits = |memory: &Self| memory.n_nodes == n_nodes;
        if !slot.as_ref().is_some_and(fits) {
            *slot = None;
        }
        let memory = slot.get_or_insert_with(|| Self::new(n_nodes));
        memory.clear();
        memory
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.order.clear();
    }

    /// Stores the last step if the energy has positive curvature along it; replaces the oldest.
    pub(crate) fn remember(&mut self, last: &Last) {
        let new = (0..SLOTS).find(|k| !self.order.contains(k)).unwrap_or(0);
        let mut used = [false; SLOTS];
        self.order.iter().for_each(|&k| used[k] = true);
        used[new] = true;
        let parts: Vec<Part> = self
            .history
            .par_chunks_mut(STRIDE)
            .enumerate()
            .map(|(k, block)| last.enter(k * BLOCK, block, new, &used))
            .collect();
        let mut total = Part::default();
        for part in &parts {
            for i in 0..SLOTS {
                for k in 0..2 {
                    total.with_gradient[i][k] += part.with_gradient[i][k];
                    total.with_change[i][k] += part.with_change[i][k];
                }
            }
            (0..2).for_each(|k| total.longest[k] = total.longest[k].max(part.longest[k]));
        }
        self.with_gradient = total.with_gradient;
        let curvature = total.with_change[new][0];
        if curvature > 1e-12 * (total.longest[0] * total.longest[1]).sqrt() && total.with_change[new][1] > 0.0
        {
            if self.order.len() == PAIRS {
                self.order.remove(0);
            }
            self.order.push(new);
            for &i in &self.order {
                [self.sy[i][new], self.zy[i][new]] = total.with_change[i];
                self.zy[new][i] = self.zy[i][new];
            }
        }
    }

    /// The direction of descent, from the gradient and the preconditioned gradient.
    pub(crate) fn direction(&self, gradient: &[DVec3], solved: &[DVec3], d: &mut [DVec3]) -> Measure {
        let weights = self.weights();
        let blocks = d.par_chunks_mut(BLOCK).zip(self.history.par_chunks(STRIDE)).enumerate();
        let parts: Vec<Measure> = blocks
            .map(|(k, (d, block))| {
                let here = k * BLOCK..k * BLOCK + d.len();
                combine(&gradient[here.clone()], &solved[here], &weights, block, d)
            })
            .collect();
        let slope = parts.iter().map(|part| part.slope).sum();
        Measure { slope, length: parts.iter().fold(0.0f64, |most, part| most.max(part.length)).sqrt() }
    }

    /// Slot, factor of `s` and factor of `z` for each pair.
    fn weights(&self) -> Vec<(usize, [f64; 2])> {
        let (sy, zy, order) = (&self.sy, &self.zy, &self.order);
        let (mut a, mut b) = ([0.0; SLOTS], [0.0; SLOTS]);
        for (k, &i) in order.iter().enumerate().rev() {
            let newer: f64 = order[k + 1..].iter().map(|&j| a[j] * sy[i][j]).sum();
            a[i] = (self.with_gradient[i][0] - newer) / sy[i][i];
        }
        for (k, &i) in order.iter().enumerate() {
            let all: f64 = order.iter().map(|&j| a[j] * zy[i][j]).sum();
            let older: f64 = order[..k].iter().map(|&j| (a[j] - b[j]) * sy[j][i]).sum();
            b[i] = (self.with_gradient[i][1] - all + older) / sy[i][i];
        }
        order.iter().map(|&i| (i, [b[i] - a[i], a[i]])).collect()
    }
}

impl Last<'_> {
    /// Writes the block's part of the step and of the preconditioned change, and computes inner products.
    fn enter(&self, first: usize, block: &mut [f64], new: usize, used: &[bool; SLOTS]) -> Part {
        let here = first..(first + BLOCK).min(self.direction.len());
        let (mut g, mut y) = ([0.0; WIDTH], [0.0; WIDTH]);
        let mut part = Part::default();
        let (s, z) = block[2 * new * WIDTH..2 * (new + 1) * WIDTH].split_at_mut(WIDTH);
        for (at, node) in here.enumerate() {
            let step = self.direction[node] * self.alpha;
            let (now, solved) = (self.gradients[1][node], self.solved[1][node] - self.solved[0][node]);
            let change = now - self.gradients[0][node];
            let place = 3 * at..3 * at + 3;
            s[place.clone()].copy_from_slice(&step.to_array());
            z[place.clone()].copy_from_slice(&solved.to_array());
            g[place.clone()].copy_from_slice(&now.to_array());
            y[place].copy_from_slice(&change.to_array());
            part.longest[0] = part.longest[0].max(step.length_squared());
            part.longest[1] = part.longest[1].max(change.length_squared());
        }
        // A plain loop, so that it is compiled for the registers at hand.
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for i in 0..SLOTS {
                    if used[i] {
                        let (s, z) = block[2 * i * WIDTH..2 * (i + 1) * WIDTH].split_at(WIDTH);
                        let [of_s, of_z] = products([s, z], &g, &y);
                        part.with_gradient[i] = [of_s[0], of_z[0]];
                        part.with_change[i] = [of_s[1], of_z[1]];
                    }
                }
            },
        );
        part
    }
}

/// The inner products of two vectors with two others.
#[inline(always)]
fn products(mine: [&[f64]; 2], g: &[f64], y: &[f64]) -> [[f64; 2]; 2] {
    const LANES: usize = 8;
    let mut sums = [[[0.0; LANES]; 2]; 2];
    let [s, z, g, y] = [mine[0], mine[1], g, y].map(|all| all.as_chunks::<LANES>().0);
    for (((s, z), g), y) in s.iter().zip(z).zip(g).zip(y) {
        for k in 0..LANES {
            sums[0][0][k] += s[k] * g[k];
            sums[0][1][k] += s[k] * y[k];
            sums[1][0][k] += z[k] * g[k];
            sums[1][1][k] += z[k] * y[k];
        }
    }
    sums.map(|of| of.map(|sum| sum.iter().sum()))
}

/// A block's part of the direction; the length in the result is squared.
fn combine(
    gradient: &[DVec3],
    solved: &[DVec3],
    weights: &[(usize, [f64; 2])],
    block: &[f64],
    d: &mut [DVec3],
) -> Measure {
    let mut sum = [0.0; WIDTH];
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for &(i, [of_step, of_solved]) in weights {
                let (s, z) = block[2 * i * WIDTH..2 * (i + 1) * WIDTH].split_at(WIDTH);
                for ((sum, s), z) in sum.iter_mut().zip(s).zip(z) {
                    *sum += of_step * s + of_solved * z;
                }
            }
        },
    );
    let mut measure = Measure { slope: 0.0, length: 0.0 };
    for (at, ((d, p), g)) in d.iter_mut().zip(solved).zip(gradient).enumerate() {
        *d = DVec3::new(sum[3 * at], sum[3 * at + 1], sum[3 * at + 2]) - *p;
        measure.slope += g.dot(*d);
        measure.length = if d.is_finite() { measure.length.max(d.length_squared()) } else { f64::INFINITY };
    }
    measure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Random;
    use crate::minimize::descent::dot;

    const N: usize = BLOCK + 77;

    /// A preconditioner: a positive number for each node.
    fn solve(weights: &[f64], v: &[DVec3]) -> Vec<DVec3> {
        v.iter().zip(weights).map(|(v, w)| *v * *w).collect()
    }

    /// The two-loop recursion as published.
    fn two_loops(pairs: &[(Vec<DVec3>, Vec<DVec3>)], weights: &[f64], gradient: &[DVec3]) -> Vec<DVec3> {
        let add = |to: &mut [DVec3], amount: f64, what: &[DVec3]| {
            to.iter_mut().zip(what).for_each(|(t, w)| *t += amount * *w);
        };
        let mut q = gradient.to_vec();
        let mut factors = Vec::new();
        for (s, y) in pairs.iter().rev() {
            let factor = dot(s, &q) / dot(s, y);
            add(&mut q, -factor, y);
            factors.push(factor);
        }
        let mut r = solve(weights, &q);
        for ((s, y), factor) in pairs.iter().zip(factors.iter().rev()) {
            let correction = factor - dot(y, &r) / dot(s, y);
            add(&mut r, correction, s);
        }
        r.iter().map(|v| -*v).collect()
    }

    #[test]
    fn directions_are_those_of_the_two_loops() {
        let mut random = Random(12);
        let mut vector = |scale: f64| -> Vec<DVec3> { (0..N).map(|_| random.vector() * scale).collect() };
        let weights: Vec<f64> = (0..N).map(|i| 0.5 + (i % 7) as f64).collect();
        let mut memory = Memory::new(N);
        let mut pairs: Vec<(Vec<DVec3>, Vec<DVec3>)> = Vec::new();
        let mut old = vector(1.0);
        let mut d = vec![DVec3::ZERO; N];
        let measure = memory.direction(&old, &solve(&weights, &old), &mut d);
        assert!((measure.slope - dot(&old, &d)).abs() < 1e-9 * measure.slope.abs(), "{measure:?}");
        for round in 0..2 * PAIRS {
            // A gradient change similar to the step gives positive curvature, except in round 3.
            let alpha = if round == 3 { -0.5 } else { 0.5 };
            let noise = vector(0.2);
            let new: Vec<DVec3> =
                (0..N).map(|i| old[i] + 0.3 * d[i] / weights[i] + 0.2 * noise[i] * d[i].length()).collect();
            let (solved_old, solved_new) = (solve(&weights, &old), solve(&weights, &new));
            let last =
                Last { direction: &d, alpha, gradients: [&old, &new], solved: [&solved_old, &solved_new] };
            memory.remember(&last);
            let s: Vec<DVec3> = d.iter().map(|d| *d * alpha).collect();
            let y: Vec<DVec3> = new.iter().zip(&old).map(|(a, b)| *a - *b).collect();
            if dot(&s, &y) > 0.0 {
                pairs.push((s, y));
            } else {
                assert_eq!(round, 3, "only the negative step has negative curvature");
            }
            if pairs.len() > PAIRS {
                pairs.remove(0);
            }
            let expected = two_loops(&pairs, &weights, &new);
            let measure = memory.direction(&new, &solved_new, &mut d);
            let longest = expected.iter().map(|v| v.length()).fold(0.0, f64::max);
            let apart = expected.iter().zip(&d).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(apart < 1e-10 * longest, "round {round}: {apart} of {longest}");
            assert!(
                (measure.slope - dot(&new, &d)).abs() < 1e-9 * measure.slope.abs() && measure.slope < 0.0
            );
            assert!((measure.length - longest).abs() < 1e-9 * longest);
            old = new;
        }
    }
}
