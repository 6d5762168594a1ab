//! Tets of implicit domains: shape, volume, gaps, sheets.

use glam::DVec3;
use risorius_base::progress::Flow;
use risorius_base::progress::no_progress;
use risorius_mesh::{
    Domain, Meshed, Quality, SolidDomain, TetError, TetOptions, TetProblem, TriMesh, check as problems,
    tetrahedralize,
};

/// A domain given by a signed distance (positive inside) and a size.
struct Distance<V, S>(V, S);

impl<V: Fn(DVec3) -> f64 + Sync, S: Fn(DVec3) -> f64 + Sync> Domain for Distance<V, S> {
    fn value(&self, p: DVec3) -> f64 {
        (self.0)(p)
    }
    fn size(&self, p: DVec3) -> f64 {
        (self.1)(p)
    }
    fn side_of_ball(&self, center: DVec3, radius: f64) -> Option<bool> {
        let d = (self.0)(center);
        (d.abs() > radius).then_some(d > 0.0)
    }
}

fn mesh(
    value: impl Fn(DVec3) -> f64 + Sync,
    size: impl Fn(DVec3) -> f64 + Sync,
    options: &TetOptions,
) -> Meshed {
    let bounds = [DVec3::splat(-1.2), DVec3::splat(1.2)];
    tetrahedralize(&Distance(value, size), bounds, options, &no_progress).unwrap()
}

fn sphere(p: DVec3) -> f64 {
    1.0 - p.length()
}

/// Checks what every mesh must satisfy; returns its quality.
fn check(name: &str, meshed: &Meshed, value: impl Fn(DVec3) -> f64) -> Quality {
    let quality = Quality::of(&meshed.mesh);
    assert_eq!(quality.n_inverted, 0, "{name}");
    assert!(quality.min_dihedral_deg > 8.0, "{name}: {quality:?}");
    let found = problems(&meshed.mesh);
    assert!(found.iter().all(|p| matches!(p, TetProblem::Pieces(_))), "{name}: {found:?}");
    let (on, surface) = (&meshed.on_boundary, meshed.mesh.boundary_nodes());
    for (v, &p) in meshed.mesh.nodes.iter().enumerate() {
        assert!(!on[v] || value(p).abs() < 1e-3, "{name}: boundary node {v} is off by {}", value(p));
        assert!(on[v] || !surface[v], "{name}: node {v} is on the surface but not on the boundary");
    }
    quality
}

fn volume(meshed: &Meshed) -> f64 {
    meshed.mesh.volumes().iter().sum()
}

#[test]
fn a_sphere_has_its_volume_and_good_tets() {
    let meshed = mesh(sphere, |_| 0.2, &TetOptions::default());
    let quality = check("sphere", &meshed, sphere);
    assert!(quality.min_dihedral_deg > 20.0);
    let exact = 4.0 / 3.0 * std::f64::consts::PI;
    assert!((volume(&meshed) / exact - 1.0).abs() < 0.02, "{}", volume(&meshed) / exact);
    let surface = meshed.mesh.boundary_surface();
    assert!((surface.volume() - volume(&meshed)).abs() < 1e-12);
    assert_eq!(meshed.mesh.pieces().n, 1);
}

#[test]
fn a_graded_sphere() {
    let size = |p: DVec3| 0.03 + 0.25 * p.distance(DVec3::Z);
    let meshed = mesh(sphere, size, &TetOptions::default());
    let quality = check("graded", &meshed, sphere);
    assert!(quality.min_dihedral_deg > 15.0);
    for tet in &meshed.mesh.tets {
        let corners = tet.map(|v| meshed.mesh.nodes[v as usize]);
        let longest = corners.iter().flat_map(|p| corners.map(|q| p.distance(q))).fold(0.0, f64::max);
        let middle = corners.iter().sum::<DVec3>() / 4.0;
        assert!(longest < 1.6 * size(middle), "{longest} where {} was asked for", size(middle));
    }
}

#[test]
fn a_cube_and_a_torus() {
    let cube = |p: DVec3| 0.8 - p.abs().max_element();
    let meshed = mesh(cube, |_| 0.15, &TetOptions::default());
    check("cube", &meshed, cube);
    assert!((volume(&meshed) / 4.096 - 1.0).abs() < 0.03);
    let torus = |p: DVec3| 0.3 - DVec3::new(p.truncate().length() - 0.8, 0.0, p.z).length();
    let meshed = mesh(torus, |_| 0.12, &TetOptions::default());
    check("torus", &meshed, torus);
    let surface = meshed.mesh.boundary();
    let edges = surface.len() * 3 / 2;
    let nodes = meshed.mesh.boundary_nodes().iter().filter(|&&b| b).count();
    assert_eq!(nodes as i64 - edges as i64 + surface.len() as i64, 0, "a torus has Euler characteristic 0");
}

#[test]
fn blobs_with_a_gap_stay_apart() {
    let size = 0.2;
    for turn in 0..6 {
        let axis = DVec3::new(1.0, 0.3 * f64::from(turn), 0.17 * f64::from(turn)).normalize();
        let gap = 0.6 * size;
        // A ball cut in two by a slab.
        let blobs =
            |p: DVec3| (1.0 - p.length()).min((p.dot(axis) - 0.013 * f64::from(turn)).abs() - 0.5 * gap);
        let meshed = mesh(blobs, |_| size, &TetOptions::default());
        check("blobs", &meshed, blobs);
        assert_eq!(meshed.mesh.pieces().n, 2, "turn {turn}");
    }
}

#[test]
fn a_thin_shell_stays_whole() {
    let size = 0.16;
    let shell = |p: DVec3| 0.4 * size - (p.length() - 0.9).abs();
    let meshed = mesh(shell, |_| size, &TetOptions::default());
    check("shell", &meshed, shell);
    assert_eq!(meshed.mesh.pieces().n, 1);
    let boundary = meshed.mesh.boundary_surface();
    let edges = boundary.triangles.len() * 3 / 2;
    let nodes = meshed.mesh.boundary_nodes().iter().filter(|&&b| b).count();
    assert_eq!(
        nodes as i64 - edges as i64 + boundary.triangles.len() as i64,
        4,
        "two spheres, no hole between them"
    );
}

#[test]
fn without_improving_the_lattice_itself_is_good() {
    let meshed = mesh(sphere, |_| 0.2, &TetOptions { improve: None, ..TetOptions::default() });
    let quality = Quality::of(&meshed.mesh);
    // The bound that is proven for a uniform lattice.
    assert!(quality.min_dihedral_deg > 10.7 && quality.max_dihedral_deg < 164.8, "{quality:?}");
}

#[test]
fn the_number_of_nodes_is_met() {
    for target in [600, 4000] {
        let size = |p: DVec3| 0.05 + 0.2 * p.distance(DVec3::Z);
        let meshed = mesh(sphere, size, &TetOptions { target_nodes: Some(target), ..TetOptions::default() });
        let n = meshed.mesh.nodes.len() as f64;
        assert!((n / target as f64 - 1.0).abs() < 0.1, "{n} nodes for {target}");
    }
}

#[test]
fn the_box_cuts_the_domain_off() {
    let bounds = [DVec3::new(-2.0, -2.0, 0.0), DVec3::splat(2.0)];
    let half =
        tetrahedralize(&Distance(sphere, |_| 0.15), bounds, &TetOptions::default(), &no_progress).unwrap();
    assert!((volume(&half) / (2.0 / 3.0 * std::f64::consts::PI) - 1.0).abs() < 0.03);
    assert!(half.mesh.nodes.iter().all(|p| p.z > -1e-3));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let blobs = |p: DVec3| (1.0 - p.length()).min(p.x.abs() - 0.04);
    let size = |p: DVec3| 0.08 + 0.2 * p.distance(DVec3::Z);
    let with = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| mesh(blobs, size, &TetOptions::default()))
    };
    assert!(with(1) == with(3));
}

#[test]
fn wrong_calls_are_refused() {
    let run = |size: f64, bounds: [DVec3; 2], value: fn(DVec3) -> f64| {
        tetrahedralize(&Distance(value, move |_| size), bounds, &TetOptions::default(), &no_progress)
    };
    let unit = [DVec3::splat(-1.2), DVec3::splat(1.2)];
    assert!(matches!(run(0.2, [DVec3::ONE, DVec3::ZERO], sphere), Err(TetError::Bounds { .. })));
    assert!(matches!(run(0.2, [DVec3::NAN, DVec3::ONE], sphere), Err(TetError::Bounds { .. })));
    assert!(matches!(run(0.0, unit, sphere), Err(TetError::Size { .. })));
    assert!(matches!(run(f64::NAN, unit, sphere), Err(TetError::Size { .. })));
    assert!(matches!(run(1e-4, unit, sphere), Err(TetError::TooFine { .. })));
    assert!(matches!(run(0.2, unit, |_| -1.0), Err(TetError::Empty)));
    let uneven = Distance(|_| f64::NAN, |p: DVec3| if p.length() < 0.5 { 1e-9 } else { 0.5 });
    let blind = tetrahedralize(&uneven, unit, &TetOptions::default(), &no_progress);
    assert!(matches!(blind, Err(TetError::TooMany | TetError::Empty)), "{blind:?}");
    let stop = |stage: &str, _: f32| if stage == "cut" { Flow::Break(()) } else { Flow::Continue(()) };
    let cancelled = tetrahedralize(&Distance(sphere, |_| 0.2), unit, &TetOptions::default(), &stop);
    assert!(matches!(cancelled, Err(TetError::Cancelled(_))));
}

/// A box of 12 triangles around the origin, without its top if `open`.
fn cuboid(half: DVec3, open: bool) -> TriMesh {
    let corner =
        |i: u32| half * (2.0 * DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - 1.0);
    let sides = [[0, 2, 3, 1], [0, 1, 5, 4], [0, 4, 6, 2], [1, 3, 7, 5], [2, 6, 7, 3], [4, 5, 7, 6]];
    let kept = &sides[..if open { 5 } else { 6 }];
    let triangles = kept.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriMesh { positions: (0..8).map(corner).collect(), triangles }
}

#[test]
fn surfaces_with_holes_in_them() {
    let (skin, bone) = (cuboid(DVec3::splat(0.1), false), cuboid(DVec3::new(0.05, 0.05, 0.2), false));
    let solid = SolidDomain::prepare(&skin, &[&bone], |_| 0.015);
    let bounds = [DVec3::splat(-0.11), DVec3::splat(0.11)];
    let meshed = tetrahedralize(&solid, bounds, &TetOptions::default(), &no_progress).unwrap();
    let expected = 0.008 - 0.1 * 0.1 * 0.2;
    assert!((volume(&meshed) / expected - 1.0).abs() < 0.05, "{} instead of {expected}", volume(&meshed));
    assert_eq!(meshed.mesh.pieces().n, 1);
    assert!(Quality::of(&meshed.mesh).min_dihedral_deg > 8.0);
}

#[test]
fn an_open_surface_is_closed_smoothly() {
    let solid = SolidDomain::prepare(&cuboid(DVec3::splat(0.1), true), &[], |_| 0.02);
    let bounds = [DVec3::splat(-0.11), DVec3::splat(0.11)];
    let meshed = tetrahedralize(&solid, bounds, &TetOptions::default(), &no_progress).unwrap();
    // Across the opening the boundary sags, but stays near it.
    assert!((0.006..0.0081).contains(&volume(&meshed)), "{}", volume(&meshed));
    assert_eq!(meshed.mesh.pieces().n, 1);
}
