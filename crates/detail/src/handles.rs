//! Chooses handles for a mesh that has none: evenly spread, and denser where it moves.
//!
//! Farthest-point sampling along the surface: the next handle is always the vertex farthest from all handles
//! so far. Edge lengths are multiplied by up to three where vertices move most, so that handles are denser
//! there. Pieces of the mesh with less than a tenth of its vertices (eyes, teeth, lashes) get none.

use crate::DetailError;
use risorius_mesh::FileMesh;
use risorius_mesh::{EdgeGraph, Nearest};

/// Edge lengths are multiplied by one plus this where vertices move most.
const DENSER: f64 = 2.0;

/// Chooses `count` vertices. `motion`: how far each vertex moves, in any unit; empty if unknown.
pub fn choose(mesh: &FileMesh, motion: &[f32], count: usize) -> Result<Vec<u32>, DetailError> {
    crate::check_rest(mesh)?;
    if count == 0 {
        return Err(DetailError::Option { what: "the number of handles", value: 0.0, wanted: "1 or more" });
    }
    let most = motion.iter().copied().filter(|m| m.is_finite()).fold(0.0f32, f32::max);
    let moved = |v: u32| match motion.get(v as usize) {
        Some(&m) if most > 0.0 && m.is_finite() => f64::from(m / most),
        _ => 0.0,
    };
    let connected = risorius_mesh::surface::components::of_triangles(mesh.n_vertices(), &mesh.triangles);
    let large =
        |v: u32| 10 * connected.sizes[connected.of_vertex[v as usize] as usize] as usize >= mesh.n_vertices();
    let length =
        |a: u32, b: u32| mesh.at(a).distance(mesh.at(b)) * (1.0 + DENSER * 0.5 * (moved(a) + moved(b)));
    let graph = EdgeGraph::prepare(mesh.n_vertices(), &mesh.triangles, length);
    let mut candidates: Vec<u32> =
        (0..mesh.n_vertices() as u32).filter(|&v| large(v) && !graph.around(v).is_empty()).collect();
    if candidates.is_empty() {
        candidates = (0..mesh.n_vertices() as u32).filter(|&v| !graph.around(v).is_empty()).collect();
    }
    let mut nearest = Nearest::nothing(mesh.n_vertices());
    let mut handles: Vec<u32> = Vec::new();
    while handles.len() < count.min(candidates.len()) {
        let key = |v: &u32| (nearest.distance[*v as usize], moved(*v));
        // The farthest; among equals the one that moves most, then the first.
        let next = candidates.iter().copied().reduce(|best, v| if key(&v) > key(&best) { v } else { best });
        let Some(next) = next.filter(|&v| nearest.distance[v as usize] > 0.0) else { break };
        nearest.add(&graph, [(next, handles.len() as u32)].into_iter(), f64::INFINITY);
        handles.push(next);
    }
    handles.sort_unstable();
    Ok(handles)
}
