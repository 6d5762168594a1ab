//! Winding numbers: the tree against the definition, on closed, open and broken surfaces.

use glam::DVec3;
use risorius_mesh::WindingNumbers;
use std::f64::consts::PI;

/// A bumpy sphere with `n` rings, or the part of it below `cut` (1 for all).
fn ball(n: u32, cut: f64) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    for i in 0..=n {
        for j in 0..2 * n {
            let (theta, phi) = (f64::from(i) / f64::from(n) * PI, f64::from(j) / f64::from(n) * PI);
            let radius = 1.0 + 0.2 * (5.0 * theta).sin() * (4.0 * phi).cos();
            let p = radius * DVec3::new(theta.sin() * phi.cos(), theta.sin() * phi.sin(), -theta.cos());
            positions.push(p.as_vec3().to_array());
        }
    }
    for i in 0..(f64::from(n) * cut) as u32 {
        for j in 0..2 * n {
            let (a, b) = (i * 2 * n + j, i * 2 * n + (j + 1) % (2 * n));
            triangles.push([a, b, b + 2 * n]);
            triangles.push([a, b + 2 * n, a + 2 * n]);
        }
    }
    (positions, triangles)
}

/// Points all over the box of side 4 and close to the surface, always the same.
fn queries(positions: &[[f32; 3]]) -> Vec<DVec3> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut points: Vec<DVec3> = (0..1500).map(|_| 4.0 * DVec3::new(next(), next(), next())).collect();
    for (i, p) in positions.iter().enumerate().step_by(positions.len() / 1500 + 1) {
        let near = [1e-1, 1e-2, 1e-3, 1e-5][i % 4] * DVec3::new(next(), next(), next());
        points.push(glam::Vec3::from(*p).as_dvec3() + near);
    }
    points
}

#[test]
fn the_tree_agrees_with_the_definition() {
    for cut in [1.0, 0.6] {
        let (positions, triangles) = ball(60, cut);
        let winding = WindingNumbers::prepare(&positions, &triangles);
        let points = queries(&positions);
        let mut worst: f64 = 0.0;
        for (q, w) in points.iter().zip(winding.at_all(&points)) {
            worst = worst.max((w - winding.at_by_definition(*q)).abs());
        }
        assert!(worst < 1e-3, "cut at {cut}: off by {worst:.1e}");
    }
}

#[test]
fn inside_is_one_and_outside_is_zero() {
    let (positions, triangles) = ball(40, 1.0);
    let winding = WindingNumbers::prepare(&positions, &triangles);
    assert!((winding.at(DVec3::ZERO) - 1.0).abs() < 1e-3);
    assert!((winding.at(DVec3::new(0.5, 0.3, -0.2)) - 1.0).abs() < 1e-3);
    assert!(winding.at(DVec3::new(1.3, 0.0, 1.0)).abs() < 1e-3);
    let corner = glam::Vec3::from(positions[1000]).as_dvec3();
    assert!((winding.at(corner * 0.9999) - 1.0).abs() < 1e-3 && winding.at(corner * 1.0001).abs() < 1e-3);
}

#[test]
fn broken_triangles_count_nothing() {
    let (mut positions, mut triangles) = ball(20, 1.0);
    let whole = WindingNumbers::prepare(&positions, &triangles);
    positions.push([f32::NAN; 3]);
    let nan = positions.len() as u32 - 1;
    let on_a_line = positions.len() as u32;
    positions.extend([[0.0, 0.0, 0.0], [0.25, 0.0, 0.0], [1.0, 0.0, 0.0]]);
    triangles.extend([[0, 1, nan], [5, 5, 5], [7, 7, 300], [on_a_line, on_a_line + 1, on_a_line + 2]]);
    let winding = WindingNumbers::prepare(&positions, &triangles);
    for q in [DVec3::new(0.5, 0.0, 0.0), DVec3::ZERO, DVec3::new(0.1, 0.2, 0.3), DVec3::new(2.0, 0.0, 0.0)] {
        assert!((winding.at(q) - whole.at(q)).abs() < 1e-9, "{q}");
    }
    assert_eq!(winding.at(DVec3::NAN), 0.0);
    assert_eq!(WindingNumbers::prepare(&[], &[]).at(DVec3::ZERO), 0.0);
    let far = whole.at(DVec3::splat(1e200));
    assert!(far.abs() < 1e-3, "{far}");
}
