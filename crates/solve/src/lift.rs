//! Lifts flat and inverted tets, as a smooth function of the input positions.
//!
//! With the input positions `L`, the volume `J` of each tet relative to its rest volume, and a size `h` for
//! each node, a minimum of
//!
//! ```text
//! sum over nodes p/2 |x - L|^2 / h^2 + sum over tets k/3 max(0, J0 - J)^3
//! ```
//!
//! is found. The energy is finite for inverted tets and twice differentiable in x and L. So as long as the
//! minimum is well defined, it changes smoothly with `L`; [`crate::untangle`] guarantees more (every tet
//! above a threshold) but chooses its neighborhoods and stops its solves in ways that jump. J is linear in
//! every single node, so a node that has passed through the opposite face is pulled straight back.
//!
//! There may be several minima, for example with a node to the left or to the right of another. Which one a
//! solve finds from an inverted start is chance. So [`Lifter::lift_along`] follows the minimum along a path
//! of states that begins upright: the same path gives the same minimum, and near paths give near ones.
//!
//! Only nodes of tets below `J0` have forces. The solve is restricted to nodes around these, and extended
//! until no tet below `J0` has a node outside. So the result is the minimum over the whole volume, and nodes
//! elsewhere keep their positions to the bit. The order of work is fixed: results are the same on any number
//! of threads.

use crate::energy::Energy;
use crate::energy::foldover::{Foldover, Mode};
use crate::energy::springs::{Spring, Springs};
use crate::energy::tissue::TissueRest;
use crate::minimize::newton::{SolveOptions, minimize};
use crate::minimize::system::{Problem, System};
use crate::patch::{Neighbors, Patch, bad_tets};
use crate::{SolveError, check_length, check_values};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_linalg::Stencil;

/// Options of [`Lifter`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiftOptions {
    /// Tets below this ratio of volume to rest volume are lifted, more than 0, below 1. Default 0.2.
    pub onset: f64,
    /// Strength k of the lift. At the default of 100, a tet that can be lifted by moving a node of pull 0.02
    /// by its size ends within 0.015 of the onset.
    pub strength: f64,
    /// The neighborhood is extended at most this often. Default 12.
    pub rounds: usize,
}

impl Default for LiftOptions {
    fn default() -> Self {
        Self { onset: 0.2, strength: 100.0, rounds: 12 }
    }
}

/// Nodes are this close to the minimum in states on the way, in meters.
const ROUGH: f64 = 2e-5;

/// The result of [`Lifter::lift_along`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lifted {
    /// Number of tets below the onset before.
    pub n_low: usize,
    /// Newton iterations of all solves.
    pub iterations: usize,
    /// Whether all solves met their tolerance, and no tet below the onset has a node that was not solved for.
    pub converged: bool,
}

/// A volume prepared for lifting.
#[derive(Debug, Clone)]
pub struct Lifter {
    tets: Vec<Stencil>,
    rest: TissueRest,
    neighbors: Neighbors,
    /// Stiffness `p / h^2` of each node.
    stiffness: Vec<f64>,
    options: LiftOptions,
}

impl Lifter {
    /// `pulls` are the weights p of the nodes.
    pub fn prepare(
        tets: &[Stencil],
        rest: &TissueRest,
        pulls: &[f64],
        options: LiftOptions,
    ) -> Result<Self, SolveError> {
        check_length("rest tets", rest.inverse.len(), tets.len())?;
        check_values("pull", pulls.iter().copied())?;
        check_values("lift (onset, strength)", [options.onset, options.strength].into_iter())?;
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

    /// Lifts the tets of the last of `states` that are below the onset, following the minimum from the first
    /// state on, which should have none. Every node ends within `tolerance` of the minimum, in meters.
    pub fn lift_along(
        &self,
        states: &[Vec<DVec3>],
        tolerance: f64,
    ) -> Result<(Vec<DVec3>, Lifted), SolveError> {
        let mut offsets: Vec<(u32, DVec3)> = Vec::new();
        let mut all = Lifted::default();
        let mut x = Vec::new();
        for (i, state) in states.iter().enumerate() {
            x = state.clone();
            offsets.iter().for_each(|&(node, offset)| x[node as usize] += offset);
            let free: Vec<u32> = offsets.iter().map(|o| o.0).collect();
            let tolerance = if i + 1 == states.len() { tolerance } else { tolerance.max(ROUGH) };
            let lifted = self.lift_from(state, &mut x, free, tolerance)?;
            all = Lifted { iterations: all.iterations + lifted.iterations, ..lifted };
            let moved = |&node: &u32| x[node as usize] != state[node as usize];
            offsets = (0..x.len() as u32)
                .filter(moved)
                .map(|node| (node, x[node as usize] - state[node as usize]))
                .collect();
        }
        Ok((x, all))
    }

    /// Lifts the tets of `input` that are below the onset. Starts at `x`, whose nodes `free` differ from the
    /// input.
    fn lift_from(
        &self,
        input: &[DVec3],
        x: &mut [DVec3],
        mut free: Vec<u32>,
        tolerance: f64,
    ) -> Result<Lifted, SolveError> {
        check_length("nodes", x.len(), self.stiffness.len())?;
        let mut low = bad_tets(&self.tets, &self.rest, x, self.options.onset);
        let n_low = bad_tets(&self.tets, &self.rest, input, self.options.onset).len();
        let mut report = Lifted { n_low, converged: true, ..Lifted::default() };
        if low.is_empty() && free.is_empty() {
            return Ok(report);
        }
        if !x.iter().all(|p| p.is_finite()) {
            return Err(SolveError::BadStart);
        }
        let all = vec![true; x.len()];
        let mut solved: Vec<Vec<u32>> = Vec::new();
        for _ in 0..self.options.rounds {
            free.extend(self.neighbors.region(&self.tets, &low, &all, 1));
            free.sort_unstable();
            free.dedup();
            // No tet has free nodes of two patches, so patches are independent.
            let patches = self.neighbors.patches(&self.tets, &free);
            let fresh: Vec<&Vec<u32>> = patches.iter().filter(|patch| !solved.contains(patch)).collect();
            let results: Vec<(Vec<DVec3>, usize, bool)> = fresh
                .par_iter()
                .map(|patch| self.solve(patch, input, x, tolerance))
                .collect::<Result<_, _>>()?;
            for (patch, (positions, iterations, converged)) in fresh.iter().zip(results) {
                patch.iter().zip(positions).for_each(|(&node, p)| x[node as usize] = p);
                report.iterations += iterations;
                report.converged &= converged;
            }
            solved = patches;
            low = bad_tets(&self.tets, &self.rest, x, self.options.onset);
            let inside = |node: &u32| free.binary_search(node).is_ok();
            low.retain(|&tet| !self.tets[tet as usize].iter().all(inside));
            if low.is_empty() {
                return Ok(report);
            }
        }
        Ok(Lifted { converged: false, ..report })
    }

    /// The minimum over one patch: positions of its nodes, iterations, and whether it was reached.
    fn solve(
        &self,
        free: &[u32],
        input: &[DVec3],
        x: &[DVec3],
        tolerance: f64,
    ) -> Result<(Vec<DVec3>, usize, bool), SolveError> {
        let patch = Patch::prepare(&self.tets, &self.rest, free, &self.neighbors);
        let mut now: Vec<DVec3> = patch.nodes.iter().map(|&node| x[node as usize]).collect();
        let held: Vec<bool> = (0..patch.nodes.len()).map(|node| node >= patch.n_free).collect();
        let energy = Foldover {
            tets: patch.tets.clone(),
            inverse: patch.inverse.clone(),
            floor: self.options.onset,
            mode: Mode::Lift(self.options.strength),
        };
        let spring = |(local, &node): (usize, &u32)| {
            Spring::at_node(local as u32, input[node as usize], self.stiffness[node as usize])
        };
        let pull = Springs::prepare(&free.iter().enumerate().map(spring).collect::<Vec<_>>())?;
        let system = System::prepare(&held, &[&patch.tets, pull.stencils()])?;
        let problem = Problem { system: &system, energies: &[&energy, &pull], loads: &[] };
        let softest = free.iter().map(|&n| self.stiffness[n as usize]).fold(f64::INFINITY, f64::min);
        let newton = SolveOptions {
            // The softest spring leaves a node within the tolerance of the minimum.
            force_tolerance: tolerance * softest,
            step_tolerance: tolerance,
            max_iterations: 60,
            allow_inversion: true,
        };
        let report = minimize(&problem, &mut now, &newton, &no_progress)?;
        now.truncate(patch.n_free);
        Ok((now, report.iterations, report.converged()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, bar};
    use risorius_mesh::tet::tet_mesh::{TetMesh, edge_matrix};

    const SIZE: f64 = 0.06;

    fn block() -> (TetMesh, Lifter) {
        let mesh = bar([6, 6, 6], DVec3::splat(SIZE));
        let rest = TissueRest::prepare(&mesh.tets, &mesh.nodes).unwrap();
        let inner = |p: &DVec3| p.min_element() > 1e-9 && p.max_element() < SIZE - 1e-9;
        let pulls: Vec<f64> = mesh.nodes.iter().map(|p| if inner(p) { 0.02 } else { 1.0 }).collect();
        let lifter = Lifter::prepare(&mesh.tets, &rest, &pulls, LiftOptions::default()).unwrap();
        (mesh, lifter)
    }

    fn least_j(mesh: &TetMesh, x: &[DVec3]) -> f64 {
        let j = |t: &[u32; 4]| edge_matrix(x, *t).determinant() / edge_matrix(&mesh.nodes, *t).determinant();
        mesh.tets.iter().map(j).fold(f64::INFINITY, f64::min)
    }

    /// The block with its middle node displaced, and states on the way there.
    fn pushed(mesh: &TetMesh, offset: DVec3) -> Vec<Vec<DVec3>> {
        let middle = mesh.nodes.iter().position(|p| p.distance(DVec3::splat(0.5 * SIZE)) < 1e-9).unwrap();
        let state = |k: usize| {
            let mut x = mesh.nodes.clone();
            x[middle] += offset * (k as f64 / 8.0);
            x
        };
        (1..=8).map(state).collect()
    }

    #[test]
    fn nothing_low_nothing_moved() {
        let (mesh, lifter) = block();
        let states = pushed(&mesh, DVec3::X * 0.003);
        let (x, lifted) = lifter.lift_along(&states, 1e-8).unwrap();
        assert!(x == states[7] && lifted == Lifted { converged: true, ..Lifted::default() });
    }

    #[test]
    fn inverted_tets_are_lifted_and_distant_nodes_keep_their_places() {
        let (mesh, lifter) = block();
        let states = pushed(&mesh, DVec3::new(0.022, 0.004, -0.003));
        let before = least_j(&mesh, &states[7]);
        let (x, lifted) = lifter.lift_along(&states, 1e-8).unwrap();
        assert!(before < -0.5 && lifted.converged && lifted.n_low > 0, "{before} {lifted:?}");
        let after = least_j(&mesh, &x);
        assert!(after > 0.15, "a tet keeps {after} of its volume");
        let moved = x.iter().zip(&states[7]).filter(|(a, b)| a != b).count();
        assert!(moved < mesh.nodes.len() / 2, "{moved} of {} nodes", mesh.nodes.len());
    }

    /// As a node is pushed through its neighbors in small equal steps, no node jumps.
    #[test]
    fn the_result_is_smooth_in_the_input() {
        let (mesh, lifter) = block();
        let far = DVec3::new(0.02, 0.004, -0.003);
        let n = 200;
        let at = |k: usize| lifter.lift_along(&pushed(&mesh, far * (k as f64 / n as f64)), 1e-8).unwrap().0;
        let results: Vec<Vec<DVec3>> = (0..=n).map(at).collect();
        let second = |w: &[Vec<DVec3>]| {
            (0..w[0].len()).map(|i| (w[0][i] - 2.0 * w[1][i] + w[2][i]).length()).fold(0.0, f64::max)
        };
        let most = results.windows(3).map(second).fold(0.0, f64::max);
        let step = far.length() / n as f64;
        assert!(most < 0.2 * step, "an acceleration of {most} for steps of {step}");
        assert!(least_j(&mesh, &pushed(&mesh, far)[7]) < 0.0);
    }

    #[test]
    fn any_number_of_threads_gives_the_same() {
        let (mesh, lifter) = block();
        let mut random = Random(3);
        let tangled: Vec<DVec3> = mesh.nodes.iter().map(|p| *p + 0.006 * random.vector()).collect();
        let half = mesh.nodes.iter().zip(&tangled).map(|(a, b)| a.midpoint(*b)).collect();
        let states = [half, tangled];
        let [one, three] = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| lifter.lift_along(&states, 1e-8).unwrap())
        });
        assert!(one == three && one.1.n_low > 10);
        assert!(least_j(&mesh, &one.0) > 0.1);
    }

    #[test]
    fn bad_input_is_refused() {
        let (mesh, lifter) = block();
        let mut x = mesh.nodes.clone();
        x[0] = DVec3::NAN;
        assert!(matches!(lifter.lift_along(&[x], 1e-8), Err(SolveError::BadStart)));
        assert!(matches!(lifter.lift_along(&[Vec::new()], 1e-8), Err(SolveError::Length { .. })));
    }
}
