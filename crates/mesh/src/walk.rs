//! Shortest ways along edges: Dijkstra's walk from one place, up to a length.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// All places that ways from `start` reach within `reach`, with the length of the shortest way. `ways` gives the places one
/// edge away and the lengths of the edges.
pub fn within<Edges: Iterator<Item = (u32, f64)>>(
    start: u32,
    reach: f64,
    ways: impl Fn(u32) -> Edges,
) -> BTreeMap<u32, f64> {
    let mut best = BTreeMap::from([(start, 0.0)]);
    let mut heap = BinaryHeap::from([(Reverse(0u64), start)]);
    while let Some((Reverse(bits), v)) = heap.pop() {
        // Bits of non-negative floats sort as the floats do.
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
    fn the_shorter_way_counts_and_the_walk_ends_in_time() {
        // 0 - 1 - 2 of one meter each, and 0 - 2 of three; 3 hangs on 2.
        let edges = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 3.0), (2, 3, 1.0)];
        let ways = |v: u32| {
            let there = edges.iter().filter(move |e| e.0 == v).map(|e| (e.1, e.2));
            there.chain(edges.iter().filter(move |e| e.1 == v).map(|e| (e.0, e.2))).collect::<Vec<_>>().into_iter()
        };
        assert_eq!(within(0, 2.5, ways), BTreeMap::from([(0, 0.0), (1, 1.0), (2, 2.0)]));
        assert_eq!(within(3, 3.0, ways).len(), 4);
    }
}
