//! Matrices with one row per vertex, packed for sequential reading at memory bandwidth.
//!
//! Vertices are grouped into blocks of 32 spatial neighbors. A block needs few columns (handles near it,
//! strain gauges that act on it) and stores only those. A column of a block is 32 numbers of 16 bits with a
//! common scale: the error is at most 1/65534 of its largest number. Products with vectors convert to single
//! precision and add column by column, in a fixed order and without fused multiply-adds, so that every
//! machine gives the same bits.

use rayon::prelude::*;

/// Vertices per block.
pub const LANES: usize = 32;

/// One number for each vertex of a block.
pub type Lane = [f32; LANES];

/// A packed matrix.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blocks {
    /// Columns of block b: `start[b]..start[b + 1]`.
    start: Vec<u32>,
    column: Vec<u16>,
    scale: Vec<f32>,
    values: Vec<[i16; LANES]>,
}

impl Blocks {
    /// Packs a matrix given by the columns of each block.
    pub fn pack(n_blocks: usize, columns: impl Fn(usize) -> Vec<(u16, Lane)> + Sync) -> Self {
        let packed: Vec<Vec<(u16, f32, [i16; LANES])>> = (0..n_blocks)
            .into_par_iter()
            .map(|block| columns(block).into_iter().map(|(column, lane)| quantized(column, &lane)).collect())
            .collect();
        let mut blocks = Self { start: vec![0], ..Self::default() };
        for (column, scale, values) in packed.into_iter().flat_map(|block| {
            let end = blocks.start.last().copied().unwrap_or(0) + block.len() as u32;
            blocks.start.push(end);
            block
        }) {
            blocks.column.push(column);
            blocks.scale.push(scale);
            blocks.values.push(values);
        }
        blocks
    }

    /// Bytes that a product reads.
    pub fn n_bytes(&self) -> usize {
        self.values.len() * (2 * LANES + 6) + 4 * self.start.len()
    }

    /// The columns of a block: index, scale, values.
    #[inline(always)]
    pub fn columns(&self, block: usize) -> impl Iterator<Item = ((&u16, &f32), &[i16; LANES])> {
        let mine = self.start[block] as usize..self.start[block + 1] as usize;
        self.column[mine.clone()].iter().zip(&self.scale[mine.clone()]).zip(&self.values[mine])
    }
}

fn quantized(column: u16, lane: &Lane) -> (u16, f32, [i16; LANES]) {
    let largest = lane.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let scale = if largest > 0.0 { largest / 32767.0 } else { 1.0 };
    (column, scale, lane.map(|v| (v / scale).round().clamp(-32767.0, 32767.0) as i16))
}
