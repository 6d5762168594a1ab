//! Few handles, moving jaws and nearly equal poses: what cannot be explained ends smooth.

use crate::{points, sheet};
use glam::{DVec3, Vec3};
use risorius_base::progress::no_progress;
use risorius_detail::player::PlayedFrame;
use risorius_detail::pose_space::Solver;
use risorius_detail::{DetailPlayer, Examples, LearnOptions, learn};

/// Handles cover the left third of a sheet, which bulges. Its right end, far from all handles, stays still
/// when the handles move twice as far as learned; a plain shell swings it.
#[test]
fn what_no_handle_drives_stays_still() {
    let n = 40;
    let mesh = sheet(n);
    let handles: Vec<u32> =
        (0..n * n).filter(|v| (v % n) % 4 == 0 && v % n < 14 && (v / n) % 6 == 0).collect();
    let bulge = |p: &[f32; 3], amount: f32| {
        let near = (1.0 - (p[0] / 0.4).powi(2)).max(0.0);
        [p[0], p[1], p[2] + amount * near * near * (1.0 + p[0])]
    };
    let posed = |amount: f32| mesh.positions.iter().map(|p| bulge(p, amount)).collect::<Vec<_>>();
    let examples = Examples {
        names: vec!["out".into(), "in".into()],
        positions: vec![posed(0.1), posed(-0.1)],
        plain: Vec::new(),
    };
    let detail =
        learn(mesh.clone(), &handles, None, &examples, &LearnOptions::default(), &no_progress).unwrap();
    let player = DetailPlayer::prepare(&detail).unwrap();
    let (mut stage, mut positions) = (PlayedFrame::default(), Vec::new());
    let wanted = points(&posed(0.2));
    let moved: Vec<DVec3> = handles.iter().map(|&v| wanted[v as usize]).collect();
    player.frame_in_head(&moved, &mut stage).unwrap();
    player.in_mesh_order(&stage.positions, &mut positions);
    for (p, q) in positions.iter().zip(&mesh.positions).filter(|(_, q)| q[0] > 0.8) {
        let far = Vec3::from(*p).distance(Vec3::from(*q));
        assert!(far < 0.01, "{q:?} moved by {far}");
    }
    // And the examples are still reproduced.
    for pose in &examples.positions {
        let at: Vec<DVec3> = handles.iter().map(|&v| Vec3::from(pose[v as usize]).as_dvec3()).collect();
        let made = detail.by_definition(&at);
        let off = made.iter().zip(points(pose)).map(|(a, b)| a.distance(b)).fold(0.0, f64::max);
        assert!(off < 2e-3, "{off}");
    }
}

/// Handles of a jaw that opens do not rotate the rest of the head.
#[test]
fn a_jaw_that_opens_does_not_turn_the_head() {
    let n = 40;
    let mesh = sheet(n);
    let handles: Vec<u32> = (0..n * n).filter(|v| (v % n) % 6 == 0 && (v / n) % 6 == 0).collect();
    let detail =
        learn(mesh.clone(), &handles, None, &Examples::default(), &LearnOptions::default(), &no_progress)
            .unwrap();
    let open = |p: DVec3| if p.y < 0.25 { p - DVec3::new(0.0, 0.2, 0.1) } else { p };
    let moved: Vec<DVec3> = handles.iter().map(|&v| open(mesh.at(v))).collect();
    let player = DetailPlayer::prepare(&detail).unwrap();
    let (mut stage, mut positions) = (PlayedFrame::default(), Vec::new());
    player.frame(&moved, &mut stage).unwrap();
    player.in_mesh_order(&stage.positions, &mut positions);
    // The shell passes through the handles wherever the head is, so look at the border beyond them.
    let corner = (n * n - 1) as usize;
    let far = Vec3::from(positions[corner]).distance(Vec3::from(mesh.positions[corner]));
    assert!(far < 0.01, "{far}");
}

/// Poses that differ by less strain than can be measured do not turn noise into motion.
#[test]
fn nearly_equal_poses_are_damped() {
    let displacements = [Vec3::ZERO, Vec3::X];
    let size = |w: &[Vec3]| w.iter().map(|w| w.length_squared()).sum::<f32>().sqrt();
    let close = Solver::prepare(&[0.0, 1e-4, 1e-4, 0.0], 2);
    assert!(size(&close.weights(&displacements, f64::INFINITY)) > 9000.0);
    let damped = size(&close.weights(&displacements, 50.0));
    assert!((49.0..=50.001).contains(&damped), "{damped}");
    let far = Solver::prepare(&[0.0, 0.1, 0.1, 0.0], 2);
    assert_eq!(far.weights(&displacements, 50.0), far.weights(&displacements, f64::INFINITY));
}
