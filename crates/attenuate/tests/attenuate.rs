//! The guarantees of attenuation, on synthetic rigs: the paper's limits, exactness against a dense reference,
//! limits of sliders and vertices, nonlinear rigs, clips.

use risorius_attenuate::clip::{ClipOptions, attenuate_clip};
use risorius_attenuate::gram::RigGram;
use risorius_attenuate::pins::{CoordinateLimit, PinSet, PinSpec};
use risorius_attenuate::pose::{AttenuateError, AttenuateOptions, Attenuated, PoseAttenuation};
use risorius_attenuate::selection::Selection;
use risorius_base::progress::no_progress;
use risorius_linalg::{Cholesky, Matrix};
use risorius_rig::BoundClip;
use risorius_rig::evaluate::positions_by_definition;
use risorius_rig::synthetic::{Random, random_rig};
use risorius_rig::{CombinationRule, Deltas, Driver, Rig, Role, Shape, Slider};

fn attenuate(
    rig: &Rig,
    set: &PinSet,
    w1: &[f32],
    options: &AttenuateOptions,
) -> Result<Attenuated, AttenuateError> {
    attenuate_locked(rig, set, &[], w1, options)
}

fn attenuate_locked(
    rig: &Rig,
    set: &PinSet,
    locked: &[usize],
    w1: &[f32],
    options: &AttenuateOptions,
) -> Result<Attenuated, AttenuateError> {
    let gram = RigGram::prepare(rig, &no_progress)?;
    let selection = Selection::prepare(&gram, set.clone(), locked);
    let pose = PoseAttenuation::prepare(rig, &selection, options)?;
    let zero = vec![0.0; w1.len()];
    let result = pose.solve(w1, &zero)?;
    assert_eq!(pose.weights(w1, &zero)?, result.weights, "weights differ from those of the report");
    Ok(result)
}

/// The paper's own problem, in which sliders may go anywhere.
fn with_alpha(alpha: f64) -> AttenuateOptions {
    AttenuateOptions { alpha: Some(alpha), overshoot: f64::INFINITY, ..AttenuateOptions::default() }
}

fn some_weights(n: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..n).map(|_| random.unit()).collect()
}

/// Equation 3 with dense matrices and the ridge on the change, as METHODS.md writes it.
fn dense_reference(rig: &Rig, set: &PinSet, w1: &[f32], alpha: f64, ridge: f64) -> Vec<f64> {
    let n = 3 * rig.n_vertices();
    let mut pinned = vec![false; n];
    set.pins.iter().for_each(|p| pinned[3 * p.vertex as usize + p.axis] = true);
    let dense = |keep: bool| {
        let mut d = Matrix::zeros(n, rig.shapes.len());
        for (s, shape) in rig.shapes.iter().enumerate() {
            for (&v, o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                for k in 0..3 {
                    if pinned[3 * v as usize + k] == keep {
                        d[(3 * v as usize + k, s)] = o[k].into();
                    }
                }
            }
        }
        d.gram()
    };
    let (q, p) = (dense(true), dense(false));
    let mut a = q.clone();
    a.scale(alpha);
    a.add(&p);
    (0..rig.shapes.len()).for_each(|i| a[(i, i)] += ridge);
    let w1: Vec<f64> = w1.iter().map(|&w| w.into()).collect();
    let mut e: Vec<f64> = q.times(&w1).iter().map(|x| -alpha * x).collect();
    Cholesky::factor(a).unwrap().solve_in_place(&mut e);
    w1.iter().zip(&e).map(|(w, e)| w + e).collect()
}

fn close(a: &[f32], b: &[f64], tolerance: f64) {
    let worst = a.iter().zip(b).map(|(x, y)| (f64::from(*x) - y).abs()).fold(0.0, f64::max);
    assert!(worst < tolerance, "differs by {worst:e}");
}

#[test]
fn both_solvers_equal_the_dense_reference() {
    let rig = random_rig(900, 40, 0.15, 5);
    let w1 = some_weights(40, 1);
    let ridge = RigGram::prepare(&rig, &no_progress).unwrap().ridge();
    // 9 pinned coordinates use the low-rank solver, 300 the direct one.
    for vertices in [vec![400, 410, 450], (300..400).collect::<Vec<u32>>()] {
        let set = PinSet::of_vertices(&vertices);
        for alpha in [0.3, 1.0, 50.0, 1e5] {
            let ours = attenuate(&rig, &set, &w1, &with_alpha(alpha)).unwrap();
            close(&ours.weights, &dense_reference(&rig, &set, &w1, alpha, ridge), 1e-6);
        }
    }
}

#[test]
fn alpha_zero_changes_nothing_and_infinity_holds_the_pins() {
    let rig = random_rig(900, 40, 0.2, 6);
    let w1 = some_weights(40, 2);
    for vertices in [vec![400, 450], (380..420).collect::<Vec<u32>>()] {
        let set = PinSet::of_vertices(&vertices);
        let free = attenuate(&rig, &set, &w1, &with_alpha(0.0)).unwrap();
        assert_eq!(free.weights, w1);
        let weak = attenuate(&rig, &set, &w1, &with_alpha(1e-9)).unwrap();
        close(&weak.weights, &w1.iter().map(|&w| w.into()).collect::<Vec<f64>>(), 1e-5);
        let mut last = f64::INFINITY;
        for alpha in [1.0, 1e2, 1e4, 1e6] {
            let held = attenuate(&rig, &set, &w1, &with_alpha(alpha)).unwrap().pinned_after.rms;
            assert!(held < last);
            last = held;
        }
    }
    // Six coordinates and forty sliders: they can be held entirely.
    let hard = attenuate(&rig, &PinSet::of_vertices(&[400, 450]), &w1, &with_alpha(f64::INFINITY)).unwrap();
    assert!(hard.pinned_after.max < 1e-6 * hard.pinned_before.max, "{:?}", hard.pinned_after);
}

#[test]
fn default_alpha_counts_vertices() {
    let rig = random_rig(900, 12, 0.3, 6);
    let set = PinSet::of_vertices(&[5, 6]);
    let result = attenuate(&rig, &set, &some_weights(12, 2), &AttenuateOptions::default()).unwrap();
    assert_eq!(result.alpha, (900.0 - 2.0) / 2.0);
    assert!(result.pinned_after.rms < result.pinned_before.rms);
    // One pinned axis makes a vertex a pinned one: a third of what counting coordinates gives.
    let mut heights = set.clone();
    heights.pins.retain(|p| p.axis == 1);
    let result = attenuate(&rig, &heights, &some_weights(12, 2), &AttenuateOptions::default()).unwrap();
    assert_eq!(result.alpha, (900.0 - 2.0) / 2.0);
    // Where most vertices are pinned, pins do not count less than the rest.
    let most = PinSet::of_vertices(&(0..899).collect::<Vec<_>>());
    let result = attenuate(&rig, &most, &some_weights(12, 2), &AttenuateOptions::default()).unwrap();
    assert_eq!(result.alpha, 1.0);
}

#[test]
fn dependent_empty_and_duplicate_shapes_stay_calm() {
    let mut rig = random_rig(900, 12, 0.3, 8);
    rig.shapes[3].deltas = rig.shapes[2].deltas.clone();
    rig.shapes[7].deltas = Deltas::default();
    let mut double = rig.shapes[5].deltas.clone();
    double.offsets.iter_mut().flatten().for_each(|x| *x *= 2.0);
    rig.shapes[9].deltas = double;
    let vertex = rig.shapes[2].deltas.vertices[rig.shapes[2].deltas.vertices.len() / 2];
    let set = PinSet::of_vertices(&[vertex]);
    let w1 = some_weights(12, 4);
    let result = attenuate(&rig, &set, &w1, &AttenuateOptions::default()).unwrap();
    assert!(result.weights.iter().all(|w| w.is_finite() && w.abs() < 10.0), "{:?}", result.weights);
    assert_eq!(result.weights[7], w1[7], "a slider without motion must not move");
    let (first, second) = (result.weights[2] - w1[2], result.weights[3] - w1[3]);
    assert!((first - second).abs() < 1e-4, "equal shapes share the change: {first} {second}");
    let text = result.warnings.join("\n");
    assert!(text.contains("shape0007") && text.contains("shape0003") && text.contains("shape0009"), "{text}");
}

#[test]
fn a_shape_on_pinned_points_only_is_held_back() {
    let mut rig = random_rig(900, 6, 0.3, 8);
    rig.shapes[4].deltas = Deltas { vertices: vec![450], offsets: vec![[0.1, 0.2, 0.3]] };
    let result =
        attenuate(&rig, &PinSet::of_vertices(&[450]), &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0], &with_alpha(1e6))
            .unwrap();
    assert!(result.weights[4].abs() < 0.05, "{:?}", result.weights);
    assert!(result.warnings.iter().any(|w| w.contains("shape0004")));
}

#[test]
fn base_pose_is_where_pins_hold() {
    let rig = random_rig(900, 12, 0.3, 8);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let set = PinSet::of_vertices(&[450, 500]);
    let selection = Selection::prepare(&gram, set.clone(), &[]);
    let pose = PoseAttenuation::prepare(&rig, &selection, &with_alpha(1e9)).unwrap();
    let w0 = some_weights(12, 9);
    // Nothing moved since the pins were set: nothing changes, to the bit.
    assert_eq!(pose.solve(&w0, &w0).unwrap().weights, w0);
    let mut w1 = w0.clone();
    w1[3] += 0.5;
    let w2 = pose.solve(&w1, &w0).unwrap().weights;
    let (p0, p2) = (positions_by_definition(&rig, &w0), positions_by_definition(&rig, &w2));
    for v in [450, 500] {
        assert!((0..3).all(|k| (p0[v][k] - p2[v][k]).abs() < 1e-5));
    }
}

#[test]
fn bounds_meet_kkt_and_locked_sliders_stay() {
    let rig = random_rig(900, 30, 0.25, 8);
    let w1 = some_weights(30, 3);
    let set = PinSet::of_vertices(&[430, 440, 450, 460]);
    let free = attenuate(&rig, &set, &w1, &with_alpha(1e5)).unwrap();
    assert!(free.weights.iter().any(|w| !(0.0..=1.0).contains(w)), "the case must need bounds");
    let options = AttenuateOptions { bounds: true, ..with_alpha(1e5) };
    let bounded = attenuate_locked(&rig, &set, &[4, 2], &w1, &options).unwrap();
    assert!(bounded.weights.iter().all(|w| (0.0..=1.0).contains(w)));
    assert!(bounded.kkt_residual.unwrap() < 1e-8);
    assert!(!bounded.at_bound.is_empty());
    assert_eq!((bounded.weights[4], bounded.weights[2]), (w1[4], w1[2]));
    assert!(bounded.pinned_after.rms < bounded.pinned_before.rms);
    // No feasible neighbor is better: the objective rises along every coordinate.
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let selection = Selection::prepare(&gram, set.clone(), &[2, 4]);
    let objective = |w: &[f64]| {
        let e: Vec<f64> = w.iter().zip(&w1).map(|(a, b)| a - f64::from(*b)).collect();
        let pinned: f64 = selection.held_at(w).iter().map(|x| x * x).sum();
        let changed: f64 = selection.held_at(&e).iter().map(|x| x * x).sum();
        let all: f64 = gram.matrix().times(&e).iter().zip(&e).map(|(a, b)| a * b).sum();
        1e5 * pinned + all - changed
    };
    let best: Vec<f64> = bounded.weights.iter().map(|&w| w.into()).collect();
    for s in (0..30).filter(|s| ![2, 4].contains(s)) {
        for step in [-1e-3, 1e-3] {
            let mut w = best.clone();
            w[s] = (w[s] + step).clamp(0.0, 1.0);
            assert!(objective(&w) >= objective(&best) * (1.0 - 1e-6), "slider {s} step {step}");
        }
    }
}

#[test]
fn everything_locked_returns_the_input() {
    let rig = random_rig(400, 5, 0.5, 8);
    let w1 = some_weights(5, 3);
    for bounds in [false, true] {
        let options = AttenuateOptions { bounds, ..AttenuateOptions::default() };
        let set = PinSet::of_vertices(&[200]);
        assert_eq!(attenuate_locked(&rig, &set, &[0, 1, 2, 3, 4], &w1, &options).unwrap().weights, w1);
    }
}

/// Two sliders with an in-between and a combination of each rule.
fn bent_rig() -> Rig {
    let mut rig = random_rig(900, 6, 0.4, 21);
    rig.sliders.truncate(3);
    let driver = |slider| Driver { slider, at: None };
    let roles = [
        Role::Slider(0),
        Role::Slider(1),
        Role::Slider(2),
        Role::Inbetween { slider: 0, at: 0.5 },
        Role::Combination { drivers: vec![driver(0), driver(1)], rule: CombinationRule::Multiply },
        Role::Combination { drivers: vec![driver(1), driver(2)], rule: CombinationRule::Lowest },
    ];
    for (shape, role) in rig.shapes.iter_mut().zip(roles) {
        shape.role = role;
    }
    rig
}

#[test]
fn bent_rigs_are_solved_on_their_true_evaluation() {
    let rig = bent_rig();
    let w1 = [0.8f32, 0.7, 0.4];
    let shape = &rig.shapes[0].deltas;
    let set = PinSet::of_vertices(&shape.vertices[shape.vertices.len() / 2..][..2]);
    let alpha = 300.0;
    let result = attenuate(&rig, &set, &w1, &AttenuateOptions { bounds: true, ..with_alpha(alpha) }).unwrap();
    assert!(result.pinned_after.rms < result.pinned_before.rms);
    // A search on a fine grid of the true objective finds nothing better.
    let target = positions_by_definition(&rig, &w1);
    let pinned: Vec<usize> = set.pins.iter().map(|p| 3 * p.vertex as usize + p.axis).collect();
    let objective = |w: [f32; 3]| {
        let x = positions_by_definition(&rig, &w);
        let rows = x.as_flattened().iter().zip(target.as_flattened()).zip(rig.neutral.as_flattened());
        rows.enumerate()
            .map(|(i, ((x, asked), rest))| {
                if pinned.contains(&i) {
                    alpha * f64::from(x - rest).powi(2)
                } else {
                    f64::from(x - asked).powi(2)
                }
            })
            .sum::<f64>()
    };
    let ours = objective([result.weights[0], result.weights[1], result.weights[2]]);
    let mut best = f64::INFINITY;
    for i in 0..=20 {
        for j in 0..=20 {
            for k in 0..=20 {
                best = best.min(objective([i, j, k].map(|n| n as f32 / 20.0)));
            }
        }
    }
    assert!(ours <= best * 1.001, "ours {ours} grid {best}");
}

/// A rig with one vertex: a slider lifts it to 1 at 0.5 and lowers it again at 1, or two sliders lift it only
/// together.
fn one_vertex_rig(shapes: &[(&str, f32, Role)], n_sliders: usize) -> Rig {
    let mut rig = random_rig(4, shapes.len(), 1.0, 1);
    for (shape, (name, height, role)) in rig.shapes.iter_mut().zip(shapes) {
        shape.name = (*name).into();
        shape.role = role.clone();
        shape.deltas = Deltas { vertices: vec![0, 3], offsets: vec![[0.0, *height, 0.0], [0.01, 0.0, 0.0]] };
    }
    rig.sliders.truncate(n_sliders);
    (0..n_sliders).for_each(|s| rig.sliders[s].name = shapes[s].0.into());
    rig
}

#[test]
fn a_slider_on_an_inbetween_can_leave_it_either_way() {
    let rig = one_vertex_rig(
        &[("a", 0.2, Role::Slider(0)), ("a50", 1.0, Role::Inbetween { slider: 0, at: 0.5 })],
        1,
    );
    let options = AttenuateOptions { bounds: true, ..with_alpha(1e6) };
    // Exactly on the in-between and just beside it, the slider returns to where the pin is satisfied.
    for start in [0.5f32, 0.49, 0.51] {
        let result = attenuate(&rig, &PinSet::of_vertices(&[0]), &[start], &options).unwrap();
        assert!(result.pinned_after.max < 0.25 * result.pinned_before.max, "{start}: {:?}", result);
    }
    assert!(attenuate(&rig, &PinSet::of_vertices(&[0]), &[0.5], &options).unwrap().weights[0] < 0.01);
}

#[test]
fn limits_that_only_a_combination_can_meet_are_found() {
    let both = Role::Combination {
        drivers: vec![Driver { slider: 0, at: None }, Driver { slider: 1, at: None }],
        rule: CombinationRule::Multiply,
    };
    let rig =
        one_vertex_rig(&[("a", 0.0, Role::Slider(0)), ("b", 0.0, Role::Slider(1)), ("both", 1.0, both)], 2);
    let limit = |low, high| PinSet {
        pins: Vec::new(),
        limits: vec![CoordinateLimit { vertex: 0, axis: 1, range: [low, high] }],
    };
    let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    for start in [[0.0f32, 0.0], [0.3, 0.3], [1.0, 0.0]] {
        let w = attenuate(&rig, &limit(0.2, 0.9), &start, &options)
            .unwrap_or_else(|e| panic!("{start:?}: {e}"))
            .weights;
        assert!((0.2 - 1e-4..=0.9 + 1e-4).contains(&(w[0] * w[1])), "{start:?}: {w:?}");
    }
    let error = attenuate(&rig, &limit(1.5, 2.0), &[0.0, 0.0], &options).unwrap_err().to_string();
    assert!(error.contains("vertex 0 of part 'skin'") && error.contains("1.5"), "{error}");
}

#[test]
fn only_lets_the_named_sliders_through() {
    let rig = random_rig(900, 20, 0.3, 12);
    let vertex = 450u32;
    let mover = rig.shapes.iter().position(|s| s.deltas.vertices.contains(&vertex)).unwrap();
    let spec = PinSpec {
        vertex: Some(vertex),
        only: Some(vec![rig.sliders[mover].name.clone()]),
        ..PinSpec::default()
    };
    let set = PinSet::resolve(&rig, &[spec]).unwrap();
    let w1 = some_weights(20, 5);
    let result = attenuate(&rig, &set, &w1, &with_alpha(1e9)).unwrap();
    let mut alone = vec![0.0; 20];
    alone[mover] = w1[mover];
    let wanted = positions_by_definition(&rig, &alone)[vertex as usize];
    let got = positions_by_definition(&rig, &result.weights)[vertex as usize];
    assert!((0..3).all(|k| (wanted[k] - got[k]).abs() < 1e-5), "{wanted:?} {got:?}");
}

#[test]
fn vertices_stay_within_their_limits() {
    let rig = random_rig(900, 20, 0.3, 12);
    let limit =
        |range| PinSet { pins: Vec::new(), limits: vec![CoordinateLimit { vertex: 450, axis: 2, range }] };
    let w1 = some_weights(20, 6);
    let moved = |w: &[f32]| positions_by_definition(&rig, w)[450][2] - rig.neutral[450][2];
    assert!(moved(&w1).abs() > 0.002, "the case must need the limit: {}", moved(&w1));
    let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    let result = attenuate(&rig, &limit([-0.001, 0.001]), &w1, &options).unwrap();
    assert!(moved(&result.weights).abs() <= 0.001 + 1e-6, "{}", moved(&result.weights));
    assert!(result.kkt_residual.unwrap() < 1e-8);
    let error = attenuate(&rig, &limit([5.0, 6.0]), &w1, &options).unwrap_err();
    assert!(matches!(error, AttenuateError::Infeasible(_)), "{error}");
}

#[test]
fn limits_hold_on_bent_rigs() {
    let rig = bent_rig();
    let vertex = rig.shapes[0].deltas.vertices[rig.shapes[0].deltas.vertices.len() / 2];
    let w1 = [0.9f32, 0.9, 0.9];
    let moved = |w: &[f32]| {
        f64::from(positions_by_definition(&rig, w)[vertex as usize][0] - rig.neutral[vertex as usize][0])
    };
    let half = 0.5 * moved(&w1);
    let range = [half.min(0.0), half.max(0.0)];
    let set = PinSet { pins: Vec::new(), limits: vec![CoordinateLimit { vertex, axis: 0, range }] };
    let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    let result = attenuate(&rig, &set, &w1, &options).unwrap();
    assert!(
        (range[0] - 1e-5..=range[1] + 1e-5).contains(&moved(&result.weights)),
        "{range:?} {}",
        moved(&result.weights)
    );
}

#[test]
fn bad_input_is_named() {
    let rig = random_rig(100, 3, 0.5, 1);
    let set = PinSet::of_vertices(&[1]);
    let bad = attenuate(&rig, &set, &[0.0, f32::NAN, 0.0], &AttenuateOptions::default()).unwrap_err();
    assert!(bad.to_string().contains("shape0001"));
    assert!(matches!(attenuate(&rig, &set, &[0.0; 3], &with_alpha(-1.0)), Err(AttenuateError::BadAlpha(_))));
    assert!(matches!(
        attenuate(&rig, &set, &[0.0; 3], &with_alpha(f64::NAN)),
        Err(AttenuateError::BadAlpha(_))
    ));
    assert!(matches!(
        attenuate(&rig, &set, &[0.0; 2], &with_alpha(1.0)),
        Err(AttenuateError::WrongCount { .. })
    ));
    let no_shapes = random_rig(100, 0, 0.5, 1);
    for bounds in [false, true] {
        let options = AttenuateOptions { bounds, ..AttenuateOptions::default() };
        assert!(attenuate(&no_shapes, &set, &[], &options).unwrap().weights.is_empty());
    }
    let mut reversed = rig;
    reversed.sliders[1] = Slider { range: [1.0, 0.0], ..reversed.sliders[1].clone() };
    let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    assert!(matches!(
        attenuate(&reversed, &set, &[0.0; 3], &options),
        Err(AttenuateError::EmptyRange { .. })
    ));
}

/// A clip in which every slider oscillates with its own period.
fn swinging(n_frames: usize, n_sliders: usize) -> (Vec<f64>, Vec<f32>) {
    let times: Vec<f64> = (0..n_frames).map(|f| f as f64 / 60.0).collect();
    let weights = times
        .iter()
        .flat_map(|t| {
            (0..n_sliders).map(move |s| (0.5 - 0.5 * ((1.0 + 0.37 * s as f64) * t * 2.0).cos()) as f32)
        })
        .collect();
    (times, weights)
}

/// The largest second difference over time: large for jumps, small for smooth motion.
fn roughness(weights: &[f32], n_sliders: usize) -> f32 {
    let rows: Vec<&[f32]> = weights.chunks(n_sliders).collect();
    rows.windows(3)
        .flat_map(|w| (0..n_sliders).map(move |s| (w[0][s] - 2.0 * w[1][s] + w[2][s]).abs()))
        .fold(0.0, f32::max)
}

#[test]
fn clips_hold_pins_in_their_ranges_without_jumps() {
    let rig = random_rig(900, 15, 0.3, 12);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let (times, weights) = swinging(240, 15);
    let spec =
        PinSpec { vertices: Some(vec![450, 451]), times: Some(vec![[1.0, 2.0]]), ..PinSpec::default() };
    let selection = Selection::prepare(&gram, PinSet::resolve(&rig, &[spec]).unwrap(), &[]);
    for bounds in [false, true] {
        let pose = AttenuateOptions { bounds, ..with_alpha(1e7) };
        let options = ClipOptions { pose, fade_secs: 0.3, ..ClipOptions::default() };
        let result =
            attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &options, &no_progress).unwrap();
        let row = |f: usize| &result.weights[15 * f..15 * (f + 1)];
        assert_eq!(row(30), &weights[15 * 30..15 * 31], "before the fade nothing changes");
        assert_eq!(row(200), &weights[15 * 200..15 * 201], "after the fade nothing changes");
        let start = positions_by_definition(&rig, &weights[15 * 60..15 * 61])[450];
        if !bounds {
            for f in [60, 90, 120] {
                let now = positions_by_definition(&rig, row(f))[450];
                assert!((0..3).all(|k| (start[k] - now[k]).abs() < 1e-4), "frame {f}: {start:?} {now:?}");
            }
        }
        // Limits may put a kink where a slider reaches its end, but no jump.
        let allowed = if bounds { 4.0 } else { 2.0 };
        let (rough, given) = (roughness(&result.weights, 15), roughness(&weights, 15));
        assert!(rough < allowed * given, "bounds {bounds}: {rough} {given}");
        // Frames are independent of the number of threads.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let single = pool
            .install(|| {
                attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &options, &no_progress)
            })
            .unwrap();
        assert_eq!(single, result);
    }
    let hard = ClipOptions { pose: with_alpha(1e7), fade_secs: 0.0, ..ClipOptions::default() };
    let jumping =
        attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &hard, &no_progress).unwrap();
    let faded = ClipOptions { fade_secs: 0.3, ..hard };
    let smooth =
        attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &faded, &no_progress).unwrap();
    let change = |new: &[f32]| new.iter().zip(&weights).map(|(a, b)| a - b).collect::<Vec<f32>>();
    let (hard, soft) = (roughness(&change(&jumping.weights), 15), roughness(&change(&smooth.weights), 15));
    assert!(hard > 3.0 * soft, "the fade is what removes the jump: {hard} {soft}");
}

#[test]
fn smoothing_rounds_kinks_and_keeps_bounds() {
    let rig = random_rig(900, 15, 0.3, 12);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let (times, weights) = swinging(120, 15);
    let selection = Selection::prepare(&gram, PinSet::of_vertices(&[440, 450]), &[]);
    let pose = AttenuateOptions { bounds: true, ..with_alpha(1e5) };
    let run = |smooth_secs| {
        let options = ClipOptions { pose: pose.clone(), smooth_secs, ..ClipOptions::default() };
        attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &options, &no_progress)
            .unwrap()
            .weights
    };
    let (sharp, smooth) = (run(0.0), run(0.05));
    assert!(roughness(&smooth, 15) < roughness(&sharp, 15));
    assert!(smooth.iter().all(|w| (0.0..=1.0).contains(w)));
}

#[test]
fn smoothing_does_not_push_vertices_over_their_limits() {
    let rig = random_rig(900, 15, 0.3, 12);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let (times, weights) = swinging(120, 15);
    let vertex = rig.shapes[0].deltas.vertices[rig.shapes[0].deltas.vertices.len() / 2];
    let limits = vec![CoordinateLimit { vertex, axis: 2, range: [-0.001, 0.001] }];
    let selection = Selection::prepare(&gram, PinSet { pins: Vec::new(), limits }, &[]);
    let options = ClipOptions { smooth_secs: 0.2, ..ClipOptions::default() };
    let result =
        attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &options, &no_progress).unwrap();
    let v = vertex as usize;
    let moved = |w: &[f32]| (positions_by_definition(&rig, w)[v][2] - rig.neutral[v][2]).abs();
    assert!(weights.chunks(15).any(|w| moved(w) > 0.002), "the case must need the limit");
    assert!(result.weights.chunks(15).all(|w| moved(w) < 0.001 + 1e-6));
}

#[test]
fn each_of_two_close_ranges_holds_its_own_pose() {
    let rig = random_rig(900, 15, 0.3, 12);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let (times, weights) = swinging(150, 15);
    let vertex = rig.shapes[0].deltas.vertices[rig.shapes[0].deltas.vertices.len() / 2];
    let spec =
        PinSpec { vertex: Some(vertex), times: Some(vec![[0.5, 1.0], [1.1, 2.0]]), ..PinSpec::default() };
    let selection = Selection::prepare(&gram, PinSet::resolve(&rig, &[spec]).unwrap(), &[]);
    let options = ClipOptions { pose: with_alpha(1e9), fade_secs: 0.3, ..ClipOptions::default() };
    let result =
        attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &options, &no_progress).unwrap();
    let place =
        |w: &[f32], f: usize| positions_by_definition(&rig, &w[15 * f..15 * (f + 1)])[vertex as usize];
    for (start, end) in [(30, 60), (66, 120)] {
        let base = place(&weights, start);
        for f in [start, end] {
            let now = place(&result.weights, f);
            assert!((0..3).all(|k| (base[k] - now[k]).abs() < 1e-4), "frame {f}: {base:?} {now:?}");
        }
    }
    assert_eq!(result.frames.iter().filter(|f| f.n_held > 0).count(), 31 + 55);
    assert!(result.pinned_after.max < 1e-4 && result.pinned_before.max > 1e-3, "{:?}", result.pinned_before);
}

#[test]
fn cancelling_stops_a_clip() {
    let rig = random_rig(100, 3, 0.5, 1);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let (times, weights) = swinging(10, 3);
    let stop = |_: &str, _: f32| std::ops::ControlFlow::Break(());
    let selection = Selection::prepare(&gram, PinSet::of_vertices(&[50]), &[]);
    let result =
        attenuate_clip(&rig, &selection, &bound(&rig, &times, &weights), &ClipOptions::default(), &stop);
    assert!(result.unwrap_err().to_string().contains("cancelled"));
}

#[test]
fn synthetic_shapes_are_what_tests_assume() {
    let shape: &Shape = &random_rig(900, 1, 0.3, 1).shapes[0];
    assert!(shape.deltas.vertices.is_sorted() && shape.deltas.vertices.len() > 100);
}

/// Weights per frame as a clip of `rig`.
fn bound(rig: &Rig, times_secs: &[f64], weights: &[f32]) -> BoundClip {
    let (times_secs, weights) = (times_secs.to_vec(), weights.to_vec());
    BoundClip { times_secs, weights, n_sliders: rig.sliders.len(), head: None }
}
