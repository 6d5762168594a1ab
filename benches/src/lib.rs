//! Shared by benchmarks: timing, the read bandwidth of this machine in this run, real heads, a Python peer.

use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_rig::Rig;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// Seconds per call of `f`: the median over `repeats` calls after one warm-up call.
pub fn median_secs<T>(repeats: usize, mut f: impl FnMut() -> T) -> f64 {
    std::hint::black_box(f());
    let mut times: Vec<f64> = (0..repeats.max(1))
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(f());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Bytes per second at which a buffer of `n_bytes` is summed on rayon's threads: the limit for work that
/// reads as much. Median of several passes, so a buffer that fits the cache is read from the cache, as in the
/// work itself.
pub fn read_bandwidth(n_bytes: usize) -> f64 {
    const CHUNK: usize = 1 << 14;
    let buffer: Vec<f32> = vec![1.0; (n_bytes / 4).max(CHUNK)];
    let sum = |chunk: &[f32]| {
        let (eights, _) = chunk.as_chunks::<32>();
        let mut sums = [0.0f32; 32];
        for eight in eights {
            (0..32).for_each(|k| sums[k] += eight[k]);
        }
        sums.iter().sum::<f32>()
    };
    let seconds = median_secs(15, || {
        if rayon::current_num_threads() == 1 {
            buffer.chunks(CHUNK).map(sum).sum::<f32>()
        } else {
            buffer.par_chunks(CHUNK).map(sum).sum::<f32>()
        }
    });
    (4 * buffer.len()) as f64 / seconds
}

/// A file among the real heads and recordings, or `None` after saying that `RISORIUS_DATA` is not set.
pub fn data_file(path: &str) -> Option<PathBuf> {
    let data = std::env::var_os("RISORIUS_DATA").map(PathBuf::from);
    if data.is_none() {
        println!("({path}: skipped, RISORIUS_DATA is not set)");
    }
    Some(data?.join(path))
}

/// A real head, or `None` after saying why not.
pub fn head(path: &str) -> Option<Rig> {
    match open_rig(&data_file(path)?, &OpenOptions::default(), &no_progress) {
        Ok(file) => Some(file.rig),
        Err(error) => {
            println!("({path}: {error})");
            None
        }
    }
}

/// The output of a Python script with numpy, or `None` after saying that there is no Python for benchmarks.
pub fn python(script: &str, arguments: &[String]) -> Option<String> {
    let Some(python) = std::env::var_os("RISORIUS_BENCH_PYTHON") else {
        println!("(no peer: run through `cargo xtask bench`, which installs numpy)");
        return None;
    };
    let output = Command::new(python).arg("-c").arg(script).args(arguments).output().ok()?;
    if !output.status.success() {
        println!("(peer failed: {})", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `f` on a pool of `threads` threads.
pub fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(f),
        Err(error) => {
            println!("(no pool of {threads} threads: {error})");
            f()
        }
    }
}

/// Peak memory of this process so far, MB; 0 if the system does not report it.
pub fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map_or(0.0, |k| k * 1024.0 / 1e6)
}
