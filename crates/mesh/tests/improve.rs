//! The steps of tet meshing, each by its invariants: lattice, separation at nodes, edge collapse, swapping,
//! smoothing.

use glam::{DVec3, UVec3};
use risorius_base::progress::no_progress;
use risorius_mesh::tet::clean::{drop_small_pieces, part_at_nodes};
use risorius_mesh::tet::collapse::collapse_short;
use risorius_mesh::tet::improve::{ImproveOptions, onto_boundary, peel, smooth};
use risorius_mesh::tet::lattice::Lattice;
use risorius_mesh::tet::octree::{Decision, Octree};
use risorius_mesh::tet::swap::swap_poor;
use risorius_mesh::{Domain, Meshed, Quality, TetMesh, TetOptions, TetProblem, check, tetrahedralize};

/// A sheet with a bend and a hole, thinner than the requested size.
struct Sheet;

impl Domain for Sheet {
    fn value(&self, p: DVec3) -> f64 {
        let off = p.z - 0.2 * (2.0 * p.x).sin();
        (0.07 - off.abs()).min(1.0 - p.length()).min(p.truncate().length() - 0.3)
    }
    fn size(&self, _: DVec3) -> f64 {
        0.16
    }
}

/// The sheet as it comes from the cut, with slivers.
fn sheet() -> Meshed {
    let options = TetOptions { improve: None, ..TetOptions::default() };
    tetrahedralize(&Sheet, [DVec3::splat(-1.1), DVec3::splat(1.1)], &options, &no_progress).unwrap()
}

fn volume(mesh: &TetMesh) -> f64 {
    mesh.volumes().iter().sum()
}

/// Euler characteristic of the boundary, which no step may change.
fn euler(mesh: &TetMesh) -> i64 {
    let faces = mesh.boundary().len() as i64;
    let nodes = mesh.boundary_nodes().iter().filter(|&&b| b).count() as i64;
    nodes - faces / 2
}

fn assert_sound(mesh: &TetMesh, step: &str) {
    let found: Vec<TetProblem> =
        check(mesh).into_iter().filter(|p| !matches!(p, TetProblem::Flat(_))).collect();
    assert!(found.is_empty(), "{step}: {found:?}");
}

#[test]
fn a_graded_lattice_fills_its_box_without_overlap() {
    let fine = |center: DVec3, side: f64| {
        let near = center.distance(DVec3::new(0.3, 1.1, 0.7)) < 1.5 * side;
        if near && side > 0.06 { Decision::Split } else { Decision::Keep }
    };
    let tree = Octree::grow(DVec3::ZERO, 0.5, UVec3::splat(4), 0, &fine).unwrap();
    let lattice = Lattice::of(&tree);
    let mesh = TetMesh { nodes: lattice.nodes, tets: lattice.tets };
    assert_eq!(check(&mesh), []);
    let quality = Quality::of(&mesh);
    assert!(quality.min_dihedral_deg > 44.9 && quality.max_dihedral_deg < 120.1, "{quality:?}");
    // Cubes at the border have no neighbor to fill the pyramid there: a sixth of each on each of its sides.
    let boundary = mesh.boundary_surface();
    assert!((boundary.volume() - volume(&mesh)).abs() < 1e-12);
    assert!(volume(&mesh) > 8.0 - 24.0 * 0.25 / 6.0 * 4.0 && volume(&mesh) < 8.0);
    assert_eq!(euler(&mesh), 2);
}

#[test]
fn parts_that_meet_in_a_node_are_parted() {
    let nodes = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
    let mut mesh = TetMesh { nodes, tets: vec![[0, 1, 2, 3], [0, 4, 6, 5]] };
    assert_eq!(mesh.pieces().n, 1);
    let before = volume(&mesh);
    assert_eq!(part_at_nodes(&mut mesh), [0]);
    assert_eq!((mesh.pieces().n, mesh.nodes.len()), (2, 8));
    assert_eq!(volume(&mesh), before);
    mesh.nodes[3] *= 0.01;
    assert_eq!(drop_small_pieces(&mut mesh, 0.1), 1);
    assert_eq!(mesh.tets, [[7, 4, 6, 5]]);
}

#[test]
fn swapping_keeps_the_volume_and_betters_the_worst() {
    let mut mesh = sheet().mesh;
    let (before, shape, worst) = (volume(&mesh), euler(&mesh), Quality::of(&mesh));
    let n = swap_poor(&mut mesh, 30.0);
    assert!(n > 0);
    assert!((volume(&mesh) / before - 1.0).abs() < 1e-12);
    assert_eq!(euler(&mesh), shape);
    assert!(Quality::of(&mesh).min_dihedral_deg >= worst.min_dihedral_deg);
    assert_sound(&mesh, "swap");
}

#[test]
fn collapsing_keeps_the_shape_and_removes_tiny_tets() {
    let Meshed { mut mesh, on_boundary, .. } = sheet();
    let (before, shape, spread) = (volume(&mesh), euler(&mesh), Quality::of(&mesh).volume_spread);
    let n = collapse_short(&mut mesh, &on_boundary, 0.25);
    mesh.drop_unused_nodes();
    assert!(n > 0);
    assert!((volume(&mesh) / before - 1.0).abs() < 0.02);
    assert_eq!(euler(&mesh), shape);
    assert!(Quality::of(&mesh).volume_spread < 0.2 * spread);
    assert_sound(&mesh, "collapse");
}

#[test]
fn moving_nodes_betters_the_worst_and_stays_on_the_boundary() {
    let Meshed { mut mesh, on_boundary, .. } = sheet();
    let start = mesh.clone();
    let inner = smooth(&mut mesh, &on_boundary, None, &ImproveOptions::default(), &no_progress).unwrap();
    assert!(inner > 0);
    let fixed = |v: usize| mesh.nodes[v] == start.nodes[v];
    assert!(
        (0..mesh.nodes.len()).all(|v| !on_boundary[v] || fixed(v)),
        "nodes of the boundary stay without a function"
    );
    let one = Quality::of(&mesh);
    assert!(one.min_dihedral_deg >= Quality::of(&start).min_dihedral_deg);
    let project = |_: u32, p: DVec3, normal: DVec3| onto_boundary(&Sheet, p, normal, 0.05);
    smooth(&mut mesh, &on_boundary, Some(&project), &ImproveOptions::default(), &no_progress).unwrap();
    assert!(Quality::of(&mesh).min_dihedral_deg > one.min_dihedral_deg);
    let off = (0..mesh.nodes.len()).filter(|&v| on_boundary[v]).map(|v| Sheet.value(mesh.nodes[v]).abs());
    assert!(off.fold(0.0, f64::max) < 1e-3);
    assert_sound(&mesh, "smooth");
}

#[test]
fn flat_tets_are_peeled() {
    // A flat tet on top of two good tets; its edge from 0 to 2 is removed, and the edge from 1 to 3 becomes
    // part of the boundary.
    let nodes = [[1.0, 0.0, 0.01], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.01], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]];
    let nodes = nodes.map(DVec3::from).to_vec();
    let mut mesh = TetMesh { nodes, tets: vec![[0, 1, 2, 3], [0, 3, 1, 4], [2, 1, 3, 4]] };
    mesh.tets.iter_mut().for_each(|t| {
        let turned = risorius_mesh::tet::tet_mesh::edge_matrix(&mesh.nodes, *t).determinant() < 0.0;
        if turned {
            t.swap(0, 1);
        }
    });
    assert_sound(&mesh, "roof");
    assert_eq!(peel(&mut mesh, 10.0), 1);
    assert_eq!((mesh.tets.len(), euler(&mesh)), (2, 2));
    assert_sound(&mesh, "peel");
    assert_eq!(peel(&mut mesh, 10.0), 0);
}
