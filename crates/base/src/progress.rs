//! Progress callbacks that can cancel: long work reports a stage and a fraction, and stops if the callback
//! says so.
//!
//! Every part of the library reports the fraction of its own stage. A job has a [`Plan`] with its stages in
//! order and their usual share of the time, which turns such reports into the fraction of the whole job.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// `Continue`, or `Break` to cancel.
pub type Flow = ControlFlow<()>;

/// Called at intervals with the name of the stage and the completed fraction of it, 0 to 1.
pub type Progress<'a> = dyn Fn(&str, f32) -> Flow + Sync + 'a;

/// The caller's progress callback asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Reports to `progress` and turns its answer into a `Result` for `?`.
pub fn tick(progress: &Progress, stage: &str, fraction: f32) -> Result<(), Cancelled> {
    match progress(stage, fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Cancelled),
    }
}

/// The progress callback that reports nothing and never cancels.
pub fn no_progress(_stage: &str, _fraction: f32) -> Flow {
    ControlFlow::Continue(())
}

/// A stage of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// What its reports are called, or how their names start.
    pub name: &'static str,
    /// The label in the progress display.
    pub shown: &'static str,
    /// Its usual share of the job's time, in any unit.
    pub share: f32,
}

/// A stage whose reports start with `name`.
pub const fn stage(name: &'static str, shown: &'static str, share: f32) -> Stage {
    Stage { name, shown, share }
}

/// The stages of a job in order. Turns reports of stages into reports of the whole job, which never go back.
pub struct Plan<'a> {
    progress: &'a Progress<'a>,
    stages: &'a [Stage],
    /// The stage that was reported last, and the fraction of the whole.
    state: Mutex<(usize, f32)>,
}

impl<'a> Plan<'a> {
    /// A plan that reports to `progress`.
    pub fn new(progress: &'a Progress<'a>, stages: &'a [Stage]) -> Self {
        Self { progress, stages, state: Mutex::new((0, 0.0)) }
    }

    /// Takes a report of a stage. A stage that is not in the plan, or was before the present one, is part of
    /// the present one.
    pub fn report(&self, name: &str, fraction: f32) -> Flow {
        // A thread that panicked left a valid state.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.stages[state.0..].iter().position(|s| name.starts_with(s.name));
        if let Some(ahead) = found {
            state.0 += ahead;
            let sum = |stages: &[Stage]| stages.iter().map(|s| s.share).sum::<f32>();
            let here = self.stages[state.0].share * fraction.clamp(0.0, 1.0);
            let whole = (sum(&self.stages[..state.0]) + here) / sum(self.stages).max(f32::MIN_POSITIVE);
            state.1 = state.1.max(whole);
        }
        let (shown, whole) = (self.stages.get(state.0).map_or(name, |s| s.shown), state.1);
        drop(state);
        (self.progress)(shown, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGES: [Stage; 4] = [
        stage("reading", "reading", 1.0),
        stage("shapes", "shapes", 5.0),
        stage("pairs", "pairs of shapes", 3.0),
        stage("drawing", "drawing", 1.0),
    ];

    #[test]
    fn a_plan_reports_the_fraction_of_the_whole_and_never_goes_back() {
        let seen = Mutex::new(Vec::new());
        let record = |name: &str, fraction: f32| {
            seen.lock().unwrap().push((name.to_string(), (100.0 * fraction).round()));
            ControlFlow::Continue(())
        };
        let plan = Plan::new(&record, &STAGES);
        for (name, fraction) in [
            ("reading meshes", 0.5),
            ("shapes", 0.0),
            ("solve", 0.9),
            ("shapes", 0.4),
            ("reading meshes", 1.0),
            ("shapes", 0.2),
            ("drawing", 0.5),
            ("drawing", 7.0),
        ] {
            assert!(plan.report(name, fraction).is_continue());
        }
        let expected = [
            ("reading", 5.0),
            ("shapes", 10.0),
            ("shapes", 10.0),
            ("shapes", 30.0),
            ("shapes", 30.0),
            ("shapes", 30.0),
            ("drawing", 95.0),
            ("drawing", 100.0),
        ];
        assert_eq!(*seen.lock().unwrap(), expected.map(|(name, percent)| (name.to_string(), percent)));
        let stop = |_: &str, _: f32| ControlFlow::Break(());
        assert!(Plan::new(&stop, &STAGES).report("solve", 0.0).is_break(), "cancels in any stage");
        assert!(Plan::new(&no_progress, &[]).report("solve", 0.0).is_continue());
    }
}
