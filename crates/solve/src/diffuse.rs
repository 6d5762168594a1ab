//! Diffusion of values through a volume, and harmonic extension of values that are held.
//!
//! `Diffusion` takes implicit Euler steps of the heat equation with linear elements and lumped volumes,
//!
//! ```text
//! (M + t L) u' = M u,     L_ab = sum over tets of volume grad_a . grad_b,   t = diffusivity times seconds, m^2
//! ```
//!
//! which spreads values over about `sqrt(2 t)` meters [Kozlov17, sec. 6.2: painted materials]. Linear
//! elements with obtuse angles can overshoot, so results are clamped to the range of their column: materials
//! never leave it. `Harmonic` solves `L u = 0` with held values; linear fields are reproduced exactly, so
//! displacements of held nodes are extended without clamping. Both factor once and run any number of columns.

use crate::energy::isotropic::tet_laplacian;
use crate::energy::tissue::TissueRest;
use crate::{SolveError, check_length};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{BlockMatrix, Gather, NodeGraph, Pattern, SparseCholesky};
use risorius_mesh::tet::tet_mesh::TetMesh;
use std::sync::Arc;

/// Heat flow over a fixed time, prepared.
pub struct Diffusion {
    field: Field,
    n_steps: usize,
}

impl Diffusion {
    /// Factors for a total `time` (square meters) in `n_steps` implicit steps; held nodes keep their values.
    pub fn prepare(mesh: &TetMesh, held: &[bool], time: f64, n_steps: usize) -> Result<Self, SolveError> {
        crate::check_values("diffusion time", [time].into_iter())?;
        let n_steps = n_steps.max(1);
        Ok(Self { field: Field::prepare(mesh, held, time / n_steps as f64, 1.0)?, n_steps })
    }

    /// Diffuses K columns of values at the nodes.
    pub fn run<const K: usize>(&self, values: &[[f64; K]]) -> Result<Vec<[f64; K]>, SolveError> {
        check_length("values", values.len(), self.field.held.len())?;
        let range: [(f64, f64); K] = std::array::from_fn(|k| {
            values
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v[k]), high.max(v[k])))
        });
        let mut now = values.to_vec();
        for _ in 0..self.n_steps {
            now = self.field.solve(&now);
            for value in &mut now {
                value.iter_mut().zip(range).for_each(|(v, (low, high))| *v = v.max(low).min(high));
            }
        }
        Ok(now)
    }
}

/// Laplace's equation with held nodes, prepared.
pub struct Harmonic {
    field: Field,
}

impl Harmonic {
    /// Factors for a set of held nodes. Parts of the mesh without a held node get zero.
    pub fn prepare(mesh: &TetMesh, held: &[bool]) -> Result<Self, SolveError> {
        Ok(Self { field: Field::prepare(mesh, held, 1.0, 0.0)? })
    }

    /// The values of held nodes, extended to the others; the others' values in `values` do not matter.
    pub fn extend<const K: usize>(&self, values: &[[f64; K]]) -> Result<Vec<[f64; K]>, SolveError> {
        check_length("values", values.len(), self.field.held.len())?;
        Ok(self.field.solve(values))
    }
}

/// `m M + t L`, factored over the free nodes.
struct Field {
    held: Vec<bool>,
    /// `m M` at each node.
    mass: Vec<f64>,
    /// `t L` between a free and a held node.
    coupling: Vec<(u32, u32, f64)>,
    factor: SparseCholesky<1>,
}

impl Field {
    fn prepare(mesh: &TetMesh, held: &[bool], time: f64, mass_factor: f64) -> Result<Self, SolveError> {
        check_length("held nodes", held.len(), mesh.nodes.len())?;
        let graph = NodeGraph::prepare(held, &[&mesh.tets])?;
        let rest = TissueRest::prepare(&mesh.tets, &mesh.nodes)?;
        let blocks: Vec<_> = rest
            .inverse
            .iter()
            .zip(&rest.volume)
            .map(|(&inverse, volume)| tet_laplacian(inverse, volume * time))
            .collect();
        let (mut mass, mut coupling) = (vec![0.0; held.len()], Vec::new());
        for ((tet, block), volume) in mesh.tets.iter().zip(&blocks).zip(&rest.volume) {
            for a in 0..4 {
                mass[tet[a] as usize] += mass_factor * volume / 4.0;
                for b in 0..4 {
                    if !held[tet[a] as usize] && held[tet[b] as usize] {
                        coupling.push((tet[a], tet[b], block[block_index(a.max(b), a.min(b))][0][0]));
                    }
                }
            }
        }
        let pattern = Arc::new(Pattern::<1>::prepare(&graph)?);
        let mut matrix = BlockMatrix::zeros(&pattern);
        matrix.add(&pattern, &Gather::prepare(&pattern, &mesh.tets), &blocks);
        // Far below rounding of the result; only parts of the mesh that nothing holds feel it.
        let tiny = 1e-13 * matrix.largest_diagonal(&pattern).max(f64::MIN_POSITIVE);
        let diagonal: Vec<[[f64; 1]; 1]> = mass.iter().map(|m| [[m + tiny]]).collect();
        matrix.add_node_blocks(&pattern, &diagonal);
        let factor = SparseCholesky::new(&pattern, &matrix)?;
        Ok(Self { held: held.to_vec(), mass, coupling, factor })
    }

    fn solve<const K: usize>(&self, values: &[[f64; K]]) -> Vec<[f64; K]> {
        let mut out: Vec<[f64; K]> = values
            .iter()
            .zip(&self.mass)
            .map(|(v, m)| v.map(|v| if *m == 0.0 { 0.0 } else { v * m }))
            .collect();
        for &(free, held, weight) in &self.coupling {
            for k in 0..K {
                out[free as usize][k] -= weight * values[held as usize][k];
            }
        }
        self.factor.solve(&mut out);
        for ((out, value), &held) in out.iter_mut().zip(values).zip(&self.held) {
            if held {
                *out = *value;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, bar};
    use glam::DVec3;

    /// A box with shaken inner nodes, so that angles are obtuse here and there.
    fn shaken(cells: [usize; 3], size: DVec3) -> TetMesh {
        let mut mesh = bar(cells, size);
        let mut random = Random(4);
        let step = size / DVec3::new(cells[0] as f64, cells[1] as f64, cells[2] as f64);
        for p in &mut mesh.nodes {
            let inside = p.cmpgt(size * 1e-6).all() && p.cmplt(size * (1.0 - 1e-6)).all();
            if inside {
                *p += 0.2 * step * random.vector();
            }
        }
        mesh
    }

    #[test]
    fn linear_fields_are_harmonic() {
        let mesh = shaken([5, 4, 4], DVec3::new(0.05, 0.04, 0.03));
        let on_surface =
            |p: &DVec3| p.cmplt(DVec3::splat(1e-9)).any() || p.x > 0.0499 || p.y > 0.0399 || p.z > 0.0299;
        let held: Vec<bool> = mesh.nodes.iter().map(on_surface).collect();
        let field: Vec<[f64; 3]> = mesh.nodes.iter().map(|p| [p.x + 2.0 * p.y - 1.0, p.z, 3.0]).collect();
        let given: Vec<[f64; 3]> =
            field.iter().zip(&held).map(|(f, &h)| if h { *f } else { [f64::NAN; 3] }).collect();
        let found = Harmonic::prepare(&mesh, &held).unwrap().extend(&given).unwrap();
        for (a, b) in found.iter().flatten().zip(field.iter().flatten()) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }

    #[test]
    fn a_cosine_decays_as_it_should() {
        let (length, time) = (0.1, 2e-4);
        let mesh = bar([40, 2, 2], DVec3::new(length, 0.005, 0.005));
        let wave = std::f64::consts::PI / length;
        let start: Vec<[f64; 2]> = mesh.nodes.iter().map(|p| [(wave * p.x).cos(), 5.0]).collect();
        let end =
            Diffusion::prepare(&mesh, &vec![false; start.len()], time, 20).unwrap().run(&start).unwrap();
        let decay = (-wave * wave * time).exp();
        for (s, e) in start.iter().zip(&end) {
            assert!((e[0] - s[0] * decay).abs() < 0.01, "{} {}", e[0], s[0] * decay);
            assert!((e[1] - 5.0).abs() < 1e-9);
        }
    }

    #[test]
    fn values_stay_in_their_range_and_held_ones_stay() {
        let mesh = shaken([6, 6, 6], DVec3::new(0.06, 0.06, 0.005));
        let mut random = Random(6);
        let held: Vec<bool> = (0..mesh.nodes.len()).map(|v| v % 5 == 0).collect();
        let start: Vec<[f64; 1]> =
            held.iter().map(|_| [if random.number() > 0.9 { 20000.0 } else { 3000.0 }]).collect();
        for time in [0.0, 1e-9, 1e-6, 1e-3] {
            let end = Diffusion::prepare(&mesh, &held, time, 2).unwrap().run(&start).unwrap();
            assert!(end.iter().all(|v| (3000.0..=20000.0).contains(&v[0])));
            assert!(end.iter().zip(&start).zip(&held).all(|((e, s), &h)| !h || e == s));
        }
    }

    #[test]
    fn heat_is_kept_where_nothing_is_held() {
        let mesh = bar([5, 5, 5], DVec3::splat(0.05));
        let mut random = Random(8);
        let start: Vec<[f64; 1]> = mesh.nodes.iter().map(|_| [random.number()]).collect();
        let masses = crate::energy::springs::lumped_masses(&mesh, |_| 1.0);
        let end = Diffusion::prepare(&mesh, &vec![false; start.len()], 1e-4, 3).unwrap().run(&start).unwrap();
        let total = |v: &[[f64; 1]]| v.iter().zip(&masses).map(|(v, m)| v[0] * m).sum::<f64>();
        assert!((total(&start) - total(&end)).abs() < 1e-9 * masses.iter().sum::<f64>());
    }
}
