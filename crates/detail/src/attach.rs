//! Markers on a face that is not the actor's: where each sits, and how it moves there.
//!
//! Some markers are paired with vertices by name. The similarity that fits the pairs best carries all markers over; those without a pair sit at the nearest
//! vertex. The motion of a marker relative to its reference, turned and scaled likewise, is the motion of its vertex. The shell through these vertices
//! then moves the whole face, and with it whatever handles a detail was learned with.

use crate::markers::Settled;
use crate::{DetailError, FeatureGraph, Mesh, Shell, ShellOptions};
use glam::DVec3;
use risorius_mesh::progress::Progress;
use risorius_mesh::{Bvh, Similarity};

/// Markers attached to a mesh.
pub struct Attached {
    /// Vertex of each marker.
    pub vertices: Vec<u32>,
    /// How far each marker was from its vertex after the similarity, in the mesh's unit.
    pub distances: Vec<f64>,
    /// From the markers' space to the mesh's.
    pub similarity: Similarity,
    shell: Shell,
    rest: Vec<DVec3>,
}

impl Attached {
    /// Attaches markers as they are in their reference frame; `pairs` are markers and vertices.
    pub fn prepare(
        mesh: &Mesh,
        markers: &Settled,
        pairs: &[(usize, u32)],
        options: &ShellOptions,
        progress: &Progress,
    ) -> Result<Self, DetailError> {
        mesh.check()?;
        let reference = &markers.frames[markers.reference];
        let from: Vec<DVec3> = pairs.iter().map(|&(marker, _)| reference[marker]).collect();
        let to: Vec<DVec3> = pairs.iter().map(|&(_, vertex)| mesh.at(vertex)).collect();
        if pairs.len() < 4 {
            return Err(DetailError::FewPairs { found: pairs.len() });
        }
        let similarity = Similarity::fit(&from, &to, &vec![1.0; pairs.len()]);
        let tree = Bvh::build(&mesh.positions, &mesh.triangles);
        let carried: Vec<DVec3> = reference.iter().map(|&p| similarity.apply(p)).collect();
        let nearest = |&p: &DVec3| tree.closest_vertex(p, f64::INFINITY).map_or(0, |found| found.0);
        let mut vertices: Vec<u32> = carried.iter().map(nearest).collect();
        pairs.iter().for_each(|&(marker, vertex)| vertices[marker] = vertex);
        let distances = carried.iter().zip(&vertices).map(|(p, &v)| p.distance(mesh.at(v))).collect();
        let spacing = FeatureGraph::make(mesh, &vertices).spacing(mesh);
        let shell = Shell::prepare(mesh, &vertices, spacing, options, progress)?;
        let rest = (0..mesh.n_vertices() as u32).map(|v| mesh.at(v)).collect();
        Ok(Self { vertices, distances, similarity, shell, rest })
    }

    /// Where some vertices are in a frame of the markers.
    pub fn moved(&self, markers: &Settled, frame: usize, vertices: &[u32]) -> Vec<DVec3> {
        let reference = &markers.frames[markers.reference];
        let turned =
            |(p, from): (&DVec3, &DVec3)| self.similarity.rigid.rotation * (*p - *from) * self.similarity.scale;
        let motion: Vec<DVec3> = markers.frames[frame].iter().zip(reference).map(turned).collect();
        let at = |&v: &u32| {
            let parts = self.shell.basis.iter().zip(&motion);
            self.rest[v as usize] + parts.map(|(b, &u)| u * f64::from(b[v as usize])).sum::<DVec3>()
        };
        vertices.iter().map(at).collect()
    }
}
