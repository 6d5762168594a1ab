//! Anatomy detected in and transferred to real heads.

use risorius_anatomy::carry::{Anatomy, CarryOptions, carry};
use risorius_anatomy::find::{Given, find, find_direct};
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::pieces::{PieceKind, pieces};
use risorius_base::progress::no_progress;
use risorius_head::person::{Head, Identity};
use risorius_mesh::TriMesh;
use risorius_rig::Rig;
use risorius_tests::anatomy::{
    built_in, distances, ict_bone, ict_head, ict_landmarks, open, person, save, skin_and_bones,
};
use risorius_tests::data;
use risorius_view::{DrawOptions, FaceLook, Marker, draw};

const ICT: &str = "ict_facekit/ict_expressions.glb";
const HEADS: [&str; 3] = [ICT, "makehuman_male/makehuman_head_male.glb", "facecap/facecap_plain.glb"];

/// iBUG numbers of the groups that are measured.
const GROUPS: [(&str, std::ops::Range<usize>); 5] =
    [("jaw line", 0..17), ("brows", 17..27), ("nose", 27..36), ("eyes", 36..48), ("mouth", 48..68)];

fn short(path: &str) -> &str {
    path.split(['/', '_']).next().unwrap()
}

#[test]
fn heads_come_apart() {
    let Some(data) = data("heads_come_apart") else { return };
    for path in HEADS {
        let found = pieces(&open(&data, path));
        let n = |kind| found.vertices(kind).len();
        let counts =
            [PieceKind::EyeLeft, PieceKind::EyeRight, PieceKind::TeethUpper, PieceKind::TeethLower].map(n);
        println!("{}: skin {} eyes and teeth {counts:?}", short(path), n(PieceKind::Skin));
        assert!(counts.iter().all(|&n| n >= 60), "{path}: {counts:?}");
        assert_eq!(counts[0], counts[1], "{path}");
    }
    let found = pieces(&open(&data, ICT));
    // The ranges of regions.json, minus the vertices merged by welding.
    assert_eq!(found.vertices(PieceKind::Skin).len(), 14062);
    assert_eq!(found.vertices(PieceKind::TeethUpper).len(), 2208);
    assert_eq!(found.vertices(PieceKind::TeethLower).len(), 2204);
}

/// Errors in millimeters of the tracker's landmarks, by group: mean and largest.
fn errors(rig: &Rig, truth: &[u32]) -> Vec<(f64, f64, usize)> {
    let found = pieces(rig);
    let (marks, _) = find_direct(rig, &found);
    GROUPS
        .iter()
        .map(|(_, group)| {
            let off: Vec<f64> = group
                .clone()
                .filter_map(|i| {
                    Some(1000.0 * marks[i].as_ref()?.position.distance(found.positions[truth[i] as usize]))
                })
                .collect();
            (
                off.iter().sum::<f64>() / off.len().max(1) as f64,
                off.iter().copied().fold(0.0, f64::max),
                off.len(),
            )
        })
        .collect()
}

/// The ICT head as another person: 0 is the average; others differ by 1.2 deviations in eight modes each.
fn other_person(rig: &Rig, people: &Rig, person: usize) -> Rig {
    let mut one = rig.clone();
    // Welding differs between the two files; the file vertices are the same.
    let of_file = |v: usize| rig.parts[0].rig_vertex[v] as usize;
    for mode in 0..if person == 0 { 0 } else { 8 } {
        let sign = if (person * 7 + mode * 3) % 4 < 2 { 1.2 } else { -1.2 };
        let deltas = &people.shapes[(person - 1) * 2 + mode].deltas;
        let mut dense = vec![[0.0; 3]; people.n_vertices()];
        deltas.vertices.iter().zip(&deltas.offsets).for_each(|(&v, o)| dense[v as usize] = *o);
        let mut done = vec![false; rig.n_vertices()];
        for (v, o) in people.parts[0].to_file_order(&dense).iter().enumerate() {
            if !std::mem::replace(&mut done[of_file(v)], true) {
                (0..3).for_each(|k| one.neutral[of_file(v)][k] += sign * o[k]);
            }
        }
    }
    one
}

#[test]
fn landmarks_of_the_ict_head_and_of_other_people() {
    let Some(data) = data("landmarks_of_the_ict_head_and_of_other_people") else { return };
    let rig = open(&data, ICT);
    let truth = ict_landmarks(&data, &rig);
    let people = open(&data, "ict_facekit/ict_identity40.glb");
    let mut worst = [0.0f64; 5];
    for person in 0..6 {
        let one = other_person(&rig, &people, person);
        for (((name, group), (mean, max, n)), worst) in
            GROUPS.iter().zip(errors(&one, &truth)).zip(&mut worst)
        {
            println!(
                "person {person}: {name:9} {n:2} of {:2} found, mean {mean:.1} mm, max {max:.1} mm",
                group.len()
            );
            if n > group.len() / 2 && ["nose", "eyes", "mouth"].contains(name) {
                let (mean_bound, max_bound) = if person == 0 { (2.0, 4.0) } else { (4.0, 10.0) };
                assert!(mean < mean_bound && max < max_bound, "person {person}, {name}: {mean:.1}, {max:.1}");
            }
            *worst = worst.max(max);
        }
    }
    println!("worst of all people: {worst:.1?} mm");
}

fn anatomy_of(rig: &Rig, head: &Head) -> Anatomy {
    let found = pieces(rig);
    let marks = find(rig, &found, head, &Given::default()).unwrap();
    carry(rig, found, &marks, head, &CarryOptions::default(), &no_progress).unwrap()
}

fn pictures(rig: &Rig, anatomy: &Anatomy, name: &str) {
    if std::env::var_os("RISORIUS_OUT").is_none() {
        return;
    }
    let look = FaceLook::prepare(rig);
    let hue = |c: f64| [(255.0 * (1.0 - c)) as u8, (80.0 + 120.0 * c) as u8, (255.0 * c) as u8, 255];
    let markers: Vec<Marker> = anatomy
        .landmarks
        .iter()
        .map(|m| Marker { vertex: m.vertex, color: hue(m.confidence), radius: 4.0 })
        .collect();
    let mut marked = Vec::new();
    for yaw in [0.0, 50.0, 90.0] {
        let options = DrawOptions {
            yaw_degrees: yaw,
            width: 700,
            height: 700,
            zoom: 0.85,
            markers: markers.clone(),
            ..DrawOptions::default()
        };
        marked.push(draw(&look, &rig.neutral, &options).unwrap());
    }
    save(&format!("{name}_landmarks"), 3, marked);
    let bones = [
        (&anatomy.bones.cranium, [0.75, 0.68, 0.5]),
        (&anatomy.bones.mandible, [0.5, 0.62, 0.75]),
        (&anatomy.teeth[0], [0.8, 0.8, 0.6]),
        (&anatomy.teeth[1], [0.8, 0.8, 0.6]),
    ];
    save(&format!("{name}_bones"), 2, skin_and_bones(rig, &bones, &[0.0, 50.0, 90.0]));
    let bodies: Vec<TriMesh> = anatomy.muscles.iter().map(|m| m.solid.surface(8)).collect();
    let flesh = bodies.iter().map(|s| (s, [0.55, 0.12, 0.1]));
    let all: Vec<(&TriMesh, [f32; 3])> = bones.iter().copied().chain(flesh).collect();
    save(&format!("{name}_muscles"), 2, skin_and_bones(rig, &all, &[0.0, 50.0]));
}

/// Share of a bone's vertices under the outer skin, among those near it.
fn inside(anatomy: &Anatomy, bone: &TriMesh) -> f64 {
    let skin = OuterSkin::new(&anatomy.pieces.positions, &anatomy.pieces.skin);
    let depths: Vec<f64> = bone.positions.iter().filter_map(|&p| Some(skin.depth(p, 1.0)?.0)).collect();
    depths.iter().filter(|d| **d > 0.0).count() as f64 / depths.len() as f64
}

#[test]
fn the_built_in_head_goes_into_the_ict_head_near_its_bones() {
    let Some(data) = data("the_built_in_head_goes_into_the_ict_head_near_its_bones") else { return };
    let rig = open(&data, ICT);
    let anatomy = anatomy_of(&rig, &built_in());
    let truth = ict_landmarks(&data, &rig);
    for (name, group) in GROUPS {
        let off = |i: usize| {
            1000.0 * anatomy.landmarks[i].position.distance(anatomy.pieces.positions[truth[i] as usize])
        };
        let off: Vec<f64> = group.map(off).collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        println!("{name:9} mean {mean:.1} mm, max {:.1} mm", off.iter().copied().fold(0.0, f64::max));
    }
    let front = anatomy.bones.joint.center().z - 0.02;
    let truth = [ict_bone(&data, "skull_upper"), ict_bone(&data, "mandible")];
    for (name, bone, truth) in
        [("skull", &anatomy.bones.cranium, &truth[0]), ("jaw", &anatomy.bones.mandible, &truth[1])]
    {
        let there = distances(bone, truth, |p| p.z > front);
        let back = distances(truth, bone, |p| p.z > front);
        let part = inside(&anatomy, bone);
        println!(
            "{name}: to the ICT bone {:.1} mm (95 %: {:.1}), back {:.1} mm (95 %: {:.1}), {:.2} % inside the skin",
            there.0,
            there.1,
            back.0,
            back.1,
            100.0 * part
        );
        assert!(part > 0.999, "{name}");
        // The bones of the ICT head are themselves only roughly warped into it.
        assert!(there.0 < 6.5 && back.0 < 6.5 && there.1 < 17.0 && back.1 < 17.0, "{name}");
    }
}

#[test]
fn the_built_in_head_goes_into_all_heads() {
    let Some(data) = data("the_built_in_head_goes_into_all_heads") else { return };
    let head = built_in();
    for path in HEADS {
        let rig = open(&data, path);
        let start = std::time::Instant::now();
        let anatomy = anatomy_of(&rig, &head);
        println!("{}: {:.1?} scale {}", short(path), start.elapsed(), anatomy.warp.similarity.scale);
        anatomy.notes.iter().for_each(|n| println!("  {} -> {}", n.what, n.advice));
        for (shape, m) in rig.shapes.iter().zip(&anatomy.jaw_motion) {
            let angle = m.rotation_vector().length().to_degrees();
            if shape.name.to_lowercase().contains("jaw") {
                println!("  {} {angle:.1} degrees, {:.1} mm", shape.name, 1000.0 * m.translation.length());
            }
        }
        pictures(&rig, &anatomy, short(path));
    }
    pictures(&head.rig, &anatomy_of(&head.rig, &head), "built_in");
}

/// Transfer from one person to another whose teeth and eyes are known but not used: measures where they end
/// up.
#[test]
fn what_lies_inside_follows_the_skin_between_people() {
    let Some(data) = data("what_lies_inside_follows_the_skin_between_people") else { return };
    let head = ict_head(&data);
    let people = open(&data, "ict_facekit/ict_identity40.glb");
    for person in [1, 3, 5] {
        let rig = other_person(&head.rig, &people, person);
        let (before, truth) = (pieces(&head.rig), pieces(&rig));
        let mut bare = truth.clone();
        let inner = [PieceKind::EyeLeft, PieceKind::EyeRight, PieceKind::TeethUpper, PieceKind::TeethLower];
        bare.kinds.iter_mut().filter(|k| inner.contains(k)).for_each(|k| *k = PieceKind::Other);
        let marks = find(&rig, &bare, &head, &Given::default()).unwrap();
        let anatomy = carry(&rig, bare, &marks, &head, &CarryOptions::default(), &no_progress).unwrap();
        let scaled = |p| anatomy.warp.similarity.apply(p);
        for kind in inner {
            let vertices = truth.vertices(kind);
            let mean = |f: &dyn Fn(usize) -> f64| {
                1000.0 * vertices.iter().map(|&v| f(v as usize)).sum::<f64>() / vertices.len() as f64
            };
            let off = mean(&|v| anatomy.warp.apply(before.positions[v]).distance(truth.positions[v]));
            let plain = mean(&|v| scaled(before.positions[v]).distance(truth.positions[v]));
            println!("person {person}, {kind:?}: {off:.1} mm off; {plain:.1} mm by size and place alone");
            assert!(off < 4.0, "person {person}, {kind:?}: {off:.1} mm");
        }
    }
}

#[test]
fn anatomy_is_the_same_for_any_number_of_threads() {
    let Some(data) = data("anatomy_is_the_same_for_any_number_of_threads") else { return };
    let (rig, head) = (open(&data, HEADS[2]), built_in());
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| anatomy_of(&rig, &head))
    };
    let (one, three) = (run(1), run(3));
    assert!(one.bones == three.bones && one.muscles == three.muscles && one.landmarks == three.landmarks);
    assert!(one.jaw_motion == three.jaw_motion && one.eyes == three.eyes);
}

/// Without eyeballs the lids are found from blink shapes, close to where they are found with eyeballs.
#[test]
fn blinking_shows_the_lids() {
    let Some(data) = data("blinking_shows_the_lids") else { return };
    for path in HEADS {
        let rig = open(&data, path);
        let whole = pieces(&rig);
        let mut bare = whole.clone();
        let eyes = [PieceKind::EyeLeft, PieceKind::EyeRight];
        bare.kinds.iter_mut().filter(|k| eyes.contains(k)).for_each(|k| *k = PieceKind::Other);
        let (by_ball, by_blink) = (find_direct(&rig, &whole).0, find_direct(&rig, &bare).0);
        let off: Vec<f64> = (36..48)
            .map(|i| {
                let (a, b) = (by_ball[i].as_ref().unwrap(), by_blink[i].as_ref().unwrap());
                assert!(a.source != b.source, "{path}: {} is from {}", a.name, a.source);
                1000.0 * a.position.distance(b.position)
            })
            .collect();
        let (mean, max) = (off.iter().sum::<f64>() / 12.0, off.iter().copied().fold(0.0, f64::max));
        println!("{}: lids by blinking differ by {mean:.1} mm, at most {max:.1} mm", short(path));
        assert!(mean < 4.5 && max < 6.5, "{path}: {mean:.1}, {max:.1}");
    }
}

/// Transfer of the built-in head to other identities of it, whose bones are known: with given and with
/// detected landmarks.
#[test]
fn bones_follow_the_relatives_of_the_built_in_head() {
    let head = built_in();
    for seed in 1..4 {
        let identity = Identity::random(seed);
        let other = person(&identity);
        let found = pieces(&other.rig);
        let given = Given { points: other.landmarks.iter().copied().enumerate().collect() };
        for (what, given) in [("given", given), ("found", Given::default())] {
            let marks = find(&other.rig, &found, &head, &given).unwrap();
            let mark_off = marks.all.iter().zip(&other.landmarks).map(|(a, b)| a.position.distance(*b));
            let mark_off = 1000.0 * mark_off.sum::<f64>() / marks.all.len() as f64;
            let anatomy =
                carry(&other.rig, found.clone(), &marks, &head, &CarryOptions::default(), &no_progress)
                    .unwrap();
            let off = |a: &TriMesh, b: &TriMesh| {
                let sum: f64 = a.positions.iter().zip(&b.positions).map(|(p, q)| p.distance(*q)).sum();
                1000.0 * sum / a.positions.len() as f64
            };
            let skull = off(&anatomy.bones.cranium, &other.bones.cranium);
            let jaw = off(&anatomy.bones.mandible, &other.bones.mandible);
            let before = [
                off(&head.bones.cranium, &other.bones.cranium),
                off(&head.bones.mandible, &other.bones.mandible),
            ];
            println!(
                "person {seed}, landmarks {what} ({mark_off:.1} mm off): skull {skull:.1} mm, jaw {jaw:.1} mm off; before {before:.1?}"
            );
            let bound = if what == "given" { 1.0 } else { 1.5 };
            assert!(skull < bound && jaw < bound, "person {seed}, {what}");
        }
    }
}
