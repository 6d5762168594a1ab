//! The tissue's energy and forces for several tets at once.
//!
//! The equations are those of [`crate::energy::tissue`] without its barrier, in structure-of-arrays order: a
//! loop over tets without branches, which compilers turn into vector instructions. Wider registers process
//! more tets at once with the same order of operations and without fused multiply-adds, so the bits do not
//! depend on the processor.
//!
//! Besides the forces, the evaluation gives a distance: while no node moves that far, every tet stays upright
//! (not inverted). With `F = E R`, where R is the inverse of the rest edges, and nodes that move by less than
//! L, the edges move by D with `|D| <= sqrt(12) L`, and `det(F + s D R) = det F det(I + s F^-1 D R)` has no
//! root while `|F^-1| |R| |D| < 1`; `|F^-1| = |cof F| / det F`.

use glam::{DMat3, DVec3};
use risorius_linalg::Stencil;
use std::array::from_fn;

/// Tets in a group.
pub(crate) const LANES: usize = 16;

/// A number for each tet of a group.
pub(crate) type Lane = [f64; LANES];

/// Rest shape and material of a group of tets.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Columns of the inverse of the rest edge matrix, one after the other.
    inverse: [Lane; 9],
    volume: Lane,
    ratio: Lane,
    mu: Lane,
    lambda: Lane,
}

/// One tet of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Material {
    /// Of the rest edge matrix.
    pub(crate) inverse: DMat3,
    /// At rest.
    pub(crate) volume: f64,
    /// Rest volume over reference volume.
    pub(crate) ratio: f64,
    /// Shear stiffness.
    pub(crate) mu: f64,
    /// Resistance to volume change.
    pub(crate) lambda: f64,
}

/// The results for a group.
pub(crate) struct Outcome {
    /// Energy.
    pub(crate) value: Lane,
    /// Volume over reference volume.
    pub(crate) stretch: Lane,
    /// Square of the distance within which the tet stays upright; zero for inverted tets.
    pub(crate) reach_squared: Lane,
    /// Derivatives at the last three nodes, coordinate by coordinate.
    pub(crate) force: [Lane; 9],
}

impl Outcome {
    pub(crate) const ZERO: Self = Self {
        value: [0.0; LANES],
        stretch: [0.0; LANES],
        reach_squared: [0.0; LANES],
        force: [[0.0; LANES]; 9],
    };

    /// Derivatives at the four nodes of a tet.
    #[inline]
    pub(crate) fn gradient(&self, lane: usize) -> [DVec3; 4] {
        let [a, b, c]: [DVec3; 3] = from_fn(|k| {
            DVec3::new(self.force[3 * k][lane], self.force[3 * k + 1][lane], self.force[3 * k + 2][lane])
        });
        [-(a + b + c), a, b, c]
    }
}

impl Group {
    /// Packs up to [`LANES`] tets; unused lanes are zero.
    pub(crate) fn prepare(tets: impl Iterator<Item = Material>) -> Self {
        let zero = [0.0; LANES];
        let mut group = Self { inverse: [zero; 9], volume: zero, ratio: zero, mu: zero, lambda: zero };
        for (lane, tet) in tets.enumerate().take(LANES) {
            for (all, value) in group.inverse.iter_mut().zip(tet.inverse.to_cols_array()) {
                all[lane] = value;
            }
            group.volume[lane] = tet.volume;
            group.ratio[lane] = tet.ratio;
            group.mu[lane] = tet.mu;
            group.lambda[lane] = tet.lambda;
        }
        group
    }

    /// Energy and forces of the group's tets with these edges, with the dashpots of viscosity if there are
    /// any.
    #[inline(always)]
    pub(crate) fn evaluate(&self, dashpots: Option<&Dashpots>, edges: &[Lane; 9], out: &mut Outcome) {
        match dashpots {
            None => energy(self, edges, out),
            Some(dashpots) => damped_energy(self, dashpots, edges, out),
        }
    }

    /// Deformation gradients of the group's tets at `x`, column by column.
    #[inline(always)]
    pub(crate) fn gradients(&self, nodes: &[Stencil], x: &[DVec3]) -> [Lane; 9] {
        let edges = edges(nodes, x);
        let mut gradients = [[0.0; LANES]; 9];
        for l in 0..LANES {
            let e: [[f64; 3]; 3] = from_fn(|k| from_fn(|i| edges[3 * k + i][l]));
            for k in 0..3 {
                let column = combine(&e, from_fn(|i| self.inverse[3 * k + i][l]));
                (0..3).for_each(|i| gradients[3 * k + i][l] = column[i]);
            }
        }
        gradients
    }
}

/// Viscosity of a group of tets over a step ([`crate::energy::viscosity`]).
#[derive(Debug, Clone)]
pub(crate) struct Dashpots {
    /// Deformation gradients at the start of the step, column by column.
    pub(crate) from: [Lane; 9],
    /// `eta V / h`.
    pub(crate) weight: Lane,
}

/// The edges of each tet from its first node.
#[inline(always)]
pub(crate) fn edges(nodes: &[Stencil], x: &[DVec3]) -> [Lane; 9] {
    let mut edges = [[0.0; LANES]; 9];
    for (lane, tet) in nodes.iter().enumerate().take(LANES) {
        let [first, others @ ..] = tet.map(|node| x[node as usize]);
        for (k, other) in others.into_iter().enumerate() {
            let edge = other - first;
            (edges[3 * k][lane], edges[3 * k + 1][lane], edges[3 * k + 2][lane]) = (edge.x, edge.y, edge.z);
        }
    }
    edges
}

#[inline(always)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `sum over k of columns[k] * weights[k]`.
#[inline(always)]
fn combine(columns: &[[f64; 3]; 3], weights: [f64; 3]) -> [f64; 3] {
    from_fn(|i| columns[0][i] * weights[0] + columns[1][i] * weights[1] + columns[2][i] * weights[2])
}

#[inline(always)]
fn energy(group: &Group, edges: &[Lane; 9], out: &mut Outcome) {
    for l in 0..LANES {
        of_lane(group, edges, out, l, |_| ([[0.0; 3]; 3], 0.0));
    }
}

/// With the dashpots of viscosity: `w/2 |F - F_from|^2`.
#[inline(always)]
fn damped_energy(group: &Group, dashpots: &Dashpots, edges: &[Lane; 9], out: &mut Outcome) {
    for l in 0..LANES {
        of_lane(group, edges, out, l, |f| {
            let weight = dashpots.weight[l];
            let change: [[f64; 3]; 3] = from_fn(|k| from_fn(|i| f[k][i] - dashpots.from[3 * k + i][l]));
            let squares = dot(change[0], change[0]) + dot(change[1], change[1]) + dot(change[2], change[2]);
            (from_fn(|k| from_fn(|i| change[k][i] * weight)), 0.5 * weight * squares)
        });
    }
}

/// One tet; `resisting` gives stress and energy beside those of the tissue.
#[inline(always)]
fn of_lane(
    group: &Group,
    edges: &[Lane; 9],
    out: &mut Outcome,
    l: usize,
    resisting: impl Fn(&[[f64; 3]; 3]) -> ([[f64; 3]; 3], f64),
) {
    let e: [[f64; 3]; 3] = from_fn(|k| from_fn(|i| edges[3 * k + i][l]));
    let r: [[f64; 3]; 3] = from_fn(|k| from_fn(|i| group.inverse[3 * k + i][l]));
    let (volume, ratio, mu, lambda) = (group.volume[l], group.ratio[l], group.mu[l], group.lambda[l]);
    let f: [[f64; 3]; 3] = from_fn(|k| combine(&e, r[k]));
    let cofactor = [cross(f[1], f[2]), cross(f[2], f[0]), cross(f[0], f[1])];
    let det = dot(f[0], cofactor[0]);
    // Green strain: its diagonal, and the off-diagonal entry opposite to each axis.
    let own: [f64; 3] = from_fn(|k| 0.5 * (dot(f[k], f[k]) - 1.0));
    let mixed = [0.5 * dot(f[1], f[2]), 0.5 * dot(f[2], f[0]), 0.5 * dot(f[0], f[1])];
    let squares = dot(own, own) + 2.0 * dot(mixed, mixed);
    let stretch = ratio * det;
    let excess = stretch - 1.0;
    let pressure = lambda * excess * ratio;
    let strain = [[own[0], mixed[2], mixed[1]], [mixed[2], own[1], mixed[0]], [mixed[1], mixed[0], own[2]]];
    let (more_stress, more) = resisting(&f);
    let stress: [[f64; 3]; 3] = from_fn(|k| {
        let sheared = combine(&f, strain[k]);
        from_fn(|i| (sheared[i] * (2.0 * mu) + cofactor[k][i] * pressure) * volume + more_stress[k][i])
    });
    out.value[l] = volume * (mu * squares + 0.5 * lambda * excess * excess) + more;
    out.stretch[l] = stretch;
    let areas = dot(cofactor[0], cofactor[0]) + dot(cofactor[1], cofactor[1]) + dot(cofactor[2], cofactor[2]);
    let rest = dot(r[0], r[0]) + dot(r[1], r[1]) + dot(r[2], r[2]);
    let upright = det.max(0.0);
    out.reach_squared[l] = upright * upright / (12.0 * areas * rest);
    for (a, of_node) in out.force.chunks_exact_mut(3).enumerate() {
        let force = combine(&stress, [r[0][a], r[1][a], r[2][a]]);
        of_node.iter_mut().zip(force).for_each(|(to, force)| to[l] = force);
    }
}
