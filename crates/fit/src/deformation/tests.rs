//! The laws of deformation transfer.

use super::*;
use glam::DQuat;
use risorius_base::Rigid;
use risorius_base::progress::no_progress;

/// A bumpy ball of two pieces, with a sliver, a doubled triangle and an edge of three triangles.
fn ball() -> TriMesh {
    let (rings, around) = (14u32, 20u32);
    let mut mesh = TriMesh::default();
    for i in 0..=rings {
        for j in 0..around {
            let (a, b) = (
                std::f64::consts::PI * (0.02 + 0.96 * f64::from(i) / f64::from(rings)),
                std::f64::consts::TAU * f64::from(j) / f64::from(around),
            );
            let r = 0.1 + 0.01 * (5.0 * b).sin() * (3.0 * a).sin();
            mesh.positions.push(DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin()) * r);
        }
    }
    for i in 0..rings {
        for j in 0..around {
            let at = |i: u32, j: u32| i * around + j % around;
            mesh.triangles.extend([
                [at(i, j), at(i, j + 1), at(i + 1, j)],
                [at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)],
            ]);
        }
    }
    let n = mesh.n_vertices() as u32;
    let extra = [[0.3, 0.0, 0.0], [0.33, 0.0, 0.0], [0.3, 0.03, 0.0], [0.315, 1e-9, 0.0], [0.12, 0.02, 0.1]];
    mesh.positions.extend(extra.map(DVec3::from));
    mesh.triangles.extend([[n, n + 1, n + 2], [n, n + 3, n + 1], [0, 1, n + 4], [0, 1, 20], [5, 5, 6]]);
    mesh
}

/// A smooth bump around a direction; exactly zero elsewhere.
fn bump(mesh: &TriMesh, center: DVec3, push: DVec3) -> Vec<DVec3> {
    let one = |p: &DVec3| push * (1.0 - p.distance_squared(center) / 0.0064).max(0.0).powi(2);
    mesh.positions.iter().map(one).collect()
}

fn shapes(mesh: &TriMesh) -> Vec<Vec<DVec3>> {
    vec![
        bump(mesh, DVec3::new(0.1, 0.0, 0.0), DVec3::new(0.02, 0.01, -0.01)),
        bump(mesh, DVec3::new(0.0, 0.0, 0.1), DVec3::new(0.0, -0.03, 0.01)),
    ]
}

fn prepare(source: &TriMesh, target: &TriMesh) -> Deformation {
    Deformation::prepare(source, target, Correspondence::same(source), &DeformationOptions::default()).unwrap()
}

fn farthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max)
}

#[test]
fn the_same_neutral_gives_the_shape_back() {
    let mesh = ball();
    let given = shapes(&mesh);
    for (u, d) in prepare(&mesh, &mesh).transfer(&given, &no_progress).unwrap().iter().zip(&given) {
        assert!(farthest(u, d) < 1e-6 * 0.02, "{}", farthest(u, d));
        assert!(u.iter().zip(d).all(|(u, d)| *d != DVec3::ZERO || *u == DVec3::ZERO), "moves what is at rest");
        assert!(d.contains(&DVec3::ZERO));
    }
}

#[test]
fn a_turned_and_scaled_target_turns_and_scales_the_shape() {
    let mesh = ball();
    let rotation = DQuat::from_scaled_axis(DVec3::new(0.4, -0.9, 1.3));
    let pose = Similarity { rigid: Rigid { rotation, translation: DVec3::new(3.0, -1.0, 7.0) }, scale: 12.5 };
    let target =
        TriMesh { positions: mesh.positions.iter().map(|&p| pose.apply(p)).collect(), ..mesh.clone() };
    let given = shapes(&mesh);
    for (u, d) in prepare(&mesh, &target).transfer(&given, &no_progress).unwrap().iter().zip(&given) {
        let wanted: Vec<DVec3> = d.iter().map(|d| rotation * *d * 12.5).collect();
        assert!(farthest(u, &wanted) < 1e-6 * 0.3, "{}", farthest(u, &wanted));
    }
}

#[test]
fn a_translated_source_gives_the_same() {
    let (mesh, far) = (ball(), DVec3::new(0.7, -0.2, 0.4));
    let moved =
        TriMesh { positions: mesh.positions.iter().map(|&p| p + far).collect(), ..mesh.clone() };
    let given = shapes(&mesh);
    let [a, b] = [&mesh, &moved].map(|m| prepare(m, &mesh).transfer(&given, &no_progress).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| farthest(a, b) < 1e-9));
}

/// Another head: stretched unevenly.
fn stretched(mesh: &TriMesh) -> TriMesh {
    let place = |p: &DVec3| DVec3::new(1.3 * p.x, 0.8 * p.y, p.z + 2.0 * p.x * p.y);
    TriMesh { positions: mesh.positions.iter().map(place).collect(), ..mesh.clone() }
}

/// Two shapes that move the same vertices, and a combination of them; displacements times `size`.
fn combined(mesh: &TriMesh, target: &TriMesh, size: f64) -> (f64, f64) {
    let center = DVec3::new(0.1, 0.0, 0.0);
    let a = bump(mesh, center, DVec3::X * 0.02 * size);
    let b = bump(mesh, center, DVec3::new(0.0, 0.01, 0.03) * size);
    let add = |a: &[DVec3], b: &[DVec3]| -> Vec<DVec3> {
        a.iter().zip(b).map(|(a, b)| *a * 0.5 - *b * 2.0).collect()
    };
    let both = add(&a, &b);
    let out = prepare(mesh, target).transfer(&[a, b, both], &no_progress).unwrap();
    let most = out[2].iter().map(|u| u.length()).fold(0.0, f64::max);
    (farthest(&out[2], &add(&out[0], &out[1])), most)
}

#[test]
fn shapes_that_move_the_same_vertices_add_up() {
    let mesh = ball();
    let (off, _) = combined(&mesh, &mesh, 1.0);
    assert!(off < 1e-9, "{off}");
    // On a target whose triangles lie in other planes, the fourth vertex is linear to first order only.
    let target = stretched(&mesh);
    let ((off, most), (little, least)) = (combined(&mesh, &target, 1.0), combined(&mesh, &target, 1e-3));
    assert!(off < 0.03 * most, "{off} of {most}");
    assert!(little < 3e-5 * least, "{little} of {least}");
}

#[test]
fn a_rigid_motion_of_a_part_stays_rigid() {
    let mesh = ball();
    let turn = DQuat::from_rotation_x(0.3);
    let given: Vec<DVec3> = mesh.positions.iter().map(|&p| turn * p - p).collect();
    let target = stretched(&mesh);
    let u = prepare(&mesh, &target).transfer(&[given], &no_progress).unwrap().remove(0);
    let similarity = prepare(&mesh, &target).similarity;
    let turn = similarity.rigid.rotation * turn * similarity.rigid.rotation.inverse();
    // Lengths are kept, up to what holding displacements bends.
    let n = 20 * 14;
    for [a, b, _] in &mesh.triangles[..n] {
        let (p, q) = (target.positions[*a as usize], target.positions[*b as usize]);
        let now = (q + u[*b as usize]) - (p + u[*a as usize]);
        assert!(now.distance(turn * (q - p)) < 0.15 * (q - p).length() + 1e-4);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let mesh = ball();
    let target = stretched(&mesh);
    let many: Vec<Vec<DVec3>> = (0..40)
        .map(|k| bump(&mesh, DVec3::new(0.1, 0.0, 0.0), DVec3::new(0.001 * f64::from(k), 0.01, 0.0)))
        .collect();
    let run = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| prepare(&mesh, &target).transfer(&many, &no_progress).unwrap())
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn wrong_input_is_refused() {
    let mesh = ball();
    let with = |change: fn(&mut TriMesh)| {
        let mut m = mesh.clone();
        change(&mut m);
        m
    };
    let bad = with(|m| m.positions[3].x = f64::NAN);
    let options = DeformationOptions::default();
    let refused = |s: &TriMesh, t: &TriMesh, l: Correspondence| Deformation::prepare(s, t, l, &options).err();
    let same = Correspondence::same(&mesh);
    assert_eq!(refused(&bad, &mesh, same.clone()), Some(FitError::NotFinite { mesh: "source", vertex: 3 }));
    let fewer = with(|m| drop(m.triangles.pop()));
    assert_eq!(refused(&mesh, &fewer, same.clone()), Some(FitError::Correspondence));
    let short = prepare(&mesh, &mesh).transfer(&[vec![DVec3::ZERO; 3]], &no_progress).err();
    assert!(matches!(short, Some(FitError::ShapeLength { shape: 0, found: 3, .. })));
}
