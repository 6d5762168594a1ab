//! Performing: time of a step of [Kozlov17, alg. 1] on the ICT head while it talks and turns, mean and worst,
//! by stages, compared with the paper's; and the distance of the fast solves from Newton's method with a
//! tight tolerance.
//!
//! Arguments are numbers of nodes, by default 9000, or faces of the ICT head made by `build` (one of 100,000
//! nodes takes 24 minutes). Several arguments give a table of how time and memory grow, and of how close an
//! iteration is to the time of reading its data.

use glam::DVec3;
use risorius_base::Fingerprint;
use risorius_base::progress::no_progress;
use risorius_benches::{data_file, head as open_rig, median_secs, read_bandwidth};
use risorius_flesh::{BuildOptions, Face, Surroundings, build};
use risorius_head::person::Identity;
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::open::{open_clip, open_head};
use risorius_linalg::sparse::block_index;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NodeGraph, Order, Pattern, SparseCholesky, Sweep, SweepSpace,
};
use risorius_perform::{EnrichOptions, Frame, FrameReport, HeadPath, Performance, Scene, Stepping, enrich};
use risorius_rig::{BoundClip, Rig};

use std::ops::ControlFlow;
use std::sync::Arc;

/// Frames of the range-of-motion clip that are simulated: about 300 steps.
const FRAMES: std::ops::Range<usize> = 2380..2440;

/// For more nodes than this, fewer frames are simulated, at least two: the body settles in the first.
const USUAL_NODES: usize = 9000;

/// Newton's method is too slow for more nodes than this.
const COMPARED_NODES: usize = 12000;

/// Frames that are compared with the reference.
const COMPARED: usize = 4;

/// Formulas of time steps are compared on flesh of at most this many nodes, over so many frames.
const STEPPED_NODES: usize = 3000;
const STEPPED: usize = 20;

fn main() {
    let mut cases: Vec<String> = std::env::args().skip(1).collect();
    if cases.is_empty() {
        cases.push(USUAL_NODES.to_string());
    }
    let (Some(rig), Some(clip), Some(motion)) = (
        open_rig("ict_facekit/ict_expressions.glb"),
        data_file("performances/livelink_rom.csv"),
        data_file("head_motion/42_01_head.csv"),
    ) else {
        return;
    };
    let clip = open_clip(&clip, &ClipOptions::default(), &no_progress).map(|c| c.clip);
    let motion = open_head(&motion, None, &ClipOptions::default(), &no_progress).map(|h| h.motion);
    let (Ok(clip), Ok(mut motion)) = (clip, motion) else { return println!("the recordings do not open") };
    // The second from 1 s on, with the fastest turns, during the talking part of the clip.
    motion.times_secs.iter_mut().for_each(|t| *t += clip.times_secs[FRAMES.start] - 1.0);
    let Ok((clip, _)) = clip.bind(&rig) else { return println!("the clip does not fit the rig") };
    let mut rows = Vec::new();
    for case in cases {
        let Some(face) = face(&rig, &case) else { continue };
        let n = face.flesh.n_nodes();
        let smaller = (USUAL_NODES as f64 / n.max(1) as f64).powf(1.5);
        let frames = ((FRAMES.len() as f64 * smaller) as usize).clamp(2, FRAMES.len());
        let part = |frames: usize| clip.frames(FRAMES.start..FRAMES.start + frames);
        let on = |clip: &BoundClip, run: &mut dyn FnMut(&Performance)| {
            run(&Performance { clip, head: HeadPath::prepare(&motion, 0.01), scene: Scene::default() });
        };
        on(&part(frames), &mut |performance| rows.push(measure(&face, performance)));
        if face.flesh.n_nodes() <= STEPPED_NODES {
            on(&part(STEPPED), &mut |performance| compare_stepping(&face, performance));
        }
        if face.flesh.n_nodes() <= COMPARED_NODES {
            on(&part(COMPARED), &mut |performance| compare(&face, performance));
        }
    }
    table(&rows);
}

fn face(rig: &Rig, case: &str) -> Option<Face> {
    let Ok(nodes) = case.parse() else {
        return risorius_io::native::face::open(case.as_ref())
            .map_err(|error| println!("{case}: {error}"))
            .ok();
    };
    let mut options = BuildOptions::default();
    options.volume.nodes = nodes;
    let around = Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 };
    build(rig, &risorius_head::build(&Identity::default()), &options, &around)
        .map_err(|error| println!("no face of {nodes} nodes: {error}"))
        .ok()
}

/// Frames and reports.
type Played = (Vec<Vec<[f32; 3]>>, Vec<FrameReport>);

fn play(face: &Face, performance: &Performance, options: &EnrichOptions) -> Played {
    let mut played: Played = Default::default();
    let mut sink = |frame: &Frame| {
        played.0.push(frame.vertices.to_vec());
        played.1.push(*frame.report);
        ControlFlow::Continue(())
    };
    if let Err(error) = enrich(face, performance, options, None, &mut sink, &no_progress) {
        println!("  stopped: {error}");
    }
    played
}

/// Measurements of one size.
struct Row {
    nodes: usize,
    tets: usize,
    step_ms: f64,
    solve_ms: f64,
    iterations: f64,
    resident_mb: f64,
    /// Bytes that an iteration reads and writes.
    moved: f64,
}

/// Bytes that an iteration of the solves moves, and the time of a solve with the factor beside that of
/// reading it. Per tet: rest shape, material and viscosity, nodes, scatter indices and energies. Per node:
/// eight L-BFGS pairs, twice, and about fourteen more vectors. The factor: forward and back.
fn moved_bytes(face: &Face) -> f64 {
    let flesh = &face.flesh;
    let of_tet = 23 * 8 + 16 + 8 + 3 * 8;
    let of_node = (2 * 2 * 8 + 14) * 24;
    let factor = factor(face).map_or(0, |sweep| {
        let b: Vec<DVec3> = (0..flesh.n_nodes()).map(|n| DVec3::splat((n % 7) as f64 - 3.0)).collect();
        let (mut x, mut space) = (b.clone(), SweepSpace::default());
        let ms = 1000.0 * median_secs(30, || sweep.solve(&b, &mut x, &mut space));
        let n_bytes = sweep.n_bytes();
        let read_ms = 2.0 * 1000.0 * n_bytes as f64 / read_bandwidth(n_bytes);
        println!(
            "  a solve with the factor ({:.1} MB) takes {ms:.2} ms; reading it once per substitution {read_ms:.2} ms: {:.1} times that",
            n_bytes as f64 / 1e6,
            ms / read_ms
        );
        n_bytes
    });
    (flesh.tets.len() * of_tet + flesh.n_nodes() * of_node + 2 * factor) as f64
}

/// A factor of the pattern that the solves have.
fn factor(face: &Face) -> Option<Sweep> {
    let flesh = &face.flesh;
    let held = flesh.kinematic_nodes();
    let graph = NodeGraph::ordered(&held, &[&flesh.tets], Order::NestedDissection).ok()?;
    let pattern = Arc::new(Pattern::<1>::prepare(&graph).ok()?);
    let mut element: ElementBlocks<1> = [[[-1.0]]; 10];
    (0..4).for_each(|a| element[block_index(a, a)] = [[3.0]]);
    let mut matrix = BlockMatrix::zeros(&pattern);
    let elements = vec![element; flesh.tets.len()];
    matrix.add(&pattern, &Gather::prepare(&pattern, &flesh.tets), &elements);
    matrix.add_to_diagonal(&pattern, 1.0);
    Some(Sweep::prepare(&SparseCholesky::new(&pattern, &matrix).ok()?))
}

/// Resident memory of the process, MB; 0 if the system does not report it.
fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

fn table(rows: &[Row]) {
    println!(
        "  nodes    tets    ms/step  iterations     ms/iteration  MB moved  ms to read as much  share  MB resident"
    );
    for row in rows {
        let each = row.solve_ms / row.iterations;
        let limit = 1000.0 * row.moved / read_bandwidth(row.moved as usize);
        println!(
            "{:7} {:7} {:10.1} {:11.1} {:16.2} {:9.1} {:19.2} {:5.0}% {:12.0}",
            row.nodes,
            row.tets,
            row.step_ms,
            row.iterations,
            each,
            row.moved / 1e6,
            limit,
            100.0 * limit / each,
            row.resident_mb
        );
    }
    println!(
        "  share: time to read the data of an iteration on all threads, relative to the iteration; the rest is"
    );
    println!(
        "  arithmetic on tets, triangular solves, which are sequential on one thread, and idle threads."
    );
}

fn measure(face: &Face, performance: &Performance) -> Row {
    let (frames, reports) = play(face, performance, &EnrichOptions::default());
    // In the first frame the body settles, without time steps.
    let settled = usize::from(reports.len() > 1);
    let reports = &reports[settled.min(reports.len())..];
    let steps = reports.iter().map(|r| r.steps).sum::<usize>().max(1) as f64;
    let per_step = |f: &dyn Fn(&FrameReport) -> f64| reports.iter().map(f).sum::<f64>() / steps;
    let milliseconds = |f: &dyn Fn(&FrameReport) -> f64| 1000.0 * per_step(f);
    let stage = |k: usize| milliseconds(&|r| r.stage_secs[k]);
    println!("ICT head, {} nodes, {} tets, {steps} steps", face.flesh.n_nodes(), face.flesh.tets.len());
    println!(
        "  a step takes {:.1} ms, at worst {:.1}; the paper up to 4000 (9k nodes, another machine); the aim at 9k nodes is 30",
        milliseconds(&|r| r.seconds),
        1000.0 * reports.iter().map(|r| r.slowest_step_secs).fold(0.0, f64::max)
    );
    println!(
        "  rest shapes {:.1} ms, dynamic solves {:.1} ({:.1} iterations), static solves {:.1} ({:.1} iterations), factors {:.1}, contacts {:.1}",
        stage(0),
        stage(1),
        per_step(&|r| r.iterations[0] as f64),
        stage(2),
        per_step(&|r| r.iterations[1] as f64),
        stage(3),
        stage(4)
    );
    let stages = |r: &FrameReport| r.stage_secs.iter().sum::<f64>();
    println!(
        "  posing {:.1} ms (rest volumes and overlaps, spread over the steps of a frame), everything else {:.1}",
        milliseconds(&|r| r.posing_secs),
        milliseconds(&|r| r.seconds - r.posing_secs - stages(r))
    );
    let print = frames
        .iter()
        .flatten()
        .flatten()
        .fold(Fingerprint::default(), |print, x| print.bytes(&x.to_le_bytes()));
    let deepest = reports.iter().map(|r| r.depth_mm).fold(0.0, f64::max);
    println!("  at most {deepest:.3} mm deep; fingerprint of the frames {print}");
    Row {
        nodes: face.flesh.n_nodes(),
        tets: face.flesh.tets.len(),
        step_ms: milliseconds(&|r| r.seconds),
        solve_ms: stage(1) + stage(2),
        iterations: per_step(&|r| (r.iterations[0] + r.iterations[1]) as f64),
        resident_mb: resident_mb(),
        moved: moved_bytes(face),
    }
}

/// Distance of takes in steps of several lengths from a take in very short steps.
fn compare_stepping(face: &Face, performance: &Performance) {
    let run = |stepping: Stepping, per_second: f64| {
        let options = EnrichOptions { stepping, dt_secs: 1.0 / per_second, ..EnrichOptions::default() };
        play(face, performance, &options)
    };
    let (exact, reports) = run(Stepping::Bdf2, 1200.0);
    let moved = reports.iter().map(|r| r.mean_mm).sum::<f64>() / reports.len().max(1) as f64;
    let most = reports.iter().map(|r| r.max_mm).fold(0.0, f64::max);
    println!(
        "  distance from BDF2 in steps of 1/1200 s, which moves {moved:.3} mm on average, {most:.2} at most:"
    );
    let cases = [
        (Stepping::BackwardEuler, [300.0, 150.0, 60.0].as_slice()),
        (Stepping::Bdf2, &[300.0, 150.0, 120.0, 90.0, 60.0]),
    ];
    for (stepping, rates) in cases {
        for &rate in rates {
            let (frames, reports) = run(stepping, rate);
            let [mean, most] = distance_mm(face, &frames, &exact);
            let later = reports.get(1..).unwrap_or_default();
            let seconds = later.iter().map(|r| r.seconds).sum::<f64>() / later.len().max(1) as f64;
            println!(
                "    {stepping:?} 1/{rate} s: {mean:.4} mm on average, {most:.3} mm at most; {:.0} ms a frame",
                1000.0 * seconds
            );
        }
    }
}

/// Mean and largest distance between two takes, mm.
fn distance_mm(face: &Face, a: &[Vec<[f32; 3]>], b: &[Vec<[f32; 3]>]) -> [f64; 2] {
    let mm = 1000.0 * face.rig.space.meters_per_unit;
    let apart =
        |a: &[f32; 3], b: &[f32; 3]| (0..3).map(|k| f64::from(a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
    let all: Vec<f64> = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| mm * apart(a, b)).collect();
    [all.iter().sum::<f64>() / all.len().max(1) as f64, all.iter().fold(0.0, |m, d| d.max(m))]
}

fn compare(face: &Face, performance: &Performance) {
    let usual = EnrichOptions::default();
    let mut tight = EnrichOptions { reference: true, ..usual };
    (tight.solve.force_tolerance, tight.solve.step_tolerance) = (1e-10, 1e-12);
    let (fast, _) = play(face, performance, &usual);
    let (exact, reports) = play(face, performance, &tight);
    let [_, worst] = distance_mm(face, &fast, &exact);
    let moved = reports.iter().map(|r| r.max_mm).fold(0.0, f64::max);
    let steps = reports.iter().map(|r| r.steps).sum::<usize>().max(1) as f64;
    println!(
        "  Newton's method to 1e-10 N takes {:.0} ms per step; after {} frames the fast solver is {worst:.4} mm from it, of {moved:.2} mm moved\n",
        1000.0 * reports.iter().map(|r| r.seconds).sum::<f64>() / steps,
        performance.clip.n_frames()
    );
}
