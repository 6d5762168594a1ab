//! Static solves against closed formulas, and the guarantees of the solvers.

use crate::energy::springs::{Spring, Springs};
use crate::energy::tissue::{Barrier, Tissue};
use crate::fixtures::{Random, bar};
use crate::*;
use glam::DVec3;
use risorius_base::progress::no_progress;
use risorius_mesh::tet::tet_mesh::TetMesh;

const MU: f64 = 3000.0;
const LAMBDA: f64 = 2500.0;

fn tissue(mesh: &TetMesh, mu: f64, lambda: f64, barrier: Barrier) -> Tissue {
    let n = mesh.tets.len();
    Tissue::prepare(&mesh.tets, &mesh.nodes, None, &vec![mu; n], &vec![lambda; n], barrier).unwrap()
}

fn held_where(mesh: &TetMesh, hold: impl Fn(DVec3) -> bool) -> Vec<bool> {
    mesh.nodes.iter().map(|&p| hold(p)).collect()
}

/// A traction on the face at the far end of x: a third of its area at each corner of a triangle.
fn end_load(mesh: &TetMesh, length: f64, traction: DVec3) -> Vec<DVec3> {
    let mut loads = vec![DVec3::ZERO; mesh.nodes.len()];
    for tet in &mesh.tets {
        let corners: Vec<usize> =
            tet.iter().map(|&v| v as usize).filter(|&v| mesh.nodes[v].x > length - 1e-12).collect();
        if let [a, b, c] = corners[..] {
            let [p, q, r] = [a, b, c].map(|v| mesh.nodes[v]);
            let third = (q - p).cross(r - p).length() / 6.0;
            [a, b, c].iter().for_each(|&v| loads[v] += third * traction);
        }
    }
    loads
}

/// A wavy pull of the top of a slab whose bottom is held.
fn pulled_slab(cells: [usize; 3]) -> (TetMesh, Vec<bool>, Springs) {
    let size = DVec3::new(0.06, 0.05, 0.012);
    let mesh = bar(cells, size);
    let held = held_where(&mesh, |p| p.z < 1e-9);
    let springs: Vec<Spring> = (0..mesh.nodes.len() as u32)
        .filter(|&v| mesh.nodes[v as usize].z > size.z - 1e-9)
        .map(|v| {
            let p = mesh.nodes[v as usize];
            let wave = (p.x * 90.0).sin() * (p.y * 70.0).cos();
            Spring::at_node(v, p + DVec3::new(0.004, -0.003, 0.004 * wave), 50.0)
        })
        .collect();
    (mesh, held, Springs::prepare(&springs).unwrap())
}

#[test]
fn a_stretched_bar_follows_the_uniaxial_formula() {
    let size = DVec3::new(0.06, 0.02, 0.02);
    let mesh = bar([6, 2, 2], size);
    let tissue = tissue(&mesh, MU, LAMBDA, Barrier::default());
    let mut planes = Vec::new();
    for (v, p) in mesh.nodes.iter().enumerate() {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
            if p.dot(axis) < 1e-12 {
                planes.push(Spring { normal: Some(axis), ..Spring::at_node(v as u32, DVec3::ZERO, 1e7) });
            }
        }
    }
    let springs = Springs::prepare(&planes).unwrap();
    let system = System::prepare(&vec![false; mesh.nodes.len()], &[&mesh.tets, springs.stencils()]).unwrap();
    for traction in [1.0, 400.0, 1500.0, -200.0] {
        let loads = end_load(&mesh, size.x, DVec3::X * traction);
        let mut x = mesh.nodes.clone();
        let problem = Problem { system: &system, energies: &[&tissue, &springs], loads: &loads };
        let options = SolveOptions { force_tolerance: 1e-11, ..SolveOptions::default() };
        let report = minimize(&problem, &mut x, &options, &no_progress).unwrap();
        assert!(report.converged(), "{report:?}");
        // The stretches a along and b across minimize the energy density minus the work.
        let (mut a, mut b) = (1.0f64, 1.0f64);
        for _ in 0..20000 {
            let excess = LAMBDA * (a * b * b - 1.0);
            let da = MU * a * (a * a - 1.0) + excess * b * b - traction;
            let db = 2.0 * MU * b * (b * b - 1.0) + 2.0 * excess * a * b;
            (a, b) = (a - 2e-5 * da, b - 2e-5 * db);
        }
        let corner = x[mesh.nodes.len() - 1];
        assert!((corner.x / size.x - a).abs() < 1e-6, "{traction}: {} {a}", corner.x / size.x);
        assert!((corner.y / size.y - b).abs() < 1e-6, "{traction}: {} {b}", corner.y / size.y);
        if traction == 1.0 {
            let young = MU * (3.0 * LAMBDA + 2.0 * MU) / (LAMBDA + MU);
            assert!(((corner.x / size.x - 1.0) * young / traction - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn a_cantilever_converges_to_the_beam_formula() {
    let size = DVec3::new(0.08, 0.01, 0.01);
    let force = 1e-6;
    let bend = |k: usize| {
        let mesh = bar([8 * k, k, k], size);
        let tissue = tissue(&mesh, MU, 0.0, Barrier::default());
        let system = System::prepare(&held_where(&mesh, |p| p.x < 1e-12), &[&mesh.tets]).unwrap();
        let loads = end_load(&mesh, size.x, DVec3::Y * (force / (size.y * size.z)));
        let mut x = mesh.nodes.clone();
        let problem = Problem { system: &system, energies: &[&tissue], loads: &loads };
        let options =
            SolveOptions { force_tolerance: 1e-14, step_tolerance: 1e-12, ..SolveOptions::default() };
        let report = minimize(&problem, &mut x, &options, &no_progress).unwrap();
        assert!(report.converged(), "{report:?}");
        let end = mesh.nodes.iter().zip(&x).filter(|(p, _)| p.x > size.x - 1e-12);
        let (sum, n) = end.fold((0.0, 0.0), |(s, n), (p, q)| (s + q.y - p.y, n + 1.0));
        sum / n
    };
    // Without lambda, Young's modulus is 2 mu; bending and shear of a square section.
    let inertia = size.y.powi(4) / 12.0;
    let exact = force * size.x.powi(3) / (3.0 * 2.0 * MU * inertia)
        + force * size.x / (5.0 / 6.0 * MU * size.y * size.z);
    let [coarse, middle, fine] = [2, 4, 6].map(bend);
    assert!(coarse < middle && middle < fine && fine < exact, "{coarse} {middle} {fine} {exact}");
    let extrapolated = fine + (fine - middle) / (36.0 / 16.0 - 1.0);
    assert!((extrapolated / exact - 1.0).abs() < 0.03, "{extrapolated} {exact}");
}

#[test]
fn newton_converges_quadratically() {
    let (mesh, held, springs) = pulled_slab([8, 6, 3]);
    let tissue = tissue(&mesh, MU, LAMBDA, Barrier::default());
    let system = System::prepare(&held, &[&mesh.tets, springs.stencils()]).unwrap();
    let problem = Problem { system: &system, energies: &[&tissue, &springs], loads: &[] };
    let residual_after = |n: usize| {
        let mut x = mesh.nodes.clone();
        let options = SolveOptions {
            max_iterations: n,
            force_tolerance: 1e-12,
            step_tolerance: 1e-14,
            ..SolveOptions::default()
        };
        minimize(&problem, &mut x, &options, &no_progress).unwrap()
    };
    let last = residual_after(50);
    assert!(last.converged() && last.iterations < 12, "{last:?}");
    let series: Vec<f64> = (0..=last.iterations).map(|n| residual_after(n).residual).collect();
    let pairs: Vec<(f64, f64)> =
        series.windows(2).map(|w| (w[0], w[1])).filter(|w| w.0 < 1e-3 && w.1 > 1e-13).collect();
    assert!(!pairs.is_empty() && pairs.iter().all(|&(a, b)| b < (1e4 * a * a).max(1e-12)), "{series:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (mesh, held, springs) = pulled_slab([14, 12, 3]);
    let solve_with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let tissue = tissue(&mesh, MU, LAMBDA, Barrier { strength: MU, threshold: 0.5 });
            let system = System::prepare(&held, &[&mesh.tets, springs.stencils()]).unwrap();
            let problem = Problem { system: &system, energies: &[&tissue, &springs], loads: &[] };
            let mut x = mesh.nodes.clone();
            minimize(&problem, &mut x, &SolveOptions::default(), &no_progress).unwrap();
            let mut y = mesh.nodes.clone();
            settle(&problem, &mut y, &SolveOptions::default(), &no_progress).unwrap();
            (x, y)
        })
    };
    assert_eq!(solve_with(1), solve_with(3));
}

#[test]
fn quasi_newton_finds_the_minimum_of_newton() {
    let (mesh, held, springs) = pulled_slab([10, 8, 3]);
    let system = System::prepare(&held, &[&mesh.tets, springs.stencils()]).unwrap();
    for (lambda, strength) in [(LAMBDA, 0.0), (100.0, MU)] {
        let tissue = tissue(&mesh, MU, lambda, Barrier { strength, threshold: 0.6 });
        let problem = Problem { system: &system, energies: &[&tissue, &springs], loads: &[] };
        let tight = SolveOptions {
            max_iterations: 500,
            force_tolerance: 1e-9,
            step_tolerance: 1e-12,
            ..SolveOptions::default()
        };
        let mut newton = mesh.nodes.clone();
        assert!(minimize(&problem, &mut newton, &tight, &no_progress).unwrap().converged());
        let laplacian = Preconditioner::laplacian(&problem).unwrap();
        let stiffness = Preconditioner::stiffness(&problem, &mesh.nodes).unwrap();
        let mut ways: Vec<Vec<DVec3>> = Vec::new();
        for preconditioner in [laplacian, stiffness] {
            let mut x = mesh.nodes.clone();
            let report = minimize_quasi(&problem, &preconditioner, &mut x, &tight, &no_progress).unwrap();
            assert!(report.converged(), "{report:?}");
            ways.push(x);
        }
        let mut x = mesh.nodes.clone();
        assert!(settle(&problem, &mut x, &tight, &no_progress).unwrap().converged());
        ways.push(x);
        for x in ways {
            let apart = x.iter().zip(&newton).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(apart < 1e-8, "lambda {lambda} barrier {strength}: {apart}");
        }
    }
}

#[test]
fn collapse_is_reported_and_nothing_is_inverted() {
    // With this little volume stiffness and no barrier, tets are inverted at the minimum.
    let (mesh, held, springs) = pulled_slab([10, 8, 3]);
    let system = System::prepare(&held, &[&mesh.tets, springs.stencils()]).unwrap();
    let tissue = tissue(&mesh, MU, 100.0, Barrier::default());
    let problem = Problem { system: &system, energies: &[&tissue, &springs], loads: &[] };
    for way in [minimize, settle] {
        let mut x = mesh.nodes.clone();
        let report = way(&problem, &mut x, &SolveOptions::default(), &no_progress).unwrap();
        assert!(report.outcome == Outcome::Collapsing && report.smallest_det > 0.0, "{report:?}");
        let free = SolveOptions { allow_inversion: true, ..SolveOptions::default() };
        let report = way(&problem, &mut x, &free, &no_progress).unwrap();
        assert!(report.converged() && report.smallest_det < 0.0, "{report:?}");
    }
}

#[test]
fn the_barrier_keeps_a_squashed_bar_upright() {
    let mesh = bar([4, 4, 4], DVec3::splat(0.02));
    let held = held_where(&mesh, |p| p.z < 1e-9 || p.z > 0.02 - 1e-9);
    let tissue = tissue(&mesh, MU, 100.0, Barrier { strength: MU, threshold: 0.3 });
    let system = System::prepare(&held, &[&mesh.tets]).unwrap();
    let problem = Problem { system: &system, energies: &[&tissue], loads: &[] };
    // Squashed to a tenth, from a state with jittered inner nodes.
    let mut random = Random(2);
    let mut x: Vec<DVec3> = mesh.nodes.iter().map(|&p| p * DVec3::new(1.0, 1.0, 0.1)).collect();
    for (p, &held) in x.iter_mut().zip(&held) {
        if !held {
            *p += 1e-4 * random.vector();
        }
    }
    assert!(problem.smallest_det(&x) > 0.0);
    let report = minimize(
        &problem,
        &mut x,
        &SolveOptions { max_iterations: 200, ..SolveOptions::default() },
        &no_progress,
    )
    .unwrap();
    assert!(report.converged() && report.smallest_det > 0.01, "{report:?}");
    let mut y: Vec<DVec3> = mesh.nodes.iter().map(|&p| p * DVec3::new(1.0, 1.0, 0.1)).collect();
    let report = settle(
        &problem,
        &mut y,
        &SolveOptions { max_iterations: 200, ..SolveOptions::default() },
        &no_progress,
    )
    .unwrap();
    assert!(report.converged() && report.smallest_det > 0.01, "{report:?}");
}

#[test]
fn bad_starts_are_refused_and_leave_the_state_alone() {
    let mesh = bar([1, 1, 1], DVec3::ONE);
    let tissue = tissue(&mesh, 1.0, 1.0, Barrier { strength: 1.0, threshold: 0.2 });
    let system = System::prepare(&[false; 8], &[&mesh.tets]).unwrap();
    let problem = Problem { system: &system, energies: &[&tissue], loads: &[] };
    let mut inverted: Vec<DVec3> = mesh.nodes.iter().map(|p| -*p).collect();
    let before = inverted.clone();
    assert_eq!(
        minimize(&problem, &mut inverted, &SolveOptions::default(), &no_progress),
        Err(SolveError::BadStart)
    );
    assert_eq!(inverted, before);
    let mut broken = mesh.nodes.clone();
    broken[0].x = f64::NAN;
    assert_eq!(
        minimize(&problem, &mut broken, &SolveOptions::default(), &no_progress),
        Err(SolveError::BadStart)
    );
    let mut short = mesh.nodes[1..].to_vec();
    assert!(matches!(
        minimize(&problem, &mut short, &SolveOptions::default(), &no_progress),
        Err(SolveError::Length { .. })
    ));
    // Nothing held: singular, but regularized; the compressed bar returns to its rest volume.
    let mut x: Vec<DVec3> = mesh.nodes.iter().map(|p| *p * 0.8).collect();
    let report = minimize(&problem, &mut x, &SolveOptions::default(), &no_progress).unwrap();
    assert!(report.converged() && (report.smallest_det - 1.0).abs() < 1e-4, "{report:?}");
    let cancel = |_: &str, _: f32| std::ops::ControlFlow::Break(());
    let mut x: Vec<DVec3> = mesh.nodes.iter().map(|p| *p * 0.8).collect();
    assert!(matches!(
        minimize(&problem, &mut x, &SolveOptions::default(), &cancel),
        Err(SolveError::Cancelled(_))
    ));
}
