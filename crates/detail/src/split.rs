//! Extracts the fine part of a detail, for animations that have their own large scale.
//!
//! The displacements of examples from the shell contain wrinkles, and also shapes that few handles cannot
//! represent, such as lids and lips. An animation of an artist's rig already has the latter; adding them
//! again would double them. So only displacements finer than a given length are added to an animation.
//! Distances of poses vary little between neighboring vertices, so smoothing a displacement is nearly the
//! same as smoothing its weights, and the split costs nothing when frames are played.
//!
//! With `S = (M + s^2 L)^-1 M`, weights w become `(1 - S)^2 w`: waves of length l are multiplied by
//! `(x / (1 + x))^2` with `x = (2 pi s / l)^2`. Users give the length at which a quarter is left. Weights are
//! expressed in local frames, whose tangents differ between neighbors, so they are filtered in rest space.
//!
//! The same S smooths detail before it goes to a coarser mesh, which would turn waves that it cannot carry
//! into ripples along its edges.

use crate::frames::LocalFrames;
use crate::laplacian::Triangles;
use crate::{Detail, DetailError};
use glam::Vec3A;
use rayon::prelude::*;
use risorius_base::Array;
use risorius_base::progress::{Progress, tick};
use risorius_linalg::SparseCholesky;

/// `S` for fields of vectors in local frames.
struct Smoother {
    rest: Vec<Vec3A>,
    frames: LocalFrames,
    masses: Vec<f64>,
    factor: SparseCholesky<1>,
}

impl Smoother {
    fn prepare(detail: &Detail, s: f64) -> Result<Self, DetailError> {
        let mesh = &detail.mesh;
        let triangles = Triangles::prepare(mesh);
        let masses = triangles.masses(mesh);
        let alone: Vec<bool> = masses.iter().map(|m| *m == 0.0).collect();
        let factor = triangles.factor(mesh, &alone, s * s, 1.0)?;
        let rest = mesh.positions.iter().map(|&p| p.into()).collect();
        Ok(Self { rest, frames: detail.frames(), masses, factor })
    }

    /// A field in rest space.
    fn in_space(&self, field: impl Fn(usize) -> [f32; 3]) -> Vec<[f64; 3]> {
        let one = |v: usize| {
            let [a, b, c] = field(v);
            let [t, u, n] = self.frames.at(v, &self.rest);
            (t * a + u * b + n * c).to_array().map(f64::from)
        };
        (0..self.rest.len()).map(one).collect()
    }

    /// `S w`.
    fn smooth(&self, w: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut smooth: Vec<[f64; 3]> = w.iter().zip(&self.masses).map(|(w, m)| w.map(|x| x * m)).collect();
        self.factor.solve(&mut smooth);
        smooth
    }

    /// A field in local frames again.
    fn in_frames(&self, w: &[[f64; 3]]) -> Vec<[f32; 3]> {
        let back = |(v, w): (usize, &[f64; 3])| {
            let w = Vec3A::from_array(w.map(|x| x as f32));
            self.frames.at(v, &self.rest).map(|axis| axis.dot(w))
        };
        w.iter().enumerate().map(back).collect()
    }
}

impl Detail {
    /// The same detail without the part that is coarser than `length`, in the mesh's unit.
    pub fn finer_than(&self, length: f64, progress: &Progress) -> Result<Detail, DetailError> {
        if !(length > 0.0 && length.is_finite()) {
            return Err(DetailError::Option {
                what: "the length that separates fine from coarse detail",
                value: length,
                wanted: "positive",
            });
        }
        if !self.model.is_pose_space() {
            return Err(DetailError::OnlyCompared);
        }
        tick(progress, "fine detail", 0.0)?;
        let n_poses = self.poses.len();
        let smoother = Smoother::prepare(self, length / std::f64::consts::TAU)?;
        let fine = |pose: usize| -> Result<Vec<[f32; 3]>, DetailError> {
            tick(progress, "fine detail", pose as f32 / n_poses as f32)?;
            let mut w = smoother.in_space(|v| self.weights[v * n_poses + pose]);
            for _ in 0..2 {
                let smooth = smoother.smooth(&w);
                w.iter_mut().zip(&smooth).for_each(|(w, s)| (0..3).for_each(|k| w[k] -= s[k]));
            }
            Ok(smoother.in_frames(&w))
        };
        let columns: Vec<Vec<[f32; 3]>> = (0..n_poses).into_par_iter().map(fine).collect::<Result<_, _>>()?;
        let weights =
            (0..self.mesh.n_vertices()).flat_map(|v| columns.iter().map(move |column| column[v])).collect();
        Ok(Detail { weights, ..self.clone() })
    }

    /// The same detail as a mesh with edges of this length can carry it: waves three edges long keep half of
    /// their height.
    pub(crate) fn for_edges(&self, edge: f64, progress: &Progress) -> Result<Detail, DetailError> {
        tick(progress, "smoothing detail", 0.0)?;
        let n_poses = self.poses.len();
        let smoother = Smoother::prepare(self, 3.0 * edge / std::f64::consts::TAU)?;
        let smooth = |field: &(dyn Fn(usize) -> [f32; 3] + Sync)| {
            smoother.in_frames(&smoother.smooth(&smoother.in_space(field)))
        };
        let columns: Vec<Vec<[f32; 3]>> =
            (0..n_poses).into_par_iter().map(|pose| smooth(&|v| self.weights[v * n_poses + pose])).collect();
        let weights =
            (0..self.mesh.n_vertices()).flat_map(|v| columns.iter().map(move |column| column[v])).collect();
        let whole = |of: &Array<[f32; 3]>| -> Array<[f32; 3]> { smooth(&|v| of[v]).into() };
        let relief = if self.relief.is_empty() { Array::default() } else { whole(&self.relief) };
        let displacements = self.displacements.par_iter().map(whole).collect();
        Ok(Detail { weights, relief, displacements, ..self.clone() })
    }
}
