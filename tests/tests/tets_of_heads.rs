//! Flesh volumes of real heads: from open, self-intersecting skins minus eyeballs, with lips apart.

use glam::{DVec3, Vec3};
use risorius_base::progress::{Flow, no_progress};
use risorius_io::open::{OpenOptions, open_rig};
use risorius_mesh::{
    Bvh, EmbedOptions, Embedding, Meshed, Quality, SolidDomain, TetOptions, TetProblem, TetTree, TriMesh,
    check, tetrahedralize,
};
use risorius_rig::{Evaluator, Rig};
use risorius_tests::data;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

const CENTIMETER: f64 = 0.01;

fn open_posed(path: &Path, slider: &str) -> (Rig, Vec<DVec3>) {
    let rig = open_rig(path, &OpenOptions::default(), &no_progress).unwrap().rig;
    let mut weights = vec![0.0; rig.sliders.len()];
    weights[rig.slider_index(slider).unwrap()] = 1.0;
    let pose = Evaluator::prepare(&rig).positions(&weights);
    let pose = pose.iter().map(|&p| Vec3::from(p).as_dvec3() * CENTIMETER).collect();
    (rig, pose)
}

/// The triangles of the first part whose file vertices all lie in `range`.
fn surface(rig: &Rig, pose: &[DVec3], range: Range<u32>) -> TriMesh {
    let part = &rig.parts[0];
    let triangles = part.faces.triangulated().into_iter().filter(|t| t.iter().all(|v| range.contains(v)));
    let triangles = triangles.map(|t| t.map(|v| part.rig_vertex[v as usize])).collect();
    TriMesh { positions: pose.to_vec(), triangles }
}

/// The box around the vertices that triangles use.
fn bounds(surface: &TriMesh) -> [DVec3; 2] {
    surface.corners().flatten().fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[a, b], p| [a.min(p), b.max(p)])
}

/// Meshes with about 9000 nodes, prints the time of each stage, and checks what must hold for any head.
fn mesh(name: &str, solid: &SolidDomain, bounds: [DVec3; 2]) -> Meshed {
    let stages = Mutex::new((Instant::now(), String::new(), String::new()));
    let start = Instant::now();
    let progress = |stage: &str, _: f32| -> Flow {
        let mut s = stages.lock().unwrap();
        if s.1 != stage {
            let line = format!(" {} {:.2} s", s.1, s.0.elapsed().as_secs_f64());
            s.2 += &line;
            (s.0, s.1) = (Instant::now(), stage.into());
        }
        Flow::Continue(())
    };
    let options = TetOptions { target_nodes: Some(9000), ..TetOptions::default() };
    let meshed = tetrahedralize(solid, bounds, &options, &progress).unwrap();
    let (n, n_tets) = (meshed.mesh.nodes.len(), meshed.mesh.tets.len());
    let quality = Quality::of(&meshed.mesh);
    let (seconds, stages) = (start.elapsed().as_secs_f64(), stages.into_inner().unwrap().2);
    println!("{name}: {n} nodes, {n_tets} tets, {seconds:.2} s:{stages}\n{:?}\n{quality:?}", meshed.report);
    assert!((8100..9900).contains(&n), "{name}: {n} nodes");
    assert_eq!(quality.n_inverted, 0, "{name}");
    assert!(quality.min_dihedral_deg > 8.0, "{name}: {quality:?}");
    let problems: Vec<TetProblem> =
        check(&meshed.mesh).into_iter().filter(|p| !matches!(p, TetProblem::Pieces(_))).collect();
    assert!(problems.is_empty(), "{name}: {problems:?}");
    meshed
}

#[test]
fn the_flesh_of_the_ict_head() {
    let Some(data) = data("the_flesh_of_the_ict_head") else { return };
    let (rig, pose) = open_posed(&data.join("ict_facekit/ict_expressions.glb"), "jawOpen");
    let (skin, eyeballs) = (surface(&rig, &pose, 0..14062), surface(&rig, &pose, 21451..24591));
    // Lips and lids: where the outer skin meets the inside of mouth and eye sockets.
    let at_border =
        |t: &&[u32; 3]| t.iter().any(|&v| v < 9409) && t.iter().any(|v| (11248..14062).contains(v));
    let part = &rig.parts[0];
    let fine: Vec<DVec3> = part
        .faces
        .triangulated()
        .iter()
        .filter(at_border)
        .flatten()
        .map(|&v| pose[part.rig_vertex[v as usize] as usize])
        .collect();
    let tree = Bvh::of_points(&fine.iter().map(|p| p.as_vec3().to_array()).collect::<Vec<_>>());
    let from_fine = |p: DVec3| tree.closest_vertex(p, 0.1).map_or(0.1, |(_, d)| d.sqrt());
    let size = |p: DVec3| (0.0015 + 0.15 * from_fine(p)).min(0.012);
    let meshed = mesh("ICT", &SolidDomain::prepare(&skin, &[&eyeballs], size), bounds(&skin));

    // Between the lips is air.
    let lips: Vec<DVec3> = fine.iter().copied().filter(|p| p.x.abs() < 0.004 && p.y < 0.0).collect();
    let (low, high) = lips.iter().fold((lips[0], lips[0]), |(l, h), &p| {
        (if p.y < l.y { p } else { l }, if p.y > h.y { p } else { h })
    });
    assert!(high.y - low.y > 0.02, "the mouth is open");
    let located = TetTree::prepare(&meshed.mesh);
    for i in 2..9 {
        let p = low.lerp(high, f64::from(i) / 10.0);
        assert_eq!(located.locate(&meshed.mesh, p, |_| true), None, "flesh between the lips at {p}");
    }
    // The boundary follows the skin to a fraction of the size.
    let embedded = Embedding::prepare(&meshed.mesh, &fine, &EmbedOptions::default(), |_, _| true);
    let mut off = embedded.distances.clone();
    off.sort_by(f64::total_cmp);
    let (middle, most) = (off[off.len() / 2], off[off.len() * 99 / 100]);
    println!(
        "lips and lids are off by {:.2} mm in the middle, {:.2} mm at most of 99 %",
        1e3 * middle,
        1e3 * most
    );
    assert!(middle < 0.001 && most < 0.004);
}

#[test]
fn the_flesh_of_the_makehuman_head() {
    let Some(data) = data("the_flesh_of_the_makehuman_head") else { return };
    let (rig, pose) = open_posed(&data.join("makehuman_male/makehuman_head_male.glb"), "ARKit_jawOpen");
    let skin = surface(&rig, &pose, 0..u32::MAX);
    // The front of the face is finer than the neck.
    let [_, max] = bounds(&skin);
    let size = |p: DVec3| 0.003 + 0.08 * (max.z - p.z).clamp(0.0, 0.15);
    let meshed = mesh("MakeHuman", &SolidDomain::prepare(&skin, &[], size), bounds(&skin));
    let volume: f64 = meshed.mesh.volumes().iter().sum();
    assert!((0.002..0.012).contains(&volume), "{volume} cubic meters");
}
