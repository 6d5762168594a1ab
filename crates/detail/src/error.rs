//! Errors of the detail crate.

use thiserror::Error;

/// What can be wrong with the input of a detail model.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DetailError {
    /// A list or mesh is empty.
    #[error("{what} is empty")]
    Empty {
        /// What.
        what: &'static str,
    },
    /// A position is NaN or infinite.
    #[error("the position of vertex {vertex} of {what} is not finite; repair it (`inspect` lists all)")]
    NotFinite {
        /// Which mesh.
        what: String,
        /// Which vertex.
        vertex: usize,
    },
    /// A triangle with a corner that does not exist.
    #[error("triangle {triangle} refers to a vertex that does not exist; there are {n_vertices} vertices")]
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
    /// A count that does not match.
    #[error("{what}: {found} given, {wanted} expected{advice}")]
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
    /// A marker that is never seen.
    #[error("marker '{marker}' is seen in no frame; leave its columns out")]
    Unseen {
        /// Its name.
        marker: String,
    },
    /// Too few pairs to align markers with a face.
    #[error(
        "{found} points are paired; pair at least four that do not lie on a line, such as chin, forehead and the corners of the mouth"
    )]
    FewPairs {
        /// How many there are.
        found: usize,
    },
    /// A model that cannot be played.
    #[error("blend-shape models are only for comparison; learn with the model wpsd or psd")]
    OnlyCompared,
    /// A pose without detail was given, but the detail is relative to the shell.
    #[error("the detail was learned without plain poses; leave out the pose without detail")]
    Plain,
    /// More examples than can be reproduced exactly in reasonable time.
    #[error(
        "{found} examples are too many to be reproduced exactly; choose a basis of about 16, or a tolerance of about 0.2 mm"
    )]
    ManyExamples {
        /// How many there are.
        found: usize,
    },
    /// A gauge between handles that do not exist.
    #[error("a strain gauge refers to handle {handle}; there are {n_handles}, numbered from 0")]
    Gauge {
        /// Its number.
        handle: u32,
        /// How many there are.
        n_handles: usize,
    },
    /// A pose is given without its plain version.
    #[error("the detail was learned with plain poses; give the pose without detail too")]
    NoPlain,
    /// Two faces that do not overlap after alignment.
    #[error(
        "the faces do not meet anywhere; pair corresponding points all over the face, and check that the triangles of both faces are oriented outward"
    )]
    Apart,
    /// Handles are too close to each other.
    #[error(
        "the shell of the rest mesh cannot be solved: handles lie too close, or triangles are too thin; leave some handles out"
    )]
    Stiff,
    /// A face that would have too many vertices.
    #[error(
        "subdivided {n_steps} times the face would have about {n_vertices} vertices; subdivide it less often"
    )]
    TooFine {
        /// Steps of subdivision.
        n_steps: usize,
        /// Approximate number of vertices.
        n_vertices: usize,
    },
    /// Frames of another rig.
    #[error(
        "the rig has {found} vertices, the rest of the detail {wanted}; learn from this rig, or transfer the detail to it"
    )]
    OtherRig {
        /// Vertices of the rig.
        found: usize,
        /// Vertices of the rest.
        wanted: usize,
    },
    /// Too few landmarks on both faces.
    #[error(
        "{found} landmarks are found with confidence on both faces, {wanted} are needed; give pairs of points, or a rig of the detail's own face with shapes"
    )]
    FewLandmarks {
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// No line of the built-in head lies on the face.
    #[error("none of the lines along which faces fold lies on the skin; check unit and axes of the rig")]
    NoLines,
    /// No shape shortens the skin.
    #[error(
        "no shape of the rig compresses the skin, so nothing folds; give a rig with shapes such as raised brows and a smile"
    )]
    NothingFolds,
    /// Landmarks could not be found.
    #[error(transparent)]
    Anatomy(#[from] risorius_anatomy::AnatomyError),
    /// The user stopped it.
    #[error(transparent)]
    Cancelled(#[from] risorius_base::progress::Cancelled),
}

impl risorius_base::Advise for DetailError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::FewPairs { .. } => &["points"],
            Self::OnlyCompared => &["model"],
            Self::ManyExamples { .. } => &["basis", "tolerance"],
            Self::TooFine { .. } => &["subdivide"],
            Self::FewLandmarks { .. } => &["points", "from"],
            _ => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}
