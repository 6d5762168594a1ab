//! Opens squashed and inverted tets by small motions of nodes, as a continuous function of the input.
//!
//! For input positions `L`, a minimum of
//!
//! ```text
//! sum over nodes p/2 |x - L|^2 / h^2 + sum over tets psi(F(x))
//! ```
//!
//! is found, where psi keeps singular values above an onset ([`LeastStretch`]), h is the size of the tets at
//! a node and p how strongly the node is pulled to the input. [`crate::untangle()`] guarantees more (no tet
//! below a threshold) but decides tet by tet which nodes may move and how far, so its results jump between
//! inputs that differ little. Here the minimum moves continuously with the input wherever it is unique. It is
//! not unique if a node can go to either side of another, which takes deep inversions.
//!
//! Only nodes within some rings of a tet below the onset are solved for, in connected patches. Beyond, the
//! minimum differs from the input by micrometers: the forces of psi on a tet add up to zero. Patches can be
//! small if they grow: where a tet at the border of a patch has fallen below the onset, its nodes become free
//! too, and the patch is solved again from the input. If no such tet is left, all nodes beyond are in balance
//! at the input, so the minimum over the patch is one of the whole volume. The order of work is fixed, so
//! results are the same on any number of threads. If no tet is below the onset, the input is the minimum and
//! is not changed.

use crate::energy::Energy;
use crate::energy::inertia::Inertia;
use crate::energy::least_stretch::{Clearance, LeastStretch};
use crate::energy::tissue::TissueRest;
use crate::minimize::newton::SolveOptions;
use crate::minimize::quasi::{Preconditioner, minimize_quasi};
use crate::minimize::system::{Problem, System};
use crate::patch::{Neighbors, Patch};
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_linalg::Stencil;

/// Options of [`Lifter`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiftOptions {
    /// Rings of nodes around tets below the onset that may move. Default 5.
    pub rings: usize,
    /// How often a patch is enlarged and solved again if tets at its border have fallen below the onset.
    /// Default 0.
    pub growths: usize,
    /// Most iterations of a solve. Default 100.
    pub max_iterations: usize,
    /// A solve ends with a step below this, in meters. Default 1e-6.
    pub step_tolerance: f64,
}

impl Default for LiftOptions {
    fn default() -> Self {
        Self { rings: 5, growths: 0, max_iterations: 100, step_tolerance: 1e-6 }
    }
}

/// A volume prepared for lifting.
#[derive(Debug, Clone)]
pub struct Lifter {
    tets: Vec<Stencil>,
    rest: TissueRest,
    neighbors: Neighbors,
    /// Stiffness `p / h^2` at each node.
    stiffness: Vec<f64>,
    options: LiftOptions,
}

impl Lifter {
    /// Tets over their rest shapes; `pulls` are the weights p of the nodes.
    pub fn prepare(
        tets: &[Stencil],
        rest: &TissueRest,
        pulls: &[f64],
        options: LiftOptions,
    ) -> Result<Self, SolveError> {
        check_length("rest tets", rest.inverse.len(), tets.len())?;
        check_values("pull", pulls.iter().copied())?;
        let neighbors = Neighbors::prepare(pulls.len(), tets);
        let stiffness = |node: usize| {
            let around = neighbors.of(node as u32);
            let sum: f64 = around.iter().map(|&t| rest.volume[t as usize].cbrt()).sum();
            // A regular tet with edge a has the volume a^3 / 8.5.
            let size = 2.04 * sum / around.len().max(1) as f64;
            if around.is_empty() { 1.0 } else { pulls[node] / (size * size) }
        };
        let stiffness = (0..pulls.len()).map(stiffness).collect();
        Ok(Self { tets: tets.to_vec(), rest: rest.clone(), neighbors, stiffness, options })
    }

    /// The same volume with other options.
    pub fn with_options(&self, options: LiftOptions) -> Self {
        Self { options, ..self.clone() }
    }

    /// Moves nodes of `x` so that singular values of deformation gradients rise to about `onset`, more than
    /// 0, below 1.
    pub fn lift(&self, x: &mut [DVec3], onset: f64) -> Result<(), SolveError> {
        check_values("onset", [onset].into_iter())?;
        check_length("nodes", x.len(), self.stiffness.len())?;
        if !x.iter().all(|p| p.is_finite()) {
            return Err(SolveError::BadStart);
        }
        let whole = LeastStretch { tets: &self.tets, inverse: &self.rest.inverse, onset, clearance: None };
        let mut seeds: Vec<u32> = (0..self.tets.len())
            .into_par_iter()
            .with_min_len(1024)
            .filter(|&tet| whole.is_closed(x, tet))
            .map(|tet| tet as u32)
            .collect();
        let all = vec![true; x.len()];
        let mut lifted: Vec<LiftedPatch> = Vec::new();
        for _ in 0..=self.options.growths {
            let region = self.neighbors.region(&self.tets, &seeds, &all, self.options.rings);
            // No tet has free nodes of two patches, so patches are independent.
            let mut patches = self.neighbors.patches(&self.tets, &region);
            lifted.retain(|done| patches.contains(&done.free));
            patches.retain(|free| !lifted.iter().any(|done| done.free == *free));
            let new: Vec<LiftedPatch> = patches
                .into_par_iter()
                .with_max_len(1)
                .map(|free| self.lift_patch(x, free, onset))
                .collect::<Result<_, _>>()?;
            let n_seeds = seeds.len();
            seeds.extend(new.iter().flat_map(|patch| &patch.closed_at_border));
            lifted.extend(new);
            if seeds.len() == n_seeds {
                break;
            }
        }
        for LiftedPatch { free, positions, .. } in lifted {
            for (node, position) in free.into_iter().zip(positions) {
                x[node as usize] = position;
            }
        }
        Ok(())
    }

    /// The minimum over some nodes, the others held.
    fn lift_patch(&self, x: &[DVec3], free: Vec<u32>, onset: f64) -> Result<LiftedPatch, SolveError> {
        let patch = Patch::prepare(&self.tets, &self.rest, &free, &self.neighbors);
        let mut local: Vec<DVec3> = patch.nodes.iter().map(|&node| x[node as usize]).collect();
        let tets = LeastStretch { tets: &patch.tets, inverse: &patch.inverse, onset, clearance: None };
        let clearance = Clearance::prepare(&tets, &local);
        let tets = LeastStretch { clearance: Some(&clearance), ..tets };
        // Springs of single nodes are the inertia of a step of one second.
        let stiffness: Vec<f64> = patch.nodes.iter().map(|&node| self.stiffness[node as usize]).collect();
        let springs = Inertia::prepare(&stiffness, &local, 1.0)?;
        let held: Vec<bool> = (0..patch.nodes.len()).map(|i| i >= patch.n_free).collect();
        let system = System::for_few_solves(&held, &[&patch.tets, springs.stencils()])?;
        let problem = Problem { system: &system, energies: &[&tets, &springs], loads: &[] };
        let options = SolveOptions {
            force_tolerance: 1e-9 / patch.size,
            step_tolerance: self.options.step_tolerance,
            max_iterations: self.options.max_iterations,
            allow_inversion: true,
        };
        minimize_quasi(&problem, &Preconditioner::laplacian(&problem)?, &mut local, &options, &no_progress)?;
        let has_held = |tet: &Stencil| tet.iter().any(|&node| node as usize >= patch.n_free);
        let border = (0..patch.tets.len()).filter(|&t| has_held(&patch.tets[t]));
        let closed_at_border =
            border.filter(|&t| tets.is_closed(&local, t)).map(|t| patch.touched[t]).collect();
        local.truncate(patch.n_free);
        Ok(LiftedPatch { free, positions: local, closed_at_border })
    }
}

/// A patch whose nodes were moved.
struct LiftedPatch {
    free: Vec<u32>,
    /// Of the free nodes.
    positions: Vec<DVec3>,
    /// Tets with both free and held nodes that are below the onset: held nodes should move too.
    closed_at_border: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, bar};
    use risorius_mesh::tet::tet_mesh::{TetMesh, edge_matrix};

    const ONSET: f64 = 0.3;

    fn lifter(mesh: &TetMesh, rings: usize) -> Lifter {
        growing(mesh, rings, 0)
    }

    fn growing(mesh: &TetMesh, rings: usize, growths: usize) -> Lifter {
        let rest = TissueRest::prepare(&mesh.tets, &mesh.nodes).unwrap();
        let options = LiftOptions { rings, growths, step_tolerance: 1e-8, max_iterations: 1000 };
        Lifter::prepare(&mesh.tets, &rest, &vec![0.02; mesh.nodes.len()], options).unwrap()
    }

    fn least_j(mesh: &TetMesh, x: &[DVec3]) -> f64 {
        let six = |x: &[DVec3], t| edge_matrix(x, t).determinant();
        mesh.tets.iter().map(|&t| six(x, t) / six(&mesh.nodes, t)).fold(f64::INFINITY, f64::min)
    }

    /// One node of a block pulled by `way` through its neighbors.
    fn pulled(mesh: &TetMesh, way: DVec3) -> Vec<DVec3> {
        let node = mesh.nodes.iter().position(|p| p.distance(DVec3::splat(0.03)) < 1e-9).unwrap();
        let mut x = mesh.nodes.clone();
        x[node] += way;
        x
    }

    #[test]
    fn open_tets_stay_to_the_bit() {
        let mesh = bar([5, 5, 5], DVec3::splat(0.05));
        let mut random = Random(2);
        let shaken: Vec<DVec3> = mesh.nodes.iter().map(|p| *p + 1e-3 * random.vector()).collect();
        let mut x = shaken.clone();
        lifter(&mesh, 5).lift(&mut x, 0.2).unwrap();
        assert_eq!(x, shaken);
    }

    #[test]
    fn inverted_tets_open_and_far_nodes_stay() {
        let mesh = bar([6, 6, 6], DVec3::splat(0.06));
        let before = pulled(&mesh, DVec3::new(0.013, 0.002, -0.001));
        let mut x = before.clone();
        assert!(least_j(&mesh, &x) < -0.2);
        lifter(&mesh, 5).lift(&mut x, ONSET).unwrap();
        assert!(least_j(&mesh, &x) > 0.2, "{}", least_j(&mesh, &x));
        let moved = |(a, b): (&DVec3, &DVec3)| a.distance(*b);
        assert!(x.iter().zip(&before).map(moved).fold(0.0, f64::max) < 0.008);
    }

    #[test]
    fn patches_give_the_minimum_of_the_whole_volume() {
        let mesh = bar([12, 6, 6], DVec3::new(0.12, 0.06, 0.06));
        let before = pulled(&mesh, DVec3::new(0.011, 0.0, 0.0));
        let lifted = |lifter: Lifter| {
            let mut x = before.clone();
            lifter.lift(&mut x, ONSET).unwrap();
            x
        };
        let whole = lifted(lifter(&mesh, 40));
        for patch in [lifter(&mesh, 5), growing(&mesh, 1, 8), growing(&mesh, 0, 8)] {
            let moved = lifted(patch);
            let apart = moved.iter().zip(&whole).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(apart < 2e-5, "{apart}");
        }
    }

    /// A node that is pulled through its neighbors step by step: no step jumps.
    #[test]
    fn results_follow_the_input_continuously() {
        let mesh = bar([6, 6, 6], DVec3::splat(0.06));
        let lifter = lifter(&mesh, 5);
        let at = |k: usize| {
            let mut x = pulled(&mesh, DVec3::new(0.0003, 0.0001, 0.00005) * k as f64);
            lifter.lift(&mut x, ONSET).unwrap();
            x
        };
        let states: Vec<Vec<DVec3>> = (0..40).map(at).collect();
        let step =
            |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        let longest = states.windows(2).map(|w| step(&w[0], &w[1])).fold(0.0, f64::max);
        assert!(longest < 0.0006, "{longest}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mesh = bar([6, 6, 6], DVec3::splat(0.06));
        let lifter = lifter(&mesh, 1);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut random = Random(3);
            let mut x: Vec<DVec3> = mesh.nodes.iter().map(|p| *p + 0.005 * random.vector()).collect();
            pool.install(|| lifter.lift(&mut x, ONSET)).unwrap();
            x
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn bad_input_is_refused() {
        let mesh = bar([2, 2, 2], DVec3::splat(0.02));
        let lifter = lifter(&mesh, 2);
        let mut x = mesh.nodes.clone();
        assert!(lifter.lift(&mut x[1..], ONSET).is_err());
        assert!(lifter.lift(&mut x, f64::NAN).is_err());
        x[0].x = f64::NAN;
        assert_eq!(lifter.lift(&mut x, ONSET), Err(SolveError::BadStart));
    }
}
