//! Invalid, empty and huge input: an error or a picture, never a panic and never a long wait.

mod solids;

use risorius_rig::Rig;
use risorius_view::{
    Canvas, DrawOptions, FaceLook, Framing, MAX_SIDE, Marker, MatrixOptions, Series, ViewError, draw, lines,
    matrix, sheet,
};
use solids::{ball, head, one_ball, part, rig};

fn small() -> DrawOptions {
    DrawOptions { width: 64, height: 48, ..DrawOptions::default() }
}

#[test]
fn broken_coordinates_only_remove_their_triangles() {
    let clean = one_ball();
    let look = FaceLook::prepare(&clean);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e30, 1e20] {
        for axis in 0..3 {
            let mut p = clean.neutral.clone();
            p.iter_mut().step_by(7).for_each(|p| p[axis] = bad);
            draw(&look, &p, &small()).unwrap();
        }
        draw(&look, &vec![[bad; 3]; clean.n_vertices()], &small()).unwrap();
        let mut broken = clean.clone();
        broken.neutral.iter_mut().step_by(5).for_each(|p| *p = [bad; 3]);
        for framing in [Framing::Face, Framing::Whole, Framing::Vertices(vec![0, 1])] {
            draw(&FaceLook::prepare(&broken), &broken.neutral, &DrawOptions { framing, ..small() }).unwrap();
        }
    }
}

#[test]
fn scale_does_not_matter() {
    let a = one_ball();
    let picture = |k: f32| {
        let mut rig = a.clone();
        rig.neutral.iter_mut().flatten().for_each(|x| *x *= k);
        draw(&FaceLook::prepare(&rig), &rig.neutral, &small()).unwrap()
    };
    let one = picture(1.0);
    for k in [1e-20, 1e-3, 1024.0, 1e15] {
        let other = picture(k);
        let off = one.pixels.iter().zip(&other.pixels).filter(|(a, b)| a[0].abs_diff(b[0]) > 8).count();
        assert!(off < 40, "{k}: {off}");
    }
}

#[test]
fn nothing_to_draw_is_a_background() {
    let nothing = Rig::default();
    draw(&FaceLook::prepare(&nothing), &[], &small()).unwrap();
    let mut points = rig(vec![part("cloud", (vec![[0.0; 3], [1.0, 2.0, 3.0]], Default::default()))]);
    draw(&FaceLook::prepare(&points), &points.neutral, &small()).unwrap();
    // A part whose faces name vertices that do not exist.
    points.parts[0].faces.push(&[0, 1, 99]);
    draw(&FaceLook::prepare(&points), &points.neutral, &small()).unwrap();
    let ball = one_ball();
    let look = FaceLook::prepare(&ball);
    for (width, height) in [(1, 1), (1, 300), (300, 1), (33, 31)] {
        let options =
            DrawOptions { width, height, wireframe: true, title: Some("t".into()), ..DrawOptions::default() };
        assert_eq!(draw(&look, &ball.neutral, &options).unwrap().pixels.len(), width * height);
    }
}

#[test]
fn an_exploded_face_is_drawn_in_time() {
    let rig = head(vec![ball([0.0, 0.0, 2.0], 0.5, 8)]);
    let look = FaceLook::prepare(&rig);
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
    };
    let p: Vec<[f32; 3]> =
        (0..rig.n_vertices()).map(|_| [random() * 50.0, random() * 50.0, random() * 50.0 - 45.0]).collect();
    draw(&look, &p, &DrawOptions { width: 600, height: 600, ..DrawOptions::default() }).unwrap();
}

#[test]
fn wrong_options_are_refused_with_their_values() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let refused = |options: DrawOptions| draw(&look, &rig.neutral, &options).unwrap_err();
    assert_eq!(
        refused(DrawOptions { width: MAX_SIDE + 1, ..small() }),
        ViewError::CanvasSize { width: MAX_SIDE + 1, height: 48 }
    );
    assert!(matches!(refused(DrawOptions { height: 0, ..small() }), ViewError::CanvasSize { .. }));
    assert!(matches!(refused(DrawOptions { zoom: 0.0, ..small() }), ViewError::Number { name: "zoom", .. }));
    assert!(matches!(refused(DrawOptions { yaw_degrees: f32::NAN, ..small() }), ViewError::Number { .. }));
    let markers = vec![Marker::new(1_000_000, [0; 4])];
    assert!(refused(DrawOptions { markers, ..small() }).to_string().contains("1000000"));
    let framing = Framing::Vertices(vec![u32::MAX]);
    assert!(matches!(
        refused(DrawOptions { framing, ..small() }),
        ViewError::Vertex { what: "the framing", .. }
    ));
    assert!(matches!(draw(&look, &rig.neutral[1..], &small()), Err(ViewError::PositionCount { .. })));
    draw(&look, &rig.neutral, &DrawOptions { framing: Framing::Vertices(Vec::new()), ..small() }).unwrap();
}

#[test]
fn canvases_clip_and_encode() {
    let mut c = Canvas::new(40, 30, [10, 20, 30, 255]).unwrap();
    c.fill_rect(-5, -5, 10, 10, [255, 0, 0, 255]);
    c.fill_rect(i64::MAX - 3, 0, i64::MAX, 5, [255; 4]);
    c.line([-1e9, 5.0], [1e9, 25.0], 2.0, [0, 255, 0, 255]);
    c.line([f32::NAN, 5.0], [10.0, 25.0], 2.0, [0; 4]);
    c.disc([38.0, 2.0], 6.0, [0, 0, 255, 255]);
    c.disc([1e30, 2.0], 6.0, [0, 0, 255, 255]);
    c.text(-20, 20, 16, [255; 4], "clipped at both sides");
    c.blit(&Canvas::new(20, 20, [9; 4]).unwrap(), 30, -10);
    assert_eq!(c.get(0, 0), Some([255, 0, 0, 255]));
    assert_eq!(c.get(40, 0), None);
    let mut reader = png::Decoder::new(std::io::Cursor::new(c.encode_png())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    assert_eq!(bytes, c.pixels.as_flattened());
}

#[test]
fn characters_without_a_glyph_are_question_marks() {
    let written = |text: &str| {
        let mut c = Canvas::new(60, 24, [0, 0, 0, 255]).unwrap();
        c.text(0, 0, 24, [255; 4], text);
        c
    };
    assert_eq!(written("a\u{4e2d}b"), written("a?b"));
    assert_ne!(written("a b"), written("a?b"));
}

#[test]
fn plots_take_what_comes() {
    let names = |n: usize| (0..n).map(|i| format!("mouthSmile_{i}")).collect::<Vec<_>>();
    for n in [0, 1, 5, 100, 300] {
        let values: Vec<f64> = (0..n * n).map(|i| (i as f64).sin()).collect();
        let c = matrix(&names(n), &names(n), &values, &MatrixOptions::default()).unwrap();
        assert!(c.width > n && c.height > n);
    }
    assert!(matches!(
        matrix(&names(2), &names(2), &[0.0], &MatrixOptions::default()),
        Err(ViewError::MatrixShape { .. })
    ));
    matrix(&names(1), &names(2), &[f64::NAN, f64::INFINITY], &MatrixOptions::default()).unwrap();
    let huge = Series {
        name: "a".into(),
        points: vec![[0.0, -f64::MAX], [1.0, f64::MAX], [f64::NAN, 0.0], [2.0, 3.0]],
    };
    lines(&[huge], "x", "y", "t").unwrap();
    lines(&[], "", "", "").unwrap();
    lines(&[Series { name: String::new(), points: vec![[1.0, 1.0]] }], "x", "y", "t").unwrap();
    let cell = Canvas::new(50, 40, [0; 4]).unwrap();
    let s = sheet(&vec![(cell, "a label that is much too long".into()); 5], 3, "title").unwrap();
    assert!(s.width >= 150 && s.height >= 80);
    sheet(&[], 0, "").unwrap();
}
