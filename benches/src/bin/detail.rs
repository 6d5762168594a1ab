//! Detail at the paper's size: 530k vertices, 89 handles, six poses. Learning time and memory; time of a
//! frame by stages on one and two threads, compared with the paper's and with the time to read as many bytes
//! in the same run.

use glam::{DVec3, Vec3};
use risorius_benches::{head, median_secs, on_threads, read_bandwidth};
use risorius_detail::player::PlayedFrame;
use risorius_detail::synthetic::{Refined, Wrinkles};
use risorius_detail::{DetailPlayer, Examples, LearnOptions, handles, learn};
use risorius_mesh::FileMesh;
use risorius_rig::{Evaluator, Rig};
use std::time::Instant;

/// The paper's example.
const VERTICES: usize = 530_000;
const HANDLES: usize = 89;
const POSES: [&[&str]; 5] = [
    &["jawOpen"],
    &["mouthSmile_L", "mouthSmile_R", "cheekSquint_L", "cheekSquint_R"],
    &["browInnerUp_L", "browInnerUp_R", "browOuterUp_L", "browOuterUp_R"],
    &["browDown_L", "browDown_R", "noseSneer_L", "noseSneer_R", "eyeBlink_L", "eyeBlink_R"],
    &["mouthPucker", "mouthFunnel"],
];

fn main() {
    let size = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(VERTICES);
    let Some(rig) = head("ict_facekit/ict_expressions.glb") else { return };
    let start = Instant::now();
    let (mesh, mut examples) = wrinkled(&rig, size);
    println!(
        "{} vertices, {} triangles; examples made in {:.1} s",
        mesh.n_vertices(),
        mesh.triangles.len(),
        start.elapsed().as_secs_f64()
    );
    let motion: Vec<f32> = (0..mesh.n_vertices())
        .map(|v| {
            let from = Vec3::from(mesh.positions[v]);
            examples.positions.iter().map(|p| from.distance(Vec3::from(p[v]))).fold(0.0, f32::max)
        })
        .collect();
    let start = Instant::now();
    let chosen = handles::choose(&mesh, &motion, HANDLES).unwrap_or_default();
    println!("{} handles chosen in {:.2} s", chosen.len(), start.elapsed().as_secs_f64());
    let start = Instant::now();
    let stages = std::sync::Mutex::new((String::new(), Instant::now()));
    let progress = |stage: &str, _: f32| {
        if let Ok(mut last) = stages.lock()
            && last.0 != stage
        {
            if !last.0.is_empty() {
                println!("  {:24} {:6.2} s", last.0, last.1.elapsed().as_secs_f64());
            }
            *last = (stage.into(), Instant::now());
        }
        std::ops::ControlFlow::Continue(())
    };
    let learned = learn(mesh, &chosen, None, &examples, &LearnOptions::default(), &progress);
    let Ok(detail) = learned.map_err(|error| println!("{error}")) else { return };
    println!(
        "learned in {:.1} s ({} gauges, {} poses); peak memory {:.0} MB",
        start.elapsed().as_secs_f64(),
        detail.features.edges.len(),
        detail.poses.len(),
        peak_mb()
    );
    println!(
        "computing the basis at this size: CHOLMOD 18 s and 2.8 GB, libigl 110 s, on this class of machine"
    );
    let start = Instant::now();
    let Ok(player) = DetailPlayer::prepare(&detail).map_err(|error| println!("{error}")) else { return };
    let bytes = player.n_bytes();
    let per_vertex = bytes.map(|b| b as f64 / detail.mesh.n_vertices() as f64);
    println!(
        "packed in {:.1} s: {:.0} + {:.0} + {:.0} bytes per vertex (large, fine, normals); the paper: 137 floats and 24 integers, 644 bytes",
        start.elapsed().as_secs_f64(),
        per_vertex[0],
        per_vertex[1],
        per_vertex[2]
    );
    // Between two poses and moved, so that nothing is at rest.
    let between = |v: u32| {
        let [a, b] = [1, 3].map(|k| Vec3::from(examples.positions[k][v as usize]).as_dvec3());
        DVec3::new(0.1, 0.2, 0.3) + a.lerp(b, 0.6)
    };
    let pose: Vec<DVec3> = chosen.iter().map(|&v| between(v)).collect();
    let exact = detail.by_definition(&pose);
    let mut stage = PlayedFrame::default();
    if let Err(error) = player.frame(&pose, &mut stage) {
        return println!("{error}");
    }
    let mut positions = Vec::new();
    player.in_mesh_order(&stage.positions, &mut positions);
    let worst =
        positions.iter().zip(&exact).map(|(a, b)| Vec3::from(*a).as_dvec3().distance(*b)).fold(0.0, f64::max);
    let wrinkle = detail
        .displacements
        .iter()
        .flat_map(|of| of.iter())
        .map(|d| Vec3::from(*d).length())
        .fold(0.0, f32::max);
    println!(
        "packing error at most {:.4} mm; the largest fine displacement is {:.2} mm",
        10.0 * worst,
        10.0 * wrinkle
    );
    println!(
        "\n{:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "threads", "frame ms", "large", "fine", "normals", "+ reorder", "reading ms"
    );
    examples.positions.clear();
    for threads in [1, 2] {
        on_threads(threads, || {
            let mut parts = [0.0; 3];
            let mut n = 0;
            let seconds = median_secs(41, || {
                _ = player.frame(&pose, &mut stage);
                (0..3).for_each(|k| parts[k] += stage.seconds[k]);
                n += 1;
            });
            let [mut x, mut normals] = [Vec::new(), Vec::new()];
            let reorder = median_secs(21, || {
                player.in_mesh_order(&stage.positions, &mut x);
                player.in_mesh_order(&stage.normals, &mut normals);
            });
            // The model, and positions passed between passes: 16 bytes written and read twice, 24 as output.
            let read = bytes.iter().sum::<usize>() + detail.mesh.n_vertices() * (4 * 16 + 24);
            let limit = read as f64 / read_bandwidth(read);
            let [large, fine, normals] = parts.map(|p| 1000.0 * p / n as f64);
            println!(
                "{threads:>7} {:>9.1} {large:>9.1} {fine:>9.1} {normals:>9.1} {:>9.1} {:>12.1}",
                1000.0 * seconds,
                1000.0 * reorder,
                1000.0 * limit
            );
        });
    }
    println!(
        "numba, the same frame on this class of machine: 47 ms on one core, 24 on two (large 5, fine 11.5, normals 2 x 3.5)"
    );
    println!("the paper: 4000 ms on a processor; 4 + 13 + 2 x 5 ms on a graphics card");
}

/// The front of the head's skin with about `size` vertices, and wrinkled poses of it.
fn wrinkled(rig: &Rig, size: usize) -> (FileMesh, Examples) {
    let refined =
        Refined::front_of(&FileMesh { positions: rig.neutral.clone(), triangles: rig.triangles() }, size);
    let wrinkles = Wrinkles::prepare(&refined.mesh, 0.35);
    let evaluator = Evaluator::prepare(rig);
    let pose = |names: &&[&str]| {
        let on = |name: &String| f32::from(u8::from(names.contains(&name.as_str())));
        let weights: Vec<f32> = rig.sliders.iter().map(|s| on(&s.name)).collect();
        wrinkles.on(&refined.fine(&evaluator.positions(&weights)))
    };
    let examples = Examples {
        names: POSES.iter().map(|names| names.join(" ")).collect(),
        positions: POSES.iter().map(pose).collect(),
        plain: Vec::new(),
    };
    drop(wrinkles);
    (refined.mesh, examples)
}

/// Peak memory of the process, MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok())
        .map_or(f64::NAN, |kb| kb / 1024.0)
}
