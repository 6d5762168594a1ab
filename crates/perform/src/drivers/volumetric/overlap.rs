//! How deep surfaces may overlap: as deep as the artist made them.
//!
//! Lips of many rigs overlap in the neutral, and single shapes press them further. That is the artist's
//! intent and stays. Blends of several shapes are nobody's intent. A surface point may therefore be as deep
//! as in the neutral, or as in the pose of one slider at 1, times the share of that slider in the motion of
//! the point, to the power [`ALONE`], times its value:
//!
//! ```text
//! allowed = max(d_0, max over sliders of min(w, 1) (w |u| / sum over sliders w |u|)^4 d)
//! ```
//!
//! with the displacement u of the point and its depth d in the pose of each slider. One slider at 1 is allowed
//! its own depth; two sliders that move a point equally, a sixteenth.

use crate::collision_pairs::ContactSurface;
use glam::DVec3;
use rayon::prelude::*;
use risorius_flesh::Face;
use risorius_rig::Evaluator;

/// How fast overlap goes away where a slider does not act alone.
const ALONE: i32 = 4;

/// The overlap of the neutral and of every slider's pose.
pub(super) struct AllowedOverlap {
    neutral: Vec<f64>,
    sliders: Vec<SliderOverlap>,
}

/// Of one slider at 1, at every surface point.
struct SliderOverlap {
    /// Length of its displacement, meters.
    motion: Vec<f32>,
    /// Depth in another surface, meters; empty if it is nowhere deeper than the neutral.
    depth: Vec<f32>,
}

impl AllowedOverlap {
    /// Poses every slider alone.
    pub fn prepare(face: &Face, evaluator: &Evaluator, contacts: &ContactSurface) -> Self {
        let n_sliders = face.rig.sliders.len();
        let points = |weights: &[f32]| -> Vec<DVec3> {
            let strengths: Vec<f64> = evaluator.strengths(weights).iter().map(|&c| c.into()).collect();
            contacts.surface(&evaluator.positions(weights), &face.anatomy.jaw(&strengths))
        };
        let rest = contacts.touch.posed(points(&vec![0.0; n_sliders]));
        let slider = |k: usize| {
            let mut weights = vec![0.0; n_sliders];
            weights[k] = 1.0;
            let posed = contacts.touch.posed(points(&weights));
            let motion = posed.points.iter().zip(&rest.points).map(|(a, b)| a.distance(*b) as f32).collect();
            let deeper = posed.depths.iter().zip(&rest.depths).any(|(a, b)| a > b);
            let depth = if deeper { posed.depths.iter().map(|&d| d as f32).collect() } else { Vec::new() };
            SliderOverlap { motion, depth }
        };
        let sliders = (0..n_sliders).into_par_iter().with_max_len(1).map(slider).collect();
        Self { neutral: rest.depths, sliders }
    }

    /// The allowed depth of every point at some slider values, meters.
    pub fn at(&self, weights: &[f32]) -> Vec<f64> {
        let mut allowed = self.neutral.clone();
        let active: Vec<(&SliderOverlap, f64)> = self
            .sliders
            .iter()
            .zip(weights)
            .filter(|(_, w)| **w > 0.0)
            .map(|(slider, w)| (slider, f64::from(*w)))
            .collect();
        if active.iter().all(|(slider, _)| slider.depth.is_empty()) {
            return allowed;
        }
        let mut total = vec![0.0; allowed.len()];
        for (slider, w) in &active {
            total.iter_mut().zip(&slider.motion).for_each(|(sum, &u)| *sum += w * f64::from(u));
        }
        for (slider, w) in active.iter().filter(|(slider, _)| !slider.depth.is_empty()) {
            for (i, allowed) in allowed.iter_mut().enumerate() {
                if slider.depth[i] > 0.0 {
                    let own = if total[i] > 0.0 { w * f64::from(slider.motion[i]) / total[i] } else { 1.0 };
                    *allowed = allowed.max(w.min(1.0) * own.powi(ALONE) * f64::from(slider.depth[i]));
                }
            }
        }
        allowed
    }
}
