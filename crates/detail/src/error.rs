//! What can be wrong with a detail model's input.

use thiserror::Error;

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DetailError {
    /// Something has nothing in it.
    #[error("{what} is empty")]
    Empty {
        /// What.
        what: &'static str,
    },
    /// A number is not one.
    #[error("vertex {vertex} of {what} is not at a finite place; repair it (`inspect` lists all)")]
    NotFinite {
        /// Which mesh.
        what: String,
        /// Which vertex.
        vertex: usize,
    },
    /// A triangle beyond the mesh.
    #[error("triangle {triangle} has a corner beyond the {n_vertices} vertices")]
    Corner {
        /// Which triangle.
        triangle: usize,
        /// How many vertices there are.
        n_vertices: usize,
    },
    /// Handles that cannot be used.
    #[error("handle {handle} is at vertex {vertex}, which {problem}")]
    Handle {
        /// Which handle.
        handle: usize,
        /// Its vertex.
        vertex: u32,
        /// Why not.
        problem: &'static str,
    },
    /// Numbers of things that should be equal.
    #[error("{what}: there are {found}, {wanted} are wanted{advice}")]
    Count {
        /// Of what.
        what: String,
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: usize,
        /// What to do.
        advice: &'static str,
    },
    /// An option out of its range.
    #[error("{what} is {value}; it must be {wanted}")]
    Option {
        /// Which option.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        wanted: &'static str,
    },
    /// The shell's equations could not be solved.
    #[error("the shell of the rest mesh cannot be solved: {0}")]
    Shell(#[from] risorius_linalg::SparseError),
    /// A marker without a place.
    #[error("marker '{marker}' is seen in no frame; leave its columns out")]
    Unseen {
        /// Its name.
        marker: String,
    },
    /// Too few pairs to lay markers over a face.
    #[error(
        "{found} points are paired; pair at least four (--points) that do not lie on a line, such as chin, forehead and the corners of the mouth"
    )]
    FewPairs {
        /// How many there are.
        found: usize,
    },
    /// A model that is not played.
    #[error("blend-shape models are only there to be compared; learn with --model wpsd or psd")]
    OnlyCompared,
    /// A pose with its plain self, where details are told from the shell.
    #[error("detail was learned without plain poses; leave the pose without detail out")]
    Plain,
    /// More examples than can be met exactly in reasonable time.
    #[error(
        "{found} examples are too many to be met exactly; choose a basis (--basis 16), or a tolerance (--tolerance 0.2)"
    )]
    ManyExamples {
        /// How many there are.
        found: usize,
    },
    /// A gauge between handles that are not there.
    #[error("a strain gauge names handle {handle}; there are {n_handles}, numbered from 0")]
    Gauge {
        /// Its number.
        handle: u32,
        /// How many there are.
        n_handles: usize,
    },
    /// A pose without its plain self.
    #[error("detail was learned with plain poses; give the pose without detail too")]
    NoPlain,
    /// Two faces that do not meet.
    #[error(
        "the faces do not meet anywhere; pair points that belong together, all over the face, and see that triangles of both face outwards"
    )]
    Apart,
    /// Handles cannot be told apart.
    #[error(
        "the shell of the rest mesh cannot be solved: handles lie too close, or triangles are too thin; leave some handles out"
    )]
    Stiff,
    /// The user stopped it.
    #[error(transparent)]
    Cancelled(#[from] risorius_base::progress::Cancelled),
}
