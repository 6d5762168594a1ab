//! `perform` with a scene: wind, forces, factors and colliders have the documented effect, and none where
//! they do not act.

use crate::desk::Desk;
use glam::{DQuat, DVec3, Vec3};
use risorius_anatomy::Regions;
use risorius_base::Rigid;
use risorius_flesh::Face;
use risorius_io::open::open_take;
use risorius_perform::SkinOut;
use risorius_perform::curve::Curve;
use risorius_perform::scene::forces::{Acting, Moment};
use risorius_perform::scene::model::{AIR, ExpressedIn, Force, Scene};
use std::collections::BTreeSet;

const CALL: [&str; 4] = ["perform", "head.face", "--clip", "still.csv"];

/// A desk with the small face, a clip of the neutral in two frames, and the face itself. Its unit is the
/// meter.
fn desk() -> (Desk, Face) {
    let desk = crate::perform::desk();
    desk.write("still.csv", "time,jawOpen\n0,0\n0.02,0\n");
    let face = risorius_io::native::face::open(&desk.path("head.face")).unwrap();
    (desk, face)
}

/// Vertices of all frames, meters.
fn frames(desk: &Desk, name: &str) -> Vec<Vec<DVec3>> {
    let take = open_take(&desk.path(name), 30.0).unwrap();
    let meters = |p: &[f32; 3]| Vec3::from(*p).as_dvec3();
    take.positions.chunks(take.n_vertices).map(|frame| frame.iter().map(meters).collect()).collect()
}

/// Displacements from the neutral in the first frame, which is in static equilibrium. Millimeters, in the
/// file's order.
fn settled(desk: &Desk, more: &[&str]) -> Vec<DVec3> {
    desk.ok(&[&CALL[..], more, &["-o", "take.npz"]].concat());
    desk.ok(&["pose", "head.face", "--clip", "still.csv", "-o", "plain.npz"]);
    let plain = frames(desk, "plain.npz").swap_remove(0);
    frames(desk, "take.npz")[0].iter().zip(plain).map(|(a, b)| 1000.0 * (*a - b)).collect()
}

/// The mean over a region of the rig.
fn mean(face: &Face, region: &str, moved: &[DVec3]) -> DVec3 {
    let vertices = Regions::new(&face.rig, &face.anatomy).vertices(region).unwrap();
    // The built-in head is not welded: file vertices are rig vertices.
    assert_eq!(moved.len(), face.rig.n_vertices());
    vertices.iter().map(|&v| moved[v as usize]).sum::<DVec3>() / vertices.len() as f64
}

fn force_on(region: &str, newtons: [f64; 3]) -> String {
    format!(
        r#"{{"forces": [{{"region": "{region}", "space": "head", "keys": [{{"newtons": {newtons:?}}}]}}]}}"#
    )
}

/// A head at rest.
fn still(head: Rigid) -> Moment {
    Moment { time_secs: 0.0, heads: [head; 2], span_secs: 0.01, head, acceleration: Default::default() }
}

/// Area that triangles cover when projected along z, m^2, counted in square millimeters.
fn frontal_area(triangles: &[[u32; 3]], positions: &[DVec3]) -> f64 {
    let mut covered = BTreeSet::new();
    for t in triangles {
        let [a, b, c] = t.map(|v| 1000.0 * positions[v as usize].truncate());
        let (low, high) = (a.min(b).min(c).floor(), a.max(b).max(c).ceil());
        for x in low.x as i64..=high.x as i64 {
            for y in low.y as i64..=high.y as i64 {
                let p = glam::DVec2::new(x as f64, y as f64);
                let side = |a: glam::DVec2, b: glam::DVec2| (b - a).perp_dot(p - a);
                let sides = [side(a, b), side(b, c), side(c, a)];
                if sides.iter().all(|s| *s >= 0.0) || sides.iter().all(|s| *s <= 0.0) {
                    covered.insert((x, y));
                }
            }
        }
    }
    covered.len() as f64 * 1e-6
}

#[test]
fn wind_bears_its_dynamic_pressure_on_the_frontal_area_and_follows_the_head() {
    let (_, face) = desk();
    let skin = SkinOut::prepare(&face);
    let total = |wind: DVec3, moment: &Moment| {
        let scene = Scene { wind: Curve::constant(wind), ..Scene::default() };
        let acting = Acting::prepare(&face, &scene, &skin).unwrap();
        let mut forces = Vec::new();
        acting.add_forces(moment, &acting.facing(&face.rig.neutral), &mut forces);
        forces.iter().sum::<DVec3>()
    };
    let blows = DVec3::new(0.0, 0.0, -20.0);
    let here = still(Rigid::IDENTITY);
    let force = total(blows, &here);
    let pieces = &face.anatomy.pieces;
    let embedded = &face.flesh.embedding.vertices;
    let fleshy: Vec<[u32; 3]> =
        pieces.skin.iter().filter(|t| t.iter().all(|v| embedded.binary_search(v).is_ok())).copied().collect();
    let expected = 0.5 * AIR * 400.0 * frontal_area(&fleshy, &pieces.positions);
    assert!(force.z < -0.6 * expected && force.z > -1.1 * expected, "{force:?} and {expected}");
    assert!(force.x.abs() < 0.02 * expected && force.y.abs() < 1e-9, "{force:?}");
    assert!((total(0.5 * blows, &here) - 0.25 * force).length() < 1e-9, "not by the square of the speed");
    assert_eq!(total(DVec3::ZERO, &here), DVec3::ZERO);
    // A head that moves forward at 20 m/s through still air gets the same force; one that moves with the wind
    // gets none.
    let rides = |velocity: DVec3| {
        let there = Rigid { translation: velocity * 0.01, ..Rigid::IDENTITY };
        Moment { heads: [Rigid::IDENTITY, there], head: there, ..here }
    };
    assert!((total(DVec3::ZERO, &rides(-blows)) - force).length() < 1e-9);
    assert!(total(blows, &rides(blows)).length() < 1e-9);
    // A head turned to its left meets a wind along -x with its face.
    let turned =
        still(Rigid { rotation: DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2), ..Rigid::IDENTITY });
    assert!((total(DVec3::new(-20.0, 0.0, 0.0), &turned) - force).length() < 1e-9);
}

#[test]
fn forces_add_up_and_follow_their_space() {
    let (_, face) = desk();
    let skin = SkinOut::prepare(&face);
    let vertices = Regions::new(&face.rig, &face.anatomy).vertices("cheek_left").unwrap();
    let total = |expressed_in: ExpressedIn| {
        let newtons = Curve::constant(DVec3::X);
        let scene = Scene {
            forces: vec![Force { vertices: vertices.clone(), newtons, expressed_in }],
            ..Scene::default()
        };
        let acting = Acting::prepare(&face, &scene, &skin).unwrap();
        let mut forces = Vec::new();
        let head = Rigid { rotation: DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2), ..Rigid::IDENTITY };
        acting.add_forces(&still(head), &[], &mut forces);
        forces.iter().sum::<DVec3>()
    };
    let [head, world] = [ExpressedIn::Head, ExpressedIn::World].map(total);
    assert!(head.x > 0.75 && head.x < 1.0 + 1e-9 && head.y == 0.0, "{head:?}: the rest is borne by bone");
    assert!(world.y < -0.75 && world.x.abs() < 1e-9, "{world:?}");
}

#[test]
fn wind_and_forces_move_what_they_act_on_as_statics_say() {
    let (desk, face) = desk();
    let at = |moved: &[DVec3], region: &str| mean(&face, region, moved);
    let [gentle, strong] = ["0,0,-10", "0,0,-20"].map(|wind| settled(&desk, &["--wind", wind]));
    let [a, b] = [&gentle, &strong].map(|moved| at(moved, "cheeks").z);
    // 240 Pa on a centimeter of flesh whose resistance to compression is lambda + 2 mu, 8,500 Pa: 0.3 mm.
    assert!(b < -0.05 && b > -2.0 && (b / a - 4.0).abs() < 0.4, "{a} and {b} mm");
    assert!(
        strong
            .iter()
            .zip(&face.anatomy.pieces.positions)
            .filter(|(_, p)| p.z < -0.05)
            .all(|(d, _)| d.length() < 1e-3)
    );

    desk.write("push.json", force_on("cheek_left", [0.2, 0.0, 0.0]));
    desk.write("twice.json", force_on("cheek_left", [0.4, 0.0, 0.0]));
    let [once, twice] = ["push.json", "twice.json"].map(|scene| settled(&desk, &["--scene", scene]));
    let [left, double, right] =
        [at(&once, "cheek_left").x, at(&twice, "cheek_left").x, at(&once, "cheek_right").length()];
    assert!(
        left > 0.02 && (double / left - 2.0).abs() < 0.2 && right < 0.02 * left,
        "{left} {double} {right}"
    );

    let stiff = settled(&desk, &["--scene", "push.json", "--stiffness", "2"]);
    let halved = at(&stiff, "cheek_left").x / left;
    let local = settled(&desk, &["--wind", "0,0,-20", "--stiffness", "cheek_left=4"]);
    let [stiffer, alike] = ["cheek_left", "cheek_right"].map(|r| at(&local, r).z / at(&strong, r).z);
    assert!((halved - 0.5).abs() < 0.03 && stiffer < 0.65 && stiffer > 0.2 && (alike - 1.0).abs() < 0.05);

    // A head lying on its side: flesh sags in the direction of gravity. Without contact, because on flesh as
    // coarse as this, which points touch changes with the load, and the sag jumps with it.
    desk.write("lies.csv", "time_s,px_m,py_m,pz_m,qx,qy,qz,qw\n0,0,0,0,0,0,0.7071068,0.7071068\n");
    let hangs = |more: &[&str]| settled(&desk, &[&["--head", "lies.csv", "--contact", "off"], more].concat());
    let [usual, heavy, one] = [&[][..], &["--mass", "2"], &["--mass", "cheek_left=3"]].map(hangs);
    let sag = |moved: &[DVec3], region: &str| at(moved, region).length();
    let all = sag(&heavy, "cheeks") / sag(&usual, "cheeks");
    let [left, right] = ["cheek_left", "cheek_right"].map(|r| sag(&one, r) / sag(&usual, r));
    assert!(
        (all - 2.0).abs() < 0.2 && left > 1.7 && left < 3.0 && (right - 1.0).abs() < 0.1,
        "{all} {left} {right}"
    );
}

#[test]
fn what_does_nothing_leaves_every_bit() {
    let (desk, _) = desk();
    let call = ["perform", "head.face", "--clip", "clip.csv", "--head", "motion.csv"];
    desk.ok(&[&call[..], &["-o", "plain.npz"]].concat());
    desk.write("none.json", force_on("lips", [0.0; 3]));
    desk.write("empty.json", "{}");
    for more in [
        &["--scene", "none.json"][..],
        &["--scene", "empty.json"],
        &["--stiffness", "lips=1,1", "--mass", "cheeks=1"],
        &["--contact", "wall"],
    ] {
        desk.ok(&[&call[..], more, &["-o", "same.npz"]].concat());
        assert!(desk.read("same.npz") == desk.read("plain.npz"), "{more:?}");
    }
}

/// The point of the left cheek with the most flesh under it, and the outward direction.
fn cheek(face: &Face) -> (DVec3, DVec3) {
    let pieces = &face.anatomy.pieces;
    let left = Regions::new(&face.rig, &face.anatomy).vertices("cheek_left").unwrap();
    let held = face.flesh.rest().into_iter().zip(face.flesh.kinematic_nodes()).filter(|(_, held)| *held);
    let held: Vec<DVec3> = held.map(|(p, _)| p).collect();
    let room = |v: &u32| {
        held.iter().map(|p| p.distance(pieces.positions[*v as usize])).fold(f64::INFINITY, f64::min)
    };
    // Away from where flesh ends, where motion fades.
    let skin = SkinOut::prepare(face);
    let full = |v: &&u32| skin.attachment(**v).weights.iter().sum::<f64>() > 0.999;
    let at = *left.iter().filter(full).max_by(|a, b| room(a).total_cmp(&room(b))).unwrap();
    let around = pieces.skin.iter().filter(|t| t.contains(&at));
    let out = around.map(|t| t.map(|v| pieces.positions[v as usize])).map(|[a, b, c]| (b - a).cross(c - a));
    (pieces.positions[at as usize], out.sum::<DVec3>().normalize())
}

/// A ball of 2 cm that approaches a cheek, presses 5 mm deep, and leaves.
fn ball(face: &Face) -> (String, impl Fn(f64) -> DVec3) {
    let (at, out) = cheek(face);
    let keys = [(0.0, 0.03), (0.1, 0.015), (0.16, 0.015), (0.26, 0.03)];
    let place = move |gap: f64| (at + out * gap).to_array();
    let text: Vec<String> =
        keys.iter().map(|&(t, gap)| format!(r#"{{"time": {t}, "position": {:?}}}"#, place(gap))).collect();
    let scene = format!(
        r#"{{"colliders": [{{"sphere": {{"radius": 0.02}}, "space": "head", "keys": [{}]}}]}}"#,
        text.join(", ")
    );
    let path = Curve::keyed(&keys.map(|k| k.0), &keys.map(|k| DVec3::from(place(k.1))));
    (scene, move |t| path.at(t).unwrap())
}

#[test]
fn a_scene_resumes_where_it_was_edited() {
    let (desk, face) = desk();
    let (scene, _) = ball(&face);
    let rows: String = (0..8).map(|i| format!("{},0.{i}\n", f64::from(i) / 50.0)).collect();
    desk.write("still.csv", format!("time,jawOpen\n{rows}"));
    desk.write("scene.json", &scene);
    let run = |output: &str, more: &[&str]| {
        let call = ["--scene", "scene.json", "--wind", "0,0,-5", "--stiffness", "cheeks=0.5", "-o", output];
        desk.json(&[&CALL[..], &call, more].concat())
    };
    run("take.npz", &["--resume"]);
    // The key at 0.16 s is moved: it changes the curve from 0.1 s on, which is frame 5.
    desk.write("scene.json", scene.replace("0.16", "0.15"));
    let report = run("take.npz", &["--resume"]);
    let why = report["resumed"]["why"].as_str().unwrap();
    assert!(
        why.contains("the scene changed at frame") && report["resumed"]["from"].as_u64().unwrap() >= 5,
        "{why}"
    );
    run("plain.npz", &[]);
    assert!(desk.read("take.npz") == desk.read("plain.npz"), "other bytes than an uninterrupted run");
    assert_eq!(run("take.npz", &["--resume"])["resumed"]["from"], 8);
}

#[test]
fn world_output_is_head_output_moved_by_the_head() {
    let desk = crate::perform::desk();
    let call = ["perform", "head.face", "--clip", "clip.csv", "--head", "motion.csv"];
    let [head, world] = ["head", "world"].map(|space| {
        desk.ok(&[&call[..], &["--space", space, "-o", "take.npz"]].concat());
        desk.ok(&[&call[..], &["--space", space, "-o", &format!("{space}.glb")]].concat());
        frames(&desk, "take.npz")
    });
    let poses = [
        ([0.0, 0.0, 0.0], 0.0, 1.0),
        ([0.0, 0.002, 0.0], 0.01, 0.99995),
        ([0.0, 0.008, 0.0], 0.03, 0.99955),
        ([0.0, 0.004, 0.0], 0.06, 0.9982),
    ];
    for (frame, (position, y, w)) in poses.into_iter().enumerate() {
        let rotation = DQuat::from_xyzw(0.0, y, 0.0, w).normalize();
        let place = Rigid { rotation, translation: position.into() };
        let off = head[frame]
            .iter()
            .zip(&world[frame])
            .map(|(a, b)| place.apply(*a).distance(*b))
            .fold(0.0, f64::max);
        assert!(off < 1e-6, "frame {frame} is {off} m off");
    }
    assert!(head[3] != world[3]);
    // A GLB in world space moves vertices, not a node.
    let convert = |name: &str| desk.run(&["convert", name, "-o", &format!("{name}.head.csv")]).code;
    let node = |name: &str| String::from_utf8_lossy(&desk.read(name)).contains("\"rotation\"");
    assert!(node("head.glb") && !node("world.glb"), "{} {}", convert("head.glb"), convert("world.glb"));
    let report =
        desk.json(&["perform", "head.face", "--clip", "clip.csv", "--space", "world", "-o", "a.npz"]);
    assert!(report["notes"].to_string().contains("no head motion"), "{report}");
}

#[test]
fn pairs_of_regions_are_watched() {
    let (desk, _) = desk();
    desk.ok(&[&CALL[..], &["--touch", "cheek_left:nose", "--touch", "shape:jawOpen:brows", "-o", "a.npz"]]
        .concat());
    desk.ok(&["pose", "head.face", "--clip", "still.csv", "-o", "plain.npz"]);
    assert!(desk.read("a.npz") == desk.read("plain.npz"), "a collision pair without contact moved vertices");
}

#[test]
fn wrong_scenes_say_what_is_wrong() {
    let (desk, _) = desk();
    desk.write("bad.json", "{\n \"wind\": [{\"speed\": 3}]}");
    desk.write("radius.json", r#"{"colliders": [{"sphere": {"radius": 0}, "keys": [{}]}]}"#);
    desk.write("mesh.json", r#"{"colliders": [{"mesh": {"file": "none.obj"}, "keys": [{}]}]}"#);
    desk.write("windy.json", r#"{"wind": [{"velocity": [0, 0, 1]}]}"#);
    desk.write("teeth.json", force_on("teeth_upper", [1.0, 0.0, 0.0]));
    for (code, more, words) in [
        (1, &["--scene", "none.json"][..], &["none.json"][..]),
        (1, &["--scene", "bad.json"], &["bad.json", "line 2", "velocity"]),
        (1, &["--scene", "radius.json"], &["radius.json", "colliders[0]", "`radius` is 0"]),
        (1, &["--scene", "mesh.json"], &["colliders[0]", "none.obj"]),
        (1, &["--scene", "teeth.json"], &["force 0", "no flesh"]),
        (2, &["--scene", "windy.json", "--wind", "1,0,0"], &["already has wind", "--wind"]),
        (2, &["--wind", "1,2"], &["'1,2'", "X,Y,Z"]),
        (2, &["--contact", "hard"], &["wall", "penalty", "off"]),
        (2, &["--space", "moon"], &["world"]),
        (2, &["--touch", "lips"], &["A:B"]),
        (1, &["--touch", "lips:toes"], &["'toes'", "lids_left", "cheeks", "shape:NAME"]),
        (2, &["--stiffness", "lips"], &["'lips'", "lips=2"]),
        (1, &["--stiffness", "lips=-1"], &["stiffness", "positive"]),
        (1, &["--mass", "0"], &["factor on mass"]),
        (1, &["--mass", "toes=2"], &["mass", "'toes'", "lips"]),
        (1, &["--mass", "tongue=2"], &["no flesh", "mass"]),
        (1, &["--stiffness", "shape:nothing=2"], &["shape", "nothing"]),
    ] {
        desk.fails_with(code, &[&CALL[..], more, &["-o", "a.npz"]].concat(), words);
    }
    assert!(!desk.path("a.npz").exists());
}
