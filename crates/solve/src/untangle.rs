//! Repairs inverted or too flat tets with small motions of few nodes.
//!
//! Around every bad tet (`det F` relative to its rest shape below a threshold) a few rings of movable nodes
//! are freed. There, the regularized foldover-free energy of [Garanzha21, untangling] is minimized by
//! projected Newton with a weak pull to the input. The regularization is lowered until every tet is above the
//! threshold. From that state, nodes are pulled back to the input behind a barrier at the threshold, so that
//! nodes end up displaced only as far as needed. If this fails, the neighborhood grows and the attempt is
//! repeated. If it fails at the largest neighborhood, the nodes keep their input positions and the tets are
//! reported.
//!
//! If no tet is bad, the cost is one determinant per tet. The order of work is fixed, so results are the same
//! on any number of threads. Limits: the topology is not changed; tets without movable nodes cannot be
//! repaired.

use crate::energy::Energy;
use crate::energy::foldover::{Foldover, Mode};
use crate::energy::springs::{Spring, Springs};
use crate::energy::tissue::TissueRest;
use crate::minimize::newton::{SolveOptions, minimize};
use crate::minimize::system::{Problem, System};
use crate::patch::{Neighbors, Patch, bad_tets};
use crate::{SolveError, check_length};
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_linalg::Stencil;

/// Options of [`untangle`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UntangleOptions {
    /// Every tet must reach this ratio of volume to rest volume, more than 0, below 1. Default 0.1.
    pub threshold: f64,
    /// Rings of nodes around bad tets that may move in the first attempt. Default 2.
    pub first_rings: usize,
    /// Most rings. Default 12; a whole face is about 30 across.
    pub last_rings: usize,
}

impl Default for UntangleOptions {
    fn default() -> Self {
        Self { threshold: 0.1, first_rings: 2, last_rings: 12 }
    }
}

/// The result of [`untangle`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Untangled {
    /// Number of bad tets before.
    pub n_bad: usize,
    /// Tets that are still bad: empty on success.
    pub still_bad: Vec<u32>,
    /// Nodes that were moved, ascending.
    pub moved: Vec<u32>,
    /// The longest motion of a node, meters.
    pub longest_motion: f64,
}

/// Moves nodes of `x` so that no tet is inverted or too flat relative to its rest shape. Only movable nodes
/// move.
pub fn untangle(
    tets: &[Stencil],
    rest: &TissueRest,
    x: &mut [DVec3],
    movable: &[bool],
    options: &UntangleOptions,
) -> Result<Untangled, SolveError> {
    check_length("rest tets", rest.inverse.len(), tets.len())?;
    check_length("movable nodes", movable.len(), x.len())?;
    crate::check_values("threshold", [options.threshold].into_iter())?;
    let mut bad = bad_tets(tets, rest, x, options.threshold);
    let mut result = Untangled { n_bad: bad.len(), ..Untangled::default() };
    if bad.is_empty() {
        return Ok(result);
    }
    if !x.iter().all(|p| p.is_finite()) {
        return Err(SolveError::BadStart);
    }
    let before = x.to_vec();
    let neighbors = Neighbors::prepare(x.len(), tets);
    let mut rings = options.first_rings;
    let mut last_size = 0;
    loop {
        // Tets without movable nodes are given up, so that they do not enlarge the region forever.
        let (hopeless, hopeful): (Vec<u32>, Vec<u32>) =
            bad.iter().partition(|&&t| !tets[t as usize].iter().any(|&v| movable[v as usize]));
        let region = neighbors.region(tets, &hopeful, movable, rings);
        if hopeful.is_empty()
            || region.is_empty()
            || (region.len() == last_size && rings > options.first_rings)
        {
            result.still_bad = [hopeless, hopeful].concat();
            break;
        }
        last_size = region.len();
        // No tet has free nodes of two patches, so patches are independent.
        let patches = neighbors.patches(tets, &region);
        let repairs: Vec<Option<Vec<DVec3>>> = patches
            .par_iter()
            .map(|patch| repair(tets, rest, x, patch, &neighbors, options))
            .collect::<Result<_, _>>()?;
        for (patch, state) in patches.iter().zip(repairs) {
            for (&node, position) in patch.iter().zip(state.into_iter().flatten()) {
                x[node as usize] = position;
            }
        }
        let left = bad_tets(tets, rest, x, options.threshold);
        if left.len() == hopeless.len() || rings >= options.last_rings {
            result.still_bad = left;
            break;
        }
        if left.len() < bad.len() {
            last_size = 0;
        }
        bad = left;
        rings += rings.div_ceil(2).max(1);
    }
    result.still_bad.sort_unstable();
    for (node, (old, new)) in before.iter().zip(&*x).enumerate() {
        if old != new {
            result.moved.push(node as u32);
            result.longest_motion = result.longest_motion.max(old.distance(*new));
        }
    }
    Ok(result)
}

/// Unfolds one patch and pulls it back to the input. Returns the positions of its free nodes, or `None` if it
/// needs no repair or cannot be repaired.
fn repair(
    tets: &[Stencil],
    rest: &TissueRest,
    x: &[DVec3],
    free: &[u32],
    neighbors: &Neighbors,
    options: &UntangleOptions,
) -> Result<Option<Vec<DVec3>>, SolveError> {
    let patch = Patch::prepare(tets, rest, free, neighbors);
    let input: Vec<DVec3> = patch.nodes.iter().map(|&node| x[node as usize]).collect();
    let held: Vec<bool> = (0..patch.nodes.len()).map(|node| node >= patch.n_free).collect();
    // A margin for the rounding of the check on the whole mesh.
    let floor = options.threshold * (1.0 + 1e-9) + 1e-14;
    let mut energy =
        Foldover { tets: patch.tets.clone(), inverse: patch.inverse.clone(), floor, mode: Mode::Unfold(1.0) };
    let least = |x: &[DVec3], energy: &Foldover| energy.smallest_det(x, 0..energy.tets.len());
    if least(&input, &energy) >= floor {
        return Ok(None);
    }
    let pull = |weight: f64| -> Result<Springs, SolveError> {
        let stiffness = weight / (patch.size * patch.size);
        let springs: Vec<Spring> =
            (0..patch.n_free).map(|node| Spring::at_node(node as u32, input[node], stiffness)).collect();
        Springs::prepare(&springs)
    };
    let weak = pull(1e-2)?;
    let system = System::for_few_solves(&held, &[&patch.tets, weak.stencils()])?;
    let newton = SolveOptions {
        force_tolerance: 1e-4 / patch.size,
        step_tolerance: 1e-5 * patch.size,
        max_iterations: 4,
        allow_inversion: true,
    };
    let mut now = input.clone();
    if !unfold(&system, &mut energy, &weak, &mut now, &newton)? {
        return Ok(None);
    }
    let mut near = now.clone();
    energy.mode = Mode::Keep(1e-2);
    let problem = Problem { system: &system, energies: &[&energy, &pull(1.0)?], loads: &[] };
    let precise = SolveOptions { max_iterations: 60, step_tolerance: 1e-3 * patch.size, ..newton };
    let back = minimize(&problem, &mut near, &precise, &no_progress);
    let mut state = if back.is_ok() && least(&near, &energy) >= floor { near } else { now };
    state.truncate(patch.n_free);
    Ok(Some(state))
}

/// Lowers the regularization until every tet is above the floor; false if that fails.
fn unfold(
    system: &System,
    energy: &mut Foldover,
    pull: &Springs,
    x: &mut [DVec3],
    newton: &SolveOptions,
) -> Result<bool, SolveError> {
    let count = energy.tets.len();
    let mut eps = f64::INFINITY;
    for _ in 0..40 {
        let excess = energy.smallest_det(x, 0..count) - energy.floor;
        if excess > 0.0 {
            return Ok(true);
        }
        // Large enough for a useful gradient at the worst tet, and never growing.
        eps = (0.7 * eps).min((1e-6 + 0.04 * excess * excess).sqrt()).max(1e-4);
        energy.mode = Mode::Unfold(eps);
        let problem = Problem { system, energies: &[&*energy, pull], loads: &[] };
        if minimize(&problem, x, newton, &no_progress).is_err() {
            return Ok(false);
        }
    }
    Ok(energy.smallest_det(x, 0..count) > energy.floor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, bar};
    use risorius_mesh::tet::tet_mesh::TetMesh;

    fn inner_nodes(mesh: &TetMesh, size: f64) -> Vec<bool> {
        mesh.nodes.iter().map(|p| p.min_element() > 1e-9 && p.max_element() < size - 1e-9).collect()
    }

    fn run(mesh: &TetMesh, x: &mut [DVec3], movable: &[bool]) -> Untangled {
        let rest = TissueRest::prepare(&mesh.tets, &mesh.nodes).unwrap();
        let before = x.to_vec();
        let result = untangle(&mesh.tets, &rest, x, movable, &UntangleOptions::default()).unwrap();
        assert_eq!(result.still_bad, bad_tets(&mesh.tets, &rest, x, 0.1));
        for (node, (a, b)) in before.iter().zip(&*x).enumerate() {
            assert_eq!(a != b, result.moved.binary_search(&(node as u32)).is_ok());
            assert!(a == b || movable[node]);
        }
        result
    }

    #[test]
    fn nothing_bad_nothing_moved() {
        let mesh = bar([4, 4, 4], DVec3::splat(0.04));
        let mut x = mesh.nodes.clone();
        assert_eq!(run(&mesh, &mut x, &vec![true; mesh.nodes.len()]), Untangled::default());
    }

    #[test]
    fn random_tangles_are_untangled() {
        let mesh = bar([7, 7, 7], DVec3::splat(0.07));
        let movable = inner_nodes(&mesh, 0.07);
        let mut random = Random(1);
        for round in 0..6 {
            let mut x = mesh.nodes.clone();
            for (p, _) in x.iter_mut().zip(&movable).filter(|(_, m)| **m) {
                // Few nodes displaced far, then all nodes jittered.
                if round < 3 && random.number() > 0.9 {
                    *p += 0.02 * random.vector();
                } else if round >= 3 {
                    *p += 0.008 * random.vector();
                }
            }
            let result = run(&mesh, &mut x, &movable);
            assert!(result.n_bad > 20 && result.still_bad.is_empty(), "round {round}: {result:?}");
            assert!(result.longest_motion < 0.035);
        }
    }

    #[test]
    fn one_node_pulled_through_comes_back_only_as_far_as_needed() {
        let mesh = bar([6, 6, 6], DVec3::splat(0.06));
        let movable = inner_nodes(&mesh, 0.06);
        let mut x = mesh.nodes.clone();
        let node = mesh.nodes.iter().position(|p| p.distance(DVec3::splat(0.03)) < 1e-9).unwrap();
        x[node] += DVec3::new(0.012, 0.003, -0.002);
        let result = run(&mesh, &mut x, &movable);
        assert!(result.still_bad.is_empty() && result.longest_motion < 0.008, "{result:?}");
        assert!(x[node].distance(mesh.nodes[node]) > 0.002);
    }

    #[test]
    fn a_collapsed_star_opens() {
        let mesh = bar([5, 5, 5], DVec3::splat(0.05));
        let movable = inner_nodes(&mesh, 0.05);
        let mut x = mesh.nodes.clone();
        let center = mesh.nodes.iter().position(|p| p.distance(DVec3::splat(0.02)) < 1e-9).unwrap();
        let onto: Vec<u32> =
            mesh.tets.iter().filter(|t| t.contains(&(center as u32))).flatten().copied().collect();
        for node in onto {
            if movable[node as usize] {
                x[node as usize] = x[center];
            }
        }
        let result = run(&mesh, &mut x, &movable);
        assert!(result.n_bad > 10 && result.still_bad.is_empty(), "{result:?}");
    }

    #[test]
    fn the_impossible_is_reported() {
        let mesh = bar([4, 4, 4], DVec3::splat(0.04));
        let movable = inner_nodes(&mesh, 0.04);
        // A boundary node pushed through to the other side, and boundary tets that cannot be repaired.
        let mut x = mesh.nodes.clone();
        let node = mesh.nodes.iter().position(|p| p.distance(DVec3::new(0.02, 0.02, 0.0)) < 1e-9).unwrap();
        x[node].z = 0.05;
        let before = x.clone();
        let result = run(&mesh, &mut x, &movable);
        assert!(!result.still_bad.is_empty());
        assert!(result.still_bad.iter().any(|&t| mesh.tets[t as usize].contains(&(node as u32))));
        assert!(x.iter().all(|p| p.is_finite()));
        // The node is on the boundary, so it is not movable.
        assert_eq!(x[node], before[node]);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mesh = bar([6, 6, 6], DVec3::splat(0.06));
        let movable = inner_nodes(&mesh, 0.06);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut random = Random(3);
            let mut x = mesh.nodes.clone();
            x.iter_mut().zip(&movable).filter(|(_, m)| **m).for_each(|(p, _)| *p += 0.007 * random.vector());
            pool.install(|| run(&mesh, &mut x, &movable));
            x
        };
        assert_eq!(with(1), with(3));
    }
}
