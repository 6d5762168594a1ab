//! Volumetric blendshapes: time of a frame of six iterations on the ICT head while it talks and turns, by
//! stages, beside [Ichim16, sec. 5], and its limit: the time to read the factor; and the distance of six
//! iterations from the converged solution.
//!
//! Arguments are numbers of nodes, by default 15000, or faces of the ICT head made by `build`.

use risorius_base::progress::no_progress;
use risorius_benches::{data_file, head as open_rig, read_bandwidth};
use risorius_flesh::{BuildOptions, Face, Surroundings, build};
use risorius_head::person::Identity;
use risorius_io::formats::clip_csv::ClipOptions;
use risorius_io::open::{open_clip, open_head};
use risorius_perform::{
    Frame, FrameReport, HeadPath, Performance, Scene, VolumetricFace, VolumetricOptions, volumetric,
};
use risorius_rig::Rig;
use std::ops::ControlFlow;

/// Frames of the range-of-motion clip that are simulated; lips press in most of them.
const FRAMES: std::ops::Range<usize> = 2380..2440;

/// Iterations of a frame in the paper.
const SIX: usize = 6;

fn main() {
    let mut cases: Vec<String> = std::env::args().skip(1).collect();
    if cases.is_empty() {
        cases.push("15000".into());
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
    motion.times_secs.iter_mut().for_each(|t| *t += clip.times_secs[FRAMES.start] - 1.0);
    let Ok((clip, _)) = clip.bind(&rig) else { return println!("the clip does not fit the rig") };
    let part = clip.frames(FRAMES);
    for case in cases {
        let Some(face) = face(&rig, &case) else { continue };
        let head = HeadPath::prepare(&motion, 0.01);
        measure(&face, &Performance { clip: &part, head, scene: Scene::default() });
    }
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

fn play(face: &Face, performance: &Performance, options: &VolumetricOptions) -> Played {
    let mut played: Played = Default::default();
    let mut sink = |frame: &Frame| {
        played.0.push(frame.vertices.to_vec());
        played.1.push(*frame.report);
        ControlFlow::Continue(())
    };
    if let Err(error) = volumetric(face, performance, options, None, &mut sink, &no_progress) {
        println!("  stopped: {error}");
    }
    played
}

fn measure(face: &Face, performance: &Performance) {
    println!("ICT head, {} nodes, {} tets", face.flesh.n_nodes(), face.flesh.tets.len());
    // One step a frame, as the paper has it.
    let six =
        VolumetricOptions { dt_secs: 1.0, iterations: SIX, tolerance: 0.0, ..VolumetricOptions::default() };
    let (frames, reports) = play(face, performance, &six);
    let later = reports.get(1..).unwrap_or_default();
    let n = later.len().max(1) as f64;
    let mean = |f: &dyn Fn(&FrameReport) -> f64| later.iter().map(f).sum::<f64>() / n;
    let ms = |f: &dyn Fn(&FrameReport) -> f64| 1000.0 * mean(f);
    let contacts = mean(&|r| r.contacts as f64);
    println!(
        "  a frame of {SIX} iterations takes {:.1} ms with {contacts:.0} contacts, {:.1} at worst; the paper 1200 with 80, 500 without; the aim is 25",
        ms(&|r| r.seconds),
        1000.0 * later.iter().map(|r| r.seconds).fold(0.0, f64::max)
    );
    let stage = |k: usize| ms(&|r| r.stage_secs[k]);
    println!(
        "  projections {:.1} ms, substitutions {:.1}, targets {:.1}, contacts {:.1}; posing {:.1}, everything else {:.1}",
        stage(0),
        stage(1),
        stage(2),
        stage(4),
        ms(&|r| r.posing_secs),
        ms(&|r| r.seconds - r.posing_secs - r.stage_secs.iter().sum::<f64>())
    );
    factor(face, &six, stage(1));
    let free = VolumetricOptions { contact: risorius_perform::ContactMode::Off, ..six };
    let (_, reports) = play(face, performance, &free);
    let later = reports.get(1..).unwrap_or_default();
    let secs = later.iter().map(|r| r.seconds).sum::<f64>() / later.len().max(1) as f64;
    println!("  without contact {:.1} ms, with the search for them at its end", 1000.0 * secs);
    converged(face, performance, &frames, &six);
}

/// The time of substitutions beside that of reading the factor as often.
fn factor(face: &Face, options: &VolumetricOptions, substitutions_ms: f64) {
    let scene = Scene::default();
    let Ok(prepared) = VolumetricFace::prepare(face, &scene, options) else { return };
    let Ok(n_bytes) = prepared.factor_bytes() else { return };
    let read_ms = 2.0 * SIX as f64 * 1000.0 * n_bytes as f64 / read_bandwidth(n_bytes);
    println!(
        "  its factor has {:.1} MB; to read it twice an iteration takes {read_ms:.1} ms, the substitutions {:.1} times that",
        n_bytes as f64 / 1e6,
        substitutions_ms / read_ms
    );
}

/// How far six iterations, and the usual ones, are from the converged solution.
fn converged(face: &Face, performance: &Performance, six: &[Vec<[f32; 3]>], options: &VolumetricOptions) {
    let tight = VolumetricOptions { iterations: 1000, tolerance: 1e-8, ..*options };
    let (exact, reports) = play(face, performance, &tight);
    let moved = reports.iter().map(|r| r.mean_mm).sum::<f64>() / reports.len().max(1) as f64;
    let usual = VolumetricOptions { dt_secs: 1.0, ..VolumetricOptions::default() };
    let (usual, usual_reports) = play(face, performance, &usual);
    let n = usual_reports.len().max(1) as f64;
    let iterations = usual_reports.iter().map(|r| r.iterations[0]).sum::<usize>() as f64 / n;
    println!("  distance from the converged take, which moves the skin by {moved:.3} mm on average:");
    for (name, frames, iterations) in [("six", six, SIX as f64), ("usual", usual.as_slice(), iterations)] {
        let [mean, most] = distance_mm(face, frames, &exact);
        println!("    {name} ({iterations:.0} iterations): {mean:.4} mm on average, {most:.3} mm at most");
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
