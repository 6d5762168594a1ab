//! The volume of every shape as target gradients of its tets: rotations and stretches, blended for any
//! strengths [Ichim16, sec. 3.4].
//!
//! The gradient of a tet in a shape is `F_s = dX_s / dX0`. It is kept as a rotation vector, a stretch and the
//! logarithm of its volume ratio, where the shape deforms the tet. Sums with the strengths of the rig's
//! shapes are targets ([`risorius_solve::project::targets`]), so in-betweens and combinations act as on the
//! skin. One shape at strength 1 gives its own gradients to single precision; tets that only rotate stay
//! rotations.
//!
//! Bones: [`JawShift`] places the nodes on the lower jaw by the blended rigid motion of the jaw, where the
//! linear blend of volumes would shrink it in between.

use crate::domain::Bound;
use crate::face::Face;
use crate::flesh::Flesh;
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;
use risorius_base::Rigid;
use risorius_mesh::tet::tet_mesh::edge_matrix;
use risorius_solve::project::targets::{N_NUMBERS, Target};
use risorius_solve::{SolveError, TissueRest};

/// A tet whose target differs from the identity by less than this in a shape is not deformed by it.
const NEGLIGIBLE: f64 = 1e-9;

/// Tets per parallel task.
const TASK: usize = 512;

/// The target gradients of all shapes.
#[derive(Debug, Clone, Default)]
pub struct ShapeGradients {
    n_tets: usize,
    shapes: Vec<ShapeGradient>,
}

/// Those of one shape.
#[derive(Debug, Clone, Default)]
struct ShapeGradient {
    /// Tets that it deforms, ascending.
    tets: Vec<u32>,
    /// The numbers of their targets.
    numbers: Vec<[f32; N_NUMBERS]>,
}

impl ShapeGradients {
    /// From the volumes of a face's flesh.
    pub fn of_volumes(flesh: &Flesh) -> Result<Self, SolveError> {
        let rest = TissueRest::prepare(&flesh.tets, &flesh.rest())?;
        let shape = |volume: &crate::flesh::VolumeShape| {
            let mut offsets = vec![DVec3::ZERO; flesh.n_nodes()];
            let mut moves = vec![false; flesh.n_nodes()];
            for (&node, &offset) in volume.nodes.iter().zip(volume.offsets.iter()) {
                offsets[node as usize] = Vec3::from(offset).as_dvec3();
                moves[node as usize] = true;
            }
            let mut gradients = ShapeGradient::default();
            for (t, tet) in flesh.tets.iter().enumerate() {
                if !tet.iter().any(|&n| moves[n as usize]) {
                    continue;
                }
                // Of the displacement, so that small ones keep their digits.
                let f = DMat3::IDENTITY + edge_matrix(&offsets, *tet) * rest.inverse[t];
                let numbers = Target::of(f).numbers();
                if numbers.iter().any(|n| n.abs() > NEGLIGIBLE) {
                    gradients.tets.push(t as u32);
                    gradients.numbers.push(numbers.map(|n| n as f32));
                }
            }
            gradients
        };
        let shapes = flesh.volumes.par_iter().with_max_len(1).map(shape).collect();
        Ok(Self { n_tets: flesh.tets.len(), shapes })
    }

    /// The numbers of every tet's target at these strengths of the rig's shapes, one list for each number.
    pub fn blend(&self, strengths: &[f64]) -> Vec<Vec<f64>> {
        let active: Vec<(&ShapeGradient, f64)> =
            self.shapes.iter().zip(strengths).filter(|(_, c)| **c != 0.0).map(|(s, &c)| (s, c)).collect();
        let mut rows = vec![[0.0f64; N_NUMBERS]; self.n_tets];
        rows.par_chunks_mut(TASK).enumerate().for_each(|(k, rows)| {
            let (first, end) = (k * TASK, k * TASK + rows.len());
            for (shape, c) in &active {
                let from = shape.tets.partition_point(|&t| (t as usize) < first);
                let of_tets = shape.tets[from..].iter().zip(&shape.numbers[from..]);
                for (&tet, numbers) in of_tets.take_while(|(t, _)| (**t as usize) < end) {
                    let row = &mut rows[tet as usize - first];
                    row.iter_mut().zip(numbers).for_each(|(sum, &n)| *sum += c * f64::from(n));
                }
            }
        });
        (0..N_NUMBERS).into_par_iter().map(|k| rows.iter().map(|row| row[k]).collect()).collect()
    }

    /// Number of tets.
    pub fn n_tets(&self) -> usize {
        self.n_tets
    }
}

/// The lower jaw moved rigidly: displacement of its nodes from the linear blend of the volumes.
pub struct JawShift<'a> {
    face: &'a Face,
    /// Nodes on the lower jaw.
    nodes: Vec<u32>,
    /// For each shape that moves the jaw, the displacement of these nodes relative to the moved jaw.
    slides: Vec<(usize, Vec<DVec3>)>,
}

impl<'a> JawShift<'a> {
    /// For the jaw of a face.
    pub fn prepare(face: &'a Face) -> Self {
        let flesh = &face.flesh;
        let of_jaw = |&n: &u32| flesh.bound(n as usize) == Bound::Mandible;
        let nodes: Vec<u32> = (0..flesh.n_nodes() as u32).filter(of_jaw).collect();
        let moving = face.anatomy.jaw_motion.iter().enumerate().filter(|(_, m)| **m != Rigid::IDENTITY);
        let slide = |(shape, motion): (usize, &Rigid)| {
            let (volume, back) = (flesh.volumes.get(shape)?, motion.inverse());
            let one = |&n: &u32| {
                let rest = DVec3::from(flesh.nodes[n as usize]);
                let offset = volume.nodes.binary_search(&n).map_or(Vec3::ZERO, |k| volume.offsets[k].into());
                back.apply(rest + offset.as_dvec3()) - rest
            };
            Some((shape, nodes.iter().map(one).collect()))
        };
        Self { slides: moving.filter_map(slide).collect(), face, nodes }
    }

    /// What the nodes on the jaw move beyond the linear blend; empty lists where the jaw does not move.
    pub fn at(&self, strengths: &[f64]) -> Vec<Vec<f64>> {
        let moving: Vec<(f64, &[DVec3])> = self
            .slides
            .iter()
            .map(|(shape, slide)| (strengths.get(*shape).copied().unwrap_or(0.0), slide.as_slice()))
            .filter(|(c, _)| *c != 0.0)
            .collect();
        let mut shifts = vec![vec![0.0; self.face.flesh.n_nodes()]; 3];
        // One shape at full strength is its own volume.
        if moving.is_empty() || (moving.len() == 1 && moving[0].0 == 1.0) {
            return shifts;
        }
        let jaw = self.face.anatomy.jaw(strengths);
        let flesh = &self.face.flesh;
        let mut linear = vec![DVec3::ZERO; self.nodes.len()];
        for (shape, _) in &self.slides {
            let (c, volume) = (strengths.get(*shape).copied().unwrap_or(0.0), &flesh.volumes[*shape]);
            for (sum, n) in linear.iter_mut().zip(&self.nodes).filter(|_| c != 0.0) {
                let offset = volume.nodes.binary_search(n).map_or(Vec3::ZERO, |k| volume.offsets[k].into());
                *sum += offset.as_dvec3() * c;
            }
        }
        for (k, &n) in self.nodes.iter().enumerate() {
            let rest = DVec3::from(flesh.nodes[n as usize]);
            let slid: DVec3 = moving.iter().map(|(c, slide)| slide[k] * *c).sum();
            let shift = jaw.apply(rest + slid) - rest - linear[k];
            (0..3).for_each(|axis| shifts[axis][n as usize] = shift[axis]);
        }
        shifts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flesh::VolumeShape;
    use glam::DQuat;

    /// A tet that one shape turns and another stretches.
    fn flesh() -> Flesh {
        let nodes = vec![[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.0, 0.012, 0.0], [0.001, 0.0, 0.009]];
        let to = |f: DMat3| {
            let offset = |p: &[f64; 3]| (f * DVec3::from(*p) - DVec3::from(*p)).as_vec3().to_array();
            let offsets: Vec<[f32; 3]> = nodes.iter().map(offset).collect();
            VolumeShape { nodes: vec![0, 1, 2, 3].into(), offsets: offsets.into() }
        };
        let turn = DMat3::from_quat(DQuat::from_rotation_z(1.2));
        let stretch = DMat3::from_diagonal(DVec3::new(1.4, 0.8, 0.9));
        Flesh {
            volumes: vec![to(turn), to(stretch), VolumeShape::default()],
            tets: vec![[0, 1, 2, 3]].into(),
            bounds: vec![0; 4].into(),
            nodes: nodes.into(),
            ..Flesh::default()
        }
    }

    fn target(gradients: &ShapeGradients, strengths: &[f64]) -> (DMat3, f64) {
        let lists = gradients.blend(strengths);
        Target::from_numbers(std::array::from_fn(|k| lists[k][0])).gradient()
    }

    fn apart(a: DMat3, b: DMat3) -> f64 {
        (a - b).to_cols_array().iter().fold(0.0, |most, v| v.abs().max(most))
    }

    #[test]
    fn one_shape_is_itself_and_turns_add_up_as_angles() {
        let gradients = ShapeGradients::of_volumes(&flesh()).unwrap();
        let about_z = |angle: f64| DMat3::from_quat(DQuat::from_rotation_z(angle));
        let stretch = DMat3::from_diagonal(DVec3::new(1.4, 0.8, 0.9));
        for (strengths, wanted) in [
            ([0.0, 0.0, 1.0], DMat3::IDENTITY),
            ([1.0, 0.0, 0.0], about_z(1.2)),
            ([0.5, 0.0, 0.0], about_z(0.6)),
            ([-1.5, 0.0, 0.3], about_z(-1.8)),
            ([0.0, 1.0, 0.0], stretch),
            ([0.25, 1.0, 0.0], about_z(0.3) * stretch),
        ] {
            let (f, j) = target(&gradients, &strengths);
            assert!(apart(f, wanted) < 2e-6, "{strengths:?}: {f}");
            assert!((j - wanted.determinant()).abs() < 2e-6, "{strengths:?}: {j}");
        }
        assert!(gradients.shapes[2].tets.is_empty() && gradients.n_tets() == 1);
    }
}
