//! Strain gauges on the skin: edges between handles [Bickel08, sec. 5.1].
//!
//! `f_i = (|p_1 - p_2| - l_i) / l_i` is the relative stretch of edge i; it is invariant under rigid motion.
//! The graph is given by the user or built here: every vertex is assigned to the nearest handle along the
//! surface, and handles whose regions touch are joined. This is a Delaunay graph on the surface: 3 edges per
//! handle, less at the border, which matches the 2.7 of the paper.

use crate::DetailError;
use glam::DVec3;
use risorius_mesh::FileMesh;
use risorius_mesh::{EdgeGraph, Nearest};
use std::collections::BTreeSet;

/// Largest number of gauges; their indices have 16 bits.
const MAX_GAUGES: usize = u16::MAX as usize;

/// Edges between handles and their rest lengths.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FeatureGraph {
    /// Two handles each, the lower first.
    pub edges: Vec<[u32; 2]>,
    /// Rest lengths, in the mesh's unit.
    pub lengths: Vec<f64>,
}

impl FeatureGraph {
    /// Edges given by the user; edges of zero length are left out.
    pub fn given(mesh: &FileMesh, handles: &[u32], edges: &[[u32; 2]]) -> Result<Self, DetailError> {
        if let Some(bad) = edges.as_flattened().iter().find(|&&h| h as usize >= handles.len()) {
            return Err(DetailError::Gauge { handle: *bad, n_handles: handles.len() });
        }
        let graph = Self::of(mesh, handles, edges.iter().copied().collect());
        if graph.edges.len() > MAX_GAUGES {
            let (what, value) = ("the number of strain gauges", graph.edges.len() as f64);
            return Err(DetailError::Option {
                what,
                value,
                wanted: "65535 at most; three for each handle are usual",
            });
        }
        Ok(graph)
    }

    /// Joins handles whose regions touch.
    pub fn make(mesh: &FileMesh, handles: &[u32]) -> Self {
        let graph =
            EdgeGraph::prepare(mesh.n_vertices(), &mesh.triangles, |a, b| mesh.at(a).distance(mesh.at(b)));
        let mut nearest = Nearest::nothing(mesh.n_vertices());
        nearest.add(&graph, handles.iter().zip(0..).map(|(&v, h)| (v, h)), f64::INFINITY);
        let mut edges = BTreeSet::new();
        for t in &mesh.triangles {
            let [a, b, c] = t.map(|v| nearest.place[v as usize]);
            edges.extend(
                [[a, b], [b, c], [c, a]].into_iter().filter(|[p, q]| p != q && (*p).max(*q) != u32::MAX),
            );
        }
        Self::of(mesh, handles, edges)
    }

    fn of(mesh: &FileMesh, handles: &[u32], edges: BTreeSet<[u32; 2]>) -> Self {
        let sorted: BTreeSet<[u32; 2]> = edges.into_iter().map(|[a, b]| [a.min(b), a.max(b)]).collect();
        let length =
            |[a, b]: &[u32; 2]| mesh.at(handles[*a as usize]).distance(mesh.at(handles[*b as usize]));
        let longest = sorted.iter().map(length).fold(0.0, f64::max);
        let edges: Vec<[u32; 2]> = sorted.into_iter().filter(|e| length(e) > 1e-9 * longest).collect();
        Self { lengths: edges.iter().map(length).collect(), edges }
    }

    /// The mean distance between neighboring handles; a tenth of the mesh's size if there is only one handle.
    pub fn spacing(&self, mesh: &FileMesh) -> f64 {
        match self.lengths.len() {
            0 => {
                let (low, high) =
                    mesh.positions.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), p| {
                        let p = glam::Vec3::from(*p).as_dvec3();
                        (low.min(p), high.max(p))
                    });
                0.1 * low.distance(high)
            }
            n => self.lengths.iter().sum::<f64>() / n as f64,
        }
    }

    /// The first quartile of the gauge lengths: the distance between handles where they are dense.
    pub(crate) fn dense_spacing(&self, mesh: &FileMesh) -> f64 {
        let mut lengths = self.lengths.clone();
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 4).copied().unwrap_or_else(|| self.spacing(mesh))
    }

    /// The feature vector of a pose, from the positions of the handles.
    pub fn strains(&self, handles: &[DVec3]) -> Vec<f32> {
        let one = |(&[a, b], &length): (&[u32; 2], &f64)| {
            ((handles[a as usize].distance(handles[b as usize]) - length) / length) as f32
        };
        self.edges.iter().zip(&self.lengths).map(one).collect()
    }
}
