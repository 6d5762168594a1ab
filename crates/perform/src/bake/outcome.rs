//! What came of simulating a sample.

use crate::error::PerformError;
use crate::run::FrameReport;
use crate::settle::{Settled, SettledSkin};

/// If a solve that did not settle leaves a tet with a volume below this, relative to the neutral, it ran
/// away.
const INSIDE_OUT: f64 = -1.0;

/// How a sample ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// In equilibrium.
    #[default]
    Settled,
    /// In equilibrium at the second attempt.
    Retried,
    /// Near an equilibrium: the last iterations still moved something.
    Unsettled,
    /// Nowhere; there is no skin.
    Failed,
}

impl Ending {
    /// All, in the order of their numbers in files.
    pub const ALL: [Self; 4] = [Self::Settled, Self::Retried, Self::Unsettled, Self::Failed];

    /// Of a frame.
    pub fn of(settled: &Settled) -> Self {
        match &settled.skin {
            Err(_) => Self::Failed,
            Ok(SettledSkin { report, .. }) if is_inside_out(report) => Self::Failed,
            Ok(SettledSkin { report, .. }) if report.unconverged > 0 => Self::Unsettled,
            Ok(_) if settled.retried => Self::Retried,
            Ok(_) => Self::Settled,
        }
    }
}

/// What the simulation of a sample did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SampleOutcome {
    /// How it ended.
    pub ending: Ending,
    /// The deepest contact beyond what is allowed, mm.
    pub depth_mm: f32,
    /// Why it failed; empty otherwise.
    pub problem: String,
}

impl SampleOutcome {
    /// Of a frame.
    pub fn of(settled: &Settled) -> Self {
        let (depth_mm, problem) = match &settled.skin {
            Ok(skin) if is_inside_out(&skin.report) => {
                let problem = "contacts turned flesh inside out, and the solve did not end";
                (0.0, problem.to_string())
            }
            Ok(skin) => (skin.report.depth_mm as f32, String::new()),
            Err(PerformError::Step { source, .. } | PerformError::Rest { source, .. }) => {
                (0.0, source.to_string())
            }
            Err(error) => (0.0, error.to_string()),
        };
        Self { ending: Ending::of(settled), depth_mm, problem }
    }
}

fn is_inside_out(report: &FrameReport) -> bool {
    report.unconverged > 0 && report.smallest_det < INSIDE_OUT
}
