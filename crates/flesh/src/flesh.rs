//! The words of flesh: the volume, how the skin hangs on it, where it goes with each shape, what it is made
//! of.

use crate::domain::Bound;
use glam::DVec3;
use risorius_base::Array;
use risorius_mesh::TetMesh;

/// The tet volume between skin and bones, in meters, +Y up, +Z front, in the rig's neutral.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flesh {
    /// Rest positions of the neutral, X0.
    pub nodes: Array<[f64; 3]>,
    /// Four nodes each, positive volume.
    pub tets: Array<[u32; 4]>,
    /// What each node lies on, as numbers of [`Bound`].
    pub bounds: Array<u8>,
    /// How rig vertices hang on the volume.
    pub embedding: SkinEmbedding,
    /// One per shape of the rig: the blendvolume basis B_X [Kozlov17, sec. 6.1].
    pub volumes: Vec<VolumeShape>,
    /// Stiffness of each tet, and its change with each shape [Kozlov17, sec. 6.2].
    pub materials: Materials,
}

/// Rig vertices that follow the flesh: skin, and what hangs on it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkinEmbedding {
    /// Rig vertices, ascending.
    pub vertices: Array<u32>,
    /// The tet of each.
    pub tets: Array<u32>,
    /// Weights of the tet's nodes, summing to 1.
    pub weights: Array<[f32; 4]>,
}

/// Where the volume's nodes go with one shape, relative to the neutral.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VolumeShape {
    /// Nodes that move, ascending.
    pub nodes: Array<u32>,
    /// Their displacements in meters.
    pub offsets: Array<[f32; 3]>,
}

/// Stiffness per tet in Pa.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Materials {
    /// Shear stiffness mu in the neutral.
    pub mu: Array<f32>,
    /// Resistance to volume change lambda in the neutral.
    pub lambda: Array<f32>,
    /// One per shape of the rig: the blendmaterial basis B_P.
    pub shapes: Vec<MaterialShape>,
}

/// Change of stiffness with one shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MaterialShape {
    /// Tets that change, ascending.
    pub tets: Array<u32>,
    /// Change of mu in Pa.
    pub mu: Array<f32>,
    /// Change of lambda in Pa.
    pub lambda: Array<f32>,
}

impl Flesh {
    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// What a node lies on.
    pub fn bound(&self, node: usize) -> Bound {
        Bound::from_number(self.bounds[node])
    }

    /// The neutral volume.
    pub fn mesh(&self) -> TetMesh {
        TetMesh { nodes: self.rest(), tets: self.tets.to_vec() }
    }

    /// Rest positions of the neutral.
    pub fn rest(&self) -> Vec<DVec3> {
        self.nodes.iter().map(|&p| p.into()).collect()
    }

    /// Whether a node moves with a bone or the border, so that nothing may push it.
    pub fn is_held(&self, node: usize) -> bool {
        matches!(self.bound(node), Bound::Cranium | Bound::Mandible | Bound::Border)
    }

    /// Which nodes physics leaves where they rest in each pose: held ones, those around the jaw joint, where
    /// muscle hangs the flesh on bone that is not there, and pieces of the volume that nothing else holds.
    pub fn kinematic_nodes(&self) -> Vec<bool> {
        let mut kinematic: Vec<bool> =
            (0..self.n_nodes()).map(|n| self.is_held(n) || self.bound(n) == Bound::Joint).collect();
        let mut supported = kinematic.clone();
        let neighbors = self.mesh().neighbors();
        let mut work: Vec<u32> = (0..self.n_nodes() as u32).filter(|&n| supported[n as usize]).collect();
        while let Some(n) = work.pop() {
            for &m in neighbors.of(n as usize) {
                if !std::mem::replace(&mut supported[m as usize], true) {
                    work.push(m);
                }
            }
        }
        kinematic.iter_mut().zip(supported).for_each(|(k, supported)| *k |= !supported);
        kinematic
    }
}

impl SkinEmbedding {
    /// Displacement of each embedded vertex for displacements of all nodes.
    pub fn apply(&self, tets: &[[u32; 4]], node_offsets: &[DVec3]) -> Vec<DVec3> {
        use rayon::prelude::*;
        let one = |(tet, weights): (&u32, &[f32; 4])| {
            let nodes = tets[*tet as usize];
            nodes.iter().zip(weights).map(|(&n, &w)| node_offsets[n as usize] * f64::from(w)).sum()
        };
        self.tets.par_iter().zip(self.weights.par_iter()).with_min_len(1024).map(one).collect()
    }
}
