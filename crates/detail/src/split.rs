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

use crate::laplacian::Triangles;
use crate::{Detail, DetailError};
use glam::Vec3A;
use rayon::prelude::*;
use risorius_base::progress::{Progress, tick};

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
        let (mesh, n_poses) = (&self.mesh, self.poses.len());
        let triangles = Triangles::prepare(mesh);
        let masses = triangles.masses(mesh);
        let alone: Vec<bool> = masses.iter().map(|m| *m == 0.0).collect();
        let s = length / std::f64::consts::TAU;
        let factor = triangles.factor(mesh, &alone, s * s, 1.0)?;
        let rest: Vec<Vec3A> = mesh.positions.iter().map(|&p| p.into()).collect();
        let frames = self.frames();
        let fine = |pose: usize| -> Result<Vec<[f32; 3]>, DetailError> {
            tick(progress, "fine detail", pose as f32 / n_poses as f32)?;
            let mut w: Vec<[f64; 3]> = (0..rest.len())
                .map(|v| {
                    let [a, b, c] = self.weights[v * n_poses + pose];
                    let [t, u, n] = frames.at(v, &rest);
                    (t * a + u * b + n * c).to_array().map(f64::from)
                })
                .collect();
            for _ in 0..2 {
                let mut smooth: Vec<[f64; 3]> =
                    w.iter().zip(&masses).map(|(w, m)| w.map(|x| x * m)).collect();
                factor.solve(&mut smooth);
                w.iter_mut().zip(&smooth).for_each(|(w, s)| (0..3).for_each(|k| w[k] -= s[k]));
            }
            let back = |(v, w): (usize, &[f64; 3])| {
                let w = Vec3A::from_array(w.map(|x| x as f32));
                frames.at(v, &rest).map(|axis| axis.dot(w))
            };
            Ok(w.iter().enumerate().map(back).collect())
        };
        let columns: Vec<Vec<[f32; 3]>> = (0..n_poses).into_par_iter().map(fine).collect::<Result<_, _>>()?;
        let weights = (0..rest.len()).flat_map(|v| columns.iter().map(move |column| column[v])).collect();
        Ok(Detail { weights, ..self.clone() })
    }
}
