//! The tree against brute force, and on degenerate meshes.

use glam::{DVec3, Vec3};
use risorius_mesh::Bvh;
use risorius_mesh::query::bvh::{Aabb, bounds};
use risorius_mesh::query::closest::closest_on_triangle;
use std::ops::ControlFlow;

/// Numbers from -1 to 1, the same on every run.
fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

fn soup(n: usize, size: f32, seed: u64) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let mut r = random(seed);
    let mut positions = Vec::new();
    for _ in 0..n {
        let center = [r(), r(), r()];
        for _ in 0..3 {
            positions.push(center.map(|x| x + size * r()));
        }
    }
    let triangles = (0..n as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    (positions, triangles)
}

fn point(positions: &[[f32; 3]], v: u32) -> DVec3 {
    Vec3::from(positions[v as usize]).as_dvec3()
}

#[test]
fn closest_point_and_vertex_agree_with_brute_force() {
    let (positions, triangles) = soup(700, 0.2, 1);
    let bvh = Bvh::build(&positions, &triangles);
    let mut r = random(2);
    for _ in 0..200 {
        let p = DVec3::new(r().into(), r().into(), r().into()) * 1.5;
        let brute = triangles
            .iter()
            .map(|t| closest_on_triangle(p, t.map(|v| point(&positions, v))).0.distance_squared(p))
            .fold(f64::INFINITY, f64::min);
        let found = bvh.closest_point(p, f64::INFINITY).unwrap();
        assert_eq!(found.distance_sq, brute);
        let corners = triangles[found.triangle as usize].map(|v| point(&positions, v));
        let again: DVec3 = corners.iter().zip(found.barycentric).map(|(&c, w)| c * w).sum();
        assert!(again.distance(found.point) < 1e-12 && found.barycentric.iter().all(|&w| w >= 0.0));
        let d = brute.sqrt();
        assert!(bvh.closest_point(p, d * 0.999).is_none() && bvh.closest_point(p, d * 1.001) == Some(found));

        let nearest = (0..positions.len() as u32)
            .min_by(|&a, &b| point(&positions, a).distance(p).total_cmp(&point(&positions, b).distance(p)))
            .unwrap();
        assert_eq!(bvh.closest_vertex(p, f64::INFINITY).unwrap().0, nearest);
        assert_eq!(Bvh::of_points(&positions).closest_vertex(p, f64::INFINITY).unwrap().0, nearest);
        let to_vertex = point(&positions, nearest).distance(p);
        assert!(!bvh.comes_within(p, d * 0.999) && bvh.comes_within(p, d * 1.001));
        assert!(!bvh.has_vertex_within(p, to_vertex * 0.999) && bvh.has_vertex_within(p, to_vertex * 1.001));
    }
}

#[test]
fn closest_on_triangle_is_the_least_over_a_fine_grid() {
    let mut r = random(3);
    for _ in 0..300 {
        let mut v = || DVec3::new(r().into(), r().into(), r().into());
        let (t, p) = ([v(), v(), v()], v() * 2.0);
        let (best, _) = closest_on_triangle(p, t);
        for i in 0..=20 {
            for j in 0..=20 - i {
                let q = t[0] + (t[1] - t[0]) * (i as f64 / 20.0) + (t[2] - t[0]) * (j as f64 / 20.0);
                assert!(best.distance(p) <= q.distance(p) + 1e-12);
            }
        }
    }
    let a = DVec3::X;
    assert_eq!(closest_on_triangle(DVec3::ZERO, [a, a, a]), (a, [1.0, 0.0, 0.0]));
}

#[test]
fn rays_agree_with_brute_force_and_know_the_side() {
    let (positions, triangles) = soup(500, 0.3, 4);
    let bvh = Bvh::build(&positions, &triangles);
    let mut r = random(5);
    let mut n_hits = 0;
    for _ in 0..300 {
        let mut v = || DVec3::new(r().into(), r().into(), r().into());
        let (origin, direction) = (v(), v());
        let brute = triangles
            .iter()
            .filter_map(|t| {
                let [a, b, c] = t.map(|v| point(&positions, v));
                let m = glam::DMat3::from_cols(b - a, c - a, -direction);
                let x = m.inverse() * (origin - a);
                (x.x >= 0.0 && x.y >= 0.0 && x.x + x.y <= 1.0 && x.z >= 0.0).then_some(x.z)
            })
            .fold(f64::INFINITY, f64::min);
        let hit = bvh.ray(origin, direction, f64::INFINITY);
        match hit {
            None => assert_eq!(brute, f64::INFINITY),
            Some(hit) => {
                n_hits += 1;
                assert!((hit.distance - brute).abs() < 1e-9 * (1.0 + brute));
                let [a, b, c] = triangles[hit.triangle as usize].map(|v| point(&positions, v));
                assert_eq!(hit.from_behind, (b - a).cross(c - a).dot(direction) > 0.0);
                let at = a * hit.barycentric[0] + b * hit.barycentric[1] + c * hit.barycentric[2];
                assert!(at.distance(origin + direction * hit.distance) < 1e-9);
                assert!(bvh.ray(origin, direction, hit.distance * 0.99).is_none());
            }
        }
    }
    assert!(n_hits > 50);
}

#[test]
fn rays_do_not_slip_through_edges_and_corners() {
    // A closed octahedron, aimed at from outside exactly at corners, edge middles and along axes.
    let p = [[1.0f32, 0., 0.], [-1., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 1.], [0., 0., -1.]];
    let t = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    let bvh = Bvh::build(&p, &t);
    let mut r = random(6);
    for _ in 0..500 {
        let origin = DVec3::new(r().into(), r().into(), r().into()).normalize() * 3.0;
        for (a, b) in [(0, 0), (0, 2), (1, 3), (4, 4), (2, 5), (3, 3)] {
            let target = (point(&p, a) + point(&p, b)) * 0.5 * (1.0 - 1e-12);
            assert!(bvh.ray(origin, target - origin, 10.0).is_some());
        }
    }
    let along_axis = bvh.ray(DVec3::X * 5.0, -DVec3::X, 10.0).unwrap();
    assert_eq!((along_axis.distance, along_axis.triangle, along_axis.from_behind), (4.0, 0, false));
    assert!(bvh.ray(DVec3::X * 5.0, DVec3::ZERO, 10.0).is_none());
}

#[test]
fn boxes_find_every_overlap() {
    let (positions, triangles) = soup(600, 0.2, 7);
    let bvh = Bvh::build(&positions, &triangles);
    let region = Aabb { min: Vec3::splat(-0.3), max: Vec3::splat(0.2) };
    let mut found = Vec::new();
    let flow = bvh.overlapping(&region, |t| {
        found.push(t);
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    found.sort_unstable();
    let of = |t: &[u32; 3]| Aabb::of(t.map(|v| Vec3::from(positions[v as usize])));
    let brute: Vec<u32> = (0..600u32).filter(|&t| of(&triangles[t as usize]).overlaps(&region)).collect();
    assert_eq!(found, brute);
    assert!(!brute.is_empty());
    assert!(bvh.overlapping(&region, |_| ControlFlow::Break(())).is_break());
}

#[test]
fn pairs_of_two_meshes_are_those_whose_boxes_overlap() {
    let (a, ta) = soup(150, 0.2, 10);
    let (b, tb) = soup(120, 0.2, 11);
    let boxes = |p: &[[f32; 3]], t: &[[u32; 3]]| -> Vec<Aabb> {
        t.iter().map(|t| Aabb::of(t.map(|v| Vec3::from(p[v as usize])))).collect()
    };
    let (boxes_a, boxes_b) = (boxes(&a, &ta), boxes(&b, &tb));
    let all = (0..150u32).flat_map(|i| (0..120u32).map(move |j| (i, j)));
    let brute: Vec<_> = all.filter(|&(i, j)| boxes_a[i as usize].overlaps(&boxes_b[j as usize])).collect();
    let mut found = Vec::new();
    let flow = Bvh::build(&a, &ta).overlapping_pairs(&Bvh::build(&b, &tb), |i, j| {
        found.push((i, j));
        ControlFlow::Continue(())
    });
    found.sort_unstable();
    assert!(flow.is_continue() && found == brute && !brute.is_empty());
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let (mut positions, triangles) = soup(300, 0.2, 8);
    for v in (0..positions.len()).step_by(7) {
        positions[v][v % 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][v / 7 % 3];
    }
    let bvh = Bvh::build(&positions, &triangles);
    let finite = |t: &[u32; 3]| t.iter().all(|&v| point(&positions, v).is_finite());
    assert_eq!(bvh.len(), triangles.iter().filter(|t| finite(t)).count());
    let p = DVec3::splat(0.1);
    assert!(finite(&triangles[bvh.closest_point(p, f64::INFINITY).unwrap().triangle as usize]));
    assert!(bvh.closest_point(DVec3::splat(f64::NAN), f64::INFINITY).is_none());
    assert!(bvh.ray(DVec3::NAN, DVec3::X, 1.0).is_none());
    assert!(Bvh::build(&[], &[]).closest_point(p, f64::INFINITY).is_none());
    assert!(Bvh::build(&[[f32::NAN; 3]], &[[0; 3]]).is_empty());
    assert_eq!(bounds(&[[f32::NAN; 3]]), None);
    assert_eq!(bounds(&[[1.0; 3], [f32::NAN, 9.0, 9.0]]), Some(Aabb { min: Vec3::ONE, max: Vec3::ONE }));
}

#[test]
fn everything_on_one_spot_still_answers() {
    let n = 100_000;
    let positions = vec![[0.5f32; 3]; 3];
    let bvh = Bvh::build(&positions, &vec![[0, 1, 2]; n]);
    let found = bvh.closest_point(DVec3::ZERO, f64::INFINITY).unwrap();
    assert_eq!((found.triangle, found.distance_sq), (0, 0.75));
    let huge = [[f32::MAX, 0.0, 0.0], [0.0, f32::MAX, 0.0], [0.0, 0.0, f32::MIN]];
    let far = Bvh::build(&huge, &[[0, 1, 2]]).closest_point(DVec3::ZERO, f64::INFINITY).unwrap();
    assert!(far.distance_sq.is_finite());
}

#[test]
fn the_tree_is_the_same_for_any_number_of_threads() {
    let (positions, triangles) = soup(20_000, 0.05, 9);
    let order = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let bvh = pool.install(|| Bvh::build(&positions, &triangles));
        let mut order = Vec::new();
        let everything = bounds(&positions).unwrap();
        assert!(
            bvh.overlapping(&everything, |t| {
                order.push(t);
                ControlFlow::Continue(())
            })
            .is_continue()
        );
        order
    };
    assert_eq!(order(1), order(4));
}

/// Rays exactly in the plane of box faces and triangle edges, as in the symmetry plane of a head.
#[test]
fn rays_within_the_faces_of_boxes_meet_what_lies_there() {
    let strip: Vec<[f32; 3]> =
        (0..20).flat_map(|i| [-1.0f32, 0.0, 1.0].map(|x| [x, i as f32, 0.1 * i as f32])).collect();
    let mut triangles = Vec::new();
    for i in 0..19u32 {
        for k in 0..2 {
            let [a, b, c, d] = [3 * i + k, 3 * i + k + 1, 3 * i + k + 4, 3 * i + k + 3];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    let tree = Bvh::build(&strip, &triangles);
    for y in 0..38 {
        for x in [-1.0, 0.0, 1.0] {
            let origin = DVec3::new(x, 0.25 + 0.5 * f64::from(y), 10.0);
            assert!(tree.ray(origin, DVec3::NEG_Z, f64::INFINITY).is_some(), "{origin}");
            assert!(tree.ray(origin.with_x(x * 1.5), DVec3::NEG_Z, f64::INFINITY).is_some() == (x == 0.0));
        }
    }
}
