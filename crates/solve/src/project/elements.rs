//! The tets of a body in groups, their aims, and the sums of their energies and forces.

use super::kernel::{Aim, Group, LANES, Matrices, Number, Outcome, Pack, Task};
use crate::energy::BLOCK;
use crate::energy::tissue::TissueRest;
use crate::minimize::scatter::Scatter;
use crate::{SolveError, check_length, check_values};
use glam::{DMat3, DVec3};
use pulp::Arch;
use rayon::prelude::*;
use risorius_linalg::Stencil;
use std::ops::Range;

/// Groups in a block of [`BLOCK`] tets.
const GROUPS: usize = BLOCK / LANES;

/// Stiffness of every tet, pascals; an empty list is zero everywhere.
///
/// For small strain e with displacement gradient G, the energies per volume are `target |G|^2 / 2`,
/// `rigid |e|^2 / 2` and `volume tr(e)^2 / 6`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TetWeights {
    /// Towards the target gradient, rotation included.
    pub target: Vec<f64>,
    /// Towards the target gradient in any orientation; as-rigid-as-possible where the target is a rotation.
    pub rigid: Vec<f64>,
    /// Towards the target volume.
    pub volume: Vec<f64>,
    /// Viscosity, pascal seconds.
    pub viscosity: Vec<f64>,
}

impl TetWeights {
    fn lists(&self) -> [&[f64]; 4] {
        [&self.target, &self.rigid, &self.volume, &self.viscosity]
    }

    fn check(&self, n_tets: usize) -> Result<(), SolveError> {
        let names = ["target stiffness", "rigid stiffness", "volume stiffness", "viscosity"];
        for (name, list) in names.into_iter().zip(self.lists()) {
            check_length(name, list.len(), if list.is_empty() { 0 } else { n_tets })?;
            check_values(name, list.iter().copied())?;
        }
        Ok(())
    }

    fn of(&self, tet: usize) -> [f64; 4] {
        self.lists().map(|list| list.get(tet).copied().unwrap_or(0.0))
    }
}

/// What every tet is drawn to: a gradient and a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Aims<T = f32> {
    groups: Vec<Aim<T>>,
}

impl<T: Number> Aims<T> {
    /// From the target gradient of each tet and its volume over its rest volume, which must be positive.
    pub fn prepare(target: impl Fn(usize) -> (DMat3, f64) + Sync, n_tets: usize) -> Self {
        let group = |first: usize| {
            let zero = [T::default(); LANES];
            let mut aim = Aim { target: [zero; 9], volume: [T::of(1.0); LANES] };
            for (lane, tet) in (first..(first + LANES).min(n_tets)).enumerate() {
                let (gradient, volume) = target(tet);
                let all = aim.target.iter_mut().zip(gradient.to_cols_array());
                all.for_each(|(list, value)| list[lane] = T::of(value));
                aim.volume[lane] = T::of(volume);
            }
            aim
        };
        let firsts = (0..n_tets.div_ceil(LANES)).into_par_iter().with_min_len(16);
        Self { groups: firsts.map(|k| group(k * LANES)).collect() }
    }

    /// The rest shape.
    pub fn rest(n_tets: usize) -> Self {
        Self::prepare(|_| (DMat3::IDENTITY, 1.0), n_tets)
    }
}

/// Gradients of all tets at some positions.
pub(super) struct Gradients<T> {
    groups: Vec<Matrices<T>>,
}

/// The tets of a body.
#[derive(Debug)]
pub(super) struct Elements<T> {
    pub tets: Vec<Stencil>,
    pub rest: TissueRest,
    weights: TetWeights,
    groups: Vec<Group<T>>,
    scatter: Scatter,
    arch: Arch,
}

impl<T: Number> Elements<T> {
    /// `held`: nodes that get no forces.
    pub fn prepare(
        tets: &[Stencil],
        rest: &[DVec3],
        weights: &TetWeights,
        held: &[bool],
    ) -> Result<Self, SolveError> {
        weights.check(tets.len())?;
        let rest = TissueRest::prepare(tets, rest)?;
        let of = |t: usize| (rest.inverse[t], weights.of(t).map(|w| w * rest.volume[t]));
        let group = |k: usize| Group::prepare((k * LANES..((k + 1) * LANES).min(tets.len())).map(of));
        let groups = (0..tets.len().div_ceil(LANES)).into_par_iter().with_min_len(64).map(group).collect();
        Ok(Self {
            tets: tets.to_vec(),
            groups,
            scatter: Scatter::prepare(held, tets),
            arch: Arch::new(),
            weights: weights.clone(),
            rest,
        })
    }

    /// The total stiffness of each tet times its rest volume: what its Laplacian is scaled with. Viscosity
    /// acts over `span_secs`.
    pub fn stiffness(&self, tet: usize, span_secs: f64) -> f64 {
        let [target, rigid, volume, viscosity] = self.weights.of(tet);
        (target + rigid + volume + viscosity / span_secs) * self.rest.volume[tet]
    }

    /// Whether any tet is viscous.
    pub fn is_viscous(&self) -> bool {
        self.weights.viscosity.iter().any(|v| *v != 0.0)
    }

    /// The gradients at `x`.
    pub fn gradients(&self, x: &[DVec3]) -> Gradients<T> {
        let mut groups = vec![[[T::default(); LANES]; 9]; self.groups.len()];
        groups.par_chunks_mut(GROUPS).enumerate().for_each(|(block, to)| {
            T::run(self.arch, GradientBlock { elements: self, first: block * GROUPS, x, to });
        });
        Gradients { groups }
    }

    /// The nodes of the tets of a group.
    #[inline(always)]
    fn nodes(&self, group: usize) -> &[Stencil] {
        &self.tets[group * LANES..((group + 1) * LANES).min(self.tets.len())]
    }

    /// The energy at `x`; `sums` gets the derivatives, for [`Elements::force`]. Viscosity resists leaving the
    /// gradients `from`, over a time in seconds.
    pub fn evaluate(
        &self,
        x: &[DVec3],
        aims: &Aims<T>,
        from: Option<(&Gradients<T>, f64)>,
        sums: &mut Vec<DVec3>,
    ) -> f64 {
        sums.resize(self.scatter.n_sums(), DVec3::ZERO);
        let blocks = self.scatter.blocks(sums).into_par_iter().enumerate().with_min_len(2);
        let of_block = |(block, (_, sums)): (usize, (Range<usize>, &mut [DVec3]))| {
            let mut energy = 0.0;
            let task = EnergyBlock {
                elements: self,
                first: block * GROUPS,
                x,
                aims,
                from,
                sums,
                energy: &mut energy,
            };
            T::run(self.arch, task);
            energy
        };
        let energies: Vec<f64> = blocks.map(of_block).collect();
        energies.iter().sum()
    }

    /// The derivative at a node, from the sums of [`Elements::evaluate`].
    pub fn force(&self, node: usize, sums: &[DVec3]) -> DVec3 {
        self.scatter.at(node, sums)
    }

    /// The smallest determinant of a gradient at `x`.
    pub fn smallest_det(&self, x: &[DVec3]) -> f64 {
        let det = |t: usize| {
            let edges = risorius_mesh::tet::tet_mesh::edge_matrix(x, self.tets[t]);
            edges.determinant() / (6.0 * self.rest.volume[t])
        };
        (0..self.tets.len()).into_par_iter().with_min_len(1024).map(det).reduce(|| f64::INFINITY, f64::min)
    }
}

/// The gradients of a block of tets.
struct GradientBlock<'a, T> {
    elements: &'a Elements<T>,
    first: usize,
    x: &'a [DVec3],
    to: &'a mut [Matrices<T>],
}

impl<T: Number> Task<T> for GradientBlock<'_, T> {
    #[inline(always)]
    fn run<P: Pack<T>>(self, token: P::Token) {
        for (k, to) in self.to.iter_mut().enumerate() {
            let (group, nodes) = (self.first + k, self.elements.nodes(self.first + k));
            *to = self.elements.groups[group].gradients::<P>(token, nodes, self.x);
        }
    }
}

/// The energy of a block of tets, and its derivatives.
struct EnergyBlock<'a, T> {
    elements: &'a Elements<T>,
    first: usize,
    x: &'a [DVec3],
    aims: &'a Aims<T>,
    from: Option<(&'a Gradients<T>, f64)>,
    sums: &'a mut [DVec3],
    energy: &'a mut f64,
}

impl<T: Number> Task<T> for EnergyBlock<'_, T> {
    #[inline(always)]
    fn run<P: Pack<T>>(self, token: P::Token) {
        self.sums.fill(DVec3::ZERO);
        let mut out = Outcome::zero();
        let all = self.elements.groups.len();
        for k in self.first..(self.first + GROUPS).min(all) {
            let (group, aim, nodes) =
                (&self.elements.groups[k], &self.aims.groups[k], self.elements.nodes(k));
            let from = self.from.map(|(from, span_secs)| (&from.groups[k], 1.0 / span_secs));
            let f = group.gradients::<P>(token, nodes, self.x);
            group.evaluate::<P>(token, &f, aim, from, &mut out);
            group.settle(&f, aim, from, &mut out);
            let corners = self.elements.scatter.corners(k * LANES..k * LANES + nodes.len());
            for (lane, corners) in corners.iter().enumerate() {
                *self.energy += out.energy[lane].wide();
                let a = vector(&out.force, 0, lane);
                let b = vector(&out.force, 3, lane);
                let c = vector(&out.force, 6, lane);
                self.sums[usize::from(corners[0])] -= a + b + c;
                self.sums[usize::from(corners[1])] += a;
                self.sums[usize::from(corners[2])] += b;
                self.sums[usize::from(corners[3])] += c;
            }
        }
    }
}

#[inline(always)]
fn vector<T: Number>(all: &Matrices<T>, from: usize, lane: usize) -> DVec3 {
    DVec3::new(all[from][lane].wide(), all[from + 1][lane].wide(), all[from + 2][lane].wide())
}
