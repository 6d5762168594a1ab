//! Shortest paths along edges by Dijkstra's algorithm: from one vertex up to a length, or from many sources
//! for the nearest source of every vertex.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The edges of triangles, with lengths.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeGraph {
    /// Edges at vertex v: `first[v]..first[v + 1]`.
    first: Vec<u32>,
    ways: Vec<(u32, f64)>,
}

impl EdgeGraph {
    /// The edges of `triangles`, whose corners are below `n_vertices`, with lengths given by `length`.
    pub fn prepare(n_vertices: usize, triangles: &[[u32; 3]], length: impl Fn(u32, u32) -> f64) -> Self {
        let mut edges: Vec<[u32; 2]> = Vec::with_capacity(6 * triangles.len());
        for &[a, b, c] in triangles {
            edges.extend([[a, b], [b, c], [c, a], [b, a], [c, b], [a, c]]);
        }
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0u32; n_vertices + 1];
        edges.iter().for_each(|[a, _]| first[*a as usize + 1] += 1);
        (0..n_vertices).for_each(|v| first[v + 1] += first[v]);
        Self { first, ways: edges.into_iter().map(|[a, b]| (b, length(a, b))).collect() }
    }

    /// Neighbors of a vertex, ascending, with edge lengths.
    pub fn around(&self, v: u32) -> &[(u32, f64)] {
        &self.ways[self.first[v as usize] as usize..self.first[v as usize + 1] as usize]
    }
}

/// The nearest source along edges, for every vertex.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// Distance to it; infinite where no source is reachable.
    pub distance: Vec<f64>,
    /// Its number; `u32::MAX` where no source is reachable.
    pub place: Vec<u32>,
}

impl Nearest {
    /// No sources yet.
    pub fn nothing(n_vertices: usize) -> Self {
        Self { distance: vec![f64::INFINITY; n_vertices], place: vec![u32::MAX; n_vertices] }
    }

    /// Adds sources (vertex, number) with paths shorter than `reach`. Of equally near ones, the first added
    /// stays.
    pub fn add(&mut self, graph: &EdgeGraph, places: impl Iterator<Item = (u32, u32)>, reach: f64) {
        let mut heap = BinaryHeap::new();
        for (vertex, number) in places {
            if self.distance[vertex as usize] > 0.0 {
                (self.distance[vertex as usize], self.place[vertex as usize]) = (0.0, number);
                heap.push((Reverse(0u64), vertex));
            }
        }
        while let Some((Reverse(bits), v)) = heap.pop() {
            // The bits of non-negative floats sort like the floats.
            let distance = f64::from_bits(bits);
            if distance > self.distance[v as usize] {
                continue;
            }
            for &(w, length) in graph.around(v) {
                let onward = distance + length;
                if onward < self.distance[w as usize].min(reach) {
                    (self.distance[w as usize], self.place[w as usize]) = (onward, self.place[v as usize]);
                    heap.push((Reverse(onward.to_bits()), w));
                }
            }
        }
    }
}

/// All vertices within the path length `reach` of `start`, with the lengths of their shortest paths. `ways`
/// gives the neighbors of a vertex and the lengths of the edges to them.
pub fn within<Edges: Iterator<Item = (u32, f64)>>(
    start: u32,
    reach: f64,
    ways: impl Fn(u32) -> Edges,
) -> BTreeMap<u32, f64> {
    let mut best = BTreeMap::from([(start, 0.0)]);
    let mut heap = BinaryHeap::from([(Reverse(0u64), start)]);
    while let Some((Reverse(bits), v)) = heap.pop() {
        // The bits of non-negative floats sort like the floats.
        let length = f64::from_bits(bits);
        if length > best[&v] {
            continue;
        }
        for (w, edge) in ways(v) {
            let total = length + edge;
            if total <= reach && best.get(&w).is_none_or(|&old| total < old) {
                best.insert(w, total);
                heap.push((Reverse(total.to_bits()), w));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_place_wins() {
        // A strip of five squares.
        let position = |v: u32| [f64::from(v / 2), f64::from(v % 2)];
        let strip: Vec<[u32; 3]> = (0..10).map(|k| [k, k + 1, k + 2]).collect();
        let far = |a: u32, b: u32| {
            let ([ax, ay], [bx, by]) = (position(a), position(b));
            (ax - bx).hypot(ay - by)
        };
        let graph = EdgeGraph::prepare(13, &strip, far);
        let mut nearest = Nearest::nothing(13);
        nearest.add(&graph, [(0, 7)].into_iter(), f64::INFINITY);
        assert_eq!((nearest.distance[10], nearest.place[10]), (5.0, 7));
        nearest.add(&graph, [(10, 8), (0, 9)].into_iter(), 2.5);
        assert_eq!((nearest.distance[8], nearest.place[8], nearest.place[0]), (1.0, 8, 7));
        assert_eq!((nearest.distance[4], nearest.place[4]), (2.0, 7));
        assert_eq!((nearest.distance[12], nearest.place[12]), (f64::INFINITY, u32::MAX));
    }

    #[test]
    fn the_shorter_way_counts_and_the_walk_ends_in_time() {
        // Edges 0 - 1 and 1 - 2 of length 1, 0 - 2 of length 3, 2 - 3 of length 1.
        let edges = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 3.0), (2, 3, 1.0)];
        let ways = |v: u32| {
            let there = edges.iter().filter(move |e| e.0 == v).map(|e| (e.1, e.2));
            there
                .chain(edges.iter().filter(move |e| e.1 == v).map(|e| (e.0, e.2)))
                .collect::<Vec<_>>()
                .into_iter()
        };
        assert_eq!(within(0, 2.5, ways), BTreeMap::from([(0, 0.0), (1, 1.0), (2, 2.0)]));
        assert_eq!(within(3, 3.0, ways).len(), 4);
    }
}
