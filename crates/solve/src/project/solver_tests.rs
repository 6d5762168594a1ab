//! Laws of projective dynamics on bars.

use super::kernel::Number;
use super::nearest::{nearest_turn, nearest_volume};
use super::*;
use crate::NO_NODE;
use crate::energy::springs::lumped_masses;
use crate::fixtures::{Random, bar, farthest};
use glam::{DMat3, DVec3};
use risorius_base::progress::no_progress;
use risorius_linalg::dense::{Cholesky, Matrix};
use risorius_mesh::tet::tet_mesh::{TetMesh, edge_matrix};

const SIZE: DVec3 = DVec3::new(0.06, 0.02, 0.02);

pub(super) struct Example<T> {
    pub mesh: TetMesh,
    pub held: Vec<bool>,
    pub system: Projective<T>,
    pub aims: Aims<T>,
    pub targets: Vec<(DMat3, f64)>,
}

const WEIGHTS: [f64; 3] = [1000.0, 2000.0, 5000.0];

/// A bar held at one end, drawn to gradients that vary along it.
pub(super) fn example<T: Number>(cells: [usize; 3]) -> Example<T> {
    let mesh = bar(cells, SIZE);
    let held: Vec<bool> = mesh.nodes.iter().map(|p| p.x < 1e-9).collect();
    let n = mesh.tets.len();
    let weights = TetWeights {
        target: vec![WEIGHTS[0]; n],
        rigid: vec![WEIGHTS[1]; n],
        volume: vec![WEIGHTS[2]; n],
        viscosity: Vec::new(),
    };
    let masses = lumped_masses(&mesh, |_| 1000.0);
    let system =
        Projective::prepare(&mesh.tets, &mesh.nodes, &weights, &masses, &held, Vec::new(), &mesh.tets)
            .unwrap();
    let of = |t: usize| {
        let x = mesh.tets[t].iter().map(|&n| mesh.nodes[n as usize].x).sum::<f64>() / 4.0 / SIZE.x;
        let f = DMat3::from_rotation_z(0.8 * x) * DMat3::from_diagonal(DVec3::new(1.0 + 0.3 * x, 1.0, 0.9));
        (f, f.determinant())
    };
    let targets: Vec<(DMat3, f64)> = (0..n).map(of).collect();
    let aims = Aims::prepare(|t| targets[t], n);
    Example { mesh, held, system, aims, targets }
}

impl<T: Number> Example<T> {
    pub fn objective<'a>(&'a self, forces: &'a [DVec3]) -> Objective<'a, T> {
        Objective { aims: &self.aims, inertial: None, forces, places: &[], touching: None }
    }

    pub fn shaken(&self, by: f64) -> Vec<DVec3> {
        let mut random = Random(5);
        let shake = |(p, held): (&DVec3, &bool)| if *held { *p } else { *p + random.vector() * by };
        self.mesh.nodes.iter().zip(&self.held).map(shake).collect()
    }

    /// The energy by definition.
    fn by_definition(&self, x: &[DVec3]) -> f64 {
        let rest = crate::TissueRest::prepare(&self.mesh.tets, &self.mesh.nodes).unwrap();
        let squares = |m: DMat3| m.to_cols_array().iter().map(|v| v * v).sum::<f64>();
        let of = |t: usize| {
            let f = edge_matrix(x, self.mesh.tets[t]) * rest.inverse[t];
            let (target, j) = self.targets[t];
            let to = [target, nearest_turn(f, target), nearest_volume(f, j)];
            let sum: f64 = to.iter().zip(WEIGHTS).map(|(p, w)| 0.5 * w * squares(f - *p)).sum();
            rest.volume[t] * sum
        };
        (0..self.mesh.tets.len()).map(of).sum()
    }
}

#[test]
fn the_energy_is_its_definition_and_the_gradient_its_slope() {
    let example = example::<f64>([4, 2, 2]);
    let objective = example.objective(&[]);
    for by in [1e-4, 2e-3, 2e-2] {
        let x = example.shaken(by);
        let [mine, wanted] = [example.system.energy(&objective, &x), example.by_definition(&x)];
        assert!((mine / wanted - 1.0).abs() < 1e-10, "{mine} {wanted}");
        let gradient = example.system.gradient(&objective, &x);
        let scale = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
        for node in [20, 31, 44] {
            for axis in 0..3 {
                let at = |h: f64| {
                    let mut moved = x.clone();
                    moved[node][axis] += h;
                    example.by_definition(&moved)
                };
                let slope = (at(1e-8) - at(-1e-8)) / 2e-8;
                let given = if example.held[node] { slope } else { gradient[node][axis] };
                assert!((slope - given).abs() < 1e-4 * scale, "{by} {node}: {slope} {given}");
            }
        }
    }
}

#[test]
fn a_step_is_the_minimum_of_the_quadratic_that_projections_leave() {
    let example = example::<f64>([3, 2, 1]);
    let x = example.shaken(3e-3);
    let objective = example.objective(&[]);
    let gradient = example.system.gradient(&objective, &x);
    // The constant matrix, dense.
    let rest = crate::TissueRest::prepare(&example.mesh.tets, &example.mesh.nodes).unwrap();
    let n = x.len();
    let mut a = Matrix::zeros(n, n);
    for (t, tet) in example.mesh.tets.iter().enumerate() {
        let inverse = rest.inverse[t].transpose();
        let g = [
            -(inverse.x_axis + inverse.y_axis + inverse.z_axis),
            inverse.x_axis,
            inverse.y_axis,
            inverse.z_axis,
        ];
        for (i, &row) in tet.iter().enumerate() {
            for (j, &column) in tet.iter().enumerate() {
                if !example.held[row as usize] && !example.held[column as usize] {
                    let total: f64 = WEIGHTS.iter().sum();
                    a.column_mut(column as usize)[row as usize] += total * rest.volume[t] * g[i].dot(g[j]);
                }
            }
        }
    }
    (0..n).filter(|&i| example.held[i]).for_each(|i| a.column_mut(i)[i] = 1.0);
    let factor = Cholesky::factor(a).unwrap();
    let mut wanted = x.clone();
    for axis in 0..3 {
        let mut d: Vec<f64> = gradient.iter().map(|g| g[axis]).collect();
        factor.solve_in_place(&mut d);
        wanted.iter_mut().zip(d).for_each(|(x, d)| x[axis] -= d);
    }
    let mut mine = x.clone();
    let once = Iterations { most: 1, tolerance: 0.0, memory: 0, detect_every: 1, detections: 1 };
    example.system.minimize(&objective, &mut mine, &once, &no_progress).unwrap();
    let moved = farthest(&x, &wanted);
    assert!(farthest(&mine, &wanted) < 1e-5 * moved, "{} of {moved}", farthest(&mine, &wanted));
}

#[test]
fn every_plain_step_lowers_the_energy_and_acceleration_reaches_the_same_minimum() {
    fn run<T: Number>(noise: f64) -> (Vec<DVec3>, usize, usize) {
        let example = example::<T>([8, 3, 3]);
        let objective = example.objective(&[]);
        let start = example.shaken(4e-3);
        let options =
            |memory: usize| Iterations { most: 3000, tolerance: 1e-9, memory, ..Iterations::default() };
        let (mut plain, mut fast) = (start.clone(), start);
        let plainly = example.system.minimize(&objective, &mut plain, &options(0), &no_progress).unwrap();
        assert!(plainly.converged);
        for pair in plainly.energies.windows(2) {
            assert!(pair[1] <= pair[0] * (1.0 + noise), "{pair:?}");
        }
        let quickly = example.system.minimize(&objective, &mut fast, &options(6), &no_progress).unwrap();
        assert!(quickly.converged && farthest(&plain, &fast) < 2e-7, "{}", farthest(&plain, &fast));
        assert!(2 * quickly.iterations < plainly.iterations, "{} {}", plainly.iterations, quickly.iterations);
        (fast, plainly.iterations, quickly.iterations)
    }
    let (double, ..) = run::<f64>(1e-12);
    let (single, ..) = run::<f32>(1e-6);
    assert!(farthest(&double, &single) < 1e-7, "single precision costs {} m", farthest(&double, &single));
}

#[test]
fn the_minimum_has_no_force_and_no_lower_neighbor() {
    let example = example::<f64>([6, 2, 2]);
    let objective = example.objective(&[]);
    let mut x = example.shaken(1e-3);
    let report = example.system.minimize(&objective, &mut x, &Iterations::default(), &no_progress).unwrap();
    assert!(report.converged, "{report:?}");
    let least = example.by_definition(&x);
    let mut random = Random(9);
    for _ in 0..40 {
        let step = |(p, held): (&DVec3, &bool)| if *held { *p } else { *p + random.vector() * 1e-5 };
        let other: Vec<DVec3> = x.iter().zip(&example.held).map(step).collect();
        assert!(example.by_definition(&other) > least);
    }
}

#[test]
fn a_shape_whose_targets_are_its_own_gradients_is_at_rest() {
    let example = example::<f32>([6, 2, 2]);
    let bend = |p: &DVec3| DVec3::new(p.x * 1.2, p.y + 4.0 * p.x * p.x, p.z * (1.0 - 3.0 * p.x));
    let shape: Vec<DVec3> = example.mesh.nodes.iter().map(bend).collect();
    let rest = crate::TissueRest::prepare(&example.mesh.tets, &example.mesh.nodes).unwrap();
    let of = |t: usize| {
        let f = edge_matrix(&shape, example.mesh.tets[t]) * rest.inverse[t];
        (f, f.determinant())
    };
    let aims = Aims::prepare(of, example.mesh.tets.len());
    let objective = Objective { aims: &aims, ..example.objective(&[]) };
    // From the neutral, with held nodes in the shape.
    let mut x: Vec<DVec3> =
        (0..shape.len()).map(|i| if example.held[i] { shape[i] } else { example.mesh.nodes[i] }).collect();
    let report = example.system.minimize(&objective, &mut x, &Iterations::default(), &no_progress).unwrap();
    assert!(report.converged && farthest(&x, &shape) < 1e-6, "{} m off", farthest(&x, &shape));
}

#[test]
fn rigid_motion_gives_no_force_without_targets_and_inverted_starts_recover() {
    let mesh = bar([4, 2, 2], SIZE);
    let n = mesh.tets.len();
    let held = vec![false; mesh.nodes.len()];
    let weights = TetWeights { rigid: vec![1000.0; n], volume: vec![3000.0; n], ..TetWeights::default() };
    let masses = lumped_masses(&mesh, |_| 1000.0);
    let system =
        Projective::<f64>::prepare(&mesh.tets, &mesh.nodes, &weights, &masses, &held, Vec::new(), &[])
            .unwrap();
    let aims = Aims::rest(n);
    let objective = Objective { aims: &aims, inertial: None, forces: &[], places: &[], touching: None };
    let mut random = Random(2);
    let (turn, shift) = (random.rotation(), random.vector());
    let moved: Vec<DVec3> = mesh.nodes.iter().map(|p| turn * *p + shift).collect();
    let force = system.gradient(&objective, &moved).iter().map(|g| g.length()).fold(0.0, f64::max);
    assert!(force < 1e-9 && system.energy(&objective, &moved) < 1e-18, "{force} N");
    // Crumpled: held at one end it unfolds.
    let held: Vec<bool> = mesh.nodes.iter().map(|p| p.x < 1e-9).collect();
    let system =
        Projective::<f64>::prepare(&mesh.tets, &mesh.nodes, &weights, &masses, &held, Vec::new(), &[])
            .unwrap();
    let start =
        |p: &DVec3| if p.x < 1e-9 { *p } else { DVec3::new(0.4 * p.x, p.y, p.z) + random.vector() * 0.006 };
    let mut x: Vec<DVec3> = mesh.nodes.iter().map(start).collect();
    assert!(system.smallest_det(&x) < -0.1, "not inverted: {}", system.smallest_det(&x));
    let options = Iterations { most: 3000, ..Iterations::default() };
    let report = system.minimize(&objective, &mut x, &options, &no_progress).unwrap();
    assert!(report.converged && report.energies.last() < report.energies.first());
    assert!(system.smallest_det(&x) > 0.9 && farthest(&x, &mesh.nodes) < 1e-4, "{}", system.smallest_det(&x));
}

#[test]
fn pins_pull_points_to_places_and_planes() {
    let example = example::<f64>([4, 2, 2]);
    let n = example.mesh.tets.len();
    let weights = TetWeights { target: vec![10.0; n], ..TetWeights::default() };
    let pins = vec![
        Pin { nodes: example.mesh.tets[n - 1], weights: [0.1, 0.2, 0.3, 0.4], stiffness: 1e5 },
        Pin { nodes: [42, NO_NODE, NO_NODE, NO_NODE], weights: [1.0, 0.0, 0.0, 0.0], stiffness: 1e5 },
    ];
    let masses = vec![0.0; example.mesh.nodes.len()];
    let (mesh, held) = (&example.mesh, &example.held);
    let system =
        Projective::<f64>::prepare(&mesh.tets, &mesh.nodes, &weights, &masses, held, pins, &[]).unwrap();
    let aims = Aims::rest(n);
    let place = DVec3::new(0.06, 0.03, 0.015);
    let places = [
        PinPlace { place, normal: None },
        PinPlace { place: mesh.nodes[42] + DVec3::new(0.0, 0.0, 0.004), normal: Some(DVec3::Z) },
    ];
    let objective = Objective { aims: &aims, inertial: None, forces: &[], places: &places, touching: None };
    let mut x = mesh.nodes.clone();
    let options = Iterations { most: 2000, ..Iterations::default() };
    let report = system.minimize(&objective, &mut x, &options, &no_progress).unwrap();
    let point: DVec3 =
        mesh.tets[n - 1].iter().zip([0.1, 0.2, 0.3, 0.4]).map(|(&n, w)| x[n as usize] * w).sum();
    assert!(report.converged && point.distance(place) < 2e-5, "{point}");
    assert!((x[42].z - mesh.nodes[42].z - 0.004).abs() < 2e-5);
}

#[test]
fn bad_input_is_refused() {
    let mesh = bar([2, 1, 1], SIZE);
    let (n, held) = (mesh.nodes.len(), vec![false; mesh.nodes.len()]);
    let weights = |value: f64, n: usize| TetWeights { target: vec![value; n], ..TetWeights::default() };
    let prepare = |weights: &TetWeights, masses: &[f64]| {
        Projective::<f32>::prepare(&mesh.tets, &mesh.nodes, weights, masses, &held, Vec::new(), &[]).err()
    };
    let n_tets = mesh.tets.len();
    assert!(prepare(&weights(1.0, n_tets), &vec![1.0; n]).is_none());
    assert!(prepare(&weights(1.0, n_tets - 1), &vec![1.0; n]).is_some());
    assert!(prepare(&weights(-1.0, n_tets), &vec![1.0; n]).is_some());
    assert!(prepare(&weights(1.0, n_tets), &vec![f64::NAN; n]).is_some());
    let system = Projective::<f32>::prepare(
        &mesh.tets,
        &mesh.nodes,
        &weights(1.0, n_tets),
        &vec![1.0; n],
        &held,
        Vec::new(),
        &[],
    )
    .unwrap();
    let aims = Aims::rest(n_tets);
    let objective = Objective { aims: &aims, inertial: None, forces: &[], places: &[], touching: None };
    let mut x = mesh.nodes.clone();
    x[1].x = f64::NAN;
    assert!(system.minimize(&objective, &mut x, &Iterations::default(), &no_progress).is_err());
}
