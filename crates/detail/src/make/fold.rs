//! Displacements of a mesh from depths along lines.
//!
//! Across a line, at the distance s in units of the breadth, the skin has the profile
//!
//! ```text
//! ridge(s) - valley(s),  valley = exp(-(|s| / 0.12)^1.3),  ridge = 0.4 exp(-((|s| - 0.4) / 0.24)^2)
//! ```
//!
//! a narrow valley between rounded ridges, one of which may be larger. Skin also moves toward the valley,
//! which makes it narrower still. A valley is at least as wide as an edge of the mesh; lines that a mesh
//! cannot show fade out instead of becoming ripples of its edges.

use super::lines::Line;
use crate::Rest;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use risorius_anatomy::PieceKind;
use risorius_anatomy::carry::Anatomy;
use risorius_mesh::{EdgeGraph, VertexNormals};

/// Half widths of valley and ridge, distance of the ridge, and its height, in breadths and depths.
const VALLEY: f64 = 0.12;
const RIDGE: [f64; 3] = [0.4, 0.24, 0.4];

/// The profile is zero beyond this, in breadths.
const ENDS: f64 = 1.0;

/// How far skin moves toward the valley, in depths.
const PINCH: f64 = 0.2;

/// Half the width of a valley is at least this many of the longest edges around a vertex, averaged over this
/// many rings: valleys whose width changes from vertex to vertex look like ripples.
const EDGES: f64 = 1.1;
const RINGS: usize = 6;

/// Lines fade out while half the width of their valleys grows over this range, in breadths.
const TOO_WIDE: [f64; 2] = [0.28, 0.5];

/// Least cosine between normals of a vertex and of a line that it belongs to.
const FACING: f64 = 0.45;

/// The part of a line that a vertex feels.
struct Touch {
    vertex: u32,
    line: u32,
    /// Between samples.
    at: f64,
    /// Height along the normal, and motion across the line, for a depth of 1.
    height: f64,
    aside: f64,
    across: DVec3,
}

/// Lines on a mesh.
pub(super) struct Folds<'a> {
    rest: &'a Rest,
    /// Sorted by vertex.
    touches: Vec<Touch>,
    normals: VertexNormals,
    rest_normals: Vec<[f32; 3]>,
    /// Depths of all samples of all lines at rest, meters.
    pub at_rest: Vec<Vec<f64>>,
}

impl<'a> Folds<'a> {
    pub(super) fn prepare(rest: &'a Rest, anatomy: &Anatomy, lines: &[Line]) -> Self {
        let mesh = rest.mesh();
        let n = mesh.n_vertices();
        let normals = VertexNormals::prepare(n, &mesh.triangles);
        let rest_normals = normals.compute(&mesh.positions);
        let space = rest.rig.space;
        let turn = space.si_axes_from_file();
        let x: Vec<DVec3> = mesh.positions.iter().map(|&p| space.to_si(p)).collect();
        let outward: Vec<DVec3> = rest_normals.iter().map(|&n| turn * Vec3::from(n).as_dvec3()).collect();
        let graph = EdgeGraph::prepare(n, &mesh.triangles, |a, b| x[a as usize].distance(x[b as usize]));
        let edges = long_edges(&graph, n);
        let is_skin = skin(rest, anatomy);
        let skin: Vec<u32> = (0..n as u32).filter(|&v| is_skin[v as usize]).collect();
        let of_line = |(number, line): (usize, &Line)| -> Vec<Touch> {
            let reach = ENDS * line.breadth;
            let places = || line.samples.iter().map(|s| s.point);
            let low = places().fold(DVec3::INFINITY, DVec3::min) - DVec3::splat(reach);
            let high = places().fold(DVec3::NEG_INFINITY, DVec3::max) + DVec3::splat(reach);
            let inside = |v: &&u32| {
                let p = x[**v as usize];
                p.cmpge(low).all() && p.cmple(high).all()
            };
            let one = |&v: &u32| {
                let (p, normal) = (x[v as usize], outward[v as usize]);
                let touch = touch(line, p, normal, edges[v as usize])?;
                Some(Touch { vertex: v, line: number as u32, ..touch })
            };
            skin.iter().filter(inside).filter_map(one).collect()
        };
        let mut touches: Vec<Touch> = lines.par_iter().enumerate().flat_map_iter(of_line).collect();
        touches.sort_by_key(|t| (t.vertex, t.line));
        let at_rest = lines.iter().map(|l| l.samples.iter().map(|s| s.at_rest).collect()).collect();
        Self { rest, touches, normals, rest_normals, at_rest }
    }

    /// A pose with folds of these depths.
    pub(super) fn on(&self, plain: &[[f32; 3]], depths: &[Vec<f64>]) -> Vec<[f32; 3]> {
        let space = self.rest.rig.space;
        let (turn, back) = (space.si_axes_from_file(), space.file_from_si());
        let normals = self.normals.compute(plain);
        let mut out = plain.to_vec();
        for t in &self.touches {
            let depth = between(&depths[t.line as usize], t.at);
            if depth == 0.0 {
                continue;
            }
            let [before, now] = [&self.rest_normals, &normals]
                .map(|list| turn * Vec3::from(list[t.vertex as usize]).as_dvec3());
            // Lines turn with the skin.
            let across = match before.length_squared() > 0.5 && now.length_squared() > 0.5 {
                true => glam::DQuat::from_rotation_arc(before.normalize(), now.normalize()) * t.across,
                false => t.across,
            };
            let moved = back * ((now * t.height + across * t.aside) * depth);
            let p = &mut out[t.vertex as usize];
            *p = (Vec3::from(*p) + moved.as_vec3()).to_array();
        }
        out
    }
}

/// The longest edge around each vertex, averaged over some rings.
fn long_edges(graph: &EdgeGraph, n: usize) -> Vec<f64> {
    let longest = |v: u32| graph.around(v).iter().map(|(_, l)| *l).fold(0.0, f64::max);
    let mut edges: Vec<f64> = (0..n as u32).map(longest).collect();
    for _ in 0..RINGS {
        let mean = |v: u32| {
            let around = graph.around(v);
            let sum: f64 = around.iter().map(|(w, _)| edges[*w as usize]).sum();
            (edges[v as usize] + sum) / (1 + around.len()) as f64
        };
        edges = (0..n as u32).map(mean).collect();
    }
    edges
}

/// What a vertex feels of a line; `None` if nothing.
fn touch(line: &Line, p: DVec3, normal: DVec3, edge: f64) -> Option<Touch> {
    let far = |k: usize| line.samples[k].point.distance_squared(p);
    let k = (0..line.samples.len()).reduce(|best, k| if far(k) < far(best) { k } else { best })?;
    let s = &line.samples[k];
    if far(k).sqrt() > ENDS * line.breadth || s.normal.dot(normal) < FACING {
        return None;
    }
    let off = p - s.point;
    let ahead = off.dot(s.along) * 1000.0;
    let side = off.dot(s.across);
    // Distance along the skin: the part along the normal is due to curvature.
    let lateral =
        (off.length_squared() - off.dot(s.along).powi(2) - off.dot(s.normal).powi(2)).max(0.0).sqrt();
    let u = lateral / line.breadth * side.signum();
    let valley = VALLEY.max(EDGES * edge / line.breadth);
    let shown = 1.0 - risorius_base::ease::ramp(valley, TOO_WIDE[0], TOO_WIDE[1]);
    let (height, aside) = profile(u, valley, line.family.lean);
    let last = (line.samples.len() - 1) as f64;
    (shown > 0.0).then_some(Touch {
        vertex: 0,
        line: 0,
        at: (k as f64 + ahead.clamp(-0.5, 0.5)).clamp(0.0, last),
        height: height * shown,
        aside: aside * shown,
        across: s.across,
    })
}

/// Height and motion to the left, for a depth of 1, at the distance u to the left of a line.
fn profile(u: f64, valley: f64, lean: f64) -> (f64, f64) {
    let [at, half, high] = RIDGE;
    let side = if u > 0.0 { 1.0 + lean } else { 1.0 - lean };
    let ridge = high * side * (-((u.abs() - at.max(2.0 * valley)) / half).powi(2)).exp();
    let deep = (1.0 - high) * (-(u.abs() / valley).powf(1.3)).exp();
    let end = 1.0 - risorius_base::ease::ramp(u.abs(), 0.75 * ENDS, ENDS);
    let near = u / (1.6 * valley);
    ((ridge - deep) * end, -PINCH * near * (0.5 - 0.5 * near * near).exp())
}

/// A value between samples.
fn between(list: &[f64], at: f64) -> f64 {
    let k = (at as usize).min(list.len().saturating_sub(2));
    let t = at - k as f64;
    list.get(k).copied().unwrap_or(0.0) * (1.0 - t) + list.get(k + 1).copied().unwrap_or(0.0) * t
}

/// Which vertices of the subdivided rig are skin.
fn skin(rest: &Rest, anatomy: &Anatomy) -> Vec<bool> {
    let kinds = &anatomy.pieces.kinds;
    let field: Vec<[f32; 3]> =
        kinds.iter().map(|k| [if *k == PieceKind::Skin { 1.0 } else { 0.0 }, 0.0, 0.0]).collect();
    rest.refinement.apply(&field).iter().map(|f| f[0] > 0.5).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A narrow valley between two rounded ridges, flat far away, and higher on the side that it leans to.
    #[test]
    fn a_fold_is_a_valley_between_ridges() {
        let height = |u: f64| profile(u, VALLEY, 0.3).0;
        let list: Vec<f64> = (-100..=100).map(|k| height(f64::from(k) / 100.0)).collect();
        let lowest = (0..201).min_by(|&a, &b| list[a].total_cmp(&list[b])).unwrap();
        let highest = (0..201).max_by(|&a, &b| list[a].total_cmp(&list[b])).unwrap();
        assert_eq!(lowest, 100);
        assert!((135..150).contains(&highest) && list[highest] > 1.3 * height(-0.4), "{highest}");
        assert!(list[0] == 0.0 && list[200] == 0.0);
        // Half as deep as the valley: narrow. Half as high as the ridge: wide.
        let width = |f: &dyn Fn(f64) -> bool| list.iter().filter(|h| f(**h)).count();
        let (low, high) = (list[lowest], list[highest]);
        assert!(2 * width(&|h| h < 0.5 * low) < width(&|h| h > 0.5 * high), "{list:?}");
        // Skin moves toward the valley.
        assert!(profile(0.1, VALLEY, 0.0).1 < 0.0 && profile(-0.1, VALLEY, 0.0).1 > 0.0);
    }
}
