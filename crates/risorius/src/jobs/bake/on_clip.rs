//! How far the artist's rig and the baked one are from the simulation over a clip, at weights that were not
//! sampled [Ichim16, fig. 12].

use super::{Setting, rows};
use crate::error::{Error, Result};
use crate::source::{BoundContent, Mapping};
use rayon::prelude::*;
use risorius_base::Progress;
use risorius_perform::{BakePlan, Settled, settle};
use risorius_rig::Evaluator;
use serde::Serialize;
use std::ops::{ControlFlow, Range};

/// Frames that are simulated together.
const TOGETHER: usize = 64;

/// Distances over a clip, over all vertices that follow flesh.
#[derive(Debug, Clone, Serialize)]
pub struct ClipErrors {
    /// Number of these vertices.
    pub vertices: usize,
    /// Time of each simulated frame, seconds.
    pub times_secs: Vec<f64>,
    /// Of the artist's rig.
    pub linear: Vec<FrameErrors>,
    /// Of the baked rig.
    pub baked: Vec<FrameErrors>,
    /// Of the artist's rig, over all frames.
    pub linear_all: FrameErrors,
    /// Of the baked rig, over all frames: the mean over frames of the mean and of the 95 %, and the largest.
    pub baked_all: FrameErrors,
    /// Which columns of the clip drive which sliders.
    pub mapping: Mapping,
    /// Sliders that the clip moves and that are not baked.
    pub not_baked: Vec<String>,
    /// Frames that could not be simulated; they are not in the lists.
    pub failed_frames: Vec<usize>,
}

/// Distances from the simulation in a frame, mm.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct FrameErrors {
    /// Mean.
    pub mean_mm: f64,
    /// 95 of 100 vertices are nearer.
    pub p95_mm: f64,
    /// Largest.
    pub max_mm: f64,
}

/// A frame with its simulated skin.
pub(super) struct WorstFrame {
    pub frame: usize,
    pub weights: Vec<f32>,
    pub simulated: Vec<[f32; 3]>,
}

impl Setting {
    /// Simulates a clip and compares both rigs, the artist's and the baked one; also the frame where the
    /// artist's is farthest.
    pub(super) fn compare(
        &self,
        plan: &BakePlan,
        content: &BoundContent,
        rigs: &[Evaluator; 2],
        progress: &Progress,
    ) -> Result<(ClipErrors, Option<WorstFrame>)> {
        let face = &self.face;
        let posed = rows(face, content.clip.weights.clone());
        let n_frames = posed.n_frames();
        let embedded = &face.flesh.embedding.vertices;
        let mm = face.rig.space.millimeters(1.0);
        let mut errors: [Vec<FrameErrors>; 2] = Default::default();
        let mut worst: Option<(f64, WorstFrame)> = None;
        let (mut times_secs, mut failed_frames) = (Vec::new(), Vec::new());
        let mut sink = |_: Range<usize>, settled: Vec<Settled>| {
            let measure = |s: &Settled| {
                let skin = s.skin.as_ref().ok()?;
                let weights = posed.frame(s.frame);
                Some([0, 1].map(|r| distances(&skin.vertices, &rigs[r].positions(weights), embedded, mm)))
            };
            let measured: Vec<Option<[FrameErrors; 2]>> = settled.par_iter().map(measure).collect();
            for (Settled { frame, skin, .. }, both) in settled.into_iter().zip(measured) {
                let (Ok(skin), Some(both)) = (skin, both) else {
                    failed_frames.push(frame);
                    continue;
                };
                times_secs.push(content.clip.times_secs[frame]);
                (0..2).for_each(|r| errors[r].push(both[r]));
                if worst.as_ref().is_none_or(|(most, _)| both[0].p95_mm > *most) {
                    let weights = posed.frame(frame).to_vec();
                    worst = Some((both[0].p95_mm, WorstFrame { frame, weights, simulated: skin.vertices }));
                }
            }
            ControlFlow::Continue(())
        };
        let ranges: Vec<Range<usize>> =
            (0..n_frames).step_by(TOGETHER).map(|f| f..(f + TOGETHER).min(n_frames)).collect();
        let performance = self.performance(&posed);
        let stage = |_: &str, fraction: f32| progress("clip", fraction);
        settle(face, &performance, &self.options, &ranges, &mut sink, &stage)
            .map_err(|e| Error::from(e).at("the clip").with_options(&["clip"]))?;
        let not_baked = (0..posed.n_sliders)
            .filter(|&s| plan.sliders.binary_search(&(s as u32)).is_err())
            .filter(|&s| posed.weights.iter().skip(s).step_by(posed.n_sliders).any(|w| *w != 0.0))
            .map(|s| face.rig.sliders[s].name.clone())
            .collect();
        let [linear, baked] = errors;
        let report = ClipErrors {
            vertices: embedded.len(),
            times_secs,
            failed_frames,
            linear_all: over_all(&linear),
            baked_all: over_all(&baked),
            linear,
            baked,
            mapping: content.mapping.clone(),
            not_baked,
        };
        Ok((report, worst.map(|(_, frame)| frame)))
    }
}

/// Distances between two poses at some vertices, in mm.
fn distances(a: &[[f32; 3]], b: &[[f32; 3]], at: &[u32], mm: f64) -> FrameErrors {
    let one = |&v: &u32| {
        let (p, q) = (a[v as usize], b[v as usize]);
        mm * (0..3).map(|k| f64::from(p[k] - q[k]).powi(2)).sum::<f64>().sqrt()
    };
    let mut all: Vec<f64> = at.iter().map(one).collect();
    let n = all.len().max(1);
    let mean_mm = all.iter().sum::<f64>() / n as f64;
    all.sort_by(f64::total_cmp);
    let p95_mm = all.get((0.95 * n as f64) as usize).copied().unwrap_or(0.0);
    FrameErrors { mean_mm, p95_mm, max_mm: all.last().copied().unwrap_or(0.0) }
}

fn over_all(frames: &[FrameErrors]) -> FrameErrors {
    let n = frames.len().max(1) as f64;
    FrameErrors {
        mean_mm: frames.iter().map(|f| f.mean_mm).sum::<f64>() / n,
        p95_mm: frames.iter().map(|f| f.p95_mm).sum::<f64>() / n,
        max_mm: frames.iter().map(|f| f.max_mm).fold(0.0, f64::max),
    }
}
