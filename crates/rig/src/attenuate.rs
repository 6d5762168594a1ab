//! Selected motion attenuation of a pose [Lewis05]: pins hold what the animator has placed while sliders go on moving.
//!
//! This module joins the pieces: where pins are held (targets), which solver fits (the prepared linear one of
//! [`crate::selection`], or [`crate::constrained`] for limits and for rigs that are not linear), and what to tell the
//! animator about the result.
//! In: slider values now (`w1`) and when the pins were set (`w0`). Out: new slider values and a report.

use crate::constrained;
use crate::gram::{GramError, RigGram};
use crate::model::Rig;
use crate::pins::{Pin, PinSet};
use crate::selection::{Attenuator, MAX_ALPHA, Rows, Selection};
use risorius_linalg::QpError;
use risorius_linalg::qp::Constraint;
use serde::Serialize;

/// How to attenuate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttenuateOptions {
    /// Weight of pins against the rest, 0 or more (infinity: as hard as can be); the paper's default, untagged over
    /// tagged coordinates, when left out.
    pub alpha: Option<f64>,
    /// Keep sliders within their ranges.
    pub bounds: bool,
    /// Sliders that may not change.
    pub locked: Vec<usize>,
}

/// Largest and root-mean-square length over some coordinates, in the file's unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Motion {
    /// Largest.
    pub max: f64,
    /// Root mean square.
    pub rms: f64,
}

/// New slider values and what they do.
#[derive(Debug, Clone, PartialEq)]
pub struct Attenuated {
    /// New slider values.
    pub weights: Vec<f32>,
    /// The `a` that was used.
    pub alpha: f64,
    /// How far pinned coordinates would be from where they are held, without attenuation.
    pub pinned_before: Motion,
    /// The same with the new slider values.
    pub pinned_after: Motion,
    /// How far all other coordinates are from where the sliders asked for would put them.
    pub others_deviation: Motion,
    /// Sliders that stopped at the end of their range.
    pub at_bound: Vec<usize>,
    /// Steps of the solver; 1 for a linear rig.
    pub steps: usize,
    /// With limits: largest relative violation of the KKT conditions.
    pub kkt_residual: Option<f64>,
    /// What the animator should know.
    pub warnings: Vec<String>,
}

/// Why a pose was not attenuated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AttenuateError {
    /// A slider value is not a number.
    #[error("slider '{slider}' is {value}; give a finite number")]
    BadWeight {
        /// Name of the slider.
        slider: String,
        /// The value.
        value: f64,
    },
    /// Weights of another rig.
    #[error("{given} slider values for a rig of {expected} sliders")]
    WrongCount {
        /// Values given.
        given: usize,
        /// Sliders of the rig.
        expected: usize,
    },
    /// `a` is negative or not a number.
    #[error("alpha is {0}; give 0 or more")]
    BadAlpha(f64),
    /// A slider's range is empty.
    #[error("slider '{slider}' has the range {low} to {high}; the least must not be above the largest")]
    EmptyRange {
        /// Name of the slider.
        slider: String,
        /// Least value.
        low: f64,
        /// Largest value.
        high: f64,
    },
    /// The limits contradict one another.
    #[error("no slider values meet every limit: {0}")]
    Infeasible(String),
    /// The solver gave up.
    #[error("the solver did not converge ({0}); are shapes nearly equal? see `inspect`")]
    NoConvergence(String),
    /// Inner products could not be made.
    #[error(transparent)]
    Gram(#[from] GramError),
}

/// A pose solver for one rig, selection and set of options: prepared once, run at every slider event.
#[derive(Debug)]
pub struct PoseAttenuation<'a> {
    rig: &'a Rig,
    selection: &'a Selection<'a>,
    set: &'a PinSet,
    limit_rows: Rows,
    alpha: f64,
    bounds: Option<Vec<[f64; 2]>>,
    /// Present when the linear solver does it.
    linear: Option<Attenuator<'a>>,
}

/// Prepares a selection for [`PoseAttenuation`]; sliders in `locked` keep their values.
pub fn select<'a>(gram: &'a RigGram, set: &PinSet, locked: &[usize]) -> Selection<'a> {
    let mut locked = locked.to_vec();
    locked.sort_unstable();
    Selection::prepare(gram, &set.pins, &locked)
}

impl<'a> PoseAttenuation<'a> {
    /// Prepares for one selection (made with [`select`] from the same `set` and `options.locked`).
    pub fn prepare(
        rig: &'a Rig,
        selection: &'a Selection<'a>,
        set: &'a PinSet,
        options: &AttenuateOptions,
    ) -> Result<Self, AttenuateError> {
        let alpha = options.alpha.unwrap_or_else(|| selection.default_alpha());
        if alpha.is_nan() || alpha < 0.0 {
            return Err(AttenuateError::BadAlpha(alpha));
        }
        let alpha = alpha.min(MAX_ALPHA);
        let bounds = options.bounds.then(|| rig.sliders.iter().map(|s| s.range.map(f64::from)).collect::<Vec<_>>());
        let limit_coordinates: Vec<(u32, usize)> = set.limits.iter().map(|l| (l.vertex, l.axis)).collect();
        let limit_rows = Rows::gather(selection.gram(), &limit_coordinates);
        let is_plain = selection.gram().is_linear() && bounds.is_none() && set.limits.is_empty();
        let linear = is_plain.then(|| selection.attenuator(alpha, &vec![1.0; set.pins.len()]));
        Ok(Self { rig, selection, set, limit_rows, alpha, bounds, linear })
    }

    /// Where pins are held: as in the base pose `w0`, except that the sliders a pin allows may move it.
    pub fn targets(&self, w0: &[f64], w1: &[f64]) -> Vec<f64> {
        targets(self.selection, &self.set.pins, w0, w1)
    }

    /// New slider values for `w1`, pins held as in `w0`.
    pub fn solve(&self, w1: &[f32], w0: &[f32]) -> Result<Attenuated, AttenuateError> {
        let (w1, w0) = (finite_weights(self.rig, w1)?, finite_weights(self.rig, w0)?);
        let targets = self.targets(&w0, &w1);
        let (w2, steps, kkt_residual, converged) = match &self.linear {
            Some(linear) => (linear.solve(&w1, &targets), 1, None, true),
            None => {
                let solution = self.solve_constrained(&vec![1.0; self.set.pins.len()], &targets, &w1)?;
                (solution.w2, solution.steps, Some(solution.kkt_residual), solution.converged)
            }
        };
        let mut report = self.report(&w1, &w2, &targets);
        report.steps = steps;
        report.kkt_residual = kkt_residual;
        if !converged {
            report.warnings.push(format!("the solver stopped after {steps} steps before it settled"));
        }
        Ok(report)
    }

    /// As [`Self::solve`] without the report, and whether the solver settled: for frames of a clip, with pins at given
    /// strengths.
    pub fn solve_weights(
        &self,
        w1: &[f64],
        targets: &[f64],
        strengths: &[f64],
    ) -> Result<(Vec<f64>, bool), AttenuateError> {
        match &self.linear {
            Some(linear) if strengths.iter().all(|&r| r == 1.0) => Ok((linear.solve(w1, targets), true)),
            Some(linear) => Ok((self.selection.attenuator(linear.alpha(), strengths).solve(w1, targets), true)),
            None => {
                let solution = self.solve_constrained(strengths, targets, w1)?;
                Ok((solution.w2, solution.converged))
            }
        }
    }

    fn solve_constrained(
        &self,
        strengths: &[f64],
        targets: &[f64],
        w1: &[f64],
    ) -> Result<constrained::Solution, AttenuateError> {
        let problem = constrained::Problem {
            alpha: self.alpha,
            strengths,
            targets,
            w1,
            bounds: self.bounds.as_deref(),
            limits: &self.set.limits,
            limit_rows: &self.limit_rows,
        };
        constrained::solve(self.selection, &problem).map_err(|e| self.explain(e))
    }

    fn explain(&self, error: QpError) -> AttenuateError {
        let slider = |i: usize| &self.rig.sliders[self.selection.free()[i]];
        match error {
            QpError::EmptyRange { constraint: Constraint::Bound(i), .. } => {
                let s = slider(i);
                AttenuateError::EmptyRange { slider: s.name.clone(), low: s.range[0].into(), high: s.range[1].into() }
            }
            QpError::Infeasible(Constraint::Bound(i)) => AttenuateError::Infeasible(format!(
                "slider '{}' would have to leave its range to keep a vertex within its limits",
                slider(i).name
            )),
            QpError::Infeasible(Constraint::Row(i)) | QpError::EmptyRange { constraint: Constraint::Row(i), .. } => {
                let limit = &self.set.limits[i];
                AttenuateError::Infeasible(format!(
                    "rig vertex {} cannot stay between {} and {} along {}; widen its limits or the sliders' ranges",
                    limit.vertex,
                    limit.range[0],
                    limit.range[1],
                    ['x', 'y', 'z'][limit.axis]
                ))
            }
            QpError::NoConvergence(_) => AttenuateError::NoConvergence(error.to_string()),
        }
    }

    fn report(&self, w1: &[f64], w2: &[f64], targets: &[f64]) -> Attenuated {
        let activation = self.selection.gram().activation();
        let (c1, c2) = (activation.coefficients(w1), activation.coefficients(w2));
        let rows = self.selection.rows();
        let off = |c: &[f64]| {
            let moved = rows.times(c);
            Motion::of(moved.iter().zip(targets).map(|(m, t)| m - t))
        };
        let weights: Vec<f32> = w2.iter().map(|&w| w as f32).collect();
        let at_bound = (0..weights.len())
            .filter(|&i| self.bounds.is_some() && self.rig.sliders[i].range.contains(&weights[i]) && w1[i] != w2[i])
            .collect();
        Attenuated {
            alpha: self.alpha,
            pinned_before: off(&c1),
            pinned_after: off(&c2),
            others_deviation: self.others_deviation(&c1, &c2),
            at_bound,
            steps: 0,
            kkt_residual: None,
            warnings: self.warnings(),
            weights,
        }
    }

    fn others_deviation(&self, c1: &[f64], c2: &[f64]) -> Motion {
        let mut moved = vec![[0.0f64; 3]; self.rig.n_vertices()];
        for (shape, (a, b)) in self.rig.shapes.iter().zip(c1.iter().zip(c2)) {
            if a != b {
                for (&v, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                    (0..3).for_each(|k| moved[v as usize][k] += (b - a) * f64::from(offset[k]));
                }
            }
        }
        let flat = moved.as_flattened();
        let pinned: Vec<usize> = self.set.pins.iter().map(|p| 3 * p.vertex as usize + p.axis).collect();
        Motion::of(flat.iter().enumerate().filter(|(i, _)| pinned.binary_search(i).is_err()).map(|(_, x)| *x))
    }

    /// Sliders that attenuation cannot treat as the animator may expect.
    pub fn warnings(&self) -> Vec<String> {
        let gram = self.selection.gram();
        let names = |sliders: &[usize]| {
            let shown: Vec<&str> = sliders.iter().take(8).map(|&s| self.rig.sliders[s].name.as_str()).collect();
            let more = sliders.len().saturating_sub(8);
            shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
        };
        let g = gram.matrix();
        let full = |s: usize| self.rig.sliders[s].shape;
        let all = 0..self.rig.sliders.len();
        let empty: Vec<usize> = all.clone().filter(|&s| g[(full(s), full(s))] == 0.0).collect();
        let pivots = gram.factor().diagonal();
        let dependent: Vec<usize> = all
            .clone()
            .filter(|&s| {
                let energy = g[(full(s), full(s))];
                energy > 0.0 && pivots[full(s)].powi(2) < 1e-8 * energy + 10.0 * gram.ridge()
            })
            .collect();
        let mut pinned_energy = vec![0.0; gram.deltas().len()];
        for i in 0..self.selection.rows().len() {
            self.selection.rows().row(i).iter().for_each(|&(s, x)| pinned_energy[s as usize] += f64::from(x).powi(2));
        }
        let only_pinned: Vec<usize> = all
            .filter(|&s| pinned_energy[full(s)] > 0.999 * g[(full(s), full(s))] && g[(full(s), full(s))] > 0.0)
            .collect();
        let mut warnings = Vec::new();
        if !empty.is_empty() {
            warnings.push(format!("sliders without any motion are left alone: {}", names(&empty)));
        }
        if !dependent.is_empty() {
            warnings.push(format!(
                "sliders that repeat what others do; the change is shared among them: {}",
                names(&dependent)
            ));
        }
        if !only_pinned.is_empty() {
            warnings.push(format!("sliders that move pinned points only are held back: {}", names(&only_pinned)));
        }
        if let Some(linear) = &self.linear
            && linear.condition_estimate() > 1e12
        {
            warnings.push(format!(
                "the system is badly conditioned (about {:.0e}); lower alpha if sliders take large values",
                linear.condition_estimate()
            ));
        }
        warnings
    }
}

impl Motion {
    fn of(lengths: impl Iterator<Item = f64>) -> Self {
        let (mut max, mut sum, mut count) = (0.0f64, 0.0, 0usize);
        for x in lengths {
            max = max.max(x.abs());
            sum += x * x;
            count += 1;
        }
        Self { max, rms: if count > 0 { (sum / count as f64).sqrt() } else { 0.0 } }
    }
}

/// See [`PoseAttenuation::targets`].
pub fn targets(selection: &Selection, pins: &[Pin], w0: &[f64], w1: &[f64]) -> Vec<f64> {
    let mut held = selection.held_at(w0);
    let mut seen: Vec<(&[usize], Vec<f64>)> = Vec::new();
    for (i, pin) in pins.iter().enumerate().filter(|(_, p)| !p.only.is_empty()) {
        let known = seen.iter().position(|(only, _)| *only == pin.only);
        let known = known.unwrap_or_else(|| {
            let mut allowed = w0.to_vec();
            pin.only.iter().for_each(|&s| allowed[s] = w1[s]);
            seen.push((&pin.only, selection.held_at(&allowed)));
            seen.len() - 1
        });
        held[i] = seen[known].1[i];
    }
    held
}

/// `weights` as f64, if they fit the rig and are numbers.
pub fn finite_weights(rig: &Rig, weights: &[f32]) -> Result<Vec<f64>, AttenuateError> {
    if weights.len() != rig.sliders.len() {
        return Err(AttenuateError::WrongCount { given: weights.len(), expected: rig.sliders.len() });
    }
    match weights.iter().position(|w| !w.is_finite()) {
        Some(i) => Err(AttenuateError::BadWeight { slider: rig.sliders[i].name.clone(), value: weights[i].into() }),
        None => Ok(weights.iter().map(|&w| w.into()).collect()),
    }
}
