//! 3D lines, and dots with names.
//!
//! Both are drawn over the finished surfaces, with sizes in pixels, so that they are equally thin and sharp
//! in every picture. A line is hidden where an opaque surface is in front of it, decided at the four samples
//! of each pixel. A polyline is blended once, even where its segments overlap. Names are placed beside their
//! dots where they overlap others least.

use crate::canvas::{Canvas, Color, for_each_on_line};
use crate::overlay::label_size;
use crate::shade::Scene;
use crate::text::{text_height, text_width};
use crate::visibility::Visibility;
use glam::{DVec3, Vec2};

/// A line through 3D points.
#[derive(Debug, Clone, PartialEq)]
pub struct Polyline {
    /// In the coordinates of the rig or model. Points that are not finite break the line.
    pub points: Vec<DVec3>,
    /// Its color.
    pub color: Color,
    /// Pixels across.
    pub width: f32,
    /// Opacity factor where an opaque surface hides it: 0 invisible, 1 fully visible.
    pub hidden: f32,
}

impl Polyline {
    /// A line of 1.5 pixels that surfaces hide.
    pub fn new(points: Vec<DVec3>, color: Color) -> Self {
        Self { points, color, width: 1.5, hidden: 0.0 }
    }
}

/// A dot with a name, such as a landmark.
#[derive(Debug, Clone, PartialEq)]
pub struct LabeledPoint {
    /// Position in the pose, in the coordinates of the rig or model.
    pub position: DVec3,
    /// A number or a short name; may be empty.
    pub label: String,
    /// 0 to 1, shown as color: red, yellow, blue. Without one the dot is white.
    pub confidence: Option<f32>,
}

/// Fraction of the distance by which a line may lie behind a surface and still count as on it: about half a
/// millimeter.
const LINE_SLACK: f32 = 0.001;
/// The same for dots, which may come from the skin of another mesh.
const DOT_SLACK: f32 = 0.004;
/// Width in pixels from which a line has a dark edge.
const CASED: f32 = 2.0;
const DOT_RADIUS: f32 = 3.2;
/// Opacity factor of hidden dots and their names.
const DIMMED: f32 = 0.38;

/// A pixel of a line.
struct Ink {
    pixel: usize,
    coverage: f32,
    nearness: f32,
}

/// Draws `lines` where the surface, whose nearness at the samples of each pixel is in `depths`, does not hide
/// them.
pub(crate) fn draw_lines(canvas: &mut Canvas, lines: &[Polyline], scene: &Scene, depths: &[[f32; 4]]) {
    for line in lines.iter().filter(|l| l.width > 0.0 && l.width < 1000.0) {
        if line.width >= CASED {
            // A dark edge, so that pale lines are visible on pale bones.
            let casing =
                Polyline { width: line.width + 1.6, color: [18, 18, 20, line.color[3] / 2], ..line.clone() };
            draw_line(canvas, &casing, scene, depths);
        }
        draw_line(canvas, line, scene, depths);
    }
}

fn draw_line(canvas: &mut Canvas, line: &Polyline, scene: &Scene, depths: &[[f32; 4]]) {
    let mut inks = inked(canvas, line, scene);
    // Where segments meet, the one that covers more is used; ties do not matter, since the nearer comes
    // first.
    inks.sort_unstable_by(|a, b| {
        (a.pixel.cmp(&b.pixel))
            .then(b.coverage.total_cmp(&a.coverage))
            .then(b.nearness.total_cmp(&a.nearness))
    });
    inks.dedup_by_key(|ink| ink.pixel);
    for ink in inks {
        let reach = ink.nearness * (1.0 + LINE_SLACK);
        let seen = depths[ink.pixel].iter().filter(|&&d| d <= reach).count() as f32 / 4.0;
        let left = seen + (1.0 - seen) * line.hidden.clamp(0.0, 1.0);
        let (x, y) = (ink.pixel % canvas.width, ink.pixel / canvas.width);
        canvas.blend(x as i64, y as i64, line.color, ink.coverage * left);
    }
}

fn inked(canvas: &Canvas, line: &Polyline, scene: &Scene) -> Vec<Ink> {
    let (width, height) = (canvas.width, canvas.height);
    let projected: Vec<_> = line.points.iter().map(|&p| scene.project(p)).collect();
    let mut inks = Vec::new();
    for ends in projected.windows(2).filter(|w| w.iter().all(|p| p.nearness > 0.0)) {
        let (from, along) = (ends[0].pixel, ends[1].pixel - ends[0].pixel);
        let per_length = 1.0 / along.length_squared().max(1e-12);
        for_each_on_line(from.into(), ends[1].pixel.into(), line.width, width, height, |x, y, coverage| {
            if coverage > 0.0 && (0..width as i64).contains(&x) && (0..height as i64).contains(&y) {
                let at = Vec2::new(x as f32 + 0.5, y as f32 + 0.5) - from;
                let part = (at.dot(along) * per_length).clamp(0.0, 1.0);
                let nearness = ends[0].nearness + part * (ends[1].nearness - ends[0].nearness);
                inks.push(Ink { pixel: y as usize * width + x as usize, coverage, nearness });
            }
        });
    }
    inks
}

/// A label to be drawn.
struct Tag<'a> {
    at: Vec2,
    seen: bool,
    color: Color,
    text: &'a str,
}

/// Draws dots and their names, hidden ones dimmed and below the others.
pub(crate) fn draw_labels(canvas: &mut Canvas, labels: &[LabeledPoint], scene: &Scene, surface: &Visibility) {
    let size = label_size(canvas.width, canvas.height).min(16);
    let edge = [canvas.width as f32, canvas.height as f32];
    let mut tags: Vec<Tag> = Vec::new();
    for label in labels {
        let place = scene.project(label.position);
        let on_canvas = (0..2).all(|k| place.pixel[k] >= 0.0 && place.pixel[k] < edge[k]);
        if place.nearness > 0.0 && on_canvas {
            let seen = surface.shows(place.pixel, place.nearness, DOT_SLACK);
            tags.push(Tag {
                at: place.pixel,
                seen,
                color: confidence_color(label.confidence),
                text: &label.label,
            });
        }
    }
    let mut taken: Vec<[f32; 4]> = tags.iter().map(|t| around(t.at, DOT_RADIUS + 1.0)).collect();
    // Names of visible dots are placed first, but drawn last.
    let places: Vec<Option<[f32; 4]>> = {
        let mut places = vec![None; tags.len()];
        for i in (0..tags.len()).filter(|&i| tags[i].seen).chain((0..tags.len()).filter(|&i| !tags[i].seen)) {
            if !tags[i].text.is_empty() {
                let place = best_place(&tags[i], size, edge, &taken);
                taken.push(place);
                places[i] = Some(place);
            }
        }
        places
    };
    for seen in [false, true] {
        for (tag, place) in tags.iter().zip(&places).filter(|(t, _)| t.seen == seen) {
            draw_tag(canvas, tag, *place, size);
        }
    }
}

fn draw_tag(canvas: &mut Canvas, tag: &Tag, place: Option<[f32; 4]>, size: usize) {
    let left = if tag.seen { 1.0 } else { DIMMED };
    let faded = |[r, g, b, a]: Color| [r, g, b, (a as f32 * left) as u8];
    if let Some([x0, y0, x1, y1]) = place {
        // A line to names that are not directly beside their dot.
        let end = Vec2::new(tag.at.x.clamp(x0, x1), tag.at.y.clamp(y0, y1));
        if end.distance(tag.at) > DOT_RADIUS + 6.0 {
            canvas.line(tag.at.into(), end.into(), 1.0, faded([235, 235, 232, 170]));
        }
    }
    canvas.disc(tag.at.into(), DOT_RADIUS + 1.1, faded([16, 16, 18, 220]));
    canvas.disc(tag.at.into(), DOT_RADIUS, faded(tag.color));
    if let Some([x, y, ..]) = place {
        // The box encloses the letters, without the space above and below them.
        let (x, y) = (x.round() as i64, (y - 0.1 * text_height(size) as f32).round() as i64);
        for (dx, dy) in [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)] {
            canvas.text(x + dx, y + dy, size, faded([14, 14, 16, 120]), tag.text);
        }
        canvas.text(x, y, size, faded([246, 246, 242, 255]), tag.text);
    }
}

/// The place where the name of `tag` overlaps least with the `taken` boxes; nearer places are preferred.
fn best_place(tag: &Tag, size: usize, edge: [f32; 2], taken: &[[f32; 4]]) -> [f32; 4] {
    let half = Vec2::new(text_width(size, tag.text) as f32, text_height(size) as f32 * 0.8) * 0.5;
    let mut best = (f32::MAX, [0.0; 4]);
    for (ring, gap) in [3.0, 14.0, 30.0].into_iter().enumerate() {
        for (turn, (dx, dy)) in
            [(1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)].into_iter().enumerate()
        {
            let away = half + DOT_RADIUS + gap;
            let middle = tag.at + Vec2::new(dx as f32, dy as f32) * away;
            let place = [middle.x - half.x, middle.y - half.y, middle.x + half.x, middle.y + half.y];
            let outside = (-place[0]).max(-place[1]).max(place[2] - edge[0]).max(place[3] - edge[1]).max(0.0);
            let overlap: f32 = taken.iter().map(|t| common_area(&place, t)).sum();
            let cost = overlap + 20.0 * outside + 12.0 * ring as f32 + 0.5 * turn as f32;
            if cost < best.0 {
                best = (cost, place);
            }
        }
    }
    best.1
}

fn around(p: Vec2, reach: f32) -> [f32; 4] {
    [p.x - reach, p.y - reach, p.x + reach, p.y + reach]
}

fn common_area(a: &[f32; 4], b: &[f32; 4]) -> f32 {
    let width = a[2].min(b[2]) - a[0].max(b[0]);
    let height = a[3].min(b[3]) - a[1].max(b[1]);
    width.max(0.0) * height.max(0.0)
}

/// Vermilion, yellow, sky blue: three colors that color-blind people can distinguish too.
fn confidence_color(confidence: Option<f32>) -> Color {
    const STOPS: [[f32; 3]; 3] = [[222.0, 72.0, 40.0], [246.0, 206.0, 70.0], [66.0, 176.0, 232.0]];
    let Some(c) = confidence.filter(|c| !c.is_nan()) else { return [240, 240, 238, 255] };
    let place = c.clamp(0.0, 1.0) * 2.0;
    let (i, f) = if place < 1.0 { (0, place) } else { (1, place - 1.0) };
    let [r, g, b] = std::array::from_fn(|k| (STOPS[i][k] + f * (STOPS[i + 1][k] - STOPS[i][k]) + 0.5) as u8);
    [r, g, b, 255]
}
