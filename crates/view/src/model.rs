//! Models for drawing anatomy: bones, muscles, volumes and skins as pieces of one model.
//!
//! A [`Piece`] is a triangle surface in meters with a color (one, per triangle, per vertex, or values through
//! a color map) and a finish, which defines its reflection. Pieces with an opacity below 1 are translucent
//! films. [`draw_model`] takes the same options as [`crate::draw`] and draws the same way; vertices in
//! options are counted over the pieces, in order. The camera frames [`AnatomyModel::frame`]; with the same
//! frame, pictures of several models of one head are aligned. Limits: a film shows only its nearest side; of
//! pieces that coincide exactly, the first is drawn.

use crate::ViewError;
use crate::camera::Bounds;
use crate::canvas::Canvas;
use crate::colormap::linear_in;
use crate::draw::{DrawOptions, check, picture};
use crate::look::Made;
use crate::look::{FaceLook, SurfaceLook, Triangle};
use crate::overlay::ScalarField;
use crate::raster::Place;
use glam::{DMat3, Vec3};
use risorius_mesh::{TriMesh, VertexNormals};
use risorius_rig::classify::surfaces::FaceSpace;
use std::collections::HashMap;

/// Linear-light red, green and blue, 0 to 1.
pub type Rgb = [f32; 3];

/// How a piece reflects light, and its default color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Finish {
    /// Without highlights; gray.
    #[default]
    Matte,
    /// Ivory with a soft shine: bones and teeth.
    Bone,
    /// Yellowish and moist: fat, and flesh as a whole.
    Flesh,
    /// Dark red and wet.
    Muscle,
    /// The skin of faces.
    Skin,
    /// For colors with a meaning: shading shows the form and keeps the hue.
    Flat,
}

impl Finish {
    /// The color of new pieces.
    pub fn color(self) -> Rgb {
        match self {
            Self::Matte | Self::Flat => [0.42, 0.42, 0.42],
            Self::Bone => [0.74, 0.66, 0.50],
            Self::Flesh => [0.80, 0.56, 0.26],
            Self::Muscle => [0.36, 0.045, 0.035],
            Self::Skin => [0.62, 0.38, 0.27],
        }
    }
}

/// The colors of a piece.
#[derive(Debug, Clone, PartialEq)]
pub enum Coloring {
    /// One for all of it.
    One(Rgb),
    /// One for each triangle.
    Triangles(Vec<Rgb>),
    /// One for each vertex, blended between them.
    Vertices(Vec<Rgb>),
    /// One value for each triangle; the picture gets the scale bar of its first piece with values.
    Values(ScalarField),
}

/// A surface with its look.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Its name in error messages.
    pub name: String,
    /// Its geometry. Triangles that refer to missing vertices are not drawn.
    pub surface: TriMesh,
    /// Its colors.
    pub coloring: Coloring,
    /// How it reflects light.
    pub finish: Finish,
    /// 1 is opaque; below that it is a film with this opacity where it faces the camera.
    pub opacity: f32,
    /// Draws the sides of its polygons even if [`DrawOptions::wireframe`] is off.
    pub outlined: bool,
    /// Which sides of each triangle are sides of a polygon, bit `k` for the side across from corner `k`;
    /// empty: all.
    pub outline: Vec<u8>,
}

impl Piece {
    /// An opaque piece in the color of its finish.
    pub fn new(name: &str, surface: TriMesh, finish: Finish) -> Self {
        let coloring = Coloring::One(finish.color());
        Self {
            name: name.into(),
            surface,
            coloring,
            finish,
            opacity: 1.0,
            outlined: false,
            outline: Vec::new(),
        }
    }

    /// The same in one color.
    pub fn colored(self, color: Rgb) -> Self {
        Self { coloring: Coloring::One(color), ..self }
    }

    /// The same with this opacity.
    pub fn translucent(self, opacity: f32) -> Self {
        Self { opacity, ..self }
    }

    /// The sides of triangle `t` that are drawn in wireframes.
    pub(crate) fn sides(&self, t: usize) -> u8 {
        self.outline.get(t).copied().unwrap_or(7)
    }

    fn check(&self) -> Result<(), ViewError> {
        let (expected, found) = match &self.coloring {
            Coloring::One(_) => (0, 0),
            Coloring::Triangles(colors) => (self.surface.triangles.len(), colors.len()),
            Coloring::Vertices(colors) => (self.surface.positions.len(), colors.len()),
            Coloring::Values(field) => (self.surface.triangles.len(), field.values.len()),
        };
        if expected != found {
            return Err(ViewError::ColorCount { piece: self.name.clone(), expected, found });
        }
        if !(0.0..=1.0).contains(&self.opacity) {
            return Err(ViewError::Number { name: "opacity", value: self.opacity, hint: " from 0 to 1" });
        }
        Ok(())
    }

    /// Color of each triangle, or one for all.
    fn triangle_colors(&self) -> Vec<Rgb> {
        match &self.coloring {
            Coloring::One(color) => vec![*color],
            Coloring::Triangles(colors) => colors.clone(),
            Coloring::Vertices(_) => vec![[1.0; 3]],
            Coloring::Values(field) => {
                let table = field.colormap.linear_table();
                field.values.iter().map(|&v| linear_in(&table, v, field.range)).collect()
            }
        }
    }
}

/// Pieces that are drawn together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnatomyModel {
    /// The pieces; of two that coincide, the first is drawn.
    pub pieces: Vec<Piece>,
    /// The region that [`crate::Framing::Face`] frames; without one, all pieces.
    pub frame: Option<Bounds>,
}

impl AnatomyModel {
    /// An empty model with this frame.
    pub fn framed(frame: Bounds) -> Self {
        Self { pieces: Vec::new(), frame: Some(frame) }
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// The model prepared for drawing, and its positions.
    fn look(&self) -> (FaceLook, Vec<[f32; 3]>) {
        let all = || self.pieces.iter().flat_map(|p| p.surface.positions.iter());
        let bounds = self.frame.unwrap_or_else(|| Bounds::of(all().copied()));
        let frame = FaceSpace::around(DMat3::IDENTITY, bounds.lo, bounds.hi);
        let positions: Vec<[f32; 3]> = all().map(|p| p.as_vec3().to_array()).collect();
        let rest: Vec<Vec3> = positions.iter().map(|&p| frame.point(p)).collect();
        let (triangles, surfaces) = self.coated();
        let indices: Vec<[u32; 3]> = triangles.iter().map(|t| t.vertices).collect();
        let normals = VertexNormals::prepare(rest.len(), &indices);
        let rest_normals = normals.compute(&rest.iter().map(|p| p.to_array()).collect::<Vec<_>>());
        let look = FaceLook {
            n_vertices: rest.len(),
            places: vec![Place::Other; triangles.len()],
            triangles,
            surfaces,
            eyes: Vec::new(),
            normals,
            frame,
            inside: vec![0.0; rest.len()],
            rest,
            rest_normals,
            face: bounds.corners().map(|p| frame.place(p)).to_vec(),
            tint: self.tint(),
        };
        (look, positions)
    }

    /// The triangles of all pieces and their surfaces.
    fn coated(&self) -> (Vec<Triangle>, Vec<SurfaceLook>) {
        let (mut triangles, mut surfaces) = (Vec::new(), Vec::new());
        let (mut first, mut films) = (0, 0);
        for piece in &self.pieces {
            let n = piece.surface.positions.len() as u32;
            films += usize::from(piece.opacity < 1.0);
            let layer = if piece.opacity < 1.0 { films } else { 0 };
            let colors = piece.triangle_colors();
            let mut known: HashMap<[u32; 3], u32> = HashMap::new();
            for (t, corners) in
                piece.surface.triangles.iter().enumerate().filter(|(_, c)| c.iter().all(|&v| v < n))
            {
                let color = colors.get(t).or(colors.first()).copied().unwrap_or_default();
                let surface = *known.entry(color.map(f32::to_bits)).or_insert_with(|| {
                    let (kind, outlined) = (Made::Piece(piece.finish), piece.outlined);
                    let (opacity, span) = (piece.opacity, [0.0, 1.0]);
                    surfaces.push(SurfaceLook { kind, color, eye: None, span, layer, opacity, outlined });
                    surfaces.len() as u32 - 1
                });
                triangles.push(Triangle {
                    vertices: corners.map(|v| v + first),
                    surface,
                    outline: piece.sides(t),
                });
            }
            first += n;
        }
        (triangles, surfaces)
    }

    /// Colors per vertex; empty if no piece has them.
    fn tint(&self) -> Vec<Vec3> {
        if !self.pieces.iter().any(|p| matches!(p.coloring, Coloring::Vertices(_))) {
            return Vec::new();
        }
        let of = |piece: &Piece| match &piece.coloring {
            Coloring::Vertices(colors) => colors.iter().map(|&c| c.into()).collect(),
            _ => vec![Vec3::ONE; piece.surface.positions.len()],
        };
        self.pieces.iter().flat_map(of).collect()
    }
}

/// Draws a model.
///
/// Triangles with vertices that are not finite or behind the camera are not drawn.
pub fn draw_model(model: &AnatomyModel, options: &DrawOptions) -> Result<Canvas, ViewError> {
    model.pieces.iter().try_for_each(Piece::check)?;
    let (look, positions) = model.look();
    check(&look, &positions, options)?;
    let values = model.pieces.iter().find_map(|p| match &p.coloring {
        Coloring::Values(field) => Some(field),
        _ => None,
    });
    picture(&look, &positions, options, options.field.as_ref().or(values))
}
