//! Data types of flesh: the volume, the embedding of the skin, the volume of each shape, materials.

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
    /// The surface that each node lies on, as numbers of [`Bound`].
    pub bounds: Array<u8>,
    /// How rig vertices are attached to the volume.
    pub embedding: SkinEmbedding,
    /// One per shape of the rig: the blendvolume basis B_X [Kozlov17, sec. 6.1].
    pub volumes: Vec<VolumeShape>,
    /// Corrections of the volume for pairs of shapes whose sum inverts elements.
    pub correctives: Vec<Corrective>,
    /// Stiffness of each tet, and its change with each shape [Kozlov17, sec. 6.2].
    pub materials: Materials,
    /// Slider values of the pose that parts lips and lids, in which the volume was meshed.
    pub parting_weights: Vec<f32>,
}

/// Rig vertices that follow the flesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkinEmbedding {
    /// Rig vertices, ascending.
    pub vertices: Array<u32>,
    /// The tet of each.
    pub tets: Array<u32>,
    /// Weights of the tet's nodes, summing to 1.
    pub weights: Array<[f32; 4]>,
}

/// Displacements of the volume's nodes in one shape, relative to the neutral.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VolumeShape {
    /// Nodes that move, ascending.
    pub nodes: Array<u32>,
    /// Their displacements in meters.
    pub offsets: Array<[f32; 3]>,
}

/// A correction of the volume that acts where two shapes are on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Corrective {
    /// The shapes, ascending.
    pub shapes: [u32; 2],
    /// Displacements at full strength of both.
    pub volume: VolumeShape,
}

/// Materials per tet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Materials {
    /// Shear stiffness mu in the neutral, Pa.
    pub mu: Array<f32>,
    /// Resistance to volume change lambda in the neutral, Pa.
    pub lambda: Array<f32>,
    /// Mass, kg/m^3.
    pub density: Array<f32>,
    /// Time of viscosity, seconds: a motion at f hertz has the damping ratio `pi f damping`.
    pub damping: Array<f32>,
    /// One per shape of the rig: the blendmaterial basis B_P.
    pub shapes: Vec<MaterialShape>,
    /// Shapes whose material does not simply follow their own strength.
    pub responses: Vec<Response>,
}

/// How much of a shape's material counts: `w_P` as a curve over a slider [Kozlov17, eq. 3]. Without one, the
/// material of a shape counts as much as the shape.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Response {
    /// The shape whose material it is.
    pub shape: usize,
    /// The slider that it follows.
    pub slider: usize,
    /// Slider values, ascending, and the strength at each; linear between them, constant beyond.
    pub curve: Vec<[f32; 2]>,
}

impl Response {
    /// The strength of the material at a slider value.
    pub fn at(&self, value: f64) -> f64 {
        let points = || self.curve.iter().map(|p| p.map(f64::from));
        let after = points().position(|[at, _]| at > value).unwrap_or(self.curve.len());
        let [before, after] = [after.checked_sub(1), Some(after)].map(|i| points().nth(i?));
        match (before, after) {
            (Some([a, from]), Some([b, to])) => from + (to - from) * (value - a) / (b - a),
            (Some([_, only]), None) | (None, Some([_, only])) => only,
            (None, None) => 0.0,
        }
    }
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

    /// The surface that a node lies on.
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

    /// Whether a node is fixed to a bone or the border.
    pub fn is_held(&self, node: usize) -> bool {
        matches!(self.bound(node), Bound::Cranium | Bound::Mandible | Bound::Border)
    }

    /// Nodes that physics keeps at their rest position in each pose: held nodes; nodes around the jaw joint,
    /// where muscle attaches the flesh to bone that is not modeled; and components of the volume that are not
    /// held otherwise.
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

impl VolumeShape {
    /// Adds the displacements at a strength.
    pub fn add_to(&self, positions: &mut [DVec3], strength: f64) {
        for (&node, &offset) in self.nodes.iter().zip(self.offsets.iter()) {
            positions[node as usize] += glam::Vec3::from(offset).as_dvec3() * strength;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_linear_between_its_points_and_constant_beyond() {
        let response = Response { curve: vec![[0.2, 0.0], [0.6, 1.0], [1.0, 0.5]], ..Response::default() };
        for (value, strength) in [(-1.0, 0.0), (0.2, 0.0), (0.4, 0.5), (0.6, 1.0), (0.8, 0.75), (2.0, 0.5)] {
            assert!((response.at(value) - strength).abs() < 1e-6, "at {value}: {}", response.at(value));
        }
        assert_eq!(Response::default().at(0.5), 0.0);
    }
}
