//! Soft tissue: extended St. Venant-Kirchhoff with a volume term of its own [Kozlov17, eq. 5].
//!
//! Per tet, times its rest volume, with `F = dx/dX` and the Green strain `E = (F^T F - I)/2`:
//!
//! ```text
//! U = mu tr(E^2) + lambda/2 (V(x)/V_ref - 1)^2 + barrier(V(x)/V_ref)
//! ```
//!
//! (The printed formula omits the inner square.) The rest positions X give F and the quadrature volume;
//! `V_ref` is given separately, because blendvolumes keep the neutral volume there while X changes [Kozlov17,
//! sec. 6.1]. In singular values the first term is `mu/4 sum (s_i^2 - 1)^2`: it softens under compression and
//! has a local maximum at s = 0, so only the volume term and the barrier prevent inversion.
//!
//! The barrier is ours: `-k (1 - r/r0)^2 log(r/r0)` for volume ratios r below r0, zero above with two
//! continuous derivatives, infinite at r = 0.

use crate::energy::Forces;
use crate::energy::inversion::largest_upright_step;
use crate::energy::isotropic::{Spectrum, cofactor, symmetric, tet_blocks, tet_gradient, tet_laplacian};
use crate::energy::lanes::{Dashpots, Group, LANES, Material, Outcome, edges};
use crate::energy::viscosity::Damped;
use crate::energy::{BodyEnergy, Energy};
use crate::{SolveError, check_length, check_values};
use glam::{DMat3, DVec3};
use pulp::Arch;
use rayon::prelude::*;
use risorius_linalg::{ElementBlocks, Stencil, svd};
use risorius_mesh::tet::tet_mesh::edge_matrix;
use std::ops::Range;

/// Groups of tets that are evaluated together.
const STAGED: usize = 4;

/// Keeps tets from becoming flat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Barrier {
    /// Pascals; 0 switches it off. At about mu, it dominates before an element is compressed to a tenth of
    /// the threshold.
    pub strength: f64,
    /// Acts below this ratio of volume to reference volume, 0 to 1.
    pub threshold: f64,
}

impl Default for Barrier {
    /// Off: the paper's energy.
    fn default() -> Self {
        Self { strength: 0.0, threshold: 0.2 }
    }
}

impl Barrier {
    /// Whether the barrier is on and nonzero at a volume ratio.
    #[inline]
    pub(crate) fn acts_at(&self, r: f64) -> bool {
        self.strength != 0.0 && r < self.threshold
    }

    /// Value and two derivatives at a volume ratio.
    #[inline]
    pub fn at(&self, r: f64) -> [f64; 3] {
        if self.strength == 0.0 || r >= self.threshold {
            return [0.0; 3];
        }
        if r <= 0.0 {
            return [f64::INFINITY; 3];
        }
        let q = r / self.threshold;
        let (l, p) = (q.ln(), 1.0 - q);
        let value = -p * p * l;
        let first = 2.0 * p * l - p * p / q;
        let second = -2.0 * l + 4.0 * p / q + p * p / (q * q);
        [value, first / self.threshold, second / (self.threshold * self.threshold)].map(|v| v * self.strength)
    }
}

/// Rest-shape data of a tissue.
#[derive(Debug, Clone, Default)]
pub struct TissueRest {
    /// Inverse of the rest edge matrix of each tet.
    pub inverse: Vec<DMat3>,
    /// Rest volume of each tet, cubic meters.
    pub volume: Vec<f64>,
}

impl TissueRest {
    /// Fails if a tet is flat or inverted.
    pub fn prepare(tets: &[Stencil], rest: &[DVec3]) -> Result<Self, SolveError> {
        let edges = tets.par_iter().with_min_len(1024).map(|&tet| edge_matrix(rest, tet));
        let (inverse, volume): (Vec<DMat3>, Vec<f64>) =
            edges.map(|e| (e.inverse(), e.determinant() / 6.0)).unzip();
        let bad = |v: f64| !v.is_finite() || v <= 0.0;
        let count = volume.iter().filter(|&&v| bad(v)).count();
        if let Some(first) = volume.iter().position(|&v| bad(v)) {
            return Err(SolveError::BadRest { first, count });
        }
        Ok(Self { inverse, volume })
    }
}

/// The elastic energy of a volume.
#[derive(Debug, Clone)]
pub struct Tissue {
    tets: Vec<Stencil>,
    rest: TissueRest,
    /// Rest volume over reference volume.
    ratio: Vec<f64>,
    mu: Vec<f64>,
    lambda: Vec<f64>,
    barrier: Barrier,
    /// Pascal seconds per tet; empty without viscosity.
    eta: Vec<f64>,
    /// The same data, packed for evaluating several tets at once.
    groups: Vec<Group>,
}

impl Tissue {
    /// From rest positions, reference volumes (the rest volumes if `None`) and materials per tet in pascals.
    pub fn prepare(
        tets: &[Stencil],
        rest: &[DVec3],
        reference_volume: Option<&[f64]>,
        mu: &[f64],
        lambda: &[f64],
        barrier: Barrier,
    ) -> Result<Self, SolveError> {
        check_length("mu per tet", mu.len(), tets.len())?;
        check_length("lambda per tet", lambda.len(), tets.len())?;
        check_values("mu", mu.iter().copied())?;
        check_values("lambda", lambda.iter().copied())?;
        check_values("barrier (strength, threshold)", [barrier.strength, barrier.threshold].into_iter())?;
        let rest = TissueRest::prepare(tets, rest)?;
        let ratio = match reference_volume {
            None => vec![1.0; tets.len()],
            Some(reference) => {
                check_length("reference volume per tet", reference.len(), tets.len())?;
                let ratio: Vec<f64> = rest.volume.iter().zip(reference).map(|(v, r)| v / r).collect();
                check_values("rest volume over reference volume", ratio.iter().copied())?;
                ratio
            }
        };
        let material = |tet: usize| Material {
            inverse: rest.inverse[tet],
            volume: rest.volume[tet],
            ratio: ratio[tet],
            mu: mu[tet],
            lambda: lambda[tet],
        };
        let of_group =
            |k: usize| Group::prepare((k * LANES..((k + 1) * LANES).min(tets.len())).map(material));
        let groups = (0..tets.len().div_ceil(LANES)).into_par_iter().with_min_len(64).map(of_group).collect();
        Ok(Self {
            tets: tets.to_vec(),
            rest,
            ratio,
            mu: mu.to_vec(),
            lambda: lambda.to_vec(),
            barrier,
            eta: Vec::new(),
            groups,
        })
    }

    /// The same tissue with a viscosity in pascal seconds per tet.
    pub fn with_viscosity(self, eta: &[f64]) -> Result<Self, SolveError> {
        check_length("viscosity per tet", eta.len(), self.tets.len())?;
        check_values("viscosity", eta.iter().copied())?;
        Ok(Self { eta: eta.to_vec(), ..self })
    }

    /// The rest shape.
    pub fn rest(&self) -> &TissueRest {
        &self.rest
    }

    #[inline]
    fn gradient_of(&self, x: &[DVec3], tet: usize) -> DMat3 {
        edge_matrix(x, self.tets[tet]) * self.rest.inverse[tet]
    }

    /// The part of the energy density that depends on `det F` only, with its two derivatives.
    #[inline]
    fn of_volume(&self, tet: usize, det: f64) -> [f64; 3] {
        let (c, lambda) = (self.ratio[tet], self.lambda[tet]);
        let excess = c * det - 1.0;
        let barrier = self.barrier.at(c * det);
        [
            0.5 * lambda * excess * excess + barrier[0],
            (lambda * excess + barrier[1]) * c,
            (lambda + barrier[2]) * c * c,
        ]
    }

    /// Energy and gradient of one tet by the formulas in the module header, barrier included.
    fn gradient_by_definition(&self, x: &[DVec3], tet: usize) -> (f64, [DVec3; 4]) {
        let f = self.gradient_of(x, tet);
        let strain = (f.transpose() * f - DMat3::IDENTITY) * 0.5;
        let cofactor = cofactor(f);
        let [h0, h1, _] = self.of_volume(tet, f.x_axis.dot(cofactor.x_axis));
        let stress = f * strain * (2.0 * self.mu[tet]) + cofactor * h1;
        let value = self.rest.volume[tet] * (self.mu[tet] * squared(strain) + h0);
        (value, tet_gradient(stress, self.rest.inverse[tet], self.rest.volume[tet]))
    }

    /// Viscosity in pascal seconds per tet; empty without.
    pub(crate) fn eta(&self) -> &[f64] {
        &self.eta
    }

    /// The dashpots of viscosity over a step from the positions `from`, group by group; `weights` per tet.
    pub(crate) fn dashpots(&self, from: &[DVec3], weights: &[f64]) -> Vec<Dashpots> {
        let arch = Arch::new();
        let of_group = |k: usize| {
            let tets = k * LANES..((k + 1) * LANES).min(self.tets.len());
            let mut weight = [0.0; LANES];
            weight[..tets.len()].copy_from_slice(&weights[tets.clone()]);
            let group = &self.groups[k];
            let from = arch.dispatch(
                #[inline(always)]
                || group.gradients(&self.tets[tets], from),
            );
            Dashpots { from, weight }
        };
        (0..self.groups.len()).into_par_iter().with_min_len(64).map(of_group).collect()
    }

    /// Calls `f(tet, energy, forces)`. Returns the distance within which all of these tets stay upright.
    ///
    /// The edges of several groups are gathered before the first is evaluated, and evaluated before the
    /// first is passed on: what was just written number by number cannot be read into wide registers yet.
    #[inline(always)]
    fn for_tets(
        &self,
        damping: Option<&Damped>,
        x: &[DVec3],
        elements: Range<usize>,
        mut f: impl FnMut(usize, f64, Forces),
    ) -> f64 {
        let mut all_edges = [[[0.0; LANES]; 9]; STAGED];
        let mut outcomes = [const { Outcome::ZERO }; STAGED];
        let mut reach_squared = f64::INFINITY;
        let groups = elements.start / LANES..elements.end.div_ceil(LANES);
        let tets_of = |group: usize| group * LANES..((group + 1) * LANES).min(self.tets.len());
        let mut first = groups.start;
        while first < groups.end {
            let staged = first..(first + STAGED).min(groups.end);
            for (group, to) in staged.clone().zip(&mut all_edges) {
                *to = edges(&self.tets[tets_of(group)], x);
            }
            for ((group, edges), out) in staged.clone().zip(&all_edges).zip(&mut outcomes) {
                let dashpots = damping.map(|damping| &damping.dashpots()[group]);
                self.groups[group].evaluate(dashpots, edges, out);
            }
            for (group, out) in staged.clone().zip(&outcomes) {
                let tets = tets_of(group);
                for tet in tets.start.max(elements.start)..tets.end.min(elements.end) {
                    let lane = tet - tets.start;
                    if self.barrier.acts_at(out.stretch[lane]) {
                        let (value, forces) = self.with_barrier(damping, x, tet);
                        f(tet, value, forces);
                    } else {
                        f(tet, out.value[lane], out.gradient(lane));
                    }
                    reach_squared = reach_squared.min(out.reach_squared[lane]);
                }
            }
            first = staged.end;
        }
        // Slightly less, for rounding. NaN positions give no bound.
        if reach_squared.is_nan() { 0.0 } else { 0.999 * reach_squared.sqrt() }
    }

    /// One tet with barrier and viscosity.
    #[cold]
    fn with_barrier(&self, damping: Option<&Damped>, x: &[DVec3], tet: usize) -> (f64, Forces) {
        let (mut value, mut forces) = self.gradient_by_definition(x, tet);
        if let Some(damping) = damping {
            let (more_value, more) = damping.viscosity().of_tet(x, tet);
            value += more_value;
            forces.iter_mut().zip(more).for_each(|(force, more)| *force += more);
        }
        (value, forces)
    }

    /// [`Energy::add_gradients`], with the dashpots of viscosity if there are any.
    pub(crate) fn add_with(
        &self,
        damping: Option<&Damped>,
        x: &[DVec3],
        elements: Range<usize>,
        values: &mut [f64],
        corners: &[[u16; 4]],
        sums: &mut [DVec3],
    ) -> f64 {
        let first = elements.start;
        Arch::new().dispatch(
            #[inline(always)]
            || {
                self.for_tets(damping, x, elements, |tet, value, forces| {
                    values[tet - first] = value;
                    for (&corner, force) in corners[tet - first].iter().zip(forces) {
                        sums[usize::from(corner)] += force;
                    }
                })
            },
        )
    }

    /// Derivatives with respect to F in the frame of its singular vectors `s`.
    fn spectrum(&self, tet: usize, s: DVec3) -> Spectrum {
        let mu = self.mu[tet];
        let [_, h1, h2] = self.of_volume(tet, s.x * s.y * s.z);
        let mut spectrum = Spectrum::of_invariants(s, -0.5 * mu, 0.0, h1, h2);
        let squares = s * s;
        let products = DVec3::new(s.y * s.z, s.z * s.x, s.x * s.y);
        let sums = DVec3::splat(squares.element_sum()) - squares;
        spectrum.flip += mu * (sums + products);
        spectrum.twist += mu * (sums - products);
        spectrum.stretch += symmetric(3.0 * mu * squares, DVec3::ZERO);
        spectrum
    }
}

/// Tissue of a body in motion: mu and lambda of each tet are its parameters, and, if it is viscous, its
/// viscosity eta in pascal seconds.
pub struct ElasticTets {
    /// The tets.
    pub tets: Vec<Stencil>,
    /// Keeps tets from inverting; acts below the threshold only.
    pub barrier: Barrier,
    /// Whether there is a third list of parameters, the viscosity.
    pub viscous: bool,
}

impl ElasticTets {
    /// With the barrier that dynamic steps use.
    pub fn new(tets: &[Stencil]) -> Self {
        Self { tets: tets.to_vec(), barrier: Barrier { strength: 3000.0, threshold: 0.2 }, viscous: false }
    }

    /// The same with viscosity.
    pub fn viscous(tets: &[Stencil]) -> Self {
        Self { viscous: true, ..Self::new(tets) }
    }
}

impl BodyEnergy for ElasticTets {
    fn stencils(&self) -> &[Stencil] {
        &self.tets
    }

    fn n_parameters(&self) -> usize {
        if self.viscous { 3 } else { 2 }
    }

    fn at(&self, rest: &[DVec3], parameters: &[Vec<f64>]) -> Result<Box<dyn Energy + Send>, SolveError> {
        check_length("parameters of tissue", parameters.len(), self.n_parameters())?;
        let tissue = Tissue::prepare(&self.tets, rest, None, &parameters[0], &parameters[1], self.barrier)?;
        Ok(Box::new(if self.viscous { tissue.with_viscosity(&parameters[2])? } else { tissue }))
    }

    /// True if the shear stiffness of any tet differs by a factor of more than 1.25.
    fn is_unlike(&self, a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
        let stiffer = |(a, b): (&f64, &f64)| *a > 1.25 * b || *b > 1.25 * a;
        a.first().into_iter().flatten().zip(b.first().into_iter().flatten()).any(stiffer)
    }
}

impl Energy for Tissue {
    fn stencils(&self) -> &[Stencil] {
        &self.tets
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        for (value, tet) in values.iter_mut().zip(elements) {
            let f = self.gradient_of(x, tet);
            let strain = (f.transpose() * f - DMat3::IDENTITY) * 0.5;
            *value = self.rest.volume[tet]
                * (self.mu[tet] * squared(strain) + self.of_volume(tet, f.determinant())[0]);
        }
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        let first = elements.start;
        self.for_tets(None, x, elements, |tet, value, forces| {
            (values[tet - first], gradients[tet - first]) = (value, forces);
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
        self.add_with(None, x, elements, values, corners, sums)
    }

    fn hessians(&self, x: &[DVec3], elements: Range<usize>, exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            let svd = svd(self.gradient_of(x, tet));
            let spectrum = self.spectrum(tet, svd.s);
            let spectrum = if exact { spectrum } else { spectrum.projected() };
            *block = tet_blocks(&svd, &spectrum, self.rest.inverse[tet], self.rest.volume[tet]);
        }
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        for (block, tet) in blocks.iter_mut().zip(elements) {
            // At rest, the eigenvalues are 2 mu (shear), 2 mu + lambda c^2 (stretch) and 0 (rotation).
            let stiffness = 2.0 * self.mu[tet] + self.lambda[tet] * self.ratio[tet] * self.ratio[tet] / 3.0;
            *block = tet_laplacian(self.rest.inverse[tet], stiffness * self.rest.volume[tet]);
        }
    }

    fn largest_step(&self, x: &[DVec3], d: &[DVec3], elements: Range<usize>) -> f64 {
        elements.fold(f64::INFINITY, |step, tet| {
            let nodes = self.tets[tet];
            step.min(largest_upright_step(edge_matrix(x, nodes), edge_matrix(d, nodes)))
        })
    }

    fn damped<'a>(&'a self, from: &'a [DVec3], dt_secs: f64) -> Option<Damped<'a>> {
        (!self.eta.is_empty()).then(|| Damped::prepare(self, from, dt_secs))
    }

    fn smallest_det(&self, x: &[DVec3], elements: Range<usize>) -> f64 {
        let det = |tet: usize| edge_matrix(x, self.tets[tet]).determinant() / (6.0 * self.rest.volume[tet]);
        elements.fold(f64::INFINITY, |least, tet| least.min(det(tet)))
    }
}

/// `tr(E^2)` of a symmetric matrix.
#[inline]
fn squared(e: DMat3) -> f64 {
    e.x_axis.length_squared() + e.y_axis.length_squared() + e.z_axis.length_squared()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, check_energy, check_rigid_invariance};

    fn one_tet(random: &mut Random, barrier: Barrier) -> Tissue {
        let rest: Vec<DVec3> =
            [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|p| p + 0.2 * random.vector()).to_vec();
        let volume = edge_matrix(&rest, [0, 1, 2, 3]).determinant() / 6.0;
        let reference = [volume * (1.0 + 0.3 * random.number())];
        Tissue::prepare(&[[0, 1, 2, 3]], &rest, Some(&reference), &[3.0], &[2.5], barrier).unwrap()
    }

    /// Random, compressed, nearly flat and inverted states.
    fn states(random: &mut Random) -> Vec<Vec<DVec3>> {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let mut state = |scale: DVec3, noise: f64| -> Vec<DVec3> {
            let turn = random.rotation();
            corners.iter().map(|&p| turn * (p * scale + noise * random.vector())).collect()
        };
        vec![
            state(DVec3::ONE, 0.2),
            state(DVec3::splat(1.5), 0.3),
            state(DVec3::splat(0.4), 0.05),
            state(DVec3::new(1.0, 1.0, 0.01), 0.0),
            state(DVec3::new(1.2, 0.9, 1e-5), 0.0),
            state(DVec3::new(1.0, 1e-4, 1e-4), 0.0),
            state(DVec3::new(1.0, 0.8, -0.3), 0.05),
            state(DVec3::splat(0.02), 0.0),
        ]
    }

    #[test]
    fn derivatives_match_differences() {
        let mut random = Random(7);
        for _ in 0..20 {
            let plain = one_tet(&mut random, Barrier::default());
            let guarded = one_tet(&mut random, Barrier { strength: 2.0, threshold: 0.3 });
            for x in states(&mut random) {
                check_energy(&plain, &x, 1e-6);
                let det = guarded.smallest_det(&x, 0..1);
                if det > 5e-3 {
                    check_energy(&guarded, &x, 1e-6 * det.min(0.1));
                }
            }
        }
    }

    #[test]
    fn rigid_motion_gives_no_force_and_no_energy() {
        let mut random = Random(9);
        let tissue = one_tet(&mut random, Barrier { strength: 1.0, threshold: 0.9 });
        for x in states(&mut random) {
            if tissue.smallest_det(&x, 0..1) > 1e-4 {
                check_rigid_invariance(&tissue, &x, &mut random);
            }
        }
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let tissue =
            Tissue::prepare(&[[0, 1, 2, 3]], &rest, None, &[3.0], &[5.0], Barrier::default()).unwrap();
        let turn = random.rotation();
        let moved: Vec<DVec3> = rest.iter().map(|&p| turn * p + DVec3::splat(3.0)).collect();
        let (mut value, mut gradient) = ([0.0], [[DVec3::ZERO; 4]]);
        tissue.gradients(&moved, 0..1, &mut value, &mut gradient);
        assert!(value[0] < 1e-28 && gradient[0].iter().all(|g| g.length() < 1e-13));
    }

    /// Compares groups of tets with the tet-by-tet definition, in ranges that begin and end within groups,
    /// and the distance within which tets stay upright with the exact step.
    #[test]
    fn groups_are_as_by_definition_and_reach_is_safe() {
        let mut random = Random(21);
        let mesh = crate::fixtures::bar([5, 3, 3], DVec3::new(0.05, 0.03, 0.03));
        let n = mesh.tets.len();
        let some = |scale: f64, random: &mut Random| -> Vec<f64> {
            (0..n).map(|_| scale * (1.5 + random.number())).collect()
        };
        let (mu, lambda) = (some(3e3, &mut random), some(8e3, &mut random));
        let volume: Vec<f64> = (0..n)
            .map(|tet| mesh.edges_of(tet).determinant() / 6.0 * (1.2 + 0.1 * random.number()))
            .collect();
        let barrier = Barrier { strength: 2e3, threshold: 0.6 };
        let tissue = Tissue::prepare(&mesh.tets, &mesh.nodes, Some(&volume), &mu, &lambda, barrier).unwrap();
        let (mut guarded, mut skipped) = (0, 0);
        for round in 0..60 {
            let noise = 1e-4 * f64::from(round % 20);
            let moved = |random: &mut Random, scale: f64| -> Vec<DVec3> {
                mesh.nodes.iter().map(|_| random.vector() * scale).collect()
            };
            let x: Vec<DVec3> =
                mesh.nodes.iter().zip(moved(&mut random, noise)).map(|(p, d)| *p + d).collect();
            let range = 3 + round as usize % 7..n - 5;
            let mut values = vec![0.0; range.len()];
            let mut gradients = vec![[DVec3::ZERO; 4]; range.len()];
            let first = range.start;
            let reach = tissue.for_tets(None, &x, range.clone(), |tet, value, forces| {
                (values[tet - first], gradients[tet - first]) = (value, forces);
            });
            for (at, tet) in range.clone().enumerate() {
                let (value, gradient) = tissue.gradient_by_definition(&x, tet);
                if value.is_infinite() {
                    assert!(values[at].is_infinite());
                    continue;
                }
                let size = gradient.iter().map(|g| g.length()).fold(1e-9, f64::max);
                assert!(
                    (values[at] - value).abs() <= 1e-12 * value.abs().max(1e-12),
                    "{} {value}",
                    values[at]
                );
                assert!(
                    gradient.iter().zip(&gradients[at]).all(|(a, b)| a.distance(*b) < 1e-11 * size),
                    "tet {tet}"
                );
                guarded += usize::from(
                    value.is_finite()
                        && tissue
                            .barrier
                            .acts_at(tissue.gradient_of(&x, tet).determinant() * tissue.ratio[tet]),
                );
            }
            let d = moved(&mut random, 1e-4 * f64::from(1 + round / 3));
            let length = d.iter().map(|d| d.length()).fold(0.0, f64::max);
            if length < reach {
                assert_eq!(tissue.largest_step(&x, &d, range), f64::INFINITY);
                skipped += 1;
            }
        }
        assert!(guarded > 20, "the barrier acted on {guarded} tets");
        assert!((5..55).contains(&skipped), "{skipped} of 60 searches are skipped");
    }

    #[test]
    fn the_barrier_joins_smoothly() {
        let barrier = Barrier { strength: 10.0, threshold: 0.2 };
        assert_eq!(barrier.at(0.2), [0.0; 3]);
        let near = barrier.at(0.2 - 1e-9);
        assert!(near[0].abs() < 1e-20 && near[1].abs() < 1e-12 && near[2].abs() < 1e-4, "{near:?}");
        assert!(barrier.at(0.0)[0].is_infinite() && barrier.at(-1.0)[0].is_infinite());
        assert!(barrier.at(1e-12)[0] > barrier.at(1e-6)[0]);
        assert!([0.19, 0.1, 1e-3, 1e-9].iter().all(|&r| barrier.at(r)[1] < 0.0 && barrier.at(r)[2] > 0.0));
    }

    #[test]
    fn bad_input_is_named() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Z, DVec3::Y];
        let error =
            Tissue::prepare(&[[0, 1, 2, 3]], &rest, None, &[1.0], &[1.0], Barrier::default()).unwrap_err();
        assert_eq!(error, SolveError::BadRest { first: 0, count: 1 });
        let error = Tissue::prepare(&[[0, 1, 3, 2]], &rest, None, &[f64::NAN], &[1.0], Barrier::default())
            .unwrap_err();
        assert!(matches!(error, SolveError::Parameter { what: "mu", .. }));
    }
}
