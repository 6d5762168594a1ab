//! What is known about faces before a scan is seen: a mean and modes of variation [Ichim16, E_faceLike].
//!
//! Modes are displacements of all vertices of the template at one standard deviation. They come from a rig
//! whose shapes are such modes, in the topology of the template, or from the built-in head's own identities,
//! whose parameters vary between -1 and 1.

use crate::FitError;
use glam::DVec3;
use risorius_head::Identity;
use risorius_head::person::neutral_positions;
use risorius_rig::{Rig, meters};

/// A linear model of faces over the rig vertices of a template, in meters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prior {
    /// The mean face.
    pub mean: Vec<DVec3>,
    /// Displacements of each mode at one standard deviation.
    pub modes: Vec<Vec<DVec3>>,
    /// Largest number of deviations that is accepted.
    pub most: f64,
}

/// Deviations within which faces of a statistical model lie.
const MOST_DEVIATIONS: f64 = 3.5;

/// Standard deviation of the identity parameters of the built-in head, which reach from -1 to 1.
const PARAMETER_DEVIATION: f64 = 0.5;

impl Prior {
    /// No variation: the template itself is the only face.
    pub fn none(template: &Rig) -> Self {
        Self { mean: meters::neutral(template), modes: Vec::new(), most: MOST_DEVIATIONS }
    }

    /// The modes that the shapes of `modes` are, carried to the vertices of `template`.
    pub fn of_rig(modes: &Rig, template: &Rig) -> Result<Self, FitError> {
        let to = vertex_map(modes, template)?;
        let carried = |of_modes: Vec<DVec3>| to.iter().map(|&v| of_modes[v as usize]).collect();
        if modes.shapes.is_empty() {
            let problem = "the prior has no shapes; give a rig whose shapes are the modes";
            return Err(FitError::Prior(problem.into()));
        }
        Ok(Self {
            mean: carried(meters::neutral(modes)),
            modes: (0..modes.shapes.len()).map(|s| carried(meters::displacements(modes, s))).collect(),
            most: MOST_DEVIATIONS,
        })
    }

    /// The identities of the built-in head.
    pub fn built_in() -> Self {
        let one = |k: usize, value: f64| {
            let mut identity = Identity::default();
            let slots = [
                &mut identity.width,
                &mut identity.length,
                &mut identity.nose,
                &mut identity.jaw,
                &mut identity.brow,
                &mut identity.fat,
            ];
            for (slot, p) in slots.into_iter().enumerate() {
                *p = if slot == k { value } else { 0.0 };
            }
            neutral_positions(&identity)
        };
        let mode = |k: usize| {
            let (up, down) = (one(k, 1.0), one(k, -1.0));
            up.iter().zip(&down).map(|(a, b)| (*a - *b) * (0.5 * PARAMETER_DEVIATION)).collect()
        };
        Self { mean: one(0, 0.0), modes: (0..6).map(mode).collect(), most: 1.5 / PARAMETER_DEVIATION }
    }

    /// The face of some coefficients.
    pub fn face(&self, coefficients: &[f64]) -> Vec<DVec3> {
        let mut p = self.mean.clone();
        for (mode, &c) in self.modes.iter().zip(coefficients) {
            p.iter_mut().zip(mode).for_each(|(p, d)| *p += *d * c);
        }
        p
    }
}

/// For each rig vertex of `template`, that of `modes`: the vertices of their files correspond one to one.
fn vertex_map(modes: &Rig, template: &Rig) -> Result<Vec<u32>, FitError> {
    let count = |rig: &Rig| -> Vec<usize> { rig.parts.iter().map(|p| p.n_file_vertices()).collect() };
    if count(modes) != count(template) {
        let problem = format!(
            "the prior has {} vertices, the template {}; their files must have the same vertices in the same order",
            modes.n_file_vertices(),
            template.n_file_vertices()
        );
        return Err(FitError::Prior(problem));
    }
    let mut map = vec![0; template.n_vertices()];
    for (from, to) in modes.parts.iter().zip(&template.parts) {
        to.rig_vertex.iter().zip(&from.rig_vertex).for_each(|(&t, &f)| map[t as usize] = f);
    }
    Ok(map)
}
