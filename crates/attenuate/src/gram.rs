//! Inner products of shapes: `G = D^T D`, computed once per rig [Lewis05, section 4].
//!
//! Shapes are local, so most pairs do not overlap. Vertices are processed in blocks of spatial neighbors. In
//! each block the shapes that act there form a small dense panel, whose product is added to the entries of
//! their pairs. Dense rigs cost as much as a dense product, sparse ones far less. Sums are in f64, in an
//! order fixed by the rig and independent of the number of threads. In: n shapes. Out: an n x n symmetric
//! matrix, 8 n^2 bytes.

use rayon::prelude::*;
use risorius_base::progress::tick;
use risorius_base::{Cancelled, Progress};
use risorius_linalg::{Cholesky, Matrix};
use risorius_rig::coefficients::Activation;
use risorius_rig::model::{Deltas, Rig};
use std::sync::OnceLock;

/// Vertices per block.
const BLOCK: usize = 256;

/// Largest number of shapes for which a Gram matrix is computed (0.5 GB).
pub const MAX_SHAPES: usize = 8192;

/// The ridge on the change of weights, relative to the median energy of the shapes that move anything. A
/// slider that changes by 1 costs as much as moving the face by 3 % of a usual shape (root mean square). Pins
/// hold as well as without it, to about a percent, and nearly dependent shapes do not run against each
/// other: without a ridge of this size sliders of such rigs reach hundreds. The median, because a single
/// shape that moves a whole body would raise the mean.
const RIDGE: f64 = 1e-3;

/// What remains of a shape beside all earlier ones, relative to its own energy, below which it repeats them.
const REPEATS: f64 = 1e-8;

/// What attenuation needs of a rig, prepared once.
#[derive(Debug)]
pub struct RigGram {
    activation: Activation,
    deltas: Vec<Deltas>,
    slider_names: Vec<String>,
    n_coordinates: usize,
    gram: Matrix,
    mean_energy: f64,
    ridge: f64,
    is_linear: bool,
    factor: OnceLock<Cholesky>,
    inverse: OnceLock<Matrix>,
    repeats: OnceLock<Vec<usize>>,
}

impl risorius_base::Advise for GramError {}

/// Why a Gram matrix could not be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GramError {
    /// Too many shapes.
    #[error(
        "the rig has {n_shapes} shapes; inner products of more than {MAX_SHAPES} do not fit in memory; split the rig"
    )]
    TooManyShapes {
        /// Shapes of the rig.
        n_shapes: usize,
    },
    /// A shape holds a NaN or an infinity.
    #[error(
        "shape '{shape}' moves {vertex} by a number that is not finite; repair the shape (see `inspect`)"
    )]
    NotFinite {
        /// Name of the shape.
        shape: String,
        /// The vertex, as its file numbers it.
        vertex: String,
    },
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl RigGram {
    /// Computes the inner products of all shapes of `rig`.
    pub fn prepare(rig: &Rig, progress: &Progress) -> Result<Self, GramError> {
        let n_shapes = rig.shapes.len();
        if n_shapes > MAX_SHAPES {
            return Err(GramError::TooManyShapes { n_shapes });
        }
        check_finite(rig)?;
        let deltas: Vec<Deltas> = rig.shapes.iter().map(|s| s.deltas.clone()).collect();
        let gram = gram_of(&deltas, &rig.neutral, progress)?;
        let trace: f64 = (0..n_shapes).map(|i| gram[(i, i)]).sum();
        let mean_energy = trace / n_shapes.max(1) as f64;
        // An empty rig still gets a ridge, so that its (zero) system can be factored.
        let ridge = if trace > 0.0 { RIDGE * median_energy(&gram) } else { 1.0 };
        Ok(Self {
            activation: Activation::prepare(rig),
            deltas,
            slider_names: rig.sliders.iter().map(|s| s.name.clone()).collect(),
            n_coordinates: 3 * rig.n_vertices(),
            gram,
            mean_energy,
            ridge,
            is_linear: rig.is_linear(),
            factor: OnceLock::new(),
            inverse: OnceLock::new(),
            repeats: OnceLock::new(),
        })
    }

    /// `D^T D`.
    pub fn matrix(&self) -> &Matrix {
        &self.gram
    }

    /// The map from weights to shape strengths.
    pub fn activation(&self) -> &Activation {
        &self.activation
    }

    /// Deltas per shape.
    pub fn deltas(&self) -> &[Deltas] {
        &self.deltas
    }

    /// Slider names, in the order of weights.
    pub fn slider_names(&self) -> &[String] {
        &self.slider_names
    }

    /// Coordinates of the rig: three per vertex.
    pub(crate) fn n_coordinates(&self) -> usize {
        self.n_coordinates
    }

    /// Whether the face is `f0 + D w`.
    pub fn is_linear(&self) -> bool {
        self.is_linear
    }

    /// Mean of `|d|^2` over shapes.
    pub(crate) fn mean_energy(&self) -> f64 {
        self.mean_energy
    }

    /// Weight of the squared change of sliders in every objective.
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Factor of `G + ridge I`, computed on first use and kept.
    pub fn factor(&self) -> &Cholesky {
        self.factor.get_or_init(|| factor_with_ridge(self.gram.clone(), self.ridge).0)
    }

    /// Inverse of `G + ridge I`, computed on first use and kept.
    pub fn inverse(&self) -> &Matrix {
        self.inverse.get_or_init(|| self.factor().inverse())
    }

    /// Shapes that are combinations of earlier ones, ascending; computed on first use and kept.
    pub(crate) fn repeats(&self) -> &[usize] {
        self.repeats.get_or_init(|| {
            // Far below what is visible and far above rounding.
            let tiny = 1e-10 * self.mean_energy.max(f64::MIN_POSITIVE);
            let (factor, _) = factor_with_ridge(self.gram.clone(), tiny);
            let pivots = factor.diagonal();
            let energy = |s: usize| self.gram[(s, s)];
            let is_repeat =
                |&s: &usize| energy(s) > 0.0 && pivots[s].powi(2) < REPEATS * energy(s) + 10.0 * tiny;
            (0..pivots.len()).filter(is_repeat).collect()
        })
    }
}

/// The median of the energies of shapes that move anything, of which there is at least one.
fn median_energy(gram: &Matrix) -> f64 {
    let mut energies: Vec<f64> = (0..gram.n_rows()).map(|i| gram[(i, i)]).filter(|&e| e > 0.0).collect();
    energies.sort_by(f64::total_cmp);
    energies.get(energies.len() / 2).copied().unwrap_or(1.0)
}

/// Rejects shapes with numbers that are not finite.
pub(crate) fn check_finite(rig: &Rig) -> Result<(), GramError> {
    for shape in &rig.shapes {
        if let Some(i) = shape.deltas.offsets.iter().position(|o| !o.iter().all(|x| x.is_finite())) {
            let vertex = rig.vertex_name(shape.deltas.vertices[i]);
            return Err(GramError::NotFinite { shape: shape.name.clone(), vertex });
        }
    }
    Ok(())
}

/// Factor of a positive semi-definite matrix plus a ridge, and that ridge, which is raised in the rare case
/// that rounding makes the matrix indefinite. The loop terminates: displacements are finite f32 and `a` is
/// bounded, so the matrix is finite and a large enough ridge makes it positive definite.
pub(crate) fn factor_with_ridge(a: Matrix, ridge: f64) -> (Cholesky, f64) {
    let mut ridge = ridge;
    loop {
        let mut shifted = a.clone();
        (0..a.n_rows()).for_each(|i| shifted[(i, i)] += ridge);
        match Cholesky::factor(shifted) {
            Ok(factor) => return (factor, ridge),
            Err(_) => ridge *= 100.0,
        }
    }
}

/// `D^T D` of displacement fields over the vertices at `positions`.
pub(crate) fn gram_of(
    deltas: &[Deltas],
    positions: &[[f32; 3]],
    progress: &Progress,
) -> Result<Matrix, Cancelled> {
    let n = deltas.len();
    let blocks = Blocks::of(deltas, positions);
    let n_blocks = blocks.first.len() - 1;
    // Groups of blocks are summed separately and then together. Their number depends on the rig alone.
    let n_groups = ((1usize << 26) / (n * n).max(1)).clamp(1, 16).min(n_blocks.max(1));
    let done = std::sync::atomic::AtomicUsize::new(0);
    let sums: Vec<Result<Matrix, Cancelled>> = (0..n_groups)
        .into_par_iter()
        .map(|group| {
            let mut sum = Matrix::zeros(n, n);
            for block in group * n_blocks / n_groups..(group + 1) * n_blocks / n_groups {
                let (active, panel) = blocks.panel(block, deltas);
                add_at(&mut sum, &active, &panel.gram());
                let so_far = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                tick(progress, "inner products of shapes", so_far as f32 / n_blocks as f32)?;
            }
            Ok(sum)
        })
        .collect();
    let mut total = Matrix::zeros(n, n);
    for sum in sums {
        total.add(&sum?);
    }
    total.mirror_lower();
    Ok(total)
}

/// All displacements, sorted by block of neighboring vertices, then by shape.
struct Blocks {
    /// Rank of each vertex along a curve that keeps neighbors together.
    rank: Vec<u32>,
    /// Entries of block b: `first[b]..first[b + 1]`.
    first: Vec<usize>,
    /// Shape, and index into its deltas.
    entries: Vec<(u32, u32)>,
}

impl Blocks {
    fn of(deltas: &[Deltas], positions: &[[f32; 3]]) -> Self {
        let rank = spatial_rank(positions);
        let n_blocks = positions.len().div_ceil(BLOCK);
        let block_of = |v: u32| rank[v as usize] as usize / BLOCK;
        let mut first = vec![0usize; n_blocks + 1];
        deltas.iter().flat_map(|d| &d.vertices).for_each(|&v| first[block_of(v) + 1] += 1);
        for b in 0..n_blocks {
            first[b + 1] += first[b];
        }
        let mut next = first.clone();
        let mut entries = vec![(0u32, 0u32); first[n_blocks]];
        for (shape, d) in deltas.iter().enumerate() {
            for (i, &v) in d.vertices.iter().enumerate() {
                let at = &mut next[block_of(v)];
                entries[*at] = (shape as u32, i as u32);
                *at += 1;
            }
        }
        Self { rank, first, entries }
    }

    /// The shapes that act on a block, ascending, and their displacements there, one column per shape.
    fn panel(&self, block: usize, deltas: &[Deltas]) -> (Vec<usize>, Matrix) {
        let entries = &self.entries[self.first[block]..self.first[block + 1]];
        let mut active: Vec<usize> = entries.iter().map(|e| e.0 as usize).collect();
        active.dedup();
        let mut panel = Matrix::zeros(3 * BLOCK, active.len());
        for (column, of_shape) in entries.chunk_by(|a, b| a.0 == b.0).enumerate() {
            let out = panel.column_mut(column);
            for &(shape, i) in of_shape {
                let d = &deltas[shape as usize];
                let slot = self.rank[d.vertices[i as usize] as usize] as usize % BLOCK;
                (0..3).for_each(|k| out[3 * slot + k] = d.offsets[i as usize][k].into());
            }
        }
        (active, panel)
    }
}

/// The rank of each vertex in Morton order of its position (1024 cells a side).
fn spatial_rank(positions: &[[f32; 3]]) -> Vec<u32> {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in positions.iter().filter(|p| p.iter().all(|x| x.is_finite())) {
        (0..3).for_each(|k| (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k])));
    }
    let side = (0..3).map(|k| high[k] - low[k]).fold(f32::MIN_POSITIVE, f32::max);
    // Spreads ten bits to every third place.
    let spread = |x: u32| (0..10).fold(0, |code, bit| code | (x >> bit & 1) << (3 * bit));
    let code = |p: &[f32; 3]| {
        // Numbers that are not finite become 0; the order does not affect correctness.
        let cell = |k: usize| spread(((p[k] - low[k]) / side * 1023.0).clamp(0.0, 1023.0) as u32);
        cell(0) | cell(1) << 1 | cell(2) << 2
    };
    let mut order: Vec<(u32, u32)> = positions.iter().enumerate().map(|(v, p)| (code(p), v as u32)).collect();
    order.sort_unstable();
    let mut rank = vec![0; positions.len()];
    order.iter().enumerate().for_each(|(r, &(_, v))| rank[v as usize] = r as u32);
    rank
}

/// Adds the symmetric `product` to the lower half of `sum`, at the ascending rows and columns `active`.
pub(crate) fn add_at(sum: &mut Matrix, active: &[usize], product: &Matrix) {
    for (j, &column) in active.iter().enumerate() {
        let from = &product.column(j)[j..];
        let to = sum.column_mut(column);
        for (&row, value) in active[j..].iter().zip(from) {
            to[row] += value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use risorius_base::progress::no_progress;
    use risorius_rig::synthetic;

    fn naive(rig: &Rig) -> Matrix {
        let n = rig.shapes.len();
        let mut g = Matrix::zeros(n, n);
        for i in 0..n {
            let mut dense = vec![[0.0f32; 3]; rig.n_vertices()];
            let d = &rig.shapes[i].deltas;
            d.vertices.iter().zip(&d.offsets).for_each(|(&v, &o)| dense[v as usize] = o);
            for j in 0..n {
                let e = &rig.shapes[j].deltas;
                g[(i, j)] = e
                    .vertices
                    .iter()
                    .zip(&e.offsets)
                    .flat_map(|(&v, o)| (0..3).map(move |k| (v as usize, k, o[k])))
                    .map(|(v, k, x)| f64::from(dense[v][k]) * f64::from(x))
                    .sum();
            }
        }
        g
    }

    #[test]
    fn blocks_sum_to_the_definition_on_any_thread_count() {
        let rig = synthetic::random_rig(3000, 25, 0.15, 2);
        let reference = naive(&rig);
        let mut first: Option<Matrix> = None;
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let gram = pool.install(|| RigGram::prepare(&rig, &no_progress)).unwrap().gram;
            for (a, b) in gram.as_slice().iter().zip(reference.as_slice()) {
                assert!((a - b).abs() <= 1e-12 * reference[(0, 0)].max(1.0));
            }
            assert!(*first.get_or_insert_with(|| gram.clone()) == gram);
        }
    }

    #[test]
    fn too_many_shapes_and_bad_numbers_are_refused() {
        let mut rig = synthetic::random_rig(30, 2, 1.0, 2);
        rig.shapes[1].deltas.offsets[4][2] = f32::NAN;
        assert!(
            matches!(RigGram::prepare(&rig, &no_progress), Err(GramError::NotFinite { vertex, .. }) if vertex.starts_with("vertex 4 "))
        );
        let rig = synthetic::random_rig(4, MAX_SHAPES + 1, 0.0, 2);
        assert!(matches!(RigGram::prepare(&rig, &no_progress), Err(GramError::TooManyShapes { .. })));
        let stop = |_: &str, _: f32| std::ops::ControlFlow::Break(());
        let rig = synthetic::random_rig(300, 2, 1.0, 2);
        assert_eq!(RigGram::prepare(&rig, &stop).unwrap_err(), GramError::Cancelled(Cancelled));
    }
}
