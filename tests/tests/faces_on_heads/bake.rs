//! Baked correctives on two heads [Ichim16, sec. 4, figs. 12 and 13]: at weights that were not sampled, the
//! baked rig is nearer to the simulation than the artist's, and lips overlap less.

use crate::depth::Rims;
use crate::performing::{bound, talk};
use risorius_base::progress::no_progress;
use risorius_flesh::Face;
use risorius_perform::bake::rig::without_inbetweens;
use risorius_perform::bake::{Ending, FitOptions, Keep, PairChoice, Samples, baked_rig, fit};
use risorius_perform::{
    BakePlan, HeadPath, MethodOptions, Performance, Scene, Settled, VolumetricOptions, settle,
};
use risorius_rig::{Deltas, Evaluator, Rig};
use risorius_tests::data;
use risorius_tests::flesh::{faces, is_full, slider};
use std::ops::ControlFlow;

/// Sliders that meet at the mouth.
const MOUTH: [&str; 4] = ["jawOpen", "mouthSmileLeft", "mouthFunnel", "mouthClose"];

/// Rows of weights, simulated to rest.
fn simulated(face: &Face, weights: &[f32]) -> Vec<Settled> {
    let times = vec![0.0; weights.len() / face.rig.sliders.len()];
    let clip = bound(face, &times, weights);
    let performance = Performance { clip: &clip, head: HeadPath::default(), scene: Scene::default() };
    let options = MethodOptions::Volumetric(VolumetricOptions::default());
    let mut all = Vec::new();
    let mut sink = |_: std::ops::Range<usize>, settled: Vec<Settled>| {
        all.extend(settled);
        ControlFlow::Continue(())
    };
    let whole = 0..times.len();
    settle(face, &performance, &options, &[whole], &mut sink, &no_progress).unwrap();
    all
}

/// The rig with correctives of a plan that are visible by a tenth of a millimeter.
fn baked(face: &Face, plan: &BakePlan, name: &str) -> Rig {
    let rig = &face.rig;
    let weights: Vec<f32> = (0..plan.n_samples()).flat_map(|n| plan.weights(n, rig.sliders.len())).collect();
    let evaluator = Evaluator::prepare(rig);
    let settled = simulated(face, &weights);
    let ended = |ending: Ending| settled.iter().filter(|s| Ending::of(s) == ending).count();
    let (retried, failed) = (ended(Ending::Retried), ended(Ending::Failed));
    println!("{name}: {} samples, {retried} retried, {failed} failed", settled.len());
    assert_eq!(failed, 0, "{name}");
    let field = |s: &Settled| {
        let (artist, skin) =
            (evaluator.positions(weights_of(&weights, rig, s.frame)), s.skin.as_ref().unwrap());
        let offsets = artist.iter().zip(&skin.vertices).map(|(a, p)| std::array::from_fn(|k| p[k] - a[k]));
        Deltas { vertices: (0..rig.n_vertices() as u32).collect(), offsets: offsets.collect() }
    };
    let fields: Vec<Deltas> = settled.iter().map(field).collect();
    let samples =
        Samples { plan, n_vertices: rig.n_vertices(), field: &|n| (&fields[n]).into(), usable: &|_| true };
    let visible = 1e-4 / rig.space.meters_per_unit;
    let halves = without_inbetweens(rig, plan);
    let options = FitOptions { keep: Keep::Shapes, halves, visible, ..FitOptions::default() };
    let fitted = fit(&samples, &options, &no_progress).unwrap();
    assert!(fitted.errors.after[0] < 0.6 * fitted.errors.before[0], "{name}: {:?}", fitted.errors);
    baked_rig(rig, plan, &fitted).0
}

fn weights_of<'a>(weights: &'a [f32], rig: &Rig, frame: usize) -> &'a [f32] {
    let n = rig.sliders.len();
    &weights[frame * n..(frame + 1) * n]
}

/// Mean distance over the vertices that follow flesh, mm.
fn mean_mm(face: &Face, a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    let scale = 1000.0 * face.rig.space.meters_per_unit;
    let one = |&v: &u32| {
        let (p, q) = (a[v as usize], b[v as usize]);
        (0..3).map(|k| f64::from(p[k] - q[k]).powi(2)).sum::<f64>().sqrt() * scale
    };
    let on = &face.flesh.embedding.vertices;
    on.iter().map(one).sum::<f64>() / on.len() as f64
}

#[test]
fn a_baked_rig_is_nearer_to_the_simulation_where_it_was_not_sampled() {
    let Some(data) = data("a_baked_rig_is_nearer_to_the_simulation_where_it_was_not_sampled") else { return };
    for (name, face) in faces().skip(1).take(2) {
        let sliders: Vec<usize> =
            MOUTH.iter().take(if is_full() { 4 } else { 3 }).filter_map(|on| slider(&face.rig, on)).collect();
        let (plan, _) = BakePlan::new(face, Some(&sliders), PairChoice::Auto).unwrap();
        let baked = baked(face, &plan, name);
        let (_, mut weights) = talk(&data, face, 1200, if is_full() { 60 } else { 10 });
        let n = face.rig.sliders.len();
        let is_baked = |i: usize| sliders.contains(&(i % n));
        weights.iter_mut().enumerate().filter(|(i, _)| !is_baked(*i)).for_each(|(_, w)| *w = 0.0);
        let rigs = [&face.rig, &baked].map(Evaluator::prepare);
        let lips = Rims::lips(face);
        let (mut far, mut deep) = ([0.0; 2], [0.0f64; 2]);
        let settled = simulated(face, &weights);
        for s in &settled {
            let simulated = &s.skin.as_ref().unwrap().vertices;
            for (k, rig) in rigs.iter().enumerate() {
                let posed = rig.positions(weights_of(&weights, &face.rig, s.frame));
                far[k] += mean_mm(face, &posed, simulated) / settled.len() as f64;
                deep[k] = deep[k].max(lips.deeper_mm(simulated, &posed).0);
            }
        }
        println!("{name}: {far:.4?} mm from the simulation, lips {deep:.3?} mm deeper than in it");
        assert!(far[1] < 0.7 * far[0], "{name}: {far:?}");
        assert!(deep[1] < deep[0].max(0.1), "{name}: {deep:?}");
    }
}
