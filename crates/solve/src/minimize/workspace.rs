//! Memory that solves of one system pass on to each other, so that it is not allocated for each.

use crate::minimize::contact_aware::Space;
use crate::minimize::memory::Memory;
use crate::minimize::system::{Evaluation, Problem};
use glam::DVec3;
use std::sync::{Mutex, PoisonError};

/// What a solve works with. Its content never matters to the next.
#[derive(Default)]
pub(crate) struct Workspace {
    evaluations: Option<[Evaluation; 2]>,
    pub(crate) memory: Option<Memory>,
    pub(crate) space: Space,
    /// A direction, and two preconditioned gradients.
    pub(crate) vectors: [Vec<DVec3>; 3],
}

impl Workspace {
    /// Two evaluations of a problem.
    pub(crate) fn evaluations(&mut self, problem: &Problem) -> [Evaluation; 2] {
        let kept = self.evaluations.take().filter(|[kept, _]| problem.fits(kept));
        kept.unwrap_or_else(|| [(); 2].map(|()| problem.new_evaluation()))
    }

    pub(crate) fn give_back(&mut self, evaluations: [Evaluation; 2]) {
        self.evaluations = Some(evaluations);
    }
}

/// Holds a workspace between solves.
#[derive(Default)]
pub(crate) struct Workspaces(Mutex<Workspace>);

impl Workspaces {
    /// Runs `f` with the workspace, or with a new one if it is in use.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Workspace) -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = std::mem::take(&mut *lock());
        let result = f(&mut workspace);
        *lock() = workspace;
        result
    }
}
