//! Parts of a volume that are solved on their own: nodes around some tets, in connected patches.

use crate::energy::tissue::TissueRest;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use risorius_linalg::Stencil;
use risorius_mesh::tet::tet_mesh::edge_matrix;

/// Tets below the threshold, or NaN.
pub(crate) fn bad_tets(tets: &[Stencil], rest: &TissueRest, x: &[DVec3], threshold: f64) -> Vec<u32> {
    let good = |tet: usize| 6.0 * rest.volume[tet] * threshold <= edge_matrix(x, tets[tet]).determinant();
    (0..tets.len())
        .into_par_iter()
        .with_min_len(1024)
        .filter(|&tet| !good(tet))
        .map(|tet| tet as u32)
        .collect()
}

/// The tets of every node.
#[derive(Debug, Clone)]
pub(crate) struct Neighbors {
    start: Vec<u32>,
    tet: Vec<u32>,
}

impl Neighbors {
    pub(crate) fn prepare(n_nodes: usize, tets: &[Stencil]) -> Self {
        let mut start = vec![0u32; n_nodes + 1];
        tets.iter().flatten().for_each(|&node| start[node as usize + 1] += 1);
        (0..n_nodes).for_each(|v| start[v + 1] += start[v]);
        let mut next = start.clone();
        let mut tet = vec![0; start[n_nodes] as usize];
        for (at, &node) in tets.iter().flatten().enumerate() {
            tet[next[node as usize] as usize] = at as u32 / 4;
            next[node as usize] += 1;
        }
        Self { start, tet }
    }

    pub(crate) fn of(&self, node: u32) -> &[u32] {
        &self.tet[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// Movable nodes within `rings` rings of the tets, ascending.
    pub(crate) fn region(&self, tets: &[Stencil], seeds: &[u32], movable: &[bool], rings: usize) -> Vec<u32> {
        let mut inside = vec![false; movable.len()];
        let mut front: Vec<u32> = Vec::new();
        let mut enter = |tet: u32, next: &mut Vec<u32>| {
            for &node in &tets[tet as usize] {
                if movable[node as usize] && !std::mem::replace(&mut inside[node as usize], true) {
                    next.push(node);
                }
            }
        };
        seeds.iter().for_each(|&tet| enter(tet, &mut front));
        let mut all = front.clone();
        for _ in 0..rings {
            let mut next = Vec::new();
            front.iter().for_each(|&node| self.of(node).iter().for_each(|&tet| enter(tet, &mut next)));
            all.extend(&next);
            front = next;
        }
        all.sort_unstable();
        all
    }

    /// The connected pieces of a region: no tet has nodes of two.
    pub(crate) fn patches(&self, tets: &[Stencil], region: &[u32]) -> Vec<Vec<u32>> {
        let mut waiting = vec![false; self.start.len() - 1];
        region.iter().for_each(|&node| waiting[node as usize] = true);
        let mut patches = Vec::new();
        for &first in region {
            if !std::mem::replace(&mut waiting[first as usize], false) {
                continue;
            }
            let (mut patch, mut at) = (vec![first], 0);
            while at < patch.len() {
                for &tet in self.of(patch[at]) {
                    let new = |node: &&u32| std::mem::replace(&mut waiting[**node as usize], false);
                    patch.extend(tets[tet as usize].iter().filter(new));
                }
                at += 1;
            }
            patch.sort_unstable();
            patches.push(patch);
        }
        patches
    }
}

/// A patch with its own numbering: free nodes first, then the nodes around them.
pub(crate) struct Patch {
    pub(crate) nodes: Vec<u32>,
    pub(crate) n_free: usize,
    /// Its tets, and their indices in the whole mesh.
    pub(crate) tets: Vec<Stencil>,
    pub(crate) touched: Vec<u32>,
    pub(crate) inverse: Vec<DMat3>,
    /// Mean edge length.
    pub(crate) size: f64,
}

impl Patch {
    pub(crate) fn prepare(tets: &[Stencil], rest: &TissueRest, free: &[u32], neighbors: &Neighbors) -> Self {
        let mut touched: Vec<u32> = free.iter().flat_map(|&node| neighbors.of(node)).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        let mut around: Vec<u32> = touched.iter().flat_map(|&tet| tets[tet as usize]).collect();
        around.sort_unstable();
        around.dedup();
        around.retain(|node| free.binary_search(node).is_err());
        let local = |node: u32| match free.binary_search(&node) {
            Ok(at) => at as u32,
            Err(_) => (free.len() + around.partition_point(|&other| other < node)) as u32,
        };
        let mean =
            touched.iter().map(|&tet| rest.volume[tet as usize].cbrt()).sum::<f64>() / touched.len() as f64;
        Self {
            tets: touched.iter().map(|&tet| tets[tet as usize].map(local)).collect(),
            inverse: touched.iter().map(|&tet| rest.inverse[tet as usize]).collect(),
            nodes: [free, &around].concat(),
            n_free: free.len(),
            touched,
            // A regular tet with edge a has the volume a^3 / 8.5.
            size: 2.04 * mean,
        }
    }
}
