//! The local step for groups of tets: deformation gradients, their projections, energy and forces.
//!
//! A group has [`LANES`] tets, with numbers of the same kind side by side; `pulp` compiles its loop for the
//! registers at hand (`registers`). Per tet with gradient F, target T and volume ratio J:
//!
//! ```text
//! D = a (F - T) + r (F - R T) + v (F - P) + d (F - F'),     stress times rest volume
//! R T, P: nearest matrices (super::nearest),   F': gradient that viscosity resists to leave
//! ```
//!
//! *R* is the polar factor of `F T^T` by Newton's iteration with scaling. *P* comes from a decomposition by
//! one-sided Jacobi rotations, a fixed number of sweeps; its third vector is the product of the other two, so
//! that inverted tets have a negative third value. Newton's iteration for the values of P starts where it
//! converges from one side. Tets that these iterations do not settle (collapsed, inverted in the polar
//! factor, expanded to several times their volume) are marked and computed again one by one.
//!
//! Single precision is enough where results are to be exact to 1e-7 of their size, because forces are
//! differences of nearby numbers, not of large ones: positions enter as edges, and are never solved for in
//! single precision themselves.

mod projections;
mod registers;

use super::nearest;
use glam::{DMat3, DVec3};
use projections::{Counts, Mat, combine, decomposed, dot, polar, three, values};
use pulp::{Arch, Simd, WithSimd};
pub use registers::Pack;
use registers::Register;
use risorius_linalg::Stencil;
use std::array::from_fn;

/// Tets in a group.
pub(super) const LANES: usize = 16;

/// A number for each tet of a group.
pub(super) type Lane<T> = [T; LANES];

/// A 3x3 matrix for each tet of a group, column by column.
pub(super) type Matrices<T> = [Lane<T>; 9];

/// Numbers in which tets are projected.
pub trait Number: Copy + Default + PartialEq + Send + Sync + 'static {
    /// Of the iterations.
    #[doc(hidden)]
    const COUNTS: [usize; 4];
    /// Squared error that counts as converged.
    #[doc(hidden)]
    const SETTLED: f64;
    /// Rounded.
    fn of(value: f64) -> Self;
    /// Widened.
    fn wide(self) -> f64;
    /// Runs a task with the widest registers.
    #[doc(hidden)]
    fn run(arch: Arch, task: impl Task<Self>);
}

/// Something that is compiled for every width of registers.
pub trait Task<T> {
    /// Runs it.
    fn run<P: Pack<T>>(self, token: P::Token);
}

impl Number for f64 {
    const COUNTS: Counts = [8, 4, 6, 9];
    const SETTLED: f64 = 1e-20;

    fn of(value: f64) -> Self {
        value
    }

    fn wide(self) -> f64 {
        self
    }

    fn run(_: Arch, task: impl Task<Self>) {
        task.run::<f64>(());
    }
}

impl Number for f32 {
    const COUNTS: Counts = [6, 3, 4, 7];
    const SETTLED: f64 = 1e-9;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn run(arch: Arch, task: impl Task<Self>) {
        arch.dispatch(InRegisters(task));
    }
}

struct InRegisters<K>(K);

impl<K: Task<f32>> WithSimd for InRegisters<K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.0.run::<Register<S>>(simd);
    }
}

/// Rest shape and stiffness of a group of tets.
#[derive(Debug, Clone)]
pub(super) struct Group<T> {
    /// Of the rest edge matrices.
    pub inverse: Matrices<T>,
    /// Stiffness times rest volume: towards the target, a turned target, the volume; of viscosity.
    pub weights: [Lane<T>; 4],
    /// Whether any tet has each of them.
    pub acts: [bool; 4],
}

/// What a group of tets is drawn to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Aim<T> {
    /// Target gradients T.
    pub target: Matrices<T>,
    /// Volumes J over rest volumes.
    pub volume: Lane<T>,
}

/// Energy and forces of a group.
pub(super) struct Outcome<T> {
    pub energy: Lane<T>,
    /// Derivatives at the last three nodes, coordinate by coordinate.
    pub force: Matrices<T>,
    /// Squared errors of the projections on turned targets and on volumes.
    off: [Lane<T>; 2],
}

impl<T: Number> Outcome<T> {
    pub fn zero() -> Self {
        let zero = [T::default(); LANES];
        Self { energy: zero, force: [zero; 9], off: [zero; 2] }
    }
}

/// A matrix of each tet from `at` on.
#[inline(always)]
fn loaded<T, P: Pack<T>>(token: P::Token, from: &Matrices<T>, at: usize) -> Mat<P> {
    three!(k => three!(i => P::load(token, &from[3 * k + i], at)))
}

#[inline(always)]
fn stored<T, P: Pack<T>>(m: &Mat<P>, to: &mut Matrices<T>, at: usize) {
    for k in 0..3 {
        for i in 0..3 {
            m[k][i].store(&mut to[3 * k + i], at);
        }
    }
}

/// Adds `weight (F - to)` to the stress; returns its energy.
#[inline(always)]
fn pulled<T, P: Pack<T>>(f: &Mat<P>, to: &Mat<P>, weight: P, stress: &mut Mat<P>) -> P {
    let mut squares = weight.all(0.0);
    for k in 0..3 {
        for i in 0..3 {
            let apart = f[k][i] - to[k][i];
            squares = squares + apart * apart;
            stress[k][i] = stress[k][i] + weight * apart;
        }
    }
    weight.all(0.5) * weight * squares
}

impl<T: Number> Group<T> {
    /// Packs up to [`LANES`] tets, each with its inverse and weights; unused lanes are zero.
    pub fn prepare(tets: impl Iterator<Item = (DMat3, [f64; 4])>) -> Self {
        let zero = [T::default(); LANES];
        let mut group = Self { inverse: [zero; 9], weights: [zero; 4], acts: [false; 4] };
        for (lane, (inverse, weights)) in tets.enumerate().take(LANES) {
            for (all, value) in group.inverse.iter_mut().zip(inverse.to_cols_array()) {
                all[lane] = T::of(value);
            }
            for (k, weight) in weights.into_iter().enumerate() {
                group.weights[k][lane] = T::of(weight);
                group.acts[k] |= weight != 0.0;
            }
        }
        group
    }

    /// Deformation gradients at `x`.
    #[inline(always)]
    pub fn gradients<P: Pack<T>>(&self, token: P::Token, nodes: &[Stencil], x: &[DVec3]) -> Matrices<T> {
        let mut f = edges::<T>(nodes, x);
        for at in (0..LANES).step_by(P::WIDTH) {
            let edges: Mat<P> = loaded(token, &f, at);
            let inverse: Mat<P> = loaded(token, &self.inverse, at);
            stored(&three!(k => combine(&edges, inverse[k])), &mut f, at);
        }
        f
    }

    /// Energy and forces of tets with the gradients `f`; `from`: the gradients of viscosity, and the factor
    /// on its weights.
    #[inline(always)]
    pub fn evaluate<P: Pack<T>>(
        &self,
        token: P::Token,
        f: &Matrices<T>,
        aim: &Aim<T>,
        from: Option<(&Matrices<T>, f64)>,
        out: &mut Outcome<T>,
    ) {
        for at in (0..LANES).step_by(P::WIDTH) {
            let (f, target): (Mat<P>, Mat<P>) = (loaded(token, f, at), loaded(token, &aim.target, at));
            let weight = [
                P::load(token, &self.weights[0], at),
                P::load(token, &self.weights[1], at),
                P::load(token, &self.weights[2], at),
                P::load(token, &self.weights[3], at),
            ];
            let zero = weight[0].all(0.0);
            let mut stress: Mat<P> = [[zero; 3]; 3];
            let (mut energy, mut turn_off, mut fill_off) = (zero, zero, zero);
            if self.acts[0] {
                energy = energy + pulled(&f, &target, weight[0], &mut stress);
            }
            if self.acts[1] {
                // F T^T, by columns.
                let m = three!(k => combine(&f, [target[0][k], target[1][k], target[2][k]]));
                let (r, off) = polar(m, T::COUNTS);
                let turned = three!(k => combine(&r, target[k]));
                energy = energy + pulled(&f, &turned, weight[1], &mut stress);
                turn_off = off;
            }
            if self.acts[2] {
                let (u, sigma, v) = decomposed(&f, T::COUNTS);
                let (s, off) = values(sigma, P::load(token, &aim.volume, at), T::COUNTS);
                let apart = three!(k => sigma[k] - s[k]);
                for k in 0..3 {
                    let pull = combine(&u, [apart[0] * v[0][k], apart[1] * v[1][k], apart[2] * v[2][k]]);
                    stress[k] = three!(i => stress[k][i] + weight[2] * pull[i]);
                }
                energy = energy + zero.all(0.5) * weight[2] * dot(apart, apart);
                fill_off = off;
            }
            if let (true, Some((from, factor))) = (self.acts[3], from) {
                let weight = weight[3] * zero.all(factor);
                energy = energy + pulled(&f, &loaded(token, from, at), weight, &mut stress);
            }
            let inverse: Mat<P> = loaded(token, &self.inverse, at);
            let force = three!(a => combine(&stress, [inverse[0][a], inverse[1][a], inverse[2][a]]));
            stored(&force, &mut out.force, at);
            energy.store(&mut out.energy, at);
            turn_off.store(&mut out.off[0], at);
            fill_off.store(&mut out.off[1], at);
        }
    }

    /// Computes the lanes again that were not settled. Returns how many.
    pub fn settle(
        &self,
        f: &Matrices<T>,
        aim: &Aim<T>,
        from: Option<(&Matrices<T>, f64)>,
        out: &mut Outcome<T>,
    ) -> usize {
        let mut n = 0;
        for l in 0..LANES {
            let settled =
                |k: usize| out.off[k][l].wide() <= T::SETTLED || self.weights[k + 1][l] == T::default();
            if !(settled(0) && settled(1)) {
                self.settle_one(l, f, aim, from, out);
                n += 1;
            }
        }
        n
    }

    fn settle_one(
        &self,
        l: usize,
        f: &Matrices<T>,
        aim: &Aim<T>,
        from: Option<(&Matrices<T>, f64)>,
        out: &mut Outcome<T>,
    ) {
        let at = |m: &Matrices<T>| DMat3::from_cols_array(&from_fn(|k| m[k][l].wide()));
        let (f, t, inverse) = (at(f), at(&aim.target), at(&self.inverse));
        let [a, r, v, d] = from_fn(|k| self.weights[k][l].wide());
        let turned = if r != 0.0 { nearest::nearest_turn(f, t) } else { f };
        let filled = if v != 0.0 { nearest::nearest_volume(f, aim.volume[l].wide()) } else { f };
        let (from, d) = from.map_or((f, 0.0), |(from, factor)| (at(from), d * factor));
        let (mut stress, mut energy) = (DMat3::ZERO, 0.0);
        for (weight, to) in [(a, t), (r, turned), (v, filled), (d, from)] {
            let apart = f - to;
            stress += apart * weight;
            energy += 0.5 * weight * apart.to_cols_array().iter().map(|x| x * x).sum::<f64>();
        }
        let force = (stress * inverse.transpose()).to_cols_array();
        out.energy[l] = T::of(energy);
        (0..9).for_each(|k| out.force[k][l] = T::of(force[k]));
    }
}

/// The edges of each tet from its first node.
#[inline(always)]
fn edges<T: Number>(nodes: &[Stencil], x: &[DVec3]) -> Matrices<T> {
    let mut edges = [[T::default(); LANES]; 9];
    for (lane, tet) in nodes.iter().enumerate().take(LANES) {
        let first = x[tet[0] as usize];
        for k in 0..3 {
            let edge = x[tet[k + 1] as usize] - first;
            edges[3 * k][lane] = T::of(edge.x);
            edges[3 * k + 1][lane] = T::of(edge.y);
            edges[3 * k + 2][lane] = T::of(edge.z);
        }
    }
    edges
}

#[cfg(test)]
mod tests;
