//! Each kind of problem, added to a valid head, is found at its place; the valid head has none.

mod head;

use head::{NAMES, mapped, raw_head};
use risorius_base::progress::no_progress;
use risorius_base::{Axis, Space};
use risorius_mesh::{IntersectOptions, Polygons};
use risorius_rig::check::{CheckOptions, Place, RigProblem, RigReport, Severity, check_rig};
use risorius_rig::classify::roles::RoleTable;
use risorius_rig::{Deltas, RawPart, RawRig, RawShape, Rig, assemble};
use std::ops::ControlFlow;

fn report(rig: &Rig) -> RigReport {
    check_rig(rig, &CheckOptions::default(), &no_progress).unwrap()
}

/// The valid head in centimeters, with a change.
fn head(change: impl FnOnce(&mut RawPart)) -> Rig {
    let mut raw = raw_head(&NAMES);
    raw.space = Space { meters_per_unit: 0.01, ..Space::default() };
    change(&mut raw.parts[0]);
    mapped(raw, |p| p)
}

#[track_caller]
fn find(rig: &Rig, code: &str) -> RigProblem {
    let report = report(rig);
    let codes: Vec<&str> = report.problems.iter().map(|p| p.code).collect();
    report.problem(code).unwrap_or_else(|| panic!("{code} not in {codes:?}")).clone()
}

#[track_caller]
fn expect(rig: &Rig, code: &str, severity: Severity, count: usize, place: &str) {
    let found = find(rig, code);
    assert_eq!((found.severity, found.count), (severity, count), "{found:?}");
    assert!(found.message.contains(place) && !found.advice.is_empty(), "{found:?}");
    assert!(!found.examples.is_empty() && found.examples.len() <= 5, "{found:?}");
}

fn push_faces(part: &mut RawPart, faces: &[&[u32]]) {
    faces.iter().for_each(|f| part.faces.push(f));
}

fn shape(name: &str, moves: &[(u32, [f32; 3])]) -> RawShape {
    let deltas = Deltas {
        vertices: moves.iter().map(|m| m.0).collect(),
        offsets: moves.iter().map(|m| m.1).collect(),
    };
    RawShape { name: name.into(), deltas }
}

#[test]
fn a_sound_head_has_only_an_open_neck() {
    let report = report(&head(|_| {}));
    let codes: Vec<&str> = report.problems.iter().map(|p| p.code).collect();
    assert_eq!(codes, ["open-boundary"], "{:#?}", report.problems);
    assert_eq!(report.count(Severity::Note), 1);
    assert_eq!((report.problems[0].count, report.space.unit_name), (1, "cm"));
    // Neck ring: an ellipse of half axes 7.5 and 9.5 times sin(2.5).
    let perimeter = 2.0 * std::f64::consts::PI * 0.598 * ((7.5f64.powi(2) + 9.5f64.powi(2)) / 2.0).sqrt();
    let said = &report.problems[0].message;
    let length: f64 = said.split("longest: ").nth(1).and_then(|s| s.split(' ').next()?.parse().ok()).unwrap();
    assert!((length / perimeter - 1.0).abs() < 0.02, "{said} {perimeter}");
}

#[test]
fn positions() {
    use Severity::*;
    expect(&head(|p| p.positions[7][1] = f32::NAN), "nan-position", Error, 1, "vertex 7 of part 'skin'");
    expect(&head(|p| p.positions[9][0] = f32::INFINITY), "nan-position", Error, 1, "vertex 9 of part 'skin'");
    expect(
        &head(|p| p.positions[5] = [0.0, 5e3, 0.0]),
        "huge-position",
        Warning,
        1,
        "vertex 5 of part 'skin'",
    );
    let far = mapped(raw_head(&NAMES), |p| p.map(|x| x * 1e6));
    assert!(find(&far, "huge-position").count > 1000);
    assert_eq!(find(&Rig::default(), "no-vertices").severity, Error);
}

#[test]
fn faces() {
    use Severity::*;
    let empty = RawPart { name: "ghost".into(), positions: vec![[0.0; 3]], ..RawPart::default() };
    let mut raw = raw_head(&NAMES);
    raw.parts.push(empty);
    expect(&assemble(raw, &RoleTable::default()).0, "part-without-faces", Warning, 1, "part 'ghost'");
    let loose = head(|p| p.positions.push([1.0, 2.0, 3.0]));
    let n = loose.parts[0].n_file_vertices() - 1;
    expect(&loose, "unreferenced-vertex", Warning, 1, &format!("vertex {n} of part 'skin'"));

    let n_faces = loose.parts[0].faces.len();
    let face = |i: usize| format!("face {} of part 'skin'", n_faces + i);
    expect(&head(|p| push_faces(p, &[&[3, 3, 4]])), "degenerate-face", Warning, 1, &face(0));
    expect(&head(|p| push_faces(p, &[&[3, 4]])), "degenerate-face", Warning, 1, &face(0));
    expect(&head(|p| push_faces(p, &[&[2, 1, 0]])), "repeated-face", Warning, 1, &face(0));
    let fin = head(|p| {
        let tip = p.positions.len() as u32;
        p.positions.push([0.0, 13.0, 1.0]);
        push_faces(p, &[&[0, 1, tip]]);
    });
    expect(&fin, "non-manifold-edge", Warning, 1, "vertex 0 of part 'skin'");
    assert!(report(&fin).problem("repeated-face").is_none());
    let flipped = head(|p| {
        let faces: Vec<Vec<u32>> = p.faces.iter().map(<[u32]>::to_vec).collect();
        p.faces = Polygons::default();
        for (i, mut f) in faces.into_iter().enumerate() {
            if i == 0 {
                f.reverse();
            }
            p.faces.push(&f);
        }
    });
    expect(&flipped, "inconsistent-winding", Warning, 3, "vertex 0 of part 'skin'");
}

#[test]
fn vertices_that_coincide_but_part_are_reported() {
    let opened = head(|p| {
        let copy = p.positions.len() as u32;
        p.positions.push(p.positions[100]);
        p.shapes.push(shape("lipsPart", &[(copy, [0.0, 0.1, 0.0])]));
        push_faces(p, &[&[copy, 101, 102]]);
    });
    let n = opened.parts[0].n_file_vertices() - 1;
    expect(&opened, "duplicate-vertex", Severity::Note, 1, &format!("vertex {n} of part 'skin'"));
}

#[test]
fn numbering_is_that_of_the_file_after_welding() {
    // Vertex 1 and its copy 4 are welded; the broken vertex keeps the number 5 that the artist sees.
    let part = RawPart {
        name: "patch".into(),
        positions: vec![[0.; 3], [1., 0., 0.], [0., 1., 0.], [1., 1., 0.], [1., 0., 0.], [f32::NAN; 3]],
        faces: Polygons::from_triangles(&[[0, 1, 2], [4, 3, 2], [0, 1, 5]]),
        ..RawPart::default()
    };
    let raw = RawRig { parts: vec![part], has_split_vertices: true, ..RawRig::default() };
    let (rig, notes) = assemble(raw, &RoleTable::default());
    assert_eq!(notes.n_welded, 1);
    let place = Place { part: Some("patch".into()), vertex: Some(5), ..Place::default() };
    assert_eq!(find(&rig, "nan-position").examples, [place]);
}

#[test]
fn displacements() {
    use Severity::*;
    let with = |s: RawShape| head(|p| p.shapes.push(s));
    let broken = with(shape("bad", &[(2, [0.1; 3]), (3, [f32::NAN, 0.0, 0.0])]));
    expect(&broken, "nan-delta", Error, 1, "vertex 3 of part 'skin' in shape 'bad'");
    expect(
        &with(shape("bad", &[(3, [900.0, 0.0, 0.0])])),
        "huge-delta",
        Error,
        1,
        "vertex 3 of part 'skin' in shape 'bad'",
    );
    expect(&with(shape("far", &[(3, [15.0, 0.0, 0.0])])), "large-motion", Warning, 1, "shape 'far'");
    expect(&with(shape("still", &[])), "empty-shape", Warning, 1, "shape 'still'");
    assert_eq!(find(&mapped(raw_head(&[]), |p| p), "no-shapes").severity, Note);
}

#[test]
fn shapes_that_repeat_others_are_paired() {
    let copied = |scale: f32| {
        head(|p| {
            let mut copy = p.shapes[5].clone();
            copy.name = "again".into();
            copy.deltas.offsets.iter_mut().for_each(|d| *d = d.map(|x| x * scale));
            p.shapes.push(copy);
        })
    };
    expect(&copied(1.0), "duplicate-shape", Severity::Warning, 1, "'again' equals 'jawOpen'");
    expect(&copied(0.37), "proportional-shape", Severity::Warning, 1, "'again' is 0.3700 times 'jawOpen'");
    for other in [-1.0, -0.5] {
        let report = report(&copied(other));
        assert!(
            report.problem("duplicate-shape").is_none() && report.problem("proportional-shape").is_none()
        );
    }
    // Nearly the same is not the same.
    let near = head(|p| {
        let mut copy = p.shapes[5].clone();
        copy.name = "near".into();
        copy.deltas.offsets[10][0] += 0.1;
        p.shapes.push(copy);
    });
    assert!(
        report(&near).problem("duplicate-shape").is_none()
            && report(&near).problem("proportional-shape").is_none()
    );
}

#[test]
fn a_thousand_copies_are_a_thousand_entries_of_one_problem() {
    let crowd = head(|p| {
        for i in 0..1000 {
            let mut copy = p.shapes[0].clone();
            copy.name = format!("copy{i:04}");
            p.shapes.push(copy);
        }
    });
    let found = find(&crowd, "duplicate-shape");
    assert_eq!((found.count, found.examples.len()), (1000, 5));
}

#[test]
fn roles_and_sliders() {
    use Severity::*;
    type Moves<'a> = &'a [(u32, [f32; 3])];
    let with = |shapes: &[(&str, Moves)], table: &RoleTable| {
        let mut raw = raw_head(&NAMES);
        raw.parts[0].shapes.extend(shapes.iter().map(|(name, moves)| shape(name, moves)));
        assemble(raw, table).0
    };
    let plain = RoleTable::default();
    let (a, b) = ([(3, [0.1f32, 0.0, 0.0])], [(3, [0.0f32, 0.1, 0.0])]);
    expect(
        &with(&[("puff", &[]), ("puff50", &a)], &plain),
        "inbetween-without-motion",
        Warning,
        1,
        "'puff50'",
    );
    let driven = with(&[("puff", &[]), ("puff__jawOpen", &a)], &plain);
    expect(&driven, "combination-without-motion", Warning, 1, "'puff__jawOpen'");
    let twice = with(&[("jawOpen__mouthPucker", &a), ("mouthPucker+jawOpen", &b)], &plain);
    expect(&twice, "repeated-combination", Warning, 1, "'mouthPucker+jawOpen'");
    expect(&with(&[("cheekPuff_L", &a)], &plain), "missing-side", Note, 1, "'cheekPuff_L'");
    assert!(
        report(&with(&[("cheekPuff_L", &a), ("cheekPuffRight", &b)], &plain))
            .problem("missing-side")
            .is_none()
    );
    let limits = RoleTable { limits: [("jawOpen".to_string(), [1.0, 0.5])].into(), ..RoleTable::default() };
    expect(&with(&[], &limits), "slider-range", Warning, 1, "'jawOpen'");
}

/// Pushes the tip of the nose out through the back of the head.
fn pushed_through() -> RawShape {
    let nose = 1 + 29 * 64;
    let moves: Vec<(u32, [f32; 3])> = (nose..nose + 4).map(|v| (v, [0.0, 0.0, -25.0])).collect();
    shape("fold", &moves)
}

#[test]
fn crossings_within_a_surface_and_between_surfaces() {
    use Severity::*;
    let folded = head(|p| {
        for (&v, d) in pushed_through().deltas.vertices.iter().zip(&pushed_through().deltas.offsets) {
            p.positions[v as usize][2] += d[2];
        }
    });
    let found = find(&folded, "self-intersection");
    assert!(found.severity == Warning && found.count > 10 && found.examples[0].face.is_some(), "{found:?}");
    let none = CheckOptions { self_intersections: false, ..CheckOptions::default() };
    assert!(check_rig(&folded, &none, &no_progress).unwrap().problem("self-intersection").is_none());

    let mut raw = raw_head(&NAMES);
    raw.parts.push(RawPart {
        name: "blade".into(),
        positions: vec![[0.0, 0.0, 0.0], [0.3, 0.2, 30.0], [0.1, 3.0, 30.0]],
        faces: Polygons::from_triangles(&[[0, 1, 2]]),
        ..RawPart::default()
    });
    let pierced = assemble(raw, &RoleTable::default()).0;
    assert_eq!(find(&pierced, "pieces-intersect").severity, Note);
    assert!(report(&pierced).problem("self-intersection").is_none());

    let opened = head(|p| p.shapes.push(pushed_through()));
    assert!(report(&opened).problem("self-intersection-in-shape").is_none());
    let each = CheckOptions { self_intersections_of_shapes: true, ..CheckOptions::default() };
    let report = check_rig(&opened, &each, &no_progress).unwrap();
    let found = report.problem("self-intersection-in-shape").unwrap();
    assert!(found.count >= 1 && found.message.contains("'fold'"), "{found:?}");
}

#[test]
fn unit_and_axes_that_disagree_are_reported() {
    use Severity::*;
    let mut rig = head(|_| {});
    rig.space.meters_per_unit = 1.0;
    let found = find(&rig, "unit-differs");
    assert!(found.severity == Warning && found.message.contains("cm"), "{found:?}");
    rig.space = Space {
        up: Axis { index: 2, negative: false },
        front: Axis { index: 1, negative: true },
        ..rig.space
    };
    let found = find(&rig, "axes-differ");
    assert!(found.severity == Warning && found.message.contains("+Y up and +Z front"), "{found:?}");
    let speck = Rig { neutral: vec![[0.0; 3]], ..Rig::default() };
    assert_eq!(find(&speck, "unit-unsure").severity, Note);
    assert_eq!(find(&speck, "axes-unsure").severity, Note);
}

#[test]
fn hostile_numbers_do_no_harm() {
    fn serializes(_: &impl serde::Serialize) {}
    let n_shapes = NAMES.len();
    for value in [f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::NAN, f32::INFINITY] {
        let rig = head(|p| {
            p.positions.iter_mut().step_by(3).for_each(|q| *q = [value; 3]);
            p.shapes.iter_mut().for_each(|s| s.deltas.offsets[0] = [value; 3]);
        });
        let intersect = IntersectOptions { max_steps: 2_000_000, ..IntersectOptions::default() };
        let options =
            CheckOptions { self_intersections_of_shapes: true, intersect, ..CheckOptions::default() };
        let report = check_rig(&rig, &options, &no_progress).unwrap();
        assert!(report.problems.len() > 1);
        serializes(&report);
        let broken = report.problem("nan-delta").or(report.problem("huge-delta"));
        assert_eq!(broken.map_or(n_shapes, |p| p.count), n_shapes, "{broken:?}");
    }
    // All vertices at one point: no size, no axes, every face degenerate.
    let point = mapped(raw_head(&NAMES), |_| [1.0; 3]);
    assert_eq!(find(&point, "degenerate-face").count, point.parts[0].faces.len());
}

#[test]
fn all_problems_come_at_once_worst_first_and_it_can_be_cancelled() {
    let rig = head(|p| {
        p.positions[7] = [f32::NAN; 3];
        push_faces(p, &[&[3, 3, 4]]);
        p.shapes.push(shape("still", &[]));
    });
    let report = report(&rig);
    let codes: Vec<&str> = report.problems.iter().map(|p| p.code).collect();
    assert!(
        ["nan-position", "degenerate-face", "empty-shape", "open-boundary"].iter().all(|c| codes.contains(c))
    );
    assert!(report.problems.is_sorted_by_key(|p| p.severity));
    assert_eq!(report.problems[0].severity, Severity::Error);
    let stop = |_: &str, _: f32| ControlFlow::Break(());
    assert!(check_rig(&rig, &CheckOptions::default(), &stop).is_err());
}
