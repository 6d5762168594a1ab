//! A few extra shapes that turn an artist's animation into a take: principal components of the difference.
//!
//! A take is `p(t) = a(t) + d(t)`: the artist's animation, which sliders play already, and what physics adds.
//! The fit finds N shapes `s_k` and strengths `w_k(t)` so that the sum of `|d(t) - sum_k w_k(t) s_k|^2` over
//! all frames and vertices is least. These are the first N left singular vectors of the matrix D whose
//! columns are the frames; the mean is not subtracted, because shapes add to the artist's pose from zero.
//!
//! D has 3 n_vertices rows and may have many thousands of columns, so it is never held. The subspace comes
//! from block power iteration [Halko11, alg. 4.4 and sec. 5]: `Q <- orthonormal(D D' Q)` on N + [`SPARE`]
//! columns, one pass over the frames for each iteration, until the captured energy settles. The
//! eigenvectors of `Q' D D' Q` then turn Q into principal components. Memory is (N + spare) columns,
//! whatever the length of the take. The start is a fixed pseudo-random mixture of frames, sums run in a fixed
//! order, so the result is the same for any number of threads.
//!
//! Shapes are scaled so that the largest strength of each is 1, as engines expect of weights; strengths may
//! be negative. Errors are measured with the shapes and strengths in single precision, as they are written.

use rayon::prelude::*;
use risorius_linalg::eigen;

/// Columns of the subspace beyond those wanted: they make the iteration converge quickly.
const SPARE: usize = 8;

/// Most passes of the iteration.
const MAX_PASSES: usize = 12;

/// The iteration ends when a pass adds less than this share to the captured energy.
const SETTLED: f64 = 1e-5;

/// Coordinates per parallel task, and per partial sum.
const CHUNK: usize = 3 * 1024;

/// Shapes and their strengths over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FittedShapes {
    /// Displacements of all vertices at strength 1, in the unit of the frames; the most important shape
    /// first.
    pub shapes: Vec<Vec<[f32; 3]>>,
    /// Strengths of one frame after another, one for each shape.
    pub strengths: Vec<f32>,
    /// Error with none of the shapes, with one, two, up to all of them.
    pub errors: Vec<FitError>,
    /// Passes over the frames.
    pub passes: usize,
}

/// The distance that shapes leave, over all frames and vertices, in the unit of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct FitError {
    /// Mean distance.
    pub mean: f64,
    /// Largest distance.
    pub max: f64,
    /// The frame of the largest distance.
    pub frame: usize,
    /// The vertex of the largest distance.
    pub vertex: usize,
}

/// Fits at most `n_shapes` shapes to `n_frames` fields of displacements of `n_vertices` vertices. `frame`
/// gives a field, and is called several times for each frame. Fewer shapes result if fewer are enough.
pub fn fit_shapes<E>(
    n_shapes: usize,
    n_frames: usize,
    n_vertices: usize,
    mut frame: impl FnMut(usize) -> Result<Vec<[f32; 3]>, E>,
) -> Result<FittedShapes, E> {
    let width = (n_shapes + SPARE).min(n_frames).min(3 * n_vertices);
    let mut basis = Basis::start(3 * n_vertices, width, n_frames, &mut frame)?;
    let (mut captured, mut passes) = (0.0, 1);
    while passes < MAX_PASSES {
        passes += 1;
        let energy = basis.improve(n_frames, &mut frame)?;
        let settled = energy <= captured * (1.0 + SETTLED);
        captured = energy;
        if settled {
            break;
        }
    }
    basis.turn_into_components(n_frames, &mut frame)?;
    let mut fitted = basis.scaled(n_shapes, n_frames, &mut frame)?;
    fitted.passes = passes + 3;
    fitted.errors = errors(&fitted, n_frames, n_vertices, &mut frame)?;
    Ok(fitted)
}

/// Orthonormal columns of `n_rows` numbers.
struct Basis {
    n_rows: usize,
    columns: Vec<Vec<f64>>,
}

impl Basis {
    /// Mixtures of all frames by fixed pseudo-random factors, made orthonormal.
    fn start<E>(
        n_rows: usize,
        width: usize,
        n_frames: usize,
        frame: &mut impl FnMut(usize) -> Result<Vec<[f32; 3]>, E>,
    ) -> Result<Self, E> {
        let mut basis = Self { n_rows, columns: vec![vec![0.0; n_rows]; width] };
        for f in 0..n_frames {
            let field = frame(f)?;
            let factors: Vec<f64> = (0..width).map(|k| mixture(f, k)).collect();
            add_scaled(&mut basis.columns, field.as_flattened(), &factors);
        }
        basis.orthonormalize();
        Ok(basis)
    }

    /// Strengths of the columns in a field.
    fn project(&self, field: &[f32]) -> Vec<f64> {
        self.columns.par_iter().map(|column| dot(column, field)).collect()
    }

    /// One power iteration; returns the energy that the columns captured before it.
    fn improve<E>(
        &mut self,
        n_frames: usize,
        frame: &mut impl FnMut(usize) -> Result<Vec<[f32; 3]>, E>,
    ) -> Result<f64, E> {
        let mut next = vec![vec![0.0; self.n_rows]; self.columns.len()];
        let mut energy = 0.0;
        for f in 0..n_frames {
            let field = frame(f)?;
            let strengths = self.project(field.as_flattened());
            energy += strengths.iter().map(|x| x * x).sum::<f64>();
            add_scaled(&mut next, field.as_flattened(), &strengths);
        }
        self.columns = next;
        self.orthonormalize();
        Ok(energy)
    }

    /// Turns the columns within their span into principal components, the largest first.
    fn turn_into_components<E>(
        &mut self,
        n_frames: usize,
        frame: &mut impl FnMut(usize) -> Result<Vec<[f32; 3]>, E>,
    ) -> Result<(), E> {
        let n = self.columns.len();
        let mut gram = vec![0.0; n * n];
        for f in 0..n_frames {
            let x = self.project(frame(f)?.as_flattened());
            gram.iter_mut().enumerate().for_each(|(i, g)| *g += x[i / n] * x[i % n]);
        }
        let vectors = eigen::symmetric(n, &mut gram, 0.0);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| gram[b * n + b].total_cmp(&gram[a * n + a]));
        let old = std::mem::take(&mut self.columns);
        self.columns = order
            .par_iter()
            .map(|&k| {
                let row = |r: usize| (0..n).map(|c| vectors[c * n + k] * old[c][r]).sum::<f64>();
                (0..self.n_rows).map(row).collect()
            })
            .collect();
        Ok(())
    }

    /// Modified Gram-Schmidt, twice, which is orthonormal to rounding. Columns that depend on others go.
    fn orthonormalize(&mut self) {
        let mut done: Vec<Vec<f64>> = Vec::new();
        for mut column in std::mem::take(&mut self.columns) {
            let before = norm(&column);
            for _ in 0..2 {
                for other in &done {
                    let share = dot64(other, &column);
                    column.iter_mut().zip(other).for_each(|(x, o)| *x -= share * o);
                }
            }
            let length = norm(&column);
            if length > 1e-9 * before {
                column.iter_mut().for_each(|x| *x /= length);
                done.push(column);
            }
        }
        self.columns = done;
    }

    /// The first `n_shapes` components, scaled so that the largest strength is 1.
    fn scaled<E>(
        &self,
        n_shapes: usize,
        n_frames: usize,
        frame: &mut impl FnMut(usize) -> Result<Vec<[f32; 3]>, E>,
    ) -> Result<FittedShapes, E> {
        let n = n_shapes.min(self.columns.len());
        let kept = Basis { n_rows: self.n_rows, columns: self.columns[..n].to_vec() };
        let mut strengths = Vec::with_capacity(n * n_frames);
        for f in 0..n_frames {
            strengths.extend(kept.project(frame(f)?.as_flattened()));
        }
        let largest = |k: usize| {
            let of_shape = strengths.iter().skip(k).step_by(n.max(1));
            of_shape.fold(0.0f64, |best, &x| if x.abs() > best.abs() { x } else { best })
        };
        // Signed, so that the strongest moment of a shape is at strength 1.
        let scales: Vec<f64> = (0..n).map(largest).collect();
        let used: Vec<usize> = (0..n).filter(|&k| scales[k] != 0.0).collect();
        let shape = |&k: &usize| {
            let (rows, _) = kept.columns[k].as_chunks::<3>();
            rows.iter().map(|row| row.map(|x| (x * scales[k]) as f32)).collect()
        };
        let rows = strengths.chunks(n.max(1));
        let strengths = rows.flat_map(|row| used.iter().map(|&k| (row[k] / scales[k]) as f32)).collect();
        Ok(FittedShapes { shapes: used.iter().map(shape).collect(), strengths, ..FittedShapes::default() })
    }
}

/// What the first 0, 1, ... shapes leave of every frame.
fn errors<E>(
    fitted: &FittedShapes,
    n_frames: usize,
    n_vertices: usize,
    frame: &mut impl FnMut(usize) -> Result<Vec<[f32; 3]>, E>,
) -> Result<Vec<FitError>, E> {
    let n = fitted.shapes.len();
    let mut errors = vec![FitError::default(); n + 1];
    for f in 0..n_frames {
        let mut left = frame(f)?;
        for (k, error) in errors.iter_mut().enumerate() {
            if let Some(before) = k.checked_sub(1) {
                let w = fitted.strengths[f * n + before];
                for (x, s) in left.iter_mut().zip(&fitted.shapes[before]) {
                    (0..3).for_each(|c| x[c] -= w * s[c]);
                }
            }
            for (vertex, x) in left.iter().enumerate() {
                let distance = x.iter().map(|&c| f64::from(c) * f64::from(c)).sum::<f64>().sqrt();
                error.mean += distance;
                if distance > error.max {
                    (error.max, error.frame, error.vertex) = (distance, f, vertex);
                }
            }
        }
    }
    errors.iter_mut().for_each(|e| e.mean /= (n_frames * n_vertices).max(1) as f64);
    Ok(errors)
}

/// Adds `factors[k] * field` to each column k.
fn add_scaled(columns: &mut [Vec<f64>], field: &[f32], factors: &[f64]) {
    columns.par_iter_mut().zip(factors).for_each(|(column, &factor)| {
        column.iter_mut().zip(field).for_each(|(sum, &x)| *sum += factor * f64::from(x));
    });
}

fn dot(column: &[f64], field: &[f32]) -> f64 {
    let chunk = |(a, b): (&[f64], &[f32])| a.iter().zip(b).map(|(a, &b)| a * f64::from(b)).sum::<f64>();
    column.chunks(CHUNK).zip(field.chunks(CHUNK)).map(chunk).sum()
}

fn dot64(a: &[f64], b: &[f64]) -> f64 {
    let chunk = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    a.chunks(CHUNK).zip(b.chunks(CHUNK)).map(chunk).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot64(a, a).sqrt()
}

/// A fixed number between -1 and 1 for a frame and a column (the finalizer of SplitMix64).
fn mixture(frame: usize, column: usize) -> f64 {
    let mut z = (frame as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (column as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const N_VERTICES: usize = 700;
    const N_FRAMES: usize = 60;

    /// A few waves over the vertices, each smaller than the one before, and noise.
    fn frames(n_waves: usize, noise: f32) -> Vec<Vec<[f32; 3]>> {
        let wave = |f: usize, v: usize, k: usize| {
            let (t, x) = (f as f32 / 9.0, v as f32 / N_VERTICES as f32);
            0.3f32.powi(k as i32) * (t * (k + 1) as f32 + k as f32).sin() * (x * 7.0 * (k + 1) as f32).cos()
        };
        let vertex = |f: usize, v: usize| {
            let sum: f32 = (0..n_waves).map(|k| wave(f, v, k)).sum();
            std::array::from_fn(|c| sum * (c as f32 + 0.5) + noise * mixture(f * 3 + c, v) as f32)
        };
        (0..N_FRAMES).map(|f| (0..N_VERTICES).map(|v| vertex(f, v)).collect()).collect()
    }

    fn fitted(n: usize, frames: &[Vec<[f32; 3]>]) -> FittedShapes {
        fit_shapes(n, frames.len(), N_VERTICES, |f| Ok::<_, Infallible>(frames[f].clone())).unwrap()
    }

    /// Squared errors that the best n shapes leave, from the eigenvalues of all products of frames.
    fn best_left(frames: &[Vec<[f32; 3]>]) -> Vec<f64> {
        let n = frames.len();
        let product = |a: &Vec<[f32; 3]>, b: &Vec<[f32; 3]>| -> f64 {
            let pairs = a.as_flattened().iter().zip(b.as_flattened());
            pairs.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
        };
        let mut gram: Vec<f64> = (0..n * n).map(|i| product(&frames[i / n], &frames[i % n])).collect();
        eigen::symmetric(n, &mut gram, 0.0);
        let mut values: Vec<f64> = (0..n).map(|i| gram[i * n + i]).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        (0..n).map(|k| values[k..].iter().sum()).collect()
    }

    /// The squared error that the first `k` shapes leave.
    fn left(fitted: &FittedShapes, frames: &[Vec<[f32; 3]>], k: usize) -> f64 {
        let n = fitted.shapes.len();
        let mut sum = 0.0;
        for (f, frame) in frames.iter().enumerate() {
            for (v, p) in frame.iter().enumerate() {
                for (c, x) in p.iter().enumerate() {
                    let shapes = (0..k).map(|s| fitted.strengths[f * n + s] * fitted.shapes[s][v][c]);
                    sum += f64::from(x - shapes.sum::<f32>()).powi(2);
                }
            }
        }
        sum
    }

    #[test]
    fn no_other_shapes_are_better() {
        let frames = frames(6, 0.02);
        let (fitted, best) = (fitted(5, &frames), best_left(&frames));
        for (k, best) in best.iter().enumerate().take(6) {
            let left = left(&fitted, &frames, k);
            assert!(left <= 1.001 * best, "{k} shapes leave {left}, the best {best}");
        }
        // The largest strength is 1, and more shapes leave less.
        let strengths = |k: usize| fitted.strengths.iter().skip(k).step_by(5);
        assert!((0..5).all(|k| strengths(k).fold(0.0f32, |a, b| a.max(b.abs())) == 1.0));
        assert!(fitted.errors.windows(2).all(|w| w[1].mean < w[0].mean), "{:?}", fitted.errors);
    }

    #[test]
    fn enough_shapes_leave_nothing_and_no_more_are_made() {
        let exact = frames(3, 0.0);
        let fitted = fitted(8, &exact);
        assert!(fitted.errors[3].max < 1e-5, "{:?}", fitted.errors);
        let still = vec![vec![[0.0; 3]; N_VERTICES]; 4];
        let nothing = super::tests::fitted(3, &still);
        assert_eq!((nothing.shapes.len(), nothing.errors.len()), (0, 1));
        assert_eq!(nothing.errors[0].max, 0.0);
        let one = super::tests::fitted(3, &exact[..1]);
        assert_eq!((one.shapes.len(), one.strengths.clone()), (1, vec![1.0]));
        assert!(one.errors[1].max < 1e-6);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let frames = frames(6, 0.02);
        let [one, two] = [1, 3].map(|n| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            pool.install(|| fitted(5, &frames))
        });
        assert_eq!(one, two);
    }
}
