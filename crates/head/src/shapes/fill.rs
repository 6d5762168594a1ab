//! Smooth extension of values from some skin vertices to others.
//!
//! Between vertices whose values are given, the values minimize bending, `|L u|^2 / area` (a thin plate), or
//! stretch, `u L u` (a membrane), with the Laplacian of [`Ground::edges`]. Plates are smooth across given
//! values and across a border of given zeros; membranes never overshoot. The system is factored once and
//! solved for any number of fields.

use super::ground::Ground;
use glam::DVec3;
use risorius_linalg::sparse::block_index;
use risorius_linalg::{
    BlockMatrix, ElementBlocks, Gather, NO_NODE, NodeGraph, Pattern, SparseCholesky, Stencil,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The energy that the values between given ones minimize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sheet {
    /// Least stretch.
    Membrane,
    /// Least bending.
    Plate,
}

/// A prepared extension.
pub(crate) struct Fill<'g, 'h> {
    ground: &'g Ground<'h>,
    sheet: Sheet,
    given: Vec<bool>,
    factor: SparseCholesky<1>,
}

impl<'g, 'h> Fill<'g, 'h> {
    /// Prepares for values given where `given` is set (at least one vertex; the skin is connected).
    pub fn prepare(ground: &'g Ground<'h>, given: Vec<bool>, sheet: Sheet) -> Self {
        let rows: Vec<BTreeMap<u32, f64>> = (0..ground.n_skin)
            .map(|v| if given[v] { BTreeMap::new() } else { row(ground, v, sheet) })
            .collect();
        let (mut stencils, mut blocks): (Vec<Stencil>, Vec<ElementBlocks<1>>) = (Vec::new(), Vec::new());
        for (v, row) in rows.iter().enumerate() {
            for (&w, &value) in row.range(..=v as u32).filter(|(w, _)| !given[**w as usize]) {
                let mut block = [[[0.0]]; 10];
                if w as usize == v {
                    stencils.push([w, NO_NODE, NO_NODE, NO_NODE]);
                    block[0] = [[value]];
                } else {
                    stencils.push([w, v as u32, NO_NODE, NO_NODE]);
                    block[block_index(1, 0)] = [[value]];
                }
                blocks.push(block);
            }
        }
        let factored = NodeGraph::prepare(&given, &[&stencils]).and_then(|graph| {
            let pattern = Arc::new(Pattern::<1>::prepare(&graph)?);
            let mut matrix = BlockMatrix::zeros(&pattern);
            matrix.add(&pattern, &Gather::prepare(&pattern, &stencils), &blocks);
            SparseCholesky::new(&pattern, &matrix)
        });
        // The built-in skin is connected and has positive weights, so the matrix is definite.
        let factor = factored.unwrap_or_else(|e| panic!("the built-in skin cannot be filled: {e}"));
        Self { ground, sheet, given, factor }
    }

    /// Vectors everywhere on the skin, equal to `values` where they are given; others of `values` are
    /// ignored.
    pub fn vectors(&self, values: &[DVec3]) -> Vec<DVec3> {
        let n = self.ground.n_skin;
        let known: Vec<DVec3> = (0..n).map(|v| if self.given[v] { values[v] } else { DVec3::ZERO }).collect();
        let mut image = laplacian(self.ground, &known);
        if self.sheet == Sheet::Plate {
            image.iter_mut().zip(&self.ground.area).for_each(|(u, a)| *u /= *a);
            image = laplacian(self.ground, &image);
        }
        let mut x: Vec<[f64; 3]> = image.iter().map(|u| (-*u).to_array()).collect();
        self.factor.solve(&mut x);
        (0..n).map(|v| if self.given[v] { values[v] } else { DVec3::from(x[v]) }).collect()
    }

    /// As [`Self::vectors`] for numbers.
    pub fn numbers(&self, values: &[f64]) -> Vec<f64> {
        let vectors: Vec<DVec3> = values.iter().map(|&x| DVec3::X * x).collect();
        self.vectors(&vectors).into_iter().map(|v| v.x).collect()
    }
}

fn laplacian(ground: &Ground, values: &[DVec3]) -> Vec<DVec3> {
    let at = |v: usize| ground.edges[v].iter().map(|&(w, k)| k * (values[v] - values[w as usize])).sum();
    (0..values.len()).map(at).collect()
}

/// One row of `L` or of `L A^-1 L`.
fn row(ground: &Ground, v: usize, sheet: Sheet) -> BTreeMap<u32, f64> {
    let first = |v: usize| {
        let total: f64 = ground.edges[v].iter().map(|e| e.1).sum();
        ground.edges[v].iter().map(|&(w, k)| (w, -k)).chain([(v as u32, total)])
    };
    if sheet == Sheet::Membrane {
        return first(v).collect();
    }
    let mut row = BTreeMap::new();
    for (w, k) in first(v) {
        for (x, l) in first(w as usize) {
            *row.entry(x).or_insert(0.0) += k * l / ground.area[w as usize];
        }
    }
    row
}
