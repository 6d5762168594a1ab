//! Attenuation of a whole clip: pins that are switched on and off in time, without a jump.
//!
//! Each frame is the pose problem of [`crate::pose`]. A pin with time ranges is fully on inside them and
//! fades over `fade_secs` before and after; it holds the coordinate where the clip has it at the start of the
//! range (or where the given base pose has it). While pins fade with `r` between 0 and 1, the change of
//! weights is the mean over all thresholds `q` from 0 to 1 of the change with only the pins of `r >= q`: a
//! few plain solves, continuous in `r`. (Scaling `a` by `r` instead would switch almost at once, because pins
//! hold well long before `a` reaches its full value.) Smooth input gives smooth output. Groups of frames run
//! in parallel; within a group each frame starts from the solution of the one before, which saves time and
//! changes results by rounding only. Where limits become active or inactive the result has kinks, which
//! `smooth_secs` smooths by a Gaussian over the change of weights; limits are then restored frame by frame.

use crate::constrained::LastSolve;
use crate::gram::GramError;
use crate::pose::{AttenuateError, AttenuateOptions, Motion, PoseAttenuation, finite_weights};
use crate::selection::Selection;
use rayon::prelude::*;
use risorius_base::Progress;
use risorius_base::ease::smoothstep;
use risorius_base::progress::tick;
use risorius_linalg::dense::dot;
use risorius_rig::BoundClip;
use risorius_rig::model::Rig;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Frames that are solved one after another, each from the last. A fixed number, so that results do not
/// depend on the number of threads; small, so that short clips use all of them.
const GROUP: usize = 16;

/// How to attenuate a clip.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipOptions {
    /// As for a pose.
    pub pose: AttenuateOptions,
    /// Pose in which all pins were set. Left out: the neutral for pins without times, the clip at the start
    /// of its range for pins with times.
    pub from: Option<Vec<f32>>,
    /// Time over which a pin fades in before and out after its range, in seconds; 0 switches hard. 0.2 s is
    /// about the length of a quick facial movement.
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
    /// Report of each frame.
    pub frames: Vec<FrameReport>,
    /// Distance of pinned coordinates from where they are held, without attenuation, over all frames on which
    /// they are fully on.
    pub pinned_before: Motion,
    /// The same with the new weights.
    pub pinned_after: Motion,
    /// What the animator should know.
    pub warnings: Vec<String>,
}

/// One frame of an attenuated clip; lengths are in the file's unit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FrameReport {
    /// Coordinates that are fully held; those that fade do not count below.
    pub n_held: usize,
    /// Their distance from where they are held, without attenuation.
    pub before: Motion,
    /// The same with attenuation.
    pub after: Motion,
    /// Root mean square of what attenuation changed at all other coordinates.
    pub others_rms: f64,
    /// Sliders that stopped at the end of their range.
    pub n_at_bound: usize,
}

/// Attenuates `weights` (frames x sliders) at `times_secs` with the pins and limits of `selection`.
pub fn attenuate_clip(
    rig: &Rig,
    selection: &Selection,
    clip: &BoundClip,
    options: &ClipOptions,
    progress: &Progress,
) -> Result<ClipAttenuated, AttenuateError> {
    let BoundClip { times_secs, weights, .. } = clip;
    let n_sliders = rig.sliders.len();
    if weights.len() != times_secs.len() * n_sliders {
        return Err(AttenuateError::WrongCount {
            given: weights.len(),
            expected: times_secs.len() * n_sliders,
        });
    }
    let frames: Vec<Vec<f64>> = (0..times_secs.len())
        .map(|f| finite_weights(rig, &weights[f * n_sliders..(f + 1) * n_sliders]))
        .collect::<Result<_, _>>()?;
    let pose = PoseAttenuation::prepare(rig, selection, &options.pose)?;
    let schedule = Schedule::prepare(rig, selection, times_secs, &frames, options)?;
    let done = AtomicUsize::new(0);
    let advance = || {
        let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
        tick(progress, "attenuating frames", so_far as f32 / frames.len() as f32).map_err(GramError::from)
    };
    let solve_group = |(frames, times): (&[Vec<f64>], &[f64])| {
        let mut last = LastSolve::default();
        let solve = |(w1, &t): (&Vec<f64>, &f64)| {
            let solved = solve_faded(&pose, selection, w1, &schedule.at(t, selection, w1), &mut last)?;
            advance()?;
            Ok(solved)
        };
        frames.iter().zip(times).map(solve).collect::<Result<Vec<_>, AttenuateError>>()
    };
    let groups = frames.par_chunks(GROUP).zip(times_secs.par_chunks(GROUP));
    let solved: Vec<Vec<(Vec<f64>, bool)>> = groups.map(solve_group).collect::<Result<_, _>>()?;
    let solved: Vec<(Vec<f64>, bool)> = solved.into_iter().flatten().collect();
    let mut warnings = pose.warnings().to_vec();
    let unsettled: Vec<usize> = (0..solved.len()).filter(|&f| !solved[f].1).collect();
    if let Some(first) = unsettled.first() {
        warnings.push(format!(
            "the solver did not converge on {} frames, first on frame {first}",
            unsettled.len()
        ));
    }
    let mut new: Vec<Vec<f64>> = solved.into_iter().map(|s| s.0).collect();
    if options.smooth_secs > 0.0 {
        new = smooth_change(times_secs, &frames, &new, options.smooth_secs);
        new = new.par_iter().map(|w| keep_limits(&pose, selection, options, w)).collect::<Result<_, _>>()?;
    }
    let weights: Vec<f32> = new.iter().flatten().map(|&w| w as f32).collect();
    let now = |f: usize| schedule.at(times_secs[f], selection, &frames[f]);
    let reports: Vec<FrameReport> = (0..frames.len())
        .into_par_iter()
        .map(|f| {
            report(rig, selection, options, &now(f), &frames[f], &weights[f * n_sliders..(f + 1) * n_sliders])
        })
        .collect();
    Ok(ClipAttenuated {
        weights,
        alpha: pose.alpha(),
        pinned_before: Motion::over(reports.iter().map(|r| (r.before, r.n_held))),
        pinned_after: Motion::over(reports.iter().map(|r| (r.after, r.n_held))),
        frames: reports,
        warnings,
    })
}

fn report(
    rig: &Rig,
    selection: &Selection,
    options: &ClipOptions,
    now: &Now,
    w1: &[f64],
    w2: &[f32],
) -> FrameReport {
    let w2: Vec<f64> = w2.iter().map(|&w| w.into()).collect();
    let gram = selection.gram();
    let held: Vec<usize> = (0..now.fades.len()).filter(|&i| now.fades[i] == 1.0).collect();
    let off = |w: &[f64]| {
        let moved = selection.held_at(w);
        Motion::of(held.iter().map(|&i| moved[i] - now.targets[i]))
    };
    let (c1, c2) = (gram.activation().coefficients(w1), gram.activation().coefficients(&w2));
    let change: Vec<f64> = c2.iter().zip(&c1).map(|(a, b)| a - b).collect();
    let changed = selection.rows().times(&change);
    let of_held: f64 = held.iter().map(|&i| changed[i].powi(2)).sum();
    let others = (dot(&change, &gram.matrix().times(&change)) - of_held).max(0.0);
    let at_bound = |s: &usize| rig.sliders[*s].range.contains(&(w2[*s] as f32)) && w1[*s] != w2[*s];
    FrameReport {
        n_held: held.len(),
        before: off(w1),
        after: off(&w2),
        others_rms: (others / (gram.n_coordinates() - held.len()).max(1) as f64).sqrt(),
        n_at_bound: if options.pose.bounds { (0..w2.len()).filter(at_bound).count() } else { 0 },
    }
}

/// The mean of the solutions over all thresholds of fading, and whether all converged; see the module header.
fn solve_faded(
    pose: &PoseAttenuation,
    selection: &Selection,
    w1: &[f64],
    now: &Now,
    last: &mut LastSolve,
) -> Result<(Vec<f64>, bool), AttenuateError> {
    let mut levels: Vec<f64> = now.fades.iter().copied().filter(|&r| r > 0.0).collect();
    levels.sort_by(|a, b| b.total_cmp(a));
    levels.dedup();
    let mut solve_at = |level: f64| {
        let on: Vec<f64> = now.fades.iter().map(|&r| if r >= level { 1.0 } else { 0.0 }).collect();
        pose.solve_frame(w1, &now.targets, &on, last)
    };
    if levels == [1.0] {
        let solution = solve_at(1.0)?;
        return Ok((solution.w2, solution.settled));
    }
    let mut mean = vec![0.0; w1.len()];
    let (mut above, mut settled) = (1.0, true);
    // Thresholds above the largest fade leave no pin on; limits of sliders and vertices still hold there.
    let steps = std::iter::once(f64::INFINITY).chain(levels.iter().copied());
    let ends = levels.iter().copied().chain([0.0]);
    for (level, below) in steps.zip(ends) {
        let share = above - below;
        if share > 0.0 {
            let solution = solve_at(level)?;
            settled &= solution.settled;
            mean.iter_mut().zip(solution.w2.iter().zip(w1)).for_each(|(m, (b, a))| *m += share * (b - a));
        }
        above = below;
    }
    let blended: Vec<f64> = w1.iter().zip(&mean).map(|(w, e)| w + e).collect();
    // Limits of a linear rig are convex, so a mean keeps them; otherwise they are enforced again.
    let is_safe = selection.gram().is_linear() || selection.set().limits.is_empty();
    if is_safe { Ok((blended, settled)) } else { Ok((only_limits(pose, selection, &blended)?, settled)) }
}

/// The nearest weights to `w` that keep all limits; pins are ignored.
fn only_limits(pose: &PoseAttenuation, selection: &Selection, w: &[f64]) -> Result<Vec<f64>, AttenuateError> {
    let n = selection.rows().len();
    Ok(pose.solve_frame(w, &vec![0.0; n], &vec![0.0; n], &mut LastSolve::default())?.w2)
}

/// As [`only_limits`], or `w` itself where there are none.
fn keep_limits(
    pose: &PoseAttenuation,
    selection: &Selection,
    options: &ClipOptions,
    w: &[f64],
) -> Result<Vec<f64>, AttenuateError> {
    let has_limits = options.pose.bounds || !selection.set().limits.is_empty();
    if has_limits { only_limits(pose, selection, w) } else { Ok(w.to_vec()) }
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
    fades: Vec<f64>,
    targets: Vec<f64>,
}

impl Schedule {
    fn prepare(
        rig: &Rig,
        selection: &Selection,
        times: &[f64],
        frames: &[Vec<f64>],
        options: &ClipOptions,
    ) -> Result<Self, AttenuateError> {
        let from = options.from.as_deref().map(|w| finite_weights(rig, w)).transpose()?;
        let mut bases =
            vec![from.clone().unwrap_or_else(|| vec![0.0; selection.gram().activation().n_sliders()])];
        let mut base_of_frame = std::collections::BTreeMap::new();
        let ranges = selection
            .set()
            .pins
            .iter()
            .map(|pin| {
                pin.times
                    .iter()
                    .map(|&range| {
                        let start =
                            times.partition_point(|&t| t < range[0]).min(times.len().saturating_sub(1));
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

    fn at(&self, t: f64, selection: &Selection, w1: &[f64]) -> Now {
        let mut held: Vec<Option<Vec<f64>>> = vec![None; self.bases.len()];
        let mut now = Now { fades: Vec::new(), targets: Vec::new() };
        for (pin, ranges) in self.ranges.iter().enumerate() {
            let mut value =
                |base: usize| held[base].get_or_insert_with(|| selection.targets(&self.bases[base], w1))[pin];
            if ranges.is_empty() {
                now.fades.push(1.0);
                now.targets.push(value(0));
                continue;
            }
            let faded: Vec<(f64, usize)> =
                ranges.iter().map(|&(range, base)| (fade(t, range, self.fade_secs), base)).collect();
            // Inside a range only its own pose counts; between two ranges their poses blend.
            let inside = faded.iter().any(|f| f.0 == 1.0);
            let (mut off, mut total, mut target) = (1.0, 0.0, 0.0);
            for &(r, base) in faded.iter().filter(|f| f.0 > 0.0 && (!inside || f.0 == 1.0)) {
                off *= 1.0 - r;
                total += r;
                target += r * value(base);
            }
            now.fades.push(1.0 - off);
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
        smoothstep(1.0 - outside / fade)
    }
}

/// `w1` plus the change to `w2`, smoothed by a Gaussian over time.
fn smooth_change(times: &[f64], w1: &[Vec<f64>], w2: &[Vec<f64>], smooth_secs: f64) -> Vec<Vec<f64>> {
    let reach = 3.0 * smooth_secs;
    (0..times.len())
        .into_par_iter()
        .map(|f| {
            let near = times.partition_point(|&t| t < times[f] - reach)
                ..times.partition_point(|&t| t <= times[f] + reach);
            let mut sum = vec![0.0; w1[f].len()];
            let mut total = 0.0;
            for g in near {
                let weight = (-0.5 * ((times[g] - times[f]) / smooth_secs).powi(2)).exp();
                total += weight;
                sum.iter_mut().zip(w2[g].iter().zip(&w1[g])).for_each(|(s, (b, a))| *s += weight * (b - a));
            }
            w1[f].iter().zip(&sum).map(|(w, s)| w + s / total).collect()
        })
        .collect()
}
