//! Pictures of models: films, cuts, values, labels, lines.

mod solids;
mod volumes;

use glam::DVec3;
use risorius_mesh::TriMesh;
use risorius_view::{
    AnatomyModel, Background, Bounds, Canvas, Color, Coloring, Colormap, CutPieces, CutPlane, CutStyle,
    DrawOptions, FaceLook, Finish, Framing, LabeledPoint, Piece, Polyline, ScalarField, TetColors, ViewError,
    clip_piece, cut_tets, draw, draw_model,
};
use solids::{head, one_ball};
use volumes::{ball_of_tets, ball_surface};

const RED: [f32; 3] = [0.6, 0.04, 0.04];
const GREEN: [f32; 3] = [0.04, 0.5, 0.04];
const BLUE: [f32; 3] = [0.04, 0.06, 0.6];

fn clear() -> DrawOptions {
    DrawOptions { width: 200, height: 200, background: Background::Plain([0; 4]), ..DrawOptions::default() }
}

fn unit() -> Bounds {
    Bounds::around(DVec3::ZERO, 1.0)
}

fn model(pieces: Vec<Piece>) -> AnatomyModel {
    AnatomyModel { pieces, frame: Some(unit()) }
}

fn ball(center: [f32; 3], radius: f32, color: [f32; 3]) -> Piece {
    Piece::new("ball", ball_surface(center, radius), Finish::Matte).colored(color)
}

/// The channel (red 0, green 1, blue 2) that is well above the others.
fn hue(c: Color) -> Option<usize> {
    (0..3).find(|&k| c[3] > 200 && (0..3).all(|o| o == k || c[k] as u32 > c[o] as u32 + 25))
}

fn at(c: &Canvas, x: usize, y: usize) -> Color {
    c.get(x, y).unwrap()
}

#[test]
fn films_show_what_is_inside_and_hide_more_at_their_outline() {
    let film = ball([0.0; 3], 1.0, BLUE).translucent(0.25);
    let both = draw_model(&model(vec![film.clone(), ball([0.0; 3], 0.4, RED)]), &clear()).unwrap();
    assert_eq!(hue(at(&both, 100, 100)), Some(0), "{:?}", at(&both, 100, 100));
    let opaque =
        draw_model(&model(vec![film.clone().translucent(1.0), ball([0.0; 3], 0.4, RED)]), &clear()).unwrap();
    assert_eq!(hue(at(&opaque, 100, 100)), Some(2));
    let bare = draw_model(&model(vec![ball([0.0; 3], 0.4, RED)]), &clear()).unwrap();
    assert!(at(&both, 100, 100)[2] > at(&bare, 100, 100)[2] + 10, "the film is seen as well");
    // Alone, the background shows through, less towards the outline.
    let alone = draw_model(&model(vec![film]), &clear()).unwrap();
    let alpha: Vec<u8> = (100..200).map(|x| at(&alone, x, 100)[3]).take_while(|&a| a > 50).collect();
    assert!((55..75).contains(&alpha[0]) && alpha.len() > 80, "{alpha:?}");
    let inner = &alpha[..alpha.len() - 3];
    assert!(inner.windows(2).all(|w| w[1] >= w[0]) && inner[inner.len() - 1] > 2 * inner[0], "{alpha:?}");
}

#[test]
fn nearer_films_lie_over_farther_ones_in_any_order() {
    let films = [
        ball([0.0, 0.0, 0.5], 0.4, RED).translucent(0.6),
        ball([0.0, 0.0, -0.5], 0.4, BLUE).translucent(0.6),
    ];
    let [a, b] = films;
    let one = draw_model(&model(vec![a.clone(), b.clone()]), &clear()).unwrap();
    assert!(one == draw_model(&model(vec![b, a]), &clear()).unwrap());
    let [r, _, b, _] = at(&one, 100, 100);
    assert!(r > b + 20, "{r} {b}");
    let behind = ball([0.0, 0.0, -0.6], 0.3, RED).translucent(0.5);
    let hidden = draw_model(&model(vec![ball([0.0; 3], 0.4, BLUE), behind]), &clear()).unwrap();
    let bare = draw_model(&model(vec![ball([0.0; 3], 0.4, BLUE)]), &clear()).unwrap();
    assert!(hidden == bare, "a film behind is not seen");
}

/// A ball of tets, red above and blue below, its outside green, without its left half.
fn half_ball(style: CutStyle) -> CutPieces {
    let mesh = ball_of_tets(12);
    let above = |t: &[u32; 4]| t.iter().map(|&v| mesh.nodes[v as usize].y).sum::<f64>() > 0.0;
    let colors: Vec<[f32; 3]> = mesh.tets.iter().map(|t| if above(t) { RED } else { BLUE }).collect();
    cut_tets(&mesh, &CutPlane::sagittal(0.04), style, TetColors::Each(&colors), |_| Some(GREEN)).unwrap()
}

#[test]
fn cuts_show_the_tets_inside() {
    for style in [CutStyle::Flat, CutStyle::Whole] {
        let cut = half_ball(style);
        let model = model(vec![cut.section, cut.boundary]);
        let seen = |yaw: f32| draw_model(&model, &DrawOptions { yaw_degrees: yaw, ..clear() }).unwrap();
        // Most of a patch, as lines run through it.
        let patch = |c: &Canvas, x: usize, y: usize, want: usize| {
            let hits = (0..400).filter(|i| hue(at(c, x + i % 20, y + i / 20)) == Some(want)).count();
            hits > 280
        };
        let open = seen(90.0);
        assert!(patch(&open, 90, 55, 0) && patch(&open, 90, 130, 2), "{style:?}: red above, blue below");
        assert!(
            patch(&seen(-90.0), 90, 55, 1) && patch(&seen(-90.0), 90, 130, 1),
            "the outside is whole there"
        );
        let front = seen(0.0);
        assert!(at(&front, 60, 100)[3] == 255 && at(&front, 140, 100)[3] == 0, "the left half is gone");
    }
}

#[test]
fn elements_of_a_section_are_outlined() {
    let cut = half_ball(CutStyle::Flat);
    let picture = |outlined: bool| {
        let section = Piece { outlined, ..cut.section.clone() };
        let options = DrawOptions { yaw_degrees: 90.0, width: 400, height: 400, ..clear() };
        draw_model(&model(vec![section]), &options).unwrap()
    };
    let (bare, lined) = (picture(false), picture(true));
    let darker = |x: usize| at(&lined, x, 130)[0] as u32 + 30 < at(&bare, x, 130)[0] as u32;
    let n = (150..250).filter(|&x| darker(x)).count();
    assert!((3..40).contains(&n), "{n} of 100 pixels are on lines");
    assert!((150..250).all(|x| at(&bare, x, 130) == at(&bare, 150, 130)), "a flat section is one color");
}

#[test]
fn clipped_skins_open_the_view() {
    let plane = CutPlane::sagittal(0.0);
    let skin = clip_piece(&ball([0.0; 3], 1.0, BLUE), &plane);
    let pieces = vec![skin, ball([0.0; 3], 0.5, RED)];
    let c = draw_model(&model(pieces), &DrawOptions { yaw_degrees: 90.0, ..clear() }).unwrap();
    assert_eq!(hue(at(&c, 100, 100)), Some(0));
    assert_eq!(hue(at(&c, 100, 30)), Some(2), "the inside of the far half");
}

#[test]
fn values_get_the_colors_of_their_scale() {
    let mesh = ball_of_tets(10);
    let picture = |value: f32, range: [f32; 2]| {
        let values = vec![value; mesh.tets.len()];
        let field = ScalarField { values, range, unit: "kPa".into(), colormap: Colormap::Diverging };
        let plane = CutPlane::frontal(0.03);
        let cut =
            cut_tets(&mesh, &plane, CutStyle::Flat, TetColors::Values(&field), |_| Some(GREEN)).unwrap();
        let section = Piece { outlined: false, ..cut.section };
        draw_model(&model(vec![section, cut.boundary]), &DrawOptions { width: 500, height: 300, ..clear() })
            .unwrap()
    };
    for (value, t) in [(-1.0, 0.0), (0.0, 0.5), (1.0, 1.0)] {
        let (shown, meant) = (at(&picture(value, [-1.0, 1.0]), 250, 150), Colormap::Diverging.color(t));
        assert!((0..3).all(|k| shown[k].abs_diff(meant[k]) < 22), "{shown:?} {meant:?}");
    }
    let c = picture(1.0, [-1.0, 1.0]);
    assert!((430..500).any(|x| at(&c, x, 150)[3] == 255), "there is a scale bar");
    assert!(c != picture(1.0, [-1.0, 0.9]), "values beyond the range are not marked");
}

#[test]
fn vertex_colors_blend() {
    let surface = ball_surface([0.0; 3], 1.0);
    let colors = surface.positions.iter().map(|p| if p.y > 0.0 { RED } else { BLUE }).collect();
    let piece = Piece { coloring: Coloring::Vertices(colors), ..Piece::new("b", surface, Finish::Flat) };
    let other = ball([0.0, 0.0, 0.9], 0.2, GREEN);
    let c = draw_model(&model(vec![piece, other]), &clear()).unwrap();
    assert_eq!(
        [(100, 40), (100, 160), (100, 100)].map(|(x, y)| hue(at(&c, x, y))),
        [Some(0), Some(2), Some(1)]
    );
}

#[test]
fn models_with_one_frame_lie_on_each_other() {
    let (a, b) = (ball([0.3, 0.2, 0.0], 0.3, RED), ball([-0.9, -0.8, 0.4], 0.5, BLUE));
    let alone = draw_model(&model(vec![a.clone()]), &clear()).unwrap();
    let both = draw_model(&model(vec![a.clone(), b.clone()]), &clear()).unwrap();
    let red = |c: &Canvas| (0..200 * 200).filter(|&i| hue(c.pixels[i]) == Some(0)).collect::<Vec<_>>();
    assert!(red(&alone).len() > 500 && red(&alone) == red(&both));
    // Without a frame the whole model is shown; a box is enlarged and centered.
    let whole = AnatomyModel { frame: None, ..model(vec![a, b]) };
    let open = draw_model(&whole, &clear()).unwrap();
    assert!(red(&open).len() != red(&both).len());
    let framing = Framing::Box(Bounds::around(DVec3::new(0.3, 0.2, 0.0), 0.3));
    let close = draw_model(&whole, &DrawOptions { framing, ..clear() }).unwrap();
    assert!(red(&close).len() > 5 * red(&both).len());
    let middle = red(&close).iter().map(|i| (i % 200) as f64).sum::<f64>() / red(&close).len() as f64;
    assert!((middle - 99.5).abs() < 3.0, "{middle}");
}

fn label(z: f64, confidence: Option<f32>) -> LabeledPoint {
    LabeledPoint { position: DVec3::new(0.0, 0.0, z), label: "7".into(), confidence }
}

#[test]
fn labels_stand_on_faces_and_models_and_hidden_ones_are_dim() {
    let rig = head(Vec::new());
    let look = FaceLook::prepare(&rig);
    let face = |labels| draw(&look, &rig.neutral, &DrawOptions { labels, ..clear() }).unwrap();
    let solid = |labels| {
        draw_model(&model(vec![ball([0.0; 3], 1.0, [0.5; 3])]), &DrawOptions { labels, ..clear() }).unwrap()
    };
    for picture in [&face as &dyn Fn(Vec<LabeledPoint>) -> Canvas, &solid] {
        let bare = picture(Vec::new());
        let seen = picture(vec![label(1.0, Some(0.0))]);
        let hidden = picture(vec![label(-1.0, Some(0.0))]);
        let [low, high] = [0.0, 1.0].map(|c| at(&picture(vec![label(1.0, Some(c))]), 100, 100));
        assert!(hue(low) == Some(0) && hue(high) == Some(2), "{low:?} {high:?}");
        let change =
            |c: &Canvas| at(c, 100, 100).iter().zip(at(&bare, 100, 100)).map(|(a, b)| a.abs_diff(b)).max();
        let seen_as = [&bare, &seen, &hidden].map(|c| at(c, 100, 100));
        assert!(change(&hidden) > Some(15) && change(&seen) > change(&hidden).map(|d| d + 15), "{seen_as:?}");
        // The skin is too red for white to be more so; the name has more blue.
        let whiter = |x: usize, y: usize| at(&seen, x, y)[2] > at(&bare, x, y)[2].saturating_add(20);
        let text = (104..120).any(|x| (92..108).any(|y| whiter(x, y)));
        assert!(text, "the name is beside the dot");
    }
}

#[test]
fn lines_are_hidden_by_what_is_before_them() {
    let across = |z: f64, hidden: f32| {
        let points = vec![DVec3::new(-1.6, 0.0, z), DVec3::new(0.0, 0.0, z), DVec3::new(1.6, 0.0, z)];
        let line = Polyline { width: 3.0, hidden, ..Polyline::new(points, [255, 0, 0, 255]) };
        let options = DrawOptions { lines: vec![line], zoom: 0.6, ..clear() };
        draw_model(&model(vec![ball([0.0; 3], 1.0, BLUE)]), &options).unwrap()
    };
    let red = |c: &Canvas, x: usize| at(c, x, 100)[0] > 150 && at(c, x, 100)[2] < 120;
    assert!([25, 60, 100, 140, 175].iter().all(|&x| red(&across(1.1, 0.0), x)), "before the ball");
    let behind = across(-0.2, 0.0);
    assert!(red(&behind, 25) && red(&behind, 175) && !red(&behind, 100) && !red(&behind, 70), "behind it");
    let ghost = at(&across(-0.2, 0.4), 100, 100);
    assert!(ghost[0] > at(&behind, 100, 100)[0] + 30 && !red(&across(-0.2, 0.4), 100));
    assert!(red(&across(-0.2, 1.0), 100));
    // Where two segments meet, the line is no thicker and no darker.
    let c = across(1.1, 0.0);
    let alike = |y: usize| (0..3).all(|k| at(&c, 100, y)[k].abs_diff(at(&c, 92, y)[k]) < 6);
    assert!((95..106).all(alike), "no bead");
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let cut = half_ball(CutStyle::Flat);
    let film = ball([0.0; 3], 1.1, GREEN).translucent(0.3);
    let picture = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let lines = vec![Polyline::new(vec![DVec3::ZERO, DVec3::ONE], [255, 0, 0, 200])];
        let labels = vec![label(0.3, None), label(-0.3, Some(0.5))];
        let options = DrawOptions { yaw_degrees: 60.0, lines, labels, wireframe: true, ..clear() };
        let pieces = vec![cut.section.clone(), cut.boundary.clone(), film.clone()];
        pool.install(|| draw_model(&model(pieces), &options).unwrap())
    };
    assert!(picture(1) == picture(2));
}

#[test]
fn broken_models_are_refused_or_drawn_anyway() {
    let wrong = Piece { coloring: Coloring::Triangles(vec![RED; 2]), ..ball([0.0; 3], 1.0, RED) };
    assert!(matches!(draw_model(&model(vec![wrong]), &clear()), Err(ViewError::ColorCount { found: 2, .. })));
    let wrong = ball([0.0; 3], 1.0, RED).translucent(1.5);
    assert!(matches!(
        draw_model(&model(vec![wrong]), &clear()),
        Err(ViewError::Number { name: "opacity", .. })
    ));
    let zoomed = DrawOptions { zoom: f32::NAN, ..clear() };
    assert!(matches!(
        draw_model(&AnatomyModel::default(), &zoomed),
        Err(ViewError::Number { name: "zoom", .. })
    ));
    assert!(draw_model(&AnatomyModel::default(), &clear()).unwrap().pixels.iter().all(|p| p[3] == 0));
    let mut surface = TriMesh { triangles: vec![[0, 1, 9], [0, 1, 2]], ..ball_surface([0.0; 3], 1.0) };
    surface.positions.truncate(5);
    for bad in [DVec3::NAN, DVec3::splat(1e300), DVec3::INFINITY] {
        surface.positions[1] = bad;
        let piece = Piece {
            outline: vec![1],
            ..Piece::new("broken", surface.clone(), Finish::Skin).translucent(0.5)
        };
        let lines = vec![Polyline::new(vec![DVec3::ZERO, bad, DVec3::X], [255; 4])];
        let labels = vec![LabeledPoint { position: bad, label: "?".into(), confidence: Some(f32::NAN) }];
        let framing = Framing::Box(Bounds { lo: bad, hi: -bad });
        let options = DrawOptions { lines, labels, framing, ..clear() };
        draw_model(&AnatomyModel { pieces: vec![piece], frame: None }, &options).unwrap();
        let rig = one_ball();
        draw(&FaceLook::prepare(&rig), &rig.neutral, &options).unwrap();
    }
}
