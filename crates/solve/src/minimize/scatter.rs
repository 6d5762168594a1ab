//! Sums of element forces at nodes, without a list of all element forces.
//!
//! Elements are grouped in blocks of [`BLOCK`]. A block sums the forces of its elements, in their order, at
//! the nodes that it touches; a node then sums over its blocks, in their order. Neighboring elements share
//! most of their nodes, so a block stores few sums. The result is the same to the bit for any number of
//! threads.

use glam::DVec3;
use risorius_linalg::{NO_NODE, Stencil};
use std::ops::Range;

pub(crate) use crate::energy::BLOCK;

/// Index lists that map element forces to nodes.
#[derive(Debug)]
pub(crate) struct Scatter {
    /// Index of each corner among its block's sums; index 0 collects forces at held or missing nodes.
    corner: Vec<[u16; 4]>,
    /// First sum of each block.
    block_start: Vec<u32>,
    /// First entry of each node in `sum`.
    node_start: Vec<u32>,
    /// Sums of a node, ascending.
    sum: Vec<u32>,
}

impl Scatter {
    /// For forces at nodes that are not held.
    pub(crate) fn prepare(held: &[bool], stencils: &[Stencil]) -> Self {
        let mut corner = Vec::with_capacity(stencils.len());
        let (mut block_start, mut node_of_sum) = (vec![0u32], Vec::new());
        let mut place = vec![0u16; held.len()];
        for block in stencils.chunks(BLOCK) {
            let first = node_of_sum.len();
            node_of_sum.push(NO_NODE);
            for stencil in block {
                corner.push(stencil.map(|node| {
                    if node == NO_NODE || held[node as usize] {
                        return 0;
                    }
                    if place[node as usize] == 0 {
                        place[node as usize] = (node_of_sum.len() - first) as u16;
                        node_of_sum.push(node);
                    }
                    place[node as usize]
                }));
            }
            node_of_sum[first + 1..].iter().for_each(|&node| place[node as usize] = 0);
            block_start.push(node_of_sum.len() as u32);
        }
        let mut node_start = vec![0u32; held.len() + 1];
        let wanted = || node_of_sum.iter().enumerate().filter(|(_, node)| **node != NO_NODE);
        wanted().for_each(|(_, &node)| node_start[node as usize + 1] += 1);
        (0..held.len()).for_each(|v| node_start[v + 1] += node_start[v]);
        let mut next = node_start.clone();
        let mut sum = vec![0; node_start[held.len()] as usize];
        for (at, &node) in wanted() {
            sum[next[node as usize] as usize] = at as u32;
            next[node as usize] += 1;
        }
        Self { corner, block_start, node_start, sum }
    }

    /// Number of sums.
    pub(crate) fn n_sums(&self) -> usize {
        self.block_start.last().map_or(0, |&n| n as usize)
    }

    /// The blocks of a list that has one entry for each sum, with their elements.
    pub(crate) fn blocks<'a>(&self, mut sums: &'a mut [DVec3]) -> Vec<(Range<usize>, &'a mut [DVec3])> {
        let mut blocks = Vec::with_capacity(self.block_start.len() - 1);
        for (k, ends) in self.block_start.windows(2).enumerate() {
            let (mine, rest) = sums.split_at_mut((ends[1] - ends[0]) as usize);
            blocks.push((k * BLOCK..((k + 1) * BLOCK).min(self.corner.len()), mine));
            sums = rest;
        }
        blocks
    }

    /// The sums to which the corners of some elements belong.
    pub(crate) fn corners(&self, elements: Range<usize>) -> &[[u16; 4]] {
        &self.corner[elements]
    }

    /// The force at a node.
    pub(crate) fn at(&self, node: usize, sums: &[DVec3]) -> DVec3 {
        let mine = &self.sum[self.node_start[node] as usize..self.node_start[node + 1] as usize];
        mine.iter().fold(DVec3::ZERO, |total, &at| total + sums[at as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Random;

    #[test]
    fn forces_add_up_as_by_definition() {
        let mut random = Random(4);
        let held: Vec<bool> = (0..150).map(|v| v % 7 == 3).collect();
        let mut node = || ((random.number() + 1.0) * 0.5 * 149.0) as u32;
        let mut stencils: Vec<Stencil> =
            (0..3 * BLOCK + 11).map(|_| [node(), node(), node(), node()]).collect();
        stencils[5] = [9, 9, NO_NODE, NO_NODE];
        let forces: Vec<[DVec3; 4]> = stencils.iter().map(|_| [(); 4].map(|()| random.vector())).collect();
        let mut expected = vec![DVec3::ZERO; held.len()];
        for (stencil, forces) in stencils.iter().zip(&forces) {
            for (&node, &force) in stencil.iter().zip(forces).filter(|(node, _)| **node != NO_NODE) {
                expected[node as usize] += if held[node as usize] { DVec3::ZERO } else { force };
            }
        }
        let scatter = Scatter::prepare(&held, &stencils);
        let mut sums = vec![DVec3::NAN; scatter.n_sums()];
        for (elements, sums) in scatter.blocks(&mut sums) {
            sums.fill(DVec3::ZERO);
            for (corners, forces) in scatter.corners(elements.clone()).iter().zip(&forces[elements]) {
                corners.iter().zip(forces).for_each(|(&k, force)| sums[usize::from(k)] += *force);
            }
        }
        for (node, expected) in expected.iter().enumerate() {
            let apart = scatter.at(node, &sums).distance(*expected);
            assert!(apart < 1e-12, "node {node} is {apart} off");
        }
    }
}
