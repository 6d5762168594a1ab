//! The skin at rest in the frames of a performance, each as if the performance began there.
//!
//! Frames do not depend on each other, so they are computed side by side: every thread takes the next frame
//! and runs all parallel loops of its solve by itself, which wastes less than to share each solve between
//! threads. The result of a frame is the same for any number of threads, because no loop depends on how it is
//! split.
//!
//! A frame that does not converge, or cannot be solved, is tried again by [`Driver::patient`]. If that does
//! not help, its error is passed on, and the other frames go on.

use crate::drivers::enrich::Enrich;
use crate::drivers::muscles::MuscleModel;
use crate::drivers::muscles::play::Muscles;
use crate::drivers::volumetric::{Volumetric, VolumetricFace};
use crate::drivers::{MethodOptions, expect_weights};
use crate::error::PerformError;
use crate::run::{Driver, FrameReport, Performance, settled};
use crate::skin_out::SkinOut;
use rayon::ThreadPool;
use risorius_base::{Advise, Cancelled, Progress};
use risorius_flesh::Face;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A frame at rest.
#[derive(Debug, Clone)]
pub struct Settled {
    /// Its index in the clip.
    pub frame: usize,
    /// Whether it was tried twice.
    pub retried: bool,
    /// Its skin, or why there is none.
    pub skin: Result<SettledSkin, PerformError>,
}

/// The skin of a frame at rest.
#[derive(Debug, Clone)]
pub struct SettledSkin {
    /// The rig's vertices in file units, expressed in the head frame.
    pub vertices: Vec<[f32; 3]>,
    /// What the solve did.
    pub report: FrameReport,
}

/// Receives the frames of a range, in order. `Break` ends the run.
pub type SettledSink<'a> = dyn FnMut(Range<usize>, Vec<Settled>) -> ControlFlow<()> + 'a;

/// Finds the skin at rest in all frames of `ranges`, and passes them to `sink` range by range.
pub fn settle(
    face: &Face,
    performance: &Performance,
    options: &MethodOptions,
    ranges: &[Range<usize>],
    sink: &mut SettledSink,
    progress: &Progress,
) -> Result<(), PerformError> {
    expect_weights(face, performance)?;
    let crew = Crew { performance, dt_secs: options.dt_secs(), progress };
    match options {
        MethodOptions::Enrich(options) => {
            crew.work(&Enrich::prepare(face, performance, options)?, ranges, sink)
        }
        MethodOptions::Volumetric(options) => {
            let prepared = VolumetricFace::prepare(face, &performance.scene, options)?;
            crew.work(&Volumetric::at_rest(&prepared, performance), ranges, sink)
        }
        MethodOptions::Muscles(options) => {
            let (model, skin) = (MuscleModel::prepare(face, &options.model)?, SkinOut::prepare(face));
            crew.work(&Muscles::prepare(&model, &skin, performance, options)?, ranges, sink)
        }
    }
}

/// What all threads share.
struct Crew<'a> {
    performance: &'a Performance<'a>,
    dt_secs: f64,
    progress: &'a Progress<'a>,
}

impl Crew<'_> {
    fn work<D: Driver>(
        &self,
        driver: &D,
        ranges: &[Range<usize>],
        sink: &mut SettledSink,
    ) -> Result<(), PerformError> {
        let n_frames: usize = ranges.iter().map(Range::len).sum();
        let n_threads = rayon::current_num_threads();
        // Without threads of their own, the caller's do the work.
        let pools: Vec<ThreadPool> = match n_threads {
            1 => Vec::new(),
            n => (0..n).map_while(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()).collect(),
        };
        let patient = driver.patient();
        let drivers = [Some(driver), patient.as_ref()];
        let mut done = 0;
        for range in ranges {
            let settled = self.range(drivers, range, &pools, done as f32 / n_frames as f32, n_frames)?;
            done += range.len();
            if sink(range.clone(), settled).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The frames of one range, by the first driver or the second.
    fn range<D: Driver>(
        &self,
        drivers: [Option<&D>; 2],
        range: &Range<usize>,
        pools: &[ThreadPool],
        before: f32,
        n_frames: usize,
    ) -> Result<Vec<Settled>, PerformError> {
        let next = AtomicUsize::new(range.start);
        let found: Mutex<Vec<Settled>> = Mutex::default();
        let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || loop {
            let frame = next.fetch_add(1, Ordering::Relaxed);
            if frame >= range.end {
                return;
            }
            let share = before + (frame - range.start) as f32 / n_frames as f32;
            let one = self.frame(drivers, frame, share);
            if matches!(&one.skin, Err(PerformError::Cancelled(_))) {
                next.store(range.end, Ordering::Relaxed);
            }
            lock().push(one);
        };
        match pools {
            [] => work(),
            pools => std::thread::scope(|scope| {
                pools.iter().for_each(|pool| drop(scope.spawn(|| pool.install(work))));
            }),
        }
        let mut found = std::mem::take(&mut *lock());
        found.sort_by_key(|settled| settled.frame);
        match found.iter().find_map(|settled| settled.skin.as_ref().err().filter(|e| e.is_cancelled())) {
            Some(cancelled) => Err(cancelled.clone()),
            None => Ok(found),
        }
    }

    /// One frame: of several drivers the first that finds its equilibrium, or else the one that comes
    /// nearest.
    fn frame<D: Driver>(&self, drivers: [Option<&D>; 2], frame: usize, share: f32) -> Settled {
        let progress: &Progress = &|_, _| (self.progress)("samples", share);
        let mut tries = 0;
        let mut best: Result<SettledSkin, _> = Err(PerformError::Cancelled(Cancelled));
        for driver in drivers.into_iter().flatten() {
            tries += 1;
            let skin = settled(driver, self.performance, self.dt_secs, frame, progress)
                .map(|(vertices, report)| SettledSkin { vertices, report });
            let is_done = match &skin {
                Ok(skin) => skin.report.unconverged == 0,
                Err(error) => error.is_cancelled(),
            };
            let is_better = match (&skin, &best) {
                (Ok(new), Ok(old)) => is_done || new.report.residual < old.report.residual,
                (Err(_), Ok(_)) => is_done,
                (_, Err(_)) => true,
            };
            if is_better {
                best = skin;
            }
            if is_done {
                break;
            }
        }
        Settled { frame, retried: tries > 1, skin: best }
    }
}
