//! Pictures of known solids.

mod solids;

use risorius_base::{Axis, Space};
use risorius_view::{
    Background, Canvas, Colormap, DrawOptions, FaceLook, Framing, Marker, ScalarField, ViewError, draw,
    share_in_view,
};
use solids::{ball, head, one_ball, part, rig, rig_in};

fn clear() -> DrawOptions {
    DrawOptions {
        width: 200,
        height: 200,
        framing: Framing::Whole,
        background: Background::Plain([0, 0, 0, 0]),
        ..DrawOptions::default()
    }
}

fn bright(c: &Canvas, x: usize, y: usize) -> u32 {
    let p = c.get(x, y).unwrap();
    p[0] as u32 + p[1] as u32 + p[2] as u32
}

/// Columns and rows (first, last) that are covered.
fn covered(c: &Canvas) -> Option<[usize; 4]> {
    let inside: Vec<(usize, usize)> = (0..c.width * c.height)
        .filter(|&i| c.pixels[i][3] > 127)
        .map(|i| (i % c.width, i / c.width))
        .collect();
    let x = inside.iter().map(|p| p.0);
    let y = inside.iter().map(|p| p.1);
    Some([x.clone().min()?, x.max()?, y.clone().min()?, y.max()?])
}

#[test]
fn a_ball_is_a_round_lit_disc_in_the_middle() {
    let rig = one_ball();
    let c = draw(&FaceLook::prepare(&rig), &rig.neutral, &clear()).unwrap();
    let [x0, x1, y0, y1] = covered(&c).unwrap();
    assert!((x0 + x1).abs_diff(199) <= 2 && (y0 + y1).abs_diff(199) <= 2, "{x0} {x1} {y0} {y1}");
    assert!((x1 - x0).abs_diff(y1 - y0) <= 3 && (150..200).contains(&(x1 - x0)));
    let area = c.pixels.iter().map(|p| p[3] as f64 / 255.0).sum::<f64>();
    let disc = std::f64::consts::PI * ((x1 - x0 + 1) as f64 / 2.0).powi(2);
    assert!((area / disc - 1.0).abs() < 0.03, "{area} {disc}");
    let (lit, dark) = (bright(&c, 70, 65), bright(&c, 135, 150));
    assert!(2 * lit > 3 * dark, "the key light comes from the upper left: {lit} {dark}");
    assert!(c.pixels.iter().any(|p| p[3] > 0 && p[3] < 255), "the outline is smoothed");
}

#[test]
fn the_camera_follows_the_neutral_and_not_the_pose() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let moved: Vec<[f32; 3]> = rig.neutral.iter().map(|p| [p[0] + 0.5, p[1], p[2]]).collect();
    let (a, b) = (draw(&look, &rig.neutral, &clear()).unwrap(), draw(&look, &moved, &clear()).unwrap());
    assert!(
        covered(&b).unwrap()[0] > covered(&a).unwrap()[0] + 25,
        "+X, the character's left, is right in the picture"
    );
}

#[test]
fn axes_of_the_file_are_respected() {
    let space = Space {
        up: Axis { index: 2, negative: false },
        front: Axis { index: 1, negative: true },
        ..Space::default()
    };
    let parts = vec![part("skin", ball([0.0; 3], 1.0, 16)), part("knob", ball([0.0, 0.0, 1.5], 0.3, 8))];
    let rig = rig_in(space, parts);
    let [x0, x1, y0, _] = covered(&draw(&FaceLook::prepare(&rig), &rig.neutral, &clear()).unwrap()).unwrap();
    let c = draw(&FaceLook::prepare(&rig), &rig.neutral, &clear()).unwrap();
    assert!(c.get((x0 + x1) / 2, y0 + 3).unwrap()[3] == 255, "the knob is on top");
    assert!(c.get(x0 + 3, y0 + 3).unwrap()[3] == 0);
}

#[test]
fn nearer_surfaces_hide_farther_ones_from_every_side() {
    // The small ball is to the character's left: seen beside the large one from the front, before it at +90,
    // not at -90.
    let rig = rig(vec![part("skin", ball([0.0; 3], 1.0, 24)), part("knob", ball([1.3, 0.0, 0.0], 0.25, 12))]);
    let look = FaceLook::prepare(&rig);
    let n = rig.n_vertices();
    let knob = rig.parts[1].vertices.clone();
    let field = ScalarField {
        values: (0..n).map(|v| if knob.contains(&v) { 1.0 } else { -1.0 }).collect(),
        range: [-1.0, 1.0],
        unit: String::new(),
        colormap: Colormap::Diverging,
    };
    let at = |yaw: f32| {
        // Wide, so that the scale bar is away from the balls.
        let mut options = DrawOptions { width: 600, yaw_degrees: yaw, ..clear() };
        let [x0, x1, ..] = covered(&draw(&look, &rig.neutral, &options).unwrap()).unwrap();
        options.field = Some(field.clone());
        let c = draw(&look, &rig.neutral, &options).unwrap();
        (c.get((x0 + x1) / 2, 100).unwrap(), c.get(x1 - 4, 100).unwrap())
    };
    let red = |p: [u8; 4]| p[0] > p[2] + 40;
    assert!(red(at(0.0).1) && !red(at(0.0).0));
    assert!(red(at(90.0).0));
    assert!(!red(at(-90.0).0));
}

#[test]
fn close_ups_and_zoom_enlarge() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let width = |options: &DrawOptions| {
        let [x0, x1, ..] = covered(&draw(&look, &rig.neutral, options).unwrap()).unwrap();
        x1 - x0
    };
    let whole = width(&clear());
    assert!(width(&DrawOptions { zoom: 0.5, ..clear() }).abs_diff(whole / 2) <= 3);
    let front: Vec<u32> =
        (0..rig.n_vertices() as u32).filter(|&v| rig.neutral[v as usize][2] > 0.9).collect();
    assert_eq!(width(&DrawOptions { framing: Framing::Vertices(front), ..clear() }), 199);
}

#[test]
fn shoulders_do_not_make_the_face_small() {
    let mut rig = head(vec![ball([0.0, -4.0, 0.0], 3.0, 16)]);
    rig.name = "bust".into();
    let options = DrawOptions { framing: Framing::Face, ..clear() };
    let c = draw(&FaceLook::prepare(&rig), &rig.neutral, &options).unwrap();
    let row = |y: usize| (0..200).filter(|&x| c.get(x, y).unwrap()[3] > 127).count();
    assert!(row(100) > 140, "{}", row(100));
}

#[test]
fn unnamed_eyeballs_get_a_pupil() {
    let rig = head(vec![ball([0.35, 0.3, 0.85], 0.18, 14), ball([-0.35, 0.3, 0.85], 0.18, 14)]);
    let look = FaceLook::prepare(&rig);
    let options = DrawOptions { width: 400, height: 400, ..clear() };
    let c = draw(&look, &rig.neutral, &options).unwrap();
    let dark: Vec<usize> = (0..400 * 400)
        .filter(|&i| c.pixels[i][3] == 255 && c.pixels[i][..3].iter().all(|&x| x < 60))
        .collect();
    let left = dark.iter().filter(|&&i| i % 400 < 200).count();
    assert!(left > 60 && dark.len() - left > 60, "{left} of {}", dark.len());
    let mean = |side: bool| {
        let of: Vec<f64> = dark.iter().map(|i| (i % 400) as f64).filter(|x| (*x < 200.0) == side).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    assert!((mean(true) + mean(false) - 399.0).abs() < 6.0, "pupils are symmetric");
}

/// The part of a ball in front of `z`.
fn cap(center: [f32; 3], radius: f32, z: f32) -> (Vec<[f32; 3]>, risorius_mesh::Polygons) {
    let (points, faces) = ball(center, radius, 14);
    let mut kept = risorius_mesh::Polygons::default();
    faces.iter().filter(|f| f.iter().all(|&v| points[v as usize][2] > z)).for_each(|f| kept.push(f));
    (points, kept)
}

#[test]
fn unnamed_shells_before_an_eye_are_not_drawn() {
    let eyes = || vec![ball([0.35, 0.3, 0.85], 0.18, 14), ball([-0.35, 0.3, 0.85], 0.18, 14)];
    let mut covered_eyes = eyes();
    covered_eyes.extend([cap([0.35, 0.3, 0.85], 0.2, 0.95), cap([-0.35, 0.3, 0.85], 0.2, 0.95)]);
    let picture = |rig: &risorius_rig::Rig| draw(&FaceLook::prepare(rig), &rig.neutral, &clear()).unwrap();
    assert!(picture(&head(eyes())) == picture(&head(covered_eyes)));
}

#[test]
fn names_of_regions_decide_what_is_drawn() {
    let mut rig = head(vec![ball([0.0, -0.4, 1.1], 0.3, 14)]);
    let plain = draw(&FaceLook::prepare(&rig), &rig.neutral, &clear()).unwrap();
    let n = rig.n_vertices() as u32;
    let knob: Vec<u32> = (0..n).filter(|&v| rig.neutral[v as usize][2] > 1.0).collect();
    for (name, changes) in [("teeth_upper", true), ("eye_region_left", false), ("narrow_face", false)] {
        rig.regions = [(name.to_string(), knob.clone())].into();
        let named = draw(&FaceLook::prepare(&rig), &rig.neutral, &clear()).unwrap();
        assert_eq!(named != plain, changes, "{name}");
    }
}

#[test]
fn markers_show_only_in_front() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let near = |z: f32| {
        (0..rig.n_vertices()).min_by(|&a, &b| {
            let d = |v: usize| {
                (rig.neutral[v][2] - z).powi(2) + rig.neutral[v][0].powi(2) + rig.neutral[v][1].powi(2)
            };
            d(a).total_cmp(&d(b))
        })
    };
    let count = |vertex: usize| {
        let markers = vec![Marker::new(vertex as u32, [0, 255, 0, 255])];
        let c = draw(&look, &rig.neutral, &DrawOptions { markers, ..clear() }).unwrap();
        c.pixels.iter().filter(|p| **p == [0, 255, 0, 255]).count()
    };
    assert!(count(near(1.0).unwrap()) > 20);
    assert_eq!(count(near(-1.0).unwrap()), 0);
}

#[test]
fn the_wireframe_shows_quads_without_diagonals() {
    let mut faces = risorius_mesh::Polygons::default();
    faces.push(&[0, 1, 2, 3]);
    let square = vec![[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];
    let rig = rig(vec![part("skin", (square, faces))]);
    let look = FaceLook::prepare(&rig);
    let plain = draw(&look, &rig.neutral, &clear()).unwrap();
    let wired = draw(&look, &rig.neutral, &DrawOptions { wireframe: true, ..clear() }).unwrap();
    let [x0, x1, y0, y1] = covered(&plain).unwrap();
    for i in 1..9 {
        let (x, y) = (x0 + (x1 - x0) * i / 9, y0 + (y1 - y0) * i / 9);
        assert!(bright(&plain, x, y).abs_diff(bright(&wired, x, y)) <= 6, "the diagonal is drawn at {x} {y}");
        let (x, y) = (x0 + (x1 - x0) * i / 9, y1 + y0 - y);
        assert!(bright(&plain, x, y).abs_diff(bright(&wired, x, y)) <= 6, "the diagonal is drawn at {x} {y}");
    }
    let darker = (y0..y0 + 3).any(|y| bright(&wired, 100, y) + 60 < bright(&plain, 100, y));
    assert!(darker, "the side is drawn");
}

#[test]
fn fields_have_a_scale_and_gaps_are_gray() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let mut options = DrawOptions { width: 400, height: 400, ..clear() };
    options.field = Some(ScalarField::spanning(vec![f32::NAN; rig.n_vertices()], "mm"));
    let c = draw(&look, &rig.neutral, &options).unwrap();
    let [r, g, b, _] = c.get(200, 200).unwrap();
    assert!(r.abs_diff(g) < 3 && g.abs_diff(b) < 3, "{r} {g} {b}");
    options.field = Some(ScalarField::spanning(rig.neutral.iter().map(|p| p[1]).collect(), "mm"));
    let c = draw(&look, &rig.neutral, &options).unwrap();
    let colors: std::collections::BTreeSet<[u8; 4]> = (100..300).filter_map(|y| c.get(330, y)).collect();
    assert!(colors.len() > 50, "a scale bar at the right: {}", colors.len());
    options.field = Some(ScalarField::spanning(vec![0.0; 3], "mm"));
    assert!(matches!(draw(&look, &rig.neutral, &options), Err(ViewError::FieldCount { found: 3, .. })));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let rig = head(vec![ball([0.35, 0.3, 0.85], 0.18, 14), ball([-0.35, 0.3, 0.85], 0.18, 14)]);
    let options = DrawOptions {
        width: 333,
        height: 257,
        yaw_degrees: 20.0,
        pitch_degrees: 10.0,
        ..DrawOptions::default()
    };
    let with = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| draw(&FaceLook::prepare(&rig), &rig.neutral, &options).unwrap())
    };
    let one = with(1);
    assert!(one == with(2) && one == with(5));
}

#[test]
fn the_share_of_the_face_in_the_picture_is_measured() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let share = |by: f32| {
        let p: Vec<[f32; 3]> = rig.neutral.iter().map(|p| [p[0] + by, p[1], p[2]]).collect();
        share_in_view(&look, &p, &clear()).unwrap()
    };
    assert_eq!((share(0.0), share(30.0)), (1.0, 0.0));
    assert!((0.3..0.8).contains(&share(1.1)), "{}", share(1.1));
    let nowhere = vec![[f32::NAN; 3]; rig.n_vertices()];
    assert_eq!(share_in_view(&look, &nowhere, &clear()).unwrap(), 0.0);
}
