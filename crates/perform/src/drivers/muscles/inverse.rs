//! Raw activations: the activations and the jaw whose equilibrium is nearest to a target skin [Sifakis05,
//! sec. 4].
//!
//! With `r(q)` the distances in millimeters between landmarks of the simulated skin and of the target, `a`
//! the activations, `j` the jaw in scaled coordinates and `j0` the jaw's motion that the rig has:
//!
//! ```text
//! minimize  |r(a, j)|^2 + rho |a|^2 + rho_j |j - j0|^2     subject to  0 <= a <= 1 and the limits of the jaw
//! ```
//!
//! by Gauss-Newton steps within the bounds, in a region of trust. `dr/dq` follows from the equilibrium
//! condition `g(x, q) = 0`: `dx/dq = -H^-1 dg/dq`, one right-hand side for each muscle and each motion of the
//! jaw, all solved with one factor of the exact second derivatives H at the last equilibrium, contacts
//! included. Where H is not positive definite the projected one takes its place, which makes steps shorter
//! and changes no result; [`Solved::exact`] says how often.
//!
//! The small pull to zero decides between muscles that do the same: without it antagonists tense each other.

use super::landmarks::SkinMarks;
use super::{Controls, JawPose, MuscleModel, MusclePose, Start};
use crate::error::PerformError;
use glam::DVec3;
use rayon::prelude::*;
use risorius_base::Progress;
use risorius_base::progress::tick;
use risorius_linalg::bounds::solve_bounded;
use risorius_linalg::dense::Matrix;
use risorius_solve::{Acting, Energy, SolveError};

/// Options of [`Inverse`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InverseOptions {
    /// Landmarks, 20 or more. Default 480 [Cong16, sec. 3].
    pub landmarks: usize,
    /// A full activation costs as much as this distance at all landmarks, mm, positive. Default 0.1.
    pub effort_mm: f64,
    /// Most Gauss-Newton steps. Default 14.
    pub iterations: usize,
}

impl Default for InverseOptions {
    fn default() -> Self {
        Self { landmarks: 480, effort_mm: 0.1, iterations: 14 }
    }
}

/// One unit of the unknowns of the jaw: degrees, shares of the track.
const JAW_UNITS: [f64; 3] = [10.0, 0.5, 0.5];

/// Half the distance of finite differences, units of the jaw.
const DIFFERENCE: f64 = 1e-5;

/// Pull of the jaw to where the rig has it, relative to that of activations to zero.
const JAW_PULL: f64 = 4.0;

/// Steps begin with at most this change of an activation.
const TRUST: f64 = 0.4;

/// Steps below this end the search.
const SMALL_STEP: f64 = 4e-3;

/// So do steps that improve less than this share.
const SMALL_GAIN: f64 = 1e-3;

/// Most rounds of contact detection for a trial, which starts where first derivatives expect it to end. The
/// last one is solved with all.
const TRIAL_ROUNDS: usize = 2;

/// Landmarks that move less than this on average are no target, mm.
const STILL_MM: f64 = 1e-3;

/// A target that was approached.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// The pose.
    pub pose: MusclePose,
    /// Distance of landmarks from the target: root mean square and largest, mm.
    pub residual_mm: [f64; 2],
    /// The same for the neutral.
    pub before_mm: [f64; 2],
    /// Gauss-Newton steps.
    pub steps: usize,
    /// Equilibria that were found.
    pub equilibria: usize,
    /// Newton steps in all of them.
    pub newton_steps: usize,
    /// Factors that were of the exact second derivatives, and all factors.
    pub exact: [usize; 2],
}

/// A search for controls, prepared for a face.
pub struct Inverse<'m, 'f> {
    model: &'m MuscleModel<'f>,
    /// The landmarks.
    pub marks: SkinMarks,
    /// Muscles that can move a landmark.
    muscles: Vec<usize>,
    options: InverseOptions,
}

/// Controls with their equilibrium.
struct Tried {
    pose: MusclePose,
    /// Displacements of landmarks minus those of the target, mm.
    off: Vec<DVec3>,
    cost: f64,
}

impl<'m, 'f> Inverse<'m, 'f> {
    /// Chooses landmarks and the muscles that take part: those in the flesh that do not run from bone to
    /// bone.
    pub fn prepare(model: &'m MuscleModel<'f>, options: &InverseOptions) -> Result<Self, PerformError> {
        let checks: [(&'static [&'static str], _, _, _, _); 2] = [
            (
                &["landmarks"],
                "the number of landmarks",
                options.landmarks as f64,
                options.landmarks >= 20,
                "20 or more",
            ),
            (&["effort"], "the cost of activations", options.effort_mm, options.effort_mm > 0.0, "positive"),
        ];
        for (option, what, value, fine, wanted) in checks {
            if !(fine && value.is_finite()) {
                return Err(PerformError::Option { what, option, value, wanted });
            }
        }
        let muscles = &model.face().anatomy.muscles;
        let soft = |m: &risorius_muscle::Muscle| {
            use risorius_muscle::MuscleEnd::{Cranium, Mandible, Soft};
            let ends = (m.origin, m.insertion);
            // Rings around the eyes hold on to bone at their seam only.
            ends.0 == Soft || ends.1 == Soft || ends == (Cranium, Cranium) || ends == (Mandible, Mandible)
        };
        let pulls = |k: &usize| soft(&muscles[*k]) && model.overlap.volumes[*k] > 0.0;
        Ok(Self {
            model,
            marks: SkinMarks::choose(model.face(), &model.skin, options.landmarks),
            muscles: (0..muscles.len()).filter(pulls).collect(),
            options: *options,
        })
    }

    /// The face.
    pub fn model(&self) -> &'m MuscleModel<'f> {
        self.model
    }

    /// Displacements of the landmarks in a pose, meters.
    pub fn displacements(&self, pose: &MusclePose) -> Vec<DVec3> {
        self.marks.moved(&self.model.face().flesh.tets, &self.model.offsets(pose))
    }

    /// The controls that come nearest to displacements of the landmarks, in meters. `jaw`: where the jaw is
    /// in the target, as far as known.
    pub fn solve(&self, target: &[DVec3], jaw: JawPose, progress: &Progress) -> Result<Solved, PerformError> {
        let relaxed = self.model.relaxed();
        let mut now = self.at(&relaxed, None, target, &jaw, progress)?;
        let before_mm = distances_mm(&now.off);
        let mut solved = Solved {
            pose: now.pose.clone(),
            residual_mm: before_mm,
            before_mm,
            steps: 0,
            equilibria: 1,
            newton_steps: now.pose.report.iterations,
            exact: [0; 2],
        };
        if before_mm[0] < STILL_MM {
            return Ok(solved);
        }
        if jaw != JawPose::default() {
            let opened = Controls { jaw, ..relaxed };
            now = self.at(&opened, None, target, &jaw, progress)?;
            solved.equilibria += 1;
            solved.newton_steps += now.pose.report.iterations;
        }
        let mut trust = TRUST;
        while solved.steps < self.options.iterations && trust > SMALL_STEP {
            tick(progress, "activations", solved.steps as f32 / self.options.iterations as f32)?;
            let (responses, is_exact) = self.responses(&now.pose)?;
            solved.exact[0] += usize::from(is_exact);
            solved.exact[1] += 1;
            let rows: Vec<Vec<DVec3>> =
                responses.par_iter().map(|d| self.marks.moved(&self.model.face().flesh.tets, d)).collect();
            let (mut done, mut accepted) = (false, false);
            while !accepted && trust > SMALL_STEP {
                let step = self.step(&now, &rows, &jaw, trust)?;
                let longest = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
                if longest < SMALL_STEP {
                    done = true;
                    break;
                }
                let controls = self.moved(&now.pose.controls, &step);
                let ahead = ahead(&now.pose.nodes, &responses, &step);
                let start = Start { nodes: &ahead, jaw: controls.jaw };
                let trial = self.at(&controls, Some(start), target, &jaw, progress)?;
                solved.equilibria += 1;
                solved.newton_steps += trial.pose.report.iterations;
                if trial.cost < now.cost {
                    let gain = 1.0 - trial.cost / now.cost;
                    trust = if longest >= 0.9 * trust { (2.0 * trust).min(1.0) } else { trust };
                    (now, accepted, done) = (trial, true, gain < SMALL_GAIN);
                    solved.steps += 1;
                } else {
                    trust = 0.35 * longest;
                }
            }
            if done {
                break;
            }
        }
        let quiet: &Progress = &|_, _| progress("activations", 0.0);
        solved.pose = self.model.pose(&now.pose.controls, Some(now.pose.as_start()), quiet)?;
        solved.newton_steps += solved.pose.report.iterations;
        let moved = self.displacements(&solved.pose);
        let off: Vec<DVec3> = moved.iter().zip(target).map(|(p, q)| 1000.0 * (*p - *q)).collect();
        solved.residual_mm = distances_mm(&off);
        Ok(solved)
    }

    /// The weight of activations, mm^2.
    fn rho(&self) -> f64 {
        self.marks.vertices.len() as f64 * self.options.effort_mm * self.options.effort_mm
    }

    fn at(
        &self,
        controls: &Controls,
        start: Option<Start>,
        target: &[DVec3],
        jaw: &JawPose,
        progress: &Progress,
    ) -> Result<Tried, PerformError> {
        // Stages of solves are not stages of this search.
        let quiet: &Progress = &|_, _| progress("activations", 0.0);
        let pose = self.model.pose_in(controls, start, None, TRIAL_ROUNDS, quiet)?;
        let moved = self.displacements(&pose);
        let off: Vec<DVec3> = moved.iter().zip(target).map(|(p, q)| 1000.0 * (*p - *q)).collect();
        let effort: f64 = self.muscles.iter().map(|&m| controls.activations[m].powi(2)).sum();
        let aside = jaw_units(controls.jaw).into_iter().zip(jaw_units(*jaw));
        let aside: f64 = aside.map(|(a, b)| (a - b) * (a - b)).sum();
        let cost =
            off.iter().map(|d| d.length_squared()).sum::<f64>() + self.rho() * (effort + JAW_PULL * aside);
        Ok(Tried { pose, off, cost })
    }

    /// Displacements of all nodes per unit of each unknown, and whether they are exact.
    fn responses(&self, pose: &MusclePose) -> Result<(Vec<Vec<DVec3>>, bool), PerformError> {
        let model = self.model;
        let failed = |source: SolveError| PerformError::Muscles { source };
        let tissue = model.tissue_at(&pose.controls)?;
        let surface = model.surface(&pose.controls);
        let springs =
            model.springs.at(&pose.controls.lead, 1.0, &model.jaw(&pose.controls), None).map_err(failed)?;
        let acting = Acting { energy: &tissue, springs: &springs, surface: &surface };
        let n = pose.nodes.len();
        let mut changes: Vec<Vec<DVec3>> = self
            .muscles
            .par_iter()
            .map(|&muscle| {
                let mut sums = vec![DVec3::ZERO; n];
                tissue.add_pull_of(muscle, &pose.nodes, &mut sums);
                sums
            })
            .collect();
        let motions: Vec<Vec<DVec3>> = (0..3).map(|k| self.jaw_motion(&pose.controls, k)).collect();
        for (k, motion) in motions.iter().enumerate() {
            let mut change = model.statics.forces_of_motion(&acting, &pose.nodes, motion);
            let anchors = self.anchor_forces(pose, k)?;
            change.iter_mut().zip(anchors).for_each(|(sum, force)| *sum += force);
            changes.push(change);
        }
        let sensitivity = model.statics.sensitivity(&acting, &pose.nodes).map_err(failed)?;
        let mut responses = sensitivity.responses(&changes);
        for (response, motion) in responses[self.muscles.len()..].iter_mut().zip(&motions) {
            response.iter_mut().zip(motion).for_each(|(d, bone)| *d += *bone);
        }
        Ok((responses, sensitivity.is_exact))
    }

    /// The motion of held nodes per unit of an unknown of the jaw.
    fn jaw_motion(&self, controls: &Controls, k: usize) -> Vec<DVec3> {
        let [plus, minus] = [DIFFERENCE, -DIFFERENCE].map(|h| self.model.places(&beside(controls, k, h)));
        plus.iter().zip(&minus).map(|(a, b)| (*a - *b) / (2.0 * DIFFERENCE)).collect()
    }

    /// The change of the forces of anchors on the jaw per unit of an unknown of the jaw.
    fn anchor_forces(&self, pose: &MusclePose, k: usize) -> Result<Vec<DVec3>, PerformError> {
        let model = self.model;
        let forces = |h: f64| {
            let jaw = model.jaw(&beside(&pose.controls, k, h));
            let springs = model.springs.at(&pose.controls.lead, 1.0, &jaw, None)?;
            let n = springs.stencils().len();
            let (mut values, mut gradients) = (vec![0.0; n], vec![[DVec3::ZERO; 4]; n]);
            springs.gradients(&pose.nodes, 0..n, &mut values, &mut gradients);
            let mut sums = vec![DVec3::ZERO; pose.nodes.len()];
            for (nodes, forces) in springs.stencils().iter().zip(gradients) {
                for (&node, force) in nodes.iter().zip(forces) {
                    // Springs of single nodes are padded.
                    sums.get_mut(node as usize).into_iter().for_each(|sum| *sum += force);
                }
            }
            Ok::<_, SolveError>(sums)
        };
        let failed = |source: SolveError| PerformError::Muscles { source };
        let (plus, minus) = (forces(DIFFERENCE).map_err(failed)?, forces(-DIFFERENCE).map_err(failed)?);
        Ok(plus.iter().zip(&minus).map(|(a, b)| (*a - *b) / (2.0 * DIFFERENCE)).collect())
    }

    /// The Gauss-Newton step within the bounds and the region of trust.
    fn step(
        &self,
        now: &Tried,
        rows: &[Vec<DVec3>],
        jaw: &JawPose,
        trust: f64,
    ) -> Result<Vec<f64>, PerformError> {
        let n = rows.len();
        let product = |a: &[DVec3], b: &[DVec3]| -> f64 { a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum() };
        let mut h = Matrix::zeros(n, n);
        let mut gradient = vec![0.0; n];
        let (mut lower, mut upper) = (vec![-trust; n], vec![trust; n]);
        let (here, there) = (jaw_units(now.pose.controls.jaw), jaw_units(*jaw));
        for i in 0..n {
            for j in 0..=i {
                // Meters to millimeters, twice.
                let value = 1e6 * product(&rows[i], &rows[j]);
                (h[(i, j)], h[(j, i)]) = (value, value);
            }
            gradient[i] = 1e3 * product(&rows[i], &now.off);
            let (value, aim, weight, bounds) = match self.muscles.get(i) {
                Some(&muscle) => (now.pose.controls.activations[muscle], 0.0, 1.0, [0.0, 1.0]),
                None => {
                    let k = i - self.muscles.len();
                    let bounds = JawPose::LIMITS[k].map(|limit| limit / JAW_UNITS[k]);
                    (here[k], there[k], JAW_PULL, bounds)
                }
            };
            h[(i, i)] += weight * self.rho();
            gradient[i] += weight * self.rho() * (value - aim);
            lower[i] = lower[i].max(bounds[0] - value);
            upper[i] = upper[i].min(bounds[1] - value);
        }
        match solve_bounded(&h, &gradient, &lower, &upper) {
            Ok(solution) => Ok(solution.x),
            Err(error) => Err(PerformError::Activations { what: error.to_string() }),
        }
    }

    fn moved(&self, controls: &Controls, step: &[f64]) -> Controls {
        let mut moved = controls.clone();
        for (&muscle, step) in self.muscles.iter().zip(step) {
            let activation = &mut moved.activations[muscle];
            *activation = (*activation + step).clamp(0.0, 1.0);
        }
        let mut jaw = moved.jaw.to_array();
        for (k, step) in step[self.muscles.len()..].iter().enumerate() {
            let [low, high] = JawPose::LIMITS[k];
            jaw[k] = (jaw[k] + step * JAW_UNITS[k]).clamp(low, high);
        }
        moved.jaw = JawPose::from_array(jaw);
        moved
    }
}

/// Controls whose jaw is off by a part of a unit; the joint is smooth beyond its limits.
fn beside(controls: &Controls, k: usize, units: f64) -> Controls {
    let mut jaw = controls.jaw.to_array();
    jaw[k] += units * JAW_UNITS[k];
    Controls { jaw: JawPose::from_array(jaw), ..controls.clone() }
}

fn jaw_units(jaw: JawPose) -> [f64; 3] {
    let values = jaw.to_array();
    std::array::from_fn(|k| values[k] / JAW_UNITS[k])
}

/// Nodes after a step, to first order.
fn ahead(nodes: &[DVec3], responses: &[Vec<DVec3>], step: &[f64]) -> Vec<DVec3> {
    let mut ahead = nodes.to_vec();
    for (response, &step) in responses.iter().zip(step).filter(|(_, step)| **step != 0.0) {
        ahead.iter_mut().zip(response).for_each(|(p, d)| *p += *d * step);
    }
    ahead
}

/// Root mean square and largest length.
fn distances_mm(off: &[DVec3]) -> [f64; 2] {
    let sum: f64 = off.iter().map(|d| d.length_squared()).sum();
    let largest = off.iter().map(|d| d.length()).fold(0.0, f64::max);
    [(sum / off.len().max(1) as f64).sqrt(), largest]
}
