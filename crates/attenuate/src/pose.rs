//! Selected motion attenuation of a pose [Lewis05, section 4]: pins keep what the animator has placed while
//! sliders continue to move.
//!
//! This module combines the parts: it computes where pins are held (targets), selects the solver (the
//! prepared linear one of [`crate::selection`], or [`crate::constrained`] for limits and for rigs that are
//! not linear), and reports the result. In: slider values now (`w1`) and when the pins were set (`w0`). Out:
//! new slider values and a report.

use crate::constrained::{LastSolve, LinearSystem, PinnedProblem, Solution, solve_bent, solve_linear};
use crate::gram::GramError;
use crate::selection::{Attenuator, MAX_ALPHA, Selection};
use risorius_linalg::QpError;
use risorius_linalg::qp::Constraint;
use risorius_rig::model::{Rig, Slider};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::{Mutex, OnceLock, PoisonError};

/// How to attenuate.
#[derive(Debug, Clone, PartialEq)]
pub struct AttenuateOptions {
    /// Weight of pins against the rest, 0 or more (infinity: as hard as possible). When left out, the paper's
    /// default: the number of vertices without a pin over that of vertices with one.
    pub alpha: Option<f64>,
    /// Keep sliders within their ranges.
    pub bounds: bool,
    /// Without `bounds`: how far sliders may go beyond either end of their ranges, in lengths of the range,
    /// 0 or more. Infinity is the paper's own problem, in which sliders of rich rigs reach tens or hundreds.
    /// A requested value outside is always allowed. Default 0.5: visible overshoot at most.
    pub overshoot: f64,
}

impl Default for AttenuateOptions {
    fn default() -> Self {
        Self { alpha: None, bounds: false, overshoot: 0.5 }
    }
}

/// Largest and root-mean-square length over some coordinates, in the file's unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Motion {
    /// Largest.
    pub max: f64,
    /// Root mean square.
    pub rms: f64,
}

/// New slider values and their effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Attenuated {
    /// New slider values.
    pub weights: Vec<f32>,
    /// The `a` that was used.
    pub alpha: f64,
    /// Distance of pinned coordinates from where they are held, without attenuation.
    pub pinned_before: Motion,
    /// The same with the new slider values.
    pub pinned_after: Motion,
    /// Distance of all other coordinates from where the requested slider values would put them.
    pub others_deviation: Motion,
    /// Sliders that stopped at the end of their range.
    pub at_bound: Vec<usize>,
    /// Steps of the solver; 1 for a linear rig.
    pub steps: usize,
    /// With limits: largest relative violation of the KKT conditions.
    pub kkt_residual: Option<f64>,
    /// Estimate of the condition number of the system that was solved.
    pub condition: f64,
    /// What the animator should know.
    pub warnings: Vec<String>,
}

impl risorius_base::Advise for AttenuateError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Infeasible(_) | Self::BadOvershoot(_) => &["overshoot"],
            _ => &[],
        }
    }
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
    /// The number of weights does not match the rig.
    #[error("there are {given} slider values for a rig of {expected} sliders; give one per slider")]
    WrongCount {
        /// Values given.
        given: usize,
        /// Sliders of the rig.
        expected: usize,
    },
    /// `a` is negative or not a number.
    #[error("alpha is {0}; give 0 or more")]
    BadAlpha(f64),
    /// The overshoot is negative or not a number.
    #[error("the overshoot is {0} ranges; give 0 or more, or infinity")]
    BadOvershoot(f64),
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
    /// The solver did not converge.
    #[error("the solver did not converge ({0}); are shapes nearly equal? see `inspect`")]
    NoConvergence(String),
    /// Inner products could not be computed.
    #[error(transparent)]
    Gram(#[from] GramError),
}

/// A pose solver for one selection and set of options: prepared once, run at every slider event.
#[derive(Debug)]
pub struct PoseAttenuation<'a> {
    rig: &'a Rig,
    selection: &'a Selection<'a>,
    alpha: f64,
    /// Whether sliders stay within their ranges.
    bounds: bool,
    /// Range that each slider keeps to; `None` if there is none.
    ranges: Option<Vec<[f64; 2]>>,
    solver: Solver<'a>,
    /// Where the next slider event starts.
    last: Mutex<LastSolve>,
    warnings: Vec<String>,
}

/// The solver that fits the rig and the options.
#[derive(Debug)]
enum Solver<'a> {
    /// A linear rig without limits: a product. Where that takes a slider too far, the quadratic program,
    /// prepared when it is first needed.
    Plain(Attenuator<'a>, OnceLock<LinearSystem<'a>>),
    /// A linear rig with limits: a quadratic program on a prepared factor.
    Limited(LinearSystem<'a>),
    /// In-betweens or combinations: Gauss-Newton.
    Bent,
}

impl<'a> PoseAttenuation<'a> {
    /// Prepares for one selection.
    pub fn prepare(
        rig: &'a Rig,
        selection: &'a Selection<'a>,
        options: &AttenuateOptions,
    ) -> Result<Self, AttenuateError> {
        let alpha = options.alpha.unwrap_or_else(|| selection.default_alpha());
        if alpha.is_nan() || alpha < 0.0 {
            return Err(AttenuateError::BadAlpha(alpha));
        }
        let alpha = alpha.min(MAX_ALPHA);
        let ranges = slider_ranges(rig, options)?;
        let all_on = vec![1.0; selection.set().pins.len()];
        let solver = if !selection.gram().is_linear() {
            Solver::Bent
        } else if !options.bounds && selection.set().limits.is_empty() {
            Solver::Plain(selection.attenuator(alpha, &all_on), OnceLock::new())
        } else {
            Solver::Limited(LinearSystem::prepare(selection, alpha, &all_on))
        };
        let (bounds, warnings) = (options.bounds, warnings(rig, selection));
        let last = Mutex::new(LastSolve::default());
        Ok(Self { rig, selection, alpha, bounds, ranges, solver, last, warnings })
    }

    /// The `a` in use.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// What the animator should know about the rig and the selection.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// New slider values for `w1`, pins held as in `w0`: what a slider event needs, without a report. Events
    /// that follow one another are quick, since each starts from the last; results do not depend on the
    /// events before, except by rounding.
    pub fn weights(&self, w1: &[f32], w0: &[f32]) -> Result<Vec<f32>, AttenuateError> {
        let (w1, w0) = (finite_weights(self.rig, w1)?, finite_weights(self.rig, w0)?);
        let targets = self.selection.targets(&w0, &w1);
        let solution = self.solve_event(&w1, &targets)?;
        Ok(solution.w2.iter().map(|&w| w as f32).collect())
    }

    /// New slider values for `w1`, pins held as in `w0`, and a report.
    pub fn solve(&self, w1: &[f32], w0: &[f32]) -> Result<Attenuated, AttenuateError> {
        let (w1, w0) = (finite_weights(self.rig, w1)?, finite_weights(self.rig, w0)?);
        let targets = self.selection.targets(&w0, &w1);
        let solution = self.solve_event(&w1, &targets)?;
        Ok(self.report(&w1, &solution, &targets))
    }

    fn solve_event(&self, w1: &[f64], targets: &[f64]) -> Result<Solution, AttenuateError> {
        // A panic in another event leaves at worst a poor start.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        self.solve_frame(w1, targets, &vec![1.0; targets.len()], &mut last)
    }

    /// As [`Self::weights`] in f64, with given targets and fades of the pins, from where the `last` frame
    /// with all pins on ended.
    pub(crate) fn solve_frame(
        &self,
        w1: &[f64],
        targets: &[f64],
        fades: &[f64],
        last: &mut LastSolve,
    ) -> Result<Solution, AttenuateError> {
        let all_on = fades.iter().all(|&r| r == 1.0);
        let ranges = self.ranges_around(w1);
        let problem = PinnedProblem { alpha: self.alpha, fades, targets, w1, bounds: ranges.as_deref() };
        let prepare = || LinearSystem::prepare(self.selection, self.alpha, fades);
        let solved = match &self.solver {
            Solver::Plain(attenuator, system) => {
                let solution = match all_on {
                    true => plain(attenuator, w1, targets),
                    false => plain(&self.selection.attenuator(self.alpha, fades), w1, targets),
                };
                match &ranges {
                    Some(ranges) if !within(&solution.w2, ranges) && all_on => {
                        solve_linear(self.selection, &problem, system.get_or_init(prepare), last)
                    }
                    Some(ranges) if !within(&solution.w2, ranges) => {
                        solve_linear(self.selection, &problem, &prepare(), &mut LastSolve::default())
                    }
                    _ => return Ok(solution),
                }
            }
            Solver::Limited(system) if all_on => solve_linear(self.selection, &problem, system, last),
            Solver::Limited(_) => {
                solve_linear(self.selection, &problem, &prepare(), &mut LastSolve::default())
            }
            Solver::Bent => solve_bent(self.selection, &problem),
        };
        solved.map_err(|e| self.explain(e))
    }

    /// The ranges to keep to; unless sliders stay within their own, `w1` itself is always inside.
    fn ranges_around(&self, w1: &[f64]) -> Option<Cow<'_, [[f64; 2]]>> {
        let ranges = self.ranges.as_ref()?;
        if self.bounds || within(w1, ranges) {
            return Some(Cow::Borrowed(ranges));
        }
        let widened = ranges.iter().zip(w1).map(|(r, &w)| [r[0].min(w), r[1].max(w)]);
        Some(Cow::Owned(widened.collect()))
    }

    fn explain(&self, error: QpError) -> AttenuateError {
        let slider = |i: usize| &self.rig.sliders[i];
        match error {
            QpError::EmptyRange { constraint: Constraint::Bound(i), .. } => {
                let s = slider(i);
                AttenuateError::EmptyRange {
                    slider: s.name.clone(),
                    low: s.range[0].into(),
                    high: s.range[1].into(),
                }
            }
            QpError::EmptyRange { constraint: Constraint::Row(i), .. } => self.cannot_stay(&[i]),
            QpError::Infeasible { constraint, with } => {
                let limit = |c: &Constraint| match c {
                    Constraint::Row(i) => Some(*i),
                    Constraint::Bound(_) => None,
                };
                self.cannot_stay(&with.iter().chain([&constraint]).filter_map(limit).collect::<Vec<_>>())
            }
            QpError::NoConvergence(_) | QpError::NotDefinite { .. } => {
                AttenuateError::NoConvergence(error.to_string())
            }
        }
    }

    /// Names the `within` limits that cannot be met together.
    fn cannot_stay(&self, limits: &[usize]) -> AttenuateError {
        let said = limits.iter().take(4).map(|&i| {
            let limit = &self.selection.set().limits[i];
            let ([low, high], axis) = (limit.range, ['x', 'y', 'z'][limit.axis]);
            format!("{} within {low} to {high} along {axis}", self.rig.vertex_name(limit.vertex))
        });
        let found = if self.selection.gram().is_linear() { "can keep" } else { "were found that keep" };
        let list = said.collect::<Vec<_>>().join(" and ");
        AttenuateError::Infeasible(format!(
            "no slider values {found} {list}; widen these limits or the sliders' ranges"
        ))
    }

    fn report(&self, w1: &[f64], solution: &Solution, targets: &[f64]) -> Attenuated {
        let weights: Vec<f32> = solution.w2.iter().map(|&w| w as f32).collect();
        // The report is about the rounded values that the user gets.
        let w2: Vec<f64> = weights.iter().map(|&w| w.into()).collect();
        let activation = self.selection.gram().activation();
        let (c1, c2) = (activation.coefficients(w1), activation.coefficients(&w2));
        let off = |c: &[f64]| {
            let moved = self.selection.rows().times(c);
            Motion::of(moved.iter().zip(targets).map(|(m, t)| m - t))
        };
        let at_bound = (0..weights.len())
            .filter(|&i| self.bounds && self.rig.sliders[i].range.contains(&weights[i]) && w1[i] != w2[i])
            .collect();
        let mut warnings = self.warnings.clone();
        warnings.extend(self.overshoot_warning(w1, &weights));
        if solution.condition > 1e14 {
            warnings.push(format!(
                "the system is badly conditioned (about {:.0e}); lower alpha if sliders take large values",
                solution.condition
            ));
        }
        if !solution.settled {
            warnings.push(format!("the solver stopped after {} steps before it converged", solution.steps));
        }
        Attenuated {
            alpha: self.alpha,
            pinned_before: off(&c1),
            pinned_after: off(&c2),
            others_deviation: self.others_deviation(&c1, &c2),
            at_bound,
            steps: solution.steps,
            kkt_residual: solution.kkt_residual,
            condition: solution.condition,
            warnings,
            weights,
        }
    }

    /// Names the sliders that stopped beyond the ends of their ranges.
    fn overshoot_warning(&self, w1: &[f64], weights: &[f32]) -> Option<String> {
        let ranges = self.ranges.as_ref().filter(|_| !self.bounds)?;
        let ends = |i: usize| ranges[i].map(|x| x as f32);
        let stopped = |&i: &usize| ends(i).contains(&weights[i]) && f64::from(weights[i]) != w1[i];
        let stopped: Vec<usize> = (0..weights.len()).filter(stopped).collect();
        let names = some_names(self.rig, &stopped);
        (!stopped.is_empty()).then(|| {
            format!("sliders stopped at the `overshoot` beyond their ranges, so pins hold less: {names}")
        })
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
        let pinned: Vec<usize> =
            self.selection.set().pins.iter().map(|p| 3 * p.vertex as usize + p.axis).collect();
        Motion::of(flat.iter().enumerate().filter(|(i, _)| pinned.binary_search(i).is_err()).map(|(_, x)| *x))
    }
}

/// The plain solution in the form of the others.
fn plain(attenuator: &Attenuator, w1: &[f64], targets: &[f64]) -> Solution {
    let condition = attenuator.condition_estimate();
    Solution { w2: attenuator.solve(w1, targets), steps: 1, kkt_residual: None, condition, settled: true }
}

/// The range that each slider keeps to; `None` if they may go anywhere.
fn slider_ranges(rig: &Rig, options: &AttenuateOptions) -> Result<Option<Vec<[f64; 2]>>, AttenuateError> {
    if options.overshoot.is_nan() || options.overshoot < 0.0 {
        return Err(AttenuateError::BadOvershoot(options.overshoot));
    }
    let beyond = if options.bounds { 0.0 } else { options.overshoot };
    let around = |s: &Slider| {
        let [low, high] = s.range.map(f64::from);
        let length = (high - low).abs();
        // A reversed range is an error only where it must be kept.
        let [low, high] = if options.bounds { [low, high] } else { [low.min(high), low.max(high)] };
        [low - beyond * length, high + beyond * length]
    };
    Ok(beyond.is_finite().then(|| rig.sliders.iter().map(around).collect()))
}

fn within(w: &[f64], ranges: &[[f64; 2]]) -> bool {
    w.iter().zip(ranges).all(|(&w, r)| (r[0]..=r[1]).contains(&w))
}

/// The first names of some sliders, and how many more there are.
fn some_names(rig: &Rig, sliders: &[usize]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = sliders.iter().take(SHOWN).map(|&s| rig.sliders[s].name.as_str()).collect();
    let more = sliders.len().saturating_sub(SHOWN);
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// Warnings about sliders that attenuation does not treat as the animator may expect.
fn warnings(rig: &Rig, selection: &Selection) -> Vec<String> {
    let gram = selection.gram();
    let full = |s: usize| rig.sliders[s].shape;
    let energy = |s: usize| gram.matrix()[(full(s), full(s))];
    // Locked sliders do not change, whatever they are.
    let all = selection.free().iter().copied();
    let empty: Vec<usize> = all.clone().filter(|&s| energy(s) == 0.0).collect();
    let repeats = |&s: &usize| gram.repeats().binary_search(&full(s)).is_ok();
    let dependent: Vec<usize> = all.clone().filter(repeats).collect();
    let mut pinned_energy = vec![0.0; gram.deltas().len()];
    for i in 0..selection.rows().len() {
        selection.rows().row(i).iter().for_each(|&(s, x)| pinned_energy[s as usize] += f64::from(x).powi(2));
    }
    let only_pinned: Vec<usize> =
        all.filter(|&s| energy(s) > 0.0 && pinned_energy[full(s)] > 0.999 * energy(s)).collect();
    let said = [
        (empty, "sliders that move nothing are not changed"),
        (dependent, "sliders that repeat earlier ones share the change with them"),
        (only_pinned, "sliders that move only pinned points are held back"),
    ];
    said.into_iter()
        .filter(|(list, _)| !list.is_empty())
        .map(|(list, text)| format!("{text}: {}", some_names(rig, &list)))
        .collect()
}

impl Motion {
    /// Over several sets of coordinates of known sizes.
    pub(crate) fn over(sets: impl Iterator<Item = (Motion, usize)>) -> Self {
        let (mut max, mut sum, mut count) = (0.0f64, 0.0, 0usize);
        for (motion, n) in sets {
            max = max.max(motion.max);
            sum += motion.rms.powi(2) * n as f64;
            count += n;
        }
        Self { max, rms: if count > 0 { (sum / count as f64).sqrt() } else { 0.0 } }
    }

    pub(crate) fn of(lengths: impl Iterator<Item = f64>) -> Self {
        let (mut max, mut sum, mut count) = (0.0f64, 0.0, 0usize);
        for x in lengths {
            max = max.max(x.abs());
            sum += x * x;
            count += 1;
        }
        Self { max, rms: if count > 0 { (sum / count as f64).sqrt() } else { 0.0 } }
    }
}

/// `weights` as f64, if they fit the rig and are numbers.
pub(crate) fn finite_weights(rig: &Rig, weights: &[f32]) -> Result<Vec<f64>, AttenuateError> {
    if weights.len() != rig.sliders.len() {
        return Err(AttenuateError::WrongCount { given: weights.len(), expected: rig.sliders.len() });
    }
    match weights.iter().position(|w| !w.is_finite()) {
        Some(i) => {
            Err(AttenuateError::BadWeight { slider: rig.sliders[i].name.clone(), value: weights[i].into() })
        }
        None => Ok(weights.iter().map(|&w| w.into()).collect()),
    }
}
