//! What does not change with the pose: surfaces, their colors, and the region that the camera frames.
//!
//! All coordinates are transformed to face space, see [`risorius_rig::classify::surfaces`], so that the
//! constants of the camera, the lights and the cavities hold for every unit and every rig.

use crate::exposure;
use crate::model::Finish;
use crate::raster::Place;
use glam::{DVec3, Vec3};
use risorius_mesh::VertexNormals;
use risorius_rig::Rig;
use risorius_rig::classify::kinds::Kind;
use risorius_rig::classify::pieces::{Corners, Eye, Piece, PieceLook};
use risorius_rig::classify::surfaces::{self, FaceSpace, Source};

/// What a surface is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// A part of a face.
    Of(Kind),
    /// A piece of a model, with its own finish.
    Piece(Finish),
}

/// Color and reflection of a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SurfaceLook {
    pub kind: Made,
    /// Linear-light color.
    pub color: [f32; 3],
    /// Index into [`FaceLook::eyes`] for eyeballs and lashes.
    pub eye: Option<usize>,
    /// Roots and tips of lashes, see [`PieceLook::span`].
    pub span: [f32; 2],
    /// The layer of the scene that it is drawn in: 0 for all opaque surfaces.
    pub layer: usize,
    /// Opacity where the surface faces the camera.
    pub opacity: f32,
    /// The sides of its polygons are drawn even without the wireframe option.
    pub outlined: bool,
}

impl SurfaceLook {
    /// How much darker it is where it is hidden at rest; eyes and teeth stay bright when they become visible.
    pub fn hollow(&self) -> f32 {
        match self.kind {
            Made::Of(Kind::Skin) => 1.0,
            Made::Of(Kind::Mouth | Kind::Tongue) => 0.6,
            Made::Of(Kind::Teeth) => 0.15,
            Made::Of(Kind::Eye | Kind::Lash | Kind::Hair | Kind::Hidden) | Made::Piece(_) => 0.0,
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

/// A rig prepared for drawing any of its poses.
#[derive(Debug, Clone)]
pub struct FaceLook {
    pub(crate) n_vertices: usize,
    pub(crate) triangles: Vec<Triangle>,
    pub(crate) surfaces: Vec<SurfaceLook>,
    pub(crate) eyes: Vec<Eye>,
    pub(crate) normals: VertexNormals,
    pub(crate) frame: FaceSpace,
    /// The neutral in face space; not finite where the rig's is not.
    pub(crate) rest: Vec<Vec3>,
    /// Normals of the neutral in face space.
    pub(crate) rest_normals: Vec<[f32; 3]>,
    /// 0 for skin that can be seen at rest, 1 for the lining of mouth, nostrils and lids.
    pub(crate) inside: Vec<f32>,
    /// Where each triangle lies: outer skin, lining, or neither.
    pub(crate) places: Vec<Place>,
    /// Points of the face, at rest and where shapes move them furthest; [`crate::Framing::Face`] frames them.
    pub(crate) face: Vec<Vec3>,
    /// Factor on the colors of surfaces at each vertex; empty for 1 everywhere.
    pub(crate) tint: Vec<Vec3>,
}

impl FaceLook {
    /// Prepares `rig`: its triangles, their surfaces, and where its face is.
    pub fn prepare(rig: &Rig) -> Self {
        let surfaces::Surfaces { frame, rest, face, corners, sources, named, pieces, eyes } =
            surfaces::surfaces(rig);
        let face = reach_of(rig, &face, &frame);
        let (triangles, surfaces) = color(rig, &corners, &sources, &named, &pieces);
        let indices: Vec<[u32; 3]> = triangles.iter().map(|t| t.vertices).collect();
        let normals = VertexNormals::prepare(rig.n_vertices(), &indices);
        let flat: Vec<[f32; 3]> = rest.iter().map(|p| p.to_array()).collect();
        let rest_normals = normals.compute(&flat);
        let inside = exposure::inside(&rest, &rest_normals, &indices);
        let places = triangles.iter().map(|t| place(t, &surfaces, &inside)).collect();
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
            places,
            face,
            tint: Vec::new(),
        }
    }

    /// The middle of the face in the coordinates of the rig, and half of its height or width, whichever is
    /// larger, in the unit of the rig.
    pub fn face_center(&self) -> (DVec3, f64) {
        self.frame.center()
    }

    /// Number of rig vertices; [`crate::draw`] takes as many positions.
    pub fn n_vertices(&self) -> usize {
        self.n_vertices
    }
}

/// Whether a triangle is outer skin or lining.
fn place(triangle: &Triangle, surfaces: &[SurfaceLook], inside: &[f32]) -> Place {
    let mean = triangle.vertices.iter().map(|&v| inside[v as usize]).sum::<f32>() / 3.0;
    match surfaces[triangle.surface as usize].kind {
        Made::Of(Kind::Skin) if mean > 0.6 => Place::Lining,
        Made::Of(Kind::Skin) if mean < 0.25 => Place::Outer,
        _ => Place::Other,
    }
}

/// Triangles with their surfaces; hidden ones are left out.
fn color(
    rig: &Rig,
    corners: &[Corners],
    sources: &[Source],
    named: &[Option<Kind>],
    pieces: &[(Piece, PieceLook)],
) -> (Vec<Triangle>, Vec<SurfaceLook>) {
    let mut surface_of = vec![None; corners.len()];
    let mut surfaces: Vec<SurfaceLook> = Vec::new();
    for (piece, look) in pieces {
        for &t in &piece.triangles {
            let kind =
                if look.kind == Kind::Eye { Kind::Eye } else { named[t as usize].unwrap_or(look.kind) };
            if kind == Kind::Hidden {
                continue;
            }
            let color = base_color(rig, &sources[t as usize], kind);
            let (eye, span) = (look.eye, look.span);
            let surface = SurfaceLook {
                kind: Made::Of(kind),
                color,
                eye,
                span,
                layer: 0,
                opacity: 1.0,
                outlined: false,
            };
            let idx = surfaces.iter().rposition(|s| *s == surface).unwrap_or_else(|| {
                surfaces.push(surface);
                surfaces.len() - 1
            });
            surface_of[t as usize] = Some(idx as u32);
        }
    }
    let triangles = (corners.iter().zip(sources).zip(surface_of))
        .filter_map(|((c, s), surface)| {
            Some(Triangle { vertices: c.rig, surface: surface?, outline: s.outline })
        })
        .collect();
    (triangles, surfaces)
}

/// Linear-light color of a kind; skin takes the file's base color unless that is a shade of gray.
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
            // No skin reflects more than this; brighter colors would be overexposed.
            let dimmed = (0.62 / hi).min(1.0);
            if usable { [r, g, b].map(|c| c * dimmed) } else { [0.62, 0.38, 0.27] }
        }
        Kind::Mouth => [0.42, 0.13, 0.11],
        Kind::Tongue => [0.50, 0.17, 0.15],
        Kind::Teeth => [0.78, 0.72, 0.60],
        Kind::Eye => [0.78, 0.75, 0.72],
        Kind::Lash => [0.035, 0.024, 0.02],
        Kind::Hair => [0.07, 0.045, 0.03],
        Kind::Hidden => [0.0; 3],
    }
}

/// `face` at rest and moved as far as any one shape moves each vertex, in face space.
fn reach_of(rig: &Rig, face: &[u32], frame: &FaceSpace) -> Vec<Vec3> {
    let mut furthest = vec![Vec3::ZERO; rig.n_vertices()];
    for shape in &rig.shapes {
        for (&v, &o) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            if let Some(f) = furthest.get_mut(v as usize).filter(|f| Vec3::from(o).length() > f.length()) {
                *f = o.into();
            }
        }
    }
    let moved = |v: u32| frame.point((Vec3::from(rig.neutral[v as usize]) + furthest[v as usize]).into());
    face.iter()
        .flat_map(|&v| [frame.point(rig.neutral[v as usize]), moved(v)])
        .filter(|p| p.is_finite())
        .collect()
}
