//! Attenuation at the size of the largest rig that the paper names, 946 shapes: inner products, a new selection, a new
//! alpha, a slider event; beside LAPACK (through numpy) on the same sizes in the same run.

use risorius_benches::{head, median_secs, python};
use risorius_mesh::progress::silent;
use risorius_rig::Rig;
use risorius_rig::gram::RigGram;
use risorius_rig::pins::PinSet;
use risorius_rig::selection::Selection;
use risorius_rig::synthetic::random_rig;

const NUMPY: &str = "
import sys, time, numpy as np
n, m = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
D = rng.standard_normal((3 * n, m))
def med(f, k):
    f(); t = []
    for _ in range(k):
        s = time.perf_counter(); f(); t.append(time.perf_counter() - s)
    return sorted(t)[k // 2]
G = D.T @ D
b = rng.standard_normal(m)
L = np.linalg.cholesky(G)
gram = med(lambda: D.T @ D, 3)
factor = med(lambda: np.linalg.cholesky(G), 15)
Linv_solve = med(lambda: np.linalg.solve(L.T, np.linalg.solve(L, b)), 15)
full = med(lambda: np.linalg.solve(G, b), 15)
try:
    from scipy.linalg import cho_solve
    back = med(lambda: cho_solve((L, True), b), 31)
except ImportError:
    back = float('nan')
print(gram, factor, full, back)
";

fn main() {
    println!("Attenuation. Pins: 6 vertices (18 coordinates) unless said otherwise; times in ms.\n");
    println!(
        "{:34} {:>14} {:>10} {:>12} {:>10} {:>10} {:>14}",
        "rig", "inner products", "factor", "new selection", "new alpha", "event", "pinned coords"
    );
    for (name, path) in [
        ("ICT head, 57 shapes", "ict_facekit/ict_expressions.glb"),
        ("MakeHuman head, 100 shapes", "makehuman_male/makehuman_head_male.glb"),
    ] {
        if let Some(rig) = head(path) {
            measure(name, &rig, 6);
        }
    }
    let local = random_rig(26_719, 946, 0.15, 1);
    measure("946 local shapes x 26.7k", &local, 6);
    measure("946 local shapes, region of 500", &local, 500);
    measure("946 dense shapes x 26.7k", &random_rig(26_719, 946, 1.0, 1), 6);
    let peer = python(NUMPY, &["26719".into(), "946".into()]);
    if let Some(line) = peer {
        let t: Vec<f64> = line.split_whitespace().filter_map(|x| x.parse().ok()).map(|s: f64| 1e3 * s).collect();
        if let [gram, factor, full, back] = t[..] {
            println!("\nLAPACK through numpy, 946 dense shapes x 26.7k vertices, same run:");
            println!(
                "  inner products {gram:.1}, Cholesky factor {factor:.2}, factor and solve {full:.2}, back-substitution {back:.3}"
            );
        }
    }
    println!(
        "For scale on this class of machine: numpy 0.35 ms a solve, 9 ms a factorization, 1400 ms for the inner products."
    );
}

fn measure(name: &str, rig: &Rig, n_pins: usize) {
    let mut made = None;
    let inner = median_secs(3, || made = RigGram::prepare(rig, &silent).ok());
    let Some(gram) = made else {
        println!("{name}: inner products failed");
        return;
    };
    let start = std::time::Instant::now();
    std::hint::black_box(gram.factor());
    let factor = start.elapsed().as_secs_f64();
    let middle = rig.n_vertices() / 2;
    let pins: Vec<u32> = (0..n_pins).map(|i| (middle + 3 * i) as u32).collect();
    let set = PinSet::of_vertices(&pins);
    let on = vec![1.0; set.pins.len()];
    // A new selection is everything up to the first answer: rows, solves, and the small factor.
    let selecting = median_secs(9, || {
        let selection = Selection::prepare(&gram, set.clone(), &[]);
        selection.attenuator(selection.default_alpha(), &on).alpha()
    });
    let selection = Selection::prepare(&gram, set.clone(), &[]);
    let alpha = median_secs(21, || selection.attenuator(100.0, &on).alpha());
    let attenuator = selection.attenuator(selection.default_alpha(), &on);
    let targets = vec![0.0; set.pins.len()];
    let weights: Vec<f64> = (0..rig.sliders.len()).map(|i| 0.5 + 0.3 * (i as f64).sin()).collect();
    let event = median_secs(101, || attenuator.solve(&weights, &targets));
    println!(
        "{name:34} {:14.1} {:10.2} {:12.3} {:10.3} {:10.4} {:14}",
        1e3 * inner,
        1e3 * factor,
        1e3 * selecting,
        1e3 * alpha,
        1e3 * event,
        set.pins.len()
    );
}
