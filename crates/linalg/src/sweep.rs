//! Solves with a scalar factor for x, y and z at once, as a preconditioner wants them: fast, and not to the last digit.
//!
//! With `A = L L^T`, `L y = b` and `L^T x = y` are solved one unknown after the other; each subtracts the product of a row
//! of L (a column, on the way back) with what is known. L is kept by rows and by columns, so that both ways only read, and
//! all is in single precision, which halves what they read. What is solved for is first scaled to be near one, so that no
//! digits are lost beyond those of single precision.

use crate::sparse_cholesky::SparseCholesky;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// A list of entries for each unknown.
#[derive(Debug, Clone, Default)]
struct Lists {
    start: Vec<u32>,
    other: Vec<u32>,
    value: Vec<f32>,
}

impl Lists {
    /// From `(unknown, other, value)`, in the order of `others` for each unknown.
    fn prepare(n: usize, entries: impl Iterator<Item = (u32, u32, f32)> + Clone) -> Self {
        let mut start = vec![0u32; n + 1];
        entries.clone().for_each(|(at, _, _)| start[at as usize + 1] += 1);
        (0..n).for_each(|i| start[i + 1] += start[i]);
        let mut next = start.clone();
        let (mut others, mut values) = (vec![0; start[n] as usize], vec![0.0; start[n] as usize]);
        for (at, other, value) in entries {
            let place = next[at as usize] as usize;
            (others[place], values[place]) = (other, value);
            next[at as usize] += 1;
        }
        Self { start, other: others, value: values }
    }

    /// `(x[i] - sum of entries times x) * scale`.
    #[inline(always)]
    fn remain(&self, i: usize, x: &[[f32; 4]], scale: f32) -> [f32; 4] {
        let mine = self.start[i] as usize..self.start[i + 1] as usize;
        let (others, values) = (&self.other[mine.clone()], &self.value[mine]);
        let mut sums = [[0.0; 4]; 4];
        let ((four_others, rest_others), (four_values, rest_values)) =
            (others.as_chunks::<4>(), values.as_chunks::<4>());
        for (others, values) in four_others.iter().zip(four_values) {
            for j in 0..4 {
                sums[j] = add(sums[j], values[j], x[others[j] as usize]);
            }
        }
        for ((sum, &other), &value) in sums.iter_mut().zip(rest_others).zip(rest_values) {
            *sum = add(*sum, value, x[other as usize]);
        }
        let mut left = x[i];
        for k in 0..4 {
            left[k] = (left[k] - ((sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]))) * scale;
        }
        left
    }
}

#[inline(always)]
fn add(sum: [f32; 4], value: f32, known: [f32; 4]) -> [f32; 4] {
    [sum[0] + value * known[0], sum[1] + value * known[1], sum[2] + value * known[2], sum[3] + value * known[3]]
}

/// `L` by rows and by columns, without its diagonal.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Node of each unknown.
    nodes: Vec<u32>,
    rows: Lists,
    columns: Lists,
    inverse_diagonal: Vec<f32>,
}

impl Sweep {
    /// Of a factor.
    pub fn prepare(factor: &SparseCholesky<1>) -> Self {
        let nodes = factor.nodes().to_vec();
        let mut inverse_diagonal = vec![1.0; nodes.len()];
        let mut below: Vec<(u32, u32, f32)> = Vec::new();
        factor.for_entries(|row, column, value| {
            if row == column {
                inverse_diagonal[row] = (1.0 / value) as f32;
            } else if value != 0.0 {
                below.push((row as u32, column as u32, value as f32));
            }
        });
        Self {
            rows: Lists::prepare(nodes.len(), below.iter().copied()),
            columns: Lists::prepare(nodes.len(), below.iter().map(|&(row, column, value)| (column, row, value))),
            nodes,
            inverse_diagonal,
        }
    }

    /// Bytes that a solve reads.
    pub fn n_bytes(&self) -> usize {
        (self.rows.other.len() + self.columns.other.len()) * (size_of::<u32>() + size_of::<f32>())
    }

    /// Columns of `A^-1` for some nodes, where the nodes of `at` are; zero for held ones. Four at a time.
    pub fn columns(&self, wanted: &[u32], at: &[u32]) -> Vec<Box<[f32]>> {
        let n_nodes = wanted.iter().chain(at).chain(&self.nodes).map(|&node| node as usize + 1).max().unwrap_or(0);
        let mut unknown = vec![u32::MAX; n_nodes];
        self.nodes.iter().enumerate().for_each(|(i, &node)| unknown[node as usize] = i as u32);
        let four = |wanted: &[u32]| {
            let mut x = vec![[0.0; 4]; self.nodes.len()];
            for (k, &node) in wanted.iter().enumerate() {
                if let Some(value) = x.get_mut(unknown[node as usize] as usize) {
                    value[k] = 1.0;
                }
            }
            there_and_back(self, &mut x);
            let value = |k: usize, node: u32| x.get(unknown[node as usize] as usize).map_or(0.0, |value| value[k]);
            (0..wanted.len()).map(|k| at.iter().map(|&node| value(k, node)).collect()).collect::<Vec<Box<[f32]>>>()
        };
        wanted.par_chunks(4).flat_map_iter(four).collect()
    }

    /// `x = A^-1 b` for values at all nodes; held nodes get zero. `space` is kept by the caller between solves.
    pub fn solve(&self, b: &[DVec3], x: &mut [DVec3], space: &mut Vec<[f32; 4]>) {
        let largest = b.iter().fold(0.0f64, |most, v| most.max(v.abs().max_element()));
        let scale = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let inverse = 1.0 / scale;
        space.clear();
        space.extend(self.nodes.iter().map(|&node| {
            let b = (b[node as usize] * inverse).as_vec3();
            [b.x, b.y, b.z, 0.0]
        }));
        there_and_back(self, space);
        x.fill(DVec3::ZERO);
        for (value, &node) in space.iter().zip(&self.nodes) {
            x[node as usize] = Vec3::new(value[0], value[1], value[2]).as_dvec3() * scale;
        }
    }
}

fn there_and_back(sweep: &Sweep, x: &mut [[f32; 4]]) {
    for (i, &scale) in sweep.inverse_diagonal.iter().enumerate() {
        x[i] = sweep.rows.remain(i, x, scale);
    }
    for (i, &scale) in sweep.inverse_diagonal.iter().enumerate().rev() {
        x[i] = sweep.columns.remain(i, x, scale);
    }
}
