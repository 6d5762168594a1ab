//! Learning and playing: exact examples, rigid motion, the player against its definition, bases, degenerate
//! examples.

use crate::{apart, examples, handles, points, pressed, sheet};
use glam::{DQuat, DVec3};
use risorius_base::Advise;
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_detail::player::PlayedFrame;
use risorius_detail::{Detail, DetailPlayer, Examples, Fit, LearnOptions, PoseModel, learn};
use risorius_mesh::FileMesh;

const N: u32 = 48;

fn learned(mesh: &FileMesh, list: &[[f32; 2]], options: &LearnOptions) -> Detail {
    learn(mesh.clone(), &handles(N, 7), None, &examples(mesh, list), options, &no_progress).unwrap()
}

fn at_handles(detail: &Detail, positions: &[DVec3]) -> Vec<DVec3> {
    detail.shell.handles.iter().map(|&v| positions[v as usize]).collect()
}

fn played(detail: &Detail, handles: &[DVec3]) -> Vec<DVec3> {
    let mut stage = PlayedFrame::default();
    let player = DetailPlayer::prepare(detail).unwrap();
    player.frame(handles, &mut stage).unwrap();
    shown(&player, &stage)
}

fn shown(player: &DetailPlayer, stage: &PlayedFrame) -> Vec<DVec3> {
    let mut positions = Vec::new();
    player.in_mesh_order(&stage.positions, &mut positions);
    points(&positions)
}

const POSES: [[f32; 2]; 5] = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5], [-0.5, -0.5]];

#[test]
fn examples_come_back_exactly_and_the_player_plays_what_is_defined() {
    let mesh = sheet(N);
    for model in [PoseModel::Wpsd, PoseModel::Psd, PoseModel::LocalBlendshapes, PoseModel::GlobalBlendshapes]
    {
        let detail = learned(&mesh, &POSES, &LearnOptions { model, ..LearnOptions::default() });
        assert_eq!((detail.poses.len(), detail.poses[0].as_str()), (6, "rest"));
        for pose in POSES.iter().chain(&[[0.0, 0.0]]) {
            let truth = points(&pressed(&mesh, *pose));
            let handles = at_handles(&detail, &truth);
            let result = detail.by_definition(&handles);
            assert!(apart(&result, &truth) < 2e-5, "{model:?} {pose:?}: {}", apart(&result, &truth));
            if model.is_pose_space() {
                let fast = played(&detail, &handles);
                // Error of packing: a thousandth of the largest motion, which is 0.125.
                assert!(apart(&fast, &truth) < 1.2e-4, "{model:?} {pose:?}: {}", apart(&fast, &truth));
            }
        }
        // Poses in between: the player agrees with the definition.
        let truth = points(&pressed(&mesh, [0.7, 0.2]));
        let handles = at_handles(&detail, &truth);
        if model.is_pose_space() {
            let [fast, slow] = [played(&detail, &handles), detail.by_definition(&handles)];
            assert!(apart(&fast, &slow) < 1.2e-4, "{}", apart(&fast, &slow));
            assert!(apart(&slow, &truth) < 0.01 && apart(&slow, &points(&mesh.positions)) > 0.05);
        }
    }
}

#[test]
fn rigid_motion_changes_no_wrinkle() {
    let mesh = sheet(N);
    let detail = learned(&mesh, &POSES, &LearnOptions::default());
    let handles = at_handles(&detail, &points(&pressed(&mesh, [0.8, 0.3])));
    let still = played(&detail, &handles);
    for k in 0..12 {
        let rotation =
            DQuat::from_rotation_y(0.5 * f64::from(k)) * DQuat::from_rotation_x(0.3 * f64::from(k));
        let motion = Rigid { rotation, translation: DVec3::new(1.0, -2.0, 0.1 * f64::from(k)) };
        let turned = played(&detail, &handles.iter().map(|&p| motion.apply(p)).collect::<Vec<_>>());
        let carried: Vec<DVec3> = still.iter().map(|&p| motion.apply(p)).collect();
        assert!(apart(&turned, &carried) < 2e-6, "{}", apart(&turned, &carried));
    }
}

/// Both sides were learned together, then one is pressed alone. Pose distances around each vertex give the
/// right result; those over the whole face do not.
#[test]
fn one_side_alone_looks_right_when_both_were_learned_together() {
    let mesh = sheet(N);
    let truth = points(&pressed(&mesh, [1.0, 0.0]));
    let error = |model: PoseModel| {
        let detail = learned(&mesh, &[[1.0, 1.0]], &LearnOptions { model, ..LearnOptions::default() });
        let result = detail.by_definition(&at_handles(&detail, &truth));
        (result.iter().zip(&truth).map(|(a, b)| a.distance_squared(*b)).sum::<f64>() / truth.len() as f64)
            .sqrt()
    };
    let [local, whole] = [PoseModel::Wpsd, PoseModel::Psd].map(error);
    assert!(local < 0.5 * whole, "{local} against {whole}");
}

#[test]
fn a_basis_is_chosen_and_more_poses_are_better() {
    let mesh = sheet(N);
    let list: Vec<[f32; 2]> =
        (0..24).map(|k| [(0.7 * k as f32).sin() * 0.9, (0.4 * k as f32).cos() * 0.9]).collect();
    let truth: Vec<Vec<DVec3>> = list.iter().map(|&p| points(&pressed(&mesh, p))).collect();
    let error = |detail: &Detail| {
        let one = |t: &Vec<DVec3>| apart(&detail.by_definition(&at_handles(detail, t)), t);
        truth.iter().map(one).fold(0.0, f64::max)
    };
    let with = |fit: Fit| learned(&mesh, &list, &LearnOptions { fit, ..LearnOptions::default() });
    let [few, more] = [3, 9].map(|n| with(Fit::Basis(n)));
    assert_eq!((few.poses.len(), more.poses.len()), (3, 9));
    assert!(error(&more) < 0.7 * error(&few), "{} and {}", error(&more), error(&few));
    let tolerant = with(Fit::Tolerance(0.004));
    assert!(
        error(&tolerant) < 0.0041 && tolerant.poses.len() < 20,
        "{} {}",
        error(&tolerant),
        tolerant.poses.len()
    );
    let refused = learn(
        mesh.clone(),
        &handles(N, 7),
        None,
        &examples(&mesh, &list),
        &LearnOptions { fit: Fit::Tolerance(0.0), ..LearnOptions::default() },
        &no_progress,
    );
    assert!(refused.is_err());
}

#[test]
fn degenerate_examples_are_learned_as_far_as_they_say_anything() {
    let mesh = sheet(N);
    let finite = |detail: &Detail, pose: [f32; 2]| {
        let result = played(detail, &at_handles(detail, &points(&pressed(&mesh, pose))));
        assert!(result.iter().all(|p| p.is_finite()));
        result
    };
    // No example, one, the same one three times, the rest itself.
    let none = learn(
        mesh.clone(),
        &handles(N, 7),
        None,
        &Examples::default(),
        &LearnOptions::default(),
        &no_progress,
    )
    .unwrap();
    finite(&none, [1.0, 0.5]);
    for list in [&[[1.0, 1.0]][..], &[[1.0, 1.0]; 3], &[[0.0, 0.0], [1.0, 1.0]]] {
        let detail = learned(&mesh, list, &LearnOptions::default());
        let truth = points(&pressed(&mesh, [1.0, 1.0]));
        assert!(apart(&finite(&detail, [1.0, 1.0]), &truth) < 1.2e-4, "{list:?}");
    }
    // The same strains, with wrinkles and without: the mean.
    let mut two = examples(&mesh, &[[1.0, 1.0], [1.0, 1.0]]);
    let wrinkle = |p: &mut [f32; 3]| p[2] += 0.01 * (50.0 * p[0]).sin();
    let at: Vec<u32> = handles(N, 7);
    let plain: Vec<[f32; 3]> = two.positions[1].clone();
    two.positions[1]
        .iter_mut()
        .enumerate()
        .filter(|(v, _)| !at.contains(&(*v as u32)))
        .for_each(|(_, p)| wrinkle(p));
    let detail = learn(mesh.clone(), &at, None, &two, &LearnOptions::default(), &no_progress).unwrap();
    let mean: Vec<DVec3> =
        points(&plain).iter().zip(points(&two.positions[1])).map(|(a, b)| (*a + b) / 2.0).collect();
    assert!(
        apart(&finite(&detail, [1.0, 1.0]), &mean) < 1.2e-4,
        "{}",
        apart(&finite(&detail, [1.0, 1.0]), &mean)
    );
    // Invalid examples are reported by name.
    let mut short = examples(&mesh, &[[1.0, 1.0]]);
    short.positions[0].pop();
    let error = learn(mesh.clone(), &at, None, &short, &LearnOptions::default(), &no_progress)
        .unwrap_err()
        .to_string();
    assert!(error.contains("'1 1'") && error.contains("2303") && error.contains("2304"), "{error}");
    let mut lost = examples(&mesh, &[[1.0, 1.0]]);
    lost.positions[0][77][1] = f32::NAN;
    let error = learn(mesh.clone(), &at, None, &lost, &LearnOptions::default(), &no_progress)
        .unwrap_err()
        .to_string();
    assert!(error.contains("vertex 77"), "{error}");
}

/// A bump between the sampled vertices on which poses are chosen is still found. Too many examples without a
/// basis are refused.
#[test]
fn tolerance_holds_at_every_vertex() {
    let n = 150;
    let mesh = sheet(n);
    let plain = pressed(&mesh, [0.3, 0.3]);
    let mut bumped = plain.clone();
    // Every twelfth vertex is sampled.
    let bump = 60 * n as usize + 64;
    assert_ne!(bump % (mesh.n_vertices().div_ceil(2000)), 0);
    bumped[bump][2] += 0.05;
    // Pressed further it is gone, which the distance from the rest alone cannot express.
    let further = pressed(&mesh, [0.6, 0.6]);
    let (names, plain) = (vec!["bump".into(), "further".into()], vec![plain, further.clone()]);
    let all = Examples { names, positions: vec![bumped, further], plain };
    let options = LearnOptions { fit: Fit::Tolerance(0.01), ..LearnOptions::default() };
    let detail = learn(mesh.clone(), &handles(n, 7), None, &all, &options, &no_progress).unwrap();
    assert!(detail.poses.len() > 1, "{:?}", detail.poses);
    let many = examples(&sheet(10), &[[0.5, 0.5]; 70]);
    let error =
        learn(sheet(10), &handles(10, 4), None, &many, &LearnOptions::default(), &no_progress).unwrap_err();
    assert!(error.to_string().contains("basis") && error.options() == ["basis", "tolerance"], "{error}");
}

/// Two handles, or three on a line, do not determine a rotation: the face is not rotated.
#[test]
fn handles_on_a_line_do_not_turn_the_face() {
    let mesh = sheet(N);
    let list = examples(&mesh, &[[0.4, 0.4]]);
    for line in [vec![0, N - 1], vec![0, N * 20, N * (N - 1)]] {
        let detail = learn(mesh.clone(), &line, None, &list, &LearnOptions::default(), &no_progress).unwrap();
        let truth = points(&list.positions[0]);
        let off = apart(&detail.by_definition(&at_handles(&detail, &truth)), &truth);
        assert!(off < 1e-4, "{line:?}: {off}");
    }
}

/// Applied to an existing animation, detail keeps the animation's large-scale deformation.
#[test]
fn detail_goes_onto_an_animation_that_exists() {
    let mesh = sheet(N);
    let detail = learned(&mesh, &POSES, &LearnOptions::default());
    let player = DetailPlayer::prepare(&detail).unwrap();
    let mut stage = PlayedFrame::default();
    // The large-scale deformation alone as animation gives the same as driving the handles.
    let truth = points(&pressed(&mesh, [1.0, 0.0]));
    let handles = at_handles(&detail, &truth);
    let plain = Detail { weights: vec![[0.0; 3]; detail.weights.len()].into(), ..detail.clone() };
    let large = played(&plain, &handles);
    let large: Vec<[f32; 3]> = large.iter().map(|p| p.as_vec3().to_array()).collect();
    player.on(&large, &mut stage).unwrap();
    let off = apart(&shown(&player, &stage), &truth);
    assert!(off < 1e-4, "{off}");
    assert!(stage.normals.iter().all(|n| (glam::Vec3::from(*n).length() - 1.0).abs() < 1e-5));
    assert!(player.on(&large[1..], &mut stage).is_err() && player.frame(&handles[1..], &mut stage).is_err());
}
