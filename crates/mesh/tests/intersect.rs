//! Crossing triangles: against an independent test, for every kind of touch, and on hostile meshes.

use glam::{DMat3, DVec3, Vec3};
use risorius_base::Cancelled;
use risorius_base::progress::no_progress;
use risorius_mesh::surface::intersect::triangles_cross;
use risorius_mesh::{IntersectOptions, Polygons, self_intersections};
use std::ops::ControlFlow;

fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Whether an edge of `a` passes through the interior of `b`.
fn pierces(a: [Vec3; 3], b: [Vec3; 3]) -> bool {
    let [a, b] = [a, b].map(|t| t.map(|p| p.as_dvec3()));
    (0..3).any(|i| {
        let (from, to) = (a[i], a[(i + 1) % 3]);
        let x = DMat3::from_cols(b[1] - b[0], b[2] - b[0], from - to).inverse() * (from - b[0]);
        x.x > 0.0 && x.y > 0.0 && x.x + x.y < 1.0 && x.z > 0.0 && x.z < 1.0
    })
}

#[test]
fn crossing_is_an_edge_through_a_face() {
    let mut r = random(1);
    let mut n = [0, 0];
    for _ in 0..20_000 {
        let mut v = || Vec3::new(r(), r(), r());
        let (a, b) = ([v(), v(), v()], [v(), v(), v()]);
        let expected = pierces(a, b) || pierces(b, a);
        n[usize::from(expected)] += 1;
        for turned in [b, [b[1], b[2], b[0]], [b[1], b[0], b[2]]] {
            assert_eq!(triangles_cross(a, turned), expected);
            assert_eq!(triangles_cross(turned, a), expected);
        }
    }
    assert!(n[0] > 2000 && n[1] > 2000);
}

#[test]
fn neighbors_cross_only_beyond_their_common_corner() {
    let mut r = random(2);
    let mut n = [0, 0];
    for _ in 0..20_000 {
        let mut v = || Vec3::new(r(), r(), r());
        let corner = v();
        let (a, b) = ([corner, v(), v()], [v(), corner, v()]);
        // Beyond the corner, the far edge of one goes through the other.
        let far = |t: [Vec3; 3], i: usize| [t[(i + 1) % 3], t[(i + 2) % 3]];
        let through = |[from, to]: [Vec3; 2], t: [Vec3; 3]| {
            let [from, to] = [from.as_dvec3(), to.as_dvec3()];
            let t = t.map(|p| p.as_dvec3());
            let x = DMat3::from_cols(t[1] - t[0], t[2] - t[0], from - to).inverse() * (from - t[0]);
            x.x > 0.0 && x.y > 0.0 && x.x + x.y < 1.0 && x.z > 0.0 && x.z < 1.0
        };
        let expected = through(far(a, 0), b) || through(far(b, 1), a);
        n[usize::from(expected)] += 1;
        assert_eq!(triangles_cross(a, b), expected);
    }
    assert!(n[0] > 2000 && n[1] > 1000);
}

#[test]
fn touching_is_not_crossing() {
    let v = Vec3::new;
    let flat = [v(0., 0., 0.), v(4., 0., 0.), v(0., 4., 0.)];
    // A corner on the face, an edge on the face, a common edge, the same triangle, an overlap in the plane, a
    // needle.
    let touching = [
        [v(1., 1., 0.), v(1., 1., 2.), v(2., 1., 2.)],
        [v(1., 1., 0.), v(2., 1., 0.), v(1., 1., 2.)],
        [v(0., 0., 0.), v(4., 0., 0.), v(0., 0., 4.)],
        flat,
        [v(1., 1., 0.), v(5., 1., 0.), v(1., 5., 0.)],
        [v(1., 1., -1.), v(1., 1., 1.), v(1., 1., 3.)],
        [v(1., 1., -1.), v(1., 1., 1.), v(1., 1., 1.)],
    ];
    for t in touching {
        assert!(!triangles_cross(flat, t) && !triangles_cross(t, flat), "{t:?}");
    }
    // Corner to corner on opposite sides of the common point: one point in common.
    assert!(!triangles_cross(flat, [v(0., 0., 0.), v(-1., -1., 1.), v(-1., -1., -1.)]));
    assert!(triangles_cross(flat, [v(0., 0., 0.), v(1., 1., 1.), v(1., 1., -1.)]));
    // Edges that cross exactly, with the faces on the same side.
    assert!(triangles_cross(flat, [v(1., 0., 1.), v(1., 0., -1.), v(1., 2., 0.)]));
    assert!(!triangles_cross(flat, [v(1., 0., 1.), v(1., 0., -1.), v(1., -2., 0.)]));
}

/// A grid of `n` by `n` quads in a plane through the origin, moved along `shift`.
fn sheet(n: u32, axes: [Vec3; 2], shift: Vec3) -> (Vec<[f32; 3]>, Polygons) {
    let at = |i: u32| i as f32 / n as f32 - 0.5;
    let positions = (0..=n)
        .flat_map(|i| (0..=n).map(move |j| (i, j)))
        .map(|(i, j)| (axes[0] * at(i) + axes[1] * at(j) + shift).into())
        .collect();
    let mut faces = Polygons::default();
    for i in 0..n {
        for j in 0..n {
            let v = i * (n + 1) + j;
            faces.push(&[v, v + n + 1, v + n + 2, v + 1]);
        }
    }
    (positions, faces)
}

fn two_sheets(shift: Vec3, turned: Vec3) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let (mut positions, faces) = sheet(20, [Vec3::X, Vec3::Y], Vec3::ZERO);
    let n = positions.len() as u32;
    let (more, _) = sheet(20, [Vec3::new(0.97, 0.13, 0.0), turned], shift);
    positions.extend(more);
    let mut triangles = faces.triangulated();
    triangles.extend(faces.map_vertices(|v| v + n).triangulated());
    (positions, triangles)
}

#[test]
fn sheets_cross_where_brute_force_says_on_any_number_of_threads() {
    let (positions, triangles) = two_sheets(Vec3::new(0.013, 0.021, 0.017), Vec3::new(0.1, 0.2, 0.9));
    let corners: Vec<[Vec3; 3]> =
        triangles.iter().map(|t| t.map(|v| Vec3::from(positions[v as usize]))).collect();
    let mut brute = Vec::new();
    for i in 0..corners.len() {
        for j in i + 1..corners.len() {
            if triangles_cross(corners[i], corners[j]) {
                brute.push([i as u32, j as u32]);
            }
        }
    }
    assert!(brute.len() > 30);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool
            .install(|| {
                self_intersections(&positions, &triangles, &IntersectOptions::default(), &no_progress)
            })
            .unwrap();
        assert_eq!(found.pairs, brute);
        assert!(found.complete && found.n_pairs == brute.len());
        let mut involved: Vec<u32> = brute.as_flattened().to_vec();
        involved.sort_unstable();
        involved.dedup();
        assert_eq!(found.n_triangles, involved.len());
    }
    let few = IntersectOptions { max_listed: 5, ..IntersectOptions::default() };
    let found = self_intersections(&positions, &triangles, &few, &no_progress).unwrap();
    assert_eq!(found.pairs, brute[..5]);
    assert_eq!((found.n_pairs, found.complete), (brute.len(), true));
}

#[test]
fn a_clean_sheet_does_not_cross_itself() {
    let (positions, triangles) = two_sheets(Vec3::Z * 0.4, Vec3::Y);
    let found =
        self_intersections(&positions, &triangles, &IntersectOptions::default(), &no_progress).unwrap();
    assert_eq!((found.n_pairs, found.n_triangles, found.complete), (0, 0, true));
}

#[test]
fn a_crumpled_mesh_stops_at_the_limits() {
    let mut r = random(3);
    let positions: Vec<[f32; 3]> = (0..9_000).map(|_| [r(), r(), r()]).collect();
    let triangles: Vec<[u32; 3]> = (0..3_000).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let options = IntersectOptions { max_pairs: 10_000, ..IntersectOptions::default() };
    let found = self_intersections(&positions, &triangles, &options, &no_progress).unwrap();
    assert!(!found.complete && found.n_pairs >= 10_000 && found.n_pairs < 100_000);
    let options = IntersectOptions { max_steps: 0, ..IntersectOptions::default() };
    let found = self_intersections(&positions, &triangles, &options, &no_progress).unwrap();
    assert!(!found.complete && found.n_pairs > 0 && found.n_pairs <= 200 * 3_000);
    // Two hundred thousand triangles in one place: 20 thousand million pairs of boxes, none of which cross.
    let one_place = vec![[0u32, 1, 2]; 200_000];
    let options = IntersectOptions { max_steps: 1_000_000, ..IntersectOptions::default() };
    let found = self_intersections(&positions, &one_place, &options, &no_progress).unwrap();
    assert!(!found.complete && found.n_pairs == 0);
}

#[test]
fn it_can_be_cancelled_and_ignores_what_is_not_finite() {
    let (mut positions, triangles) = two_sheets(Vec3::ZERO, Vec3::Z);
    let stop = |_: &str, fraction: f32| {
        if fraction > 0.2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = IntersectOptions::default();
    assert_eq!(self_intersections(&positions, &triangles, &options, &stop), Err(Cancelled));
    positions.iter_mut().for_each(|p| p[1] = f32::NAN);
    assert_eq!(self_intersections(&positions, &triangles, &options, &no_progress).unwrap().n_pairs, 0);
    let zero = DVec3::ZERO.as_vec3();
    assert!(!triangles_cross([zero; 3], [Vec3::X, Vec3::Y, Vec3::Z]));
}

/// Positions and triangles of an OBJ file.
fn read_obj(text: &str) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let (mut positions, mut faces) = (Vec::new(), Polygons::default());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let p: Vec<f32> = words.map(|w| w.parse().unwrap()).collect();
                positions.push([p[0], p[1], p[2]]);
            }
            Some("f") => {
                let corner = |w: &str| w.split('/').next().unwrap().parse::<u32>().unwrap() - 1;
                faces.push(&words.map(corner).collect::<Vec<u32>>());
            }
            _ => {}
        }
    }
    (positions, faces.triangulated())
}

#[test]
fn the_ict_skin_crosses_itself_in_124_places() {
    let Some(path) = risorius_test_data::file("ict_facekit/generic_neutral_mesh.obj") else { return };
    let (positions, mut triangles) = read_obj(&std::fs::read_to_string(path).unwrap());
    // Face, head, mouth bag and eye sockets; eyes, teeth and lashes come after.
    triangles.retain(|t| t.iter().all(|&v| v < 14_062));
    let found =
        self_intersections(&positions, &triangles, &IntersectOptions::default(), &no_progress).unwrap();
    let neighbors =
        |[a, b]: [u32; 2]| triangles[a as usize].iter().any(|v| triangles[b as usize].contains(v));
    let n_neighbors = found.pairs.iter().filter(|&&p| neighbors(p)).count();
    assert_eq!((found.n_pairs - n_neighbors, n_neighbors, found.n_triangles), (124, 4, 104));
}
