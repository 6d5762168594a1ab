//! The local step for groups of tets: deformation gradients, their projections, energy and forces.
//!
//! A group has [`LANES`] tets, with numbers of the same kind side by side. Its loops are plain; `pulp`
//! compiles them for the registers at hand. Per tet with gradient F, target T and volume ratio J:
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

use super::nearest;
use glam::{DMat3, DVec3};
use risorius_linalg::Stencil;
use std::array::from_fn;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Tets in a group.
pub(super) const LANES: usize = 16;

/// A number for each tet of a group.
pub(super) type Lane<T> = [T; LANES];

/// A 3x3 matrix for each tet of a group, column by column.
pub(super) type Matrices<T> = [Lane<T>; 9];

type Mat<T> = [[T; 3]; 3];

/// Numbers in which tets are projected.
pub trait Number:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// Iterations of the polar factor, of which some are scaled; sweeps of rotations; iterations for the
    /// values of a given product.
    #[doc(hidden)]
    const ITERATIONS: [usize; 4];
    /// Squared error that counts as converged.
    #[doc(hidden)]
    const SETTLED: f64;
    /// Rounded.
    fn of(value: f64) -> Self;
    /// Widened.
    fn wide(self) -> f64;
    /// Square root.
    #[doc(hidden)]
    fn root(self) -> Self;
    /// Absolute value.
    #[doc(hidden)]
    fn size(self) -> Self;
}

macro_rules! number {
    ($type:ty, $iterations:expr, $settled:expr) => {
        impl Number for $type {
            const ITERATIONS: [usize; 4] = $iterations;
            const SETTLED: f64 = $settled;
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn size(self) -> Self {
                self.abs()
            }
        }
    };
}

number!(f32, [6, 3, 4, 7], 1e-9);
number!(f64, [8, 4, 6, 9], 1e-20);

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
    /// Whether a tet was not settled.
    pub open: [bool; LANES],
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
    pub fn gradients(&self, nodes: &[Stencil], x: &[DVec3]) -> Matrices<T> {
        let edges = edges::<T>(nodes, x);
        let mut f = [[T::default(); LANES]; 9];
        for l in 0..LANES {
            let e: Mat<T> = from_fn(|k| from_fn(|i| edges[3 * k + i][l]));
            for k in 0..3 {
                let column = combine(&e, from_fn(|i| self.inverse[3 * k + i][l]));
                (0..3).for_each(|i| f[3 * k + i][l] = column[i]);
            }
        }
        f
    }

    /// Energy and forces of tets with the gradients `f`; `from`: the gradients of viscosity, and the factor
    /// on its weights.
    #[inline(always)]
    pub fn evaluate(
        &self,
        f: &Matrices<T>,
        aim: &Aim<T>,
        from: Option<(&Matrices<T>, T)>,
        out: &mut Outcome<T>,
    ) {
        let mut stress = [[T::default(); LANES]; 9];
        out.energy = [T::default(); LANES];
        out.open = [false; LANES];
        if self.acts[0] {
            let one = [T::of(1.0); LANES];
            pulled(f, &aim.target, (&self.weights[0], &one), &mut stress, &mut out.energy);
        }
        if self.acts[1] {
            self.turned(f, aim, &mut stress, out);
        }
        if self.acts[2] {
            self.filled(f, aim, &mut stress, out);
        }
        if let (true, Some((from, factor))) = (self.acts[3], from) {
            let factor = [factor; LANES];
            pulled(f, from, (&self.weights[3], &factor), &mut stress, &mut out.energy);
        }
        self.forces(&stress, out);
    }

    /// The derivatives at nodes from stress times volume.
    #[inline(always)]
    fn forces(&self, stress: &Matrices<T>, out: &mut Outcome<T>) {
        for l in 0..LANES {
            let d: Mat<T> = from_fn(|k| from_fn(|i| stress[3 * k + i][l]));
            for a in 0..3 {
                let force = combine(&d, from_fn(|c| self.inverse[3 * c + a][l]));
                (0..3).for_each(|i| out.force[3 * a + i][l] = force[i]);
            }
        }
    }

    /// `r (F - R T)`.
    #[inline(always)]
    fn turned(&self, f: &Matrices<T>, aim: &Aim<T>, stress: &mut Matrices<T>, out: &mut Outcome<T>) {
        let mut open = [T::default(); LANES];
        for l in 0..LANES {
            let f: Mat<T> = from_fn(|k| from_fn(|i| f[3 * k + i][l]));
            let t: Mat<T> = from_fn(|k| from_fn(|i| aim.target[3 * k + i][l]));
            // F T^T, by columns.
            let m: Mat<T> = from_fn(|k| combine(&f, [t[0][k], t[1][k], t[2][k]]));
            let (r, off) = polar(m);
            open[l] = off;
            let w = self.weights[1][l];
            let mut squares = T::default();
            for k in 0..3 {
                let turned = combine(&r, t[k]);
                for i in 0..3 {
                    let apart = f[k][i] - turned[i];
                    squares = squares + apart * apart;
                    stress[3 * k + i][l] = stress[3 * k + i][l] + w * apart;
                }
            }
            out.energy[l] = out.energy[l] + T::of(0.5) * w * squares;
        }
        let settled = T::of(T::SETTLED);
        (0..LANES).for_each(|l| out.open[l] |= !(open[l] <= settled) && self.weights[1][l] != T::default());
    }

    /// `v (F - P)`.
    #[inline(always)]
    fn filled(&self, f: &Matrices<T>, aim: &Aim<T>, stress: &mut Matrices<T>, out: &mut Outcome<T>) {
        let mut open = [T::default(); LANES];
        for l in 0..LANES {
            let f: Mat<T> = from_fn(|k| from_fn(|i| f[3 * k + i][l]));
            let (u, sigma, v) = decomposed(&f);
            let (s, off) = values(sigma, aim.volume[l]);
            open[l] = off;
            let w = self.weights[2][l];
            let apart: [T; 3] = from_fn(|k| sigma[k] - s[k]);
            for k in 0..3 {
                let pull = combine(&u, from_fn(|i| apart[i] * v[i][k]));
                (0..3).for_each(|i| stress[3 * k + i][l] = stress[3 * k + i][l] + w * pull[i]);
            }
            out.energy[l] = out.energy[l] + T::of(0.5) * w * dot(apart, apart);
        }
        let settled = T::of(T::SETTLED);
        (0..LANES).for_each(|l| out.open[l] |= !(open[l] <= settled) && self.weights[2][l] != T::default());
    }

    /// Computes the lanes again that were not settled.
    pub fn settle(
        &self,
        f: &Matrices<T>,
        aim: &Aim<T>,
        from: Option<(&Matrices<T>, T)>,
        out: &mut Outcome<T>,
    ) {
        for l in (0..LANES).filter(|&l| out.open[l]) {
            let at = |m: &Matrices<T>| DMat3::from_cols_array(&from_fn(|k| m[k][l].wide()));
            let (f, t, inverse) = (at(f), at(&aim.target), at(&self.inverse));
            let [a, r, v, d] = from_fn(|k| self.weights[k][l].wide());
            let turned = if r != 0.0 { nearest::nearest_turn(f, t) } else { f };
            let filled = if v != 0.0 { nearest::nearest_volume(f, aim.volume[l].wide()) } else { f };
            let (from, d) = from.map_or((f, 0.0), |(from, factor)| (at(from), d * factor.wide()));
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
}

/// `w (F - to)` with its energy, w the product of both weights.
#[inline(always)]
fn pulled<T: Number>(
    f: &Matrices<T>,
    to: &Matrices<T>,
    weights: (&Lane<T>, &Lane<T>),
    stress: &mut Matrices<T>,
    energy: &mut Lane<T>,
) {
    for k in 0..9 {
        for l in 0..LANES {
            let apart = f[k][l] - to[k][l];
            let pull = weights.0[l] * weights.1[l] * apart;
            stress[k][l] = stress[k][l] + pull;
            energy[l] = energy[l] + T::of(0.5) * pull * apart;
        }
    }
}

/// The edges of each tet from its first node.
#[inline(always)]
fn edges<T: Number>(nodes: &[Stencil], x: &[DVec3]) -> Matrices<T> {
    let mut edges = [[T::default(); LANES]; 9];
    for (lane, tet) in nodes.iter().enumerate().take(LANES) {
        let [first, others @ ..] = tet.map(|node| x[node as usize]);
        for (k, other) in others.into_iter().enumerate() {
            let edge = other - first;
            edges[3 * k][lane] = T::of(edge.x);
            edges[3 * k + 1][lane] = T::of(edge.y);
            edges[3 * k + 2][lane] = T::of(edge.z);
        }
    }
    edges
}

#[inline(always)]
fn cross<T: Number>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
fn dot<T: Number>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `sum over k of columns[k] * weights[k]`.
#[inline(always)]
fn combine<T: Number>(columns: &Mat<T>, weights: [T; 3]) -> [T; 3] {
    from_fn(|i| columns[0][i] * weights[0] + columns[1][i] * weights[1] + columns[2][i] * weights[2])
}

#[inline(always)]
fn select<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

#[inline(always)]
fn larger<T: Number>(a: T, b: T) -> T {
    select(a > b, a, b)
}

/// The rotation of the polar decomposition, and the square of its distance from being one; large for inverted
/// and flat matrices.
#[inline(always)]
fn polar<T: Number>(m: Mat<T>) -> (Mat<T>, T) {
    let [n_iterations, n_scaled, ..] = T::ITERATIONS;
    let (half, tiny) = (T::of(0.5), T::of(1e-30));
    let mut r = m;
    let mut upright = T::of(1.0);
    for k in 0..n_iterations {
        let cofactor = [cross(r[1], r[2]), cross(r[2], r[0]), cross(r[0], r[1])];
        let det = dot(r[0], cofactor[0]);
        upright = select(det > tiny, upright, T::default());
        let inverse = T::of(1.0) / larger(det, tiny);
        let (own, other) = if k < n_scaled {
            let squares = dot(r[0], r[0]) + dot(r[1], r[1]) + dot(r[2], r[2]);
            let areas =
                dot(cofactor[0], cofactor[0]) + dot(cofactor[1], cofactor[1]) + dot(cofactor[2], cofactor[2]);
            // The square of the scale is |R^-1| / |R|.
            let scale = (areas.root() * inverse / larger(squares.root(), tiny)).root();
            (half * scale, half * inverse / larger(scale, tiny))
        } else {
            (half, half * inverse)
        };
        r = from_fn(|c| from_fn(|i| own * r[c][i] + other * cofactor[c][i]));
    }
    let unlike: [T; 6] = [
        dot(r[0], r[0]) - T::of(1.0),
        dot(r[1], r[1]) - T::of(1.0),
        dot(r[2], r[2]) - T::of(1.0),
        dot(r[0], r[1]),
        dot(r[0], r[2]),
        dot(r[1], r[2]),
    ];
    let off = unlike.iter().fold(T::default(), |sum, &x| sum + x * x);
    (r, off + T::of(1.0) - upright)
}

/// `F = U diag(sigma) V^T` with rotations, the last value signed and the smallest in size; the first two are
/// not sorted. Columns.
#[inline(always)]
fn decomposed<T: Number>(f: &Mat<T>) -> (Mat<T>, [T; 3], Mat<T>) {
    let (zero, one, tiny) = (T::default(), T::of(1.0), T::of(1e-30));
    let mut w = *f;
    let mut v = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    for _ in 0..T::ITERATIONS[2] {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let apart = dot(w[q], w[q]) - dot(w[p], w[p]);
            let mixed = T::of(2.0) * dot(w[p], w[q]);
            // The smaller rotation that makes the columns orthogonal.
            let t = mixed / (apart.size() + (apart * apart + mixed * mixed).root() + tiny);
            let t = select(apart < zero, -t, t);
            let c = one / (one + t * t).root();
            let s = c * t;
            for m in [&mut w, &mut v] {
                let (a, b) = (m[p], m[q]);
                m[p] = from_fn(|i| c * a[i] - s * b[i]);
                m[q] = from_fn(|i| s * a[i] + c * b[i]);
            }
        }
    }
    let n: [T; 3] = from_fn(|k| dot(w[k], w[k]));
    let first = n[0] < n[1] && n[0] < n[2];
    let second = n[1] < n[2] && !first;
    // The two longer columns, in a cyclic order.
    let pick = |m: &Mat<T>, k: [usize; 3]| -> [T; 3] {
        from_fn(|i| select(first, m[k[0]][i], select(second, m[k[1]][i], m[k[2]][i])))
    };
    let [a, b] = [[1, 2, 0], [2, 0, 1]].map(|k| (pick(&w, k), pick(&v, k)));
    let lengths = [dot(a.0, a.0).root(), dot(b.0, b.0).root()];
    let [over_a, over_b] = lengths.map(|length| one / larger(length, tiny));
    let u0: [T; 3] = from_fn(|i| a.0[i] * over_a);
    let u1: [T; 3] = from_fn(|i| b.0[i] * over_b);
    let (u2, v2) = (cross(u0, u1), cross(a.1, b.1));
    let sigma = [lengths[0], lengths[1], dot(u2, combine(f, v2))];
    ([u0, u1, u2], sigma, [a.1, b.1, v2])
}

/// The values of product `j` nearest to `sigma`, and the square of the relative error of their product; large
/// where another solution may be nearer.
#[inline(always)]
fn values<T: Number>(sigma: [T; 3], j: T) -> ([T; 3], T) {
    let (zero, half, tiny) = (T::default(), T::of(0.5), T::of(1e-30));
    let least = sigma[2];
    let at = |t: T| -> ([T; 2], [T; 2]) {
        let m = T::of(4.0) * t * (t - least);
        let roots: [T; 2] = from_fn(|k| larger(sigma[k] * sigma[k] + m, tiny).root());
        (from_fn(|k| half * (sigma[k] + roots[k])), roots)
    };
    // From here on the product is at least j.
    let bound = T::of(1.0 / 3.0) * (j + T::of(2.0));
    let wide = j / larger(sigma[0] * sigma[1], tiny);
    let mut t = larger(least, select(wide < bound, wide, bound));
    for _ in 0..T::ITERATIONS[3] {
        let ([a, b], [root_a, root_b]) = at(t);
        let slope = t + t - least;
        let product = a * b * t;
        let rise = a * b + t * slope * (b / root_a + a / root_b);
        t = t - (product - j) / larger(rise, tiny);
    }
    let ([a, b], _) = at(t);
    let off = (a * b * t - j) / larger(j, tiny);
    // Between 0 and sigma3 / 2 there may be a nearer solution.
    let ([left_a, left_b], _) = at(half * larger(least, zero));
    let crowded = left_a * left_b * half * larger(least, zero) * T::of(1.0 / 1.2) > j;
    // So flat that the smallest direction is lost in rounding.
    let lost = sigma[0] < T::of(1e-4) || sigma[1] < T::of(1e-4) * sigma[0];
    ([a, b, t], off * off + select(crowded || lost, T::of(1.0), zero))
}

#[cfg(test)]
mod tests;
