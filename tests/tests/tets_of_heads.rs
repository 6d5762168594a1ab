//! Flesh volumes of real heads: skins that are open and cross themselves, minus what is not flesh.

use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::progress::{Flow, silent};
use risorius_mesh::{Bvh, Meshed, Quality, Solid, Surface, TetOptions, tetrahedralize};
use risorius_rig::{Evaluator, Rig};
use risorius_tests::data;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

fn open(path: &Path) -> Rig {
    open_rig(path, &OpenOptions::default(), &silent).unwrap().rig
}

/// The triangles of the first part whose file vertices all lie in `ranges`, at the pose, in meters.
fn part_surface(rig: &Rig, pose: &[[f32; 3]], scale: f64, ranges: &[Range<u32>]) -> Surface {
    let part = &rig.parts[0];
    let within = |t: &[u32; 3]| t.iter().all(|v| ranges.iter().any(|r| r.contains(v)));
    let triangles: Vec<[u32; 3]> = part.faces.triangulated().into_iter().filter(within).collect();
    Surface {
        positions: pose.iter().map(|&p| glam_of(p) * scale).collect(),
        triangles: triangles.iter().map(|t| t.map(|v| part.rig_vertex[v as usize])).collect(),
    }
}

fn glam_of(p: [f32; 3]) -> glam::DVec3 {
    glam::Vec3::from(p).as_dvec3()
}

fn pose_of(rig: &Rig, sliders: &[(&str, f32)]) -> Vec<[f32; 3]> {
    let mut weights = vec![0.0; rig.sliders.len()];
    for (name, value) in sliders {
        if let Some(i) = rig.slider_index(name) {
            weights[i] = *value;
        }
    }
    Evaluator::prepare(rig).positions(&weights)
}

/// The bounds of the vertices that triangles use.
fn bounds(surface: &Surface) -> [glam::DVec3; 2] {
    surface
        .corners()
        .flatten()
        .fold([glam::DVec3::INFINITY, glam::DVec3::NEG_INFINITY], |[a, b], p| [a.min(p), b.max(p)])
}

/// Meshes and tells how long each stage took.
fn timed(name: &str, solid: &Solid, bounds: [glam::DVec3; 2], options: &TetOptions) -> Meshed {
    let stages = Mutex::new((Instant::now(), String::new()));
    let start = Instant::now();
    let told = |stage: &str, _: f32| -> Flow {
        let mut s = stages.lock().unwrap();
        let line = format!(" {:.2} s, {stage}", s.0.elapsed().as_secs_f64());
        s.1 += &line;
        s.0 = Instant::now();
        Flow::Continue(())
    };
    let meshed = tetrahedralize(solid, bounds, options, &told).unwrap();
    let (nodes, tets) = (meshed.mesh.nodes.len(), meshed.mesh.tets.len());
    println!(
        "{name}: {nodes} nodes, {tets} tets, {:.2} s:{}",
        start.elapsed().as_secs_f64(),
        stages.into_inner().unwrap().1
    );
    println!("{:?}\n{:?}", meshed.report, Quality::of(&meshed.mesh));
    meshed
}

#[test]
fn the_flesh_of_the_ict_head() {
    let Some(data) = data("the_flesh_of_the_ict_head") else { return };
    let rig = open(&data.join("ict_facekit/ict_expressions.glb"));
    let pose = pose_of(&rig, &[("jawOpen", 1.0)]);
    let (skin_range, socket, eyes) = (0..14062, 11248..14062, 21451..24591);
    let skin = part_surface(&rig, &pose, 0.01, &[skin_range]);
    let eyeballs = part_surface(&rig, &pose, 0.01, &[eyes]);
    // Lips and lids: the border between the outer skin and the sockets.
    let faces = rig.parts[0].faces.triangulated();
    let mixed = |t: &&[u32; 3]| t.iter().any(|v| *v < 9409) && t.iter().any(|v| socket.contains(v));
    let fine: Vec<[f32; 3]> = faces
        .iter()
        .filter(mixed)
        .flatten()
        .map(|&v| (glam_of(pose[rig.parts[0].rig_vertex[v as usize] as usize]) * 0.01).as_vec3().to_array())
        .collect();
    assert!(!fine.is_empty());
    let near_fine = Bvh::of_points(&fine);
    let size = |p| {
        let d = near_fine.closest_vertex(p, 0.1).map_or(0.1, |(_, d)| d.sqrt());
        (0.0015 + 0.15 * d).min(0.012)
    };
    let start = Instant::now();
    let solid = Solid::prepare(&skin, &[&eyeballs], size);
    println!("prepared in {:.3} s", start.elapsed().as_secs_f64());
    let options = TetOptions { target_nodes: Some(9000), ..TetOptions::default() };
    let meshed = timed("ICT", &solid, bounds(&skin), &options);
    assert_eq!(Quality::of(&meshed.mesh).n_inverted, 0);
    let n = meshed.mesh.nodes.len() as f64;
    assert!((0.9..1.1).contains(&(n / 9000.0)), "{n} nodes");
}
