//! Cuts volumes and surfaces open by a plane.
//!
//! The side that the plane's normal points to is removed. [`cut_tets`] gives the cross-section and the
//! outside of the remaining volume as pieces of a model. The section lies exactly in the plane: an edge with
//! ends on both sides is cut where its height over the plane is zero; a tet with one or three nodes above
//! gives a triangle, one with two a quadrilateral, outlined so that the elements are visible. Alternatively,
//! whole tets are kept, those with their center below the plane. [`clip_piece`] cuts surfaces by the same
//! plane, leaves the rim open, and keeps colors and outlines. Nodes in the plane (within 1e-9 of the volume's
//! size) are kept; so are nodes that are not finite, which are left out when drawn. Time is n log n in the
//! number of tets.

use crate::ViewError;
use crate::camera::Bounds;
use crate::model::{Coloring, Finish, Piece, Rgb};
use crate::overlay::ScalarField;
use glam::DVec3;
use risorius_mesh::{TetMesh, TriMesh};
use std::collections::HashMap;

/// Where to cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutPlane {
    /// Any point of the plane, meters.
    pub point: DVec3,
    /// Points to the removed side, from which the cut is visible; any length above 0.
    pub normal: DVec3,
}

impl CutPlane {
    /// The plane of all points whose x is `x`; the character's left side is removed, so look from yaw 90.
    pub fn sagittal(x: f64) -> Self {
        Self { point: DVec3::X * x, normal: DVec3::X }
    }

    /// The plane of all points whose y is `y`; the part above is removed.
    pub fn transverse(y: f64) -> Self {
        Self { point: DVec3::Y * y, normal: DVec3::Y }
    }

    /// The plane of all points whose z is `z`; the part in front of it is removed.
    pub fn frontal(z: f64) -> Self {
        Self { point: DVec3::Z * z, normal: DVec3::Z }
    }

    /// Heights of `points` over the plane; negligible ones are set to 0.
    fn heights(&self, points: &[DVec3]) -> Vec<f64> {
        let least = slack(points);
        let normal = self.normal.normalize_or_zero();
        let height = |p: &DVec3| (*p - self.point).dot(normal);
        points.iter().map(height).map(|h| if h.abs() <= least { 0.0 } else { h }).collect()
    }
}

/// Heights of `points` over a plane are negligible up to this.
fn slack(points: &[DVec3]) -> f64 {
    let bounds = Bounds::of(points.iter().copied());
    1e-9 * (bounds.hi - bounds.lo).length()
}

/// What remains of tets that the plane intersects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CutStyle {
    /// Their part below the plane: the section is flat.
    #[default]
    Flat,
    /// The whole tet or nothing: the section shows the shape of the elements.
    Whole,
}

/// The colors of tets in a section.
#[derive(Debug, Clone, Copy)]
pub enum TetColors<'a> {
    /// One for all.
    One(Rgb),
    /// One for each tet.
    Each(&'a [Rgb]),
    /// One value for each tet, with range, unit and color map.
    Values(&'a ScalarField),
}

/// The result of cutting a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct CutPieces {
    /// The cross-section: flat finish, outlined, facing along the plane's normal.
    pub section: Piece,
    /// The outside of the remaining volume, wound outwards.
    pub boundary: Piece,
}

/// Cuts `mesh` by `plane`.
///
/// `outside` gives the color of a triangle of the volume's surface from its three nodes (skin, bone, eye,
/// border), or `None` to leave it out, for example where a bone is drawn separately.
pub fn cut_tets(
    mesh: &TetMesh,
    plane: &CutPlane,
    style: CutStyle,
    tets: TetColors,
    outside: impl Fn([u32; 3]) -> Option<Rgb>,
) -> Result<CutPieces, ViewError> {
    check(mesh, tets)?;
    let heights = plane.heights(&mesh.nodes);
    let (mut boundary, mut colors, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    let slack = slack(&mesh.nodes);
    let kept = |tet: u32| {
        let sum: f64 = mesh.tets[tet as usize].iter().map(|&v| heights[v as usize]).sum();
        style == CutStyle::Flat || sum.is_nan() || sum <= slack
    };
    for (face, tet, other) in faces(mesh) {
        match other {
            None if kept(tet) => {
                if let Some(color) = outside(face) {
                    boundary.push(face);
                    colors.push(color);
                }
            }
            Some(other) if kept(tet) && !kept(other) => inner.push((face, tet)),
            Some(other) if kept(other) && !kept(tet) => inner.push(([face[0], face[2], face[1]], other)),
            _ => {}
        }
    }
    let mut outer =
        Piece::new("outside", TriMesh { positions: mesh.nodes.clone(), triangles: boundary }, Finish::Flesh);
    outer.coloring = Coloring::Triangles(colors);
    let (section, boundary) = match style {
        CutStyle::Flat => (section(mesh, &heights, plane.normal), clip_piece(&outer, plane)),
        CutStyle::Whole => (facets(mesh, &inner), outer),
    };
    Ok(CutPieces { section: section.piece(tets), boundary })
}

/// `surface` without the part above `plane`; the rim is open.
pub fn clip_surface(surface: &TriMesh, plane: &CutPlane) -> TriMesh {
    clip_piece(&Piece::new("", surface.clone(), Finish::Matte), plane).surface
}

/// `piece` without the part above `plane`; the rim is open. Triangles that refer to missing vertices are left
/// out.
pub fn clip_piece(piece: &Piece, plane: &CutPlane) -> Piece {
    let positions = &piece.surface.positions;
    let mut clip = Clip { heights: plane.heights(positions), ..Clip::default() };
    for (t, corners) in piece.surface.triangles.iter().enumerate() {
        if corners.iter().all(|&v| (v as usize) < positions.len()) {
            clip.triangle(t as u32, *corners, piece.sides(t));
        }
    }
    let per_triangle = |t: &u32| *t as usize;
    let coloring = match &piece.coloring {
        Coloring::One(color) => Coloring::One(*color),
        Coloring::Triangles(colors) => {
            Coloring::Triangles(picked(colors, clip.sources.iter().map(per_triangle)))
        }
        Coloring::Values(field) => {
            let values = picked(&field.values, clip.sources.iter().map(per_triangle));
            Coloring::Values(ScalarField { values, ..field.clone() })
        }
        Coloring::Vertices(colors) => {
            let color = |v: u32| colors.get(v as usize).copied().unwrap_or_default();
            let mix = |&([a, b], part): &([u32; 2], f64)| {
                let (a, b) = (color(a), color(b));
                std::array::from_fn(|k| a[k] + part as f32 * (b[k] - a[k]))
            };
            Coloring::Vertices(clip.points.places.iter().map(mix).collect())
        }
    };
    let surface = TriMesh { positions: clip.points.positions(positions), triangles: clip.triangles };
    Piece { surface, coloring, outline: clip.outline, name: piece.name.clone(), ..*piece }
}

/// The values at `places`; places without one are left out, so that a wrong count is detected later.
fn picked<T: Copy>(values: &[T], places: impl Iterator<Item = usize>) -> Vec<T> {
    places.filter_map(|i| values.get(i).copied()).collect()
}

fn check(mesh: &TetMesh, tets: TetColors) -> Result<(), ViewError> {
    let (n_vertices, expected) = (mesh.nodes.len(), mesh.tets.len());
    if let Some(&vertex) = mesh.tets.iter().flatten().find(|&&v| v as usize >= n_vertices) {
        return Err(ViewError::Vertex { what: "a tet", vertex, n_vertices });
    }
    let found = match tets {
        TetColors::One(_) => expected,
        TetColors::Each(colors) => colors.len(),
        TetColors::Values(field) => field.values.len(),
    };
    let piece = "the volume".to_string();
    if found == expected { Ok(()) } else { Err(ViewError::ColorCount { piece, expected, found }) }
}

/// Every triangle between two tets, or between a tet and the outside, wound outwards from the first tet.
/// Ascending by sorted nodes; if more than two tets share a triangle, only two of them are kept.
fn faces(mesh: &TetMesh) -> Vec<([u32; 3], u32, Option<u32>)> {
    let mut all: Vec<([u32; 3], u32, [u32; 3])> = Vec::with_capacity(4 * mesh.tets.len());
    for (t, &[a, b, c, d]) in mesh.tets.iter().enumerate() {
        for face in [[a, c, b], [a, b, d], [a, d, c], [b, c, d]] {
            let mut key = face;
            key.sort_unstable();
            all.push((key, t as u32, face));
        }
    }
    all.sort_unstable();
    let mut out: Vec<([u32; 3], u32, Option<u32>)> = Vec::new();
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        out.push((same[0].2, same[0].1, same.get(1).map(|other| other.1)));
    }
    out
}

/// Points on edges, each created once: the ends of the edge and the fraction from the first; both ends are
/// equal for a vertex.
#[derive(Default)]
struct Points {
    known: HashMap<[u32; 2], u32>,
    places: Vec<([u32; 2], f64)>,
}

impl Points {
    fn vertex(&mut self, v: u32) -> u32 {
        self.add([v, v], 0.0)
    }

    /// The point where the edge between `a` and `b`, whose heights have different signs, crosses height 0.
    fn crossing(&mut self, heights: &[f64], a: u32, b: u32) -> u32 {
        let (lo, hi) = (a.min(b), a.max(b));
        let (from, to) = (heights[lo as usize], heights[hi as usize]);
        // An end in the plane is the crossing itself, shared by all edges at that node.
        if from == 0.0 {
            return self.vertex(lo);
        } else if to == 0.0 {
            return self.vertex(hi);
        }
        let part = from / (from - to);
        self.add([lo, hi], if part.is_finite() { part } else { 0.5 })
    }

    fn add(&mut self, ends: [u32; 2], part: f64) -> u32 {
        *self.known.entry(ends).or_insert_with(|| {
            self.places.push((ends, part));
            self.places.len() as u32 - 1
        })
    }

    fn positions(&self, positions: &[DVec3]) -> Vec<DVec3> {
        let at = |v: u32| positions[v as usize];
        self.places
            .iter()
            .map(|&([a, b], part)| if a == b { at(a) } else { at(a).lerp(at(b), part) })
            .collect()
    }
}

/// A surface being cut.
#[derive(Default)]
struct Clip {
    heights: Vec<f64>,
    points: Points,
    triangles: Vec<[u32; 3]>,
    outline: Vec<u8>,
    /// The source triangle of each triangle.
    sources: Vec<u32>,
}

impl Clip {
    fn triangle(&mut self, source: u32, corners: [u32; 3], outline: u8) {
        let above = corners.map(|v| self.heights[v as usize] > 0.0);
        // Corners of the remaining polygon, each with whether the side after it is drawn.
        let mut polygon: Vec<(u32, bool)> = Vec::with_capacity(4);
        for k in 0..3 {
            let next = (k + 1) % 3;
            let drawn = outline & (1 << ((k + 2) % 3)) != 0;
            if !above[k] {
                let point = self.points.vertex(corners[k]);
                polygon.push((point, drawn));
            }
            if above[k] != above[next] {
                let point = self.points.crossing(&self.heights, corners[k], corners[next]);
                // After a crossing upwards the next side is the rim; after one downwards it is the rest of
                // the old side.
                polygon.push((point, drawn && above[k]));
            }
        }
        let (triangles, outlines) = fan(polygon);
        self.sources.extend(triangles.iter().map(|_| source));
        self.triangles.extend(triangles);
        self.outline.extend(outlines);
    }
}

/// Triangles of a convex polygon, given as corners and whether the side after each is drawn, with their
/// outlines. Repeated corners count once.
fn fan(mut polygon: Vec<(u32, bool)>) -> (Vec<[u32; 3]>, Vec<u8>) {
    polygon.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        // The side between them has no length; the side after the later corner is used.
        kept.1 = if same { later.1 } else { kept.1 };
        same
    });
    if polygon.len() > 1 && polygon[0].0 == polygon[polygon.len() - 1].0 {
        polygon.pop();
    }
    let bit = |drawn: bool, k: u8| u8::from(drawn) << k;
    (2..polygon.len())
        .map(|i| {
            let last = i + 1 == polygon.len() && polygon[i].1;
            let sides = bit(polygon[i - 1].1, 0) | bit(last, 1) | bit(i == 2 && polygon[0].1, 2);
            ([polygon[0].0, polygon[i - 1].0, polygon[i].0], sides)
        })
        .unzip()
}

/// Triangles that belong to tets.
#[derive(Default)]
struct Section {
    surface: TriMesh,
    outline: Vec<u8>,
    tets: Vec<u32>,
}

impl Section {
    fn piece(self, colors: TetColors) -> Piece {
        let places = self.tets.iter().map(|&t| t as usize);
        let coloring = match colors {
            TetColors::One(color) => Coloring::One(color),
            TetColors::Each(colors) => Coloring::Triangles(picked(colors, places)),
            TetColors::Values(field) => {
                Coloring::Values(ScalarField { values: picked(&field.values, places), ..field.clone() })
            }
        };
        let piece = Piece::new("section", self.surface, Finish::Flat);
        Piece { coloring, outlined: true, outline: self.outline, ..piece }
    }
}

/// The polygons in which the plane intersects the tets.
fn section(mesh: &TetMesh, heights: &[f64], normal: DVec3) -> Section {
    let (mut out, mut points) = (Section::default(), Points::default());
    for (t, tet) in mesh.tets.iter().enumerate() {
        let (above, below): (Vec<u32>, Vec<u32>) = tet.iter().partition(|&&v| heights[v as usize] > 0.0);
        // Edges in order around the polygon: neighbors share a node above or below.
        let edges: Vec<[u32; 2]> = match (&above[..], &below[..]) {
            (&[a], &[p, q, r]) => vec![[a, p], [a, q], [a, r]],
            (&[a, b, c], &[p]) => vec![[a, p], [b, p], [c, p]],
            (&[a, b], &[p, q]) => vec![[a, p], [a, q], [b, q], [b, p]],
            _ => continue,
        };
        let mut polygon: Vec<(u32, bool)> =
            edges.iter().map(|&[a, b]| (points.crossing(heights, a, b), true)).collect();
        let at = |i: usize| {
            let ([a, b], part) = points.places[polygon[i].0 as usize];
            mesh.nodes[a as usize].lerp(mesh.nodes[b as usize], part)
        };
        let diagonal = at(polygon.len() - 1) - at(1);
        let area = if polygon.len() == 4 {
            (at(2) - at(0)).cross(diagonal)
        } else {
            (at(1) - at(0)).cross(at(2) - at(0))
        };
        if area.dot(normal) < 0.0 {
            polygon.reverse();
        }
        let (triangles, outlines) = fan(polygon);
        out.tets.extend(triangles.iter().map(|_| t as u32));
        out.surface.triangles.extend(triangles);
        out.outline.extend(outlines);
    }
    out.surface.positions = points.positions(&mesh.nodes);
    out
}

/// Triangles of tets with separate corners, so that each is shaded flat.
fn facets(mesh: &TetMesh, faces: &[([u32; 3], u32)]) -> Section {
    let positions = faces.iter().flat_map(|f| f.0).map(|v| mesh.nodes[v as usize]).collect();
    let triangles = (0..faces.len() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let tets = faces.iter().map(|f| f.1).collect();
    Section { surface: TriMesh { positions, triangles }, outline: vec![7; faces.len()], tets }
}
