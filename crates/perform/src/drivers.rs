//! The simulation methods, each a [`crate::Driver`].

pub mod enrich;
pub mod muscles;
pub mod volumetric;

use crate::checkpoint::Checkpoint;
use crate::error::PerformError;
use crate::run::{FrameSink, Performance};
use enrich::{EnrichOptions, enrich};
use muscles::play::{MusclesOptions, muscles};
use rayon::prelude::*;
use risorius_base::Progress;
use risorius_flesh::Face;
use risorius_solve::{Configuration, Posed};
use volumetric::{VolumetricOptions, volumetric};

/// A method with its options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MethodOptions {
    /// [`mod@enrich`].
    Enrich(EnrichOptions),
    /// [`mod@volumetric`].
    Volumetric(VolumetricOptions),
    /// [`muscles()`].
    Muscles(MusclesOptions),
}

impl MethodOptions {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), PerformError> {
        match self {
            Self::Enrich(options) => options.check(),
            Self::Volumetric(options) => options.check(),
            Self::Muscles(options) => options.check(),
        }
    }

    /// Longest time step, seconds.
    pub fn dt_secs(&self) -> f64 {
        match self {
            Self::Enrich(options) => options.dt_secs,
            Self::Volumetric(options) => options.dt_secs,
            Self::Muscles(options) => options.dt_secs,
        }
    }

    /// Factor on what the motion of the head does.
    pub(crate) fn gain(&self) -> f64 {
        match self {
            Self::Enrich(options) => options.gain,
            Self::Volumetric(options) => options.gain,
            Self::Muscles(options) => options.gain,
        }
    }
}

/// Simulates with a method.
pub fn perform(
    face: &Face,
    performance: &Performance,
    options: &MethodOptions,
    checkpoint: Option<Checkpoint>,
    sink: &mut FrameSink,
    progress: &Progress,
) -> Result<(), PerformError> {
    match options {
        MethodOptions::Enrich(options) => enrich(face, performance, options, checkpoint, sink, progress),
        MethodOptions::Volumetric(options) => {
            volumetric(face, performance, options, checkpoint, sink, progress)
        }
        MethodOptions::Muscles(options) => muscles(face, performance, options, checkpoint, sink, progress),
    }
}

/// Numbers per parallel task when configurations are interpolated.
const TASK: usize = 8192;

/// The configuration at `share` of the way between two: all numbers are interpolated linearly.
fn mixed([a, b]: [&Configuration; 2], share: f64) -> Configuration {
    let mix = |a: &[f64], b: &[f64]| -> Vec<f64> {
        a.par_iter().zip(b).with_min_len(TASK).map(|(a, b)| a + (b - a) * share).collect()
    };
    let nodes = a.rest.par_iter().zip(&b.rest).with_min_len(TASK);
    Configuration {
        rest: nodes.map(|(a, b)| a.lerp(*b, share)).collect(),
        parameters: a.parameters.iter().zip(&b.parameters).map(|(a, b)| mix(a, b)).collect(),
        surface: Posed::between(&a.surface, &b.surface, share),
    }
}

/// Fails if a clip does not fit a face.
pub(crate) fn expect_weights(face: &Face, performance: &Performance) -> Result<(), PerformError> {
    let (frames, sliders) = (performance.clip.times_secs.len(), face.rig.sliders.len());
    match performance.clip.weights.len() {
        got if got == frames * sliders => Ok(()),
        got => Err(PerformError::Weights { got, frames, sliders }),
    }
}
