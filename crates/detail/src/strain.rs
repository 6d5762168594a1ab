//! Strain of skin between two poses, averaged over some distance.

use glam::{DMat3, DVec3};
use risorius_mesh::EdgeGraph;

/// Largest number of rounds of averaging.
const MOST_ROUNDS: f64 = 250.0;

/// A skin at rest.
pub(crate) struct SkinStrain<'a> {
    rest: &'a [DVec3],
    triangles: &'a [[u32; 3]],
    graph: EdgeGraph,
    rounds: usize,
}

impl<'a> SkinStrain<'a> {
    /// `smooth`: the distance that strain is averaged over, in the unit of the positions.
    pub(crate) fn prepare(rest: &'a [DVec3], triangles: &'a [[u32; 3]], smooth: f64) -> Self {
        let length = |a: u32, b: u32| rest[a as usize].distance(rest[b as usize]);
        let graph = EdgeGraph::prepare(rest.len(), triangles, length);
        let edges = triangles.iter().map(|&[a, b, _]| length(a, b));
        let mean = edges.sum::<f64>() / triangles.len().max(1) as f64;
        // Each round spreads by about 0.7 edges.
        let rounds = (smooth / (0.7 * mean).max(f64::MIN_POSITIVE)).powi(2).round().clamp(1.0, MOST_ROUNDS);
        Self { rest, triangles, graph, rounds: rounds as usize }
    }

    /// Green strain of every vertex, in rest space; zero off the skin.
    pub(crate) fn of(&self, posed: &[DVec3]) -> Vec<DMat3> {
        let n = self.rest.len();
        let mut sums = vec![(DMat3::ZERO, 0.0f64); n];
        for t in self.triangles {
            let ([a, b, c], [p, q, r]) = (t.map(|v| self.rest[v as usize]), t.map(|v| posed[v as usize]));
            let normal = (b - a).cross(c - a);
            let area = normal.length();
            let (Some(from), Some(to)) = (normal.try_normalize(), (q - p).cross(r - p).try_normalize())
            else {
                continue;
            };
            // Maps the edges and the normal at rest to those of the pose.
            let f = DMat3::from_cols(q - p, r - p, to) * DMat3::from_cols(b - a, c - a, from).inverse();
            let green = (f.transpose() * f - DMat3::IDENTITY) * 0.5;
            if green.is_finite() {
                for &v in t {
                    let (sum, weight) = &mut sums[v as usize];
                    *sum += green * area;
                    *weight += area;
                }
            }
        }
        let mut strain: Vec<DMat3> =
            sums.into_iter().map(|(sum, area)| sum * (1.0 / area.max(f64::MIN_POSITIVE))).collect();
        for _ in 0..self.rounds {
            let mean = |v: u32| {
                let around = self.graph.around(v);
                let sum = around.iter().fold(strain[v as usize], |sum, (w, _)| sum + strain[*w as usize]);
                sum * (1.0 / (1 + around.len()) as f64)
            };
            strain = (0..n as u32).map(mean).collect();
        }
        strain
    }
}
