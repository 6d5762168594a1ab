//! Headless rendering of faces and their anatomy, and plots.
//!
//! A software rasterizer: no window, no driver, the same bytes on every machine with the same arithmetic and
//! for any number of threads. [`FaceLook::prepare`] computes what does not change with the pose (surfaces,
//! colors, the camera's frame); [`draw`] renders positions to a [`Canvas`]. [`draw_model`] renders bones,
//! muscles and volumes, which [`cut_tets`] and [`clip_piece`] cut open. [`sheet`], [`matrix`] and [`lines`]
//! arrange and plot; [`Movie`] and [`Animation`] encode pictures as
//! a movie or as one picture that plays. This crate does not access files:
//! [`Canvas::encode_png`] returns bytes and the caller writes them.

mod annotate;
mod camera;
mod canvas;
mod colormap;
mod cut;
mod draw;
mod exposure;
pub mod face_pictures;
mod look;
mod matrix;
mod model;
mod movie;
pub mod muscle_pictures;
mod overlay;
mod paint;
mod plot;
mod raster;
mod scale;
mod shade;
mod sheet;
mod text;
mod visibility;

pub use annotate::{LabeledPoint, Polyline};
pub use camera::{Bounds, Framing};
pub use canvas::{Canvas, Color};
pub use colormap::Colormap;
pub use cut::{CutPieces, CutPlane, CutStyle, TetColors, clip_piece, clip_surface, cut_tets};
pub use draw::{Background, DrawOptions, draw, share_in_view};
pub use look::FaceLook;
pub use matrix::{MatrixOptions, matrix};
pub use model::{AnatomyModel, Coloring, Finish, Piece, Rgb, draw_model};
pub use movie::{Animation, MAX_MOVIE, MIN_MOVIE, MOVIE_FPS, Movie, check_movie_rate};
pub use overlay::{Marker, ScalarField};
pub use plot::{Series, lines};
pub use sheet::sheet;
pub use text::{text_height, text_width};

/// Longest side of a canvas in pixels.
pub const MAX_SIDE: usize = 16384;

/// Why a picture could not be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ViewError {
    /// A canvas with a side of 0 or more than [`MAX_SIDE`] pixels.
    #[error("a canvas of {width} x {height} pixels cannot be made: each side must be 1 to {MAX_SIDE}")]
    CanvasSize {
        /// Asked width.
        width: usize,
        /// Asked height.
        height: usize,
    },
    /// The number of positions does not match the prepared rig.
    #[error("{found} positions for a face of {expected} vertices; pass one position per rig vertex")]
    PositionCount {
        /// Vertices of the prepared rig.
        expected: usize,
        /// Positions passed.
        found: usize,
    },
    /// The size of a scalar field does not match the prepared rig.
    #[error(
        "the field \"{label}\" has {found} values for a face of {expected} vertices; pass one per rig vertex"
    )]
    FieldCount {
        /// Label of the field.
        label: String,
        /// Vertices of the prepared rig.
        expected: usize,
        /// Values passed.
        found: usize,
    },
    /// A marker, a framed vertex or a corner of a tet that does not exist.
    #[error("{what} refers to vertex {vertex}, but there are only {n_vertices}, counted from 0")]
    Vertex {
        /// "a marker", "the framing" or "a tet".
        what: &'static str,
        /// The vertex asked for.
        vertex: u32,
        /// Vertices of the rig or model, or nodes of the volume.
        n_vertices: usize,
    },
    /// The number of colors or values does not match their piece or volume.
    #[error("\"{piece}\" needs {expected} colors or values, found {found}")]
    ColorCount {
        /// Name of the piece, or "the volume".
        piece: String,
        /// Triangles, vertices or tets.
        expected: usize,
        /// Colors or values passed.
        found: usize,
    },
    /// An angle, zoom or opacity that is not a usable number.
    #[error("{name} is {value}; give a finite number{hint}")]
    Number {
        /// The option.
        name: &'static str,
        /// Its value.
        value: f32,
        /// Further condition, starting with a space, or empty.
        hint: &'static str,
    },
    /// A matrix whose values do not fill its rows and columns.
    #[error("a matrix of {rows} rows and {columns} columns needs {} values, found {found}", rows * columns)]
    MatrixShape {
        /// Row labels.
        rows: usize,
        /// Column labels.
        columns: usize,
        /// Values passed.
        found: usize,
    },
    /// A movie too small or too large for the encoder.
    #[error(
        "a movie of {width} x {height} pixels cannot be made: sides must be at least {MIN_MOVIE}, the longer at most {}, \
         the other at most {}; choose another size, or fewer pictures side by side",
        MAX_MOVIE[0],
        MAX_MOVIE[1]
    )]
    MovieSize {
        /// Asked width.
        width: usize,
        /// Asked height.
        height: usize,
    },
    /// A picture that does not fit its movie.
    #[error(
        "a picture has {found_width} x {found_height} pixels, but the movie has {width} x {height}; they must be equal"
    )]
    MovieFrame {
        /// Width of the movie.
        width: usize,
        /// Height of the movie.
        height: usize,
        /// Width of the picture.
        found_width: usize,
        /// Height of the picture.
        found_height: usize,
    },
    /// The encoder or the container format failed.
    #[error("the movie cannot be made: {0}")]
    Movie(String),
}

impl risorius_base::Advise for ViewError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::MovieSize { .. } | Self::CanvasSize { .. } => &["size"],
            _ => &[],
        }
    }
}
