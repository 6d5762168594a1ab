//! Attenuation of rigs with many shapes that nearly depend on each other: it always ends, sliders stay near
//! where they were, and none goes far beyond its range.

use risorius_attenuate::gram::RigGram;
use risorius_attenuate::pins::PinSet;
use risorius_attenuate::pose::{AttenuateError, AttenuateOptions, Attenuated, PoseAttenuation};
use risorius_attenuate::selection::Selection;
use risorius_base::progress::no_progress;
use risorius_rig::synthetic::{Random, random_rig};
use risorius_rig::{Deltas, Rig};

fn attenuate(
    rig: &Rig,
    set: &PinSet,
    w1: &[f32],
    options: &AttenuateOptions,
) -> Result<Attenuated, AttenuateError> {
    let gram = RigGram::prepare(rig, &no_progress)?;
    let selection = Selection::prepare(&gram, set.clone(), &[]);
    PoseAttenuation::prepare(rig, &selection, options)?.solve(w1, &vec![0.0; w1.len()])
}

/// The paper's own problem, in which sliders may go anywhere.
fn with_alpha(alpha: f64) -> AttenuateOptions {
    AttenuateOptions { alpha: Some(alpha), overshoot: f64::INFINITY, ..AttenuateOptions::default() }
}

/// A rig as studios have them: 72 controls, and 195 correctives that are nearly combinations of them.
fn rich_rig() -> Rig {
    let mut rig = random_rig(900, 72 + 195, 0.08, 31);
    let mut random = Random(17);
    for s in 72..rig.shapes.len() {
        let [a, b] = [(7 * s) % 72, (11 * s + 5) % 72];
        rig.shapes[s].deltas = sum_of(&rig.shapes[a].deltas, &rig.shapes[b].deltas, 1e-6, &mut random);
    }
    rig
}

/// The sum of two fields, with noise of a size relative to them.
fn sum_of(a: &Deltas, b: &Deltas, noise: f32, random: &mut Random) -> Deltas {
    let mut all = std::collections::BTreeMap::<u32, [f32; 3]>::new();
    for deltas in [a, b] {
        for (&v, o) in deltas.vertices.iter().zip(&deltas.offsets) {
            let sum = all.entry(v).or_default();
            (0..3).for_each(|k| sum[k] += o[k]);
        }
    }
    all.values_mut().flatten().for_each(|x| *x += 0.05 * noise * random.signed());
    Deltas { vertices: all.keys().copied().collect(), offsets: all.into_values().collect() }
}

#[test]
fn nearly_dependent_shapes_always_converge_and_stay_near() {
    let rig = rich_rig();
    let n = rig.sliders.len();
    for seed in 0..6u64 {
        let mut w1 = vec![0.0; n];
        (0..8).for_each(|i| w1[(13 * i + 7 * seed as usize) % 72] = 0.8);
        let middle = |s: usize| rig.shapes[s].deltas.vertices[rig.shapes[s].deltas.vertices.len() / 2];
        let pins: Vec<u32> =
            (0..4 + 12 * seed as usize).map(|i| middle((13 * i + 7 * seed as usize) % 72)).collect();
        let set = PinSet::of_vertices(&pins);
        for bounds in [false, true] {
            for alpha in [None, Some(1e6), Some(f64::INFINITY)] {
                let options = AttenuateOptions { alpha, bounds, ..AttenuateOptions::default() };
                let result = attenuate(&rig, &set, &w1, &options)
                    .unwrap_or_else(|e| panic!("seed {seed}, bounds {bounds}, alpha {alpha:?}: {e}"));
                let (low, high) = if bounds { (0.0, 1.0) } else { (-0.5, 1.5) };
                assert!(result.weights.iter().all(|w| (low..=high).contains(w)), "{:?}", result.weights);
                let held = [result.pinned_before.rms, result.pinned_after.rms];
                assert!(held[1] < held[0], "seed {seed}, bounds {bounds}, alpha {alpha:?}: {held:?}");
                assert!(
                    !result.warnings.iter().any(|w| w.contains("before it converged")),
                    "{:?}",
                    result.warnings
                );
            }
        }
    }
}

#[test]
fn a_third_that_repeats_two_others_moves_with_them_and_no_farther() {
    let mut rig = random_rig(900, 12, 0.3, 8);
    let mut random = Random(3);
    rig.shapes[5].deltas = sum_of(&rig.shapes[2].deltas, &rig.shapes[3].deltas, 1e-6, &mut random);
    let vertex = rig.shapes[2].deltas.vertices[rig.shapes[2].deltas.vertices.len() / 2];
    let mut w1 = vec![0.0; 12];
    w1[2] = 1.0;
    let result = attenuate(&rig, &PinSet::of_vertices(&[vertex, vertex + 3]), &w1, &with_alpha(1e6)).unwrap();
    let most = result.weights.iter().zip(&w1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(most < 2.0, "no slider runs away even without bounds: {:?}", result.weights);
}

#[test]
fn sliders_stop_at_the_overshoot_and_requested_values_are_kept() {
    let rig = random_rig(900, 30, 0.25, 8);
    let mut w1 = {
        let mut random = Random(3);
        (0..30).map(|_| random.unit()).collect::<Vec<f32>>()
    };
    w1[3] = 4.0;
    let set = PinSet::of_vertices(&[430, 440, 450, 460]);
    let far = attenuate(&rig, &set, &w1, &with_alpha(1e5)).unwrap();
    let beyond =
        |w: &[f32], most: f32| w.iter().enumerate().any(|(i, w)| i != 3 && !(-most..=1.0 + most).contains(w));
    assert!(beyond(&far.weights, 0.5), "the case must need the limit: {:?}", far.weights);
    for overshoot in [0.5, 0.1, 0.0] {
        let options = AttenuateOptions { overshoot, ..with_alpha(1e5) };
        let near = attenuate(&rig, &set, &w1, &options).unwrap();
        assert!(!beyond(&near.weights, overshoot as f32 + 1e-6), "{:?}", near.weights);
        assert!(near.weights[3] <= 4.0 && near.kkt_residual.unwrap() < 1e-8);
        assert!(near.warnings.iter().any(|w| w.contains("`overshoot`")), "{:?}", near.warnings);
    }
    let free = AttenuateOptions { overshoot: 0.5, ..with_alpha(0.0) };
    assert_eq!(attenuate(&rig, &set, &w1, &free).unwrap().weights, w1, "nothing to hold: nothing changes");
    let bad = AttenuateOptions { overshoot: -1.0, ..AttenuateOptions::default() };
    assert!(matches!(attenuate(&rig, &set, &w1, &bad), Err(AttenuateError::BadOvershoot(_))));
}
