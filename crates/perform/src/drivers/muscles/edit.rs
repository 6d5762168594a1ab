//! Tracks edited by an artist, and the tension that goes with them [Cong16, sec. 4].
//!
//! An edit moves the ends of the tracks of whole muscles: by a vector, or towards their middle. Points on the
//! way move by their share. The muscles edited lead from then on. Their activation follows from the length of
//! the edited center line by a curve: the muscle alone is simulated at [`STEPS`] activations, from relaxed to
//! full; the lengths, made monotone, are inverted. A muscle that is edited to be shorter than its full
//! activation makes it stays at 1.

use super::{Controls, MuscleModel, MusclePose};
use crate::error::PerformError;
use glam::DVec3;
use risorius_base::Progress;
use risorius_muscle::{MuscleShape, SplineSolid};

/// Activations at which the length of a muscle is measured, besides 0.
pub const STEPS: usize = 4;

/// What is done to the end of a muscle's path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Edit {
    /// Moves it, meters.
    Move(DVec3),
    /// Scales it around its middle, per axis: x to the character's left, y up, z to the front.
    Scale(DVec3),
}

impl Edit {
    /// The same on the other side of the face.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Move(d) => Self::Move(DVec3::new(-d.x, d.y, d.z)),
            scale => scale,
        }
    }
}

/// Length of a muscle's center line over its activation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LengthCurve {
    /// At activations 0, 1/[`STEPS`] ..., 1; meters, never growing.
    pub lengths: Vec<f64>,
}

impl LengthCurve {
    /// From measured lengths: each at most as long as those before.
    pub fn new(measured: &[f64]) -> Self {
        let mut lengths = measured.to_vec();
        for i in 1..lengths.len() {
            lengths[i] = lengths[i].min(lengths[i - 1]);
        }
        Self { lengths }
    }

    /// The least activation at which the muscle is as short as that, at most 1.
    pub fn activation(&self, length: f64) -> f64 {
        let n = self.lengths.len().saturating_sub(1).max(1) as f64;
        for (i, pair) in self.lengths.windows(2).enumerate() {
            let [long, short] = [pair[0], pair[1]];
            if length >= long {
                return i as f64 / n;
            }
            if length >= short && long > short {
                return (i as f64 + (long - length) / (long - short)) / n;
            }
        }
        if self.lengths.len() < 2 { 0.0 } else { 1.0 }
    }
}

impl MuscleModel<'_> {
    /// The curve of a muscle, from simulations of it alone.
    pub fn length_curve(&self, muscle: usize, progress: &Progress) -> Result<LengthCurve, PerformError> {
        let solid = &self.face.anatomy.muscles[muscle].solid;
        let mut lengths = vec![solid.length()];
        let mut before: Option<MusclePose> = None;
        for step in 1..=STEPS {
            let mut controls: Controls = self.relaxed();
            controls.activations[muscle] = step as f64 / STEPS as f64;
            let pose = self.pose(&controls, before.as_ref().map(MusclePose::as_start), progress)?;
            let control = self.control_points(&pose).swap_remove(muscle);
            lengths.push(SplineSolid { control, ..solid.clone() }.length());
            before = Some(pose);
        }
        Ok(LengthCurve::new(&lengths))
    }

    /// The end of a muscle's tracks as a solid.
    pub fn end_of(&self, shape: &MuscleShape, muscle: usize) -> SplineSolid {
        let solid = &self.face.anatomy.muscles[muscle].solid;
        let (first, ends) = (self.first_control(muscle), shape.tracks.at(1.0));
        let moved = |(i, p): (usize, &DVec3)| *p + ends.get(first + i).copied().unwrap_or_default();
        let control = solid.control.iter().enumerate().map(moved).collect();
        SplineSolid { control, ..solid.clone() }
    }

    /// Edits the end of a muscle's tracks, which lead from then on, and sets its activation by its new
    /// length.
    pub fn edit(
        &self,
        shape: &mut MuscleShape,
        muscle: usize,
        edit: Edit,
        curve: &LengthCurve,
    ) -> Result<(), PerformError> {
        let end = self.end_of(shape, muscle);
        let middle = end.control.iter().sum::<DVec3>() / end.control.len().max(1) as f64;
        let mut by = vec![DVec3::ZERO; self.control.len()];
        let own = &mut by[self.first_control(muscle)..][..end.control.len()];
        for (d, p) in own.iter_mut().zip(&end.control) {
            *d = match edit {
                Edit::Move(d) => d,
                Edit::Scale(factors) => (*p - middle) * (factors - DVec3::ONE),
            };
        }
        if !by.iter().all(|d| d.is_finite()) {
            let what = format!("the edit of {} is not finite", self.names[muscle]);
            return Err(PerformError::Activations { what });
        }
        shape.tracks.move_ends(&by);
        shape.leads[muscle] = true;
        shape.activations[muscle] = curve.activation(self.end_of(shape, muscle).length());
        Ok(())
    }

    /// The number of a muscle's first control point among those of all muscles.
    fn first_control(&self, muscle: usize) -> usize {
        self.face.anatomy.muscles[..muscle].iter().map(|m| m.solid.control.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_monotone_and_inverted() {
        let curve = LengthCurve::new(&[0.05, 0.04, 0.041, 0.03, 0.03]);
        assert_eq!(curve.lengths, [0.05, 0.04, 0.04, 0.03, 0.03]);
        for (length, activation) in [
            (0.06, 0.0),
            (0.05, 0.0),
            (0.045, 0.125),
            (0.04, 0.25),
            (0.035, 0.625),
            (0.03, 0.75),
            (0.01, 1.0),
        ] {
            let found = curve.activation(length);
            assert!((found - activation).abs() < 1e-12, "{length}: {found}");
        }
        assert_eq!(LengthCurve::default().activation(0.1), 0.0);
    }
}
