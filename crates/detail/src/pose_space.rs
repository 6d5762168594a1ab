//! Fine displacements as functions of strain [Bickel08, sec. 5.2 and 5.3].
//!
//! ```text
//! PSD    d(f)   = sum_j w_j   |f - f_j|                                                  eq. 2
//! WPSD   d_v(f) = sum_j w_v,j |f - f_j|_v,   |f - f_j|_v^2 = sum_i a_v,i (f_i - f_j,i)^2   eq. 3 and 5
//! ```
//!
//! The weights `a_v,i` of strain gauges fall off with the detour from the vertex over the gauge's ends. The
//! paper cuts `exp(-beta (L - l))` off at 0.025 with one beta for all vertices. Here beta is chosen per
//! vertex so that at most 16 gauges act on it, and 0.025 is subtracted before weights are normalized to sum
//! to one. A dense patch of handles therefore does not leave other vertices without gauges, and weights vary
//! continuously over the surface.
//!
//! Two poses may have equal strains around a vertex and different displacements of it. The matrix of
//! distances is then singular. It is inverted by its eigenvectors, leaving out eigenvalues of zero
//! (pseudoinverse), so such poses get their mean.

use crate::FeatureGraph;
use glam::Vec3;
use rayon::prelude::*;
use risorius_base::Array;
use risorius_mesh::FileMesh;

/// Largest number of gauges that act on a vertex.
pub const MAX_GAUGES: usize = 16;

/// Weights are cut off here.
const LEAST: f64 = 0.025;

/// Eigenvalues below this fraction of the largest count as zero.
const RANK: f64 = 1e-6;

/// Where all distances are below this, strains are rounding errors of the files.
const NOISE: f64 = 2e-5;

/// How fine displacements follow from strains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoseModel {
    /// Distances between poses are measured around each vertex.
    Wpsd,
    /// Distances between poses are measured over the whole face.
    Psd,
    /// Convex blend of examples around each vertex, without a large scale. For comparison.
    LocalBlendshapes,
    /// Convex blend of examples over the whole face, without a large scale. For comparison.
    GlobalBlendshapes,
}

impl PoseModel {
    /// Whether each vertex has its own weights of the gauges.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Wpsd | Self::LocalBlendshapes)
    }

    /// Whether detail is added to a large scale; otherwise examples are blended.
    pub fn is_pose_space(self) -> bool {
        matches!(self, Self::Wpsd | Self::Psd)
    }
}

/// Which gauges act on each vertex, and how much.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Influence {
    /// Indices of gauges; 0 where the weight is zero.
    pub gauges: Array<[u16; MAX_GAUGES]>,
    /// Weights that sum to one; zeros at the end.
    pub weights: Array<[f32; MAX_GAUGES]>,
}

impl Influence {
    /// Computes the influence from rest distances between vertices and handles.
    pub fn prepare(mesh: &FileMesh, handles: &[u32], features: &FeatureGraph) -> Self {
        let places: Vec<glam::DVec3> = handles.iter().map(|&v| mesh.at(v)).collect();
        let one = |v: u32| {
            let here = mesh.at(v);
            let far: Vec<f64> = places.iter().map(|p| p.distance(here)).collect();
            let detour = |([a, b], l): (&[u32; 2], &f64)| (far[*a as usize] + far[*b as usize] - l).max(0.0);
            let edges = features.edges.iter().zip(&features.lengths);
            let mut detours: Vec<(f64, u16)> = edges.map(detour).zip(0..).collect();
            detours.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            weighted(&detours)
        };
        let all = (0..mesh.n_vertices() as u32).into_par_iter().with_min_len(256);
        let (gauges, weights): (Vec<_>, Vec<_>) = all.map(one).unzip();
        Self { gauges: gauges.into(), weights: weights.into() }
    }

    /// Gauges that act on a vertex, with their weights.
    pub fn of(&self, vertex: usize) -> impl Iterator<Item = (usize, f32)> + Clone {
        let all = self.gauges[vertex].iter().zip(&self.weights[vertex]);
        all.take_while(|(_, w)| **w > 0.0).map(|(g, w)| (*g as usize, *w))
    }

    /// `|f - g|_v`.
    pub fn distance(&self, vertex: usize, f: &[f32], g: &[f32]) -> f32 {
        self.of(vertex).map(|(i, a)| a * (f[i] - g[i]) * (f[i] - g[i])).sum::<f32>().sqrt()
    }
}

/// Gauges and weights from detours in ascending order. The scale is the first detour that does not act.
fn weighted(detours: &[(f64, u16)]) -> ([u16; MAX_GAUGES], [f32; MAX_GAUGES]) {
    let (mut gauges, mut weights) = ([0; MAX_GAUGES], [0.0; MAX_GAUGES]);
    let Some(last) = detours.last() else { return (gauges, weights) };
    let scale = detours.get(MAX_GAUGES).unwrap_or(last).0;
    let beta = if scale > 0.0 { -LEAST.ln() / scale } else { 0.0 };
    let raw: Vec<f64> =
        detours.iter().take(MAX_GAUGES).map(|(d, _)| ((-beta * d).exp() - LEAST).max(0.0)).collect();
    let sum: f64 = raw.iter().sum();
    for (k, (raw, (_, gauge))) in raw.iter().zip(detours).enumerate() {
        let weight = if sum > 0.0 { raw / sum } else { 1.0 / detours.len().min(MAX_GAUGES) as f64 };
        if weight as f32 > 0.0 {
            (gauges[k], weights[k]) = (*gauge, weight as f32);
        }
    }
    (gauges, weights)
}

/// `|f - g|` over the whole face, with equal weights that sum to one, like those of the local distance.
pub(crate) fn whole_distance(f: &[f32], g: &[f32]) -> f32 {
    let sum: f64 = f.iter().zip(g).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (sum / f.len().max(1) as f64).sqrt() as f32
}

/// Solves for weights of a basis of P poses (columns of `distances`, T x P) that fit the displacements of all
/// T examples (rows) in the least squares sense; exactly where that is possible.
pub struct Solver {
    n_basis: usize,
    /// P x T, row after row: weights from displacements.
    inverse: Vec<f64>,
}

impl Solver {
    /// `distances`: row after row.
    pub fn prepare(distances: &[f64], n_basis: usize) -> Self {
        let n_examples = distances.len() / n_basis.max(1);
        let at = |t: usize, p: usize| distances[t * n_basis + p];
        let is_square = n_examples == n_basis;
        if let Some(inverse) = is_square.then(|| distinct_inverse(distances, n_basis)).flatten() {
            return Self { n_basis, inverse };
        }
        let normal = |a: usize, b: usize| match is_square {
            true => 0.5 * (at(a, b) + at(b, a)),
            false => (0..n_examples).map(|t| at(t, a) * at(t, b)).sum(),
        };
        let mut matrix: Vec<f64> = (0..n_basis * n_basis).map(|k| normal(k / n_basis, k % n_basis)).collect();
        let vectors = risorius_linalg::eigen::symmetric(n_basis, &mut matrix, 1e-17);
        let values: Vec<f64> = (0..n_basis).map(|k| matrix[k * n_basis + k]).collect();
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let (rank, noise) = match is_square {
            true => (RANK, NOISE),
            false => (RANK * RANK, NOISE * NOISE * n_examples as f64),
        };
        let cutoff = if largest > noise { rank * largest } else { largest };
        let inverted: Vec<f64> =
            values.iter().map(|&v| if v.abs() > cutoff { 1.0 / v } else { 0.0 }).collect();
        let q = |row: usize, k: usize| vectors[row * n_basis + k];
        let pseudo = |a: usize, b: usize| (0..n_basis).map(|k| q(a, k) * inverted[k] * q(b, k)).sum::<f64>();
        let inverse = match is_square {
            true => (0..n_basis * n_basis).map(|k| pseudo(k / n_basis, k % n_basis)).collect(),
            false => {
                let small: Vec<f64> =
                    (0..n_basis * n_basis).map(|k| pseudo(k / n_basis, k % n_basis)).collect();
                let entry =
                    |p: usize, t: usize| (0..n_basis).map(|b| small[p * n_basis + b] * at(t, b)).sum();
                (0..n_basis * n_examples).map(|k| entry(k / n_examples, k % n_examples)).collect()
            }
        };
        Self { n_basis, inverse }
    }

    /// Weights of the basis for displacements of the examples.
    pub fn weights(&self, displacements: &[Vec3]) -> Vec<Vec3> {
        let row = |p: usize| &self.inverse[p * displacements.len()..(p + 1) * displacements.len()];
        let one =
            |p: usize| row(p).iter().zip(displacements).map(|(&w, d)| d.as_dvec3() * w).sum::<glam::DVec3>();
        (0..self.n_basis).map(|p| one(p).as_vec3()).collect()
    }
}

/// The pseudoinverse of a square matrix of distances, quickly: poses at no distance from each other count as
/// one, with the mean of their displacements, and the others are inverted by elimination. `None` where that
/// is not accurate; eigenvectors are slower and always work.
fn distinct_inverse(distances: &[f64], n: usize) -> Option<Vec<f64>> {
    let at = |a: usize, b: usize| 0.5 * (distances[a * n + b] + distances[b * n + a]);
    let largest = distances.iter().fold(0.0f64, |m, d| m.max(*d));
    if largest <= NOISE {
        return None;
    }
    let (mut first, mut sizes, mut group): (Vec<usize>, Vec<f64>, Vec<usize>) = Default::default();
    for pose in 0..n {
        let found = first.iter().position(|&other| at(pose, other) <= RANK * largest);
        let number = found.unwrap_or(first.len());
        if found.is_none() {
            first.push(pose);
            sizes.push(0.0);
        }
        sizes[number] += 1.0;
        group.push(number);
    }
    let m = first.len();
    let matrix = (0..m * m).map(|k| at(first[k / m], first[k % m])).collect();
    let small = eliminated(matrix, m)?;
    let entry = |p: usize, t: usize| small[group[p] * m + group[t]] / (sizes[group[p]] * sizes[group[t]]);
    Some((0..n * n).map(|k| entry(k / n, k % n)).collect())
}

/// The inverse of a matrix by Gauss-Jordan elimination with row pivots; `None` if a pivot is small.
fn eliminated(mut a: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    let largest = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let mut inverse = vec![0.0; n * n];
    (0..n).for_each(|k| inverse[k * n + k] = 1.0);
    for k in 0..n {
        let pivot =
            (k..n).reduce(|best, r| if a[r * n + k].abs() > a[best * n + k].abs() { r } else { best })?;
        if a[pivot * n + k].abs() <= 5.0 * RANK * largest {
            return None;
        }
        let scale = 1.0 / a[pivot * n + k];
        for list in [&mut a, &mut inverse] {
            (0..n).for_each(|c| list.swap(k * n + c, pivot * n + c));
            (0..n).for_each(|c| list[k * n + c] *= scale);
        }
        for r in (0..n).filter(|&r| r != k) {
            let factor = a[r * n + k];
            for list in [&mut a, &mut inverse] {
                (0..n).for_each(|c| list[r * n + c] -= factor * list[k * n + c]);
            }
        }
    }
    Some(inverse)
}

/// The convex combination of `poses` that is nearest to `f`; `gauges` are indices and weights of the norm.
pub fn convex(f: &[f32], poses: &[&[f32]], gauges: impl Iterator<Item = (usize, f32)> + Clone) -> Vec<f32> {
    let n = poses.len();
    // Minimize |sum c_j (f_j - f)|^2 over the simplex, with the Gram matrix of the differences.
    let dot = |a: usize, b: usize| -> f64 {
        gauges
            .clone()
            .map(|(i, w)| f64::from(w) * f64::from(poses[a][i] - f[i]) * f64::from(poses[b][i] - f[i]))
            .sum()
    };
    let gram: Vec<f64> = (0..n * n).map(|k| if k / n <= k % n { dot(k / n, k % n) } else { 0.0 }).collect();
    let gram = |a: usize, b: usize| gram[a.min(b) * n + a.max(b)];
    let scale = (0..n).map(|k| gram(k, k)).fold(f64::MIN_POSITIVE, f64::max);
    let nearest = (0..n).min_by(|&a, &b| gram(a, a).total_cmp(&gram(b, b)));
    let Some(nearest) = nearest else { return Vec::new() };
    let mut c = vec![0.0; n];
    c[nearest] = 1.0;
    // Frank-Wolfe with exact line search: each step moves weight from one pose to another. Slow near the end,
    // but every step reduces the objective [Guelat86].
    let mut slope: Vec<f64> = (0..n).map(|a| gram(a, nearest)).collect();
    for _ in 0..64 * n {
        let value: f64 = slope.iter().zip(&c).map(|(s, c)| s * c).sum();
        let to = (0..n).min_by(|&a, &b| slope[a].total_cmp(&slope[b])).unwrap_or(0);
        let off = (0..n).filter(|&k| c[k] > 0.0).max_by(|&a, &b| slope[a].total_cmp(&slope[b])).unwrap_or(to);
        if to == off || slope[off] - slope[to] <= 1e-9 * (value + 1e-6 * scale) {
            break;
        }
        let curvature = gram(to, to) - 2.0 * gram(to, off) + gram(off, off);
        let full = if curvature > 0.0 { (slope[off] - slope[to]) / curvature } else { f64::INFINITY };
        let step = full.min(c[off]);
        c[to] += step;
        c[off] = if step == c[off] { 0.0 } else { c[off] - step };
        slope.iter_mut().enumerate().for_each(|(a, s)| *s += step * (gram(a, to) - gram(a, off)));
    }
    c.into_iter().map(|c| c as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Poses on a line with one that occurs twice: the quick way gives the pseudoinverse.
    #[test]
    fn elimination_gives_what_eigenvectors_give() {
        let at = [0.0f64, 0.3, 0.3, -0.5, 0.9];
        let distances: Vec<f64> = at.iter().flat_map(|a| at.map(|b| (a - b).abs())).collect();
        let quick = distinct_inverse(&distances, 5).unwrap();
        // A singular matrix that elimination refuses: the same poses with an equal one a little off.
        assert!(eliminated(distances.clone(), 5).is_none());
        for (k, value) in quick.iter().enumerate() {
            // A X A = A for a pseudoinverse X; check each entry of A.
            let (i, j) = (k / 5, k % 5);
            let product: f64 =
                (0..25).map(|n| distances[i * 5 + n / 5] * quick[n] * distances[n % 5 * 5 + j]).sum();
            assert!((product - distances[k]).abs() < 1e-12 && value.is_finite());
            assert!((quick[k] - quick[j * 5 + i]).abs() < 1e-12, "it is symmetric");
        }
    }
}
