//! Layout of pictures: close-ups, scale bars, labels.

mod solids;

use risorius_rig::Rig;
use risorius_view::{
    Background, Canvas, Colormap, DrawOptions, FaceLook, Framing, MatrixOptions, ScalarField, draw, matrix,
    sheet, text_height,
};
use solids::{ball, head, one_ball, part, rig};

fn clear(width: usize, height: usize) -> DrawOptions {
    DrawOptions { width, height, background: Background::Plain([0, 0, 0, 0]), ..DrawOptions::default() }
}

fn field(rig: &Rig, value: impl Fn(usize) -> f32) -> ScalarField {
    let values = (0..rig.n_vertices()).map(value).collect();
    ScalarField { values, range: [-1.0, 1.0], unit: "mm".into(), colormap: Colormap::Diverging }
}

/// Middle of the reddest pixels, which show 1 in a field of -1.
fn middle_of_red(c: &Canvas) -> [f64; 2] {
    let red: Vec<usize> =
        (0..c.pixels.len()).filter(|&i| c.pixels[i][0] > c.pixels[i][2].saturating_add(60)).collect();
    let mean = |of: &dyn Fn(usize) -> usize| {
        red.iter().map(|&i| of(i) as f64).sum::<f64>() / red.len().max(1) as f64
    };
    [mean(&|i| i % c.width), mean(&|i| i / c.width)]
}

/// A head with a knob on its front, and the vertices of the knob.
fn head_with_knob() -> (Rig, Vec<u32>) {
    let rig =
        rig(vec![part("skin", ball([0.0; 3], 1.0, 24)), part("knob", ball([0.0, -0.3, 1.0], 0.12, 12))]);
    let knob = rig.parts[1].vertices.clone().map(|v| v as u32).collect();
    (rig, knob)
}

/// Position of the knob in a picture of 100 x 70, which is too small for a scale bar.
fn knob_at(framed: Vec<u32>, zoom: f32, yaw_degrees: f32) -> [f64; 2] {
    let (rig, knob) = head_with_knob();
    let values = field(&rig, |v| if knob.contains(&(v as u32)) { 1.0 } else { -1.0 });
    let mut options = DrawOptions { zoom, yaw_degrees, framing: Framing::Vertices(framed), ..clear(100, 70) };
    options.field = Some(ScalarField { unit: String::new(), ..values });
    middle_of_red(&draw(&FaceLook::prepare(&rig), &rig.neutral, &options).unwrap())
}

#[test]
fn close_ups_are_centered_on_what_the_camera_sees() {
    let (rig, knob) = head_with_knob();
    let back = (0..rig.n_vertices() as u32).filter(|&v| rig.neutral[v as usize][2] < -0.4);
    let framed: Vec<u32> = knob.iter().copied().chain(back).collect();
    for yaw in [0.0, 10.0, 35.0, -35.0] {
        let [x, y] = knob_at(framed.clone(), 1.0, yaw);
        assert!((x - 49.5).abs() < 6.0 && (y - 34.5).abs() < 6.0, "{yaw}: {x} {y}");
    }
}

#[test]
fn zooming_in_goes_where_most_of_the_framed_vertices_are() {
    let (rig, knob) = head_with_knob();
    let outskirt = (0..rig.n_vertices() as u32).filter(|v| !knob.contains(v)).find(|&v| {
        let [x, y, z] = rig.neutral[v as usize];
        y.abs() < 0.05 && x > 0.6 && z > 0.6
    });
    let framed: Vec<u32> = knob.iter().copied().chain(outskirt).collect();
    assert!(knob_at(framed.clone(), 1.0, 0.0)[0] < 42.0, "without zoom the outskirts fit in as well");
    let [x, y] = knob_at(framed, 4.0, 0.0);
    assert!((x - 49.5).abs() < 8.0 && (y - 34.5).abs() < 8.0, "{x} {y}");
}

#[test]
fn scale_bars_keep_clear_of_the_face() {
    let rig = head(Vec::new());
    let look = FaceLook::prepare(&rig);
    let alpha = |c: &Canvas, x: usize, y: usize| c.get(x, y).unwrap()[3];
    for (side, zoom) in [(300, 1.0), (500, 1.0), (900, 1.0), (300, 3.0)] {
        let options =
            DrawOptions { field: Some(field(&rig, |v| rig.neutral[v][1])), zoom, ..clear(side, side) };
        let c = draw(&look, &rig.neutral, &options).unwrap();
        let gap = (side / 2..side).find(|&x| alpha(&c, x, side / 2) == 0);
        if zoom == 1.0 {
            let right = (0..side).rev().find(|&x| alpha(&c, x, side / 2) > 0).unwrap();
            assert!(gap.is_some_and(|gap| gap < right), "{side}: background between the face and the bar");
            continue;
        }
        // Dark ink on a light plate: around the unit, over the skin of a close-up.
        let light = |x: usize| c.get(x, side / 5 - 4).unwrap()[..3].iter().all(|&v| v > 200);
        assert!((side - 40..side - 16).all(light), "the bar has a plate");
    }
}

#[test]
fn wide_pictures_leave_the_face_in_the_middle() {
    let rig = one_ball();
    let look = FaceLook::prepare(&rig);
    let plain = draw(&look, &rig.neutral, &clear(900, 400)).unwrap();
    let options = DrawOptions { field: Some(field(&rig, |v| rig.neutral[v][1])), ..clear(900, 400) };
    let colored = draw(&look, &rig.neutral, &options).unwrap();
    assert!((0..400).all(|y| (0..700).all(|x| plain.get(x, y).unwrap()[3] == colored.get(x, y).unwrap()[3])));
}

#[test]
fn bars_say_where_values_go_beyond_them() {
    let names = ["a".to_string(), "b".to_string()];
    let options = MatrixOptions { range: Some([0.0, 1.0]), ..MatrixOptions::default() };
    let within = matrix(&names, &names, &[0.0, 0.5, f64::INFINITY, 1.0], &options).unwrap();
    let beyond = matrix(&names, &names, &[0.0, 0.5, f64::NAN, 1.5], &options).unwrap();
    assert!(beyond.width > within.width, "\">= 1\" is wider than \"0.5\"");

    // A vertex on the back of the head, whose value only shows in the bar.
    let rig = head(Vec::new());
    let look = FaceLook::prepare(&rig);
    let back =
        (0..rig.n_vertices()).min_by(|&a, &b| rig.neutral[a][2].total_cmp(&rig.neutral[b][2])).unwrap();
    let picture = |most: f32| {
        let values = field(&rig, |v| if v == back { most } else { 0.0 });
        draw(&look, &rig.neutral, &DrawOptions { field: Some(values), ..clear(900, 400) }).unwrap()
    };
    assert!(picture(1.0) == picture(0.5));
    assert!(picture(1.0) != picture(1.5));
}

#[test]
fn long_labels_take_a_second_line() {
    let cell = || Canvas::new(120, 90, [0; 4]).unwrap();
    let with = |text: &str| sheet(&[(cell(), text.into()), (cell(), "short".into())], 2, "").unwrap();
    let (short, long) = (with("jaw"), with("mouthSmile_L=0.6, jawOpen=0.3"));
    assert_eq!(long.height, short.height + text_height(16));
    let inked = |c: &Canvas, y0: usize, y1: usize| {
        (y0..y1).any(|y| (0..c.width / 2).any(|x| c.get(x, y).unwrap()[0] > 150))
    };
    let first = 8 + 90 + 3;
    assert!(inked(&long, first, first + text_height(16)));
    assert!(inked(&long, first + text_height(16), first + 2 * text_height(16)));
}
