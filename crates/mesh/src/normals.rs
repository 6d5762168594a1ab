//! Smooth vertex normals of a moving mesh.
//!
//! The normal of a vertex is the normalized sum of the cross products of its triangles, so each triangle counts by its
//! area. Connectivity is prepared once; a pose then takes one pass over triangles and one over vertices. Each vertex
//! adds its triangles in a fixed order, so the result does not depend on the number of threads.
//! In: n positions. Out: n unit vectors; a vertex without area gets +Y, never NaN.

use glam::Vec3;
use rayon::prelude::*;

/// Vertices per parallel task.
const CHUNK: usize = 2048;

/// Connectivity for computing vertex normals, prepared once for a mesh.
#[derive(Debug, Clone)]
pub struct VertexNormals {
    triangles: Vec<[u32; 3]>,
    /// Triangles around vertex v: `around[first[v]..first[v + 1]]`.
    first: Vec<u32>,
    around: Vec<u32>,
}

impl VertexNormals {
    /// Prepares for `n_vertices` vertices joined by `triangles` (all indices below `n_vertices`).
    pub fn prepare(n_vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut first = vec![0u32; n_vertices + 1];
        for &v in triangles.as_flattened() {
            first[v as usize + 1] += 1;
        }
        for v in 0..n_vertices {
            first[v + 1] += first[v];
        }
        let mut next = first.clone();
        let mut around = vec![0u32; 3 * triangles.len()];
        for (t, tri) in triangles.iter().enumerate() {
            for &v in tri {
                around[next[v as usize] as usize] = t as u32;
                next[v as usize] += 1;
            }
        }
        Self { triangles: triangles.to_vec(), first, around }
    }

    /// Normals of the mesh at `positions`.
    pub fn compute(&self, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut normals = vec![[0.0; 3]; positions.len()];
        self.compute_into(positions, &mut normals);
        normals
    }

    /// As [`Self::compute`], into a buffer of the same length as `positions`.
    pub fn compute_into(&self, positions: &[[f32; 3]], normals: &mut [[f32; 3]]) {
        assert_eq!(positions.len() + 1, self.first.len());
        assert_eq!(positions.len(), normals.len());
        let cross: Vec<Vec3> = self
            .triangles
            .par_iter()
            .with_min_len(CHUNK)
            .map(|t| {
                let [a, b, c] = t.map(|v| Vec3::from(positions[v as usize]));
                (b - a).cross(c - a)
            })
            .collect();
        normals.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            for (i, normal) in out.iter_mut().enumerate() {
                let v = chunk * CHUNK + i;
                let sum: Vec3 = self.around[self.first[v] as usize..self.first[v + 1] as usize]
                    .iter()
                    .map(|&t| cross[t as usize])
                    .sum();
                // Scale first: squares of very small or very large areas would leave the range of f32.
                let largest = sum.abs().max_element();
                let unit = if largest > 0.0 { (sum / largest).normalize_or_zero() } else { Vec3::ZERO };
                *normal = if unit.is_finite() && unit != Vec3::ZERO { unit.into() } else { [0.0, 1.0, 0.0] };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octahedron_normals_point_outward_and_rotate_with_it() {
        let p = [[1.0f32, 0., 0.], [-1., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 1.], [0., 0., -1.]];
        let t = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
        let normals = VertexNormals::prepare(6, &t);
        for (n, v) in normals.compute(&p).iter().zip(&p) {
            assert!(Vec3::from(*n).distance(Vec3::from(*v)) < 1e-6);
        }
        let tiny = p.map(|v| v.map(|x| x * 1e-18));
        assert!(normals.compute(&tiny).iter().all(|n| (Vec3::from(*n).length() - 1.0).abs() < 1e-5));
    }

    #[test]
    fn lonely_and_degenerate_vertices_get_a_unit_normal() {
        let normals = VertexNormals::prepare(4, &[[0, 0, 1], [0, 1, 2]]);
        let out = normals.compute(&[[0.0; 3], [0.0; 3], [0.0; 3], [1.0; 3]]);
        assert!(out.iter().all(|n| n == &[0.0, 1.0, 0.0]));
    }
}
