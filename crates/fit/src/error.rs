//! Errors of fitting.

/// Why a fit could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The caller stopped the job.
    #[error("cancelled")]
    Cancelled(#[from] risorius_base::Cancelled),
    /// A mesh without area.
    #[error(
        "there is no surface to search: {n_vertices} vertices and {n_triangles} triangles, none of them with \
         finite corners and an area"
    )]
    NoSurface {
        /// Vertices of the mesh.
        n_vertices: usize,
        /// Triangles of the mesh.
        n_triangles: usize,
    },
    /// Nothing on the mesh looks like a face.
    #[error(
        "no face was found{}; give four or more landmarks (corners of eyes and mouth, tip of the nose), or a \
         mesh that shows a face from brow to chin",
        miss_mm.map_or(String::new(), |m| format!(": the nearest resemblance is {m:.1} mm off"))
    )]
    NoFace {
        /// Mismatch of the best placement.
        miss_mm: Option<f64>,
    },
    /// Left and right are exchanged.
    #[error(
        "the given landmarks fit the mirror image of a face: the mesh is mirrored, or left and right are \
         exchanged; mirror the mesh, or exchange the names (left is the character's left)"
    )]
    Mirrored,
    /// More than one face.
    #[error("the mesh has {n} faces; separate them, or give landmarks of one")]
    SeveralFaces {
        /// Faces found.
        n: usize,
    },
    /// A list of tracked points of a length that has no meaning.
    #[error(
        "{found} points are no known set of landmarks; give 68 or 51 in the order of face trackers, or names"
    )]
    LandmarkCount {
        /// Points given.
        found: usize,
    },
    /// Not the name of a landmark.
    #[error("'{name}' is not the name of a landmark")]
    UnknownLandmark {
        /// The name.
        name: String,
    },
    /// Too few landmarks on both faces.
    #[error(
        "only {found} landmarks were found on both faces, and {wanted} are needed; give more in a landmark \
         file"
    )]
    FewLandmarks {
        /// Found on both.
        found: usize,
        /// Needed.
        wanted: usize,
    },
    /// The source has no shapes.
    #[error("the rig has no shapes to transfer; give one that has some")]
    NoShapes,
    /// Not the name of a slider.
    #[error("the rig has no slider '{name}'")]
    UnknownShape {
        /// The name.
        name: String,
    },
    /// Landmarks of a rig cannot be found.
    #[error(transparent)]
    Anatomy(#[from] risorius_anatomy::AnatomyError),
    /// A coordinate is NaN or infinite.
    #[error("vertex {vertex} of the {mesh} is not finite; clean the mesh")]
    NotFinite {
        /// `source` or `target`.
        mesh: &'static str,
        /// The first such vertex.
        vertex: usize,
    },
    /// A shape of another mesh.
    #[error("shape {shape} has {found} vertices, but the source has {wanted}")]
    ShapeLength {
        /// Index of the shape.
        shape: usize,
        /// Its number of displacements.
        found: usize,
        /// Vertices of the source.
        wanted: usize,
    },
    /// A correspondence of other meshes.
    #[error("the correspondence is not one of these two meshes: its lists or numbers do not fit them")]
    Correspondence,
    /// A quadratic program could not be solved.
    #[error("pose and weights cannot be solved: {0}")]
    Program(#[from] risorius_linalg::QpError),
    /// The template has no usable face.
    #[error("the template cannot be used: {0}")]
    Template(String),
    /// The prior does not suit the template.
    #[error("{0}")]
    Prior(String),
    /// A scan is unusable.
    #[error("scan '{scan}': {problem}")]
    Scan {
        /// Its name.
        scan: String,
        /// What is wrong, and what to do.
        problem: String,
        /// Options that can help.
        options: &'static [&'static str],
    },
    /// The linear system cannot be solved.
    #[error(transparent)]
    Sparse(#[from] risorius_linalg::SparseError),
}

impl risorius_base::Advise for FitError {
    fn options(&self) -> &'static [&'static str] {
        match self {
            Self::NoFace { .. } | Self::Mirrored | Self::SeveralFaces { .. } | Self::FewLandmarks { .. } => {
                &["landmarks"]
            }
            Self::UnknownShape { .. } => &["shapes"],
            Self::Template(_) => &["template"],
            Self::Prior(_) => &["prior"],
            Self::Scan { options, .. } => options,
            Self::Anatomy(error) => error.options(),
            _ => &[],
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_) | Self::Anatomy(risorius_anatomy::AnatomyError::Cancelled(_)))
    }
}
