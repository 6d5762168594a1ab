//! Attenuation at the size of the largest rig in the paper, 946 shapes: times of inner products, a new
//! selection, a new alpha, and slider events of a drag, with and without limits; compared with LAPACK
//! (through numpy) on the same system in the same run.

use risorius_attenuate::gram::RigGram;
use risorius_attenuate::pins::PinSet;
use risorius_attenuate::pose::{AttenuateOptions, PoseAttenuation};
use risorius_attenuate::selection::Selection;
use risorius_base::progress::no_progress;
use risorius_benches::{head, median_secs, python};
use risorius_rig::Rig;
use risorius_rig::synthetic::random_rig;

/// Times the operations of attenuation on the matrix and vectors of a file, and compares the solution.
const NUMPY: &str = "
import sys, time, numpy as np
from scipy.linalg import cho_factor, cho_solve
n, m = int(sys.argv[2]), int(sys.argv[3])
raw = np.fromfile(sys.argv[1])
A, b, ours = raw[:m * m].reshape(m, m), raw[m * m:m * m + m], raw[m * m + m:]
def med(f, k):
    f(); t = []
    for _ in range(k):
        s = time.perf_counter(); f(); t.append(time.perf_counter() - s)
    return 1e3 * sorted(t)[k // 2]
c = cho_factor(A, lower=True, check_finite=False)
D = np.random.default_rng(0).standard_normal((3 * n, m))
print(med(lambda: D.T @ D, 3), med(lambda: cho_factor(A, lower=True, check_finite=False), 15),
      med(lambda: cho_solve(c, b, check_finite=False), 101), np.abs(cho_solve(c, b) - ours).max())
";

fn main() {
    println!("Attenuation. Pins: 6 vertices (18 coordinates) unless said otherwise; times in ms.");
    println!("An event is one call of PoseAttenuation::weights; a selection is all preparation for it.");
    println!("Events drag one slider by 0.02 each: the first has nothing to start from, then the median.");
    println!("The factor includes the inverse, which programs with bounds need; both are the rig's.\n");
    println!(
        "{:34} {:>14} {:>8} {:>13} {:>9} {:>8} {:>8} {:>17} {:>14} {:>14} {:>8}",
        "rig",
        "inner products",
        "factor",
        "new selection",
        "new alpha",
        "first",
        "event",
        "selection, bounds",
        "first, bounds",
        "event, bounds",
        "pinned"
    );
    for (name, path) in [
        ("ICT head, 57 shapes", "ict_facekit/ict_expressions.glb"),
        ("MakeHuman head, 100 shapes", "makehuman_male/makehuman_head_male.glb"),
    ] {
        if let Some(rig) = head(path) {
            measure(name, &rig, 6, usual);
        }
    }
    let local = random_rig(26_719, 946, 0.15, 1);
    measure("946 local shapes x 26.7k", &local, 6, usual);
    measure("946 local shapes, region of 500", &local, 500, usual);
    let dense = random_rig(26_719, 946, 1.0, 1);
    measure("946 dense shapes x 26.7k", &dense, 6, usual);
    measure("the same, most sliders at an end", &dense, 60, extreme);
    compare_with_lapack(&local);
    println!(
        "For scale on this class of machine: numpy 0.35 ms per solve, 9 ms per factorization, 1400 ms for inner products."
    );
}

fn some_pins(rig: &Rig, n_pins: usize) -> PinSet {
    let middle = rig.n_vertices() / 2;
    PinSet::of_vertices(&(0..n_pins).map(|i| (middle + 3 * i) as u32).collect::<Vec<_>>())
}

/// Sliders somewhere within their ranges.
fn usual(slider: usize) -> f32 {
    0.5 + 0.3 * (slider as f32).sin()
}

/// Two of three sliders at an end of their ranges: hundreds of bounds stay active.
fn extreme(slider: usize) -> f32 {
    match slider % 3 {
        0 => usual(slider),
        1 => 0.0,
        _ => 1.0,
    }
}

fn measure(name: &str, rig: &Rig, n_pins: usize, weight: fn(usize) -> f32) {
    let mut made = None;
    let inner = median_secs(3, || made = RigGram::prepare(rig, &no_progress).ok());
    let Some(gram) = made else {
        println!("{name}: inner products failed");
        return;
    };
    let start = std::time::Instant::now();
    std::hint::black_box(gram.inverse());
    let factor = start.elapsed().as_secs_f64();
    let set = some_pins(rig, n_pins);
    let on = vec![1.0; set.pins.len()];
    let selecting = median_secs(9, || {
        let selection = Selection::prepare(&gram, set.clone(), &[]);
        selection.attenuator(selection.default_alpha(), &on).alpha()
    });
    let selection = Selection::prepare(&gram, set.clone(), &[]);
    let alpha = median_secs(21, || selection.attenuator(100.0, &on).alpha());
    let [_, first, event] = drag(rig, &selection, false, weight);
    let selection = Selection::prepare(&gram, set.clone(), &[]);
    let [prepare, first_bounded, event_bounded] = drag(rig, &selection, true, weight);
    println!(
        "{name:34} {:14.1} {:8.2} {:13.3} {:9.3} {:8.3} {:8.4} {:17.2} {:14.3} {:14.3} {:8}",
        1e3 * inner,
        1e3 * factor,
        1e3 * selecting,
        1e3 * alpha,
        1e3 * first,
        1e3 * event,
        1e3 * (selecting + prepare),
        1e3 * first_bounded,
        1e3 * event_bounded,
        set.pins.len()
    );
}

/// Seconds of the preparation and of the first event of a drag, and the median over those that follow.
fn drag(rig: &Rig, selection: &Selection, bounds: bool, weight: fn(usize) -> f32) -> [f64; 3] {
    let options = AttenuateOptions { bounds, ..AttenuateOptions::default() };
    let start = std::time::Instant::now();
    let Ok(pose) = PoseAttenuation::prepare(rig, selection, &options) else {
        return [f64::NAN; 3];
    };
    let prepare = start.elapsed().as_secs_f64();
    let mut weights: Vec<f32> = (0..rig.sliders.len()).map(weight).collect();
    let (zero, dragged) = (vec![0.0; weights.len()], 7 % weights.len().max(1));
    let mut step = 0;
    let mut event = || {
        weights[dragged] = 0.02 * (step % 50) as f32;
        step += 1;
        pose.weights(&weights, &zero).map(|w| w.len())
    };
    let start = std::time::Instant::now();
    std::hint::black_box(event().is_ok());
    [prepare, start.elapsed().as_secs_f64(), median_secs(99, event)]
}

/// Solves the system of the first local case with LAPACK, as the paper does, and compares.
fn compare_with_lapack(rig: &Rig) {
    let Ok(gram) = RigGram::prepare(rig, &no_progress) else { return };
    let selection = Selection::prepare(&gram, some_pins(rig, 6), &[]);
    let n = rig.sliders.len();
    let w1: Vec<f64> = (0..n).map(|i| 0.5 + 0.3 * (i as f64).sin()).collect();
    let (alpha, on) = (selection.default_alpha(), vec![1.0; selection.rows().len()]);
    let zero = vec![0.0; selection.rows().len()];
    let ours: Vec<f64> =
        selection.attenuator(alpha, &on).solve(&w1, &zero).iter().zip(&w1).map(|(b, a)| b - a).collect();
    let mut system = selection.system(alpha, &on);
    (0..n).for_each(|i| system[(i, i)] += gram.ridge());
    let pull: Vec<f64> = selection.rows().times(&w1).iter().map(|m| -alpha * m).collect();
    let right = selection.rows().transposed_times(&pull, n);
    let numbers = system.as_slice().iter().chain(&right).chain(&ours);
    let bytes: Vec<u8> = numbers.flat_map(|x| x.to_ne_bytes()).collect();
    let file = std::env::temp_dir().join(format!("risorius-bench-{}.raw", std::process::id()));
    if let Err(error) = std::fs::write(&file, bytes) {
        println!("(no peer: {error})");
        return;
    }
    let arguments = [file.display().to_string(), rig.n_vertices().to_string(), n.to_string()];
    let answer = python(NUMPY, &arguments);
    // Failing to remove the file is harmless.
    let _ = std::fs::remove_file(&file);
    let times: Vec<f64> =
        answer.iter().flat_map(|a| a.split_whitespace()).filter_map(|x| x.parse().ok()).collect();
    if let [inner, factor, solve, difference] = times[..] {
        println!("\nLAPACK on the system of '946 local shapes x 26.7k', same run:");
        println!("  dense inner products {inner:.1}, factor {factor:.2}, back-substitution {solve:.3}");
        println!("  largest difference of a slider from ours: {difference:.1e}");
    }
}
