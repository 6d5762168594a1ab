//! Distances along the skin, from edge to edge, and areas on it.
//!
//! Through the air the lips are neighbors; along the skin they are not, and what spreads from one stays on it.

use risorius_anatomy::Pieces;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The distance of every rig vertex from the nearest of the skin vertices that `begins` names, in the neutral, in meters; infinite beyond
/// `reach` and off the skin.
pub fn distances(pieces: &Pieces, begins: impl Fn(u32) -> bool, reach: f64) -> Vec<f64> {
    let mut edges: Vec<[u32; 2]> = pieces.skin.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).collect();
    edges.extend(edges.clone().iter().map(|&[a, b]| [b, a]));
    edges.sort_unstable();
    edges.dedup();
    let mut distances = vec![f64::INFINITY; pieces.positions.len()];
    let mut heap = BinaryHeap::new();
    for &v in edges.iter().map(|[a, _]| a).filter(|&&v| begins(v)) {
        distances[v as usize] = 0.0;
        heap.push((Reverse(0u64), v));
    }
    while let Some((Reverse(bits), v)) = heap.pop() {
        // Bits of non-negative floats sort as the floats do.
        let distance = f64::from_bits(bits);
        if distance > distances[v as usize] {
            continue;
        }
        for &[_, w] in edges[edges.partition_point(|e| e[0] < v)..].iter().take_while(|e| e[0] == v) {
            let onward = distance + pieces.positions[v as usize].distance(pieces.positions[w as usize]);
            if onward < distances[w as usize].min(reach) {
                distances[w as usize] = onward;
                heap.push((Reverse(onward.to_bits()), w));
            }
        }
    }
    distances
}

/// A third of the area of all skin triangles around each rig vertex, in the neutral, square meters.
pub fn areas(pieces: &Pieces) -> Vec<f64> {
    let mut areas = vec![0.0; pieces.positions.len()];
    for t in &pieces.skin {
        let [a, b, c] = t.map(|v| pieces.positions[v as usize]);
        t.iter().for_each(|&v| areas[v as usize] += (b - a).cross(c - a).length() / 6.0);
    }
    areas
}
