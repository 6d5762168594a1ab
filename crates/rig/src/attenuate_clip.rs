//! Attenuation of a whole clip: pins that are switched on and off in time, without a jump.
//!
//! Each frame is the pose problem of [`crate::attenuate`]. A pin with time ranges is fully on inside them and fades over
//! `fade_secs` before and after; it holds the coordinate where the clip has it at the start of the range (or where the
//! given base pose has it). While pins fade with strengths `r` between 0 and 1, the change of weights is the mean over
//! all thresholds `q` from 0 to 1 of the change with just the pins of `r >= q`: a handful of plain solves, continuous in
//! `r`, and within all limits, since those are convex. (Scaling `a` by `r` instead would switch almost at once, because
//! pins hold well long before `a` has its full size.) Smooth input gives smooth output; frames do not depend on one
//! another and run in parallel. Where limits switch on and off the result has kinks, which
//! `smooth_secs` rounds off by a Gaussian over the change of weights.

use crate::attenuate::{AttenuateError, AttenuateOptions, PoseAttenuation, finite_weights, select, targets};
use crate::gram::{GramError, RigGram};
use crate::model::Rig;
use crate::pins::PinSet;
use crate::selection::{Selection, weighted_square};
use rayon::prelude::*;
use risorius_mesh::{Progress, progress::tick};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How to attenuate a clip.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipOptions {
    /// As for a pose.
    pub pose: AttenuateOptions,
    /// Pose in which all pins were set. Left out: the neutral for pins without times, the clip at the start of its range
    /// for pins with times.
    pub from: Option<Vec<f32>>,
    /// Time over which a pin fades in before and out after its range, in seconds; 0 switches hard. 0.2 s is about the
    /// length of a quick facial movement.
    pub fade_secs: f64,
    /// Width (standard deviation) of the smoothing of the change of weights, in seconds; 0 for none.
    pub smooth_secs: f64,
}

impl Default for ClipOptions {
    fn default() -> Self {
        Self { pose: AttenuateOptions::default(), from: None, fade_secs: 0.2, smooth_secs: 0.0 }
    }
}

/// An attenuated clip.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipAttenuated {
    /// New weights, frames x sliders.
    pub weights: Vec<f32>,
    /// The `a` that was used.
    pub alpha: f64,
    /// Per frame: root mean square distance of pinned coordinates from where they are held (weighted by strength),
    /// without and with attenuation, in the file's unit.
    pub pinned_rms: Vec<[f64; 2]>,
    /// What the animator should know.
    pub warnings: Vec<String>,
}

/// Attenuates `weights` (frames x sliders) at `times_secs`.
pub fn attenuate_clip(
    rig: &Rig,
    gram: &RigGram,
    set: &PinSet,
    times_secs: &[f64],
    weights: &[f32],
    options: &ClipOptions,
    progress: &Progress,
) -> Result<ClipAttenuated, AttenuateError> {
    let n_sliders = rig.sliders.len();
    if weights.len() != times_secs.len() * n_sliders {
        return Err(AttenuateError::WrongCount { given: weights.len(), expected: times_secs.len() * n_sliders });
    }
    let frames: Vec<Vec<f64>> =
        (0..times_secs.len()).map(|f| finite_weights(rig, frame(weights, f, n_sliders))).collect::<Result<_, _>>()?;
    if frames.is_empty() {
        let alpha = options.pose.alpha.unwrap_or(0.0);
        return Ok(ClipAttenuated { weights: Vec::new(), alpha, pinned_rms: Vec::new(), warnings: Vec::new() });
    }
    let selection = select(gram, set, &options.pose.locked);
    let pose = PoseAttenuation::prepare(rig, &selection, set, &options.pose)?;
    let schedule = Schedule::prepare(rig, &selection, set, times_secs, &frames, options)?;
    let done = AtomicUsize::new(0);
    let solved: Vec<(Vec<f64>, bool)> = frames
        .par_iter()
        .zip(times_secs)
        .map(|(w1, &t)| {
            let now = schedule.at(t, &selection, set, w1);
            let solved = solve_faded(&pose, w1, &now)?;
            let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
            tick(progress, "attenuating frames", so_far as f32 / frames.len() as f32).map_err(GramError::from)?;
            Ok(solved)
        })
        .collect::<Result<_, AttenuateError>>()?;
    let mut warnings = pose.warnings();
    let unsettled: Vec<usize> = (0..solved.len()).filter(|&f| !solved[f].1).collect();
    if let Some(first) = unsettled.first() {
        warnings.push(format!("the solver did not settle on {} frames, first on frame {first}", unsettled.len()));
    }
    let mut new: Vec<Vec<f64>> = solved.into_iter().map(|s| s.0).collect();
    if options.smooth_secs > 0.0 {
        new = smooth_change(rig, times_secs, &frames, &new, options);
    }
    let pinned_rms = (0..frames.len())
        .map(|f| {
            let now = schedule.at(times_secs[f], &selection, set, &frames[f]);
            let total: f64 = now.strengths.iter().sum();
            [&frames[f], &new[f]].map(|w| {
                let square = weighted_square(&selection.held_at(w), &now.targets, &now.strengths);
                if total > 0.0 { (square / total).sqrt() } else { 0.0 }
            })
        })
        .collect();
    Ok(ClipAttenuated {
        weights: new.iter().flatten().map(|&w| w as f32).collect(),
        alpha: options.pose.alpha.unwrap_or_else(|| selection.default_alpha()),
        pinned_rms,
        warnings,
    })
}

/// The mean of the solutions over all thresholds of strength; see the module's header.
fn solve_faded(pose: &PoseAttenuation, w1: &[f64], now: &Now) -> Result<(Vec<f64>, bool), AttenuateError> {
    let mut levels: Vec<f64> = now.strengths.iter().copied().filter(|&r| r > 0.0).collect();
    levels.sort_by(|a, b| b.total_cmp(a));
    levels.dedup();
    let solve_at = |level: f64| {
        let on: Vec<f64> = now.strengths.iter().map(|&r| if r >= level { 1.0 } else { 0.0 }).collect();
        pose.solve_weights(w1, &now.targets, &on)
    };
    if levels == [1.0] {
        return solve_at(1.0);
    }
    let mut mean = vec![0.0; w1.len()];
    let (mut above, mut settled) = (1.0, true);
    // Thresholds above the largest strength leave no pin on; limits of sliders and vertices still hold there.
    let steps = std::iter::once(f64::INFINITY).chain(levels.iter().copied());
    let ends = levels.iter().copied().chain([0.0]);
    for (level, below) in steps.zip(ends) {
        let share = above - below;
        if share > 0.0 {
            let (w2, this_settled) = solve_at(level)?;
            settled &= this_settled;
            mean.iter_mut().zip(w2.iter().zip(w1)).for_each(|(m, (b, a))| *m += share * (b - a));
        }
        above = below;
    }
    Ok((w1.iter().zip(&mean).map(|(w, e)| w + e).collect(), settled))
}

fn frame(weights: &[f32], frame_idx: usize, n_sliders: usize) -> &[f32] {
    &weights[frame_idx * n_sliders..(frame_idx + 1) * n_sliders]
}

/// When each pin is on, and the poses that pins are held at.
struct Schedule {
    /// Poses: the first is for pins without times, then one per distinct range start.
    bases: Vec<Vec<f64>>,
    /// Per pin: ranges and their base.
    ranges: Vec<Vec<([f64; 2], usize)>>,
    fade_secs: f64,
}

struct Now {
    strengths: Vec<f64>,
    targets: Vec<f64>,
}

impl Schedule {
    fn prepare(
        rig: &Rig,
        selection: &Selection,
        set: &PinSet,
        times: &[f64],
        frames: &[Vec<f64>],
        options: &ClipOptions,
    ) -> Result<Self, AttenuateError> {
        let from = options.from.as_deref().map(|w| finite_weights(rig, w)).transpose()?;
        let mut bases = vec![from.clone().unwrap_or_else(|| vec![0.0; selection.gram().activation().n_sliders()])];
        let mut base_of_frame = std::collections::BTreeMap::new();
        let ranges = set
            .pins
            .iter()
            .map(|pin| {
                pin.times
                    .iter()
                    .map(|&range| {
                        let start = times.partition_point(|&t| t < range[0]).min(times.len().saturating_sub(1));
                        let base = match &from {
                            Some(_) => 0,
                            None => *base_of_frame.entry(start).or_insert_with(|| {
                                bases.push(frames[start].clone());
                                bases.len() - 1
                            }),
                        };
                        (range, base)
                    })
                    .collect()
            })
            .collect();
        Ok(Self { bases, ranges, fade_secs: options.fade_secs.max(0.0) })
    }

    fn at(&self, t: f64, selection: &Selection, set: &PinSet, w1: &[f64]) -> Now {
        let mut held: Vec<Option<Vec<f64>>> = vec![None; self.bases.len()];
        let mut now = Now { strengths: Vec::new(), targets: Vec::new() };
        for (pin, ranges) in self.ranges.iter().enumerate() {
            let mut value = |base: usize| {
                held[base].get_or_insert_with(|| targets(selection, &set.pins, &self.bases[base], w1))[pin]
            };
            if ranges.is_empty() {
                now.strengths.push(1.0);
                now.targets.push(value(0));
                continue;
            }
            let (mut off, mut total, mut target) = (1.0, 0.0, 0.0);
            for &(range, base) in ranges {
                let r = fade(t, range, self.fade_secs);
                if r > 0.0 {
                    off *= 1.0 - r;
                    total += r;
                    target += r * value(base);
                }
            }
            now.strengths.push(1.0 - off);
            now.targets.push(if total > 0.0 { target / total } else { 0.0 });
        }
        now
    }
}

/// 1 within the range, falling smoothly to 0 over `fade` before and after it.
fn fade(t: f64, range: [f64; 2], fade: f64) -> f64 {
    let outside = (range[0] - t).max(t - range[1]).max(0.0);
    if outside == 0.0 {
        1.0
    } else if outside >= fade {
        0.0
    } else {
        let x = 1.0 - outside / fade;
        x * x * (3.0 - 2.0 * x)
    }
}

/// `w1` plus the Gaussian-smoothed change; limits are kept.
fn smooth_change(rig: &Rig, times: &[f64], w1: &[Vec<f64>], w2: &[Vec<f64>], options: &ClipOptions) -> Vec<Vec<f64>> {
    let reach = 3.0 * options.smooth_secs;
    (0..times.len())
        .into_par_iter()
        .map(|f| {
            let near =
                times.partition_point(|&t| t < times[f] - reach)..times.partition_point(|&t| t <= times[f] + reach);
            let mut sum = vec![0.0; w1[f].len()];
            let mut total = 0.0;
            for g in near {
                let weight = (-0.5 * ((times[g] - times[f]) / options.smooth_secs).powi(2)).exp();
                total += weight;
                sum.iter_mut().zip(w2[g].iter().zip(&w1[g])).for_each(|(s, (b, a))| *s += weight * (b - a));
            }
            (0..sum.len())
                .map(|s| {
                    let [low, high] = rig.sliders[s].range.map(f64::from);
                    let w = w1[f][s] + sum[s] / total;
                    let keep = options.pose.bounds && !options.pose.locked.contains(&s);
                    if keep { w.max(low).min(high) } else { w }
                })
                .collect()
        })
        .collect()
}
