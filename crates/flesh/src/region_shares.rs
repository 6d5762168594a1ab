//! How much each node of the flesh belongs to a region of the skin.
//!
//! Each skin vertex belongs to a region by a share s: 1 within, falling to 0 over a distance along the skin
//! by `f^2 (3 - 2 f)`, `f = 1 - distance / falloff`. Nodes that carry skin take the weighted mean of the
//! shares of the vertices attached to them. At deeper nodes s is harmonic (`L s = 0`,
//! [`risorius_solve::Harmonic`]), so it extends continuously to the bone.

use crate::along_skin::distances;
use crate::flesh::Flesh;
use risorius_anatomy::Pieces;
use risorius_base::ease::smoothstep;
use risorius_solve::{Harmonic, SolveError};

/// Nodes with less embedding weight get their share from the harmonic extension.
const LEAST_CARRIED: f64 = 0.05;

/// Extends shares of skin vertices through the flesh.
pub struct RegionShares<'a> {
    pieces: &'a Pieces,
    flesh: &'a Flesh,
    /// Sum of the embedding weights at each node.
    carried: Vec<f64>,
    harmonic: Harmonic,
}

impl<'a> RegionShares<'a> {
    /// For flesh whose skin is embedded.
    pub fn prepare(pieces: &'a Pieces, flesh: &'a Flesh) -> Result<Self, SolveError> {
        let mut carried = vec![0.0; flesh.n_nodes()];
        for_each_weight(flesh, |_, node, weight| carried[node] += weight);
        let held: Vec<bool> = carried.iter().map(|&c| c > LEAST_CARRIED).collect();
        Ok(Self { harmonic: Harmonic::prepare(&flesh.mesh(), &held)?, pieces, flesh, carried })
    }

    /// The share of every node in a region of rig vertices, ascending, that fades over `falloff` meters
    /// beyond its border.
    pub fn of(&self, region: &[u32], falloff: f64) -> Result<Vec<f64>, SolveError> {
        let distances = distances(self.pieces, |v| region.binary_search(&v).is_ok(), falloff);
        let mut values = vec![[0.0]; self.carried.len()];
        for_each_weight(self.flesh, |vertex, node, weight| {
            let f = (1.0 - distances[vertex as usize] / falloff).max(0.0);
            values[node][0] += weight * smoothstep(f);
        });
        values
            .iter_mut()
            .zip(&self.carried)
            .for_each(|(v, c)| v[0] = if *c > LEAST_CARRIED { v[0] / c } else { 0.0 });
        Ok(self.harmonic.extend(&values)?.into_iter().map(|[s]| s.clamp(0.0, 1.0)).collect())
    }
}

/// Calls `f` with vertex, node and weight of the whole embedding.
fn for_each_weight(flesh: &Flesh, mut f: impl FnMut(u32, usize, f64)) {
    let embedding = &flesh.embedding;
    for ((&vertex, &tet), weights) in
        embedding.vertices.iter().zip(embedding.tets.iter()).zip(embedding.weights.iter())
    {
        for (&node, &weight) in flesh.tets[tet as usize].iter().zip(weights) {
            f(vertex, node as usize, f64::from(weight).max(0.0));
        }
    }
}
