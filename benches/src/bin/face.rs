//! Building faces: meshing, single blendvolumes, whole builds by stages with the peak memory of the process,
//! compared with the targets and with published times for similar work. One run each, because a build takes
//! too long for medians.
//!
//! The argument is the number of nodes; by default that of `risorius build`.

use risorius_base::progress::{Flow, no_progress};
use risorius_benches::{head as open_head, peak_mb};
use risorius_flesh::face::ShapeReport;
use risorius_flesh::{BuildOptions, Face, ShapeStore, Surroundings, VolumeShape, build};
use risorius_head::person::{Head, Identity};
use risorius_rig::Rig;
use risorius_rig::classify::names;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Target of a build: seconds and MB.
type Aim = (f64, f64);

const MINUTE: Aim = (60.0, 2000.0);

/// Shapes that are timed alone.
const ALONE: [&str; 2] = ["jawOpen", "mouthSmileLeft"];

fn main() {
    let mut options = BuildOptions::default();
    if let Some(nodes) = std::env::args().nth(1).and_then(|n| n.parse().ok()) {
        options.volume.nodes = nodes;
    }
    println!(
        "Building faces of about {} nodes; peak memory is that of the process so far.\n",
        options.volume.nodes
    );
    let built_in = risorius_head::build(&Identity::default());
    let cases: [(&str, Option<Rig>, Aim); 4] = [
        ("facecap", open_head("facecap/facecap_plain.glb"), MINUTE),
        ("built-in head", Some(built_in.rig.clone()), MINUTE),
        ("MakeHuman head", open_head("makehuman_male/makehuman_head_male.glb"), MINUTE),
        ("ICT head", open_head("ict_facekit/ict_expressions.glb"), (120.0, 2000.0)),
    ];
    for (name, rig, aim) in cases {
        if let Some(rig) = rig {
            measure(name, &rig, &built_in, &options, aim);
        }
    }
    println!(
        "For scale, on other machines: fTetWild 30 s for 23k tets; MKL Pardiso 104 ms per Newton iteration."
    );
}

fn measure(name: &str, rig: &Rig, head: &Head, options: &BuildOptions, aim: Aim) {
    println!("{name}: {} vertices, {} shapes", rig.n_vertices(), rig.shapes.len());
    let store = Kept::default();
    let around = Surroundings { progress: &no_progress, store: &store, peak_mb: &peak_mb };
    let start = Instant::now();
    let face = match build(rig, head, options, &around) {
        Ok(face) => face,
        Err(error) => return println!("  no face: {error}\n"),
    };
    let seconds = start.elapsed().as_secs_f64();
    print_face(&face);
    for shape in ALONE {
        if let Some((seconds, report)) = alone(rig, head, options, &store, shape) {
            let [mean, most] = report.fit_mm;
            let steps = report.iterations;
            println!(
                "  {shape} alone: {seconds:.2} s, {steps} iterations, least J {:.2}, skin error {mean:.2} mm, at most {most:.2} mm",
                report.least_j
            );
        }
    }
    let peak = face.report.stages.iter().map(|s| s.peak_mb).fold(0.0, f64::max);
    let verdict = if seconds <= aim.0 && peak <= aim.1 { "within the target" } else { "beyond the target" };
    println!(
        "  whole build: {seconds:.1} s, peak {peak:.0} MB; {verdict} of {:.0} s and {:.0} MB\n",
        aim.0, aim.1
    );
}

/// Prints measurements of the mesh, of each stage, and of repairs.
fn print_face(face: &Face) {
    let report = &face.report;
    let tets = report.stages.iter().find(|s| s.name == "tets").map_or(f64::NAN, |s| s.seconds);
    let quality = &report.quality;
    println!(
        "  meshing {tets:.2} s: {} nodes, {} tets, {:.0} tets/s; dihedral angles from {:.1} degrees (mean of the smallest {:.1}), volume ratio from {:.2} (mean {:.2})",
        report.n_nodes,
        report.n_tets,
        report.n_tets as f64 / tets,
        quality.min_dihedral_deg,
        quality.mean_min_dihedral_deg,
        quality.min_volume_ratio,
        quality.mean_volume_ratio
    );
    for stage in &report.stages {
        println!("    {:16} {:7.2} s  peak {:6.0} MB", stage.name, stage.seconds, stage.peak_mb);
    }
    let fits: Vec<f64> = report.shapes.iter().map(|s| s.fit_mm[0]).collect();
    let mean = fits.iter().sum::<f64>() / fits.len().max(1) as f64;
    println!(
        "  skin error {mean:.3} mm over all shapes, {:.3} in the worst; {} of {} pairs corrected, {} not; {} fused",
        fits.iter().copied().fold(0.0, f64::max),
        report.pairs.n_corrected,
        report.pairs.n_pairs,
        report.pairs.unrepaired.len(),
        report.n_fused_pairs
    );
}

/// Builds again from stored shapes up to the stage `pairs`, with only `shape` to be solved: its time and
/// report.
fn alone(
    rig: &Rig,
    head: &Head,
    options: &BuildOptions,
    kept: &Kept,
    shape: &str,
) -> Option<(f64, ShapeReport)> {
    let wanted = names::arkit_index(shape);
    let (key, found) = {
        let shapes = lock(&kept.shapes);
        let (key, found) =
            shapes.iter().find(|(_, (_, report))| names::arkit_index(&report.name) == wanted)?;
        (*key, found.1.clone())
    };
    let store = Without { kept, key, started: Mutex::new(None), seconds: Mutex::new(None) };
    let until_pairs = |stage: &str, _: f32| -> Flow {
        if stage == "pairs" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // The build is cancelled early, so it returns no face.
    let _ =
        build(rig, head, options, &Surroundings { progress: &until_pairs, store: &store, peak_mb: &|| 0.0 });
    let seconds = *lock(&store.seconds);
    Some((seconds?, found))
}

/// Shapes in memory.
#[derive(Default)]
struct Kept {
    shapes: Mutex<BTreeMap<u128, (VolumeShape, ShapeReport)>>,
}

impl ShapeStore for Kept {
    fn load(&self, key: u128) -> Option<(VolumeShape, ShapeReport)> {
        lock(&self.shapes).get(&key).cloned()
    }

    fn save(&self, key: u128, shape: &VolumeShape, report: &ShapeReport) {
        lock(&self.shapes).insert(key, (shape.clone(), report.clone()));
    }
}

/// Stores all shapes but one, and times that one.
struct Without<'a> {
    kept: &'a Kept,
    key: u128,
    started: Mutex<Option<Instant>>,
    seconds: Mutex<Option<f64>>,
}

impl ShapeStore for Without<'_> {
    fn load(&self, key: u128) -> Option<(VolumeShape, ShapeReport)> {
        if key == self.key {
            *lock(&self.started) = Some(Instant::now());
            return None;
        }
        self.kept.load(key)
    }

    fn save(&self, key: u128, _: &VolumeShape, _: &ShapeReport) {
        if key == self.key {
            *lock(&self.seconds) = lock(&self.started).map(|s| s.elapsed().as_secs_f64());
        }
    }
}

/// A poisoned lock only means that another thread panicked, which ends the benchmark anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
