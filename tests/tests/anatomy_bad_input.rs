//! Incomplete and unusual rigs: anatomy with notes, or an error that says what is missing.

use glam::DVec3;
use risorius_anatomy::AnatomyError;
use risorius_anatomy::carry::{Anatomy, CarryOptions, Supplied, carry};
use risorius_anatomy::find::{Given, find};
use risorius_anatomy::outer::OuterSkin;
use risorius_anatomy::pieces::{PieceKind, pieces};
use risorius_base::Axis;
use risorius_base::Rigid;
use risorius_base::progress::no_progress;
use risorius_head::landmarks::{NAMES, index};
use risorius_head::person::Head;
use risorius_io::IoError;
use risorius_io::specs::landmarks;
use risorius_mesh::Polygons;
use risorius_rig::classify::names;
use risorius_rig::{Part, Rig};
use risorius_tests::anatomy::{built_in, open};
use risorius_tests::data;
use risorius_tests::strange::{cube, cut, inside_out, mapped, without_shapes};
use std::sync::LazyLock;

static HEAD: LazyLock<Head> = LazyLock::new(built_in);

const MAKEHUMAN: &str = "makehuman_male/makehuman_head_male.glb";
const ICT: &str = "ict_facekit/ict_expressions.glb";

fn anatomy(rig: &Rig) -> Result<Anatomy, AnatomyError> {
    let found = pieces(rig);
    let marks = find(rig, &found, &HEAD, &Given::default())?;
    carry(rig, found, &marks, &HEAD, &CarryOptions::default(), &no_progress)
}

/// The rig without the polygons at vertices of the kinds in `drop`.
fn without(rig: &Rig, drop: &[PieceKind]) -> Rig {
    let kinds = pieces(rig).kinds;
    cut(rig, |v| !drop.contains(&kinds[v]))
}

const TEETH: [PieceKind; 4] =
    [PieceKind::TeethUpper, PieceKind::TeethLower, PieceKind::GumsUpper, PieceKind::GumsLower];

fn has_note(anatomy: &Anatomy, text: &str) -> bool {
    anatomy.notes.iter().any(|n| n.what.contains(text) && !n.advice.is_empty())
}

/// Share of bone vertices under the skin, among those with skin beside them.
fn part_inside(anatomy: &Anatomy) -> f64 {
    let skin = OuterSkin::new(&anatomy.pieces.positions, &anatomy.pieces.skin);
    let all = anatomy.bones.cranium.positions.iter().chain(&anatomy.bones.mandible.positions);
    let depths: Vec<f64> = all.filter_map(|&p| Some(skin.depth(p, 0.05)?.0)).collect();
    depths.iter().filter(|d| **d >= 0.0).count() as f64 / depths.len().max(1) as f64
}

fn mark(anatomy: &Anatomy, name: &str) -> DVec3 {
    anatomy.landmarks[index(name).unwrap()].position
}

#[test]
fn eyes_and_teeth_may_be_missing() {
    let Some(data) = data("eyes_and_teeth_may_be_missing") else { return };
    let rig = open(&data, MAKEHUMAN);
    let whole = anatomy(&rig).unwrap();
    let bare = {
        let eyes = [PieceKind::EyeLeft, PieceKind::EyeRight, PieceKind::Tongue, PieceKind::Lash];
        anatomy(&without(&without(&rig, &eyes), &TEETH)).unwrap()
    };
    assert!(has_note(&bare, "no left eyeball") && has_note(&bare, "no lower teeth"));
    for side in [0, 1] {
        let (a, b) = (whole.eyes[side].unwrap(), bare.eyes[side].unwrap());
        println!(
            "eye {side}: {:.1} mm off, radius {:.1} and {:.1} mm",
            1000.0 * a.center.distance(b.center),
            1000.0 * a.radius,
            1000.0 * b.radius
        );
        assert!(a.center.distance(b.center) < 0.008);
    }
    for name in ["mouth_left", "nose_tip", "eye_left_outer", "eye_right_inner", "lid_upper_left_inner"] {
        let off = mark(&whole, name).distance(mark(&bare, name));
        println!("{name}: {:.1} mm off", 1000.0 * off);
        assert!(off < 0.008, "{name}");
    }
    assert!(part_inside(&bare) > 0.995);
}

/// Without teeth, the jaw motion is estimated from the chin: close to that of the teeth, and zero for shapes
/// of soft tissue.
#[test]
fn the_chin_gives_the_jaws_motion() {
    let Some(data) = data("the_chin_gives_the_jaws_motion") else { return };
    for path in [MAKEHUMAN, ICT, "facecap/facecap_plain.glb"] {
        let rig = open(&data, path);
        let (whole, bare) = (anatomy(&rig).unwrap(), anatomy(&without(&rig, &TEETH)).unwrap());
        let chin = mark(&whole, "pogonion");
        for (s, shape) in rig.shapes.iter().enumerate() {
            let (a, b) = (whole.jaw_motion[s], bare.jaw_motion[s]);
            let arkit = names::arkit_index(&shape.name).map(|i| names::ARKIT[i]);
            let (moved, off) = (a.apply(chin).distance(chin), a.apply(chin).distance(b.apply(chin)));
            match arkit {
                Some("jawOpen" | "jawForward" | "jawLeft" | "jawRight") => {
                    println!(
                        "{path} {}: teeth move the chin {:.1} mm, the estimate by the chin is {:.1} mm off",
                        shape.name,
                        1000.0 * moved,
                        1000.0 * off
                    );
                    assert!(off < 0.35 * moved + 0.002, "{}", shape.name);
                }
                Some(name) if !name.starts_with("jaw") && name != "mouthClose" => {
                    if b != Rigid::IDENTITY {
                        println!(
                            "{path} {}: {:.1} mm by the chin, {:.1} by teeth",
                            shape.name,
                            1000.0 * b.apply(chin).distance(chin),
                            1000.0 * moved
                        );
                    }
                    assert!(b == Rigid::IDENTITY || moved > 0.001, "{} moves the jaw", shape.name);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn one_eye_half_a_face_and_no_mouth() {
    let Some(data) = data("one_eye_half_a_face_and_no_mouth") else { return };
    let rig = open(&data, MAKEHUMAN);
    let whole = anatomy(&rig).unwrap();
    let result = anatomy(&without(&rig, &[PieceKind::EyeRight])).unwrap();
    assert!(has_note(&result, "no right eyeball"));
    assert!(result.eyes[1].unwrap().center.distance(whole.eyes[1].unwrap().center) < 0.006);

    let half = anatomy(&cut(&rig, |v| rig.neutral[v][0] > -1e-4)).unwrap();
    assert!(has_note(&half, "only the left half"));
    for name in ["mouth_left", "nose_tip", "eye_left_outer", "pogonion", "tragion_left"] {
        let off = mark(&whole, name).distance(mark(&half, name));
        println!("half a face, {name}: {:.1} mm off", 1000.0 * off);
        assert!(off < 0.006, "{name}");
    }
    let jaw = |a: &Anatomy| a.bones.joint.condyles;
    for (a, b) in jaw(&whole).iter().zip(jaw(&half)) {
        println!("half a face, condyle {:.1} mm off", 1000.0 * a.distance(b));
        assert!(a.distance(b) < 0.015);
    }

    let is_mouth = |n: &str| {
        let n = n.to_lowercase();
        ["mouth", "jaw", "viseme", "lip", "cheek", "tongue", "mh_"].iter().any(|w| n.contains(w))
    };
    let shut = anatomy(&without_shapes(&rig, is_mouth)).unwrap();
    assert!(has_note(&shut, "no opening between the lips") && has_note(&shut, "the jaw"));
    assert!(shut.jaw_motion.iter().all(|m| *m == Rigid::IDENTITY));
    let off = mark(&whole, "mouth_left").distance(mark(&shut, "mouth_left"));
    println!("without mouth shapes: mouth_left {:.1} mm off", 1000.0 * off);
    assert!(off < 0.012);
}

/// The same head in millimeters, in inches, with Z up, or with reversed winding has the same anatomy.
#[test]
fn unit_axes_and_winding_do_not_matter() {
    let Some(data) = data("unit_axes_and_winding_do_not_matter") else { return };
    let rig = open(&data, MAKEHUMAN);
    let whole = anatomy(&rig).unwrap();
    let same = |other: &Anatomy, what: &str| {
        for name in NAMES {
            let off = mark(&whole, name).distance(mark(other, name));
            // Samples differ slightly, by less than their spacing.
            assert!(off < 2.5e-3, "{what}: {name} is {:.1} mm off", 1000.0 * off);
        }
        let bones = whole.bones.mandible.positions.iter().zip(&other.bones.mandible.positions);
        let off = bones.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(off < 2.5e-3, "{what}: the jaw is {:.1} mm off", 1000.0 * off);
    };
    let inch = (rig.space.meters_per_unit / 0.0254) as f32;
    let mut inches = mapped(&rig, |p| p.map(|c| c * inch));
    inches.space.meters_per_unit = 0.0254;
    same(&anatomy(&inches).unwrap(), "inches");
    let mut z_up = mapped(&rig, |[x, y, z]| [x, -z, y]);
    z_up.space.up = Axis { index: 2, negative: false };
    z_up.space.front = Axis { index: 1, negative: true };
    same(&anatomy(&z_up).unwrap(), "Z up");
    let turned = anatomy(&inside_out(&rig)).unwrap();
    assert!(has_note(&turned, "inside out"));
    same(&turned, "inside out");
}

#[test]
fn a_head_on_a_body_and_names_of_no_use() {
    let Some(data) = data("a_head_on_a_body_and_names_of_no_use") else { return };
    let rig = open(&data, ICT);
    let whole = anatomy(&rig).unwrap();
    let body = with_body(&rig);
    let standing = anatomy(&body).unwrap();
    for name in ["mouth_left", "nose_tip", "eye_left_outer", "pogonion", "tragion_left", "gonion_right"] {
        let off = mark(&whole, name).distance(mark(&standing, name));
        println!("with a body: {name} {:.1} mm off", 1000.0 * off);
        assert!(off < 0.006, "{name}");
    }
    let mut numbered = rig.clone();
    numbered.shapes.iter_mut().enumerate().for_each(|(i, s)| s.name = format!("target{i:03}"));
    let result = anatomy(&numbered).unwrap();
    assert!(has_note(&result, "no opening between the lips"));
    for name in ["nose_tip", "eye_left_outer", "subnasale", "mouth_left"] {
        let off = mark(&whole, name).distance(mark(&result, name));
        println!("without names: {name} {:.1} mm off", 1000.0 * off);
        assert!(off < 0.012, "{name}");
    }
    // Neither names nor eyeballs: only the shape of the skin remains.
    let skin: Vec<bool> = pieces(&rig).kinds.iter().map(|k| *k == PieceKind::Skin).collect();
    let mut statue = numbered.clone();
    for part in &mut statue.parts {
        let mut faces = Polygons::default();
        let of_skin = |f: &&[u32]| f.iter().all(|&v| skin[part.rig_vertex[v as usize] as usize]);
        part.faces.iter().filter(of_skin).for_each(|f| faces.push(f));
        part.faces = faces;
    }
    statue.shapes.clear();
    statue.sliders.clear();
    let result = anatomy(&statue).unwrap();
    assert!(has_note(&result, "aligned to it"));
    for name in ["nose_tip", "eye_left_outer", "subnasale", "mouth_left", "pogonion", "tragion_left"] {
        let off = mark(&whole, name).distance(mark(&result, name));
        println!("a statue: {name} {:.1} mm off", 1000.0 * off);
        assert!(off < 0.025, "{name}");
    }
}

/// The rig with a trunk and two arms made of boxes, not connected to it.
fn with_body(rig: &Rig) -> Rig {
    let mut rig = rig.clone();
    let lowest = rig.neutral.iter().map(|p| p[1]).fold(f32::MAX, f32::min);
    let mut add = |center: [f32; 3], half: [f32; 3]| {
        let first = rig.neutral.len() as u32;
        for i in 0..8u32 {
            let corner = |k: usize| center[k] + if i >> k & 1 == 1 { half[k] } else { -half[k] };
            rig.neutral.push([corner(0), corner(1), corner(2)]);
        }
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let mut faces = Polygons::default();
        quads.iter().for_each(|q| faces.push(q));
        rig.parts.push(Part {
            name: "body".into(),
            vertices: first as usize..rig.neutral.len(),
            rig_vertex: (first..rig.neutral.len() as u32).collect(),
            faces,
            ..Part::default()
        });
    };
    add([0.0, lowest - 30.0, 0.0], [18.0, 30.0, 11.0]);
    add([40.0, lowest - 8.0, 30.0], [22.0, 4.0, 4.0]);
    add([-40.0, lowest - 8.0, 30.0], [22.0, 4.0, 4.0]);
    add([0.0, lowest - 100.0, 0.0], [16.0, 40.0, 10.0]);
    rig
}

/// A cube with shapes is not a head, and the error says so.
#[test]
fn a_cube_is_refused_with_advice() {
    match anatomy(&cube()) {
        Err(e) => {
            println!("{e}");
            assert!(e.to_string().contains("landmark file"), "{e}");
        }
        Ok(a) => panic!("a cube has no anatomy: {:?}", a.notes),
    }
    assert!(anatomy(&Rig::default()).is_err());
}

#[test]
fn given_landmarks_and_bones_are_checked() {
    let Some(data) = data("given_landmarks_and_bones_are_checked") else { return };
    let rig = open(&data, MAKEHUMAN);
    let text =
        br#"{"mouth_lft": 3, "nose_tip": -1, "mouth_left": 99999999, "glabella": [1, 2], "nasion": "here"}"#;
    let Err(IoError::Problems { problems, .. }) = landmarks::read(text, &rig) else { panic!("no error") };
    problems.iter().for_each(|p| println!("{p}"));
    assert_eq!(problems.len(), 5);
    assert!(problems.iter().any(|p| p.contains("did you mean mouth_left")));
    assert!(landmarks::read(b"[1]", &rig).is_err() && landmarks::read(b"{", &rig).is_err());

    let found = pieces(&rig);
    let marks = find(&rig, &found, &HEAD, &Given::default()).unwrap();
    let wanted = marks.all[index("zygion_left").unwrap()].position + DVec3::new(0.0, 0.004, 0.0);
    let file = rig.space.file_from_si() * wanted;
    let text = format!("{{\"zygion_left\": [{}, {}, {}]}}", file.x, file.y, file.z);
    let given = landmarks::read(text.as_bytes(), &rig).unwrap();
    let moved = find(&rig, &found, &HEAD, &given).unwrap();
    let zygion = &moved.all[index("zygion_left").unwrap()];
    assert!(zygion.source == "given" && zygion.confidence == 1.0 && zygion.position.distance(wanted) < 0.003);

    let again = landmarks::read(landmarks::write(&marks.all, &rig).as_bytes(), &rig).unwrap();
    assert_eq!(again.points.len(), NAMES.len());
    assert!(again.points.iter().all(|(i, p)| p.distance(marks.all[*i].position) < 1e-6));

    let carried = anatomy(&rig).unwrap();
    let with = |scale: f64, about: DVec3| {
        let mut cranium = carried.bones.cranium.clone();
        cranium.positions.iter_mut().for_each(|p| *p += (*p - about) * (scale - 1.0));
        let supplied = Supplied { cranium: Some(cranium), ..Supplied::default() };
        let options = CarryOptions { supplied, ..CarryOptions::default() };
        carry(&rig, found.clone(), &marks, &HEAD, &options, &no_progress)
    };
    let middle =
        carried.bones.cranium.positions.iter().sum::<DVec3>() / carried.bones.cranium.positions.len() as f64;
    assert_eq!(with(1.0, middle).unwrap().bones.cranium, carried.bones.cranium);
    for (scale, about, text) in [
        (1.25, middle, "outside the skin"),
        (1000.0, middle, "in mm"),
        (1.0 / 2.54, middle, "inches were read as cm"),
    ] {
        match with(scale, about) {
            Err(e) => {
                println!("{e}");
                assert!(e.to_string().contains(text), "{e}");
            }
            Ok(_) => panic!("a skull scaled by {scale} is taken"),
        }
    }
}
