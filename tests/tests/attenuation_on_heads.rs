//! Attenuation on three real heads: exact against a dense reference, and the results of figures 3 to 5 of
//! [Lewis05].

use risorius_attenuate::gram::RigGram;
use risorius_attenuate::pins::{PinSet, PinSpec};
use risorius_attenuate::pose::{AttenuateOptions, Attenuated, PoseAttenuation};
use risorius_attenuate::selection::Selection;
use risorius_base::progress::no_progress;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_linalg::{Cholesky, Matrix};
use risorius_rig::classify::names::key;
use risorius_rig::evaluate::{Evaluator, positions_by_definition};
use risorius_rig::lookup::region_vertices;
use risorius_rig::{Rig, Shape};
use risorius_tests::data;

const HEADS: [&str; 3] =
    ["ict_facekit/ict_expressions.glb", "makehuman_male/makehuman_head_male.glb", "facecap/facecap.glb"];

fn heads(test: &str) -> Vec<(&'static str, Rig)> {
    let Some(data) = data(test) else { return Vec::new() };
    HEADS
        .iter()
        .map(|path| (*path, open_rig(&data.join(path), &OpenOptions::default(), &no_progress).unwrap().rig))
        .collect()
}

/// Weights by ARKit names, in any spelling of the rig; left and right halves follow their whole.
fn weights(rig: &Rig, pairs: &[(&str, f32)]) -> Vec<f32> {
    rig.sliders
        .iter()
        .map(|s| {
            let k = key(&s.name);
            let found = pairs.iter().find(|(name, _)| {
                let wanted = key(name);
                wanted.base == k.base && (wanted.side == k.side || wanted.side.is_none())
            });
            found.map_or(0.0, |p| p.1)
        })
        .collect()
}

fn shape<'a>(rig: &'a Rig, name: &str) -> &'a Shape {
    rig.shapes.iter().find(|s| key(&s.name) == key(name)).unwrap_or_else(|| panic!("no {name}"))
}

/// The vertex that a shape moves most.
fn most_moved(rig: &Rig, name: &str) -> u32 {
    let deltas = &shape(rig, name).deltas;
    let length = |o: &[f32; 3]| o.iter().map(|x| x * x).sum::<f32>();
    let best = deltas.vertices.iter().zip(&deltas.offsets).max_by(|a, b| length(a.1).total_cmp(&length(b.1)));
    *best.unwrap().0
}

fn attenuate(rig: &Rig, set: &PinSet, w1: &[f32], w0: &[f32], options: &AttenuateOptions) -> Attenuated {
    let gram = RigGram::prepare(rig, &no_progress).unwrap();
    let selection = Selection::prepare(&gram, set.clone(), &[]);
    PoseAttenuation::prepare(rig, &selection, options).unwrap().solve(w1, w0).unwrap()
}

/// Equation 3 for the change of weights, from a dense matrix of every coordinate.
fn dense_reference(rig: &Rig, set: &PinSet, w1: &[f32], w0: &[f32], alpha: f64, ridge: f64) -> Vec<f64> {
    let n = rig.shapes.len();
    let mut d = Matrix::zeros(3 * rig.n_vertices(), n);
    for (s, shape) in rig.shapes.iter().enumerate() {
        for (&v, o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            (0..3).for_each(|k| d[(3 * v as usize + k, s)] = o[k].into());
        }
    }
    let mut pinned = Matrix::zeros(set.pins.len(), n);
    for (i, pin) in set.pins.iter().enumerate() {
        for s in 0..n {
            let row = 3 * pin.vertex as usize + pin.axis;
            pinned[(i, s)] = d[(row, s)];
            d[(row, s)] = 0.0;
        }
    }
    let (p, q) = (d.gram(), pinned.gram());
    let mut a = q.clone();
    a.scale(alpha);
    a.add(&p);
    (0..n).for_each(|i| a[(i, i)] += ridge);
    let dw1: Vec<f64> = w1.iter().zip(w0).map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
    let mut e: Vec<f64> = q.times(&dw1).iter().map(|x| -alpha * x).collect();
    Cholesky::factor(a).unwrap().solve_in_place(&mut e);
    w1.iter().zip(&e).map(|(w, e)| f64::from(*w) + e).collect()
}

#[test]
fn exact_on_three_heads() {
    for (name, rig) in heads("exact_on_three_heads") {
        let ridge = RigGram::prepare(&rig, &no_progress).unwrap().ridge();
        let w0 = weights(&rig, &[("browInnerUp", 0.4)]);
        let w1 = weights(
            &rig,
            &[("browInnerUp", 0.4), ("jawOpen", 0.7), ("mouthSmileLeft", 1.0), ("noseSneerRight", 0.8)],
        );
        let few =
            PinSet::of_vertices(&[most_moved(&rig, "mouthSmileLeft"), most_moved(&rig, "eyeBlinkRight")]);
        let many = PinSet::of_vertices(
            &region_vertices(&rig, &format!("shape:{}", shape(&rig, "eyeBlinkLeft").name)).unwrap(),
        );
        for set in [few, many] {
            for alpha in [0.5, 30.0, 3000.0, 1e6] {
                let overshoot = f64::INFINITY;
                let options =
                    AttenuateOptions { alpha: Some(alpha), overshoot, ..AttenuateOptions::default() };
                let ours = attenuate(&rig, &set, &w1, &w0, &options).weights;
                let reference = dense_reference(&rig, &set, &w1, &w0, alpha, ridge);
                let worst =
                    ours.iter().zip(&reference).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
                assert!(worst < 2e-6, "{name}, {} pins, alpha {alpha}: off by {worst:e}", set.pins.len());
            }
        }
    }
}

#[test]
fn evaluation_is_the_definition_on_three_heads() {
    for (name, rig) in heads("evaluation_is_the_definition_on_three_heads") {
        let evaluator = Evaluator::prepare(&rig);
        assert_eq!(evaluator.positions(&vec![0.0; rig.sliders.len()]), rig.neutral, "{name}");
        let w: Vec<f32> = (0..rig.sliders.len()).map(|i| (i as f32 * 1.7).sin()).collect();
        assert!(evaluator.positions(&w) == positions_by_definition(&rig, &w), "{name}");
    }
}

/// Figures 2 and 3: the brow is posed and pinned, then other sliders move; the brow stays while the mouth
/// moves.
#[test]
fn a_placed_brow_stays_while_the_face_goes_on() {
    for (name, rig) in heads("a_placed_brow_stays_while_the_face_goes_on") {
        let w0 = weights(&rig, &[("browDownLeft", 0.4), ("browDownRight", 0.4)]);
        let mut w1 = weights(
            &rig,
            &[("browDownLeft", 0.4), ("browDownRight", 0.4), ("noseSneer", 0.0), ("mouthSmile", 0.0)],
        );
        let more = weights(
            &rig,
            &[
                ("noseSneerLeft", 0.9),
                ("noseSneerRight", 0.9),
                ("eyeSquintLeft", 0.8),
                ("eyeSquintRight", 0.8),
                ("jawOpen", 0.5),
            ],
        );
        w1.iter_mut().zip(&more).for_each(|(w, m)| *w += m);
        let set = PinSet::of_vertices(&[most_moved(&rig, "browDownLeft"), most_moved(&rig, "browDownRight")]);
        let options = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
        let result = attenuate(&rig, &set, &w1, &w0, &options);
        let ratio = result.pinned_after.rms / result.pinned_before.rms;
        println!(
            "{name}: brow moves {:.2} mm without pins, {:.2} mm with",
            rig.space.millimeters(result.pinned_before.max),
            rig.space.millimeters(result.pinned_after.max)
        );
        assert!(ratio < 0.5, "{name}: {ratio}");
        let chin = most_moved(&rig, "jawOpen") as usize;
        let (asked, got) =
            (positions_by_definition(&rig, &w1)[chin], positions_by_definition(&rig, &result.weights)[chin]);
        let kept = (got[1] - rig.neutral[chin][1]) / (asked[1] - rig.neutral[chin][1]);
        assert!(kept > 0.8, "{name}: the jaw keeps {kept} of its opening");
        assert!(result.kkt_residual.unwrap() < 1e-6, "{name}: {:?}", result.kkt_residual);
    }
}

/// Figure 4: only the height of the mouth's corners is pinned; they still move sideways.
#[test]
fn pins_per_axis_leave_the_other_axes_free() {
    for (name, rig) in heads("pins_per_axis_leave_the_other_axes_free") {
        let corners = [most_moved(&rig, "mouthSmileLeft"), most_moved(&rig, "mouthSmileRight")];
        let specs: Vec<PinSpec> = corners
            .iter()
            .map(|&v| PinSpec {
                near: Some(rig.neutral[v as usize]),
                axes: Some("y".into()),
                ..PinSpec::default()
            })
            .collect();
        let set = PinSet::resolve(&rig, &specs).unwrap();
        assert_eq!(set.pins.len(), 2);
        let w1 = weights(&rig, &[("mouthSmileLeft", 0.7), ("mouthSmileRight", 0.7)]);
        let result = attenuate(&rig, &set, &w1, &vec![0.0; w1.len()], &AttenuateOptions::default());
        let (asked, got) =
            (positions_by_definition(&rig, &w1), positions_by_definition(&rig, &result.weights));
        let v = set.pins[0].vertex as usize;
        let moved = |p: &[[f32; 3]], axis: usize| (p[v][axis] - rig.neutral[v][axis]).abs();
        println!(
            "{name}: the corner rises {:.3} instead of {:.3}, goes sideways {:.3} instead of {:.3} (file units)",
            moved(&got, 1),
            moved(&asked, 1),
            moved(&got, 0),
            moved(&asked, 0)
        );
        assert!(moved(&got, 1) < 0.35 * moved(&asked, 1), "{name}");
        assert!(moved(&got, 0) > 0.4 * moved(&asked, 0), "{name}");
    }
}

/// Figure 5: the same sliders with a small, the default and a large alpha.
#[test]
fn alpha_trades_pins_against_the_rest() {
    for (name, rig) in heads("alpha_trades_pins_against_the_rest") {
        let lid = region_vertices(&rig, &format!("shape:{}", shape(&rig, "cheekSquintLeft").name)).unwrap();
        let set = PinSet::of_vertices(
            &lid.iter().copied().step_by((lid.len() / 6).max(1)).take(6).collect::<Vec<_>>(),
        );
        let w1 = weights(
            &rig,
            &[
                ("eyeSquintLeft", 0.7),
                ("noseSneerLeft", 0.7),
                ("noseSneerRight", 0.7),
                ("mouthSmileLeft", 0.5),
            ],
        );
        let zero = vec![0.0; w1.len()];
        let at = |alpha| {
            attenuate(&rig, &set, &w1, &zero, &AttenuateOptions { alpha, ..AttenuateOptions::default() })
        };
        let (low, default, high) = (at(Some(25.0)), at(None), at(Some(1e6)));
        assert!(default.alpha > 25.0 && default.alpha < 1e6, "{name}: {}", default.alpha);
        let held = [&low, &default, &high].map(|r| r.pinned_after.rms);
        let others = [&low, &default, &high].map(|r| r.others_deviation.rms);
        println!(
            "{name}: pinned rms {held:?}, others' deviation {others:?}, default alpha {:.0}",
            default.alpha
        );
        assert!(held[0] >= held[1] && held[1] >= held[2], "{name}: {held:?}");
        assert!(others[0] <= others[1] && others[1] <= others[2], "{name}: {others:?}");
    }
}
