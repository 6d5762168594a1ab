//! Springs: quadratic energies that pull points to targets.
//!
//! A point is a weighted sum of up to four nodes: a node, or a place embedded in a tet. A spring acts in all
//! directions, `k/2 |p - t|^2`, or only along a normal, `k/2 (n . (p - t))^2`, so that the point slides on a
//! plane.
//! The second derivative is constant and positive semidefinite.

use crate::energy::Energy;
use crate::energy::Forces;
use crate::{SolveError, check_values};
use glam::{DMat3, DVec3};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{ElementBlocks, NO_NODE, Stencil};
use risorius_mesh::tet::tet_mesh::TetMesh;
use std::ops::Range;

/// Pulls a point to a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring {
    /// Nodes of the point, padded with [`NO_NODE`].
    pub nodes: Stencil,
    /// Their weights; those of padding are ignored.
    pub weights: [f64; 4],
    /// Where the point should be, meters.
    pub target: DVec3,
    /// Newtons per meter.
    pub stiffness: f64,
    /// Only the distance along this unit vector counts; `None` for all directions.
    pub normal: Option<DVec3>,
}

impl Spring {
    /// At a node, in all directions.
    pub fn at_node(node: u32, target: DVec3, stiffness: f64) -> Self {
        let nodes = [node, NO_NODE, NO_NODE, NO_NODE];
        Self { nodes, weights: [1.0, 0.0, 0.0, 0.0], target, stiffness, normal: None }
    }

    fn offset(&self, x: &[DVec3]) -> DVec3 {
        let mut offset = -self.target;
        for (&node, &weight) in self.nodes.iter().zip(&self.weights) {
            if node != NO_NODE {
                offset += weight * x[node as usize];
            }
        }
        self.normal.map_or(offset, |n| n * n.dot(offset))
    }
}

/// Many springs.
#[derive(Debug, Clone, Default)]
pub struct Springs {
    springs: Vec<Spring>,
    stencils: Vec<Stencil>,
    /// All stiffnesses are zero.
    slack: bool,
}

impl Springs {
    /// Checks stiffnesses, targets and normals; normalizes the normals.
    pub fn prepare(springs: &[Spring]) -> Result<Self, SolveError> {
        check_values("stiffness", springs.iter().map(|s| s.stiffness))?;
        check_values(
            "squared length of the spring target",
            springs.iter().map(|s| s.target.length_squared()),
        )?;
        check_values(
            "squared length of the spring normal",
            springs.iter().filter_map(|s| s.normal).map(DVec3::length_squared),
        )?;
        let unit = |s: &Spring| Spring { normal: s.normal.map(DVec3::normalize_or_zero), ..*s };
        let springs: Vec<Spring> = springs.iter().map(unit).collect();
        let slack = springs.iter().all(|s| s.stiffness == 0.0);
        Ok(Self { stencils: springs.iter().map(|s| s.nodes).collect(), springs, slack })
    }

    /// The springs.
    pub fn springs(&self) -> &[Spring] {
        &self.springs
    }
}

/// A quarter of each tet's mass at each of its nodes, kilograms, for the density of each tet in kg/m^3.
pub fn lumped_masses(mesh: &TetMesh, density: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut masses = vec![0.0; mesh.nodes.len()];
    for (tet_idx, tet) in mesh.tets.iter().enumerate() {
        let quarter = density(tet_idx) * mesh.edges_of(tet_idx).determinant() / 24.0;
        tet.iter().for_each(|&node| masses[node as usize] += quarter);
    }
    masses
}

impl Energy for Springs {
    fn stencils(&self) -> &[Stencil] {
        &self.stencils
    }

    fn values(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64]) {
        for (value, spring) in values.iter_mut().zip(&self.springs[elements]) {
            *value = 0.5 * spring.stiffness * spring.offset(x).length_squared();
        }
    }

    fn gradients(&self, x: &[DVec3], elements: Range<usize>, values: &mut [f64], gradients: &mut [Forces]) {
        for ((value, gradient), spring) in values.iter_mut().zip(gradients).zip(&self.springs[elements]) {
            let offset = spring.offset(x);
            *value = 0.5 * spring.stiffness * offset.length_squared();
            *gradient = spring.weights.map(|w| w * spring.stiffness * offset);
        }
    }

    fn hessians(&self, _x: &[DVec3], elements: Range<usize>, _exact: bool, blocks: &mut [ElementBlocks<3>]) {
        for (block, spring) in blocks.iter_mut().zip(&self.springs[elements]) {
            let along =
                spring.normal.map_or(DMat3::IDENTITY, |n| DMat3::from_cols(n * n.x, n * n.y, n * n.z));
            for a in 0..4 {
                for b in 0..=a {
                    let k = spring.stiffness * spring.weights[a] * spring.weights[b];
                    block[block_index(a, b)] = (along * k).to_cols_array_2d();
                }
            }
        }
    }

    fn is_zero(&self) -> bool {
        self.slack
    }

    fn is_directional(&self) -> bool {
        self.springs.iter().any(|spring| spring.normal.is_some() && spring.stiffness > 0.0)
    }

    fn laplacians(&self, elements: Range<usize>, blocks: &mut [ElementBlocks<1>]) {
        for (block, spring) in blocks.iter_mut().zip(&self.springs[elements]) {
            for a in 0..4 {
                for b in 0..=a {
                    block[block_index(a, b)] = [[spring.stiffness * spring.weights[a] * spring.weights[b]]];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Random, check_energy};

    #[test]
    fn derivatives_match_differences() {
        let mut random = Random(3);
        for k in 0..20 {
            let mut spring = Spring::at_node(0, random.vector(), 3.0);
            if k % 2 == 1 {
                spring.nodes = [0, 1, 2, 3];
                spring.weights = [0.1, 0.2, 0.3, 0.4];
            }
            if k % 3 == 0 {
                spring.normal = Some(random.vector());
            }
            let x: Vec<DVec3> = (0..4).map(|_| random.vector()).collect();
            check_energy(&Springs::prepare(&[spring]).unwrap(), &x, 1e-5);
        }
    }

    #[test]
    fn masses_add_up() {
        let mesh = crate::fixtures::bar([3, 2, 2], DVec3::new(0.3, 0.1, 0.1));
        let total: f64 = lumped_masses(&mesh, |_| 1100.0).iter().sum();
        assert!((total - 1100.0 * 0.003).abs() < 1e-12);
    }
}
