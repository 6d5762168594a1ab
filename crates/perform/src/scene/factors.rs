//! Regions that are stiffer or heavier, without a seam at their border.
//!
//! A region is given on the skin. Each skin vertex belongs to it by a share s: 1 within, falling to 0 over
//! [`FALLOFF`] along the skin by `f^2 (3 - 2 f)`, `f = 1 - distance / FALLOFF`. Nodes that carry skin take
//! the weighted mean of the shares of the vertices attached to them. At deeper nodes s is harmonic
//! (`L s = 0`, [`risorius_solve::Harmonic`]), so it extends continuously to the bone. A node's mass is
//! multiplied by `factor^s`; a tet's mu and lambda by `factor^s` with the mean s of its nodes. The factors of
//! overlapping regions multiply.

use crate::scene::along_skin::distances;
use crate::scene::model::{Factor, Scene};
use risorius_base::ease::smoothstep;
use risorius_flesh::Face;
use risorius_solve::{Harmonic, SolveError};

/// Distance along the skin over which a factor fades beyond the border of its region, meters.
pub(crate) const FALLOFF: f64 = 0.008;

/// Factors of a scene on a face; empty where there are none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Factors {
    /// On mu and lambda of each tet.
    pub stiffness: Vec<f64>,
    /// On the mass of each node.
    pub mass: Vec<f64>,
}

impl Factors {
    /// Spreads the regions of a scene through the flesh.
    pub fn prepare(face: &Face, scene: &Scene) -> Result<Self, SolveError> {
        if scene.stiffness.is_empty() && scene.mass.is_empty() {
            return Ok(Self::default());
        }
        let spread = Spread::prepare(face)?;
        let mut factors = Self::default();
        for Factor { vertices, factor } in &scene.stiffness {
            let shares = spread.shares(vertices)?;
            let of_tet = |tet: &[u32; 4]| tet.iter().map(|&n| shares[n as usize]).sum::<f64>() / 4.0;
            factors.stiffness.resize(face.flesh.tets.len(), 1.0);
            let all = factors.stiffness.iter_mut().zip(face.flesh.tets.iter());
            all.for_each(|(k, tet)| *k *= factor.powf(of_tet(tet)));
        }
        for Factor { vertices, factor } in &scene.mass {
            factors.mass.resize(face.flesh.n_nodes(), 1.0);
            let all = factors.mass.iter_mut().zip(spread.shares(vertices)?);
            all.for_each(|(m, share)| *m *= factor.powf(share));
        }
        Ok(factors)
    }
}

/// Extends values at skin vertices through the flesh.
struct Spread<'a> {
    face: &'a Face,
    /// Sum of the embedding weights at each node.
    carried: Vec<f64>,
    harmonic: Harmonic,
}

impl<'a> Spread<'a> {
    fn prepare(face: &'a Face) -> Result<Self, SolveError> {
        let mut carried = vec![0.0; face.flesh.n_nodes()];
        for_each_weight(face, |_, node, weight| carried[node] += weight);
        let held: Vec<bool> = carried.iter().map(|&c| c > LEAST_CARRIED).collect();
        Ok(Self { harmonic: Harmonic::prepare(&face.flesh.mesh(), &held)?, face, carried })
    }

    /// The share of every node in a region of rig vertices.
    fn shares(&self, region: &[u32]) -> Result<Vec<f64>, SolveError> {
        let pieces = &self.face.anatomy.pieces;
        let distances = distances(pieces, |v| region.binary_search(&v).is_ok(), FALLOFF);
        let mut values = vec![[0.0]; self.carried.len()];
        for_each_weight(self.face, |vertex, node, weight| {
            let f = (1.0 - distances[vertex as usize] / FALLOFF).max(0.0);
            values[node][0] += weight * smoothstep(f);
        });
        values
            .iter_mut()
            .zip(&self.carried)
            .for_each(|(v, c)| v[0] = if *c > LEAST_CARRIED { v[0] / c } else { 0.0 });
        Ok(self.harmonic.extend(&values)?.into_iter().map(|[s]| s.clamp(0.0, 1.0)).collect())
    }
}

/// Nodes with less embedding weight get their share from the harmonic extension.
const LEAST_CARRIED: f64 = 0.05;

/// Calls `f` with vertex, node and weight of the whole embedding.
fn for_each_weight(face: &Face, mut f: impl FnMut(u32, usize, f64)) {
    let embedding = &face.flesh.embedding;
    for ((&vertex, &tet), weights) in
        embedding.vertices.iter().zip(embedding.tets.iter()).zip(embedding.weights.iter())
    {
        for (&node, &weight) in face.flesh.tets[tet as usize].iter().zip(weights) {
            f(vertex, node as usize, f64::from(weight).max(0.0));
        }
    }
}
