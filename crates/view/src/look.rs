//! What does not change with the pose: surfaces, their colors, and the frame that the camera looks through.
//!
//! All coordinates are carried into *face space*: +Y up, +Z the way the face looks, origin in the middle of the face,
//! and half the face's height (or width, if larger) is 1. So the constants of the camera, the lights and the cavities
//! hold for every unit and every rig. The face is where shapes move the skin; without shapes it is around the tip of
//! the nose, the front-most point of the head.

use crate::components::{self, Corners, Eye, Piece, PieceLook};
use crate::exposure;
use crate::names::{Kind, kind_of};
use glam::{DMat3, DVec3, Vec3};
use risorius_mesh::VertexNormals;
use risorius_rig::Rig;

/// One color and behavior under light.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surface {
    pub kind: Kind,
    /// Linear-light color.
    pub color: [f32; 3],
    /// Index into [`FaceLook::eyes`] for eyeballs and lashes.
    pub eye: Option<usize>,
    /// Roots and tips of lashes, see [`PieceLook::span`].
    pub span: [f32; 2],
    /// Which of the scene's layers it is drawn in: 0 for all that hides what is behind.
    pub layer: usize,
    /// Share of what is behind that it hides where it is seen straight on.
    pub opacity: f32,
    /// The sides of its polygons are drawn where no wireframe is asked for, too.
    pub outlined: bool,
}

impl Surface {
    /// How much darker it is where it is hidden at rest: eyes and teeth stay bright when they come to light.
    pub fn hollow(&self) -> f32 {
        match self.kind {
            Kind::Skin => 1.0,
            Kind::Mouth | Kind::Tongue => 0.6,
            Kind::Teeth => 0.15,
            Kind::Eye | Kind::Lash | Kind::Hair | Kind::Hidden | Kind::Piece(_) => 0.0,
        }
    }
}

/// A triangle that may be drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Triangle {
    pub vertices: [u32; 3],
    /// Index into [`FaceLook::surfaces`].
    pub surface: u32,
    /// Bit `k`: the side across from corner `k` is a side of the artist's polygon.
    pub outline: u8,
}

/// A rig made ready for drawing any of its poses.
#[derive(Debug, Clone)]
pub struct FaceLook {
    pub(crate) n_vertices: usize,
    pub(crate) triangles: Vec<Triangle>,
    pub(crate) surfaces: Vec<Surface>,
    pub(crate) eyes: Vec<Eye>,
    pub(crate) normals: VertexNormals,
    pub(crate) frame: Frame,
    /// The neutral in face space; not finite where the rig's is not.
    pub(crate) rest: Vec<Vec3>,
    /// Normals of the neutral in face space.
    pub(crate) rest_normals: Vec<[f32; 3]>,
    /// 0 for skin that can be seen at rest, 1 for the lining of mouth, nostrils and lids.
    pub(crate) inside: Vec<f32>,
    /// Points of the face, at rest and where shapes move them furthest, which [`crate::Framing::Face`] looks at.
    pub(crate) face: Vec<Vec3>,
    /// What the colors of surfaces are multiplied by at each vertex; empty for 1 everywhere.
    pub(crate) tint: Vec<Vec3>,
}

/// From file coordinates to face space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    rotation: DMat3,
    center: DVec3,
    per_unit: f64,
}

impl Frame {
    /// A frame whose origin is between `lo` and `hi` (already turned by `rotation`), which are 1 above and below it, or
    /// beside it if that is further.
    pub fn around(rotation: DMat3, lo: DVec3, hi: DVec3) -> Self {
        let half = (0.5 * (hi - lo).truncate()).max_element();
        let per_unit = if half > 0.0 && (1.0 / half).is_finite() { 1.0 / half } else { 1.0 };
        Self { rotation, center: 0.5 * (lo + hi), per_unit }
    }

    pub fn point(&self, p: [f32; 3]) -> Vec3 {
        self.place(DVec3::from(p.map(f64::from)))
    }

    pub fn place(&self, p: DVec3) -> Vec3 {
        ((self.rotation * p - self.center) * self.per_unit).as_vec3()
    }
}

impl FaceLook {
    /// Prepares `rig`: which triangles there are, what they are made of, and where its face is.
    pub fn prepare(rig: &Rig) -> Self {
        let rotation = rig.space.si_axes_from_file();
        let turned: Vec<DVec3> = rig.neutral.iter().map(|p| rotation * DVec3::from(p.map(f64::from))).collect();
        let (face, lo, hi) = find_face(rig, &turned);
        let frame = Frame::around(rotation, lo, hi);
        let rest: Vec<Vec3> = rig.neutral.iter().map(|&p| frame.point(p)).collect();
        let face = reach_of(rig, &face, &frame);

        let (corners, sources, n_file_vertices) = gather(rig);
        let by_region = kinds_by_region(rig, n_file_vertices, &corners);
        let named: Vec<Option<Kind>> =
            corners.iter().zip(&sources).map(|(c, s)| named_kind(rig, c, s, &by_region)).collect();
        let mut eyes = Vec::new();
        let pieces = components::classify(n_file_vertices, &corners, &named, &rest, &mut eyes);
        let (triangles, surfaces) = color(rig, &corners, &sources, &named, &pieces);
        let indices: Vec<[u32; 3]> = triangles.iter().map(|t| t.vertices).collect();
        let normals = VertexNormals::prepare(rig.n_vertices(), &indices);
        let flat: Vec<[f32; 3]> = rest.iter().map(|p| p.to_array()).collect();
        let rest_normals = normals.compute(&flat);
        let inside = exposure::inside(&rest, &rest_normals, &indices);
        Self {
            n_vertices: rig.n_vertices(),
            triangles,
            surfaces,
            eyes,
            normals,
            frame,
            rest,
            rest_normals,
            inside,
            face,
            tint: Vec::new(),
        }
    }

    /// Number of rig vertices; [`crate::draw`] takes as many positions.
    pub fn n_vertices(&self) -> usize {
        self.n_vertices
    }
}

/// Where a triangle comes from.
struct Source {
    part: usize,
    group: Option<usize>,
    outline: u8,
}

/// All triangles over welded and over file vertices; faces with corners that do not exist are left out.
fn gather(rig: &Rig) -> (Vec<Corners>, Vec<Source>, usize) {
    let (mut corners, mut sources, mut first_file) = (Vec::new(), Vec::new(), 0u32);
    for (part_idx, part) in rig.parts.iter().enumerate() {
        let mut group = None;
        for (face_idx, face) in part.faces.iter().enumerate() {
            let next = group.map_or(0, |g: usize| g + 1);
            let started = part.groups.iter().skip(next).take_while(|g| g.first_face <= face_idx).count();
            if started > 0 {
                group = Some(next + started - 1);
            }
            for i in 2..face.len() {
                let file = [face[0], face[i - 1], face[i]];
                let rig_of = |v: u32| part.rig_vertex.get(v as usize).filter(|&&r| (r as usize) < rig.neutral.len());
                let [Some(&a), Some(&b), Some(&c)] = file.map(rig_of) else { continue };
                let outline = 1 | if i + 1 == face.len() { 2 } else { 0 } | if i == 2 { 4 } else { 0 };
                corners.push(Corners { rig: [a, b, c], file: file.map(|v| v + first_file) });
                sources.push(Source { part: part_idx, group, outline });
            }
        }
        first_file += part.rig_vertex.len() as u32;
    }
    (corners, sources, first_file as usize)
}

/// For each vertex, what the smallest region that holds it is called after.
fn kinds_by_region(rig: &Rig, n_file_vertices: usize, corners: &[Corners]) -> Vec<Option<Kind>> {
    let mut kinds = vec![None; rig.n_vertices()];
    if rig.regions.is_empty() {
        return kinds;
    }
    let pieces = components::pieces(n_file_vertices, corners);
    let mut regions: Vec<(&String, &Vec<u32>)> = rig.regions.iter().collect();
    regions.sort_by_key(|(_, vertices)| std::cmp::Reverse(vertices.len()));
    for (name, vertices) in regions {
        let Some(kind) = kind_of(name) else { continue };
        // "eyes" and "brows" are also what artists call the skin there: only whole pieces count.
        let inside = |v: &u32| vertices.binary_search(v).is_ok();
        if matches!(kind, Kind::Eye | Kind::Hair) {
            for piece in pieces.iter().filter(|p| p.vertices.iter().all(inside)) {
                piece.vertices.iter().for_each(|&v| kinds[v as usize] = Some(kind));
            }
        } else {
            for &v in vertices {
                kinds.get_mut(v as usize).into_iter().for_each(|k| *k = Some(kind));
            }
        }
    }
    kinds
}

fn named_kind(rig: &Rig, corners: &Corners, source: &Source, by_region: &[Option<Kind>]) -> Option<Kind> {
    let part = &rig.parts[source.part];
    let group = source.group.and_then(|g| part.groups.get(g));
    let material = group.and_then(|g| g.material).and_then(|m| rig.materials.get(m));
    let [a, b, c] = corners.rig.map(|v| by_region[v as usize]);
    let region = if a == b && b == c { a } else { None };
    region
        .or_else(|| group.and_then(|g| kind_of(&g.name)))
        .or_else(|| material.and_then(|m| kind_of(&m.name)))
        .or_else(|| kind_of(&part.name))
}

/// Triangles with their surfaces; hidden ones are left out.
fn color(
    rig: &Rig,
    corners: &[Corners],
    sources: &[Source],
    named: &[Option<Kind>],
    pieces: &[(Piece, PieceLook)],
) -> (Vec<Triangle>, Vec<Surface>) {
    let mut surface_of = vec![None; corners.len()];
    let mut surfaces: Vec<Surface> = Vec::new();
    for (piece, look) in pieces {
        for &t in &piece.triangles {
            let kind = if look.kind == Kind::Eye { Kind::Eye } else { named[t as usize].unwrap_or(look.kind) };
            if kind == Kind::Hidden {
                continue;
            }
            let color = base_color(rig, &sources[t as usize], kind);
            let (eye, span) = (look.eye, look.span);
            let surface = Surface { kind, color, eye, span, layer: 0, opacity: 1.0, outlined: false };
            let idx = surfaces.iter().rposition(|s| *s == surface).unwrap_or_else(|| {
                surfaces.push(surface);
                surfaces.len() - 1
            });
            surface_of[t as usize] = Some(idx as u32);
        }
    }
    let triangles = (corners.iter().zip(sources).zip(surface_of))
        .filter_map(|((c, s), surface)| Some(Triangle { vertices: c.rig, surface: surface?, outline: s.outline }))
        .collect();
    (triangles, surfaces)
}

/// Linear-light color of a kind; skin takes the file's base color if that is a color and not a shade of gray.
fn base_color(rig: &Rig, source: &Source, kind: Kind) -> [f32; 3] {
    match kind {
        Kind::Skin => {
            let group = source.group.and_then(|g| rig.parts[source.part].groups.get(g));
            let material = group.and_then(|g| g.material).and_then(|m| rig.materials.get(m));
            let [r, g, b, _] = material.map_or([1.0; 4], |m| m.base_color);
            let (lo, hi) = (r.min(g).min(b), r.max(g).max(b));
            let usable = hi.is_finite()
                && lo >= 0.0
                && hi > 0.05
                && hi - lo > 0.08 * hi
                && material.is_some_and(|m| m.image.is_none());
            // No skin reflects more than this; brighter ones would burn out under the lights.
            let dimmed = (0.62 / hi).min(1.0);
            if usable { [r, g, b].map(|c| c * dimmed) } else { [0.62, 0.38, 0.27] }
        }
        Kind::Mouth => [0.42, 0.13, 0.11],
        Kind::Tongue => [0.50, 0.17, 0.15],
        Kind::Teeth => [0.78, 0.72, 0.60],
        Kind::Eye => [0.78, 0.75, 0.72],
        Kind::Lash => [0.035, 0.024, 0.02],
        Kind::Hair => [0.07, 0.045, 0.03],
        Kind::Hidden | Kind::Piece(_) => [0.0; 3],
    }
}

/// The vertices of the face and their bounds (file units, turned to +Y up and +Z front).
fn find_face(rig: &Rig, turned: &[DVec3]) -> (Vec<u32>, DVec3, DVec3) {
    let mut counts = vec![0usize; turned.len()];
    for shape in &rig.shapes {
        let least = 0.1 * shape.deltas.max_length();
        for (&v, &o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            if Vec3::from(o).length() > least && (v as usize) < counts.len() && turned[v as usize].is_finite() {
                counts[v as usize] += 1;
            }
        }
    }
    // A few shapes reach far down the neck; what several shapes move is the face.
    let least = (rig.shapes.len() / 25).max(1);
    let mut face: Vec<u32> = (0..turned.len() as u32).filter(|&v| counts[v as usize] >= least).collect();
    if face.len() < 12 {
        face = front_of_head(turned);
    }
    let (lo, hi) = middle_bounds(&face, turned, 0.01);
    (face, lo, hi)
}

/// `face` at rest and moved as far as any one shape moves each vertex, in face space.
fn reach_of(rig: &Rig, face: &[u32], frame: &Frame) -> Vec<Vec3> {
    let mut furthest = vec![Vec3::ZERO; rig.n_vertices()];
    for shape in &rig.shapes {
        for (&v, &o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            if let Some(f) = furthest.get_mut(v as usize).filter(|f| Vec3::from(o).length() > f.length()) {
                *f = o.into();
            }
        }
    }
    let moved = |v: u32| frame.point((Vec3::from(rig.neutral[v as usize]) + furthest[v as usize]).into());
    face.iter().flat_map(|&v| [frame.point(rig.neutral[v as usize]), moved(v)]).filter(|p| p.is_finite()).collect()
}

/// Vertices around the front-most point of the head, as far down as the top of the head is up.
fn front_of_head(turned: &[DVec3]) -> Vec<u32> {
    let all: Vec<u32> = (0..turned.len() as u32).filter(|&v| turned[v as usize].is_finite()).collect();
    let (lo, hi) = middle_bounds(&all, turned, 0.0);
    let size = hi - lo;
    // A standing figure is much taller than wide: its head is the top seventh.
    let neck = if size.y > 2.5 * size.x { hi.y - size.y / 7.0 } else { hi.y - 1.3 * size.x.max(size.z) };
    let head = all.iter().copied().filter(|&v| turned[v as usize].y >= neck);
    let Some(nose) = head.max_by(|&a, &b| turned[a as usize].z.total_cmp(&turned[b as usize].z)) else { return all };
    let nose = turned[nose as usize];
    let reach = hi.y - nose.y;
    let near = |p: DVec3| (p.y - nose.y).abs() <= reach && (p.x - nose.x).abs() <= reach && p.z >= nose.z - 1.2 * reach;
    let face: Vec<u32> = all.iter().copied().filter(|&v| near(turned[v as usize])).collect();
    if face.len() < 12 { all } else { face }
}

/// Bounds of `vertices` without the outermost `outer` fraction on each side of each axis.
fn middle_bounds(vertices: &[u32], turned: &[DVec3], outer: f64) -> (DVec3, DVec3) {
    let (mut lo, mut hi) = (DVec3::ZERO, DVec3::ZERO);
    if vertices.is_empty() {
        return (lo, hi);
    }
    let skipped = (outer * vertices.len() as f64) as usize;
    for axis in 0..3 {
        let mut values: Vec<f64> = vertices.iter().map(|&v| turned[v as usize][axis]).collect();
        values.sort_unstable_by(f64::total_cmp);
        lo[axis] = values[skipped];
        hi[axis] = values[values.len() - 1 - skipped];
    }
    (lo, hi)
}
