//! Equilibria of flesh with a muscle: at rest, from any start, in stages, and their derivatives.

use super::*;
use crate::energy::muscle::{Fiber, Fibers, MuscleTissue};
use crate::fixtures::{Random, bar, farthest};
use glam::DQuat;
use risorius_base::progress::no_progress;
use std::sync::Arc;

/// A bar that is held at x = 0, with a muscle along it in its upper half.
struct Strip {
    mesh: TetMesh,
    held: Vec<bool>,
    tissue: MuscleTissue,
    statics: Statics,
    springs: Springs,
}

fn strip(hold: impl Fn(DVec3) -> bool) -> Strip {
    let mesh = bar([10, 3, 3], DVec3::new(0.05, 0.012, 0.012));
    let n = mesh.tets.len();
    let held: Vec<bool> = mesh.nodes.iter().map(|&p| hold(p)).collect();
    let mut fibers = Fibers { first: vec![0], all: Vec::new(), strength: vec![1e5] };
    for tet in &mesh.tets {
        let center = tet.iter().map(|&v| mesh.nodes[v as usize]).sum::<DVec3>() / 4.0;
        if center.y > 0.006 {
            fibers.all.push(Fiber { muscle: 0, direction: DVec3::X, share: 0.5 });
        }
        fibers.first.push(fibers.all.len() as u32);
    }
    let (tets, fibers) = (Arc::new(mesh.tets.clone()), Arc::new(fibers));
    let tissue =
        MuscleTissue::prepare(tets, fibers, &mesh.nodes, &vec![5e3; n], &vec![1e5; n], &[0.0]).unwrap();
    let statics = Statics::prepare(&mesh, &mesh.tets, &[], &held, &Touch::default(), Vec::new()).unwrap();
    Strip { held, tissue, statics, springs: Springs::prepare(&[]).unwrap(), mesh }
}

impl Strip {
    fn solve(&self, activation: f64, places: &[DVec3], x: &mut Vec<DVec3>) -> StaticsReport {
        let tissue = self.tissue.clone().activated(&[activation]).unwrap();
        let acting = Acting { energy: &tissue, springs: &self.springs, surface: &[] };
        self.statics.solve(&acting, places, x, &SolveOptions::default(), &no_progress).unwrap()
    }
}

#[test]
fn nothing_moves_without_activation_and_a_muscle_shortens_and_bends() {
    let strip = strip(|p| p.x == 0.0);
    let rest = strip.mesh.nodes.clone();
    let mut x = rest.clone();
    strip.solve(0.0, &rest, &mut x);
    assert!(farthest(&x, &rest) < 1e-12, "the rest shape is an equilibrium");
    let report = strip.solve(1.0, &rest, &mut x);
    assert!(report.converged && report.smallest_det > 0.3, "{report:?}");
    let tip = rest.iter().position(|p| p.x > 0.0499 && p.y > 0.0119).unwrap();
    assert!(x[tip].x < 0.04 && x[tip].y > rest[tip].y + 0.003, "{}", x[tip]);
    let volume = |x: &[DVec3]| -> f64 {
        let of = |t: &Stencil| risorius_mesh::tet::tet_mesh::edge_matrix(x, *t).determinant();
        strip.mesh.tets.iter().map(of).sum()
    };
    assert!((volume(&x) / volume(&rest) - 1.0).abs() < 0.04, "{}", volume(&x) / volume(&rest));
}

#[test]
fn the_equilibrium_does_not_depend_on_the_start() {
    let strip = strip(|p| p.x == 0.0);
    let rest = strip.mesh.nodes.clone();
    let mut x = rest.clone();
    strip.solve(0.7, &rest, &mut x);
    let mut random = Random(5);
    let starts = [
        rest.iter().map(|p| *p + random.vector() * 0.02).collect(),
        vec![DVec3::NAN; rest.len()],
        vec![DVec3::ZERO; rest.len()],
        rest.iter().map(|p| *p * DVec3::new(1.6, 0.7, -1.0)).collect::<Vec<_>>(),
        rest.iter().map(|p| *p * DVec3::new(1.6, 0.7, 1.0)).collect::<Vec<_>>(),
    ];
    for (k, start) in starts.into_iter().enumerate() {
        let mut y = start;
        let report = strip.solve(0.7, &rest, &mut y);
        assert!(report.converged && farthest(&x, &y) < 2e-6, "start {k}: {report:?} {}", farthest(&x, &y));
    }
}

#[test]
fn bones_are_moved_in_stages_and_folds_are_refused() {
    let strip = strip(|p| p.x == 0.0 || p.x > 0.0499);
    let rest = strip.mesh.nodes.clone();
    let turned = |degrees: f64, shift: DVec3| -> Vec<DVec3> {
        let turn = DQuat::from_rotation_z(degrees.to_radians());
        rest.iter().map(|&p| if p.x > 0.02 { turn * p + shift } else { p }).collect()
    };
    let places = turned(70.0, DVec3::new(0.01, -0.01, 0.0));
    let mut x = rest.clone();
    let report = strip.solve(0.0, &places, &mut x);
    assert!(report.converged && report.smallest_det > 0.1, "{report:?}");
    let on_bones = (0..x.len()).filter(|&i| strip.held[i]);
    on_bones.for_each(|i| assert_eq!(x[i], places[i]));
    // To a point.
    let tissue = strip.tissue.clone();
    let acting = Acting { energy: &tissue, springs: &strip.springs, surface: &[] };
    let point: Vec<DVec3> = rest.iter().map(|&p| if p.x > 0.02 { DVec3::X * 0.05 } else { p }).collect();
    let error = strip.statics.solve(&acting, &point, &mut x, &SolveOptions::default(), &no_progress);
    assert_eq!(error.unwrap_err(), SolveError::BonesFold);
}

#[test]
fn responses_are_derivatives_of_equilibria() {
    let strip = strip(|p| p.x == 0.0 || p.x > 0.0499);
    let rest = strip.mesh.nodes.clone();
    let mut x = rest.clone();
    let tight = SolveOptions { force_tolerance: 1e-12, step_tolerance: 1e-14, ..SolveOptions::default() };
    let solve = |activation: f64, shift: f64, x: &mut Vec<DVec3>| {
        let tissue = strip.tissue.clone().activated(&[activation]).unwrap();
        let acting = Acting { energy: &tissue, springs: &strip.springs, surface: &[] };
        let places: Vec<DVec3> =
            rest.iter().map(|&p| if p.x > 0.02 { p + DVec3::Y * shift } else { p }).collect();
        strip.statics.solve(&acting, &places, x, &tight, &no_progress).unwrap();
        tissue
    };
    let tissue = solve(0.5, 0.004, &mut x);
    let acting = Acting { energy: &tissue, springs: &strip.springs, surface: &[] };
    let sensitivity = strip.statics.sensitivity(&acting, &x).unwrap();
    assert!(sensitivity.is_exact);
    let mut pull = vec![DVec3::ZERO; x.len()];
    tissue.add_pull_of(0, &x, &mut pull);
    let shift: Vec<DVec3> = rest.iter().map(|p| if p.x > 0.0499 { DVec3::Y } else { DVec3::ZERO }).collect();
    let lifted = strip.statics.forces_of_motion(&acting, &x, &shift);
    let responses = sensitivity.responses(&[pull, lifted]);
    let h = 1e-4;
    for (k, response) in responses.iter().enumerate() {
        let step = [[h, 0.0], [0.0, 0.01 * h]][k];
        let (mut plus, mut minus) = (x.clone(), x.clone());
        solve(0.5 + step[0], 0.004 + step[1], &mut plus);
        solve(0.5 - step[0], 0.004 - step[1], &mut minus);
        let size = longest(response);
        for i in (0..x.len()).filter(|&i| !strip.held[i]) {
            let slope = (plus[i] - minus[i]) / (2.0 * (step[0] + step[1]));
            assert!(slope.distance(response[i]) < 1e-3 * size, "{k}: {slope} {}", response[i]);
        }
    }
}
