//! Problems that are solved one after another, each from the last: events of a drag and frames of a clip give
//! what they would give alone.

use risorius_attenuate::clip::{ClipOptions, attenuate_clip};
use risorius_attenuate::gram::RigGram;
use risorius_attenuate::pins::PinSet;
use risorius_attenuate::pose::{AttenuateOptions, PoseAttenuation};
use risorius_attenuate::selection::Selection;
use risorius_base::progress::no_progress;
use risorius_rig::synthetic::{Random, random_rig};
use risorius_rig::{BoundClip, Rig};

fn some_weights(n: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..n).map(|_| random.unit()).collect()
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

/// Weights per frame as a clip of `rig`.
fn bound(rig: &Rig, times_secs: &[f64], weights: &[f32]) -> BoundClip {
    let (times_secs, weights) = (times_secs.to_vec(), weights.to_vec());
    BoundClip { times_secs, weights, n_sliders: rig.sliders.len(), head: None }
}

/// A drag over many events: each gives what it would give alone, although it starts from the one before.
#[test]
fn events_do_not_depend_on_the_events_before() {
    let rig = random_rig(900, 120, 0.3, 21);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let selection = Selection::prepare(&gram, PinSet::of_vertices(&[440, 443, 460]), &[3]);
    let zero = vec![0.0; 120];
    for bounds in [true, false] {
        let options = AttenuateOptions { bounds, overshoot: 0.05, ..AttenuateOptions::default() };
        let prepare = || PoseAttenuation::prepare(&rig, &selection, &options).unwrap();
        let dragged = prepare();
        let mut w1 = some_weights(120, 4);
        let mut n_at_range = 0;
        for event in 0..60 {
            w1[(event / 20) * 40] = 0.07 * (event % 20) as f32 - 0.2;
            let after_others = dragged.solve(&w1, &zero).unwrap();
            let alone = prepare().solve(&w1, &zero).unwrap();
            let apart = after_others.weights.iter().zip(&alone.weights).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f32::max) < 1e-6, "event {event}");
            assert!(after_others.kkt_residual.is_none_or(|r| r < 1e-9), "event {event}");
            assert_eq!(after_others.at_bound, alone.at_bound);
            n_at_range += usize::from(after_others.kkt_residual.is_some());
        }
        assert!(n_at_range > 30, "limits were meant to be reached");
    }
}

/// Frames start from the frame before, in groups that do not depend on the number of threads.
#[test]
fn clips_give_the_same_bytes_on_any_thread_count() {
    let rig = random_rig(900, 60, 0.3, 8);
    let (times, weights) = swinging(50, 60);
    let gram = RigGram::prepare(&rig, &no_progress).unwrap();
    let selection = Selection::prepare(&gram, PinSet::of_vertices(&[440, 443, 460]), &[]);
    let pose = AttenuateOptions { bounds: true, ..AttenuateOptions::default() };
    let options = ClipOptions { pose: pose.clone(), ..ClipOptions::default() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let clip = bound(&rig, &times, &weights);
        pool.install(|| attenuate_clip(&rig, &selection, &clip, &options, &no_progress)).unwrap()
    };
    let once = run(1);
    assert!(once.frames.iter().any(|f| f.n_at_bound > 0), "bounds were meant to be reached");
    assert!([2, 5].iter().all(|&threads| run(threads).weights == once.weights));
    for (frame, w1) in weights.chunks(60).enumerate() {
        let alone = PoseAttenuation::prepare(&rig, &selection, &pose).unwrap();
        let alone = alone.weights(w1, &[0.0; 60]).unwrap();
        let apart = alone.iter().zip(&once.weights[60 * frame..]).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-6, "frame {frame}");
    }
}
