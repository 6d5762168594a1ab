//! Previews: the same clip on coarse flesh in long time steps.

use crate::error::Result;
use risorius_base::{Fingerprint, Progress};
use risorius_flesh::Face;
use risorius_solve::SolveOptions;
use std::time::Instant;

/// Number of flesh nodes.
const NODES: usize = 2000;

/// A face with at most this many nodes is used as it is.
const COARSE_ALREADY: usize = 2600;

/// Time step, seconds.
pub(super) const DT_SECS: f64 = 1.0 / 60.0;

/// When its solves stop: a hundredth of a millimeter from the solution is not seen. Final takes need more,
/// because errors add up over ten times as many steps.
pub(super) const SOLVE: SolveOptions =
    SolveOptions { force_tolerance: 5e-5, step_tolerance: 1e-5, max_iterations: 50, allow_inversion: false };

/// Distance between vertices that are kept out of other surfaces, meters; the flesh has edges of 8 mm.
pub(super) const CONTACT_SPACING: f64 = 2.5e-3;

/// How a preview differs from the final take.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PreviewReport {
    /// Nodes of its flesh.
    pub nodes: usize,
    /// Nodes of the face's own flesh.
    pub face_nodes: usize,
    /// Its longest time step, seconds.
    pub dt_secs: f64,
    /// Time to make its flesh, seconds.
    pub flesh_secs: f64,
}

/// Makes the flesh of `face` coarse. Its fingerprint becomes another one, so that frames of previews and of
/// final takes are never taken for each other.
pub(super) fn coarsen(
    face: &mut Face,
    fingerprint: &mut Fingerprint,
    progress: &Progress,
) -> Result<PreviewReport> {
    let (start, face_nodes) = (Instant::now(), face.flesh.n_nodes());
    if face_nodes > COARSE_ALREADY {
        let quiet: &Progress = &|_, fraction| progress("preview", fraction);
        *face = risorius_flesh::coarsen(face, NODES, quiet)?;
        *fingerprint = fingerprint.bytes(b"preview").bytes(&(NODES as u64).to_le_bytes());
    }
    let nodes = face.flesh.n_nodes();
    Ok(PreviewReport { nodes, face_nodes, dt_secs: DT_SECS, flesh_secs: start.elapsed().as_secs_f64() })
}
