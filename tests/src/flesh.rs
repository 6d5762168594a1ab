//! Faces built from real heads once per test run, and slits found independently of the meshing pipeline.

use crate::anatomy::open;
use crate::data;
use glam::DVec3;
use risorius_anatomy::pieces::{PieceKind, Pieces};
use risorius_base::progress::no_progress;
use risorius_flesh::{BuildError, BuildOptions, Face, Surroundings, build};
use risorius_head::person::{Head, Identity};
use risorius_mesh::TriMesh;
use risorius_rig::classify::names;
use risorius_rig::{Evaluator, Rig};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Heads from which faces are built, by file; the built-in one has none.
pub const HEADS: [(&str, &str); 4] = [
    ("facecap", "facecap/facecap_plain.glb"),
    ("built-in", ""),
    ("makehuman", "makehuman_male/makehuman_head_male.glb"),
    ("ict", "ict_facekit/ict_expressions.glb"),
];

/// The built-in head with its shapes.
pub static HEAD: LazyLock<Head> = LazyLock::new(|| risorius_head::build(&Identity::default()));

/// Whether long tests are requested.
pub fn is_full() -> bool {
    std::env::var_os("RISORIUS_FULL").is_some()
}

/// Builds a face with about `nodes` nodes.
pub fn build_small(rig: &Rig, nodes: usize) -> Result<Face, BuildError> {
    let mut options = BuildOptions::default();
    options.volume.nodes = nodes;
    build(rig, &HEAD, &options, &Surroundings { progress: &no_progress, store: &(), peak_mb: &|| 0.0 })
}

/// The slider with an ARKit name, in any spelling.
pub fn slider(rig: &Rig, name: &str) -> Option<usize> {
    let wanted = names::arkit_index(name);
    (0..rig.sliders.len()).find(|&s| names::arkit_index(&rig.sliders[s].name) == wanted)
}

/// Faces of 3,000 nodes, each built on first use.
static FACES: [LazyLock<Option<Face>>; 4] = [
    LazyLock::new(|| face(0)),
    LazyLock::new(|| face(1)),
    LazyLock::new(|| face(2)),
    LazyLock::new(|| face(3)),
];

fn face(i: usize) -> Option<Face> {
    let (name, path) = HEADS[i];
    let rig = if path.is_empty() { HEAD.rig.clone() } else { open(&data(name)?, path) };
    let start = std::time::Instant::now();
    let face = build_small(&rig, 3000).unwrap_or_else(|e| panic!("{name}: {e}"));
    println!("{name}: built in {:.1} s", start.elapsed().as_secs_f64());
    face.report.stages.iter().for_each(|s| println!("  {:16} {:.1} s", s.name, s.seconds));
    Some(face)
}

/// The available heads and their faces.
pub fn faces() -> impl Iterator<Item = (&'static str, &'static Face)> {
    (0..HEADS.len()).filter_map(|i| Some((HEADS[i].0, FACES[i].as_ref()?)))
}

/// Pairs of skin vertices closer than 3 mm, more than 15 mm apart along edges, that `jawOpen` separates by
/// more than 5 mm.
pub fn lip_pairs(rig: &Rig, pieces: &Pieces) -> Vec<[u32; 2]> {
    let Some(jaw) = slider(rig, "jawOpen") else { return Vec::new() };
    let mut weights = vec![0.0; rig.sliders.len()];
    weights[jaw] = 1.0;
    let open = Evaluator::prepare(rig).positions(&weights);
    let scale = 1000.0 * rig.space.meters_per_unit;
    let apart = |[a, b]: [u32; 2]| {
        scale
            * glam::Vec3::from(open[a as usize])
                .as_dvec3()
                .distance(glam::Vec3::from(open[b as usize]).as_dvec3())
    };
    let edges = edges(pieces);
    let at = |v: u32| pieces.positions[v as usize];
    let mut by_x = pieces.vertices(PieceKind::Skin);
    by_x.sort_by(|&a, &b| at(a).x.total_cmp(&at(b).x));
    let mut pairs = Vec::new();
    for (i, &a) in by_x.iter().enumerate() {
        let near: Vec<u32> = (by_x[i + 1..].iter().copied())
            .take_while(|&b| at(b).x - at(a).x < 0.003)
            .filter(|&b| at(a).distance(at(b)) < 0.003 && apart([a, b]) > 5.0)
            .collect();
        if !near.is_empty() {
            let reached = walk(&edges, pieces, a, 0.015);
            pairs.extend(near.into_iter().filter(|b| !reached.contains_key(b)).map(|b| [a, b]));
        }
    }
    pairs
}

/// For each vertex, the vertices that share an edge with it.
fn edges(pieces: &Pieces) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); pieces.positions.len()];
    for t in &pieces.skin {
        for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
            all[a as usize].push(b);
            all[b as usize].push(a);
        }
    }
    all
}

/// Vertices within `reach` along edges, by plain relaxation instead of the pipeline's priority queue.
fn walk(edges: &[Vec<u32>], pieces: &Pieces, start: u32, reach: f64) -> BTreeMap<u32, f64> {
    let mut best = BTreeMap::from([(start, 0.0)]);
    let mut work = vec![start];
    while let Some(v) = work.pop() {
        for &w in &edges[v as usize] {
            let length = best[&v] + pieces.positions[v as usize].distance(pieces.positions[w as usize]);
            if length <= reach && best.get(&w).is_none_or(|&old| length < old) {
                best.insert(w, length);
                work.push(w);
            }
        }
    }
    best
}

/// Winding number of `surface` around `p`, by the solid angles of all its triangles.
pub fn winding(surface: &TriMesh, p: DVec3) -> f64 {
    let angle = |corners: [DVec3; 3]| {
        let [a, b, c] = corners.map(|v| v - p);
        let (la, lb, lc) = (a.length(), b.length(), c.length());
        let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
        2.0 * a.dot(b.cross(c)).atan2(below)
    };
    surface.corners().map(angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}
