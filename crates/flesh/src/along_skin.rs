//! Distances along the edges of the skin, and areas around its vertices.
//!
//! Upper and lower lip are close in space, but not along the skin, so a region on one does not spread to the
//! other.

use risorius_anatomy::Pieces;
use risorius_mesh::surface::tri_mesh::sum_at_corners;
use risorius_mesh::{EdgeGraph, Nearest};

/// The distance of every rig vertex from the nearest skin vertex for which `begins` is true, in the neutral,
/// in meters; infinite beyond `reach` and off the skin.
pub fn distances(pieces: &Pieces, begins: impl Fn(u32) -> bool, reach: f64) -> Vec<f64> {
    let n = pieces.positions.len();
    let length = |a: u32, b: u32| pieces.positions[a as usize].distance(pieces.positions[b as usize]);
    let graph = EdgeGraph::prepare(n, &pieces.skin, length);
    let mut nearest = Nearest::nothing(n);
    let places = (0..n as u32).filter(|&v| begins(v) && !graph.around(v).is_empty());
    nearest.add(&graph, places.map(|v| (v, 0)), reach);
    nearest.distance
}

/// A third of the area of all skin triangles around each rig vertex, in the neutral, square meters.
pub fn areas(pieces: &Pieces) -> Vec<f64> {
    let third = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| pieces.positions[v as usize]);
        (b - a).cross(c - a).length() / 6.0
    };
    sum_at_corners(pieces.positions.len(), &pieces.skin, pieces.skin.iter().map(third))
}
