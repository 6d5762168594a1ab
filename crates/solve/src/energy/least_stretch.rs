//! An energy that keeps the singular values of deformation gradients above an onset.
//!
//! ```text
//! psi(F) = sum over i of phi(onset - s_i),    s_1 >= s_2 >= |s_3|, s_3 < 0 for inverted elements
//! phi(u) = 0 for u <= 0,   u^3 / (6 a) for u <= a,   u^2/2 - a u/2 + a^2/6 beyond,    a = onset / 2
//! ```
//!
//! phi is twice differentiable, its second derivative is at most 1, and psi is finite for inverted elements.
//! So the scalar Laplacian bounds the second derivatives of psi wherever they are positive, and quasi-Newton
//! steps with its factor converge from inverted states. The squared distance to the set of gradients with
//! singular values above the onset behaves in the same way, but has a kink in its derivative at the onset,
//! which would show as a kink over time. All tets count equally, whatever their size: one bad tet spoils a
//! simulation.
//!
//! Most tets of a volume are far from the onset. If no node of a tet moves farther than L, no singular value
//! of its F changes by more than `L sum |g_a|`, with the gradients `g_a` of its shape functions. From a start
//! where a tet is open by some margin, it has no energy within that distance ([`Clearance`]), and F is not
//! computed.

use crate::energy::isotropic::{Spectrum, smallest_det, tet_blocks, tet_gradient, tet_laplacians};
use crate::energy::{BLOCK, Energy, Forces};
use glam::{DMat3, DVec3};
use risorius_linalg::{ElementBlocks, Stencil, svd};
use risorius_mesh::tet::tet_mesh::edge_matrix;
use std::ops::Range;

/// Tets over their rest shapes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeastStretch<'a> {
    /// The tets.
    pub tets: &'a [Stencil],
    /// Inverse of each rest edge matrix.
    pub inverse: &'a [DMat3],
    /// Singular values below this are raised.
    pub onset: f64,
    /// Where tets are known to have no energy; `None` if nothing is known.
    pub clearance: Option<&'a Clearance>,
}

/// How far nodes can move from a start before tets can have energy.
#[derive(Debug, Clone)]
pub(crate) struct Clearance {
    start: Vec<DVec3>,
    /// Of each tet, meters.
    distances: Vec<f64>,
    /// The nodes of each block of tets.
    nodes: Vec<Vec<u32>>,
}

/// A tet is tried for these singular values at the start, as multiples of the onset.
const MARGINS: [f64; 3] = [4.0, 2.5, 1.5];

impl Clearance {
    /// Around the positions `x`.
    pub(crate) fn prepare(energy: &LeastStretch, x: &[DVec3]) -> Self {
        let distance = |tet: usize| {
            let f = energy.gradient_of(x, tet);
            let open = |margin: &f64| LeastStretch { onset: margin * energy.onset, ..*energy }.is_open(f);
            let margin = MARGINS.into_iter().find(open).unwrap_or(1.0);
            let t = energy.inverse[tet].transpose();
            let all = [t.x_axis + t.y_axis + t.z_axis, t.x_axis, t.y_axis, t.z_axis];
            // Slightly less, for rounding.
            0.999 * (margin - 1.0) * energy.onset / all.iter().map(|g| g.length()).sum::<f64>()
        };
        let nodes = |block: &[Stencil]| {
            let mut nodes = block.concat();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        Self {
            start: x.to_vec(),
            distances: (0..energy.tets.len()).map(distance).collect(),
            nodes: energy.tets.chunks(BLOCK).map(nodes).collect(),
        }
    }

    /// The farthest that a node of the blocks of some tets has moved; infinite if one is not finite.
    fn moved(&self, x: &[DVec3], tets: &Range<usize>) -> f64 {
        let blocks = tets.start / BLOCK..tets.end.div_ceil(BLOCK);
        let squared = |&node: &u32| x[node as usize].distance_squared(self.start[node as usize]);
        let longer = |most: f64, d: f64| if d.is_nan() { f64::INFINITY } else { most.max(d) };
        self.nodes[blocks].iter().flatten().map(squared).fold(0.0, longer).sqrt()
    }
}

impl LeastStretch<'_> {
    /// Calls `f` with each of some tets that may have energy, and F.
    fn for_closed(&self, x: &[DVec3], tets: Range<usize>, mut f: impl FnMut(usize, DMat3)) {
        let moved = self.clearance.map_or(f64::INFINITY, |clearance| clearance.moved(x, &tets));
        for tet in tets {
            if self.clearance.is_some_and(|clearance| moved < clearance.distances[tet]) {
                continue;
            }
            let gradient = self.gradient_of(x, tet);
            if !self.is_open(gradient) {
                f(tet, gradient);
            }
        }
    }

    fn gradient_of(&self, x: &[DVec3], tet: usize) -> DMat3 {
        edge_matrix(x, self.tets[tet]) * self.inverse[tet]
    }

    /// Whether a tet has energy.
    pub(crate) fn is_closed(&self, x: &[DVec3], tet: usize) -> bool {
        let f = self.gradient_of(x, tet);
        !self.is_open(f) && svd(f).s.z < self.onset
    }

    /// Whether all singular values are above the onset: F is not inverted, and `F^T F - onset^2` is positive
    /// definite, by its leading minors.
    fn is_open(&self, f: DMat3) -> bool {
        let (a, b, c) = (f.x_axis, f.y_axis, f.z_axis);
        let least = self.onset * self.onset;
        let (xx, xy, xz) = (a.length_squared() - least, a.dot(b), a.dot(c));
        let (yy, yz, zz) = (b.length_squared() - least, b.dot(c), c.length_squared() - least);
        let second = xx * yy - xy * xy;
        let third = second * zz + xy * (xz * yz) * 2.0 - xx * (yz * yz) - yy * (xz * xz);
        xx > 0.0 && second > 0.0 && third > 0.0 && f.determinant() > 0.0
    }

    /// Energy and forces of a tet that is not open.
    fn of_closed(&self, tet: usize, f: DMat3) -> (f64, Forces) {
        let svd = svd(f);
        let of = svd.s.to_array().map(|s| self.phi(s));
        let stress = DMat3::from_diagonal(DVec3::from_array(of.map(|phi| phi[1])));
        let forces = tet_gradient(svd.u * stress * svd.v.transpose(), self.inverse[tet], 1.0);
        (of.iter().map(|phi| phi[0]).sum(), forces)
    }

    /// phi with its first and second derivative by a singular value.
    fn phi(&self, s: f64) -> [f64; 3] {
        let (u, a) = (self.onset - s, 0.5 * self.onset);
        if u <= 0.0 {
            [0.0; 3]
        } else if u <= a {
            [u * u * u / (6.0 * a), -u * u / (2.0 * a), u / a]
        } else {
            [0.5 * u * (u - a) + a * a / 6.0, 0.5 * a - u, 1.0]
        }
    }

    fn spectrum(&self, s: DVec3) -> Spectrum {
        let of: [[f64; 3]; 3] = [s.x, s.y, s.z].map(|s| self.phi(s));
        let plane = |k: usize| [(k + 1) % 3, (k + 2) % 3];
        let flip = |k: usize| {
            let [i, j] = plane(k);
            let apart = s[i] - s[j];
            if apart.abs() > 1e-9 { (of[i][1] - of[j][1]) / apart } else { of[i][2] }
        };
        // Both derivatives are at most zero, and so is this.
        let twist = |k: usize| {
            let [i, j] = plane(k);
            (of[i][1] + of[j][1]) / (s[i] + s[j]).max(1e-9)
        };
        Spectrum {
            flip: DVec3::from_array([0, 1, 2].map(flip)),
            twist: DVec3::from_array([0, 1, 2].map(twist)),
            stretch: DMat3::from_diagonal(DVec3::from_array(of.map(|phi| phi[2]))),
        }
    }
}

impl Energy for LeastStretch<'_> {
    fn stencils(&self) -> &[Stencil] {
        self.tets
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        let first = elements.start;
        values.fill(0.0);
        self.for_closed(x, elements, |tet, f| {
            values[tet - first] = svd(f).s.to_array().iter().map(|&s| self.phi(s)[0]).sum();
        });
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        let first = elements.start;
        values.fill(0.0);
        gradients.fill([DVec3::ZERO; 4]);
        self.for_closed(x, elements, |tet, f| {
            (values[tet - first], gradients[tet - first]) = self.of_closed(tet, f);
        });
    }

    fn add_gradients(
        &self,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        corners: &[[u16; 4]],
        sums: &mut [DVec3],
    ) -> f64 {
        let first = elements.start;
        values.fill(0.0);
        self.for_closed(x, elements, |tet, f| {
            let (value, forces) = self.of_closed(tet, f);
            values[tet - first] = value;
            for (&corner, force) in corners[tet - first].iter().zip(forces) {
                sums[usize::from(corner)] += force;
            }
        });
        self.reach()
    }

    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            let f = self.gradient_of(x, tet);
            if self.is_open(f) {
                *block = [[[0.0; 3]; 3]; 10];
                continue;
            }
            let svd = svd(f);
            let spectrum = self.spectrum(svd.s);
            let spectrum = if exact { spectrum } else { spectrum.projected() };
            *block = tet_blocks(&svd, &spectrum, self.inverse[tet], 1.0);
        }
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        tet_laplacians(self.inverse, elements, blocks);
    }

    fn smallest_det(&self, x: &[DVec3], elements: Range<usize>) -> f64 {
        smallest_det(self.tets, self.inverse, x, elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, bar, check_energy, check_rigid_invariance};

    #[test]
    fn derivatives_match_differences() {
        let mut random = Random(8);
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        for k in 0..60 {
            let flat = [1.0, 0.3, 0.1, 0.01, -0.1, -0.6][k % 6];
            let x: Vec<DVec3> =
                corners.iter().map(|&p| p * DVec3::new(1.0, 1.2, flat) + 0.05 * random.vector()).collect();
            let inverse = [(DMat3::IDENTITY + 0.2 * random.matrix()).inverse()];
            let energy =
                LeastStretch { tets: &[[0, 1, 2, 3]], inverse: &inverse, onset: 0.5, clearance: None };
            check_energy(&energy, &x, 1e-5);
            check_rigid_invariance(&energy, &x, &mut random);
        }
    }

    #[test]
    fn open_elements_have_no_energy_and_closed_ones_have() {
        let (tets, inverse) = ([[0, 1, 2, 3]], [DMat3::IDENTITY]);
        let energy = LeastStretch { tets: &tets, inverse: &inverse, onset: 0.2, clearance: None };
        let value = |flat: f64| {
            let x = [DVec3::ZERO, DVec3::X, 3.0 * DVec3::Y, flat * DVec3::Z];
            let mut values = [f64::NAN];
            energy.values(&x, 0..1, &mut values);
            values[0]
        };
        assert_eq!([value(1.0), value(0.21)], [0.0; 2]);
        assert!(value(0.19) > 0.0 && value(0.1) > value(0.19) && value(-0.1) > value(0.1));
    }

    /// With what is known of a start, results are the same to the bit, near it and far from it.
    #[test]
    fn clearances_change_nothing() {
        let mesh = bar([6, 6, 6], DVec3::splat(0.06));
        let inverse: Vec<DMat3> =
            mesh.tets.iter().map(|&tet| edge_matrix(&mesh.nodes, tet).inverse()).collect();
        let mut random = Random(5);
        let start: Vec<DVec3> = mesh.nodes.iter().map(|p| *p + 0.003 * random.vector()).collect();
        let plain = LeastStretch { tets: &mesh.tets, inverse: &inverse, onset: 0.2, clearance: None };
        let clearance = Clearance::prepare(&plain, &start);
        let quick = LeastStretch { clearance: Some(&clearance), ..plain };
        let n = mesh.tets.len();
        assert!(n > BLOCK);
        let mut n_left_out = 0;
        for size in [0.0, 1e-5, 1e-4, 1e-3, 1e-2, f64::NAN] {
            let x: Vec<DVec3> = start.iter().map(|p| *p + size * random.vector()).collect();
            let of = |energy: &LeastStretch| {
                let (mut values, mut forces) = (vec![f64::NAN; n], vec![[DVec3::NAN; 4]; n]);
                energy.gradients(&x, 0..n, &mut values, &mut forces);
                (values, forces)
            };
            if size.is_finite() {
                assert_eq!(of(&plain), of(&quick), "{size}");
            }
            let moved = clearance.moved(&x, &(0..n));
            n_left_out += clearance.distances.iter().filter(|d| moved < **d).count();
        }
        assert!(n_left_out > n / 2, "{n_left_out} of {n} for each of the sizes");
    }
}
