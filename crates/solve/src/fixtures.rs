//! Shared by tests: random numbers, bars of tets, bodies for dynamic tests, derivative checks.

use crate::ElasticTets;
use crate::contact::detect::Touch;
use crate::energy::Energy;
use crate::energy::springs::lumped_masses;
use crate::energy::tissue::{Barrier, Tissue};
use crate::minimize::newton::{SolveOptions, minimize};
use crate::minimize::system::{Problem, System};
use crate::step::body::{self, Configuration, State, StepOptions};
use crate::step::dynamics::Dynamics;
use glam::{DMat3, DQuat, DVec3};
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_linalg::ElementBlocks;
use risorius_linalg::sparse::block_index;
use risorius_mesh::tet::tet_mesh::TetMesh;
use std::sync::Arc;

/// A linear congruential generator.
pub struct Random(pub u64);

impl Random {
    /// From -1 to 1.
    pub fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// In the cube from -1 to 1.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.number(), self.number(), self.number())
    }

    pub fn matrix(&mut self) -> DMat3 {
        DMat3::from_cols(self.vector(), self.vector(), self.vector())
    }

    pub fn rotation(&mut self) -> DMat3 {
        DMat3::from_quat(DQuat::from_axis_angle(
            (self.vector() + DVec3::splat(1e-3)).normalize(),
            3.0 * self.number(),
        ))
    }
}

/// A box of cells, each of six tets around a diagonal, from the origin to `size`.
pub fn bar(cells: [usize; 3], size: DVec3) -> TetMesh {
    let counts = cells.map(|c| c + 1);
    let node = |i: usize, j: usize, k: usize| ((k * counts[1] + j) * counts[0] + i) as u32;
    let mut mesh = TetMesh::default();
    for k in 0..counts[2] {
        for j in 0..counts[1] {
            for i in 0..counts[0] {
                let fraction = |at: usize, n: usize| at as f64 / n as f64;
                mesh.nodes.push(
                    size * DVec3::new(fraction(i, cells[0]), fraction(j, cells[1]), fraction(k, cells[2])),
                );
            }
        }
    }
    for k in 0..cells[2] {
        for j in 0..cells[1] {
            for i in 0..cells[0] {
                for axes in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
                    let mut at = [i, j, k];
                    let mut tet = [node(i, j, k); 4];
                    for (corner, axis) in axes.into_iter().enumerate() {
                        at[axis] += 1;
                        tet[corner + 1] = node(at[0], at[1], at[2]);
                    }
                    if matches!(axes, [0, 2, 1] | [2, 1, 0] | [1, 0, 2]) {
                        tet.swap(2, 3);
                    }
                    mesh.tets.push(tet);
                }
            }
        }
    }
    mesh
}

/// A bar of one material for dynamic tests, initially at rest.
pub struct Body {
    pub mesh: TetMesh,
    pub held: Vec<bool>,
    pub masses: Vec<f64>,
    pub first: Configuration,
    pub touch: Touch,
}

impl Body {
    /// With a density of 1000 kg/m^3.
    pub fn bar(cells: [usize; 3], size: DVec3, hold: impl Fn(DVec3) -> bool, mu: f64, lambda: f64) -> Self {
        let mesh = bar(cells, size);
        let (held, n) = (mesh.nodes.iter().map(|&p| hold(p)).collect(), mesh.tets.len());
        let first = Configuration {
            rest: mesh.nodes.clone(),
            parameters: vec![vec![mu; n], vec![lambda; n]],
            surface: Default::default(),
        };
        Self { masses: lumped_masses(&mesh, |_| 1000.0), mesh, held, first, touch: Touch::default() }
    }

    /// A zero vector for each node.
    pub fn zeros(&self) -> Vec<DVec3> {
        vec![DVec3::ZERO; self.masses.len()]
    }

    /// The force on each node that gives it this acceleration.
    pub fn weight(&self, acceleration: DVec3) -> Vec<DVec3> {
        self.masses.iter().map(|m| *m * acceleration).collect()
    }

    /// Starts at rest, with the identity as frame.
    pub fn start(&self, options: StepOptions) -> Dynamics {
        self.start_at(&self.mesh.nodes, &self.zeros(), Rigid::IDENTITY, options)
    }

    /// Starts in the given state.
    pub(crate) fn start_at(
        &self,
        x: &[DVec3],
        velocities: &[DVec3],
        frame: Rigid,
        options: StepOptions,
    ) -> Dynamics {
        let (first, v) = (self.first.clone(), velocities.to_vec());
        let made_of = body::Body {
            tets: &self.mesh.tets,
            energies: vec![Arc::new(ElasticTets::new(&self.mesh.tets))],
            masses: &self.masses,
            held: &self.held,
            touch: self.touch.clone(),
        };
        let mut body = Dynamics::prepare(made_of, first, frame, v, options).unwrap();
        body.restore(State { positions: x.to_vec(), ..body.state() }).unwrap();
        body
    }

    /// Its tissue, without a barrier.
    pub fn tissue(&self, at: &Configuration) -> Tissue {
        let [mu, lambda] = at.parameters.as_slice() else { panic!("tissue has two parameters") };
        Tissue::prepare(&self.mesh.tets, &at.rest, None, mu, lambda, Barrier::default()).unwrap()
    }

    /// The minimum of the elastic energy of `at` under `loads`, found by Newton's method from `x`.
    pub fn equilibrium(&self, at: &Configuration, loads: &[DVec3], x: &[DVec3]) -> Vec<DVec3> {
        let tissue = self.tissue(at);
        let system = System::prepare(&self.held, &[&self.mesh.tets]).unwrap();
        let problem = Problem { system: &system, energies: &[&tissue], loads };
        let mut x = x.to_vec();
        let report = minimize(&problem, &mut x, &TIGHT, &no_progress).unwrap();
        assert!(report.converged(), "{report:?}");
        x
    }
}

/// Tolerances close to rounding.
pub(crate) const TIGHT: SolveOptions = SolveOptions {
    force_tolerance: 1e-11,
    step_tolerance: 1e-13,
    max_iterations: 50,
    allow_inversion: false,
};

/// The longest distance between nodes of the same index.
pub fn farthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn gradient_of(energy: &dyn Energy, x: &[DVec3]) -> (f64, [DVec3; 4]) {
    let (mut value, mut gradient) = ([0.0], [[DVec3::ZERO; 4]]);
    energy.gradients(x, 0..1, &mut value, &mut gradient);
    let mut alone = [0.0];
    energy.values(x, 0..1, &mut alone);
    assert!((alone[0] - value[0]).abs() <= 1e-13 * value[0].abs().max(1e-300), "{alone:?} {value:?}");
    (value[0], gradient[0])
}

/// An entry of the 12 x 12 matrix of an element.
pub(crate) fn block_entry(blocks: &ElementBlocks<3>, row: usize, column: usize) -> f64 {
    let (a, r, b, c) = (row / 3, row % 3, column / 3, column % 3);
    if a >= b { blocks[block_index(a, b)][c][r] } else { blocks[block_index(b, a)][r][c] }
}

/// Checks gradient and exact Hessian of the first element against finite differences with the given step, and
/// that the projected Hessian is positive semidefinite.
pub(crate) fn check_energy(energy: &dyn Energy, x: &[DVec3], step: f64) {
    let (value, gradient) = gradient_of(energy, x);
    let mut exact = [[[[0.0; 3]; 3]; 10]];
    let mut projected = exact;
    energy.hessians(x, 0..1, true, &mut exact);
    energy.hessians(x, 0..1, false, &mut projected);
    let scale = exact[0].iter().flatten().flatten().fold(1e-12f64, |m, v| m.max(v.abs()));
    let used: Vec<usize> = (0..4).filter(|&a| energy.stencils()[0][a] != risorius_linalg::NO_NODE).collect();
    for &a in &used {
        for axis in 0..3 {
            let node = energy.stencils()[0][a] as usize;
            let at = |h: f64| {
                let mut moved = x.to_vec();
                moved[node][axis] += h;
                gradient_of(energy, &moved)
            };
            let (plus, minus) = (at(step), at(-step));
            let slope = (plus.0 - minus.0) / (2.0 * step);
            let noise = 1e-14 * value.abs() / step + 1e-4 * scale * step;
            assert!(
                (slope - gradient[a][axis]).abs()
                    < 1e-5 * scale.max(gradient[a].length()) * step.sqrt() + noise,
                "slope {slope} {}",
                gradient[a][axis]
            );
            for &b in &used {
                for other in 0..3 {
                    let curve = (plus.1[b][other] - minus.1[b][other]) / (2.0 * step);
                    let entry = block_entry(&exact[0], 3 * b + other, 3 * a + axis);
                    assert!((curve - entry).abs() < 1e-5 * scale, "curve {curve} {entry} scale {scale}");
                }
            }
        }
    }
    check_definite(&projected[0], scale);
}

/// No direction of a sample has negative curvature.
fn check_definite(blocks: &ElementBlocks<3>, scale: f64) {
    let mut random = Random(11);
    for _ in 0..200 {
        let v: Vec<f64> = (0..12).map(|_| random.number()).collect();
        let curvature: f64 =
            (0..144).map(|k| v[k / 12] * v[k % 12] * block_entry(blocks, k / 12, k % 12)).sum();
        assert!(curvature > -1e-12 * scale, "{curvature} {scale}");
    }
    (0..12).for_each(|i| {
        (0..i).for_each(|j| {
            let (a, b) = (block_entry(blocks, i, j), block_entry(blocks, j, i));
            assert!((a - b).abs() < 1e-12 * scale);
        })
    });
}

/// Checks that a moved and rotated state has the same energy and rotated forces, with no net force or torque.
pub(crate) fn check_rigid_invariance(energy: &dyn Energy, x: &[DVec3], random: &mut Random) {
    let (value, gradient) = gradient_of(energy, x);
    let (turn, shift) = (random.rotation(), random.vector() * 3.0);
    let moved: Vec<DVec3> = x.iter().map(|&p| turn * p + shift).collect();
    let (moved_value, moved_gradient) = gradient_of(energy, &moved);
    let size = gradient.iter().map(|g| g.length()).fold(1e-9, f64::max);
    assert!((value - moved_value).abs() < 1e-9 * value.abs().max(1e-12) + 1e-9 * size);
    for (g, m) in gradient.iter().zip(&moved_gradient) {
        assert!((turn * *g - *m).length() < 1e-9 * size);
    }
    let torque: DVec3 = gradient.iter().zip(x).map(|(g, p)| p.cross(*g)).sum();
    assert!(gradient.iter().sum::<DVec3>().length() < 1e-12 * size && torque.length() < 1e-12 * size);
}
