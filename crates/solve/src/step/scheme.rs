//! Time stepping: backward Euler, and the second-order backward differentiation formula (BDF2) for steps of
//! any length.
//!
//! With the ratio rho of a step h to the step before it, and `d` for the displacement of the step before:
//!
//! ```text
//! v = (a (x - xp) - b d) / h,    (v)' = (a (v - vp) - b (vp - vpp)) / h,
//! a = (1 + 2 rho) / (1 + rho),   b = rho^2 / (1 + rho)                       [Hairer93, sec. III.5]
//! ```
//!
//! rho = 0 is backward Euler, which is used where there is no step before, and for ratios above
//! [`LONGEST_RATIO`]: the formula is stable for ratios up to 1 + sqrt(2).
//! Inertia then pulls a node with `m (a/h)^2` to
//!
//! ```text
//! xp + b/a d + h/a vp + h b/a^2 (vp - vpp)
//! ```
//!
//! and viscosity resists motion from `xp + b/a d` over `h/a` seconds. Both formulas are L-stable. Backward
//! Euler damps a mode of angular frequency w as if its damping ratio were larger by `h w / 2`; BDF2 by about
//! `(h w)^3 / 4`, so flesh keeps its swing in steps twice as long.
//!
//! In a step with rebalancing, d is the displacement by the dynamic solve alone: that by the change of the
//! rest shape is no motion.

use glam::DVec3;
use rayon::prelude::*;
use risorius_base::Rigid;

/// How motion is integrated over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stepping {
    /// First order, as in [Kozlov17, eq. 10].
    #[default]
    BackwardEuler,
    /// Second order.
    Bdf2,
}

/// The last step, from which second-order stepping and the starts of solves are extrapolated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LastStep {
    /// Its length, seconds; 0 if there is none.
    pub dt_secs: f64,
    /// Displacement of each node by the dynamic solve, in the world; empty if there is no last step.
    pub moved: Vec<DVec3>,
    /// The same in the moving frame. The next dynamic solve starts this much ahead.
    pub moved_in_frame: Vec<DVec3>,
    /// Change of the displacement from rest by the static solve. The next static solve starts this much
    /// ahead.
    pub corrected: Vec<DVec3>,
    /// Velocity of each node before the step, in the world.
    pub velocities: Vec<DVec3>,
}

/// Nodes per parallel task.
pub(crate) const NODES: usize = 1024;

/// After a step shorter than `1/LONGEST_RATIO` of the next, the next is first order.
const LONGEST_RATIO: f64 = 2.1;

/// The formulas of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scheme {
    h: f64,
    a: f64,
    b: f64,
}

impl LastStep {
    /// Positions extrapolated for a step of `dt_secs` by `change`, the change in the last step, except at
    /// held nodes.
    pub(crate) fn ahead(&self, x: &[DVec3], change: &[DVec3], held: &[bool], dt_secs: f64) -> Vec<DVec3> {
        let ratio = if self.dt_secs > 0.0 { dt_secs / self.dt_secs } else { 0.0 };
        let onward = |i: usize| if held[i] || ratio == 0.0 { x[i] } else { x[i] + change[i] * ratio };
        (0..x.len()).map(onward).collect()
    }
}

impl Scheme {
    /// For a step of `dt_secs` after `last`.
    pub(crate) fn of(stepping: Stepping, dt_secs: f64, last: &LastStep) -> Self {
        let ratio = if last.dt_secs > 0.0 { dt_secs / last.dt_secs } else { 0.0 };
        match stepping {
            Stepping::Bdf2 if ratio <= LONGEST_RATIO => Self::with_ratio(dt_secs, ratio),
            _ => Self::with_ratio(dt_secs, 0.0),
        }
    }

    /// For steps of equal length.
    pub(crate) fn usual(stepping: Stepping, dt_secs: f64) -> Self {
        Self::with_ratio(dt_secs, if stepping == Stepping::Bdf2 { 1.0 } else { 0.0 })
    }

    fn with_ratio(h: f64, ratio: f64) -> Self {
        Self { h, a: (1.0 + 2.0 * ratio) / (1.0 + ratio), b: ratio * ratio / (1.0 + ratio) }
    }

    /// The time over which inertia and viscosity act as in backward Euler, seconds.
    pub(crate) fn span_secs(&self) -> f64 {
        self.h / self.a
    }

    /// Velocity from the displacement in this step and in the last.
    pub(crate) fn velocity(&self, moved: DVec3, last: Option<&DVec3>) -> DVec3 {
        match last {
            Some(last) if self.b != 0.0 => (moved * self.a - *last * self.b) / self.h,
            _ => moved / self.span_secs(),
        }
    }

    /// Where nodes at `positions` are after the step without forces, in the frame at its end.
    pub(crate) fn free_flight(
        &self,
        positions: &[DVec3],
        velocities: &[DVec3],
        last: &LastStep,
        frames: [&Rigid; 2],
    ) -> Vec<DVec3> {
        let still = frames.iter().all(|frame| **frame == Rigid::IDENTITY);
        let (old, back) = (frames[0], frames[1].inverse());
        let span = self.span_secs();
        let flown = |i: usize| {
            let velocity = velocities[i];
            if self.b == 0.0 {
                return velocity * span;
            }
            let gained = (velocity - last.velocities[i]) * (self.b / self.a);
            last.moved[i] * (self.b / self.a) + (velocity + gained) * span
        };
        let fly = |i: usize| match still {
            true => positions[i] + flown(i),
            false => back.apply(old.apply(positions[i]) + flown(i)),
        };
        (0..positions.len()).into_par_iter().with_min_len(NODES).map(fly).collect()
    }

    /// The positions from which viscosity resists motion.
    pub(crate) fn viscous_from(&self, positions: &[DVec3], last: &LastStep) -> Vec<DVec3> {
        if self.b == 0.0 {
            return positions.to_vec();
        }
        let share = self.b / self.a;
        let moved = positions.par_iter().zip(&last.moved_in_frame).with_min_len(NODES);
        moved.map(|(x, moved)| *x + *moved * share).collect()
    }
}
