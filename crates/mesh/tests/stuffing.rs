//! Tets of implicit domains: shape, volume, gaps, sheets.

use glam::DVec3;
use risorius_mesh::progress::silent;
use risorius_mesh::{Domain, Meshed, Quality, TetOptions, tetrahedralize};

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

fn mesh(value: impl Fn(DVec3) -> f64 + Sync, size: impl Fn(DVec3) -> f64 + Sync, options: &TetOptions) -> Meshed {
    let bounds = [DVec3::splat(-1.2), DVec3::splat(1.2)];
    tetrahedralize(&Distance(value, size), bounds, options, &silent).unwrap()
}

fn sphere(p: DVec3) -> f64 {
    1.0 - p.length()
}

/// What every mesh must satisfy; returns its quality.
fn check(name: &str, meshed: &Meshed, value: impl Fn(DVec3) -> f64) -> Quality {
    let quality = Quality::of(&meshed.mesh);
    println!(
        "{name}: {} nodes {} tets {quality:?} {:?}",
        meshed.mesh.nodes.len(),
        meshed.mesh.tets.len(),
        meshed.report
    );
    assert_eq!(quality.n_inverted, 0, "{name}");
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
    assert!(quality.min_dihedral_deg > 10.0);
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
    assert!(quality.min_dihedral_deg > 4.0);
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
    let size = 0.15;
    for turn in 0..6 {
        let axis = DVec3::new(1.0, 0.3 * f64::from(turn), 0.17 * f64::from(turn)).normalize();
        let gap = 0.6 * size;
        // A ball cut in two by a slab.
        let blobs = |p: DVec3| (1.0 - p.length()).min((p.dot(axis) - 0.013 * f64::from(turn)).abs() - 0.5 * gap);
        let meshed = mesh(blobs, |_| size, &TetOptions::default());
        check("blobs", &meshed, blobs);
        assert_eq!(meshed.mesh.pieces().n, 2, "turn {turn}");
    }
}

#[test]
fn a_thin_shell_stays_whole() {
    let size = 0.1;
    let shell = |p: DVec3| 0.4 * size - (p.length() - 0.9).abs();
    let meshed = mesh(shell, |_| size, &TetOptions::default());
    check("shell", &meshed, shell);
    assert_eq!(meshed.mesh.pieces().n, 1);
    let boundary = meshed.mesh.boundary_surface();
    let edges = boundary.triangles.len() * 3 / 2;
    let nodes = meshed.mesh.boundary_nodes().iter().filter(|&&b| b).count();
    assert_eq!(nodes as i64 - edges as i64 + boundary.triangles.len() as i64, 4, "two spheres, no hole between them");
}
