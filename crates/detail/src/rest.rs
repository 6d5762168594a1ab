//! The rest of a detail: the artist's rig, and the same rig subdivided if it is too coarse for wrinkles.

use crate::{Detail, DetailError};
use risorius_mesh::FileMesh;
use risorius_rig::{Refinement, Rig};

/// Largest number of vertices of a subdivided face.
const MAX_VERTICES: usize = 8_000_000;

/// The rig that a detail was learned on.
#[derive(Debug, Clone)]
pub struct Rest {
    /// The artist's rig.
    pub rig: Rig,
    /// Steps of subdivision.
    pub n_steps: usize,
    /// From the vertices of the rig to those of the detail.
    pub refinement: Refinement,
    /// The rig subdivided: its vertices are those of the detail.
    pub fine: Rig,
}

impl Rest {
    /// A rig, subdivided `n_steps` times.
    pub fn new(rig: Rig, n_steps: usize) -> Self {
        let refinement = Refinement::prepare(&rig, n_steps);
        Self { fine: refinement.rig(&rig), rig, n_steps, refinement }
    }

    /// [`Rest::new`], but rejects faces with too many vertices before anything is subdivided.
    pub fn checked(rig: Rig, n_steps: usize) -> Result<Self, DetailError> {
        let most = rig.triangles().len().saturating_mul(4usize.saturating_pow(n_steps as u32)) / 2;
        if n_steps > 0 && most > MAX_VERTICES {
            return Err(DetailError::TooFine { n_steps, n_vertices: most });
        }
        Ok(Self::new(rig, n_steps))
    }

    /// Checks that a detail with this rest can be applied to frames of `rig`.
    pub fn check_fits(&self, rig: &Rig) -> Result<(), DetailError> {
        let (found, wanted) = (rig.n_vertices(), self.rig.n_vertices());
        if found == wanted { Ok(()) } else { Err(DetailError::OtherRig { found, wanted }) }
    }

    /// The mesh of the detail.
    pub fn mesh(&self) -> FileMesh {
        FileMesh { positions: self.fine.neutral.clone(), triangles: self.fine.triangles() }
    }

    /// The vertex of the detail that a vertex of the rig becomes.
    pub fn fine_vertex(&self, vertex: u32) -> u32 {
        let both = self.rig.parts.iter().zip(&self.fine.parts);
        let mut found = both.filter(|(part, _)| part.vertices.contains(&(vertex as usize)));
        let [from, to] = found.next().map_or([0, 0], |(a, b)| [a.vertices.start, b.vertices.start]);
        vertex - from as u32 + to as u32
    }

    /// Millimeters per unit of the rig.
    pub fn mm_per_unit(&self) -> f64 {
        1000.0 * self.rig.space.meters_per_unit
    }
}

/// A learned detail and its rest.
#[derive(Debug, Clone)]
pub struct FaceDetail {
    /// The rest; a file stores it without shapes.
    pub rest: Rest,
    /// The learned detail.
    pub detail: Detail,
}
