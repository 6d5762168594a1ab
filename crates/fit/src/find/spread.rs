//! Samples of a surface: dense at mouth, nose and eyes, sparse elsewhere.

use glam::{DVec3, IVec3};
use std::collections::HashMap;

/// Distance between samples at features, and farthest from them, meters.
const GAPS: [f64; 2] = [0.0032, 0.0132];

/// Of `candidates` (vertices), at most about `most`, thinned to a distance that grows with that from `fine`.
pub fn spread(positions: &[DVec3], candidates: &[u32], fine: &[DVec3], most: usize) -> Vec<u32> {
    let gaps: Vec<f64> = candidates
        .iter()
        .map(|&v| {
            let p = positions[v as usize];
            let near = fine.iter().map(|m| m.distance(p)).fold(f64::INFINITY, f64::min);
            (GAPS[0] + 0.12 * (near - 0.006)).clamp(GAPS[0], GAPS[1])
        })
        .collect();
    let mut factor = 1.0;
    let mut kept = thinned(positions, candidates, &gaps, factor);
    while kept.len() > most {
        factor *= 1.1;
        kept = thinned(positions, candidates, &gaps, factor);
    }
    kept
}

fn thinned(positions: &[DVec3], candidates: &[u32], gaps: &[f64], factor: f64) -> Vec<u32> {
    let size = GAPS[1] * factor;
    let mut grid: HashMap<IVec3, Vec<u32>> = HashMap::new();
    let mut kept = Vec::new();
    for (&v, gap) in candidates.iter().zip(gaps) {
        let p = positions[v as usize];
        let cell = (p / size).floor().as_ivec3();
        let close = |k: &u32| positions[*k as usize].distance(p) < gap * factor;
        let around = (-1..=1).flat_map(|x| (-1..=1).flat_map(move |y| (-1..=1).map(move |z| IVec3::new(x, y, z))));
        let taken = around.into_iter().any(|d| grid.get(&(cell + d)).is_some_and(|list| list.iter().any(close)));
        if !taken {
            grid.entry(cell).or_default().push(v);
            kept.push(v);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_dense_at_features_and_never_too_many() {
        let grid = |k: u32| DVec3::new(f64::from(k % 100), f64::from(k / 100), 0.0) * 0.001;
        let positions: Vec<DVec3> = (0..10_000).map(grid).collect();
        let all: Vec<u32> = (0..10_000).collect();
        let fine = [DVec3::new(0.02, 0.02, 0.0)];
        let kept = spread(&positions, &all, &fine, 5000);
        let within = |r: f64, c: DVec3| kept.iter().filter(|&&v| positions[v as usize].distance(c) < r).count();
        assert!(within(0.01, fine[0]) > 3 * within(0.01, DVec3::new(0.08, 0.08, 0.0)));
        assert!(spread(&positions, &all, &fine, 60).len() <= 60);
    }
}
