//! Build a face, shake its head, and print how far physics moves the skin.
//!
//!     cargo run --release --example shake [NODES]

#![allow(clippy::print_stdout)] // An example prints.

use risorius::flesh::{BuildOptions, Surroundings, build};
use risorius::prelude::*;
use std::ops::ControlFlow;

/// Runs the example.
pub fn main() -> Result<(), Error> {
    let head = risorius::head::build(&Identity::default());
    // Two shapes are enough here and fast to build.
    let rig = head.rig.with_sliders(&["jawOpen", "mouthSmileLeft"]);
    let nodes = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(700);
    let mut options = BuildOptions::default();
    options.volume.nodes = nodes;
    let around = Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 };
    let face = build(&rig, &head, &options, &around)?;
    // A third of a second of head shaking, with the mouth half open.
    let times_secs: Vec<f64> = (0..20).map(|i| f64::from(i) / 60.0).collect();
    let shake = HeadMotion {
        positions_m: times_secs.iter().map(|t| [0.02 * (20.0 * t).sin(), 0.0, 0.0]).collect(),
        rotations_xyzw: vec![[0.0, 0.0, 0.0, 1.0]; times_secs.len()],
        times_secs: times_secs.clone(),
    };
    let weights = [0.5, 0.0].repeat(times_secs.len());
    let clip = BoundClip { times_secs, n_sliders: 2, weights, head: None };
    let performance =
        Performance { clip: &clip, head: HeadPath::prepare(&shake, 0.01), scene: Scene::default() };
    let mut sink = |frame: &Frame| {
        let FrameReport { mean_mm, max_mm, .. } = frame.report;
        println!(
            "frame {:2}: skin moved by physics, mean {mean_mm:.2} mm, at most {max_mm:.2} mm",
            frame.index
        );
        ControlFlow::Continue(())
    };
    enrich(&face, &performance, &EnrichOptions::default(), None, &mut sink, &no_progress)?;
    Ok(())
}
