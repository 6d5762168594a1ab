//! Muscles on heads of different make [Cong16]: activations found again, the expected muscles of expressions,
//! targets that are reached, performances with the same bits from any number of threads and when resumed.

use crate::performing::bound;
use risorius_base::progress::no_progress;
use risorius_flesh::Face;
use risorius_muscle::{MuscleShape, Snap};
use risorius_perform::drivers::muscles::inverse::Inverse;
use risorius_perform::drivers::muscles::target::Targeting;
use risorius_perform::drivers::muscles::{Controls, JawPose, find_muscle};
use risorius_perform::{
    Checkpoint, Frame, HeadPath, InverseOptions, MuscleModel, MuscleOptions, MusclePose, MusclesOptions,
    Performance, Scene, TargetOptions, muscles,
};
use risorius_rig::Evaluator;
use risorius_tests::flesh::{faces, is_full, slider};
use std::ops::ControlFlow;

fn model(face: &Face) -> MuscleModel<'_> {
    MuscleModel::prepare(face, &MuscleOptions::default()).unwrap()
}

fn active(model: &MuscleModel, on: &[(&str, f64)], open_deg: f64) -> Controls {
    let mut controls = model.relaxed();
    controls.jaw = JawPose { open_deg, ..JawPose::default() };
    for (name, value) in on {
        for muscle in find_muscle(&model.names, name).unwrap() {
            controls.activations[muscle] = *value;
        }
    }
    controls
}

#[test]
fn a_relaxed_face_is_the_artists_neutral() {
    for (name, face) in faces().take(2) {
        let model = model(face);
        let pose = model.pose(&model.relaxed(), None, &no_progress).unwrap();
        assert!(pose.report.converged, "{name}");
        let neutral = Evaluator::prepare(&face.rig).positions(&vec![0.0; face.rig.sliders.len()]);
        assert_eq!(model.skin(&pose), neutral, "{name}");
    }
}

#[test]
fn activations_that_were_simulated_are_found_again() {
    let (name, face) = faces().next().unwrap();
    let model = model(face);
    let inverse = Inverse::prepare(&model, &InverseOptions::default()).unwrap();
    let on = [("zygomaticus_major_L", 0.6), ("frontalis", 0.5), ("depressor_labii_inferioris", 0.4)];
    let truth = active(&model, &on, 6.0);
    let pose = model.pose(&truth, None, &no_progress).unwrap();
    let target = inverse.displacements(&pose);
    let found = inverse.solve(&target, JawPose::default(), &no_progress).unwrap().pose.controls;
    let (mut sum, mut n) = (0.0, 0);
    for (a, b) in truth.activations.iter().zip(&found.activations).filter(|(a, _)| **a > 0.0) {
        sum += (a - b).abs();
        n += 1;
    }
    let mean = sum / f64::from(n);
    println!("{name}: {n} active muscles found again to {mean:.3} on average; jaw {:.2}", found.jaw.open_deg);
    assert!(mean <= 0.05, "{name}: {mean}");
    assert!((found.jaw.open_deg - 6.0).abs() < 1.0, "{name}: {:?}", found.jaw);
}

fn solved(model: &MuscleModel, name: &str) -> Option<MuscleShape> {
    let face = model.face();
    let slider = slider(&face.rig, name)?;
    let inverse = Inverse::prepare(model, &InverseOptions::default()).unwrap();
    let shape = face.rig.sliders[slider].shape;
    Some(inverse.solve_shape(&Evaluator::prepare(&face.rig), shape, &no_progress).unwrap().0)
}

#[test]
fn the_muscles_that_anatomy_expects_lead() {
    let expected = [
        ("mouthSmileLeft", "zygomaticus_major_L"),
        ("browInnerUp", "frontalis_L"),
        ("mouthPucker", "orbicularis_oris"),
    ];
    for (name, face) in faces().take(if is_full() { 4 } else { 1 }) {
        let model = model(face);
        for (expression, muscle) in expected {
            let Some(found) = solved(&model, expression) else { continue };
            let wanted = find_muscle(&model.names, muscle).unwrap()[0];
            let own = found.activations[wanted];
            let stronger: Vec<&str> = (0..model.names.len())
                .filter(|&m| found.activations[m] > own)
                .map(|m| model.names[m].as_str())
                .collect();
            println!("{name}: {expression}: {muscle} {own:.2}, stronger: {stronger:?}");
            assert!(own > 0.15 && stronger.len() <= 3, "{name}: {expression}: {own} {stronger:?}");
        }
    }
}

#[test]
fn tracks_reach_a_shape_that_activations_do_not() {
    let (name, face) = faces().next().unwrap();
    let model = model(face);
    let evaluator = Evaluator::prepare(&face.rig);
    let raw = solved(&model, "mouthSmileLeft").unwrap();
    let (artist, motion) = model.artist_shape(&evaluator, raw.shape as usize);
    let show = |pose: &MusclePose| model.skin_among(pose, &artist, &motion);
    let targeting = Targeting::prepare(&model);
    let found = targeting.approach(&raw, &artist, &show, &TargetOptions::default(), &no_progress).unwrap();
    let snaps: Vec<f64> = found.snaps_mm.iter().map(|s| s[0]).collect();
    println!("{name}: snaps {snaps:?} mm");
    assert!(snaps.windows(2).all(|w| w[1] < w[0]), "it falls in every iteration");
    assert!(snaps[snaps.len() - 1] < 0.5 * snaps[0], "{snaps:?}");
    assert!(found.pose.report.smallest_det > 0.0);
    let mut skin = show(&found.pose);
    Snap::between(&skin, &artist).add_to(&mut skin, 1.0);
    let unit = face.rig.space.meters_per_unit;
    let off = skin.iter().zip(&artist).flat_map(|(a, b)| (0..3).map(move |k| f64::from((a[k] - b[k]).abs())));
    assert!(unit * off.fold(0.0, f64::max) < 1e-6, "the final snap makes it the artist's");
}

type Played = (Vec<Vec<[f32; 3]>>, Vec<Checkpoint>);

fn play(face: &Face, times: &[f64], weights: &[f32], from: Option<Checkpoint>) -> Played {
    let clip = bound(face, times, weights);
    let performance = Performance { clip: &clip, head: HeadPath::default(), scene: Scene::default() };
    let mut played: Played = Default::default();
    let mut sink = |frame: &Frame| {
        played.0.push(frame.vertices.to_vec());
        played.1.push(Checkpoint { frame: frame.index, state: frame.body.state() });
        ControlFlow::Continue(())
    };
    let options = MusclesOptions { dt_secs: 1.0, ..MusclesOptions::default() };
    muscles(face, &performance, &options, from, &mut sink, &no_progress).unwrap();
    played
}

#[test]
fn a_performance_does_not_depend_on_threads_and_resumes() {
    let (name, face) = faces().next().unwrap();
    let mut face = face.clone();
    let shapes: Vec<MuscleShape> =
        ["mouthSmileLeft", "browInnerUp"].into_iter().filter_map(|s| solved(&model(&face), s)).collect();
    let sliders: Vec<usize> = shapes
        .iter()
        .filter_map(|s| face.rig.sliders.iter().position(|k| k.shape == s.shape as usize))
        .collect();
    face.muscle_shapes = shapes;
    face.muscle_shapes.sort_by_key(|s| s.shape);
    let n = face.rig.sliders.len();
    let times: Vec<f64> = (0..4).map(|i| f64::from(i) / 30.0).collect();
    let mut weights = vec![0.0; 4 * n];
    for frame in 0..4 {
        sliders.iter().for_each(|s| weights[frame * n + s] = 0.1 * frame as f32);
    }
    let (frames, states) = play(&face, &times, &weights, None);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| play(&face, &times, &weights, None)).0, frames, "{name}: one thread");
    let resumed = play(&face, &times, &weights, Some(states[1].clone()));
    assert_eq!(resumed.0, frames[2..], "{name}: resumed after frame 1");
    let moved = frames[3].iter().zip(&frames[0]).any(|(a, b)| a != b);
    assert!(moved, "{name}: sliders move the skin");
}
