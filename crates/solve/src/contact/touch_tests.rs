//! A bar, held at one end, sinks onto a floor. Contact keeps it out, except for the overlap that the pose had
//! before.

use crate::fixtures::Body;
use crate::*;
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::no_progress;

const DT: f64 = 1.0 / 300.0;

const WALL: f64 = 1.5e-4;

/// 10 x 2 x 2 cm of soft tissue over a floor whose top is at `floor` meters; the bar's underside is at 0.
fn bar_over(floor: f64, wall: f64, stiffness: f64) -> Body {
    let mut body = Body::bar([10, 2, 2], DVec3::new(0.1, 0.02, 0.02), |p| p.x < 1e-9, 4000.0, 4000.0);
    let nodes = body.mesh.nodes.clone();
    let tet_of = |node: u32| body.mesh.tets.iter().position(|tet| tet.contains(&node)).unwrap();
    let hanging = |node: u32| {
        let tet = tet_of(node);
        let weights = body.mesh.tets[tet].map(|n| if n == node { 1.0 } else { 0.0 });
        TetAttachment { tet: tet as u32, weights }
    };
    let bottom: Vec<u32> = (0..nodes.len() as u32).filter(|&n| nodes[n as usize].y == 0.0).collect();
    let mut attachments: Vec<TetAttachment> = bottom.iter().map(|&n| hanging(n)).collect();
    let mut points: Vec<DVec3> = bottom.iter().map(|&n| nodes[n as usize]).collect();
    // Squares of the underside, seen from below.
    let at = |x: usize, z: usize| {
        let near = |p: &DVec3| (p.x - 0.01 * x as f64).abs() + (p.z - 0.01 * z as f64).abs() < 1e-6;
        points.iter().position(near).unwrap() as u32
    };
    let squares = (0..10).flat_map(|x| (0..2).map(move |z| [x, z]));
    let underside: Vec<[u32; 3]> = squares
        .flat_map(|[x, z]| {
            let [a, b, c, d] = [at(x, z), at(x + 1, z), at(x + 1, z + 1), at(x, z + 1)];
            [[a, b, c], [a, c, d]]
        })
        .collect();
    let first = points.len() as u32;
    for corner in [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]] {
        points.push(DVec3::new(corner[0], floor, corner[1]));
        attachments.push(TetAttachment::FIXED);
    }
    let ground = vec![[first, first + 1, first + 2], [first, first + 2, first + 3]];
    let rules = vec![
        CollisionPair { points: (0..first).collect(), triangles: ground, same_surface: false },
        CollisionPair { points: Vec::new(), triangles: underside, same_surface: true },
    ];
    let areas = vec![1e-4; points.len()];
    let options = TouchOptions { wall, stiffness, ..TouchOptions::default() };
    let around = (&body.mesh.tets[..], &nodes[..], vec![points.clone()]);
    body.touch = Touch::prepare(attachments, areas, rules, around, true, options).unwrap();
    body.first.surface = body.touch.posed(points);
    body
}

/// The lowest point and the deepest contact over a second under gravity, in meters; and the last positions.
fn sink(body: &Body, options: StepOptions, obstacles: &[Obstacle]) -> (f64, f64, Vec<DVec3>) {
    let mut moving = body.start(options);
    let forces = body.weight(DVec3::NEG_Y * 9.81);
    let around = Around { forces: &forces, obstacles };
    let (mut lowest, mut deepest) = (0.0f64, 0.0f64);
    for _ in 0..300 {
        let report = moving.step(&body.first, Rigid::IDENTITY, DT, &around, &no_progress).unwrap();
        assert!(report.converged && report.smallest_det > 0.1, "{report:?}");
        lowest = moving.positions().iter().map(|p| p.y).fold(lowest, f64::min);
        deepest = deepest.max(report.depth);
    }
    (lowest, deepest, moving.positions().to_vec())
}

#[test]
fn a_wall_keeps_the_bar_on_the_floor_and_a_penalty_nearly() {
    let (free, _, _) = sink(&bar_over(-0.003, f64::INFINITY, 0.0), StepOptions::default(), &[]);
    let (soft, pressed, _) = sink(&bar_over(-0.003, f64::INFINITY, 1e6), StepOptions::default(), &[]);
    let (kept, depth, _) = sink(&bar_over(-0.003, WALL, 1e6), StepOptions::default(), &[]);
    assert!(free < -0.02, "the bar sinks to {free} m if nothing stops it");
    assert!(soft < -0.003 - 2e-4 && pressed > 2e-4, "a soft penalty gives way: {soft}");
    assert!(kept < -0.003 && kept > -0.003 - 1.2 * WALL && depth < 1.2 * WALL, "{kept} m, {depth} m deep");
}

#[test]
fn what_the_pose_overlaps_is_left_alone_and_gets_no_deeper() {
    let body = bar_over(0.001, WALL, 1e7);
    let mut still = body.start(StepOptions::default());
    for _ in 0..20 {
        let report = still.step(&body.first, Rigid::IDENTITY, DT, &Around::default(), &no_progress).unwrap();
        assert_eq!(report.contacts, 0);
    }
    assert_eq!(still.positions(), body.mesh.nodes, "positions changed");
    let (lowest, depth, _) = sink(&body, StepOptions::default(), &[]);
    assert!(lowest < -1e-6 && lowest > -1.2 * WALL && depth < 1.2 * WALL, "{lowest} m, {depth} m deeper");
}

#[test]
fn obstacles_push_from_anywhere() {
    let body = bar_over(-1.0, WALL, 1e7);
    let ball = Obstacle::Sphere { center: DVec3::new(0.07, -0.02, 0.01), radius: 0.015 };
    let (_, depth, x) = sink(&body, StepOptions::default(), std::slice::from_ref(&ball));
    let inside = x.iter().filter(|p| p.y < 0.009).filter_map(|p| ball.gap(*p, 0.0)).map(|(gap, _)| gap);
    let worst = inside.fold(0.0, f64::min);
    assert!(worst > -1.2 * WALL && depth < 1.2 * WALL, "{worst} m, {depth} m deep");
    let tip = x.iter().map(|p| p.y).fold(0.0, f64::min);
    assert!(tip < -0.005, "the tip must hang over the ball: {tip}");
}

#[test]
fn newton_and_any_number_of_threads_agree_in_contact() {
    let body = bar_over(-0.003, WALL, 1e7);
    let tight = |reference| StepOptions {
        reference,
        solve: SolveOptions { force_tolerance: 1e-9, step_tolerance: 1e-12, ..StepOptions::default().solve },
        ..StepOptions::default()
    };
    let on = |threads: usize, options: StepOptions| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sink(&body, options, &[]).2)
    };
    let (one, three) = (on(1, tight(false)), on(3, tight(false)));
    assert_eq!(one, three);
    let apart = crate::fixtures::farthest(&one, &on(2, tight(true)));
    assert!(apart < 1e-6, "quasi-Newton ends {apart} m from Newton");
}

#[test]
fn without_allowed_overlap_the_pose_is_pushed_out() {
    // They are apart in the neutral, so the bar's underside is not the back of the floor.
    let mut body = bar_over(0.001, WALL, 1e7);
    let apart = bar_over(-0.003, WALL, 1e7).touch;
    body.touch = apart.with_options(TouchOptions { overlap: Overlap::None, ..*apart.options() });
    let mut moving = body.start(StepOptions::default());
    let depth = |x: &[DVec3]| x.iter().filter(|p| p.x > 0.03).map(|p| 0.001 - p.y).fold(0.0, f64::max);
    let before = depth(moving.positions());
    assert!(before > 0.9e-3, "the free end starts {before} m deep in the floor");
    for _ in 0..150 {
        moving.step(&body.first, Rigid::IDENTITY, DT, &Around::default(), &no_progress).unwrap();
    }
    let after = depth(moving.positions());
    assert!(after < 1.5 * WALL, "{after} m deep at the end");
}

/// Contacts found with the log of earlier searches are those found without.
#[test]
fn skipped_searches_change_nothing() {
    let body = bar_over(-0.001, WALL, 3e7);
    let touch = body.touch.clone();
    let pose = &body.first.surface;
    let mut random = crate::fixtures::Random(17);
    let mut positions = pose.points.clone();
    let (mut n_found, mut n_empty) = (0, 0);
    for round in 0..200 {
        let down = DVec3::NEG_Y * 2e-3 * (0.1 * f64::from(round)).sin().max(-0.2);
        for (position, from) in positions.iter_mut().zip(&pose.points).take(33) {
            *position = *from + down + 2e-4 * random.vector();
        }
        let found = touch.find(&positions, pose);
        assert_eq!(found, touch.clone().find(&positions, pose), "round {round}");
        n_found += usize::from(!found.is_empty());
        n_empty += usize::from(found.is_empty());
    }
    assert!(n_found > 20 && n_empty > 20, "{n_found} rounds with contacts, {n_empty} without");
}

/// Poses have the overlaps and clearances that searches everywhere find.
#[test]
fn poses_are_measured_where_the_neutral_shows_that_it_matters() {
    let body = bar_over(-0.003, WALL, 3e7);
    let everywhere = body.touch.without_neutral();
    let mut random = crate::fixtures::Random(5);
    let (mut deep, mut clear) = (0, 0);
    for round in 0..60 {
        let down = DVec3::NEG_Y * 1.5e-4 * f64::from(round - 20);
        let mut points = body.first.surface.points.clone();
        points.iter_mut().take(33).for_each(|p| *p += down + 3e-4 * random.vector());
        let posed = body.touch.posed(points.clone());
        assert_eq!(posed, everywhere.posed(points), "round {round}");
        deep += usize::from(posed.depths.iter().any(|d| *d > 0.0));
        clear += usize::from(posed.clearances[..33].iter().all(|c| *c > 3.5e-3));
    }
    assert!(deep > 10 && clear > 10, "{deep} poses overlap, {clear} are clear");
}
