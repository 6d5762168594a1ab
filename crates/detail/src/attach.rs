//! Attaches an actor's markers to another face: the vertex of each marker, and its motion there.
//!
//! Some markers are paired with vertices. The similarity transform that fits the pairs best is applied to all
//! markers; a marker without a pair is attached to the nearest vertex. The motion of a marker relative to its
//! reference position, rotated and scaled by the similarity, is the motion of its vertex. The shell through
//! these vertices then moves the whole face, and with it the handles that a detail was learned with.
//!
//! Inside nose and mouth and on the scalp there are no markers, and a shell extrapolates its bending from the
//! outside. There it gets extra handles, whose motion follows from that of the markers
//! (`support`).

use crate::markers::Settled;
use crate::{DetailError, FeatureGraph, Shell, ShellOptions, support};
use glam::DVec3;
use risorius_base::Rigid;
use risorius_base::progress::Progress;
use risorius_mesh::FileMesh;
use risorius_mesh::surface::components;
use risorius_mesh::{Bvh, Similarity};

/// Markers attached to a mesh.
pub struct Attached {
    /// Vertex of each marker.
    pub vertices: Vec<u32>,
    /// Distance of each marker from its vertex after the similarity, in the mesh's unit.
    pub distances: Vec<f64>,
    /// From the markers' space to the mesh's.
    pub similarity: Similarity,
    shell: Shell,
    rest: Vec<DVec3>,
}

impl Attached {
    /// Attaches markers at their positions in the reference frame; `pairs` are markers and vertices.
    pub fn prepare(
        mesh: &FileMesh,
        markers: &Settled,
        pairs: &[(usize, u32)],
        options: &ShellOptions,
        progress: &Progress,
    ) -> Result<Self, DetailError> {
        crate::check_rest(mesh)?;
        let reference = &markers.frames[markers.reference];
        let from: Vec<DVec3> = pairs.iter().map(|&(marker, _)| reference[marker]).collect();
        let to: Vec<DVec3> = pairs.iter().map(|&(_, vertex)| mesh.at(vertex)).collect();
        if pairs.len() < 4 {
            return Err(DetailError::FewPairs { found: pairs.len() });
        }
        let similarity = Similarity::fit(&from, &to, &vec![1.0; pairs.len()]);
        // Skip eyes, lashes and teeth unless a paired point is on them.
        let connected = components::of_triangles(mesh.n_vertices(), &mesh.triangles);
        let pieces: Vec<u32> = pairs.iter().map(|&(_, v)| connected.of_vertex[v as usize]).collect();
        let is_skin = |t: &&[u32; 3]| pieces.contains(&connected.of_vertex[t[0] as usize]);
        let skin: Vec<[u32; 3]> = mesh.triangles.iter().filter(is_skin).copied().collect();
        let tree = Bvh::build(&mesh.positions, &skin);
        let carried: Vec<DVec3> = reference.iter().map(|&p| similarity.apply(p)).collect();
        let nearest = |&p: &DVec3| tree.closest_vertex(p, f64::INFINITY).map_or(0, |found| found.0);
        let mut vertices: Vec<u32> = carried.iter().map(nearest).collect();
        pairs.iter().for_each(|&(marker, vertex)| vertices[marker] = vertex);
        let distances = carried.iter().zip(&vertices).map(|(p, &v)| p.distance(mesh.at(v))).collect();
        let spacing = FeatureGraph::make(mesh, &vertices).spacing(mesh);
        let shell = support::shell(mesh, &vertices, spacing, options, progress)?;
        let rest = (0..mesh.n_vertices() as u32).map(|v| mesh.at(v)).collect();
        Ok(Self { vertices, distances, similarity, shell, rest })
    }

    /// For each frame, the head's motion from the reference, in the mesh's space.
    pub fn heads(&self, markers: &Settled) -> Vec<Rigid> {
        let Similarity { rigid, scale } = self.similarity;
        let one = |head: &Rigid| {
            let rotation = rigid.rotation * head.rotation * rigid.rotation.inverse();
            let shift = rigid.rotation * head.translation * scale;
            Rigid { rotation, translation: rigid.translation - rotation * rigid.translation + shift }
        };
        markers.head.iter().map(one).collect()
    }

    /// Where some vertices are in a frame of the markers.
    pub fn moved(&self, markers: &Settled, frame: usize, vertices: &[u32]) -> Vec<DVec3> {
        let reference = &markers.frames[markers.reference];
        let turned = |(p, from): (&DVec3, &DVec3)| {
            self.similarity.rigid.rotation * (*p - *from) * self.similarity.scale
        };
        let motion: Vec<DVec3> = markers.frames[frame].iter().zip(reference).map(turned).collect();
        let at = |&v: &u32| {
            let parts = self.shell.basis.iter().zip(&motion);
            self.rest[v as usize] + parts.map(|(b, &u)| u * f64::from(b[v as usize])).sum::<DVec3>()
        };
        vertices.iter().map(at).collect()
    }
}
