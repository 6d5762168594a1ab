//! How a blendvolume is made, without a face: a slab of flesh over a bone is pulled to an expression of its
//! skin.

use glam::DVec3;
use rayon::prelude::*;
use risorius_base::progress::no_progress;
use risorius_mesh::tet::tet_mesh::{TetMesh, edge_matrix};
use risorius_solve::*;

const CELLS: [usize; 3] = [16, 12, 3];
const SIZE: DVec3 = DVec3::new(0.08, 0.06, 0.012);

fn slab() -> TetMesh {
    let counts = CELLS.map(|c| c + 1);
    let node = |at: [usize; 3]| ((at[2] * counts[1] + at[1]) * counts[0] + at[0]) as u32;
    let mut mesh = TetMesh::default();
    for v in 0..counts.iter().product() {
        let at = [v % counts[0], v / counts[0] % counts[1], v / (counts[0] * counts[1])];
        mesh.nodes.push(SIZE * DVec3::from_array(std::array::from_fn(|k| at[k] as f64 / CELLS[k] as f64)));
    }
    for cell in 0..CELLS.iter().product() {
        let corner = [cell % CELLS[0], cell / CELLS[0] % CELLS[1], cell / (CELLS[0] * CELLS[1])];
        for axes in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
            let mut at = corner;
            let mut tet = [node(at); 4];
            for (place, axis) in axes.into_iter().enumerate() {
                at[axis] += 1;
                tet[place + 1] = node(at);
            }
            if edge_matrix(&mesh.nodes, tet).determinant() < 0.0 {
                tet.swap(2, 3);
            }
            mesh.tets.push(tet);
        }
    }
    mesh
}

/// A corner of a mouth pulled by a fifth of the slab's width.
fn expression(p: DVec3, strength: f64) -> DVec3 {
    let distance = (p - DVec3::new(0.04, 0.03, 0.0)).truncate().length_squared();
    p + strength * DVec3::new(0.008, 0.006, 0.002) * (-distance / (2.0 * 0.012f64.powi(2))).exp()
}

/// Static solves with springs that stiffen, each state the next rest state [Kozlov17, sec. 6.1].
fn blendvolume(mesh: &TetMesh, system: &System, springs_at: &dyn Fn(f64) -> Springs) -> Vec<DVec3> {
    let neutral: Vec<f64> = (0..mesh.tets.len()).map(|t| mesh.edges_of(t).determinant() / 6.0).collect();
    let n = mesh.tets.len();
    let mut x = mesh.nodes.clone();
    for stiffness in [3.0, 30.0, 300.0, 3000.0] {
        let springs = springs_at(stiffness);
        let barrier = Barrier { strength: 3000.0, threshold: 0.3 };
        let tissue =
            Tissue::prepare(&mesh.tets, &x, Some(&neutral), &vec![3000.0; n], &vec![100.0; n], barrier)
                .unwrap();
        let problem = Problem { system, energies: &[&tissue, &springs], loads: &[] };
        let report = settle(&problem, &mut x, &SolveOptions::default(), &no_progress).unwrap();
        assert!(report.converged() && report.smallest_det > 0.0, "{report:?}");
    }
    x
}

fn skin_springs(mesh: &TetMesh, strength: f64, stiffness: f64) -> Springs {
    let skin = (0..mesh.nodes.len()).filter(|&v| mesh.nodes[v].z > SIZE.z - 1e-9);
    let springs: Vec<Spring> =
        skin.map(|v| Spring::at_node(v as u32, expression(mesh.nodes[v], strength), stiffness)).collect();
    Springs::prepare(&springs).unwrap()
}

#[test]
fn shapes_in_parallel_reach_their_skins_without_inversion() {
    let mesh = slab();
    let held: Vec<bool> = mesh.nodes.iter().map(|p| p.z < 1e-9).collect();
    let system = System::prepare(&held, &[&mesh.tets, skin_springs(&mesh, 1.0, 1.0).stencils()]).unwrap();
    let solve = |&strength: &f64| blendvolume(&mesh, &system, &|k| skin_springs(&mesh, strength, k));
    let strengths = [1.0, -1.0, 0.0, 0.5];
    let shapes: Vec<Vec<DVec3>> = strengths.par_iter().map(solve).collect();
    for (strength, x) in strengths.iter().zip(&shapes) {
        for (p, q) in mesh.nodes.iter().zip(x).filter(|(p, _)| p.z > SIZE.z - 1e-9) {
            assert!(expression(*p, *strength).distance(*q) < 1e-4, "{strength}");
        }
        let ratio = |t: usize| edge_matrix(x, mesh.tets[t]).determinant() / mesh.edges_of(t).determinant();
        assert!((0..mesh.tets.len()).all(|t| ratio(t) > 0.05), "{strength}");
    }
    let still = mesh.nodes.iter().zip(&shapes[2]).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
    assert!(still < 1e-9, "moves without an expression: {still}");
    assert_eq!(shapes[0], solve(&1.0), "a shape solved alone must have the same bits");
}

#[test]
fn moved_bones_start_from_a_harmonic_extension() {
    let mesh = slab();
    let held: Vec<bool> = mesh.nodes.iter().map(|p| p.z < 1e-9 || p.z > SIZE.z - 1e-9).collect();
    let motion: Vec<[f64; 3]> = mesh
        .nodes
        .iter()
        .map(|&p| if p.z > 1e-9 { (expression(p, 1.2) - p).to_array() } else { [0.0; 3] })
        .collect();
    let inside = Harmonic::prepare(&mesh, &held).unwrap().extend(&motion).unwrap();
    let mut x: Vec<DVec3> = mesh.nodes.iter().zip(&inside).map(|(p, d)| *p + DVec3::from_array(*d)).collect();
    // Simulate a failure: push two inner nodes through their neighbors.
    let inner: Vec<usize> = (0..x.len()).filter(|&v| !held[v]).collect();
    x[inner[100]] += DVec3::new(0.009, 0.0, 0.002);
    x[inner[250]] -= DVec3::new(0.0, 0.011, 0.0);
    let n = mesh.tets.len();
    let barrier = Barrier { strength: 3000.0, threshold: 0.2 };
    let tissue =
        Tissue::prepare(&mesh.tets, &mesh.nodes, None, &vec![3000.0; n], &vec![100.0; n], barrier).unwrap();
    let system = System::prepare(&held, &[&mesh.tets]).unwrap();
    let problem = Problem { system: &system, energies: &[&tissue], loads: &[] };
    assert_eq!(settle(&problem, &mut x, &SolveOptions::default(), &no_progress), Err(SolveError::BadStart));
    let movable: Vec<bool> = held.iter().map(|h| !h).collect();
    let repaired =
        untangle(&mesh.tets, tissue.rest(), &mut x, &movable, &UntangleOptions::default()).unwrap();
    assert!(repaired.n_bad > 0 && repaired.still_bad.is_empty() && repaired.moved.len() < 60, "{repaired:?}");
    let report = settle(&problem, &mut x, &SolveOptions::default(), &no_progress).unwrap();
    assert!(report.converged() && report.smallest_det > 0.1, "{report:?}");
}

#[test]
fn what_is_prepared_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<System>();
    shared::<Preconditioner>();
    shared::<Tissue>();
    shared::<Springs>();
    shared::<Diffusion>();
    shared::<Harmonic>();
}
