//! The shell: the paper's equation, exact handles, constants, pieces.

use crate::{apart, handles, points, sheet};
use glam::DVec3;
use risorius_base::progress::no_progress;
use risorius_detail::laplacian::Triangles;
use risorius_detail::{DetailError, FeatureGraph, Shell, ShellOptions};
use risorius_linalg::{Cholesky, Matrix};
use risorius_mesh::FileMesh;

fn shell(mesh: &FileMesh, handles: &[u32]) -> (Shell, f64) {
    let spacing = FeatureGraph::make(mesh, handles).spacing(mesh);
    (Shell::prepare(mesh, handles, spacing, &ShellOptions::default(), &no_progress).unwrap(), 3.0 * spacing)
}

fn some_motion(n: usize) -> Vec<DVec3> {
    (0..n).map(|k| DVec3::new((k as f64).sin(), (2.3 * k as f64).cos(), 0.1 * k as f64) * 0.05).collect()
}

/// `-A^-1 A_H u_H` with dense matrices, as the paper writes it.
fn by_paper(mesh: &FileMesh, handles: &[u32], length: f64, moved: &[DVec3]) -> Vec<DVec3> {
    let n = mesh.n_vertices();
    let triangles = Triangles::prepare(mesh);
    let masses = triangles.masses(mesh);
    let mut l = Matrix::zeros(n, n);
    for (t, weights) in mesh.triangles.iter().zip(&triangles.weights) {
        for corner in 0..3 {
            let [a, b] = [t[(corner + 1) % 3] as usize, t[(corner + 2) % 3] as usize];
            for (i, j, sign) in [(a, b, -1.0), (b, a, -1.0), (a, a, 1.0), (b, b, 1.0)] {
                l[(i, j)] += sign * weights[corner];
            }
        }
    }
    let bent = |i: usize, j: usize| (0..n).map(|k| l[(i, k)] * l[(k, j)] / masses[k]).sum::<f64>();
    let a = Matrix::symmetric(n, |i, j| l[(i, j)] + length * length * bent(i, j));
    let free: Vec<usize> = (0..n).filter(|&v| !handles.contains(&(v as u32))).collect();
    let factor = Cholesky::factor(a.principal(&free)).unwrap();
    let mut u = vec![DVec3::ZERO; n];
    handles.iter().zip(moved).for_each(|(&v, m)| u[v as usize] = *m);
    let solved: Vec<Vec<f64>> = (0..3)
        .map(|axis| {
            let pull = |&v: &usize| handles.iter().map(|&h| -a[(v, h as usize)] * u[h as usize][axis]).sum();
            let mut x: Vec<f64> = free.iter().map(pull).collect();
            factor.solve_in_place(&mut x);
            x
        })
        .collect();
    free.iter().enumerate().for_each(|(k, &v)| u[v] = DVec3::new(solved[0][k], solved[1][k], solved[2][k]));
    u
}

#[test]
fn two_small_systems_give_the_papers_shell() {
    let mesh = sheet(17);
    let handles = handles(17, 4);
    let (shell, length) = shell(&mesh, &handles);
    let moved = some_motion(handles.len());
    let u = shell.displacements(&moved);
    let expected = by_paper(&mesh, &handles, length, &moved);
    assert!(apart(&u, &expected) < 1e-6, "{}", apart(&u, &expected));
    let largest = expected.iter().map(|u| u.length()).fold(0.0, f64::max);
    assert!(largest > 0.05, "too little motion for this test: {largest}");
}

#[test]
fn handles_are_met_to_the_bit_and_constants_kept() {
    let mesh = sheet(60);
    let handles = handles(60, 5);
    let (shell, _) = shell(&mesh, &handles);
    let moved = some_motion(handles.len());
    let u = shell.displacements(&moved);
    handles.iter().zip(&moved).for_each(|(&v, m)| assert_eq!(u[v as usize], *m));
    for v in 0..mesh.n_vertices() {
        let sum: f64 = shell.basis.iter().map(|b| f64::from(b[v])).sum();
        assert!((sum - 1.0).abs() < 1e-6, "row {v} sums to {sum}");
    }
    let shift = DVec3::new(3.0, -1.0, 2.0);
    let u = shell.displacements(&vec![shift; handles.len()]);
    assert!(u.iter().all(|u| u.distance(shift) < 1e-5));
}

/// On a flat sheet that only bends, affine motions have no energy except at the border, where the shell can
/// curl, so they are reproduced in the middle of a large sheet. With stretching they are reproduced where
/// handles are dense.
#[test]
fn affine_motions_are_kept_inside() {
    let n = 61;
    let mut mesh = sheet(n);
    mesh.positions.iter_mut().for_each(|p| p[2] = 0.0);
    let handles = handles(n, 11);
    let (shell, _) = shell(&mesh, &handles);
    let affine = |p: DVec3| DVec3::new(0.1 * p.x + 0.05 * p.y, 0.2 * p.x - 0.1 * p.y, 0.3 * p.x + 0.1);
    let at = points(&mesh.positions);
    let u = shell.displacements(&handles.iter().map(|&v| affine(at[v as usize])).collect::<Vec<_>>());
    let inside = |p: &DVec3| p.x.min(p.y).min(1.0 - p.x).min(1.0 - p.y) > 0.2;
    let off = |(p, u): (&DVec3, &DVec3)| affine(*p).distance(*u);
    let worst = at.iter().zip(&u).filter(|(p, _)| inside(p)).map(off).fold(0.0, f64::max);
    assert!(worst < 2e-3 * 0.3, "{worst}");
}

#[test]
fn pieces_borders_and_handles_on_one_another() {
    let mut mesh = sheet(20);
    let n = mesh.n_vertices() as u32;
    // A second sheet with a handle, a small triangle without one in front of the first sheet, and a vertex
    // without triangles.
    let second = sheet(8);
    mesh.positions.extend(second.positions.iter().map(|[x, y, z]| [x + 5.0, *y, *z]));
    mesh.triangles.extend(second.triangles.iter().map(|t| t.map(|v| v + n)));
    let small = mesh.n_vertices() as u32;
    mesh.positions.extend([[0.5, 0.5, 0.3], [0.52, 0.5, 0.3], [0.5, 0.52, 0.3], [0.0, 0.0, 9.0]]);
    mesh.triangles.push([small, small + 1, small + 2]);
    let mut list = handles(20, 3);
    list.extend([n + 10, list[4], list[4]]);
    let (shell, _) = shell(&mesh, &list);
    let mut moved = vec![DVec3::ZERO; list.len()];
    moved[9] = DVec3::X;
    let u = shell.displacements(&moved);
    let of_second = &u[n as usize..small as usize];
    assert!(of_second.iter().all(|u| u.distance(DVec3::X) < 1e-6), "one handle carries all of its piece");
    assert!(u[..n as usize].iter().all(|u| u.length() < 1e-9));
    // Three handles at one vertex count a third each; the small triangle follows the middle rigidly.
    moved = vec![DVec3::ZERO; list.len()];
    moved[4] = DVec3::Z;
    let u = shell.displacements(&moved);
    assert!((u[list[4] as usize].z - 1.0 / 3.0).abs() < 1e-6);
    let [a, b, c, lost] = [0, 1, 2, 3].map(|k| u[small as usize + k]);
    assert!(a == b && b == c && a.z > 0.2 && lost.is_finite(), "{a} {b} {c} {lost}");

    let refused = |handles: &[u32]| {
        Shell::prepare(&mesh, handles, 1.0, &ShellOptions::default(), &no_progress).unwrap_err()
    };
    assert!(matches!(refused(&[]), DetailError::Empty { .. }));
    assert!(matches!(refused(&[0, 99999]), DetailError::Handle { handle: 1, .. }));
    assert!(matches!(refused(&[small + 3]), DetailError::Handle { handle: 0, .. }));
}

/// About 2.7 edges per handle, as in the paper.
#[test]
fn gauges_join_neighbors() {
    let mesh = sheet(50);
    let handles = risorius_detail::handles::choose(&mesh, &[], 60).unwrap();
    assert_eq!(handles.len(), 60);
    let features = FeatureGraph::make(&mesh, &handles);
    let per_handle = features.edges.len() as f64 / 60.0;
    assert!((2.3..3.0).contains(&per_handle), "{per_handle}");
    // Denser where it moves.
    let motion: Vec<f32> = mesh.positions.iter().map(|p| if p[0] > 0.5 { 1.0 } else { 0.0 }).collect();
    let chosen = risorius_detail::handles::choose(&mesh, &motion, 60).unwrap();
    let right = chosen.iter().filter(|&&v| mesh.positions[v as usize][0] > 0.5).count();
    assert!(right > 40, "{right} of 60");
}
