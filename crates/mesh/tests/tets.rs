//! Given tet meshes: derived lists, checks, embedded points.

use glam::{DMat3, DVec3};
use risorius_base::progress::no_progress;
use risorius_mesh::tet::tet_mesh::{BoundaryTriangle, edges};
use risorius_mesh::{
    Domain, EmbedOptions, Embedding, TetMesh, TetOptions, TetProblem, TetTree, check, tetrahedralize,
};

/// Two tets on one face.
fn pair() -> TetMesh {
    TetMesh {
        nodes: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE],
        tets: vec![[0, 1, 2, 3], [1, 2, 3, 4]],
    }
}

struct Ball;

impl Domain for Ball {
    fn value(&self, p: DVec3) -> f64 {
        1.0 - p.length()
    }
    fn size(&self, _: DVec3) -> f64 {
        0.3
    }
}

fn ball() -> TetMesh {
    tetrahedralize(&Ball, [DVec3::splat(-1.1), DVec3::splat(1.1)], &TetOptions::default(), &no_progress)
        .unwrap()
        .mesh
}

/// Points of a box of side 2.4 around the origin, always the same.
fn points(n: usize) -> Vec<DVec3> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        2.4 * ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    (0..n).map(|_| DVec3::new(next(), next(), next())).collect()
}

#[test]
fn lists_of_two_tets() {
    let mesh = pair();
    assert_eq!(mesh.boundary().len(), 6);
    assert_eq!(mesh.boundary()[0], BoundaryTriangle { nodes: [0, 3, 2], tet: 0 });
    assert_eq!(edges(&mesh.tets).len(), 9);
    assert_eq!(mesh.neighbors().of(4), [1, 2, 3]);
    assert_eq!(mesh.neighbors().of(1), [0, 2, 3, 4]);
    assert_eq!(mesh.pieces().n, 1);
    assert!((mesh.volumes().iter().sum::<f64>() - 0.5).abs() < 1e-15);
    assert!((mesh.boundary_surface().volume() - 0.5).abs() < 1e-15);
    assert_eq!(mesh.edge_lengths()[0], 1.0);
    assert_eq!(mesh.locate(DVec3::splat(0.1)).map(|(t, _)| t), Some(0));
    assert_eq!(mesh.locate(DVec3::splat(0.6)).map(|(t, _)| t), Some(1));
    assert_eq!(mesh.locate(DVec3::splat(1.1)), None);
    assert_eq!(mesh.locate(DVec3::NAN), None);
}

#[test]
fn every_problem_is_reported() {
    assert_eq!(check(&pair()), []);
    assert_eq!(check(&TetMesh::default()), [TetProblem::Empty]);
    let mut bad = pair();
    bad.nodes.extend([DVec3::NAN, DVec3::new(0.5, 0.5, 1e-9), DVec3::splat(9.0)]);
    bad.tets.extend([[0, 1, 2, 9], [0, 0, 1, 2], [1, 0, 2, 3], [0, 1, 2, 6], [5, 4, 0, 1]]);
    let found = check(&bad);
    for expected in [
        TetProblem::NodeNotFinite(5),
        TetProblem::NodeOutOfRange { tet: 2, node: 9 },
        TetProblem::NodeRepeated(3),
        TetProblem::Inverted(4),
        TetProblem::Flat(5),
        TetProblem::Duplicate(0, 4),
        TetProblem::SharedFace { face: [0, 1, 2], tets: vec![0, 4, 5] },
        TetProblem::Unused(7),
    ] {
        assert!(found.contains(&expected), "{expected} is missing in {found:?}");
    }
    let mut overlap = pair();
    overlap.nodes[4] = DVec3::splat(0.1);
    overlap.tets[1] = [1, 3, 2, 4];
    assert_eq!(check(&overlap), [TetProblem::Overlap(0, 1)]);
}

#[test]
fn a_mesh_of_ours_has_no_problem() {
    assert_eq!(check(&ball()), []);
}

#[test]
fn locating_agrees_with_trying_all() {
    let mesh = ball();
    let tree = TetTree::prepare(&mesh);
    for p in points(300) {
        let least = |t: &u32| {
            let w = risorius_mesh::tet::tet_mesh::barycentric(&mesh.nodes, mesh.tets[*t as usize], p);
            w.into_iter().fold(f64::INFINITY, f64::min)
        };
        let all = (0..mesh.tets.len() as u32).map(|t| least(&t)).fold(f64::NEG_INFINITY, f64::max);
        match tree.locate(&mesh, p, |_| true) {
            Some((t, _)) => assert_eq!(least(&t), all),
            None => assert!(all < 0.0),
        }
    }
}

#[test]
fn linear_fields_are_carried_exactly() {
    let mesh = ball();
    let points = points(500);
    let field = |p: DVec3| DMat3::from_cols(DVec3::X, DVec3::new(0.2, -0.7, 0.1), DVec3::ONE) * p + DVec3::Y;
    let moved: Vec<DVec3> = mesh.nodes.iter().map(|&p| field(p)).collect();
    let far = Embedding::prepare(&mesh, &points, &EmbedOptions { limit: 1e9 }, |_, _| true);
    for (p, q) in points.iter().zip(far.apply(&moved)) {
        assert!(field(*p).distance(q) < 1e-9);
    }
    let bounded = Embedding::prepare(&mesh, &points, &EmbedOptions::default(), |_, _| true);
    for (i, p) in points.iter().enumerate() {
        assert!((bounded.weights[i].iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(bounded.weights[i].iter().all(|w| (-1.0 - 1e-9..=2.0 + 1e-9).contains(w)));
        assert_eq!(bounded.distances[i] == 0.0, mesh.locate(*p).is_some());
    }
    let closest = Embedding::prepare(&mesh, &points, &EmbedOptions { limit: 0.0 }, |_, _| true);
    assert!(closest.weights.iter().flatten().all(|w| (-1e-9..=1.0 + 1e-9).contains(w)));
}

#[test]
fn forbidden_tets_are_not_used() {
    let mesh = ball();
    let points = points(200);
    let left = |t: u32| mesh.tets[t as usize].iter().all(|&v| mesh.nodes[v as usize].x < 0.05);
    let bound = Embedding::prepare(&mesh, &points, &EmbedOptions::default(), |_, t| left(t));
    assert!(bound.tets.iter().all(|&t| left(t)));
    let none = Embedding::prepare(&mesh, &points, &EmbedOptions::default(), |i, _| i != 3);
    assert_eq!(none.tets[3], u32::MAX);
    assert_eq!(none.apply(&mesh.nodes)[3], DVec3::ZERO);
}
