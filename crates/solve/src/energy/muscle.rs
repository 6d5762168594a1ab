//! Flesh with muscles: quasi-incompressible Mooney-Rivlin, and fibers that pull by activation.
//!
//! The constitutive model of [Teran05, sec. 4] and [Sifakis05, sec. 3]. Per tet, times its rest volume, with
//! `F = dx/dX`, `J = det F`, `I1 = |F|^2`, `I2 = |cof F|^2`:
//!
//! ```text
//! U = mu10 (J^-2/3 I1 - 3) + mu01 (J^-4/3 I2 - 3) + kappa/2 log(J)^2
//!   + sum over muscles of share * strength * integral of (activation * active(l) + passive(l)) dl,  l = |F a|
//! ```
//!
//! `a` is the mean fiber direction of a muscle in the tet and `share` the part of the tet that it fills; a
//! tet can have several muscles, and each counts. The curves are those of [`super::fiber`]. `mu10` and `mu01`
//! are in the ratio 3 : 1 of \[Teran05\], and the shear modulus is `2 (mu10 + mu01)`.
//!
//! Departures: `l` is the stretch itself, not the deviatoric one, which differs by a third of the change of
//! volume and would couple every fiber to the pressure. The energy is infinite for flat and inverted tets, so
//! that no state with them is accepted; \[Sifakis05\] instead lets elements invert and pushes them back.
//!
//! Second derivatives: the isotropic part by its singular values ([`super::isotropic`]), fibers in closed
//! form (`d2U/dl2` along the fiber, `dU/dl / l` across it). Each is projected on its own, so that their sum
//! is positive semidefinite [Teran05b, the definiteness fix].

use crate::energy::fiber;
use crate::energy::inversion::largest_upright_step;
use crate::energy::isotropic::{Spectrum, cofactor, symmetric, tet_blocks, tet_gradient, tet_laplacian};
use crate::energy::tissue::TissueRest;
use crate::energy::{BodyEnergy, Energy, Forces};
use crate::{SolveError, check_length, check_values};
use glam::{DMat3, DVec3};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{ElementBlocks, Stencil, svd};
use risorius_mesh::tet::tet_mesh::edge_matrix;
use std::ops::Range;
use std::sync::Arc;

/// mu10 and mu01 in shares of the shear modulus: 3 : 1, and `2 (mu10 + mu01) = mu`.
const SHARES: [f64; 2] = [0.375, 0.125];

/// One muscle in one tet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fiber {
    /// Index of the muscle.
    pub muscle: u32,
    /// Unit direction at rest.
    pub direction: DVec3,
    /// The part of the tet that the muscle fills, 0 to 1.
    pub share: f64,
}

/// The fibers of all tets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fibers {
    /// Index of the first fiber of each tet, and the end.
    pub first: Vec<u32>,
    /// The fibers, tet by tet.
    pub all: Vec<Fiber>,
    /// Greatest isometric stress of each muscle, Pa.
    pub strength: Vec<f64>,
}

impl Fibers {
    /// The fibers of a tet.
    pub fn of(&self, tet: usize) -> &[Fiber] {
        &self.all[self.first[tet] as usize..self.first[tet + 1] as usize]
    }

    fn check(&self, n_tets: usize) -> Result<(), SolveError> {
        check_length("index of the first fiber of each tet", self.first.len(), n_tets + 1)?;
        check_values("strength of a muscle", self.strength.iter().copied())?;
        check_values("share of a muscle in a tet", self.all.iter().map(|f| f.share))?;
        let known = self.all.iter().filter(|f| (f.muscle as usize) < self.strength.len()).count();
        check_length("fibers of known muscles", known, self.all.len())
    }
}

/// Flesh with muscles at a rest shape.
#[derive(Debug, Clone)]
pub struct MuscleTissue {
    tets: Arc<Vec<Stencil>>,
    fibers: Arc<Fibers>,
    rest: TissueRest,
    mu: Vec<f64>,
    kappa: Vec<f64>,
    activations: Vec<f64>,
}

impl MuscleTissue {
    /// `mu`, `kappa`: shear and bulk modulus of each tet, Pa. `activations`: of each muscle.
    pub fn prepare(
        tets: Arc<Vec<Stencil>>,
        fibers: Arc<Fibers>,
        rest: &[DVec3],
        mu: &[f64],
        kappa: &[f64],
        activations: &[f64],
    ) -> Result<Self, SolveError> {
        check_length("shear modulus per tet", mu.len(), tets.len())?;
        check_length("bulk modulus per tet", kappa.len(), tets.len())?;
        check_values("shear modulus", mu.iter().copied())?;
        check_values("bulk modulus", kappa.iter().copied())?;
        fibers.check(tets.len())?;
        let rest = TissueRest::prepare(&tets, rest)?;
        let (mu, kappa) = (mu.to_vec(), kappa.to_vec());
        Self { tets, fibers, rest, mu, kappa, activations: Vec::new() }.activated(activations)
    }

    /// The same flesh with other activations.
    pub fn activated(mut self, activations: &[f64]) -> Result<Self, SolveError> {
        check_length("activations", activations.len(), self.fibers.strength.len())?;
        check_values("activation", activations.iter().copied())?;
        self.activations = activations.to_vec();
        Ok(self)
    }

    /// The activations.
    pub fn activations(&self) -> &[f64] {
        &self.activations
    }

    fn gradient_of(&self, x: &[DVec3], tet: usize) -> DMat3 {
        edge_matrix(x, self.tets[tet]) * self.rest.inverse[tet]
    }

    /// Energy density and stress of the isotropic part, infinite unless upright.
    fn isotropic(&self, tet: usize, f: DMat3) -> (f64, DMat3) {
        let cofactor = cofactor(f);
        let det = f.x_axis.dot(cofactor.x_axis);
        if det.is_nan() || det <= 0.0 {
            return (f64::INFINITY, DMat3::ZERO);
        }
        let right = f.transpose() * f;
        let (i1, i2) = (squares(f), squares(cofactor));
        let d = Derivatives::at(self.mu[tet], self.kappa[tet], [i1, i2, det]);
        (d.value, f * (2.0 * d.one + 2.0 * d.two * i1) - f * right * (2.0 * d.two) + cofactor * d.det)
    }

    /// For each fiber of a tet: `F a`, its length, and share times stress, integrated, and derived.
    fn pulling(&self, tet: usize, f: DMat3) -> impl Iterator<Item = (&Fiber, DVec3, f64, [f64; 3])> {
        self.fibers.of(tet).iter().map(move |fiber| {
            let along = f * fiber.direction;
            let length = along.length();
            let muscle = fiber.muscle as usize;
            let scale = fiber.share * self.fibers.strength[muscle];
            let curve = fiber::total(length, self.activations[muscle]).map(|c| c * scale);
            (fiber, along, length, curve)
        })
    }

    fn of_tet(&self, x: &[DVec3], tet: usize) -> (f64, Forces) {
        let f = self.gradient_of(x, tet);
        let (mut value, mut stress) = self.isotropic(tet, f);
        for (fiber, along, length, [energy, pull, _]) in self.pulling(tet, f) {
            value += energy;
            if length > 0.0 {
                stress += outer(along * (pull / length), fiber.direction);
            }
        }
        let volume = self.rest.volume[tet];
        (volume * value, tet_gradient(stress, self.rest.inverse[tet], volume))
    }

    /// The stress of each muscle now: the mean over its tets, weighted by the volume that it fills, of active
    /// and passive stress, Pa; and its mean stretch along the fibers.
    pub fn tensions(&self, x: &[DVec3]) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 3]; self.activations.len()];
        for tet in 0..self.tets.len() {
            let f = self.gradient_of(x, tet);
            for (fiber, _, length, [_, pull, _]) in self.pulling(tet, f) {
                let sum = &mut sums[fiber.muscle as usize];
                sum[0] += self.rest.volume[tet] * pull;
                sum[1] += self.rest.volume[tet] * fiber.share * length;
                sum[2] += self.rest.volume[tet] * fiber.share;
            }
        }
        let mean = |[pull, length, filled]: [f64; 3]| match filled > 0.0 {
            true => [pull / filled, length / filled],
            false => [0.0, 1.0],
        };
        sums.into_iter().map(mean).collect()
    }

    /// The derivative of all forces (the energy's gradient) by the activation of a muscle: entries are added
    /// to `sums`, one per node.
    pub fn add_pull_of(&self, muscle: usize, x: &[DVec3], sums: &mut [DVec3]) {
        for tet in 0..self.tets.len() {
            for fiber in self.fibers.of(tet).iter().filter(|f| f.muscle as usize == muscle) {
                let along = self.gradient_of(x, tet) * fiber.direction;
                let length = along.length();
                if length == 0.0 {
                    continue;
                }
                let pull = fiber.share * self.fibers.strength[muscle] * fiber::active(length)[1];
                let stress = outer(along * (pull / length), fiber.direction);
                let forces = tet_gradient(stress, self.rest.inverse[tet], self.rest.volume[tet]);
                for (&node, force) in self.tets[tet].iter().zip(forces) {
                    sums[node as usize] += force;
                }
            }
        }
    }

    /// Adds a fiber's second derivatives to the blocks of its tet.
    fn add_fiber_blocks(
        &self,
        tet: usize,
        (fiber, along, length, [_, pull, slope]): (&Fiber, DVec3, f64, [f64; 3]),
        exact: bool,
        blocks: &mut ElementBlocks<3>,
    ) {
        if length == 0.0 {
            return;
        }
        let normal = along / length;
        let (stiff, across) = (if exact { slope } else { slope.max(0.0) }, pull / length);
        let matrix = outer(normal, normal) * (stiff - across) + DMat3::from_diagonal(DVec3::splat(across));
        let inner = self.rest.inverse[tet] * fiber.direction;
        let weights = [-inner.element_sum(), inner.x, inner.y, inner.z];
        for a in 0..4 {
            for b in 0..=a {
                let more = matrix * (self.rest.volume[tet] * weights[a] * weights[b]);
                let block = &mut blocks[block_index(a, b)];
                for (to, from) in block.iter_mut().zip(more.to_cols_array_2d()) {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                }
            }
        }
    }
}

/// Derivatives of the isotropic energy density by `I1`, `I2` and `J`.
struct Derivatives {
    value: f64,
    one: f64,
    two: f64,
    det: f64,
    one_det: f64,
    two_det: f64,
    det_det: f64,
}

impl Derivatives {
    fn at(mu: f64, kappa: f64, [i1, i2, j]: [f64; 3]) -> Self {
        let [mu10, mu01] = SHARES.map(|share| share * mu);
        let (a, log) = (j.powf(-2.0 / 3.0), j.ln());
        let b = a * a;
        let (one, two) = (mu10 * a, mu01 * b);
        Self {
            value: one * i1 - 3.0 * mu10 + two * i2 - 3.0 * mu01 + 0.5 * kappa * log * log,
            one,
            two,
            det: (kappa * log - 2.0 / 3.0 * one * i1 - 4.0 / 3.0 * two * i2) / j,
            one_det: -2.0 / 3.0 * one / j,
            two_det: -4.0 / 3.0 * two / j,
            det_det: (kappa * (1.0 - log) + 10.0 / 9.0 * one * i1 + 28.0 / 9.0 * two * i2) / (j * j),
        }
    }

    /// Second derivatives in the frame of the singular vectors. With `g1 = dI1/ds` and so on:
    /// `psi_12 g1 g2^T + ... + psi_1 d2 I1/ds2 + ...`; flips and twists with their divisions carried out.
    fn spectrum(&self, s: DVec3) -> Spectrum {
        let squares = s * s;
        let i1 = squares.element_sum();
        let products = DVec3::new(s.y * s.z, s.z * s.x, s.x * s.y);
        let (g1, g2, gj) = (2.0 * s, 2.0 * s * (DVec3::splat(i1) - squares), products);
        let twos = |a: DVec3, b: DVec3, k: f64| (outer(a, b) + outer(b, a)) * k;
        let mut stretch = twos(g1, gj, self.one_det) + twos(g2, gj, self.two_det);
        stretch += outer(gj, gj) * self.det_det;
        let diagonal = DVec3::splat(2.0 * self.one) + 2.0 * self.two * (DVec3::splat(i1) - squares);
        stretch += symmetric(diagonal, 4.0 * self.two * products + self.det * s);
        let base = DVec3::splat(2.0 * self.one);
        Spectrum {
            flip: base + 2.0 * self.two * (squares - products) - self.det * s,
            twist: base + 2.0 * self.two * (squares + products) + self.det * s,
            stretch,
        }
    }
}

/// The sum of the squares of all entries.
fn squares(m: DMat3) -> f64 {
    m.x_axis.length_squared() + m.y_axis.length_squared() + m.z_axis.length_squared()
}

/// `a b^T`.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

impl Energy for MuscleTissue {
    fn stencils(&self) -> &[Stencil] {
        &self.tets
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        values.iter_mut().zip(elements).for_each(|(value, tet)| *value = self.of_tet(x, tet).0);
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        for ((value, gradient), tet) in values.iter_mut().zip(gradients).zip(elements) {
            (*value, *gradient) = self.of_tet(x, tet);
        }
    }

    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            let f = self.gradient_of(x, tet);
            let svd = svd(f);
            let s = svd.s;
            let squared = s * s;
            let i2 = squared.y * squared.z + squared.z * squared.x + squared.x * squared.y;
            let det = s.x * s.y * s.z;
            let d = Derivatives::at(self.mu[tet], self.kappa[tet], [squared.element_sum(), i2, det]);
            let spectrum = d.spectrum(s);
            let spectrum = if exact { spectrum } else { spectrum.projected() };
            *block = tet_blocks(&svd, &spectrum, self.rest.inverse[tet], self.rest.volume[tet]);
            for pulling in self.pulling(tet, f) {
                self.add_fiber_blocks(tet, pulling, exact, block);
            }
        }
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            // A fiber resists sideways motion by its stress, and stretching by about a third of its strength.
            let of_fiber = |fiber: &Fiber| {
                let muscle = fiber.muscle as usize;
                fiber.share * self.fibers.strength[muscle] * (0.1 + self.activations[muscle])
            };
            let fibers: f64 = self.fibers.of(tet).iter().map(of_fiber).sum();
            let stiffness = 2.0 * self.mu[tet] + self.kappa[tet] / 3.0 + fibers;
            *block = tet_laplacian(self.rest.inverse[tet], stiffness * self.rest.volume[tet]);
        }
    }

    fn is_directional(&self) -> bool {
        self.activations.iter().any(|a| *a > 0.0)
    }

    fn largest_step(&self, x: &[DVec3], d: &[DVec3], elements: Range<usize>) -> f64 {
        elements.fold(f64::INFINITY, |step, tet| {
            let nodes = self.tets[tet];
            step.min(largest_upright_step(edge_matrix(x, nodes), edge_matrix(d, nodes)))
        })
    }

    fn smallest_det(&self, x: &[DVec3], elements: Range<usize>) -> f64 {
        let det = |tet: usize| edge_matrix(x, self.tets[tet]).determinant() / (6.0 * self.rest.volume[tet]);
        elements.fold(f64::INFINITY, |least, tet| least.min(det(tet)))
    }
}

/// Flesh with muscles of a body in motion. Its parameters: shear modulus of each tet, bulk modulus of each
/// tet, activation of each muscle.
pub struct MuscleTets {
    /// The tets.
    pub tets: Arc<Vec<Stencil>>,
    /// Their fibers.
    pub fibers: Arc<Fibers>,
}

impl BodyEnergy for MuscleTets {
    fn stencils(&self) -> &[Stencil] {
        &self.tets
    }

    fn n_parameters(&self) -> usize {
        3
    }

    fn at(&self, rest: &[DVec3], parameters: &[Vec<f64>]) -> Result<Box<dyn Energy + Send>, SolveError> {
        check_length("parameters of flesh with muscles", parameters.len(), 3)?;
        let [mu, kappa, activations] = [0, 1, 2].map(|k| &parameters[k]);
        let (tets, fibers) = (self.tets.clone(), self.fibers.clone());
        Ok(Box::new(MuscleTissue::prepare(tets, fibers, rest, mu, kappa, activations)?))
    }

    /// True if an activation differs by more than 0.1.
    fn is_unlike(&self, a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
        let pairs = a.last().into_iter().flatten().zip(b.last().into_iter().flatten());
        pairs.into_iter().any(|(a, b)| (a - b).abs() > 0.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, bar, block_entry, check_energy, check_rigid_invariance};

    const CORNERS: [DVec3; 4] = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];

    /// A tet with two muscles.
    fn one_tet(random: &mut Random, activations: [f64; 2]) -> MuscleTissue {
        let rest: Vec<DVec3> = CORNERS.map(|p| p + 0.2 * random.vector()).to_vec();
        let fiber = |muscle: u32, direction: DVec3, share: f64| Fiber { muscle, direction, share };
        let all =
            vec![fiber(0, random.vector().normalize(), 0.6), fiber(1, random.vector().normalize(), 0.3)];
        let fibers = Fibers { first: vec![0, 2], all, strength: vec![4.0, 7.0] };
        let (tets, fibers) = (Arc::new(vec![[0, 1, 2, 3]]), Arc::new(fibers));
        MuscleTissue::prepare(tets, fibers, &rest, &[3.0], &[20.0], &activations).unwrap()
    }

    fn states(random: &mut Random) -> Vec<Vec<DVec3>> {
        let mut state = |scale: DVec3, noise: f64| -> Vec<DVec3> {
            let turn = random.rotation();
            CORNERS.iter().map(|&p| turn * (p * scale + noise * random.vector())).collect()
        };
        vec![
            state(DVec3::ONE, 0.1),
            state(DVec3::splat(1.4), 0.2),
            state(DVec3::splat(0.5), 0.03),
            state(DVec3::new(1.9, 0.8, 0.7), 0.03),
            state(DVec3::new(0.45, 1.4, 1.4), 0.03),
        ]
    }

    #[test]
    fn derivatives_match_differences() {
        let mut random = Random(17);
        for k in 0..20 {
            let tissue = one_tet(&mut random, [0.0, 1.0].map(|a: f64| (a - 0.1 * f64::from(k % 3)).abs()));
            for x in states(&mut random) {
                if tissue.smallest_det(&x, 0..1) > 0.02 {
                    check_energy(&tissue, &x, 1e-6);
                }
            }
        }
    }

    #[test]
    fn rigid_motion_gives_no_force_of_flesh_and_pulls_turn_with_it() {
        let mut random = Random(19);
        for activations in [[0.0, 0.0], [1.0, 0.4]] {
            let tissue = one_tet(&mut random, activations);
            for x in states(&mut random) {
                if tissue.smallest_det(&x, 0..1) > 0.02 {
                    check_rigid_invariance(&tissue, &x, &mut random);
                }
            }
        }
        let mesh = bar([2, 2, 2], DVec3::splat(0.02));
        let n = mesh.tets.len();
        let fiber = Fiber { muscle: 0, direction: DVec3::X, share: 0.5 };
        let first = (0..=n as u32).collect();
        let fibers = Arc::new(Fibers { first, all: vec![fiber; n], strength: vec![1e5] });
        let tets = Arc::new(mesh.tets.clone());
        let tissue =
            MuscleTissue::prepare(tets, fibers, &mesh.nodes, &vec![3e3; n], &vec![2e4; n], &[0.0]).unwrap();
        let turn = random.rotation();
        let moved: Vec<DVec3> = mesh.nodes.iter().map(|&p| turn * p + DVec3::splat(0.3)).collect();
        let (mut values, mut gradients) = (vec![0.0; n], vec![[DVec3::ZERO; 4]; n]);
        tissue.gradients(&moved, 0..n, &mut values, &mut gradients);
        // A stress of 3 kPa on a square centimeter is 0.3 N.
        assert!(gradients.iter().flatten().all(|g| g.length() < 1e-13), "without activation nothing pulls");
        assert!(values.iter().all(|v| v.abs() < 1e-18));
    }

    /// The projected second derivatives have no negative eigenvalue: random vectors give no negative product,
    /// and where the exact ones are indefinite, they differ.
    #[test]
    fn projected_second_derivatives_are_positive_semidefinite() {
        let mut random = Random(23);
        let mut indefinite = 0;
        for _ in 0..20 {
            let tissue = one_tet(&mut random, [1.0, 0.7]);
            for x in states(&mut random).into_iter().filter(|x| tissue.smallest_det(x, 0..1) > 0.02) {
                let least = |exact: bool| {
                    let mut blocks = [[[[0.0; 3]; 3]; 10]; 1];
                    tissue.hessians(&x, 0..1, exact, &mut blocks);
                    least_eigenvalue(&blocks[0])
                };
                let [exact, projected] = [least(true), least(false)];
                assert!(projected > -1e-9, "{projected}");
                indefinite += usize::from(exact < -1e-6);
            }
        }
        assert!(indefinite > 10, "{indefinite}");
    }

    /// By power iteration on the shifted matrix.
    fn least_eigenvalue(blocks: &ElementBlocks<3>) -> f64 {
        let entry = |i: usize, j: usize| block_entry(blocks, i, j);
        let shift: f64 = (0..12).map(|i| (0..12).map(|j| entry(i, j).abs()).sum::<f64>()).fold(0.0, f64::max);
        let mut v: Vec<f64> = (0..12).map(|i| 1.0 + 0.37 * (i as f64 * 1.7).sin()).collect();
        let mut value = 0.0;
        for _ in 0..3000 {
            let image: Vec<f64> =
                (0..12).map(|i| shift * v[i] - (0..12).map(|j| entry(i, j) * v[j]).sum::<f64>()).collect();
            value = image.iter().map(|x| x * x).sum::<f64>().sqrt();
            v = image.iter().map(|x| x / value).collect();
        }
        shift - value
    }

    #[test]
    fn pulls_of_single_muscles_are_derivatives_of_forces() {
        let mut random = Random(29);
        let tissue = one_tet(&mut random, [0.3, 0.5]);
        let x = states(&mut random).swap_remove(3);
        let forces = |activations: [f64; 2]| {
            let mut gradient = [[DVec3::ZERO; 4]];
            tissue.clone().activated(&activations).unwrap().gradients(&x, 0..1, &mut [0.0], &mut gradient);
            gradient[0]
        };
        for muscle in 0..2 {
            let mut sums = vec![DVec3::ZERO; 4];
            tissue.add_pull_of(muscle, &x, &mut sums);
            let mut more = [0.3, 0.5];
            more[muscle] += 0.1;
            let change = forces(more).into_iter().zip(forces([0.3, 0.5])).map(|(a, b)| (a - b) / 0.1);
            assert!(change.zip(sums).all(|(a, b)| a.distance(b) < 1e-10), "forces are linear in activation");
        }
    }

    #[test]
    fn bad_input_is_named() {
        let mut random = Random(3);
        let error = one_tet(&mut random, [0.0; 2]).activated(&[0.0]).unwrap_err();
        assert!(error.to_string().contains("activations: 1 given, 2 expected"), "{error}");
        let error = one_tet(&mut random, [0.0; 2]).activated(&[0.0, f64::NAN]).unwrap_err();
        assert!(matches!(error, SolveError::Parameter { what: "activation", element: 1, .. }));
    }
}
