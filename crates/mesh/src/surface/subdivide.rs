//! Subdivision of triangle meshes, as weights that can be applied to any field on the vertices. Every edge
//! gets a vertex, every triangle becomes four, and old vertices keep their indices.
//!
//! [`Subdivision::fitted`] evaluates quadratics that are fitted to the mesh (`quadratic`).
//! [`Subdivision::prepare`] is Loop's scheme: new vertices on edges are 3/8 of each end and 1/8
//! of each opposite vertex; old ones move toward their neighbors by Warren's weights (3/16 for three
//! neighbors, else 3/8 over their number). On boundary edges, and on edges of more than two triangles, only
//! vertices along those edges have weights: 1/2 and 1/2 for new vertices, 1/8, 3/4, 1/8 for old ones. It
//! shrinks what is convex, parts surfaces that touch, and leaves ripples where diagonals of quads alternate.

use glam::Vec3;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::{Add, Mul};

/// One step of subdivision.
#[derive(Debug, Clone, PartialEq)]
pub struct Subdivision {
    /// Four for each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Source vertices and weights of vertex v: `parts[first[v]..first[v + 1]]`.
    first: Vec<u32>,
    parts: Vec<(u32, f32)>,
}

impl Subdivision {
    /// For triangles whose corners are below `n_vertices`.
    pub fn prepare(n_vertices: usize, triangles: &[[u32; 3]]) -> Self {
        // Vertices opposite each edge.
        let mut across: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
        for &[a, b, c] in triangles {
            for (p, q, r) in [(a, b, c), (b, c, a), (c, a, b)] {
                across.entry([p.min(q), p.max(q)]).or_default().push(r);
            }
        }
        let mut neighbors: Vec<Vec<u32>> = vec![Vec::new(); n_vertices];
        let mut along_border: Vec<Vec<u32>> = vec![Vec::new(); n_vertices];
        for (&[a, b], others) in &across {
            for (v, w) in [(a, b), (b, a)] {
                neighbors[v as usize].push(w);
                if others.len() != 2 {
                    along_border[v as usize].push(w);
                }
            }
        }
        let mut new =
            Self { triangles: Vec::with_capacity(4 * triangles.len()), first: vec![0], parts: Vec::new() };
        for v in 0..n_vertices {
            let (around, share) = match (along_border[v].len(), neighbors[v].len()) {
                (0, 0) => (&[][..], 0.0),
                (0, 3) => (neighbors[v].as_slice(), 3.0 / 16.0),
                (0, n) => (neighbors[v].as_slice(), 3.0 / (8.0 * n as f32)),
                (2, _) => (along_border[v].as_slice(), 1.0 / 8.0),
                // A vertex where several boundaries meet stays.
                _ => (&[][..], 0.0),
            };
            new.parts.push((v as u32, 1.0 - share * around.len() as f32));
            new.parts.extend(around.iter().map(|&w| (w, share)));
            new.first.push(new.parts.len() as u32);
        }
        let mut middle: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        for (&[a, b], others) in &across {
            middle.insert([a, b], new.first.len() as u32 - 1);
            match others[..] {
                [c, d] => new.parts.extend([(a, 0.375), (b, 0.375), (c, 0.125), (d, 0.125)]),
                _ => new.parts.extend([(a, 0.5), (b, 0.5)]),
            }
            new.first.push(new.parts.len() as u32);
        }
        for &[a, b, c] in triangles {
            let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(p, q)| middle[&[p.min(q), p.max(q)]]);
            new.triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        new
    }

    /// A step by quadratics that are fitted to `positions`; `held` is 1 where vertices stay, 0 where they are
    /// smoothed, and may be empty.
    pub fn fitted(positions: &[Vec3], triangles: &[[u32; 3]], held: &[f32]) -> Self {
        let (old, edges) = super::quadratic::parts(positions, triangles, held);
        let mut new =
            Self { triangles: Vec::with_capacity(4 * triangles.len()), first: vec![0], parts: Vec::new() };
        for parts in old {
            new.parts.extend(parts);
            new.first.push(new.parts.len() as u32);
        }
        let mut middle: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        for (edge, parts) in edges {
            middle.insert(edge, new.first.len() as u32 - 1);
            new.parts.extend(parts);
            new.first.push(new.parts.len() as u32);
        }
        for &[a, b, c] in triangles {
            let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(p, q)| middle[&[p.min(q), p.max(q)]]);
            new.triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        new
    }

    /// Number of vertices after the step.
    pub fn n_vertices(&self) -> usize {
        self.first.len() - 1
    }

    /// Interpolates a field from the vertices before the step to those after it.
    pub fn apply<V>(&self, field: &[V]) -> Vec<V>
    where
        V: Copy + Default + Send + Sync + Add<Output = V> + Mul<f32, Output = V>,
    {
        let one = |v: usize| {
            let parts = &self.parts[self.first[v] as usize..self.first[v + 1] as usize];
            parts.iter().fold(V::default(), |sum, &(from, share)| sum + field[from as usize] * share)
        };
        (0..self.n_vertices()).into_par_iter().with_min_len(1024).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_octahedron_becomes_round_and_a_square_stays_flat() {
        let x: Vec<Vec3> = [Vec3::X, Vec3::Y, Vec3::Z].into_iter().flat_map(|p| [p, -p]).collect();
        let triangles =
            [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
        let (mut x, mut triangles) = (x, triangles.to_vec());
        for _ in 0..3 {
            let step = Subdivision::prepare(x.len(), &triangles);
            x = step.apply(&x);
            triangles = step.triangles;
        }
        // Euler: 8 * 64 triangles have 258 vertices on a closed surface.
        assert_eq!((triangles.len(), x.len()), (512, 258));
        let [least, most] = [f32::min, f32::max].map(|f| x.iter().map(|p| p.length()).reduce(f).unwrap());
        assert!(most / least < 1.25, "{least} {most}");
        let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[x, y]| Vec3::new(x, y, 2.0));
        let step = Subdivision::prepare(4, &[[0, 1, 2], [0, 2, 3]]);
        let x = step.apply(&square);
        assert_eq!((x.len(), step.triangles.len()), (9, 8));
        assert!(x.iter().all(|p| p.z == 2.0) && x[0] == Vec3::new(0.125, 0.125, 2.0));
    }
}
