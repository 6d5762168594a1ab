//! How deep surfaces may overlap: as deep as the artist made them.
//!
//! Lips of many rigs overlap in the neutral, and single shapes press them further. That is the artist's
//! intent and stays. What blends of several shapes add to it is nobody's intent. A surface point may
//! therefore be as deep as in the neutral, or as in the pose of one slider alone at its present value:
//!
//! ```text
//! allowed = max(d_0, max over sliders of d(min(w, 1)))
//! ```
//!
//! The depth d of a slider's pose is measured at the values [`SAMPLED`] and interpolated between them. Two
//! sliders that press the same point are allowed the larger of their depths, not the sum.

use crate::collision_pairs::ContactSurface;
use glam::DVec3;
use rayon::prelude::*;
use risorius_flesh::Face;
use risorius_rig::Evaluator;

/// The values of each slider at which depths are measured, ascending; 0 is the neutral.
const SAMPLED: [f32; 2] = [0.5, 1.0];

/// The overlap of the neutral and of every slider's pose.
pub(super) struct AllowedOverlap {
    neutral: Vec<f64>,
    /// For each slider the points that are deeper than in the neutral at one of the sampled values.
    sliders: Vec<Vec<Deeper>>,
}

/// A surface point, and its depth in another surface at the sampled values, meters.
struct Deeper {
    point: u32,
    depths: [f32; SAMPLED.len()],
}

impl AllowedOverlap {
    /// Poses every slider alone.
    pub fn prepare(face: &Face, evaluator: &Evaluator, contacts: &ContactSurface) -> Self {
        let n_sliders = face.rig.sliders.len();
        let depths = |weights: &[f32]| -> Vec<f64> {
            let strengths: Vec<f64> = evaluator.strengths(weights).iter().map(|&c| c.into()).collect();
            let points: Vec<DVec3> =
                contacts.surface(&evaluator.positions(weights), &face.anatomy.jaw(&strengths));
            contacts.touch.posed(points).depths
        };
        let neutral = depths(&vec![0.0; n_sliders]);
        let slider = |k: usize| -> Vec<Deeper> {
            let at = SAMPLED.map(|value| {
                let mut weights = vec![0.0; n_sliders];
                weights[k] = value;
                depths(&weights)
            });
            let of = |i: usize| Deeper { point: i as u32, depths: [0, 1].map(|s| at[s][i] as f32) };
            let is_deeper = |i: &usize| at.iter().any(|depths| depths[*i] > neutral[*i]);
            (0..neutral.len()).filter(is_deeper).map(of).collect()
        };
        let sliders = (0..n_sliders).into_par_iter().with_max_len(1).map(slider).collect();
        Self { neutral, sliders }
    }

    /// The allowed depth of every point at some slider values, meters.
    pub fn at(&self, weights: &[f32]) -> Vec<f64> {
        let mut allowed = self.neutral.clone();
        for (slider, &w) in self.sliders.iter().zip(weights).filter(|(_, w)| **w > 0.0) {
            for deeper in slider {
                let own = &mut allowed[deeper.point as usize];
                *own = own.max(deeper.at(f64::from(w.min(1.0)), self.neutral[deeper.point as usize]));
            }
        }
        allowed
    }
}

impl Deeper {
    /// The depth at a value from 0 to 1.
    fn at(&self, value: f64, neutral: f64) -> f64 {
        let (mut from, mut depth) = (0.0, neutral);
        for (&to, &next) in SAMPLED.iter().zip(&self.depths) {
            let (to, next) = (f64::from(to), f64::from(next));
            if value <= to {
                return depth + (next - depth) * (value - from) / (to - from);
            }
            (from, depth) = (to, next);
        }
        depth
    }
}
