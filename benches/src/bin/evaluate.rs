//! Evaluation compared with the memory limit: time, bytes moved, GB/s, and the fraction of the bandwidth of
//! two passes that do nothing else, measured in the same run on one and two threads; compared with numpy's
//! dense product if available.
//!
//! The first pass reads as many bytes as evaluation moves. The second reads the deltas and copies the neutral
//! to the result, as evaluation does: a written line of memory is read before, and written back later, so no
//! evaluation can be faster than that.

use rayon::prelude::*;
use risorius_benches::{head, median_secs, on_threads, python, read_bandwidth};
use risorius_rig::synthetic::random_rig;
use risorius_rig::{Evaluator, Rig};

const NUMPY: &str = "
import sys, time, numpy as np
n, m = int(sys.argv[1]), int(sys.argv[2])
D = np.random.default_rng(0).standard_normal((3 * n, m), dtype=np.float32)
f0 = np.zeros(3 * n, np.float32)
w = np.ones(m, np.float32)
f0 + D @ w
t = []
for _ in range(15):
    s = time.perf_counter(); x = f0 + D @ w; t.append(time.perf_counter() - s)
print(sorted(t)[7])
";

fn main() {
    println!(
        "Evaluation f0 + D c(w), all sliders on. 'read', 'stream': GB/s of only reading as many bytes, and of"
    );
    println!(
        "only reading the deltas and copying the neutral; 'of read', 'of stream': fractions of these.\n"
    );
    println!(
        "{:34} {:>7} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>10}",
        "rig",
        "threads",
        "ms",
        "MB moved",
        "GB/s",
        "read",
        "of read",
        "stream",
        "of stream",
        "normals",
        "numpy ms"
    );
    let cases: Vec<(&str, Option<Rig>)> = vec![
        ("ICT head, 57 shapes", head("ict_facekit/ict_expressions.glb")),
        ("MakeHuman head, 100 shapes", head("makehuman_male/makehuman_head_male.glb")),
        ("946 local shapes x 26.7k", Some(random_rig(26_719, 946, 0.15, 1))),
        ("946 dense shapes x 26.7k", Some(random_rig(26_719, 946, 1.0, 1))),
        ("57 local shapes x 530k", Some(random_rig(530_000, 57, 0.25, 1))),
    ];
    for (name, rig) in cases {
        if let Some(rig) = rig {
            measure(name, &rig);
        }
    }
    println!(
        "\nFor scale on this class of machine: numpy 0.36 ms (ICT) and 13 ms (946), numba 7.3 ms (946), Blender 6.4 ms (ICT)."
    );
}

fn measure(name: &str, rig: &Rig) {
    let evaluator = Evaluator::prepare(rig);
    let weights: Vec<f32> = (0..rig.sliders.len()).map(|i| 0.3 + 0.001 * (i % 7) as f32).collect();
    let bytes = evaluator.bytes_moved(&evaluator.strengths(&weights));
    let arguments = [rig.n_vertices().to_string(), rig.shapes.len().to_string()];
    // numpy holds the dense matrix: 0.4 GB for the largest case here.
    let numpy = python(NUMPY, &arguments).and_then(|t| t.trim().parse::<f64>().ok());
    for threads in [1, 2] {
        on_threads(threads, || {
            let mut out = vec![[0.0; 3]; rig.n_vertices()];
            let seconds = median_secs(41, || evaluator.positions_into(&weights, &mut out));
            let read = read_bandwidth(bytes);
            let stream = stream_bandwidth(bytes, rig.n_vertices());
            let mut normals = vec![[0.0; 3]; rig.n_vertices()];
            let normal_seconds = median_secs(21, || evaluator.normals().compute_into(&out, &mut normals));
            let speed = bytes as f64 / seconds;
            println!(
                "{name:34} {threads:7} {:9.3} {:9.2} {:8.1} {:8.1} {:8.2} {:8.1} {:9.2} {:9.3} {:>10}",
                1e3 * seconds,
                bytes as f64 / 1e6,
                speed / 1e9,
                read / 1e9,
                speed / read,
                stream / 1e9,
                speed / stream,
                1e3 * normal_seconds,
                numpy.filter(|_| threads == 2).map_or(String::new(), |t| format!("{:.3}", 1e3 * t))
            );
        });
    }
}

/// Bytes per second of reading a buffer and copying positions block by block, `n_bytes` in all.
fn stream_bandwidth(n_bytes: usize, n_vertices: usize) -> f64 {
    const BLOCK: usize = 3 * 1024;
    let neutral = vec![1.0f32; 3 * n_vertices];
    let mut out = vec![0.0f32; 3 * n_vertices];
    let n_blocks = neutral.len().div_ceil(BLOCK).max(1);
    let n_read = (n_bytes / 4).saturating_sub(2 * neutral.len());
    let share = n_read.div_ceil(n_blocks).max(1);
    let deltas = vec![1.0f32; n_blocks * share];
    let pass = |((out, neutral), deltas): ((&mut [f32], &[f32]), &[f32])| {
        let mut sums = [0.0f32; 32];
        for some in deltas.as_chunks::<32>().0 {
            (0..32).for_each(|k| sums[k] += some[k]);
        }
        std::hint::black_box(sums);
        out.copy_from_slice(neutral);
    };
    let seconds = median_secs(41, || {
        if rayon::current_num_threads() == 1 {
            out.chunks_mut(BLOCK).zip(neutral.chunks(BLOCK)).zip(deltas.chunks(share)).for_each(pass);
        } else {
            let copied = out.par_chunks_mut(BLOCK).zip(neutral.par_chunks(BLOCK));
            copied.zip(deltas.par_chunks(share)).for_each(pass);
        }
    });
    (4 * (2 * neutral.len() + deltas.len())) as f64 / seconds
}
