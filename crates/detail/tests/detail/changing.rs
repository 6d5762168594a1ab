//! Learned detail is edited, painted on and transferred to another face; markers drive the far side of thin
//! flesh.

use crate::{apart, examples, handles, points, pressed, sheet};
use glam::{DQuat, DVec3, Vec3};
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_detail::attach::Attached;
use risorius_detail::edit::Join;
use risorius_detail::markers::Settled;
use risorius_detail::{Detail, LearnOptions, ShellOptions, learn};
use risorius_mesh::FileMesh;

const N: u32 = 40;
const POSES: [[f32; 2]; 3] = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];

fn learned(mesh: &FileMesh) -> Detail {
    learn(mesh.clone(), &handles(N, 7), None, &examples(mesh, &POSES), &LearnOptions::default(), &no_progress)
        .unwrap()
}

/// The model at a pose of the whole mesh.
fn at(detail: &Detail, pose: &[[f32; 3]]) -> Vec<DVec3> {
    let all = points(pose);
    detail.by_definition(&detail.shell.handles.iter().map(|&v| all[v as usize]).collect::<Vec<_>>())
}

#[test]
fn a_pose_is_replaced_and_nothing_else_changes() {
    let mesh = sheet(N);
    let before = learned(&mesh);
    let mut after = before.clone();
    let pose = after.pose("1 0").unwrap();
    // Wrinkles of the same handles, a little higher at the lower left.
    let old = pressed(&mesh, POSES[0]);
    let is_handle = |v: usize| before.shell.handles.contains(&(v as u32));
    let is_new = |v: usize| mesh.positions[v][0] < 0.3 && mesh.positions[v][1] < 0.3 && !is_handle(v);
    let higher = |(v, p): (usize, &[f32; 3])| if is_new(v) { [p[0], p[1], p[2] + 0.01] } else { *p };
    let new: Vec<[f32; 3]> = old.iter().enumerate().map(higher).collect();
    let n_changed = after.replace_pose(pose, &new, None).unwrap();
    assert!((1..400).contains(&n_changed), "{n_changed}");
    let far = apart(&at(&after, &new), &points(&new));
    assert!(far < 1e-5, "{far}");
    for (k, amounts) in POSES.iter().enumerate().skip(1) {
        let truth = pressed(&mesh, *amounts);
        let far = apart(&at(&after, &truth), &points(&truth));
        assert!(far < 1e-4, "example {k}: {far}");
    }
    let n = before.poses.len();
    let same = (0..mesh.n_vertices())
        .filter(|&v| after.weights[v * n..(v + 1) * n] == before.weights[v * n..(v + 1) * n]);
    assert_eq!(same.count(), mesh.n_vertices() - n_changed, "everything else to the bit");

    // With handles elsewhere, strains change, and the new pose is reproduced.
    let moved = pressed(&mesh, [0.7, 0.2]);
    after.replace_pose(pose, &moved, None).unwrap();
    let far = apart(&at(&after, &moved), &points(&moved));
    assert!(far < 1e-4, "{far}");
    assert!(after.replace_pose(0, &moved, None).is_err() && after.replace_pose(9, &moved, None).is_err());
    assert!(after.replace_pose(pose, &moved[1..], None).is_err());
    let mut lost = moved.clone();
    lost[3][1] = f32::NAN;
    assert!(after.replace_pose(pose, &lost, None).is_err());
}

#[test]
fn paint_shows_where_it_is_painted() {
    let mesh = sheet(N);
    let mut detail = learned(&mesh);
    let pose = detail.pose("1 0").unwrap();
    let heights: Vec<Option<f32>> =
        mesh.positions.iter().map(|p| (p[0] < 0.5).then_some(0.02 * (20.0 * p[1]).sin())).collect();
    let n_painted = heights.iter().filter(|h| h.is_some_and(|h| h != 0.0)).count();
    let n_changed = detail.paint(pose, &heights, Join::Add).unwrap();
    assert!(n_changed <= n_painted && n_changed * 10 > n_painted * 9, "{n_changed} of {n_painted}");
    let truth = pressed(&mesh, POSES[0]);
    let made = at(&detail, &truth);
    for (v, (p, q)) in made.iter().zip(points(&truth)).enumerate() {
        let wanted = f64::from(heights[v].unwrap_or(0.0).abs());
        assert!((p.distance(q) - wanted).abs() < 1e-3, "vertex {v}: {} for {wanted}", p.distance(q));
    }
    // Relief also shows at rest, and disappears when it is replaced by zero.
    assert!(detail.paint(0, &heights, Join::Add).unwrap() > 0);
    let rest = at(&detail, &mesh.positions);
    let highest = apart(&rest, &points(&mesh.positions));
    assert!((0.019..0.021).contains(&highest), "{highest}");
    detail.paint(0, &vec![Some(0.0); heights.len()], Join::Replace).unwrap();
    assert!(apart(&at(&detail, &mesh.positions), &points(&mesh.positions)) < 1e-5);
    let sculpted: Vec<[f32; 3]> = mesh.positions.iter().map(|p| [p[0], p[1], p[2] + 0.01]).collect();
    assert!(detail.sculpt_rest(&sculpted).unwrap() > 1000);
    assert!(apart(&at(&detail, &mesh.positions), &points(&sculpted)) < 1e-5);
    assert!(detail.paint(pose, &heights[1..], Join::Add).is_err());
}

#[test]
fn wrinkles_of_one_sheet_go_to_another() {
    let mesh = sheet(N);
    let detail = learned(&mesh);
    // Another resolution, unit, position and orientation.
    let rigid = Rigid { rotation: DQuat::from_rotation_y(0.8), translation: DVec3::new(5.0, -2.0, 1.0) };
    let carry = |p: &[f32; 3]| rigid.apply(Vec3::from(*p).as_dvec3() * 30.0).as_vec3().to_array();
    let fine = sheet(53);
    let target =
        FileMesh { positions: fine.positions.iter().map(carry).collect(), triangles: fine.triangles.clone() };
    let pairs: Vec<[u32; 2]> = handles(N, 4).into_iter().zip(handles(53, 4)).map(|(a, b)| [a, b]).collect();
    let moved = detail.transferred(target, &pairs, &ShellOptions::default(), &no_progress).unwrap();
    assert!((moved.similarity.scale - 30.0).abs() < 0.5 && moved.n_covered == 53 * 53);
    assert!(moved.mean_distance < 0.05, "{}", moved.mean_distance);
    for amounts in [[1.0, 0.0], [0.6, 0.9]] {
        let truth: Vec<[f32; 3]> = pressed(&fine, amounts).iter().map(carry).collect();
        let wrinkled = at(&moved.detail, &truth);
        let bare =
            Detail { weights: vec![[0.0; 3]; moved.detail.weights.len()].into(), ..moved.detail.clone() };
        let [with, without] = [wrinkled, at(&bare, &truth)].map(|made| {
            let off = made.iter().zip(points(&truth)).map(|(a, b)| a.distance_squared(b)).sum::<f64>();
            (off / made.len() as f64).sqrt()
        });
        assert!(with < 0.5 * without, "{amounts:?}: {with} with wrinkles, {without} without");
    }
    assert!(detail.transferred(fine.clone(), &pairs[..3], &ShellOptions::default(), &no_progress).is_err());
    let triangles = fine.triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
    let turned = FileMesh { positions: fine.positions, triangles };
    let error = detail
        .transferred(turned, &pairs, &ShellOptions::default(), &no_progress)
        .err()
        .map(|e| e.to_string());
    assert!(error.is_some_and(|e| e.contains("do not meet")), "it faces the other way");
}

/// A pocket: a folded sheet whose end lies 0.1 behind its start. Markers on the outside tilt; the inside must
/// stay behind the outside.
#[test]
fn the_far_side_of_thin_flesh_follows_the_near_one() {
    let n = 41;
    let mut mesh = sheet(n);
    for p in &mut mesh.positions {
        let (x, y) = (p[0], 2.0 * p[1]);
        // Down the outside, around the bottom, and up the inside; outwards is +z.
        let bend = 0.05 * std::f32::consts::PI;
        *p = match y {
            y if y < 0.8 => [x, 1.0 - y, 0.05],
            y if y < 0.8 + bend => {
                let angle = (y - 0.8) / 0.05;
                [x, 0.2 - 0.05 * angle.sin(), 0.05 * angle.cos()]
            }
            y => [x, 0.2 + (y - 0.8 - bend), -0.05],
        };
    }
    mesh.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let at = |x: u32, y: u32| y * n + x;
    let markers: Vec<u32> =
        [0, 10, 20, 30, 40].into_iter().flat_map(|x| [0, 8, 15].map(|y| at(x, y))).collect();
    let rest: Vec<DVec3> =
        markers.iter().map(|&v| Vec3::from(mesh.positions[v as usize]).as_dvec3()).collect();
    // Tilted forward, more towards the bottom.
    let tilted: Vec<DVec3> = rest.iter().map(|p| *p + DVec3::new(0.0, 0.0, 0.5 * (1.0 - p.y))).collect();
    let head = vec![Rigid::IDENTITY, Rigid { rotation: DQuat::from_rotation_x(0.3), translation: DVec3::X }];
    let settled = Settled { reference: 0, frames: vec![rest.clone(), tilted], head, n_filled: 0 };
    let pairs: Vec<(usize, u32)> = markers.iter().copied().enumerate().collect();
    let attached =
        Attached::prepare(&mesh, &settled, &pairs, &ShellOptions::default(), &no_progress).unwrap();
    let all: Vec<u32> = (0..n * n).collect();
    assert!(apart(&attached.moved(&settled, 0, &all), &points(&mesh.positions)) < 1e-5);
    let moved = attached.moved(&settled, 1, &all);
    for x in [5, 20, 35] {
        for y in 24..36 {
            let here = moved[at(x, y) as usize];
            // The outside at the same height.
            let front = 0.05 + 0.5 * (1.0 - here.y);
            assert!(here.z < front, "column {x}, row {y} is at {} where the outside is at {front}", here.z);
        }
    }
    // Markers are in the mesh's space, so the head motion is theirs.
    let heads = attached.heads(&settled);
    assert!(
        heads[1].translation.distance(DVec3::X) < 1e-6
            && heads[1].rotation.angle_between(settled.head[1].rotation) < 1e-6
    );
}
