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

    /// The modes of named arrays: `mean` (vertices, 3), `modes` (modes, vertices, 3) or with the modes last,
    /// and `deviations` (modes), in the unit, the axes and the vertices of the template's file. Other usual
    /// names are understood; without a mean it is the template, without deviations modes are scaled by them.
    pub fn of_arrays(arrays: &[Named], template: &Rig) -> Result<Self, FitError> {
        let n = template.n_file_vertices();
        let problem = |text: String| FitError::Prior(text);
        let Some(modes) = named(arrays, &MODES) else {
            let present: Vec<&str> = arrays.iter().map(|a| a.name).collect();
            return Err(problem(format!(
                "the prior has no array 'modes'; it has: {}. Save mean (vertices, 3), modes (modes, vertices, 3) \
                 and deviations (modes)",
                present.join(", ")
            )));
        };
        let modes = by_mode(modes, n).map_err(problem)?;
        let scales = match named(arrays, &DEVIATIONS) {
            Some(d) if d.values.len() == modes.len() => d.values.to_vec(),
            Some(d) => {
                return Err(problem(format!(
                    "'{}' has {} values for {} modes; give one deviation for each mode",
                    d.name,
                    d.values.len(),
                    modes.len()
                )));
            }
            None => vec![1.0; modes.len()],
        };
        let finite = |list: &[f64]| list.iter().all(|x| x.is_finite());
        if !finite(&scales) || !modes.iter().all(|m| finite(m)) {
            return Err(problem("the prior has values that are not finite; repair it".into()));
        }
        let carried = |values: &[f64], scale: f64| {
            let at = |v: usize| DVec3::new(values[3 * v], values[3 * v + 1], values[3 * v + 2]) * scale;
            let mut rig_order = vec![DVec3::ZERO; template.n_vertices()];
            let files = template.parts.iter().flat_map(|p| &p.rig_vertex);
            for (k, &v) in files.enumerate() {
                rig_order[v as usize] = template.space.to_si(at(k).as_vec3().to_array());
            }
            rig_order
        };
        let mean = match named(arrays, &MEAN) {
            Some(m) if m.values.len() == 3 * n && finite(m.values) => carried(m.values, 1.0),
            Some(m) => {
                return Err(problem(format!(
                    "'{}' has {} finite numbers, the template {n} vertices; they must have the same vertices in \
                     the same order",
                    m.name,
                    m.values.iter().filter(|x| x.is_finite()).count()
                )));
            }
            None => meters::neutral(template),
        };
        let modes = modes.iter().zip(&scales).map(|(m, s)| carried(m, *s)).collect();
        Ok(Self { mean, modes, most: MOST_DEVIATIONS })
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

/// An array of numbers with its name and the lengths of its axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// Lengths of its axes.
    pub shape: &'a [u64],
    /// Its values in C order.
    pub values: &'a [f64],
}

/// Names of the arrays of a prior, the usual first.
const MODES: [&str; 6] = ["modes", "components", "basis", "eigenvectors", "pca", "shapes"];
const DEVIATIONS: [&str; 7] = ["deviations", "deviation", "std", "stddev", "stds", "sigma", "sigmas"];
const MEAN: [&str; 5] = ["mean", "mean_shape", "average", "neutral", "mu"];

fn named<'a>(arrays: &[Named<'a>], names: &[&str]) -> Option<Named<'a>> {
    names.iter().find_map(|n| arrays.iter().find(|a| a.name.eq_ignore_ascii_case(n)).copied())
}

/// The coordinates of each mode, of an array with the modes on its first or its last axis.
fn by_mode(array: Named, n_vertices: usize) -> Result<Vec<Vec<f64>>, String> {
    let n = 3 * n_vertices;
    let k = array.values.len() / n.max(1);
    let is_axis = |length: Option<&u64>| length.is_some_and(|l| *l == k as u64);
    if k > 0 && k * n == array.values.len() && is_axis(array.shape.first()) {
        return Ok(array.values.chunks_exact(n).map(<[f64]>::to_vec).collect());
    }
    if k > 0 && k * n == array.values.len() && is_axis(array.shape.last()) {
        return Ok((0..k).map(|m| array.values[m..].iter().step_by(k).copied().collect()).collect());
    }
    Err(format!(
        "'{}' has the shape {:?}; the template has {n_vertices} vertices, so (modes, {n_vertices}, 3) or \
         (modes, {n}) is needed",
        array.name, array.shape
    ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_rig::synthetic::random_rig;

    #[test]
    fn named_arrays_are_a_prior() {
        let rig = random_rig(40, 2, 1.0, 1);
        let n = rig.n_file_vertices();
        let modes: Vec<f64> = (0..6 * n).map(|i| i as f64).collect();
        let (shape, swapped) = ([2, n as u64, 3], [n as u64, 3, 2]);
        let mut last = vec![0.0; modes.len()];
        for (i, x) in modes.iter().enumerate() {
            last[(i % (3 * n)) * 2 + i / (3 * n)] = *x;
        }
        let deviations = Named { name: "std", shape: &[2], values: &[2.0, 3.0] };
        let first = [Named { name: "Components", shape: &shape, values: &modes }, deviations];
        let prior = Prior::of_arrays(&first, &rig).unwrap();
        assert_eq!(prior.mean, meters::neutral(&rig));
        let unscaled = Prior::of_arrays(&first[..1], &rig).unwrap();
        assert!(prior.modes[1][0].distance(unscaled.modes[1][0] * 3.0) < 1e-6);
        let other = [Named { name: "modes", shape: &swapped, values: &last }, deviations];
        assert_eq!(Prior::of_arrays(&other, &rig).unwrap(), prior);
    }

    #[test]
    fn wrong_arrays_are_named() {
        let rig = random_rig(40, 2, 1.0, 1);
        let problem = |arrays: &[Named]| Prior::of_arrays(arrays, &rig).unwrap_err().to_string();
        let none = [Named { name: "weights", shape: &[1], values: &[0.0] }];
        assert!(problem(&none).contains("it has: weights"));
        let short = [Named { name: "modes", shape: &[1, 7], values: &[0.0; 7] }];
        assert!(problem(&short).contains("[1, 7]"));
        let n = rig.n_file_vertices();
        let zeros = vec![0.0; 3 * n];
        let modes = Named { name: "modes", shape: &[1, 3 * n as u64], values: &zeros };
        let many = [modes, Named { name: "std", shape: &[2], values: &[1.0; 2] }];
        assert!(problem(&many).contains("2 values for 1 modes"));
        let nan = vec![f64::NAN; 3 * n];
        assert!(problem(&[Named { values: &nan, ..modes }]).contains("not finite"));
    }
}
