//! Evaluates a rig at memory bandwidth, from weights to vertices: `x = f0 + D c(w)`.
//!
//! Vertices are split into blocks that fit the first-level cache. For each block the deltas of all shapes
//! that touch it are contiguous, so that evaluation reads one sequential stream from memory. Within a block a
//! shape is kept as runs of whole groups of eight vertices (three vectors of eight floats, zeros where it
//! does not act): every addition is a full-width multiply-add on cached data, without remainders. A vertex
//! sums its shapes in the order of the rig, in f32, without fused operations: the result is the same on one
//! thread and on many, with and without wide registers. f32 because memory bandwidth is the limit and the
//! artist's numbers are f32.

use crate::coefficients::Activation;
use crate::model::Rig;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use risorius_mesh::VertexNormals;

/// Vertices per block: 12 KiB of positions.
const BLOCK: usize = 1024;

/// Vertices per group, the unit of runs.
const GROUP: usize = 8;

/// Floats per group.
const LANES: usize = 3 * GROUP;

/// Runs are joined over gaps of at most this many groups: reading zeros costs less than a new run.
const MAX_GAP: usize = 1;

/// Accumulator for the positions of a block.
#[repr(align(64))]
struct Sum([[f32; LANES]; BLOCK / GROUP]);

/// A rig laid out for evaluation. Prepared once, run often.
#[derive(Debug, Clone)]
pub struct Evaluator {
    activation: Activation,
    neutral: Vec<[f32; 3]>,
    blocks: Vec<Block>,
    runs: Vec<Run>,
    deltas: Vec<[f32; LANES]>,
    normals: VertexNormals,
}

#[derive(Debug, Clone)]
struct Block {
    runs: std::ops::Range<usize>,
    /// Where the first run's values start in `deltas`.
    first_delta: usize,
}

/// Deltas of one shape on neighboring groups of one block.
#[derive(Debug, Clone, Copy)]
struct Run {
    shape: u32,
    /// First group within the block, and number of groups.
    first: u16,
    n_groups: u16,
}

impl Evaluator {
    /// Lays out the deltas of `rig`.
    pub fn prepare(rig: &Rig) -> Self {
        let touching = shapes_by_block(rig);
        let mut out = Self {
            activation: Activation::prepare(rig),
            neutral: rig.neutral.clone(),
            blocks: Vec::with_capacity(touching.len()),
            runs: Vec::new(),
            deltas: Vec::new(),
            normals: VertexNormals::prepare(rig.n_vertices(), &rig.triangles()),
        };
        for (block, shapes) in touching.iter().enumerate() {
            let (first_run, first_delta) = (out.runs.len(), out.deltas.len());
            for &(shape, start) in shapes {
                out.push_runs(rig, shape, start, block);
            }
            out.blocks.push(Block { runs: first_run..out.runs.len(), first_delta });
        }
        out
    }

    fn push_runs(&mut self, rig: &Rig, shape: u32, start: usize, block: usize) {
        let deltas = &rig.shapes[shape as usize].deltas;
        let base = block * BLOCK;
        let first_run = self.runs.len();
        for (&v, offset) in deltas.vertices[start..].iter().zip(&deltas.offsets[start..]) {
            let v = v as usize;
            if v >= base + BLOCK {
                break;
            }
            let (group, slot) = ((v - base) / GROUP, (v - base) % GROUP);
            let open = self.runs[first_run..].last_mut();
            let end = open.as_ref().map_or(usize::MAX, |r| usize::from(r.first + r.n_groups));
            match open {
                // Vertices ascend, so the group is the last one of the run or lies after it.
                Some(run) if group < end + 1 + MAX_GAP => {
                    let missing = (group + 1).saturating_sub(end);
                    run.n_groups += missing as u16;
                    self.deltas.extend(std::iter::repeat_n([0.0; LANES], missing));
                }
                _ => {
                    self.runs.push(Run { shape, first: group as u16, n_groups: 1 });
                    self.deltas.push([0.0; LANES]);
                }
            }
            if let Some(last) = self.deltas.last_mut() {
                last[3 * slot..3 * slot + 3].copy_from_slice(offset);
            }
        }
    }

    /// Number of vertices.
    pub fn n_vertices(&self) -> usize {
        self.neutral.len()
    }

    /// The map from weights to shape strengths.
    pub fn activation(&self) -> &Activation {
        &self.activation
    }

    /// Connectivity for normals.
    pub fn normals(&self) -> &VertexNormals {
        &self.normals
    }

    /// Positions at slider values `weights`, on as many threads as rayon has.
    pub fn positions(&self, weights: &[f32]) -> Vec<[f32; 3]> {
        let mut out = vec![[0.0; 3]; self.n_vertices()];
        self.positions_into(weights, &mut out);
        out
    }

    /// As [`Self::positions`], into a buffer of `n_vertices`.
    pub fn positions_into(&self, weights: &[f32], out: &mut [[f32; 3]]) {
        self.shape_sum_into(&self.strengths(weights), out);
    }

    /// Strength of every shape at slider values `weights`, as the evaluation uses it.
    pub fn strengths(&self, weights: &[f32]) -> Vec<f32> {
        let w: Vec<f64> = weights.iter().map(|&x| x.into()).collect();
        self.activation.coefficients(&w).into_iter().map(|c| c as f32).collect()
    }

    /// `f0 + D c` for given shape strengths.
    pub(crate) fn shape_sum_into(&self, strengths: &[f32], out: &mut [[f32; 3]]) {
        assert_eq!(strengths.len(), self.activation.n_shapes());
        assert_eq!(out.len(), self.n_vertices());
        if rayon::current_num_threads() == 1 {
            out.chunks_mut(BLOCK).enumerate().for_each(|(b, out)| self.block_sum(b, strengths, out));
        } else {
            out.par_chunks_mut(BLOCK).enumerate().for_each(|(b, out)| self.block_sum(b, strengths, out));
        }
    }

    /// Bytes that an evaluation at `strengths` reads and writes: neutral, deltas of active shapes, runs,
    /// result.
    pub fn bytes_moved(&self, strengths: &[f32]) -> usize {
        let deltas: usize = self
            .runs
            .iter()
            .filter(|r| strengths[r.shape as usize] != 0.0)
            .map(|r| 4 * LANES * usize::from(r.n_groups))
            .sum();
        deltas + std::mem::size_of_val(&self.runs[..]) + 2 * std::mem::size_of_val(&self.neutral[..])
    }

    fn block_sum(&self, block_idx: usize, strengths: &[f32], out: &mut [[f32; 3]]) {
        let first = block_idx * BLOCK;
        let mut sum = Sum([[0.0; LANES]; BLOCK / GROUP]);
        let n = 3 * out.len();
        sum.0.as_flattened_mut()[..n].copy_from_slice(self.neutral[first..first + out.len()].as_flattened());
        let block = &self.blocks[block_idx];
        let runs = &self.runs[block.runs.clone()];
        let deltas = &self.deltas[block.first_delta..];
        Arch::new().dispatch(AddRuns { runs, deltas, strengths, sum: &mut sum });
        out.as_flattened_mut().copy_from_slice(&sum.0.as_flattened()[..n]);
    }
}

/// For each block, the shapes that touch it and where their entries for it start.
fn shapes_by_block(rig: &Rig) -> Vec<Vec<(u32, usize)>> {
    let mut touching: Vec<Vec<(u32, usize)>> = vec![Vec::new(); rig.n_vertices().div_ceil(BLOCK)];
    for (shape, s) in rig.shapes.iter().enumerate() {
        let mut last = usize::MAX;
        for (i, &v) in s.deltas.vertices.iter().enumerate() {
            let here = v as usize / BLOCK;
            if here != last {
                touching[here].push((shape as u32, i));
                last = here;
            }
        }
    }
    touching
}

/// Adds runs times the strengths of their shapes, with the widest registers that the processor has.
struct AddRuns<'a> {
    runs: &'a [Run],
    deltas: &'a [[f32; LANES]],
    strengths: &'a [f32],
    sum: &'a mut Sum,
}

// Written with explicit vectors: a plain loop in a closure was compiled without wide registers.
impl WithSimd for AddRuns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let AddRuns { runs, mut deltas, strengths, sum } = self;
        for run in runs {
            let (first, n_groups) = (usize::from(run.first), usize::from(run.n_groups));
            let (here, rest) = deltas.split_at(n_groups);
            deltas = rest;
            let strength = strengths[run.shape as usize];
            if strength != 0.0 {
                let all = simd.splat_f32s(strength);
                let (x, last_x) = S::as_mut_simd_f32s(sum.0[first..first + n_groups].as_flattened_mut());
                let (d, last_d) = S::as_simd_f32s(here.as_flattened());
                for (x, &d) in x.iter_mut().zip(d) {
                    *x = simd.add_f32s(*x, simd.mul_f32s(all, d));
                }
                // An odd number of groups is no whole number of the widest vectors.
                for (x, d) in last_x.iter_mut().zip(last_d) {
                    *x += strength * d;
                }
            }
        }
    }
}

/// The evaluation by definition, one shape after another: the reference that tests compare [`Evaluator`]
/// with.
pub fn positions_by_definition(rig: &Rig, weights: &[f32]) -> Vec<[f32; 3]> {
    let w: Vec<f64> = weights.iter().map(|&x| x.into()).collect();
    let mut out = rig.neutral.clone();
    for (shape, c) in rig.shapes.iter().zip(Activation::prepare(rig).coefficients(&w)) {
        let c = c as f32;
        for (&v, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            for k in 0..3 {
                out[v as usize][k] += c * offset[k];
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn layout_equals_definition_on_any_thread_count() {
        let rig = synthetic::random_rig(5000, 40, 0.2, 11);
        let evaluator = Evaluator::prepare(&rig);
        let weights: Vec<f32> = (0..40).map(|i| (i as f32 * 0.7).sin() * 1.5).collect();
        let reference = positions_by_definition(&rig, &weights);
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| evaluator.positions(&weights)) == reference, "{threads} threads");
        }
    }

    #[test]
    fn zero_weights_give_the_neutral_to_the_bit() {
        let rig = synthetic::random_rig(3000, 9, 0.5, 3);
        let positions = Evaluator::prepare(&rig).positions(&[0.0; 9]);
        assert_eq!(positions, rig.neutral);
    }

    #[test]
    fn rigs_without_shapes_or_vertices_evaluate() {
        let rig = synthetic::random_rig(10, 0, 0.0, 1);
        assert_eq!(Evaluator::prepare(&rig).positions(&[]), rig.neutral);
        assert!(Evaluator::prepare(&Rig::default()).positions(&[]).is_empty());
    }

    #[test]
    fn bytes_count_only_active_shapes() {
        let rig = synthetic::random_rig(4000, 10, 1.0, 5);
        let evaluator = Evaluator::prepare(&rig);
        let mut strengths = vec![0.0; 10];
        let idle = evaluator.bytes_moved(&strengths);
        strengths[3] = 1.0;
        assert_eq!(evaluator.bytes_moved(&strengths) - idle, 12 * 4000);
    }
}
