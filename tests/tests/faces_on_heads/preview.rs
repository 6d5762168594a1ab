//! Previews on coarse flesh, against the fine flesh that it is sampled from.

use crate::performing::{constant, motion, path_from, play};
use glam::Vec3;
use risorius_base::progress::no_progress;
use risorius_flesh::coarsen;
use risorius_perform::EnrichOptions;
use risorius_tests::data;
use risorius_tests::flesh::{faces, is_full};

/// A shaken head: the skin of the preview is nearer to the final skin than that is to the animation.
#[test]
fn a_preview_swings_as_the_final_take() {
    let Some(data) = data("a_preview_swings_as_the_final_take") else { return };
    for (name, face) in faces() {
        let coarse = coarsen(face, 2000, &no_progress).unwrap();
        let (times, weights) = constant(face, &[], 30.0, if is_full() { 60 } else { 8 });
        let play = |face, dt_secs| {
            let options = EnrichOptions { dt_secs, ..EnrichOptions::default() };
            play(face, &times, &weights, path_from(&motion(&data, "42_01"), 4.0, 0.02), &options).0
        };
        let (last, preview) = (play(face, 1.0 / 300.0), play(&coarse, 1.0 / 60.0));
        let mean = |a: &[[f32; 3]], b: &[[f32; 3]]| {
            let apart = a.iter().zip(b).map(|(a, b)| f64::from(Vec3::from(*a).distance(Vec3::from(*b))));
            apart.sum::<f64>() * face.rig.space.meters_per_unit * 1000.0 / a.len() as f64
        };
        let moved: f64 = last.iter().map(|frame| mean(frame, &face.rig.neutral)).sum();
        let apart: f64 = last.iter().zip(&preview).map(|(a, b)| mean(a, b)).sum();
        println!(
            "{name}: {} nodes, {:.0} % of the motion apart",
            coarse.flesh.n_nodes(),
            100.0 * apart / moved
        );
        assert!(apart < 0.6 * moved, "{name}: {apart} mm apart, {moved} mm moved");
    }
}
