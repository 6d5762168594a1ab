//! Edits a learned model without relearning what did not change [Bickel08, sec. 6].
//!
//! A pose of the model gets other displacements, or another shape and therefore other strains. Where neither
//! the displacement of a vertex nor a gauge that acts on it changes, its weights stay the same to the bit.
//! Elsewhere the model is evaluated in each of its poses, the edited pose is replaced, and the weights are
//! solved again: a small system for each such vertex. This also holds for models that fit more examples than
//! they have poses, since the weights follow from the model's values at its poses (as far as the distance
//! matrix is regular).

use crate::learn::combined;
use crate::pose_space::{Solver, whole_distance};
use crate::{Detail, DetailError};
use glam::{Vec3, Vec3A};
use rayon::prelude::*;

/// Strains that differ by less than this are equal; so are displacements that differ by less than this times
/// the distance between handles.
const SAME: f32 = 1e-5;

/// How painted displacements are combined with the existing ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Added to them.
    Add,
    /// Instead of them, where something is painted.
    Replace,
}

impl Detail {
    /// The number of a pose by its name.
    pub fn pose(&self, name: &str) -> Option<usize> {
        self.poses.iter().position(|p| p == name)
    }

    /// Replaces a pose. `plain`: the same pose without detail, for details that are added to animations.
    /// Returns the number of vertices that changed.
    pub fn replace_pose(
        &mut self,
        pose: usize,
        positions: &[[f32; 3]],
        plain: Option<&[[f32; 3]]>,
    ) -> Result<usize, DetailError> {
        self.check_editable(pose)?;
        if plain.is_none() && self.base == crate::Base::Animation {
            return Err(DetailError::NoPlain);
        }
        if plain.is_some() && self.base == crate::Base::Shell {
            return Err(DetailError::Plain);
        }
        for (what, x) in [("the new pose", Some(positions)), ("the pose without detail", plain)] {
            let found = x.map_or(self.mesh.n_vertices(), <[_]>::len);
            if found != self.mesh.n_vertices() {
                let (what, wanted) = (format!("vertices of {what}"), self.mesh.n_vertices());
                return Err(DetailError::Count { what, found, wanted, advice: ", as in the rest mesh" });
            }
        }
        let (mut strains, mut displacements) = self.extract(&self.frames(), positions, plain);
        if let Some(vertex) = displacements.iter().position(|d| !d.iter().all(|x| x.is_finite())) {
            return Err(DetailError::NotFinite { what: "the new pose".into(), vertex });
        }
        // Values that differ only by rounding keep their old bits.
        for (new, old) in strains.iter_mut().zip(&self.strains[pose]) {
            if (*new - old).abs() < SAME {
                *new = *old;
            }
        }
        let little = SAME * self.features.spacing(&self.mesh) as f32;
        for (new, old) in displacements.iter_mut().zip(self.displacements[pose].iter()) {
            if Vec3::from(*new).distance(Vec3::from(*old)) < little {
                *new = *old;
            }
        }
        Ok(self.set(pose, strains, displacements))
    }

    /// Paints heights along the normals of a pose, in the mesh's unit; vertices with `None` are not painted.
    /// Pose 0, the rest, is painted as relief, which every pose has. Returns the number of vertices that
    /// changed.
    pub fn paint(&mut self, pose: usize, heights: &[Option<f32>], join: Join) -> Result<usize, DetailError> {
        if heights.len() != self.mesh.n_vertices() {
            let (found, wanted) = (heights.len(), self.mesh.n_vertices());
            return Err(DetailError::Count { what: "painted vertices".into(), found, wanted, advice: "" });
        }
        if pose != 0 {
            self.check_editable(pose)?;
        }
        let rest: Vec<Vec3A> = self.mesh.positions.iter().map(|&p| p.into()).collect();
        let fans = crate::frames::Fans::prepare(rest.len(), &self.mesh.triangles);
        let frames = self.frames();
        let nothing = vec![[0.0; 3]; rest.len()];
        let before: &[[f32; 3]] = match pose {
            0 if self.relief.is_empty() => &nothing,
            0 => &self.relief,
            _ => &self.displacements[pose],
        };
        let one = |v: usize| {
            let Some(height) = heights[v].filter(|h| h.is_finite()) else { return before[v] };
            let normal = fans.normal(v, &rest) * height;
            let painted = frames.at(v, &rest).map(|axis| axis.dot(normal));
            match join {
                Join::Add => std::array::from_fn(|k| before[v][k] + painted[k]),
                Join::Replace => painted,
            }
        };
        let after: Vec<[f32; 3]> = (0..rest.len()).into_par_iter().with_min_len(256).map(one).collect();
        if pose > 0 {
            return Ok(self.set(pose, self.strains[pose].clone(), after));
        }
        let n_changed = after.iter().zip(before).filter(|(a, b)| a != b).count();
        if n_changed > 0 {
            self.relief = after.into();
        }
        Ok(n_changed)
    }

    /// Uses a sculpted rest as relief, which every pose has. Returns the number of vertices that changed.
    pub fn sculpt_rest(&mut self, positions: &[[f32; 3]]) -> Result<usize, DetailError> {
        if positions.len() != self.mesh.n_vertices() {
            let (found, wanted) = (positions.len(), self.mesh.n_vertices());
            let (what, advice) = ("vertices of the sculpted rest".to_string(), ", as in the rest mesh");
            return Err(DetailError::Count { what, found, wanted, advice });
        }
        if let Some(vertex) = positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(DetailError::NotFinite { what: "the sculpted rest".into(), vertex });
        }
        let rest: Vec<Vec3A> = self.mesh.positions.iter().map(|&p| p.into()).collect();
        let frames = self.frames();
        let one = |v: usize| frames.at(v, &rest).map(|axis| axis.dot(Vec3A::from(positions[v]) - rest[v]));
        let relief: Vec<[f32; 3]> = (0..rest.len()).into_par_iter().map(one).collect();
        let before = |v: usize| self.relief.get(v).copied().unwrap_or_default();
        let n_changed = (0..rest.len()).filter(|&v| relief[v] != before(v)).count();
        self.relief = relief.into();
        Ok(n_changed)
    }

    fn check_editable(&self, pose: usize) -> Result<(), DetailError> {
        if !self.model.is_pose_space() {
            return Err(DetailError::OnlyCompared);
        }
        if pose == 0 || pose >= self.poses.len() {
            let wanted =
                "that of a pose other than the rest; the rest can only be painted or sculpted as relief";
            return Err(DetailError::Option { what: "the number of the pose", value: pose as f64, wanted });
        }
        Ok(())
    }

    /// Solves the weights for a pose that changed; returns the number of vertices whose weights changed.
    fn set(&mut self, pose: usize, strains: Vec<f32>, displacements: Vec<[f32; 3]>) -> usize {
        let moved: Vec<bool> = strains.iter().zip(&self.strains[pose]).map(|(a, b)| a != b).collect();
        let any_moved = moved.contains(&true);
        let n_poses = self.poses.len();
        let old: Vec<&[f32]> = self.strains.iter().map(Vec::as_slice).collect();
        let new: Vec<&[f32]> =
            old.iter().enumerate().map(|(k, s)| if k == pose { strains.as_slice() } else { s }).collect();
        let distance = |v: usize, f: &[f32], g: &[f32]| match self.model.is_local() {
            true => self.influence.distance(v, f, g),
            false => whole_distance(f, g),
        };
        let is_touched = |v: usize| {
            let gauges = || self.influence.of(v).any(|(gauge, _)| moved[gauge]);
            displacements[v] != self.displacements[pose][v]
                || (any_moved && (!self.model.is_local() || gauges()))
        };
        let touched: Vec<u32> = (0..self.mesh.n_vertices())
            .into_par_iter()
            .filter(|&v| is_touched(v))
            .map(|v| v as u32)
            .collect();
        let one = |&v: &u32| {
            let v = v as usize;
            let weights = &self.weights[v * n_poses..(v + 1) * n_poses];
            let shown = |f: &&[f32]| {
                let shares: Vec<f32> = old.iter().map(|g| distance(v, f, g)).collect();
                combined(weights, &shares)
            };
            let mut values: Vec<Vec3> = old.iter().map(shown).collect();
            values[0] = Vec3::ZERO;
            values[pose] = displacements[v].into();
            let pairs = new.iter().flat_map(|f| new.iter().map(move |g| (f, g)));
            let matrix: Vec<f64> = pairs.map(|(f, g)| f64::from(distance(v, f, g))).collect();
            Solver::prepare(&matrix, n_poses).weights(&values)
        };
        let found: Vec<Vec<Vec3>> = touched.par_iter().with_min_len(64).map(one).collect();
        let mut weights = self.weights.to_vec();
        for (&v, found) in touched.iter().zip(&found) {
            let mine = &mut weights[v as usize * n_poses..(v as usize + 1) * n_poses];
            mine.iter_mut().zip(found).for_each(|(w, f)| *w = f.to_array());
        }
        self.weights = weights.into();
        for (limit, f) in self.limits.iter_mut().zip(&strains) {
            *limit = [limit[0].min(1.5 * f), limit[1].max(1.5 * f)];
        }
        self.strains[pose] = strains;
        self.displacements[pose] = displacements.into();
        touched.len()
    }
}
